/* SPDX-License-Identifier: BSD-3-Clause */
/* Packets from one core to another: what fits, whole and in order, and who has a packet that was
 * refused. */
#include <errno.h>
#include <pthread.h>

#include "handover.h"
#include "patience.h"
#include "random.h"
#include "unit.h"

static struct packet numbered(uint32_t number)
{
	return (struct packet){
		.handle = (void *)(uintptr_t)(number + 1),
		.data = (uint8_t *)(uintptr_t) ~(uint64_t)number,
		.length = number,
		.room = ~number,
	};
}

static bool is_numbered(const struct packet *packet, uint32_t number)
{
	struct packet right = numbered(number);

	return packet->handle == right.handle && packet->data == right.data &&
		packet->length == right.length && packet->room == right.room;
}

/* How many fit. */
static uint32_t fill(struct handover *handover)
{
	uint32_t count = 0;
	struct packet packet;

	do
		packet = numbered(count);
	while (count < 1000 && handover_put(handover, &packet) && ++count);
	return count;
}

static void all_but_one_slot(void)
{
	static const uint32_t counts[] = {2, 4, 64, 256};

	for (unsigned int i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
		struct handover *handover;

		CU_ASSERT_EQUAL_FATAL(handover_create(counts[i], &handover), 0);
		CU_ASSERT_EQUAL(handover_room(handover), counts[i] - 1);
		CU_ASSERT_EQUAL(fill(handover), counts[i] - 1);
		for (uint32_t n = 0; n < counts[i] - 1; n++) {
			struct packet packet;

			CU_ASSERT_EQUAL(handover_room(handover), n);
			CU_ASSERT_EQUAL(handover_take(handover, &packet, 1), 1);
			CU_ASSERT(is_numbered(&packet, n));
		}
		handover_destroy(handover);
	}
}

static void counts_that_are_refused(void)
{
	static const uint32_t counts[] = {0, 1, 3, 100, 0x80000001u};

	for (unsigned int i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
		struct handover *handover;

		CU_ASSERT_EQUAL(handover_create(counts[i], &handover), -EINVAL);
	}
}

/* In bursts of all sizes, many times round the ring. */
static void in_order(void)
{
	struct handover *handover;
	struct packet packets[8];
	uint32_t put = 0, taken = 0, wrong = 0;

	CU_ASSERT_EQUAL_FATAL(handover_create(8, &handover), 0);
	CU_ASSERT_TRUE(handover_empty(handover));
	CU_ASSERT_EQUAL(handover_take(handover, packets, 8), 0);
	for (uint32_t round = 0; round < 1000; round++) {
		uint32_t count;

		for (count = round % 5; count > 0; count--) {
			struct packet packet = numbered(put);

			put += handover_put(handover, &packet);
		}
		wrong += handover_empty(handover) != (put == taken);
		count = handover_take(handover, packets, round % 7);
		for (uint32_t i = 0; i < count; i++)
			wrong += !is_numbered(&packets[i], taken++);
		wrong += put - taken > 7;
	}
	CU_ASSERT_EQUAL(wrong, 0);
	CU_ASSERT(put > 1000);
	handover_destroy(handover);
}

#define PACKETS 1000000u

struct core {
	struct handover *handover;
	pthread_t thread;
	bool starved;
};

static void *put_all(void *argument)
{
	struct core *core = argument;

	for (uint32_t i = 0; i < PACKETS && !core->starved; i++) {
		struct packet packet = numbered(i);

		core->starved = !WAIT_FOR(handover_put(core->handover, &packet));
	}
	return NULL;
}

static uint32_t take_when_not_empty(
	struct handover *handover, struct packet *packets, uint32_t count)
{
	return handover_empty(handover) ? 0 : handover_take(handover, packets, count);
}

static void two_cores(void)
{
	struct core core = {.starved = false};
	uint32_t taken = 0, count = 0, wrong = 0;
	struct packet packets[32];
	struct random random;

	random_seed(&random, 11);
	CU_ASSERT_EQUAL_FATAL(handover_create(64, &core.handover), 0);
	CU_ASSERT_EQUAL_FATAL(pthread_create(&core.thread, NULL, put_all, &core), 0);
	while (taken < PACKETS) {
		uint32_t wanted = 1 + (uint32_t)random_below(&random, 32);

		if (!WAIT_FOR((count = take_when_not_empty(core.handover, packets, wanted)) > 0))
			break;
		wrong += count > wanted;
		for (uint32_t i = 0; i < count; i++)
			wrong += !is_numbered(&packets[i], taken++);
	}
	pthread_join(core.thread, NULL);
	CU_ASSERT_FALSE(core.starved);
	CU_ASSERT_EQUAL(taken, PACKETS);
	CU_ASSERT_EQUAL(wrong, 0);
	CU_ASSERT_TRUE(handover_empty(core.handover));
	handover_destroy(core.handover);
}

static const struct unit_case cases[] = {
	UNIT_CASE(all_but_one_slot),
	UNIT_CASE(counts_that_are_refused),
	UNIT_CASE(in_order),
	UNIT_CASE(two_cores),
};

UNIT_MAIN("queue-handover", cases)
