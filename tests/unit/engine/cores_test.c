/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Engines of several cores: numbers and handles that lead to a core, packets that arrive at another
 * one than their QP's, traffic between the cores of one engine.
 */
#include <errno.h>
#include <string.h>

#include "build.h"
#include "many.h"

/* 2^bits is the least power of two that isn't below the count. */
static const struct {
	uint32_t cores, bits;
} shapes[] = {{1, 0}, {2, 1}, {3, 2}, {4, 2}, {5, 3}, {16, 4}};

#define SHAPES (sizeof(shapes) / sizeof(shapes[0]))

static void numbers_lead_to_their_core(void)
{
	static struct rig rig;

	for (unsigned int i = 0; i < SHAPES; i++) {
		const struct engine_config config = {.cores = shapes[i].cores};
		uint32_t mask = (1u << shapes[i].bits) - 1;
		struct front_cq cq;

		rig_open_with(&rig, NULL, &config);
		cq = front_create_cq(&rig.fronts[0], 4, 0);
		for (uint32_t n = 0; n < 3 * shapes[i].cores; n++) {
			struct uroce_abi_command command =
				front_qp_request(&rig.fronts[0], cq.handle, 0);
			uint32_t core = n % shapes[i].cores;

			CU_ASSERT_EQUAL_FATAL(front_command(&rig.fronts[0], &command), 0);
			CU_ASSERT_EQUAL(command.u.create_qp.core, core);
			CU_ASSERT_EQUAL(command.head.object & mask, core);
			CU_ASSERT_EQUAL(command.u.create_qp.qp_num & mask, core);
			CU_ASSERT(command.u.create_qp.qp_num > 1);
			CU_ASSERT(command.u.create_qp.qp_num < 0xffffff);
		}
		rig_close(&rig);
	}
}

/* The next QP is for the core that has the fewest, of all clients. */
static void the_fewest_first(void)
{
	static struct many m;
	struct front_cq cq;
	struct front second;
	uint32_t core;

	many_open(&m, 3, 6, 4);		     /* two at each */
	for (uint32_t n = 1; n <= 4; n += 3) /* core 1's */
		CU_ASSERT_EQUAL(front_simple(m.a, UROCE_ABI_DESTROY_QP, m.qp_a[n].handle), 0);
	CU_ASSERT_EQUAL(front_simple(m.a, UROCE_ABI_DESTROY_QP, m.qp_a[2].handle), 0);
	front_attach(&m.rig, 0, &second);
	cq = front_create_cq(&second, 4, 0);
	for (uint32_t i = 0; i < 3; i++) {
		static const uint32_t right[] = {1, 1, 2}; /* 0: 2, 1: 0, 2: 1 */

		core = core_of(&second.cores, front_create_qp(&second, &cq).handle);
		CU_ASSERT_EQUAL(core, right[i]);
	}
	for (uint32_t i = 0; i < 3; i++)
		CU_ASSERT_EQUAL(m.rig.engines[0]->workers[i]->qps.count, 2);
	front_detach(&second);
	many_close(&m);
}

static int query(struct front *front, uint32_t handle)
{
	return front_simple(front, UROCE_ABI_QUERY_QP, handle);
}

/* Of cores that aren't there, of nobody at another core, of another client. */
static void handles_that_lead_nowhere(void)
{
	struct uroce_abi_command thread = {.head.op = UROCE_ABI_ATTACH_THREAD};
	struct uroce_abi_command cq = {.head.op = UROCE_ABI_CREATE_CQ};
	struct front second;
	static struct many m;

	many_open(&m, 3, 4, 4); /* two QPs at core 0, one each at 1 and 2 */
	CU_ASSERT_EQUAL(query(m.a, m.qp_a[1].handle), 0);
	for (uint32_t op = UROCE_ABI_MODIFY_QP; op <= UROCE_ABI_DESTROY_QP; op++) {
		CU_ASSERT_EQUAL(front_simple(m.a, op, m.qp_a[1].handle | 3), -EINVAL);
		CU_ASSERT_EQUAL(front_simple(m.a, op, 3), -EINVAL);
		/* The second QP of core 0 has a handle whose like core 1 hasn't given out. */
		CU_ASSERT_EQUAL(front_simple(m.a, op, m.qp_a[3].handle + 1), -EINVAL);
	}
	front_attach(&m.rig, 0, &second);
	for (uint32_t n = 0; n < 4; n++)
		CU_ASSERT_EQUAL(query(&second, m.qp_a[n].handle), -EINVAL);
	for (uint32_t core = 3; core < 20; core++) {
		thread.u.thread.core = core;
		thread.head.op = UROCE_ABI_ATTACH_THREAD;
		CU_ASSERT_EQUAL(front_command(m.a, &thread), -EINVAL);
		thread.head.op = UROCE_ABI_DETACH_THREAD;
		thread.u.thread.core = core;
		CU_ASSERT_EQUAL(front_command(m.a, &thread), -EINVAL);
		cq.u.cq.cqe = 4;
		cq.u.cq.vector = core;
		CU_ASSERT_EQUAL(front_command(m.a, &cq), -EINVAL);
	}
	front_detach(&second);
	many_close(&m);
}

/* Announced at a core that the QP isn't of, by whatever handle. */
static void announcements_at_the_wrong_core(void)
{
	static struct many m;

	many_open(&m, 3, 3, 4);
	for (uint32_t core = 0; core < 3; core++) {
		struct worker *worker = m.rig.engines[0]->workers[core];

		for (uint32_t n = 0; n < 3; n++) {
			struct uroce_abi_ring flag = {.flag.word = 0};
			uint32_t announcement = m.qp_a[n].handle;

			sendring_announce(&m.a->ring[core], &flag, announcement);
			rig_round(&m.rig);
			CU_ASSERT_EQUAL(worker->counters.stale_announcements, n < core ? n + 1 : n);
			CU_ASSERT_EQUAL(worker->counters.announcements, n + 1);
		}
	}
	many_close(&m);
}

/* ---- packets ---- */

/* From end B to end A: to the queue of this core there, for a QP of this number. */
static void send_frame(struct many *m, uint32_t queue, uint32_t qp_num)
{
	const struct wire_bth bth = {.opcode = OPCODE_RC_SEND_ONLY};
	struct wire_path_attr attr = {
		.destination_mac = {2, 0, 0, 0, 0, 1},
		.source_mac = {2, 0, 0, 0, 0, 2},
		.hop_limit = 64,
		.udp_source_port = (uint16_t)(0xc000 - 0xc000 % m->cores + m->cores + queue),
		.pkey = 0xffff,
		.destination_qp = qp_num,
	};
	struct port_gid source = loop_gid4(RIG_ADDRESS + 1, 24);
	struct port_gid destination = loop_gid4(RIG_ADDRESS, 24);
	struct port *port = m->rig.ports[1];
	struct wire_path path;
	struct packet packet;

	memcpy(attr.source, source.gid, 16);
	memcpy(attr.destination, destination.gid, 16);
	CU_ASSERT_EQUAL_FATAL(wire_path_init(&path, &attr), 0);
	CU_ASSERT_EQUAL_FATAL(port->ops->alloc(port, 0, &packet, 1), 1);
	wire_start(packet.data, &path, &bth);
	packet.length = wire_finish(packet.data, &path, &bth);
	CU_ASSERT_EQUAL(port->ops->tx(port, 0, &packet, 1), 1);
}

static struct worker *at(struct many *m, uint32_t core)
{
	return m->rig.engines[0]->workers[core];
}

/* Every queue, every QP's core: QPs in RESET count what gets to them (drop_state). */
static void handed_to_the_core_of_the_qp(void)
{
	static struct many m;

	for (uint32_t cores = 2; cores <= 4; cores++) {
		many_open(&m, cores, cores, 4);
		for (uint32_t queue = 0; queue < cores; queue++)
			for (uint32_t n = 0; n < cores; n++) {
				send_frame(&m, queue, m.qp_a[n].qp_num);
				many_run(&m);
			}
		for (uint32_t core = 0; core < cores; core++) {
			CU_ASSERT_EQUAL(at(&m, core)->counters.rx_packets, cores);
			CU_ASSERT_EQUAL(at(&m, core)->counters.handed_over, cores - 1);
			CU_ASSERT_EQUAL(at(&m, core)->core.counters.drop_state, cores);
			CU_ASSERT_EQUAL(at(&m, core)->counters.drop_no_qp, 0);
			CU_ASSERT_EQUAL(at(&m, core)->counters.handover_full, 0);
		}
		many_close(&m);
	}
}

/* A number of a core that isn't there stops where it arrives; one that no QP has, at the core that
 * it would be of. */
static void numbers_that_nobody_has(void)
{
	static struct many m;
	uint32_t nobody;

	many_open(&m, 3, 3, 4);
	send_frame(&m, 1, m.qp_a[0].qp_num | 3); /* core 3 */
	send_frame(&m, 1, 0xffffff);
	many_run(&m);
	CU_ASSERT_EQUAL(at(&m, 1)->counters.drop_no_qp, 2);
	CU_ASSERT_EQUAL(at(&m, 1)->counters.handed_over, 0);
	nobody = m.qp_a[2].qp_num ^ 0x800000;
	send_frame(&m, 1, nobody);
	many_run(&m);
	CU_ASSERT_EQUAL(at(&m, 1)->counters.drop_no_qp, 2);
	CU_ASSERT_EQUAL(at(&m, 1)->counters.handed_over, 1);
	CU_ASSERT_EQUAL(at(&m, 2)->counters.drop_no_qp, 1);
	CU_ASSERT_EQUAL(at(&m, 0)->counters.drop_no_qp, 0);
	many_close(&m);
}

/* Frames arrive at core 0 for a QP of core 1, which is in no round: HANDOVERS - 1 wait, the others
 * are dropped and counted. */
static void fill_ring(struct many *m, uint32_t frames)
{
	for (uint32_t i = 0; i < frames; i++) {
		send_frame(m, 0, m->qp_a[1].qp_num);
		engine_core_round(m->rig.engines[0], 0);
	}
}

static void a_ring_that_is_full(void)
{
	static struct many m;

	many_open(&m, 2, 2, 4);
	fill_ring(&m, 1030);
	CU_ASSERT_EQUAL(at(&m, 0)->counters.handed_over, 1023);
	CU_ASSERT_EQUAL(at(&m, 0)->counters.handover_full, 7);
	CU_ASSERT_TRUE(engine_busy(m.rig.engines[0]));
	many_run(&m);
	CU_ASSERT_EQUAL(at(&m, 1)->core.counters.drop_state, 1023);
	CU_ASSERT_FALSE(engine_busy(m.rig.engines[0]));
	/* There is room again. */
	fill_ring(&m, 1);
	many_run(&m);
	CU_ASSERT_EQUAL(at(&m, 1)->core.counters.drop_state, 1024);
	CU_ASSERT_EQUAL(at(&m, 0)->counters.handover_full, 7);
	many_close(&m);
}

/* The engine goes while packets are on their way: their buffers go back (rig_close() counts). */
static void left_in_the_ring(void)
{
	static struct many m;

	many_open(&m, 2, 2, 4);
	fill_ring(&m, 100);
	CU_ASSERT_EQUAL(front_simple(m.b, UROCE_ABI_NOP, 0), 0);
	fill_ring(&m, 100);
	CU_ASSERT_TRUE(loop_buffers_used(m.rig.wire) >= 100);
	many_close(&m);
}

/* A QP goes while packets for it are on their way to its core. */
static void a_qp_that_goes_meanwhile(void)
{
	static struct many m;

	many_open(&m, 2, 2, 4);
	fill_ring(&m, 10);
	/* The command is taken before the packets. */
	CU_ASSERT_EQUAL(front_simple(m.a, UROCE_ABI_DESTROY_QP, m.qp_a[1].handle), 0);
	many_run(&m);
	CU_ASSERT_EQUAL(at(&m, 1)->counters.drop_no_qp, 10);
	CU_ASSERT_EQUAL(at(&m, 1)->core.counters.drop_state, 0);
	many_close(&m);
}

/* ---- traffic ---- */

#define LENGTH 5000u /* five packets */

static void transfer(struct many *m, struct front *from, struct front_qp *a, struct front *to,
	struct front_qp *b, uint8_t opcode, uint32_t key_from, uint32_t key_to)
{
	struct uroce_abi_send_wqe wqe = {.opcode = opcode, .flags = IBV_SEND_SIGNALED};
	uint8_t *target = m->memory_b;
	struct uroce_abi_cqe cqe;

	for (uint32_t i = 0; i < LENGTH; i++)
		m->memory_a[i] = (uint8_t)(i * 13 ^ a->handle ^ b->handle << 3);
	memset(target, 0, LENGTH);
	wqe.wr.remote.address = (uintptr_t)target;
	wqe.wr.remote.rkey = key_to;
	if (opcode == IBV_WR_SEND)
		CU_ASSERT(front_recv(to, b, 1, target, LENGTH, key_to));
	CU_ASSERT(front_send(from, a, &wqe, m->memory_a, LENGTH, key_from));
	many_run(m);
	CU_ASSERT(front_poll(a, &cqe));
	CU_ASSERT_EQUAL(cqe.status, IBV_WC_SUCCESS);
	CU_ASSERT_EQUAL(cqe.qp, a->handle);
	if (opcode == IBV_WR_SEND) {
		CU_ASSERT(front_poll(b, &cqe));
		CU_ASSERT_EQUAL(cqe.status, IBV_WC_SUCCESS);
		CU_ASSERT_EQUAL(cqe.qp, b->handle);
		CU_ASSERT_EQUAL(cqe.byte_len, LENGTH);
	}
	CU_ASSERT_EQUAL(memcmp(m->memory_a, target, LENGTH), 0);
}

/* Between any two cores of the two engines, whatever queues the packets arrive at. */
static void between_engines(void)
{
	static struct many m;

	for (uint32_t cores = 2; cores <= 4; cores += 2) {
		many_open(&m, cores, MANY_QPS, 64);
		/* Peers shifted by one core for the second half. */
		for (uint32_t n = 0; n < MANY_QPS; n++) {
			struct front_qp *b = &m.qp_b[(n + n / 4) % MANY_QPS];

			front_connect(m.a, &m.qp_a[n], RIG_ADDRESS, m.b, b, RIG_ADDRESS + 1);
			transfer(&m, m.a, &m.qp_a[n], m.b, b, IBV_WR_SEND, m.key_a, m.key_b);
			transfer(&m, m.a, &m.qp_a[n], m.b, b, IBV_WR_RDMA_WRITE, m.key_a, m.key_b);
			CU_ASSERT_EQUAL(front_to_state(m.a, &m.qp_a[n], IBV_QPS_RESET), 0);
			CU_ASSERT_EQUAL(front_to_state(m.b, b, IBV_QPS_RESET), 0);
		}
		many_close(&m);
	}
}

/* An address of our own: from core to core above the port. */
static void between_cores(void)
{
	static const uint8_t opcodes[] = {IBV_WR_SEND, IBV_WR_RDMA_WRITE};
	struct loop_counters counters;
	static struct many m;
	uint32_t key;

	many_open(&m, 3, 6, 64);
	key = front_reg_mr(m.a, m.memory_b, MANY_SIZE, MANY_ACCESS);
	for (uint32_t n = 0; n < 3; n++) {
		struct front_qp *a = &m.qp_a[n], *b = &m.qp_a[3 + (n + 1) % 3];

		front_connect(m.a, a, RIG_ADDRESS, m.a, b, RIG_ADDRESS);
		for (unsigned int i = 0; i < sizeof(opcodes); i++)
			transfer(&m, m.a, a, m.a, b, opcodes[i], m.key_a, key);
		CU_ASSERT(at(&m, n)->counters.looped_packets >= 10);
		CU_ASSERT(at(&m, n)->counters.handed_over >= 10);
	}
	loop_count(m.rig.wire, LOOP_ANY, LOOP_ANY, &counters);
	CU_ASSERT_EQUAL(counters.sent, 0);
	many_close(&m);
}

static const struct unit_case cases[] = {
	UNIT_CASE(numbers_lead_to_their_core),
	UNIT_CASE(the_fewest_first),
	UNIT_CASE(handles_that_lead_nowhere),
	UNIT_CASE(announcements_at_the_wrong_core),
	UNIT_CASE(handed_to_the_core_of_the_qp),
	UNIT_CASE(numbers_that_nobody_has),
	UNIT_CASE(a_ring_that_is_full),
	UNIT_CASE(left_in_the_ring),
	UNIT_CASE(a_qp_that_goes_meanwhile),
	UNIT_CASE(between_engines),
	UNIT_CASE(between_cores),
};

UNIT_MAIN("engine-cores", cases)
