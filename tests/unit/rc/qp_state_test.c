/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Every transition of a QP beside every attribute, against what was typed here by hand from man
 * ibv_modify_qp and from Linux's qp_state_table and ib_modify_qp_is_ok()
 * (drivers/infiniband/core/verbs.c), attribute by attribute, where the code under test has it
 * transition by transition. And contract rule EP-4, the one exception.
 */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "qp_state.h"
#include "unit.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define STATES 7

static const enum ibv_qp_type types[] = {IBV_QPT_RC, IBV_QPT_UC, IBV_QPT_UD};
static const char *const type_names[] = {"RC", "UC", "UD"};
#define RC 0
#define UC 1
#define UD 2

/* Linux's .valid: from the row's state to the column's, the same for all types. */
static const char *const exists[STATES] = {
	/*          RESET  INIT  RTR  RTS  SQD  SQE  ERR */
	/* RESET */ "y      y     -    -    -    -    -",
	/* INIT  */ "y      y     y    -    -    -    y",
	/* RTR   */ "y      -     -    y    -    -    y",
	/* RTS   */ "y      -     -    y    y    -    y",
	/* SQD   */ "y      -     -    y    y    -    y",
	/* SQE   */ "y      -     -    y    -    -    y",
	/* ERR   */ "y      -     -    -    -    -    y",
};

/* The transitions that have attributes, and per attribute and type: R required, o optional. */
static const struct {
	enum ibv_qp_state from, to;
} columns[] = {
	{IBV_QPS_RESET, IBV_QPS_INIT},
	{IBV_QPS_INIT, IBV_QPS_INIT},
	{IBV_QPS_INIT, IBV_QPS_RTR},
	{IBV_QPS_RTR, IBV_QPS_RTS},
	{IBV_QPS_RTS, IBV_QPS_RTS},
	{IBV_QPS_RTS, IBV_QPS_SQD},
	{IBV_QPS_SQD, IBV_QPS_RTS},
	{IBV_QPS_SQD, IBV_QPS_SQD},
	{IBV_QPS_SQE, IBV_QPS_RTS},
};

/* clang-format off */
static const struct {
	uint32_t bit;
	const char *by_type[3];
} attributes[] = {
	/*     from  RESET INIT INIT RTR RTS RTS SQD SQD SQE */
	/*       to  INIT  INIT RTR  RTS RTS SQD RTS SQD RTS */
	{IBV_QP_CUR_STATE, {
		/* RC */ "-    -    -    o   o   -   o   -   -",
		/* UC */ "-    -    -    o   o   -   o   -   o",
		/* UD */ "-    -    -    o   o   -   o   -   o"}},
	{IBV_QP_EN_SQD_ASYNC_NOTIFY, {
		/* RC */ "-    -    -    -   -   o   -   -   -",
		/* UC */ "-    -    -    -   -   o   -   -   -",
		/* UD */ "-    -    -    -   -   o   -   -   -"}},
	{IBV_QP_ACCESS_FLAGS, {
		/* RC */ "R    o    o    o   o   -   o   o   -",
		/* UC */ "R    o    o    o   o   -   o   o   o",
		/* UD */ "-    -    -    -   -   -   -   -   -"}},
	{IBV_QP_PKEY_INDEX, {
		/* RC */ "R    o    o    -   -   -   -   o   -",
		/* UC */ "R    o    o    -   -   -   -   o   -",
		/* UD */ "R    o    o    -   -   -   -   o   -"}},
	{IBV_QP_PORT, {
		/* RC */ "R    o    -    -   -   -   -   o   -",
		/* UC */ "R    o    -    -   -   -   -   -   -",
		/* UD */ "R    o    -    -   -   -   -   -   -"}},
	{IBV_QP_QKEY, {
		/* RC */ "-    -    -    -   -   -   -   -   -",
		/* UC */ "-    -    -    -   -   -   -   -   -",
		/* UD */ "R    o    o    o   o   -   o   o   o"}},
	{IBV_QP_AV, {
		/* RC */ "-    -    R    -   -   -   -   o   -",
		/* UC */ "-    -    R    -   -   -   -   o   -",
		/* UD */ "-    -    -    -   -   -   -   -   -"}},
	{IBV_QP_PATH_MTU, {
		/* RC */ "-    -    R    -   -   -   -   -   -",
		/* UC */ "-    -    R    -   -   -   -   -   -",
		/* UD */ "-    -    -    -   -   -   -   -   -"}},
	{IBV_QP_TIMEOUT, {
		/* RC */ "-    -    -    R   -   -   -   o   -",
		/* UC */ "-    -    -    -   -   -   -   -   -",
		/* UD */ "-    -    -    -   -   -   -   -   -"}},
	{IBV_QP_RETRY_CNT, {
		/* RC */ "-    -    -    R   -   -   -   o   -",
		/* UC */ "-    -    -    -   -   -   -   -   -",
		/* UD */ "-    -    -    -   -   -   -   -   -"}},
	{IBV_QP_RNR_RETRY, {
		/* RC */ "-    -    -    R   -   -   -   o   -",
		/* UC */ "-    -    -    -   -   -   -   -   -",
		/* UD */ "-    -    -    -   -   -   -   -   -"}},
	{IBV_QP_RQ_PSN, {
		/* RC */ "-    -    R    -   -   -   -   -   -",
		/* UC */ "-    -    R    -   -   -   -   -   -",
		/* UD */ "-    -    -    -   -   -   -   -   -"}},
	{IBV_QP_MAX_QP_RD_ATOMIC, {
		/* RC */ "-    -    -    R   -   -   -   o   -",
		/* UC */ "-    -    -    -   -   -   -   -   -",
		/* UD */ "-    -    -    -   -   -   -   -   -"}},
	{IBV_QP_ALT_PATH, {
		/* RC */ "-    -    o    o   o   -   o   o   -",
		/* UC */ "-    -    o    o   o   -   o   o   -",
		/* UD */ "-    -    -    -   -   -   -   -   -"}},
	{IBV_QP_MIN_RNR_TIMER, {
		/* RC */ "-    -    R    o   o   -   o   o   -",
		/* UC */ "-    -    -    -   -   -   -   -   -",
		/* UD */ "-    -    -    -   -   -   -   -   -"}},
	{IBV_QP_SQ_PSN, {
		/* RC */ "-    -    -    R   -   -   -   -   -",
		/* UC */ "-    -    -    R   -   -   -   -   -",
		/* UD */ "-    -    -    R   -   -   -   -   -"}},
	{IBV_QP_MAX_DEST_RD_ATOMIC, {
		/* RC */ "-    -    R    -   -   -   -   o   -",
		/* UC */ "-    -    -    -   -   -   -   -   -",
		/* UD */ "-    -    -    -   -   -   -   -   -"}},
	{IBV_QP_PATH_MIG_STATE, {
		/* RC */ "-    -    -    o   o   -   o   o   -",
		/* UC */ "-    -    -    o   o   -   o   o   -",
		/* UD */ "-    -    -    -   -   -   -   -   -"}},
	{IBV_QP_CAP, {
		/* RC */ "-    -    -    -   -   -   -   -   -",
		/* UC */ "-    -    -    -   -   -   -   -   -",
		/* UD */ "-    -    -    -   -   -   -   -   -"}},
	{IBV_QP_DEST_QPN, {
		/* RC */ "-    -    R    -   -   -   -   -   -",
		/* UC */ "-    -    R    -   -   -   -   -   -",
		/* UD */ "-    -    -    -   -   -   -   -   -"}},
	{IBV_QP_RATE_LIMIT, {
		/* RC */ "-    -    -    -   -   -   -   -   -",
		/* UC */ "-    -    -    -   -   -   -   -   -",
		/* UD */ "-    -    -    -   -   -   -   -   -"}},
};
/* clang-format on */

/* One cell of the tables above. */
struct move {
	unsigned int type; /* into types[] */
	enum ibv_qp_state from;
	enum ibv_qp_state to;
	bool exists;
	uint32_t required; /* with IBV_QP_STATE, which the man page requires of every move */
	uint32_t optional;
};

/* The n-th mark of a row, blanks left out. */
static char mark(const char *row, unsigned int n)
{
	for (;; row++) {
		if (*row == ' ')
			continue;
		if (*row == '\0' || n-- == 0)
			return *row;
	}
}

static struct move move_of(unsigned int type, unsigned int from, unsigned int to)
{
	struct move move = {
		.type = type,
		.from = (enum ibv_qp_state)from,
		.to = (enum ibv_qp_state)to,
		.exists = mark(exists[from], to) == 'y',
	};

	*(from == to ? &move.optional : &move.required) = IBV_QP_STATE;
	for (unsigned int column = 0; column < COUNT(columns); column++) {
		if (columns[column].from != move.from || columns[column].to != move.to)
			continue;
		for (unsigned int i = 0; i < COUNT(attributes); i++) {
			char is = mark(attributes[i].by_type[type], column);

			move.required |= is == 'R' ? attributes[i].bit : 0;
			move.optional |= is == 'o' ? attributes[i].bit : 0;
		}
	}
	return move;
}

static void each_move(void (*check)(const struct move *move, bool arms))
{
	for (unsigned int type = 0; type < COUNT(types); type++) {
		for (unsigned int from = 0; from < STATES; from++) {
			for (unsigned int to = 0; to < STATES; to++) {
				struct move move = move_of(type, from, to);

				check(&move, false);
				check(&move, true);
			}
		}
	}
}

static void expect(const struct move *move, uint32_t mask, bool arms, int want)
{
	int got = qp_state_check(move->from, move->to, types[move->type], (int)mask, arms);

	if (got != want)
		fprintf(stderr, "%s state %d to %d, mask %#x, arms %d: %d, not %d\n",
			type_names[move->type], move->from, move->to, mask, arms, got, want);
	CU_ASSERT_EQUAL(got, want);
}

static bool is_to_rtr(const struct move *move)
{
	return move->from == IBV_QPS_INIT && move->to == IBV_QPS_RTR;
}

/* The tables say what they are meant to say: all marks there, none misspelt. */
static void tables(void)
{
	unsigned int marks[128] = {0};

	for (unsigned int from = 0; from < STATES; from++) {
		for (unsigned int to = 0; to < STATES; to++)
			marks[(unsigned char)mark(exists[from], to)]++;
		CU_ASSERT_EQUAL(mark(exists[from], STATES), '\0');
	}
	CU_ASSERT_EQUAL(marks['y'], 7 + 6 + 9);
	CU_ASSERT_EQUAL(marks['-'], 49 - 22);
	for (unsigned int i = 0; i < COUNT(attributes); i++) {
		for (unsigned int type = 0; type < COUNT(types); type++) {
			const char *row = attributes[i].by_type[type];

			CU_ASSERT_EQUAL(strspn(row, "Ro- "), strlen(row));
			CU_ASSERT_NOT_EQUAL(mark(row, COUNT(columns) - 1), '\0');
			CU_ASSERT_EQUAL(mark(row, COUNT(columns)), '\0');
		}
	}
}

static void check_minimum(const struct move *move, bool arms)
{
	expect(move, move->required, arms, move->exists ? 0 : -EINVAL);
	expect(move, move->required | IBV_QP_STATE, arms, move->exists ? 0 : -EINVAL);
}

static void required_attributes_suffice(void)
{
	each_move(check_minimum);
}

/* A transition that does not exist is refused whatever the mask. */
static void check_missing(const struct move *move, bool arms)
{
	if (move->exists)
		return;
	expect(move, 0, arms, -EINVAL);
	expect(move, UINT32_MAX, arms, -EINVAL);
	expect(move, 0x13bf81, arms, -EINVAL);
	for (unsigned int bit = 0; bit < 32; bit++) {
		expect(move, UINT32_C(1) << bit, arms, -EINVAL);
		expect(move, UINT32_C(1) << bit | IBV_QP_STATE, arms, -EINVAL);
	}
}

static void others_do_not_exist(void)
{
	each_move(check_missing);
}

/* Every proper subset of the required ones is refused, with and without the optional ones. */
static void check_required(const struct move *move, bool arms)
{
	uint32_t subset = move->required;

	if (!move->exists || move->required == 0)
		return;
	do {
		subset = (subset - 1) & move->required;
		expect(move, subset, arms, -EINVAL);
		expect(move, subset | move->optional, arms, -EINVAL);
	} while (subset != 0);
}

static void each_required_attribute_is_needed(void)
{
	each_move(check_required);
}

/* Every subset of the optional ones is taken. */
static void check_optional(const struct move *move, bool arms)
{
	uint32_t subset = move->optional;

	if (!move->exists)
		return;
	for (;; subset = (subset - 1) & move->optional) {
		expect(move, move->required | subset, arms, 0);
		if (subset == 0)
			break;
	}
}

static void optional_attributes_are_taken(void)
{
	each_move(check_optional);
}

/* Each of the 32 bits that is neither, added alone, is refused. EP-4 lets one of them in. */
static void check_neither(const struct move *move, bool arms)
{
	uint32_t neither = ~(move->required | move->optional);

	if (!move->exists)
		return;
	if (arms && is_to_rtr(move) && move->type == UC)
		neither &= ~(uint32_t)IBV_QP_SQ_PSN;
	for (unsigned int bit = 0; bit < 32; bit++) {
		uint32_t added = UINT32_C(1) << bit & neither;

		if (added) {
			expect(move, move->required | added, arms, -EINVAL);
			expect(move, move->required | move->optional | added, arms, -EINVAL);
		}
	}
}

static void all_other_attributes_are_refused(void)
{
	each_move(check_neither);
}

/* The man page's own tables, as it prints them. */
static void man_page(void)
{
	static const struct {
		unsigned int type;
		enum ibv_qp_state from, to;
		uint32_t required;
	} rows[] = {
		{UD, IBV_QPS_RESET, IBV_QPS_INIT,
			IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY},
		{UD, IBV_QPS_INIT, IBV_QPS_RTR, IBV_QP_STATE},
		{UD, IBV_QPS_RTR, IBV_QPS_RTS, IBV_QP_STATE | IBV_QP_SQ_PSN},
		{UC, IBV_QPS_RESET, IBV_QPS_INIT,
			IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS},
		{UC, IBV_QPS_INIT, IBV_QPS_RTR,
			IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
				IBV_QP_RQ_PSN},
		{UC, IBV_QPS_RTR, IBV_QPS_RTS, IBV_QP_STATE | IBV_QP_SQ_PSN},
		{RC, IBV_QPS_RESET, IBV_QPS_INIT,
			IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS},
		{RC, IBV_QPS_INIT, IBV_QPS_RTR,
			IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
				IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER},
		{RC, IBV_QPS_RTR, IBV_QPS_RTS,
			IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC | IBV_QP_RETRY_CNT |
				IBV_QP_RNR_RETRY | IBV_QP_TIMEOUT},
	};

	for (unsigned int i = 0; i < COUNT(rows); i++) {
		struct move move = {.type = rows[i].type, .from = rows[i].from, .to = rows[i].to};

		expect(&move, rows[i].required, false, 0);
		for (unsigned int bit = 0; bit < 32; bit++) {
			if (rows[i].required & UINT32_C(1) << bit)
				expect(&move, rows[i].required & ~(UINT32_C(1) << bit), false,
					-EINVAL);
		}
	}
}

/* Masks as numbers, the first three those of ibv_rc_pingpong. */
static void masks_of_programs(void)
{
	static const struct {
		enum ibv_qp_state from, to;
		int mask, want;
	} rows[] = {
		{IBV_QPS_RESET, IBV_QPS_INIT, 0x39, 0},
		{IBV_QPS_INIT, IBV_QPS_RTR, 0x129181, 0},
		{IBV_QPS_RTR, IBV_QPS_RTS, 0x12e01, 0},
		{IBV_QPS_RESET, IBV_QPS_RTR, 0x129181, -EINVAL},
		{IBV_QPS_INIT, IBV_QPS_RTS, 0x12e01, -EINVAL},
		{IBV_QPS_RTS, IBV_QPS_RTS, 0x12e01, -EINVAL},
		{IBV_QPS_RTS, IBV_QPS_ERR, 0x1, 0},
		{IBV_QPS_RTS, IBV_QPS_ERR, 0x3, -EINVAL},
		{IBV_QPS_ERR, IBV_QPS_RESET, 0x1, 0},
		{IBV_QPS_RTR, IBV_QPS_RTS, 0x12e03, 0},
		{IBV_QPS_RTS, IBV_QPS_RTS, 0x8000, 0},
		{IBV_QPS_RTR, IBV_QPS_RTR, 0x8000, -EINVAL},
		{IBV_QPS_RTS, IBV_QPS_SQD, 0x5, 0},
		{IBV_QPS_SQD, IBV_QPS_RTS, 0x3, 0},
		{IBV_QPS_RESET, IBV_QPS_ERR, 0x1, -EINVAL},
		{IBV_QPS_INIT, IBV_QPS_INIT, 0, 0},
	};

	for (unsigned int i = 0; i < COUNT(rows); i++) {
		struct move move = {.type = RC, .from = rows[i].from, .to = rows[i].to};

		expect(&move, (uint32_t)rows[i].mask, false, rows[i].want);
	}
}

/* EP-4: the five, every subset of them, on the move to RTR. */
static const uint32_t rts_attributes[] = {
	IBV_QP_SQ_PSN, IBV_QP_TIMEOUT, IBV_QP_RETRY_CNT, IBV_QP_RNR_RETRY, IBV_QP_MAX_QP_RD_ATOMIC};

static uint32_t rts_subset(unsigned int choice)
{
	uint32_t mask = 0;

	for (unsigned int i = 0; i < COUNT(rts_attributes); i++)
		mask |= choice & 1u << i ? rts_attributes[i] : 0;
	return mask;
}

static void ep4_subsets(void)
{
	for (unsigned int type = 0; type < COUNT(types); type++) {
		struct move move = move_of(type, IBV_QPS_INIT, IBV_QPS_RTR);

		for (unsigned int choice = 0; choice < 32; choice++) {
			bool all_of_rc = type == RC && choice == 31;
			bool sq_psn_of_uc = type == UC && choice == 1;
			int armed = choice == 0 || all_of_rc || sq_psn_of_uc ? 0 : -EINVAL;
			int plain = choice == 0 ? 0 : -EINVAL;
			uint32_t mask = move.required | rts_subset(choice);

			expect(&move, mask, true, armed);
			expect(&move, mask | move.optional, true, armed);
			expect(&move, mask, false, plain);
			expect(&move, mask | move.optional, false, plain);
		}
	}
}

/* EP-4: with the arming attributes the rest of the move's table stays as it is. */
static void ep4_ordinary_rules_stay(void)
{
	for (unsigned int type = RC; type <= UC; type++) {
		struct move move = move_of(type, IBV_QPS_INIT, IBV_QPS_RTR);
		uint32_t arming = type == RC ? rts_subset(31) : IBV_QP_SQ_PSN;

		for (unsigned int bit = 0; bit < 32; bit++) {
			uint32_t one = UINT32_C(1) << bit;
			bool free = one & (move.required | move.optional | arming);

			if (one & move.required)
				expect(&move, (move.required & ~one) | arming, true, -EINVAL);
			else
				expect(&move, move.required | arming | one, true,
					free ? 0 : -EINVAL);
		}
	}
}

/* EP-4: no other move takes them for being armed; the move to RTS still requires them. */
static void ep4_no_other_transition(void)
{
	for (unsigned int type = 0; type < COUNT(types); type++) {
		for (unsigned int from = 0; from < STATES; from++) {
			for (unsigned int to = 0; to < STATES; to++) {
				struct move move = move_of(type, from, to);
				uint32_t mask = move.required | rts_subset(31);
				bool taken = move.exists && type == RC &&
					(is_to_rtr(&move) ||
						(from == IBV_QPS_RTR && to == IBV_QPS_RTS));

				expect(&move, mask, true, taken ? 0 : -EINVAL);
			}
		}
	}
}

/* EP-4 in numbers: ibv_rc_pingpong's mask of the move to RTR with that of the move to RTS. */
static void ep4_mask_as_number(void)
{
	struct move move = {.type = RC, .from = IBV_QPS_INIT, .to = IBV_QPS_RTR};

	expect(&move, 0x13bf81, true, 0);
	expect(&move, 0x13bf81, false, -EINVAL);
	expect(&move, 0x129181, true, 0);
	expect(&move, 0x12bf81, true, -EINVAL); /* IBV_QP_SQ_PSN is missing */
	CU_ASSERT_EQUAL(QP_STATE_RTS_ATTRS, 0x12e00);
}

/* States and types that no table has. */
static void unknown_values(void)
{
	static const int states[] = {IBV_QPS_UNKNOWN, -1, 8, 255};
	static const int other_types[] = {0, 1, IBV_QPT_RAW_PACKET, IBV_QPT_XRC_SEND,
		IBV_QPT_XRC_RECV, IBV_QPT_DRIVER, 5, -1};

	for (unsigned int i = 0; i < COUNT(states); i++) {
		enum ibv_qp_state odd = (enum ibv_qp_state)states[i];

		for (unsigned int known = 0; known < STATES; known++) {
			struct move from = {.from = odd, .to = (enum ibv_qp_state)known};
			struct move to = {.from = (enum ibv_qp_state)known, .to = odd};

			expect(&from, IBV_QP_STATE, false, -EINVAL);
			expect(&to, IBV_QP_STATE, false, -EINVAL);
		}
		expect(&(struct move){.from = odd, .to = odd}, IBV_QP_STATE, false, -EINVAL);
	}
	for (unsigned int i = 0; i < COUNT(other_types); i++) {
		enum ibv_qp_type type = (enum ibv_qp_type)other_types[i];

		CU_ASSERT_EQUAL(
			qp_state_check(IBV_QPS_RESET, IBV_QPS_RESET, type, IBV_QP_STATE, false),
			-EINVAL);
		CU_ASSERT_EQUAL(qp_state_check(IBV_QPS_RTS, IBV_QPS_ERR, type, IBV_QP_STATE, true),
			-EINVAL);
	}
}

static void names(void)
{
	static const char *const want[STATES] = {
		"RESET", "INIT", "RTR", "RTS", "SQD", "SQE", "ERR"};

	for (unsigned int i = 0; i < STATES; i++)
		CU_ASSERT_STRING_EQUAL(qp_state_name((enum ibv_qp_state)i), want[i]);
	CU_ASSERT_STRING_EQUAL(qp_state_name(IBV_QPS_UNKNOWN), "unknown");
	CU_ASSERT_STRING_EQUAL(qp_state_name((enum ibv_qp_state) - 1), "unknown");
}

static const struct unit_case cases[] = {
	UNIT_CASE(tables),
	UNIT_CASE(required_attributes_suffice),
	UNIT_CASE(others_do_not_exist),
	UNIT_CASE(each_required_attribute_is_needed),
	UNIT_CASE(optional_attributes_are_taken),
	UNIT_CASE(all_other_attributes_are_refused),
	UNIT_CASE(man_page),
	UNIT_CASE(masks_of_programs),
	UNIT_CASE(ep4_subsets),
	UNIT_CASE(ep4_ordinary_rules_stay),
	UNIT_CASE(ep4_no_other_transition),
	UNIT_CASE(ep4_mask_as_number),
	UNIT_CASE(unknown_values),
	UNIT_CASE(names),
};

UNIT_MAIN("rc-qp_state", cases)
