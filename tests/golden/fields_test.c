/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The decoded form holds fields and nothing else. For each field of each captured packet: changing
 * it changes exactly its own bits of the rebuilt packet; and the ICRC that belongs to the packet
 * changes if the field is covered by the ICRC, and does not if it is masked or outside.
 */
#include <stdio.h>
#include <string.h>

#include "fields.h"
#include "frame.h"
#include "golden.h"
#include "unit.h"

/* Fields that the ICRC leaves out: annex A17.3.3, and all of Ethernet, which is below it. */
static const char *const uncovered[] = {"ethernet.destination", "ethernet.source", "ethernet.type",
	"ipv4.dscp", "ipv4.ecn", "ipv4.ttl", "ipv4.checksum", "ipv6.dscp", "ipv6.ecn",
	"ipv6.flow_label", "ipv6.hop_limit", "udp.checksum", "bth.fecn", "bth.becn",
	"bth.reserved_congestion"};

static bool is_covered(const char *header, const char *field)
{
	char name[64];

	snprintf(name, sizeof(name), "%s.%s", header, field);
	for (unsigned int i = 0; i < sizeof(uncovered) / sizeof(uncovered[0]); i++)
		if (strcmp(uncovered[i], name) == 0)
			return false;
	return true;
}

/* A packet before and after the change of one bit, given by its place in the frame. */
struct subject {
	struct wire_fields fields;
	uint8_t frame[FRAME_MAX];
	uint32_t length;
	uint32_t icrc;
	uint64_t changes; /* how many were made */
};

static void start(struct subject *subject, const struct golden_packet *packet)
{
	memset(subject->frame, 0, sizeof(subject->frame));
	memcpy(subject->frame, packet->data, packet->length);
	subject->length = packet->length;
	CU_ASSERT_EQUAL_FATAL(wire_decode(packet->data, packet->length, &subject->fields), 0);
	subject->icrc = subject->fields.icrc;
}

/* The fields have been changed; the frame must differ in that one bit. */
static void check_bit(struct subject *subject, uint32_t bit, bool covered)
{
	uint8_t changed[FRAME_MAX];
	uint8_t mask = (uint8_t)(0x80 >> bit % 8);

	CU_ASSERT_EQUAL_FATAL(
		wire_encode(&subject->fields, changed, sizeof(changed)), (int)subject->length);
	changed[bit / 8] ^= mask;
	CU_ASSERT_EQUAL(memcmp(changed, subject->frame, subject->length), 0);
	CU_ASSERT_EQUAL(wire_fields_icrc(&subject->fields) != subject->icrc, covered);
	subject->changes++;
}

static void change_number(
	struct subject *subject, const struct layout_field *field, uint32_t header, bool covered)
{
	for (uint32_t bit = 0; bit < field->width; bit++) {
		uint64_t mask = 1ull << (field->width - 1 - bit);
		uint64_t was = layout_get(field, &subject->fields);

		layout_set(field, &subject->fields, was ^ mask);
		check_bit(subject, 8 * header + field->bit + bit, covered);
		layout_set(field, &subject->fields, was);
	}
}

/* `where` is the frame's byte that `bytes` go to. */
static void change_bytes(
	struct subject *subject, uint8_t *bytes, uint32_t length, uint32_t where, bool covered)
{
	for (uint32_t bit = 0; bit < 8 * length; bit++) {
		uint8_t mask = (uint8_t)(0x80 >> bit % 8);

		bytes[bit / 8] ^= mask;
		check_bit(subject, 8 * where + bit, covered);
		bytes[bit / 8] ^= mask;
	}
}

static void change_header(struct subject *subject, enum wire_header header)
{
	const struct layout *layout = &wire_layout[header];
	uint32_t at = wire_header_offset(&subject->fields, header);

	for (unsigned int i = 0; i < layout->count; i++) {
		const struct layout_field *field = &layout->fields[i];
		bool covered = is_covered(layout->name, field->name);
		uint8_t *member = (uint8_t *)&subject->fields + field->offset;

		if (layout_is_number(field))
			change_number(subject, field, at, covered);
		else
			change_bytes(subject, member, field->size, at + field->bit / 8, covered);
	}
}

/* Of a long payload the first and last bytes and a walk through the middle, bit by bit. */
static void change_payload(struct subject *subject, uint32_t at)
{
	uint32_t length = subject->fields.payload_length;

	for (uint32_t i = 0; i < length; i += i < 8 || i + 9 > length ? 1 : length / 16 + 1)
		change_bytes(subject, subject->fields.payload + i, 1, at + i, true);
}

static void change_all(struct subject *subject)
{
	uint32_t at = wire_header_offset(&subject->fields, WIRE_HEADERS);
	uint8_t *icrc = (uint8_t *)&subject->fields.icrc; /* little-endian, as the wire is */

	for (unsigned int header = 0; header < WIRE_HEADERS; header++)
		if (wire_has(&subject->fields, header))
			change_header(subject, header);
	change_payload(subject, at);
	at += subject->fields.payload_length;
	change_bytes(subject, subject->fields.pad, subject->fields.pad_length, at, true);
	at += subject->fields.pad_length;
	change_bytes(subject, icrc, 4, at, false);
	change_bytes(
		subject, subject->fields.trailer, subject->fields.trailer_length, at + 4, false);
}

static void each_field_is_its_own_bits(void)
{
	static struct subject subject;
	struct golden *golden = golden_load();

	for (uint32_t i = 0; i < golden->packets; i++) {
		start(&subject, &golden->packet[i]);
		change_all(&subject);
	}
	/* Of the shortest packets, 58 bytes, every bit. */
	CU_ASSERT(subject.changes > 594ull * 58 * 8);
	golden_free(golden);
}

/* All bits of all headers, inverted at once: the reverse of each frame, so no byte was kept. */
static void invert_header(struct wire_fields *fields, const struct layout *layout)
{
	for (unsigned int i = 0; i < layout->count; i++) {
		const struct layout_field *field = &layout->fields[i];
		uint8_t *member = (uint8_t *)fields + field->offset;

		if (layout_is_number(field))
			layout_set(field, fields, ~layout_get(field, fields));
		else
			for (uint32_t byte = 0; byte < field->size; byte++)
				member[byte] ^= 0xff;
	}
}

static void inverted(void)
{
	struct golden *golden = golden_load();
	struct wire_fields fields;
	uint8_t frame[FRAME_MAX];

	for (uint32_t i = 0; i < golden->packets; i++) {
		const struct golden_packet *packet = &golden->packet[i];

		CU_ASSERT_EQUAL_FATAL(wire_decode(packet->data, packet->length, &fields), 0);
		for (unsigned int header = 0; header < WIRE_HEADERS; header++)
			if (wire_has(&fields, header))
				invert_header(&fields, &wire_layout[header]);
		for (uint32_t byte = 0; byte < fields.payload_length; byte++)
			fields.payload[byte] ^= 0xff;
		for (uint32_t byte = 0; byte < fields.pad_length; byte++)
			fields.pad[byte] ^= 0xff;
		fields.icrc = ~fields.icrc;
		CU_ASSERT_EQUAL_FATAL(
			wire_encode(&fields, frame, sizeof(frame)), (int)packet->length);
		for (uint32_t byte = 0; byte < packet->length; byte++)
			frame[byte] ^= 0xff;
		CU_ASSERT_EQUAL(memcmp(frame, packet->data, packet->length), 0);
	}
	golden_free(golden);
}

static const struct unit_case cases[] = {
	UNIT_CASE(each_field_is_its_own_bits),
	UNIT_CASE(inverted),
};

UNIT_MAIN("golden-fields", cases)
