/* SPDX-License-Identifier: BSD-3-Clause */
/* Commands: more threads than slots, answers that belong to their questions, dead connections. */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "attach.h"
#include "fake.h"
#include "unit.h"

static struct engine *engine;
static struct attach *attach;

static void begin(bool dedicated)
{
	engine = fake_create("uroce0", dedicated);
	CU_ASSERT_EQUAL_FATAL(attach_open(&uroce_engine_door, engine, &attach), 0);
}

static void end(void)
{
	attach_close(attach);
	CU_ASSERT_EQUAL(fake_clients(engine), 0);
	fake_destroy(engine);
}

static void answered(void)
{
	for (int dedicated = 0; dedicated < 2; dedicated++) {
		struct uroce_abi_command gid = {.head.op = UROCE_ABI_QUERY_GID};

		begin(dedicated);
		CU_ASSERT_EQUAL(attach->dedicated, dedicated);
		gid.u.gid.index = 2;
		CU_ASSERT_EQUAL(attach_command(attach, &gid), 0);
		CU_ASSERT_EQUAL(gid.u.gid.gid.raw[15], 2);
		gid.u.gid.index = FAKE_GIDS;
		CU_ASSERT_EQUAL(attach_command(attach, &gid), -EINVAL);
		gid.head.op = UROCE_ABI_OPS - 1;
		end();
	}
}

#define THREADS 80u /* more than slots */
#define EACH 50u

static void *ask(void *argument)
{
	uintptr_t wrong = 0;

	for (unsigned int i = 0; i < EACH; i++) {
		struct uroce_abi_command gid = {.head.op = UROCE_ABI_QUERY_GID};
		bool first = ((uintptr_t)argument + i) % 2;

		gid.u.gid.index = first ? 0 : 2;
		if (attach_command(attach, &gid) || gid.u.gid.gid.raw[15] != (first ? 1 : 2))
			wrong++;
	}
	return (void *)wrong;
}

static void crowded(void)
{
	for (int dedicated = 0; dedicated < 2; dedicated++) {
		pthread_t thread[THREADS];
		void *wrong;

		begin(dedicated);
		for (uintptr_t i = 0; i < THREADS; i++)
			CU_ASSERT_EQUAL_FATAL(pthread_create(&thread[i], NULL, ask, (void *)i), 0);
		for (unsigned int i = 0; i < THREADS; i++) {
			pthread_join(thread[i], &wrong);
			CU_ASSERT_PTR_NULL(wrong);
		}
		CU_ASSERT_EQUAL(fake_commands(engine, UROCE_ABI_QUERY_GID), THREADS * EACH);
		CU_ASSERT_EQUAL(attach->busy, 0);
		end();
	}
}

static int says_dedicated(struct client *client)
{
	return 1;
}

/* How often this thread has gone to sleep while it waited for the answer. */
static void *count_naps(void *argument)
{
	struct uroce_abi_command command = {.head.op = UROCE_ABI_QUERY_GID};
	struct rusage before, after;

	getrusage(RUSAGE_THREAD, &before);
	CU_ASSERT_EQUAL(attach_command(attach, &command), 0);
	getrusage(RUSAGE_THREAD, &after);
	return (void *)(uintptr_t)(after.ru_nvcsw - before.ru_nvcsw);
}

/* A long wait gets slower, or the many that wait starve the one that they wait for. Here nobody
 * answers for 300 ms: naps of 50 us would be 3,000. */
static void patient(void)
{
	struct timespec pause = {.tv_nsec = 300000000};
	struct door door = uroce_engine_door;
	pthread_t thread;
	void *naps;

	door.dedicated = says_dedicated;
	engine = fake_create("uroce0", false);
	CU_ASSERT_EQUAL_FATAL(attach_open(&door, engine, &attach), 0);
	CU_ASSERT_EQUAL_FATAL(pthread_create(&thread, NULL, count_naps, NULL), 0);
	nanosleep(&pause, NULL);
	while (uroce_engine_door.drive(attach->client) == 0)
		continue;
	pthread_join(thread, &naps);
	CU_ASSERT((uintptr_t)naps < 400);
	end();
}

static unsigned int *drives;

static unsigned int counted_drive(struct client *client)
{
	(*drives)++;
	return uroce_engine_door.drive(client);
}

/* What was received last is still acknowledged when the program just ends. */
static void driven_at_exit(void)
{
	struct door door = uroce_engine_door;
	unsigned int before;
	int status;
	pid_t child;

	drives = mmap(
		NULL, sizeof(*drives), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CU_ASSERT_FATAL(drives != MAP_FAILED);
	door.drive = counted_drive;
	child = fork();
	if (child == 0) {
		engine = fake_create("uroce0", false);
		if (attach_open(&door, engine, &attach))
			_exit(1);
		*drives = 0;
		exit(0);
	}
	CU_ASSERT_EQUAL(waitpid(child, &status, 0), child);
	CU_ASSERT(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	CU_ASSERT_EQUAL(*drives, 1);

	/* The child of a fork has nothing to drive. */
	engine = fake_create("uroce0", false);
	CU_ASSERT_EQUAL_FATAL(attach_open(&door, engine, &attach), 0);
	before = *drives;
	child = fork();
	if (child == 0)
		exit(0);
	CU_ASSERT_EQUAL(waitpid(child, &status, 0), child);
	CU_ASSERT_EQUAL(*drives, before);
	end();
	munmap(drives, sizeof(*drives));
}

static void dead(void)
{
	struct uroce_abi_command gid = {.head.op = UROCE_ABI_QUERY_GID};

	begin(false);
	attach->dead = 1;
	CU_ASSERT_EQUAL(attach_command(attach, &gid), -EIO);
	CU_ASSERT_EQUAL(fake_commands(engine, UROCE_ABI_QUERY_GID), 0);
	attach->dead = 0;
	end();
}

static int break_region(struct engine *refused, struct client **client, struct region_view *view)
{
	int error = uroce_engine_door.attach(refused, client, view);

	region_header(view)->major = UROCE_ABI_MAJOR + 1;
	return error;
}

static int refuse(struct engine *refused, struct client **client, struct region_view *view)
{
	return -EUSERS;
}

/* A region of another major version is refused, and the engine told. */
static void not_opened(void)
{
	struct door door = uroce_engine_door;

	engine = fake_create("uroce0", false);
	door.attach = break_region;
	CU_ASSERT_EQUAL(attach_open(&door, engine, &attach), -EPROTO);
	CU_ASSERT_EQUAL(fake_clients(engine), 0);
	door.attach = refuse;
	CU_ASSERT_EQUAL(attach_open(&door, engine, &attach), -EUSERS);
	fake_destroy(engine);
}

static const struct unit_case cases[] = {
	UNIT_CASE(answered),
	UNIT_CASE(crowded),
	UNIT_CASE(patient),
	UNIT_CASE(driven_at_exit),
	UNIT_CASE(dead),
	UNIT_CASE(not_opened),
};

UNIT_MAIN("attach-attach", cases)
