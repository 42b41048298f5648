/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Counters: the front's names against the engine's lists, and the values that belong to them. The
 * fake engine answers 1000, 1001, ... in the order of COUNTERS.
 */
#include "counters.h"
#include "port.h"
#include "rc.h"
#include "world.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static struct world world;

/* What the front calls the parser's verdicts (enum wire_drop). */
static const struct {
	enum wire_drop verdict;
	const char *name;
} verdicts[] = {
	{WIRE_OK, "parse_ok"},
	{WIRE_NOT_ROCE, "parse_not_roce"},
	{WIRE_RUNT, "drop_runt"},
	{WIRE_IP_HEADER, "drop_ip_header"},
	{WIRE_FRAGMENT, "drop_fragment"},
	{WIRE_UDP_LENGTH, "drop_udp_length"},
	{WIRE_OPCODE, "drop_opcode"},
	{WIRE_LENGTH, "drop_length"},
	{WIRE_TVER, "drop_tver"},
	{WIRE_PAD, "drop_pad"},
	{WIRE_ALIGNMENT, "drop_alignment"},
	{WIRE_UNEXPECTED_PAYLOAD, "drop_unexpected_payload"},
	{WIRE_ICRC, "drop_parse_icrc"},
};

static unsigned int at; /* index among the front's names */

static void expect(const char *name)
{
	const char *ours = uroce_counter_name(at++);

	CU_ASSERT_PTR_NOT_NULL_FATAL(ours);
	CU_ASSERT_STRING_EQUAL(ours, name);
}

static void names(void)
{
	at = 0;
	for (unsigned int i = 0; i < COUNT(rc_counter_names); i++)
		expect(rc_counter_names[i]);
	for (unsigned int i = 0; i < COUNT(rc_hold_counter_names); i++)
		expect(rc_hold_counter_names[i]);
	CU_ASSERT_EQUAL(COUNT(verdicts), WIRE_DROPS);
	for (unsigned int i = 0; i < COUNT(verdicts); i++) {
		CU_ASSERT_EQUAL(verdicts[i].verdict, i);
		CU_ASSERT_STRING_EQUAL(engine_drop_names[i], verdicts[i].name);
		expect(verdicts[i].name);
	}
	for (unsigned int i = 0; i < COUNT(engine_counter_names); i++)
		expect(engine_counter_names[i]);
	for (unsigned int i = 0; i < sizeof(struct port_counters) / 8; i++)
		expect(engine_port_counter_names[i]);
	CU_ASSERT_EQUAL(uroce_counter_count(), at);
	CU_ASSERT_PTR_NULL(uroce_counter_name(at));
	CU_ASSERT_PTR_NULL(uroce_counter_name(UINT32_MAX));
}

static void distinct(void)
{
	for (unsigned int i = 0; i < uroce_counter_count(); i++)
		for (unsigned int j = 0; j < i; j++)
			CU_ASSERT_STRING_NOT_EQUAL(uroce_counter_name(i), uroce_counter_name(j));
}

static uint64_t value_of(const uint64_t *values, const char *name)
{
	for (unsigned int i = 0; i < uroce_counter_count(); i++)
		if (strcmp(uroce_counter_name(i), name) == 0)
			return values[i];
	return 0;
}

static void values(void)
{
	uint64_t value[128];
	unsigned int before = COUNT(rc_counter_names) + COUNT(rc_hold_counter_names);

	world_open(&world, false);
	memset(value, 0, sizeof(value));
	CU_ASSERT_EQUAL(uroce_query_counters(world.context, value, uroce_counter_count()), 0);
	CU_ASSERT_EQUAL(value_of(value, "sent_pkts"), 1000);
	CU_ASSERT_EQUAL(value_of(value, "held"), 1000 + COUNT(rc_counter_names));
	CU_ASSERT_EQUAL(value_of(value, "parse_ok"), 1000 + before + RC_HOLD_BUCKETS);
	CU_ASSERT_EQUAL(
		value_of(value, "rx_packets"), 1000 + before + RC_HOLD_BUCKETS + WIRE_DROPS);
	CU_ASSERT_EQUAL(value[uroce_counter_count()], 0);
	memset(value, 0, sizeof(value));
	CU_ASSERT_EQUAL(uroce_query_counters(world.context, value, 2), 0);
	CU_ASSERT_EQUAL(value[1], 1001);
	CU_ASSERT_EQUAL(value[2], 0);
	CU_ASSERT_EQUAL(
		uroce_query_counters(world.context, value, uroce_counter_count() + 1), EINVAL);
	fake_fail(world.engine, UROCE_ABI_COUNTERS, -ENOMEM);
	CU_ASSERT_EQUAL(uroce_query_counters(world.context, value, 1), ENOMEM);
	world_close(&world);
}

static void histogram(void)
{
	struct uroce_hold_histogram histogram;
	unsigned int before = COUNT(rc_counter_names) + COUNT(rc_hold_counter_names);

	CU_ASSERT_EQUAL(UROCE_HOLD_BUCKETS, RC_HOLD_BUCKETS);
	world_open(&world, false);
	CU_ASSERT_EQUAL(uroce_query_hold_histogram(world.context, &histogram), 0);
	for (unsigned int i = 0; i < UROCE_HOLD_BUCKETS; i++) {
		CU_ASSERT_EQUAL(histogram.bound_us[i],
			i < RC_HOLD_BUCKETS - 1 ? rc_hold_bucket_us[i] : UINT64_MAX);
		CU_ASSERT_EQUAL(histogram.count[i], 1000 + before + i);
	}
	world_close(&world);
}

static const struct unit_case cases[] = {
	UNIT_CASE(names),
	UNIT_CASE(distinct),
	UNIT_CASE(values),
	UNIT_CASE(histogram),
};

UNIT_MAIN("verbs-counters", cases)
