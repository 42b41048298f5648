/* SPDX-License-Identifier: BSD-3-Clause */
/* The steps of each address; there are at most PORT_GIDS_MAX, so they are gone through one by one.
 */
#include "address.h"
#include "announce.h"
#include "arp.h"
#include "mld.h"
#include "nd.h"
#include "net.h"

void announce_begin(struct announcement *announcement, uint64_t now)
{
	announcement->step = ANNOUNCE_PROBE;
	announcement->when = now;
	announcement->report = ANNOUNCE_NEVER;
}

void announce_report(struct announcement *announcement, uint64_t when)
{
	if (when < announcement->report)
		announcement->report = when;
}

void announce_defend(struct announcement *announcement, uint64_t now)
{
	if (now < announcement->defended)
		return;
	announcement->defended = now + ANNOUNCE_DEFEND;
	if (announcement->step == ANNOUNCE_DONE)
		announcement->step = ANNOUNCE_SECOND;
	announcement->when = now;
}

static void step(struct net *net, struct net_sink *sink, uint16_t index, uint64_t now)
{
	struct announcement *announcement = &net->announcements[index];
	bool ipv4 = address_is_ipv4(net->addresses[index].gid);

	if (!ipv4)
		mld_report(net, sink, index);
	if (announcement->step == ANNOUNCE_PROBE) {
		(ipv4 ? arp_probe : nd_probe)(net, sink, index);
		announcement->when = now + ANNOUNCE_PROBE_WAIT;
	} else {
		(ipv4 ? arp_announce : nd_announce)(net, sink, index);
		announcement->when = now + ANNOUNCE_INTERVAL;
	}
	announcement->step++;
}

uint64_t announce_run(struct net *net, struct net_sink *sink, uint64_t now)
{
	uint64_t next = TIMER_NEVER;

	for (uint16_t i = 0; i < net->address_count; i++) {
		struct announcement *announcement = &net->announcements[i];

		if (announcement->step != ANNOUNCE_DONE && announcement->when <= now)
			step(net, sink, i, now);
		if (announcement->report <= now) {
			announcement->report = ANNOUNCE_NEVER;
			mld_report(net, sink, i);
		}
		if (announcement->step != ANNOUNCE_DONE && announcement->when < next)
			next = announcement->when;
		if (announcement->report < next)
			next = announcement->report;
	}
	return next;
}
