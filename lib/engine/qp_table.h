/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * QPs of one core by number, for packets. A number is random among the free ones of that core
 * (EP-16), never 0 or 1 (QP0 and QP1) nor 0xFFFFFF (multicast); one that was in use rests before it
 * may come again, so that late packets of an old connection meet nothing.
 *
 * What outlives a burst names a QP by index and generation: a name whose QP is gone leads nowhere.
 */
#ifndef UROCE_ENGINE_QP_TABLE_H
#define UROCE_ENGINE_QP_TABLE_H

#include <stddef.h>
#include <stdint.h>

#include "core.h"
#include "hash.h"
#include "random.h"

struct engine_qp;

struct qp_name {
	uint32_t index;
	uint32_t generation; /* from 1 */
};

struct qp_slot {
	struct engine_qp *qp;
	uint32_t generation;
	uint32_t next_free;
};

struct qp_table {
	struct cores cores;
	uint32_t core;	     /* whose numbers these are */
	struct hash numbers; /* to an index, or QP_RESTING */
	struct qp_slot *slots;
	uint32_t capacity;
	uint32_t used; /* slots that were ever used */
	uint32_t count;
	uint32_t free;	   /* the first of a list, or HASH_NONE */
	uint32_t *resting; /* numbers in a circle */
	uint32_t rest_first;
	uint32_t rest_count;
};

#define QP_RESTING (HASH_NONE - 1)
#define QP_REST 4096u

/* 0 or -ENOMEM. */
int qp_table_init(
	struct qp_table *table, uint32_t capacity, const struct cores *cores, uint32_t core);
void qp_table_fini(struct qp_table *table);
/* Gives the QP a number and a name. 0, or -ENOMEM: full. */
int qp_table_add(struct qp_table *table, struct random *random, struct engine_qp *qp,
	uint32_t *qp_num, struct qp_name *name);
void qp_table_remove(struct qp_table *table, uint32_t qp_num, struct qp_name name);

/* Any 24-bit value of a packet; NULL: no such QP. */
static inline struct engine_qp *qp_table_find(const struct qp_table *table, uint32_t qp_num)
{
	uint32_t index = hash_get(&table->numbers, qp_num);

	return index < table->capacity ? table->slots[index].qp : NULL;
}

static inline struct engine_qp *qp_table_at(const struct qp_table *table, struct qp_name name)
{
	const struct qp_slot *slot = &table->slots[name.index];

	return slot->generation == name.generation ? slot->qp : NULL;
}

#endif
