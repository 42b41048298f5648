/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The wire's ends as ports that have a descriptor, as a NIC with interrupts has: a core that sleeps
 * sleeps until somebody wakes it, and not just for a nap. Arming and sending is store buffering, as
 * it is there.
 */
#include <errno.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "load_port.h"

/* The functions of port.h are given nothing else to find them by. */
static struct load_port both[2];

static struct load_port *find(const struct port *port)
{
	return &both[both[0].port == port ? 0 : 1];
}

static int port_descriptor(struct port *port, uint16_t queue)
{
	return find(port)->fd[queue];
}

/* The exchange is the full barrier; it pairs with the one in tell(). */
static void port_arm(struct port *port, uint16_t queue, bool armed)
{
	struct load_port *at = find(port);
	uint64_t count;
	ssize_t ignored = read(at->fd[queue], &count, sizeof(count));

	(void)ignored;
	__atomic_exchange_n(&at->armed[queue], armed, __ATOMIC_SEQ_CST);
}

static void tell(struct load_port *at)
{
	const uint64_t one = 1;
	ssize_t ignored;

	for (uint32_t queue = 0; queue < LOAD_QUEUES; queue++) {
		if (!__atomic_exchange_n(&at->armed[queue], 0, __ATOMIC_SEQ_CST))
			continue;
		ignored = write(at->fd[queue], &one, sizeof(one));
		(void)ignored;
	}
}

static unsigned int port_tx(
	struct port *port, uint16_t queue, struct packet *packets, unsigned int count)
{
	struct load_port *at = find(port);
	unsigned int sent = at->wire->tx(port, queue, packets, count);

	if (sent)
		tell(at == &both[0] ? &both[1] : &both[0]);
	return sent;
}

int load_port_open(unsigned int number, struct port *port)
{
	struct load_port *at = &both[number];

	*at = (struct load_port){.port = port, .wire = port->ops, .ops = *port->ops};
	for (uint32_t queue = 0; queue < LOAD_QUEUES; queue++) {
		at->fd[queue] = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
		if (at->fd[queue] < 0)
			return -errno;
	}
	at->ops.descriptor = port_descriptor;
	at->ops.arm = port_arm;
	at->ops.tx = port_tx;
	port->ops = &at->ops;
	return 0;
}

void load_port_close(unsigned int number)
{
	for (uint32_t queue = 0; queue < LOAD_QUEUES; queue++)
		close(both[number].fd[queue]);
}
