/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The XDP program for net_af_xdp, by the kernel's test run (BPF_PROG_RUN): xdp_test PROGRAM. Frames
 * in, verdicts out; nothing is attached to an interface. The map of sockets is loaded as one of
 * devices with the loopback interface in it, so that a redirection has somewhere to go and is seen
 * as one. Needs root (77 otherwise).
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#define LOOPBACK 1u

#define MACS 2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2
#define TAG 0x81, 0, 0, 5
#define IPV4(vihl, fragment, protocol)                                                             \
	8, 0, vihl, 0, 0, 60, 0, 0, fragment, 64, protocol, 0, 0, 192, 0, 2, 1, 192, 0, 2, 2
#define WHOLE 0x40, 0 /* do not fragment */
#define FIRST 0x20, 0 /* more fragments */
#define LAST 0, 8     /* the offset */
#define OPTIONS 1, 1, 1, 0
#define IPV6(next)                                                                                 \
	0x86, 0xdd, 0x60, 0, 0, 0, 0, 20, next, 64, 0x20, 1, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0,   \
		0, 0, 0, 1, 0x20, 1, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2
#define UDP(port) 0xc0, 0, (port) >> 8, (port)&0xff, 0, 20, 0, 0
#define ARP 8, 6, 0, 1, 8, 0, 6, 4, 0, 1
#define DATA 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12

struct row {
	const char *what;
	unsigned int verdict;
	unsigned int length; /* of the frame; 0: all */
	unsigned char frame[128];
};

static const struct row rows[] = {
	{"IPv4", XDP_REDIRECT, 0, {MACS, IPV4(0x45, WHOLE, 17), UDP(4791), DATA}},
	{"IPv4 with a tag", XDP_REDIRECT, 0, {MACS, TAG, IPV4(0x45, WHOLE, 17), UDP(4791), DATA}},
	{"IPv4 with options", XDP_REDIRECT, 0,
		{MACS, IPV4(0x46, WHOLE, 17), OPTIONS, UDP(4791), DATA}},
	{"IPv4 with options and a tag", XDP_REDIRECT, 0,
		{MACS, TAG, IPV4(0x46, WHOLE, 17), OPTIONS, UDP(4791), DATA}},
	{"IPv6", XDP_REDIRECT, 0, {MACS, IPV6(17), UDP(4791), DATA}},
	{"IPv6 with a tag", XDP_REDIRECT, 0, {MACS, TAG, IPV6(17), UDP(4791), DATA}},
	{"the shortest", XDP_REDIRECT, 42, {MACS, IPV4(0x45, WHOLE, 17), UDP(4791)}},

	{"another port", XDP_PASS, 0, {MACS, IPV4(0x45, WHOLE, 17), UDP(4790), DATA}},
	{"another port, IPv6", XDP_PASS, 0, {MACS, IPV6(17), UDP(53), DATA}},
	{"from port 4791", XDP_PASS, 0,
		{MACS, IPV4(0x45, WHOLE, 17), 4791 >> 8, 4791 & 0xff, 0, 53, 0, 20, 0, 0, DATA}},
	{"TCP", XDP_PASS, 0, {MACS, IPV4(0x45, WHOLE, 6), UDP(4791), DATA}},
	{"ICMP", XDP_PASS, 0, {MACS, IPV4(0x45, WHOLE, 1), UDP(4791), DATA}},
	{"ICMPv6", XDP_PASS, 0, {MACS, IPV6(58), UDP(4791), DATA}},
	{"an extension header", XDP_PASS, 0, {MACS, IPV6(0), UDP(4791), DATA}},
	{"ARP", XDP_PASS, 0, {MACS, ARP, DATA, DATA}},
	{"two tags", XDP_PASS, 0, {MACS, TAG, TAG, IPV4(0x45, WHOLE, 17), UDP(4791), DATA}},
	{"a first fragment", XDP_PASS, 0, {MACS, IPV4(0x45, FIRST, 17), UDP(4791), DATA}},
	{"a last fragment", XDP_PASS, 0, {MACS, IPV4(0x45, LAST, 17), UDP(4791), DATA}},
	{"a header of 16 bytes", XDP_PASS, 0, {MACS, IPV4(0x44, WHOLE, 17), UDP(4791), DATA}},
	{"cut off in the UDP header", XDP_PASS, 41, {MACS, IPV4(0x45, WHOLE, 17), UDP(4791)}},
	{"cut off in the options", XDP_PASS, 42, {MACS, IPV4(0x4f, WHOLE, 17), OPTIONS, UDP(4791)}},
	{"cut off in the IPv4 header", XDP_PASS, 33, {MACS, IPV4(0x45, WHOLE, 17), UDP(4791)}},
	{"cut off in the IPv6 header", XDP_PASS, 53, {MACS, IPV6(17), UDP(4791)}},
	{"cut off in the tag", XDP_PASS, 17, {MACS, TAG, IPV4(0x45, WHOLE, 17)}},
	{"no more than a header", XDP_PASS, 14, {MACS, IPV4(0x45, WHOLE, 17)}},
};

#define ROWS (sizeof(rows) / sizeof(rows[0]))

static int skip(const char *why)
{
	printf("skipped: %s\n", why);
	return 77;
}

/* The program's descriptor, loaded; or -1. */
static int load(const char *path, struct bpf_object **object)
{
	struct bpf_program *program;
	struct bpf_map *map;
	unsigned int key = 0, value = LOOPBACK;

	*object = bpf_object__open_file(path, NULL);
	program = *object ? bpf_object__next_program(*object, NULL) : NULL;
	map = *object ? bpf_object__find_map_by_name(*object, "xsks_map") : NULL;
	if (!program || !map || bpf_map__type(map) != BPF_MAP_TYPE_XSKMAP) {
		printf("%s has no program, or no map of sockets\n", path);
		return -1;
	}
	if (bpf_map__set_type(map, BPF_MAP_TYPE_DEVMAP) || bpf_object__load(*object) ||
		bpf_map_update_elem(bpf_map__fd(map), &key, &value, BPF_ANY)) {
		printf("%s cannot be loaded: %s\n", path, strerror(errno));
		return -1;
	}
	return bpf_program__fd(program);
}

/* A frame without a length ends with its last byte that isn't zero. */
static unsigned int length_of(const struct row *row)
{
	unsigned int length = row->length;

	if (length == 0)
		for (length = sizeof(row->frame); row->frame[length - 1] == 0;)
			length--;
	return length;
}

static int judge(int program, const struct row *row)
{
	LIBBPF_OPTS(bpf_test_run_opts, options, .data_in = row->frame,
		.data_size_in = length_of(row), .repeat = 1);
	int error = bpf_prog_test_run_opts(program, &options);

	if (!error && options.retval == row->verdict) {
		printf("ok     %s\n", row->what);
		return 0;
	}
	printf("FAILED %s: verdict %u, not %u (error %d)\n", row->what, options.retval,
		row->verdict, error);
	return 1;
}

int main(int argc, char **argv)
{
	struct bpf_object *object;
	unsigned int failed = 0;
	int program;

	if (geteuid() != 0)
		return skip("needs root, to load programs into the kernel");
	program = argc > 1 ? load(argv[1], &object) : -1;
	if (program < 0) {
		printf("integ-xdp: 0 passed, 1 failed\n");
		return 1;
	}
	for (size_t i = 0; i < ROWS; i++)
		failed += (unsigned int)judge(program, &rows[i]);
	bpf_object__close(object);
	printf("integ-xdp: %zu passed, %u failed\n", ROWS - failed, failed);
	return failed != 0;
}
