/* SPDX-License-Identifier: BSD-3-Clause */
/* Engines, a wire, and fronts, for tests. */
#include "rig.h"

#include <errno.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "doors.h"
#include "mem.h"

#define ROUNDS 64u
#define QP_DEPTH 64u

/* ---- engines ---- */

static uint64_t rig_clock(void *context)
{
	return ((struct rig *)context)->now;
}

static void open_end(struct rig *rig, unsigned int end, const struct engine_config *base)
{
	static const char *const names[RIG_ENDS] = {"rig0", "rig1"};
	struct engine_config config = base ? *base : (struct engine_config){0};
	struct loop_end_config end_config = {.gid_count = 1, .speed_mbps = 25000};

	end_config.gids[0] = loop_gid4(RIG_ADDRESS + end, 24);
	end_config.queues = (uint16_t)config.cores;
	CU_ASSERT_EQUAL_FATAL(loop_add_end(rig->wire, &end_config, &rig->ports[end]), 0);
	config.name = names[end];
	config.port = rig->ports[end];
	config.clock = rig_clock;
	config.clock_context = rig;
	if (!config.seed)
		config.seed = end + 1;
	if (!config.region_size)
		config.region_size = 1ull << 30;
	if (!config.max_qp)
		config.max_qp = 256;
	if (!config.max_mr)
		config.max_mr = 1024;
	CU_ASSERT_EQUAL_FATAL(engine_create(&config, &rig->engines[end]), 0);
}

void rig_open_with(
	struct rig *rig, const struct loop_config *wire, const struct engine_config *engine)
{
	struct loop_config config = wire ? *wire : (struct loop_config){0};

	memset(rig, 0, sizeof(*rig));
	rig->now = MS;
	config.clock = rig_clock;
	config.clock_context = rig;
	CU_ASSERT_EQUAL_FATAL(loop_create(&config, &rig->wire), 0);
	for (unsigned int end = 0; end < RIG_ENDS; end++)
		open_end(rig, end, engine);
	for (unsigned int end = 0; end < RIG_ENDS; end++)
		front_attach(rig, end, &rig->fronts[end]);
}

void rig_open(struct rig *rig)
{
	rig_open_with(rig, NULL, NULL);
}

void rig_close(struct rig *rig)
{
	struct loop_counters counters;

	for (unsigned int end = 0; end < RIG_ENDS; end++) {
		struct engine *engine = rig->engines[end];

		if (rig->fronts[end].client)
			front_detach(&rig->fronts[end]);
		CU_ASSERT_EQUAL(mem_count(engine->mem), 0);
		CU_ASSERT_EQUAL(engine->qp_count, 0);
		CU_ASSERT_EQUAL(engine->pds.live, 0);
		for (uint32_t core = 0; core < engine->cores.count; core++)
			CU_ASSERT_EQUAL(engine->workers[core]->core.timers.reserved, 0);
		CU_ASSERT_EQUAL_FATAL(engine_destroy(engine), 0);
	}
	CU_ASSERT_EQUAL(loop_buffers_used(rig->wire), 0);
	loop_count(rig->wire, LOOP_ANY, LOOP_ANY, &counters);
	CU_ASSERT_EQUAL(counters.misused, 0);
	loop_destroy(rig->wire);
}

/* Whether its cores are driven or have threads of their own, which a test doesn't start. */
static unsigned int round_of(struct engine *engine)
{
	unsigned int moved = 0;

	for (uint32_t core = 0; core < engine->cores.count; core++)
		moved += engine_core_round(engine, core);
	return moved;
}

unsigned int rig_round(struct rig *rig)
{
	unsigned int moved = 0;

	for (unsigned int end = 0; end < RIG_ENDS; end++)
		moved += round_of(rig->engines[end]);
	return moved;
}

static bool rig_busy(struct rig *rig)
{
	return engine_busy(rig->engines[0]) || engine_busy(rig->engines[1]);
}

static uint64_t rig_next(struct rig *rig)
{
	uint64_t next = loop_next_event(rig->wire);

	for (unsigned int end = 0; end < RIG_ENDS; end++) {
		uint64_t timer = engine_next_timer(rig->engines[end]);

		next = timer < next ? timer : next;
	}
	return next;
}

void rig_run(struct rig *rig, uint64_t until)
{
	for (uint32_t rounds = 0; rounds < 10000000; rounds++) {
		uint64_t next;

		if (rig_round(rig) || rig_busy(rig))
			continue;
		next = rig_next(rig);
		if (next > until) {
			if (until != UINT64_MAX && rig->now < until)
				rig->now = until;
			return;
		}
		if (next > rig->now)
			rig->now = next;
	}
	CU_FAIL("never at rest");
}

struct worker *rig_worker(struct rig *rig, unsigned int end)
{
	return rig->engines[end]->workers[0];
}

/* ---- fronts ---- */

static void attach_thread(struct front *front)
{
	front->cores = cores_of(front->header->cores);
	for (uint32_t core = front->cores.count; core-- > 0;) {
		struct uroce_abi_command command = {.head.op = UROCE_ABI_ATTACH_THREAD};

		command.u.thread.core = core;
		CU_ASSERT_EQUAL_FATAL(front_command(front, &command), 0);
		front->ring_bit = command.u.thread.bit;
		CU_ASSERT_EQUAL_FATAL(sendring_front_init(&front->ring[core], &front->view,
					      command.u.thread.ring),
			0);
	}
}

void front_attach(struct rig *rig, unsigned int end, struct front *front)
{
	const struct door *door = &uroce_engine_door;

	memset(front, 0, sizeof(*front));
	front->rig = rig;
	CU_ASSERT_EQUAL_FATAL(door->attach(rig->engines[end], &front->client, &front->view), 0);
	CU_ASSERT_EQUAL_FATAL(region_check(&front->view), 0);
	front->header = region_header(&front->view);
	front->slots = region_at(
		&front->view, front->header->commands, UROCE_ABI_COMMANDS * sizeof(*front->slots));
	CU_ASSERT_PTR_NOT_NULL_FATAL(front->slots);
	attach_thread(front);
	front->pd = front_alloc_pd(front);
}

void front_detach(struct front *front)
{
	uroce_engine_door.detach(front->client);
	front->client = NULL;
}

void front_post(struct front *front, uint32_t slot, const struct uroce_abi_command *command)
{
	struct uroce_abi_command *to = &front->slots[slot];

	CU_ASSERT_EQUAL_FATAL(to->head.state, UROCE_ABI_FREE_SLOT);
	to->head.op = command->head.op;
	to->head.object = command->head.object;
	to->u = command->u;
	__atomic_store_n(&to->head.state, UROCE_ABI_POSTED, __ATOMIC_RELEASE);
	__atomic_fetch_or(&front->header->doorbell.posted, 1ull << slot, __ATOMIC_SEQ_CST);
}

bool front_done(struct front *front, uint32_t slot, struct uroce_abi_command *command)
{
	struct uroce_abi_command *from = &front->slots[slot];

	for (unsigned int i = 0; i < ROUNDS; i++) {
		if (__atomic_load_n(&from->head.state, __ATOMIC_ACQUIRE) == UROCE_ABI_DONE) {
			*command = *from;
			from->head.state = UROCE_ABI_FREE_SLOT;
			return true;
		}
		rig_round(front->rig);
	}
	return false;
}

int front_command(struct front *front, struct uroce_abi_command *command)
{
	front_post(front, 0, command);
	CU_ASSERT_FATAL(front_done(front, 0, command));
	return command->head.status;
}

int front_simple(struct front *front, enum uroce_abi_op op, uint32_t object)
{
	struct uroce_abi_command command = {.head = {.op = op, .object = object}};

	return front_command(front, &command);
}

uint32_t front_alloc_pd(struct front *front)
{
	struct uroce_abi_command command = {.head.op = UROCE_ABI_ALLOC_PD};

	CU_ASSERT_EQUAL_FATAL(front_command(front, &command), 0);
	return command.head.object;
}

uint32_t front_reg_mr(struct front *front, void *at, uint64_t length, uint32_t access)
{
	struct uroce_abi_command command = {.head.op = UROCE_ABI_REG_MR};

	command.u.mr.pd = front->pd;
	command.u.mr.access = access;
	command.u.mr.address = (uintptr_t)at;
	command.u.mr.iova = (uintptr_t)at;
	command.u.mr.length = length;
	CU_ASSERT_EQUAL_FATAL(front_command(front, &command), 0);
	return command.u.mr.key;
}

struct front_channel front_create_channel(struct front *front, bool asynchronous)
{
	struct uroce_abi_command command = {.head.op = UROCE_ABI_CREATE_CHANNEL};
	struct front_channel channel;

	channel.fd = eventfd(0, EFD_SEMAPHORE | EFD_NONBLOCK | EFD_CLOEXEC);
	CU_ASSERT_FATAL(channel.fd >= 0);
	command.head.object = asynchronous;
	command.u.channel.eventfd = channel.fd;
	CU_ASSERT_EQUAL_FATAL(front_command(front, &command), 0);
	channel.handle = command.head.object;
	CU_ASSERT_EQUAL_FATAL(eventring_front_init(&channel.events, &front->view,
				      command.u.channel.ring, channel.fd),
		0);
	return channel;
}

void front_close_channel(struct front_channel *channel)
{
	close(channel->fd);
}

struct front_cq front_create_cq(struct front *front, uint32_t cqe, uint32_t channel)
{
	struct uroce_abi_command command = {.head.op = UROCE_ABI_CREATE_CQ};
	struct front_cq cq;

	command.u.cq.cqe = cqe;
	command.u.cq.channel = channel;
	CU_ASSERT_EQUAL_FATAL(front_command(front, &command), 0);
	cq.handle = command.head.object;
	CU_ASSERT_EQUAL_FATAL(
		cq_front_init(&cq.cq, &front->view, command.u.cq.rings, command.u.cq.ring), 0);
	return cq;
}

uint32_t front_create_srq(struct front *front, uint32_t max_wr, struct wq_front *srq)
{
	struct uroce_abi_command command = {.head.op = UROCE_ABI_CREATE_SRQ};

	command.u.srq.pd = front->pd;
	command.u.srq.max_wr = max_wr;
	command.u.srq.max_sge = 4;
	CU_ASSERT_EQUAL_FATAL(front_command(front, &command), 0);
	CU_ASSERT_EQUAL_FATAL(wq_front_init(srq, &front->view, command.u.srq.ring, true), 0);
	return command.head.object;
}

struct uroce_abi_command front_qp_request(const struct front *front, uint32_t cq, uint32_t srq)
{
	struct uroce_abi_command command = {.head.op = UROCE_ABI_CREATE_QP};

	command.u.create_qp.cap = (struct ibv_qp_cap){
		.max_send_wr = QP_DEPTH,
		.max_recv_wr = QP_DEPTH,
		.max_send_sge = 4,
		.max_recv_sge = 4,
		.max_inline_data = 64,
	};
	command.u.create_qp.type = IBV_QPT_RC;
	command.u.create_qp.pd = front->pd;
	command.u.create_qp.send_cq = cq;
	command.u.create_qp.recv_cq = cq;
	command.u.create_qp.srq = srq;
	return command;
}

struct front_qp front_create_qp_srq(struct front *front, struct front_cq *cq, uint32_t srq)
{
	struct uroce_abi_command command = front_qp_request(front, cq->handle, srq);
	struct front_qp qp = {.send_cq = cq, .recv_cq = cq};

	CU_ASSERT_EQUAL_FATAL(front_command(front, &command), 0);
	qp.handle = command.head.object;
	qp.qp_num = command.u.create_qp.qp_num;
	CU_ASSERT_EQUAL_FATAL(
		wq_front_init(&qp.sq, &front->view, command.u.create_qp.sq, false), 0);
	if (!srq)
		CU_ASSERT_EQUAL_FATAL(
			wq_front_init(&qp.rq, &front->view, command.u.create_qp.rq, false), 0);
	return qp;
}

struct front_qp front_create_qp(struct front *front, struct front_cq *cq)
{
	return front_create_qp_srq(front, cq, 0);
}

/* ---- states ---- */

static int modify(struct front *front, struct uroce_abi_command *command)
{
	command->head.op = UROCE_ABI_MODIFY_QP;
	return front_command(front, command);
}

int front_to_init(struct front *front, const struct front_qp *qp)
{
	struct uroce_abi_command command = {.head.object = qp->handle};

	command.u.qp.mask = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS;
	command.u.qp.attr.qp_state = IBV_QPS_INIT;
	command.u.qp.attr.port_num = 1;
	command.u.qp.attr.qp_access_flags = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
		IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;
	return modify(front, &command);
}

struct uroce_abi_command front_rtr_request(
	const struct front_qp *qp, uint32_t address, uint32_t qp_num)
{
	struct uroce_abi_command command = {
		.head = {.op = UROCE_ABI_MODIFY_QP, .object = qp->handle}};
	struct ibv_qp_attr *attr = &command.u.qp.attr;
	struct port_gid gid = loop_gid4(address, 24);

	command.u.qp.mask = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
		IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
	attr->qp_state = IBV_QPS_RTR;
	attr->path_mtu = IBV_MTU_1024;
	attr->dest_qp_num = qp_num;
	attr->rq_psn = 100;
	attr->max_dest_rd_atomic = 16;
	attr->min_rnr_timer = 12;
	attr->ah_attr.is_global = 1;
	attr->ah_attr.port_num = 1;
	attr->ah_attr.grh.hop_limit = 1;
	memcpy(&attr->ah_attr.grh.dgid, gid.gid, sizeof(gid.gid));
	return command;
}

int front_to_rtr(struct front *front, const struct front_qp *qp, uint32_t address, uint32_t qp_num)
{
	struct uroce_abi_command command = front_rtr_request(qp, address, qp_num);

	return modify(front, &command);
}

int front_to_rts(struct front *front, const struct front_qp *qp)
{
	struct uroce_abi_command command = {.head.object = qp->handle};
	struct ibv_qp_attr *attr = &command.u.qp.attr;

	command.u.qp.mask = IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
		IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC;
	attr->qp_state = IBV_QPS_RTS;
	attr->timeout = 14;
	attr->retry_cnt = 7;
	attr->rnr_retry = 7;
	attr->sq_psn = 100;
	attr->max_rd_atomic = 16;
	return modify(front, &command);
}

int front_to_state(struct front *front, const struct front_qp *qp, enum ibv_qp_state state)
{
	struct uroce_abi_command command = {.head.object = qp->handle};

	command.u.qp.mask = IBV_QP_STATE;
	command.u.qp.attr.qp_state = state;
	return modify(front, &command);
}

enum ibv_qp_state front_state(struct front *front, const struct front_qp *qp)
{
	struct uroce_abi_command command = {
		.head = {.op = UROCE_ABI_QUERY_QP, .object = qp->handle}};

	CU_ASSERT_EQUAL_FATAL(front_command(front, &command), 0);
	return command.u.qp.attr.qp_state;
}

void front_connect(struct front *a, const struct front_qp *qp_a, uint32_t address_a,
	struct front *b, const struct front_qp *qp_b, uint32_t address_b)
{
	CU_ASSERT_EQUAL_FATAL(front_to_init(a, qp_a), 0);
	CU_ASSERT_EQUAL_FATAL(front_to_init(b, qp_b), 0);
	CU_ASSERT_EQUAL_FATAL(front_to_rtr(a, qp_a, address_b, qp_b->qp_num), 0);
	CU_ASSERT_EQUAL_FATAL(front_to_rtr(b, qp_b, address_a, qp_a->qp_num), 0);
	CU_ASSERT_EQUAL_FATAL(front_to_rts(a, qp_a), 0);
	CU_ASSERT_EQUAL_FATAL(front_to_rts(b, qp_b), 0);
}

/* ---- work ---- */

static void put_sge(void *slot, const void *at, uint32_t length, uint32_t lkey)
{
	struct uroce_abi_sge *sge = (void *)((uint8_t *)slot + 64);

	*sge = (struct uroce_abi_sge){(uintptr_t)at, length, lkey};
}

/* The valid mark is publish()'s business. */
static void put_record(void *slot, const void *record)
{
	memcpy((uint8_t *)slot + 4, (const uint8_t *)record + 4, 60);
}

static struct sendring_front *ring_of(struct front *front, const struct front_qp *qp)
{
	return &front->ring[core_of(&front->cores, qp->handle)];
}

bool front_send(struct front *front, struct front_qp *qp, const struct uroce_abi_send_wqe *wqe,
	const void *at, uint32_t length, uint32_t lkey)
{
	struct uroce_abi_send_wqe record = *wqe;
	uint32_t position;

	if (wq_reserve(&qp->sq, 1, &position) == 0)
		return false;
	if (length && !(record.flags & IBV_SEND_INLINE)) {
		record.sge_count = 1;
		put_sge(wq_slot(&qp->sq, position), at, length, lkey);
	} else if (length) {
		record.inline_length = length;
		memcpy((uint8_t *)wq_slot(&qp->sq, position) + 64, at, length);
	}
	put_record(wq_slot(&qp->sq, position), &record);
	wq_publish(&qp->sq, position);
	sendring_announce(ring_of(front, qp), qp->sq.ring, qp->handle);
	return true;
}

static bool post_recv(
	struct wq_front *wq, uint64_t wr_id, const void *at, uint32_t length, uint32_t lkey)
{
	struct uroce_abi_recv_wqe record = {.wr_id = wr_id, .sge_count = length != 0};
	uint32_t position;

	if (wq_reserve(wq, 1, &position) == 0)
		return false;
	put_sge(wq_slot(wq, position), at, length, lkey);
	put_record(wq_slot(wq, position), &record);
	wq_publish(wq, position);
	return true;
}

bool front_recv(struct front *front, struct front_qp *qp, uint64_t wr_id, const void *at,
	uint32_t length, uint32_t lkey)
{
	if (!post_recv(&qp->rq, wr_id, at, length, lkey))
		return false;
	if (wq_announce_recv(&qp->rq))
		sendring_announce(ring_of(front, qp), qp->rq.ring, qp->handle | SENDRING_RECV);
	return true;
}

bool front_srq_recv(
	struct wq_front *srq, uint64_t wr_id, const void *at, uint32_t length, uint32_t lkey)
{
	return post_recv(srq, wr_id, at, length, lkey);
}

bool front_poll(struct front_qp *qp, struct uroce_abi_cqe *cqe)
{
	if (!cq_poll(&qp->send_cq->cq, cqe))
		return false;
	if (cqe->qp == qp->handle && cqe->released)
		wq_release(cqe->opcode & IBV_WC_RECV ? &qp->rq : &qp->sq, cqe->released);
	return true;
}

uint32_t front_event(struct front_channel *channel, uint32_t *object)
{
	struct uroce_abi_event event;

	if (eventring_wait(&channel->events) != 0 || !eventring_pop(&channel->events, &event))
		return NO_EVENT;
	if (object)
		*object = event.object;
	return event.type;
}
