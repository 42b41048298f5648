/* SPDX-License-Identifier: BSD-3-Clause */
/* CM messages: the place of every field as IBTA vol. 1, 12.6 draws it. */
#include <errno.h>
#include <string.h>

#include "mad.h"
#include "tile.h"
#include "unit.h"

static const enum cm_attribute all[] = {CM_REQ, CM_MRA, CM_REJ, CM_REP, CM_RTU, CM_DREQ, CM_DREP,
	CM_SIDR_REQ, CM_SIDR_REP, CM_LAP, CM_APR};
#define ALL (sizeof(all) / sizeof(all[0]))

static void tiles(void)
{
	for (unsigned int i = 0; i < ALL; i++) {
		const struct layout *layout = cm_layout(all[i]);

		CU_ASSERT_PTR_NOT_NULL_FATAL(layout);
		CU_ASSERT_EQUAL(layout->length, 232);
		check_tiles(layout);
	}
	CU_ASSERT_EQUAL(mad_header_layout.length, 24);
	check_tiles(&mad_header_layout);
	CU_ASSERT_EQUAL(ip_cm_layout.length, 36);
	check_tiles(&ip_cm_layout);
	CU_ASSERT_PTR_NULL(cm_layout(CM_REQ - 1));
	CU_ASSERT_PTR_NULL(cm_layout(CM_APR + 1));
}

/* Byte behind the MAD header, first bit, width; typed from the standard's tables. */
static const struct place {
	enum cm_attribute attribute;
	const char *member;
	uint16_t byte, bit, width;
} places[] = {
	{CM_REQ, "local_comm_id", 0, 0, 32},
	{CM_REQ, "service_id", 8, 0, 64},
	{CM_REQ, "local_ca_guid", 16, 0, 64},
	{CM_REQ, "local_qkey", 28, 0, 32},
	{CM_REQ, "local_qpn", 32, 0, 24},
	{CM_REQ, "responder_resources", 35, 0, 8},
	{CM_REQ, "local_eecn", 36, 0, 24},
	{CM_REQ, "initiator_depth", 39, 0, 8},
	{CM_REQ, "remote_eecn", 40, 0, 24},
	{CM_REQ, "remote_cm_response_timeout", 43, 0, 5},
	{CM_REQ, "transport_service_type", 43, 5, 2},
	{CM_REQ, "end_to_end_flow_control", 43, 7, 1},
	{CM_REQ, "starting_psn", 44, 0, 24},
	{CM_REQ, "local_cm_response_timeout", 47, 0, 5},
	{CM_REQ, "retry_count", 47, 5, 3},
	{CM_REQ, "pkey", 48, 0, 16},
	{CM_REQ, "path_mtu", 50, 0, 4},
	{CM_REQ, "rdc_exists", 50, 4, 1},
	{CM_REQ, "rnr_retry_count", 50, 5, 3},
	{CM_REQ, "max_cm_retries", 51, 0, 4},
	{CM_REQ, "srq", 51, 4, 1},
	{CM_REQ, "extended_transport_type", 51, 5, 3},
	{CM_REQ, "primary.local_lid", 52, 0, 16},
	{CM_REQ, "primary.remote_lid", 54, 0, 16},
	{CM_REQ, "primary.local_gid", 56, 0, 128},
	{CM_REQ, "primary.remote_gid", 72, 0, 128},
	{CM_REQ, "primary.flow_label", 88, 0, 20},
	{CM_REQ, "primary.packet_rate", 91, 2, 6},
	{CM_REQ, "primary.traffic_class", 92, 0, 8},
	{CM_REQ, "primary.hop_limit", 93, 0, 8},
	{CM_REQ, "primary.sl", 94, 0, 4},
	{CM_REQ, "primary.subnet_local", 94, 4, 1},
	{CM_REQ, "primary.local_ack_timeout", 95, 0, 5},
	{CM_REQ, "alternate.local_lid", 96, 0, 16},
	{CM_REQ, "alternate.remote_lid", 98, 0, 16},
	{CM_REQ, "alternate.local_gid", 100, 0, 128},
	{CM_REQ, "alternate.remote_gid", 116, 0, 128},
	{CM_REQ, "alternate.flow_label", 132, 0, 20},
	{CM_REQ, "alternate.packet_rate", 135, 2, 6},
	{CM_REQ, "alternate.traffic_class", 136, 0, 8},
	{CM_REQ, "alternate.hop_limit", 137, 0, 8},
	{CM_REQ, "alternate.sl", 138, 0, 4},
	{CM_REQ, "alternate.subnet_local", 138, 4, 1},
	{CM_REQ, "alternate.local_ack_timeout", 139, 0, 5},
	{CM_REQ, "private_data", 140, 0, 736},
	{CM_MRA, "local_comm_id", 0, 0, 32},
	{CM_MRA, "remote_comm_id", 4, 0, 32},
	{CM_MRA, "message_mraed", 8, 0, 2},
	{CM_MRA, "service_timeout", 9, 0, 5},
	{CM_MRA, "private_data", 10, 0, 1776},
	{CM_REJ, "local_comm_id", 0, 0, 32},
	{CM_REJ, "remote_comm_id", 4, 0, 32},
	{CM_REJ, "message_rejected", 8, 0, 2},
	{CM_REJ, "info_length", 9, 0, 7},
	{CM_REJ, "reason", 10, 0, 16},
	{CM_REJ, "info", 12, 0, 576},
	{CM_REJ, "private_data", 84, 0, 1184},
	{CM_REP, "local_comm_id", 0, 0, 32},
	{CM_REP, "remote_comm_id", 4, 0, 32},
	{CM_REP, "local_qkey", 8, 0, 32},
	{CM_REP, "local_qpn", 12, 0, 24},
	{CM_REP, "local_eecn", 16, 0, 24},
	{CM_REP, "starting_psn", 20, 0, 24},
	{CM_REP, "responder_resources", 24, 0, 8},
	{CM_REP, "initiator_depth", 25, 0, 8},
	{CM_REP, "target_ack_delay", 26, 0, 5},
	{CM_REP, "failover_accepted", 26, 5, 2},
	{CM_REP, "end_to_end_flow_control", 26, 7, 1},
	{CM_REP, "rnr_retry_count", 27, 0, 3},
	{CM_REP, "srq", 27, 3, 1},
	{CM_REP, "local_ca_guid", 28, 0, 64},
	{CM_REP, "private_data", 36, 0, 1568},
	{CM_RTU, "local_comm_id", 0, 0, 32},
	{CM_RTU, "remote_comm_id", 4, 0, 32},
	{CM_RTU, "private_data", 8, 0, 1792},
	{CM_DREQ, "local_comm_id", 0, 0, 32},
	{CM_DREQ, "remote_comm_id", 4, 0, 32},
	{CM_DREQ, "remote_qpn", 8, 0, 24},
	{CM_DREQ, "private_data", 12, 0, 1760},
	{CM_DREP, "local_comm_id", 0, 0, 32},
	{CM_DREP, "remote_comm_id", 4, 0, 32},
	{CM_DREP, "private_data", 8, 0, 1792},
	{CM_LAP, "local_comm_id", 0, 0, 32},
	{CM_LAP, "remote_comm_id", 4, 0, 32},
	{CM_LAP, "remote_qpn", 12, 0, 24},
	{CM_LAP, "remote_cm_response_timeout", 15, 0, 5},
	{CM_LAP, "local_lid", 20, 0, 16},
	{CM_LAP, "remote_lid", 22, 0, 16},
	{CM_LAP, "local_gid", 24, 0, 128},
	{CM_LAP, "remote_gid", 40, 0, 128},
	{CM_LAP, "flow_label", 56, 0, 20},
	{CM_LAP, "traffic_class", 59, 0, 8},
	{CM_LAP, "hop_limit", 60, 0, 8},
	{CM_LAP, "packet_rate", 61, 2, 6},
	{CM_LAP, "sl", 62, 0, 4},
	{CM_LAP, "subnet_local", 62, 4, 1},
	{CM_LAP, "local_ack_timeout", 63, 0, 5},
	{CM_LAP, "private_data", 64, 0, 1344},
	{CM_APR, "local_comm_id", 0, 0, 32},
	{CM_APR, "remote_comm_id", 4, 0, 32},
	{CM_APR, "info_length", 8, 0, 8},
	{CM_APR, "status", 9, 0, 8},
	{CM_APR, "info", 12, 0, 576},
	{CM_APR, "private_data", 84, 0, 1184},
	{CM_SIDR_REQ, "request_id", 0, 0, 32},
	{CM_SIDR_REQ, "pkey", 4, 0, 16},
	{CM_SIDR_REQ, "service_id", 8, 0, 64},
	{CM_SIDR_REQ, "private_data", 16, 0, 1728},
	{CM_SIDR_REP, "request_id", 0, 0, 32},
	{CM_SIDR_REP, "status", 4, 0, 8},
	{CM_SIDR_REP, "info_length", 5, 0, 8},
	{CM_SIDR_REP, "qpn", 8, 0, 24},
	{CM_SIDR_REP, "service_id", 12, 0, 64},
	{CM_SIDR_REP, "qkey", 20, 0, 32},
	{CM_SIDR_REP, "info", 24, 0, 576},
	{CM_SIDR_REP, "private_data", 96, 0, 1088},
};
#define PLACES (sizeof(places) / sizeof(places[0]))

static const struct layout_field *find(const struct layout *layout, const char *member)
{
	for (unsigned int i = 0; i < layout->count; i++)
		if (strcmp(layout->fields[i].name, member) == 0)
			return &layout->fields[i];
	return NULL;
}

static void fields_are_placed(void)
{
	for (unsigned int i = 0; i < PLACES; i++) {
		const struct layout_field *field =
			find(cm_layout(places[i].attribute), places[i].member);

		CU_ASSERT_PTR_NOT_NULL_FATAL(field);
		CU_ASSERT_EQUAL(field->bit, 8 * places[i].byte + places[i].bit);
		CU_ASSERT_EQUAL(field->width, places[i].width);
	}
}

/* What isn't placed above has to call itself reserved. */
static void the_rest_is_reserved(void)
{
	for (unsigned int i = 0; i < ALL; i++) {
		const struct layout *layout = cm_layout(all[i]);

		for (unsigned int f = 0; f < layout->count; f++) {
			bool placed = false;

			for (unsigned int p = 0; p < PLACES; p++)
				placed |= places[p].attribute == all[i] &&
					strcmp(places[p].member, layout->fields[f].name) == 0;
			CU_ASSERT_NOT_EQUAL(
				placed, strstr(layout->fields[f].name, "reserved") != NULL);
		}
	}
}

static void rep_on_the_wire(void)
{
	struct mad mad = {.header = mad_cm_header(CM_REP, 0x0102030405060708)};
	static const uint8_t want[24 + 36 + 2] = {1, 7, 2, 3, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 0,
		0x13, 0, 0, 0, 0, 0, 0,				/* MAD header */
		0xa0, 0xa1, 0xa2, 0xa3, 0xb0, 0xb1, 0xb2, 0xb3, /* comm ids */
		0, 0, 0, 0, 0x12, 0x34, 0x56, 0, 0, 0, 0, 0,	/* Q_Key, QPN, EECN */
		0xab, 0xcd, 0xef, 0, 7, 9, 0x7a,
		0xf0, /* PSN, depths, 15 << 3 | 1 << 1, 7 << 5 | SRQ */
		2, 0, 0, 0xff, 0xfe, 0, 0x99, 3, 'h', 'i'};
	uint8_t wire[MAD_LENGTH];
	struct mad back;

	mad.rep.local_comm_id = 0xa0a1a2a3;
	mad.rep.remote_comm_id = 0xb0b1b2b3;
	mad.rep.local_qpn = 0x123456;
	mad.rep.starting_psn = 0xabcdef;
	mad.rep.responder_resources = 7;
	mad.rep.initiator_depth = 9;
	mad.rep.target_ack_delay = 15;
	mad.rep.failover_accepted = 1;
	mad.rep.rnr_retry_count = 7;
	mad.rep.srq = 1;
	mad.rep.local_ca_guid = 0x020000fffe009903;
	memcpy(mad.rep.private_data, "hi", 2);
	memset(wire, 0xa5, sizeof(wire));
	mad_encode(&mad, wire);
	CU_ASSERT_EQUAL(memcmp(wire, want, sizeof(want)), 0);
	for (unsigned int i = sizeof(want); i < MAD_LENGTH; i++)
		CU_ASSERT_EQUAL(wire[i], 0);
	CU_ASSERT_EQUAL_FATAL(mad_decode(wire, MAD_LENGTH, &back), 0);
	CU_ASSERT_EQUAL(mad_message(&back.header), CM_REP);
	CU_ASSERT_EQUAL(back.rep.local_qpn, 0x123456);
	CU_ASSERT_EQUAL(back.rep.srq, 1);
	CU_ASSERT_EQUAL(memcmp(back.rep.private_data, "hi", 3), 0);
}

/* Any 256 bytes come back as they were, whatever they say they are. */
static void back_again(void)
{
	uint8_t wire[MAD_LENGTH];
	uint8_t again[MAD_LENGTH];
	uint32_t state = 1;
	struct mad mad;

	for (unsigned int attribute = 0; attribute < 0x20; attribute++)
		for (unsigned int round = 0; round < 50; round++) {
			struct mad_header header = mad_cm_header(attribute, round);

			for (unsigned int i = 0; i < MAD_LENGTH; i++) {
				state = state * 1664525 + 1013904223;
				wire[i] = (uint8_t)(state >> 24);
			}
			layout_encode(&mad_header_layout, wire, &header);
			CU_ASSERT_EQUAL_FATAL(mad_decode(wire, MAD_LENGTH, &mad), 0);
			mad_encode(&mad, again);
			CU_ASSERT_EQUAL(memcmp(again, wire, MAD_LENGTH), 0);
		}
}

static void which_message(void)
{
	struct mad_header header = mad_cm_header(CM_RTU, 1);

	CU_ASSERT_EQUAL(mad_message(&header), CM_RTU);
	header.attribute_id = 1; /* ClassPortInfo */
	CU_ASSERT_EQUAL(mad_message(&header), 0);
	header = mad_cm_header(CM_RTU, 1);
	header.class_version = 1;
	CU_ASSERT_EQUAL(mad_message(&header), 0);
	header = mad_cm_header(CM_RTU, 1);
	header.management_class = 3;
	CU_ASSERT_EQUAL(mad_message(&header), 0);
	header = mad_cm_header(CM_RTU, 1);
	header.method = 0x83;
	CU_ASSERT_EQUAL(mad_message(&header), 0);
}

static void wrong_length(void)
{
	uint8_t wire[MAD_LENGTH + 1] = {0};
	struct mad mad;

	CU_ASSERT_EQUAL(mad_decode(wire, MAD_LENGTH - 1, &mad), -EINVAL);
	CU_ASSERT_EQUAL(mad_decode(wire, MAD_LENGTH + 1, &mad), -EINVAL);
	CU_ASSERT_EQUAL(mad_decode(wire, MAD_LENGTH, &mad), 0);
}

static void ip_cm(void)
{
	uint8_t wire[IP_CM_HEADER_LENGTH] = {
		0x00, 0x40, 0xb0, 0x3a, [16] = 10, 99, 0, 2, [32] = 10, 99, 0, 3};
	uint8_t again[IP_CM_HEADER_LENGTH];
	struct ip_cm_header header;

	ip_cm_decode(wire, &header);
	CU_ASSERT_EQUAL(header.major, 0);
	CU_ASSERT_EQUAL(header.minor, 0);
	CU_ASSERT_EQUAL(header.ip_version, 4);
	CU_ASSERT_EQUAL(header.source_port, 0xb03a);
	CU_ASSERT_EQUAL(header.source[12], 10);
	CU_ASSERT_EQUAL(header.destination[15], 3);
	ip_cm_encode(&header, again);
	CU_ASSERT_EQUAL(memcmp(again, wire, sizeof(wire)), 0);
	CU_ASSERT_TRUE(is_ip_cm_service(0x0000000001061b58));
	CU_ASSERT_FALSE(is_ip_cm_service(0x0000000002061b58));
	CU_ASSERT_FALSE(is_ip_cm_service(0x1000000001061b58));
}

static const struct unit_case cases[] = {
	UNIT_CASE(tiles),
	UNIT_CASE(fields_are_placed),
	UNIT_CASE(the_rest_is_reserved),
	UNIT_CASE(rep_on_the_wire),
	UNIT_CASE(back_again),
	UNIT_CASE(which_message),
	UNIT_CASE(wrong_length),
	UNIT_CASE(ip_cm),
};

UNIT_MAIN("wire-mad", cases)
