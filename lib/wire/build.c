/* SPDX-License-Identifier: BSD-3-Clause */
/* Packets out: a path's constant headers and their CRC, and what each packet adds to them. */
#include <errno.h>
#include <string.h>

#include "build.h"
#include "icrc.h"

#define IP_PROTOCOL_UDP 17

/*
 * From wire_start() to wire_finish() the frame holds what the ICRC is computed over: ones in the
 * place of UDP's checksum and of the BTH's congestion byte. wire_finish() puts in what is sent.
 */
#define MASKED_CHECKSUM 0xffff
#define MASKED_CONGESTION 0xff
#define NO_CHECKSUM 0

static bool is_mapped(const uint8_t gid[16])
{
	static const uint8_t prefix[12] = {[10] = 0xff, [11] = 0xff}; /* RFC 4291, 2.5.5.2 */

	return memcmp(gid, prefix, sizeof(prefix)) == 0;
}

static uint16_t fold(uint32_t sum)
{
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)sum;
}

static uint32_t ipv4_sum(const struct ipv4_header *ip)
{
	const uint8_t *byte = (const uint8_t *)ip;
	uint32_t sum = 0;

	for (uint32_t i = 0; i < sizeof(*ip); i += 2)
		sum += (uint32_t)byte[i] << 8 | byte[i + 1];
	return sum;
}

static uint8_t put_ethernet(uint8_t *to, const struct wire_path_attr *attr, uint16_t type)
{
	struct ether_header *ether = (void *)to;
	struct vlan_header *vlan = (void *)(to + sizeof(*ether));

	memcpy(ether->destination, attr->destination_mac, sizeof(ether->destination));
	memcpy(ether->source, attr->source_mac, sizeof(ether->source));
	if (!attr->has_vlan) {
		be16_put(&ether->type, type);
		return sizeof(*ether);
	}
	be16_put(&ether->type, ETHER_VLAN);
	be16_put(&vlan->tci, attr->vlan_tci);
	be16_put(&vlan->type, type);
	return sizeof(*ether) + sizeof(*vlan);
}

/* DF, so that the id may be 0 (RFC 6864) and the ICRC's prefix is the same for all packets. */
static uint8_t put_ipv4(struct wire_path *path, const struct wire_path_attr *attr)
{
	struct ipv4_header *ip = (void *)(path->header + path->ip_offset);

	ip->version_ihl = 4 << 4 | sizeof(*ip) / 4;
	ip->tos = attr->traffic_class;
	be16_put(&ip->fragment, IPV4_DF);
	ip->ttl = attr->hop_limit;
	ip->protocol = IP_PROTOCOL_UDP;
	memcpy(ip->source, attr->source + 12, sizeof(ip->source));
	memcpy(ip->destination, attr->destination + 12, sizeof(ip->destination));
	path->ip_sum = ipv4_sum(ip);
	be16_put(&ip->checksum, (uint16_t)~fold(path->ip_sum));
	return sizeof(*ip);
}

static uint8_t put_ipv6(struct wire_path *path, const struct wire_path_attr *attr)
{
	struct ipv6_header *ip = (void *)(path->header + path->ip_offset);

	be32_put(&ip->version_class_flow,
		6u << 28 | (uint32_t)attr->traffic_class << 20 | (attr->flow_label & 0xfffff));
	ip->next_header = IP_PROTOCOL_UDP;
	ip->hop_limit = attr->hop_limit;
	memcpy(ip->source, attr->source, sizeof(ip->source));
	memcpy(ip->destination, attr->destination, sizeof(ip->destination));
	return sizeof(*ip);
}

int wire_path_init(struct wire_path *path, const struct wire_path_attr *attr)
{
	bool ipv4 = is_mapped(attr->source);
	struct udp_header *udp;

	if (is_mapped(attr->destination) != ipv4)
		return -EINVAL;
	memset(path, 0, sizeof(*path));
	path->ip_version = ipv4 ? 4 : 6;
	path->pkey = attr->pkey;
	path->destination_qp = attr->destination_qp;
	path->ip_offset = put_ethernet(path->header, attr, ipv4 ? ETHER_IPV4 : ETHER_IPV6);
	path->udp_offset = path->ip_offset + (ipv4 ? put_ipv4(path, attr) : put_ipv6(path, attr));
	path->header_length = path->udp_offset + sizeof(*udp);
	udp = (void *)(path->header + path->udp_offset);
	be16_put(&udp->source_port, attr->udp_source_port);
	be16_put(&udp->destination_port, ROCE_UDP_PORT);
	be16_put(&udp->checksum, MASKED_CHECKSUM);
	path->icrc_seed = icrc_seed(path->header + path->ip_offset, path->ip_version);
	return 0;
}

void wire_path_set_mac(struct wire_path *path, const uint8_t destination_mac[6])
{
	memcpy(path->header, destination_mac, 6);
}

void wire_path_set_destination_qp(struct wire_path *path, uint32_t destination_qp)
{
	path->destination_qp = destination_qp;
}

uint16_t wire_udp_source_port(uint32_t flow_label, uint32_t source_qp, uint32_t destination_qp)
{
	uint64_t product = (uint64_t)source_qp * destination_qp;

	flow_label &= 0xfffff;
	if (flow_label == 0) {
		product ^= product >> 20;
		product ^= product >> 40;
		flow_label = product & 0xfffff;
	}
	return (uint16_t)(((flow_label & 0x3fff) ^ flow_label >> 14) | 0xc000);
}

static uint32_t pad_of(const struct wire_bth *bth)
{
	return -bth->payload_length & 3;
}

static uint16_t udp_length(const struct wire_bth *bth)
{
	return (uint16_t)(sizeof(struct udp_header) + opcode_info(bth->opcode)->header_length +
		bth->payload_length + pad_of(bth) + ICRC_LENGTH);
}

static uint16_t ipv4_length(const struct wire_bth *bth)
{
	return (uint16_t)(sizeof(struct ipv4_header) + udp_length(bth));
}

static uint8_t flags_of(const struct wire_bth *bth)
{
	return (uint8_t)((bth->solicited ? BTH_SOLICITED : 0) | pad_of(bth) << BTH_PAD_SHIFT);
}

static void put_bth(struct bth *to, const struct wire_path *path, const struct wire_bth *bth)
{
	to->opcode = bth->opcode;
	to->flags = flags_of(bth);
	be16_put(&to->pkey, path->pkey);
	to->congestion = MASKED_CONGESTION;
	be24_put(&to->destination_qp, path->destination_qp);
	to->ack_request = bth->ack_request ? BTH_ACK_REQUEST : 0;
	be24_put(&to->psn, bth->psn);
}

uint8_t *wire_start(uint8_t *frame, const struct wire_path *path, const struct wire_bth *bth)
{
	struct udp_header *udp = (void *)(frame + path->udp_offset);

	/* Always all of it: a copy of constant size is a few moves, and the frame has the room. */
	memcpy(frame, path->header, sizeof(path->header));
	be16_put(&udp->length, udp_length(bth));
	if (path->ip_version == 4) {
		struct ipv4_header *ip = (void *)(frame + path->ip_offset);
		uint16_t length = ipv4_length(bth);

		be16_put(&ip->total_length, length);
		be16_put(&ip->checksum, (uint16_t)~fold(path->ip_sum + length));
	} else {
		struct ipv6_header *ip = (void *)(frame + path->ip_offset);

		be16_put(&ip->payload_length, udp_length(bth));
	}
	put_bth((void *)(frame + path->header_length), path, bth);
	return frame + path->header_length + sizeof(struct bth);
}

static uint32_t seed_for(const struct wire_path *path, const struct wire_bth *bth)
{
	if (path->ip_version == 4)
		return icrc_seed_for(path->icrc_seed, icrc_delta_ipv4, ipv4_length(bth));
	return icrc_seed_for(path->icrc_seed, icrc_delta_ipv6, udp_length(bth));
}

static void unmask(uint8_t *frame, const struct wire_path *path, const struct wire_bth *bth)
{
	struct udp_header *udp = (void *)(frame + path->udp_offset);
	struct bth *to = (void *)(frame + path->header_length);

	be16_put(&udp->checksum, NO_CHECKSUM);
	to->congestion = bth->becn ? BTH_BECN : 0;
}

uint32_t wire_finish(uint8_t *frame, const struct wire_path *path, const struct wire_bth *bth)
{
	uint8_t *from = frame + path->udp_offset + ICRC_SEED_UDP;
	uint8_t *end = frame + path->udp_offset + udp_length(bth) - ICRC_LENGTH;

	memset(end - pad_of(bth), 0, pad_of(bth));
	icrc_put(end, icrc_extend(seed_for(path, bth), from, (uint32_t)(end - from)));
	unmask(frame, path, bth);
	return (uint32_t)(end + ICRC_LENGTH - frame);
}
