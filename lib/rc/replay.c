/* SPDX-License-Identifier: BSD-3-Clause */
/* Kept responder resources. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "psn.h"
#include "replay.h"

int replay_init(struct replay *replay, uint32_t capacity)
{
	uint32_t places = 1;

	memset(replay, 0, sizeof(*replay));
	if (capacity == 0)
		return 0;
	while (places < capacity)
		places *= 2;
	replay->entries = calloc(places, sizeof(*replay->entries));
	if (!replay->entries)
		return -ENOMEM;
	replay->capacity = capacity;
	replay->mask = places - 1;
	return 0;
}

void replay_fini(struct replay *replay)
{
	free(replay->entries);
	memset(replay, 0, sizeof(*replay));
}

void replay_set_depth(struct replay *replay, uint32_t depth)
{
	replay->depth = depth < replay->capacity ? depth : replay->capacity;
}

void replay_reset(struct replay *replay, uint32_t depth)
{
	replay_set_depth(replay, depth);
	replay->first = 0;
	replay->last = 0;
	replay->pending = 0;
}

static struct replay_entry *entry_at(struct replay *replay, uint32_t position)
{
	return &replay->entries[position & replay->mask];
}

/*
 * Forgets the oldest, unless its first answer is not out. If it was only to be answered again, the
 * peer has got the first answer after all: it would not send a new request otherwise.
 */
static bool evict(struct replay *replay)
{
	struct replay_entry *oldest = entry_at(replay, replay->first);

	if (oldest->pending && !oldest->answered)
		return false;
	if (oldest->pending)
		replay_done(replay, oldest);
	replay->first++;
	return true;
}

struct replay_entry *replay_add(struct replay *replay)
{
	struct replay_entry *entry;

	if (replay->depth == 0)
		return NULL;
	while (replay->last - replay->first >= replay->depth)
		if (!evict(replay))
			return NULL;
	entry = entry_at(replay, replay->last++);
	memset(entry, 0, sizeof(*entry));
	return entry;
}

struct replay_entry *replay_find(struct replay *replay, uint32_t psn)
{
	for (uint32_t i = replay->first; i != replay->last; i++) {
		struct replay_entry *entry = entry_at(replay, i);

		if (psn_ahead(psn, entry->psn) < entry->packets)
			return entry;
	}
	return NULL;
}

void replay_answer(struct replay *replay, struct replay_entry *entry, uint32_t start, uint32_t end)
{
	if (!entry->pending)
		replay->pending++;
	entry->pending = true;
	entry->start = start;
	entry->next = start;
	entry->end = end;
}

struct replay_entry *replay_pending(struct replay *replay)
{
	if (replay->pending == 0)
		return NULL;
	for (uint32_t i = replay->first; i != replay->last; i++)
		if (entry_at(replay, i)->pending)
			return entry_at(replay, i);
	return NULL;
}

void replay_done(struct replay *replay, struct replay_entry *entry)
{
	entry->pending = false;
	entry->answered |= entry->end == entry->packets;
	replay->pending--;
}
