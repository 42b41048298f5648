/* SPDX-License-Identifier: BSD-3-Clause */
/* How much of everything there may be: what QUERY_DEVICE reports is what the commands enforce. */
#ifndef UROCE_ENGINE_LIMIT_H
#define UROCE_ENGINE_LIMIT_H

#include <uroce/abi.h>

#define LIMIT_QPS 65536u       /* default of engine_config.max_qp */
#define LIMIT_QPS_MAX 1048576u /* of the 2^24 numbers, so that random ones are found at once */
#define LIMIT_QP_WR 16384u
#define LIMIT_SGE UROCE_ABI_MAX_SGE
#define LIMIT_INLINE UROCE_ABI_MAX_INLINE
#define LIMIT_CQS 65536u
#define LIMIT_CQE 4194303u /* as ConnectX has it */
#define LIMIT_SRQS 65536u
#define LIMIT_SRQ_WR 65536u
#define LIMIT_PDS 65536u
#define LIMIT_AHS 65536u
#define LIMIT_CHANNELS 65536u
#define LIMIT_KEYS 1048576u /* default of engine_config.max_mr */
#define LIMIT_KEYS_MAX 8388608u
#define LIMIT_RD_ATOMIC 16u
#define LIMIT_MESSAGE 0x80000000u /* bytes: IBTA 9.7.7.1.4 */
#define LIMIT_PORT 1u		  /* the one port's number */

/* Address space per client; it becomes memory with use. */
#define REGION_SIZE (64ull << 30)

/* Events that a channel's ring holds; further ones are kept by the engine. Asynchronous ones have
 * room for many QPs at once: COMM_EST should be seen before the completion that came with it. */
#define EVENTS_PENDING 512u
#define ASYNC_EVENTS_PENDING 8192u

#endif
