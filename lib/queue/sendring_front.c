/* SPDX-License-Identifier: BSD-3-Clause */
/* Send rings, the front's side: rte_ring's inline functions, nothing of DPDK to link. */
#include <errno.h>

#include <rte_ring.h>
#include <rte_ring_elem.h>

#include "sendring.h"

#define ENTRY ((unsigned int)sizeof(uint32_t))

int sendring_front_init(
	struct sendring_front *front, const struct region_view *view, uroce_abi_ref ref)
{
	struct rte_ring *ring = region_at(view, ref, sizeof(*ring));

	if (!ring || ring->size == 0 || ring->mask != ring->size - 1 ||
		!region_at(view, ref, sizeof(*ring) + (uint64_t)ring->size * ENTRY))
		return -EPROTO;
	front->ring = ring;
	return 0;
}

/*
 * The exchange is the full barrier between publishing the slots and reading the flag; it pairs with
 * the one in sendring_taken(). The ring cannot be full (its size is the quota's); if an engine got
 * that wrong, the flag is taken back, so that the next post announces again.
 */
bool sendring_announce(
	struct sendring_front *front, struct uroce_abi_ring *queue, uint32_t announcement)
{
	if (__atomic_exchange_n(&queue->flag.word, 1, __ATOMIC_SEQ_CST))
		return false;
	if (rte_ring_sp_enqueue_elem(front->ring, &announcement, ENTRY) == 0)
		return true;
	__atomic_store_n(&queue->flag.word, 0, __ATOMIC_RELEASE);
	return false;
}

/*
 * Adding nothing reads the word by a read-modify-write: the full barrier behind the enqueue that
 * pairs with the exchange in sendring_sleep(). Usually the core is awake and its line isn't taken
 * from it for more than that.
 */
bool sendring_wakes(struct uroce_abi_header *header, uint32_t core)
{
	uint32_t *asleep = &header->core[core].asleep;

	return __atomic_fetch_add(asleep, 0, __ATOMIC_SEQ_CST) &&
		__atomic_exchange_n(asleep, 0, __ATOMIC_SEQ_CST);
}
