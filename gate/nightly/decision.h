/* How a night makes one decision of what the runs of a comparison say, what fresh runs and the control beside them say, and what the other
 * comparisons of the night say: a table, looked through from its top (docs/statistics.md shows it). What runs say by themselves
 * (performance, processor time, waiting, builds, failures) is the verdict's (gate/decide/rules.h). */
#ifndef GATE_NIGHTLY_DECISION_H
#define GATE_NIGHTLY_DECISION_H

#include "base/rows.h"
#include "gate/decide/effect.h"

#include <stdbool.h>

/* None: not asked for; due: asked for, and not made; disturbed: they are as slow, by what others took from them. */
enum decision_fresh { FRESH_NONE, FRESH_DUE, FRESH_SEEN, FRESH_NOT_SEEN, FRESH_DISTURBED };

struct decision_input {
	enum decision verdict;	   /* of the runs that count */
	bool left_out;		   /* too many of them were disturbed and are left out */
	enum decision_fresh fresh; /* was a regression seen again in fresh runs, on enough machines? */
	bool control_moved;	   /* the baseline beside itself moved in the same direction */
	bool chance;		   /* among as many comparisons as the night has, one such finding may be chance */
	bool alike;		   /* nearly all findings of the night lean one way, or rest on one machine */
	bool crashes;		   /* every run of the candidate crashed or hung, and none of the baseline's failed */
};

/* Constant, code of its reason, decision, when it applies; what it says. */
/* clang-format off */
#define DECISION_RULE_ROWS(X)                                                                                                              \
	X(RULE_CRASHES, "every_run_crashes", DECISION_REGRESSION, slower && in->crashes,                                                   \
	  "every run of the candidate crashed, or was ended by its time limit after twice as long as any of the baseline had taken, and none " \
	  "of the baseline failed: that is no matter of the machines and needs no confirmation")                                           \
	X(RULE_LEFT_OUT, "too_many_left_out", DECISION_ENVIRONMENT, in->verdict == DECISION_INCONCLUSIVE && in->left_out,                  \
	  "too many runs were disturbed by what else the machines did: measure again when they are quiet")                                 \
	X(RULE_CONTROL, "control_moved", DECISION_ENVIRONMENT, slower && in->control_moved,                                                \
	  "the baseline, run once more beside itself, became slower as well: the machines moved, not the code")                            \
	X(RULE_ALIKE, "findings_alike", DECISION_ENVIRONMENT, slower && in->alike,                                                         \
	  "nearly everything that was measured this night leans the same way, or rests on the same machine: the night suspects itself")    \
	X(RULE_FRESH_DISTURBED, "fresh_disturbed", DECISION_ENVIRONMENT, slower && in->fresh == FRESH_DISTURBED,                           \
	  "a regression was found, and fresh runs cannot confirm it, for it was their environment that slowed them")                       \
	X(RULE_NOT_SEEN, "not_seen_again", DECISION_INCONCLUSIVE, slower && in->fresh == FRESH_NOT_SEEN,                                   \
	  "a regression was found, and fresh runs did not show it again on enough machines")                                               \
	X(RULE_NOT_CONFIRMED, "not_confirmed", DECISION_INCONCLUSIVE, slower && in->fresh == FRESH_DUE,                                    \
	  "a regression was found, and there was no time left to confirm it by fresh runs")                                                \
	X(RULE_CHANCE, "may_be_chance", DECISION_INCONCLUSIVE, slower && in->fresh == FRESH_NONE && in->chance,                            \
	  "among as many comparisons as this night has, a finding as weak as this one may be chance (false discovery rate 5 %)")
/* clang-format on */

enum decision_rule { DECISION_RULE_ROWS(ROWS_ENUM) DECISION_RULES };

/* The first rule that applies; DECISION_RULES when none does: then the verdict stands. */
enum decision_rule decision_rule_of(const struct decision_input *input);

const char *decision_rule_code(enum decision_rule rule);
const char *decision_rule_text(enum decision_rule rule);
enum decision decision_rule_decision(enum decision_rule rule);

#endif
