/* SPDX-License-Identifier: BSD-3-Clause */
/* Capture files of all four kinds, and cut ones. */
#include <errno.h>
#include <string.h>

#include "pcap.h"
#include "unit.h"

/* One record of 3 bytes out of 5, at 1.000002 s (or 1.000000002 s). */
/* clang-format off */
static const uint8_t little[] = {
	0xd4, 0xc3, 0xb2, 0xa1, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4, 0, 1, 0, 0, 0,
	1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0, 5, 0, 0, 0, 0xaa, 0xbb, 0xcc,
};
static const uint8_t big[] = {
	0xa1, 0xb2, 0x3c, 0x4d, 0, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4, 0, 0, 0, 0, 0, 1,
	0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0, 5, 0xaa, 0xbb, 0xcc,
};
/* clang-format on */

static void check(const uint8_t *file, size_t length, uint64_t time_ns)
{
	struct pcap pcap;
	struct pcap_record record;

	CU_ASSERT_EQUAL_FATAL(pcap_open(&pcap, file, length), 0);
	CU_ASSERT_EQUAL(pcap.link, PCAP_LINK_ETHERNET);
	CU_ASSERT_EQUAL_FATAL(pcap_read(&pcap, &record), 1);
	CU_ASSERT_EQUAL(record.time_ns, time_ns);
	CU_ASSERT_EQUAL(record.length, 3);
	CU_ASSERT_EQUAL(record.original_length, 5);
	CU_ASSERT_EQUAL(memcmp(record.data, file + 40, 3), 0);
	CU_ASSERT_EQUAL(pcap_read(&pcap, &record), 0);
	CU_ASSERT_EQUAL(pcap_read(&pcap, &record), 0);
}

static void kinds(void)
{
	uint8_t file[sizeof(little)];

	check(little, sizeof(little), 1000002000);
	check(big, sizeof(big), 1000000002);
	memcpy(file, little, sizeof(file));
	memcpy(file, (const uint8_t[]){0x4d, 0x3c, 0xb2, 0xa1}, 4);
	check(file, sizeof(file), 1000000002);
	memcpy(file, big, sizeof(file));
	memcpy(file, (const uint8_t[]){0xa1, 0xb2, 0xc3, 0xd4}, 4);
	check(file, sizeof(file), 1000002000);
}

static void not_pcap(void)
{
	uint8_t file[sizeof(little)];
	struct pcap pcap;

	for (size_t length = 0; length < 24; length++)
		CU_ASSERT_EQUAL(pcap_open(&pcap, little, length), -EINVAL);
	memcpy(file, little, sizeof(file));
	memcpy(file, (const uint8_t[]){0x0a, 0x0d, 0x0d, 0x0a}, 4); /* pcapng */
	CU_ASSERT_EQUAL(pcap_open(&pcap, file, sizeof(file)), -EINVAL);
}

static void cut(void)
{
	struct pcap pcap;
	struct pcap_record record;

	CU_ASSERT_EQUAL_FATAL(pcap_open(&pcap, little, 24), 0);
	CU_ASSERT_EQUAL(pcap_read(&pcap, &record), 0);
	for (size_t length = 25; length < sizeof(little); length++) {
		CU_ASSERT_EQUAL_FATAL(pcap_open(&pcap, little, length), 0);
		CU_ASSERT_EQUAL(pcap_read(&pcap, &record), -EBADMSG);
	}
}

static void hostile_length(void)
{
	uint8_t file[sizeof(little)];
	struct pcap pcap;
	struct pcap_record record;

	memcpy(file, little, sizeof(file));
	memset(file + 32, 0xff, 4);
	CU_ASSERT_EQUAL_FATAL(pcap_open(&pcap, file, sizeof(file)), 0);
	CU_ASSERT_EQUAL(pcap_read(&pcap, &record), -EBADMSG);
}

/* A file that says that its frames end with an FCS is still Ethernet. */
static void link_type(void)
{
	uint8_t file[sizeof(little)];
	struct pcap pcap;

	memcpy(file, little, sizeof(file));
	file[23] = 0x24;
	CU_ASSERT_EQUAL_FATAL(pcap_open(&pcap, file, sizeof(file)), 0);
	CU_ASSERT_EQUAL(pcap.link, PCAP_LINK_ETHERNET);
	file[20] = 101;
	CU_ASSERT_EQUAL_FATAL(pcap_open(&pcap, file, sizeof(file)), 0);
	CU_ASSERT_NOT_EQUAL(pcap.link, PCAP_LINK_ETHERNET);
}

static const struct unit_case cases[] = {
	UNIT_CASE(kinds),
	UNIT_CASE(not_pcap),
	UNIT_CASE(cut),
	UNIT_CASE(hostile_length),
	UNIT_CASE(link_type),
};

UNIT_MAIN("wire-pcap", cases)
