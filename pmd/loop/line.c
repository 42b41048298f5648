/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The line from the switch to an end: frames wait for their turn, in order, each for as long as
 * the one before it takes at the line's rate; then all take the same time to arrive.
 */
#include "be.h"
#include "headers.h"
#include "wire.h"

/* Preamble, start delimiter, FCS and the gap between frames (IEEE 802.3): bytes on the line. */
#define LINE_OVERHEAD 24u
#define BILLION 1000000000ull

static uint64_t takes(const struct line *line, uint32_t length)
{
	if (line->set.rate == 0)
		return 0;
	return ((uint64_t)length + LINE_OVERHEAD) * 8 * BILLION / line->set.rate;
}

/* RFC 3168: 01 and 10 say that the sender understands; 11 is congestion experienced. */
static bool mark_ecn(uint8_t *ecn)
{
	if ((*ecn & 3) == 0)
		return false;
	*ecn |= 3;
	return true;
}

static void ipv4_checksum(struct ipv4_header *ip)
{
	uint32_t sum = 0;

	be16_put(&ip->checksum, 0);
	for (unsigned int i = 0; i < sizeof(*ip); i += 2)
		sum += be16_get((const struct be16 *)(const void *)((const uint8_t *)ip + i));
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	be16_put(&ip->checksum, (uint16_t)~sum);
}

static bool mark_ipv4(struct ipv4_header *ip)
{
	if (!mark_ecn(&ip->tos))
		return false;
	ipv4_checksum(ip);
	return true;
}

/* The traffic class lies across the first two bytes; its last two bits are 0x30 of the second. */
static bool mark_ipv6(struct ipv6_header *ip)
{
	uint32_t word = be32_get(&ip->version_class_flow);

	if ((word & (3u << 20)) == 0)
		return false;
	be32_put(&ip->version_class_flow, word | 3u << 20);
	return true;
}

static bool mark(struct loop_buffer *buffer)
{
	const struct ether_header *ether = (const void *)buffer->data;
	uint32_t offset = sizeof(*ether);
	uint16_t type = be16_get(&ether->type);

	if (type == ETHER_VLAN && buffer->length >= offset + sizeof(struct vlan_header)) {
		type = be16_get(&((const struct vlan_header *)(const void *)(ether + 1))->type);
		offset += sizeof(struct vlan_header);
	}
	if (type == ETHER_IPV4 && buffer->length >= offset + sizeof(struct ipv4_header))
		return mark_ipv4((void *)(buffer->data + offset));
	if (type == ETHER_IPV6 && buffer->length >= offset + sizeof(struct ipv6_header))
		return mark_ipv6((void *)(buffer->data + offset));
	return false;
}

/* Those that have left the queue by now. */
static void advance(struct line *line, uint32_t room, uint64_t now)
{
	while (line->waiting && line->leaves[line->first] <= now) {
		line->first = (line->first + 1) % room;
		line->waiting--;
	}
}

bool line_pass(struct line *line, struct loop_buffer *buffer, struct loop_counters *counters,
	uint32_t room, uint64_t now, uint64_t *arrives)
{
	advance(line, room, now);
	if ((line->set.queue && line->waiting >= line->set.queue) || line->waiting >= room) {
		counters->queue_full++;
		return false;
	}
	if (line->set.mark && line->waiting >= line->set.mark && mark(buffer))
		counters->marked++;
	if (line->free_at < now)
		line->free_at = now;
	line->free_at += takes(line, buffer->length);
	if (line->free_at > now)
		line->leaves[(line->first + line->waiting++) % room] = line->free_at;
	*arrives = line->free_at + line->set.delay;
	return true;
}
