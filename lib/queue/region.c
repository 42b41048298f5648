/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The region, the engine's side: its memory, its header, and the allocator.
 *
 * The allocator hands out blocks of a power of two. A block that is freed goes to its class's list
 * and is given out again before new memory is carved, so that creating and destroying objects in a
 * loop doesn't grow. The lists lie in private memory and are large enough for all blocks ever
 * carved, so that freeing cannot fail.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "region.h"

#define CLASS_SHIFT 6u /* the smallest block: a cache line */
#define CLASSES 42u    /* the largest: 2^47 */
#define OFFSET_BITS 48u
#define HUGE_PAGE (2ull << 20)
/* Blocks that are cleared by giving their pages back: a new page costs less than it would to keep
 * all of a large ring resident that hardly anybody fills. */
#define DISCARD_MIN (64u << 10)

_Static_assert(sizeof(struct uroce_abi_send_wqe) == 64, "send record");
_Static_assert(sizeof(struct uroce_abi_recv_wqe) == 64, "receive record");
_Static_assert(sizeof(struct uroce_abi_ring) == 5 * 64, "one line a writer");

struct free_list {
	uint64_t *offsets;
	uint32_t count;
	uint32_t carved;
};

struct region {
	struct region_view view;
	int fd;
	uint64_t page;
	pthread_mutex_t lock; /* for what follows */
	uint64_t top;	      /* carved up to here; what lies above was never given out */
	uint64_t used;
	struct free_list lists[CLASSES];
};

static uint64_t round_up(uint64_t value, uint64_t to)
{
	return (value + to - 1) & ~(to - 1);
}

/*
 * Sealed: a client that gets the descriptor cannot shrink the file, which would turn the engine's
 * next access into SIGBUS (man fcntl, F_SEAL_SHRINK).
 */
static int open_memfd(uint64_t size)
{
	int fd = memfd_create("uroce-region", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	if (fd < 0)
		return -errno;
	if (ftruncate(fd, (off_t)size) ||
		fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)) {
		int error = -errno;

		close(fd);
		return error;
	}
	return fd;
}

/* At an address that huge pages fit. The surplus of the reservation is given back. */
static int map_memory(struct region *region)
{
	int flags = MAP_FIXED | MAP_NORESERVE |
		(region->fd < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED);
	uint64_t size = region->view.size;
	uint8_t *reserved = mmap(NULL, size + HUGE_PAGE, PROT_NONE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	uint64_t skip;
	int error;

	if (reserved == MAP_FAILED)
		return -errno;
	skip = -(uintptr_t)reserved & (HUGE_PAGE - 1);
	if (mmap(reserved + skip, size, PROT_READ | PROT_WRITE, flags, region->fd, 0) ==
		MAP_FAILED) {
		error = -errno;
		munmap(reserved, size + HUGE_PAGE);
		return error;
	}
	if (skip)
		munmap(reserved, skip);
	munmap(reserved + skip + size, HUGE_PAGE - skip);
	region->view.base = reserved + skip;
	return 0;
}

/*
 * Huge pages are a wish that the kernel may refuse. A child of fork() has no region: its contexts
 * are dead, and its writes cannot reach the parent's queues.
 */
static int advise_memory(const struct region *region)
{
	madvise(region->view.base, region->view.size, MADV_HUGEPAGE);
	return madvise(region->view.base, region->view.size, MADV_DONTFORK) ? -errno : 0;
}

static int write_header(struct region *region)
{
	struct uroce_abi_header *header = region_header(&region->view);

	header->magic = UROCE_ABI_MAGIC;
	header->major = UROCE_ABI_MAJOR;
	header->minor = UROCE_ABI_MINOR;
	header->endian = UROCE_ABI_ENDIAN;
	header->page_size = (uint32_t)region->page;
	header->line_size = UROCE_ABI_LINE;
	header->header_size = sizeof(struct uroce_abi_header);
	header->command_size = sizeof(struct uroce_abi_command);
	header->ring_size = sizeof(struct uroce_abi_ring);
	header->send_wqe_size = sizeof(struct uroce_abi_send_wqe);
	header->recv_wqe_size = sizeof(struct uroce_abi_recv_wqe);
	header->cqe_size = sizeof(struct uroce_abi_cqe);
	header->event_size = sizeof(struct uroce_abi_event);
	header->region_size = region->view.size;
	header->commands =
		region_alloc(region, UROCE_ABI_COMMANDS * sizeof(struct uroce_abi_command));
	return header->commands ? 0 : -ENOMEM;
}

static int open_memory(struct region *region, bool memfd)
{
	int error;

	region->fd = -1;
	if (memfd) {
		region->fd = open_memfd(region->view.size);
		if (region->fd < 0)
			return region->fd;
	}
	error = map_memory(region);
	if (!error)
		error = advise_memory(region);
	return error ? error : write_header(region);
}

int region_create(uint64_t size, bool memfd, uint32_t id, struct region **created)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	struct region *region;
	int error;

	if (id > UINT16_MAX || size > (1ull << OFFSET_BITS) - page)
		return -EINVAL;
	region = calloc(1, sizeof(*region));
	if (!region)
		return -ENOMEM;
	pthread_mutex_init(&region->lock, NULL);
	region->page = page;
	region->view.size = round_up(size, page);
	region->view.id = id;
	region->top = round_up(sizeof(struct uroce_abi_header), page);
	if (region->view.size < region->top) {
		region_destroy(region);
		return -ENOMEM;
	}
	error = open_memory(region, memfd);
	if (error) {
		region_destroy(region);
		return error;
	}
	*created = region;
	return 0;
}

void region_destroy(struct region *region)
{
	if (!region)
		return;
	if (region->view.base)
		munmap(region->view.base, region->view.size);
	if (region->fd >= 0)
		close(region->fd);
	for (unsigned int i = 0; i < CLASSES; i++)
		free(region->lists[i].offsets);
	pthread_mutex_destroy(&region->lock);
	free(region);
}

const struct region_view *region_engine_view(const struct region *region)
{
	return &region->view;
}

int region_fd(const struct region *region)
{
	return region->fd;
}

/* CLASSES for a size that no block has. */
static unsigned int class_of(uint64_t size)
{
	if (size <= 1u << CLASS_SHIFT)
		return 0;
	if (size > 1ull << (CLASS_SHIFT + CLASSES - 1))
		return CLASSES;
	return 64u - (unsigned int)__builtin_clzll(size - 1) - CLASS_SHIFT;
}

/* Room in the list for all blocks of the class, `more` of them new. */
static bool grow_list(struct free_list *list, uint32_t more)
{
	uint64_t *offsets = realloc(list->offsets, (list->carved + more) * sizeof(*offsets));

	if (!offsets)
		return false;
	list->offsets = offsets;
	list->carved += more;
	return true;
}

/* Puts new blocks on the list: a page full of small ones, so that none straddles a page. */
static bool carve(struct region *region, unsigned int class)
{
	struct free_list *list = &region->lists[class];
	uint64_t block = 1ull << (CLASS_SHIFT + class);
	uint64_t chunk = block < region->page ? region->page : block;

	if (chunk > region->view.size - region->top)
		return false;
	if (!grow_list(list, (uint32_t)(chunk / block)))
		return false;
	for (uint64_t offset = chunk; offset > 0; offset -= block)
		list->offsets[list->count++] = region->top + offset - block;
	region->top += chunk;
	return true;
}

/* Gives a large block's pages back; they are zero when they are touched again. */
static bool discard(const struct region *region, uint64_t offset, uint64_t size)
{
	int advice = region->fd < 0 ? MADV_DONTNEED : MADV_REMOVE; /* of one view, of the file */

	return size >= DISCARD_MIN && madvise(region->view.base + offset, size, advice) == 0;
}

static void clear(const struct region *region, uint64_t offset, uint64_t size)
{
	if (!discard(region, offset, size))
		memset(region->view.base + offset, 0, size);
}

/* The offset, or 0. *fresh: memory that was never given out, zero as the kernel made it. */
static uint64_t pop_block(struct region *region, unsigned int class, bool *fresh)
{
	struct free_list *list = &region->lists[class];
	uint64_t offset = 0;

	pthread_mutex_lock(&region->lock);
	*fresh = list->count == 0;
	if (list->count > 0 || carve(region, class)) {
		offset = list->offsets[--list->count];
		region->used += 1ull << (CLASS_SHIFT + class);
	}
	pthread_mutex_unlock(&region->lock);
	return offset;
}

uroce_abi_ref region_alloc(struct region *region, uint64_t size)
{
	unsigned int class = class_of(size);
	uint64_t offset;
	bool fresh;

	if (class == CLASSES)
		return 0;
	offset = pop_block(region, class, &fresh);
	if (!offset)
		return 0;
	if (!fresh)
		clear(region, offset, 1ull << (CLASS_SHIFT + class));
	return (uroce_abi_ref)region->view.id << OFFSET_BITS | offset;
}

void region_free(struct region *region, uroce_abi_ref ref, uint64_t size)
{
	unsigned int class = class_of(size);
	struct free_list *list;
	uint64_t offset;

	if (!ref || class == CLASSES)
		return;
	list = &region->lists[class];
	offset = ref & ((1ull << OFFSET_BITS) - 1);
	(void)discard(region, offset, 1ull << (CLASS_SHIFT + class));
	pthread_mutex_lock(&region->lock);
	list->offsets[list->count++] = offset;
	region->used -= 1ull << (CLASS_SHIFT + class);
	pthread_mutex_unlock(&region->lock);
}

void region_sparse(struct region *region, uroce_abi_ref ref, uint64_t size)
{
	unsigned int class = class_of(size);
	uint64_t offset = ref & ((1ull << OFFSET_BITS) - 1);

	if (class < CLASSES && 1ull << (CLASS_SHIFT + class) >= region->page)
		madvise(region->view.base + offset, 1ull << (CLASS_SHIFT + class), MADV_NOHUGEPAGE);
}

uint64_t region_used(const struct region *region)
{
	return __atomic_load_n(&region->used, __ATOMIC_RELAXED);
}
