/* SPDX-License-Identifier: BSD-3-Clause */
/* Events: told at once if possible, otherwise kept with their object in order of the objects. */
#include "events.h"

#include <stdlib.h>

#include "state.h"

_Static_assert(IBV_EVENT_WQ_FATAL < 32, "a bit for each asynchronous event");

void events_init(struct event_source *source, uint32_t object)
{
	*source = (struct event_source){.object = object};
	list_init(&source->node);
}

struct engine_channel *events_channel_create(uint32_t cores)
{
	struct engine_channel *channel =
		calloc(1, sizeof(*channel) + cores * sizeof(channel->share[0]));

	for (uint32_t i = 0; channel && i < cores; i++) {
		channel->share[i].channel = channel;
		list_init(&channel->share[i].kept);
		list_init(&channel->share[i].node);
	}
	return channel;
}

static void keep(struct worker *worker, struct channel_share *share, struct event_source *source,
	uint32_t type)
{
	if (type == UROCE_ABI_EVENT_COMP)
		source->kept_completions++;
	else
		source->kept_types |= 1u << type;
	if (!list_linked(&source->node))
		list_append(&share->kept, &source->node);
	if (!list_linked(&share->node))
		list_append(&worker->kept, &share->node);
	worker->counters.events_kept++;
}

/* While a core keeps something for the channel, its later events queue up behind it. */
void events_raise(struct worker *worker, struct engine_channel *channel,
	struct event_source *source, uint32_t type)
{
	struct channel_share *share;

	if (!channel) {
		worker->counters.events_unheard++;
		return;
	}
	share = &channel->share[worker->number];
	if (!list_empty(&share->kept) ||
		eventring_push(&channel->events, type, source->object) != 0) {
		keep(worker, share, source, type);
		return;
	}
	worker->counters.events++;
}

void events_forget(struct event_source *source)
{
	list_remove(&source->node);
	source->kept_types = 0;
	source->kept_completions = 0;
}

void events_channel_forget(struct engine_channel *channel, uint32_t cores)
{
	for (uint32_t i = 0; i < cores; i++)
		list_remove(&channel->share[i].node);
}

/* The next one that the source keeps; false: the ring is full. */
static bool tell_one(struct engine_channel *channel, struct event_source *source)
{
	uint32_t type = UROCE_ABI_EVENT_COMP;

	if (source->kept_types)
		type = (uint32_t)__builtin_ctz(source->kept_types);
	if (eventring_push(&channel->events, type, source->object) != 0)
		return false;
	if (source->kept_types)
		source->kept_types &= source->kept_types - 1;
	else
		source->kept_completions--;
	return true;
}

static void tell_kept(struct worker *worker, struct channel_share *share)
{
	while (!list_empty(&share->kept)) {
		struct event_source *source =
			container_of(list_first(&share->kept), struct event_source, node);

		while (source->kept_types || source->kept_completions) {
			if (!tell_one(share->channel, source))
				return;
			worker->counters.events++;
		}
		list_remove(&source->node);
	}
	list_remove(&share->node);
}

void events_retry(struct worker *worker)
{
	list_for_each_safe (node, &worker->kept)
		tell_kept(worker, container_of(node, struct channel_share, node));
}
