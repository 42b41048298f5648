/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The captures in this folder, all packets of all files: Linux's Soft-RoCE talking to itself, on
 * IPv4 and IPv6, plain verbs, the CM, NVMe over RDMA and SRP, with losses made on purpose.
 */
#ifndef UROCE_TESTS_GOLDEN_H
#define UROCE_TESTS_GOLDEN_H

#include <stdbool.h>
#include <stdint.h>

#define GOLDEN_FILES 41u
#define GOLDEN_PACKETS 594u

struct golden_packet {
	const char *file; /* name within the folder */
	uint32_t number;  /* counted from 1, as tshark does */
	const uint8_t *data;
	uint32_t length;
};

struct golden {
	struct golden_packet packet[GOLDEN_PACKETS];
	uint32_t packets;
	uint32_t files;
	void *contents[GOLDEN_FILES];
	char name[GOLDEN_FILES][64];
};

/* Reads the folder; exits with a message if that fails or holds more than is expected. */
struct golden *golden_load(void);
void golden_free(struct golden *golden);

/* The ICRC of a captured frame, worked out bit by bit by tests/unit/wire/frame.c. */
uint32_t golden_icrc(const uint8_t *frame, uint32_t ip, uint32_t udp, uint32_t icrc);

#endif
