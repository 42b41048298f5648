/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A port on its own, for kernel_test.sh: takes the arguments of an engine, drives the port, and
 * answers commands, one a line, on its standard input:
 *
 *   info                     name, MAC, MTU, link
 *   resolve SOURCE TARGET    the next hop's MAC, or the error
 *   counters                 the port's
 *   reopen                   closes the port and opens it again
 *   quit
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "address.h"
#include "arguments.h"
#include "eal.h"
#include "ethdev.h"
#include "words.h"

static uint64_t now(void)
{
	struct timespec at;

	clock_gettime(CLOCK_MONOTONIC, &at);
	return (uint64_t)at.tv_sec * 1000000000u + (uint64_t)at.tv_nsec;
}

/* One turn of the port's core. */
static void turn(struct port *port)
{
	struct packet packets[PORT_BURST];
	unsigned int n = port->ops->rx(port, 0, packets, PORT_BURST);

	port->ops->other(port, 0, packets, n, now());
	port->ops->release(port, 0, packets, n);
	port->ops->service(port, now());
	if (n == 0)
		usleep(100);
}

static void print_error(const char *what, int err)
{
	printf("%s %s\n", what, strerrorname_np(-err));
}

static void resolve(struct port *port, const char *source, const char *target)
{
	uint8_t from[16], to[16], mac[6];
	uint32_t id;
	int err = address_parse(from, source);

	if (!err)
		err = address_parse(to, target);
	if (!err)
		err = port->ops->route(port, from, to, &id);
	if (err) {
		print_error("route", err);
		return;
	}
	while ((err = port->ops->neighbour(port, id, now(), mac)) == -EINPROGRESS)
		turn(port);
	if (err)
		print_error("neighbour", err);
	else
		printf("mac %02x:%02x:%02x:%02x:%02x:%02x\n", mac[0], mac[1], mac[2], mac[3],
			mac[4], mac[5]);
}

static void print_info(struct port *port)
{
	struct port_info info;

	port->ops->info(port, &info);
	printf("%s mac %02x:%02x:%02x:%02x:%02x:%02x mtu %u %s epoch %u\n", info.name, info.mac[0],
		info.mac[1], info.mac[2], info.mac[3], info.mac[4], info.mac[5], info.mtu,
		info.up ? "up" : "down", port->epoch);
}

static void print_counters(struct port *port)
{
	struct port_counters counters;

	port->ops->counters(port, &counters);
	printf("arp_in %lu arp_out %lu nd_in %lu nd_out %lu echo %lu unreachable %lu "
	       "other_dropped %lu tx_rejected %lu\n",
		counters.arp_in, counters.arp_out, counters.nd_in, counters.nd_out, counters.echo,
		counters.unreachable, counters.other_dropped, counters.tx_rejected);
}

/* False: the end. */
static bool obey(const struct arguments *arguments, struct port **port)
{
	char line[256], source[64], target[64];
	int err;

	if (!fgets(line, sizeof(line), stdin) || strcmp(line, "quit\n") == 0)
		return false;
	if (strcmp(line, "info\n") == 0) {
		print_info(*port);
	} else if (strcmp(line, "counters\n") == 0) {
		print_counters(*port);
	} else if (strcmp(line, "reopen\n") == 0) {
		(*port)->ops->close(*port);
		err = ethdev_port_open(&arguments->port, port);
		print_error("open", err);
		if (err)
			exit(1);
	} else if (sscanf(line, "resolve %63s %63s", source, target) == 2) {
		resolve(*port, source, target);
	} else {
		printf("what?\n");
	}
	return true;
}

static int start(int argc, char **argv, struct arguments *arguments, struct port **port)
{
	struct words eal, ours;
	int err;

	words_init(&eal);
	words_init(&ours);
	err = words_divide(argc, argv, &eal, &ours);
	if (!err)
		err = arguments_parse(arguments, ours.count, ours.word);
	if (!err && arguments->help) {
		arguments_help(stdout, argv[0]);
		exit(0);
	}
	if (!err)
		err = eal_start(eal.count, eal.word, &arguments->lcores);
	words_fini(&eal);
	words_fini(&ours);
	return err ? err : ethdev_port_open(&arguments->port, port);
}

int main(int argc, char **argv)
{
	struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
	struct arguments arguments;
	struct port *port;
	int err;

	setvbuf(stdin, NULL, _IONBF, 0); /* poll() must see every line that is there */
	setvbuf(stdout, NULL, _IOLBF, 0);
	err = start(argc, argv, &arguments, &port);
	if (err) {
		print_error("open", err);
		return 1;
	}
	printf("open\n");
	do {
		while (poll(&input, 1, 0) == 0)
			turn(port);
	} while (obey(&arguments, &port));
	port->ops->close(port);
	eal_stop();
	return 0;
}
