/* SPDX-License-Identifier: BSD-3-Clause */
/* uroce-dump: every packet of a capture file as one line, and a judgement of all of them. */
#include <errno.h>
#include <getopt.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dump.h"
#include "pcap.h"

enum status { STATUS_GOOD = 0, STATUS_BAD = 1, STATUS_UNUSABLE = 2 };

#define FIRST_ROOM 65536u
#define PCAPNG_MAGIC "\x0a\x0d\x0d\x0a"

struct counts {
	unsigned long good;
	unsigned long bad;
	unsigned long other; /* not RoCE */
	unsigned long cut;   /* by the capture, so that nothing can be said */
};

static void usage(FILE *to)
{
	fputs("usage: uroce-dump [-q] FILE.pcap\n"
	      "\n"
	      "Prints each packet of a capture as one line with every header decoded and its ICRC\n"
	      "judged, then a summary. FILE may be - for standard input.\n"
	      "\n"
	      "  -q, --quiet   only packets that are bad or were cut, and the summary\n"
	      "  -h, --help    this text\n"
	      "\n"
	      "Exit status: 0 all RoCE packets are good, 1 some are bad or were cut by the "
	      "capture,\n"
	      "2 wrong usage, or the file can't be read or isn't a pcap file of Ethernet.\n",
		to);
}

static void complain(const char *name, const char *what)
{
	fprintf(stderr, "uroce-dump: %s: %s\n", name, what);
}

/* All of it, from files and pipes alike; NULL and errno if that fails. */
static uint8_t *read_all(FILE *file, size_t *length)
{
	size_t room = FIRST_ROOM;
	uint8_t *bytes = malloc(room);

	*length = 0;
	while (bytes) {
		uint8_t *more;

		*length += fread(bytes + *length, 1, room - *length, file);
		if (ferror(file))
			break;
		if (feof(file))
			return bytes;
		if (*length < room)
			continue;
		room *= 2;
		more = realloc(bytes, room);
		if (!more)
			break;
		bytes = more;
	}
	free(bytes);
	return NULL;
}

static uint8_t *read_file(const char *name, size_t *length)
{
	bool is_stdin = strcmp(name, "-") == 0;
	FILE *file = is_stdin ? stdin : fopen(name, "rb");
	uint8_t *bytes = file ? read_all(file, length) : NULL;

	if (!bytes)
		complain(name, strerror(errno));
	if (file && !is_stdin)
		fclose(file);
	return bytes;
}

/* Seconds since the first packet; captures may go back in time. */
static void print_line(
	unsigned long number, const struct pcap *pcap, int64_t since_first, const char *line)
{
	uint64_t distance = since_first < 0 ? 0 - (uint64_t)since_first : (uint64_t)since_first;
	unsigned long fraction = (unsigned long)(distance % 1000000000);

	printf("%lu %s%lu.", number, since_first < 0 ? "-" : "",
		(unsigned long)(distance / 1000000000));
	if (pcap->in_nanoseconds)
		printf("%09lu %s\n", fraction, line);
	else
		printf("%06lu %s\n", fraction / 1000, line);
}

/* Returns whether the packet deserves a line even of a quiet dump. */
static bool count(struct counts *counts, const struct pcap_record *record, enum wire_drop drop)
{
	if (record->length < record->original_length) {
		counts->cut++;
		return true;
	}
	if (drop == WIRE_OK)
		counts->good++;
	else if (drop == WIRE_NOT_ROCE)
		counts->other++;
	else
		counts->bad++;
	return drop != WIRE_OK && drop != WIRE_NOT_ROCE;
}

static void dump_record(char *line, const struct pcap_record *record, enum wire_drop *drop)
{
	size_t length;

	*drop = wire_dump(record->data, record->length, line, DUMP_LINE);
	length = strlen(line);
	if (record->length < record->original_length)
		snprintf(line + length, DUMP_LINE - length, ", cut: %u of %u bytes", record->length,
			record->original_length);
}

/* Returns what pcap_read() ended with. */
static int dump_all(struct pcap *pcap, bool quiet, struct counts *counts)
{
	struct pcap_record record;
	uint64_t first_ns = 0;
	char line[DUMP_LINE];
	int more;

	for (unsigned long number = 1; (more = pcap_read(pcap, &record)) == 1; number++) {
		enum wire_drop drop;

		if (number == 1)
			first_ns = record.time_ns;
		dump_record(line, &record, &drop);
		if (count(counts, &record, drop) || !quiet)
			print_line(number, pcap, (int64_t)(record.time_ns - first_ns), line);
	}
	return more;
}

static enum status dump_file(const char *name, const uint8_t *bytes, size_t length, bool quiet)
{
	struct counts counts = {0};
	struct pcap pcap;
	int end;

	if (pcap_open(&pcap, bytes, length) != 0) {
		bool pcapng = length >= 4 && memcmp(bytes, PCAPNG_MAGIC, 4) == 0;

		complain(name,
			pcapng ? "is pcapng; make a pcap file of it: editcap -F pcap"
			       : "not a pcap file");
		return STATUS_UNUSABLE;
	}
	if (pcap.link != PCAP_LINK_ETHERNET) {
		complain(name, "not a capture of Ethernet");
		return STATUS_UNUSABLE;
	}
	end = dump_all(&pcap, quiet, &counts);
	printf("%lu packets: %lu good, %lu bad, %lu not RoCE, %lu cut\n",
		counts.good + counts.bad + counts.other + counts.cut, counts.good, counts.bad,
		counts.other, counts.cut);
	if (end < 0) {
		complain(name, "ends within a packet");
		return STATUS_UNUSABLE;
	}
	return counts.bad || counts.cut ? STATUS_BAD : STATUS_GOOD;
}

static enum status run(const char *name, bool quiet)
{
	enum status status;
	size_t length;
	uint8_t *bytes = read_file(name, &length);

	if (!bytes)
		return STATUS_UNUSABLE;
	status = dump_file(name, bytes, length, quiet);
	free(bytes);
	if (fflush(stdout) != 0 || ferror(stdout)) {
		complain("standard output", strerror(errno));
		return STATUS_UNUSABLE;
	}
	return status;
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{"quiet", no_argument, NULL, 'q'},
		{"help", no_argument, NULL, 'h'},
		{NULL, 0, NULL, 0},
	};
	bool quiet = false;
	int option;

	while ((option = getopt_long(argc, argv, "qh", options, NULL)) != -1) {
		if (option == 'q') {
			quiet = true;
			continue;
		}
		usage(option == 'h' ? stdout : stderr);
		return option == 'h' ? STATUS_GOOD : STATUS_UNUSABLE;
	}
	if (optind != argc - 1) {
		usage(stderr);
		return STATUS_UNUSABLE;
	}
	return run(argv[optind], quiet);
}
