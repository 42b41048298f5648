/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * uroce/engine.h: EAL, a port and an engine put together from one command line. Also what stands
 * behind the door's start(), for a front that needs an engine of its own.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include <rte_launch.h>
#include <rte_lcore.h>

#include <uroce/engine.h>
#include <uroce/uroce.h>

#include "arguments.h"
#include "clock.h"
#include "doors.h"
#include "eal.h"
#include "forks.h"
#include "log.h"
#include "telemetry.h"
#include "words.h"

#define EXPORT __attribute__((visibility("default")))
#define REGION_SIZE (4ull << 30) /* bytes of address space a client; memory comes with use */
#define NAMES_MAX 1000

/* liburoce is in the process if anybody uses devices; an engine alone doesn't need it. */
#pragma weak uroce_find_device

struct uroce_engine {
	struct engine *engine;
	struct clock clock;
	struct telemetry telemetry;
	uint32_t forks; /* forks_count(): another one is a child's */
	int lcore;	/* of the dedicated worker, or ARGUMENTS_NO_LCORE */
	uint32_t stop;	/* atomic; the worker leaves its loop */
	uint32_t left;	/* atomic; it has */
};

/* ---- the dedicated worker ---- */

static int work(void *argument)
{
	struct uroce_engine *engine = argument;

	while (!__atomic_load_n(&engine->stop, __ATOMIC_RELAXED))
		engine_core_round(engine->engine, 0);
	/* Release: pairs with the acquire in stop_worker(). EAL orders this as well, but where no
	 * sanitizer looks. */
	__atomic_store_n(&engine->left, 1, __ATOMIC_RELEASE);
	return 0;
}

static int start_worker(struct uroce_engine *engine)
{
	int error;

	if (engine->lcore == ARGUMENTS_NO_LCORE)
		return 0;
	__atomic_store_n(&engine->stop, 0, __ATOMIC_RELAXED);
	error = rte_eal_remote_launch(work, engine, (unsigned int)engine->lcore);
	if (error)
		log_error("lcore %d is busy with something else: take another", engine->lcore);
	return error;
}

static void stop_worker(struct uroce_engine *engine)
{
	if (engine->lcore == ARGUMENTS_NO_LCORE)
		return;
	__atomic_store_n(&engine->stop, 1, __ATOMIC_RELAXED);
	rte_eal_wait_lcore((unsigned int)engine->lcore);
	(void)__atomic_load_n(&engine->left, __ATOMIC_ACQUIRE);
}

/* ---- making one ---- */

/* With the name that was asked for, or the first uroceN that is free. */
static int create(struct uroce_engine *engine, struct engine_config *config, const char *name)
{
	char numbered[16];
	int error = -EEXIST;

	config->name = name;
	if (name[0] != '\0')
		return engine_create(config, &engine->engine);
	config->name = numbered;
	for (int i = 0; error == -EEXIST && i < NAMES_MAX; i++) {
		snprintf(numbered, sizeof(numbered), "uroce%d", i);
		error = engine_create(config, &engine->engine);
	}
	return error;
}

/* The engine closes the port, from then on. */
static int open_engine(struct uroce_engine *engine, const struct arguments *arguments)
{
	struct engine_config config = {
		.cores = 1,
		.dedicated = arguments->mode == ENGINE_DEDICATED,
		.clock = clock_read,
		.clock_context = &engine->clock,
		.max_qp = arguments->max_qp,
		.max_mr = arguments->max_mr,
		.region_size = REGION_SIZE,
	};
	int error = ethdev_port_open(&arguments->port, &config.port);

	if (error)
		return error;
	error = create(engine, &config, arguments->name);
	if (error) {
		log_error("the engine%s%s cannot be made: error %d", arguments->name[0] ? " " : "",
			arguments->name, -error);
		config.port->ops->close(config.port);
		return error;
	}
	error = start_worker(engine);
	if (error)
		engine_destroy(engine->engine);
	else
		telemetry_add(&engine->telemetry, engine->engine, config.port);
	return error;
}

static struct uroce_engine *fail(struct uroce_engine *engine, int error)
{
	free(engine);
	errno = -error;
	return NULL;
}

static int start_eal(const struct words *eal, int lcore)
{
	int error;

	if (forks_lost_eal()) {
		log_error("EAL belongs to the process that this one was forked from, and cannot "
			  "be started anew: exec, or fork before there is an engine");
		return -ENOTSUP;
	}
	error = eal_start(eal->count, eal->word, lcore);
	if (!error)
		forks_keep_eal();
	return error;
}

static struct uroce_engine *make(
	const struct words *eal, const struct words *ours, struct arguments *arguments)
{
	struct uroce_engine *engine = calloc(1, sizeof(*engine));
	int error = engine ? arguments_parse(arguments, ours->count, ours->word) : -ENOMEM;

	if (error)
		return fail(engine, error);
	if (arguments->help) {
		arguments_help(stdout, ours->word[0]);
		return fail(engine, -EINVAL);
	}
	engine->lcore = arguments->mode == ENGINE_DEDICATED ? arguments->lcore : ARGUMENTS_NO_LCORE;
	engine->forks = forks_count();
	error = start_eal(eal, engine->lcore);
	if (!error) {
		clock_init(&engine->clock);
		error = open_engine(engine, arguments);
	}
	return error ? fail(engine, error) : engine;
}

EXPORT struct uroce_engine *uroce_engine_create(int argc, char *const argv[])
{
	struct uroce_engine *engine = NULL;
	struct arguments arguments;
	struct words eal, ours;
	int error;

	if (argc < 1 || !argv) {
		log_error(
			"there are no arguments: argv[0] is the program's name, the others follow");
		return fail(NULL, -EINVAL);
	}
	forks_watch();
	words_init(&eal);
	words_init(&ours);
	error = words_divide(argc, argv, &eal, &ours);
	if (!error)
		engine = make(&eal, &ours, &arguments);
	else
		errno = -error;
	error = errno;
	words_fini(&eal);
	words_fini(&ours);
	errno = error;
	return engine;
}

EXPORT struct uroce_engine *uroce_engine_create_line(const char *line)
{
	struct uroce_engine *engine = NULL;
	struct words words;
	int error;

	if (!line) {
		log_error("there are no arguments: the line is a null pointer");
		return fail(NULL, -EINVAL);
	}
	words_init(&words);
	error = words_add(&words, "uroce");
	if (!error)
		error = words_split(&words, line);
	if (error == -EINVAL)
		log_error("the arguments end inside a quote or behind a backslash: %s", line);
	if (!error) {
		engine = uroce_engine_create(words.count, words.word);
		error = -errno;
	}
	words_fini(&words);
	errno = -error;
	return engine;
}

static bool is_ours(const struct uroce_engine *engine)
{
	return __builtin_expect(engine->forks == forks_count(), 1);
}

EXPORT int uroce_engine_destroy(struct uroce_engine *engine)
{
	int error;

	if (!engine)
		return EINVAL;
	if (!is_ours(engine)) {
		log_error("%s belongs to the process that this one was forked from",
			engine_name(engine->engine));
		return EIO;
	}
	telemetry_remove(&engine->telemetry);
	stop_worker(engine);
	error = engine_destroy(engine->engine);
	if (error) {
		log_error("%s: contexts are open on the device: close them first",
			engine_name(engine->engine));
		start_worker(engine);
		telemetry_add(&engine->telemetry, engine->engine, engine->telemetry.port);
		return -error;
	}
	free(engine);
	return 0;
}

EXPORT unsigned int uroce_engine_poll(struct uroce_engine *engine)
{
	if (!engine || engine_mode(engine->engine) != ENGINE_INLINE || !is_ours(engine))
		return 0;
	return engine_round(engine->engine);
}

EXPORT struct ibv_device *uroce_engine_device(struct uroce_engine *engine)
{
	if (!engine) {
		errno = EINVAL;
		return NULL;
	}
	if (!uroce_find_device) {
		log_error("liburoce is not in this process: link it to have devices");
		errno = ENODEV;
		return NULL;
	}
	return uroce_find_device(engine_name(engine->engine));
}

/* The front's own engine lives as long as the process does. */
struct engine *engine_start_line(const char *arguments)
{
	struct uroce_engine *engine = uroce_engine_create_line(arguments);

	return engine ? engine->engine : NULL;
}
