/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A bifurcated NIC (mlx5 and its like: the kernel's driver stays in charge of the device) gives all
 * frames to DPDK's queues unless its flows are isolated (rte_flow_isolate()). Then it gives what
 * flow items ask for, RoCE here, and the kernel gets everything else.
 */
#ifndef UROCE_ETHDEV_ISOLATE_H
#define UROCE_ETHDEV_ISOLATE_H

#include <stdbool.h>
#include <stdint.h>

/* Before the device is configured. 0 or -errno, with a line. */
int isolate_begin(uint16_t id, const char *name);
/* UDP to port 4791 to the queues 0 to count - 1, once the device runs. 0 or -errno, with a line. */
int isolate_roce(uint16_t id, const char *name, uint16_t count);
/* Before the device stops. */
void isolate_end(uint16_t id);

#endif
