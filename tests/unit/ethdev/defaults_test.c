/* SPDX-License-Identifier: BSD-3-Clause */
/* What is added to EAL's arguments, by what a person said and what the machine offers. */
#include <stdio.h>
#include <string.h>

#include "defaults.h"
#include "unit.h"

#define V " --iova-mode=va"
#define T " --no-telemetry"
#define NO_HUGE " --no-huge -m 512 --no-shconf"
#define L " --lcores 0@(0,1,5) --main-lcore 0"

static void added(void)
{
	static const struct {
		const char *given;
		bool hugepages;
		int lcore;
		const char *added;
	} rows[] = {
		{"", false, -1, " --no-pci" V T NO_HUGE L},
		{"", true, -1, " --no-pci" V T " --in-memory" L},
		{"", true, 1, " --no-pci" V T " --in-memory --lcores 0@(0,1,5),1@1 --main-lcore 0"},
		{"", true, 0, " --no-pci" V T " --in-memory --lcores 1@(0,1,5),0@0 --main-lcore 1"},
		{"--vdev=net_ring0", true, -1, " --no-pci" V T " --in-memory" L},
		{"-a 0000:01:00.0", true, -1, T " --in-memory" L},
		{"-a0000:01:00.0", true, -1, T " --in-memory" L},
		{"--allow=0000:01:00.0", true, -1, T " --in-memory" L},
		{"--allow 0000:01:00.0 --iova-mode=pa", true, -1, T " --in-memory" L},
		{"-b 0000:01:00.0", true, -1, T " --in-memory" L},
		{"--no-pci", true, -1, V T " --in-memory" L},
		{"--iova-mode pa", true, -1, " --no-pci" T " --in-memory" L},
		{"--telemetry", true, -1, " --no-pci" V " --in-memory" L},
		{"--no-telemetry", true, -1, " --no-pci" V " --in-memory" L},
		{"--in-memory", false, -1, " --no-pci" V T L},
		{"--no-huge -m 64", true, -1, " --no-pci" V T L},
		{"-m 64", false, -1, " --no-pci" V T " --no-huge --no-shconf" L},
		{"-m64", true, -1, " --no-pci" V T " --in-memory" L},
		{"--file-prefix=x", true, -1, " --no-pci" V T L},
		{"--file-prefix=x", false, -1, " --no-pci" V T " --no-huge -m 512" L},
		{"--socket-mem 64", false, -1, " --no-pci" V T L},
		{"-l 0", true, -1, " --no-pci" V T " --in-memory"},
		{"-l0,1", true, 1, " --no-pci" V T " --in-memory"},
		{"--lcores=0", true, -1, " --no-pci" V T " --in-memory"},
		{"-c 3", true, -1, " --no-pci" V T " --in-memory"},
		{"--main-lcore 1", true, -1, " --no-pci" V T " --in-memory"},
		{"--log-level=debug", true, -1, " --no-pci" V T " --in-memory" L},
	};

	for (unsigned int i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct defaults_facts facts = {.hugepages = rows[i].hugepages};
		char expected[512], actual[512] = "p";
		struct lcores lcores = {.count = rows[i].lcore >= 0,
			.id[0] = rows[i].lcore >= 0 ? (unsigned int)rows[i].lcore : 0};
		struct words words;
		size_t used = 1;

		CPU_ZERO(&facts.cpus);
		CPU_SET(0, &facts.cpus);
		CPU_SET(1, &facts.cpus);
		CPU_SET(5, &facts.cpus);
		words_init(&words);
		CU_ASSERT_EQUAL_FATAL(words_add(&words, "p"), 0);
		CU_ASSERT_EQUAL_FATAL(words_split(&words, rows[i].given), 0);
		CU_ASSERT_EQUAL(defaults_add(&words, &facts, &lcores), 0);
		snprintf(expected, sizeof(expected), "p%s%s%s", *rows[i].given ? " " : "",
			rows[i].given, rows[i].added);
		for (int j = 1; j < words.count; j++)
			used += (size_t)snprintf(
				actual + used, sizeof(actual) - used, " %s", words.word[j]);
		CU_ASSERT_STRING_EQUAL(actual, expected);
		if (strcmp(actual, expected) != 0)
			printf("\n%s\n%s\n", actual, expected);
		words_fini(&words);
	}
}

static const struct lcores none;

/* Without a list of CPUs EAL is left to its own. */
static void no_cpus(void)
{
	struct defaults_facts facts = {.hugepages = true};
	struct words words;

	CPU_ZERO(&facts.cpus);
	words_init(&words);
	CU_ASSERT_EQUAL(words_add(&words, "p"), 0);
	CU_ASSERT_EQUAL(defaults_add(&words, &facts, &none), 0);
	CU_ASSERT_EQUAL(words.count, 5);
	CU_ASSERT_STRING_EQUAL(words.word[4], "--in-memory");
	words_fini(&words);
}

static void every_cpu(void)
{
	struct defaults_facts facts = {.hugepages = true};
	struct words words;

	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
		CPU_SET(cpu, &facts.cpus);
	words_init(&words);
	CU_ASSERT_EQUAL(words_add(&words, "p"), 0);
	CU_ASSERT_EQUAL(defaults_add(&words, &facts, &none), 0);
	CU_ASSERT_EQUAL(words.count, 5); /* a list of 1024 numbers is too long for EAL */
	words_fini(&words);
}

/* Secondaries need files and pages that they can map. */
static void secondaries(void)
{
	static const struct {
		const char *given;
		bool hugepages, possible;
	} rows[] = {
		{"", true, false},
		{"", false, false},
		{"--file-prefix=x", true, true},
		{"--file-prefix=x", false, false},
		{"--proc-type=primary", true, true},
		{"--file-prefix=x --in-memory", true, false},
		{"--no-shconf", true, false},
		{"--huge-dir /mnt/huge", true, true},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct defaults_facts facts = {.hugepages = rows[i].hugepages};
		struct words words;

		words_init(&words);
		CU_ASSERT_EQUAL_FATAL(words_add(&words, "p"), 0);
		CU_ASSERT_EQUAL_FATAL(words_split(&words, rows[i].given), 0);
		CU_ASSERT_EQUAL(defaults_add(&words, &facts, &none), 0);
		CU_ASSERT_EQUAL(defaults_secondaries(&words), rows[i].possible);
		words_fini(&words);
	}
}

static const struct unit_case cases[] = {
	UNIT_CASE(added),
	UNIT_CASE(no_cpus),
	UNIT_CASE(every_cpu),
	UNIT_CASE(secondaries),
};

UNIT_MAIN("ethdev-defaults", cases)
