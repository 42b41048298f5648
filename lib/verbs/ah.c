/* SPDX-License-Identifier: BSD-3-Clause */
/* Address handles (man ibv_create_ah, ibv_create_ah_from_wc). */
#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

#include "front.h"

/* man ibv_create_ah: a port with IBV_QPF_GRH_REQUIRED (RoCE's has it) wants is_global. */
static int check_attr(const struct ibv_ah_attr *attr)
{
	return attr->port_num != PORTS || !attr->is_global ? -EINVAL : 0;
}

EXPORT struct ibv_ah *ibv_create_ah(struct ibv_pd *pd, struct ibv_ah_attr *attr)
{
	struct uroce_abi_command make = {.head.op = UROCE_ABI_CREATE_AH};
	struct ah *ah;
	int error;

	if (!is_ours(pd->context))
		return REAL_CALL(ibv_create_ah, null_errno(-ENOSYS), pd, attr);
	error = check_attr(attr);
	if (error)
		return null_errno(error);
	ah = calloc(1, sizeof(*ah));
	if (!ah)
		return null_errno(-ENOMEM);
	make.u.ah.attr = *attr;
	make.u.ah.pd = pd->handle;
	error = command(to_context(pd->context), &make);
	if (error) {
		free(ah);
		return null_errno(error);
	}
	ah->base.context = pd->context;
	ah->base.pd = pd;
	ah->base.handle = make.head.object;
	return &ah->base;
}

EXPORT int ibv_destroy_ah(struct ibv_ah *ah)
{
	struct uroce_abi_command end = {.head.op = UROCE_ABI_DESTROY_AH};
	int error;

	if (!is_ours(ah->context))
		return REAL_CALL(ibv_destroy_ah, ENOSYS, ah);
	end.head.object = ah->handle;
	error = command(to_context(ah->context), &end);
	if (!error)
		free(container_of(ah, struct ah, base));
	return -error;
}

/*
 * The 40 bytes before a datagram hold an IPv6 header, or an IPv4 header in their last 20 (IBTA
 * annex A17.4.5.2). The first byte of an IPv4 header says 4 and 5 words.
 */
static bool is_ipv4(const uint8_t header[40])
{
	return header[20] == 0x45 && header[0] >> 4 != 6;
}

static void mapped_gid(union ibv_gid *gid, const uint8_t address[4])
{
	memset(gid, 0, sizeof(*gid));
	gid->raw[10] = 0xff;
	gid->raw[11] = 0xff;
	memcpy(gid->raw + 12, address, 4);
}

/* Turns the received header round. */
static void reverse(const uint8_t header[40], struct ibv_ah_attr *attr, union ibv_gid *own)
{
	uint32_t word;

	if (is_ipv4(header)) {
		mapped_gid(&attr->grh.dgid, header + 32);
		mapped_gid(own, header + 36);
		attr->grh.traffic_class = header[21];
		attr->grh.hop_limit = header[28];
		return;
	}
	memcpy(attr->grh.dgid.raw, header + 8, 16);
	memcpy(own->raw, header + 24, 16);
	memcpy(&word, header, sizeof(word));
	word = ntohl(word);
	attr->grh.traffic_class = (uint8_t)(word >> 20);
	attr->grh.flow_label = word & 0xfffff;
	attr->grh.hop_limit = header[7];
}

static int find_gid(struct ibv_context *context, const union ibv_gid *gid)
{
	union ibv_gid entry;

	for (int index = 0; ibv_query_gid(context, PORTS, index, &entry) == 0; index++)
		if (memcmp(&entry, gid, sizeof(entry)) == 0)
			return index;
	return -1;
}

EXPORT int ibv_init_ah_from_wc(struct ibv_context *context, uint8_t port, struct ibv_wc *wc,
	struct ibv_grh *grh, struct ibv_ah_attr *attr)
{
	union ibv_gid own;
	int index;

	if (!is_ours(context))
		return REAL_CALL(
			ibv_init_ah_from_wc, minus_errno(-ENOSYS), context, port, wc, grh, attr);
	if (port != PORTS || !(wc->wc_flags & IBV_WC_GRH))
		return minus_errno(-EINVAL);
	memset(attr, 0, sizeof(*attr));
	attr->port_num = port;
	attr->sl = wc->sl;
	attr->is_global = 1;
	reverse((const uint8_t *)grh, attr, &own);
	index = find_gid(context, &own);
	if (index < 0)
		return minus_errno(-ENOENT);
	attr->grh.sgid_index = (uint8_t)index;
	return 0;
}

EXPORT struct ibv_ah *ibv_create_ah_from_wc(
	struct ibv_pd *pd, struct ibv_wc *wc, struct ibv_grh *grh, uint8_t port)
{
	struct ibv_ah_attr attr;

	if (!is_ours(pd->context))
		return REAL_CALL(ibv_create_ah_from_wc, null_errno(-ENOSYS), pd, wc, grh, port);
	return ibv_init_ah_from_wc(pd->context, port, wc, grh, &attr) ? NULL
								      : ibv_create_ah(pd, &attr);
}
