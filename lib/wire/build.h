/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Packets out. All that is constant for a QP is computed once, into struct wire_path: the headers
 * from Ethernet to UDP, and the CRC up to UDP's ports. Since the CRC is linear, the one thing that
 * varies in there, the IP header's length, is folded in by table look-ups, and a packet costs one
 * pass over its bytes from UDP's length on.
 */
#ifndef UROCE_WIRE_BUILD_H
#define UROCE_WIRE_BUILD_H

#include <stdbool.h>
#include <stdint.h>

#include "headers.h"
#include "opcode.h"

/* Ethernet, VLAN, IPv6, UDP */
#define WIRE_PATH_MAX (14u + 4u + 40u + 8u)
/* Of these, what is the same in all packets: up to UDP's ports, and filled up for a fast copy. */
#define WIRE_CONSTANT 64u
/* Largest frame without payload: path, BTH, the longest extension header, pad, ICRC. */
#define WIRE_OVERHEAD_MAX (WIRE_PATH_MAX + 12u + 28u + 3u + ICRC_LENGTH)

/* What a path is made from. IPv4 addresses in their v4-mapped form (::ffff:a.b.c.d). */
struct wire_path_attr {
	uint8_t destination_mac[6];
	uint8_t source_mac[6];
	bool has_vlan;
	uint16_t vlan_tci;  /* VID of the GID entry, PCP from the SL */
	uint8_t source[16]; /* GIDs; both mapped or both not */
	uint8_t destination[16];
	uint8_t traffic_class;
	uint8_t hop_limit;   /* 64 unless the address vector says otherwise */
	uint32_t flow_label; /* 20 bits: IPv6 header */
	uint16_t udp_source_port;
	uint16_t pkey;
	uint32_t destination_qp;
};

struct wire_path {
	uint8_t header[WIRE_CONSTANT]; /* lengths zero */
	uint8_t ip_offset;
	uint8_t udp_offset;
	uint8_t ip_version;
	uint16_t pkey;
	uint32_t destination_qp;
	uint32_t icrc_seed; /* for a length of 0 and no BECN, the masks folded in: see icrc.h */
	uint32_t ip_sum;    /* IPv4: one's complement sum of the header without total length */
};

/* Returns 0, or -EINVAL if one address is IPv4-mapped and the other is not. */
int wire_path_init(struct wire_path *path, const struct wire_path_attr *attr);
/* The neighbour moved: the MAC isn't covered by the ICRC. */
void wire_path_set_mac(struct wire_path *path, const uint8_t destination_mac[6]);
void wire_path_set_source_mac(struct wire_path *path, const uint8_t source_mac[6]);
/* For datagrams, whose destination may change from packet to packet. */
void wire_path_set_destination_qp(struct wire_path *path, uint32_t destination_qp);

/* UDP source port for a QP (0xC000 to 0xFFFF): rdma_flow_label_to_udp_sport() and
 * rdma_calc_flow_label() of Linux's include/rdma/ib_verbs.h. */
uint16_t wire_udp_source_port(uint32_t flow_label, uint32_t source_qp, uint32_t destination_qp);

/* The variable part of the BTH. */
struct wire_bth {
	uint8_t opcode;
	bool solicited;
	bool ack_request;
	bool becn;
	uint32_t psn;
	uint32_t payload_length;
};

/*
 * Writes all headers up to and including the BTH for a packet of bth->payload_length bytes and
 * returns where the extension headers go. The caller writes those and the payload behind them,
 * then calls wire_finish(). The frame needs WIRE_OVERHEAD_MAX + payload_length bytes.
 */
uint8_t *wire_start(uint8_t *frame, const struct wire_path *path, const struct wire_bth *bth);
/* Pads with zeros, appends the ICRC. Returns the frame's length. */
uint32_t wire_finish(uint8_t *frame, const struct wire_path *path, const struct wire_bth *bth);

#endif
