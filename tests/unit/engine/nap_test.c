/* SPDX-License-Identifier: BSD-3-Clause */
/* How long a wait lasts, what ends it, and what a thread is that waits. */
#include <pthread.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "nap.h"
#include "unit.h"

#define US 1000ull
#define MS 1000000ull

static uint64_t now(void)
{
	struct timespec at;

	clock_gettime(CLOCK_MONOTONIC, &at);
	return (uint64_t)at.tv_sec * 1000000000u + (uint64_t)at.tv_nsec;
}

static int new_event(unsigned int count)
{
	int fd = eventfd(count, EFD_NONBLOCK | EFD_CLOEXEC);

	CU_ASSERT_FATAL(fd >= 0);
	return fd;
}

static void signal_event(int fd)
{
	uint64_t one = 1;

	CU_ASSERT_EQUAL(write(fd, &one, sizeof(one)), sizeof(one));
}

struct later {
	int fd;
	uint64_t ns;
};

static void *signal_later(void *argument)
{
	const struct later *later = argument;
	struct timespec time = {.tv_nsec = (long)later->ns};

	nanosleep(&time, NULL);
	signal_event(later->fd);
	return NULL;
}

/* ---- cases ---- */

static void descriptors(void)
{
	int quiet = new_event(0), readable = new_event(1);
	const struct {
		int fd[34];
		unsigned int count;
		uint32_t bits;
	} rows[] = {
		{{quiet}, 1, 0},
		{{readable}, 1, 1},
		{{readable}, 0, 0},
		{{-1, -1, readable}, 3, 4},
		{{-1, -1}, 2, 0},
		{{readable, quiet, readable}, 3, 5},
		{{[0 ... 30] = -1, [31] = readable}, 32, 0x80000000},
		{{[0 ... 31] = -1, [32] = readable}, 33, 0},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		CU_ASSERT_EQUAL(nap_wait(rows[i].fd, rows[i].count, 0), rows[i].bits);
		CU_ASSERT_EQUAL(nap_wait(rows[i].fd, rows[i].count, 10 * US), rows[i].bits);
		if (rows[i].bits)
			CU_ASSERT_EQUAL(
				nap_wait(rows[i].fd, rows[i].count, NAP_FOREVER), rows[i].bits);
	}
	close(quiet);
	close(readable);
}

#define LATE (40 * US) /* less than what the kernel defers timers by, unless told otherwise */

/* Once in many times it is on time: the other times are the machine's. */
static void must_be_punctual(const int *fd, uint64_t ns)
{
	uint64_t lasted = UINT64_MAX;

	for (int i = 0; i < 1000 && lasted > ns + LATE; i++) {
		uint64_t begin = now();

		CU_ASSERT_EQUAL(nap_wait(fd, 1, ns), 0);
		lasted = now() - begin;
		CU_ASSERT(lasted >= ns);
	}
	CU_ASSERT(lasted <= ns + LATE);
}

/* A thread of its own, so that the others keep what they are. */
static void *be_punctual(void *fd)
{
	nap_prepare();
	CU_ASSERT_EQUAL(prctl(PR_GET_TIMERSLACK), 1);
	must_be_punctual(fd, 50 * US);
	must_be_punctual(fd, 2 * MS);
	return NULL;
}

static void in_a_thread(void *(*run)(void *), void *argument)
{
	pthread_t thread;

	CU_ASSERT_EQUAL_FATAL(pthread_create(&thread, NULL, run, argument), 0);
	pthread_join(thread, NULL);
}

static void time_is_kept(void)
{
	int fd = new_event(0);

	in_a_thread(be_punctual, &fd);
	CU_ASSERT_NOT_EQUAL(prctl(PR_GET_TIMERSLACK), 1);
	close(fd);
}

static void wakes(void)
{
	int fd[2] = {new_event(0), new_event(0)};
	struct later later = {fd[1], 20 * MS};
	static const uint64_t times[] = {NAP_FOREVER, NAP_FOREVER - 1, 60 * 1000 * MS};

	for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++) {
		uint64_t begin = now(), count;
		pthread_t thread;

		CU_ASSERT_EQUAL_FATAL(pthread_create(&thread, NULL, signal_later, &later), 0);
		CU_ASSERT_EQUAL(nap_wait(fd, 2, times[i]), 2);
		CU_ASSERT(now() - begin < 30 * 1000 * MS);
		pthread_join(thread, NULL);
		CU_ASSERT_EQUAL(read(fd[1], &count, sizeof(count)), sizeof(count));
		CU_ASSERT_EQUAL(count, 1);
	}
	close(fd[0]);
	close(fd[1]);
}

/* A pipe that nobody will write to has POLLHUP for good, a number that is no descriptor POLLNVAL.
 */
static void broken_ones_do_not_spin(void)
{
	int event = new_event(0), ends[2], closed;
	uint64_t begin;

	CU_ASSERT_EQUAL_FATAL(pipe(ends), 0);
	closed = dup(event);
	close(closed);
	close(ends[1]);
	for (int i = 0; i < 2; i++) {
		int fd[2] = {i ? closed : ends[0], event};

		begin = now();
		CU_ASSERT_EQUAL(nap_wait(fd, 2, NAP_FOREVER), 0);
		CU_ASSERT(now() - begin >= NAP_BROKEN);
		begin = now();
		CU_ASSERT_EQUAL(nap_wait(fd, 2, 100 * US), 0);
		CU_ASSERT(now() - begin >= 100 * US);
	}
	close(ends[0]);
	close(event);
}

/* Nor do they keep others from waking. */
static void broken_ones_are_left_out(void)
{
	int fd[2] = {-1, new_event(0)}, ends[2];
	struct later later = {0, 20 * MS};
	pthread_t thread;
	uint32_t bits = 0;

	CU_ASSERT_EQUAL_FATAL(pipe(ends), 0);
	close(ends[1]);
	fd[0] = ends[0];
	later.fd = fd[1];
	CU_ASSERT_EQUAL_FATAL(pthread_create(&thread, NULL, signal_later, &later), 0);
	while (bits == 0)
		bits = nap_wait(fd, 2, NAP_FOREVER);
	CU_ASSERT_EQUAL(bits, 2);
	CU_ASSERT_EQUAL(nap_wait(fd, 2, 0), 2);
	pthread_join(thread, NULL);
	close(fd[0]);
	close(fd[1]);
}

static volatile sig_atomic_t handled;

static void handle(int number)
{
	handled = number;
}

static void *be_deaf(void *unused)
{
	sigset_t set;

	nap_prepare();
	pthread_sigmask(SIG_BLOCK, NULL, &set);
	CU_ASSERT_FALSE(sigismember(&set, SIGSEGV));
	CU_ASSERT_FALSE(sigismember(&set, SIGBUS));
	CU_ASSERT(sigismember(&set, SIGTERM));
	CU_ASSERT(sigismember(&set, SIGRTMAX));
	pthread_kill(pthread_self(), SIGUSR1);
	CU_ASSERT_EQUAL(nap_wait(NULL, 0, 100 * US), 0);
	CU_ASSERT_EQUAL(handled, 0);
	return NULL;
}

static void signals_are_others(void)
{
	struct sigaction action = {.sa_handler = handle}, old;

	sigaction(SIGUSR1, &action, &old);
	in_a_thread(be_deaf, NULL);
	CU_ASSERT_EQUAL(handled, 0);
	raise(SIGUSR1);
	CU_ASSERT_EQUAL(handled, SIGUSR1);
	sigaction(SIGUSR1, &old, NULL);
}

static const struct unit_case cases[] = {
	UNIT_CASE(descriptors),
	UNIT_CASE(time_is_kept),
	UNIT_CASE(wakes),
	UNIT_CASE(broken_ones_do_not_spin),
	UNIT_CASE(broken_ones_are_left_out),
	UNIT_CASE(signals_are_others),
};

UNIT_MAIN("embed-nap", cases)
