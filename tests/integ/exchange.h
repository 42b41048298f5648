/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Data over a connection, compared: one way of saying that it works. By the calling thread alone;
 * it drives nobody but by polling.
 */
#ifndef UROCE_TESTS_EXCHANGE_H
#define UROCE_TESTS_EXCHANGE_H

#include <pthread.h>

#include "link.h"

#define EXCHANGE_SIZE 20000u /* bytes a message */

/*
 * A SEND, a WRITE and a READ from one end, whose ends' completions come in CQs that nobody else
 * polls. The message's memory is EXCHANGE_SIZE bytes at `out` and at `in` on both nodes. The number
 * of things that were wrong. Not a case's assertions: those are the main thread's.
 */
unsigned int exchange(struct end *from, uint64_t out, uint64_t in, uint32_t seed);

/* A thread that does so, in turns from both ends, until it is told to stop. */
struct stream {
	struct link link;
	struct ibv_cq *cq[2]; /* of each end */
	uint64_t place;	      /* of its memory */
	pthread_t thread;
	uint32_t stop;	/* atomic */
	uint32_t count; /* atomic; exchanges */
	uint32_t wrong; /* atomic */
};

/* The n-th of a process: its place on the nodes. */
void stream_open(struct stream *stream, uint32_t n, struct node *passive, struct node *active);
/* It has made some more exchanges when this returns. */
void stream_flows(struct stream *stream);
/* Nothing was wrong. */
void stream_close(struct stream *stream);

#endif
