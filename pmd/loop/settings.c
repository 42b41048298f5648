/* SPDX-License-Identifier: BSD-3-Clause */
/* What tests change on a wire while it runs. */
#include <string.h>

#include "wire.h"

/* Calls apply() for each end that `number` names, under the lock. */
static void for_ends(struct loop_wire *wire, uint32_t number,
	void (*apply)(struct loop_end *end, const void *value), const void *value)
{
	pthread_mutex_lock(&wire->lock);
	for (uint32_t i = 0; i < wire->end_count; i++)
		if (number == LOOP_ANY || number == i)
			apply(wire->ends[i], value);
	pthread_mutex_unlock(&wire->lock);
}

/* Release: the core that acquires the epoch sees what has changed. */
static void bump(struct loop_end *end)
{
	__atomic_fetch_add(&end->port.epoch, 1, __ATOMIC_RELEASE);
}

static void apply_link(struct loop_end *end, const void *value)
{
	end->line.set = *(const struct loop_link *)value;
}

void loop_set_link(struct loop_wire *wire, uint32_t to, const struct loop_link *link)
{
	for_ends(wire, to, apply_link, link);
}

void loop_set_faults(
	struct loop_wire *wire, uint32_t from, uint32_t to, const struct loop_faults *faults)
{
	pthread_mutex_lock(&wire->lock);
	for (uint32_t i = 0; i < LOOP_ENDS_MAX; i++)
		for (uint32_t j = 0; j < LOOP_ENDS_MAX; j++)
			if ((from == LOOP_ANY || from == i) && (to == LOOP_ANY || to == j))
				wire_direction(wire, i, j)->faults = *faults;
	pthread_mutex_unlock(&wire->lock);
}

struct answers {
	enum loop_neighbour how;
	uint64_t delay;
};

/* What was learnt before is forgotten. */
static void apply_neighbour(struct loop_end *end, const void *value)
{
	const struct answers *answers = value;

	end->neighbour = answers->how;
	end->neighbour_delay = answers->delay;
	memset(end->known, 0, sizeof(end->known));
	memset(end->asked, 0, sizeof(end->asked));
}

void loop_set_neighbour(
	struct loop_wire *wire, uint32_t end, enum loop_neighbour how, uint64_t delay)
{
	struct answers answers = {.how = how, .delay = delay};

	for_ends(wire, end, apply_neighbour, &answers);
}

static void apply_up(struct loop_end *end, const void *value)
{
	end->info.up = *(const bool *)value;
	bump(end);
}

void loop_set_up(struct loop_wire *wire, uint32_t end, bool up)
{
	for_ends(wire, end, apply_up, &up);
}

/* All ends learn of it: for them a neighbour has moved. */
static void apply_mac(struct loop_end *end, const void *value)
{
	memcpy(end->info.mac, value, sizeof(end->info.mac));
	for (uint32_t i = 0; i < end->wire->end_count; i++)
		bump(end->wire->ends[i]);
}

void loop_set_mac(struct loop_wire *wire, uint32_t end, const uint8_t mac[6])
{
	for_ends(wire, end, apply_mac, mac);
}

struct addresses {
	const struct port_gid *gids;
	uint16_t count;
};

static void apply_gids(struct loop_end *end, const void *value)
{
	const struct addresses *addresses = value;

	memset(end->info.gids, 0, sizeof(end->info.gids));
	memcpy(end->info.gids, addresses->gids, addresses->count * sizeof(*addresses->gids));
	end->info.gid_count = addresses->count;
	bump(end);
}

void loop_set_gids(
	struct loop_wire *wire, uint32_t end, const struct port_gid *gids, uint16_t count)
{
	struct addresses addresses = {.gids = gids, .count = count};

	if (count > PORT_GIDS_MAX)
		addresses.count = PORT_GIDS_MAX;
	for_ends(wire, end, apply_gids, &addresses);
}

static void apply_tx_limit(struct loop_end *end, const void *value)
{
	end->tx_limit = *(const uint32_t *)value;
}

void loop_set_tx_limit(struct loop_wire *wire, uint32_t end, uint32_t frames)
{
	for_ends(wire, end, apply_tx_limit, &frames);
}

static void apply_alloc_limit(struct loop_end *end, const void *value)
{
	end->alloc_limit = *(const uint32_t *)value;
}

void loop_set_alloc_limit(struct loop_wire *wire, uint32_t end, uint32_t buffers)
{
	for_ends(wire, end, apply_alloc_limit, &buffers);
}

struct port_gid loop_gid4(uint32_t address, uint8_t prefix_length)
{
	struct port_gid gid = {.gid = {[10] = 0xff, [11] = 0xff}, .prefix_length = prefix_length};

	for (unsigned int i = 0; i < 4; i++)
		gid.gid[12 + i] = (uint8_t)(address >> (24 - 8 * i));
	return gid;
}

struct port_gid loop_gid6(const uint8_t address[16], uint8_t prefix_length)
{
	struct port_gid gid = {.prefix_length = prefix_length};

	memcpy(gid.gid, address, 16);
	return gid;
}
