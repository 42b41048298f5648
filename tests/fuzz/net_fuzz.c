/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What is not RoCE, from the wire: frames one after another, each behind two bytes of its length
 * and one of the time since the last (in 1/16 s). Whatever they are: each is counted once, no
 * neighbour comes from them, and what is answered is a frame that the port can send.
 */
#include <string.h>

#include "fuzz.h"
#include "net.h"

#define MTU 1500u
#define TICK (NEIGHBOUR_SECOND / 16)
#define NEIGHBOURS 2u

static const uint8_t mac[6] = {2, 0, 0, 0, 0, 2};

/* The sink, which looks at what it gets. */
struct sent {
	struct net_sink sink;
	uint8_t *frame;
	uint32_t room;
};

static uint8_t *begin(struct net_sink *sink, uint32_t length)
{
	struct sent *sent = (struct sent *)sink;

	FUZZ_CHECK(length >= FRAME_MIN && length <= MTU + frame_header_length(1));
	FUZZ_CHECK(!sent->frame);
	sent->frame = malloc(length);
	sent->room = length;
	FUZZ_CHECK(sent->frame);
	return sent->frame;
}

static void end(struct net_sink *sink, uint32_t length)
{
	struct sent *sent = (struct sent *)sink;

	FUZZ_CHECK(sent->frame && length == sent->room);
	FUZZ_CHECK(memcmp(sent->frame + 6, mac, 6) == 0);
	free(sent->frame);
	sent->frame = NULL;
}

static void add_address(struct net_config *config, const char *text, uint16_t vlan)
{
	struct port_gid *gid = &config->addresses[config->address_count++];

	FUZZ_CHECK(address_parse(gid->gid, text) == 0);
	gid->prefix_length = address_is_ipv4(gid->gid) ? 24 : 64;
	gid->has_vlan = vlan != 0;
	gid->vlan_id = vlan;
}

static void set_up(struct net *net, struct sent *sent)
{
	static const char *const neighbours[NEIGHBOURS][2] = {
		{"10.77.0.2", "10.77.0.1"}, {"fd00::2", "fd00::1"}};
	struct net_config config = {.neighbours = 4};
	uint8_t from[16], to[16], found[6];
	uint32_t id;

	add_address(&config, "10.77.0.2", 0);
	add_address(&config, "fd00::2", 0);
	add_address(&config, "10.88.0.2", 5);
	add_address(&config, "fd05::2", 5);
	FUZZ_CHECK(net_init(net, &config, mac, MTU, 1, 0) == 0);
	for (unsigned int i = 0; i < NEIGHBOURS; i++) {
		address_parse(from, neighbours[i][0]);
		address_parse(to, neighbours[i][1]);
		FUZZ_CHECK(net_route(net, from, to, 0, &id) == 0);
		net_neighbour(net, &sent->sink, id, 0, found);
	}
}

static uint64_t counted(const struct net *net)
{
	uint64_t sum = net->counters.drops[NET_OK];

	for (unsigned int i = NET_OK + 1; i < NET_DROPS; i++)
		sum += net->counters.drops[i];
	return sum;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct sent sent = {.sink = {.begin = begin, .end = end}};
	struct net net;
	uint64_t now = 0, frames = 0;

	log_set_level(LOG_ERROR);
	set_up(&net, &sent);
	while (size >= 3) {
		size_t length = (size_t)data[0] << 8 | data[1];
		uint8_t *frame;

		now += data[2] * TICK;
		data += 3;
		size -= 3;
		length = length < size ? length : size;
		frame = malloc(length ? length : 1);
		FUZZ_CHECK(frame);
		memcpy(frame, data, length);
		net_input(&net, &sent.sink, frame, (uint32_t)length, now);
		net_service(&net, &sent.sink, now);
		free(frame);
		data += length;
		size -= length;
		FUZZ_CHECK(counted(&net) == ++frames);
		FUZZ_CHECK(net.neighbours.count == NEIGHBOURS);
	}
	net_fini(&net);
	return 0;
}
