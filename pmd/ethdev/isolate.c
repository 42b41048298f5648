/* SPDX-License-Identifier: BSD-3-Clause */
/* rte_flow: isolation, and a rule a family. */
#include <errno.h>

#include <rte_byteorder.h>
#include <rte_errno.h>
#include <rte_ethdev.h>
#include <rte_flow.h>

#include "log.h"
#include "isolate.h"

#define ROCE_PORT 4791
#define QUEUES_MAX 1024u

static int failed(const char *name, const char *what, int err, const struct rte_flow_error *error)
{
	log_error("%s cannot share the kernel's addresses: %s: %s", name, what,
		error->message ? error->message : rte_strerror(-err));
	return err;
}

int isolate_begin(uint16_t id, const char *name)
{
	struct rte_flow_error error = {0};
	int err = rte_flow_isolate(id, 1, &error);

	return err ? failed(name, "its flows cannot be isolated", err, &error) : 0;
}

/* One queue is named by itself; several share by the addresses and ports. */
static int create(
	uint16_t id, enum rte_flow_item_type family, uint16_t count, struct rte_flow_error *error)
{
	const struct rte_flow_attr attr = {.ingress = 1};
	const struct rte_flow_item_udp port = {.hdr.dst_port = RTE_BE16(ROCE_PORT)};
	const struct rte_flow_item_udp mask = {.hdr.dst_port = RTE_BE16(0xffff)};
	const struct rte_flow_item pattern[] = {
		{.type = RTE_FLOW_ITEM_TYPE_ETH},
		{.type = family},
		{.type = RTE_FLOW_ITEM_TYPE_UDP, .spec = &port, .mask = &mask},
		{.type = RTE_FLOW_ITEM_TYPE_END},
	};
	uint16_t queues[QUEUES_MAX];
	const struct rte_flow_action_queue queue = {.index = 0};
	const struct rte_flow_action_rss rss = {
		.types = RTE_ETH_RSS_IP | RTE_ETH_RSS_UDP, .queue_num = count, .queue = queues};
	const struct rte_flow_action actions[] = {
		{.type = count > 1 ? RTE_FLOW_ACTION_TYPE_RSS : RTE_FLOW_ACTION_TYPE_QUEUE,
			.conf = count > 1 ? (const void *)&rss : &queue},
		{.type = RTE_FLOW_ACTION_TYPE_END},
	};

	for (uint16_t i = 0; i < count; i++)
		queues[i] = i;
	return rte_flow_create(id, &attr, pattern, actions, error) ? 0 : -rte_errno;
}

int isolate_roce(uint16_t id, const char *name, uint16_t count)
{
	struct rte_flow_error error = {0};
	int err = -EINVAL;

	if (count <= QUEUES_MAX)
		err = create(id, RTE_FLOW_ITEM_TYPE_IPV4, count, &error);
	if (!err)
		err = create(id, RTE_FLOW_ITEM_TYPE_IPV6, count, &error);
	return err ? failed(name, "it takes no flow rule for UDP port 4791", err, &error) : 0;
}

void isolate_end(uint16_t id)
{
	struct rte_flow_error error;

	rte_flow_flush(id, &error);
}
