/* SPDX-License-Identifier: BSD-3-Clause */
/* Address handles: arguments, and attributes from a received datagram's header. */
#include "world.h"

static struct world world;

static void created(void)
{
	struct ibv_ah_attr attr = {.port_num = 1, .is_global = 1};
	struct ibv_ah *ah;

	world_open(&world, false);
	ah = ibv_create_ah(world.pd, &attr);
	CU_ASSERT_PTR_NOT_NULL_FATAL(ah);
	CU_ASSERT_PTR_EQUAL(ah->pd, world.pd);
	CU_ASSERT_EQUAL(fake_last(world.engine, UROCE_ABI_CREATE_AH)->u.ah.pd, world.pd->handle);
	CU_ASSERT_EQUAL(ibv_destroy_ah(ah), 0);
	attr.is_global = 0;
	ASSERT_NULL_ERRNO(ibv_create_ah(world.pd, &attr), EINVAL);
	attr.is_global = 1;
	attr.port_num = 2;
	ASSERT_NULL_ERRNO(ibv_create_ah(world.pd, &attr), EINVAL);
	attr.port_num = 1;
	fake_fail(world.engine, UROCE_ABI_CREATE_AH, -ENETUNREACH);
	ASSERT_NULL_ERRNO(ibv_create_ah(world.pd, &attr), ENETUNREACH);
	world_close(&world);
}

/* From 192.0.2.7 to 10.0.0.1 (our GID 0), TOS 0x68, TTL 61; the IPv4 header lies in the last 20. */
static uint8_t ipv4[40] = {
	[20] = 0x45, 0x68, 0, 60, 0, 0, 0x40, 0, 61, 17, 0, 0, 192, 0, 2, 7, 10, 0, 0, 1};
/* From fe80::9 to fe80::2 (our GID 2), traffic class 0x15, flow label 0xabcde, hop limit 3. */
static uint8_t ipv6[40] = {0x61, 0x5a, 0xbc, 0xde, 0, 20, 17, 3, [8] = 0xfe,
	0x80, [23] = 9, [24] = 0xfe, 0x80, [39] = 2};

static void from_completion(void)
{
	struct ibv_wc wc = {.wc_flags = IBV_WC_GRH, .sl = 2};
	struct ibv_ah_attr attr;
	struct ibv_ah *ah;

	world_open(&world, false);
	CU_ASSERT_EQUAL(
		ibv_init_ah_from_wc(world.context, 1, &wc, (struct ibv_grh *)ipv4, &attr), 0);
	CU_ASSERT_EQUAL(attr.grh.sgid_index, 0);
	CU_ASSERT_EQUAL(attr.grh.dgid.raw[10], 0xff);
	CU_ASSERT_EQUAL(attr.grh.dgid.raw[12], 192);
	CU_ASSERT_EQUAL(attr.grh.dgid.raw[15], 7);
	CU_ASSERT_EQUAL(attr.grh.traffic_class, 0x68);
	CU_ASSERT_EQUAL(attr.grh.hop_limit, 61);
	CU_ASSERT_EQUAL(attr.is_global, 1);
	CU_ASSERT_EQUAL(attr.port_num, 1);
	CU_ASSERT_EQUAL(attr.sl, 2);
	CU_ASSERT_EQUAL(
		ibv_init_ah_from_wc(world.context, 1, &wc, (struct ibv_grh *)ipv6, &attr), 0);
	CU_ASSERT_EQUAL(attr.grh.sgid_index, 2);
	CU_ASSERT_EQUAL(attr.grh.dgid.raw[0], 0xfe);
	CU_ASSERT_EQUAL(attr.grh.dgid.raw[15], 9);
	CU_ASSERT_EQUAL(attr.grh.traffic_class, 0x15);
	CU_ASSERT_EQUAL(attr.grh.flow_label, 0xabcde);
	CU_ASSERT_EQUAL(attr.grh.hop_limit, 3);
	ah = ibv_create_ah_from_wc(world.pd, &wc, (struct ibv_grh *)ipv4, 1);
	CU_ASSERT_PTR_NOT_NULL_FATAL(ah);
	CU_ASSERT_EQUAL(ibv_destroy_ah(ah), 0);
	world_close(&world);
}

static void wrong(void)
{
	struct ibv_wc wc = {0};
	struct ibv_ah_attr attr;
	uint8_t foreign[40];

	world_open(&world, false);
	memcpy(foreign, ipv4, sizeof(foreign));
	foreign[39] = 99; /* not our address */
	ASSERT_MINUS_ERRNO(
		ibv_init_ah_from_wc(world.context, 1, &wc, (struct ibv_grh *)ipv4, &attr), EINVAL);
	wc.wc_flags = IBV_WC_GRH;
	ASSERT_MINUS_ERRNO(
		ibv_init_ah_from_wc(world.context, 2, &wc, (struct ibv_grh *)ipv4, &attr), EINVAL);
	ASSERT_MINUS_ERRNO(
		ibv_init_ah_from_wc(world.context, 1, &wc, (struct ibv_grh *)foreign, &attr),
		ENOENT);
	ASSERT_NULL_ERRNO(
		ibv_create_ah_from_wc(world.pd, &wc, (struct ibv_grh *)foreign, 1), ENOENT);
	world_close(&world);
}

static const struct unit_case cases[] = {
	UNIT_CASE(created),
	UNIT_CASE(from_completion),
	UNIT_CASE(wrong),
};

UNIT_MAIN("verbs-ah", cases)
