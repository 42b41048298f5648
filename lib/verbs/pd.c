/* SPDX-License-Identifier: BSD-3-Clause */
/* Protection domains (man ibv_alloc_pd). */
#include <stdlib.h>

#include "front.h"

EXPORT struct ibv_pd *ibv_alloc_pd(struct ibv_context *ibv)
{
	struct uroce_abi_command make = {.head.op = UROCE_ABI_ALLOC_PD};
	struct ibv_pd *pd;
	int error;

	if (!is_ours(ibv))
		return REAL_CALL(ibv_alloc_pd, null_errno(-ENOSYS), ibv);
	pd = calloc(1, sizeof(*pd));
	if (!pd)
		return null_errno(-ENOMEM);
	error = command(to_context(ibv), &make);
	if (error) {
		free(pd);
		return null_errno(error);
	}
	pd->context = ibv;
	pd->handle = make.head.object;
	return pd;
}

EXPORT int ibv_dealloc_pd(struct ibv_pd *pd)
{
	struct uroce_abi_command end = {.head.op = UROCE_ABI_DEALLOC_PD};
	int error;

	if (!is_ours(pd->context))
		return REAL_CALL(ibv_dealloc_pd, ENOSYS, pd);
	end.head.object = pd->handle;
	error = command(to_context(pd->context), &end);
	if (!error)
		free(pd);
	return -error;
}
