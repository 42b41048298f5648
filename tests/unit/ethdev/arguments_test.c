/* SPDX-License-Identifier: BSD-3-Clause */
/* Every argument: what is taken, what is refused, and what it becomes. */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "address.h"
#include "arguments.h"
#include "unit.h"
#include "values.h"
#include "words.h"

#define BASE "--port net_ring0 --address 10.77.0.2/24 "

static int parse(struct arguments *arguments, const char *line)
{
	struct words words;
	int err;

	words_init(&words);
	CU_ASSERT_EQUAL_FATAL(words_add(&words, "test"), 0);
	CU_ASSERT_EQUAL_FATAL(words_split(&words, line), 0);
	err = arguments_parse(arguments, words.count, words.word);
	words_fini(&words);
	return err;
}

static void lines(void)
{
	static const struct {
		const char *line;
		int err;
	} rows[] = {
		{BASE, 0},
		{"--port=net_ring0 --address=10.77.0.2/24", 0},
		{"--port 0 --link-local", 0},
		{"", -EINVAL},
		{"--port net_ring0", -EINVAL},
		{"--address 10.77.0.2/24", -EINVAL},
		{"--port '' --address 10.77.0.2/24", -EINVAL},
		{BASE "extra", -EINVAL},
		{BASE "--nonsense", -EINVAL},
		{BASE "-x", -EINVAL},
		{BASE "--mtu", -EINVAL},
		{BASE "--link-local=yes", -EINVAL},
		{BASE "--mtu 575", -EINVAL},
		{BASE "--mtu 576", 0},
		{BASE "--mtu 65535", 0},
		{BASE "--mtu 65536", -EINVAL},
		{BASE "--mtu -1", -EINVAL},
		{BASE "--mtu 0x400", -EINVAL},
		{BASE "--mtu 4200k", -EINVAL},
		{BASE "--mtu ''", -EINVAL},
		{BASE "--address-mode own", 0},
		{BASE "--address-mode kernel", 0},
		{BASE "--address-mode", -EINVAL},
		{BASE "--address-mode mine", -EINVAL},
		{"--port net_af_packet0 --address-mode kernel", 0},
		{"--port net_af_packet0 --address-mode kernel --link-local", 0},
		{"--port net_af_packet0 --address-mode own", -EINVAL},
		{BASE "--address-mode kernel --gateway 10.77.0.1", -EINVAL},
		{BASE "--address-mode kernel --route 10.1.0.0/16 via 10.77.0.1", -EINVAL},
		{BASE "--address-mode kernel --mac 02:00:00:00:00:02", -EINVAL},
		{BASE "--address 10.77.1.2/24@5 --address-mode kernel", -EINVAL},
		{BASE "--capture /tmp/a.pcapng", 0},
		{BASE "--capture a,snaplen=64,packets=1,bytes=18446744073709", 0},
		{BASE "--capture a,packets=9999999999999999999", 0},
		{BASE "--capture a,packets=10000000000000000000", -EINVAL},
		{BASE "--capture ''", -EINVAL},
		{BASE "--capture ,snaplen=64", -EINVAL},
		{BASE "--capture a,", -EINVAL},
		{BASE "--capture a,snaplen=0", -EINVAL},
		{BASE "--capture a,snaplen=4294967296", -EINVAL},
		{BASE "--capture a,snaplen=-1", -EINVAL},
		{BASE "--capture a,snaplen=1k", -EINVAL},
		{BASE "--capture a,packets", -EINVAL},
		{BASE "--capture a,limit=1", -EINVAL},
		{BASE "--mbufs 255", -EINVAL},
		{BASE "--mbufs 16777217", -EINVAL},
		{BASE "--mode inline", 0},
		{BASE "--mode dedicated --lcore 1", 0},
		{BASE "--mode dedicated", -EINVAL},
		{BASE "--lcore 1", -EINVAL},
		{BASE "--mode inline --lcore 1", -EINVAL},
		{BASE "--mode busy", -EINVAL},
		{BASE "--mode dedicated --lcore 1,3-5", 0},
		{BASE "--mode dedicated --lcore 1,3-5 --cores 4", 0},
		{BASE "--mode dedicated --lcore 1,3-5 --cores 5", -EINVAL},
		{BASE "--mode dedicated --lcore 1,1", -EINVAL},
		{BASE "--mode dedicated --lcore 3-1", -EINVAL},
		{BASE "--mode dedicated --lcore 1-", -EINVAL},
		{BASE "--mode dedicated --lcore 1,", -EINVAL},
		{BASE "--mode dedicated --lcore 0-16", -EINVAL},
		{BASE "--mode mixed --lcore 1 --cores 2", 0},
		{BASE "--mode mixed --lcore 1", -EINVAL},
		{BASE "--mode mixed --lcore 1 --cores 1", -EINVAL},
		{BASE "--mode mixed --cores 2", -EINVAL},
		{BASE "--cores 16", 0},
		{BASE "--cores 17", -EINVAL},
		{BASE "--cores 0", -EINVAL},
		{BASE "--sleep never", 0},
		{BASE "--mode dedicated --lcore 1 --sleep 0", 0},
		{BASE "--mode dedicated --lcore 1 --sleep 1000000", 0},
		{BASE "--mode dedicated --lcore 1 --sleep 1000001", -EINVAL},
		{BASE "--mode dedicated --lcore 1 --sleep soon", -EINVAL},
		{BASE "--sleep 50", -EINVAL},
		{BASE "--progress on", 0},
		{BASE "--progress off", 0},
		{BASE "--progress", -EINVAL},
		{BASE "--progress maybe", -EINVAL},
		{BASE "--mode dedicated --lcore 1024", -EINVAL},
		{BASE "--name uroce7", 0},
		{BASE "--name a/b", -EINVAL},
		{BASE "--name ''", -EINVAL},
		{BASE "--name "
		      "0123456789012345678901234567890123456789012345678901234567890123",
			-EINVAL},
		{BASE "--name "
		      "012345678901234567890123456789012345678901234567890123456789012",
			0},
		{BASE "--max-qp 0", -EINVAL},
		{BASE "--max-mr 1048576", 0},
		{BASE "--max-mr 1048577", -EINVAL},
		{BASE "--mac 02:00:00:00:00:02", 0},
		{BASE "--mac 03:00:00:00:00:02", -EINVAL},
		{BASE "--mac 00:00:00:00:00:00", -EINVAL},
		{BASE "--mac 02:00:00:00:00", -EINVAL},
		{BASE "--mac 02-00-00-00-00-02", -EINVAL},
		{BASE "--mac 02:00:00:00:00:0g", -EINVAL},
		{BASE "--mac 02:00:00:00:00:02:", -EINVAL},
		{BASE "--gateway 10.77.0.254", 0},
		{BASE "--gateway fe80::1@5", 0},
		{BASE "--gateway 10.77.0.254/24", -EINVAL},
		{BASE "--gateway 10.77.0.254@0", -EINVAL},
		{BASE "--gateway 10.77.0.254@4095", -EINVAL},
		{BASE "--route 192.168.0.0/16 via 10.77.0.9", 0},
		{BASE "--route 192.168.0.0/16 via 10.77.0.9 --mtu 1500", 0},
		{BASE "--route 192.168.0.0/16 by 10.77.0.9", -EINVAL},
		{BASE "--route 192.168.0.0/16 via", -EINVAL},
		{BASE "--route 192.168.0.0/16", -EINVAL},
		{BASE "--route 192.168.0.0/"
		      "000000000000000000000000000000000000000000000000000016 via 10.77.0.9",
			-EINVAL},
		{BASE "--route 192.168.0.0 via 10.77.0.9", -EINVAL},
		{BASE "--route 192.168.0.0/33 via 10.77.0.9", -EINVAL},
		{"--address 10.77.0.2 --port 0", -EINVAL},
		{"--address 10.77.0.2/ --port 0", -EINVAL},
		{"--address 10.77.0.2/33 --port 0", -EINVAL},
		{"--address 10.77.0.2/24@ --port 0", -EINVAL},
		{"--address 10.77.0.2/24@5 --port 0", 0},
		{"--address 10.77.0.2/24@4094 --port 0", 0},
		{"--address fd00::2/129 --port 0", -EINVAL},
		{"--address fd00::2/128 --port 0", 0},
		{"--address ::ffff:10.77.0.2/24 --port 0", -EINVAL},
		{"--help", 0},
		{"--help --nonsense", 0},
	};

	for (unsigned int i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct arguments arguments;
		int err = parse(&arguments, rows[i].line);

		CU_ASSERT_EQUAL(err, rows[i].err);
		if (err != rows[i].err)
			printf("\nthat was: %s\n", rows[i].line);
	}
}

static void defaults(void)
{
	struct arguments arguments;

	CU_ASSERT_EQUAL_FATAL(parse(&arguments, BASE), 0);
	CU_ASSERT_FALSE(arguments.help);
	CU_ASSERT_STRING_EQUAL(arguments.name, "");
	CU_ASSERT_EQUAL(arguments.mode, ENGINE_INLINE);
	CU_ASSERT_EQUAL(arguments.lcores.count, 0);
	CU_ASSERT_EQUAL(arguments.cores, 1);
	CU_ASSERT_EQUAL(arguments.idle, UINT64_MAX);
	CU_ASSERT_TRUE(arguments.progress);
	CU_ASSERT_STRING_EQUAL(arguments.port.device, "net_ring0");
	CU_ASSERT_EQUAL(arguments.port.mtu, 0);
	CU_ASSERT_EQUAL(arguments.port.mbufs, 0);
	CU_ASSERT_EQUAL(arguments.port.queues, 1);
	CU_ASSERT_FALSE(arguments.port.has_mac);
	CU_ASSERT_EQUAL(arguments.port.network.address_count, 1);
	CU_ASSERT_EQUAL(arguments.port.network.route_count, 0);
	CU_ASSERT_FALSE(arguments.port.network.link_local);
}

static bool is_address(const uint8_t address[16], const char *text)
{
	char printed[ADDRESS_TEXT];

	return strcmp(address_format(printed, address), text) == 0;
}

static void everything(void)
{
	struct arguments arguments;
	const struct net_config *network = &arguments.port.network;

	CU_ASSERT_EQUAL_FATAL(
		parse(&arguments,
			"--port 3 --address 10.77.0.2/24 --address fd05::2/64@5 --link-local "
			"--gateway 10.77.0.254 --gateway fe80::1@5 "
			"--route 192.168.0.0/16 via 10.77.0.9 --route fd07::/32 via fd05::9@5 "
			"--mtu 4200 --mac 02:ab:cd:ef:00:12 --mbufs 4095 "
			"--mode dedicated --lcore 1 --name uroce9 --max-qp 100 --max-mr 200"),
		0);
	CU_ASSERT_STRING_EQUAL(arguments.port.device, "3");
	CU_ASSERT_EQUAL(arguments.port.mtu, 4200);
	CU_ASSERT(arguments.port.has_mac);
	CU_ASSERT_EQUAL(memcmp(arguments.port.mac, "\x02\xab\xcd\xef\x00\x12", 6), 0);
	CU_ASSERT_EQUAL(arguments.port.queues, 1);
	CU_ASSERT_EQUAL(arguments.port.mbufs, 4095);
	CU_ASSERT_EQUAL(arguments.mode, ENGINE_DEDICATED);
	CU_ASSERT_EQUAL(arguments.lcores.id[0], 1);
	CU_ASSERT_STRING_EQUAL(arguments.name, "uroce9");
	CU_ASSERT_EQUAL(arguments.max_qp, 100);
	CU_ASSERT_EQUAL(arguments.max_mr, 200);
	CU_ASSERT(network->link_local);
	CU_ASSERT_EQUAL_FATAL(network->address_count, 2);
	CU_ASSERT(is_address(network->addresses[0].gid, "10.77.0.2"));
	CU_ASSERT_EQUAL(network->addresses[0].prefix_length, 24);
	CU_ASSERT_FALSE(network->addresses[0].has_vlan);
	CU_ASSERT(is_address(network->addresses[1].gid, "fd05::2"));
	CU_ASSERT_EQUAL(network->addresses[1].prefix_length, 64);
	CU_ASSERT(network->addresses[1].has_vlan);
	CU_ASSERT_EQUAL(network->addresses[1].vlan_id, 5);
	CU_ASSERT_EQUAL_FATAL(network->route_count, 4);
	CU_ASSERT(is_address(network->routes[0].prefix, "0.0.0.0"));
	CU_ASSERT_EQUAL(network->routes[0].prefix_length, 0);
	CU_ASSERT(is_address(network->routes[0].gateway, "10.77.0.254"));
	CU_ASSERT(is_address(network->routes[1].prefix, "::"));
	CU_ASSERT(is_address(network->routes[1].gateway, "fe80::1"));
	CU_ASSERT_EQUAL(network->routes[1].vlan_id, 5);
	CU_ASSERT(is_address(network->routes[2].prefix, "192.168.0.0"));
	CU_ASSERT_EQUAL(network->routes[2].prefix_length, 16);
	CU_ASSERT(is_address(network->routes[2].gateway, "10.77.0.9"));
	CU_ASSERT_FALSE(network->routes[2].has_vlan);
	CU_ASSERT(is_address(network->routes[3].prefix, "fd07::"));
	CU_ASSERT(network->routes[3].has_vlan);
}

/* As many addresses and routes as there is room for, and one more of each. */
static void repeated(void)
{
	struct arguments arguments;
	char line[8192];
	int used = snprintf(line, sizeof(line), "--port 0");

	for (unsigned int i = 0; i < PORT_GIDS_MAX; i++)
		used += sprintf(line + used, " --address 10.77.0.%u/24", i + 1);
	CU_ASSERT_EQUAL(parse(&arguments, line), 0);
	CU_ASSERT_EQUAL(arguments.port.network.address_count, PORT_GIDS_MAX);
	sprintf(line + used, " --address 10.77.1.1/24");
	CU_ASSERT_EQUAL(parse(&arguments, line), -EINVAL);
	used = sprintf(line, BASE);
	for (unsigned int i = 0; i < NET_ROUTES_MAX; i++)
		used += sprintf(line + used, " --route 192.168.%u.0/24 via 10.77.0.9", i);
	CU_ASSERT_EQUAL(parse(&arguments, line), 0);
	CU_ASSERT_EQUAL(arguments.port.network.route_count, NET_ROUTES_MAX);
	sprintf(line + used, " --gateway 10.77.0.9");
	CU_ASSERT_EQUAL(parse(&arguments, line), -EINVAL);
}

/* The application's own use of getopt goes on where it was. */
static void getopt_is_left_alone(void)
{
	char *argv[] = {strdup("app"), strdup("-a"), strdup("-b"), NULL};
	struct arguments arguments;

	optind = 1;
	opterr = 1;
	CU_ASSERT_EQUAL(getopt(3, argv, "ab"), 'a');
	CU_ASSERT_EQUAL(parse(&arguments, BASE "--nonsense"), -EINVAL);
	CU_ASSERT_EQUAL(optind, 2);
	CU_ASSERT_EQUAL(opterr, 1);
	CU_ASSERT_EQUAL(getopt(3, argv, "ab"), 'b');
	CU_ASSERT_EQUAL(getopt(3, argv, "ab"), -1);
	for (unsigned int i = 0; i < 3; i++)
		free(argv[i]);
}

/* The help names each argument that is taken, in lines that a terminal shows. */
static void help(void)
{
	static const char *const names[] = {"--port", "--address", "--address-mode", "--link-local",
		"--gateway", "--route", "--mtu", "--mac", "--cores", "--mbufs", "--mode", "--lcore",
		"--sleep", "--progress", "--name", "--max-qp", "--max-mr", "--help"};
	char text[8192] = "", *line, *rest = text;
	FILE *out = fmemopen(text, sizeof(text), "w");

	CU_ASSERT_PTR_NOT_NULL_FATAL(out);
	arguments_help(out, "program");
	fclose(out);
	for (unsigned int i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		CU_ASSERT_PTR_NOT_NULL(strstr(text, names[i]));
	while ((line = strsep(&rest, "\n")))
		CU_ASSERT(strlen(line) <= 100);
}

static void numbers(void)
{
	static const struct {
		const char *text;
		uint32_t low, high;
		int err;
		uint32_t number;
	} rows[] = {
		{"0", 0, UINT32_MAX, 0, 0},
		{"4294967295", 0, UINT32_MAX, 0, UINT32_MAX},
		{"4294967296", 0, UINT32_MAX, -EINVAL, 0},
		{"18446744073709551617", 0, UINT32_MAX, -EINVAL, 0},
		{"0000000001", 0, 9, 0, 1},
		{"010", 0, 100, 0, 10},
		{"+1", 0, 9, -EINVAL, 0},
		{" 1", 0, 9, -EINVAL, 0},
		{"1 ", 0, 9, -EINVAL, 0},
		{"", 0, 9, -EINVAL, 0},
		{"5", 6, 9, -EINVAL, 0},
		{"9", 6, 9, 0, 9},
		{"10", 6, 9, -EINVAL, 0},
	};

	for (unsigned int i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		uint32_t number = 0;

		CU_ASSERT_EQUAL(value_number(rows[i].text, rows[i].low, rows[i].high, &number),
			rows[i].err);
		CU_ASSERT_EQUAL(number, rows[i].number);
	}
}

static void captures(void)
{
	struct arguments arguments;

	CU_ASSERT_EQUAL(parse(&arguments, BASE), 0);
	CU_ASSERT_STRING_EQUAL(arguments.port.capture.file, "");
	CU_ASSERT_EQUAL(parse(&arguments, BASE "--capture /tmp/a=b.pcapng"), 0);
	CU_ASSERT_STRING_EQUAL(arguments.port.capture.file, "/tmp/a=b.pcapng");
	CU_ASSERT_EQUAL(arguments.port.capture.snaplen, UINT32_MAX);
	CU_ASSERT_EQUAL(arguments.port.capture.packets, 0);
	CU_ASSERT_EQUAL(arguments.port.capture.bytes, 0);
	CU_ASSERT_EQUAL(parse(&arguments, BASE "--capture a,bytes=3,snaplen=1,packets=2"), 0);
	CU_ASSERT_STRING_EQUAL(arguments.port.capture.file, "a");
	CU_ASSERT_EQUAL(arguments.port.capture.snaplen, 1);
	CU_ASSERT_EQUAL(arguments.port.capture.packets, 2);
	CU_ASSERT_EQUAL(arguments.port.capture.bytes, 3);
}

static const struct unit_case cases[] = {
	UNIT_CASE(lines),
	UNIT_CASE(captures),
	UNIT_CASE(defaults),
	UNIT_CASE(everything),
	UNIT_CASE(repeated),
	UNIT_CASE(getopt_is_left_alone),
	UNIT_CASE(help),
	UNIT_CASE(numbers),
};

UNIT_MAIN("ethdev-arguments", cases)
