/* SPDX-License-Identifier: BSD-3-Clause */
/* Packets out: a path's constant headers and their CRC, and what each packet adds to them. */
#include <errno.h>
#include <string.h>

#include "build.h"
#include "icrc.h"

#define IP_PROTOCOL_UDP 17

#define NO_CHECKSUM 0 /* UDP's: the ICRC does better */

_Static_assert(WIRE_CONSTANT >= WIRE_PATH_MAX - 4, "up to UDP's ports");

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
	udp = (void *)(path->header + path->udp_offset); /* its first half */
	be16_put(&udp->source_port, attr->udp_source_port);
	be16_put(&udp->destination_port, ROCE_UDP_PORT);
	path->icrc_seed = icrc_seed_masks(
		icrc_seed(path->header + path->ip_offset, path->ip_version), NO_CHECKSUM, 0);
	return 0;
}

void wire_path_set_mac(struct wire_path *path, const uint8_t destination_mac[6])
{
	memcpy(path->header, destination_mac, 6);
}

void wire_path_set_source_mac(struct wire_path *path, const uint8_t source_mac[6])
{
	memcpy(path->header + 6, source_mac, 6);
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

/* From the BTH to the pad. */
static uint32_t body_length(const struct wire_bth *bth)
{
	return opcode_info(bth->opcode)->header_length + bth->payload_length + pad_of(bth);
}

static uint16_t udp_length(const struct wire_bth *bth)
{
	return (uint16_t)(sizeof(struct udp_header) + body_length(bth) + ICRC_LENGTH);
}

static uint16_t ipv4_length(const struct wire_bth *bth)
{
	return (uint16_t)(sizeof(struct ipv4_header) + udp_length(bth));
}

static uint8_t flags_of(const struct wire_bth *bth)
{
	return (uint8_t)((bth->solicited ? BTH_SOLICITED : 0) | pad_of(bth) << BTH_PAD_SHIFT);
}

/* UDP's length and checksum, and the BTH: where the CRC's first load comes right behind. */
static void put_udp_and_bth(uint8_t *to, const struct wire_path *path, const struct wire_bth *bth)
{
	uint64_t first = (uint64_t)udp_length(bth) << 48 | (uint64_t)NO_CHECKSUM << 32 |
		(uint64_t)bth->opcode << 24 | (uint64_t)flags_of(bth) << 16 | path->pkey;
	uint64_t second = (uint64_t)(bth->becn ? BTH_BECN : 0) << 56 |
		(uint64_t)path->destination_qp << 32 |
		(uint64_t)(bth->ack_request ? BTH_ACK_REQUEST : 0) << 24 | (bth->psn & 0xffffff);

	be128_put((struct be128 *)to, first, second);
}

uint8_t *wire_start(uint8_t *frame, const struct wire_path *path, const struct wire_bth *bth)
{
	uint8_t *udp = frame + path->udp_offset;

	/* Always all of it: a copy of constant size is a few moves, and the frame has the room. */
	memcpy(frame, path->header, sizeof(path->header));
	if (path->ip_version == 4) {
		struct ipv4_header *ip = (void *)(frame + path->ip_offset);
		uint16_t length = ipv4_length(bth);

		be16_put(&ip->total_length, length);
		be16_put(&ip->checksum, (uint16_t)~fold(path->ip_sum + length));
	} else {
		struct ipv6_header *ip = (void *)(frame + path->ip_offset);

		be16_put(&ip->payload_length, udp_length(bth));
	}
	put_udp_and_bth(udp + ICRC_SEED_UDP, path, bth);
	return udp + sizeof(struct udp_header) + sizeof(struct bth);
}

static uint32_t seed_for(const struct wire_path *path, const struct wire_bth *bth)
{
	uint32_t seed = path->icrc_seed;

	if (bth->becn)
		seed ^= icrc_delta_congestion.by[BTH_BECN];
	if (path->ip_version == 4)
		return icrc_seed_for(seed, icrc_delta_ipv4, ipv4_length(bth));
	return icrc_seed_for(seed, icrc_delta_ipv6, udp_length(bth));
}

uint32_t wire_finish(uint8_t *frame, const struct wire_path *path, const struct wire_bth *bth)
{
	uint8_t *udp = frame + path->udp_offset;
	uint8_t *from = udp + ICRC_SEED_UDP;
	uint8_t *end = udp + sizeof(struct udp_header) + body_length(bth);

	if (pad_of(bth)) /* and the beginning of the ICRC, which follows */
		memset(end - pad_of(bth), 0, sizeof(uint32_t));
	icrc_put(end, icrc_extend(seed_for(path, bth), from, (uint32_t)(end - from)));
	return (uint32_t)(end + ICRC_LENGTH - frame);
}
