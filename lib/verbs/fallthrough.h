/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The installed libibverbs, for objects of other providers. Our definitions of its functions come
 * first in the search order, so its own are reached by handle, name and version; it is loaded when
 * the first is asked for.
 */
#ifndef UROCE_VERBS_FALLTHROUGH_H
#define UROCE_VERBS_FALLTHROUGH_H

#include <infiniband/verbs.h>

/* Macros of verbs.h that hide the functions of that name. */
#undef ibv_query_port
#undef ibv_reg_mr
#undef ibv_reg_mr_iova
#undef ibv_get_device_list

/* Not in verbs.h, but imported by ibv_devinfo and pyverbs: the sysfs attribute gid_attrs/types. */
enum gid_type_sysfs { GID_TYPE_SYSFS_IB_ROCE_V1, GID_TYPE_SYSFS_ROCE_V2 };
int ibv_query_gid_type(
	struct ibv_context *context, uint8_t port, unsigned int index, enum gid_type_sysfs *type);

#define REAL_FUNCTIONS(X)                                                                          \
	X(ibv_create_comp_channel, "IBVERBS_1.0")                                                  \
	X(ibv_destroy_comp_channel, "IBVERBS_1.0")                                                 \
	X(ibv_get_device_list, "IBVERBS_1.1")                                                      \
	X(ibv_free_device_list, "IBVERBS_1.1")                                                     \
	X(ibv_get_device_name, "IBVERBS_1.1")                                                      \
	X(ibv_get_device_guid, "IBVERBS_1.1")                                                      \
	X(ibv_open_device, "IBVERBS_1.1")                                                          \
	X(ibv_close_device, "IBVERBS_1.1")                                                         \
	X(ibv_get_async_event, "IBVERBS_1.1")                                                      \
	X(ibv_ack_async_event, "IBVERBS_1.1")                                                      \
	X(ibv_query_device, "IBVERBS_1.1")                                                         \
	X(ibv_query_port, "IBVERBS_1.1")                                                           \
	X(ibv_query_gid, "IBVERBS_1.1")                                                            \
	X(ibv_query_pkey, "IBVERBS_1.1")                                                           \
	X(ibv_alloc_pd, "IBVERBS_1.1")                                                             \
	X(ibv_dealloc_pd, "IBVERBS_1.1")                                                           \
	X(ibv_reg_mr, "IBVERBS_1.1")                                                               \
	X(ibv_dereg_mr, "IBVERBS_1.1")                                                             \
	X(ibv_rereg_mr, "IBVERBS_1.1")                                                             \
	X(ibv_create_cq, "IBVERBS_1.1")                                                            \
	X(ibv_resize_cq, "IBVERBS_1.1")                                                            \
	X(ibv_destroy_cq, "IBVERBS_1.1")                                                           \
	X(ibv_get_cq_event, "IBVERBS_1.1")                                                         \
	X(ibv_create_srq, "IBVERBS_1.1")                                                           \
	X(ibv_modify_srq, "IBVERBS_1.1")                                                           \
	X(ibv_query_srq, "IBVERBS_1.1")                                                            \
	X(ibv_destroy_srq, "IBVERBS_1.1")                                                          \
	X(ibv_create_qp, "IBVERBS_1.1")                                                            \
	X(ibv_query_qp, "IBVERBS_1.1")                                                             \
	X(ibv_modify_qp, "IBVERBS_1.1")                                                            \
	X(ibv_destroy_qp, "IBVERBS_1.1")                                                           \
	X(ibv_create_ah, "IBVERBS_1.1")                                                            \
	X(ibv_destroy_ah, "IBVERBS_1.1")                                                           \
	X(ibv_create_ah_from_wc, "IBVERBS_1.1")                                                    \
	X(ibv_init_ah_from_wc, "IBVERBS_1.1")                                                      \
	X(ibv_attach_mcast, "IBVERBS_1.1")                                                         \
	X(ibv_detach_mcast, "IBVERBS_1.1")                                                         \
	X(ibv_resolve_eth_l2_from_gid, "IBVERBS_1.1")                                              \
	X(ibv_get_pkey_index, "IBVERBS_1.5")                                                       \
	X(ibv_qp_to_qp_ex, "IBVERBS_1.6")                                                          \
	X(ibv_reg_mr_iova, "IBVERBS_1.7")                                                          \
	X(ibv_reg_mr_iova2, "IBVERBS_1.8")                                                         \
	X(ibv_get_device_index, "IBVERBS_1.9")                                                     \
	X(ibv_import_device, "IBVERBS_1.10")                                                       \
	X(ibv_import_mr, "IBVERBS_1.10")                                                           \
	X(ibv_import_pd, "IBVERBS_1.10")                                                           \
	X(ibv_unimport_mr, "IBVERBS_1.10")                                                         \
	X(ibv_unimport_pd, "IBVERBS_1.10")                                                         \
	X(ibv_query_ece, "IBVERBS_1.10")                                                           \
	X(ibv_set_ece, "IBVERBS_1.10")                                                             \
	X(_ibv_query_gid_ex, "IBVERBS_1.11")                                                       \
	X(_ibv_query_gid_table, "IBVERBS_1.11")                                                    \
	X(ibv_reg_dmabuf_mr, "IBVERBS_1.12")                                                       \
	X(ibv_import_dm, "IBVERBS_1.13")                                                           \
	X(ibv_unimport_dm, "IBVERBS_1.13")                                                         \
	X(ibv_query_qp_data_in_order, "IBVERBS_1.14")                                              \
	X(ibv_query_gid_type, "IBVERBS_PRIVATE_34")

#define X(name, version) REAL_##name,
enum real_function { REAL_FUNCTIONS(X) REAL_COUNT };
#undef X

/* The installed library's function, or NULL: no such library, or it is older. */
void (*real_find(enum real_function which))(void);

#define REAL(name) ((__typeof__(&name))real_find(REAL_##name))

/* Calls it, or is `failure`. */
#define REAL_CALL(name, failure, ...)                                                              \
	({                                                                                         \
		__typeof__(&name) real_ = REAL(name);                                              \
		real_ ? real_(__VA_ARGS__) : (failure);                                            \
	})

/* For functions that return nothing. */
#define REAL_CALL_VOID(name, ...)                                                                  \
	do {                                                                                       \
		__typeof__(&name) real_ = REAL(name);                                              \
		if (real_)                                                                         \
			real_(__VA_ARGS__);                                                        \
	} while (0)

#endif
