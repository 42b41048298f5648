/* SPDX-License-Identifier: BSD-3-Clause */
/* ppoll(2). */
#include "nap.h"

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <time.h>

/* Those that a fault of the thread itself raises stay: blocked they kill without a word. */
static void leave_signals_to_others(void)
{
	static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS};
	sigset_t set;

	sigfillset(&set);
	for (unsigned int i = 0; i < sizeof(faults) / sizeof(faults[0]); i++)
		sigdelset(&set, faults[i]);
	pthread_sigmask(SIG_SETMASK, &set, NULL);
}

void nap_prepare(void)
{
	prctl(PR_SET_TIMERSLACK, 1ul);
	leave_signals_to_others();
}

static int wait_once(struct pollfd *at, unsigned int count, uint64_t max_ns)
{
	struct timespec time = {
		.tv_sec = (time_t)(max_ns / 1000000000u),
		.tv_nsec = (long)(max_ns % 1000000000u),
	};

	return ppoll(at, count, max_ns == NAP_FOREVER ? NULL : &time, NULL);
}

static uint32_t readable(const struct pollfd *at, unsigned int count)
{
	uint32_t bits = 0;

	for (unsigned int i = 0; i < count; i++)
		if (at[i].revents & POLLIN)
			bits |= 1u << i;
	return bits;
}

/* A negative descriptor is none to poll(2). */
static void leave_out_broken(struct pollfd *at, unsigned int count)
{
	for (unsigned int i = 0; i < count; i++)
		if (at[i].revents)
			at[i].fd = -1;
}

uint32_t nap_wait(const int *descriptors, unsigned int count, uint64_t max_ns)
{
	struct pollfd at[NAP_DESCRIPTORS];
	uint32_t bits;
	int n;

	if (count > NAP_DESCRIPTORS)
		count = NAP_DESCRIPTORS;
	for (unsigned int i = 0; i < count; i++)
		at[i] = (struct pollfd){.fd = descriptors[i], .events = POLLIN};
	n = wait_once(at, count, max_ns);
	bits = n > 0 ? readable(at, count) : 0;
	if (n <= 0 || bits)
		return bits;
	leave_out_broken(at, count);
	n = wait_once(at, count, max_ns < NAP_BROKEN ? max_ns : NAP_BROKEN);
	return n > 0 ? readable(at, count) : 0;
}
