/* SPDX-License-Identifier: BSD-3-Clause */
/* Ends, connections, SENDs. */
#include "many.h"

#include <string.h>

void many_open(struct many *m, uint32_t cores, uint32_t qps, uint32_t depth)
{
	const struct engine_config config = {.cores = cores};

	rig_open_with(&m->rig, NULL, &config);
	m->cores = cores;
	m->qps = qps;
	m->a = &m->rig.fronts[0];
	m->b = &m->rig.fronts[1];
	m->channel = front_create_channel(m->a, false);
	m->events = front_create_channel(m->a, true);
	m->cq_a = front_create_cq(m->a, depth, m->channel.handle);
	m->cq_b = front_create_cq(m->b, 4096, 0);
	for (uint32_t i = 0; i < qps; i++) {
		m->qp_a[i] = front_create_qp(m->a, &m->cq_a);
		m->qp_b[i] = front_create_qp(m->b, &m->cq_b);
	}
	memset(m->memory_a, 0, MANY_SIZE);
	memset(m->memory_b, 0, MANY_SIZE);
	m->key_a = front_reg_mr(m->a, m->memory_a, MANY_SIZE, MANY_ACCESS);
	m->key_b = front_reg_mr(m->b, m->memory_b, MANY_SIZE, MANY_ACCESS);
}

void many_connect(struct many *m)
{
	for (uint32_t i = 0; i < m->qps; i++)
		front_connect(m->a, &m->qp_a[i], RIG_ADDRESS, m->b, &m->qp_b[i], RIG_ADDRESS + 1);
}

void many_close(struct many *m)
{
	rig_close(&m->rig);
	front_close_channel(&m->channel);
	front_close_channel(&m->events);
}

uint32_t many_core(const struct many *m, uint32_t n)
{
	return n % m->cores;
}

void many_send(struct many *m, uint32_t n, uint64_t wr_id)
{
	const struct uroce_abi_send_wqe wqe = {
		.opcode = IBV_WR_SEND, .flags = IBV_SEND_SIGNALED, .wr_id = wr_id};

	CU_ASSERT_FATAL(front_recv(m->b, &m->qp_b[n], wr_id, NULL, 0, 0));
	CU_ASSERT_FATAL(front_send(m->a, &m->qp_a[n], &wqe, NULL, 0, 0));
}

void many_run(struct many *m)
{
	rig_run(&m->rig, m->rig.now + MS);
}

bool many_poll(struct many *m, struct uroce_abi_cqe *cqe, uint32_t *n)
{
	if (!cq_poll(&m->cq_a.cq, cqe))
		return false;
	for (*n = 0; *n < m->qps; ++*n)
		if (m->qp_a[*n].handle == cqe->qp)
			break;
	CU_ASSERT_FATAL(*n < m->qps);
	if (cqe->released)
		wq_release(cqe->opcode & IBV_WC_RECV ? &m->qp_a[*n].rq : &m->qp_a[*n].sq,
			cqe->released);
	return true;
}
