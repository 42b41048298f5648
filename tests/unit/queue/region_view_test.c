/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The layout that both sides rely on, with its numbers typed here, and what a front refuses to map.
 * Between two releases a number may change only together with the major version.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "log.h"
#include "views.h"

#define MIB (1ull << 20)

static void record_sizes(void)
{
	CU_ASSERT_EQUAL(sizeof(struct uroce_abi_header), 1280);
	CU_ASSERT_EQUAL(sizeof(struct uroce_abi_ring), 320);
	CU_ASSERT_EQUAL(sizeof(struct uroce_abi_sge), 16);
	CU_ASSERT_EQUAL(sizeof(struct uroce_abi_send_wqe), 64);
	CU_ASSERT_EQUAL(sizeof(struct uroce_abi_recv_wqe), 64);
	CU_ASSERT_EQUAL(sizeof(struct uroce_abi_cqe), 64);
	CU_ASSERT_EQUAL(sizeof(struct uroce_abi_event), 64);
	CU_ASSERT_EQUAL(sizeof(struct uroce_abi_command), 1088);
}

/* Fields of different writers never share a cache line. */
static void lines(void)
{
	static const size_t rows[] = {
		offsetof(struct uroce_abi_ring, fixed),
		offsetof(struct uroce_abi_ring, producer),
		offsetof(struct uroce_abi_ring, consumer),
		offsetof(struct uroce_abi_ring, flag),
		offsetof(struct uroce_abi_ring, engine),
	};
	unsigned int count = sizeof(rows) / sizeof(rows[0]);

	for (unsigned int i = 0; i < count; i++)
		CU_ASSERT_EQUAL(rows[i], i * 64);
	CU_ASSERT_EQUAL(offsetof(struct uroce_abi_header, core[0]), 128);
	CU_ASSERT_EQUAL(offsetof(struct uroce_abi_header, core[1]), 192);
	CU_ASSERT_EQUAL(offsetof(struct uroce_abi_header, doorbell), 128 + 17 * 64);
	CU_ASSERT_EQUAL(offsetof(struct uroce_abi_command, u), 64);
}

static void header_as_written(void)
{
	struct views views;
	const struct uroce_abi_header *header;

	views_open(&views, MIB);
	header = region_header(&views.front);
	CU_ASSERT_EQUAL(memcmp(header, "10-ecoru", 8), 0); /* "uroce-01", little endian */
	CU_ASSERT_EQUAL(header->major, 1);
	CU_ASSERT_EQUAL(header->minor, 0);
	CU_ASSERT_EQUAL(header->features, 0);
	CU_ASSERT_EQUAL(header->line_size, 64);
	CU_ASSERT_EQUAL(header->region_size, MIB);
	CU_ASSERT_EQUAL(views.front.size, MIB);
	CU_ASSERT_EQUAL(views.front.id, VIEWS_ID);
	CU_ASSERT_PTR_NOT_NULL(region_at(&views.front, header->commands, 64 * 1088));
	views_close(&views);
}

/* ---- refusals ---- */

/* The sink of the log has no context of its own. */
static char last_line[512];
static unsigned int lines_logged;

static void keep_line(enum log_level level, const char *line)
{
	CU_ASSERT_EQUAL(level, LOG_ERROR);
	snprintf(last_line, sizeof(last_line), "%s", line);
	lines_logged++;
}

/* Refused, by one line that says so and holds both numbers. */
static void check_refused(int fd, const char *found, const char *expected)
{
	struct region_view view = {.base = NULL, .size = 1234, .id = 5};

	last_line[0] = 0;
	lines_logged = 0;
	log_set_sink(keep_line);
	CU_ASSERT_EQUAL(region_map(fd, &view), -EPROTO);
	log_set_sink(NULL);
	CU_ASSERT_EQUAL(lines_logged, 1);
	CU_ASSERT_PTR_NOT_NULL(strstr(last_line, "refused"));
	CU_ASSERT_PTR_NOT_NULL(strstr(last_line, found));
	CU_ASSERT_PTR_NOT_NULL(strstr(last_line, expected));
	CU_ASSERT_EQUAL(view.size, 1234); /* untouched */
}

#define FIELD(name)                                                                                \
	offsetof(struct uroce_abi_header, name), sizeof(((struct uroce_abi_header *)NULL)->name)

static void other_layouts(void)
{
	static const struct {
		size_t offset;
		size_t size;
		uint64_t value;
		const char *found;
		const char *expected;
	} rows[] = {
		{FIELD(magic), 0, "magic is 0", "0x75726f63652d3031"},
		{FIELD(magic), 0x31302d65636f7275, "0x31302d65636f7275", "0x75726f63652d3031"},
		{FIELD(major), 0, "major version is 0", "this program's is 1 "},
		{FIELD(major), 2, "major version is 2", "this program's is 1 "},
		{FIELD(endian), 0x04030201, "0x4030201", "0x1020304"},
		{FIELD(page_size), 65536, "page size is 65536", "4096"},
		{FIELD(line_size), 128, "line size is 128", "64"},
		{FIELD(header_size), 64, "header size is 64", "1280"},
		{FIELD(command_size), 960, "960", "1088"},
		{FIELD(ring_size), 384, "384", "320"},
		{FIELD(send_wqe_size), 128, "send request size is 128", "64"},
		{FIELD(recv_wqe_size), 32, "receive request size is 32", "64"},
		{FIELD(cqe_size), 32, "completion size is 32", "64"},
		{FIELD(event_size), 8, "event size is 8", "64"},
		{FIELD(region_size), 2 * MIB, "2097152", "1048576"},
		{FIELD(commands), (uint64_t)VIEWS_ID << 48 | (MIB - 64), "0x70000000fffc0",
			"1048576"},
		{FIELD(commands), 0, "0x0", "1048576"},
	};
	struct views views;

	views_open(&views, MIB);
	for (unsigned int i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		uint8_t *field = views.engine->base + rows[i].offset;
		uint64_t saved;

		memcpy(&saved, field, rows[i].size);
		memcpy(field, &rows[i].value, rows[i].size);
		check_refused(region_fd(views.region), rows[i].found, rows[i].expected);
		memcpy(field, &saved, rows[i].size);
	}
	views_close(&views);
}

/* A later minor version and its features are none of our business. */
static void later_minor(void)
{
	struct views views;
	struct region_view view;

	views_open(&views, MIB);
	region_header(views.engine)->minor = 99;
	region_header(views.engine)->features = UINT64_MAX;
	CU_ASSERT_EQUAL_FATAL(region_map(region_fd(views.region), &view), 0);
	region_unmap(&view);
	CU_ASSERT_PTR_NULL(view.base);
	region_unmap(&view);
	views_close(&views);
}

static void too_small(void)
{
	static const struct {
		int64_t size;
		const char *found;
	} rows[] = {{0, "0 bytes"}, {8, "8 bytes"}, {1215, "1215 bytes"}};

	for (unsigned int i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		int fd = memfd_create("small", MFD_CLOEXEC);

		CU_ASSERT_EQUAL_FATAL(ftruncate(fd, rows[i].size), 0);
		check_refused(fd, rows[i].found, "1280");
		close(fd);
	}
}

static void no_file(void)
{
	struct region_view view = {0};
	int ends[2];

	CU_ASSERT_EQUAL(region_map(-1, &view), -EBADF);
	CU_ASSERT_EQUAL_FATAL(pipe(ends), 0);
	log_set_sink(keep_line);
	CU_ASSERT_EQUAL(region_map(ends[0], &view), -EPROTO);
	log_set_sink(NULL);
	close(ends[0]);
	close(ends[1]);
}

/* ---- references ---- */

#define REF(id, offset) ((uint64_t)(id) << 48 | (offset))

static void references(void)
{
	static const struct {
		uroce_abi_ref ref;
		uint64_t size;
		bool inside;
	} rows[] = {
		{0, 0, false},
		{0, 64, false},
		{REF(VIEWS_ID, 0), 64, true},
		{REF(VIEWS_ID, 64), MIB - 64, true},
		{REF(VIEWS_ID, 64), MIB - 63, false},
		{REF(VIEWS_ID, MIB - 1), 1, true},
		{REF(VIEWS_ID, MIB - 1), 2, false},
		{REF(VIEWS_ID, MIB), 0, true},
		{REF(VIEWS_ID, MIB), 1, false},
		{REF(VIEWS_ID, MIB + 1), 0, false},
		{REF(VIEWS_ID, MIB + 64), 64, false},
		{REF(VIEWS_ID, 64), UINT64_MAX, false},
		{REF(VIEWS_ID, 64), UINT64_MAX - 63, false},
		{REF(VIEWS_ID, 0xffffffffffff), 1, false},
		{REF(VIEWS_ID + 1, 64), 64, false},
		{REF(VIEWS_ID - 1, 64), 64, false},
		{64, 64, false},
	};
	struct views views;

	views_open(&views, MIB);
	for (unsigned int i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		uint8_t *at = region_at(&views.front, rows[i].ref, rows[i].size);

		CU_ASSERT_EQUAL(at != NULL, rows[i].inside);
		if (at)
			CU_ASSERT_EQUAL(
				at - views.front.base, (ptrdiff_t)(rows[i].ref & 0xffffffffffff));
	}
	views_close(&views);
}

static const struct unit_case cases[] = {
	UNIT_CASE(record_sizes),
	UNIT_CASE(lines),
	UNIT_CASE(header_as_written),
	UNIT_CASE(other_layouts),
	UNIT_CASE(later_minor),
	UNIT_CASE(too_small),
	UNIT_CASE(no_file),
	UNIT_CASE(references),
};

UNIT_MAIN("queue-region_view", cases)
