/* SPDX-License-Identifier: BSD-3-Clause */
/* Connections with random attributes. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <uroce/uroce.h>

#include "connect.h"
#include "psn.h"

#define CLOSED_FOR 2000000u /* ns that the active half of a closed gate waits, at most */
#define HOLD_MS 1u

static void must(int error, const char *what)
{
	if (error) {
		fprintf(stderr, "sim: %s: error %d\n", what, error);
		abort();
	}
}

/* ---- QPs ---- */

static void create(struct half *half)
{
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_RC,
		.send_cq = half->end->cq,
		.recv_cq = half->end->cq,
		.srq = half->end->srq,
		.cap =
			{
				.max_send_wr = half->depth,
				.max_recv_wr = half->recv_depth,
				.max_send_sge = 3,
				.max_recv_sge = 1,
				.max_inline_data = half->max_inline,
			},
	};

	half->qp = ibv_create_qp(half->end->pd, &init);
	must(!half->qp, "ibv_create_qp");
}

static void to_init(struct half *half)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT,
		.port_num = 1,
		.qp_access_flags = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ,
	};

	if (!half->no_atomics)
		attr.qp_access_flags |= IBV_ACCESS_REMOTE_ATOMIC;
	must(ibv_modify_qp(half->qp, &attr,
		     IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS),
		"to INIT");
}

#define RTR_MASK                                                                                   \
	(IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |            \
		IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER)
#define RTS_ATTRS                                                                                  \
	(IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |                    \
		IBV_QP_MAX_QP_RD_ATOMIC)

/* IBTA vol. 1, 9.7.5.2.8: the code, and what it means. */
static uint8_t rnr_code(uint64_t ns)
{
	return ns == 10000 ? 1 : ns == 60000 ? 5 : ns == 160000 ? 8 : 12;
}

static void fill_rtr(const struct half *half, struct ibv_qp_attr *attr)
{
	const struct agreed *agreed = &half->pair->agreed;

	attr->qp_state = IBV_QPS_RTR;
	attr->path_mtu = agreed->mtu;
	attr->dest_qp_num = half->peer->qp->qp_num;
	attr->rq_psn = half->peer->psn;
	attr->max_dest_rd_atomic = agreed->depth;
	attr->min_rnr_timer = rnr_code(half->rnr_ns);
	attr->ah_attr.is_global = 1;
	attr->ah_attr.port_num = 1;
	attr->ah_attr.grh.sgid_index = (uint8_t)agreed->gid;
	attr->ah_attr.grh.hop_limit = 64;
	must(ibv_query_gid(half->peer->end->context, 1, agreed->gid, &attr->ah_attr.grh.dgid),
		"ibv_query_gid");
}

/* Ack time-out 4.096 us x 2^12 = 17 ms of virtual time; the other attributes as liberal as they go.
 */
static void fill_rts(const struct half *half, struct ibv_qp_attr *attr)
{
	attr->sq_psn = half->psn;
	attr->timeout = 12;
	attr->retry_cnt = 7;
	attr->rnr_retry = 7;
	attr->max_rd_atomic = half->pair->agreed.depth;
}

int connect_to_rts(const struct half *half)
{
	struct ibv_qp_attr attr = {0};

	fill_rts(half, &attr);
	attr.qp_state = IBV_QPS_RTS;
	return ibv_modify_qp(half->qp, &attr, IBV_QP_STATE | RTS_ATTRS);
}

static bool expires(enum opening opening)
{
	return opening == OPENING_TIMEOUT || opening == OPENING_EXPIRE;
}

/* A modify to RTS that opens the gate replaces the SQ PSN that the QP was armed with (EP-6). */
static void to_rtr(struct half *half, bool armed)
{
	enum opening opening = half->pair->opening;
	struct ibv_qp_attr attr = {0};
	int mask = RTR_MASK;

	fill_rtr(half, &attr);
	if (armed) {
		fill_rts(half, &attr);
		mask |= RTS_ATTRS;
	}
	if (opening == OPENING_MODIFY)
		attr.sq_psn ^= 0x155;
	must(ibv_modify_qp(half->qp, &attr, mask), "to RTR");
	/* one of an earlier connection stays otherwise */
	must(uroce_qp_set_hold_timeout(half->qp, armed && expires(opening) ? HOLD_MS : 0,
		     opening == OPENING_EXPIRE ? UROCE_HOLD_ERROR : UROCE_HOLD_OPEN),
		"hold time-out");
}

/* ---- what a half needs ---- */

static void take_buffers(struct world *world, struct half *half)
{
	for (uint32_t i = 0; i < half->recv_depth; i++) {
		half->all[i] = world_take(world, half->end, TRAFFIC_ROOM);
		must(!half->all[i], "memory for receives");
		half->buffers[i] = half->all[i];
	}
	half->buffers_free = half->recv_depth;
}

/* Flows that end in the same SRQ share its receives. */
static const struct oracle_flow *shared_pool(const struct traffic *traffic, const struct end *end)
{
	if (!end->srq)
		return NULL;
	for (uint32_t i = 0; i < traffic->pairs; i++)
		for (uint32_t j = 0; j < 2; j++) {
			const struct half *half = &traffic->pair[i].half[j];

			if (half->flow && half->peer->end == end)
				return half->flow;
		}
	return NULL;
}

/* Memory at the peer for this flow alone. */
static void take_shared(struct world *world, struct half *half)
{
	uint64_t zero = 0;

	half->word = world_take(world, half->peer->end, sizeof(zero));
	half->board = world_take(world, half->peer->end, TRAFFIC_BOARD);
	must(!half->word || !half->board, "memory for a flow");
	memcpy(half->word, &zero, sizeof(zero));
	oracle_wrote(world->oracle, half->word, sizeof(zero));
	oracle_board(half->flow, half->board, TRAFFIC_BOARD);
}

/* Of a window whose bind or invalidation was under way when its QP went, the program cannot know
 * the key. */
static void make_window(struct half *half)
{
	struct window *window = &half->window;

	if (window->state == WINDOW_BOUND) { /* no more: the QP that it belonged to is gone */
		window->old_rkey = window->mw->rkey;
		window->state = WINDOW_FREE;
	}
	if (window->mw && window->state != WINDOW_FREE) {
		must(ibv_dealloc_mw(window->mw), "ibv_dealloc_mw");
		*window = (struct window){.wanted = true};
	}
	if (window->wanted && !window->mw) {
		window->mw = ibv_alloc_mw(half->end->pd, IBV_MW_TYPE_2);
		must(!window->mw, "ibv_alloc_mw");
	}
}

static void prepare(struct traffic *traffic, struct half *half)
{
	struct world *world = traffic->world;
	const struct end *end = half->peer->end;

	half->flow = oracle_flow(
		world->oracle, half->number, end->srq != NULL, shared_pool(traffic, end));
	/* a bad wire may break a connection rightly */
	if (world->loss > WORLD_BAD_LOSS)
		oracle_may_break(half->flow, true);
	if (!half->qp)
		create(half);
	make_window(half);
	half->state = HALF_LIVE;
	half->unsignaled = 0;
	half->late = world_between(world, 0, 3);
	half->silent_until = 0;
	to_init(half);
}

/* ---- the pair ---- */

void connect_plan(struct traffic *traffic, uint32_t number)
{
	struct world *world = traffic->world;
	struct pair *pair = &traffic->pair[number];
	static const uint64_t rnr_ns[] = {10000, 60000, 160000, 640000};

	pair->agreed.mtu = (enum ibv_mtu)world_between(world, IBV_MTU_256, IBV_MTU_4096);
	pair->agreed.gid = world_chance(world, 30);
	pair->agreed.depth = (uint8_t)world_between(world, 1, 16);
	pair->breaks = world_chance(world, 30);
	if (world_chance(world, 30))
		pair->fate = world_between(world, FATE_ERROR, FATE_DRAIN);
	pair->victim = world_between(world, 0, 1);
	for (uint32_t j = 0; j < 2; j++) {
		struct half *half = &pair->half[j];

		half->end = &world->end[world_between(world, 0, world->ends - 1)];
		half->pair = pair;
		half->peer = &pair->half[1 - j];
		half->number = 2 * number + j;
		half->depth = world_between(world, 2, 64);
		half->recv_depth = world_between(world, 1, TRAFFIC_RECVS);
		half->max_message = world_chance(world, 30) ? 20000 : 3000;
		half->max_inline = world_chance(world, 50) ? 61 : 397;
		half->no_atomics = world_chance(world, 20);
		half->rnr_ns = rnr_ns[world_between(world, 0, 3)];
		half->next_id = 1;
		half->left = world_chance(world, 4) ? world_between(world, 300, 500)
						    : world_between(world, 5, 60);
		half->window.wanted = world_chance(world, 50);
		take_buffers(world, half);
	}
	pair->fate_left = world_between(world, 0, pair->half[0].left);
}

static uint32_t choose_psn(struct world *world, bool first)
{
	/* half of the PSNs start shortly before the wrap; but a second connection of the same QPs
	 * must not be taken for the first one, whose packets may still come */
	return first && world_chance(world, 50) ? 0xffffff - world_between(world, 0, 40)
						: world_between(world, 0, 0xffffff);
}

void connect_pair(struct traffic *traffic, struct pair *pair)
{
	struct world *world = traffic->world;
	struct half *half = pair->half;
	bool first = half[0].psn == 0 && half[1].psn == 0;

	pair->opening = world_chance(world, 50)
		? OPENING_NONE
		: world_between(world, OPENING_PACKET, OPENING_DESTROY);
	pair->waits = pair->opening != OPENING_NONE;
	pair->promoted = false;
	pair->proved = false;
	pair->held_until = UINT64_MAX;
	pair->open_at = world->now + world_between(world, 0, CLOSED_FOR);
	if (pair->opening == OPENING_EXPIRE)
		pair->open_at += CLOSED_FOR;
	/* nothing but the opening itself lets the held ones go */
	if (pair->opening > OPENING_PACKET && world_chance(world, 30))
		half[0].left = 0;
	for (uint32_t j = 0; j < 2; j++) {
		prepare(traffic, &half[j]);
		half[j].psn = choose_psn(world, first);
		half[j].newest = psn_add(half[j].psn, PSN_MASK);
		take_shared(world, &half[j]);
	}
	world_trace(world,
		"pair %u: ends %u and %u, MTU %u, %s, READ depth %u, PSNs 0x%06x and 0x%06x, "
		"opening %d, fate %d%s",
		half[0].number / 2, half[0].end->tap.end, half[1].end->tap.end,
		128u << pair->agreed.mtu, pair->agreed.gid ? "IPv6" : "IPv4", pair->agreed.depth,
		half[0].psn, half[1].psn, (int)pair->opening, (int)pair->fate,
		pair->breaks ? ", ends with what must fail" : "");
	to_rtr(&half[1], pair->waits);
	if (pair->waits)
		oracle_gate(half[1].flow, true);
	else
		must(connect_to_rts(&half[1]), "to RTS");
	if (pair->opening == OPENING_EXPIRE) {
		oracle_may_break(half[0].flow, true);
		oracle_may_break(half[1].flow, true);
		pair->broken = true;
	}
	to_rtr(&half[0], false);
	must(connect_to_rts(&half[0]), "to RTS");
}
