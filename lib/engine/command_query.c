/* SPDX-License-Identifier: BSD-3-Clause */
/* QUERY_DEVICE, QUERY_PORT, QUERY_GID: what there is, as verbs asks for it. */
#include "command.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* A locally administered number in the form of an OUI, since we have no vendor's: "ur". */
#define VENDOR_ID 0x027572u
#define VENDOR_PART_ID 1u
#define HARDWARE_VERSION 1u
/* 4.096 us x 2^15 = 134 ms: an engine that a program drives answers no sooner than it is driven. */
#define CA_ACK_DELAY 15u

/*
 * What is real: local invalidate, SEND with invalidate and type 2 windows are the parts of the
 * memory management extensions that verbs has for programs.
 */
#define CAPABILITIES                                                                               \
	(IBV_DEVICE_CURR_QP_STATE_MOD | IBV_DEVICE_PORT_ACTIVE_EVENT | IBV_DEVICE_SYS_IMAGE_GUID | \
		IBV_DEVICE_RC_RNR_NAK_GEN | IBV_DEVICE_MEM_WINDOW |                                \
		IBV_DEVICE_MEM_MGT_EXTENSIONS | IBV_DEVICE_MEM_WINDOW_TYPE_2B)

/* Modified EUI-64 (RFC 4291, appendix A), in network order. */
static uint64_t guid_of(const uint8_t mac[6])
{
	const uint8_t bytes[8] = {mac[0] ^ 2, mac[1], mac[2], 0xff, 0xfe, mac[3], mac[4], mac[5]};
	uint64_t guid;

	memcpy(&guid, bytes, sizeof(guid));
	return guid;
}

int command_query_device(struct worker *worker, struct command *command)
{
	const struct engine *engine = worker->engine;
	struct ibv_device_attr *device = &command->abi.u.device;
	struct port_info info;

	engine->port->ops->info(engine->port, &info);
	*device = (struct ibv_device_attr){
		.node_guid = guid_of(info.mac),
		.sys_image_guid = guid_of(info.mac),
		.max_mr_size = UINT64_MAX,
		.page_size_cap = ~0xfffull, /* any size: nothing is translated */
		.vendor_id = VENDOR_ID,
		.vendor_part_id = VENDOR_PART_ID,
		.hw_ver = HARDWARE_VERSION,
		.max_qp = (int)engine->max_qp,
		.max_qp_wr = LIMIT_QP_WR,
		.device_cap_flags = CAPABILITIES,
		.max_sge = LIMIT_SGE,
		.max_sge_rd = LIMIT_SGE,
		.max_cq = LIMIT_CQS,
		.max_cqe = LIMIT_CQE,
		.max_mr = (int)engine->max_mr,
		.max_pd = LIMIT_PDS,
		.max_qp_rd_atom = LIMIT_RD_ATOMIC,
		.max_res_rd_atom = (int)(engine->max_qp * LIMIT_RD_ATOMIC),
		.max_qp_init_rd_atom = LIMIT_RD_ATOMIC,
		.atomic_cap = IBV_ATOMIC_GLOB, /* the CPU's own */
		.max_mw = (int)engine->max_mr,
		.max_ah = LIMIT_AHS,
		.max_srq = LIMIT_SRQS,
		.max_srq_wr = LIMIT_SRQ_WR,
		.max_srq_sge = LIMIT_SGE,
		.max_pkeys = 1,
		.local_ca_ack_delay = CA_ACK_DELAY,
		.phys_port_cnt = 1,
	};
	snprintf(device->fw_ver, sizeof(device->fw_ver), "%s", UROCE_VERSION);
	return 0;
}

/* Codes of enum ib_port_width and ib_port_speed (Linux, include/rdma/ib_verbs.h). */
enum width { WIDTH_1X = 1, WIDTH_4X = 2, WIDTH_2X = 16 };
enum speed { SPEED_SDR = 1, SPEED_DDR = 2, SPEED_FDR10 = 8, SPEED_EDR = 32, SPEED_HDR = 64 };

static const struct {
	uint32_t mbps; /* at least */
	uint8_t width;
	uint8_t speed;
} speeds[] = {
	{200000, WIDTH_4X, SPEED_HDR}, {100000, WIDTH_4X, SPEED_EDR}, {50000, WIDTH_2X, SPEED_EDR},
	{40000, WIDTH_4X, SPEED_FDR10}, {25000, WIDTH_1X, SPEED_EDR}, {20000, WIDTH_4X, SPEED_DDR},
	{10000, WIDTH_1X, SPEED_FDR10},
	{0, WIDTH_1X, SPEED_SDR}, /* slower than any that verbs can name, or unknown */
};

static void set_speed(struct ibv_port_attr *attr, uint32_t mbps)
{
	unsigned int i = 0;

	while (mbps < speeds[i].mbps)
		i++;
	attr->active_width = speeds[i].width;
	attr->active_speed = speeds[i].speed;
}

/* enum ib_port_phys_state of Linux: disabled or polling are what Ethernet doesn't tell apart. */
enum phys_state { PHYS_DISABLED = 3, PHYS_LINK_UP = 5 };

static uint32_t pkey_violations(const struct engine *engine)
{
	uint64_t sum = 0;

	for_each_worker(each, engine) sum += each->core.counters.drop_pkey;
	return sum < UINT32_MAX ? (uint32_t)sum : UINT32_MAX;
}

int command_query_port(struct worker *worker, struct command *command)
{
	const struct engine *engine = worker->engine;
	struct ibv_port_attr *attr = &command->abi.u.port.attr;
	struct port_info info;

	engine->port->ops->info(engine->port, &info);
	*attr = (struct ibv_port_attr){
		.state = info.up ? IBV_PORT_ACTIVE : IBV_PORT_DOWN,
		.max_mtu = IBV_MTU_4096,
		.active_mtu = address_mtu(info.mtu),
		.gid_tbl_len = PORT_GIDS_MAX,
		.port_cap_flags = IBV_PORT_IP_BASED_GIDS,
		.max_msg_sz = LIMIT_MESSAGE,
		.bad_pkey_cntr = pkey_violations(engine),
		.pkey_tbl_len = 1,
		.max_vl_num = 1,
		.phys_state = info.up ? PHYS_LINK_UP : PHYS_DISABLED,
		.link_layer = IBV_LINK_LAYER_ETHERNET,
		.flags = IBV_QPF_GRH_REQUIRED,
	};
	set_speed(attr, info.speed_mbps);
	return 0;
}

int command_query_gid(struct worker *worker, struct command *command)
{
	const struct port *port = worker->engine->port;
	uint32_t index = command->abi.u.gid.index;
	struct port_info info;

	if (index >= PORT_GIDS_MAX)
		return -EINVAL;
	port->ops->info(port, &info);
	memset(&command->abi.u.gid.gid, 0, sizeof(command->abi.u.gid.gid));
	command->abi.u.gid.type = IBV_GID_TYPE_ROCE_V2;
	if (index < info.gid_count)
		memcpy(&command->abi.u.gid.gid, info.gids[index].gid,
			sizeof(command->abi.u.gid.gid));
	return 0;
}
