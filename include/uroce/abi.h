/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The region: what an application and the engine share. The layout is the same in one process
 * (ordinary memory) and between processes (a memfd); nothing in it is a pointer.
 *
 *   header | command slots | objects, placed by the engine: send rings, SQ, RQ, SRQ, CQ, event
 * rings
 *
 * Rules: every field says who writes it (E engine, F front, B both by atomic exchange); fields of
 * different writers never share a cache line; the engine copies a record once and validates the
 * copy; ring geometry is written by E at creation and remembered by each side, never read again.
 * Positions are free-running u32 counters; the slot is position & (slots - 1).
 */
#ifndef UROCE_ABI_H
#define UROCE_ABI_H

#include <stdint.h>

#include <infiniband/verbs.h>

#ifdef __cplusplus
extern "C" {
#endif

#define UROCE_ABI_MAGIC 0x75726f63652d3031ull /* "uroce-01" */
#define UROCE_ABI_MAJOR 1u
#define UROCE_ABI_MINOR 0u
#define UROCE_ABI_ENDIAN 0x01020304u
#define UROCE_ABI_LINE 64u
#define UROCE_ABI_ALIGNED __attribute__((aligned(64)))

/* Where something lies: region id in the upper 16 bits, offset in the lower 48. 0: nowhere. */
typedef uint64_t uroce_abi_ref;

#define UROCE_ABI_COMMANDS 64u /* command slots */
#define UROCE_ABI_MAX_SGE 32u
#define UROCE_ABI_MAX_INLINE 512u
#define UROCE_ABI_MAX_CORES 16u /* engine cores that one CQ can hear from */

struct uroce_abi_header { /* E, at creation */
	uint64_t magic;
	uint32_t major;	   /* unknown: refused */
	uint32_t minor;	   /* unknown: ignored */
	uint64_t features; /* bits; none defined by 1.0 */
	uint32_t endian;   /* UROCE_ABI_ENDIAN in the engine's byte order */
	uint32_t page_size;
	uint32_t line_size;
	uint32_t header_size; /* sizeof of each record, so that a mismatch is named */
	uint32_t command_size;
	uint32_t ring_size;
	uint32_t send_wqe_size; /* without SGEs */
	uint32_t recv_wqe_size;
	uint32_t cqe_size;
	uint32_t event_size;
	uint64_t region_size;
	uroce_abi_ref commands; /* struct uroce_abi_command[UROCE_ABI_COMMANDS] */
	uint32_t cores;		/* engine cores */
	uint32_t client;	/* the engine's number for this client */

	/* The engine sleeps: whoever posts or commands wakes it. B; own line. Store buffering with
	 * the poster's index: engine sets it, full barrier, looks at its rings once more; the
	 * poster publishes, full barrier, reads it. */
	struct {
		uint32_t asleep;
	} UROCE_ABI_ALIGNED core[UROCE_ABI_MAX_CORES];

	/* Posts that the front has refused, of all its QPs (EP-17). F; own line. */
	struct {
		uint64_t refused_full;
		uint64_t refused_strict;
	} UROCE_ABI_ALIGNED front;

	/* Commands: bit n set = slot n was posted. B (F sets, E exchanges with 0); own line. */
	struct {
		uint64_t posted;
	} UROCE_ABI_ALIGNED doorbell;
} UROCE_ABI_ALIGNED;

/* ---- a ring of fixed-size slots: SQ, RQ, SRQ, one CQ sub-ring, event rings ---- */

struct uroce_abi_ring {
	struct {		     /* E, at creation */
		uroce_abi_ref slots; /* CQ: slots, count and depth change with a resize */
		uint32_t stride;     /* bytes a slot, a multiple of 64 */
		uint32_t count;	     /* slots, a power of two */
		uint32_t depth;	     /* as granted: how many may be in use, <= count */
		uint32_t max_sge;
		uint32_t max_inline;
	} UROCE_ABI_ALIGNED fixed;
	struct { /* F for work queues (reserved by compare-and-swap), E for CQ and events */
		uint32_t index;
	} UROCE_ABI_ALIGNED producer;
	struct { /* E for work queues (taken so far), F for CQ and events */
		uint32_t index;
	} UROCE_ABI_ALIGNED consumer;
	struct { /* B by exchange; see the users below */
		uint32_t word;
	} UROCE_ABI_ALIGNED flag;
	struct {		 /* E */
		uint32_t notice; /* bits of enum uroce_abi_notice */
		uint32_t moves;	 /* CQ: how often it was resized (release, after `limit`) */
		uint32_t limit;	 /* CQ: completions from this position on lie in the new slots */
	} UROCE_ABI_ALIGNED engine;
};

/*
 * flag.word: SQ and RQ: 1 = announced in a send ring, not yet taken by the core.
 *            CQ (of sub-ring 0): bits of enum uroce_abi_arm.
 */
enum uroce_abi_arm {
	UROCE_ABI_ARM_NONE = 0,
	UROCE_ABI_ARM_SOLICITED = 1,
	UROCE_ABI_ARM_ANY = 2,
};

enum uroce_abi_notice {
	UROCE_ABI_ANNOUNCE_RECV = 1, /* RQ: receives must be announced, too (the QP flushes) */
	UROCE_ABI_CQ_OVERRUN = 2,    /* CQ: completions were lost; the CQ is in error */
};

struct uroce_abi_sge {
	uint64_t address;
	uint32_t length;
	uint32_t lkey;
};

/*
 * A send request. `valid` is written last (release): the slot's lap, position / count + 1, so that
 * zeroed memory and an earlier lap are not valid. Behind the record: SGEs or inline data.
 */
struct uroce_abi_send_wqe { /* F */
	uint32_t valid;
	uint8_t opcode;	    /* enum ibv_wr_opcode */
	uint8_t flags;	    /* enum ibv_send_flags */
	uint16_t sge_count; /* with IBV_SEND_INLINE: 0 */
	uint64_t wr_id;
	uint32_t inline_length;
	uint32_t imm_or_rkey; /* immediate in network order as verbs has it, or the rkey to
				 invalidate */
	union {
		struct {
			uint64_t address;
			uint64_t compare_add;
			uint64_t swap;
			uint32_t rkey;
		} remote; /* RDMA and atomics */
		struct {
			uint64_t address;
			uint64_t length;
			uint32_t window;
			uint32_t new_rkey;
			uint32_t lkey;
			uint32_t access; /* type 1 windows: | UROCE_ABI_BIND_TYPE1 */
		} bind;
		struct {
			uint32_t ah; /* the engine's handle of the address handle */
			uint32_t remote_qpn;
			uint32_t remote_qkey;
		} ud;
	} wr;
	uint8_t reserved[8];
} UROCE_ABI_ALIGNED;

#define UROCE_ABI_BIND_TYPE1 0x80000000u

struct uroce_abi_recv_wqe { /* F */
	uint32_t valid;
	uint32_t sge_count;
	uint64_t wr_id;
	uint8_t reserved[48];
} UROCE_ABI_ALIGNED;

/* A completion. */
struct uroce_abi_cqe { /* E */
	uint64_t wr_id;
	uint64_t timestamp; /* ns of the engine's clock */
	uint32_t qp_num;
	uint32_t qp;	/* the engine's handle of the QP, for the front's table */
	uint8_t status; /* enum ibv_wc_status */
	uint8_t opcode; /* enum ibv_wc_opcode; IBV_WC_RECV bit tells receive from send */
	uint8_t flags;	/* enum ibv_wc_flags */
	uint8_t solicited;
	uint32_t vendor_err;
	uint32_t byte_len;
	uint32_t imm_or_rkey;
	uint32_t src_qp;
	uint32_t released; /* SQ or RQ position that this completion frees up to (exclusive) */
	uint16_t pkey_index;
	uint8_t sl;
	uint8_t reserved[5];
} UROCE_ABI_ALIGNED;

/* An event, in a channel's ring (CQ events) or in the context's (asynchronous events). */
struct uroce_abi_event { /* E */
	uint32_t type;	 /* enum ibv_event_type, or UROCE_ABI_EVENT_COMP */
	uint32_t object; /* handle of the CQ, QP, SRQ; port number */
	uint8_t reserved[56];
} UROCE_ABI_ALIGNED;

#define UROCE_ABI_EVENT_COMP 0xffffffffu

/* ---- commands: the control path ---- */

enum uroce_abi_op {
	UROCE_ABI_NOP,
	UROCE_ABI_QUERY_DEVICE,
	UROCE_ABI_QUERY_PORT,
	UROCE_ABI_QUERY_GID,
	UROCE_ABI_ALLOC_PD,
	UROCE_ABI_DEALLOC_PD,
	UROCE_ABI_REG_MR,
	UROCE_ABI_REREG_MR,
	UROCE_ABI_DEREG_MR,
	UROCE_ABI_ALLOC_MW,
	UROCE_ABI_DEALLOC_MW,
	UROCE_ABI_CREATE_CHANNEL,
	UROCE_ABI_DESTROY_CHANNEL,
	UROCE_ABI_CREATE_CQ,
	UROCE_ABI_RESIZE_CQ,
	UROCE_ABI_DESTROY_CQ,
	UROCE_ABI_CREATE_SRQ,
	UROCE_ABI_MODIFY_SRQ,
	UROCE_ABI_QUERY_SRQ,
	UROCE_ABI_DESTROY_SRQ,
	UROCE_ABI_CREATE_QP,
	UROCE_ABI_MODIFY_QP,
	UROCE_ABI_QUERY_QP,
	UROCE_ABI_DESTROY_QP,
	UROCE_ABI_CREATE_AH,
	UROCE_ABI_DESTROY_AH,
	UROCE_ABI_ATTACH_THREAD,
	UROCE_ABI_DETACH_THREAD,
	UROCE_ABI_QP_POLICY,
	UROCE_ABI_QP_ARM,
	UROCE_ABI_QP_NOTIFY,
	UROCE_ABI_QP_COUNTERS,
	UROCE_ABI_COUNTERS,
	UROCE_ABI_ALLOC,
	UROCE_ABI_FREE,
	UROCE_ABI_OPS,
};

enum uroce_abi_command_state { UROCE_ABI_FREE_SLOT, UROCE_ABI_POSTED, UROCE_ABI_DONE };

/* The RTS attributes of EP-4 and the hold time-out of EP-12. */
struct uroce_abi_arm_attr {
	uint32_t sq_psn;
	uint8_t timeout;
	uint8_t retry_cnt;
	uint8_t rnr_retry;
	uint8_t max_rd_atomic;
	uint32_t hold_timeout_ms; /* 0: none */
	uint32_t hold_action;	  /* enum uroce_hold_action */
};

struct uroce_abi_command {
	struct { /* F: free -> posted (release); E: posted -> done (release) */
		uint32_t state;
		int32_t status;	 /* E: 0 or -errno */
		uint32_t op;	 /* F: enum uroce_abi_op */
		uint32_t object; /* F: the handle it acts on; E: the handle of what was created */
	} UROCE_ABI_ALIGNED head;
	union { /* F: the request; E: the answer in its place */
		uint8_t bytes[832];
		struct ibv_device_attr device;
		struct {
			struct ibv_port_attr attr;
		} port;
		struct {
			uint32_t index;
			uint32_t type; /* E: enum ibv_gid_type */
			union ibv_gid gid;
		} gid;
		struct {
			uint32_t pd;
			uint32_t access;
			uint64_t address; /* F: local address */
			uint64_t length;
			uint64_t iova;
			uint32_t flags; /* rereg */
			uint32_t key;	/* F: rereg, dereg; E: the new one */
			uint32_t type;	/* window: enum ibv_mw_type */
		} mr;
		struct {
			int32_t eventfd; /* channel: F, passed or, in one process, as it is */
			uroce_abi_ref ring;
		} channel;
		struct {
			uint32_t cqe;	  /* F asked, E granted */
			uint32_t channel; /* handle or 0 */
			uint32_t vector;
			uint32_t rings;				 /* E: sub-rings */
			uroce_abi_ref ring[UROCE_ABI_MAX_CORES]; /* E */
		} cq;
		struct {
			uint32_t pd;
			uint32_t max_wr;
			uint32_t max_sge;
			uint32_t limit;
			uint32_t mask;
			uroce_abi_ref ring;
		} srq;
		struct {
			struct ibv_qp_cap cap; /* F asked, E granted */
			uint32_t type;
			uint32_t pd, send_cq, recv_cq, srq;
			uint32_t sq_sig_all;
			uint32_t strict;      /* F: EP-2 */
			uint32_t qp_num;      /* E */
			uint32_t core;	      /* E: which send ring to announce in */
			uroce_abi_ref sq, rq; /* E; rq 0 with an SRQ */
		} create_qp;
		struct {
			struct ibv_qp_attr attr;
			int32_t mask;
			uint32_t strict;
			uint32_t sq_sig_all;
			struct ibv_qp_cap cap;
			uint32_t state_seen; /* query: what query_qp shows, attr.qp_state */
		} qp;
		struct {
			struct ibv_ah_attr attr;
			uint32_t pd;
		} ah;
		struct {
			uint32_t core;
			uroce_abi_ref ring; /* E: the thread's send ring */
			uint32_t bit;	    /* E: its number in that core's set */
		} thread;
		struct {
			uint32_t strict;
			struct uroce_abi_arm_attr arm;
		} policy;
		struct {
			uint64_t value[128]; /* E; in the order of uroce_counter_name(), with
					      * the histogram behind the gate's; or of struct
					      * uroce_qp_counters */
		} counters;
		struct {
			uint64_t size; /* F asked */
			uroce_abi_ref ref;
		} memory;
	} u;
};

#ifdef __cplusplus
}
#endif

#endif
