/* SPDX-License-Identifier: BSD-3-Clause */
/* Routes and neighbours, at once, late and never. */
#include <errno.h>

#include "wire_fixture.h"

static const uint8_t six[16] = {0xfd, [15] = 1};

static void routes(void)
{
	static const struct {
		uint8_t source[16], destination[16];
		int error;
		uint32_t neighbour;
	} rows[] = {
		{{[10] = 0xff, 0xff, 10, 0, 0, 1}, {[10] = 0xff, 0xff, 10, 0, 0, 2}, 0, 1},
		{{[10] = 0xff, 0xff, 10, 0, 0, 1}, {[10] = 0xff, 0xff, 10, 0, 0, 3}, 0, 2},
		{{[10] = 0xff, 0xff, 10, 0, 0, 1}, {[10] = 0xff, 0xff, 10, 0, 0, 4}, -ENETUNREACH,
			0},
		{{[10] = 0xff, 0xff, 10, 0, 0, 2}, {[10] = 0xff, 0xff, 10, 0, 0, 3}, -EINVAL, 0},
		{{[10] = 0xff, 0xff, 10, 0, 0, 1}, {[10] = 0xff, 0xff, 224, 0, 0, 1}, -EINVAL, 0},
		{{[10] = 0xff, 0xff, 10, 0, 0, 1}, {0xfd, [15] = 1}, -EINVAL, 0},
		{{0xfd, [15] = 1}, {0xff, 2, [15] = 1}, -EINVAL, 0},
		{{0xfd, [15] = 1}, {0xfd, [15] = 2}, -ENETUNREACH, 0},
		{{0xfd, [15] = 1}, {0xfd, [15] = 1}, 0, 0},
	};
	struct port_gid gids[2];
	struct fixture f;

	fixture_open(&f, NULL);
	gids[0] = loop_gid4(0x0a000001, 24);
	gids[1] = loop_gid6(six, 64);
	loop_set_gids(f.wire, 0, gids, 2);
	for (unsigned int i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		uint32_t neighbour = 0;

		CU_ASSERT_EQUAL(f.port[0]->ops->route(
					f.port[0], rows[i].source, rows[i].destination, &neighbour),
			rows[i].error);
		CU_ASSERT_EQUAL(neighbour, rows[i].neighbour);
	}
	fixture_close(&f);
}

static void answers(void)
{
	static const uint8_t second[6] = {2, 0, 0, 0, 0, 2};
	struct fixture f;
	struct port *port;
	uint8_t mac[6];

	fixture_open(&f, NULL);
	port = f.port[0];
	CU_ASSERT_EQUAL(port->ops->neighbour(port, 1, f.now, mac), 0);
	CU_ASSERT_EQUAL(memcmp(mac, second, 6), 0);
	CU_ASSERT_EQUAL(port->ops->neighbour(port, 99, f.now, mac), -EHOSTUNREACH);

	loop_set_neighbour(f.wire, 0, LOOP_NEIGHBOUR_DELAYED, 500);
	CU_ASSERT_EQUAL(loop_next_event(f.wire), UINT64_MAX);
	CU_ASSERT_EQUAL(port->ops->neighbour(port, 1, f.now, mac), -EINPROGRESS);
	CU_ASSERT_EQUAL(port->ops->service(port, f.now), 500);
	CU_ASSERT_EQUAL(loop_next_event(f.wire), 500);
	f.now = 499;
	CU_ASSERT_EQUAL(port->ops->neighbour(port, 1, f.now, mac), -EINPROGRESS);
	f.now = 500;
	CU_ASSERT_EQUAL(port->ops->neighbour(port, 1, f.now, mac), 0);
	CU_ASSERT_EQUAL(port->ops->neighbour(port, 1, f.now, mac), 0);
	CU_ASSERT_EQUAL(port->ops->service(port, f.now), UINT64_MAX);

	loop_set_neighbour(f.wire, 0, LOOP_NEIGHBOUR_NEVER, 500);
	CU_ASSERT_EQUAL(port->ops->neighbour(port, 1, f.now, mac), -EINPROGRESS);
	f.now = 1000;
	CU_ASSERT_EQUAL(port->ops->neighbour(port, 1, f.now, mac), -EHOSTUNREACH);
	CU_ASSERT_EQUAL(port->ops->neighbour(port, 1, f.now, mac), -EINPROGRESS);
	fixture_close(&f);
}

/* A MAC address that moves is told to all by their epochs, and frames to the old one are lost. */
static void moving(void)
{
	static const uint8_t other[6] = {2, 0, 0, 0, 0, 77};
	uint32_t epochs[ENDS];
	struct fixture f;
	uint8_t mac[6];

	fixture_open(&f, NULL);
	for (uint32_t i = 0; i < ENDS; i++)
		epochs[i] = f.port[i]->epoch;
	loop_set_mac(f.wire, 1, other);
	for (uint32_t i = 0; i < ENDS; i++)
		CU_ASSERT_NOT_EQUAL(f.port[i]->epoch, epochs[i]);
	CU_ASSERT_EQUAL(f.port[0]->ops->neighbour(f.port[0], 1, 0, mac), 0);
	CU_ASSERT_EQUAL(memcmp(mac, other, 6), 0);
	fixture_send(&f, 0, 1, 1, FRAME);
	CU_ASSERT_EQUAL(fixture_receive(&f, 1), -1);
	CU_ASSERT_EQUAL(fixture_count(&f, LOOP_ANY, LOOP_ANY).no_destination, 1);
	fixture_close(&f);
}

static const struct unit_case cases[] = {
	UNIT_CASE(routes),
	UNIT_CASE(answers),
	UNIT_CASE(moving),
};

UNIT_MAIN("loop-neighbours", cases)
