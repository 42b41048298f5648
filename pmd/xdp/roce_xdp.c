/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * For net_af_xdp's argument xdp_prog, where the port shares the kernel's addresses: RoCE frames,
 * that is, UDP to port 4791 over IPv4 or IPv6, with or without one VLAN tag, go to the socket of
 * their queue; the kernel gets everything else, and RoCE too on a queue without a socket.
 *
 * What isn't decided by headers that lie in a row is the kernel's: fragments (RoCE has none, its
 * packets have DF set) and IPv6 extension headers.
 */
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/udp.h>

#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#define ROCE_PORT 4791
#define IPV4_FRAGMENT 0x3fff /* more fragments, and the offset */
#define QUEUES 1024

/* The driver finds it by its name and puts its sockets in. */
struct {
	__uint(type, BPF_MAP_TYPE_XSKMAP);
	__uint(max_entries, QUEUES);
	__type(key, __u32);
	__type(value, __u32);
} xsks_map SEC(".maps");

struct tag {
	__be16 tci;
	__be16 type;
};

/* Where the UDP header begins, or NULL: it isn't UDP, or is in pieces. */
static __always_inline void *after_ipv4(struct iphdr *ip, void *end)
{
	if ((void *)(ip + 1) > end || ip->ihl < 5 || ip->protocol != IPPROTO_UDP ||
		ip->frag_off & bpf_htons(IPV4_FRAGMENT))
		return (void *)0;
	return (void *)ip + ip->ihl * 4;
}

static __always_inline void *after_ipv6(struct ipv6hdr *ip, void *end)
{
	if ((void *)(ip + 1) > end || ip->nexthdr != IPPROTO_UDP)
		return (void *)0;
	return ip + 1;
}

SEC("xdp")
int roce(struct xdp_md *context)
{
	void *data = (void *)(long)context->data, *end = (void *)(long)context->data_end;
	struct ethhdr *ether = data;
	struct udphdr *udp = (void *)0;
	void *next = ether + 1;
	__be16 type;

	if (next > end)
		return XDP_PASS;
	type = ether->h_proto;
	if (type == bpf_htons(ETH_P_8021Q)) {
		struct tag *tag = next;

		next = tag + 1;
		if (next > end)
			return XDP_PASS;
		type = tag->type;
	}
	if (type == bpf_htons(ETH_P_IP))
		udp = after_ipv4(next, end);
	else if (type == bpf_htons(ETH_P_IPV6))
		udp = after_ipv6(next, end);
	if (!udp || (void *)(udp + 1) > end || udp->dest != bpf_htons(ROCE_PORT))
		return XDP_PASS;
	return bpf_redirect_map(&xsks_map, context->rx_queue_index, XDP_PASS);
}

char _license[] SEC("license") = "BSD-3-Clause";
