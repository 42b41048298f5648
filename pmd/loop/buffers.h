/* SPDX-License-Identifier: BSD-3-Clause */
/* The wire's buffers: one block, made at the start, and a stack of the free ones. */
#ifndef UROCE_LOOP_BUFFERS_H
#define UROCE_LOOP_BUFFERS_H

#include <stdint.h>

enum buffer_owner {
	BUFFER_FREE,
	BUFFER_HELD, /* by the user of a port */
	BUFFER_FLYING,
};

struct loop_buffer {
	enum buffer_owner owner;
	uint32_t end; /* whose port handed it out */
	uint32_t length;
	uint8_t *data;
};

struct buffers {
	uint8_t *memory;
	struct loop_buffer *all;
	struct loop_buffer **stack;
	uint32_t total;
	uint32_t room;
	uint32_t free;
	uint32_t held;
};

/* 0 or -ENOMEM. */
int buffers_init(struct buffers *buffers, uint32_t total, uint32_t room);
void buffers_fini(struct buffers *buffers);
/* NULL: none left. */
struct loop_buffer *buffers_take(struct buffers *buffers, enum buffer_owner owner);
void buffers_give(struct buffers *buffers, struct loop_buffer *buffer);
/* Keeps the count of those held. */
void buffers_pass(struct buffers *buffers, struct loop_buffer *buffer, enum buffer_owner owner);
/* The buffer that a packet's handle names if it is held through this end, else NULL. */
struct loop_buffer *buffers_held(const struct buffers *buffers, void *handle, uint32_t end);

#endif
