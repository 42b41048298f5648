/* SPDX-License-Identifier: BSD-3-Clause */
/* The wire's buffers. Who has one is written on it, so that a second release is noticed. */
#include <errno.h>
#include <stdlib.h>

#include "buffers.h"

int buffers_init(struct buffers *buffers, uint32_t total, uint32_t room)
{
	*buffers = (struct buffers){.total = total, .room = room, .free = total};
	buffers->memory = malloc((size_t)total * room);
	buffers->all = calloc(total, sizeof(*buffers->all));
	buffers->stack = calloc(total, sizeof(void *));
	if (!buffers->memory || !buffers->all || !buffers->stack) {
		buffers_fini(buffers);
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < total; i++) {
		buffers->all[i].data = buffers->memory + (size_t)i * room;
		buffers->stack[i] = &buffers->all[total - 1 - i];
	}
	return 0;
}

void buffers_fini(struct buffers *buffers)
{
	free(buffers->memory);
	free(buffers->all);
	free(buffers->stack);
}

void buffers_pass(struct buffers *buffers, struct loop_buffer *buffer, enum buffer_owner owner)
{
	if (buffer->owner == BUFFER_HELD)
		buffers->held--;
	if (owner == BUFFER_HELD)
		buffers->held++;
	buffer->owner = owner;
}

struct loop_buffer *buffers_take(struct buffers *buffers, enum buffer_owner owner)
{
	struct loop_buffer *buffer;

	if (buffers->free == 0)
		return NULL;
	buffer = buffers->stack[--buffers->free];
	buffers_pass(buffers, buffer, owner);
	return buffer;
}

void buffers_give(struct buffers *buffers, struct loop_buffer *buffer)
{
	buffers_pass(buffers, buffer, BUFFER_FREE);
	buffers->stack[buffers->free++] = buffer;
}

struct loop_buffer *buffers_held(const struct buffers *buffers, void *handle, uint32_t end)
{
	struct loop_buffer *buffer = handle;

	if (buffer < buffers->all || buffer >= buffers->all + buffers->total)
		return NULL;
	return buffer->owner == BUFFER_HELD && buffer->end == end ? buffer : NULL;
}
