/* SPDX-License-Identifier: BSD-3-Clause */
/* Addresses and bytes as text. */
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "text.h"

#define GROUPS 8

void text_put(struct text *text, const char *format, ...)
{
	va_list arguments;
	size_t length;
	int wanted;

	va_start(arguments, format);
	wanted = vsnprintf(text->at, text->left, format, arguments);
	va_end(arguments);
	if (wanted < 0)
		return;
	length = (size_t)wanted < text->left ? (size_t)wanted : text->left - 1;
	text->at += length;
	text->left -= length;
}

void text_mac(struct text *text, const uint8_t mac[6])
{
	text_put(text, "%02x:%02x:%02x:%02x:%02x:%02x", mac[0], mac[1], mac[2], mac[3], mac[4],
		mac[5]);
}

void text_ipv4(struct text *text, const uint8_t address[4])
{
	text_put(text, "%u.%u.%u.%u", address[0], address[1], address[2], address[3]);
}

static unsigned int group(const uint8_t address[16], int index)
{
	return (unsigned int)address[2 * index] << 8 | address[2 * index + 1];
}

static int zeros_from(const uint8_t address[16], int index)
{
	int end = index;

	while (end < GROUPS && group(address, end) == 0)
		end++;
	return end - index;
}

void text_ipv6(struct text *text, const uint8_t address[16])
{
	int longest = 1; /* a single group is written as 0 */
	int run = -1;

	for (int i = 0; i < GROUPS; i++)
		if (zeros_from(address, i) > longest) {
			longest = zeros_from(address, i);
			run = i;
		}
	for (int i = 0; i < GROUPS; i++) {
		if (i == run) {
			text_put(text, "::");
			i += longest - 1;
			continue;
		}
		text_put(text, i == 0 || i == run + longest ? "%x" : ":%x", group(address, i));
	}
}

void text_gid(struct text *text, const uint8_t gid[16])
{
	static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};

	if (memcmp(gid, mapped, sizeof(mapped)) == 0)
		text_ipv4(text, gid + sizeof(mapped));
	else
		text_ipv6(text, gid);
}

void text_bytes(struct text *text, const uint8_t *bytes, size_t length, size_t most)
{
	while (length > 0 && bytes[length - 1] == 0)
		length--;
	for (size_t i = 0; i < length && i < most; i++)
		text_put(text, "%02x", bytes[i]);
	if (length > most)
		text_put(text, "...");
}
