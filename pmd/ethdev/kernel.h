/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The kernel's side of a device that has one: net_af_packet and its like send and receive through
 * an interface of the kernel, whose MTU, link and filters are asked for and set here.
 */
#ifndef UROCE_ETHDEV_KERNEL_H
#define UROCE_ETHDEV_KERNEL_H

#include <net/if.h>
#include <stdbool.h>
#include <stdint.h>

/* The interface's MTU, or -errno. */
int kernel_mtu(const char *interface);
/* Is the interface up and its carrier there? `fd` is any socket. */
bool kernel_link_is_up(int fd, const char *interface);
/*
 * Which interface of this network namespace has the address? Returns false if none.
 *
 * Any interface counts, not the device's alone: the kernel answers ARP requests for each of its
 * addresses on every interface (arp_ignore = 0, its default), so the address is on our link too.
 */
bool kernel_has_address(const uint8_t gid[16], char interface[IF_NAMESIZE]);

/*
 * A socket that receives nothing itself, but makes the interface take in what is sent to these
 * MACs, groups or not, until it is closed; no flag of the interface is touched. Returns the socket
 * or -errno.
 */
int kernel_filter_open(unsigned int index);
int kernel_filter_add(int fd, unsigned int index, const uint8_t mac[6]);

#endif
