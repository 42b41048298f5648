/* SPDX-License-Identifier: BSD-3-Clause */
/* Completion channels as descriptors: blocking, O_NONBLOCK, poll and epoll; acknowledging. */
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/time.h>
#include <unistd.h>

#include "world.h"

static struct world world;

static void begin(bool dedicated)
{
	world_open(&world, dedicated);
	CU_ASSERT_EQUAL(world_move(world.qp, IBV_QPS_RTS), 0);
}

static void one_event(void)
{
	struct ibv_wc wc;

	CU_ASSERT_EQUAL(ibv_req_notify_cq(world.cq, 0), 0);
	CU_ASSERT_EQUAL(world_send(world.qp, 1), 0);
	world_complete(&world, 0);
	CU_ASSERT_EQUAL(ibv_poll_cq(world.cq, 1, &wc), 1);
}

static void non_blocking(void)
{
	struct ibv_cq *cq = NULL;
	void *context;

	for (int dedicated = 0; dedicated < 2; dedicated++) {
		begin(dedicated);
		CU_ASSERT_EQUAL(fcntl(world.channel->fd, F_SETFL, O_NONBLOCK), 0);
		ASSERT_MINUS_ERRNO(ibv_get_cq_event(world.channel, &cq, &context), EAGAIN);
		one_event();
		CU_ASSERT_EQUAL(ibv_get_cq_event(world.channel, &cq, &context), 0);
		CU_ASSERT_PTR_EQUAL(cq, world.cq);
		ASSERT_MINUS_ERRNO(ibv_get_cq_event(world.channel, &cq, &context), EAGAIN);
		ibv_ack_cq_events(world.cq, 1);
		world_close(&world);
	}
}

static void epolled(void)
{
	struct epoll_event event = {.events = EPOLLIN};
	struct ibv_cq *cq;
	void *context;
	int epoll = epoll_create1(0);

	begin(false);
	CU_ASSERT_EQUAL(epoll_ctl(epoll, EPOLL_CTL_ADD, world.channel->fd, &event), 0);
	CU_ASSERT_EQUAL(epoll_wait(epoll, &event, 1, 0), 0);
	one_event();
	one_event();
	CU_ASSERT_EQUAL(epoll_wait(epoll, &event, 1, 0), 1);
	CU_ASSERT_EQUAL(ibv_get_cq_event(world.channel, &cq, &context), 0);
	CU_ASSERT_EQUAL(epoll_wait(epoll, &event, 1, 0), 1);
	CU_ASSERT_EQUAL(ibv_get_cq_event(world.channel, &cq, &context), 0);
	CU_ASSERT_EQUAL(epoll_wait(epoll, &event, 1, 0), 0);
	ibv_ack_cq_events(world.cq, 2);
	close(epoll);
	world_close(&world);
}

static void *complete_later(void *argument)
{
	usleep(20000);
	world_complete(&world, 0);
	return NULL;
}

/* Blocks until there is one; inline it drives the engine meanwhile. */
static void blocking(void)
{
	struct ibv_cq *cq = NULL;
	void *context;
	pthread_t thread;

	for (int dedicated = 0; dedicated < 2; dedicated++) {
		unsigned int rounds;

		begin(dedicated);
		CU_ASSERT_EQUAL(ibv_req_notify_cq(world.cq, 0), 0);
		CU_ASSERT_EQUAL(world_send(world.qp, 1), 0);
		rounds = fake_rounds(world.engine);
		pthread_create(&thread, NULL, complete_later, NULL);
		CU_ASSERT_EQUAL(ibv_get_cq_event(world.channel, &cq, &context), 0);
		CU_ASSERT_PTR_EQUAL(cq, world.cq);
		CU_ASSERT(dedicated || fake_rounds(world.engine) > rounds + 10);
		ibv_ack_cq_events(world.cq, 1);
		pthread_join(thread, NULL);
		world_close(&world);
	}
}

static volatile sig_atomic_t alarms;
static volatile sig_atomic_t completing; /* the second alarm brings the completion */

static void on_alarm(int signal)
{
	if (++alarms == 2 && completing)
		world_complete(&world, 0);
}

static void set_alarm(int flags)
{
	struct sigaction action = {.sa_handler = on_alarm, .sa_flags = flags};
	struct itimerval timer = {.it_value.tv_usec = 20000, .it_interval.tv_usec = 20000};

	alarms = 0;
	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &timer, NULL);
}

/* As read(2) of a uverbs file: ended by a handler, unless that asked for SA_RESTART. */
static void signals(void)
{
	struct itimerval off = {0};
	struct ibv_cq *cq;
	void *context;

	begin(false);
	CU_ASSERT_EQUAL(ibv_req_notify_cq(world.cq, 0), 0);
	CU_ASSERT_EQUAL(world_send(world.qp, 1), 0);
	completing = false;
	set_alarm(0);
	ASSERT_MINUS_ERRNO(ibv_get_cq_event(world.channel, &cq, &context), EINTR);
	CU_ASSERT(alarms >= 1);
	completing = true;
	set_alarm(SA_RESTART);
	CU_ASSERT_EQUAL(ibv_get_cq_event(world.channel, &cq, &context), 0);
	CU_ASSERT(alarms >= 2);
	setitimer(ITIMER_REAL, &off, NULL);
	signal(SIGALRM, SIG_DFL);
	ibv_ack_cq_events(world.cq, 1);
	world_close(&world);
}

static void *wait_for_ever(void *argument)
{
	struct ibv_cq *cq;
	void *context;

	ibv_get_cq_event(world.channel, &cq, &context);
	return NULL;
}

static unsigned int descriptors(void)
{
	unsigned int count = 0;

	for (int fd = 0; fd < 256; fd++)
		count += fcntl(fd, F_GETFD) >= 0;
	return count;
}

/* A waiting thread that is cancelled leaves nothing open. */
static void cancelled(void)
{
	unsigned int before;
	pthread_t thread;

	begin(false);
	before = descriptors();
	pthread_create(&thread, NULL, wait_for_ever, NULL);
	usleep(20000);
	CU_ASSERT_EQUAL(descriptors(), before + 1); /* the timer that it naps by */
	pthread_cancel(thread);
	pthread_join(thread, NULL);
	CU_ASSERT_EQUAL(descriptors(), before);
	world_close(&world);
}

static void busy(void)
{
	world_open(&world, false);
	CU_ASSERT_EQUAL(ibv_destroy_comp_channel(world.channel), EBUSY);
	fake_fail(world.engine, UROCE_ABI_CREATE_CHANNEL, -ENOMEM);
	ASSERT_NULL_ERRNO(ibv_create_comp_channel(world.context), ENOMEM);
	world_close(&world);
}

static void *acknowledge_later(void *argument)
{
	usleep(20000);
	ibv_ack_cq_events(argument, 1);
	return NULL;
}

/* man ibv_get_cq_event: destroying a CQ waits for the events that were got. */
static void destroy_waits(void)
{
	struct ibv_cq *cq;
	struct ibv_wc wc;
	void *context;
	pthread_t thread;

	begin(false);
	one_event();
	CU_ASSERT_EQUAL(ibv_get_cq_event(world.channel, &cq, &context), 0);
	CU_ASSERT_EQUAL(ibv_poll_cq(world.cq, 1, &wc), 0);
	CU_ASSERT_EQUAL(cq->comp_events_completed, 0);
	pthread_create(&thread, NULL, acknowledge_later, cq);
	world_close(&world);
	pthread_join(thread, NULL);
}

static const struct unit_case cases[] = {
	UNIT_CASE(non_blocking),
	UNIT_CASE(epolled),
	UNIT_CASE(blocking),
	UNIT_CASE(signals),
	UNIT_CASE(cancelled),
	UNIT_CASE(busy),
	UNIT_CASE(destroy_waits),
};

UNIT_MAIN("verbs-channel", cases)
