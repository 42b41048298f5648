/* SPDX-License-Identifier: BSD-3-Clause */
/* Frames that are no use: each counted by its reason, none kept, and what isn't RoCE given back to
 * the port. */
#include <string.h>

#include "build.h"
#include "rig.h"

struct fixture {
	struct rig rig;
	struct wire_path path; /* from end 1 to end 0 */
};

static void fixture_open(struct fixture *f)
{
	struct wire_path_attr attr = {
		.destination_mac = {2, 0, 0, 0, 0, 1},
		.source_mac = {2, 0, 0, 0, 0, 2},
		.hop_limit = 64,
		.udp_source_port = 0xc000,
		.pkey = 0xffff,
		.destination_qp = 0x123456,
	};
	struct port_gid source = loop_gid4(RIG_ADDRESS + 1, 24);
	struct port_gid destination = loop_gid4(RIG_ADDRESS, 24);

	rig_open(&f->rig);
	memcpy(attr.source, source.gid, 16);
	memcpy(attr.destination, destination.gid, 16);
	CU_ASSERT_EQUAL_FATAL(wire_path_init(&f->path, &attr), 0);
}

/* A SEND ONLY without payload; spoil() may change it. */
static void send_frame(struct fixture *f, void (*spoil)(uint8_t *frame, uint32_t *length))
{
	const struct wire_bth bth = {.opcode = OPCODE_RC_SEND_ONLY};
	struct port *port = f->rig.ports[1];
	struct packet packet;

	CU_ASSERT_EQUAL_FATAL(port->ops->alloc(port, 0, &packet, 1), 1);
	wire_start(packet.data, &f->path, &bth);
	packet.length = wire_finish(packet.data, &f->path, &bth);
	if (spoil)
		spoil(packet.data, &packet.length);
	CU_ASSERT_EQUAL(port->ops->tx(port, 0, &packet, 1), 1);
	rig_round(&f->rig);
}

static void nobody(void)
{
	static struct fixture f;

	fixture_open(&f);
	send_frame(&f, NULL);
	CU_ASSERT_EQUAL(rig_worker(&f.rig, 0)->counters.drop_no_qp, 1);
	CU_ASSERT_EQUAL(rig_worker(&f.rig, 0)->counters.rx_packets, 1);
	rig_close(&f.rig);
}

static void spoil_opcode(uint8_t *frame, uint32_t *length)
{
	frame[42] = 0xff;
}

static void spoil_length(uint8_t *frame, uint32_t *length)
{
	*length -= 8;
}

static void spoil_version(uint8_t *frame, uint32_t *length)
{
	frame[43] |= 1;
}

static void not_roce(uint8_t *frame, uint32_t *length)
{
	frame[12] = 0x08; /* ARP */
	frame[13] = 0x06;
}

static void dropped(void)
{
	struct port_counters counters;
	static struct fixture f;
	struct worker *worker;

	fixture_open(&f);
	worker = rig_worker(&f.rig, 0);
	send_frame(&f, spoil_opcode);
	CU_ASSERT_EQUAL(worker->drops[WIRE_OPCODE], 1);
	send_frame(&f, spoil_version);
	CU_ASSERT_EQUAL(worker->drops[WIRE_TVER], 1);
	send_frame(&f, spoil_length);
	CU_ASSERT_EQUAL(worker->drops[WIRE_RUNT] + worker->drops[WIRE_IP_HEADER], 1);
	CU_ASSERT_EQUAL(worker->counters.drop_no_qp, 0);
	send_frame(&f, not_roce);
	CU_ASSERT_EQUAL(worker->drops[WIRE_NOT_ROCE], 1);
	f.rig.ports[0]->ops->counters(f.rig.ports[0], &counters);
	CU_ASSERT_EQUAL(counters.other_dropped, 1); /* the port has seen it */
	CU_ASSERT_EQUAL(worker->counters.rx_packets, 4);
	rig_close(&f.rig);
}

/* A live QP's number isn't enough: without a connection nothing gets in (lib/rc counts why). */
static void a_qp_that_expects_nothing(void)
{
	static struct fixture f;
	struct front_cq cq;
	struct front_qp qp;

	fixture_open(&f);
	cq = front_create_cq(&f.rig.fronts[0], 4, 0);
	qp = front_create_qp(&f.rig.fronts[0], &cq);
	wire_path_set_destination_qp(&f.path, qp.qp_num);
	send_frame(&f, NULL);
	CU_ASSERT_EQUAL(rig_worker(&f.rig, 0)->core.counters.drop_state, 1);
	CU_ASSERT_EQUAL(rig_worker(&f.rig, 0)->counters.drop_no_qp, 0);
	rig_close(&f.rig);
}

/* More frames than a burst: all are seen, a burst a round. */
static void bursts(void)
{
	static struct fixture f;
	struct port *port;

	fixture_open(&f);
	port = f.rig.ports[1];
	for (unsigned int i = 0; i < 100; i++) {
		const struct wire_bth bth = {.opcode = OPCODE_RC_SEND_ONLY};
		struct packet packet;

		CU_ASSERT_EQUAL_FATAL(port->ops->alloc(port, 0, &packet, 1), 1);
		wire_start(packet.data, &f.path, &bth);
		packet.length = wire_finish(packet.data, &f.path, &bth);
		CU_ASSERT_EQUAL(port->ops->tx(port, 0, &packet, 1), 1);
	}
	CU_ASSERT_EQUAL(engine_round(f.rig.engines[0]), PORT_BURST);
	while (engine_round(f.rig.engines[0]))
		continue;
	CU_ASSERT_EQUAL(rig_worker(&f.rig, 0)->counters.drop_no_qp, 100);
	rig_close(&f.rig);
}

static const struct unit_case cases[] = {
	UNIT_CASE(nobody),
	UNIT_CASE(dropped),
	UNIT_CASE(a_qp_that_expects_nothing),
	UNIT_CASE(bursts),
};

UNIT_MAIN("engine-rx", cases)
