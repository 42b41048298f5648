/* SPDX-License-Identifier: BSD-3-Clause */
/* Built frames against frames made by hand: every opcode, residue, address family, VLAN. */
#include <errno.h>
#include <string.h>

#include "build.h"
#include "frame.h"
#include "unit.h"

static struct wire_path_attr attr_of(const struct frame_spec *spec)
{
	struct wire_path_attr attr = {
		.has_vlan = spec->vlan,
		.vlan_tci = FRAME_VLAN,
		.traffic_class = FRAME_TOS,
		.hop_limit = FRAME_TTL,
		.udp_source_port = FRAME_SOURCE_PORT,
		.pkey = FRAME_PKEY,
		.destination_qp = spec->destination_qp,
	};

	memcpy(attr.destination_mac, frame_destination_mac, 6);
	memcpy(attr.source_mac, frame_source_mac, 6);
	if (spec->ipv6) {
		memcpy(attr.source, frame_source6, 16);
		memcpy(attr.destination, frame_destination6, 16);
	} else {
		memset(attr.source + 10, 0xff, 2);
		memset(attr.destination + 10, 0xff, 2);
		memcpy(attr.source + 12, frame_source4, 4);
		memcpy(attr.destination + 12, frame_destination4, 4);
	}
	return attr;
}

/* `header` bytes of extension headers, then the payload; the spec's body includes the pad. */
static void check(const struct frame_spec *spec, uint32_t header, uint32_t payload)
{
	struct wire_path_attr attr = attr_of(spec);
	struct wire_bth bth = {
		.opcode = spec->opcode,
		.solicited = spec->flags & 0x80,
		.ack_request = spec->request & 0x80,
		.becn = spec->ecn & 0x40,
		.psn = spec->psn,
		.payload_length = payload,
	};
	struct frame want;
	struct wire_path path;
	uint8_t got[FRAME_MAX];
	uint8_t *at;

	frame_make(&want, spec);
	memset(got, 0xa5, sizeof(got));
	CU_ASSERT_EQUAL_FATAL(wire_path_init(&path, &attr), 0);
	at = wire_start(got, &path, &bth);
	CU_ASSERT_EQUAL_FATAL(at - got, want.bth + 12);
	memcpy(at, want.byte + want.bth + 12, header + payload);
	CU_ASSERT_EQUAL(wire_finish(got, &path, &bth), want.length);
	CU_ASSERT_EQUAL(memcmp(got, want.byte, want.length), 0);
	CU_ASSERT(want.length <= WIRE_OVERHEAD_MAX + payload);
}

/* Opcodes with the bytes of their extension headers, and whether they carry payload. */
static const struct {
	uint8_t opcode;
	uint8_t header;
	bool payload;
} kinds[] = {
	{0x00, 0, true},
	{0x05, 4, true},
	{0x0a, 16, true},
	{0x0b, 20, true},
	{0x0c, 16, false},
	{0x0d, 4, true},
	{0x0e, 0, true},
	{0x11, 4, false},
	{0x12, 12, false},
	{0x13, 28, false},
	{0x17, 4, true},
	{0x25, 4, true},
	{0x64, 8, true},
	{0x65, 12, true},
	{0x81, 16, false},
};

static void check_sizes(struct frame_spec spec, uint32_t header, bool payload)
{
	static const uint32_t sizes[] = {0, 1, 2, 3, 4, 5, 6, 7, 255, 256, 1021, 1022, 1023, 1024,
		2048, 4093, 4094, 4095, 4096};

	for (unsigned int i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		uint32_t pad = (4 - sizes[i] % 4) % 4;

		spec.body = header + sizes[i] + pad;
		spec.flags = (uint8_t)((spec.flags & 0x80) | pad << 4);
		check(&spec, header, sizes[i]);
		if (!payload)
			break;
	}
}

static void all_shapes(void)
{
	for (unsigned int i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		for (unsigned int shape = 0; shape < 4; shape++) {
			struct frame_spec spec = {.ipv6 = shape & 1,
				.vlan = shape & 2,
				.opcode = kinds[i].opcode,
				.psn = 0xfffffe,
				.destination_qp = 0x123456};

			check_sizes(spec, kinds[i].header, kinds[i].payload);
		}
}

static void bth_bits(void)
{
	for (unsigned int bits = 0; bits < 8; bits++) {
		struct frame_spec spec = {.opcode = 0x04, .psn = 5, .destination_qp = 0xffffff};

		spec.flags = bits & 1 ? 0x80 : 0;
		spec.request = bits & 2 ? 0x80 : 0;
		spec.ecn = bits & 4 ? 0x40 : 0;
		spec.body = 64;
		check(&spec, 0, 64);
		spec.ipv6 = true;
		check(&spec, 0, 64);
	}
}

static void psn_is_cut_to_24_bits(void)
{
	struct frame_spec spec = {.opcode = 0x04, .destination_qp = 1, .psn = 0x000001};
	struct wire_path_attr attr = attr_of(&spec);
	struct wire_bth bth = {.opcode = 0x04, .psn = 0x1000001};
	struct frame want;
	struct wire_path path;
	uint8_t got[WIRE_OVERHEAD_MAX];

	frame_make(&want, &spec);
	CU_ASSERT_EQUAL_FATAL(wire_path_init(&path, &attr), 0);
	wire_start(got, &path, &bth);
	CU_ASSERT_EQUAL(wire_finish(got, &path, &bth), want.length);
	CU_ASSERT_EQUAL(memcmp(got, want.byte, want.length), 0);
}

static void mixed_families(void)
{
	struct frame_spec spec = {.ipv6 = true};
	struct wire_path_attr attr = attr_of(&spec);
	struct wire_path path;

	memset(attr.source, 0, 16);
	memset(attr.source + 10, 0xff, 2);
	CU_ASSERT_EQUAL(wire_path_init(&path, &attr), -EINVAL);
	attr = attr_of(&spec);
	memset(attr.destination, 0, 16);
	memset(attr.destination + 10, 0xff, 2);
	CU_ASSERT_EQUAL(wire_path_init(&path, &attr), -EINVAL);
}

static void flow_label(void)
{
	struct frame_spec spec = {.ipv6 = true};
	struct wire_path_attr attr = attr_of(&spec);
	const uint8_t want[4] = {0x6a, 0xbf, 0xed, 0xcb};
	struct wire_path path;

	attr.traffic_class = 0xab;
	attr.flow_label = 0xfffedcb; /* more than 20 bits: the rest must not reach the class */
	CU_ASSERT_EQUAL_FATAL(wire_path_init(&path, &attr), 0);
	CU_ASSERT_EQUAL(memcmp(path.header + path.ip_offset, want, 4), 0);
}

/* Changing the path afterwards is the same as making it anew. */
static void changes(void)
{
	static const uint8_t mac[6] = {0x02, 1, 2, 3, 4, 5};
	struct frame_spec spec = {.vlan = true, .destination_qp = 7};
	struct wire_path_attr attr = attr_of(&spec);
	struct wire_path changed;
	struct wire_path anew;

	CU_ASSERT_EQUAL_FATAL(wire_path_init(&changed, &attr), 0);
	wire_path_set_mac(&changed, mac);
	wire_path_set_destination_qp(&changed, 0xabcdef);
	memcpy(attr.destination_mac, mac, 6);
	attr.destination_qp = 0xabcdef;
	CU_ASSERT_EQUAL_FATAL(wire_path_init(&anew, &attr), 0);
	CU_ASSERT_EQUAL(memcmp(changed.header, anew.header, sizeof(anew.header)), 0);
	CU_ASSERT_EQUAL(changed.icrc_seed, anew.icrc_seed);
	CU_ASSERT_EQUAL(changed.destination_qp, anew.destination_qp);
}

/* Seen from Linux's Soft-RoCE: flow label of the CM's REQ, else both QPNs. */
static void udp_source_port(void)
{
	static const struct {
		uint32_t flow_label, source_qp, destination_qp;
		uint16_t port;
	} rows[] = {
		{0x64014, 0x32, 0x34, 49165},
		{0x64014, 0x34, 0x32, 49165},
		{0x03e6e, 0x35, 0x33, 65134},
		{0x34bb5, 0x2d, 0x2d, 52152},
		{0x4cb74, 0x2e, 0x2e, 52071},
		{0x42986, 0x36, 0x34, 59798},
		{0, 0x11, 0x11, 49441},
		{0, 0x13, 0x13, 49513},
		{0, 0x22, 0x22, 50308},
		{0, 0x2c, 0x2c, 51088},
		{0, 0, 0, 0xc000},
		/* 0xffffff^2 = 0xfffffe000001; folded by 20 bits: 0xfffff1ffffe1, by 40: ...1ff1e
		 */
		{0, 0xffffff, 0xffffff, 0xff21},
		{0xfc000, 1, 1, 0xc03f},
		{0xfff64014, 0x32, 0x34, 49165}, /* more than the label's 20 bits don't count */
		{0x00100000, 0x11, 0x11, 49441},
		{0xfffff, 1, 1, 0xffc0},
	};

	for (unsigned int i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		CU_ASSERT_EQUAL(wire_udp_source_port(rows[i].flow_label, rows[i].source_qp,
					rows[i].destination_qp),
			rows[i].port);
}

static const struct unit_case cases[] = {
	UNIT_CASE(all_shapes),
	UNIT_CASE(bth_bits),
	UNIT_CASE(psn_is_cut_to_24_bits),
	UNIT_CASE(mixed_families),
	UNIT_CASE(flow_label),
	UNIT_CASE(changes),
	UNIT_CASE(udp_source_port),
};

UNIT_MAIN("wire-build", cases)
