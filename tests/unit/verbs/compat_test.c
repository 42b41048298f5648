/* SPDX-License-Identifier: BSD-3-Clause */
/* Queries: both forms of query_port, GIDs with an empty entry, P_Keys, the extended device query.
 */
#include <arpa/inet.h>

#include "fallthrough.h"
#include "world.h"

static struct world world;

static void device(void)
{
	struct ibv_device_attr attr;
	struct ibv_device_attr_ex ex;
	struct ibv_query_device_ex_input input = {.comp_mask = 1};

	world_open(&world, false);
	CU_ASSERT_EQUAL(ibv_query_device(world.context, &attr), 0);
	CU_ASSERT_EQUAL(attr.node_guid, FAKE_GUID);
	CU_ASSERT_EQUAL(attr.max_cqe, FAKE_MAX_CQE);
	memset(&ex, 0xee, sizeof(ex));
	CU_ASSERT_EQUAL(ibv_query_device_ex(world.context, NULL, &ex), 0);
	CU_ASSERT_EQUAL(memcmp(&ex.orig_attr, &attr, sizeof(attr)), 0);
	CU_ASSERT_EQUAL(ex.phys_port_cnt_ex, 1);
	CU_ASSERT_EQUAL(ex.device_cap_flags_ex, attr.device_cap_flags);
	CU_ASSERT_EQUAL(ex.odp_caps.general_caps, 0);
	CU_ASSERT_EQUAL(ex.max_dm_size, 0);
	CU_ASSERT_EQUAL(ex.completion_timestamp_mask, 0); /* that is an extended CQ's */
	CU_ASSERT_EQUAL(ibv_query_device_ex(world.context, &input, &ex), EINVAL);
	fake_fail(world.engine, UROCE_ABI_QUERY_DEVICE, -ENOMEM);
	CU_ASSERT_EQUAL(ibv_query_device(world.context, &attr), ENOMEM);
	world_close(&world);
}

/* The old entry gets 48 bytes and not one more; the new one what it asks for. */
static void port(void)
{
	union {
		struct ibv_port_attr attr;
		uint8_t bytes[sizeof(struct ibv_port_attr) + 16];
	} answer;

	world_open(&world, false);
	memset(&answer, 0xee, sizeof(answer));
	CU_ASSERT_EQUAL(___ibv_query_port(world.context, 1, &answer.attr), 0);
	CU_ASSERT_EQUAL(answer.attr.state, IBV_PORT_ACTIVE);
	CU_ASSERT_EQUAL(answer.attr.port_cap_flags2, 7);
	CU_ASSERT_EQUAL(answer.bytes[sizeof(struct ibv_port_attr)], 0xee);
	memset(&answer, 0xee, sizeof(answer));
	CU_ASSERT_EQUAL(
		ibv_query_port(world.context, 1, (struct _compat_ibv_port_attr *)&answer), 0);
	CU_ASSERT_EQUAL(answer.attr.state, IBV_PORT_ACTIVE);
	CU_ASSERT_EQUAL(answer.attr.gid_tbl_len, FAKE_GIDS);
	for (unsigned int i = 48; i < sizeof(answer); i++)
		CU_ASSERT_EQUAL(answer.bytes[i], 0xee);
	CU_ASSERT_EQUAL(___ibv_query_port(world.context, 0, &answer.attr), EINVAL);
	CU_ASSERT_EQUAL(___ibv_query_port(world.context, 2, &answer.attr), EINVAL);
	CU_ASSERT_EQUAL(
		ibv_query_port(world.context, 2, (struct _compat_ibv_port_attr *)&answer), EINVAL);
	world_close(&world);
}

static void gid(void)
{
	static const union ibv_gid zero;
	union ibv_gid got;
	struct ibv_gid_entry entry;
	enum gid_type_sysfs type;

	world_open(&world, false);
	CU_ASSERT_EQUAL(ibv_query_gid(world.context, 1, 0, &got), 0);
	CU_ASSERT_EQUAL(got.raw[12], 10);
	CU_ASSERT_EQUAL(ibv_query_gid(world.context, 1, 1, &got), 0);
	CU_ASSERT_EQUAL(memcmp(&got, &zero, sizeof(got)), 0);
	ASSERT_MINUS_ERRNO(ibv_query_gid(world.context, 1, FAKE_GIDS, &got), EINVAL);
	ASSERT_MINUS_ERRNO(ibv_query_gid(world.context, 1, -1, &got), EINVAL);
	ASSERT_MINUS_ERRNO(ibv_query_gid(world.context, 2, 0, &got), EINVAL);

	CU_ASSERT_EQUAL(ibv_query_gid_ex(world.context, 1, 2, &entry, 0), 0);
	CU_ASSERT_EQUAL(entry.gid.raw[0], 0xfe);
	CU_ASSERT_EQUAL(entry.gid_index, 2);
	CU_ASSERT_EQUAL(entry.port_num, 1);
	CU_ASSERT_EQUAL(entry.gid_type, IBV_GID_TYPE_ROCE_V2);
	CU_ASSERT_EQUAL(ibv_query_gid_ex(world.context, 1, 1, &entry, 0), ENODATA);
	CU_ASSERT_EQUAL(ibv_query_gid_ex(world.context, 1, FAKE_GIDS, &entry, 0), EINVAL);
	CU_ASSERT_EQUAL(ibv_query_gid_ex(world.context, 2, 0, &entry, 0), EINVAL);
	CU_ASSERT_EQUAL(ibv_query_gid_ex(world.context, 1, 0, &entry, 1), EOPNOTSUPP);

	CU_ASSERT_EQUAL(ibv_query_gid_type(world.context, 1, 0, &type), 0);
	CU_ASSERT_EQUAL(type, GID_TYPE_SYSFS_ROCE_V2);
	CU_ASSERT_EQUAL(ibv_query_gid_type(world.context, 1, 1, &type), 0);
	CU_ASSERT_EQUAL(type, GID_TYPE_SYSFS_IB_ROCE_V1);
	ASSERT_MINUS_ERRNO(ibv_query_gid_type(world.context, 1, FAKE_GIDS, &type), EINVAL);
	world_close(&world);
}

static void gid_table(void)
{
	struct ibv_gid_entry entries[4];

	world_open(&world, false);
	CU_ASSERT_EQUAL(ibv_query_gid_table(world.context, entries, 4, 0), 2);
	CU_ASSERT_EQUAL(entries[0].gid_index, 0);
	CU_ASSERT_EQUAL(entries[1].gid_index, 2);
	CU_ASSERT_EQUAL(entries[1].gid.raw[15], 2);
	CU_ASSERT_EQUAL(ibv_query_gid_table(world.context, entries, 2, 0), 2);
	CU_ASSERT_EQUAL(ibv_query_gid_table(world.context, entries, 1, 0), -EINVAL);
	CU_ASSERT_EQUAL(ibv_query_gid_table(world.context, entries, 0, 0), -EINVAL);
	CU_ASSERT_EQUAL(ibv_query_gid_table(world.context, entries, 4, 1), -EOPNOTSUPP);
	fake_fail(world.engine, UROCE_ABI_QUERY_GID, -ENOMEM);
	CU_ASSERT_EQUAL(ibv_query_gid_table(world.context, entries, 4, 0), -ENOMEM);
	world_close(&world);
}

static void pkey(void)
{
	__be16 got = 0;

	world_open(&world, false);
	CU_ASSERT_EQUAL(ibv_query_pkey(world.context, 1, 0, &got), 0);
	CU_ASSERT_EQUAL(got, 0xffff);
	ASSERT_MINUS_ERRNO(ibv_query_pkey(world.context, 1, 1, &got), EINVAL);
	ASSERT_MINUS_ERRNO(ibv_query_pkey(world.context, 1, -1, &got), EINVAL);
	ASSERT_MINUS_ERRNO(ibv_query_pkey(world.context, 0, 0, &got), EINVAL);
	CU_ASSERT_EQUAL(ibv_get_pkey_index(world.context, 1, htons(0xffff)), 0);
	ASSERT_MINUS_ERRNO(ibv_get_pkey_index(world.context, 1, htons(0x7fff)), EINVAL);
	ASSERT_MINUS_ERRNO(ibv_get_pkey_index(world.context, 2, htons(0xffff)), EINVAL);
	world_close(&world);
}

static const struct unit_case cases[] = {
	UNIT_CASE(device),
	UNIT_CASE(port),
	UNIT_CASE(gid),
	UNIT_CASE(gid_table),
	UNIT_CASE(pkey),
};

UNIT_MAIN("verbs-compat", cases)
