/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The gate, docs/early-posts.md: what does not count as the first packet (EP-5). A table of
 * packets, each wrong in one way.
 */
#include "hold_rig.h"

/* How the QP answers. */
enum answer { SILENCE, ACKED, SEQUENCE_NAK, FATAL };

struct refused {
	const char *name;
	uint8_t opcode;
	void (*change)(struct rig *rig, struct rig_packet *packet);
	enum answer answer;
	uint8_t syndrome; /* FATAL */
};

static void bad_icrc(struct rig *rig, struct rig_packet *packet)
{
	packet->bad_icrc = true;
}

static void bad_pkey(struct rig *rig, struct rig_packet *packet)
{
	packet->bad_pkey = true;
}

static void bad_source(struct rig *rig, struct rig_packet *packet)
{
	packet->bad_source = true;
}

static void bad_destination(struct rig *rig, struct rig_packet *packet)
{
	packet->bad_destination = true;
}

static void ahead(struct rig *rig, struct rig_packet *packet)
{
	packet->psn += 1;
}

static void far_ahead(struct rig *rig, struct rig_packet *packet)
{
	packet->psn = (packet->psn + 0x7fffff) & 0xffffff;
}

static void behind(struct rig *rig, struct rig_packet *packet)
{
	packet->psn -= 1;
}

static void far_behind(struct rig *rig, struct rig_packet *packet)
{
	packet->psn = (packet->psn - 0x7fffff) & 0xffffff;
}

static void payload_0(struct rig *rig, struct rig_packet *packet)
{
	packet->payload_length = 0;
}

static void payload_255(struct rig *rig, struct rig_packet *packet)
{
	packet->payload_length = 255;
}

static void payload_257(struct rig *rig, struct rig_packet *packet)
{
	packet->payload_length = 257;
	packet->length = 257;
}

static void length_15(struct rig *rig, struct rig_packet *packet)
{
	packet->length = 15;
}

static void length_17(struct rig *rig, struct rig_packet *packet)
{
	packet->length = 17;
}

static void length_256(struct rig *rig, struct rig_packet *packet)
{
	packet->length = 256;
}

static void length_huge(struct rig *rig, struct rig_packet *packet)
{
	packet->length = 0x80000001;
}

/* Once more from RESET, with other attributes. */
static void rearm(struct rig *rig, struct ibv_qp_attr *attr)
{
	hold_reset(rig);
	rig_to_init(rig);
	attr->qp_state = IBV_QPS_RTR;
	CU_ASSERT_EQUAL(rig_modify(rig, attr, RIG_ARM_MASK | IBV_QP_ACCESS_FLAGS), 0);
	hold_post(rig, 1);
}

static void set_access(struct rig *rig, unsigned int access)
{
	struct ibv_qp_attr attr;

	rig_attr(rig, &attr);
	attr.qp_access_flags = access;
	rearm(rig, &attr);
}

static void no_write(struct rig *rig, struct rig_packet *packet)
{
	set_access(rig, IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC);
}

static void no_read(struct rig *rig, struct rig_packet *packet)
{
	set_access(rig, IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC);
}

static void no_atomic(struct rig *rig, struct rig_packet *packet)
{
	set_access(rig, IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ);
}

static void bad_rkey(struct rig *rig, struct rig_packet *packet)
{
	packet->rkey ^= 1;
}

/* A region without the right for what is asked. */
static void rkey_of_local(struct rig *rig, struct rig_packet *packet)
{
	CU_ASSERT_EQUAL(mem_register(rig->mem, 7, rig->memory, RIG_MEMORY, (uintptr_t)rig->memory,
				IBV_ACCESS_LOCAL_WRITE, &packet->rkey),
		0);
}

static void other_pd(struct rig *rig, struct rig_packet *packet)
{
	CU_ASSERT_EQUAL(mem_register(rig->mem, 8, rig->memory, RIG_MEMORY, (uintptr_t)rig->memory,
				IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
					IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC,
				&packet->rkey),
		0);
}

static void past_the_end(struct rig *rig, struct rig_packet *packet)
{
	packet->address = (uintptr_t)rig->memory + RIG_MEMORY - 8;
	if (opcode_is(opcode_info(packet->opcode), IS_ATOMIC))
		packet->address += 8;
}

static void before_the_start(struct rig *rig, struct rig_packet *packet)
{
	packet->address = (uintptr_t)rig->memory - 8;
}

static void wraps(struct rig *rig, struct rig_packet *packet)
{
	packet->address = UINT64_MAX - 7;
}

static void misaligned(struct rig *rig, struct rig_packet *packet)
{
	packet->address += 4;
}

/* The receive posted by the frame of the test has room for 4096: another one instead. */
static void receive_of(struct rig *rig, uint32_t length)
{
	rig->recvs_posted = rig->recvs_taken;
	rig_post_recv(rig, 1, 8192, length);
}

static void short_receive(struct rig *rig, struct rig_packet *packet)
{
	receive_of(rig, 15);
}

static void bad_receive(struct rig *rig, struct rig_packet *packet)
{
	receive_of(rig, 64);
	rig->recvs[(rig->recvs_posted - 1) % RIG_QUEUE].sge[0].lkey ^= 1;
}

static void no_responder_resources(struct rig *rig, struct rig_packet *packet)
{
	struct ibv_qp_attr attr;

	rig_attr(rig, &attr);
	attr.max_dest_rd_atomic = 0;
	rearm(rig, &attr);
}

static void no_key_to_invalidate(struct rig *rig, struct rig_packet *packet)
{
	packet->invalidate = 0x12345678;
}

static void acknowledging(struct rig *rig, struct rig_packet *packet)
{
	packet->psn = 0x100;
	packet->syndrome = 0x1f;
}

static void refusing(struct rig *rig, struct rig_packet *packet)
{
	packet->psn = 0x100;
	packet->syndrome = NAK_REMOTE_ACCESS_ERROR;
}

#define INVALID NAK_INVALID_REQUEST
#define ACCESS NAK_REMOTE_ACCESS_ERROR
#define OPERATIONAL NAK_REMOTE_OPERATIONAL_ERROR

static const struct refused refused[] = {
	{"ICRC", OPCODE_RC_SEND_ONLY, bad_icrc, SILENCE, 0},
	{"P_Key", OPCODE_RC_SEND_ONLY, bad_pkey, SILENCE, 0},
	{"source", OPCODE_RC_SEND_ONLY, bad_source, SILENCE, 0},
	{"destination", OPCODE_RC_SEND_ONLY, bad_destination, SILENCE, 0},
	{"UC", OPCODE_UC_SEND_ONLY, NULL, SILENCE, 0},
	{"UC WRITE", OPCODE_UC_WRITE_ONLY, NULL, SILENCE, 0},
	{"UD", OPCODE_UD_SEND_ONLY, NULL, SILENCE, 0},
	{"CNP", OPCODE_CNP, NULL, SILENCE, 0},
	{"ACK", OPCODE_RC_ACK, acknowledging, SILENCE, 0},
	{"NAK", OPCODE_RC_ACK, refusing, SILENCE, 0},
	{"READ response", OPCODE_RC_READ_RESPONSE_ONLY, acknowledging, SILENCE, 0},
	{"READ response, middle", OPCODE_RC_READ_RESPONSE_MIDDLE, NULL, SILENCE, 0},
	{"atomic ACK", OPCODE_RC_ATOMIC_ACK, acknowledging, SILENCE, 0},

	{"PSN + 1", OPCODE_RC_SEND_ONLY, ahead, SEQUENCE_NAK, 0},
	{"PSN + 1, WRITE", OPCODE_RC_WRITE_ONLY, ahead, SEQUENCE_NAK, 0},
	{"PSN + 1, READ", OPCODE_RC_READ_REQUEST, ahead, SEQUENCE_NAK, 0},
	{"PSN far ahead", OPCODE_RC_SEND_ONLY, far_ahead, SEQUENCE_NAK, 0},
	{"PSN - 1", OPCODE_RC_SEND_ONLY, behind, ACKED, 0},
	{"PSN - 1, WRITE", OPCODE_RC_WRITE_ONLY, behind, ACKED, 0},
	{"PSN - 1, READ", OPCODE_RC_READ_REQUEST, behind, SILENCE, 0},
	{"PSN - 1, CAS", OPCODE_RC_CAS, behind, SILENCE, 0},
	{"PSN far behind", OPCODE_RC_SEND_ONLY, far_behind, ACKED, 0},

	{"SEND_MIDDLE", OPCODE_RC_SEND_MIDDLE, NULL, FATAL, INVALID},
	{"SEND_LAST", OPCODE_RC_SEND_LAST, NULL, FATAL, INVALID},
	{"SEND_LAST_IMM", OPCODE_RC_SEND_LAST_IMM, NULL, FATAL, INVALID},
	{"SEND_LAST_INV", OPCODE_RC_SEND_LAST_INV, NULL, FATAL, INVALID},
	{"WRITE_MIDDLE", OPCODE_RC_WRITE_MIDDLE, NULL, FATAL, INVALID},
	{"WRITE_LAST", OPCODE_RC_WRITE_LAST, NULL, FATAL, INVALID},
	{"WRITE_LAST_IMM", OPCODE_RC_WRITE_LAST_IMM, NULL, FATAL, INVALID},

	{"SEND_FIRST, 255", OPCODE_RC_SEND_FIRST, payload_255, FATAL, INVALID},
	{"SEND_FIRST, 0", OPCODE_RC_SEND_FIRST, payload_0, FATAL, INVALID},
	{"SEND_FIRST, 257", OPCODE_RC_SEND_FIRST, payload_257, FATAL, INVALID},
	{"SEND_ONLY, 257", OPCODE_RC_SEND_ONLY, payload_257, FATAL, INVALID},
	{"WRITE_ONLY, 257", OPCODE_RC_WRITE_ONLY, payload_257, FATAL, INVALID},
	{"WRITE_ONLY, 16 of 15", OPCODE_RC_WRITE_ONLY, length_15, FATAL, INVALID},
	{"WRITE_ONLY, 16 of 17", OPCODE_RC_WRITE_ONLY, length_17, FATAL, INVALID},
	{"WRITE_FIRST, 256 of 256", OPCODE_RC_WRITE_FIRST, length_256, FATAL, INVALID},
	{"WRITE_FIRST, 2^31 + 1", OPCODE_RC_WRITE_FIRST, length_huge, FATAL, INVALID},
	{"READ, 2^31 + 1", OPCODE_RC_READ_REQUEST, length_huge, FATAL, INVALID},

	{"WRITE forbidden", OPCODE_RC_WRITE_ONLY, no_write, FATAL, ACCESS},
	{"WRITE_IMM forbidden", OPCODE_RC_WRITE_ONLY_IMM, no_write, FATAL, ACCESS},
	{"WRITE_FIRST forbidden", OPCODE_RC_WRITE_FIRST, no_write, FATAL, ACCESS},
	{"READ forbidden", OPCODE_RC_READ_REQUEST, no_read, FATAL, ACCESS},
	{"CAS forbidden", OPCODE_RC_CAS, no_atomic, FATAL, ACCESS},
	{"FAA forbidden", OPCODE_RC_FAA, no_atomic, FATAL, ACCESS},

	{"WRITE, R_Key", OPCODE_RC_WRITE_ONLY, bad_rkey, FATAL, ACCESS},
	{"WRITE_IMM, R_Key", OPCODE_RC_WRITE_ONLY_IMM, bad_rkey, FATAL, ACCESS},
	{"WRITE_FIRST, R_Key", OPCODE_RC_WRITE_FIRST, bad_rkey, FATAL, ACCESS},
	{"READ, R_Key", OPCODE_RC_READ_REQUEST, bad_rkey, FATAL, ACCESS},
	{"CAS, R_Key", OPCODE_RC_CAS, bad_rkey, FATAL, ACCESS},
	{"FAA, R_Key", OPCODE_RC_FAA, bad_rkey, FATAL, ACCESS},
	{"WRITE, rights", OPCODE_RC_WRITE_ONLY, rkey_of_local, FATAL, ACCESS},
	{"READ, rights", OPCODE_RC_READ_REQUEST, rkey_of_local, FATAL, ACCESS},
	{"CAS, rights", OPCODE_RC_CAS, rkey_of_local, FATAL, ACCESS},
	{"WRITE, PD", OPCODE_RC_WRITE_ONLY, other_pd, FATAL, ACCESS},
	{"READ, PD", OPCODE_RC_READ_REQUEST, other_pd, FATAL, ACCESS},
	{"FAA, PD", OPCODE_RC_FAA, other_pd, FATAL, ACCESS},
	{"WRITE, end", OPCODE_RC_WRITE_ONLY, past_the_end, FATAL, ACCESS},
	{"READ, end", OPCODE_RC_READ_REQUEST, past_the_end, FATAL, ACCESS},
	{"CAS, end", OPCODE_RC_CAS, past_the_end, FATAL, ACCESS},
	{"WRITE, start", OPCODE_RC_WRITE_ONLY, before_the_start, FATAL, ACCESS},
	{"READ, start", OPCODE_RC_READ_REQUEST, before_the_start, FATAL, ACCESS},
	{"WRITE, wrap", OPCODE_RC_WRITE_ONLY, wraps, FATAL, ACCESS},
	{"READ, wrap", OPCODE_RC_READ_REQUEST, wraps, FATAL, ACCESS},
	{"FAA, wrap", OPCODE_RC_FAA, wraps, FATAL, ACCESS},
	{"CAS, alignment", OPCODE_RC_CAS, misaligned, FATAL, INVALID},
	{"FAA, alignment", OPCODE_RC_FAA, misaligned, FATAL, INVALID},
	{"READ, no resources", OPCODE_RC_READ_REQUEST, no_responder_resources, FATAL, INVALID},
	{"CAS, no resources", OPCODE_RC_CAS, no_responder_resources, FATAL, INVALID},
	{"SEND_INV, R_Key", OPCODE_RC_SEND_ONLY_INV, no_key_to_invalidate, FATAL, ACCESS},
	{"SEND, short receive", OPCODE_RC_SEND_ONLY, short_receive, FATAL, INVALID},
	{"SEND_FIRST, short receive", OPCODE_RC_SEND_FIRST, short_receive, FATAL, INVALID},
	{"SEND, bad receive", OPCODE_RC_SEND_ONLY, bad_receive, FATAL, OPERATIONAL},
};

static bool answered_as(const struct rig *rig, const struct refused *row)
{
	if (row->answer == SILENCE)
		return rig->sent_count == 0;
	if (rig->sent_count != 1 || rig_sent(rig, 0).opcode != OPCODE_RC_ACK)
		return false;
	if (row->answer == ACKED)
		return rig_syndrome(rig, 0) == 0x1f;
	return rig_syndrome(rig, 0) ==
		(row->answer == FATAL ? row->syndrome : NAK_PSN_SEQUENCE_ERROR);
}

static bool opened_nothing(struct rig *rig)
{
	const struct rc_hold_counters *counters = rc_qp_hold_counters(rig->qp);

	for (uint32_t i = 0; i < rig_count(rig, RIG_EVENT); i++)
		if (rig_record(rig, RIG_EVENT, i)->value == IBV_EVENT_COMM_EST)
			return false;
	return hold_promotions(counters) == 0 && counters->comm_est == 0 &&
		counters->unarmed_first_packet == 0;
}

/* Each row on a QP of its own that is armed, with a receive posted and one request held. */
static void ep_05_what_fails_any_check_proves_nothing(void)
{
	for (unsigned int i = 0; i < COUNT(refused); i++) {
		const struct refused *row = &refused[i];
		struct rig_packet packet;
		struct rig rig;

		rig_open(&rig, 1, NULL);
		rig_to_armed_rtr(&rig);
		hold_post(&rig, 1);
		rig_post_recv(&rig, 1, 8192, 4096);
		packet = hold_request(&rig, row->opcode);
		if (row->change)
			row->change(&rig, &packet);
		rig_receive(&rig, &packet);
		ASSERT_ROW(rc_qp_state(rig.qp) == IBV_QPS_RTR, row->name);
		rig_run(&rig);
		ASSERT_ROW(answered_as(&rig, row), row->name);
		ASSERT_ROW(opened_nothing(&rig), row->name);
		ASSERT_ROW(
			(rc_qp_state(rig.qp) == IBV_QPS_ERR) == (row->answer == FATAL), row->name);
		ASSERT_ROW(rig_count(&rig, RIG_SEND_DONE) == (row->answer == FATAL), row->name);

		/* and where the QP lives on, an ordinary one opens it */
		if (row->answer != FATAL) {
			hold_first_send(&rig);
			ASSERT_ROW(hold_cause(&rig) == RC_HOLD_PACKET, row->name);
		}
		rig_close(&rig);
	}
}

/* Version, padding, addresses of IP: the parser's drops never reach a QP. */
static void ep_05_a_header_that_does_not_parse_proves_nothing(void)
{
	static const struct {
		uint32_t at;
		uint8_t flip;
		enum wire_drop drop;
	} rows[] = {
		{14 + 20 + 8 + 1, 0x01, WIRE_TVER},
		{14 + 20 + 8 + 1, 0x0f, WIRE_TVER},
		{14, 0x10, WIRE_IP_HEADER},
		{14 + 20 + 8, 0x80, WIRE_OPCODE},
	};
	struct rig rig, peer;

	rig_open(&rig, 1, NULL);
	rig_open(&peer, 2, NULL);
	rig_to_armed_rtr(&rig);
	rig_to_rts(&peer);
	rig_post_recv(&rig, 1, 8192, 64);
	hold_post(&peer, 1);
	rig_run(&peer);
	for (unsigned int i = 0; i < COUNT(rows); i++) {
		struct rig_frame frame = peer.sent[0];

		frame.data[rows[i].at] ^= rows[i].flip;
		CU_ASSERT_EQUAL(rig_receive_frame(&rig, frame.data, frame.length), rows[i].drop);
		CU_ASSERT(hold_closed(&rig));
	}
	rig_deliver(&peer, &rig, NULL, NULL);
	CU_ASSERT(!hold_closed(&rig));
	rig_close(&rig);
	rig_close(&peer);
}

/* The WRITE's own checks come before the receive that it lacks. */
static void ep_05_a_wrong_write_proves_nothing_for_want_of_a_receive(void)
{
	struct rig_packet packet;
	struct rig rig;

	rig_open(&rig, 1, NULL);
	rig_to_armed_rtr(&rig);
	packet = hold_request(&rig, OPCODE_RC_WRITE_ONLY_IMM);
	packet.rkey ^= 1;
	rig_receive(&rig, &packet);
	rig_run(&rig);
	CU_ASSERT_EQUAL(rig_syndrome(&rig, 0), NAK_REMOTE_ACCESS_ERROR);
	CU_ASSERT(opened_nothing(&rig));
	rig_close(&rig);
}

static const struct unit_case cases[] = {
	UNIT_CASE(ep_05_what_fails_any_check_proves_nothing),
	UNIT_CASE(ep_05_a_header_that_does_not_parse_proves_nothing),
	UNIT_CASE(ep_05_a_wrong_write_proves_nothing_for_want_of_a_receive),
};

UNIT_MAIN("hold-refused", cases)
