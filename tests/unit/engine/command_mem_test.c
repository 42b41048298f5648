/* SPDX-License-Identifier: BSD-3-Clause */
/* Protection domains, regions, windows, and memory of the region. */
#include <errno.h>
#include <string.h>

#include "mem.h"
#include "rig.h"

static _Alignas(64) uint8_t memory[8192];

static int reg(struct front *front, struct uroce_abi_command *command, uint32_t access)
{
	*command = (struct uroce_abi_command){.head.op = UROCE_ABI_REG_MR};
	command->u.mr.pd = front->pd;
	command->u.mr.access = access;
	command->u.mr.address = (uintptr_t)memory;
	command->u.mr.iova = (uintptr_t)memory;
	command->u.mr.length = sizeof(memory);
	return front_command(front, command);
}

static int key_command(struct front *front, enum uroce_abi_op op, uint32_t key)
{
	struct uroce_abi_command command = {.head.op = op};

	command.u.mr.key = key;
	return front_command(front, &command);
}

static void domains(void)
{
	struct uroce_abi_command command;
	static struct rig rig;
	struct front *front;
	uint32_t pd;

	rig_open(&rig);
	front = &rig.fronts[0];
	pd = front_alloc_pd(front);
	CU_ASSERT_EQUAL(rig.engines[0]->pds.live, 2);
	CU_ASSERT_EQUAL(front_simple(front, UROCE_ABI_DEALLOC_PD, pd), 0);
	CU_ASSERT_EQUAL(front_simple(front, UROCE_ABI_DEALLOC_PD, pd), -EINVAL);
	CU_ASSERT_EQUAL(reg(front, &command, 0), 0);
	CU_ASSERT_EQUAL(front_simple(front, UROCE_ABI_DEALLOC_PD, front->pd), -EBUSY);
	CU_ASSERT_EQUAL(key_command(front, UROCE_ABI_DEREG_MR, command.u.mr.key), 0);
	CU_ASSERT_EQUAL(front_simple(front, UROCE_ABI_DEALLOC_PD, front->pd), 0);
	CU_ASSERT_EQUAL(rig.engines[0]->pds.live, 0);
	rig_close(&rig);
}

static void regions(void)
{
	struct uroce_abi_command command;
	static struct rig rig;
	struct front *front;
	uint32_t key;

	rig_open(&rig);
	front = &rig.fronts[0];
	CU_ASSERT_EQUAL(reg(front, &command, IBV_ACCESS_REMOTE_WRITE), -EINVAL);
	CU_ASSERT_EQUAL(reg(front, &command, IBV_ACCESS_ON_DEMAND), -EOPNOTSUPP);
	CU_ASSERT_EQUAL(mem_count(rig.engines[0]->mem), 0);
	CU_ASSERT_EQUAL(reg(front, &command, IBV_ACCESS_LOCAL_WRITE), 0);
	key = command.u.mr.key;
	CU_ASSERT_EQUAL(mem_count(rig.engines[0]->mem), 1);
	/* Neither its neighbours' nor a window's. */
	CU_ASSERT_EQUAL(key_command(front, UROCE_ABI_DEREG_MR, key ^ 1), -EINVAL);
	CU_ASSERT_EQUAL(key_command(front, UROCE_ABI_DEREG_MR, key ^ 0x100), -EINVAL);
	CU_ASSERT_EQUAL(key_command(front, UROCE_ABI_DEALLOC_MW, key), -EINVAL);
	CU_ASSERT_EQUAL(key_command(front, UROCE_ABI_DEREG_MR, key), 0);
	CU_ASSERT_EQUAL(key_command(front, UROCE_ABI_DEREG_MR, key), -EINVAL);
	/* 1024 is the rig's limit. */
	for (unsigned int i = 0; i < 1024; i++)
		CU_ASSERT_EQUAL_FATAL(reg(front, &command, 0), 0);
	CU_ASSERT_EQUAL(reg(front, &command, 0), -ENOMEM);
	rig_close(&rig);
}

static void reregistration(void)
{
	struct uroce_abi_command command;
	static struct rig rig;
	struct front *front;
	uint32_t key, pd;

	rig_open(&rig);
	front = &rig.fronts[0];
	CU_ASSERT_EQUAL(reg(front, &command, IBV_ACCESS_LOCAL_WRITE), 0);
	key = command.u.mr.key;
	pd = front_alloc_pd(front);
	command.head.op = UROCE_ABI_REREG_MR;
	command.u.mr.flags = IBV_REREG_MR_CHANGE_PD;
	command.u.mr.pd = 99;
	CU_ASSERT_EQUAL(front_command(front, &command), -EINVAL);
	command.u.mr.pd = pd;
	CU_ASSERT_EQUAL(front_command(front, &command), 0);
	CU_ASSERT_NOT_EQUAL(command.u.mr.key, key);
	/* The old PD is free, the new one is used; the old key is dead. */
	CU_ASSERT_EQUAL(key_command(front, UROCE_ABI_DEREG_MR, key), -EINVAL);
	CU_ASSERT_EQUAL(front_simple(front, UROCE_ABI_DEALLOC_PD, front->pd), 0);
	CU_ASSERT_EQUAL(front_simple(front, UROCE_ABI_DEALLOC_PD, pd), -EBUSY);
	key = command.u.mr.key;
	command.u.mr.flags = IBV_REREG_MR_CHANGE_ACCESS;
	command.u.mr.access = IBV_ACCESS_REMOTE_ATOMIC;
	CU_ASSERT_EQUAL(front_command(front, &command), -EINVAL);
	command.u.mr.flags = 0;
	CU_ASSERT_EQUAL(front_command(front, &command), -EINVAL);
	CU_ASSERT_EQUAL(key_command(front, UROCE_ABI_DEREG_MR, key), 0);
	CU_ASSERT_EQUAL(front_simple(front, UROCE_ABI_DEALLOC_PD, pd), 0);
	rig_close(&rig);
}

static void windows(void)
{
	static const uint32_t types[] = {IBV_MW_TYPE_1, IBV_MW_TYPE_2};
	struct uroce_abi_command command = {.head.op = UROCE_ABI_ALLOC_MW};
	static struct rig rig;
	struct front *front;

	rig_open(&rig);
	front = &rig.fronts[0];
	command.u.mr.pd = front->pd;
	command.u.mr.type = 3;
	CU_ASSERT_EQUAL(front_command(front, &command), -EINVAL);
	command.u.mr.type = 0;
	CU_ASSERT_EQUAL(front_command(front, &command), -EINVAL);
	for (unsigned int i = 0; i < 2; i++) {
		command.u.mr.pd = front->pd;
		command.u.mr.type = types[i];
		CU_ASSERT_EQUAL(front_command(front, &command), 0);
		CU_ASSERT_EQUAL(front_simple(front, UROCE_ABI_DEALLOC_PD, front->pd), -EBUSY);
		CU_ASSERT_EQUAL(key_command(front, UROCE_ABI_DEREG_MR, command.u.mr.key), -EINVAL);
		CU_ASSERT_EQUAL(key_command(front, UROCE_ABI_DEALLOC_MW, command.u.mr.key), 0);
		CU_ASSERT_EQUAL(
			key_command(front, UROCE_ABI_DEALLOC_MW, command.u.mr.key), -EINVAL);
	}
	rig_close(&rig);
}

static int alloc(struct front *front, uint64_t size, uroce_abi_ref *ref)
{
	struct uroce_abi_command command = {.head.op = UROCE_ABI_ALLOC};
	int error;

	command.u.memory.size = size;
	error = front_command(front, &command);
	*ref = command.u.memory.ref;
	return error;
}

static int give(struct front *front, uroce_abi_ref ref)
{
	struct uroce_abi_command command = {.head.op = UROCE_ABI_FREE};

	command.u.memory.ref = ref;
	return front_command(front, &command);
}

static void memory_of_the_region(void)
{
	struct uroce_abi_command command = {.head.op = UROCE_ABI_REG_MR};
	static struct rig rig;
	struct front *front;
	uroce_abi_ref ref, second;
	uint64_t used;
	uint8_t *at;

	rig_open(&rig);
	front = &rig.fronts[0];
	used = region_used(front->client->region);
	CU_ASSERT_EQUAL(alloc(front, 0, &ref), -EINVAL);
	CU_ASSERT_EQUAL(alloc(front, UINT64_MAX, &ref), -ENOMEM);
	CU_ASSERT_EQUAL(alloc(front, 2ull << 30, &ref), -ENOMEM);
	CU_ASSERT_EQUAL(alloc(front, 10000, &ref), 0);
	CU_ASSERT_EQUAL(alloc(front, 10000, &second), 0);
	at = region_at(&front->view, ref, 10000);
	CU_ASSERT_PTR_NOT_NULL_FATAL(at);
	CU_ASSERT_EQUAL(at[9999], 0);
	CU_ASSERT_EQUAL(give(front, ref + 64), -EINVAL);
	/* While a key opens it, it cannot become something else. */
	command.u.mr.pd = front->pd;
	command.u.mr.address = (uintptr_t)at + 9999;
	command.u.mr.length = 1;
	CU_ASSERT_EQUAL(front_command(front, &command), 0);
	CU_ASSERT_EQUAL(give(front, ref), -EBUSY);
	CU_ASSERT_EQUAL(give(front, second), 0);
	CU_ASSERT_EQUAL(key_command(front, UROCE_ABI_DEREG_MR, command.u.mr.key), 0);
	CU_ASSERT_EQUAL(give(front, ref), 0);
	CU_ASSERT_EQUAL(give(front, ref), -EINVAL);
	CU_ASSERT_EQUAL(region_used(front->client->region), used);
	rig_close(&rig);
}

static const struct unit_case cases[] = {
	UNIT_CASE(domains),
	UNIT_CASE(regions),
	UNIT_CASE(reregistration),
	UNIT_CASE(windows),
	UNIT_CASE(memory_of_the_region),
};

UNIT_MAIN("engine-command_mem", cases)
