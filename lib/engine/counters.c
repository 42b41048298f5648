/* SPDX-License-Identifier: BSD-3-Clause */
/* The names of what the engine, its parser and its port count. */
#include "counters.h"

#include "parse.h"
#include "port.h"

const char *const engine_counter_names[sizeof(struct engine_counters) / 8] = {
#define X(name) #name,
	ENGINE_COUNTERS(X)
#undef X
};

const char *const engine_drop_names[] = {
	[WIRE_OK] = "parse_ok",
	[WIRE_NOT_ROCE] = "parse_not_roce",
	[WIRE_RUNT] = "drop_runt",
	[WIRE_IP_HEADER] = "drop_ip_header",
	[WIRE_FRAGMENT] = "drop_fragment",
	[WIRE_UDP_LENGTH] = "drop_udp_length",
	[WIRE_OPCODE] = "drop_opcode",
	[WIRE_LENGTH] = "drop_length",
	[WIRE_TVER] = "drop_tver",
	[WIRE_PAD] = "drop_pad",
	[WIRE_ALIGNMENT] = "drop_alignment",
	[WIRE_UNEXPECTED_PAYLOAD] = "drop_unexpected_payload",
	[WIRE_ICRC] = "drop_parse_icrc",
};
_Static_assert(sizeof(engine_drop_names) / sizeof(engine_drop_names[0]) == WIRE_DROPS,
	"every verdict of the parser has a name");

/* In the order of struct port_counters. */
const char *const engine_port_counter_names[sizeof(struct port_counters) / 8] = {"port_rx_packets",
	"port_rx_bytes", "port_rx_dropped", "port_tx_packets", "port_tx_bytes", "port_tx_rejected",
	"port_no_buffer", "port_arp_in", "port_arp_out", "port_nd_in", "port_nd_out", "port_echo",
	"port_unreachable", "port_other_dropped", "port_rx_linearised"};
