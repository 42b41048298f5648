/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A veth pair between two network namespaces without names: they, and the pair in them, end with
 * the processes. Needs CAP_SYS_ADMIN and CAP_NET_ADMIN.
 */
#include <fcntl.h>
#include <net/if.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "bench.h"

static void command(const char *format, ...) __attribute__((format(printf, 1, 2)));

static void command(const char *format, ...)
{
	char text[256];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	if (system(text) != 0)
		die("`%s` failed", text);
}

/* Router solicitations and the like would be frames that nobody asked for. */
static void disable_ipv6(void)
{
	int fd = open("/proc/sys/net/ipv6/conf/all/disable_ipv6", O_WRONLY | O_CLOEXEC);

	if (fd < 0)
		return; /* this kernel has no IPv6 */
	if (write(fd, "1", 1) != 1)
		fprintf(stderr, "bench: IPv6 stays on\n");
	close(fd);
}

static bool link_runs(int fd)
{
	struct ifreq request = {.ifr_name = VETH_NAME};

	return ioctl(fd, SIOCGIFFLAGS, &request) == 0 && (request.ifr_flags & IFF_RUNNING);
}

static void wait_for_link(void)
{
	const struct timespec pause = {.tv_nsec = 1000000};
	int fd = socket(AF_INET, SOCK_DGRAM, 0);

	for (int i = 0; i < 5000 && !link_runs(fd); i++)
		nanosleep(&pause, NULL);
	if (!link_runs(fd))
		die("the veth pair does not come up");
	close(fd);
}

void veth_open(struct side *side, uint32_t mtu)
{
	side->shared->of[side->role].pid = getpid();
	if (unshare(CLONE_NEWNET) != 0)
		quit(STATUS_SKIPPED, "no network namespace of its own: this needs root");
	disable_ipv6();
	meet(side);
	if (side->role == ACTIVE)
		command("ip link add %s mtu %u type veth peer name %s mtu %u netns %d", VETH_NAME,
			mtu, VETH_NAME, mtu, (int)side->shared->of[PASSIVE].pid);
	meet(side);
	command("ip addr add 10.99.0.%d/24 dev %s && ip link set %s up && ip link set lo up",
		side->role == ACTIVE ? 1 : 2, VETH_NAME, VETH_NAME);
	wait_for_link();
	meet(side);
}
