/* SPDX-License-Identifier: BSD-3-Clause */
/* Random requests. */
#ifndef UROCE_TESTS_CHOOSE_H
#define UROCE_TESTS_CHOOSE_H

#include "traffic.h"

struct choice {
	struct oracle_request request;
	struct ibv_send_wr wr;
	struct ibv_sge sge[3];
	uint8_t *local;
};

/* Something that works. False: no memory is left for this world. */
bool choose_request(struct traffic *traffic, struct half *half, struct choice *choice);
/* Something small, signaled, that needs no memory. */
void choose_last(struct half *half, struct choice *choice);
/* Something that has to fail (wrong.c). */
void choose_wrong(struct traffic *traffic, struct half *half, struct choice *choice);

/* For both: random bytes in the program's memory; the parts that verbs and the oracle share. */
void choose_bytes(struct world *world, uint8_t *at, uint32_t length);
void choose_seal(struct choice *choice);

#endif
