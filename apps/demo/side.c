/* SPDX-License-Identifier: BSD-3-Clause */
/* One side's device and memory; checks that count. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include <uroce/uroce.h>

#include "demo.h"

static const char *name_of(const struct side *side)
{
	return side->active ? "active " : "passive";
}

bool check(struct side *side, bool good, const char *format, ...)
{
	va_list arguments;

	if (good)
		side->passed++;
	else
		side->failed++;
	printf("%s  %s  ", name_of(side), good ? "ok    " : "FAILED");
	va_start(arguments, format);
	vprintf(format, arguments);
	va_end(arguments);
	putchar('\n');
	return good;
}

void say(const struct side *side, const char *format, ...)
{
	va_list arguments;

	printf("%s          ", name_of(side));
	va_start(arguments, format);
	vprintf(format, arguments);
	va_end(arguments);
	putchar('\n');
}

void die(const char *format, ...)
{
	va_list arguments;

	fputs("uroce-demo: ", stderr);
	va_start(arguments, format);
	vfprintf(stderr, format, arguments);
	va_end(arguments);
	fputc('\n', stderr);
	exit(1);
}

double seconds_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* The first uroce device; a machine may have others. */
static struct ibv_context *open_device(void)
{
	int count = 0;
	struct ibv_device **devices = ibv_get_device_list(&count);
	struct ibv_context *context = NULL;

	if (!devices)
		die("no list of devices");
	for (int i = 0; i < count && !context; i++)
		if (uroce_is_device(devices[i]))
			context = ibv_open_device(devices[i]);
	ibv_free_device_list(devices);
	if (!context)
		die("no uroce device could be opened");
	return context;
}

void side_open(struct side *side)
{
	const size_t size = 2ull * DEMO_FILE_SIZE;

	side->context = open_device();
	side->pd = ibv_alloc_pd(side->context);
	side->memory = aligned_alloc(4096, size);
	if (!side->pd || !side->memory)
		die("no protection domain or no memory");
	for (size_t i = 0; i < size; i += 4096)
		side->memory[i] = 0;
	side->mr = ibv_reg_mr(side->pd, side->memory, size,
		IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
			IBV_ACCESS_REMOTE_ATOMIC);
	if (!side->mr)
		die("the memory could not be registered");
	side->idle = ibv_create_cq(side->context, 1, NULL, NULL, 0);
	if (!side->idle)
		die("no completion queue");
}

void side_drive(struct side *side)
{
	struct ibv_wc wc;

	ibv_poll_cq(side->idle, 1, &wc);
}

void side_close(struct side *side)
{
	ibv_destroy_cq(side->idle);
	ibv_dereg_mr(side->mr);
	ibv_dealloc_pd(side->pd);
	ibv_close_device(side->context);
	free(side->memory);
	close(side->socket);
}
