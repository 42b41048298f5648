/* SPDX-License-Identifier: BSD-3-Clause */
/* The wire's ends as ports: frames, buffers, addresses, links up and down. */
#include <errno.h>

#include "wire_fixture.h"

static void frames_go_where_their_address_says(void)
{
	struct fixture f;

	fixture_open(&f, NULL);
	CU_ASSERT(fixture_send(&f, 0, 1, 7, FRAME));
	CU_ASSERT(fixture_send(&f, 0, 2, 8, FRAME));
	CU_ASSERT(fixture_send(&f, 2, 0, 9, FRAME));
	CU_ASSERT(fixture_send(&f, 0, 200, 10, FRAME));
	CU_ASSERT_EQUAL(fixture_receive(&f, 0), 9);
	CU_ASSERT_EQUAL(fixture_receive(&f, 1), 7);
	CU_ASSERT_EQUAL(fixture_receive(&f, 2), 8);
	for (uint32_t i = 0; i < ENDS; i++)
		CU_ASSERT_EQUAL(fixture_receive(&f, i), -1);
	CU_ASSERT_EQUAL(fixture_count(&f, LOOP_ANY, LOOP_ANY).no_destination, 1);
	CU_ASSERT_EQUAL(fixture_count(&f, LOOP_ANY, LOOP_ANY).sent, 3);
	CU_ASSERT_EQUAL(fixture_count(&f, 0, LOOP_ANY).delivered, 2);
	CU_ASSERT_EQUAL(loop_buffers_used(f.wire) + loop_buffers_flying(f.wire), 0);
	fixture_close(&f);
}

static void broadcast_reaches_all_others(void)
{
	struct fixture f;
	struct packet packet;

	fixture_open(&f, NULL);
	CU_ASSERT_EQUAL_FATAL(f.port[1]->ops->alloc(f.port[1], 0, &packet, 1), 1);
	memset(packet.data, 0xff, FRAME);
	packet.length = FRAME;
	CU_ASSERT_EQUAL(f.port[1]->ops->tx(f.port[1], 0, &packet, 1), 1);
	CU_ASSERT_EQUAL(fixture_receive(&f, 0), UINT32_MAX);
	CU_ASSERT_EQUAL(fixture_receive(&f, 1), -1);
	CU_ASSERT_EQUAL(fixture_receive(&f, 2), UINT32_MAX);
	CU_ASSERT_EQUAL(loop_buffers_used(f.wire) + loop_buffers_flying(f.wire), 0);
	fixture_close(&f);
}

static void lengths_are_those_of_the_mtu(void)
{
	static const struct {
		uint32_t length;
		bool passes;
	} rows[] = {{13, false}, {14, true}, {4200 + 18, true}, {4200 + 19, false}};
	struct fixture f;

	fixture_open(&f, NULL);
	for (unsigned int i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		fixture_send(&f, 0, 1, i, rows[i].length);
		CU_ASSERT_EQUAL(fixture_receive(&f, 1) >= 0, rows[i].passes);
	}
	CU_ASSERT_EQUAL(fixture_count(&f, LOOP_ANY, LOOP_ANY).oversized, 2);
	fixture_close(&f);
}

static void buffers_run_out_and_come_back(void)
{
	struct loop_config config = {.buffers = 4, .room = 8192};
	struct packet packets[8];
	struct port_counters counters;
	struct fixture f;
	struct port *port;

	fixture_open(&f, &config);
	port = f.port[0];
	CU_ASSERT_EQUAL(port->ops->alloc(port, 0, packets, 8), 4);
	CU_ASSERT_EQUAL(packets[3].room, 8192);
	CU_ASSERT_EQUAL(port->ops->alloc(port, 0, packets + 4, 1), 0);
	port->ops->counters(port, &counters);
	CU_ASSERT_EQUAL(counters.no_buffer, 2);
	port->ops->release(port, 0, packets, 4);
	CU_ASSERT_EQUAL(loop_buffers_used(f.wire), 0);
	loop_set_alloc_limit(f.wire, 0, 1);
	CU_ASSERT_EQUAL(port->ops->alloc(port, 0, packets, 8), 1);
	port->ops->release(port, 0, packets, 1);
	loop_set_alloc_limit(f.wire, 0, 0);
	CU_ASSERT_EQUAL(port->ops->alloc(port, 0, packets, 8), 0);
	fixture_close(&f);
}

static void misuse_is_noticed(void)
{
	struct packet packet, stranger = {.handle = &packet};
	struct fixture f;

	fixture_open(&f, NULL);
	CU_ASSERT_EQUAL_FATAL(f.port[0]->ops->alloc(f.port[0], 0, &packet, 1), 1);
	f.port[1]->ops->release(f.port[1], 0, &packet, 1); /* another end's */
	f.port[0]->ops->release(f.port[0], 0, &packet, 1);
	CU_ASSERT_EQUAL(fixture_count(&f, 1, 1).misused, 1);
	CU_ASSERT_EQUAL(fixture_count(&f, 0, 0).misused, 0);
	f.port[0]->ops->release(f.port[0], 0, &packet, 1); /* twice */
	f.port[0]->ops->tx(f.port[0], 0, &packet, 1);
	f.port[0]->ops->release(f.port[0], 0, &stranger, 1);
	CU_ASSERT_EQUAL(fixture_count(&f, 0, 0).misused, 3);
	CU_ASSERT_EQUAL(loop_buffers_used(f.wire) + loop_buffers_flying(f.wire), 0);
	fixture_close(&f);
}

static void a_full_port_leaves_the_rest(void)
{
	struct packet packets[5];
	struct fixture f;
	struct port *port;

	fixture_open(&f, NULL);
	port = f.port[0];
	loop_set_tx_limit(f.wire, 0, 2);
	CU_ASSERT_EQUAL_FATAL(port->ops->alloc(port, 0, packets, 5), 5);
	for (uint32_t i = 0; i < 5; i++) {
		memcpy(packets[i].data, "\2\0\0\0\0\2", 6);
		memcpy(packets[i].data + 14, &i, sizeof(i));
		packets[i].length = FRAME;
	}
	CU_ASSERT_EQUAL(port->ops->tx(port, 0, packets, 5), 2);
	CU_ASSERT_EQUAL(loop_buffers_used(f.wire), 3);
	CU_ASSERT_EQUAL(port->ops->tx(port, 0, packets + 2, 3), 2);
	port->ops->release(port, 0, packets + 4, 1);
	for (uint32_t i = 0; i < 4; i++)
		CU_ASSERT_EQUAL(fixture_receive(&f, 1), i);
	CU_ASSERT_EQUAL(fixture_receive(&f, 1), -1);
	CU_ASSERT_EQUAL(loop_buffers_used(f.wire) + loop_buffers_flying(f.wire), 0);
	fixture_close(&f);
}

static void an_end_that_is_down_gets_nothing(void)
{
	struct loop_link link = {.delay = 100};
	struct port_info info;
	struct fixture f;
	uint32_t epoch;

	fixture_open(&f, NULL);
	loop_set_link(f.wire, 1, &link);
	epoch = f.port[1]->epoch;
	fixture_send(&f, 0, 1, 1, FRAME); /* on the way when the link goes */
	loop_set_up(f.wire, 1, false);
	CU_ASSERT_NOT_EQUAL(f.port[1]->epoch, epoch);
	f.port[1]->ops->info(f.port[1], &info);
	CU_ASSERT_FALSE(info.up);
	fixture_send(&f, 0, 1, 2, FRAME);
	fixture_send(&f, 1, 0, 3, FRAME);
	f.now = 100;
	CU_ASSERT_EQUAL(fixture_receive(&f, 1), -1);
	CU_ASSERT_EQUAL(fixture_receive(&f, 0), -1);
	CU_ASSERT_EQUAL(fixture_count(&f, LOOP_ANY, LOOP_ANY).link_down, 3);
	loop_set_up(f.wire, 1, true);
	fixture_send(&f, 0, 1, 4, FRAME);
	f.now = 200;
	CU_ASSERT_EQUAL(fixture_receive(&f, 1), 4);
	fixture_close(&f);
}

static void ends_have_limits(void)
{
	struct loop_end_config end = {.mtu = 9216 - 18 + 1};
	struct fixture f;
	struct port *port;

	fixture_open(&f, NULL);
	CU_ASSERT_EQUAL(loop_add_end(f.wire, &end, &port), -EINVAL);
	end.mtu--;
	end.gid_count = PORT_GIDS_MAX + 1;
	CU_ASSERT_EQUAL(loop_add_end(f.wire, &end, &port), -EINVAL);
	end.gid_count = 0;
	for (uint32_t i = ENDS; i < LOOP_ENDS_MAX; i++)
		CU_ASSERT_EQUAL_FATAL(loop_add_end(f.wire, &end, &port), 0);
	CU_ASSERT_EQUAL(loop_add_end(f.wire, &end, &port), -ENOSPC);
	fixture_close(&f);
}

static const struct unit_case cases[] = {
	UNIT_CASE(frames_go_where_their_address_says),
	UNIT_CASE(broadcast_reaches_all_others),
	UNIT_CASE(lengths_are_those_of_the_mtu),
	UNIT_CASE(buffers_run_out_and_come_back),
	UNIT_CASE(misuse_is_noticed),
	UNIT_CASE(a_full_port_leaves_the_rest),
	UNIT_CASE(an_end_that_is_down_gets_nothing),
	UNIT_CASE(ends_have_limits),
};

UNIT_MAIN("loop-loop", cases)
