/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Events to applications. One that doesn't fit into its channel's ring is kept with the object and
 * told when there is room; none is lost and none is told twice. (COMM_EST is put into the ring
 * before the completion that came with it, EP-9.)
 */
#ifndef UROCE_ENGINE_EVENTS_H
#define UROCE_ENGINE_EVENTS_H

#include <stdint.h>

#include "object.h"

struct worker;

/* A source and what it keeps belong to one core; an object that several cores raise events of has
 * one for each. */
void events_init(struct event_source *source, uint32_t object);
/* type: enum ibv_event_type or UROCE_ABI_EVENT_COMP. channel: where; NULL: counted as unheard. */
void events_raise(struct worker *worker, struct engine_channel *channel,
	struct event_source *source, uint32_t type);
/* The object goes: what was kept vanishes. */
void events_forget(struct event_source *source);
/* Tries to tell what is kept. */
void events_retry(struct worker *worker);

/* NULL: no memory. */
struct engine_channel *events_channel_create(uint32_t cores);
/* The channel goes, between rounds of all cores; no source uses it any more. */
void events_channel_forget(struct engine_channel *channel, uint32_t cores);

#endif
