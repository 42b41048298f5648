/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The notice of a QP that flushes, against a receive that is posted. While a core asks for receives
 * to be announced and looks at the queue, a thread posts and reads the notice: either it announces
 * the receive, or the core finds it. Otherwise it would never be flushed.
 */
#include "race.h"
#include "stress.h"
#include "wq.h"

struct queue {
	struct wq_engine engine;
	struct wq_front front;
	bool announces;
	bool found __attribute__((aligned(64))); /* the core's */
} __attribute__((aligned(64)));

static struct queue queues[RACE_INSTANCES];

static void open_queues(struct region *region, const struct region_view *front)
{
	for (uint32_t i = 0; i < RACE_INSTANCES; i++) {
		struct queue *queue = &queues[i];

		stress_require(wq_create(region, 2, 0, 0, &queue->engine) == 0, "RQ");
		stress_require(wq_front_init(&queue->front, front, queue->engine.ref, false) == 0,
			"front");
	}
}

static void close_queues(struct region *region)
{
	for (uint32_t i = 0; i < RACE_INSTANCES; i++)
		wq_destroy(region, &queues[i].engine);
}

static void post(uint32_t instance)
{
	struct queue *queue = &queues[instance];
	uint32_t position = 0;

	wq_reserve(&queue->front, 1, &position);
	wq_publish(&queue->front, position);
	queue->announces = wq_announce_recv(&queue->front);
}

static void flush(uint32_t instance)
{
	struct queue *queue = &queues[instance];

	(void)wq_ready(&queue->engine); /* that was before the QP failed */
	wq_set_notice(&queue->engine, UROCE_ABI_ANNOUNCE_RECV);
	queue->found = wq_ready(&queue->engine);
}

static enum race_saw judge(uint32_t instance)
{
	struct queue *queue = &queues[instance];
	uint8_t record[64];
	uint32_t position = 0;

	stress_require(wq_take(&queue->engine, record, NULL, 0, &position), "receive");
	wq_release(&queue->front, position + 1);
	wq_set_notice(&queue->engine, 0);
	return (queue->announces ? RACE_FIRST_SAW : 0) | (queue->found ? RACE_SECOND_SAW : 0);
}

int main(int argc, char **argv)
{
	static const struct race race = {
		.name = "notice",
		.open = open_queues,
		.close = close_queues,
		.first = post,
		.second = flush,
		.judge = judge,
	};

	return race_main(argc, argv, &race);
}
