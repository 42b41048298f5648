/* SPDX-License-Identifier: BSD-3-Clause */
/* A packet as one line of text, for people who debug RoCE. */
#ifndef UROCE_WIRE_DUMP_H
#define UROCE_WIRE_DUMP_H

#include <stddef.h>
#include <stdint.h>

#include "mad.h"
#include "parse.h"
#include "text.h"

#define DUMP_LINE 2048u /* room for any packet */

/*
 * Writes the line, without newline and cut to `room` bytes with the final 0. All headers as far as
 * they are there, then "icrc=ok", or "icrc=BAD" with both values, or "bad: " and why the packet
 * isn't sound. Returns WIRE_OK, WIRE_ICRC, or what wire_parse() said.
 */
enum wire_drop wire_dump(const uint8_t *frame, uint32_t length, char *line, size_t room);

/* A MAD's part of the line. */
void dump_mad(struct text *text, const struct mad *mad);

#endif
