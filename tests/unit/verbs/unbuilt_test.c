/* SPDX-License-Identifier: BSD-3-Clause */
/* Functions that the device has no capability for say so, each in its way. */
#include "world.h"

static struct world world;

static void says_so(void)
{
	struct ibv_ah_attr attr = {0};
	struct ibv_ece ece = {0};
	union ibv_gid gid = {{0}};
	uint8_t mac[6];
	uint16_t vlan;

	world_open(&world, false);
	ASSERT_NULL_ERRNO(ibv_import_device(world.context->cmd_fd), EOPNOTSUPP);
	ASSERT_NULL_ERRNO(ibv_import_pd(world.context, 1), EOPNOTSUPP);
	ASSERT_NULL_ERRNO(ibv_import_mr(world.pd, 1), EOPNOTSUPP);
	ASSERT_NULL_ERRNO(ibv_import_dm(world.context, 1), EOPNOTSUPP);
	ASSERT_NULL_ERRNO(ibv_reg_dmabuf_mr(world.pd, 0, 1, 0, -1, 0), EOPNOTSUPP);
	ASSERT_MINUS_ERRNO(
		ibv_resolve_eth_l2_from_gid(world.context, &attr, mac, &vlan), EOPNOTSUPP);
	CU_ASSERT_EQUAL(ibv_set_ece(world.qp, &ece), EOPNOTSUPP);
	CU_ASSERT_EQUAL(ibv_query_ece(world.qp, &ece), EOPNOTSUPP);
	CU_ASSERT_EQUAL(ibv_attach_mcast(world.qp, &gid, 0), EINVAL); /* not UD */
	CU_ASSERT_EQUAL(ibv_detach_mcast(world.qp, &gid, 0), EINVAL);
	CU_ASSERT_EQUAL(ibv_query_qp_data_in_order(world.qp, IBV_WR_SEND, 0), 0);
	ibv_unimport_pd(world.pd);
	world_close(&world);
}

static const struct unit_case cases[] = {UNIT_CASE(says_so)};

UNIT_MAIN("verbs-unbuilt", cases)
