/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Routes and neighbours. Every end is on one link with all others: an address is reached at the end
 * that has it, and a neighbour's name is the number of that end. How an end's questions are
 * answered is set by the test.
 */
#include <errno.h>
#include <string.h>

#include "wire.h"

static bool is_mapped(const uint8_t gid[16])
{
	static const uint8_t prefix[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};

	return memcmp(gid, prefix, sizeof(prefix)) == 0;
}

static bool is_multicast(const uint8_t gid[16])
{
	return is_mapped(gid) ? (gid[12] & 0xf0) == 0xe0 : gid[0] == 0xff;
}

static bool has_address(const struct loop_end *end, const uint8_t gid[16])
{
	for (uint16_t i = 0; i < end->info.gid_count; i++)
		if (memcmp(end->info.gids[i].gid, gid, 16) == 0)
			return true;
	return false;
}

static int find(const struct loop_wire *wire, const uint8_t gid[16], uint32_t *number)
{
	for (uint32_t i = 0; i < wire->end_count; i++) {
		if (!has_address(wire->ends[i], gid))
			continue;
		*number = i;
		return 0;
	}
	return -ENETUNREACH;
}

int neighbours_route(struct port *port, const uint8_t source[16], const uint8_t destination[16],
	uint32_t *neighbour)
{
	struct loop_end *end = to_end(port);
	int error = -EINVAL;

	pthread_mutex_lock(&end->wire->lock);
	if (has_address(end, source) && is_mapped(source) == is_mapped(destination) &&
		!is_multicast(destination))
		error = find(end->wire, destination, neighbour);
	pthread_mutex_unlock(&end->wire->lock);
	return error;
}

/* One attempt: it ends `delay` after the first question, with an answer or without. */
static int ask(struct loop_end *end, uint32_t neighbour, uint64_t now)
{
	uint64_t *ends = &end->asked[neighbour];

	if (end->neighbour == LOOP_NEIGHBOUR_AT_ONCE || end->known[neighbour])
		return 0;
	if (*ends == 0)
		*ends = now + end->neighbour_delay + 1; /* + 1: 0 is nobody has asked */
	if (now + 1 < *ends)
		return -EINPROGRESS;
	*ends = 0;
	if (end->neighbour == LOOP_NEIGHBOUR_NEVER)
		return -EHOSTUNREACH;
	end->known[neighbour] = true;
	return 0;
}

int neighbours_resolve(struct port *port, uint32_t neighbour, uint64_t now, uint8_t mac[6])
{
	struct loop_end *end = to_end(port);
	struct loop_wire *wire = end->wire;
	int error = -EHOSTUNREACH;

	pthread_mutex_lock(&wire->lock);
	if (neighbour < wire->end_count)
		error = ask(end, neighbour, now);
	if (!error)
		memcpy(mac, wire->ends[neighbour]->info.mac, 6);
	pthread_mutex_unlock(&wire->lock);
	return error;
}

/* An attempt that is over waits for somebody to ask how it ended: nothing more will happen by
 * itself. */
uint64_t neighbours_due(const struct loop_end *end, uint64_t now)
{
	uint64_t due = UINT64_MAX;

	for (uint32_t i = 0; i < end->wire->end_count; i++)
		if (end->asked[i] > now + 1 && end->asked[i] - 1 < due)
			due = end->asked[i] - 1;
	return due;
}

uint64_t neighbours_service(struct port *port, uint64_t now)
{
	struct loop_end *end = to_end(port);
	uint64_t due;

	pthread_mutex_lock(&end->wire->lock);
	due = neighbours_due(end, now);
	pthread_mutex_unlock(&end->wire->lock);
	return due;
}
