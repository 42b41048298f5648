/* SPDX-License-Identifier: BSD-3-Clause */
/* Waiting for an event: taken from the count, driven inline, refused when dead. What signals and
 * cancellation do is tested through ibv_get_cq_event() in tests/unit/verbs/channel_test.c. */
#include <errno.h>
#include <fcntl.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "attach.h"
#include "fake.h"
#include "unit.h"

static struct engine *engine;
static struct attach *attach;
static struct eventring_front events; /* the descriptor is all that waiting looks at */

static void begin(bool dedicated)
{
	engine = fake_create("uroce0", dedicated);
	CU_ASSERT_EQUAL_FATAL(attach_open(&uroce_engine_door, engine, &attach), 0);
	events.fd = eventfd(0, EFD_SEMAPHORE);
}

static void end(void)
{
	close(events.fd);
	attach_close(attach);
	fake_destroy(engine);
}

static void takes_one(void)
{
	const uint64_t two = 2;

	for (int dedicated = 0; dedicated < 2; dedicated++) {
		begin(dedicated);
		CU_ASSERT_EQUAL(write(events.fd, &two, sizeof(two)), sizeof(two));
		CU_ASSERT_EQUAL(attach_wait_event(attach, &events), 0);
		CU_ASSERT_EQUAL(attach_wait_event(attach, &events), 0);
		CU_ASSERT_EQUAL(fcntl(events.fd, F_SETFL, O_NONBLOCK), 0);
		CU_ASSERT_EQUAL(attach_wait_event(attach, &events), -EAGAIN);
		end();
	}
}

/* Also without waiting, inline gives the engine a round, or a polling program would see nothing. */
static void drives(void)
{
	unsigned int before;

	begin(false);
	fcntl(events.fd, F_SETFL, O_NONBLOCK);
	before = fake_rounds(engine);
	CU_ASSERT_EQUAL(attach_wait_event(attach, &events), -EAGAIN);
	CU_ASSERT_EQUAL(fake_rounds(engine), before + 1);
	end();
}

static void dead(void)
{
	begin(false);
	attach->dead = 1;
	CU_ASSERT_EQUAL(attach_wait_event(attach, &events), -EIO);
	attach->dead = 0;
	end();
}

static void bad_descriptor(void)
{
	begin(false);
	close(events.fd);
	CU_ASSERT_EQUAL(attach_wait_event(attach, &events), -EBADF);
	events.fd = -1;
	end();
}

static const struct unit_case cases[] = {
	UNIT_CASE(takes_one),
	UNIT_CASE(drives),
	UNIT_CASE(dead),
	UNIT_CASE(bad_descriptor),
};

UNIT_MAIN("attach-wait", cases)
