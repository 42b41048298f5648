/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The gate, docs/early-posts.md: its corner cases multiplied. {who drives the QP} x {what happens
 * at the gate} x {how much is held} x {what happens then} x {before or after the engine's next
 * turn}. What must come of a cell is worked out from these five words alone, by the rules; each
 * request completes once or vanishes, and the counters add up.
 */
#include <errno.h>
#include <string.h>

#include "hold_rig.h"
#include "log.h"

enum owner { OWNER, CM, CM_EARLY_RTS, OWNERS };
enum how { NOTHING, MODIFY, PACKET, RTU, NOTIFY, GRACE, TIMEOUT, HOWS };
enum then { NORMAL, ERROR, RESET, DESTROY, NAK, THENS };

static const char *const owner_names[] = {"owner", "cm", "cm, early RTS"};
static const char *const how_names[] = {
	"nothing", "modify", "packet", "rtu", "notify", "grace", "timeout"};
static const char *const then_names[] = {"normal", "error", "reset", "destroy", "nak"};

#define FULL 64u
static const uint32_t helds[] = {0, 1, FULL};

struct cell {
	enum owner owner;
	enum how how;
	uint32_t held;
	enum then then;
	bool turn; /* the engine had its turn between the two */
	char name[80];
};

/* ---- by the rules ---- */

/* EP-4, EP-10, EP-11, EP-12 */
static bool opens(const struct cell *cell)
{
	switch (cell->how) {
	case MODIFY:
		return cell->owner == OWNER;
	case GRACE:
		return cell->owner != OWNER;
	case TIMEOUT:
		return cell->held > 0;
	default:
		return cell->how != NOTHING;
	}
}

static enum rc_hold_cause cause_of(enum how how)
{
	static const enum rc_hold_cause causes[] = {[MODIFY] = RC_HOLD_MODIFY,
		[PACKET] = RC_HOLD_PACKET,
		[RTU] = RC_HOLD_RTU,
		[NOTIFY] = RC_HOLD_NOTIFY,
		[GRACE] = RC_HOLD_GRACE,
		[TIMEOUT] = RC_HOLD_TIMEOUT};

	return causes[how];
}

/* Left on the wire before the end, if there is one. */
static uint32_t sent(const struct cell *cell)
{
	return opens(cell) && (cell->turn || cell->then == NORMAL) ? cell->held : 0;
}

/* Every third request is unsignaled. */
static bool signaled(uint32_t i)
{
	return i % 3 != 2;
}

static enum ibv_wc_status status_of(const struct cell *cell, uint32_t i)
{
	if (cell->then == NORMAL)
		return IBV_WC_SUCCESS;
	if (cell->then == NAK && sent(cell) && i == 0)
		return IBV_WC_REM_ACCESS_ERR;
	return IBV_WC_WR_FLUSH_ERR;
}

static bool completes(const struct cell *cell, uint32_t i)
{
	if (cell->then == RESET || cell->then == DESTROY)
		return false;
	if (cell->then == NORMAL)
		return opens(cell) && signaled(i);
	return true;
}

static enum ibv_qp_state end_state(const struct cell *cell)
{
	switch (cell->then) {
	case NORMAL:
		return opens(cell) || cell->how == MODIFY || cell->owner == CM_EARLY_RTS
			? IBV_QPS_RTS
			: IBV_QPS_RTR;
	case RESET:
	case DESTROY:
		return IBV_QPS_RESET;
	default:
		return IBV_QPS_ERR;
	}
}

/* EP-9, EP-11: once for the opening; once more if time opened it and the peer then proves to be up.
 */
static uint32_t told(const struct cell *cell)
{
	bool proof = cell->then == NORMAL && cell->held > 0;

	if (cell->owner == OWNER || !opens(cell))
		return 0;
	return (cell->how == GRACE || cell->how == TIMEOUT) && proof ? 2 : 1;
}

/* ---- as it is ---- */

static void set_up(struct rig *rig, const struct cell *cell)
{
	rig_open(rig, 1, NULL);
	if (cell->owner == OWNER)
		rig_to_armed_rtr(rig);
	else
		hold_to_cm_rtr(rig);
	if (cell->owner == CM_EARLY_RTS)
		CU_ASSERT_EQUAL(hold_modify_rts(rig), 0);
	for (uint32_t i = 0; i < cell->held; i++)
		rig_post(rig, IBV_WR_SEND, i + 1, 0, 16, 0, 0)->send.flags =
			signaled(i) ? IBV_SEND_SIGNALED : 0;
	rig_announce(rig);
	rig_run(rig);
	rig->core.now += 7 * MS;
}

static void happen(struct rig *rig, const struct cell *cell)
{
	switch (cell->how) {
	case MODIFY:
		ASSERT_ROW(hold_modify_rts(rig) == (cell->owner == CM_EARLY_RTS ? -EINVAL : 0),
			cell->name);
		break;
	case PACKET:
		hold_first_send(rig);
		break;
	case RTU:
		ASSERT_ROW(rc_hold_rtu(&rig->core, rig->qp), cell->name);
		break;
	case NOTIFY:
		ASSERT_ROW(rc_hold_notify(&rig->core, rig->qp) == 0, cell->name);
		break;
	case GRACE:
		ASSERT_ROW(rc_hold_grace(&rig->core, rig->qp) == opens(cell), cell->name);
		break;
	case TIMEOUT:
		rc_hold_set_timeout(&rig->core, rig->qp, 8, RC_HOLD_OPEN);
		rig->core.now += MS;
		rc_core_run_timers(&rig->core);
		break;
	default:
		break;
	}
}

/* The peer refuses the first request, or, if none was sent, asks for what it may not. */
static void refuse(struct rig *rig, const struct cell *cell)
{
	struct rig_packet packet = {
		.opcode = OPCODE_RC_ACK, .psn = 0x100, .syndrome = NAK_REMOTE_ACCESS_ERROR};

	if (!sent(cell)) {
		packet = hold_request(rig, OPCODE_RC_READ_REQUEST);
		packet.rkey ^= 1;
	}
	rig_receive(rig, &packet);
}

static void end(struct rig *rig, const struct cell *cell)
{
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_ERR};

	switch (cell->then) {
	case NORMAL:
		rig_run(rig);
		if (sent(cell))
			hold_ack(rig, 0x100 + sent(cell) - 1);
		break;
	case ERROR:
		CU_ASSERT_EQUAL(rig_modify(rig, &attr, IBV_QP_STATE), 0);
		break;
	case RESET:
		hold_reset(rig);
		break;
	case DESTROY:
		hold_destroy(rig);
		break;
	default:
		refuse(rig, cell);
		break;
	}
	rig_run(rig);
}

/* Everything that could still move a QP; where it ended, nothing does. */
static void stir(struct rig *rig, const struct cell *cell)
{
	struct rc_hold_counters before = rig->core.hold_counters;
	uint32_t records = rig->record_count;

	if (cell->then == NORMAL)
		return;
	hold_first_send(rig);
	rc_hold_rtu(&rig->core, rig->qp);
	rc_hold_notify(&rig->core, rig->qp);
	rc_hold_grace(&rig->core, rig->qp);
	rig_time(rig, rig->core.now + 100 * SECOND);
	/* in ERR the receive that was posted for the packet is flushed at most */
	for (uint32_t i = records; i < rig->record_count; i++)
		ASSERT_ROW(rig->records[i].what == RIG_RECV_DONE, cell->name);
	before.late_rtu = rig->core.hold_counters.late_rtu;
	ASSERT_ROW(memcmp(&before, &rig->core.hold_counters, sizeof(before)) == 0, cell->name);
}

/* ---- compared ---- */

static void compare_completions(const struct rig *rig, const struct cell *cell)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < cell->held; i++) {
		const struct rig_record *record;

		if (!completes(cell, i))
			continue;
		record = rig_record(rig, RIG_SEND_DONE, n++);
		ASSERT_ROW(record && record->completion.wr_id == i + 1, cell->name);
		ASSERT_ROW(record && record->completion.status == status_of(cell, i), cell->name);
	}
	ASSERT_ROW(rig_count(rig, RIG_SEND_DONE) == n, cell->name);
}

static void compare_counters(const struct rig *rig, const struct cell *cell)
{
	const struct rc_hold_counters *counters = &rig->core.hold_counters;
	bool vanish = cell->then == RESET || cell->then == DESTROY;
	bool open = opens(cell);
	uint64_t samples = 0;

	ASSERT_ROW(counters->held == cell->held, cell->name);
	ASSERT_ROW(counters->released == (open ? cell->held : 0), cell->name);
	ASSERT_ROW(counters->vanished_held == (!open && vanish ? cell->held : 0), cell->name);
	ASSERT_ROW(counters->flushed_held ==
			(!open && !vanish && cell->then != NORMAL ? cell->held : 0),
		cell->name);
	ASSERT_ROW(hold_promotions(counters) == open, cell->name);
	ASSERT_ROW(counters->hold_timeout == (cell->how == TIMEOUT && open), cell->name);
	ASSERT_ROW(counters->comm_est == (cell->how == PACKET && cell->owner == OWNER), cell->name);
	for (unsigned int i = 0; i < RC_HOLD_BUCKETS; i++)
		samples += rig->core.hold_histogram[i];
	ASSERT_ROW(samples == (open && cell->held), cell->name);
	/* held for 7 or 8 ms: 5 to 20 */
	ASSERT_ROW(rig->core.hold_histogram[7] == samples, cell->name);
}

static void compare(struct rig *rig, const struct cell *cell)
{
	uint32_t held_now = cell->then == NORMAL && !opens(cell) ? cell->held : 0;
	bool asked = cell->owner == OWNER && cell->how == PACKET;

	ASSERT_ROW(rc_qp_shown_state(rig->qp) == end_state(cell), cell->name);
	ASSERT_ROW(hold_held_now(rig) == held_now, cell->name);
	ASSERT_ROW(hold_closed(rig) == (cell->then == NORMAL && !opens(cell)), cell->name);
	if (cell->then == NORMAL)
		ASSERT_ROW(hold_cause(rig) == (opens(cell) ? (int)cause_of(cell->how) : -1),
			cell->name);
	ASSERT_ROW(hold_requests_sent(rig) == sent(cell), cell->name);
	hold_assert_psns(rig, 0x100, sent(cell));
	ASSERT_ROW(rig_count(rig, RIG_OPENED) == told(cell), cell->name);
	for (uint32_t i = 0, comm_est = 0; i <= rig_count(rig, RIG_EVENT); i++) {
		const struct rig_record *record = rig_record(rig, RIG_EVENT, i);

		comm_est += record && record->value == IBV_EVENT_COMM_EST;
		ASSERT_ROW(record || comm_est == asked, cell->name);
	}
	if (cell->how == PACKET)
		ASSERT_ROW(rig_order(rig, cell->owner == OWNER ? RIG_EVENT : RIG_OPENED, 0) <
				rig_order(rig, RIG_RECV_DONE, 0),
			cell->name);
	compare_completions(rig, cell);
	compare_counters(rig, cell);
	hold_assert_sum(rig);
}

static void run(const struct cell *cell)
{
	struct rig rig;

	set_up(&rig, cell);
	ASSERT_ROW(rig.sent_count == 0 && rig.sends_taken == 0, cell->name);
	happen(&rig, cell);
	if (cell->turn)
		rig_run(&rig);
	end(&rig, cell);
	compare(&rig, cell);
	stir(&rig, cell);
	rig_close(&rig);
}

static void run_owner(enum owner owner)
{
	struct cell cell = {.owner = owner};
	unsigned int cells = 0;

	log_set_level(LOG_ERROR); /* QPs that hold for long are what this is about */
	for (cell.how = NOTHING; cell.how < HOWS; cell.how++)
		for (unsigned int h = 0; h < COUNT(helds); h++)
			for (cell.then = NORMAL; cell.then < THENS; cell.then++)
				for (int turn = 0; turn < 2; turn++, cells++) {
					cell.held = helds[h];
					cell.turn = turn;
					snprintf(cell.name, sizeof(cell.name), "%s, %s, %u, %s, %s",
						owner_names[owner], how_names[cell.how], cell.held,
						then_names[cell.then], turn ? "after" : "before");
					run(&cell);
				}
	CU_ASSERT_EQUAL(cells, 7 * 3 * 5 * 2);
}

static void every_cell_where_the_owner_drives(void)
{
	run_owner(OWNER);
}

static void every_cell_where_the_cm_does(void)
{
	run_owner(CM);
}

static void every_cell_where_the_cm_does_and_the_owner_was_early(void)
{
	run_owner(CM_EARLY_RTS);
}

static const struct unit_case cases[] = {
	UNIT_CASE(every_cell_where_the_owner_drives),
	UNIT_CASE(every_cell_where_the_cm_does),
	UNIT_CASE(every_cell_where_the_cm_does_and_the_owner_was_early),
};

UNIT_MAIN("hold-matrix", cases)
