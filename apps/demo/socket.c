/* SPDX-License-Identifier: BSD-3-Clause */
/* The TCP connection beside the RDMA one, as ibv_rc_pingpong has it. */
#include <netdb.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "demo.h"

static struct addrinfo *resolve(const char *address, const char *port)
{
	struct addrinfo hints = {
		.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICHOST | AI_NUMERICSERV};
	struct addrinfo *result;
	int error = getaddrinfo(address, port, &hints, &result);

	if (error)
		die("%s port %s: %s", address, port, gai_strerror(error));
	return result;
}

int socket_connect(const char *address, const char *port)
{
	struct addrinfo *to = resolve(address, port);
	const struct timespec pause = {.tv_nsec = 100000000};

	/* the passive side may still be starting its engine */
	for (int tries = 0; tries < 100; tries++) {
		int fd = socket(to->ai_family, to->ai_socktype, 0);

		if (fd >= 0 && connect(fd, to->ai_addr, to->ai_addrlen) == 0) {
			freeaddrinfo(to);
			return fd;
		}
		if (fd >= 0)
			close(fd);
		nanosleep(&pause, NULL);
	}
	die("no passive side at %s port %s", address, port);
}

int socket_accept(const char *address, const char *port)
{
	struct addrinfo *at = resolve(address, port);
	int listener = socket(at->ai_family, at->ai_socktype, 0);
	int one = 1;
	int fd;

	if (listener < 0 ||
		setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)) != 0 ||
		bind(listener, at->ai_addr, at->ai_addrlen) != 0 || listen(listener, 1) != 0)
		die("cannot listen at %s port %s", address, port);
	fd = accept(listener, NULL, NULL);
	if (fd < 0)
		die("accept failed");
	close(listener);
	freeaddrinfo(at);
	return fd;
}

static void transfer(int fd, uint8_t *buffer, uint32_t length, bool out)
{
	while (length) {
		ssize_t n = out ? write(fd, buffer, length) : read(fd, buffer, length);

		if (n <= 0)
			die("the other side has gone");
		buffer += n;
		length -= (uint32_t)n;
	}
}

void socket_swap(int fd, const void *own, void *peer, uint32_t length)
{
	uint8_t copy[256];

	if (length > sizeof(copy))
		die("socket_swap: %u bytes", length);
	memcpy(copy, own, length);
	transfer(fd, copy, length, true);
	transfer(fd, peer, length, false);
}

/*
 * In inline mode the engine runs only while its application polls, and the other side may still
 * wait for an acknowledgement: so the wait polls, too.
 */
void meet(struct side *side)
{
	uint8_t own = 1;
	uint8_t peer;

	transfer(side->socket, &own, 1, true);
	while (recv(side->socket, &peer, 1, MSG_PEEK | MSG_DONTWAIT) < 0)
		side_drive(side);
	transfer(side->socket, &peer, 1, false);
}
