/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Announcements out of the send rings, to the transport. Each is the client's word: a handle that
 * isn't one of its QPs is counted and forgotten. An honest one may be stale, too: its QP was
 * destroyed meanwhile; and if the handle is another QP's by now, that one looks at its queue once
 * in vain.
 */
#include "announce.h"

#include "state.h"

#define TAKEN 64u
#define TAKES 8u /* a client and round; as many again wait for the next one */

static void announced(struct worker *worker, struct client *client, uint32_t announcement)
{
	struct engine_qp *qp = client_qp(client, worker, announcement & ~SENDRING_RECV);
	bool recv = announcement & SENDRING_RECV;

	worker->counters.announcements++;
	if (!qp || (recv && qp->srq)) {
		worker->counters.stale_announcements++;
		return;
	}
	sendring_taken(recv ? qp->rq.ring : qp->sq.ring);
	rc_posted(&worker->core, qp->rc);
}

static void take_from(struct worker *worker, struct client *client)
{
	uint32_t announcements[TAKEN];
	uint32_t count;

	for (uint32_t take = 0; take < TAKES; take++) {
		count = sendring_take(client->core[worker->number].rings, announcements, TAKEN);
		for (uint32_t i = 0; i < count; i++)
			announced(worker, client, announcements[i]);
		if (count < TAKEN)
			return;
	}
}

void announce_take(struct worker *worker)
{
	list_for_each (node, &worker->engine->clients)
		take_from(worker, container_of(node, struct client, node));
}
