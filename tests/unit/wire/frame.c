/* SPDX-License-Identifier: BSD-3-Clause */
/* Frames and their CRC by hand; see frame.h. */
#include <string.h>

#include "frame.h"

const uint8_t frame_destination_mac[6] = {0x02, 0, 0, 0, 0x99, 0x03};
const uint8_t frame_source_mac[6] = {0x02, 0, 0, 0, 0x99, 0x02};
const uint8_t frame_source4[4] = {10, 99, 0, 2};
const uint8_t frame_destination4[4] = {10, 99, 0, 3};
const uint8_t frame_source6[16] = {0xfd, 0x99, [15] = 2};
const uint8_t frame_destination6[16] = {0xfd, 0x99, [15] = 3};

static void put16(uint8_t *at, uint32_t value)
{
	at[0] = (uint8_t)(value >> 8);
	at[1] = (uint8_t)value;
}

static void put24(uint8_t *at, uint32_t value)
{
	at[0] = (uint8_t)(value >> 16);
	put16(at + 1, value);
}

uint32_t slow_crc(const uint8_t *byte, uint32_t length)
{
	uint32_t remainder = 0xffffffff;
	uint32_t reflected = 0;

	for (uint32_t bit = 0; bit < 8 * length; bit++) {
		uint32_t in = byte[bit / 8] >> bit % 8 & 1;
		uint32_t out = remainder >> 31;

		remainder = remainder << 1 ^ (in != out ? 0x04c11db7 : 0);
	}
	for (int bit = 0; bit < 32; bit++)
		reflected |= (remainder >> bit & 1) << (31 - bit);
	return ~reflected;
}

/* The IPv4 header's checksum, RFC 791. */
static void seal_ipv4(uint8_t *ip)
{
	uint32_t sum = 0;

	put16(ip + 10, 0);
	for (int i = 0; i < 20; i += 2)
		sum += (uint32_t)ip[i] * 256 + ip[i + 1];
	while (sum > 0xffff)
		sum = sum % 0x10000 + sum / 0x10000;
	put16(ip + 10, 0xffff - sum);
}

/* A copy from the IP header to the pad, with ones in front and where the rule wants them. */
static uint32_t mask(uint8_t *to, const struct frame *frame)
{
	uint8_t *ip = to + 8;
	uint8_t *udp = ip + (frame->udp - frame->ip);

	memset(to, 0xff, 8);
	memcpy(ip, frame->byte + frame->ip, frame->icrc - frame->ip);
	if (ip[0] >> 4 == 4) {
		ip[1] = 0xff;
		ip[8] = 0xff;
		put16(ip + 10, 0xffff);
	} else {
		ip[0] |= 0x0f;
		put24(ip + 1, 0xffffff);
		ip[7] = 0xff;
	}
	put16(udp + 6, 0xffff);
	udp[8 + 4] = 0xff;
	return 8 + frame->icrc - frame->ip;
}

uint32_t frame_icrc(const struct frame *frame)
{
	uint8_t masked[FRAME_MAX];

	return slow_crc(masked, mask(masked, frame));
}

void frame_seal(struct frame *frame)
{
	uint32_t crc;

	if (frame->byte[frame->ip] >> 4 == 4)
		seal_ipv4(frame->byte + frame->ip);
	crc = frame_icrc(frame);
	for (int i = 0; i < 4; i++)
		frame->byte[frame->icrc + i] = (uint8_t)(crc >> 8 * i);
}

static void make_ethernet(struct frame *frame, const struct frame_spec *spec)
{
	uint8_t *at = frame->byte;
	uint32_t type = spec->ipv6 ? 0x86dd : 0x0800;

	memcpy(at, frame_destination_mac, 6);
	memcpy(at + 6, frame_source_mac, 6);
	frame->ip = spec->vlan ? 18 : 14;
	if (spec->vlan) {
		put16(at + 12, 0x8100);
		put16(at + 14, FRAME_VLAN);
	}
	put16(at + frame->ip - 2, type);
}

static void make_ip(struct frame *frame, const struct frame_spec *spec, uint32_t udp_length)
{
	uint8_t *ip = frame->byte + frame->ip;

	frame->udp = frame->ip + (spec->ipv6 ? 40 : 20);
	if (spec->ipv6) {
		ip[0] = 0x60 | FRAME_TOS >> 4;
		ip[1] = (uint8_t)(FRAME_TOS << 4);
		put16(ip + 4, udp_length);
		ip[6] = 17;
		ip[7] = FRAME_TTL;
		memcpy(ip + 8, frame_source6, 16);
		memcpy(ip + 24, frame_destination6, 16);
		return;
	}
	ip[0] = 0x45;
	ip[1] = FRAME_TOS;
	put16(ip + 2, 20 + udp_length);
	ip[6] = 0x40;
	ip[8] = FRAME_TTL;
	ip[9] = 17;
	memcpy(ip + 12, frame_source4, 4);
	memcpy(ip + 16, frame_destination4, 4);
}

static void make_bth(uint8_t *bth, const struct frame_spec *spec)
{
	bth[0] = spec->opcode;
	bth[1] = spec->flags;
	put16(bth + 2, FRAME_PKEY);
	bth[4] = spec->ecn;
	put24(bth + 5, spec->destination_qp);
	bth[8] = spec->request;
	put24(bth + 9, spec->psn);
}

void frame_draft(struct frame *frame, const struct frame_spec *spec)
{
	uint32_t pad = spec->flags >> 4 & 3;
	uint8_t *udp;

	memset(frame, 0, sizeof(*frame));
	make_ethernet(frame, spec);
	make_ip(frame, spec, 8 + 12 + spec->body + 4);
	udp = frame->byte + frame->udp;
	put16(udp, FRAME_SOURCE_PORT);
	put16(udp + 2, 4791);
	put16(udp + 4, 8 + 12 + spec->body + 4);
	frame->bth = frame->udp + 8;
	make_bth(frame->byte + frame->bth, spec);
	for (uint32_t i = 0; i + pad < spec->body; i++)
		frame->byte[frame->bth + 12 + i] = (uint8_t)(i * 7 + 1);
	frame->icrc = frame->bth + 12 + spec->body;
	frame->length = frame->icrc + 4;
}

void frame_make(struct frame *frame, const struct frame_spec *spec)
{
	frame_draft(frame, spec);
	frame_seal(frame);
}

void frame_resize(struct frame *frame, uint32_t length)
{
	uint8_t *ip = frame->byte + frame->ip;
	bool ipv4 = ip[0] >> 4 == 4;

	put16(ip + (ipv4 ? 2 : 4), (ipv4 ? 20 : 0) + 8 + length);
	put16(frame->byte + frame->udp + 4, 8 + length);
	frame->length = frame->bth + length;
	if (ipv4)
		seal_ipv4(ip);
}
