/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory regions (man ibv_reg_mr, ibv_rereg_mr). */
#include <stdlib.h>

#include "front.h"

#define LOCAL_CHANGES (IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC)
#define REREG_FLAGS                                                                                \
	(IBV_REREG_MR_CHANGE_TRANSLATION | IBV_REREG_MR_CHANGE_PD | IBV_REREG_MR_CHANGE_ACCESS)

struct mr {
	struct ibv_mr base;
	uint32_t access;
};

/* What the engine needn't be asked for. */
static int check_access(uint32_t access)
{
	if ((access & (IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC)) &&
		!(access & IBV_ACCESS_LOCAL_WRITE))
		return -EINVAL;
	return access & (IBV_ACCESS_ON_DEMAND | IBV_ACCESS_ZERO_BASED) ? -EOPNOTSUPP : 0;
}

static int check_range(const void *address, size_t length, uint32_t access)
{
	return length == 0 ? -EINVAL : probe_memory(address, length, access & LOCAL_CHANGES);
}

static int reg_command(
	struct ibv_pd *pd, const struct ibv_mr *mr, uint64_t iova, uint32_t access, uint32_t *key)
{
	struct uroce_abi_command reg = {.head.op = UROCE_ABI_REG_MR};
	int error;

	reg.u.mr.pd = pd->handle;
	reg.u.mr.access = access;
	reg.u.mr.address = (uintptr_t)mr->addr;
	reg.u.mr.length = mr->length;
	reg.u.mr.iova = iova;
	error = command(to_context(pd->context), &reg);
	*key = reg.u.mr.key;
	return error;
}

static struct ibv_mr *reg(
	struct ibv_pd *pd, void *address, size_t length, uint64_t iova, uint32_t access)
{
	struct mr *mr;
	uint32_t key;
	int error = check_access(access);

	if (!error && attach_dead(to_context(pd->context)->attach))
		error = -EIO;
	if (!error)
		error = check_range(address, length, access);
	if (error)
		return null_errno(error);
	mr = calloc(1, sizeof(*mr));
	if (!mr)
		return null_errno(-ENOMEM);
	mr->base.context = pd->context;
	mr->base.pd = pd;
	mr->base.addr = address;
	mr->base.length = length;
	mr->access = access;
	error = reg_command(pd, &mr->base, iova, access, &key);
	if (error) {
		free(mr);
		return null_errno(error);
	}
	mr->base.handle = key;
	mr->base.lkey = key;
	mr->base.rkey = key;
	return &mr->base;
}

EXPORT struct ibv_mr *ibv_reg_mr(struct ibv_pd *pd, void *address, size_t length, int access)
{
	if (!is_ours(pd->context))
		return REAL_CALL(ibv_reg_mr, null_errno(-ENOSYS), pd, address, length, access);
	return reg(pd, address, length, (uintptr_t)address, (uint32_t)access);
}

EXPORT struct ibv_mr *ibv_reg_mr_iova(
	struct ibv_pd *pd, void *address, size_t length, uint64_t iova, int access)
{
	if (!is_ours(pd->context))
		return REAL_CALL(
			ibv_reg_mr_iova, null_errno(-ENOSYS), pd, address, length, iova, access);
	return reg(pd, address, length, iova, (uint32_t)access);
}

/* Optional bits are wishes (verbs.h, IBV_ACCESS_OPTIONAL_RANGE): nothing here could grant them. */
EXPORT struct ibv_mr *ibv_reg_mr_iova2(
	struct ibv_pd *pd, void *address, size_t length, uint64_t iova, unsigned int access)
{
	if (!is_ours(pd->context))
		return REAL_CALL(
			ibv_reg_mr_iova2, null_errno(-ENOSYS), pd, address, length, iova, access);
	return reg(pd, address, length, iova, access & ~(uint32_t)IBV_ACCESS_OPTIONAL_RANGE);
}

EXPORT int ibv_dereg_mr(struct ibv_mr *mr)
{
	struct uroce_abi_command dereg = {.head.op = UROCE_ABI_DEREG_MR};
	int error;

	if (!is_ours(mr->context))
		return REAL_CALL(ibv_dereg_mr, ENOSYS, mr);
	dereg.u.mr.key = mr->lkey;
	error = command(to_context(mr->context), &dereg);
	if (!error)
		free(container_of(mr, struct mr, base));
	return -error;
}

/* The checks that the installed library makes, in its order. */
static int check_rereg(const struct ibv_mr *mr, int flags, const struct ibv_pd *pd,
	const void *address, size_t length, uint32_t access)
{
	bool translation = flags & IBV_REREG_MR_CHANGE_TRANSLATION;
	int error;

	if (flags == 0 || (flags & ~REREG_FLAGS))
		return -EINVAL;
	if (translation && (!address || length == 0))
		return -EINVAL;
	if (access && !(flags & IBV_REREG_MR_CHANGE_ACCESS))
		return -EINVAL;
	if ((flags & IBV_REREG_MR_CHANGE_PD) && (!pd || pd->context != mr->context))
		return -EINVAL;
	error = check_access(access);
	return error;
}

/* What the region will be: memory that it may write must be writable, whichever of both changes. */
static int probe_rereg(
	const struct mr *mr, int flags, const void *address, size_t length, uint32_t access)
{
	if (!(flags & IBV_REREG_MR_CHANGE_ACCESS))
		access = mr->access;
	if (!(flags & IBV_REREG_MR_CHANGE_TRANSLATION)) {
		address = mr->base.addr;
		length = mr->base.length;
	}
	return check_range(address, length, access);
}

static int rereg_command(struct mr *mr, int flags, const struct ibv_pd *pd, void *address,
	size_t length, uint32_t access)
{
	struct uroce_abi_command rereg = {.head.op = UROCE_ABI_REREG_MR};
	int error;

	rereg.u.mr.flags = (uint32_t)flags;
	rereg.u.mr.key = mr->base.lkey;
	rereg.u.mr.pd = flags & IBV_REREG_MR_CHANGE_PD ? pd->handle : mr->base.pd->handle;
	rereg.u.mr.access = access;
	rereg.u.mr.address = (uintptr_t)address;
	rereg.u.mr.length = length;
	rereg.u.mr.iova = (uintptr_t)address;
	error = command(to_context(mr->base.context), &rereg);
	if (error)
		return error;
	mr->base.handle = rereg.u.mr.key;
	mr->base.lkey = rereg.u.mr.key;
	mr->base.rkey = rereg.u.mr.key;
	return 0;
}

/*
 * Man ibv_rereg_mr returns which of both regions is valid now, and why in errno. The engine checks
 * before it changes, so after a refusal it is the old one.
 */
EXPORT int ibv_rereg_mr(
	struct ibv_mr *ibv, int flags, struct ibv_pd *pd, void *address, size_t length, int access)
{
	struct mr *mr;
	int error;

	if (!is_ours(ibv->context))
		return REAL_CALL(ibv_rereg_mr, IBV_REREG_MR_ERR_CMD, ibv, flags, pd, address,
			length, access);
	mr = container_of(ibv, struct mr, base);
	access &= ~(int)IBV_ACCESS_OPTIONAL_RANGE;
	error = check_rereg(ibv, flags, pd, address, length, (uint32_t)access);
	if (!error)
		error = probe_rereg(mr, flags, address, length, (uint32_t)access);
	if (!error)
		error = rereg_command(mr, flags, pd, address, length, (uint32_t)access);
	if (error) {
		errno = -error;
		return error == -EIO ? IBV_REREG_MR_ERR_CMD : IBV_REREG_MR_ERR_INPUT;
	}
	if (flags & IBV_REREG_MR_CHANGE_PD)
		ibv->pd = pd;
	if (flags & IBV_REREG_MR_CHANGE_ACCESS)
		mr->access = (uint32_t)access;
	if (flags & IBV_REREG_MR_CHANGE_TRANSLATION) {
		ibv->addr = address;
		ibv->length = length;
	}
	return 0;
}
