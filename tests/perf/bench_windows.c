/* SPDX-License-Identifier: BSD-3-Clause */
/* Many short measurements instead of one long one, and what is told of them. */
#include <stdlib.h>

#include "bench.h"

#define WINDOWS_MIN 5u
#define WIDTH_SECONDS 0.01

static int compare_rates(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static int compare_ticks(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

struct windows *windows_new(double hz)
{
	struct windows *windows = calloc(1, sizeof(*windows));

	if (!windows)
		die("no memory");
	windows->hz = hz;
	windows->width = (uint64_t)(hz * WIDTH_SECONDS);
	return windows;
}

void windows_add(struct windows *windows, uint64_t now, uint64_t total)
{
	uint64_t ticks = now - windows->start;

	if (windows->start != 0 && ticks < windows->width)
		return;
	if (windows->start != 0 && windows->count < WINDOWS_MAX)
		windows->rates[windows->count++] =
			(double)(total - windows->total) * windows->hz / (double)ticks;
	windows->start = now;
	windows->total = total;
}

void windows_report(struct windows *windows, struct side *side, double scale)
{
	struct result *result = &side->shared->result;
	uint32_t n = windows->count;

	if (n < WINDOWS_MIN)
		quit(STATUS_STARVED,
			"only %u windows of time were measured: other load took the "
			"CPUs (--seconds gives it more)",
			n);
	qsort(windows->rates, n, sizeof(windows->rates[0]), compare_rates);
	result->median = windows->rates[n / 2] * scale;
	result->p90 = windows->rates[n * 9ull / 10] * scale;
	result->best = windows->rates[n - 1] * scale;
	result->samples = n;
	free(windows);
}

struct samples *samples_new(void)
{
	struct samples *samples = calloc(1, sizeof(*samples));

	if (samples)
		samples->ticks = calloc(SAMPLES_MAX, sizeof(samples->ticks[0]));
	if (!samples || !samples->ticks)
		die("no memory");
	return samples;
}

void samples_report(struct samples *samples, struct side *side, double hz)
{
	struct result *result = &side->shared->result;
	double scale = 1e6 / hz / 2; /* one way */
	uint32_t n = samples->count;

	if (n == 0)
		die("nothing came back");
	qsort(samples->ticks, n, sizeof(samples->ticks[0]), compare_ticks);
	result->median = (double)samples->ticks[n / 2] * scale;
	result->p90 = (double)samples->ticks[n * 99ull / 100] * scale;
	result->best = (double)samples->ticks[0] * scale;
	result->samples = n;
	free(samples->ticks);
	free(samples);
}
