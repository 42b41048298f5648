/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A file of 64 MiB in messages of 1 MiB, by SEND, by WRITE and by READ. What arrived is written to
 * files, which apps/demo/run compares with sha256sum.
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "demo.h"

#define CHUNKS (DEMO_FILE_SIZE / DEMO_CHUNK)

static void file_name(const struct side *side, const char *name, char *path, size_t size)
{
	if ((size_t)snprintf(path, size, "%s/%s", side->folder, name) >= size)
		die("%s: name too long", side->folder);
}

static void load(struct side *side)
{
	char path[4096];
	size_t done = 0;
	int fd;

	file_name(side, "file", path, sizeof(path));
	fd = open(path, O_RDONLY);
	while (fd >= 0 && done < DEMO_FILE_SIZE) {
		ssize_t n = read(fd, side->memory + done, DEMO_FILE_SIZE - done);

		if (n <= 0)
			break;
		done += (size_t)n;
	}
	if (done != DEMO_FILE_SIZE)
		die("%s: 64 MiB could not be read", path);
	close(fd);
}

static void store(const struct side *side, const char *name, const uint8_t *from)
{
	char path[4096];
	size_t done = 0;
	int fd;

	file_name(side, name, path, sizeof(path));
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	while (fd >= 0 && done < DEMO_FILE_SIZE) {
		ssize_t n = write(fd, from + done, DEMO_FILE_SIZE - done);

		if (n <= 0)
			break;
		done += (size_t)n;
	}
	if (done != DEMO_FILE_SIZE || close(fd) != 0)
		die("%s: 64 MiB could not be written", path);
}

/* All chunks at once; then as many completions as were asked for. Returns MB/s. */
static double move(struct link *link, enum ibv_wr_opcode opcode, uint64_t local)
{
	double start = seconds_now();
	struct ibv_wc wc;

	for (uint32_t i = 0; i < CHUNKS; i++)
		if (post_send(link, opcode, i, local + (uint64_t)i * DEMO_CHUNK, DEMO_CHUNK,
			    (uint64_t)i * DEMO_CHUNK, true) != 0)
			die("ibv_post_send failed");
	for (uint32_t i = 0; i < CHUNKS; i++) {
		must_complete(link, &wc);
		if (wc.wr_id != i)
			die("completions out of order");
	}
	return DEMO_FILE_SIZE / (seconds_now() - start) / 1e6;
}

static void receive_chunks(struct link *link)
{
	struct ibv_wc wc;

	for (uint32_t i = 0; i < CHUNKS; i++) {
		must_complete(link, &wc);
		if (wc.wr_id != i || wc.byte_len != DEMO_CHUNK)
			die("chunk %u arrived wrong", i);
	}
}

static void by_send(struct link *link)
{
	struct side *side = link->side;

	if (!side->active)
		for (uint32_t i = 0; i < CHUNKS; i++)
			if (post_recv(link, i, (uint64_t)i * DEMO_CHUNK, DEMO_CHUNK) != 0)
				die("ibv_post_recv failed");
	meet(side);
	if (side->active) {
		double rate = move(link, IBV_WR_SEND, 0);

		check(side, true,
			"64 MiB sent by SEND: 64 messages of 1 MiB, all acknowledged (%.0f MB/s)",
			rate);
	} else {
		receive_chunks(link);
		check(side, true, "64 receives completed, in order, 1 MiB each");
	}
	meet(side);
	if (!side->active) {
		store(side, "by-send", side->memory);
		memset(side->memory, 0, DEMO_FILE_SIZE);
	}
	meet(side);
}

/* The passive side does nothing: its engine places the bytes. */
static void by_write(struct link *link)
{
	struct side *side = link->side;

	if (side->active) {
		double rate = move(link, IBV_WR_RDMA_WRITE, 0);

		check(side, true,
			"64 MiB written into the passive side's memory by WRITE (%.0f MB/s)", rate);
	}
	meet(side);
	if (!side->active)
		store(side, "by-write", side->memory);
	meet(side);
}

static void by_read(struct link *link)
{
	struct side *side = link->side;

	if (side->active) {
		double rate = move(link, IBV_WR_RDMA_READ, DEMO_FILE_SIZE);

		check(side, true, "64 MiB read back from there by READ (%.0f MB/s)", rate);
		store(side, "by-read", side->memory + DEMO_FILE_SIZE);
	}
	meet(side);
}

void show_file(struct side *side)
{
	struct link link;

	say(side, "A file of 64 MiB over one connection (path MTU 4096)");
	if (side->active)
		load(side);
	link_open(&link, side, REACH_RTS);
	by_send(&link);
	by_write(&link);
	by_read(&link);
	link_close(&link);
}
