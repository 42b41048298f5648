/* SPDX-License-Identifier: BSD-3-Clause */
/* One QP with everything around it in the test's hands. */
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#include "rig.h"

#define RIG_ACCESS                                                                                 \
	(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |               \
		IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_MW_BIND)

static struct rig *rig_of(struct rc_qp *qp)
{
	return rc_qp_user(qp);
}

static struct rig_record *record(struct rig *rig, enum rig_what what, int value)
{
	struct rig_record *slot = &rig->records[rig->record_count++];

	if (rig->record_count > RIG_QUEUE)
		abort();
	memset(slot, 0, sizeof(*slot));
	slot->what = what;
	slot->value = value;
	return slot;
}

/* ---- struct rc_ops ---- */

static bool take_send(struct rc_core *core, struct rc_qp *qp, struct rc_send *send, void *tail)
{
	struct rig *rig = rig_of(qp);

	(void)core;
	if (rig->sends_taken == rig->sends_posted)
		return false;
	*send = rig->sends[rig->sends_taken].send;
	memcpy(tail, rig->sends[rig->sends_taken].tail, 512);
	rig->sends_taken++;
	return true;
}

static bool take_recv(struct rc_core *core, struct rc_qp *qp, struct rc_recv *recv, bool *invalid)
{
	struct rig *rig = rig_of(qp);
	struct mem_sge *sges = recv->sge;

	(void)core;
	*invalid = false;
	if (rig->recvs_taken == rig->recvs_posted)
		return false;
	*recv = rig->recvs[rig->recvs_taken++];
	memcpy(sges, recv->sge, recv->sge_count * sizeof(*sges));
	recv->sge = sges;
	*invalid = rig->invalid_recv;
	rig->invalid_recv = false;
	return true;
}

static uint32_t posted(struct rc_core *core, struct rc_qp *qp)
{
	(void)core;
	return rig_of(qp)->sends_posted - rig_of(qp)->sends_taken;
}

static void complete_send(
	struct rc_core *core, struct rc_qp *qp, const struct rc_completion *completion)
{
	(void)core;
	record(rig_of(qp), RIG_SEND_DONE, 0)->completion = *completion;
}

static void complete_recv(
	struct rc_core *core, struct rc_qp *qp, const struct rc_completion *completion)
{
	(void)core;
	record(rig_of(qp), RIG_RECV_DONE, 0)->completion = *completion;
}

static void event(struct rc_core *core, struct rc_qp *qp, enum ibv_event_type type)
{
	(void)core;
	record(rig_of(qp), RIG_EVENT, (int)type);
}

static void activate(struct rc_core *core, struct rc_qp *qp)
{
	(void)core;
	rig_of(qp)->active = true;
}

static void state_changed(struct rc_core *core, struct rc_qp *qp, enum ibv_qp_state state)
{
	(void)core;
	record(rig_of(qp), RIG_STATE, (int)state);
}

static void opened(struct rc_core *core, struct rc_qp *qp, int cause)
{
	(void)core;
	record(rig_of(qp), RIG_OPENED, cause);
}

static const struct rc_ops rig_ops = {
	.take_send = take_send,
	.take_recv = take_recv,
	.posted = posted,
	.complete_send = complete_send,
	.complete_recv = complete_recv,
	.event = event,
	.activate = activate,
	.state_changed = state_changed,
	.opened = opened,
};

/* ---- set-up ---- */

static void *need(void *memory)
{
	if (!memory)
		abort();
	return memory;
}

static void refill(struct rig *rig)
{
	rig->core.free = rig->free;
	rig->core.out = rig->out;
	rig->core.free_count = 64;
	rig->core.out_count = 0;
	rig->core.out_room = 64;
	for (uint32_t i = 0; i < 64; i++) {
		rig->free[i].data = rig->buffers + (size_t)i * RIG_FRAME;
		rig->free[i].room = RIG_FRAME;
	}
}

void rig_open(struct rig *rig, uint32_t number, const struct rig_options *options)
{
	static const struct rig_options ordinary;
	const struct rig_options *o = options ? options : &ordinary;
	struct rc_qp_attr attr = {
		.qp_num = 0x100 + number,
		.pd = 7,
		.recv_pd = o->recv_pd ? o->recv_pd : 7,
		.sq_depth = o->sq_depth ? o->sq_depth : 64,
		.max_recv_sge = RIG_SGES,
		.max_send_sge = 32,
		.max_inline = 512,
		.max_rd_atomic = o->max_rd_atomic ? o->max_rd_atomic : 16,
		.strict = o->strict,
		.has_srq = o->has_srq,
		.pkey = 0xffff,
	};
	struct random random;

	/* A rig's tables are large and hardly used: pages that nobody touches cost nothing. */
	mallopt(M_MMAP_THRESHOLD, 128 * 1024);
	memset(rig, 0, sizeof(*rig));
	rig->number = number;
	rig->ipv6 = o->ipv6;
	rig->memory = need(calloc(1, RIG_MEMORY));
	rig->sends = need(calloc(RIG_QUEUE, sizeof(*rig->sends)));
	rig->recvs = need(calloc(RIG_QUEUE, sizeof(*rig->recvs)));
	rig->recv_sges = need(calloc(RIG_QUEUE, RIG_SGES * sizeof(*rig->recv_sges)));
	for (uint32_t i = 0; i < RIG_QUEUE; i++)
		rig->recvs[i].sge = rig->recv_sges + i * RIG_SGES;
	rig->sent = need(calloc(RIG_SENT, sizeof(*rig->sent)));
	rig->records = need(calloc(RIG_QUEUE, sizeof(*rig->records)));
	rig->buffers = need(calloc(64, RIG_FRAME));
	random_seed(&random, number);
	if (mem_table_create(1024, &random, &rig->mem) != 0 ||
		mem_register(rig->mem, 7, rig->memory, RIG_MEMORY, (uintptr_t)rig->memory,
			RIG_ACCESS, &rig->key) != 0 ||
		rc_core_init(&rig->core, &rig_ops, rig->mem, number) != 0 ||
		rc_qp_create(&rig->core, &attr, rig, &rig->qp) != 0)
		abort();
	rig->core.now = 1000000000;
	refill(rig);
}

void rig_close(struct rig *rig)
{
	rc_qp_destroy(&rig->core, rig->qp);
	rc_core_fini(&rig->core);
	mem_table_destroy(rig->mem);
	free(rig->memory);
	free(rig->sends);
	free(rig->recvs);
	free(rig->recv_sges);
	free(rig->sent);
	free(rig->records);
	free(rig->buffers);
}

void rig_attr(const struct rig *rig, struct ibv_qp_attr *attr)
{
	uint32_t peer = 3 - rig->number;

	memset(attr, 0, sizeof(*attr));
	attr->port_num = 1;
	attr->qp_access_flags =
		IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;
	attr->path_mtu = RIG_MTU;
	attr->dest_qp_num = 0x100 + peer;
	attr->rq_psn = 0x100 * peer;
	attr->sq_psn = 0x100 * rig->number;
	attr->max_dest_rd_atomic = 16;
	attr->max_rd_atomic = 16;
	attr->min_rnr_timer = 12;
	attr->timeout = 14;
	attr->retry_cnt = 7;
	attr->rnr_retry = 7;
	attr->ah_attr.is_global = 1;
	attr->ah_attr.port_num = 1;
}

static void path_between(bool ipv6, uint32_t from, uint32_t to, struct wire_path_attr *path)
{
	memset(path, 0, sizeof(*path));
	memcpy(path->source,
		ipv6 ? "\xfd\x99\0\0\0\0\0\0\0\0\0\0\0\0" : "\0\0\0\0\0\0\0\0\0\0\xff\xff\x0a\0",
		15);
	memcpy(path->destination, path->source, 15);
	path->source[15] = (uint8_t)from;
	path->destination[15] = (uint8_t)to;
	path->source_mac[5] = (uint8_t)from;
	path->destination_mac[5] = (uint8_t)to;
	path->hop_limit = 64;
	path->pkey = 0xffff;
	path->destination_qp = 0x100 + to;
	path->udp_source_port = 0xc123;
}

int rig_modify(struct rig *rig, const struct ibv_qp_attr *attr, int mask)
{
	struct wire_path_attr path;

	path_between(rig->ipv6, rig->number, 3 - rig->number, &path);
	return rc_modify(&rig->core, rig->qp, attr, mask, mask & IBV_QP_AV ? &path : NULL);
}

static void move(struct rig *rig, enum ibv_qp_state state, int mask)
{
	struct ibv_qp_attr attr;

	rig_attr(rig, &attr);
	attr.qp_state = state;
	if (rig_modify(rig, &attr, mask) != 0)
		abort();
}

void rig_to_init(struct rig *rig)
{
	move(rig, IBV_QPS_INIT, RIG_INIT_MASK);
}

void rig_to_rtr(struct rig *rig)
{
	rig_to_init(rig);
	move(rig, IBV_QPS_RTR, RIG_RTR_MASK);
}

void rig_to_armed_rtr(struct rig *rig)
{
	rig_to_init(rig);
	move(rig, IBV_QPS_RTR, RIG_ARM_MASK);
}

void rig_to_rts(struct rig *rig)
{
	rig_to_rtr(rig);
	move(rig, IBV_QPS_RTS, RIG_RTS_MASK);
}

/* ---- posting and running ---- */

struct rig_send *rig_post(struct rig *rig, enum ibv_wr_opcode opcode, uint64_t wr_id,
	uint32_t local, uint32_t length, uint32_t remote, uint32_t rkey)
{
	struct rig_send *slot = &rig->sends[rig->sends_posted++ % RIG_QUEUE];
	struct mem_sge *sge = (struct mem_sge *)slot->tail;

	memset(slot, 0, sizeof(*slot));
	slot->send.wr_id = wr_id;
	slot->send.opcode = opcode;
	slot->send.flags = IBV_SEND_SIGNALED;
	slot->send.length = length;
	slot->send.sge_count = length ? 1 : 0;
	slot->send.released = rig->sends_posted;
	slot->send.remote_address = remote;
	slot->send.remote_rkey = rkey;
	sge->address = (uintptr_t)rig->memory + local;
	sge->length = length;
	sge->lkey = rig->key;
	return slot;
}

void rig_announce(struct rig *rig)
{
	rc_posted(&rig->core, rig->qp);
}

void rig_post_recv(struct rig *rig, uint64_t wr_id, uint32_t local, uint32_t length)
{
	struct rc_recv *recv = &rig->recvs[rig->recvs_posted++ % RIG_QUEUE];

	recv->wr_id = wr_id;
	recv->released = rig->recvs_posted;
	recv->length = length;
	recv->sge_count = 1;
	recv->sge[0].address = (uintptr_t)rig->memory + local;
	recv->sge[0].length = length;
	recv->sge[0].lkey = rig->key;
}

static void keep_sent(struct rig *rig)
{
	for (uint32_t i = 0; i < rig->core.out_count; i++) {
		struct rig_frame *frame = &rig->sent[rig->sent_count];

		if (rig->sent_count == RIG_SENT || rig->out[i].length > RIG_FRAME)
			abort();
		frame->length = rig->out[i].length;
		memcpy(frame->data, rig->out[i].data, frame->length);
		record(rig, RIG_SENT_PACKET, (int)rig->sent_count++);
	}
	refill(rig);
}

void rig_run(struct rig *rig)
{
	while (rig->active) {
		rig->active = false;
		/* one packet at a time, so that the order among the records is the true one */
		if (rc_transmit(&rig->core, rig->qp, 1))
			rig->active = true;
		keep_sent(rig);
	}
}

void rig_step(struct rig *rig, uint32_t buffers, unsigned int budget)
{
	rig->core.free_count = buffers;
	rig->active = false;
	if (rc_transmit(&rig->core, rig->qp, budget))
		rig->active = true;
	keep_sent(rig);
}

void rig_time(struct rig *rig, uint64_t now)
{
	rig->core.now = now;
	rc_core_run_timers(&rig->core);
	rig_run(rig);
}

/* ---- packets by hand ---- */

static uint8_t *put_headers(uint8_t *at, const struct rig_packet *packet)
{
	const struct opcode_info *info = opcode_info(packet->opcode);
	uint8_t *bth = at - 12;

	if (info->reth) {
		be64_put(&((struct reth *)(bth + info->reth))->address, packet->address);
		be32_put(&((struct reth *)(bth + info->reth))->rkey, packet->rkey);
		be32_put(&((struct reth *)(bth + info->reth))->length, packet->length);
	}
	if (info->atomic) {
		struct atomic_eth *atomic = (struct atomic_eth *)(bth + info->atomic);

		be64_put(&atomic->address, packet->address);
		be32_put(&atomic->rkey, packet->rkey);
		be64_put(&atomic->swap_or_add, packet->swap_add);
		be64_put(&atomic->compare, packet->compare);
	}
	if (info->aeth) {
		((struct aeth *)(bth + info->aeth))->syndrome = packet->syndrome;
		be24_put(&((struct aeth *)(bth + info->aeth))->msn, packet->msn);
	}
	if (info->atomic_ack)
		be64_put((struct be64 *)(bth + info->atomic_ack), packet->original);
	if (info->immdt)
		be32_put((struct be32 *)(bth + info->immdt), packet->immediate);
	if (info->ieth)
		be32_put((struct be32 *)(bth + info->ieth), packet->invalidate);
	return bth + info->header_length;
}

void rig_receive(struct rig *rig, const struct rig_packet *packet)
{
	struct wire_path_attr attr;
	struct wire_path path;
	struct wire_bth bth = {
		.opcode = packet->opcode,
		.solicited = packet->solicited,
		.ack_request = packet->ack_request,
		.psn = packet->psn,
		.payload_length = packet->payload_length,
	};
	uint8_t frame[RIG_FRAME];
	uint8_t *payload;
	uint32_t length;

	path_between(rig->ipv6, 3 - rig->number, rig->number, &attr);
	if (packet->bad_pkey)
		attr.pkey = 0x1234;
	if (packet->bad_source)
		attr.source[15] = 99;
	if (packet->bad_destination)
		attr.destination[15] = 98;
	if (wire_path_init(&path, &attr) != 0)
		abort();
	payload = put_headers(wire_start(frame, &path, &bth), packet);
	for (uint32_t i = 0; i < packet->payload_length; i++)
		payload[i] = packet->payload ? packet->payload[i] : (uint8_t)i;
	length = wire_finish(frame, &path, &bth);
	if (packet->bad_icrc)
		frame[length - 1] ^= 1;
	if (rig_receive_frame(rig, frame, length) != WIRE_OK)
		abort();
}

enum wire_drop rig_receive_frame(struct rig *rig, const uint8_t *frame, uint32_t length)
{
	struct wire_packet packet;
	enum wire_drop drop = wire_parse(frame, length, &packet);

	if (drop == WIRE_OK)
		rc_receive(&rig->core, rig->qp, &packet);
	return drop;
}

struct wire_packet rig_sent(const struct rig *rig, uint32_t n)
{
	struct wire_packet packet;

	if (n >= rig->sent_count ||
		wire_parse(rig->sent[n].data, rig->sent[n].length, &packet) != WIRE_OK ||
		!wire_icrc_ok(&packet))
		abort();
	return packet;
}

uint8_t rig_syndrome(const struct rig *rig, uint32_t n)
{
	struct wire_packet packet = rig_sent(rig, n);

	return wire_aeth(&packet)->syndrome;
}

void rig_deliver(struct rig *from, struct rig *to,
	bool (*pass)(const struct wire_packet *packet, void *context), void *context)
{
	while (from->delivered < from->sent_count) {
		const struct rig_frame *frame = &from->sent[from->delivered];
		struct wire_packet packet = rig_sent(from, from->delivered++);

		if (!pass || pass(&packet, context))
			rig_receive_frame(to, frame->data, frame->length);
	}
}

void rig_exchange(struct rig *one, struct rig *two)
{
	do {
		rig_run(one);
		rig_deliver(one, two, NULL, NULL);
		rig_run(two);
		rig_deliver(two, one, NULL, NULL);
	} while (one->active || two->active);
}

/* ---- records ---- */

int rig_order(const struct rig *rig, enum rig_what what, uint32_t n)
{
	for (uint32_t i = 0; i < rig->record_count; i++)
		if (rig->records[i].what == what && n-- == 0)
			return (int)i;
	return -1;
}

const struct rig_record *rig_record(const struct rig *rig, enum rig_what what, uint32_t n)
{
	int i = rig_order(rig, what, n);

	return i < 0 ? NULL : &rig->records[i];
}

uint32_t rig_count(const struct rig *rig, enum rig_what what)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < rig->record_count; i++)
		count += rig->records[i].what == what;
	return count;
}
