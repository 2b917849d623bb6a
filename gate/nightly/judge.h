/* From the evidence of a comparison to its decision. The request says what the decision rests on, and is kept with it: the same request
 * over the same raw results gives the same document, byte by byte. */
#ifndef GATE_NIGHTLY_JUDGE_H
#define GATE_NIGHTLY_JUDGE_H

#include "fleet/lab/lab.h"
#include "base/rows.h"
#include "base/digest.h"
#include "gate/comparison/comparison.h"
#include "gate/decide/reasons.h"
#include "gate/conditions/disturbed.h"
#include "runs/running/evidence.h"

/* Goes up with every change by which the same results may be decided otherwise, or told in other words, in base, runs or gate, so that a
 * decision that was made before is not said to have been tampered with. */
#define JUDGE_RULES 1

/* Nothing of it is looked up again when a decision is recomputed. */
struct judge_request {
	int64_t rules; /* JUDGE_RULES of the assay that made it; 0: it is not stored */
	char *application, *baseline, *candidate;
	char plan[DIGEST_ID_BYTES];	  /* "": nothing was run, and `why` says it */
	char fresh_plan[DIGEST_ID_BYTES]; /* of the runs that confirm a finding, with the baseline once more; "": none */
	double min_effect, min_gain;	  /* min_gain 0: the same */
	bool confirm;			  /* a finding needs fresh runs */
	bool control;			  /* the baseline was run beside itself in the plan, too */
	int64_t machines;		  /* on so many of which it must be seen, or on all */
	bool chance, alike;		  /* what the other comparisons of the night say (struct decision_input) */
	char *why;			  /* "", or why there is nothing to look at */
	char *accepted; /* of a baseline that people accepted, when and why (baselines_text()); "": it is none. NULL is "" */
	const struct calibration_quote *calibration; /* to quote; NULL: the laboratory's now */
};
void judge_request_release(struct judge_request *request); /* accepts zeroed */

/* The results of two versions from one plan, without those of disturbed runs, compared. */
struct judge_compared {
	struct run_set sides[2];
	struct disturbed disturbed;
	struct comparison comparison;
};

struct judge_asked {
	const struct judge_request *request;
	const char *plan;
	const char *candidate;	   /* NULL: the request's */
	const char *architecture;  /* only machines of it; NULL: of all */
	enum comparison_part last; /* the parts after it are not computed */
};

/* Compares the request's baseline with a candidate. judge_compared_release() *out, whatever is returned. */
enum assay_status judge_compare(struct lab *lab, const struct evidence *evidence, const struct judge_asked *asked,
				struct judge_compared *out, struct assay_error *err);
void judge_compared_release(struct judge_compared *compared); /* accepts zeroed */

/* ---- the rules of a night ---- */

/* How a night makes one decision of what the runs of a comparison say, what fresh runs and the control beside them say, and what the other
 * comparisons of the night say: a table, looked through from its top (docs/statistics.md shows it). What runs say by themselves
 * (performance, CPU time, waiting, builds, failures) is the verdict's (gate/decide/rules.h). */

/* Constant, code. None: not asked for; due: asked for, and not made; disturbed: they differ as much, by what others took from them. */
#define DECISION_FRESH_ROWS(X)                                                                                                             \
	X(FRESH_NONE, "none")                                                                                                              \
	X(FRESH_DUE, "due")                                                                                                                \
	X(FRESH_SEEN, "seen")                                                                                                              \
	X(FRESH_NOT_SEEN, "not_seen")                                                                                                      \
	X(FRESH_DISTURBED, "disturbed")

enum decision_fresh { DECISION_FRESH_ROWS(ROWS_ENUM) FRESHES };
const char *decision_fresh_code(enum decision_fresh fresh);

struct decision_input {
	enum decision verdict;	   /* of the runs that count */
	bool left_out;		   /* too many of them were disturbed and are excluded */
	enum decision_fresh fresh; /* was a finding seen again in fresh runs, on enough machines? */
	bool control_moved;	   /* the baseline beside itself moved in the same direction */
	bool chance;		   /* among as many comparisons as the night has, one such finding may be chance */
	bool alike;		   /* nearly all of the night leans as this finding does, or several rest on one machine */
	bool crashes;		   /* every run of the candidate crashed or hung, and none of the baseline's failed */
};

/* Constant, code of its reason, decision, when it applies; what it says, after "a regression" or "an improvement" if it starts with a
 * space. */
/* clang-format off */
#define DECISION_RULE_ROWS(X)                                                                                                              \
	X(RULE_CRASHES, "every_run_crashes", DECISION_REGRESSION, in->verdict == DECISION_REGRESSION && in->crashes,                       \
	  "every run of the candidate crashed, or was ended by its time limit after twice as long as any of the baseline had taken, and none " \
	  "of the baseline failed: that is no matter of the machines and needs no confirmation")                                           \
	X(RULE_LEFT_OUT, "too_many_left_out", DECISION_ENVIRONMENT, in->verdict == DECISION_INCONCLUSIVE && in->left_out,                  \
	  "too many runs were disturbed by what else the machines did: measure again when they are quiet")                                 \
	X(RULE_CONTROL, "control_moved", DECISION_ENVIRONMENT, finding && in->control_moved,                                               \
	  "the baseline, run once more beside itself, moved the same way: the machines moved, not the code")                               \
	X(RULE_ALIKE, "findings_alike", DECISION_ENVIRONMENT, finding && in->alike,                                                        \
	  "nearly everything that was measured this night leans the same way, or rests on the same machine: the night suspects itself")    \
	X(RULE_FRESH_DISTURBED, "fresh_disturbed", DECISION_ENVIRONMENT, finding && in->fresh == FRESH_DISTURBED,                          \
	  " was found, and fresh runs cannot confirm it, for it was their environment that slowed them")                                   \
	X(RULE_NOT_SEEN, "not_seen_again", DECISION_INCONCLUSIVE, finding && in->fresh == FRESH_NOT_SEEN,                                  \
	  " was found, and fresh runs did not show it again on enough machines")                                                           \
	X(RULE_NOT_CONFIRMED, "not_confirmed", DECISION_INCONCLUSIVE, finding && in->fresh == FRESH_DUE,                                   \
	  " was found, and there are no fresh runs that could confirm it")                                                              \
	X(RULE_CHANCE, "may_be_chance", DECISION_INCONCLUSIVE, finding && in->fresh == FRESH_NONE && in->chance,                           \
	  "among as many comparisons as this night has, a finding as weak as this one may be chance (false discovery rate 5 %)")
/* clang-format on */

enum decision_rule { DECISION_RULE_ROWS(ROWS_ENUM) DECISION_RULES };

/* ---- the decision ---- */

/* A machine that ran both versions. */
struct judge_machine {
	char *machine;
	double log_ratio; /* NaN: it does not count */
};

/* A function that explains the decision: function_evidence_row(). */
struct judge_function {
	char *name, *file, *kind, *counter; /* "": not known, or none */
	int64_t line;
	double normal, now, part;
};
#define JUDGE_FUNCTIONS 5 /* those that are kept */

/* Nights store all of it but machine, fresh_why, why, rule, and of the input all but fresh and control_moved (gate/nightly/night.h). */
struct judgement {
	struct decision_input input;
	enum decision_rule rule; /* DECISION_RULES: the verdict stands */
	enum decision decision;
	bool by_processor;		/* the ratio is that of CPU time, which decided */
	double ratio, low, high, level; /* NaN where there is none */
	double p;			/* two-sided, of the finding, with what looks have spent; NaN: there is no interval */
	char *machine;			/* without which the finding would not stand; NULL: none */
	char *fresh_why;		/* what others took from fresh runs; NULL: they do not explain it */
	char *why;			/* decision_why(); NULL: there are no runs */
	char *cause;			/* what the difference is made of; "": not known */
	int64_t recorded;		/* runs whose recorded calls were looked at */
	struct reasons reasons;
	struct judge_machine *machines; /* [n_machines] */
	size_t n_machines;
	struct judge_function functions[JUDGE_FUNCTIONS]; /* [n_functions], what costs most first */
	size_t n_functions;
	struct disturbed disturbed;
	struct calibration_quote calibration; /* that was quoted */
	char *document;			      /* JSON text, for showing */
};

/* *out is overwritten; judgement_release() it. */
enum assay_status judge(struct lab *lab, const struct evidence *evidence, const struct judge_request *request, struct judgement *out,
			struct assay_error *err);
void judgement_release(struct judgement *judgement); /* accepts zeroed */

/* Adds the list `functions`. */
void judgement_functions_answer(const struct judgement *judgement, struct document *d);

/* Returns how many machines count. */
size_t judgement_machines(const struct judgement *judgement);

/* Is there nothing left to measure? A finding is settled before the last look when its interval lies beyond the smallest change that
 * matters: one of less would else be called as often as chance takes an early estimate beyond it. */
bool judge_settled(const struct verdict *verdict);

/* Do fresh runs show a finding, regression or improved, once more, on so many machines, or on all? */
bool judge_seen_again(const struct verdict *fresh, enum decision finding, bool by_processor, size_t machines);

#endif
