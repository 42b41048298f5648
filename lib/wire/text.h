/* SPDX-License-Identifier: BSD-3-Clause */
/* A line of text that grows in a buffer of fixed size; what doesn't fit is cut. */
#ifndef UROCE_WIRE_TEXT_H
#define UROCE_WIRE_TEXT_H

#include <stddef.h>
#include <stdint.h>

struct text {
	char *at; /* always at the final 0 */
	size_t left;
};

static inline struct text text_start(char *line, size_t room)
{
	line[0] = '\0';
	return (struct text){line, room};
}

void text_put(struct text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));
void text_mac(struct text *text, const uint8_t mac[6]);
void text_ipv4(struct text *text, const uint8_t address[4]);
/* RFC 5952: the longest run of zero groups becomes "::". */
void text_ipv6(struct text *text, const uint8_t address[16]);
/* An IPv6 address, or an IPv4 address if it is one, mapped (::ffff:a.b.c.d). */
void text_gid(struct text *text, const uint8_t gid[16]);
/* Hexadecimal digits, without the zero bytes at the end, at most `most` bytes and then "...". */
void text_bytes(struct text *text, const uint8_t *bytes, size_t length, size_t most);

#endif
