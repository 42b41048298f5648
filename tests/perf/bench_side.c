/* SPDX-License-Identifier: BSD-3-Clause */
/* The two sides of a case: two threads, or two processes, with a few words of memory in common. */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <rte_lcore.h>

#include "bench.h"

static struct shared *shared; /* for die(), which may be called from anywhere */

static void __attribute__((noreturn, format(printf, 2, 0)))
leave(enum status status, const char *format, va_list arguments)
{
	fputs("bench: ", stderr);
	vfprintf(stderr, format, arguments);
	fputc('\n', stderr);
	if (shared)
		__atomic_store_n(&shared->failed, status, __ATOMIC_RELAXED);
	_exit(status); /* the other thread is in the middle of something */
}

void die(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	leave(STATUS_FAILED, format, arguments);
}

void quit(enum status status, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	leave(status, format, arguments);
}

/* Acquire and release: what a side wrote before it arrived is seen by the other behind meet(). */
void meet(struct side *side)
{
	uint32_t *own = &side->shared->of[side->role].arrived;
	uint32_t *other = &side->shared->of[!side->role].arrived;

	side->met++;
	__atomic_store_n(own, side->met, __ATOMIC_RELEASE);
	while ((int32_t)(__atomic_load_n(other, __ATOMIC_ACQUIRE) - side->met) < 0) {
		uint32_t failed = __atomic_load_n(&side->shared->failed, __ATOMIC_RELAXED);

		if (failed)
			_exit((int)failed);
		if (side->engine)
			uroce_engine_poll(side->engine);
	}
}

static void set_policy(const struct side *side, int policy, int priority)
{
	const struct sched_param param = {.sched_priority = priority};

	/* 0: the calling thread (man sched_setscheduler) */
	if (side->realtime && sched_setscheduler(0, policy, &param) != 0)
		die("--realtime: this needs root");
}

void begin(struct side *side)
{
	meet(side);
	set_policy(side, SCHED_FIFO, 1);
	meet(side);
}

void end(struct side *side)
{
	set_policy(side, SCHED_OTHER, 0);
}

static void pin(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set) != 0)
		die("CPU %d is not to be had: name two with --cpus A,B", cpu);
}

struct started {
	struct side side;
	void (*run)(struct side *side);
};

static int run_one(void *argument)
{
	struct started *started = argument;

	started->run(&started->side);
	return 0;
}

static int run_threads(struct started started[2])
{
	unsigned int lcore = (unsigned int)started[PASSIVE].side.cpu;

	if (rte_eal_remote_launch(run_one, &started[PASSIVE], lcore) != 0)
		die("lcore %u cannot be started", lcore);
	run_one(&started[ACTIVE]);
	rte_eal_wait_lcore(lcore);
	return 0;
}

static void run_process(struct started *started)
{
	pin(started->side.cpu);
	run_one(started);
}

static int run_processes(struct started started[2])
{
	pid_t parent = getpid();
	pid_t child = fork();
	int status;

	if (child < 0)
		die("fork failed");
	if (child == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() != parent)
			_exit(1);
		run_process(&started[PASSIVE]);
		exit(0);
	}
	run_process(&started[ACTIVE]);
	if (waitpid(child, &status, 0) != child || !WIFEXITED(status))
		die("the passive side was killed by signal %d", WTERMSIG(status));
	return WEXITSTATUS(status);
}

int run_sides(const struct side *common, const int cpus[2], void (*run)(struct side *side))
{
	struct started started[2];

	shared = common->shared;
	for (int role = 0; role < 2; role++) {
		started[role].side = *common;
		started[role].side.role = (enum role)role;
		started[role].side.cpu = cpus[role];
		started[role].run = run;
	}
	return common->port == PORT_RING ? run_threads(started) : run_processes(started);
}
