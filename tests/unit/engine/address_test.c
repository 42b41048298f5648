/* SPDX-License-Identifier: BSD-3-Clause */
/* Address vectors: which are refused and why, what the headers get, MTUs, and changes of MACs,
 * links and GIDs while QPs live. */
#include "address.h"

#include <errno.h>
#include <string.h>

#include "rig.h"

static const uint8_t own6[16] = {0xfd, [15] = 1};
static const uint8_t peer6[16] = {0xfd, [15] = 2};

static void set_gids(struct rig *rig)
{
	struct port_gid gids[4] = {loop_gid4(RIG_ADDRESS, 24), loop_gid6(own6, 64)};
	struct port_gid peer[2] = {loop_gid4(RIG_ADDRESS + 1, 24), loop_gid6(peer6, 64)};

	gids[3] = loop_gid4(0x0a010001, 24); /* entry 2 stays empty */
	gids[3].has_vlan = true;
	gids[3].vlan_id = 0x123;
	loop_set_gids(rig->wire, 0, gids, 4);
	loop_set_gids(rig->wire, 1, peer, 2);
}

static struct ibv_ah_attr vector(void)
{
	struct ibv_ah_attr av = {.is_global = 1, .port_num = 1};
	struct port_gid gid = loop_gid4(RIG_ADDRESS + 1, 24);

	memcpy(av.grh.dgid.raw, gid.gid, 16);
	return av;
}

#define BAD(name, change)                                                                          \
	do {                                                                                       \
		struct ibv_ah_attr av = vector();                                                  \
		change;                                                                            \
		CU_ASSERT_EQUAL(address_find(rig.ports[0], &av, &address), -EINVAL);               \
	} while (0)

static void refused(void)
{
	static const uint8_t multicast4[16] = {[10] = 0xff, 0xff, 0xe0, 0, 0, 1};
	static const uint8_t multicast6[16] = {0xff, 0x02, [15] = 1};
	struct ibv_ah_attr nowhere = vector();
	struct address address;
	struct rig rig;

	rig_open(&rig);
	set_gids(&rig);
	BAD("not global", av.is_global = 0);
	BAD("port 0", av.port_num = 0);
	BAD("port 2", av.port_num = 2);
	BAD("service level", av.sl = 16);
	BAD("flow label", av.grh.flow_label = 0x100000);
	BAD("empty GID", av.grh.sgid_index = 2);
	BAD("no GID", av.grh.sgid_index = 4);
	BAD("no GID", av.grh.sgid_index = 255);
	BAD("families", av.grh.sgid_index = 1);
	BAD("families", memcpy(av.grh.dgid.raw, peer6, 16));
	BAD("unspecified", memset(av.grh.dgid.raw, 0, 16));
	BAD("multicast", memcpy(av.grh.dgid.raw, multicast4, 16));
	BAD("multicast", memcpy(av.grh.dgid.raw, multicast6, 16); av.grh.sgid_index = 1);
	nowhere.grh.dgid.raw[15] = 99;
	CU_ASSERT_EQUAL(address_find(rig.ports[0], &nowhere, &address), -ENETUNREACH);
	rig_close(&rig);
}

static void headers(void)
{
	static const uint8_t mac[2][6] = {{2, 0, 0, 0, 0, 1}, {2, 0, 0, 0, 0, 2}};
	struct ibv_ah_attr av = vector();
	struct address address;
	struct rig rig;

	rig_open(&rig);
	set_gids(&rig);
	av.grh.flow_label = 0xfffff;
	av.grh.traffic_class = 0x68;
	av.grh.sgid_index = 3;
	av.sl = 13; /* 5 of the three bits that PCP has */
	CU_ASSERT_EQUAL_FATAL(address_find(rig.ports[0], &av, &address), 0);
	CU_ASSERT_EQUAL(address_resolve(rig_worker(&rig, 0), &address), 0);
	CU_ASSERT_FALSE(address.own);
	CU_ASSERT_EQUAL(memcmp(address.path.source_mac, mac[0], 6), 0);
	CU_ASSERT_EQUAL(memcmp(address.path.destination_mac, mac[1], 6), 0);
	CU_ASSERT_EQUAL(memcmp(address.path.source + 12, "\x0a\1\0\1", 4), 0);
	CU_ASSERT_EQUAL(memcmp(address.path.destination + 12, "\x0a\0\0\2", 4), 0);
	CU_ASSERT(address.path.has_vlan);
	CU_ASSERT_EQUAL(address.path.vlan_tci, 0xa123);
	CU_ASSERT_EQUAL(address.path.traffic_class, 0x68);
	CU_ASSERT_EQUAL(address.path.flow_label, 0xfffff);
	av.grh.sgid_index = 0;
	CU_ASSERT_EQUAL_FATAL(address_find(rig.ports[0], &av, &address), 0);
	CU_ASSERT_FALSE(address.path.has_vlan);
	rig_close(&rig);
}

static void hop_limits(void)
{
	static const struct {
		uint8_t asked, used;
	} rows[] = {{0, 64}, {1, 64}, {2, 2}, {64, 64}, {255, 255}};
	struct address address;
	struct rig rig;

	rig_open(&rig);
	for (unsigned int i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct ibv_ah_attr av = vector();

		av.grh.hop_limit = rows[i].asked;
		CU_ASSERT_EQUAL_FATAL(address_find(rig.ports[0], &av, &address), 0);
		CU_ASSERT_EQUAL(address.path.hop_limit, rows[i].used);
	}
	rig_close(&rig);
}

static void own_addresses(void)
{
	struct ibv_ah_attr av = vector();
	struct address address;
	struct rig rig;

	rig_open(&rig);
	set_gids(&rig);
	loop_set_neighbour(rig.wire, LOOP_ANY, LOOP_NEIGHBOUR_NEVER, 0);
	av.grh.dgid.raw[15] = 1;
	CU_ASSERT_EQUAL_FATAL(address_find(rig.ports[0], &av, &address), 0);
	CU_ASSERT(address.own);
	CU_ASSERT_EQUAL(address_resolve(rig_worker(&rig, 0), &address), 0);
	CU_ASSERT_EQUAL(memcmp(address.path.destination_mac, address.path.source_mac, 6), 0);
	av.grh.sgid_index = 1;
	memcpy(av.grh.dgid.raw, own6, 16);
	CU_ASSERT_EQUAL_FATAL(address_find(rig.ports[0], &av, &address), 0);
	CU_ASSERT(address.own);
	rig_close(&rig);
}

/* 1500 gives 1024 and 4200 gives 4096, as Soft-RoCE was seen to have it. */
static void mtus(void)
{
	static const struct {
		uint32_t port;
		unsigned int path;
	} rows[] = {{0, 0}, {351, 0}, {352, IBV_MTU_256}, {607, IBV_MTU_256}, {608, IBV_MTU_512},
		{1119, IBV_MTU_512}, {1120, IBV_MTU_1024}, {1500, IBV_MTU_1024},
		{2144, IBV_MTU_2048}, {4191, IBV_MTU_2048}, {4192, IBV_MTU_4096},
		{4200, IBV_MTU_4096}, {9000, IBV_MTU_4096}, {UINT32_MAX, IBV_MTU_4096}};

	for (unsigned int i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		CU_ASSERT_EQUAL(address_mtu(rows[i].port), rows[i].path);
}

/* A neighbour's new MAC gets into the headers of QPs that live. */
static void macs_move(void)
{
	static const uint8_t moved[6] = {2, 0, 0, 0, 0, 99};
	struct uroce_abi_send_wqe wqe = {
		.opcode = IBV_WR_SEND, .flags = IBV_SEND_SIGNALED | IBV_SEND_INLINE};
	static struct rig rig;
	struct front_cq cq_a, cq_b;
	struct front_qp qp_a, qp_b;
	struct uroce_abi_cqe cqe;
	struct engine_qp *qp;
	uint8_t byte = 1;

	rig_open(&rig);
	cq_a = front_create_cq(&rig.fronts[0], 16, 0);
	cq_b = front_create_cq(&rig.fronts[1], 16, 0);
	qp_a = front_create_qp(&rig.fronts[0], &cq_a);
	qp_b = front_create_qp(&rig.fronts[1], &cq_b);
	front_connect(&rig.fronts[0], &qp_a, RIG_ADDRESS, &rig.fronts[1], &qp_b, RIG_ADDRESS + 1);
	loop_set_mac(rig.wire, 1, moved);
	rig_round(&rig);
	CU_ASSERT_EQUAL(rig_worker(&rig, 0)->counters.mac_changes, 1);
	qp = client_qp(rig.fronts[1].client, rig_worker(&rig, 1), qp_b.handle);
	CU_ASSERT_EQUAL(memcmp(rc_qp_path(qp->rc)->header + 6, moved, 6), 0); /* its own */
	front_recv(&rig.fronts[1], &qp_b, 1, NULL, 0, 0);
	front_send(&rig.fronts[0], &qp_a, &wqe, &byte, 0, 0);
	rig_run(&rig, rig.now + MS);
	CU_ASSERT(front_poll(&qp_b, &cqe) && cqe.status == IBV_WC_SUCCESS);
	CU_ASSERT_EQUAL(rig_worker(&rig, 0)->core.counters.retransmitted_pkts, 0);
	rig_close(&rig);
}

/* A port that has given a neighbour up: its old name is refused, a new one comes by route(). */
#define GIVEN_UP 0x5a5a
static const struct port_ops *real_ops;
static unsigned int stale_names;

static int stale_neighbour(struct port *port, uint32_t neighbour, uint64_t now, uint8_t mac[6])
{
	if (neighbour != GIVEN_UP)
		return real_ops->neighbour(port, neighbour, now, mac);
	stale_names++;
	return -ESTALE;
}

static void neighbours_are_given_up(void)
{
	struct ibv_ah_attr av = vector();
	struct port_ops ops;
	struct address address;
	struct rig rig;

	rig_open(&rig);
	real_ops = rig.ports[0]->ops;
	ops = *real_ops;
	ops.neighbour = stale_neighbour;
	rig.ports[0]->ops = &ops;
	CU_ASSERT_EQUAL_FATAL(address_find(rig.ports[0], &av, &address), 0);
	address.hop.neighbour = GIVEN_UP;
	CU_ASSERT_EQUAL(address_resolve(rig_worker(&rig, 0), &address), 0);
	CU_ASSERT_EQUAL(stale_names, 1);
	CU_ASSERT(address.hop.neighbour != GIVEN_UP);
	CU_ASSERT_EQUAL(address_resolve(rig_worker(&rig, 0), &address), 0);
	CU_ASSERT_EQUAL(stale_names, 1);
	rig.ports[0]->ops = real_ops;
	rig_close(&rig);
}

static void links_and_gids_change(void)
{
	static struct rig rig;
	struct front_channel channel;
	uint32_t object = 0;
	struct front late;

	rig_open(&rig);
	channel = front_create_channel(&rig.fronts[0], true);
	front_attach(&rig, 0, &late); /* has no channel: nothing to tell it */
	loop_set_up(rig.wire, 0, false);
	rig_round(&rig);
	CU_ASSERT_EQUAL(front_event(&channel, &object), IBV_EVENT_PORT_ERR);
	CU_ASSERT_EQUAL(object, 1);
	loop_set_up(rig.wire, 0, true);
	rig_round(&rig);
	CU_ASSERT_EQUAL(front_event(&channel, &object), IBV_EVENT_PORT_ACTIVE);
	set_gids(&rig);
	rig_round(&rig);
	CU_ASSERT_EQUAL(front_event(&channel, &object), IBV_EVENT_GID_CHANGE);
	/* The same again is no change. */
	set_gids(&rig);
	rig_round(&rig);
	CU_ASSERT_EQUAL(front_event(&channel, &object), NO_EVENT);
	front_detach(&late);
	rig_close(&rig);
	front_close_channel(&channel);
}

static const struct unit_case cases[] = {
	UNIT_CASE(refused),
	UNIT_CASE(headers),
	UNIT_CASE(hop_limits),
	UNIT_CASE(own_addresses),
	UNIT_CASE(mtus),
	UNIT_CASE(macs_move),
	UNIT_CASE(neighbours_are_given_up),
	UNIT_CASE(links_and_gids_change),
};

UNIT_MAIN("engine-address", cases)
