/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * From the region's work requests to the transport's. What comes in is a private copy; every field
 * of it is the client's word and is checked here, once.
 */
#ifndef UROCE_ENGINE_WQE_H
#define UROCE_ENGINE_WQE_H

#include <uroce/abi.h>

#include "rc.h"

/* What the QP was created with. */
struct wqe_limits {
	uint32_t max_sge;
	uint32_t max_inline;
};

/*
 * Fills the send request (zeroed by the caller but for `released`); SGEs or inline bytes lie in
 * `tail`. False: it is not one that an RC QP may run; then it has its wr_id, no data, and the
 * status that its completion will show.
 */
bool wqe_send(const struct uroce_abi_send_wqe *wqe, const void *tail,
	const struct wqe_limits *limits, struct rc_send *send);

/* The same for a receive request, whose SGEs are in recv->sge already. */
bool wqe_recv(const struct uroce_abi_recv_wqe *wqe, uint32_t max_sge, struct rc_recv *recv);

#endif
