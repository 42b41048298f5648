/* SPDX-License-Identifier: BSD-3-Clause */
/* The engine's side of the region, as little of it as the front needs to see. */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "cq.h"
#include "eventring.h"
#include "fake.h"
#include "sendring.h"
#include "wq.h"

#define ENGINES 4u
#define KEYS 256u

enum kind { PD, CHANNEL, CQ, SRQ, QP, AH, KINDS };

struct queues {
	struct wq_engine sq, rq;
	uint32_t send_cq, recv_cq, srq;
	uint32_t sent, received; /* positions taken */
	struct ibv_qp_attr attr;
	struct ibv_qp_cap cap;
	bool has_rq;
};

struct client {
	struct engine *engine;
	struct client *earlier;
	struct region *region;
	struct sendring_set *set;
	bool used[KINDS][FAKE_OBJECTS + 1];
	struct eventring channel[FAKE_OBJECTS + 1];
	struct cq_ring cq[FAKE_OBJECTS + 1];
	uint32_t cq_channel[FAKE_OBJECTS + 1];
	struct wq_engine srq[FAKE_OBJECTS + 1];
	uint32_t srq_limit[FAKE_OBJECTS + 1];
	struct queues qp[FAKE_OBJECTS + 1];
	bool key[KEYS];
	uint32_t async;
	unsigned int threads;
	unsigned int announcements;
	uint32_t last_announcement;
};

struct engine {
	char name[64];
	bool dedicated;
	bool stop;
	pthread_t worker;
	pthread_mutex_t lock;
	struct client *client; /* the latest */
	unsigned int clients;
	unsigned int rounds;
	int status[UROCE_ABI_OPS];
	unsigned int count[UROCE_ABI_OPS];
	struct uroce_abi_command last[UROCE_ABI_OPS];
};

static struct engine *engines[ENGINES];
const char *fake_started_with;
const char *fake_start_name;
int fake_start_error;

/* ---- handles ---- */

static uint32_t take_handle(struct client *client, enum kind kind)
{
	for (uint32_t handle = 1; handle <= FAKE_OBJECTS; handle++)
		if (!client->used[kind][handle]) {
			client->used[kind][handle] = true;
			return handle;
		}
	return 0;
}

static bool give_handle(struct client *client, enum kind kind, uint32_t handle)
{
	if (handle == 0 || handle > FAKE_OBJECTS || !client->used[kind][handle])
		return false;
	client->used[kind][handle] = false;
	return true;
}

/* ---- commands: 0 or -errno; the answer replaces the request ---- */

static int query_device(struct uroce_abi_command *c)
{
	memset(&c->u.device, 0, sizeof(c->u.device));
	c->u.device.node_guid = FAKE_GUID;
	c->u.device.max_qp = FAKE_OBJECTS;
	c->u.device.max_qp_wr = FAKE_MAX_WR;
	c->u.device.max_sge = FAKE_MAX_SGE;
	c->u.device.max_cqe = FAKE_MAX_CQE;
	c->u.device.max_srq_wr = FAKE_MAX_WR;
	c->u.device.max_srq_sge = FAKE_MAX_SGE;
	c->u.device.phys_port_cnt = 1;
	c->u.device.device_cap_flags = IBV_DEVICE_RC_RNR_NAK_GEN;
	return 0;
}

static int query_port(struct uroce_abi_command *c)
{
	memset(&c->u.port.attr, 0, sizeof(c->u.port.attr));
	c->u.port.attr.state = IBV_PORT_ACTIVE;
	c->u.port.attr.gid_tbl_len = FAKE_GIDS;
	c->u.port.attr.port_cap_flags2 = 7;
	c->u.port.attr.flags = IBV_QPF_GRH_REQUIRED;
	return 0;
}

/* Index 0: ::ffff:10.0.0.1; 1: empty; 2: fe80::2. */
static int query_gid(struct uroce_abi_command *c)
{
	static const uint8_t gid[FAKE_GIDS][16] = {
		{[10] = 0xff, [11] = 0xff, [12] = 10, [15] = 1}, {0}, {0xfe, 0x80, [15] = 2}};

	if (c->u.gid.index >= FAKE_GIDS)
		return -EINVAL;
	memcpy(&c->u.gid.gid, gid[c->u.gid.index], 16);
	c->u.gid.type = IBV_GID_TYPE_ROCE_V2;
	return 0;
}

static int alloc_key(struct client *client, struct uroce_abi_command *c)
{
	for (uint32_t i = 1; i < KEYS; i++)
		if (!client->key[i]) {
			client->key[i] = true;
			c->u.mr.key = i << 8 | 0x42;
			return 0;
		}
	return -ENOMEM;
}

static int free_key(struct client *client, const struct uroce_abi_command *c)
{
	uint32_t index = c->u.mr.key >> 8;

	if (index >= KEYS || !client->key[index])
		return -EINVAL;
	client->key[index] = false;
	return 0;
}

static int create_channel(struct client *client, struct uroce_abi_command *c)
{
	bool async = c->head.object;
	uint32_t handle = take_handle(client, CHANNEL);

	if (eventring_create(client->region, 64, c->u.channel.eventfd, &client->channel[handle]))
		return -ENOMEM;
	if (async)
		client->async = handle;
	c->head.object = handle;
	c->u.channel.ring = client->channel[handle].ref;
	return 0;
}

static int create_cq(struct client *client, struct uroce_abi_command *c)
{
	uint32_t handle = take_handle(client, CQ);

	if (cq_ring_create(client->region, c->u.cq.cqe, &client->cq[handle]))
		return -ENOMEM;
	client->cq_channel[handle] = c->u.cq.channel;
	c->head.object = handle;
	c->u.cq.rings = 1;
	c->u.cq.ring[0] = client->cq[handle].ref;
	return 0;
}

static int resize_cq(struct client *client, struct uroce_abi_command *c)
{
	struct cq_ring *ring = &client->cq[c->head.object];

	if (cq_pending(ring) > c->u.cq.cqe)
		return -EINVAL;
	c->u.cq.ring[0] = ring->ref;
	return cq_ring_resize(client->region, ring, c->u.cq.cqe);
}

static int destroy_cq(struct client *client, const struct uroce_abi_command *c)
{
	for (uint32_t qp = 1; qp <= FAKE_OBJECTS; qp++)
		if (client->used[QP][qp] &&
			(client->qp[qp].send_cq == c->head.object ||
				client->qp[qp].recv_cq == c->head.object))
			return -EBUSY;
	if (!give_handle(client, CQ, c->head.object))
		return -EINVAL;
	cq_ring_destroy(client->region, &client->cq[c->head.object]);
	return 0;
}

static int create_srq(struct client *client, struct uroce_abi_command *c)
{
	uint32_t handle = take_handle(client, SRQ);

	if (wq_create(client->region, c->u.srq.max_wr, FAKE_MAX_SGE, 0, &client->srq[handle]))
		return -ENOMEM;
	c->head.object = handle;
	c->u.srq.max_sge = FAKE_MAX_SGE;
	c->u.srq.ring = client->srq[handle].ref;
	return 0;
}

static int query_srq(struct client *client, struct uroce_abi_command *c)
{
	const struct wq_engine *wq = &client->srq[c->head.object];

	c->u.srq.max_wr = wq->depth;
	c->u.srq.max_sge = wq->max_sge;
	c->u.srq.limit = client->srq_limit[c->head.object];
	return 0;
}

static int create_qp(struct client *client, struct uroce_abi_command *c)
{
	uint32_t handle = take_handle(client, QP);
	struct queues *qp = &client->qp[handle];
	struct ibv_qp_cap *cap = &c->u.create_qp.cap;

	memset(qp, 0, sizeof(*qp));
	qp->send_cq = c->u.create_qp.send_cq;
	qp->recv_cq = c->u.create_qp.recv_cq;
	qp->srq = c->u.create_qp.srq;
	qp->has_rq = qp->srq == 0;
	cap->max_send_sge = FAKE_MAX_SGE;
	cap->max_recv_sge = qp->has_rq ? FAKE_MAX_SGE : 0;
	qp->cap = *cap;
	if (wq_create(
		    client->region, cap->max_send_wr, FAKE_MAX_SGE, cap->max_inline_data, &qp->sq))
		return -ENOMEM;
	if (qp->has_rq && wq_create(client->region, cap->max_recv_wr, FAKE_MAX_SGE, 0, &qp->rq))
		return -ENOMEM;
	c->head.object = handle;
	c->u.create_qp.qp_num = 0x100 + handle;
	c->u.create_qp.core = 0;
	c->u.create_qp.sq = qp->sq.ref;
	c->u.create_qp.rq = qp->has_rq ? qp->rq.ref : 0;
	return 0;
}

static int modify_qp(struct client *client, const struct uroce_abi_command *c)
{
	struct queues *qp = &client->qp[c->head.object];

	if (!(c->u.qp.mask & IBV_QP_STATE))
		return 0;
	qp->attr.qp_state = c->u.qp.attr.qp_state;
	if (qp->attr.qp_state != IBV_QPS_RESET)
		return 0;
	wq_reset(&qp->sq);
	qp->sent = 0;
	qp->received = 0;
	if (qp->has_rq)
		wq_reset(&qp->rq);
	return 0;
}

static int query_qp(struct client *client, struct uroce_abi_command *c)
{
	const struct queues *qp = &client->qp[c->head.object];

	c->u.qp.attr = qp->attr;
	c->u.qp.cap = qp->cap;
	return 0;
}

static int destroy_qp(struct client *client, const struct uroce_abi_command *c)
{
	struct queues *qp = &client->qp[c->head.object];

	if (!give_handle(client, QP, c->head.object))
		return -EINVAL;
	wq_destroy(client->region, &qp->sq);
	if (qp->has_rq)
		wq_destroy(client->region, &qp->rq);
	return 0;
}

static int attach_thread(struct client *client, struct uroce_abi_command *c)
{
	int error =
		sendring_attach(client->region, client->set, &c->u.thread.ring, &c->u.thread.bit);

	client->threads += error == 0;
	return error;
}

static int detach_thread(struct client *client, const struct uroce_abi_command *c)
{
	int error = sendring_detach(client->region, client->set, c->u.thread.bit);

	client->threads -= error == 0;
	return error;
}

static int counters(struct uroce_abi_command *c)
{
	for (uint32_t i = 0; i < 96; i++)
		c->u.counters.value[i] = 1000 + i;
	return 0;
}

static int allocate(struct client *client, struct uroce_abi_command *c)
{
	c->u.memory.ref = region_alloc(client->region, c->u.memory.size);
	return c->u.memory.ref ? 0 : -ENOMEM;
}

static int make(struct client *client, enum kind kind, struct uroce_abi_command *c)
{
	c->head.object = take_handle(client, kind);
	return c->head.object ? 0 : -ENOMEM;
}

static int end(struct client *client, enum kind kind, const struct uroce_abi_command *c)
{
	return give_handle(client, kind, c->head.object) ? 0 : -EINVAL;
}

static int run(struct client *client, struct uroce_abi_command *c)
{
	switch (c->head.op) {
	case UROCE_ABI_QUERY_DEVICE:
		return query_device(c);
	case UROCE_ABI_QUERY_PORT:
		return query_port(c);
	case UROCE_ABI_QUERY_GID:
		return query_gid(c);
	case UROCE_ABI_ALLOC_PD:
		return make(client, PD, c);
	case UROCE_ABI_DEALLOC_PD:
		return end(client, PD, c);
	case UROCE_ABI_REG_MR:
	case UROCE_ABI_ALLOC_MW:
		return alloc_key(client, c);
	case UROCE_ABI_REREG_MR:
		c->u.mr.key++;
		return 0;
	case UROCE_ABI_DEREG_MR:
	case UROCE_ABI_DEALLOC_MW:
		return free_key(client, c);
	case UROCE_ABI_CREATE_CHANNEL:
		return create_channel(client, c);
	case UROCE_ABI_DESTROY_CHANNEL:
		return end(client, CHANNEL, c);
	case UROCE_ABI_CREATE_CQ:
		return create_cq(client, c);
	case UROCE_ABI_RESIZE_CQ:
		return resize_cq(client, c);
	case UROCE_ABI_DESTROY_CQ:
		return destroy_cq(client, c);
	case UROCE_ABI_CREATE_SRQ:
		return create_srq(client, c);
	case UROCE_ABI_MODIFY_SRQ:
		client->srq_limit[c->head.object] = c->u.srq.limit;
		return 0;
	case UROCE_ABI_QUERY_SRQ:
		return query_srq(client, c);
	case UROCE_ABI_DESTROY_SRQ:
		return end(client, SRQ, c);
	case UROCE_ABI_CREATE_QP:
		return create_qp(client, c);
	case UROCE_ABI_MODIFY_QP:
		return modify_qp(client, c);
	case UROCE_ABI_QUERY_QP:
		return query_qp(client, c);
	case UROCE_ABI_DESTROY_QP:
		return destroy_qp(client, c);
	case UROCE_ABI_CREATE_AH:
		return make(client, AH, c);
	case UROCE_ABI_DESTROY_AH:
		return end(client, AH, c);
	case UROCE_ABI_ATTACH_THREAD:
		return attach_thread(client, c);
	case UROCE_ABI_DETACH_THREAD:
		return detach_thread(client, c);
	case UROCE_ABI_QP_POLICY:
	case UROCE_ABI_QP_ARM:
	case UROCE_ABI_QP_NOTIFY:
		return 0;
	case UROCE_ABI_QP_COUNTERS:
	case UROCE_ABI_COUNTERS:
		return counters(c);
	case UROCE_ABI_ALLOC:
		return allocate(client, c);
	case UROCE_ABI_FREE:
		region_free(client->region, c->u.memory.ref, c->u.memory.size);
		return 0;
	default:
		return -EOPNOTSUPP;
	}
}

static void answer(struct engine *engine, struct client *client, struct uroce_abi_command *slot)
{
	uint32_t op = slot->head.op;

	engine->count[op]++;
	engine->last[op] = *slot;
	slot->head.status = engine->status[op] ? engine->status[op] : run(client, slot);
	__atomic_store_n(&slot->head.state, UROCE_ABI_DONE, __ATOMIC_RELEASE);
}

static void take_announcements(struct client *client)
{
	uint32_t announcement;

	while (sendring_take(client->set, &announcement, 1)) {
		uint32_t handle = announcement & ~SENDRING_RECV;
		struct queues *qp = &client->qp[handle];

		client->announcements++;
		client->last_announcement = announcement;
		if (client->used[QP][handle])
			sendring_taken(announcement & SENDRING_RECV ? qp->rq.ring : qp->sq.ring);
	}
}

/* Under the engine's lock. */
static unsigned int round_locked(struct engine *engine, struct client *client)
{
	const struct region_view *view = region_engine_view(client->region);
	struct uroce_abi_command *slots = region_at(view, region_header(view)->commands, 1);
	uint64_t posted =
		__atomic_exchange_n(&region_header(view)->doorbell.posted, 0, __ATOMIC_ACQUIRE);

	for (uint64_t left = posted; left; left &= left - 1)
		answer(engine, client, &slots[__builtin_ctzll(left)]);
	take_announcements(client);
	engine->rounds++;
	return posted != 0;
}

/* ---- the door ---- */

static struct engine *door_engine(unsigned int n)
{
	for (unsigned int i = 0; i < ENGINES; i++)
		if (engines[i] && n-- == 0)
			return engines[i];
	return NULL;
}

static const char *door_name(struct engine *engine)
{
	return engine->name;
}

static struct engine *door_start(const char *arguments)
{
	fake_started_with = arguments;
	errno = fake_start_error;
	return fake_start_error ? NULL : fake_create(fake_start_name, false);
}

static int door_attach(struct engine *engine, struct client **client, struct region_view *view)
{
	struct client *made = calloc(1, sizeof(*made));

	made->engine = engine;
	if (region_create(64u << 20, false, 1, &made->region) ||
		sendring_set_create(made->region, FAKE_OBJECTS, false, &made->set))
		abort();
	pthread_mutex_lock(&engine->lock);
	made->earlier = engine->client;
	engine->client = made;
	engine->clients++;
	pthread_mutex_unlock(&engine->lock);
	*client = made;
	*view = *region_engine_view(made->region);
	return 0;
}

static void door_detach(struct client *client)
{
	struct engine *engine = client->engine;

	pthread_mutex_lock(&engine->lock);
	for (struct client **link = &engine->client; *link; link = &(*link)->earlier)
		if (*link == client) {
			*link = client->earlier;
			break;
		}
	engine->clients--;
	pthread_mutex_unlock(&engine->lock);
	sendring_set_destroy(client->region, client->set);
	region_destroy(client->region);
	free(client);
}

static unsigned int door_drive(struct client *client)
{
	struct engine *engine = client->engine;
	unsigned int moved;

	if (engine->dedicated)
		return 0;
	pthread_mutex_lock(&engine->lock);
	moved = round_locked(engine, client);
	pthread_mutex_unlock(&engine->lock);
	return moved;
}

static int door_dedicated(struct client *client)
{
	return client->engine->dedicated;
}

/* Nobody drives but the test. */
static int door_served(struct client *client)
{
	return 0;
}

static void door_take_over(struct client *client)
{
}

static void door_wake(struct client *client, uint32_t core)
{
}

__attribute__((visibility("default"))) const struct door uroce_engine_door = {
	.version = DOOR_VERSION,
	.size = sizeof(struct door),
	.engine = door_engine,
	.name = door_name,
	.start = door_start,
	.attach = door_attach,
	.detach = door_detach,
	.drive = door_drive,
	.dedicated = door_dedicated,
	.served = door_served,
	.take_over = door_take_over,
	.wake = door_wake,
};

/* ---- what tests call ---- */

/* Serves the latest client: tests of a dedicated engine open one context. */
static void *work(void *argument)
{
	struct engine *engine = argument;

	while (!__atomic_load_n(&engine->stop, __ATOMIC_RELAXED)) {
		unsigned int moved = 0;

		pthread_mutex_lock(&engine->lock);
		if (engine->client)
			moved = round_locked(engine, engine->client);
		pthread_mutex_unlock(&engine->lock);
		if (!moved)
			sched_yield();
	}
	return NULL;
}

struct engine *fake_create(const char *name, bool dedicated)
{
	struct engine *engine = calloc(1, sizeof(*engine));
	unsigned int free_slot = 0;

	strncpy(engine->name, name, sizeof(engine->name) - 1);
	engine->dedicated = dedicated;
	pthread_mutex_init(&engine->lock, NULL);
	while (engines[free_slot])
		free_slot++;
	engines[free_slot] = engine;
	if (dedicated && pthread_create(&engine->worker, NULL, work, engine))
		abort();
	return engine;
}

void fake_destroy(struct engine *engine)
{
	__atomic_store_n(&engine->stop, true, __ATOMIC_RELAXED);
	if (engine->dedicated)
		pthread_join(engine->worker, NULL);
	for (unsigned int i = 0; i < ENGINES; i++)
		if (engines[i] == engine)
			engines[i] = NULL;
	free(engine);
}

void fake_fail(struct engine *engine, uint32_t op, int status)
{
	engine->status[op] = status;
}

/* What the worker's thread writes is read under its lock. */
static unsigned int peek(const struct engine *engine, const unsigned int *number)
{
	pthread_mutex_t *lock = &((struct engine *)(uintptr_t)engine)->lock;
	unsigned int value;

	pthread_mutex_lock(lock);
	value = *number;
	pthread_mutex_unlock(lock);
	return value;
}

unsigned int fake_commands(const struct engine *engine, uint32_t op)
{
	return peek(engine, &engine->count[op]);
}

const struct uroce_abi_command *fake_last(const struct engine *engine, uint32_t op)
{
	return &engine->last[op];
}

unsigned int fake_clients(const struct engine *engine)
{
	return peek(engine, &engine->clients);
}

unsigned int fake_objects(const struct engine *engine)
{
	const struct client *client = engine->client;
	unsigned int count = 0;

	for (unsigned int kind = 0; kind < KINDS; kind++)
		for (unsigned int handle = 1; handle <= FAKE_OBJECTS; handle++)
			count += client->used[kind][handle];
	for (unsigned int i = 0; i < KEYS; i++)
		count += client->key[i];
	return count - 1; /* the asynchronous channel */
}

unsigned int fake_threads(const struct engine *engine)
{
	return peek(engine, &engine->client->threads);
}

unsigned int fake_rounds(const struct engine *engine)
{
	return peek(engine, &engine->rounds);
}

unsigned int fake_announcements(struct engine *engine, uint32_t *last)
{
	unsigned int count;

	pthread_mutex_lock(&engine->lock);
	take_announcements(engine->client);
	count = engine->client->announcements;
	if (last)
		*last = engine->client->last_announcement;
	pthread_mutex_unlock(&engine->lock);
	return count;
}

bool fake_take_send(struct engine *engine, uint32_t qp, struct fake_send *send)
{
	uint32_t position;
	struct queues *queues = &engine->client->qp[qp];

	if (!wq_take(&queues->sq, &send->wqe, send->tail, sizeof(send->tail), &position))
		return false;
	queues->sent = position + 1;
	return true;
}

bool fake_take_recv(struct engine *engine, uint32_t qp, struct fake_recv *recv)
{
	uint32_t position;
	struct queues *queues = &engine->client->qp[qp];

	if (!wq_take(&queues->rq, &recv->wqe, recv->sge, sizeof(recv->sge), &position))
		return false;
	queues->received = position + 1;
	return true;
}

bool fake_take_srq(struct engine *engine, uint32_t srq, struct fake_recv *recv)
{
	return wq_claim(&engine->client->srq[srq], &recv->wqe, recv->sge, sizeof(recv->sge));
}

static void complete(struct client *client, uint32_t cq, const struct uroce_abi_cqe *cqe)
{
	struct cq_ring *ring = &client->cq[cq];
	struct uroce_abi_cqe *slot = cq_slot(ring);

	if (slot) {
		*slot = *cqe;
		cq_push(ring, cqe->solicited || cqe->status);
	}
	if (cq_arm_check(ring, ring->ring) && client->cq_channel[cq])
		eventring_push(&client->channel[client->cq_channel[cq]], UROCE_ABI_EVENT_COMP, cq);
}

void fake_complete_send(struct engine *engine, uint32_t qp, const struct uroce_abi_cqe *cqe)
{
	struct queues *queues = &engine->client->qp[qp];
	struct uroce_abi_cqe full = *cqe;

	full.qp = qp;
	full.qp_num = 0x100 + qp;
	full.released = queues->sent;
	complete(engine->client, queues->send_cq, &full);
}

void fake_complete_recv(struct engine *engine, uint32_t qp, const struct uroce_abi_cqe *cqe)
{
	struct queues *queues = &engine->client->qp[qp];
	struct uroce_abi_cqe full = *cqe;

	full.qp = qp;
	full.qp_num = 0x100 + qp;
	full.opcode |= IBV_WC_RECV;
	full.released = queues->received;
	complete(engine->client, queues->recv_cq, &full);
}

void fake_event(struct engine *engine, uint32_t type, uint32_t object)
{
	eventring_push(&engine->client->channel[engine->client->async], type, object);
}

void fake_flushing(struct engine *engine, uint32_t qp)
{
	wq_set_notice(&engine->client->qp[qp].rq, UROCE_ABI_ANNOUNCE_RECV);
}
