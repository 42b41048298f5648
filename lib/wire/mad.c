/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * MADs to and from structs. One layout per message, typed from the tables of IBTA vol. 1, 12.6
 * (bytes counted behind the MAD's header); Linux's include/rdma/ibta_vol1_c12.h agrees.
 */
#include <errno.h>
#include <string.h>

#include "mad.h"

#define BYTES(n) (8 * (n))

/* Byte of the message, first bit in it, width. */
#define FIELD(type, member, byte, bit, width)                                                      \
	LAYOUT_FIELD(struct type, member, #member, 8 * (byte) + (bit), width)

static const struct layout_field header_fields[] = {
	FIELD(mad_header, base_version, 0, 0, 8),
	FIELD(mad_header, management_class, 1, 0, 8),
	FIELD(mad_header, class_version, 2, 0, 8),
	FIELD(mad_header, method, 3, 0, 8),
	FIELD(mad_header, status, 4, 0, 16),
	FIELD(mad_header, class_specific, 6, 0, 16),
	FIELD(mad_header, transaction_id, 8, 0, 64),
	FIELD(mad_header, attribute_id, 16, 0, 16),
	FIELD(mad_header, reserved18, 18, 0, 16),
	FIELD(mad_header, attribute_modifier, 20, 0, 32),
};

/* Primary and alternate path of a REQ: 44 bytes each. */
#define PATH(path, byte)                                                                           \
	FIELD(cm_req, path.local_lid, (byte), 0, 16),                                              \
		FIELD(cm_req, path.remote_lid, (byte) + 2, 0, 16),                                 \
		FIELD(cm_req, path.local_gid, (byte) + 4, 0, 128),                                 \
		FIELD(cm_req, path.remote_gid, (byte) + 20, 0, 128),                               \
		FIELD(cm_req, path.flow_label, (byte) + 36, 0, 20),                                \
		FIELD(cm_req, path.reserved38, (byte) + 38, 4, 6),                                 \
		FIELD(cm_req, path.packet_rate, (byte) + 39, 2, 6),                                \
		FIELD(cm_req, path.traffic_class, (byte) + 40, 0, 8),                              \
		FIELD(cm_req, path.hop_limit, (byte) + 41, 0, 8),                                  \
		FIELD(cm_req, path.sl, (byte) + 42, 0, 4),                                         \
		FIELD(cm_req, path.subnet_local, (byte) + 42, 4, 1),                               \
		FIELD(cm_req, path.reserved42, (byte) + 42, 5, 3),                                 \
		FIELD(cm_req, path.local_ack_timeout, (byte) + 43, 0, 5),                          \
		FIELD(cm_req, path.reserved43, (byte) + 43, 5, 3)

static const struct layout_field req[] = {
	/* table 106 */
	FIELD(cm_req, local_comm_id, 0, 0, 32),
	FIELD(cm_req, reserved4, 4, 0, 32),
	FIELD(cm_req, service_id, 8, 0, 64),
	FIELD(cm_req, local_ca_guid, 16, 0, 64),
	FIELD(cm_req, reserved24, 24, 0, 32),
	FIELD(cm_req, local_qkey, 28, 0, 32),
	FIELD(cm_req, local_qpn, 32, 0, 24),
	FIELD(cm_req, responder_resources, 35, 0, 8),
	FIELD(cm_req, local_eecn, 36, 0, 24),
	FIELD(cm_req, initiator_depth, 39, 0, 8),
	FIELD(cm_req, remote_eecn, 40, 0, 24),
	FIELD(cm_req, remote_cm_response_timeout, 43, 0, 5),
	FIELD(cm_req, transport_service_type, 43, 5, 2),
	FIELD(cm_req, end_to_end_flow_control, 43, 7, 1),
	FIELD(cm_req, starting_psn, 44, 0, 24),
	FIELD(cm_req, local_cm_response_timeout, 47, 0, 5),
	FIELD(cm_req, retry_count, 47, 5, 3),
	FIELD(cm_req, pkey, 48, 0, 16),
	FIELD(cm_req, path_mtu, 50, 0, 4),
	FIELD(cm_req, rdc_exists, 50, 4, 1),
	FIELD(cm_req, rnr_retry_count, 50, 5, 3),
	FIELD(cm_req, max_cm_retries, 51, 0, 4),
	FIELD(cm_req, srq, 51, 4, 1),
	FIELD(cm_req, extended_transport_type, 51, 5, 3),
	PATH(primary, 52),
	PATH(alternate, 96),
	FIELD(cm_req, private_data, 140, 0, BYTES(CM_REQ_PRIVATE)),
};

static const struct layout_field mra[] = {
	/* table 107 */
	FIELD(cm_mra, local_comm_id, 0, 0, 32),
	FIELD(cm_mra, remote_comm_id, 4, 0, 32),
	FIELD(cm_mra, message_mraed, 8, 0, 2),
	FIELD(cm_mra, reserved8, 8, 2, 6),
	FIELD(cm_mra, service_timeout, 9, 0, 5),
	FIELD(cm_mra, reserved9, 9, 5, 3),
	FIELD(cm_mra, private_data, 10, 0, BYTES(CM_MRA_PRIVATE)),
};

static const struct layout_field rej[] = {
	/* table 108 */
	FIELD(cm_rej, local_comm_id, 0, 0, 32),
	FIELD(cm_rej, remote_comm_id, 4, 0, 32),
	FIELD(cm_rej, message_rejected, 8, 0, 2),
	FIELD(cm_rej, reserved8, 8, 2, 6),
	FIELD(cm_rej, info_length, 9, 0, 7),
	FIELD(cm_rej, reserved9, 9, 7, 1),
	FIELD(cm_rej, reason, 10, 0, 16),
	FIELD(cm_rej, info, 12, 0, BYTES(CM_INFO_LENGTH)),
	FIELD(cm_rej, private_data, 84, 0, BYTES(CM_REJ_PRIVATE)),
};

static const struct layout_field rep[] = {
	/* table 110 */
	FIELD(cm_rep, local_comm_id, 0, 0, 32),
	FIELD(cm_rep, remote_comm_id, 4, 0, 32),
	FIELD(cm_rep, local_qkey, 8, 0, 32),
	FIELD(cm_rep, local_qpn, 12, 0, 24),
	FIELD(cm_rep, reserved15, 15, 0, 8),
	FIELD(cm_rep, local_eecn, 16, 0, 24),
	FIELD(cm_rep, reserved19, 19, 0, 8),
	FIELD(cm_rep, starting_psn, 20, 0, 24),
	FIELD(cm_rep, reserved23, 23, 0, 8),
	FIELD(cm_rep, responder_resources, 24, 0, 8),
	FIELD(cm_rep, initiator_depth, 25, 0, 8),
	FIELD(cm_rep, target_ack_delay, 26, 0, 5),
	FIELD(cm_rep, failover_accepted, 26, 5, 2),
	FIELD(cm_rep, end_to_end_flow_control, 26, 7, 1),
	FIELD(cm_rep, rnr_retry_count, 27, 0, 3),
	FIELD(cm_rep, srq, 27, 3, 1),
	FIELD(cm_rep, reserved27, 27, 4, 4),
	FIELD(cm_rep, local_ca_guid, 28, 0, 64),
	FIELD(cm_rep, private_data, 36, 0, BYTES(CM_REP_PRIVATE)),
};

static const struct layout_field rtu[] = {
	/* table 111 */
	FIELD(cm_rtu, local_comm_id, 0, 0, 32),
	FIELD(cm_rtu, remote_comm_id, 4, 0, 32),
	FIELD(cm_rtu, private_data, 8, 0, BYTES(CM_RTU_PRIVATE)),
};

static const struct layout_field dreq[] = {
	/* table 112 */
	FIELD(cm_dreq, local_comm_id, 0, 0, 32),
	FIELD(cm_dreq, remote_comm_id, 4, 0, 32),
	FIELD(cm_dreq, remote_qpn, 8, 0, 24),
	FIELD(cm_dreq, reserved11, 11, 0, 8),
	FIELD(cm_dreq, private_data, 12, 0, BYTES(CM_DREQ_PRIVATE)),
};

static const struct layout_field drep[] = {
	/* table 113 */
	FIELD(cm_drep, local_comm_id, 0, 0, 32),
	FIELD(cm_drep, remote_comm_id, 4, 0, 32),
	FIELD(cm_drep, private_data, 8, 0, BYTES(CM_DREP_PRIVATE)),
};

static const struct layout_field lap[] = {
	/* table 115 */
	FIELD(cm_lap, local_comm_id, 0, 0, 32),
	FIELD(cm_lap, remote_comm_id, 4, 0, 32),
	FIELD(cm_lap, reserved8, 8, 0, 32),
	FIELD(cm_lap, remote_qpn, 12, 0, 24),
	FIELD(cm_lap, remote_cm_response_timeout, 15, 0, 5),
	FIELD(cm_lap, reserved15, 15, 5, 3),
	FIELD(cm_lap, reserved16, 16, 0, 32),
	FIELD(cm_lap, local_lid, 20, 0, 16),
	FIELD(cm_lap, remote_lid, 22, 0, 16),
	FIELD(cm_lap, local_gid, 24, 0, 128),
	FIELD(cm_lap, remote_gid, 40, 0, 128),
	FIELD(cm_lap, flow_label, 56, 0, 20),
	FIELD(cm_lap, reserved58, 58, 4, 4),
	FIELD(cm_lap, traffic_class, 59, 0, 8),
	FIELD(cm_lap, hop_limit, 60, 0, 8),
	FIELD(cm_lap, reserved61, 61, 0, 2),
	FIELD(cm_lap, packet_rate, 61, 2, 6),
	FIELD(cm_lap, sl, 62, 0, 4),
	FIELD(cm_lap, subnet_local, 62, 4, 1),
	FIELD(cm_lap, reserved62, 62, 5, 3),
	FIELD(cm_lap, local_ack_timeout, 63, 0, 5),
	FIELD(cm_lap, reserved63, 63, 5, 3),
	FIELD(cm_lap, private_data, 64, 0, BYTES(CM_LAP_PRIVATE)),
};

static const struct layout_field apr[] = {
	/* table 116 */
	FIELD(cm_apr, local_comm_id, 0, 0, 32),
	FIELD(cm_apr, remote_comm_id, 4, 0, 32),
	FIELD(cm_apr, info_length, 8, 0, 8),
	FIELD(cm_apr, status, 9, 0, 8),
	FIELD(cm_apr, reserved10, 10, 0, 16),
	FIELD(cm_apr, info, 12, 0, BYTES(CM_INFO_LENGTH)),
	FIELD(cm_apr, private_data, 84, 0, BYTES(CM_APR_PRIVATE)),
};

static const struct layout_field sidr_req[] = {
	/* table 119 */
	FIELD(cm_sidr_req, request_id, 0, 0, 32),
	FIELD(cm_sidr_req, pkey, 4, 0, 16),
	FIELD(cm_sidr_req, reserved6, 6, 0, 16),
	FIELD(cm_sidr_req, service_id, 8, 0, 64),
	FIELD(cm_sidr_req, private_data, 16, 0, BYTES(CM_SIDR_REQ_PRIVATE)),
};

static const struct layout_field sidr_rep[] = {
	/* table 120 */
	FIELD(cm_sidr_rep, request_id, 0, 0, 32),
	FIELD(cm_sidr_rep, status, 4, 0, 8),
	FIELD(cm_sidr_rep, info_length, 5, 0, 8),
	FIELD(cm_sidr_rep, reserved6, 6, 0, 16),
	FIELD(cm_sidr_rep, qpn, 8, 0, 24),
	FIELD(cm_sidr_rep, reserved11, 11, 0, 8),
	FIELD(cm_sidr_rep, service_id, 12, 0, 64),
	FIELD(cm_sidr_rep, qkey, 20, 0, 32),
	FIELD(cm_sidr_rep, info, 24, 0, BYTES(CM_INFO_LENGTH)),
	FIELD(cm_sidr_rep, private_data, 96, 0, BYTES(CM_SIDR_REP_PRIVATE)),
};

static const struct layout_field ip_cm[] = {
	/* annex A11.3 */
	FIELD(ip_cm_header, major, 0, 0, 4),
	FIELD(ip_cm_header, minor, 0, 4, 4),
	FIELD(ip_cm_header, ip_version, 1, 0, 4),
	FIELD(ip_cm_header, reserved, 1, 4, 4),
	FIELD(ip_cm_header, source_port, 2, 0, 16),
	FIELD(ip_cm_header, source, 4, 0, 128),
	FIELD(ip_cm_header, destination, 20, 0, 128),
};

const struct layout mad_header_layout = LAYOUT("mad", MAD_HEADER_LENGTH, header_fields);
const struct layout ip_cm_layout = LAYOUT("ip_cm", IP_CM_HEADER_LENGTH, ip_cm);

#define CM_FIRST CM_REQ
#define CM_LAST CM_APR

/* All messages fill the MAD. */
static const struct layout messages[CM_LAST - CM_FIRST + 1] = {
	[CM_REQ - CM_FIRST] = LAYOUT("REQ", MAD_DATA_LENGTH, req),
	[CM_MRA - CM_FIRST] = LAYOUT("MRA", MAD_DATA_LENGTH, mra),
	[CM_REJ - CM_FIRST] = LAYOUT("REJ", MAD_DATA_LENGTH, rej),
	[CM_REP - CM_FIRST] = LAYOUT("REP", MAD_DATA_LENGTH, rep),
	[CM_RTU - CM_FIRST] = LAYOUT("RTU", MAD_DATA_LENGTH, rtu),
	[CM_DREQ - CM_FIRST] = LAYOUT("DREQ", MAD_DATA_LENGTH, dreq),
	[CM_DREP - CM_FIRST] = LAYOUT("DREP", MAD_DATA_LENGTH, drep),
	[CM_SIDR_REQ - CM_FIRST] = LAYOUT("SIDR_REQ", MAD_DATA_LENGTH, sidr_req),
	[CM_SIDR_REP - CM_FIRST] = LAYOUT("SIDR_REP", MAD_DATA_LENGTH, sidr_rep),
	[CM_LAP - CM_FIRST] = LAYOUT("LAP", MAD_DATA_LENGTH, lap),
	[CM_APR - CM_FIRST] = LAYOUT("APR", MAD_DATA_LENGTH, apr),
};

const struct layout *cm_layout(enum cm_attribute attribute)
{
	if (attribute < CM_FIRST || attribute > CM_LAST)
		return NULL;
	return &messages[attribute - CM_FIRST];
}

struct mad_header mad_cm_header(enum cm_attribute attribute, uint64_t transaction_id)
{
	return (struct mad_header){
		.base_version = MAD_BASE_VERSION,
		.management_class = MAD_CLASS_CM,
		.class_version = MAD_CM_VERSION,
		.method = MAD_METHOD_SEND,
		.transaction_id = transaction_id,
		.attribute_id = (uint16_t)attribute,
	};
}

enum cm_attribute mad_message(const struct mad_header *header)
{
	enum cm_attribute attribute = header->attribute_id;

	if (header->management_class != MAD_CLASS_CM || header->class_version != MAD_CM_VERSION ||
		header->method != MAD_METHOD_SEND || !cm_layout(attribute))
		return 0;
	return attribute;
}

int mad_decode(const uint8_t *wire, uint32_t length, struct mad *mad)
{
	const struct layout *message;

	if (length != MAD_LENGTH)
		return -EINVAL;
	memset(mad, 0, sizeof(*mad));
	layout_decode(&mad_header_layout, wire, &mad->header);
	message = cm_layout(mad_message(&mad->header));
	if (message) /* every member of the union starts where the union does */
		layout_decode(message, wire + MAD_HEADER_LENGTH, &mad->data);
	else
		memcpy(mad->data, wire + MAD_HEADER_LENGTH, MAD_DATA_LENGTH);
	return 0;
}

void mad_encode(const struct mad *mad, uint8_t *wire)
{
	const struct layout *message = cm_layout(mad_message(&mad->header));

	layout_encode(&mad_header_layout, wire, &mad->header);
	if (message)
		layout_encode(message, wire + MAD_HEADER_LENGTH, &mad->data);
	else
		memcpy(wire + MAD_HEADER_LENGTH, mad->data, MAD_DATA_LENGTH);
}

void ip_cm_decode(const uint8_t *private_data, struct ip_cm_header *header)
{
	layout_decode(&ip_cm_layout, private_data, header);
}

void ip_cm_encode(const struct ip_cm_header *header, uint8_t *private_data)
{
	layout_encode(&ip_cm_layout, private_data, header);
}
