/* SPDX-License-Identifier: BSD-3-Clause */
/* Netlink's messages: the walk ends, stays inside the buffer, and says nothing that cannot be. */
#include <stdlib.h>
#include <string.h>

#include "address.h"
#include "fuzz.h"
#include "rtnl.h"

static void check(const struct rtnl_message *message)
{
	switch (message->kind) {
	case RTNL_DONE:
	case RTNL_ERROR:
		FUZZ_CHECK(message->error <= 0 && message->error >= -4095);
		break;
	case RTNL_ADDRESS:
		FUZZ_CHECK(
			message->address.prefix_length <= address_bits_max(message->address.gid));
		break;
	default:
		FUZZ_CHECK(message->error == 0 || message->kind == RTNL_MALFORMED);
		break;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t *copy = aligned_alloc(8, (size + 8) & ~(size_t)7); /* as the socket's buffer is */
	const uint8_t *at = copy;
	struct rtnl_message message;
	size_t left = size, messages = 0;

	FUZZ_CHECK(copy);
	memcpy(copy, data, size);
	while (rtnl_next(&at, &left, &message)) {
		FUZZ_CHECK(at + left == copy + size);
		FUZZ_CHECK(++messages <= size / 16 + 1);
		check(&message);
	}
	FUZZ_CHECK(left == 0);
	free(copy);
	return 0;
}
