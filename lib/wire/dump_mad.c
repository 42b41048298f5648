/* SPDX-License-Identifier: BSD-3-Clause */
/* A CM message's part of the line: its name, its fields that matter, its private data. */
#include "dump.h"

#define DATA_SHOWN 32u

static void dump_data(struct text *text, const uint8_t *data, size_t length)
{
	text_put(text, " data=");
	text_bytes(text, data, length, DATA_SHOWN);
}

static void dump_ids(struct text *text, uint32_t local, uint32_t remote)
{
	text_put(text, " local_id=0x%08x remote_id=0x%08x", local, remote);
}

/* A service id, and behind it the header of the RDMA IP CM if it is one of its own. */
static void dump_service(struct text *text, uint64_t service_id, const uint8_t *data, size_t length)
{
	struct ip_cm_header ip;

	text_put(text, " service=0x%016llx", (unsigned long long)service_id);
	if (!is_ip_cm_service(service_id)) {
		dump_data(text, data, length);
		return;
	}
	ip_cm_decode(data, &ip);
	text_put(text, " ip_cm=%u.%u ", ip.major, ip.minor);
	if (ip.ip_version == 4)
		text_ipv4(text, ip.source + 12);
	else
		text_ipv6(text, ip.source);
	text_put(text, " port=%u > ", ip.source_port);
	if (ip.ip_version == 4)
		text_ipv4(text, ip.destination + 12);
	else
		text_ipv6(text, ip.destination);
	text_put(text, " port=%u", (unsigned int)(service_id & 0xffff));
	dump_data(text, data + IP_CM_HEADER_LENGTH, length - IP_CM_HEADER_LENGTH);
}

static const char *transport_name(uint8_t type)
{
	static const char *const name[] = {"RC", "UC", "RD", "extended"};

	return name[type & 3];
}

static void dump_path(struct text *text, const struct cm_path *path)
{
	text_put(text, " path=");
	text_gid(text, path->local_gid);
	text_put(text, ">");
	text_gid(text, path->remote_gid);
	text_put(text, " flow=0x%05x class=0x%02x hops=%u sl=%u ack_timeout=%u", path->flow_label,
		path->traffic_class, path->hop_limit, path->sl, path->local_ack_timeout);
}

static void dump_req(struct text *text, const struct cm_req *req)
{
	text_put(text, " local_id=0x%08x guid=%016llx %s qpn=0x%06x psn=%u", req->local_comm_id,
		(unsigned long long)req->local_ca_guid, transport_name(req->transport_service_type),
		req->local_qpn, req->starting_psn);
	text_put(text, " resources=%u depth=%u retry=%u rnr_retry=%u", req->responder_resources,
		req->initiator_depth, req->retry_count, req->rnr_retry_count);
	if (req->path_mtu >= 1 && req->path_mtu <= 5)
		text_put(text, " mtu=%u", 128u << req->path_mtu);
	else
		text_put(text, " mtu=reserved");
	text_put(text, " pkey=0x%04x srq=%u cm_timeout=%u/%u cm_retries=%u", req->pkey, req->srq,
		req->local_cm_response_timeout, req->remote_cm_response_timeout,
		req->max_cm_retries);
	dump_path(text, &req->primary);
	dump_service(text, req->service_id, req->private_data, sizeof(req->private_data));
}

static void dump_rep(struct text *text, const struct cm_rep *rep)
{
	dump_ids(text, rep->local_comm_id, rep->remote_comm_id);
	text_put(text, " guid=%016llx qpn=0x%06x psn=%u", (unsigned long long)rep->local_ca_guid,
		rep->local_qpn, rep->starting_psn);
	text_put(text, " resources=%u depth=%u ack_delay=%u rnr_retry=%u srq=%u",
		rep->responder_resources, rep->initiator_depth, rep->target_ack_delay,
		rep->rnr_retry_count, rep->srq);
	dump_data(text, rep->private_data, sizeof(rep->private_data));
}

static const char *answered_name(uint8_t message)
{
	static const char *const name[] = {"REQ", "REP", "no message", "reserved"};

	return name[message & 3];
}

static void dump_rej(struct text *text, const struct cm_rej *rej)
{
	dump_ids(text, rej->local_comm_id, rej->remote_comm_id);
	text_put(text, " of=%s reason=%u (%s)", answered_name(rej->message_rejected), rej->reason,
		cm_reject_reason_name(rej->reason));
	if (rej->info_length) {
		text_put(text, " info=");
		text_bytes(text, rej->info, sizeof(rej->info), DATA_SHOWN);
	}
	dump_data(text, rej->private_data, sizeof(rej->private_data));
}

static void dump_mra(struct text *text, const struct cm_mra *mra)
{
	dump_ids(text, mra->local_comm_id, mra->remote_comm_id);
	text_put(text, " of=%s service_timeout=%u", answered_name(mra->message_mraed),
		mra->service_timeout);
	dump_data(text, mra->private_data, sizeof(mra->private_data));
}

static void dump_lap(struct text *text, const struct cm_lap *lap)
{
	dump_ids(text, lap->local_comm_id, lap->remote_comm_id);
	text_put(text, " qpn=0x%06x path=", lap->remote_qpn);
	text_gid(text, lap->local_gid);
	text_put(text, ">");
	text_gid(text, lap->remote_gid);
	dump_data(text, lap->private_data, sizeof(lap->private_data));
}

static void dump_apr(struct text *text, const struct cm_apr *apr)
{
	dump_ids(text, apr->local_comm_id, apr->remote_comm_id);
	text_put(text, " status=%u", apr->status);
	dump_data(text, apr->private_data, sizeof(apr->private_data));
}

static void dump_sidr_req(struct text *text, const struct cm_sidr_req *req)
{
	text_put(text, " request_id=0x%08x pkey=0x%04x", req->request_id, req->pkey);
	dump_service(text, req->service_id, req->private_data, sizeof(req->private_data));
}

static void dump_sidr_rep(struct text *text, const struct cm_sidr_rep *rep)
{
	text_put(text, " request_id=0x%08x status=%u (%s) qpn=0x%06x qkey=0x%08x", rep->request_id,
		rep->status, cm_sidr_status_name(rep->status), rep->qpn, rep->qkey);
	text_put(text, " service=0x%016llx", (unsigned long long)rep->service_id);
	dump_data(text, rep->private_data, sizeof(rep->private_data));
}

static void dump_cm(struct text *text, enum cm_attribute message, const struct mad *mad)
{
	switch (message) {
	case CM_REQ:
		dump_req(text, &mad->req);
		break;
	case CM_MRA:
		dump_mra(text, &mad->mra);
		break;
	case CM_REJ:
		dump_rej(text, &mad->rej);
		break;
	case CM_REP:
		dump_rep(text, &mad->rep);
		break;
	case CM_RTU:
		dump_ids(text, mad->rtu.local_comm_id, mad->rtu.remote_comm_id);
		dump_data(text, mad->rtu.private_data, sizeof(mad->rtu.private_data));
		break;
	case CM_DREQ:
		dump_ids(text, mad->dreq.local_comm_id, mad->dreq.remote_comm_id);
		text_put(text, " qpn=0x%06x", mad->dreq.remote_qpn);
		dump_data(text, mad->dreq.private_data, sizeof(mad->dreq.private_data));
		break;
	case CM_DREP:
		dump_ids(text, mad->drep.local_comm_id, mad->drep.remote_comm_id);
		dump_data(text, mad->drep.private_data, sizeof(mad->drep.private_data));
		break;
	case CM_SIDR_REQ:
		dump_sidr_req(text, &mad->sidr_req);
		break;
	case CM_SIDR_REP:
		dump_sidr_rep(text, &mad->sidr_rep);
		break;
	case CM_LAP:
		dump_lap(text, &mad->lap);
		break;
	case CM_APR:
		dump_apr(text, &mad->apr);
		break;
	}
}

void dump_mad(struct text *text, const struct mad *mad)
{
	const struct mad_header *header = &mad->header;
	enum cm_attribute message = mad_message(header);

	if (message) {
		text_put(text, " CM %s tid=0x%llx", cm_message_name(message),
			(unsigned long long)header->transaction_id);
		dump_cm(text, message, mad);
		return;
	}
	text_put(text, " MAD class=0x%02x version=%u method=0x%02x status=0x%04x",
		header->management_class, header->class_version, header->method, header->status);
	text_put(text, " tid=0x%llx attribute=0x%04x modifier=0x%08x",
		(unsigned long long)header->transaction_id, header->attribute_id,
		header->attribute_modifier);
}
