/* SPDX-License-Identifier: BSD-3-Clause */
/* Asynchronous events: which ones came, and which ones should have. */
#include <uroce/uroce.h>

#include "events.h"

static struct half *half_of(struct traffic *traffic, const struct ibv_qp *qp)
{
	for (uint32_t i = 0; i < traffic->pairs; i++)
		for (uint32_t j = 0; j < 2; j++)
			if (traffic->pair[i].half[j].qp == qp)
				return &traffic->pair[i].half[j];
	return NULL;
}

static void of_qp(struct traffic *traffic, struct half *half, enum ibv_event_type type)
{
	switch (type) {
	case IBV_EVENT_COMM_EST:
		half->comm_est++;
		break;
	case IBV_EVENT_SQ_DRAINED:
		half->drained++;
		break;
	case IBV_EVENT_QP_ACCESS_ERR:
		half->access_error++;
		break;
	case IBV_EVENT_QP_REQ_ERR:
		half->request_error++;
		break;
	case IBV_EVENT_QP_LAST_WQE_REACHED:
		half->last_wqe++;
		traffic_dead(traffic, half);
		break;
	default:
		oracle_complain(traffic->world->oracle, "half %u: event '%s'", half->number,
			ibv_event_type_str(type));
	}
}

static void take(struct traffic *traffic, struct end *end, struct ibv_async_event *event)
{
	struct half *half;

	if (event->event_type == IBV_EVENT_SRQ_LIMIT_REACHED) {
		if (!end->limited)
			oracle_complain(traffic->world->oracle,
				"end %u: an SRQ limit that is not armed was reached", end->tap.end);
		end->limited = false;
		return;
	}
	half = half_of(traffic, event->element.qp);
	if (half)
		of_qp(traffic, half, event->event_type);
	else
		oracle_complain(traffic->world->oracle, "end %u: event '%s' of no QP", end->tap.end,
			ibv_event_type_str(event->event_type));
}

void events_read(struct traffic *traffic, struct end *end)
{
	struct ibv_async_event event;

	while (world_readable(end->context->async_fd)) {
		if (ibv_get_async_event(end->context, &event) != 0)
			return;
		world_trace(traffic->world, "end %u: %s", end->tap.end,
			ibv_event_type_str(event.event_type));
		take(traffic, end, &event);
		ibv_ack_async_event(&event);
	}
}

/* Receives of the SRQ that have not come back: at least as many as are still in it. */
static uint32_t srq_fill(const struct traffic *traffic, const struct end *end)
{
	uint32_t fill = 0;

	for (uint32_t i = 0; i < traffic->pairs; i++)
		for (uint32_t j = 0; j < 2; j++) {
			const struct half *half = &traffic->pair[i].half[j];

			if (half->end == end)
				fill += half->recv_depth - half->buffers_free;
		}
	return fill;
}

/* A limit is armed when more are there, so that its event comes when one too many is taken. */
void events_srq(struct traffic *traffic, struct end *end)
{
	struct ibv_srq_attr attr = {.srq_limit = 2};
	uint32_t fill = srq_fill(traffic, end);

	if (end->limited && fill < end->limit) {
		events_read(traffic, end);
		if (end->limited)
			oracle_complain(traffic->world->oracle,
				"end %u: %u receives of a limit of %u, and no event", end->tap.end,
				fill, end->limit);
		end->limited = false;
	}
	if (end->limited || fill < 4 || !world_chance(traffic->world, 20))
		return;
	end->limited = true;
	end->limit = attr.srq_limit;
	if (ibv_modify_srq(end->srq, &attr, IBV_SRQ_LIMIT) != 0)
		oracle_complain(
			traffic->world->oracle, "end %u: ibv_modify_srq() fails", end->tap.end);
}

/* EP-9: COMM_EST if a packet has opened the gate, and only then. */
static void judge_comm_est(struct traffic *traffic, const struct half *half)
{
	struct oracle *oracle = traffic->world->oracle;
	enum opening opening = half->pair->opening;
	struct uroce_hold hold;

	if (half != &half->pair->half[1] || opening == OPENING_NONE)
		return;
	if (uroce_qp_query_hold(half->qp, &hold) != 0) {
		oracle_complain(oracle, "half %u: query_hold fails", half->number);
		return;
	}
	if (half->comm_est != (hold.cause == UROCE_CAUSE_PACKET))
		oracle_complain(oracle, "half %u: %u COMM_EST, cause %d", half->number,
			half->comm_est, hold.cause);
	if ((opening == OPENING_PACKET && hold.cause > UROCE_CAUSE_MODIFY &&
		    hold.cause != UROCE_CAUSE_PACKET) ||
		(opening == OPENING_NOTIFY && hold.cause != UROCE_CAUSE_NOTIFY) ||
		(opening == OPENING_MODIFY && hold.cause != UROCE_CAUSE_MODIFY))
		oracle_complain(oracle, "half %u: opening %d had cause %d", half->number,
			(int)opening, hold.cause);
}

void events_judge(struct traffic *traffic, const struct half *half)
{
	struct oracle *oracle = traffic->world->oracle;
	bool refused = oracle_saw(half->peer->flow, IBV_WC_REM_ACCESS_ERR);

	if (half->state == HALF_GONE)
		return;
	judge_comm_est(traffic, half);
	if (half->last_wqe != half->last_wqe_due)
		oracle_complain(oracle, "half %u: %u LAST_WQE_REACHED, not %u", half->number,
			half->last_wqe, half->last_wqe_due);
	if (refused != (half->access_error > 0) && half->peer->state != HALF_GONE &&
		(refused || traffic->world->clean))
		oracle_complain(
			oracle, "half %u: %u access errors told", half->number, half->access_error);
}
