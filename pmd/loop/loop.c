/* SPDX-License-Identifier: BSD-3-Clause */
/* The wire: set-up, settings, counts. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "headers.h"
#include "wire.h"

#define DEFAULT_BUFFERS 4096u
#define DEFAULT_ROOM 9216u
#define DEFAULT_MTU 4200u

/* Each direction has its own generator: what happens in one doesn't depend on the others. */
static int make_directions(struct loop_wire *wire)
{
	wire->directions = calloc((size_t)LOOP_ENDS_MAX * LOOP_ENDS_MAX, sizeof(*wire->directions));
	return wire->directions ? 0 : -ENOMEM;
}

static void seed_directions(struct loop_wire *wire, uint32_t number)
{
	for (uint32_t other = 0; other <= number; other++) {
		random_seed(&wire_direction(wire, number, other)->random,
			wire->config.seed ^ ((uint64_t)number << 48 | (uint64_t)other << 32));
		random_seed(&wire_direction(wire, other, number)->random,
			wire->config.seed ^ ((uint64_t)other << 48 | (uint64_t)number << 32));
	}
}

int loop_create(const struct loop_config *config, struct loop_wire **created)
{
	struct loop_wire *wire = calloc(1, sizeof(*wire));
	int error;

	if (!wire)
		return -ENOMEM;
	pthread_mutex_init(&wire->lock, NULL);
	wire->config = *config;
	error = make_directions(wire);
	if (!error)
		error = buffers_init(&wire->buffers,
			config->buffers ? config->buffers : DEFAULT_BUFFERS,
			config->room ? config->room : DEFAULT_ROOM);
	if (!error)
		error = capture_open(&wire->capture, config->pcap, config->pcap_nanoseconds);
	if (error) {
		loop_destroy(wire);
		return error;
	}
	*created = wire;
	return 0;
}

static void free_end(struct loop_end *end)
{
	if (!end)
		return;
	free(end->flights.heap);
	free(end->line.leaves);
	free(end);
}

void loop_destroy(struct loop_wire *wire)
{
	if (!wire)
		return;
	for (uint32_t i = 0; i < wire->end_count; i++)
		free_end(wire->ends[i]);
	capture_close(&wire->capture);
	buffers_fini(&wire->buffers);
	free(wire->directions);
	pthread_mutex_destroy(&wire->lock);
	free(wire);
}

static void describe(struct loop_end *end, const struct loop_end_config *config)
{
	static const uint8_t none[6];
	struct port_info *info = &end->info;

	if (config->name)
		snprintf(info->name, sizeof(info->name), "%s", config->name);
	else
		snprintf(info->name, sizeof(info->name), "loop%u", end->number);
	memcpy(info->mac, config->mac, sizeof(info->mac));
	if (memcmp(config->mac, none, sizeof(none)) == 0) {
		info->mac[0] = 0x02; /* locally administered */
		info->mac[5] = (uint8_t)(end->number + 1);
	}
	info->queues = config->queues ? config->queues : 1;
	info->mtu = config->mtu ? config->mtu : DEFAULT_MTU;
	info->up = true;
	info->speed_mbps = config->speed_mbps;
	info->gid_count = config->gid_count;
	memcpy(info->gids, config->gids, sizeof(info->gids));
}

static struct loop_end *make_end(struct loop_wire *wire)
{
	struct loop_end *end = calloc(1, sizeof(*end));

	if (!end)
		return NULL;
	end->flights.heap = calloc(wire->buffers.total, sizeof(*end->flights.heap));
	end->line.leaves = calloc(wire->buffers.total, sizeof(*end->line.leaves));
	if (!end->flights.heap || !end->line.leaves) {
		free_end(end);
		return NULL;
	}
	end->wire = wire;
	end->port.ops = &loop_port_ops;
	end->tx_limit = UINT32_MAX;
	end->alloc_limit = UINT32_MAX;
	return end;
}

static int check_end(const struct loop_wire *wire, const struct loop_end_config *config)
{
	uint32_t mtu = config->mtu ? config->mtu : DEFAULT_MTU;

	if (wire->end_count == LOOP_ENDS_MAX)
		return -ENOSPC;
	if (config->gid_count > PORT_GIDS_MAX ||
		mtu > wire->buffers.room - sizeof(struct ether_header) - sizeof(struct vlan_header))
		return -EINVAL;
	return 0;
}

int loop_add_end(struct loop_wire *wire, const struct loop_end_config *config, struct port **port)
{
	struct loop_end *end;
	int error = check_end(wire, config);

	if (error)
		return error;
	end = make_end(wire);
	if (!end)
		return -ENOMEM;
	pthread_mutex_lock(&wire->lock);
	end->number = wire->end_count;
	describe(end, config);
	seed_directions(wire, end->number);
	wire->ends[wire->end_count++] = end;
	pthread_mutex_unlock(&wire->lock);
	*port = &end->port;
	return 0;
}

uint64_t loop_next_event(struct loop_wire *wire)
{
	uint64_t next = UINT64_MAX;
	uint64_t now;

	pthread_mutex_lock(&wire->lock);
	now = wire_now(wire);
	for (uint32_t i = 0; i < wire->end_count; i++) {
		const struct loop_end *end = wire->ends[i];
		uint64_t due = neighbours_due(end, now);

		if (end->flights.count && end->flights.heap[0].when < next)
			next = end->flights.heap[0].when;
		if (due < next)
			next = due;
	}
	pthread_mutex_unlock(&wire->lock);
	return next;
}

static void add(struct loop_counters *sum, const struct loop_counters *counters)
{
#define X(name) sum->name += counters->name;
	LOOP_COUNTERS(X)
#undef X
}

void loop_count(struct loop_wire *wire, uint32_t from, uint32_t to, struct loop_counters *counters)
{
	*counters = (struct loop_counters){0};
	pthread_mutex_lock(&wire->lock);
	for (uint32_t i = 0; i < wire->end_count; i++)
		for (uint32_t j = 0; j < wire->end_count; j++)
			if ((from == LOOP_ANY || from == i) && (to == LOOP_ANY || to == j))
				add(counters, &wire_direction(wire, i, j)->counters);
	pthread_mutex_unlock(&wire->lock);
}

uint32_t loop_buffers_used(struct loop_wire *wire)
{
	uint32_t held;

	pthread_mutex_lock(&wire->lock);
	held = wire->buffers.held;
	pthread_mutex_unlock(&wire->lock);
	return held;
}

uint32_t loop_buffers_flying(struct loop_wire *wire)
{
	uint32_t flying;

	pthread_mutex_lock(&wire->lock);
	flying = wire->buffers.total - wire->buffers.free - wire->buffers.held;
	pthread_mutex_unlock(&wire->lock);
	return flying;
}
