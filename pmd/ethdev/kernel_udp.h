/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * UDP, where the kernel shares our addresses and sees our packets or copies of them.
 *
 * Port 4791 of each shared address is held by a socket that throws everything away, so that the
 * kernel doesn't answer a peer's RoCE packets with ICMP "port unreachable". It is bound to the
 * address, not to all of them: another engine holds those of another port.
 */
#ifndef UROCE_ETHDEV_KERNEL_UDP_H
#define UROCE_ETHDEV_KERNEL_UDP_H

#include <stdint.h>

#include "gids.h"

struct held_address {
	uint8_t gid[16];
	int fd;
};

struct held_addresses {
	unsigned int index; /* the interface's */
	uint16_t count;
	struct held_address held[PORT_GIDS_MAX];
};

/*
 * Holds the port of the list's addresses, and lets go of others. Those that cannot be held are
 * taken off the list, with a line. Returns 0, or the last one's -errno.
 */
int held_update(struct held_addresses *held, struct gids_list *list);

/* Makes the kernel resolve a neighbour by a datagram of no bytes to its discard port (RFC 863). */
void udp_nudge(const uint8_t source[16], const uint8_t next[16], unsigned int index);

#endif
