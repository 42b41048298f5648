/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_TESTS_SIM_EVENTS_H
#define UROCE_TESTS_SIM_EVENTS_H

#include "traffic.h"

/* Takes the asynchronous events that are there and counts them. */
void events_read(struct traffic *traffic, struct end *end);
/* Arms the limit of an SRQ now and then; tells whether its event is missing. */
void events_srq(struct traffic *traffic, struct end *end);
/* What must have been told about the half, when nothing moves any more. */
void events_judge(struct traffic *traffic, const struct half *half);

#endif
