/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * uroce/engine.h: EAL, a port and an engine put together from one command line. Also what stands
 * behind the door's start(), for a front that needs an engine of its own.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include <uroce/engine.h>
#include <uroce/uroce.h>

#include "arguments.h"
#include "clock.h"
#include "doors.h"
#include "eal.h"
#include "forks.h"
#include "log.h"
#include "threads.h"
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
	struct threads threads;
	struct telemetry telemetry;
	uint32_t forks; /* forks_count(): another one is a child's */
};

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
		.cores = arguments->cores,
		.dedicated = arguments->lcores.count,
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
	error = threads_start(&engine->threads, engine->engine, arguments);
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

static int start_eal(const struct words *eal, const struct lcores *lcores)
{
	int error;

	if (forks_lost_eal()) {
		log_error("EAL belongs to the process that this one was forked from, and cannot "
			  "be started anew: exec, or fork before there is an engine");
		return -ENOTSUP;
	}
	error = eal_start(eal->count, eal->word, lcores);
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
	engine->forks = forks_count();
	error = start_eal(eal, &arguments->lcores);
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
	threads_stop(&engine->threads);
	error = engine_destroy(engine->engine);
	if (error) {
		log_error("%s: contexts are open on the device: close them first",
			engine_name(engine->engine));
		threads_restart(&engine->threads);
		telemetry_add(&engine->telemetry, engine->engine, engine->telemetry.port);
		return -error;
	}
	free(engine);
	return 0;
}

EXPORT unsigned int uroce_engine_poll(struct uroce_engine *engine)
{
	if (!engine || !is_ours(engine))
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
