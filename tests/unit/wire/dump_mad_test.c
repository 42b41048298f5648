/* SPDX-License-Identifier: BSD-3-Clause */
/* Every CM message as text, typed by hand. */
#include <stdio.h>
#include <string.h>

#include "dump.h"
#include "unit.h"

#define IDS " local_id=0x00000a0a remote_id=0x00000b0b"

static void expect(const struct mad *mad, const char *want)
{
	char line[DUMP_LINE];
	struct text text = text_start(line, sizeof(line));

	dump_mad(&text, mad);
	CU_ASSERT_STRING_EQUAL(line, want);
	if (strcmp(line, want) != 0)
		printf("\n got %s\nwant %s\n", line, want);
}

static struct mad make(enum cm_attribute attribute)
{
	/* All messages but SIDR's start with the two ids. */
	return (struct mad){.header = mad_cm_header(attribute, 0x1234),
		.rtu = {.local_comm_id = 0xa0a, .remote_comm_id = 0xb0b}};
}

static struct mad make_req(void)
{
	struct mad mad = {.header = mad_cm_header(CM_REQ, 0x1234)};
	struct cm_req *req = &mad.req;

	req->local_comm_id = 0xa0a;
	req->service_id = 0x0000000001061d2f;
	req->local_ca_guid = 0x020000fffe009902;
	req->local_qpn = 0x30;
	req->responder_resources = 2;
	req->initiator_depth = 3;
	req->local_cm_response_timeout = 20;
	req->remote_cm_response_timeout = 21;
	req->starting_psn = 77;
	req->retry_count = 6;
	req->rnr_retry_count = 7;
	req->pkey = 0xffff;
	req->path_mtu = 5;
	req->max_cm_retries = 15;
	req->primary.local_gid[0] = 0xfd;
	req->primary.local_gid[15] = 2;
	memcpy(req->primary.remote_gid + 10, (const uint8_t[]){0xff, 0xff, 10, 99, 0, 3}, 6);
	req->primary.flow_label = 0x98c27;
	req->primary.hop_limit = 64;
	req->primary.local_ack_timeout = 19;
	return mad;
}

#define REQ                                                                                        \
	" CM REQ tid=0x1234 local_id=0x00000a0a guid=020000fffe009902 RC qpn=0x000030 psn=77 "     \
	"resources=2 depth=3 retry=6 rnr_retry=7 mtu=4096 pkey=0xffff srq=0 cm_timeout=20/21 "     \
	"cm_retries=15 path=fd00::2>10.99.0.3 flow=0x98c27 class=0x00 hops=64 sl=0 ack_timeout=19"

static void req(void)
{
	struct mad mad = make_req();
	struct ip_cm_header ip = {.ip_version = 4, .source_port = 1000};

	memcpy(ip.source + 12, (const uint8_t[]){10, 99, 0, 2}, 4);
	memcpy(ip.destination + 12, (const uint8_t[]){10, 99, 0, 3}, 4);
	ip_cm_encode(&ip, mad.req.private_data);
	mad.req.private_data[36] = 0xab;
	expect(&mad,
		REQ " service=0x0000000001061d2f ip_cm=0.0 10.99.0.2 port=1000 > 10.99.0.3 "
		    "port=7471 data=ab");
	ip.ip_version = 6;
	ip_cm_encode(&ip, mad.req.private_data);
	expect(&mad,
		REQ " service=0x0000000001061d2f ip_cm=0.0 ::a63:2 port=1000 > ::a63:3 "
		    "port=7471 data=ab");
	mad.req.service_id = 0x10;
	memset(mad.req.private_data, 0, sizeof(mad.req.private_data));
	memset(mad.req.private_data, 0x11, 33);
	expect(&mad,
		REQ " service=0x0000000000000010 data="
		    "1111111111111111111111111111111111111111111111111111111111111111...");
}

static void replies(void)
{
	struct mad mad = make(CM_REP);

	mad.rep.local_ca_guid = 0x99;
	mad.rep.local_qpn = 0x123456;
	mad.rep.starting_psn = 5;
	mad.rep.responder_resources = 1;
	mad.rep.initiator_depth = 2;
	mad.rep.target_ack_delay = 15;
	mad.rep.rnr_retry_count = 7;
	mad.rep.srq = 1;
	expect(&mad,
		" CM REP tid=0x1234" IDS " guid=0000000000000099 qpn=0x123456 psn=5 resources=1 "
		"depth=2 ack_delay=15 rnr_retry=7 srq=1 data=");
	mad = make(CM_RTU);
	expect(&mad, " CM RTU tid=0x1234" IDS " data=");
	mad = make(CM_DREQ);
	mad.dreq.remote_qpn = 0x11;
	expect(&mad, " CM DREQ tid=0x1234" IDS " qpn=0x000011 data=");
	mad = make(CM_DREP);
	mad.drep.private_data[1] = 1;
	expect(&mad, " CM DREP tid=0x1234" IDS " data=0001");
}

static void refusals(void)
{
	struct mad mad = make(CM_REJ);

	mad.rej.message_rejected = CM_ANSWERED_REP;
	mad.rej.reason = 28;
	expect(&mad, " CM REJ tid=0x1234" IDS " of=REP reason=28 (consumer reject) data=");
	mad.rej.info_length = 1;
	mad.rej.info[0] = 5;
	mad.rej.reason = 26;
	expect(&mad, " CM REJ tid=0x1234" IDS " of=REP reason=26 (invalid path MTU) info=05 data=");
	mad = make(CM_MRA);
	mad.mra.service_timeout = 9;
	expect(&mad, " CM MRA tid=0x1234" IDS " of=REQ service_timeout=9 data=");
}

static void paths(void)
{
	struct mad mad = make(CM_LAP);

	mad.lap.remote_qpn = 3;
	expect(&mad, " CM LAP tid=0x1234" IDS " qpn=0x000003 path=::>:: data=");
	mad = make(CM_APR);
	mad.apr.status = 2;
	expect(&mad, " CM APR tid=0x1234" IDS " status=2 data=");
}

static void sidr(void)
{
	struct mad mad = {.header = mad_cm_header(CM_SIDR_REQ, 1)};

	mad.sidr_req.request_id = 0xfc;
	mad.sidr_req.pkey = 0x7fff;
	mad.sidr_req.service_id = 0x0000000001111c06;
	mad.sidr_req.private_data[1] = 0x40;
	expect(&mad,
		" CM SIDR_REQ tid=0x1 request_id=0x000000fc pkey=0x7fff "
		"service=0x0000000001111c06 ip_cm=0.0 0.0.0.0 port=0 > 0.0.0.0 port=7174 data=");
	mad = (struct mad){.header = mad_cm_header(CM_SIDR_REP, 1)};
	mad.sidr_rep.status = 1;
	mad.sidr_rep.qpn = 0x2f;
	mad.sidr_rep.qkey = 0x01234567;
	expect(&mad,
		" CM SIDR_REP tid=0x1 request_id=0x00000000 status=1 (service not supported) "
		"qpn=0x00002f qkey=0x01234567 service=0x0000000000000000 data=");
}

static void another_class(void)
{
	struct mad mad = {.header = {.base_version = 1,
				  .management_class = 3,
				  .class_version = 2,
				  .method = 0x81,
				  .status = 0x0c,
				  .transaction_id = 0xff,
				  .attribute_id = 0x35,
				  .attribute_modifier = 7}};

	expect(&mad,
		" MAD class=0x03 version=2 method=0x81 status=0x000c tid=0xff attribute=0x0035 "
		"modifier=0x00000007");
}

static const struct unit_case cases[] = {
	UNIT_CASE(req),
	UNIT_CASE(replies),
	UNIT_CASE(refusals),
	UNIT_CASE(paths),
	UNIT_CASE(sidr),
	UNIT_CASE(another_class),
};

UNIT_MAIN("wire-dump-mad", cases)
