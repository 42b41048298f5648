/* SPDX-License-Identifier: BSD-3-Clause */
/* Queries of device, port, GIDs and P_Keys, in the forms that verbs.h calls them by. */
#include <endian.h>
#include <string.h>

#include "front.h"

/* What ibv_query_port@IBVERBS_1.1 fills: the struct as it was before port_cap_flags2. */
#define COMPAT_PORT_ATTR 48u

EXPORT int ibv_query_device(struct ibv_context *ibv, struct ibv_device_attr *attr)
{
	struct uroce_abi_command ask = {.head.op = UROCE_ABI_QUERY_DEVICE};
	int error;

	if (!is_ours(ibv))
		return REAL_CALL(ibv_query_device, ENOSYS, ibv, attr);
	error = command(to_context(ibv), &ask);
	if (!error)
		*attr = ask.u.device;
	return -error;
}

/* What isn't a field of ibv_device_attr is a capability that the device hasn't: zero. */
int verbs_query_device_ex(struct ibv_context *context,
	const struct ibv_query_device_ex_input *input, struct ibv_device_attr_ex *attr,
	size_t length)
{
	struct ibv_device_attr_ex full = {0};
	int error;

	if (input && input->comp_mask)
		return EINVAL;
	error = ibv_query_device(context, &full.orig_attr);
	if (error)
		return error;
	full.device_cap_flags_ex = full.orig_attr.device_cap_flags;
	full.phys_port_cnt_ex = full.orig_attr.phys_port_cnt;
	memset(attr, 0, length);
	memcpy(attr, &full, length < sizeof(full) ? length : sizeof(full));
	return 0;
}

int verbs_query_port(
	struct ibv_context *context, uint8_t port, struct ibv_port_attr *attr, size_t length)
{
	struct uroce_abi_command ask = {.head.op = UROCE_ABI_QUERY_PORT};
	int error;

	if (attach_dead(to_context(context)->attach))
		return EIO;
	if (port != PORTS)
		return EINVAL;
	ask.head.object = port;
	error = command(to_context(context), &ask);
	if (error)
		return -error;
	memset(attr, 0, length);
	memcpy(attr, &ask.u.port.attr, length < sizeof(*attr) ? length : sizeof(*attr));
	return 0;
}

EXPORT int ibv_query_port(
	struct ibv_context *context, uint8_t port, struct _compat_ibv_port_attr *attr)
{
	if (!is_ours(context))
		return REAL_CALL(ibv_query_port, ENOSYS, context, port, attr);
	return verbs_query_port(context, port, (struct ibv_port_attr *)attr, COMPAT_PORT_ATTR);
}

/* 0; EINVAL: no such index; ENODATA: nothing in it. */
static int read_gid(
	struct ibv_context *context, uint32_t port, uint32_t index, struct uroce_abi_command *ask)
{
	static const union ibv_gid empty;
	int error;

	if (attach_dead(to_context(context)->attach))
		return EIO;
	if (port != PORTS)
		return EINVAL;
	*ask = (struct uroce_abi_command){.head.op = UROCE_ABI_QUERY_GID};
	ask->u.gid.index = index;
	error = command(to_context(context), ask);
	if (error)
		return -error;
	return memcmp(&ask->u.gid.gid, &empty, sizeof(empty)) == 0 ? ENODATA : 0;
}

/* An empty entry is no error here but a GID of zeros, as with the installed library. */
EXPORT int ibv_query_gid(struct ibv_context *context, uint8_t port, int index, union ibv_gid *gid)
{
	struct uroce_abi_command ask;
	int error;

	if (!is_ours(context))
		return REAL_CALL(ibv_query_gid, minus_errno(-ENOSYS), context, port, index, gid);
	error = index < 0 ? EINVAL : read_gid(context, port, (uint32_t)index, &ask);
	if (error && error != ENODATA)
		return minus_errno(-error);
	*gid = ask.u.gid.gid;
	return 0;
}

static void fill_entry(const struct uroce_abi_command *got, uint32_t index,
	struct ibv_gid_entry *entry, size_t entry_size)
{
	struct ibv_gid_entry full = {
		.gid = got->u.gid.gid,
		.gid_index = index,
		.port_num = PORTS,
		.gid_type = got->u.gid.type,
	};

	memset(entry, 0, entry_size);
	memcpy(entry, &full, entry_size < sizeof(full) ? entry_size : sizeof(full));
}

EXPORT int _ibv_query_gid_ex(struct ibv_context *context, uint32_t port, uint32_t index,
	struct ibv_gid_entry *entry, uint32_t flags, size_t entry_size)
{
	struct uroce_abi_command ask;
	int error;

	if (!is_ours(context))
		return REAL_CALL(
			_ibv_query_gid_ex, ENOSYS, context, port, index, entry, flags, entry_size);
	error = flags ? EOPNOTSUPP : read_gid(context, port, index, &ask);
	if (!error)
		fill_entry(&ask, index, entry, entry_size);
	return error;
}

/* Valid entries only; all of them fit, or it is an error (man ibv_query_gid_table). */
EXPORT ssize_t _ibv_query_gid_table(struct ibv_context *context, struct ibv_gid_entry *entries,
	size_t max_entries, uint32_t flags, size_t entry_size)
{
	struct uroce_abi_command ask;
	uint8_t *to = (uint8_t *)entries;
	size_t count = 0;
	int error = 0;

	if (!is_ours(context))
		return REAL_CALL(_ibv_query_gid_table, -ENOSYS, context, entries, max_entries,
			flags, entry_size);
	if (flags)
		return -EOPNOTSUPP;
	if (max_entries == 0)
		return -EINVAL;
	for (uint32_t index = 0; error == 0 || error == ENODATA; index++) {
		error = read_gid(context, PORTS, index, &ask);
		if (error)
			continue;
		if (count == max_entries)
			return -EINVAL;
		fill_entry(
			&ask, index, (struct ibv_gid_entry *)(to + count * entry_size), entry_size);
		count++;
	}
	return error == EINVAL ? (ssize_t)count : -error; /* EINVAL: behind the last index */
}

EXPORT int ibv_query_gid_type(
	struct ibv_context *context, uint8_t port, unsigned int index, enum gid_type_sysfs *type)
{
	struct uroce_abi_command ask;
	int error;

	if (!is_ours(context))
		return REAL_CALL(
			ibv_query_gid_type, minus_errno(-ENOSYS), context, port, index, type);
	error = read_gid(context, port, index, &ask);
	if (error && error != ENODATA)
		return minus_errno(-error);
	*type = !error && ask.u.gid.type == IBV_GID_TYPE_ROCE_V2 ? GID_TYPE_SYSFS_ROCE_V2
								 : GID_TYPE_SYSFS_IB_ROCE_V1;
	return 0;
}

EXPORT int ibv_query_pkey(struct ibv_context *context, uint8_t port, int index, __be16 *pkey)
{
	if (!is_ours(context))
		return REAL_CALL(ibv_query_pkey, minus_errno(-ENOSYS), context, port, index, pkey);
	if (attach_dead(to_context(context)->attach))
		return minus_errno(-EIO);
	if (port != PORTS || index != 0)
		return minus_errno(-EINVAL);
	*pkey = htobe16(PKEY_DEFAULT);
	return 0;
}

EXPORT int ibv_get_pkey_index(struct ibv_context *context, uint8_t port, __be16 pkey)
{
	if (!is_ours(context))
		return REAL_CALL(ibv_get_pkey_index, minus_errno(-ENOSYS), context, port, pkey);
	if (attach_dead(to_context(context)->attach))
		return minus_errno(-EIO);
	if (port != PORTS || pkey != htobe16(PKEY_DEFAULT))
		return minus_errno(-EINVAL);
	return 0;
}
