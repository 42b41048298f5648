/* SPDX-License-Identifier: BSD-3-Clause */
/* Names of messages and codes, spot by spot, and none where there is none. */
#include "mad.h"
#include "unit.h"

static void names(void)
{
	CU_ASSERT_STRING_EQUAL(cm_message_name(CM_REQ), "REQ");
	CU_ASSERT_STRING_EQUAL(cm_message_name(CM_SIDR_REP), "SIDR_REP");
	CU_ASSERT_STRING_EQUAL(cm_message_name(CM_APR), "APR");
	CU_ASSERT_PTR_NULL(cm_message_name(0));
	CU_ASSERT_STRING_EQUAL(
		cm_reject_reason_name(CM_REJECT_INVALID_SERVICE_ID), "invalid service id");
	CU_ASSERT_STRING_EQUAL(cm_reject_reason_name(CM_REJECT_CONSUMER), "consumer reject");
	CU_ASSERT_STRING_EQUAL(cm_reject_reason_name(CM_REJECT_INVALID_MTU), "invalid path MTU");
	CU_ASSERT_STRING_EQUAL(cm_reject_reason_name(0), "unknown");
	CU_ASSERT_STRING_EQUAL(cm_reject_reason_name(34), "unknown");
	CU_ASSERT_STRING_EQUAL(cm_reject_reason_name(65535), "unknown");
	CU_ASSERT_STRING_EQUAL(cm_sidr_status_name(0), "valid");
	CU_ASSERT_STRING_EQUAL(cm_sidr_status_name(200), "unknown");
}

static const struct unit_case cases[] = {
	UNIT_CASE(names),
};

UNIT_MAIN("wire-mad-names", cases)
