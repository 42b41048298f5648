/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Is a range of this process's memory there? The engine reads and writes it by plain instructions,
 * so it has to be, before its key is given out (ibv_reg_mr of unmapped memory: EFAULT).
 */
#include <errno.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#include "front.h"

/* For kernels older than 5.14, that is all there is: mapped or not. A byte a page is the answer. */
static int probe_mapped(uint8_t *start, size_t length, size_t page)
{
	unsigned char pages[1024];
	size_t step = sizeof(pages) * page;

	for (size_t done = 0; done < length; done += step)
		if (mincore(start + done, length - done < step ? length - done : step, pages))
			return -EFAULT;
	return 0;
}

/* Do we have the calls? Our own stack is readable. */
static bool can_populate(size_t page)
{
	uint8_t here;
	uintptr_t start = (uintptr_t)&here & ~(uintptr_t)(page - 1);

	return madvise((void *)start, page, MADV_POPULATE_READ) == 0;
}

/*
 * MADV_POPULATE_* (man madvise) brings the pages in, as pinning them does on an RNIC, and tells
 * unmapped memory (ENOMEM) from memory without the permission (EINVAL; an old kernel says so, too).
 */
int probe_memory(const void *address, size_t length, bool write)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	uintptr_t start = (uintptr_t)address & ~(uintptr_t)(page - 1);
	uintptr_t end;

	if (__builtin_add_overflow((uintptr_t)address, length, &end) || end > UINTPTR_MAX - page)
		return -EFAULT;
	end = (end + page - 1) & ~(uintptr_t)(page - 1);
	if (madvise((void *)start, end - start, write ? MADV_POPULATE_WRITE : MADV_POPULATE_READ) ==
		0)
		return 0;
	if (errno != EINVAL || can_populate(page))
		return -EFAULT;
	return probe_mapped((uint8_t *)start, end - start, page);
}
