/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Every frame that has a meaning here, cut at every length and with every bit turned over, and
 * random bytes behind each type. Under the sanitizers no byte is read outside the frame; in every
 * build a frame is counted exactly once and no neighbour comes from it.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "box.h"
#include "random.h"
#include "unit.h"

#define US6 "fd000000000000000000000000000002 "
#define PEER6 "fd000000000000000000000000000001 "

static const char *const frames[] = {
	"ffffffffffff 020000000001 0806 0001 0800 06 04 0001 020000000001 0a4d0001 000000000000 "
	"0a4d0002",
	"ffffffffffff 020000000001 8100 0005 0806 0001 0800 06 04 0001 020000000001 0a580001 "
	"000000000000 0a580002",
	"020000000002 020000000001 0806 0001 0800 06 04 0002 020000000001 0a4d0001 020000000002 "
	"0a4d0002",
	"020000000002 020000000001 0800 4500 001f 1111 4000 40 01 1531 0a4d0001 0a4d0002 0800 2168 "
	"1234 0001 616263",
	"020000000002 020000000001 86dd 60000000 000b 3a 3d " PEER6 US6
	"8000 af1d 1234 0001 616263",
	"3333ff000002 020000000001 86dd 60000000 0020 3a ff " PEER6
	"ff0200000000000000000001ff000002 87 00 7d97 00000000 " US6 "0101 020000000001",
	"333300000001 020000000001 86dd 60000000 0020 00 01 fe800000000000000000000000000001 "
	"ff020000000000000000000000000001 3a00050200000100 8200 7c3f 03e8 0000 "
	"00000000000000000000000000000000",
	"020000000002 020000000001 86dd 60000000 0020 3a ff " PEER6 US6 "88 00 1c9c 60000000 " PEER6
	"0201 020000000001",
};

#define FRAMES (sizeof(frames) / sizeof(frames[0]))

static uint64_t counted(const struct box *box)
{
	uint64_t sum = 0;

	for (unsigned int i = 0; i < NET_DROPS; i++)
		sum += box->net.counters.drops[i];
	return sum;
}

static void put(struct box *box, const uint8_t *data, uint32_t length, uint64_t *expected)
{
	box_input_bytes(box, data, length);
	box_forget(box);
	++*expected;
}

static void cut_and_turned(void)
{
	struct box box;
	uint64_t expected = 0;
	uint32_t id;

	log_set_level(LOG_ERROR);
	box_open(&box);
	CU_ASSERT_EQUAL(box_route(&box, "10.77.0.2", "10.77.0.1", &id), 0);
	CU_ASSERT_EQUAL(box_route(&box, "fd00::2", "fd00::1", &id), 0);
	for (unsigned int i = 0; i < FRAMES; i++) {
		uint8_t data[256];
		uint32_t length = box_hex(data, sizeof(data), frames[i]);

		for (uint32_t cut = 0; cut <= length; cut++)
			put(&box, data, cut, &expected);
		for (uint32_t bit = 0; bit < length * 8; bit++) {
			data[bit / 8] ^= (uint8_t)(1u << bit % 8);
			put(&box, data, length, &expected);
			data[bit / 8] ^= (uint8_t)(1u << bit % 8);
			box.now += BOX_SECOND / 100;
		}
	}
	CU_ASSERT_EQUAL(counted(&box), expected);
	CU_ASSERT_EQUAL(box.net.neighbours.count, 2);
	box_close(&box);
}

/* A valid frame up to a random place, random bytes from there on. */
static void random_tails(void)
{
	struct random random;
	struct box box;
	uint64_t expected = 0;

	log_set_level(LOG_ERROR);
	random_seed(&random, 2);
	box_open(&box);
	for (unsigned int round = 0; round < 100000; round++) {
		uint8_t data[256];
		uint32_t length =
			box_hex(data, sizeof(data), frames[random_below(&random, FRAMES)]);
		uint32_t from = 12 + (uint32_t)random_below(&random, length - 12);

		for (uint32_t i = from; i < length; i++)
			data[i] = (uint8_t)random_next(&random);
		put(&box, data, length, &expected);
	}
	CU_ASSERT_EQUAL(counted(&box), expected);
	CU_ASSERT_EQUAL(box.net.neighbours.count, 0);
	box_close(&box);
}

static const struct unit_case cases[] = {
	UNIT_CASE(cut_and_turned),
	UNIT_CASE(random_tails),
};

UNIT_MAIN("ethdev-mutation", cases)
