/* SPDX-License-Identifier: BSD-3-Clause */
/* The region's memory and its allocator. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "random.h"
#include "views.h"

#define MIB (1ull << 20)

/* Two mappings of the same memory: what one side writes, the other sees. */
static void two_views(void)
{
	struct views views;
	uroce_abi_ref ref;
	uint64_t *engine, *front;

	views_open(&views, MIB);
	ref = region_alloc(views.region, 4096);
	engine = region_at(views.engine, ref, 4096);
	front = region_at(&views.front, ref, 4096);
	CU_ASSERT_PTR_NOT_NULL_FATAL(engine);
	CU_ASSERT_PTR_NOT_NULL_FATAL(front);
	engine[3] = 0x1122334455667788ull;
	CU_ASSERT_EQUAL(front[3], 0x1122334455667788ull);
	front[511] = 0x99;
	CU_ASSERT_EQUAL(engine[511], 0x99);
	CU_ASSERT_EQUAL(ref >> 48, VIEWS_ID);
	region_free(views.region, ref, 4096);
	views_close(&views);
}

static void create_refuses(void)
{
	static const struct {
		uint64_t size;
		uint32_t id;
		int error;
	} rows[] = {
		{0, 1, -ENOMEM},
		{4096, 1, -ENOMEM},	  /* a header and no commands */
		{MIB, 65536, -EINVAL},	  /* ids have 16 bits */
		{1ull << 48, 1, -EINVAL}, /* offsets have 48 */
		{UINT64_MAX, 1, -EINVAL},
	};

	for (unsigned int i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		for (int memfd = 0; memfd < 2; memfd++) {
			struct region *region = NULL;

			CU_ASSERT_EQUAL(region_create(rows[i].size, memfd, rows[i].id, &region),
				rows[i].error);
			CU_ASSERT_PTR_NULL(region);
		}
}

/* In one process there is no descriptor; all else is the same. */
static void anonymous(void)
{
	struct region *region;
	uroce_abi_ref ref;

	CU_ASSERT_EQUAL_FATAL(region_create(MIB + 1, false, 65535, &region), 0);
	CU_ASSERT_EQUAL(region_fd(region), -1);
	CU_ASSERT_EQUAL(region_engine_view(region)->size, MIB + 4096);
	CU_ASSERT_EQUAL(region_check(region_engine_view(region)), 0);
	ref = region_alloc(region, 64);
	CU_ASSERT_EQUAL(ref >> 48, 65535);
	CU_ASSERT_PTR_NOT_NULL(region_at(region_engine_view(region), ref, 64));
	region_destroy(region);
}

/* Address space is reserved, memory comes with use: 256 GiB cost next to nothing. */
static void reserves_only(void)
{
	struct region *region;
	struct stat status;

	CU_ASSERT_EQUAL_FATAL(region_create(1ull << 38, true, 1, &region), 0);
	CU_ASSERT_NOT_EQUAL(region_alloc(region, 1ull << 37), 0);
	CU_ASSERT_EQUAL(fstat(region_fd(region), &status), 0);
	CU_ASSERT_EQUAL(status.st_size, 1ll << 38);
	CU_ASSERT_TRUE(status.st_blocks * 512 <= 4 << 20);
	region_destroy(region);
}

/* A client that holds the descriptor cannot take memory away under the engine. */
static void sealed(void)
{
	struct views views;

	views_open(&views, MIB);
	CU_ASSERT_EQUAL(ftruncate(region_fd(views.region), 4096), -1);
	CU_ASSERT_EQUAL(errno, EPERM);
	CU_ASSERT_EQUAL(ftruncate(region_fd(views.region), 2 * MIB), -1);
	CU_ASSERT_EQUAL(errno, EPERM);
	CU_ASSERT_EQUAL(fcntl(region_fd(views.region), F_ADD_SEALS, F_SEAL_WRITE), -1);
	CU_ASSERT_EQUAL(errno, EPERM);
	views_close(&views);
}

/*
 * man msync: ENOMEM, the memory was not mapped. In a child, something else may have taken the place
 * (a sanitizer's memory does).
 */
static bool mapped(const struct region_view *view)
{
	return msync(view->base, 4096, MS_ASYNC) == 0 &&
		region_header(view)->magic == UROCE_ABI_MAGIC;
}

static void not_in_a_child(void)
{
	struct views views;
	int status = -1;
	pid_t child;

	views_open(&views, MIB);
	CU_ASSERT_TRUE(mapped(views.engine));
	CU_ASSERT_TRUE(mapped(&views.front));
	child = fork();
	if (child == 0)
		_exit(mapped(views.engine) || mapped(&views.front));
	CU_ASSERT_EQUAL(waitpid(child, &status, 0), child);
	CU_ASSERT_EQUAL(status, 0);
	views_close(&views);
}

/* size, what it counts for, alignment */
static void sizes(void)
{
	static const struct {
		uint64_t size;
		uint64_t used;
		uint64_t align;
	} rows[] = {
		{1, 64, 64},
		{64, 64, 64},
		{65, 128, 64},
		{320, 512, 64},
		{4095, 4096, 64},
		{4096, 4096, 4096},
		{4097, 8192, 4096},
		{100000, 131072, 4096},
		{MIB, MIB, 4096},
		{MIB + 1, 2 * MIB, 4096},
	};
	struct views views;

	views_open(&views, 16 * MIB);
	for (unsigned int i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		uint64_t before = region_used(views.region);
		uroce_abi_ref ref = region_alloc(views.region, rows[i].size);

		CU_ASSERT_NOT_EQUAL(ref, 0);
		CU_ASSERT_EQUAL(region_used(views.region) - before, rows[i].used);
		CU_ASSERT_EQUAL((ref & 0xffffffffffffull) % rows[i].align, 0);
		CU_ASSERT_PTR_NOT_NULL(region_at(&views.front, ref, rows[i].size));
		region_free(views.region, ref, rows[i].size);
		CU_ASSERT_EQUAL(region_used(views.region), before);
	}
	CU_ASSERT_EQUAL(region_alloc(views.region, 17 * MIB), 0);
	CU_ASSERT_EQUAL(region_alloc(views.region, 1ull << 47), 0);
	CU_ASSERT_EQUAL(region_alloc(views.region, (1ull << 47) + 1), 0);
	CU_ASSERT_EQUAL(region_alloc(views.region, UINT64_MAX), 0);
	region_free(views.region, 0, 64);
	views_close(&views);
}

static bool all_zero(const uint8_t *bytes, uint64_t size)
{
	while (size > 0 && *bytes == 0) {
		bytes++;
		size--;
	}
	return size == 0;
}

/* Small blocks are cleared, large ones get new pages; both views see zeros. */
static void zeroed_again(void)
{
	static const uint64_t rows[] = {64, 1000, 4096, 65535, 65536, 3 * 65536, MIB};
	struct views views;

	views_open(&views, 16 * MIB);
	for (unsigned int i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		uroce_abi_ref first = region_alloc(views.region, rows[i]);
		uroce_abi_ref second;

		memset(region_at(&views.front, first, rows[i]), 0xa5, rows[i]);
		region_free(views.region, first, rows[i]);
		second = region_alloc(views.region, rows[i]);
		CU_ASSERT_EQUAL(second, first);
		CU_ASSERT_TRUE(all_zero(region_at(views.engine, second, rows[i]), rows[i]));
		CU_ASSERT_TRUE(all_zero(region_at(&views.front, second, rows[i]), rows[i]));
		region_free(views.region, second, rows[i]);
	}
	views_close(&views);
}

/* The kind without a descriptor gives pages back in another way. */
static void zeroed_again_anonymous(void)
{
	struct region *region;
	uroce_abi_ref ref;

	CU_ASSERT_EQUAL_FATAL(region_create(16 * MIB, false, 1, &region), 0);
	ref = region_alloc(region, MIB);
	memset(region_at(region_engine_view(region), ref, MIB), 0xa5, MIB);
	region_free(region, ref, MIB);
	CU_ASSERT_EQUAL(region_alloc(region, MIB), ref);
	CU_ASSERT_TRUE(all_zero(region_at(region_engine_view(region), ref, MIB), MIB));
	region_destroy(region);
}

/* A region of 1 MiB would be full after a few rounds if a round left anything behind. */
static void loop_without_growth(void)
{
	struct views views;
	uint64_t size = 0;
	unsigned int failed = 0;

	views_open(&views, MIB);
	for (unsigned int i = 0; i < 100000; i++) {
		uroce_abi_ref a = region_alloc(views.region, 320);
		uroce_abi_ref b = region_alloc(views.region, 64 + size % 20000);
		uroce_abi_ref c = region_alloc(views.region, 40000);

		failed += !a || !b || !c;
		region_free(views.region, b, 64 + size % 20000);
		region_free(views.region, a, 320);
		region_free(views.region, c, 40000);
		size += 4099;
	}
	CU_ASSERT_EQUAL(failed, 0);
	views_close(&views);
}

/* Full is full, without harm; what is freed can be had again. */
static void exhausted(void)
{
	struct views views;
	uroce_abi_ref refs[512];
	unsigned int count = 0;

	views_open(&views, MIB);
	while (count < 512 && (refs[count] = region_alloc(views.region, 4096)))
		count++;
	CU_ASSERT_TRUE(count > 128 && count < 256);
	CU_ASSERT_EQUAL(region_alloc(views.region, 64), 0);
	region_free(views.region, refs[--count], 4096);
	CU_ASSERT_EQUAL(region_alloc(views.region, 8192), 0);
	refs[count] = region_alloc(views.region, 4000);
	CU_ASSERT_NOT_EQUAL(refs[count++], 0);
	while (count > 0)
		region_free(views.region, refs[--count], 4096);
	views_close(&views);
}

#define BLOCKS 300u

struct block {
	uroce_abi_ref ref;
	uint64_t size;
	uint8_t mark;
};

static bool holds_mark(const struct region_view *view, const struct block *block)
{
	const uint8_t *bytes = region_at(view, block->ref, block->size);

	for (uint64_t i = 0; i < block->size; i++)
		if (bytes[i] != block->mark)
			return false;
	return true;
}

/* Blocks that live at the same time don't overlap: each keeps the mark it was filled with. */
static void no_overlap(void)
{
	struct block blocks[BLOCKS] = {0};
	struct random random;
	struct views views;
	unsigned int wrong = 0;

	random_seed(&random, 20240611);
	views_open(&views, 16 * MIB);
	for (unsigned int i = 0; i < 20000; i++) {
		struct block *block = &blocks[random_below(&random, BLOCKS)];

		if (block->ref) {
			wrong += !holds_mark(views.engine, block);
			region_free(views.region, block->ref, block->size);
			block->ref = 0;
			continue;
		}
		block->size = 1 + random_below(&random, 1u << random_below(&random, 15));
		block->mark = (uint8_t)random_next(&random);
		block->ref = region_alloc(views.region, block->size);
		wrong += !block->ref;
		if (block->ref)
			memset(region_at(&views.front, block->ref, block->size), block->mark,
				block->size);
	}
	CU_ASSERT_EQUAL(wrong, 0);
	for (unsigned int i = 0; i < BLOCKS; i++)
		region_free(views.region, blocks[i].ref, blocks[i].size);
	views_close(&views);
}

static void *alloc_loop(void *argument)
{
	struct region *region = argument;
	uintptr_t failed = 0;

	for (unsigned int i = 0; i < 20000; i++) {
		uroce_abi_ref ref = region_alloc(region, 320);
		uint32_t *word = region_at(region_engine_view(region), ref, 320);

		failed += !word || *word;
		if (word)
			*word = i + 1;
		region_free(region, ref, 320);
	}
	return (void *)failed;
}

static void two_threads(void)
{
	struct views views;
	pthread_t threads[2];
	void *failed;

	views_open(&views, MIB);
	for (unsigned int i = 0; i < 2; i++)
		CU_ASSERT_EQUAL_FATAL(
			pthread_create(&threads[i], NULL, alloc_loop, views.region), 0);
	for (unsigned int i = 0; i < 2; i++) {
		pthread_join(threads[i], &failed);
		CU_ASSERT_PTR_NULL(failed);
	}
	views_close(&views);
}

static const struct unit_case cases[] = {
	UNIT_CASE(two_views),
	UNIT_CASE(create_refuses),
	UNIT_CASE(anonymous),
	UNIT_CASE(reserves_only),
	UNIT_CASE(sealed),
	UNIT_CASE(not_in_a_child),
	UNIT_CASE(sizes),
	UNIT_CASE(zeroed_again),
	UNIT_CASE(zeroed_again_anonymous),
	UNIT_CASE(loop_without_growth),
	UNIT_CASE(exhausted),
	UNIT_CASE(no_overlap),
	UNIT_CASE(two_threads),
};

UNIT_MAIN("queue-region", cases)
