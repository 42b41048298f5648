/* SPDX-License-Identifier: BSD-3-Clause */
/* Contexts and threads that come and go. */
#include "load.h"

#include <string.h>
#include <sys/mman.h>

#include <uroce/uroce.h>

#include "doors.h"
#include "sendring.h"

#define PATIENCE 60.0 /* seconds */

static struct ibv_context *open_context(const char *name)
{
	struct ibv_context *context = ibv_open_device(uroce_find_device(name));

	stress_require(context, "context");
	return context;
}

/* A context at each end, a connection between them, and an end with or without requests under way.
 */
void *load_contexts(void *argument)
{
	struct actor *actor = argument;

	for (uint64_t round = 0; load_goes_on(actor, round); round++) {
		struct ibv_context *a = open_context("uroce0"), *b = open_context("uroce1");
		uint32_t count = load_random(actor, 8);
		struct lane lane;

		lane_open(&lane, actor, a, b);
		for (uint32_t i = 0; i < count; i++)
			lane_post(&lane, 0, IBV_WR_RDMA_WRITE, lane_spot(&lane, 0, 3000),
				lane_spot(&lane, 1, 3000));
		if (load_random(actor, 2))
			lane_collect(&lane, 0, count);
		lane_close(&lane);
		stress_require(ibv_close_device(a) == 0, "closed context");
		stress_require(ibv_close_device(b) == 0, "closed context");
	}
	return NULL;
}

/* ---- a client that goes without a word ---- */

struct client_view {
	struct client *client;
	struct region_view view;
	struct uroce_abi_header *header;
	struct uroce_abi_command *slots;
};

static void attach(struct client_view *at, struct engine *engine)
{
	stress_require(uroce_engine_door.attach(engine, &at->client, &at->view) == 0, "attachment");
	at->header = region_header(&at->view);
	at->slots =
		region_at(&at->view, at->header->commands, UROCE_ABI_COMMANDS * sizeof(*at->slots));
	stress_require(at->slots, "command slots");
}

static void post_command(
	struct client_view *at, uint32_t slot, const struct uroce_abi_command *command)
{
	struct uroce_abi_command *to = &at->slots[slot];

	to->head.op = command->head.op;
	to->head.object = command->head.object;
	to->u = command->u;
	__atomic_store_n(&to->head.state, UROCE_ABI_POSTED, __ATOMIC_RELEASE);
	__atomic_fetch_or(&at->header->doorbell.posted, 1ull << slot, __ATOMIC_SEQ_CST);
	if (sendring_wakes(at->header, 0))
		uroce_engine_door.wake(at->client, 0);
}

static void run_command(struct client_view *at, struct uroce_abi_command *command)
{
	double until = stress_seconds() + PATIENCE;

	post_command(at, 0, command);
	while (__atomic_load_n(&at->slots[0].head.state, __ATOMIC_ACQUIRE) != UROCE_ABI_DONE) {
		stress_require(stress_seconds() < until, "command that was lost");
		uroce_engine_door.drive(at->client);
		sched_yield();
	}
	*command = at->slots[0];
	__atomic_store_n(&at->slots[0].head.state, UROCE_ABI_FREE_SLOT, __ATOMIC_RELAXED);
	stress_require(command->head.status == 0, "command that succeeds");
}

/* QPs at both cores, a CQ, an SRQ, a key; and commands that aren't answered yet. */
static void leave_things(struct client_view *at, void *memory)
{
	struct uroce_abi_command pd = {.head.op = UROCE_ABI_ALLOC_PD};
	struct uroce_abi_command mr = {.head.op = UROCE_ABI_REG_MR};
	struct uroce_abi_command cq = {.head.op = UROCE_ABI_CREATE_CQ};
	struct uroce_abi_command srq = {.head.op = UROCE_ABI_CREATE_SRQ};
	struct uroce_abi_command qp;

	run_command(at, &pd);
	mr.u.mr.pd = pd.head.object;
	mr.u.mr.access = LOAD_ACCESS;
	mr.u.mr.address = (uintptr_t)memory;
	mr.u.mr.length = 4096;
	run_command(at, &mr);
	cq.u.cq.cqe = 100;
	run_command(at, &cq);
	srq.u.srq.pd = pd.head.object;
	srq.u.srq.max_wr = 16;
	srq.u.srq.max_sge = 1;
	run_command(at, &srq);
	for (unsigned int i = 0; i < 4; i++) {
		qp = (struct uroce_abi_command){.head.op = UROCE_ABI_CREATE_QP};
		qp.u.create_qp.cap = (struct ibv_qp_cap){
			.max_send_wr = 8, .max_recv_wr = 8, .max_send_sge = 1, .max_recv_sge = 1};
		qp.u.create_qp.type = IBV_QPT_RC;
		qp.u.create_qp.pd = pd.head.object;
		qp.u.create_qp.send_cq = cq.head.object;
		qp.u.create_qp.recv_cq = cq.head.object;
		qp.u.create_qp.srq = i % 2 ? srq.head.object : 0;
		run_command(at, &qp);
	}
	mr = (struct uroce_abi_command){.head.op = UROCE_ABI_DEREG_MR, .u.mr.key = mr.u.mr.key};
	post_command(at, 1, &mr);
	qp = (struct uroce_abi_command){
		.head = {.op = UROCE_ABI_DESTROY_QP, .object = qp.head.object}};
	post_command(at, 2, &qp);
}

void *load_leftovers(void *argument)
{
	struct actor *actor = argument;

	for (uint64_t round = 0; load_goes_on(actor, round); round++) {
		void *memory = mmap(
			NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		struct load_end *end = &actor->load->end[load_random(actor, 2)];
		struct client_view at;

		stress_require(memory != MAP_FAILED, "memory");
		attach(&at, end->engine);
		leave_things(&at, memory);
		load_linger(actor, 20);
		uroce_engine_door.detach(at.client);
		munmap(memory, 4096);
	}
	return NULL;
}

/* ---- threads ---- */

#define POSTERS 3u
#define POSTS 8u

struct poster {
	struct lane *lane;
	struct spot here, there;
	pthread_t thread;
};

static void *post_and_go(void *argument)
{
	struct poster *poster = argument;

	for (unsigned int i = 0; i < POSTS; i++)
		lane_post(poster->lane, 0, IBV_WR_RDMA_WRITE, poster->here, poster->there);
	return NULL;
}

/* Several post to one QP at once, and end while what they posted is under way. */
void *load_threads(void *argument)
{
	struct actor *actor = argument;
	struct lane lane;

	lane_open(&lane, actor, NULL, NULL);
	for (uint64_t round = 0; load_goes_on(actor, round); round++) {
		struct poster posters[POSTERS];

		for (unsigned int i = 0; i < POSTERS; i++) {
			posters[i] = (struct poster){.lane = &lane,
				.here = lane_spot(&lane, 0, 2000),
				.there = lane_spot(&lane, 1, 2000)};
			stress_require(pthread_create(&posters[i].thread, NULL, post_and_go,
					       &posters[i]) == 0,
				"thread that posts");
		}
		for (unsigned int i = 0; i < POSTERS; i++)
			pthread_join(posters[i].thread, NULL);
		lane_collect(&lane, 0, POSTERS * POSTS);
		if (lane.failed)
			lane_reconnect(&lane);
	}
	lane_close(&lane);
	return NULL;
}
