/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which queue a frame arrives at. A QP's core is told by the lowest bits of its number
 * (lib/engine/core.h), and queue n is core n's, so that one rule a queue brings every frame to its
 * core. DPDK has no item for a BTH: the rule looks at the number's last byte in the raw payload of
 * UDP port 4791. Where the device takes no such rule, RSS spreads the frames by their addresses and
 * ports, and cores hand over what isn't theirs.
 */
#ifndef UROCE_ETHDEV_STEERING_H
#define UROCE_ETHDEV_STEERING_H

#include <stdbool.h>
#include <stdint.h>

#include <rte_flow.h>

#define STEERING_ITEMS 5u /* Ethernet, IP, UDP, raw, end */

/* A rule's pattern, and what its items point to. */
struct steering_rule {
	struct rte_flow_item items[STEERING_ITEMS];
	struct rte_flow_item_udp udp, udp_mask;
	struct rte_flow_item_raw raw, raw_mask;
	uint8_t value, mask; /* of the last byte of the destination QP's number */
};

/* The rule that brings frames for the QPs of queue `queue` of `count` to it. */
void steering_rule(struct steering_rule *rule, bool ipv6, uint16_t queue, uint16_t count);
/* Rules for all queues of a started device. True: it has taken them all; else it has none. */
bool steering_start(uint16_t device, uint16_t queues);
void steering_stop(uint16_t device);

#endif
