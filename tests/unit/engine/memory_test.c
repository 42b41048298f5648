/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a QP costs the engine: its own memory and its share of the tables, queues apart (those lie
 * in the region, but for the requester's copies of send requests, which are as deep as the send
 * queue).
 */
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>

#include "rig.h"

#define FEW 64u
#define MANY 1088u
#define QP_BYTES_MAX 2048u
#define SLOT (sizeof(struct rc_send) + 64) /* a send queue's of depth 1 */

static uint64_t heap_bytes(void)
{
	struct mallinfo2 info = mallinfo2();

	return (uint64_t)info.uordblks + (uint64_t)info.hblkhd;
}

/* A sanitizer's allocator doesn't count there. */
static bool heap_is_counted(void)
{
	uint64_t before = heap_bytes();
	void *volatile block = malloc(10000); /* volatile: it must be made */
	bool counted = heap_bytes() >= before + 10000;

	free(block);
	return counted;
}

/* Bytes of two engines that are made for `count` QPs each and have them, all in RTS. */
static uint64_t bytes_with(uint32_t count, uint32_t srq_sges)
{
	struct engine_config engine = {.max_qp = count};
	uint64_t before = heap_bytes();
	uint64_t bytes;
	struct rig rig;

	rig_open_with(&rig, NULL, &engine);
	for (unsigned int end = 0; end < RIG_ENDS; end++) {
		struct front *front = &rig.fronts[end];
		struct front_cq cq = front_create_cq(front, 16, 0);
		struct wq_front wq;
		uint32_t srq = srq_sges ? front_create_srq(front, 16, &wq) : 0;

		for (uint32_t i = 0; i < count; i++) {
			struct uroce_abi_command command = front_qp_request(front, cq.handle, srq);
			struct front_qp qp = {.send_cq = &cq, .recv_cq = &cq};

			command.u.create_qp.cap.max_send_wr = 1;
			command.u.create_qp.cap.max_recv_wr = 1;
			CU_ASSERT_EQUAL_FATAL(front_command(front, &command), 0);
			qp.handle = command.head.object;
			qp.qp_num = command.u.create_qp.qp_num;
			CU_ASSERT_EQUAL_FATAL(front_to_init(front, &qp), 0);
			CU_ASSERT_EQUAL_FATAL(
				front_to_rtr(front, &qp, RIG_ADDRESS + !end, 0x1234), 0);
			CU_ASSERT_EQUAL_FATAL(front_to_rts(front, &qp), 0);
		}
	}
	bytes = heap_bytes() - before;
	rig_close(&rig);
	return bytes;
}

/* Between few and many, so that what an engine needs anyhow doesn't count. */
static void check_qp(uint32_t srq_sges)
{
	uint64_t few, many, each;

	if (!heap_is_counted())
		return;
	few = bytes_with(FEW, srq_sges);
	many = bytes_with(MANY, srq_sges);
	each = (many - few) / RIG_ENDS / (MANY - FEW) - SLOT;
	printf("    %lu bytes a QP%s\n", (unsigned long)each, srq_sges ? ", with an SRQ" : "");
	CU_ASSERT(each <= QP_BYTES_MAX);
	CU_ASSERT(each > 500); /* less cannot be: then nothing was counted */
}

static void qp_with_receive_queue(void)
{
	check_qp(0);
}

static void qp_with_srq(void)
{
	check_qp(4);
}

static const struct unit_case cases[] = {
	UNIT_CASE(qp_with_receive_queue),
	UNIT_CASE(qp_with_srq),
};

UNIT_MAIN("engine-memory", cases)
