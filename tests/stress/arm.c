/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Arming against completing. A program arms the CQ and polls once more while a core completes and
 * looks at the arm word: either the poll finds the completion, or the core raises the event.
 * Otherwise the program would wait for an event that doesn't come.
 */
#include "cq.h"
#include "race.h"
#include "stress.h"

struct queue {
	struct cq_ring engine;
	struct cq_front front;
	bool polled;
	bool raised __attribute__((aligned(64))); /* the core's */
} __attribute__((aligned(64)));

static struct queue queues[RACE_INSTANCES];

static void open_queues(struct region *region, const struct region_view *front)
{
	for (uint32_t i = 0; i < RACE_INSTANCES; i++) {
		struct queue *queue = &queues[i];

		stress_require(cq_ring_create(region, 2, &queue->engine) == 0, "CQ");
		stress_require(
			cq_front_init(&queue->front, front, 1, &queue->engine.ref) == 0, "front");
	}
}

static void close_queues(struct region *region)
{
	for (uint32_t i = 0; i < RACE_INSTANCES; i++)
		cq_ring_destroy(region, &queues[i].engine);
}

static void arm(uint32_t instance)
{
	struct queue *queue = &queues[instance];
	struct uroce_abi_cqe cqe;

	cq_arm(&queue->front, instance % 2);
	queue->polled = cq_poll(&queue->front, &cqe);
}

/* One that wakes both kinds of arming. */
static void complete(uint32_t instance)
{
	struct queue *queue = &queues[instance];
	struct uroce_abi_cqe *cqe = cq_slot(&queue->engine);

	cqe->wr_id = instance;
	cq_push(&queue->engine, true);
	queue->raised = cq_arm_check(&queue->engine, queue->engine.ring);
}

static enum race_saw judge(uint32_t instance)
{
	struct queue *queue = &queues[instance];
	struct uroce_abi_cqe cqe;

	if (!queue->polled)
		stress_require(cq_poll(&queue->front, &cqe), "completion");
	__atomic_store_n(&queue->engine.ring->flag.word, UROCE_ABI_ARM_NONE, __ATOMIC_RELAXED);
	return (queue->polled ? RACE_FIRST_SAW : 0) | (queue->raised ? RACE_SECOND_SAW : 0);
}

int main(int argc, char **argv)
{
	static const struct race race = {
		.name = "arm",
		.open = open_queues,
		.close = close_queues,
		.first = arm,
		.second = complete,
		.judge = judge,
	};

	return race_main(argc, argv, &race);
}
