/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Memory regions, windows and their keys. One table per engine, read by all cores without a lock,
 * changed by control calls under the caller's lock (one writer at a time).
 *
 * A key is index << 8 | consumer byte. Indices are given out in random order; the low byte is
 * random for regions and type 1 windows and chosen by the consumer of a type 2 window. An entry is
 * live while its key word equals the key asked for: a reader loads the word (acquire), reads the
 * fields, and uses them within one burst; a writer clears the word first, and what must not be
 * reused before all cores have passed a quiescent point waits for mem_reclaim().
 */
#ifndef UROCE_MEM_MEM_H
#define UROCE_MEM_MEM_H

#include <stdbool.h>
#include <stdint.h>

struct mem_table;
struct random;

/* What a data-path check found. The transport maps it to a completion status or a NAK. */
enum mem_status {
	MEM_OK,
	MEM_BAD_KEY,	   /* no such key, or it is not valid (any more) */
	MEM_BAD_PD,	   /* protection domains differ (or, type 2 window, the QP) */
	MEM_BAD_ACCESS,	   /* the entry does not allow it */
	MEM_BAD_RANGE,	   /* not inside the entry, or address + length wraps */
	MEM_BAD_ALIGNMENT, /* atomic on an address that is not a multiple of 8 */
};

/* Access bits are those of enum ibv_access_flags. */

struct mem_sge {
	uint64_t address;
	uint32_t length; /* bytes; 0 means zero here (the verbs front has resolved nothing else) */
	uint32_t lkey;
};

/* ---- control: one writer at a time; 0 or -errno ---- */

/* capacity: keys that can be live at once, 1 to 2^23. -EINVAL, -ENOMEM. */
int mem_table_create(uint32_t capacity, struct random *random, struct mem_table **table);
void mem_table_destroy(struct mem_table *table);

/*
 * Registers `length` bytes at `host` (the engine's pointer), which peers and work requests address
 * from `iova` on. *key is lkey and rkey. -EINVAL: REMOTE_WRITE or
 * REMOTE_ATOMIC without LOCAL_WRITE (man ibv_reg_mr), iova + length beyond 2^64; -ENOMEM: table
 * full. Optional access bits (IBV_ACCESS_OPTIONAL_RANGE, RELAXED_ORDERING) are accepted and
 * ignored; ON_DEMAND, ZERO_BASED and unknown bits: -EOPNOTSUPP; HUGETLB is a hint and ignored.
 */
int mem_register(struct mem_table *table, uint32_t pd, uint8_t *host, uint64_t length,
	uint64_t iova, uint32_t access, uint32_t *key);
/* flags: IBV_REREG_MR_CHANGE_*. The key changes: *key in and out. -EBUSY while windows are bound.
 */
int mem_reregister(struct mem_table *table, uint32_t *key, int flags, uint32_t pd, uint8_t *host,
	uint64_t length, uint64_t iova, uint32_t access);
/* Unlinks. The index returns to the free list by mem_reclaim(). -EBUSY while windows are bound,
 * -EINVAL. */
int mem_deregister(struct mem_table *table, uint32_t key);
/* type: 1 or 2 (enum ibv_mw_type). */
int mem_window_alloc(struct mem_table *table, uint32_t pd, int type, uint32_t *rkey);
/* The current rkey of the window that had this one; 0: there is no such window. */
uint32_t mem_window_key(struct mem_table *table, uint32_t rkey);
/* By its current rkey, bound or not. */
int mem_window_dealloc(struct mem_table *table, uint32_t rkey);
/* After a quiescent point: what was unlinked before it may be given out again. */
void mem_reclaim(struct mem_table *table);
/* Live entries, for leak checks. */
uint32_t mem_count(const struct mem_table *table);
/* True if any live entry belongs to the PD. */
bool mem_pd_used(const struct mem_table *table, uint32_t pd);
/* A client dies: all entries of its PD are unlinked, windows first, whatever their keys are now. */
void mem_pd_release(struct mem_table *table, uint32_t pd);

/* ---- windows, from the transport (the QP's core) ---- */

struct mem_bind {
	uint32_t window;   /* the window's current rkey */
	uint32_t new_rkey; /* same index, any low byte; type 1: another index lets the table choose
			    */
	uint32_t lkey;	   /* the region; ignored if length is 0 */
	uint64_t address;
	uint64_t length; /* 0 unbinds (type 1); an error for type 2 (o10-37.2.40): invalidate */
	uint32_t access;
	uint32_t pd;	 /* of the QP */
	uint32_t qp_num; /* type 2: the window becomes this QP's */
};

/*
 * Binds. PDs of QP, window and region must agree; the region needs IBV_ACCESS_MW_BIND, and
 * LOCAL_WRITE for remote write or atomic (man ibv_bind_mw, IBTA 10.6.7.2.2); a type 2 window must
 * not be bound already (10.6.7.2.3). Type 1: *rkey is the new rkey that was chosen.
 */
enum mem_status mem_window_bind(
	struct mem_table *table, const struct mem_bind *bind, int type, uint32_t *rkey);
/* Local or remote invalidate of a type 2 window by rkey (10.6.5, 11.2.4); the QP must be its own.
 */
enum mem_status mem_invalidate(
	struct mem_table *table, uint32_t rkey, uint32_t pd, uint32_t qp_num);
/* A QP dies or is reset: its type 2 windows become unbound. */
void mem_windows_release(struct mem_table *table, uint32_t qp_num);

/* ---- checks: any core, no lock ---- */

/* Local access: length > 0. access: 0 (read) or IBV_ACCESS_LOCAL_WRITE. *host is valid for this
 * burst. */
enum mem_status mem_local(const struct mem_table *table, uint32_t pd, uint32_t lkey,
	uint64_t address, uint64_t length, uint32_t access, uint8_t **host);
/*
 * Remote access by rkey. access: IBV_ACCESS_REMOTE_{READ,WRITE,ATOMIC}. A zero-length access is
 * MEM_OK without any look-up (9.7.4.1.3, C9-88: no R_Key check) and gives *host = NULL.
 */
enum mem_status mem_remote(const struct mem_table *table, uint32_t pd, uint32_t qp_num,
	uint32_t rkey, uint64_t address, uint64_t length, uint32_t access, uint8_t **host);

#endif
