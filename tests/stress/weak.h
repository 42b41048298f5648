/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Takes full barriers out of a source file of lib/queue: included ahead of it by the compiler's
 * -include (meson.build), so that the file itself stays as it is shipped. What is left is what one
 * would write without knowing of store buffering: a load and a store, ordered by release and
 * acquire. (A macro's own name is not expanded again inside it.)
 */
#ifndef UROCE_TESTS_STRESS_WEAK_H
#define UROCE_TESTS_STRESS_WEAK_H

/* "Don't take the line if the word is set already": the exchange of an announcement. */
#ifdef WEAK_EXCHANGE_LOOKS_FIRST
#define __atomic_exchange_n(word, value, order)                                                    \
	({                                                                                         \
		__typeof__(*(word)) seen_ = __atomic_load_n(word, __ATOMIC_ACQUIRE);               \
                                                                                                   \
		if (seen_ != (value))                                                              \
			seen_ = __atomic_exchange_n(word, value, order);                           \
		seen_;                                                                             \
	})
#endif

/* "Nobody reads the old value": sendring_taken(), sendring_sleep(), wq_set_notice(), sleep_begin(),
 * worker_enter(). Where somebody does, in the same file, it is 0 to him. */
#ifdef WEAK_EXCHANGE_STORES
#define __atomic_exchange_n(word, value, order)                                                    \
	({                                                                                         \
		__atomic_store_n(word, value, __ATOMIC_RELEASE);                                   \
		(__typeof__(*(word)))0;                                                            \
	})
#endif

/* "A lock is left by a store": tell_consumed() of the SRQ. */
#ifdef WEAK_EXCHANGE_LEAVES_BY_STORE
#define __atomic_exchange_n(word, value, order)                                                    \
	({                                                                                         \
		__typeof__(*(word)) seen_ = 1;                                                     \
                                                                                                   \
		if (value)                                                                         \
			seen_ = __atomic_exchange_n(word, value, order);                           \
		else                                                                               \
			__atomic_store_n(word, value, __ATOMIC_RELEASE);                           \
		seen_;                                                                             \
	})
#endif

/* "Adding nothing is reading": sendring_wakes(), cq_arm_check(), wq_announce_recv(), sleep_wake(),
 * is_inside() of quiescence.c. */
#ifdef WEAK_ADD_LOADS
#define __atomic_fetch_add(word, value, order)                                                     \
	((value) ? __atomic_fetch_add(word, value, order) : __atomic_load_n(word, __ATOMIC_ACQUIRE))
#endif

/* "Only we set bits": cq_arm(). */
#ifdef WEAK_OR_STORES
#define __atomic_fetch_or(word, value, order)                                                      \
	__atomic_store_n(word, __atomic_load_n(word, __ATOMIC_ACQUIRE) | (value), __ATOMIC_RELEASE)
#endif

#endif
