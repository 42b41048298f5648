/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What EAL is told if a person says nothing:
 *
 * - devices: --no-pci, unless -a or -b names PCI devices. Otherwise EAL takes hold of whatever NIC
 *   has a driver, the one that the machine is reached by among them.
 * - memory: hugepages, kept in this process (--in-memory), where some are free; else ordinary pages
 *   (--no-huge, and -m 512), without files (--no-shconf). EAL refuses --no-huge --in-memory. Who
 *   says where memory comes from says all of it; who speaks of other processes (--file-prefix,
 *   --proc-type) keeps the files that they need.
 * - addresses: --iova-mode=va if no PCI device is named: virtual ports need no physical addresses.
 * - telemetry: none (--no-telemetry), unless --telemetry asks for its socket and thread.
 * - lcores: one, which may run on every CPU that this process may use, so that the application's
 *   thread is not tied to CPU 0 and no idle threads are made; one more for each worker, on the CPU
 *   of its number.
 */
#ifndef UROCE_EAL_DEFAULTS_H
#define UROCE_EAL_DEFAULTS_H

#include <sched.h>
#include <stdbool.h>

#include "lcores.h"
#include "words.h"

/* What the machine offers. */
struct defaults_facts {
	bool hugepages; /* enough of them are free */
	cpu_set_t cpus; /* that this thread may use */
};

void defaults_facts(struct defaults_facts *facts);
/* Appends what is missing to EAL's words. lcores: the workers'. 0, -ENOMEM, or
 * -EINVAL with a line: no such CPU. */
int defaults_add(
	struct words *eal, const struct defaults_facts *facts, const struct lcores *lcores);
/* May other processes look into this EAL (dpdk-pdump)? Of the words with what was added. */
bool defaults_secondaries(const struct words *eal);

#endif
