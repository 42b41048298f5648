/* SPDX-License-Identifier: BSD-3-Clause */
/* Send rings of threads: what a connection needs of them. */
#ifndef UROCE_ATTACH_THREAD_H
#define UROCE_ATTACH_THREAD_H

struct attach;

/* The connection is about to close: no thread's record leads to it any more when this returns. */
void thread_cut(struct attach *attach);

#endif
