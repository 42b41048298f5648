/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A command is a row: its name, its function, its line of help. The first word of what follows the
 * name is the engine's; without one, the only engine is meant.
 *
 * DPDK calls a command with nothing but its text, from threads of its own, and forgets no command
 * once it is registered. So the list of engines cannot hang on any object; it is kept here, under a
 * lock that is held as long as a question lasts. No data path comes here.
 */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include <rte_telemetry.h>

#include "capture.h"
#include "counters.h"
#include "engine.h"
#include "log.h"
#include "telemetry.h"
#include "values.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct list shown = {&shown, &shown};

/* Answers for an engine; `rest` is what follows its name and comma, or "". 0 or -errno. */
typedef int answer_fn(struct telemetry *of, const char *rest, struct rte_tel_data *answer);

struct row {
	const char *command;
	telemetry_cb ask;
	const char *help;
};

/* ---- which engine ---- */

static bool is_name(const struct telemetry *of, const char *text, size_t length)
{
	const char *name = engine_name(of->engine);

	return strlen(name) == length && strncmp(name, text, length) == 0;
}

static struct telemetry *find(const char *text, size_t length)
{
	list_for_each (node, &shown) {
		struct telemetry *of = container_of(node, struct telemetry, node);

		if (is_name(of, text, length))
			return of;
	}
	return NULL;
}

static struct telemetry *only_one(void)
{
	if (list_empty(&shown) || shown.next != shown.prev)
		return NULL;
	return container_of(shown.next, struct telemetry, node);
}

static int ask(const char *parameters, answer_fn *answer_for, struct rte_tel_data *answer)
{
	const char *text = parameters ? parameters : "";
	size_t length = strcspn(text, ",");
	struct telemetry *of;
	int err = -ENODEV;

	pthread_mutex_lock(&lock);
	of = length ? find(text, length) : only_one();
	text += length;
	if (of)
		err = answer_for(of, *text ? text + 1 : text, answer);
	pthread_mutex_unlock(&lock);
	return err;
}

/* ---- commands ---- */

static int ask_engines(const char *command, const char *parameters, struct rte_tel_data *answer)
{
	rte_tel_data_start_array(answer, RTE_TEL_STRING_VAL);
	pthread_mutex_lock(&lock);
	list_for_each (node, &shown)
		rte_tel_data_add_array_string(
			answer, engine_name(container_of(node, struct telemetry, node)->engine));
	pthread_mutex_unlock(&lock);
	return 0;
}

static void tell(void *context, const char *name, uint64_t value)
{
	rte_tel_data_add_dict_u64(context, name, value);
}

static int counters(struct telemetry *of, const char *rest, struct rte_tel_data *answer)
{
	rte_tel_data_start_dict(answer);
	engine_counters(of->engine, tell, answer);
	return 0;
}

static int ask_counters(const char *command, const char *parameters, struct rte_tel_data *answer)
{
	return ask(parameters, counters, answer);
}

/* ---- QPs ---- */

#define QPS_PER_ANSWER 96u /* an answer has 16 KiB */

static void add_qp(struct rte_tel_data *answer, const struct engine_qp_info *info)
{
	char name[16], line[RTE_TEL_MAX_STRING_LEN];

	snprintf(name, sizeof(name), "%u", info->qp_num);
	snprintf(line, sizeof(line), "%s%s%s%s%s held=%u ms=%llu core=%u", info->shown,
		info->closed ? " closed" : "", info->armed ? " armed" : "",
		info->strict ? " strict" : "", info->closed ? "" : " open", info->held_now,
		(unsigned long long)(info->held_ns / 1000000), info->core);
	rte_tel_data_add_dict_string(answer, name, line);
}

/* So many, and where to go on: "next" is for the next question's from=N. */
static int many_qps(struct telemetry *of, uint64_t place, struct rte_tel_data *answer)
{
	struct engine_qp_info infos[QPS_PER_ANSWER];
	unsigned int count = 0;

	while (count < QPS_PER_ANSWER && place != ENGINE_QPS_END)
		count += engine_qps(of->engine, &place, infos + count, QPS_PER_ANSWER - count);
	rte_tel_data_start_dict(answer);
	for (unsigned int i = 0; i < count; i++)
		add_qp(answer, &infos[i]);
	if (place != ENGINE_QPS_END)
		rte_tel_data_add_dict_u64(answer, "next", place);
	return 0;
}

static int one_qp(struct telemetry *of, uint32_t qp_num, struct rte_tel_data *answer)
{
	struct engine_qp_info info;
	int err;

	rte_tel_data_start_dict(answer);
	err = engine_qp(of->engine, qp_num, &info, tell, answer);
	if (err)
		return err;
	rte_tel_data_add_dict_string(answer, "state", info.state);
	rte_tel_data_add_dict_string(answer, "shown", info.shown);
	rte_tel_data_add_dict_string(answer, "opened_by", info.cause);
	rte_tel_data_add_dict_u64(answer, "closed", info.closed);
	rte_tel_data_add_dict_u64(answer, "armed", info.armed);
	rte_tel_data_add_dict_u64(answer, "strict", info.strict);
	rte_tel_data_add_dict_u64(answer, "held_now", info.held_now);
	rte_tel_data_add_dict_u64(answer, "held_ns", info.held_ns);
	rte_tel_data_add_dict_u64(answer, "core", info.core);
	return 0;
}

static int qps(struct telemetry *of, const char *rest, struct rte_tel_data *answer)
{
	uint32_t number = 0;

	if (strncmp(rest, "from=", 5) == 0)
		return value_number(rest + 5, 0, UINT32_MAX, &number)
			? -EINVAL
			: many_qps(of, number, answer);
	if (*rest)
		return value_number(rest, 0, 0xffffff, &number) ? -EINVAL
								: one_qp(of, number, answer);
	return many_qps(of, 0, answer);
}

static int ask_qps(const char *command, const char *parameters, struct rte_tel_data *answer)
{
	return ask(parameters, qps, answer);
}

/* ---- the rest ---- */

static int histogram(struct telemetry *of, const char *rest, struct rte_tel_data *answer)
{
	struct engine_hold_histogram held;
	char name[32];

	engine_hold_histogram(of->engine, &held);
	rte_tel_data_start_dict(answer);
	for (unsigned int i = 0; i < ENGINE_HOLD_BUCKETS - 1; i++) {
		snprintf(name, sizeof(name), "below_%llu_us", (unsigned long long)held.bound_us[i]);
		rte_tel_data_add_dict_u64(answer, name, held.count[i]);
	}
	rte_tel_data_add_dict_u64(answer, "longer", held.count[ENGINE_HOLD_BUCKETS - 1]);
	return 0;
}

static int ask_histogram(const char *command, const char *parameters, struct rte_tel_data *answer)
{
	return ask(parameters, histogram, answer);
}

/* The answer says what went wrong; the log says it with more words. */
static int capture(struct telemetry *of, const char *rest, struct rte_tel_data *answer)
{
	struct capture_config config;
	int err = value_capture(rest, &config);

	if (err)
		return err;
	err = ethdev_capture_start(of->port, &config);
	rte_tel_data_start_dict(answer);
	rte_tel_data_add_dict_string(answer, "file", config.file);
	rte_tel_data_add_dict_string(answer, "status", err ? strerror(-err) : "begun");
	return 0;
}

static int ask_capture(const char *command, const char *parameters, struct rte_tel_data *answer)
{
	return ask(parameters, capture, answer);
}

static int capture_stop(struct telemetry *of, const char *rest, struct rte_tel_data *answer)
{
	struct capture_counts counts;
	int err = ethdev_capture_stop(of->port);

	if (err)
		return err;
	ethdev_capture_counts(of->port, &counts);
	rte_tel_data_start_dict(answer);
	rte_tel_data_add_dict_u64(answer, "packets", counts.packets);
	rte_tel_data_add_dict_u64(answer, "bytes", counts.bytes);
	rte_tel_data_add_dict_u64(answer, "dropped", counts.dropped);
	return 0;
}

static int ask_capture_stop(
	const char *command, const char *parameters, struct rte_tel_data *answer)
{
	return ask(parameters, capture_stop, answer);
}

static const struct row rows[] = {
	{"/uroce/engines", ask_engines, "Returns the names of the engines. No parameters"},
	{"/uroce/counters", ask_counters,
		"Returns all counters of an engine. Parameters: engine (may be left out if there "
		"is "
		"one)"},
	{"/uroce/qps", ask_qps,
		"Returns QPs and their gates, so many at a time, or all of one QP. Parameters: "
		"engine[,from=N] or engine,QPN"},
	{"/uroce/hold_histogram", ask_histogram,
		"Returns how long gates have held requests before they opened. Parameters: engine"},
	{"/uroce/capture", ask_capture,
		"Begins to capture packets. Parameters: engine,file[,snaplen=N][,packets=N]"
		"[,bytes=N]"},
	{"/uroce/capture_stop", ask_capture_stop,
		"Ends the capture and returns what it has. Parameters: engine"},
};

/* ---- engines come and go ---- */

static void register_all(void)
{
	for (unsigned int i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (rte_telemetry_register_cmd(rows[i].command, rows[i].ask, rows[i].help))
			log_warning("telemetry does not take the command %s", rows[i].command);
}

void telemetry_add(struct telemetry *telemetry, struct engine *engine, struct port *port)
{
	static pthread_once_t registered = PTHREAD_ONCE_INIT;

	pthread_once(&registered, register_all);
	telemetry->engine = engine;
	telemetry->port = port;
	pthread_mutex_lock(&lock);
	list_append(&shown, &telemetry->node);
	pthread_mutex_unlock(&lock);
}

void telemetry_remove(struct telemetry *telemetry)
{
	pthread_mutex_lock(&lock);
	list_remove(&telemetry->node);
	pthread_mutex_unlock(&lock);
}
