/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An address of ours makes itself known when the port starts and when its link comes up:
 *
 * 1. at once a probe, which makes another holder of the address speak up (RFC 5227 2.1.1,
 *    RFC 4862 5.4.2); before it, and before each of what follows, IPv6's says that it listens to
 * its group (see mld.h), once more when it is asked;
 * 2. a second later, and two seconds after that, an announcement (RFC 5227 2.3, RFC 4861 7.2.6).
 *
 * The port does not wait for the end of that: a person gave it the address, and a conflict is
 * logged and defended (one announcement in ten seconds, RFC 5227 2.4 b) whenever it shows.
 */
#ifndef UROCE_NET_ANNOUNCE_H
#define UROCE_NET_ANNOUNCE_H

#include <stdint.h>

struct net;
struct net_sink;

#define ANNOUNCE_NEVER UINT64_MAX
#define ANNOUNCE_PROBE_WAIT 1000000000ull
#define ANNOUNCE_INTERVAL 2000000000ull
#define ANNOUNCE_DEFEND 10000000000ull

enum announce_step { ANNOUNCE_PROBE, ANNOUNCE_FIRST, ANNOUNCE_SECOND, ANNOUNCE_DONE };

struct announcement {
	enum announce_step step; /* the one that is due next */
	uint64_t when;
	uint64_t defended; /* until when no further defence is sent */
	uint64_t report;   /* when to answer a query of listeners; ANNOUNCE_NEVER: none is open */
};

void announce_begin(struct announcement *announcement, uint64_t now);
/* Announce once at the next service, unless that was done a short time ago. */
void announce_defend(struct announcement *announcement, uint64_t now);
/* Report the listener at that time, or earlier if that is planned. */
void announce_report(struct announcement *announcement, uint64_t when);
/* Sends what is due. Returns when the next is. */
uint64_t announce_run(struct net *net, struct net_sink *sink, uint64_t now);

#endif
