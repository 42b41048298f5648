/* SPDX-License-Identifier: BSD-3-Clause */
/* MODIFY_QP beyond the transport's table: MTU, addresses, neighbours that take their time, RESET;
 * and address handles, which wait for neighbours in the same way. */
#include <errno.h>

#include "rig.h"

struct fixture {
	struct rig rig;
	struct front *front;
	struct front_cq cq;
	struct front_qp qp;
};

static void fixture_open(struct fixture *f)
{
	rig_open(&f->rig);
	f->front = &f->rig.fronts[0];
	f->cq = front_create_cq(f->front, 64, 0);
	f->qp = front_create_qp(f->front, &f->cq);
	CU_ASSERT_EQUAL_FATAL(front_to_init(f->front, &f->qp), 0);
}

static void fixture_close(struct fixture *f)
{
	rig_close(&f->rig);
}

static struct uroce_abi_command rtr(const struct fixture *f)
{
	return front_rtr_request(&f->qp, RIG_ADDRESS + 1, 0x777);
}

/* Each wrong value alone is refused and leaves the QP as it was. */
#define REFUSED(change, error)                                                                     \
	do {                                                                                       \
		struct uroce_abi_command command = rtr(&f);                                        \
		change;                                                                            \
		CU_ASSERT_EQUAL(front_command(f.front, &command), error);                          \
		CU_ASSERT_EQUAL(front_state(f.front, &f.qp), IBV_QPS_INIT);                        \
	} while (0)

static void values(void)
{
	static struct fixture f;

	fixture_open(&f);
	REFUSED(command.u.qp.attr.path_mtu = 0, -EINVAL);
	REFUSED(command.u.qp.attr.path_mtu = 6, -EINVAL);
	REFUSED(command.u.qp.attr.ah_attr.port_num = 2, -EINVAL);
	REFUSED(command.u.qp.attr.ah_attr.is_global = 0, -EINVAL);
	REFUSED(command.u.qp.attr.ah_attr.grh.sgid_index = 1, -EINVAL);
	REFUSED(command.u.qp.attr.ah_attr.grh.dgid.raw[15] = 77, -ENETUNREACH);
	REFUSED(command.u.qp.attr.max_dest_rd_atomic = 17, -EINVAL);
	REFUSED(command.u.qp.mask &= ~IBV_QP_AV, -EINVAL);
	REFUSED(command.u.qp.mask |= IBV_QP_QKEY, -EINVAL);
	REFUSED(command.u.qp.mask |= 1 << 29, -EINVAL);
	REFUSED(command.u.qp.attr.qp_state = 99, -EINVAL);
	fixture_close(&f);
}

/* A wrong transition is told before anybody looks for a neighbour. */
static void transitions_first(void)
{
	struct uroce_abi_command command;
	static struct fixture f;

	fixture_open(&f);
	loop_set_neighbour(f.rig.wire, 0, LOOP_NEIGHBOUR_NEVER, 1000 * MS);
	command = rtr(&f);
	command.u.qp.attr.qp_state = IBV_QPS_RTS;
	CU_ASSERT_EQUAL(front_command(f.front, &command), -EINVAL);
	command = rtr(&f);
	command.u.qp.mask &= ~IBV_QP_RQ_PSN;
	CU_ASSERT_EQUAL(front_command(f.front, &command), -EINVAL);
	fixture_close(&f);
}

static void mtu_of_the_port(void)
{
	struct loop_end_config end = {.mtu = 1500, .gid_count = 1};
	struct engine_config config = {.name = "small", .max_qp = 4, .max_mr = 4};
	struct uroce_abi_command command;
	struct engine *second;
	static struct rig rig;
	struct front front;
	struct front_cq cq;
	struct front_qp qp;

	rig_open(&rig);
	end.gids[0] = loop_gid4(RIG_ADDRESS + 9, 24);
	CU_ASSERT_EQUAL_FATAL(loop_add_end(rig.wire, &end, &config.port), 0);
	config.clock = rig.engines[0]->clock;
	config.clock_context = &rig;
	second = rig.engines[1];
	CU_ASSERT_EQUAL_FATAL(engine_create(&config, &rig.engines[1]), 0);
	front_attach(&rig, 1, &front);
	cq = front_create_cq(&front, 10, 0);
	qp = front_create_qp(&front, &cq);
	CU_ASSERT_EQUAL(front_to_init(&front, &qp), 0);
	command = front_rtr_request(&qp, RIG_ADDRESS, 5);
	command.u.qp.attr.path_mtu = IBV_MTU_2048;
	CU_ASSERT_EQUAL(front_command(&front, &command), -EINVAL);
	command = front_rtr_request(&qp, RIG_ADDRESS, 5);
	command.u.qp.attr.path_mtu = IBV_MTU_1024;
	CU_ASSERT_EQUAL(front_command(&front, &command), 0);
	front_detach(&front);
	CU_ASSERT_EQUAL(engine_destroy(rig.engines[1]), 0);
	rig.engines[1] = second;
	rig_close(&rig);
}

static void a_slow_neighbour(void)
{
	struct uroce_abi_command command;
	static struct fixture f;

	fixture_open(&f);
	loop_set_neighbour(f.rig.wire, 0, LOOP_NEIGHBOUR_DELAYED, 5 * MS);
	command = rtr(&f);
	front_post(f.front, 5, &command);
	CU_ASSERT_FALSE(front_done(f.front, 5, &command));
	/* Meanwhile the QP is as it was, and other commands run. */
	CU_ASSERT_EQUAL(front_state(f.front, &f.qp), IBV_QPS_INIT);
	CU_ASSERT_FALSE(engine_busy(f.rig.engines[0]));
	CU_ASSERT(engine_next_timer(f.rig.engines[0]) <= f.rig.now + 5 * MS);
	rig_run(&f.rig, f.rig.now + 10 * MS);
	CU_ASSERT(front_done(f.front, 5, &command));
	CU_ASSERT_EQUAL(command.head.status, 0);
	CU_ASSERT_EQUAL(command.u.qp.state_seen, IBV_QPS_RTR);
	CU_ASSERT_EQUAL(front_state(f.front, &f.qp), IBV_QPS_RTR);
	fixture_close(&f);
}

static void no_neighbour(void)
{
	struct uroce_abi_command command;
	static struct fixture f;

	fixture_open(&f);
	loop_set_neighbour(f.rig.wire, 0, LOOP_NEIGHBOUR_NEVER, 5 * MS);
	command = rtr(&f);
	front_post(f.front, 5, &command);
	CU_ASSERT_FALSE(front_done(f.front, 5, &command));
	rig_run(&f.rig, f.rig.now + 10 * MS);
	CU_ASSERT(front_done(f.front, 5, &command));
	CU_ASSERT_EQUAL(command.head.status, -EHOSTUNREACH);
	CU_ASSERT_EQUAL(front_state(f.front, &f.qp), IBV_QPS_INIT);
	/* Later it answers. */
	loop_set_neighbour(f.rig.wire, 0, LOOP_NEIGHBOUR_AT_ONCE, 0);
	command = rtr(&f);
	CU_ASSERT_EQUAL(front_command(f.front, &command), 0);
	fixture_close(&f);
}

/* The QP goes, or moves on, while its modify waits. */
static void overtaken(void)
{
	struct uroce_abi_command command;
	static struct fixture f;
	struct front_qp second;

	fixture_open(&f);
	loop_set_neighbour(f.rig.wire, 0, LOOP_NEIGHBOUR_DELAYED, 5 * MS);
	command = rtr(&f);
	front_post(f.front, 5, &command);
	rig_round(&f.rig);
	CU_ASSERT_EQUAL(front_to_state(f.front, &f.qp, IBV_QPS_ERR), 0);
	rig_run(&f.rig, f.rig.now + 10 * MS);
	CU_ASSERT(front_done(f.front, 5, &command));
	CU_ASSERT_EQUAL(command.head.status, -EINVAL);
	CU_ASSERT_EQUAL(front_state(f.front, &f.qp), IBV_QPS_ERR);

	loop_set_neighbour(f.rig.wire, 0, LOOP_NEIGHBOUR_DELAYED, 5 * MS);
	second = front_create_qp(f.front, &f.cq);
	CU_ASSERT_EQUAL(front_to_init(f.front, &second), 0);
	command = front_rtr_request(&second, RIG_ADDRESS + 1, 5);
	front_post(f.front, 5, &command);
	rig_round(&f.rig);
	CU_ASSERT_EQUAL(front_simple(f.front, UROCE_ABI_DESTROY_QP, second.handle), 0);
	(void)front_create_qp(f.front, &f.cq);
	rig_run(&f.rig, f.rig.now + 10 * MS);
	CU_ASSERT(front_done(f.front, 5, &command));
	CU_ASSERT_EQUAL(command.head.status, -EINVAL);
	fixture_close(&f);
}

/* RESET empties the queues of both sides' views; the QP can be used again. */
static void reset(void)
{
	struct uroce_abi_send_wqe wqe = {
		.opcode = IBV_WR_SEND, .flags = IBV_SEND_SIGNALED | IBV_SEND_INLINE};
	static struct fixture f;
	struct front_cq cq_b;
	struct front_qp qp_b;
	struct uroce_abi_cqe cqe;

	fixture_open(&f);
	cq_b = front_create_cq(&f.rig.fronts[1], 64, 0);
	qp_b = front_create_qp(&f.rig.fronts[1], &cq_b);
	CU_ASSERT_EQUAL(front_to_rtr(f.front, &f.qp, RIG_ADDRESS + 1, qp_b.qp_num), 0);
	/* Held in RTR: with RESET they vanish. */
	for (unsigned int i = 0; i < 10; i++)
		CU_ASSERT(front_send(f.front, &f.qp, &wqe, NULL, 0, 0));
	CU_ASSERT(front_recv(f.front, &f.qp, 1, NULL, 0, 0));
	rig_round(&f.rig);
	CU_ASSERT_EQUAL(front_to_state(f.front, &f.qp, IBV_QPS_RESET), 0);
	wq_front_reset(&f.qp.sq);
	wq_front_reset(&f.qp.rq);
	CU_ASSERT_EQUAL(wq_outstanding(&f.qp.sq), 0);
	CU_ASSERT_EQUAL(wq_outstanding(&f.qp.rq), 0);
	CU_ASSERT_FALSE(front_poll(&f.qp, &cqe));
	front_connect(f.front, &f.qp, RIG_ADDRESS, &f.rig.fronts[1], &qp_b, RIG_ADDRESS + 1);
	CU_ASSERT(front_recv(&f.rig.fronts[1], &qp_b, 2, NULL, 0, 0));
	wqe.wr_id = 9;
	CU_ASSERT(front_send(f.front, &f.qp, &wqe, NULL, 0, 0));
	rig_run(&f.rig, f.rig.now + MS);
	CU_ASSERT(front_poll(&f.qp, &cqe));
	CU_ASSERT_EQUAL(cqe.wr_id, 9);
	CU_ASSERT_EQUAL(cqe.status, IBV_WC_SUCCESS);
	CU_ASSERT_FALSE(front_poll(&f.qp, &cqe));
	CU_ASSERT(front_poll(&qp_b, &cqe));
	CU_ASSERT_EQUAL(cqe.wr_id, 2);
	CU_ASSERT_FALSE(front_poll(&qp_b, &cqe));
	fixture_close(&f);
}

static struct uroce_abi_command ah_request(const struct fixture *f)
{
	struct uroce_abi_command from = rtr(f);
	struct uroce_abi_command command = {.head.op = UROCE_ABI_CREATE_AH};

	command.u.ah.pd = f->front->pd;
	command.u.ah.attr = from.u.qp.attr.ah_attr;
	return command;
}

static void address_handles(void)
{
	struct uroce_abi_command command;
	static struct fixture f;
	uint32_t ah;

	fixture_open(&f);
	command = ah_request(&f);
	command.u.ah.attr.is_global = 0;
	CU_ASSERT_EQUAL(front_command(f.front, &command), -EINVAL);
	command = ah_request(&f);
	command.u.ah.pd = 99;
	CU_ASSERT_EQUAL(front_command(f.front, &command), -EINVAL);
	command = ah_request(&f);
	CU_ASSERT_EQUAL(front_command(f.front, &command), 0);
	ah = command.head.object;
	CU_ASSERT_EQUAL(front_simple(f.front, UROCE_ABI_DESTROY_AH, ah + 1), -EINVAL);
	CU_ASSERT_EQUAL(front_simple(f.front, UROCE_ABI_DESTROY_AH, ah), 0);
	CU_ASSERT_EQUAL(front_simple(f.front, UROCE_ABI_DESTROY_AH, ah), -EINVAL);

	loop_set_neighbour(f.rig.wire, 0, LOOP_NEIGHBOUR_DELAYED, 5 * MS);
	command = ah_request(&f);
	front_post(f.front, 1, &command);
	CU_ASSERT_FALSE(front_done(f.front, 1, &command));
	rig_run(&f.rig, f.rig.now + 6 * MS);
	CU_ASSERT(front_done(f.front, 1, &command));
	CU_ASSERT_EQUAL(command.head.status, 0);
	CU_ASSERT_EQUAL(f.front->client->objects[OBJECT_AH].live, 1);
	fixture_close(&f);
}

static const struct unit_case cases[] = {
	UNIT_CASE(values),
	UNIT_CASE(transitions_first),
	UNIT_CASE(mtu_of_the_port),
	UNIT_CASE(a_slow_neighbour),
	UNIT_CASE(no_neighbour),
	UNIT_CASE(overtaken),
	UNIT_CASE(reset),
	UNIT_CASE(address_handles),
};

UNIT_MAIN("engine-command_modify", cases)
