/* SPDX-License-Identifier: BSD-3-Clause */
/* rte_eal_init(), once in a process, by whoever comes first. */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include <rte_cycles.h>
#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_lcore.h>
#include <rte_mempool.h>
#include <rte_memzone.h>
#include <rte_pdump.h>

#include "defaults.h"
#include "eal.h"
#include "eal_log.h"
#include "ethdev.h"
#include "log.h"
#include "words.h"

/*
 * EAL has no call that tells. Its lcores are counted at the beginning of rte_eal_init(), even of
 * one that fails; the frequency of the TSC is found behind the memory, near the end: both are zero
 * in a process where nobody has got that far. (Asking by rte_eal_init() itself, for EALREADY, would
 * start it where nobody did.)
 */
bool eal_is_running(void)
{
	return rte_lcore_count() > 0 && rte_get_tsc_hz() > 0;
}

/* Lcores of their own for workers. */
static int check_lcore(unsigned int lcore)
{
	if (lcore >= RTE_MAX_LCORE || !rte_lcore_is_enabled(lcore)) {
		log_error(
			"lcore %u is not one of EAL's: name it there (-l), or take another", lcore);
		return -EINVAL;
	}
	if (lcore == rte_get_main_lcore()) {
		log_error("lcore %u is EAL's main lcore, which is the application's thread: take "
			  "another",
			lcore);
		return -EINVAL;
	}
	return 0;
}

static int check_lcores(const struct lcores *lcores)
{
	int err = 0;

	for (uint32_t i = 0; i < lcores->count && !err; i++)
		err = check_lcore(lcores->id[i]);
	return err;
}

static int adopt(int argc, const struct lcores *lcores)
{
	if (argc > 1) {
		log_error("EAL is running already, and takes no more arguments: leave out what is "
			  "before --");
		return -EINVAL;
	}
	if (rte_eal_process_type() != RTE_PROC_PRIMARY) {
		log_error("this process is a DPDK secondary, which cannot set ports up");
		return -ENOTSUP;
	}
	log_info("EAL is running already: adopted");
	return check_lcores(lcores);
}

static void log_command_line(const struct words *eal)
{
	for (int i = 1; i < eal->count; i++)
		log_debug("EAL argument: %s", eal->word[i]);
}

/* EAL ties the thread that starts it to a CPU; the application did not ask for that. */
static int init(const struct words *eal)
{
	char **permuted = calloc((size_t)eal->count + 1, sizeof(*permuted));
	cpu_set_t cpus;
	bool restore = pthread_getaffinity_np(pthread_self(), sizeof(cpus), &cpus) == 0;
	int err;

	if (!permuted)
		return -ENOMEM;
	/* getopt reorders the array, and words_fini() must still see every word once. */
	for (int i = 0; i < eal->count; i++)
		permuted[i] = eal->word[i];
	err = rte_eal_init(eal->count, permuted) < 0 ? -rte_errno : 0;
	if (err)
		log_error("EAL does not start: %s (UROCE_LOG=debug shows its arguments and words)",
			rte_strerror(-err));
	if (restore)
		pthread_setaffinity_np(pthread_self(), sizeof(cpus), &cpus);
	free(permuted);
	return err;
}

/* For dpdk-dumpcap and dpdk-pdump, which are secondary processes. It takes some memory and a thread
 * of EAL's, so only where there can be any. */
static void answer_pdump(const struct words *eal)
{
	if (!defaults_secondaries(eal))
		return;
	if (rte_pdump_init() || !rte_memzone_reserve(ETHDEV_SHOWN, 1, SOCKET_ID_ANY, 0))
		log_warning("no capture by dpdk-dumpcap: %s", rte_strerror(rte_errno));
}

static int start(int argc, char *const argv[], const struct lcores *lcores)
{
	struct defaults_facts facts;
	struct words eal;
	int err = 0;

	words_init(&eal);
	for (int i = 0; !err && i < argc; i++)
		err = words_add(&eal, argv[i]);
	defaults_facts(&facts);
	if (!err)
		err = defaults_add(&eal, &facts, lcores);
	if (!err)
		err = eal_log_bridge();
	if (!err) {
		log_command_line(&eal);
		err = init(&eal);
	}
	if (!err)
		answer_pdump(&eal);
	words_fini(&eal);
	return err ? err : check_lcores(lcores);
}

int eal_start(int argc, char *const argv[], const struct lcores *lcores)
{
	if (eal_is_running())
		return adopt(argc, lcores);
	return start(argc, argv, lcores);
}

void eal_stop(void)
{
	rte_eal_cleanup();
}

/* Those that have registered here. As static as EAL's ids are. */
static uint32_t registered;

/* False: there are enough. */
static bool take_place(void)
{
	uint32_t count = __atomic_load_n(&registered, __ATOMIC_RELAXED);

	do
		if (count >= ETHDEV_CACHED_THREADS)
			return false;
	/* Relaxed: the count is all that it is about. */
	while (!__atomic_compare_exchange_n(
		&registered, &count, count + 1, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
	return true;
}

static void give_place(void)
{
	__atomic_fetch_sub(&registered, 1, __ATOMIC_RELAXED);
}

int eal_register_thread(void)
{
	int error;

	if (rte_lcore_id() != LCORE_ID_ANY)
		return 0;
	if (!take_place())
		return -EAGAIN;
	error = rte_thread_register() ? -rte_errno : 0;
	if (error)
		give_place();
	return error;
}

/* The cache of the calling thread. */
static void flush_cache(struct rte_mempool *pool, void *argument)
{
	struct rte_mempool_cache *cache = rte_mempool_default_cache(pool, rte_lcore_id());

	(void)argument;
	if (cache)
		rte_mempool_cache_flush(cache, pool);
}

void eal_unregister_thread(void)
{
	if (rte_lcore_id() != LCORE_ID_ANY) {
		rte_mempool_walk(flush_cache, NULL);
		rte_thread_unregister();
	}
	give_place();
}
