/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Management datagrams on QP1: the common header (IBTA vol. 1, 13.4.3) and all messages of the
 * communication manager (12.6), as structs in host order; and the header that the RDMA IP CM puts
 * in front of a REQ's private data (annex A11). Fields that the standard reserves are there too,
 * named after their byte: zero on the way out, ignored on the way in.
 */
#ifndef UROCE_WIRE_MAD_H
#define UROCE_WIRE_MAD_H

#include <stdbool.h>
#include <stdint.h>

#include "layout.h"

#define MAD_LENGTH 256u
#define MAD_HEADER_LENGTH 24u
#define MAD_DATA_LENGTH (MAD_LENGTH - MAD_HEADER_LENGTH)

#define QP1 1u
#define QP1_QKEY 0x80010000u /* 3.5.3 */

#define MAD_BASE_VERSION 1
#define MAD_CLASS_CM 0x07
#define MAD_CM_VERSION 2
#define MAD_METHOD_SEND 0x03

struct mad_header {
	uint8_t base_version;
	uint8_t management_class;
	uint8_t class_version;
	uint8_t method; /* bit 7: response */
	uint16_t status;
	uint16_t class_specific;
	uint64_t transaction_id;
	uint16_t attribute_id;
	uint16_t reserved18;
	uint32_t attribute_modifier;
};

/* Attribute IDs of the CM class (16.7.2). */
enum cm_attribute {
	CM_REQ = 0x10,
	CM_MRA = 0x11,
	CM_REJ = 0x12,
	CM_REP = 0x13,
	CM_RTU = 0x14,
	CM_DREQ = 0x15,
	CM_DREP = 0x16,
	CM_SIDR_REQ = 0x17,
	CM_SIDR_REP = 0x18,
	CM_LAP = 0x19,
	CM_APR = 0x1a,
};

/* Bytes of private data by message. */
#define CM_REQ_PRIVATE 92u
#define CM_MRA_PRIVATE 222u
#define CM_REJ_PRIVATE 148u
#define CM_REP_PRIVATE 196u
#define CM_RTU_PRIVATE 224u
#define CM_DREQ_PRIVATE 220u
#define CM_DREP_PRIVATE 224u
#define CM_SIDR_REQ_PRIVATE 216u
#define CM_SIDR_REP_PRIVATE 136u
#define CM_LAP_PRIVATE 168u
#define CM_APR_PRIVATE 148u
#define CM_INFO_LENGTH 72u /* additional reject (or other) information */

struct cm_path {
	uint16_t local_lid; /* 0xffff: RoCE */
	uint16_t remote_lid;
	uint8_t local_gid[16];
	uint8_t remote_gid[16];
	uint32_t flow_label;
	uint8_t reserved38;
	uint8_t packet_rate;
	uint8_t traffic_class;
	uint8_t hop_limit;
	uint8_t sl;
	uint8_t subnet_local;
	uint8_t reserved42;
	uint8_t local_ack_timeout;
	uint8_t reserved43; /* of the alternate path, the first bit: SAP supported */
};

/* transport_service_type */
enum cm_transport { CM_RC = 0, CM_UC = 1, CM_RD = 2, CM_EXTENDED = 3 };

struct cm_req {
	uint32_t local_comm_id;
	uint32_t reserved4;
	uint64_t service_id;
	uint64_t local_ca_guid;
	uint32_t reserved24;
	uint32_t local_qkey;
	uint32_t local_qpn;
	uint8_t responder_resources;
	uint32_t local_eecn;
	uint8_t initiator_depth;
	uint32_t remote_eecn;
	uint8_t remote_cm_response_timeout;
	uint8_t transport_service_type;
	uint8_t end_to_end_flow_control;
	uint32_t starting_psn;
	uint8_t local_cm_response_timeout;
	uint8_t retry_count;
	uint16_t pkey;
	uint8_t path_mtu; /* 1 to 5: 256 to 4096 */
	uint8_t rdc_exists;
	uint8_t rnr_retry_count;
	uint8_t max_cm_retries;
	uint8_t srq;
	uint8_t extended_transport_type;
	struct cm_path primary;
	struct cm_path alternate;
	uint8_t private_data[CM_REQ_PRIVATE];
};

/* message_mraed and message_rejected: which message is answered. */
enum cm_answered { CM_ANSWERED_REQ = 0, CM_ANSWERED_REP = 1, CM_ANSWERED_OTHER = 2 };

struct cm_mra {
	uint32_t local_comm_id;
	uint32_t remote_comm_id;
	uint8_t message_mraed;
	uint8_t reserved8;
	uint8_t service_timeout;
	uint8_t reserved9;
	uint8_t private_data[CM_MRA_PRIVATE];
};

/* Reasons of a REJ that this project sends or names in its rules (12.6.7.2); all have names. */
enum cm_reject_reason {
	CM_REJECT_NO_QP = 1,
	CM_REJECT_NO_RESOURCES = 3,
	CM_REJECT_TIMEOUT = 4,
	CM_REJECT_UNSUPPORTED = 5,
	CM_REJECT_INVALID_COMM_ID = 6,
	CM_REJECT_INVALID_COMM_INSTANCE = 7,
	CM_REJECT_INVALID_SERVICE_ID = 8,
	CM_REJECT_INVALID_TRANSPORT = 9,
	CM_REJECT_STALE_CONNECTION = 10,
	CM_REJECT_INVALID_GID = 12,
	CM_REJECT_INVALID_MTU = 26,
	CM_REJECT_INSUFFICIENT_RESOURCES = 27,
	CM_REJECT_CONSUMER = 28,
	CM_REJECT_INVALID_RNR_RETRY = 29,
	CM_REJECT_DUPLICATE_COMM_ID = 30,
	CM_REJECT_INVALID_CLASS_VERSION = 31,
};

struct cm_rej {
	uint32_t local_comm_id;
	uint32_t remote_comm_id;
	uint8_t message_rejected;
	uint8_t reserved8;
	uint8_t info_length;
	uint8_t reserved9;
	uint16_t reason;
	uint8_t info[CM_INFO_LENGTH];
	uint8_t private_data[CM_REJ_PRIVATE];
};

struct cm_rep {
	uint32_t local_comm_id;
	uint32_t remote_comm_id;
	uint32_t local_qkey;
	uint32_t local_qpn;
	uint8_t reserved15;
	uint32_t local_eecn;
	uint8_t reserved19;
	uint32_t starting_psn;
	uint8_t reserved23;
	uint8_t responder_resources;
	uint8_t initiator_depth;
	uint8_t target_ack_delay;
	uint8_t failover_accepted;
	uint8_t end_to_end_flow_control;
	uint8_t rnr_retry_count;
	uint8_t srq;
	uint8_t reserved27;
	uint64_t local_ca_guid;
	uint8_t private_data[CM_REP_PRIVATE];
};

struct cm_rtu {
	uint32_t local_comm_id;
	uint32_t remote_comm_id;
	uint8_t private_data[CM_RTU_PRIVATE];
};

struct cm_dreq {
	uint32_t local_comm_id;
	uint32_t remote_comm_id;
	uint32_t remote_qpn;
	uint8_t reserved11;
	uint8_t private_data[CM_DREQ_PRIVATE];
};

struct cm_drep {
	uint32_t local_comm_id;
	uint32_t remote_comm_id;
	uint8_t private_data[CM_DREP_PRIVATE];
};

struct cm_lap {
	uint32_t local_comm_id;
	uint32_t remote_comm_id;
	uint32_t reserved8;
	uint32_t remote_qpn;
	uint8_t remote_cm_response_timeout;
	uint8_t reserved15;
	uint32_t reserved16;
	uint16_t local_lid;
	uint16_t remote_lid;
	uint8_t local_gid[16];
	uint8_t remote_gid[16];
	uint32_t flow_label;
	uint8_t reserved58;
	uint8_t traffic_class;
	uint8_t hop_limit;
	uint8_t reserved61;
	uint8_t packet_rate;
	uint8_t sl;
	uint8_t subnet_local;
	uint8_t reserved62;
	uint8_t local_ack_timeout;
	uint8_t reserved63;
	uint8_t private_data[CM_LAP_PRIVATE];
};

struct cm_apr {
	uint32_t local_comm_id;
	uint32_t remote_comm_id;
	uint8_t info_length;
	uint8_t status;
	uint16_t reserved10;
	uint8_t info[CM_INFO_LENGTH];
	uint8_t private_data[CM_APR_PRIVATE];
};

struct cm_sidr_req {
	uint32_t request_id;
	uint16_t pkey;
	uint16_t reserved6;
	uint64_t service_id;
	uint8_t private_data[CM_SIDR_REQ_PRIVATE];
};

struct cm_sidr_rep {
	uint32_t request_id;
	uint8_t status;
	uint8_t info_length;
	uint16_t reserved6;
	uint32_t qpn;
	uint8_t reserved11;
	uint64_t service_id;
	uint32_t qkey;
	uint8_t info[CM_INFO_LENGTH];
	uint8_t private_data[CM_SIDR_REP_PRIVATE];
};

struct mad {
	struct mad_header header;
	union { /* by mad_message() */
		struct cm_req req;
		struct cm_mra mra;
		struct cm_rej rej;
		struct cm_rep rep;
		struct cm_rtu rtu;
		struct cm_dreq dreq;
		struct cm_drep drep;
		struct cm_lap lap;
		struct cm_apr apr;
		struct cm_sidr_req sidr_req;
		struct cm_sidr_rep sidr_rep;
		uint8_t data[MAD_DATA_LENGTH]; /* none of the above */
	};
};

/* Header of a CM message as we send it: all versions, class and method right. */
struct mad_header mad_cm_header(enum cm_attribute attribute, uint64_t transaction_id);

/*
 * Which CM message this is by class, class version, method and attribute, or 0: then it is `data`.
 */
enum cm_attribute mad_message(const struct mad_header *header);

/* Returns 0, or -EINVAL if `length` isn't that of a MAD. Any 256 bytes decode. */
int mad_decode(const uint8_t *wire, uint32_t length, struct mad *mad);
/* Writes MAD_LENGTH bytes. */
void mad_encode(const struct mad *mad, uint8_t *wire);

/* The fields of a message, for whoever wants to walk them; NULL for others than CM's. */
extern const struct layout mad_header_layout;
const struct layout *cm_layout(enum cm_attribute attribute);

/*
 * RDMA IP CM: the first 36 bytes of the private data of a REQ (or of a SIDR_REQ) whose service id
 * is in the RDMA IP CM's range.
 */
#define IP_CM_HEADER_LENGTH 36u
#define IP_CM_SERVICE_ID 0x0000000001000000ull /* then port space 16, port 16 */
#define IP_CM_PORT_SPACE_TCP 0x0106u
#define IP_CM_PORT_SPACE_UDP 0x0111u

struct ip_cm_header {
	uint8_t major;
	uint8_t minor;
	uint8_t ip_version; /* 4: the last 4 bytes of each address are it, the others 0 */
	uint8_t reserved;
	uint16_t source_port;
	uint8_t source[16];
	uint8_t destination[16];
};

extern const struct layout ip_cm_layout;

void ip_cm_decode(const uint8_t *private_data, struct ip_cm_header *header);
void ip_cm_encode(const struct ip_cm_header *header, uint8_t *private_data);

/* The service id belongs to the RDMA IP CM, and so the private data starts with its header. */
static inline bool is_ip_cm_service(uint64_t service_id)
{
	return (service_id & ~0xffffffull) == IP_CM_SERVICE_ID;
}

const char *cm_message_name(enum cm_attribute attribute); /* "REQ"; NULL if it is none */
const char *cm_reject_reason_name(uint16_t reason);	  /* "unknown" if it has none */
const char *cm_sidr_status_name(uint8_t status);

#endif
