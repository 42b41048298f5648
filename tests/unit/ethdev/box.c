/* SPDX-License-Identifier: BSD-3-Clause */
/* The box: a sink that keeps frames, and hex. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "address.h"
#include "box.h"
#include "list.h"
#include "unit.h"

#define FRAME_ROOM 16384u

static const uint8_t our_mac[6] = {2, 0, 0, 0, 0, 2};

static uint8_t *sink_begin(struct net_sink *sink, uint32_t length)
{
	struct box *box = container_of(sink, struct box, sink);

	if (box->starved)
		return NULL;
	CU_ASSERT_PTR_NULL_FATAL(box->pending);
	box->pending = malloc(length);
	return box->pending;
}

static void sink_end(struct net_sink *sink, uint32_t length)
{
	struct box *box = container_of(sink, struct box, sink);

	CU_ASSERT_PTR_NOT_NULL_FATAL(box->pending);
	CU_ASSERT_FATAL(box->count < BOX_SENT_MAX);
	CU_ASSERT(length >= 60);
	box->sent[box->count].data = box->pending;
	box->sent[box->count].length = length;
	box->pending = NULL;
	box->count++;
}

void box_add(struct net_config *config, const char *address, uint8_t length, uint16_t vlan)
{
	struct port_gid *gid = &config->addresses[config->address_count++];

	CU_ASSERT_EQUAL_FATAL(address_parse(gid->gid, address), 0);
	gid->prefix_length = length;
	gid->has_vlan = vlan != 0;
	gid->vlan_id = vlan;
}

void box_add_route(
	struct net_config *config, const char *prefix, uint8_t length, const char *gateway)
{
	struct net_route *route = &config->routes[config->route_count++];

	CU_ASSERT_EQUAL_FATAL(address_parse(route->prefix, prefix), 0);
	CU_ASSERT_EQUAL_FATAL(address_parse(route->gateway, gateway), 0);
	route->prefix_length = length;
}

void box_config(struct net_config *config)
{
	memset(config, 0, sizeof(*config));
	box_add(config, "fd00::2", 64, 0);
	box_add(config, "10.77.0.2", 24, 0);
	box_add(config, "fd05::2", 64, 5);
	box_add(config, "10.88.0.2", 24, 5);
	box_add_route(config, "0.0.0.0", 0, "10.77.0.254");
	box_add_route(config, "::", 0, "fe80::fe");
}

void box_open_with(struct box *box, const struct net_config *config)
{
	memset(box, 0, sizeof(*box));
	box->sink.begin = sink_begin;
	box->sink.end = sink_end;
	box->now = BOX_START;
	CU_ASSERT_EQUAL_FATAL(net_init(&box->net, config, our_mac, BOX_MTU, 1, box->now), 0);
}

void box_open(struct box *box)
{
	struct net_config config;

	box_config(&config);
	box_open_with(box, &config);
	for (unsigned int i = 0; i < 4; i++)
		box_run(box, BOX_SECOND);
	box_forget(box);
	memset(&box->net.counters, 0, sizeof(box->net.counters));
}

void box_close(struct box *box)
{
	box_forget(box);
	free(box->pending);
	net_fini(&box->net);
}

uint32_t box_hex(uint8_t *bytes, uint32_t room, const char *text)
{
	uint32_t length = 0;

	for (;; length++) {
		unsigned int byte = 0;

		while (isspace((unsigned char)*text))
			text++;
		if (!*text)
			return length;
		CU_ASSERT_FATAL(length < room && sscanf(text, "%2x", &byte) == 1);
		bytes[length] = (uint8_t)byte;
		text += 2;
	}
}

void box_input_bytes(struct box *box, const uint8_t *data, uint32_t length)
{
	uint8_t *exact = malloc(length ? length : 1); /* an overrun is a sanitizer's */

	memcpy(exact, data, length);
	net_input(&box->net, &box->sink, exact, length, box->now);
	free(exact);
}

void box_input(struct box *box, const char *text)
{
	uint8_t bytes[FRAME_ROOM];

	box_input_bytes(box, bytes, box_hex(bytes, sizeof(bytes), text));
}

uint64_t box_run(struct box *box, uint64_t nanoseconds)
{
	box->now += nanoseconds;
	return net_service(&box->net, &box->sink, box->now);
}

static void print_frame(const char *what, const uint8_t *data, uint32_t length)
{
	printf("\n%s: ", what);
	for (uint32_t i = 0; i < length; i++)
		printf("%02x", data[i]);
	printf("\n");
}

static bool is_padding(const uint8_t *data, uint32_t length)
{
	for (uint32_t i = 0; i < length; i++)
		if (data[i])
			return false;
	return true;
}

bool box_sent(struct box *box, const char *text)
{
	uint8_t expected[FRAME_ROOM], *data = box->sent[0].data;
	uint32_t length = box_hex(expected, sizeof(expected), text), actual = box->sent[0].length;
	bool same;

	if (box->count == 0) {
		printf("\nnothing was sent\n");
		return false;
	}
	same = actual == (length < 60 ? 60 : length) && memcmp(data, expected, length) == 0 &&
		is_padding(data + length, actual - length);
	if (!same) {
		print_frame("sent    ", data, actual);
		print_frame("expected", expected, length);
	}
	free(data);
	box->count--;
	memmove(box->sent, box->sent + 1, box->count * sizeof(box->sent[0]));
	return same;
}

unsigned int box_forget(struct box *box)
{
	unsigned int count = box->count;

	for (unsigned int i = 0; i < count; i++)
		free(box->sent[i].data);
	box->count = 0;
	return count;
}

int box_route(struct box *box, const char *source, const char *destination, uint32_t *neighbour)
{
	uint8_t from[16], to[16];

	CU_ASSERT_EQUAL_FATAL(address_parse(from, source), 0);
	CU_ASSERT_EQUAL_FATAL(address_parse(to, destination), 0);
	return net_route(&box->net, from, to, box->now, neighbour);
}

int box_ask(struct box *box, uint32_t neighbour, uint64_t *mac)
{
	uint8_t bytes[6] = {0};
	int err = net_neighbour(&box->net, &box->sink, neighbour, box->now, bytes);

	*mac = 0;
	for (unsigned int i = 0; i < sizeof(bytes); i++)
		*mac = *mac << 8 | bytes[i];
	return err;
}
