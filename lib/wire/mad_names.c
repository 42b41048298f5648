/* SPDX-License-Identifier: BSD-3-Clause */
/* Names of CM messages and of the codes in them, for people. */
#include <stddef.h>

#include "mad.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

const char *cm_message_name(enum cm_attribute attribute)
{
	const struct layout *message = cm_layout(attribute);

	return message ? message->name : NULL;
}

const char *cm_reject_reason_name(uint16_t reason)
{
	static const char *const name[] = {
		/* 12.6.7.2, table 109 */
		[1] = "no QP available",
		[2] = "no EEC available",
		[3] = "no resources",
		[4] = "timeout",
		[5] = "unsupported request",
		[6] = "invalid comm id",
		[7] = "invalid comm instance",
		[8] = "invalid service id",
		[9] = "invalid transport service type",
		[10] = "stale connection",
		[11] = "RDC doesn't exist",
		[12] = "invalid primary GID",
		[13] = "invalid primary LID",
		[14] = "invalid primary SL",
		[15] = "invalid primary traffic class",
		[16] = "invalid primary hop limit",
		[17] = "invalid primary packet rate",
		[18] = "invalid alternate GID",
		[19] = "invalid alternate LID",
		[20] = "invalid alternate SL",
		[21] = "invalid alternate traffic class",
		[22] = "invalid alternate hop limit",
		[23] = "invalid alternate packet rate",
		[24] = "port and CM redirection",
		[25] = "port redirection",
		[26] = "invalid path MTU",
		[27] = "insufficient responder resources",
		[28] = "consumer reject",
		[29] = "invalid RNR retry count",
		[30] = "duplicate local comm id",
		[31] = "invalid class version",
		[32] = "invalid primary flow label",
		[33] = "invalid alternate flow label",
		[35] = "vendor option not supported",
	};

	return reason < COUNT(name) && name[reason] ? name[reason] : "unknown";
}

const char *cm_sidr_status_name(uint8_t status)
{
	static const char *const name[] = {
		/* 12.6.16, table 121 */
		[0] = "valid",
		[1] = "service not supported",
		[2] = "rejected by service provider",
		[3] = "no QP available",
		[4] = "redirect",
		[5] = "version not supported",
	};

	return status < COUNT(name) ? name[status] : "unknown";
}
