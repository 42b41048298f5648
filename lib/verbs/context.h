/* SPDX-License-Identifier: BSD-3-Clause */
/* Contexts, as other files of the front make and end them. */
#ifndef UROCE_VERBS_CONTEXT_H
#define UROCE_VERBS_CONTEXT_H

#include "device.h"

struct context;

/* 0 or -errno. */
int context_open(struct device *device, struct context **context);
void context_close(struct context *context);

#endif
