/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Frames from the wire. Whatever the bytes: what wire_parse() accepts lies inside the frame, and
 * all that a receiver does with it next reads no byte outside.
 */
#include "fuzz.h"
#include "parse.h"

#define ICRC_LENGTH 4u

static void check_inside(const uint8_t *data, size_t size, const struct wire_packet *packet)
{
	const uint8_t *bth = (const uint8_t *)packet->bth;
	const uint8_t *end = packet->payload + packet->payload_length + packet->pad + ICRC_LENGTH;

	FUZZ_CHECK(packet->ip > data && packet->ip < bth);
	FUZZ_CHECK(bth + sizeof(*packet->bth) <= packet->payload);
	FUZZ_CHECK(packet->payload_length <= size);
	FUZZ_CHECK(packet->pad < 4);
	FUZZ_CHECK(end <= data + size);
	FUZZ_CHECK(packet->ip_version == 4 || packet->ip_version == 6);
	FUZZ_CHECK(packet->psn <= 0xffffff && packet->destination_qp <= 0xffffff);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct wire_packet packet;
	enum wire_drop drop = wire_parse(data, (uint32_t)size, &packet);

	FUZZ_CHECK(drop < WIRE_DROPS);
	FUZZ_CHECK(wire_drop_name(drop));
	if (drop != WIRE_OK)
		return 0;
	check_inside(data, size, &packet);
	wire_icrc_ok(&packet);
	wire_pkey_ok(packet.pkey, 0xffff);
	for (uint32_t pmtu = 256; pmtu <= 4096; pmtu *= 2)
		if (wire_length_ok(&packet, pmtu))
			FUZZ_CHECK(packet.payload_length <= pmtu);
	return 0;
}
