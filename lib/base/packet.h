/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A packet as it passes between a port and the transport: one contiguous frame in the port's own
 * buffer. Nothing is copied on the way; the handle is the port's and opaque to everybody else.
 */
#ifndef UROCE_BASE_PACKET_H
#define UROCE_BASE_PACKET_H

#include <stdint.h>

struct packet {
	void *handle;
	uint8_t *data;	 /* first byte of the Ethernet header */
	uint32_t length; /* bytes of the frame, without FCS */
	uint32_t room;	 /* bytes that fit at data (transmit only) */
};

#endif
