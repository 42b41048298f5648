/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A port's network rules in a box: frames go in as hand-typed hex, the answers come out as hex.
 * Ours is 02:00:00:00:00:02 with 10.77.0.2/24, fd00::2/64 and, on VLAN 5, 10.88.0.2/24 and
 * fd05::2/64; the peer is 02:00:00:00:00:01 with .1 and ::1.
 */
#ifndef UROCE_TESTS_BOX_H
#define UROCE_TESTS_BOX_H

#include <stdint.h>

#include "net.h"

#define BOX_SENT_MAX 64u
#define BOX_SECOND 1000000000ull
#define BOX_START (1000 * BOX_SECOND)
#define BOX_MTU 4200u

struct box {
	struct net net;
	struct net_sink sink;
	uint64_t now;
	bool starved; /* the sink gives no buffer */
	uint8_t *pending;
	unsigned int count; /* frames sent and not yet taken */
	struct {
		uint8_t *data;
		uint32_t length;
	} sent[BOX_SENT_MAX];
};

/* The addresses and routes above, and default gateways 10.77.0.254 and fe80::fe. */
void box_config(struct net_config *config);
/* Sets the box up, silently: the announcements of the start are taken out. */
void box_open(struct box *box);
void box_open_with(struct box *box, const struct net_config *config);
void box_close(struct box *box);

/* Appends an address "A" with a prefix length and VLAN (0: none). */
void box_add(struct net_config *config, const char *address, uint8_t length, uint16_t vlan);
void box_add_route(
	struct net_config *config, const char *prefix, uint8_t length, const char *gateway);

/* Hex digits, blanks ignored; returns the number of bytes. */
uint32_t box_hex(uint8_t *bytes, uint32_t room, const char *text);
/* A frame comes in, from a block of exactly its size. */
void box_input(struct box *box, const char *text);
void box_input_bytes(struct box *box, const uint8_t *data, uint32_t length);
/* Time passes, and what is due is done. Returns when the next thing is. */
uint64_t box_run(struct box *box, uint64_t nanoseconds);
/* Takes the oldest frame sent: is it the one in `text`, up to padding with zeros? */
bool box_sent(struct box *box, const char *text);
/* Forgets what was sent; returns how many frames. */
unsigned int box_forget(struct box *box);

/* net_route and net_neighbour with addresses as text. */
int box_route(struct box *box, const char *source, const char *destination, uint32_t *neighbour);
int box_ask(struct box *box, uint32_t neighbour, uint64_t *mac);

#endif
