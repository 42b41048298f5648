/* SPDX-License-Identifier: BSD-3-Clause */
/* Frames in: layers two and three, checked. Frames out: buffers of the port, and the headers. */
#ifndef UROCE_NET_FRAME_H
#define UROCE_NET_FRAME_H

#include <stdbool.h>
#include <stdint.h>

#include "headers.h"

/* Why a frame was dropped. Each has a counter. */
enum net_drop {
	NET_OK,	     /* not dropped */
	NET_SHORT,   /* ends inside a header */
	NET_OWN,     /* from our own MAC: a loop of the link */
	NET_ADDRESS, /* for somebody else, or from nobody who may ask */
	NET_TYPE,    /* a protocol that this port does not serve */
	NET_FORMAT,  /* a field that its standard forbids */
	NET_LENGTH,  /* lengths that contradict each other, or an answer above the MTU */
	NET_CHECKSUM,
	NET_FRAGMENT,
	NET_RATE,   /* echo requests beyond the budget */
	NET_BUFFER, /* no buffer for the answer */
	NET_DROPS,
};

/* Where answers and solicitations go: the port's buffers. */
struct net_sink {
	/* A buffer of at least `length` bytes, or NULL. */
	uint8_t *(*begin)(struct net_sink *sink, uint32_t length);
	/* Sends what lies in the buffer that begin() gave last. */
	void (*end)(struct net_sink *sink, uint32_t length);
};

/* A received frame behind its Ethernet header and tag. */
struct frame {
	const struct ether_header *ether;
	uint16_t type;
	uint16_t vlan; /* VLAN_NONE: untagged */
	const uint8_t *payload;
	uint32_t length; /* of the payload, padding of short frames included */
};

/* A received IP packet: addresses as GIDs, and what the header is followed by. */
struct ip_packet {
	uint8_t source[16];
	uint8_t destination[16];
	uint8_t protocol;
	uint8_t traffic_class;
	uint8_t hop_limit;
	const uint8_t *payload;
	uint32_t length; /* as the IP header says; padding is off */
};

enum net_drop frame_parse(struct frame *frame, const uint8_t *data, uint32_t length);
enum net_drop ipv4_parse(struct ip_packet *ip, const uint8_t *data, uint32_t length);
enum net_drop ipv6_parse(struct ip_packet *ip, const uint8_t *data, uint32_t length);

#define FRAME_MIN 60u /* IEEE 802.3 3.2.8 without the FCS: what is shorter is padded with zeros */

static inline uint32_t frame_header_length(uint16_t vlan)
{
	return (uint32_t)(sizeof(struct ether_header) + (vlan ? sizeof(struct vlan_header) : 0));
}

/*
 * Takes a buffer for a frame with `length` bytes behind its Ethernet header, writes that header
 * and the padding. Returns where the payload goes, NULL if there is no buffer.
 */
uint8_t *frame_begin(struct net_sink *sink, const uint8_t destination[6], const uint8_t source[6],
	uint16_t vlan, uint16_t type, uint32_t length);
void frame_end(struct net_sink *sink, uint16_t vlan, uint32_t length);

/* Write the header before `length` bytes of payload; return where the payload goes. */
uint8_t *ipv4_build(uint8_t *at, const uint8_t source[16], const uint8_t destination[16],
	uint8_t protocol, uint8_t tos, uint32_t length);
uint8_t *ipv6_build(uint8_t *at, const uint8_t source[16], const uint8_t destination[16],
	uint8_t protocol, uint8_t traffic_class, uint8_t hop_limit, uint32_t length);

#endif
