/* SPDX-License-Identifier: BSD-3-Clause */
/* The door: what it shows, who comes in, and what a fork leaves of it. */
#include <errno.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "doors.h"
#include "rig.h"

static const struct door *const door = &uroce_engine_door;

static void engines_are_listed(void)
{
	static struct rig rig;

	CU_ASSERT_PTR_NULL(door->engine(0));
	rig_open(&rig);
	CU_ASSERT_EQUAL(door->version, 2);
	CU_ASSERT_EQUAL(door->size, sizeof(struct door));
	CU_ASSERT_PTR_EQUAL(door->engine(0), rig.engines[0]);
	CU_ASSERT_PTR_EQUAL(door->engine(1), rig.engines[1]);
	CU_ASSERT_PTR_NULL(door->engine(2));
	CU_ASSERT_STRING_EQUAL(door->name(door->engine(1)), "rig1");
	rig_close(&rig);
	CU_ASSERT_PTR_NULL(door->engine(0));
}

static void names_are_unique(void)
{
	struct engine_config config = {.name = "rig1"};
	struct engine *engine;
	static struct rig rig;

	rig_open(&rig);
	config.port = rig.ports[0];
	config.clock = rig.engines[0]->clock;
	config.clock_context = &rig;
	CU_ASSERT_EQUAL(engine_create(&config, &engine), -EEXIST);
	CU_ASSERT_PTR_NULL(door->engine(2));
	rig_close(&rig);
}

static void engines_with_clients_stay(void)
{
	struct region_view view;
	struct client *client;
	struct engine *gone;
	static struct rig rig;

	rig_open(&rig);
	CU_ASSERT_EQUAL(engine_destroy(rig.engines[0]), -EBUSY);
	CU_ASSERT_PTR_EQUAL(door->engine(0), rig.engines[0]);
	gone = (struct engine *)(uintptr_t)&view; /* never was one */
	CU_ASSERT_EQUAL(door->attach(gone, &client, &view), -ENODEV);
	rig_close(&rig);
}

/* Inline: whoever drives does the work. Dedicated: the core does. */
static void driving(void)
{
	struct engine_config dedicated = {.cores = 1, .dedicated = 1};
	struct uroce_abi_command command = {.head.op = UROCE_ABI_NOP};
	static struct rig rig;
	struct front *front;

	rig_open(&rig);
	front = &rig.fronts[0];
	CU_ASSERT_EQUAL(door->dedicated(front->client), 0);
	front_post(front, 0, &command);
	door->drive(front->client);
	CU_ASSERT_EQUAL(front->slots[0].head.state, UROCE_ABI_DONE);
	rig_close(&rig);

	rig_open_with(&rig, NULL, &dedicated);
	CU_ASSERT_EQUAL(engine_mode(rig.engines[0]), ENGINE_DEDICATED);
	CU_ASSERT_EQUAL(door->dedicated(front->client), 1);
	front_post(front, 0, &command);
	CU_ASSERT_EQUAL(door->drive(front->client), 0);
	CU_ASSERT_EQUAL(front->slots[0].head.state, UROCE_ABI_POSTED);
	CU_ASSERT(front_done(front, 0, &command));
	door->wake(front->client, 0);
	rig_close(&rig);
}

/* The child of a fork sees no engine; the parent's are as they were. */
static void forks(void)
{
	struct region_view view;
	struct client *client;
	static struct rig rig;
	int status;
	pid_t child;

	rig_open(&rig);
	child = fork();
	if (child == 0)
		_exit(door->engine(0) != NULL ||
			door->attach(rig.engines[0], &client, &view) != -ENODEV);
	CU_ASSERT_EQUAL(waitpid(child, &status, 0), child);
	CU_ASSERT(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	CU_ASSERT_EQUAL(front_simple(&rig.fronts[0], UROCE_ABI_NOP, 0), 0);
	rig_close(&rig);
}

static void starting(void)
{
	errno = 0;
	CU_ASSERT_PTR_NULL(door->start("--port anything"));
	CU_ASSERT_EQUAL(errno, ENOSYS); /* nobody here makes ports */
}

/* The same memory under two addresses: what a client of another process would see. */
static void regions_can_be_mapped_twice(void)
{
	struct engine_config config = {.memfd_regions = true, .region_size = 64 << 20};
	struct region_view second;
	static struct rig rig;
	struct front *front, other;

	rig_open_with(&rig, NULL, &config);
	front = &rig.fronts[0];
	CU_ASSERT_EQUAL_FATAL(region_map(region_fd(front->client->region), &second), 0);
	second.id = front->view.id;
	other = *front;
	other.view = second;
	other.header = region_header(&second);
	other.slots = region_at(
		&second, other.header->commands, UROCE_ABI_COMMANDS * sizeof(*other.slots));
	CU_ASSERT_NOT_EQUAL((uintptr_t)second.base, (uintptr_t)front->view.base);
	CU_ASSERT_EQUAL(front_simple(&other, UROCE_ABI_NOP, 0), 0);
	CU_ASSERT_EQUAL(front_alloc_pd(&other), front->pd + 1);
	region_unmap(&second);
	rig_close(&rig);
}

static const struct unit_case cases[] = {
	UNIT_CASE(engines_are_listed),
	UNIT_CASE(names_are_unique),
	UNIT_CASE(engines_with_clients_stay),
	UNIT_CASE(driving),
	UNIT_CASE(forks),
	UNIT_CASE(starting),
	UNIT_CASE(regions_can_be_mapped_twice),
};

UNIT_MAIN("engine-door", cases)
