/* SPDX-License-Identifier: BSD-3-Clause */
/* Which devices can share the addresses of the kernel's interface behind them. */
#ifndef UROCE_ETHDEV_SHARE_H
#define UROCE_ETHDEV_SHARE_H

#include <stdbool.h>

struct device;
struct ethdev_config;
struct ethdev_port;

/* 0, or -EINVAL with a line that says what to do. */
int share_check(const struct ethdev_port *ethdev, const struct ethdev_config *config);
/* Is it one that gives the kernel its frames only if it is told which are ours? */
bool share_by_isolation(const struct device *device, const struct ethdev_config *config);

#endif
