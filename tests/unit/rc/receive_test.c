/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a packet must fulfil before anybody looks at what it says (IBTA 9.6.1, 10.9.3; EP-16): each
 * check, its counter, and that nothing else changes.
 */
#include "expect.h"

/* A WRITE of 16 bytes to the start of the memory, as it should be. */
static struct rig_packet good(const struct rig *rig)
{
	return (struct rig_packet){
		.opcode = 0x0a,
		.psn = 0x200,
		.ack_request = true,
		.address = (uintptr_t)rig->memory,
		.rkey = rig->key,
		.length = 16,
		.payload_length = 16,
	};
}

struct drop_row {
	const char *what;
	void (*spoil)(struct rig_packet *packet);
	size_t counter;
};

static void other_pkey(struct rig_packet *packet)
{
	packet->bad_pkey = true;
}

static void other_source(struct rig_packet *packet)
{
	packet->bad_source = true;
}

static void other_destination(struct rig_packet *packet)
{
	packet->bad_destination = true;
}

static void other_icrc(struct rig_packet *packet)
{
	packet->bad_icrc = true;
}

static void unreliable(struct rig_packet *packet)
{
	packet->opcode = 0x2a; /* UC WRITE ONLY */
}

static void datagram(struct rig_packet *packet)
{
	packet->opcode = 0x64; /* UD SEND ONLY */
}

#define COUNTER(name) offsetof(struct rc_counters, name)

static const struct drop_row drop_rows[] = {
	{"P_Key", other_pkey, COUNTER(drop_pkey)},
	{"source", other_source, COUNTER(drop_source)},
	{"destination", other_destination, COUNTER(drop_source)},
	{"ICRC", other_icrc, COUNTER(drop_icrc)},
	{"UC", unreliable, COUNTER(drop_service)},
	{"UD", datagram, COUNTER(drop_service)},
};

static uint64_t counter(const struct rig *rig, size_t offset)
{
	return *(const uint64_t *)((const char *)&rig->core.counters + offset);
}

/* Everything that was counted. */
static uint64_t counted(const struct rig *rig)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < sizeof(struct rc_counters); i += 8)
		sum += counter(rig, i);
	return sum;
}

/* One counter by one, no answer, no event, no byte; requests and responses alike. */
static void each_check(void)
{
	for (unsigned int i = 0; i < COUNT(drop_rows); i++)
		for (unsigned int response = 0; response < 2; response++)
			for (unsigned int ipv6 = 0; ipv6 < 2; ipv6++) {
				struct rig_options options = {.ipv6 = ipv6};
				struct ibv_qp_attr attr = attr_of(1);
				struct rig_packet packet;
				uint64_t before;
				uint32_t records;
				struct rig rig;

				rig_open(&rig, 1, &options);
				to_rts(&rig, &attr);
				put(&rig, IBV_WR_SEND, 1, 1);
				go(&rig);
				packet = response ? (struct rig_packet){.opcode = 0x11,
							    .psn = 0x100,
							    .syndrome = 0x1f}
						  : good(&rig);
				drop_rows[i].spoil(&packet);
				before = counted(&rig);
				records = rig.record_count;
				rig_receive(&rig, &packet);
				rig_run(&rig);
				ROW(counter(&rig, drop_rows[i].counter) == 1, i);
				ROW(counted(&rig) == before + 1, i);
				ROW(rig.record_count == records, i);
				ROW(rig.memory[1] == 0, i);
				rig_close(&rig);
			}
}

/* The good ones pass, over IPv4 and IPv6. */
static void good_packets(void)
{
	for (unsigned int ipv6 = 0; ipv6 < 2; ipv6++) {
		struct rig_options options = {.ipv6 = ipv6};
		struct ibv_qp_attr attr = attr_of(1);
		struct rig_packet packet;
		struct rig rig;

		rig_open(&rig, 1, &options);
		to_rts(&rig, &attr);
		packet = good(&rig);
		rig_receive(&rig, &packet);
		rig_run(&rig);
		ROW(rig.memory[1] == 1 && rig.sent_count == 1, ipv6);
		ROW(rig.core.counters.rcvd_pkts == 1, ipv6);
		ROW(rig_sent(&rig, 0).ip_version == (ipv6 ? 6 : 4), ipv6);
		rig_close(&rig);
	}
}

/* The other address family, though everything else agrees. */
static void other_family(void)
{
	for (unsigned int ipv6 = 0; ipv6 < 2; ipv6++) {
		struct rig_options options = {.ipv6 = ipv6};
		struct ibv_qp_attr attr = attr_of(1);
		struct rig_packet packet;
		struct rig rig;

		rig_open(&rig, 1, &options);
		to_rts(&rig, &attr);
		packet = good(&rig);
		rig.ipv6 = !ipv6;
		rig_receive(&rig, &packet);
		ROW(rig.core.counters.drop_source == 1, ipv6);
		rig_close(&rig);
	}
}

/* Addresses of the other family that begin with the bytes of the right ones: still not those. */
static void other_family_that_begins_alike(void)
{
	struct wire_path_attr attr = {.source = {10, 0, 0, 2},
		.destination = {10, 0, 0, 1},
		.hop_limit = 64,
		.pkey = 0xffff,
		.destination_qp = 0x101};
	struct wire_bth bth = {.opcode = 0x0a, .ack_request = true, .psn = 0x200};
	uint8_t frame[256] = {0};
	struct wire_path path;
	uint8_t *reth;
	struct rig rig;

	open_rts(&rig, 1, NULL);
	CU_ASSERT_EQUAL_FATAL(wire_path_init(&path, &attr), 0);
	reth = wire_start(frame, &path, &bth); /* zero bytes to address 0 */
	memset(reth, 0, 16);
	CU_ASSERT_EQUAL(rig_receive_frame(&rig, frame, wire_finish(frame, &path, &bth)), WIRE_OK);
	rig_run(&rig);
	COUNTED(&rig, drop_source, 1);
	SENT_COUNT(&rig, 0);
	rig_close(&rig);
}

/* The cheap checks come before the dear ones: of several faults the first is counted. */
static void first_fault_counts(void)
{
	struct rig_packet packet;
	struct rig rig;

	open_rts(&rig, 1, NULL);
	packet = good(&rig);
	packet.bad_icrc = packet.bad_source = packet.bad_pkey = true;
	packet.opcode = 0x2a;
	rig_receive(&rig, &packet);
	COUNTED(&rig, drop_service, 1);
	packet.opcode = 0x0a;
	rig_receive(&rig, &packet);
	COUNTED(&rig, drop_pkey, 1);
	packet.bad_pkey = false;
	rig_receive(&rig, &packet);
	COUNTED(&rig, drop_source, 1);
	packet.bad_source = false;
	rig_receive(&rig, &packet);
	COUNTED(&rig, drop_icrc, 1);
	COUNTED(&rig, rcvd_pkts, 0);
	rc_error(&rig.core, rig.qp);
	packet.opcode = 0x2a;
	rig_receive(&rig, &packet);
	COUNTED(&rig, drop_state, 1);
	COUNTED(&rig, drop_service, 1);
	rig_close(&rig);
}

/* 10.3.1: requests are taken in RTR, RTS and SQD. */
static void states(void)
{
	static const struct {
		enum ibv_qp_state state;
		bool taken;
	} rows[] = {{IBV_QPS_RESET, false}, {IBV_QPS_INIT, false}, {IBV_QPS_RTR, true},
		{IBV_QPS_RTS, true}, {IBV_QPS_SQD, true}, {IBV_QPS_ERR, false}};

	for (unsigned int i = 0; i < COUNT(rows); i++) {
		struct rig_packet packet;
		struct rig rig;

		rig_open(&rig, 1, NULL);
		if (rows[i].state == IBV_QPS_INIT)
			rig_to_init(&rig);
		if (rows[i].state == IBV_QPS_RTR)
			rig_to_rtr(&rig);
		if (rows[i].state >= IBV_QPS_RTS)
			rig_to_rts(&rig);
		if (rows[i].state == IBV_QPS_SQD)
			to_sqd(&rig, false);
		if (rows[i].state == IBV_QPS_ERR)
			CU_ASSERT_EQUAL(to_state(&rig, IBV_QPS_ERR), 0);
		packet = good(&rig);
		rig_receive(&rig, &packet);
		rig_run(&rig);
		ROW(rig.memory[1] == rows[i].taken, i);
		ROW(rig.sent_count == rows[i].taken, i);
		ROW(rig.core.counters.drop_state == !rows[i].taken, i);
		ROW(rc_qp_state(rig.qp) == rows[i].state, i);
		rig_close(&rig);
	}
}

/* A congestion notification passes the same checks, is counted, and is neither request nor answer.
 */
static void congestion_notification(void)
{
	struct rig_packet packet = {.opcode = 0x81};
	struct rig rig;

	rig_open(&rig, 1, NULL);
	rig_to_armed_rtr(&rig);
	rig_receive(&rig, &packet);
	COUNTED(&rig, cnp_rcvd, 1);
	STATE(&rig, IBV_QPS_RTR); /* no first packet (EP-5) */
	EVENT_COUNT(&rig, 0);
	packet.bad_source = true;
	rig_receive(&rig, &packet);
	COUNTED(&rig, cnp_rcvd, 1);
	COUNTED(&rig, drop_source, 1);
	rig_run(&rig);
	SENT_COUNT(&rig, 0);
	rig_close(&rig);
}

/* The path of an earlier life doesn't matter: what RTR was told does. */
static void the_path_is_that_of_rtr(void)
{
	struct rig_packet packet;
	struct rig rig;

	open_rts(&rig, 1, NULL);
	CU_ASSERT_EQUAL(to_state(&rig, IBV_QPS_RESET), 0);
	rig.ipv6 = true;
	rig_to_rts(&rig);
	packet = good(&rig);
	rig_receive(&rig, &packet);
	CU_ASSERT(rig.memory[1] == 1);
	packet.psn++;
	rig.ipv6 = false;
	rig_receive(&rig, &packet);
	COUNTED(&rig, drop_source, 1);
	rig_close(&rig);
}

static const struct unit_case cases[] = {
	UNIT_CASE(each_check),
	UNIT_CASE(good_packets),
	UNIT_CASE(other_family),
	UNIT_CASE(other_family_that_begins_alike),
	UNIT_CASE(first_fault_counts),
	UNIT_CASE(states),
	UNIT_CASE(congestion_notification),
	UNIT_CASE(the_path_is_that_of_rtr),
};

UNIT_MAIN("receive", cases)
