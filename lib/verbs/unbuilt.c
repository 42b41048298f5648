/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Functions that take our objects and answer EOPNOTSUPP: the device has no such capability. They
 * have to be defined, since the installed library would look into its private part of the object.
 */
#include <sys/stat.h>

#include "front.h"

/* A context shared by its descriptor: a kernel's is a character device; ours, a plain file. */
EXPORT struct ibv_context *ibv_import_device(int cmd_fd)
{
	struct stat status;

	if (fstat(cmd_fd, &status) == 0 && !S_ISCHR(status.st_mode))
		return null_errno(-EOPNOTSUPP);
	return REAL_CALL(ibv_import_device, null_errno(-ENOSYS), cmd_fd);
}

EXPORT struct ibv_pd *ibv_import_pd(struct ibv_context *context, uint32_t handle)
{
	if (!is_ours(context))
		return REAL_CALL(ibv_import_pd, null_errno(-ENOSYS), context, handle);
	return null_errno(-EOPNOTSUPP);
}

EXPORT void ibv_unimport_pd(struct ibv_pd *pd)
{
	if (!is_ours(pd->context))
		REAL_CALL_VOID(ibv_unimport_pd, pd);
}

EXPORT struct ibv_mr *ibv_import_mr(struct ibv_pd *pd, uint32_t handle)
{
	if (!is_ours(pd->context))
		return REAL_CALL(ibv_import_mr, null_errno(-ENOSYS), pd, handle);
	return null_errno(-EOPNOTSUPP);
}

EXPORT void ibv_unimport_mr(struct ibv_mr *mr)
{
	if (!is_ours(mr->context))
		REAL_CALL_VOID(ibv_unimport_mr, mr);
}

EXPORT struct ibv_dm *ibv_import_dm(struct ibv_context *context, uint32_t handle)
{
	if (!is_ours(context))
		return REAL_CALL(ibv_import_dm, null_errno(-ENOSYS), context, handle);
	return null_errno(-EOPNOTSUPP);
}

EXPORT void ibv_unimport_dm(struct ibv_dm *dm)
{
	if (!is_ours(dm->context))
		REAL_CALL_VOID(ibv_unimport_dm, dm);
}

EXPORT struct ibv_mr *ibv_reg_dmabuf_mr(
	struct ibv_pd *pd, uint64_t offset, size_t length, uint64_t iova, int fd, int access)
{
	if (!is_ours(pd->context))
		return REAL_CALL(ibv_reg_dmabuf_mr, null_errno(-ENOSYS), pd, offset, length, iova,
			fd, access);
	return null_errno(-EOPNOTSUPP);
}

/* man ibv_attach_mcast: only QPs of type UD. */
static int multicast(const struct ibv_qp *qp)
{
	return qp->qp_type == IBV_QPT_UD ? EOPNOTSUPP : EINVAL;
}

EXPORT int ibv_attach_mcast(struct ibv_qp *qp, const union ibv_gid *gid, uint16_t lid)
{
	if (!is_ours(qp->context))
		return REAL_CALL(ibv_attach_mcast, ENOSYS, qp, gid, lid);
	return multicast(qp);
}

EXPORT int ibv_detach_mcast(struct ibv_qp *qp, const union ibv_gid *gid, uint16_t lid)
{
	if (!is_ours(qp->context))
		return REAL_CALL(ibv_detach_mcast, ENOSYS, qp, gid, lid);
	return multicast(qp);
}

EXPORT int ibv_set_ece(struct ibv_qp *qp, struct ibv_ece *ece)
{
	if (!is_ours(qp->context))
		return REAL_CALL(ibv_set_ece, ENOSYS, qp, ece);
	return EOPNOTSUPP;
}

EXPORT int ibv_query_ece(struct ibv_qp *qp, struct ibv_ece *ece)
{
	if (!is_ours(qp->context))
		return REAL_CALL(ibv_query_ece, ENOSYS, qp, ece);
	return EOPNOTSUPP;
}

/* "Not guaranteed" is no error. */
EXPORT int ibv_query_qp_data_in_order(struct ibv_qp *qp, enum ibv_wr_opcode op, uint32_t flags)
{
	if (!is_ours(qp->context))
		return REAL_CALL(ibv_query_qp_data_in_order, 0, qp, op, flags);
	return 0;
}

/* The engine resolves its neighbours by itself; the kernel doesn't know them. */
EXPORT int ibv_resolve_eth_l2_from_gid(struct ibv_context *context, struct ibv_ah_attr *attr,
	uint8_t eth_mac[ETHERNET_LL_SIZE], uint16_t *vid)
{
	if (!is_ours(context))
		return REAL_CALL(ibv_resolve_eth_l2_from_gid, minus_errno(-ENOSYS), context, attr,
			eth_mac, vid);
	return minus_errno(-EOPNOTSUPP);
}
