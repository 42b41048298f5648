/* SPDX-License-Identifier: BSD-3-Clause */
/* Intrusive doubly linked list. A node that is not in a list points to itself. */
#ifndef UROCE_BASE_LIST_H
#define UROCE_BASE_LIST_H

#include <stdbool.h>
#include <stddef.h>

struct list {
	struct list *next;
	struct list *prev;
};

#define container_of(pointer, type, member) ((type *)((char *)(pointer)-offsetof(type, member)))

#define list_for_each(node, head)                                                                  \
	for (struct list *node = (head)->next; node != (head); node = node->next)

/* The body may remove the node. */
#define list_for_each_safe(node, head)                                                             \
	for (struct list *node = (head)->next, *node##_next = node->next; node != (head);          \
		node = node##_next, node##_next = node->next)

static inline void list_init(struct list *list)
{
	list->next = list;
	list->prev = list;
}

static inline bool list_empty(const struct list *list)
{
	return list->next == list;
}

/* For a node: is it in a list? */
static inline bool list_linked(const struct list *node)
{
	return node->next != node;
}

static inline void list_append(struct list *list, struct list *node)
{
	node->prev = list->prev;
	node->next = list;
	list->prev->next = node;
	list->prev = node;
}

static inline void list_remove(struct list *node)
{
	node->prev->next = node->next;
	node->next->prev = node->prev;
	list_init(node);
}

static inline struct list *list_first(const struct list *list)
{
	return list->next;
}

#endif
