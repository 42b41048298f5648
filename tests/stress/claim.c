/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Two cores claim a receive of an SRQ each and tell the client how far it is free. One of the two
 * may leave that to the other; whichever writes the consumer index last, it counts both. Otherwise
 * a slot would stay in use until the next claim, which a client whose SRQ is full waits for.
 */
#include "race.h"
#include "stress.h"
#include "wq.h"

struct queue {
	struct wq_engine engine;
	struct wq_front front;
	uint64_t first;
	uint64_t second __attribute__((aligned(64)));
} __attribute__((aligned(64)));

static struct queue queues[RACE_INSTANCES];

static void post_two(struct queue *queue)
{
	uint32_t position = 0;

	stress_require(wq_reserve(&queue->front, 2, &position) == 2, "room");
	for (uint32_t i = 0; i < 2; i++) {
		struct uroce_abi_recv_wqe *wqe = wq_slot(&queue->front, position + i);

		wqe->wr_id = i + 1;
		wq_publish(&queue->front, position + i);
	}
}

static void open_queues(struct region *region, const struct region_view *front)
{
	for (uint32_t i = 0; i < RACE_INSTANCES; i++) {
		struct queue *queue = &queues[i];

		stress_require(wq_create(region, 2, 0, 0, &queue->engine) == 0, "SRQ");
		stress_require(
			wq_front_init(&queue->front, front, queue->engine.ref, true) == 0, "front");
		post_two(queue);
	}
}

static void close_queues(struct region *region)
{
	for (uint32_t i = 0; i < RACE_INSTANCES; i++)
		wq_destroy(region, &queues[i].engine);
}

static uint64_t claim(uint32_t instance)
{
	struct uroce_abi_recv_wqe wqe = {.wr_id = 0};

	return wq_claim(&queues[instance].engine, &wqe, NULL, 0) ? wqe.wr_id : 0;
}

static void claim_first(uint32_t instance)
{
	queues[instance].first = claim(instance);
}

static void claim_second(uint32_t instance)
{
	queues[instance].second = claim(instance);
}

/* Who got the second request came behind the other. */
static enum race_saw judge(uint32_t instance)
{
	struct queue *queue = &queues[instance];
	struct uroce_abi_ring *ring = queue->engine.ring;
	bool told = ring->consumer.index == ring->producer.index;

	stress_require(queue->first + queue->second == 3 && queue->first && queue->second,
		"two claims of two requests");
	ring->consumer.index = ring->producer.index;
	post_two(queue);
	if (!told)
		return RACE_LOST;
	return queue->first == 2 ? RACE_FIRST_SAW : RACE_SECOND_SAW;
}

int main(int argc, char **argv)
{
	static const struct race race = {
		.name = "claim",
		.open = open_queues,
		.close = close_queues,
		.first = claim_first,
		.second = claim_second,
		.judge = judge,
	};

	return race_main(argc, argv, &race);
}
