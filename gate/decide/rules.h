/* The table of rules that turns the metric's interval, the CPU time, the run-queue delay and the state of the hosts into one decision. The
 * first rule that applies decides (docs/design/decisions.md). If the metric is not the wall-clock time, rules use only its interval. */
#ifndef GATE_DECIDE_RULES_H
#define GATE_DECIDE_RULES_H

#include "gate/decide/effect.h"
#include "gate/decide/pairing.h"

#include <stddef.h>

/* Input of the rules. RULE_UNKNOWN replaces a decision that is not known. */
#define RULE_UNKNOWN DECISIONS
struct rule_input {
	enum decision performance; /* decision by the interval of the metric */
	unsigned processor;	   /* decision by CPU time, weighted by its share of the wall-clock time; enum decision or RULE_UNKNOWN */
	unsigned own;		   /* decision by wall-clock time without run-queue delay; enum decision or RULE_UNKNOWN */
	bool same_build;	   /* both versions are the same files, run by the same command, so no function can have changed */
	bool disturbed;		   /* even runs of the baseline were delayed on these machines, by varying amounts */
	enum pairing_turns alternation; /* whether the versions took turns */
	bool has_two_groups;		/* the results form two groups, whose sizes differ between the versions */
};

/* Constant, code of the reason, decision, condition, text after "the verdict is X since". In conditions, R is regression, I improved, P
 * pass, U inconclusive and NONE not known. ANY is the union of R, I, P and U. */
/* clang-format off */
#define RULE_ROWS(X)                                                                                                                       \
	X(RULE_SAME_BUILD, "same_build", DECISION_ENVIRONMENT, performance & (R | I) && in->same_build,                                    \
	  "both versions are the same build, run by the same command: the code is not the cause")                                         \
	X(RULE_TWO_GROUPS, "two_groups", DECISION_INCONCLUSIVE, performance & ANY && in->has_two_groups,                                      \
	  "results form two groups, whose sizes differ between the versions: a ratio would compare one group with the other")                    \
	X(RULE_ORDER_CONFOUNDED, "order_confounded", DECISION_INCONCLUSIVE, performance & ANY && in->alternation == PAIRING_TURNS_NOT_TAKEN,     \
	  "the versions did not take turns, or each ran once and the same one ran first on every machine: a change of the machines in " \
	  "between looks like a change of the version (measure both in turn and more than once, as 'assay run APP --versions A,B' does, " \
	  "or each in five sessions)")                                                     \
	X(RULE_ORDER_UNKNOWN, "order_unknown", DECISION_INCONCLUSIVE, performance & ANY && in->alternation == PAIRING_TURNS_UNKNOWN,            \
	  "it is not known whether the versions took turns: a change of the machines in between may look like a change of the version " \
	  "(import times of the results, or repetition numbers that both versions share, or say --interleaved; or measure each in five "  \
	  "sessions)")                                                                                                                   \
	X(RULE_COMPUTES_MORE, "computes_more", DECISION_REGRESSION, performance & (R | U) && processor & R,                                \
	  "the candidate takes more CPU time, and by enough to matter: the code is the cause")                                            \
	X(RULE_HIDDEN_BY_BUSY, "hidden_by_busy", DECISION_REGRESSION, performance & (P | I) && processor & R && own & (R | U | NONE) && in->disturbed, \
	  "the candidate takes more CPU time, and by enough to matter; the wall-clock time does not show this because machines " \
	  "were busy with other work for most of the time")                                                                                  \
	X(RULE_WAITS_MORE, "waits_more", DECISION_REGRESSION, performance & R && own & R,                                                  \
	  "the candidate itself waits more (input and output, locks, sleep): other work did not delay it")       \
	X(RULE_WAITS_FOR_ITSELF, "waits_for_itself", DECISION_REGRESSION, performance & R && processor & (P | I) && own & (P | I) && !in->disturbed, \
	  "the candidate waits more for CPUs on machines where the baseline did not wait: its own processes or threads delay " \
	  "each other")                                                                                                              \
	X(RULE_SAME_CPU_TIME, "computes_alike", DECISION_PASS, performance & (U | I) && processor & P && own & P && in->disturbed,        \
	  "CPU time, and the wall-clock time without waiting for busy machines, rule out a slowdown that matters; the rest of the "     \
	  "difference is due to machines that were busy with other work")                                                                     \
	X(RULE_LESS_CPU_TIME, "computes_less", DECISION_IMPROVED, performance & U && processor & I && own & I && in->disturbed,          \
	  "CPU time, and the wall-clock time without waiting for busy machines, are better, and by enough to matter")                   \
	X(RULE_MACHINES_BUSY, "machines_busy", DECISION_ENVIRONMENT,                                                                       \
	  performance & (R | I) && !(performance & (processor | own)) && processor & ANY && own & ANY && in->disturbed,                    \
	  "versions differ only in wall-clock time, on machines that were busy with other work")                                               \
	X(RULE_DISTURBED, "disturbed", DECISION_ENVIRONMENT, performance & U && in->disturbed,                                             \
	  "machines were busy with other work, and there is no decision: measure again when they are quiet")
/* clang-format on */

enum rule { RULE_ROWS(ROWS_ENUM) RULES };

/* These macros select columns of this table, and of the table in gate/nightly/judge.h. */
#define RULE_CODE(constant, code, decision, when, text)	    code,
#define RULE_TEXT(constant, code, decision, when, text)	    text,
#define RULE_DECISION(constant, code, decision, when, text) decision,
#define RULE_WHEN(constant, code, decision, when, text)                                                                                    \
	if (when)                                                                                                                          \
		return constant;

const char *rule_code(enum rule rule);
const char *rule_text(enum rule rule);

#endif
