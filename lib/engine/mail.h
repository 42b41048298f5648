/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What cores have to tell each other besides packets: a command for a QP of another core, a CQ that
 * overran. Both are rare, and stand under the control lock; what is frequent is the look at one
 * word.
 */
#ifndef UROCE_ENGINE_MAIL_H
#define UROCE_ENGINE_MAIL_H

#include <stdbool.h>

struct command;
struct engine_cq;
struct worker;

/* The command runs in the next round of that core. Under the control lock. */
void mail_command(struct worker *to, struct command *command);
/* The other cores fail their QPs of the CQ. Without the control lock. */
void mail_failed_cq(struct worker *from, struct engine_cq *cq);
/* There may be some. */
bool mail_waits(const struct worker *worker);
/* The next command, or NULL; takes failed CQs to the worker's own list first. Under the control
 * lock. */
struct command *mail_take(struct worker *worker);

#endif
