/* SPDX-License-Identifier: BSD-3-Clause */
/* What the device, the port and the GID table say. */
#include <errno.h>
#include <string.h>

#include "rig.h"

static struct ibv_port_attr query_port(struct front *front)
{
	struct uroce_abi_command command = {.head.op = UROCE_ABI_QUERY_PORT};

	CU_ASSERT_EQUAL_FATAL(front_command(front, &command), 0);
	return command.u.port.attr;
}

static void device(void)
{
	/* 02:00:00:00:00:01 with the universal bit turned over and ff:fe in the middle. */
	static const uint8_t guid[8] = {0, 0, 0, 0xff, 0xfe, 0, 0, 1};
	struct uroce_abi_command command = {.head.op = UROCE_ABI_QUERY_DEVICE};
	const struct ibv_device_attr *attr = &command.u.device;
	static struct rig rig;

	rig_open(&rig);
	CU_ASSERT_EQUAL_FATAL(front_command(&rig.fronts[0], &command), 0);
	CU_ASSERT_EQUAL(memcmp(&attr->node_guid, guid, 8), 0);
	CU_ASSERT_EQUAL(memcmp(&attr->sys_image_guid, guid, 8), 0);
	CU_ASSERT_NOT_EQUAL(attr->vendor_id, 0);
	CU_ASSERT_NOT_EQUAL(attr->vendor_part_id, 0);
	CU_ASSERT_EQUAL(attr->max_qp, 256); /* as the rig configures */
	CU_ASSERT_EQUAL(attr->max_mr, 1024);
	CU_ASSERT_EQUAL(attr->max_qp_wr, 16384);
	CU_ASSERT_EQUAL(attr->max_sge, 32);
	CU_ASSERT_EQUAL(attr->max_cqe, 4194303);
	CU_ASSERT_EQUAL(attr->max_qp_rd_atom, 16);
	CU_ASSERT_EQUAL(attr->max_qp_init_rd_atom, 16);
	CU_ASSERT_EQUAL(attr->atomic_cap, IBV_ATOMIC_GLOB);
	CU_ASSERT_EQUAL(attr->max_pkeys, 1);
	CU_ASSERT_EQUAL(attr->phys_port_cnt, 1);
	CU_ASSERT_EQUAL(attr->device_cap_flags & IBV_DEVICE_SRQ_RESIZE, 0);
	CU_ASSERT_EQUAL(attr->device_cap_flags & IBV_DEVICE_XRC, 0);
	CU_ASSERT_NOT_EQUAL(attr->device_cap_flags & IBV_DEVICE_MEM_WINDOW_TYPE_2B, 0);
	CU_ASSERT(strlen(attr->fw_ver) > 0 && strchr(attr->fw_ver, '.'));
	rig_close(&rig);
}

static void port(void)
{
	static struct rig rig;
	struct ibv_port_attr attr;

	rig_open(&rig);
	attr = query_port(&rig.fronts[0]);
	CU_ASSERT_EQUAL(attr.state, IBV_PORT_ACTIVE);
	CU_ASSERT_EQUAL(attr.phys_state, 5);
	CU_ASSERT_EQUAL(attr.max_mtu, IBV_MTU_4096);
	CU_ASSERT_EQUAL(attr.active_mtu, IBV_MTU_4096);
	CU_ASSERT_EQUAL(attr.gid_tbl_len, 16);
	CU_ASSERT_EQUAL(attr.pkey_tbl_len, 1);
	CU_ASSERT_EQUAL(attr.max_msg_sz, 0x80000000);
	CU_ASSERT_EQUAL(attr.link_layer, IBV_LINK_LAYER_ETHERNET);
	CU_ASSERT_EQUAL(attr.flags, IBV_QPF_GRH_REQUIRED);
	CU_ASSERT_EQUAL(attr.active_width, 1); /* 25 Gbit/s: 1X EDR */
	CU_ASSERT_EQUAL(attr.active_speed, 32);
	CU_ASSERT_EQUAL(attr.lid, 0);
	loop_set_up(rig.wire, 0, false);
	attr = query_port(&rig.fronts[0]);
	CU_ASSERT_EQUAL(attr.state, IBV_PORT_DOWN);
	CU_ASSERT_EQUAL(attr.phys_state, 3);
	rig_close(&rig);
}

/* Width and speed as `ib_get_width_and_speed()` of Linux 6.1 (drivers/infiniband/core/verbs.c) has
 * them, where that knows the speed; 50 and 200 Gbit/s as its enumerations name them. */
static void speeds(void)
{
	static const struct {
		uint32_t mbps, mtu;
		uint8_t width, speed, active_mtu;
	} rows[] = {
		{0, 1500, 1, 1, IBV_MTU_1024},
		{1000, 1500, 1, 1, IBV_MTU_1024},
		{10000, 9000, 1, 8, IBV_MTU_4096},
		{20000, 2200, 2, 2, IBV_MTU_2048},
		{25000, 1100, 1, 32, IBV_MTU_512},
		{40000, 600, 2, 8, IBV_MTU_256},
		{50000, 1500, 16, 32, IBV_MTU_1024},
		{100000, 1500, 2, 32, IBV_MTU_1024},
		{200000, 1500, 2, 64, IBV_MTU_1024},
		{400000, 1500, 2, 64, IBV_MTU_1024},
	};

	for (unsigned int i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct loop_end_config end = {.speed_mbps = rows[i].mbps, .mtu = rows[i].mtu};
		struct engine_config config = {.name = "speeds", .max_qp = 1, .max_mr = 1};
		struct engine *engine = NULL;
		struct ibv_port_attr attr;
		static struct rig rig;
		struct front front;
		uint64_t keep;

		rig_open(&rig);
		CU_ASSERT_EQUAL_FATAL(loop_add_end(rig.wire, &end, &config.port), 0);
		config.clock = rig.engines[0]->clock;
		config.clock_context = &rig;
		config.region_size = 1 << 20;
		CU_ASSERT_EQUAL_FATAL(engine_create(&config, &engine), 0);
		keep = (uintptr_t)rig.engines[1];
		rig.engines[1] = engine; /* driven by the rig's rounds */
		front_attach(&rig, 1, &front);
		attr = query_port(&front);
		CU_ASSERT_EQUAL(attr.active_width, rows[i].width);
		CU_ASSERT_EQUAL(attr.active_speed, rows[i].speed);
		CU_ASSERT_EQUAL(attr.active_mtu, rows[i].active_mtu);
		front_detach(&front);
		rig.engines[1] = (struct engine *)(uintptr_t)keep;
		CU_ASSERT_EQUAL(engine_destroy(engine), 0);
		rig_close(&rig);
	}
}

static void gids(void)
{
	static const uint8_t zero[16];
	struct uroce_abi_command command = {.head.op = UROCE_ABI_QUERY_GID};
	struct port_gid expected = loop_gid4(RIG_ADDRESS, 24);
	static struct rig rig;

	rig_open(&rig);
	CU_ASSERT_EQUAL(front_command(&rig.fronts[0], &command), 0);
	CU_ASSERT_EQUAL(command.u.gid.type, IBV_GID_TYPE_ROCE_V2);
	CU_ASSERT_EQUAL(memcmp(&command.u.gid.gid, expected.gid, 16), 0);
	for (uint32_t index = 1; index < 16; index++) {
		memset(&command.u.gid, 0xff, sizeof(command.u.gid));
		command.u.gid.index = index;
		CU_ASSERT_EQUAL(front_command(&rig.fronts[0], &command), 0);
		CU_ASSERT_EQUAL(memcmp(&command.u.gid.gid, zero, 16), 0);
	}
	command.u.gid.index = 16;
	CU_ASSERT_EQUAL(front_command(&rig.fronts[0], &command), -EINVAL);
	command.u.gid.index = UINT32_MAX;
	CU_ASSERT_EQUAL(front_command(&rig.fronts[0], &command), -EINVAL);
	rig_close(&rig);
}

static const struct unit_case cases[] = {
	UNIT_CASE(device),
	UNIT_CASE(port),
	UNIT_CASE(speeds),
	UNIT_CASE(gids),
};

UNIT_MAIN("engine-command_query", cases)
