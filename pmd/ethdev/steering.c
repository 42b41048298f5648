/* SPDX-License-Identifier: BSD-3-Clause */
/* Rules of rte_flow: all of them, or none. */
#include "steering.h"

#include <string.h>

#include "core.h"
#include "headers.h"

#define LAST_BYTE (offsetof(struct bth, destination_qp) + sizeof(struct be24) - 1)

void steering_rule(struct steering_rule *rule, bool ipv6, uint16_t queue, uint16_t count)
{
	const struct cores cores = cores_of(count);

	memset(rule, 0, sizeof(*rule));
	rule->udp.hdr.dst_port = rte_cpu_to_be_16(ROCE_UDP_PORT);
	rule->udp_mask.hdr.dst_port = UINT16_MAX;
	rule->value = (uint8_t)queue;
	rule->mask = (uint8_t)((1u << cores.shift) - 1);
	rule->raw = (struct rte_flow_item_raw){
		.relative = 1, .offset = LAST_BYTE, .length = 1, .pattern = &rule->value};
	rule->raw_mask = (struct rte_flow_item_raw){
		.relative = 1, .offset = -1, .length = UINT16_MAX, .pattern = &rule->mask};
	rule->items[0].type = RTE_FLOW_ITEM_TYPE_ETH;
	rule->items[1].type = ipv6 ? RTE_FLOW_ITEM_TYPE_IPV6 : RTE_FLOW_ITEM_TYPE_IPV4;
	rule->items[2] = (struct rte_flow_item){
		.type = RTE_FLOW_ITEM_TYPE_UDP, .spec = &rule->udp, .mask = &rule->udp_mask};
	rule->items[3] = (struct rte_flow_item){
		.type = RTE_FLOW_ITEM_TYPE_RAW, .spec = &rule->raw, .mask = &rule->raw_mask};
	rule->items[4].type = RTE_FLOW_ITEM_TYPE_END;
}

static bool add(uint16_t device, bool ipv6, uint16_t queue, uint16_t count)
{
	const struct rte_flow_action_queue to = {.index = queue};
	const struct rte_flow_attr attr = {.ingress = 1};
	const struct rte_flow_action actions[] = {
		{.type = RTE_FLOW_ACTION_TYPE_QUEUE, .conf = &to},
		{.type = RTE_FLOW_ACTION_TYPE_END},
	};
	struct steering_rule rule;
	struct rte_flow_error error;

	steering_rule(&rule, ipv6, queue, count);
	return rte_flow_validate(device, &attr, rule.items, actions, &error) == 0 &&
		rte_flow_create(device, &attr, rule.items, actions, &error) != NULL;
}

bool steering_start(uint16_t device, uint16_t queues)
{
	for (uint16_t queue = 0; queue < queues; queue++)
		if (!add(device, false, queue, queues) || !add(device, true, queue, queues)) {
			steering_stop(device);
			return false;
		}
	return true;
}

void steering_stop(uint16_t device)
{
	struct rte_flow_error error;

	(void)rte_flow_flush(device, &error);
}
