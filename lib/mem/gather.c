/* SPDX-License-Identifier: BSD-3-Clause */
/* Lists of local buffers: a part of one as if it were one run of bytes. */
#include <infiniband/verbs.h>

#include "copy.h"

#define PIECES_MAX 32

/* The bytes of one list element that a part of the list touches. */
struct piece {
	uint8_t *host;
	uint32_t length;
};

/* Where we are in the list, and how much is left to find. */
struct walk {
	const struct mem_sge *sge; /* the next `count` elements */
	unsigned int count;
	uint32_t left;
	uint64_t skip;
};

/*
 * The next piece that is not empty, checked; call it while something is left. Only what is touched
 * is checked: a message shorter than its buffer does not depend on the rest.
 */
static enum mem_status next_piece(const struct mem_table *table, uint32_t pd, uint32_t access,
	struct walk *walk, struct piece *piece)
{
	const struct mem_sge *sge;

	for (; walk->count > 0 && walk->skip >= walk->sge->length; walk->count--)
		walk->skip -= walk->sge++->length;
	if (walk->count == 0)
		return MEM_BAD_RANGE;
	sge = walk->sge++;
	walk->count--;
	if (walk->skip > UINT64_MAX - sge->address)
		return MEM_BAD_RANGE;
	piece->length = sge->length - (uint32_t)walk->skip;
	if (piece->length > walk->left)
		piece->length = walk->left;
	walk->left -= piece->length;
	return mem_local(table, pd, sge->lkey, sge->address + walk->skip, piece->length, access,
		&piece->host);
}

/* The first element holds all of it, as it nearly always does. */
static inline bool in_first(
	const struct mem_sge *sge, unsigned int count, uint64_t offset, uint32_t length)
{
	return count > 0 && offset < sge->length && length <= sge->length - offset &&
		offset <= UINT64_MAX - sge->address;
}

enum mem_status mem_gather(const struct mem_table *table, uint32_t pd, const struct mem_sge *sge,
	unsigned int count, uint64_t offset, uint8_t *to, uint32_t length)
{
	struct walk walk = {sge, count, length, offset};
	enum mem_status status;
	struct piece piece;

	if (in_first(sge, count, offset, length)) {
		status = mem_local(
			table, pd, sge->lkey, sge->address + offset, length, 0, &piece.host);
		if (status == MEM_OK)
			mem_fetch(to, piece.host, length);
		return status;
	}
	while (walk.left > 0) {
		status = next_piece(table, pd, 0, &walk, &piece);
		if (status != MEM_OK)
			return status;
		mem_fetch(to, piece.host, piece.length);
		to += piece.length;
		walk.skip = 0;
	}
	return MEM_OK;
}

enum mem_status mem_scatter(const struct mem_table *table, uint32_t pd, const struct mem_sge *sge,
	unsigned int count, uint64_t offset, const uint8_t *from, uint32_t length)
{
	struct walk walk = {sge, count, length, offset};
	struct piece pieces[PIECES_MAX];
	unsigned int found = 0;
	enum mem_status status;

	if (in_first(sge, count, offset, length)) {
		status = mem_local(table, pd, sge->lkey, sge->address + offset, length,
			IBV_ACCESS_LOCAL_WRITE, &pieces[0].host);
		if (status == MEM_OK)
			mem_place(pieces[0].host, from, length);
		return status;
	}
	while (walk.left > 0) {
		if (found == PIECES_MAX)
			return MEM_BAD_RANGE;
		status = next_piece(table, pd, IBV_ACCESS_LOCAL_WRITE, &walk, &pieces[found++]);
		if (status != MEM_OK)
			return status;
		walk.skip = 0;
	}
	for (unsigned int i = 0; i < found; i++) {
		mem_place(pieces[i].host, from, pieces[i].length);
		from += pieces[i].length;
	}
	return MEM_OK;
}

enum mem_status mem_check(const struct mem_table *table, uint32_t pd, const struct mem_sge *sge,
	unsigned int count, uint32_t access)
{
	enum mem_status status;
	uint8_t *host;

	for (unsigned int i = 0; i < count; i++) {
		if (sge[i].length == 0)
			continue;
		status = mem_local(
			table, pd, sge[i].lkey, sge[i].address, sge[i].length, access, &host);
		if (status != MEM_OK)
			return status;
	}
	return MEM_OK;
}

uint64_t mem_length(const struct mem_sge *sge, unsigned int count)
{
	uint64_t length = 0;

	for (unsigned int i = 0; i < count; i++)
		length += sge[i].length;
	return length;
}
