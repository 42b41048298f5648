/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sleeping against waking. While a core says that it sleeps and looks at its rings once more, a
 * thread announces and asks whether the core sleeps: either it wakes it, or the core finds the
 * announcement. Otherwise the core would sleep on it.
 */
#include "race.h"
#include "sendring.h"
#include "stress.h"
#include "wq.h"

#define HEADERS (RACE_INSTANCES / UROCE_ABI_MAX_CORES)

struct core {
	struct sendring_set *set;
	struct wq_engine queue;
	struct sendring_front sendring;
	struct uroce_abi_ring *front;
	bool woke;
	bool found __attribute__((aligned(64))); /* the core's */
} __attribute__((aligned(64)));

static struct core cores[RACE_INSTANCES];
/* A core's word is in the region's header; more cores than one has need more of them. */
static struct uroce_abi_header headers[HEADERS];

static struct uroce_abi_header *header_of(uint32_t instance)
{
	return &headers[instance / UROCE_ABI_MAX_CORES];
}

static void open_core(struct core *core, struct region *region, const struct region_view *front)
{
	bool hostile = (core - cores) % 2; /* both ways to look at a ring */
	uroce_abi_ref ref;
	uint32_t bit;

	stress_require(sendring_set_create(region, 1, hostile, &core->set) == 0, "set");
	stress_require(sendring_attach(region, core->set, &ref, &bit) == 0, "send ring");
	stress_require(sendring_front_init(&core->sendring, front, ref) == 0, "front");
	stress_require(wq_create(region, 1, 0, 0, &core->queue) == 0, "queue");
	core->front = region_at(front, core->queue.ref, sizeof(*core->front));
}

static void open_cores(struct region *region, const struct region_view *front)
{
	for (uint32_t i = 0; i < RACE_INSTANCES; i++)
		open_core(&cores[i], region, front);
}

static void close_cores(struct region *region)
{
	for (uint32_t i = 0; i < RACE_INSTANCES; i++) {
		sendring_set_destroy(region, cores[i].set);
		wq_destroy(region, &cores[i].queue);
	}
}

static void wake(uint32_t instance)
{
	struct core *core = &cores[instance];

	sendring_announce(&core->sendring, core->front, instance);
	core->woke = sendring_wakes(header_of(instance), instance % UROCE_ABI_MAX_CORES);
}

static void sleep_after_a_look(uint32_t instance)
{
	struct core *core = &cores[instance];

	(void)sendring_empty(core->set); /* it sleeps because there was nothing */
	sendring_sleep(header_of(instance), instance % UROCE_ABI_MAX_CORES);
	core->found = !sendring_empty(core->set);
}

static enum race_saw judge(uint32_t instance)
{
	struct core *core = &cores[instance];
	uint32_t announcement;

	stress_require(sendring_take(core->set, &announcement, 1) == 1, "announcement");
	sendring_taken(core->queue.ring);
	sendring_awake(header_of(instance), instance % UROCE_ABI_MAX_CORES);
	return (core->woke ? RACE_FIRST_SAW : 0) | (core->found ? RACE_SECOND_SAW : 0);
}

int main(int argc, char **argv)
{
	static const struct race race = {
		.name = "sleep",
		.open = open_cores,
		.close = close_cores,
		.first = wake,
		.second = sleep_after_a_look,
		.judge = judge,
	};

	return race_main(argc, argv, &race);
}
