/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The rules that bring frames to their QP's core. No device here takes them: rte_flow's functions
 * are this file's, which the linker takes before DPDK's, and match as a NIC would.
 */
#include <errno.h>
#include <string.h>

#include <rte_byteorder.h>
#include <rte_flow.h>

#include "steering.h"
#include "unit.h"

#define RULES_MAX 64u

struct rule {
	bool ipv6;
	uint16_t port;
	int32_t offset; /* behind the UDP header */
	uint8_t value, mask;
	uint16_t queue;
};

static struct rule rules[RULES_MAX];
static unsigned int rule_count, rules_allowed, validated;
static int validation;

int rte_flow_validate(uint16_t device, const struct rte_flow_attr *attr,
	const struct rte_flow_item items[], const struct rte_flow_action actions[],
	struct rte_flow_error *error)
{
	CU_ASSERT_EQUAL(device, 7);
	CU_ASSERT(attr->ingress && !attr->egress && !attr->transfer);
	validated++;
	return validation;
}

struct rte_flow *rte_flow_create(uint16_t device, const struct rte_flow_attr *attr,
	const struct rte_flow_item items[], const struct rte_flow_action actions[],
	struct rte_flow_error *error)
{
	const struct rte_flow_item_udp *udp = items[2].spec, *udp_mask = items[2].mask;
	const struct rte_flow_item_raw *raw = items[3].spec, *raw_mask = items[3].mask;
	struct rule *rule = &rules[rule_count];

	if (rule_count == rules_allowed)
		return NULL;
	CU_ASSERT_EQUAL(items[0].type, RTE_FLOW_ITEM_TYPE_ETH);
	CU_ASSERT_EQUAL(items[2].type, RTE_FLOW_ITEM_TYPE_UDP);
	CU_ASSERT_EQUAL(items[3].type, RTE_FLOW_ITEM_TYPE_RAW);
	CU_ASSERT_EQUAL(items[4].type, RTE_FLOW_ITEM_TYPE_END);
	CU_ASSERT_EQUAL(udp_mask->hdr.dst_port, 0xffff);
	CU_ASSERT_EQUAL(udp_mask->hdr.src_port, 0);
	CU_ASSERT(raw->relative && !raw->search && raw->length == 1);
	CU_ASSERT(raw_mask->relative == 1 && raw_mask->offset == -1);
	CU_ASSERT_EQUAL(actions[0].type, RTE_FLOW_ACTION_TYPE_QUEUE);
	CU_ASSERT_EQUAL(actions[1].type, RTE_FLOW_ACTION_TYPE_END);
	*rule = (struct rule){
		.ipv6 = items[1].type == RTE_FLOW_ITEM_TYPE_IPV6,
		.port = rte_be_to_cpu_16(udp->hdr.dst_port),
		.offset = raw->offset,
		.value = raw->pattern[0],
		.mask = raw_mask->pattern[0],
		.queue = ((const struct rte_flow_action_queue *)actions[0].conf)->index,
	};
	rule_count++;
	return (struct rte_flow *)rule;
}

int rte_flow_flush(uint16_t device, struct rte_flow_error *error)
{
	rule_count = 0;
	return 0;
}

static void begin(unsigned int allowed, int result)
{
	memset(rules, 0, sizeof(rules));
	rule_count = 0;
	validated = 0;
	rules_allowed = allowed;
	validation = result;
}

/* The queue that a BTH goes to; -1: no rule takes it. */
static int queue_of(const uint8_t bth[12], bool ipv6)
{
	int queue = -1;

	for (unsigned int i = 0; i < rule_count; i++) {
		const struct rule *rule = &rules[i];

		if (rule->ipv6 != ipv6 || (bth[rule->offset] & rule->mask) != rule->value)
			continue;
		CU_ASSERT_EQUAL(queue, -1); /* one rule only */
		queue = rule->queue;
	}
	return queue;
}

/* A captured SEND only: opcode, flags, P_Key, reserved, QP 0x000012, AckReq, PSN 0x8e3e4b. */
static const uint8_t send_only[12] = {
	0x04, 0x40, 0xff, 0xff, 0x00, 0x00, 0x00, 0x12, 0x80, 0x8e, 0x3e, 0x4b};

static void by_number(void)
{
	static const struct {
		uint16_t queues;
		uint8_t last; /* byte of the QP's number */
		int queue;
	} rows[] = {
		{2, 0x12, 0},
		{2, 0x13, 1},
		{2, 0xff, 1},
		{3, 0x00, 0},
		{3, 0x01, 1},
		{3, 0x02, 2},
		{3, 0x03, -1},
		{3, 0xfe, 2},
		{4, 0x13, 3},
		{4, 0xfc, 0},
		{16, 0x12, 2},
		{16, 0xef, 15},
	};

	for (unsigned int i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		uint8_t bth[12];

		begin(RULES_MAX, 0);
		CU_ASSERT_TRUE(steering_start(7, rows[i].queues));
		CU_ASSERT_EQUAL(rule_count, 2u * rows[i].queues);
		CU_ASSERT_EQUAL(rules[0].port, 4791);
		memcpy(bth, send_only, sizeof(bth));
		bth[7] = rows[i].last;
		CU_ASSERT_EQUAL(queue_of(bth, false), rows[i].queue);
		CU_ASSERT_EQUAL(queue_of(bth, true), rows[i].queue);
	}
}

static void all_or_none(void)
{
	begin(RULES_MAX, -ENOTSUP);
	CU_ASSERT_FALSE(steering_start(7, 4));
	CU_ASSERT_EQUAL(rule_count, 0);
	CU_ASSERT_EQUAL(validated, 1);
	begin(7, 0); /* the last rule isn't taken */
	CU_ASSERT_FALSE(steering_start(7, 4));
	CU_ASSERT_EQUAL(rule_count, 0);
}

static const struct unit_case cases[] = {
	UNIT_CASE(by_number),
	UNIT_CASE(all_or_none),
};

UNIT_MAIN("ethdev-steering", cases)
