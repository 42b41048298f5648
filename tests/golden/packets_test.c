/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Every captured packet is sound, its ICRC is right, and it is rebuilt byte for byte in two ways:
 * from its decoded fields, and through a path as the transport does it. Soft-RoCE counts the IPv4
 * id and we send 0 (the id is covered by the ICRC), so on IPv4 the second way is compared with the
 * captured packet after its id has been set to 0 and checksum and ICRC made right for that, by code
 * that isn't lib/wire's. On IPv6 nothing is changed.
 */
#include <string.h>

#include "build.h"
#include "fields.h"
#include "frame.h"
#include "golden.h"
#include "icrc.h"
#include "parse.h"
#include "unit.h"

#define FOR_EACH(packet, golden)                                                                   \
	for (const struct golden_packet *packet = golden->packet;                                  \
		packet < golden->packet + golden->packets; packet++)

static void all_are_here(void)
{
	struct golden *golden = golden_load();

	CU_ASSERT_EQUAL(golden->files, 41);
	CU_ASSERT_EQUAL(golden->packets, 594);
	golden_free(golden);
}

static void parse_and_icrc(void)
{
	struct golden *golden = golden_load();
	uint32_t ipv4 = 0;
	uint32_t ipv6 = 0;

	FOR_EACH(packet, golden)
	{
		struct wire_packet parsed;
		uint32_t ip_length;
		uint32_t icrc_at = packet->length - 4;

		CU_ASSERT_EQUAL_FATAL(wire_parse(packet->data, packet->length, &parsed), WIRE_OK);
		CU_ASSERT_TRUE(wire_icrc_ok(&parsed));
		ip_length = parsed.ip_version == 4 ? 20 : 40;
		CU_ASSERT_EQUAL(golden_icrc(packet->data, 14, 14 + ip_length, icrc_at),
			icrc_get(packet->data + icrc_at));
		ipv4 += parsed.ip_version == 4;
		ipv6 += parsed.ip_version == 6;
	}
	CU_ASSERT_EQUAL(ipv4, 569);
	CU_ASSERT_EQUAL(ipv6, 25);
	golden_free(golden);
}

static void any_bit_breaks_the_icrc(void)
{
	struct golden *golden = golden_load();

	FOR_EACH(packet, golden)
	{
		uint8_t frame[FRAME_MAX];
		struct wire_packet parsed;
		uint32_t icrc_at = packet->length - 4;

		/* A walk over the packets visits all bits of ICRC and PSN. */
		uint32_t bit = packet->number % 56;
		uint8_t *at;

		memcpy(frame, packet->data, packet->length);
		CU_ASSERT_EQUAL_FATAL(wire_parse(frame, packet->length, &parsed), WIRE_OK);
		at = bit < 32 ? frame + icrc_at + bit / 8
			      : frame + (parsed.bth->psn.byte - frame) + (bit - 32) / 8;
		*at ^= (uint8_t)(1 << bit % 8);
		CU_ASSERT_EQUAL(wire_parse(frame, packet->length, &parsed), WIRE_OK);
		CU_ASSERT_FALSE(wire_icrc_ok(&parsed));
	}
	golden_free(golden);
}

static void rebuilt_from_fields(void)
{
	struct golden *golden = golden_load();

	FOR_EACH(packet, golden)
	{
		uint8_t again[FRAME_MAX];
		struct wire_fields fields;

		CU_ASSERT_EQUAL_FATAL(wire_decode(packet->data, packet->length, &fields), 0);
		CU_ASSERT_EQUAL(wire_fields_icrc(&fields), fields.icrc);
		memset(again, 0xa5, sizeof(again));
		CU_ASSERT_EQUAL_FATAL(
			wire_encode(&fields, again, sizeof(again)), (int)packet->length);
		CU_ASSERT_EQUAL(memcmp(again, packet->data, packet->length), 0);
	}
	golden_free(golden);
}

static void put_mapped(uint8_t gid[16], uint32_t address)
{
	memset(gid, 0, 10);
	memset(gid + 10, 0xff, 2);
	for (int i = 0; i < 4; i++)
		gid[12 + i] = (uint8_t)(address >> (24 - 8 * i));
}

static struct wire_path_attr attr_of(const struct wire_fields *fields)
{
	struct wire_path_attr attr = {
		.hop_limit = 64,
		.udp_source_port = fields->udp.source_port,
		.pkey = fields->bth.pkey,
		.destination_qp = fields->bth.destination_qp,
	};

	memcpy(attr.destination_mac, fields->ethernet.destination, 6);
	memcpy(attr.source_mac, fields->ethernet.source, 6);
	if (wire_has(fields, HEADER_IPV4)) {
		put_mapped(attr.source, fields->ipv4.source);
		put_mapped(attr.destination, fields->ipv4.destination);
	} else {
		memcpy(attr.source, fields->ipv6.source, 16);
		memcpy(attr.destination, fields->ipv6.destination, 16);
	}
	return attr;
}

static uint32_t build(
	uint8_t *frame, const struct wire_packet *parsed, const struct wire_path *path)
{
	struct wire_bth bth = {
		.opcode = parsed->opcode,
		.solicited = parsed->solicited,
		.ack_request = parsed->ack_request,
		.psn = parsed->psn,
		.payload_length = parsed->payload_length,
	};
	const uint8_t *extension = (const uint8_t *)(parsed->bth + 1);
	uint8_t *at = wire_start(frame, path, &bth);

	memcpy(at, extension, (size_t)(parsed->payload - extension) + parsed->payload_length);
	return wire_finish(frame, path, &bth);
}

/* The captured frame as if its sender had used 0 as the IPv4 id. */
static void clear_ipv4_id(struct frame *frame, const struct golden_packet *packet)
{
	*frame = (struct frame){.length = packet->length,
		.ip = 14,
		.udp = 34,
		.bth = 42,
		.icrc = packet->length - 4};
	memcpy(frame->byte, packet->data, packet->length);
	frame->byte[18] = 0;
	frame->byte[19] = 0;
	frame_seal(frame);
}

static void rebuilt_through_a_path(void)
{
	struct golden *golden = golden_load();
	uint32_t untouched = 0;

	FOR_EACH(packet, golden)
	{
		struct frame want = {.length = packet->length};
		uint8_t again[FRAME_MAX];
		struct wire_packet parsed;
		struct wire_fields fields;
		struct wire_path_attr attr;
		struct wire_path path;

		CU_ASSERT_EQUAL_FATAL(wire_decode(packet->data, packet->length, &fields), 0);
		CU_ASSERT_EQUAL_FATAL(wire_parse(packet->data, packet->length, &parsed), WIRE_OK);
		attr = attr_of(&fields);
		CU_ASSERT_EQUAL_FATAL(wire_path_init(&path, &attr), 0);
		CU_ASSERT_EQUAL(build(again, &parsed, &path), packet->length);
		if (parsed.ip_version == 4) {
			clear_ipv4_id(&want, packet);
		} else {
			memcpy(want.byte, packet->data, packet->length);
			untouched++;
		}
		CU_ASSERT_EQUAL(memcmp(again, want.byte, packet->length), 0);
	}
	CU_ASSERT_EQUAL(untouched, 25);
	golden_free(golden);
}

/* The port that Linux chose, from the two QPNs where no CM gave a flow label. */
static void source_ports(void)
{
	struct golden *golden = golden_load();
	uint32_t checked = 0;

	FOR_EACH(packet, golden)
	{
		struct wire_packet parsed;
		uint32_t qp;

		CU_ASSERT_EQUAL_FATAL(wire_parse(packet->data, packet->length, &parsed), WIRE_OK);
		qp = parsed.destination_qp; /* of both sides, in these files */
		if (strncmp(packet->file, "rc-", 3) != 0 && strcmp(packet->file, "uc.pcap") != 0)
			continue;
		checked++;
		CU_ASSERT_EQUAL(parsed.udp_source_port, wire_udp_source_port(0, qp, qp));
	}
	CU_ASSERT(checked > 100);
	golden_free(golden);
}

static const struct unit_case cases[] = {
	UNIT_CASE(all_are_here),
	UNIT_CASE(parse_and_icrc),
	UNIT_CASE(any_bit_breaks_the_icrc),
	UNIT_CASE(rebuilt_from_fields),
	UNIT_CASE(rebuilt_through_a_path),
	UNIT_CASE(source_ports),
};

UNIT_MAIN("golden-packets", cases)
