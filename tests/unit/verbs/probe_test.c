/* SPDX-License-Identifier: BSD-3-Clause */
/* Mapped or not, writable or not, at edges of pages and of the address space. */
#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#include "front.h"
#include "unit.h"

#define PAGES 4u

static uint8_t *map; /* read-write, read-only, nothing, no access */
static size_t page;

static void begin(void)
{
	page = (size_t)sysconf(_SC_PAGESIZE);
	map = mmap(NULL, PAGES * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CU_ASSERT_PTR_NOT_EQUAL_FATAL(map, MAP_FAILED);
	CU_ASSERT_EQUAL(mprotect(map + page, page, PROT_READ), 0);
	CU_ASSERT_EQUAL(munmap(map + 2 * page, page), 0);
	CU_ASSERT_EQUAL(mprotect(map + 3 * page, page, PROT_NONE), 0);
}

static const struct {
	int start, length; /* in bytes from a page's start: see row() */
	unsigned int first_page;
	int read, write;
} rows[] = {
	{0, 1, 0, 0, 0}, {-1, 1, 1, 0, 0}, /* the last byte of the first page */
	{-1, 2, 1, 0, -EFAULT},		   /* and one of the read-only page */
	{0, 1, 1, 0, -EFAULT}, {-1, 1, 2, 0, -EFAULT},
	{-1, 2, 2, -EFAULT, -EFAULT},				  /* into the hole */
	{0, 1, 2, -EFAULT, -EFAULT}, {0, 1, 3, -EFAULT, -EFAULT}, /* PROT_NONE */
};

static void pages(void)
{
	begin();
	for (unsigned int i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const uint8_t *start = map + rows[i].first_page * page + rows[i].start;

		CU_ASSERT_EQUAL(probe_memory(start, (size_t)rows[i].length, false), rows[i].read);
		CU_ASSERT_EQUAL(probe_memory(start, (size_t)rows[i].length, true), rows[i].write);
	}
	munmap(map, PAGES * page);
}

/* The memory is as it was: probing for write writes nothing. */
static void unchanged(void)
{
	begin();
	map[5] = 0x5a;
	CU_ASSERT_EQUAL(probe_memory(map, page, true), 0);
	CU_ASSERT_EQUAL(map[5], 0x5a);
	munmap(map, PAGES * page);
}

static void wrapping(void)
{
	CU_ASSERT_EQUAL(probe_memory((void *)(UINTPTR_MAX - 10), 20, false), -EFAULT);
	CU_ASSERT_EQUAL(probe_memory((void *)(UINTPTR_MAX - 10), 5, false), -EFAULT);
	CU_ASSERT_EQUAL(probe_memory((void *)1, UINTPTR_MAX, false), -EFAULT);
	CU_ASSERT_EQUAL(probe_memory(NULL, 1, false), -EFAULT);
}

static const struct unit_case cases[] = {
	UNIT_CASE(pages),
	UNIT_CASE(unchanged),
	UNIT_CASE(wrapping),
};

UNIT_MAIN("verbs-probe", cases)
