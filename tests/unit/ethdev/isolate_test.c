/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a bifurcated NIC is told. No such card is here: rte_flow's functions are this file's, which
 * the linker takes before DPDK's.
 */
#include <errno.h>
#include <string.h>

#include <rte_errno.h>
#include <rte_flow.h>

#include "isolate.h"
#include "unit.h"

#define RULES_MAX 4

struct rule {
	bool ingress;
	enum rte_flow_item_type items[8];
	uint16_t port, mask;
	enum rte_flow_action_type action;
	uint32_t queues;
};

static struct rule rules[RULES_MAX];
static unsigned int rule_count, rules_allowed;
static int isolated, isolate_result;

int rte_flow_isolate(uint16_t port_id, int set, struct rte_flow_error *error)
{
	isolated = set;
	return isolate_result;
}

int rte_flow_flush(uint16_t port_id, struct rte_flow_error *error)
{
	rule_count = 0;
	return 0;
}

static void note_items(struct rule *rule, const struct rte_flow_item pattern[])
{
	unsigned int i = 0;

	do {
		rule->items[i] = pattern[i].type;
		if (pattern[i].type == RTE_FLOW_ITEM_TYPE_UDP) {
			const struct rte_flow_item_udp *spec = pattern[i].spec;
			const struct rte_flow_item_udp *mask = pattern[i].mask;

			rule->port = rte_be_to_cpu_16(spec->hdr.dst_port);
			rule->mask = rte_be_to_cpu_16(mask->hdr.dst_port);
			CU_ASSERT_EQUAL(mask->hdr.src_port, 0);
		} else {
			CU_ASSERT_PTR_NULL(pattern[i].spec); /* any */
		}
	} while (pattern[i++].type != RTE_FLOW_ITEM_TYPE_END);
}

struct rte_flow *rte_flow_create(uint16_t port_id, const struct rte_flow_attr *attr,
	const struct rte_flow_item pattern[], const struct rte_flow_action actions[],
	struct rte_flow_error *error)
{
	struct rule *rule = &rules[rule_count];

	if (rule_count == rules_allowed) {
		rte_errno = ENOTSUP;
		return NULL;
	}
	rule_count++;
	rule->ingress = attr->ingress && !attr->egress && !attr->transfer && attr->group == 0;
	note_items(rule, pattern);
	rule->action = actions[0].type;
	CU_ASSERT_EQUAL(actions[1].type, RTE_FLOW_ACTION_TYPE_END);
	if (rule->action == RTE_FLOW_ACTION_TYPE_RSS) {
		const struct rte_flow_action_rss *rss = actions[0].conf;

		rule->queues = rss->queue_num;
		for (uint32_t i = 0; i < rss->queue_num; i++)
			CU_ASSERT_EQUAL(rss->queue[i], i);
	} else {
		CU_ASSERT_EQUAL(((const struct rte_flow_action_queue *)actions[0].conf)->index, 0);
	}
	return (struct rte_flow *)rule;
}

static void begin(unsigned int allowed)
{
	memset(rules, 0, sizeof(rules));
	rule_count = 0;
	rules_allowed = allowed;
	isolate_result = 0;
}

static void rule_is(const struct rule *rule, enum rte_flow_item_type family)
{
	CU_ASSERT(rule->ingress);
	CU_ASSERT_EQUAL(rule->items[0], RTE_FLOW_ITEM_TYPE_ETH);
	CU_ASSERT_EQUAL(rule->items[1], family);
	CU_ASSERT_EQUAL(rule->items[2], RTE_FLOW_ITEM_TYPE_UDP);
	CU_ASSERT_EQUAL(rule->items[3], RTE_FLOW_ITEM_TYPE_END);
	CU_ASSERT_EQUAL(rule->port, 4791);
	CU_ASSERT_EQUAL(rule->mask, 0xffff);
}

static void one_queue(void)
{
	begin(RULES_MAX);
	CU_ASSERT_EQUAL(isolate_begin(0, "card"), 0);
	CU_ASSERT_EQUAL(isolated, 1);
	CU_ASSERT_EQUAL(isolate_roce(0, "card", 1), 0);
	CU_ASSERT_EQUAL(rule_count, 2);
	rule_is(&rules[0], RTE_FLOW_ITEM_TYPE_IPV4);
	rule_is(&rules[1], RTE_FLOW_ITEM_TYPE_IPV6);
	CU_ASSERT_EQUAL(rules[0].action, RTE_FLOW_ACTION_TYPE_QUEUE);
	CU_ASSERT_EQUAL(rules[1].action, RTE_FLOW_ACTION_TYPE_QUEUE);
	isolate_end(0);
	CU_ASSERT_EQUAL(rule_count, 0);
}

static void several_queues(void)
{
	begin(RULES_MAX);
	CU_ASSERT_EQUAL(isolate_roce(0, "card", 4), 0);
	CU_ASSERT_EQUAL(rule_count, 2);
	CU_ASSERT_EQUAL(rules[0].action, RTE_FLOW_ACTION_TYPE_RSS);
	CU_ASSERT_EQUAL(rules[0].queues, 4);
	CU_ASSERT_EQUAL(rules[1].queues, 4);
}

static void refused(void)
{
	begin(1); /* IPv6 is not taken */
	CU_ASSERT_EQUAL(isolate_roce(0, "card", 1), -ENOTSUP);
	begin(0);
	CU_ASSERT_EQUAL(isolate_roce(0, "card", 1), -ENOTSUP);
	isolate_result = -ENOSYS;
	CU_ASSERT_EQUAL(isolate_begin(0, "card"), -ENOSYS);
	begin(RULES_MAX);
	CU_ASSERT_EQUAL(isolate_roce(0, "card", 1025), -EINVAL);
}

static const struct unit_case cases[] = {
	UNIT_CASE(one_queue),
	UNIT_CASE(several_queues),
	UNIT_CASE(refused),
};

UNIT_MAIN("ethdev-isolate", cases)
