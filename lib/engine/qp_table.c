/* SPDX-License-Identifier: BSD-3-Clause */
/* QPs by number: the hash, the slots, and the numbers that rest. */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "qp_table.h"

/* Numbers 2 to 0xFFFFFE. */
#define FIRST_NUMBER 2u
#define LAST_NUMBER 0xfffffeu
#define NUMBER_BITS 24u

int qp_table_init(
	struct qp_table *table, uint32_t capacity, const struct cores *cores, uint32_t core)
{
	int error;

	*table = (struct qp_table){
		.cores = *cores, .core = core, .capacity = capacity, .free = HASH_NONE};
	error = hash_init(&table->numbers, capacity + QP_REST);
	if (error)
		return error;
	table->slots = calloc(capacity, sizeof(*table->slots));
	table->resting = calloc(QP_REST, sizeof(*table->resting));
	if (!table->slots || !table->resting) {
		qp_table_fini(table);
		return -ENOMEM;
	}
	return 0;
}

void qp_table_fini(struct qp_table *table)
{
	hash_fini(&table->numbers);
	free(table->slots);
	free(table->resting);
	table->slots = NULL;
	table->resting = NULL;
}

static uint32_t take_slot(struct qp_table *table)
{
	uint32_t index = table->free;

	if (index == HASH_NONE)
		return table->used++;
	table->free = table->slots[index].next_free;
	return index;
}

static void give_slot(struct qp_table *table, uint32_t index)
{
	table->slots[index].qp = NULL;
	table->slots[index].next_free = table->free;
	table->free = index;
}

static bool is_free(const struct qp_table *table, uint32_t number)
{
	return number >= FIRST_NUMBER && number <= LAST_NUMBER &&
		hash_get(&table->numbers, number) == HASH_NONE;
}

/* No more than all of the engine's QPs have numbers of one core: with 16 cores and as many QPs as
 * can be, every other number is free. So this ends soon. */
static uint32_t pick_number(const struct qp_table *table, struct random *random)
{
	uint32_t shift = table->cores.shift;
	uint32_t number;

	do
		number = (uint32_t)random_below(random, 1u << (NUMBER_BITS - shift)) << shift |
			table->core;
	while (!is_free(table, number));
	return number;
}

int qp_table_add(struct qp_table *table, struct random *random, struct engine_qp *qp,
	uint32_t *qp_num, struct qp_name *name)
{
	uint32_t number, index;
	int error;

	if (table->count == table->capacity)
		return -ENOMEM;
	number = pick_number(table, random);
	index = take_slot(table);
	error = hash_put(&table->numbers, number, index);
	if (error) {
		give_slot(table, index);
		return -ENOMEM;
	}
	table->slots[index].qp = qp;
	table->slots[index].generation++;
	table->count++;
	*qp_num = number;
	*name = (struct qp_name){.index = index, .generation = table->slots[index].generation};
	return 0;
}

/* The circle is full: the number that has rested longest may come again. */
static void end_oldest_rest(struct qp_table *table)
{
	hash_remove(&table->numbers, table->resting[table->rest_first]);
	table->rest_first = (table->rest_first + 1) % QP_REST;
	table->rest_count--;
}

/* Taking out and putting in again cannot fail: the place is there. */
static void rest(struct qp_table *table, uint32_t qp_num)
{
	if (table->rest_count == QP_REST)
		end_oldest_rest(table);
	hash_remove(&table->numbers, qp_num);
	hash_put(&table->numbers, qp_num, QP_RESTING);
	table->resting[(table->rest_first + table->rest_count++) % QP_REST] = qp_num;
}

void qp_table_remove(struct qp_table *table, uint32_t qp_num, struct qp_name name)
{
	give_slot(table, name.index);
	table->count--;
	rest(table, qp_num);
}
