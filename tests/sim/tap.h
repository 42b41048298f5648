/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A tap between an engine and its port: shows every RoCE packet that passes, refuses frames as a
 * NIC with a full ring does, and forges: in front of a packet it puts a copy that somebody else
 * could have sent, with other bytes in it, and now and then swallows the original; or one that was
 * sent long ago, perhaps by an earlier connection.
 */
#ifndef UROCE_TESTS_TAP_H
#define UROCE_TESTS_TAP_H

#include "parse.h"
#include "port.h"
#include "random.h"

#define TAP_FRAME 4608u

struct tap {
	struct port port; /* first: the engine's */
	struct port *inner;
	struct random *random;
	uint32_t end;
	uint32_t tx_limit; /* frames a call takes; UINT32_MAX: all */
	uint32_t forge;	   /* chance, percent */
	uint32_t old_length;
	uint8_t old[TAP_FRAME];
	/* with a good ICRC; before the port takes it, or before the engine sees it */
	void (*sent)(void *context, uint32_t end, const struct wire_packet *packet);
	void (*received)(void *context, uint32_t end, const struct wire_packet *packet);
	void *context;
};

/* The rest is the caller's to fill. */
void tap_open(struct tap *tap, struct port *inner);

#endif
