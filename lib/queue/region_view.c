/* SPDX-License-Identifier: BSD-3-Clause */
/* The region, the front's side: mapping it, and refusing one that was laid out otherwise. */
#include <errno.h>
#include <inttypes.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "log.h"
#include "region.h"

struct expectation {
	const char *name;
	uint64_t found;
	uint64_t expected;
};

/* What identifies the layout comes first: the sizes mean nothing in a foreign one. */
static int check_layout(const struct region_view *view)
{
	const struct uroce_abi_header *header = region_header(view);
	const struct expectation table[] = {
		{"magic", header->magic, UROCE_ABI_MAGIC},
		{"endianness mark", header->endian, UROCE_ABI_ENDIAN},
		{"major version", header->major, UROCE_ABI_MAJOR},
		{"page size", header->page_size, (uint64_t)sysconf(_SC_PAGESIZE)},
		{"cache line size", header->line_size, UROCE_ABI_LINE},
		{"header size", header->header_size, sizeof(struct uroce_abi_header)},
		{"command size", header->command_size, sizeof(struct uroce_abi_command)},
		{"ring size", header->ring_size, sizeof(struct uroce_abi_ring)},
		{"send request size", header->send_wqe_size, sizeof(struct uroce_abi_send_wqe)},
		{"receive request size", header->recv_wqe_size, sizeof(struct uroce_abi_recv_wqe)},
		{"completion size", header->cqe_size, sizeof(struct uroce_abi_cqe)},
		{"event size", header->event_size, sizeof(struct uroce_abi_event)},
		{"region size", header->region_size, view->size},
	};

	for (unsigned int i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		if (table[i].found == table[i].expected)
			continue;
		log_error("region refused: its %s is %" PRIu64 " (0x%" PRIx64
			  "), this program's is %" PRIu64 " (0x%" PRIx64 ")",
			table[i].name, table[i].found, table[i].found, table[i].expected,
			table[i].expected);
		return -EPROTO;
	}
	return 0;
}

int region_check(const struct region_view *view)
{
	uint64_t size = UROCE_ABI_COMMANDS * sizeof(struct uroce_abi_command);
	int error;

	if (view->size < sizeof(struct uroce_abi_header)) {
		log_error("region refused: it has %" PRIu64 " bytes, its header alone has %zu",
			view->size, sizeof(struct uroce_abi_header));
		return -EPROTO;
	}
	error = check_layout(view);
	if (error)
		return error;
	if (!region_at(view, region_header(view)->commands, size)) {
		log_error("region refused: its commands at 0x%" PRIx64 " lie outside its %" PRIu64
			  " bytes",
			region_header(view)->commands, view->size);
		return -EPROTO;
	}
	return 0;
}

/* Its id is that of the references that it carries. */
static int adopt(struct region_view *view)
{
	if (view->size >= sizeof(struct uroce_abi_header))
		view->id = (uint32_t)(region_header(view)->commands >> 48);
	return region_check(view);
}

int region_map(int fd, struct region_view *view)
{
	struct region_view map = {0};
	struct stat status;
	int error;

	if (fstat(fd, &status))
		return -errno;
	map.size = (uint64_t)status.st_size;
	if (map.size == 0)
		return region_check(&map); /* names the sizes; mmap would say EINVAL */
	map.base = mmap(NULL, map.size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (map.base == MAP_FAILED)
		return -errno;
	/* A child of fork() has no region: see region.c. */
	error = madvise(map.base, map.size, MADV_DONTFORK) ? -errno : adopt(&map);
	if (error) {
		region_unmap(&map);
		return error;
	}
	*view = map;
	return 0;
}

void region_unmap(struct region_view *view)
{
	if (view->base)
		munmap(view->base, view->size);
	view->base = NULL;
	view->size = 0;
}
