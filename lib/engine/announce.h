/* SPDX-License-Identifier: BSD-3-Clause */
/* Announcements: clients say which of their queues have work. */
#ifndef UROCE_ENGINE_ANNOUNCE_H
#define UROCE_ENGINE_ANNOUNCE_H

struct worker;

void announce_take(struct worker *worker);

#endif
