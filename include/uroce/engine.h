/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Embed an engine in your process. Link -luroce -luroce-engine -libverbs, in this order: the verbs
 * functions have to be found in liburoce first, which hands other devices on to libibverbs.
 *
 * The argument grammar is the one that DPDK users know: `EAL arguments -- uroce arguments`, e.g.
 *
 *   -l 0 --no-pci --vdev=net_af_packet0,iface=veth0 -- --port net_af_packet0 --address 10.0.0.1/24
 *
 * If EAL is up already it is adopted, and the part before `--` must be empty.
 *
 * The child of a fork has none of its parent's engines. What it calls with one does nothing, and it
 * can create none if the parent had one (DPDK cannot be started anew); after exec it can.
 */
#ifndef UROCE_ENGINE_H
#define UROCE_ENGINE_H

#include <stdint.h>

#include <infiniband/verbs.h>

#ifdef __cplusplus
extern "C" {
#endif

struct uroce_engine;

/*
 * Starts an engine, which becomes a device (uroce0, uroce1, ... or --name), and its threads: a
 * worker on each of its lcores, a progress thread for the cores without (docs/operations.md).
 * argv[0] is the program's name, as in main(). The strings are not kept. Returns NULL with errno
 * set and one log line that says what is wrong: EINVAL (arguments), ENODEV (port), EADDRINUSE (the
 * kernel has the address on that link), EADDRNOTAVAIL (it should have, and hasn't), EBUSY (port or
 * lcore), EEXIST (name), ENOMEM, ENOTSUP (the child of a fork, or a DPDK secondary), or what EAL
 * gave. Not on the data path; any thread, one at a time.
 */
struct uroce_engine *uroce_engine_create(int argc, char *const argv[]);

/* The same from one line, split at white space; single and double quotes group. */
struct uroce_engine *uroce_engine_create_line(const char *arguments);

/*
 * Stops the engine and frees it. Returns 0; EBUSY while contexts are open on its device, EINVAL for
 * NULL, EIO in the child of a fork. EAL is left running (it cannot be started twice in a process).
 */
int uroce_engine_destroy(struct uroce_engine *engine);

/*
 * Runs one round (send, commands, receive, timers) of each core that has no thread of its own, in
 * the calling thread, leaving out those that other threads are at. What is received is answered by
 * the next round. Returns how many packets were received and sent. In dedicated mode returns 0 at
 * once. Any thread.
 */
unsigned int uroce_engine_poll(struct uroce_engine *engine);

/* The engine's device, as ibv_get_device_list() shows it. Valid until destroy. NULL with errno
 * EINVAL (no engine) or ENODEV (liburoce is not in this process). */
struct ibv_device *uroce_engine_device(struct uroce_engine *engine);

#ifdef __cplusplus
}
#endif

#endif
