/* SPDX-License-Identifier: BSD-3-Clause */
/* Which of EAL's arguments a person gave, and the ones to add. */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "defaults.h"
#include "log.h"

#define HUGEPAGES "/sys/kernel/mm/hugepages"
/* EAL and a port with its default buffers take 128 MiB or less. */
#define HUGEPAGE_BYTES_NEEDED (128ull << 20)
#define NO_HUGE_MEGABYTES "512"
#define CPU_LIST_MAX 1024u

/*
 * EAL's ways to say a thing: long ones may be `--x v`, `--x=v` or cut short; short ones `-x v` or
 * `-xv`. A cut that is ambiguous is refused by EAL itself.
 */
static const char *const device_options[] = {"-a", "--allow", "-b", "--block", NULL};
static const char *const pci_options[] = {"-a", "--allow", "-b", "--block", "--no-pci", NULL};
static const char *const lcore_options[] = {
	"-c", "-l", "--lcores", "-s", "-S", "--main-lcore", NULL};
static const char *const iova_options[] = {"--iova-mode", NULL};
static const char *const telemetry_options[] = {"--telemetry", "--no-telemetry", NULL};
static const char *const source_options[] = {"--no-huge", "--in-memory", "--socket-mem",
	"--socket-limit", "--huge-dir", "--huge-unlink", "--legacy-mem", "--single-file-segments",
	"--match-allocations", NULL};
static const char *const size_options[] = {"-m", NULL};
static const char *const private_options[] = {"--no-huge", "--in-memory", "--no-shconf", NULL};
static const char *const sharing_options[] = {"--file-prefix", "--proc-type", "--no-shconf", NULL};

#define CUT_MIN 5u /* "--all": shorter cuts are more often something else */

static bool is_option(const char *word, const char *option)
{
	size_t length = strcspn(word, "=");

	if (option[1] != '-') /* a short one, and not the beginning of a long one */
		return word[0] == '-' && word[1] == option[1];
	return length >= CUT_MIN && length <= strlen(option) && strncmp(word, option, length) == 0;
}

static bool says(const struct words *eal, const char *const *options)
{
	for (int i = 1; i < eal->count; i++)
		for (const char *const *option = options; *option; option++)
			if (is_option(eal->word[i], *option))
				return true;
	return false;
}

static unsigned long long read_number(const char *folder, const char *file)
{
	char path[512];
	char text[32];
	unsigned long long number = 0;
	FILE *in;

	snprintf(path, sizeof(path), "%s/%s/%s", HUGEPAGES, folder, file);
	in = fopen(path, "re");
	if (!in)
		return 0;
	if (fgets(text, sizeof(text), in))
		number = strtoull(text, NULL, 10);
	fclose(in);
	return number;
}

/* Of a folder's name, hugepages-2048kB; 0 of any other. */
static unsigned long long page_kilobytes(const char *name)
{
	static const char prefix[] = "hugepages-";

	if (strncmp(name, prefix, sizeof(prefix) - 1) != 0)
		return 0;
	return strtoull(name + sizeof(prefix) - 1, NULL, 10);
}

static bool enough_hugepages(void)
{
	DIR *sizes = opendir(HUGEPAGES);
	unsigned long long kilobytes, bytes = 0;
	struct dirent *size;

	if (!sizes)
		return false;
	while ((size = readdir(sizes))) {
		kilobytes = page_kilobytes(size->d_name);
		if (kilobytes)
			bytes += kilobytes * 1024 * read_number(size->d_name, "free_hugepages");
	}
	closedir(sizes);
	return bytes >= HUGEPAGE_BYTES_NEEDED;
}

void defaults_facts(struct defaults_facts *facts)
{
	facts->hugepages = enough_hugepages();
	if (sched_getaffinity(0, sizeof(facts->cpus), &facts->cpus)) {
		CPU_ZERO(&facts->cpus); /* more CPUs than the set holds: no list is given to EAL */
	}
}

static int add_memory(struct words *eal, bool hugepages)
{
	bool shared = says(eal, sharing_options);
	bool sized = says(eal, size_options);
	int err;

	if (hugepages)
		return shared ? 0 : words_add(eal, "--in-memory");
	err = words_add(eal, "--no-huge");
	if (!err && !sized)
		err = words_add(eal, "-m");
	if (!err && !sized)
		err = words_add(eal, NO_HUGE_MEGABYTES);
	if (!err && !shared)
		err = words_add(eal, "--no-shconf");
	return err;
}

/* "0,1,5": "" if the list would be too long. */
static void list_cpus(char list[CPU_LIST_MAX], const cpu_set_t *cpus)
{
	size_t used = 0;

	*list = 0;
	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
		if (!CPU_ISSET(cpu, cpus))
			continue;
		used += (size_t)snprintf(
			list + used, CPU_LIST_MAX - used, "%s%d", used ? "," : "", cpu);
		if (used >= CPU_LIST_MAX) {
			*list = 0;
			return;
		}
	}
}

/* The lowest number that no worker has. */
static unsigned int free_lcore(const struct lcores *lcores)
{
	unsigned int id = 0;

	while (lcores_have(lcores, id))
		id++;
	return id;
}

/* EAL would print a page of its own about a CPU that isn't there. */
static int check_cpus(const struct lcores *lcores, const cpu_set_t *cpus, const char *list)
{
	for (uint32_t i = 0; i < lcores->count; i++)
		if (!CPU_ISSET(lcores->id[i], cpus)) {
			log_error("--lcore %u: this process may use the CPUs %s, and an lcore is "
				  "the CPU of its number unless EAL's --lcores says otherwise",
				lcores->id[i], list);
			return -EINVAL;
		}
	return 0;
}

#define WORKER_TEXT 16u /* ",127@127" */

/* The main lcore floats over `cpus`; a worker's is tied to the CPU of its number. */
static int add_lcores(struct words *eal, const cpu_set_t *cpus, const struct lcores *lcores)
{
	char list[CPU_LIST_MAX], map[CPU_LIST_MAX + WORKER_TEXT * (CORES_MAX + 1)], main_lcore[16];
	unsigned int main_id = free_lcore(lcores);
	size_t used;
	int err;

	list_cpus(list, cpus);
	if (!*list)
		return 0;
	err = check_cpus(lcores, cpus, list);
	if (err)
		return err;
	snprintf(main_lcore, sizeof(main_lcore), "%u", main_id);
	used = (size_t)snprintf(map, sizeof(map), "%u@(%s)", main_id, list);
	for (uint32_t i = 0; i < lcores->count; i++)
		used += (size_t)snprintf(
			map + used, sizeof(map) - used, ",%u@%u", lcores->id[i], lcores->id[i]);
	err = words_add(eal, "--lcores");
	if (!err)
		err = words_add(eal, map);
	if (!err)
		err = words_add(eal, "--main-lcore");
	return err ? err : words_add(eal, main_lcore);
}

int defaults_add(struct words *eal, const struct defaults_facts *facts, const struct lcores *lcores)
{
	bool devices = says(eal, device_options);
	int err = 0;

	if (!says(eal, pci_options))
		err = words_add(eal, "--no-pci");
	if (!err && !devices && !says(eal, iova_options))
		err = words_add(eal, "--iova-mode=va");
	if (!err && !says(eal, telemetry_options))
		err = words_add(eal, "--no-telemetry");
	if (!err && !says(eal, source_options))
		err = add_memory(eal, facts->hugepages);
	if (!err && !says(eal, lcore_options))
		err = add_lcores(eal, &facts->cpus, lcores);
	return err;
}

bool defaults_secondaries(const struct words *eal)
{
	return !says(eal, private_options);
}
