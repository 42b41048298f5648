/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Announcing against parking. A QP's announcement was taken; while the core clears the flag and
 * looks at the queue, a thread posts: either it finds the flag clear and announces, or the core
 * finds the request. Otherwise the request would lie there for ever.
 */
#include "race.h"
#include "sendring.h"
#include "stress.h"
#include "wq.h"

struct queue {
	struct wq_engine engine;
	struct wq_front front;
	bool announced;
	bool found __attribute__((aligned(64))); /* the core's */
} __attribute__((aligned(64)));

static struct queue queues[RACE_INSTANCES];
static struct sendring_set *set;
static struct sendring_front sendring;

/* The state for a round: as after an announcement that the core has taken and not answered yet. */
static void set_announced(struct queue *queue)
{
	__atomic_store_n(&queue->engine.ring->flag.word, 1, __ATOMIC_RELAXED);
}

/* Takes the next announcement: they come in the order of the instances. */
static void take(uint32_t instance)
{
	uint32_t announcement = UINT32_MAX;

	stress_require(sendring_take(set, &announcement, 1) == 1 && announcement == instance,
		"such announcement");
}

static void open_queues(struct region *region, const struct region_view *front)
{
	uroce_abi_ref ref;
	uint32_t bit;

	stress_require(sendring_set_create(region, RACE_INSTANCES, false, &set) == 0, "set");
	stress_require(sendring_attach(region, set, &ref, &bit) == 0, "send ring");
	stress_require(sendring_front_init(&sendring, front, ref) == 0, "front");
	for (uint32_t i = 0; i < RACE_INSTANCES; i++) {
		struct queue *queue = &queues[i];

		stress_require(wq_create(region, 2, 0, 0, &queue->engine) == 0, "queue");
		stress_require(wq_front_init(&queue->front, front, queue->engine.ref, false) == 0,
			"front");
		set_announced(queue);
	}
}

static void close_queues(struct region *region)
{
	sendring_set_destroy(region, set);
	for (uint32_t i = 0; i < RACE_INSTANCES; i++)
		wq_destroy(region, &queues[i].engine);
}

static void post(uint32_t instance)
{
	struct queue *queue = &queues[instance];
	uint32_t position = 0;

	wq_reserve(&queue->front, 1, &position);
	wq_publish(&queue->front, position);
	queue->announced = sendring_announce(&sendring, queue->front.ring, instance);
}

static void park(uint32_t instance)
{
	struct queue *queue = &queues[instance];

	sendring_taken(queue->engine.ring);
	queue->found = wq_ready(&queue->engine);
}

static enum race_saw judge(uint32_t instance)
{
	struct queue *queue = &queues[instance];
	uint8_t record[64];
	uint32_t position = 0;

	stress_require(wq_take(&queue->engine, record, NULL, 0, &position), "request");
	wq_release(&queue->front, position + 1);
	if (queue->announced)
		take(instance);
	set_announced(queue);
	return (queue->announced ? RACE_FIRST_SAW : 0) | (queue->found ? RACE_SECOND_SAW : 0);
}

int main(int argc, char **argv)
{
	static const struct race race = {
		.name = "announce",
		.open = open_queues,
		.close = close_queues,
		.first = post,
		.second = park,
		.judge = judge,
	};

	return race_main(argc, argv, &race);
}
