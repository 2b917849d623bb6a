/* Decides a comparison of a night from its evidence. The request contains every input of the decision except raw results, and is stored
 * with the decision. The same request and raw results give the same document, byte by byte. */
#ifndef GATE_NIGHTLY_JUDGE_H
#define GATE_NIGHTLY_JUDGE_H

#include "fleet/lab/lab.h"
#include "base/rows.h"
#include "base/digest.h"
#include "gate/comparison/comparison.h"
#include "gate/decide/reasons.h"
#include "gate/conditions/disturbed.h"
#include "runs/running/evidence.h"

/* Version of the decision rules. Increase it with every change in base, runs or gate that may change a decision or its text for the same
 * results. Otherwise assay reports earlier decisions as tampered with. */
#define JUDGE_RULES 1

/* Request for a decision. To recompute a decision, assay reads these values from the store and does not determine any of them again. */
struct judge_request {
	int64_t rules; /* JUDGE_RULES of the assay that made the request; 0: not stored */
	char *application, *baseline, *candidate;
	char plan[DIGEST_ID_BYTES];	  /* plan of the runs; "": nothing was run, for the reason in `why` */
	char fresh_plan[DIGEST_ID_BYTES]; /* plan of the confirmation runs, which include an A/A control; "": none */
	double min_effect, min_gain;	  /* min_gain 0: same as min_effect */
	bool confirm;			  /* findings need confirmation runs */
	bool control;			  /* `plan` also contains an A/A control */
	int64_t machines;   /* number of machines on which confirmation runs must show the finding; limited to those that ran */
	bool chance, alike; /* results of the night's other comparisons (struct decision_input) */
	char *why;	    /* reason if there is nothing to compare, else "" */
	char *accepted;	    /* date and reason of the baseline's acceptance (baselines_text()); "" or NULL: not accepted */
	const struct calibration_quote *calibration; /* false-alarm rates to show; NULL: the laboratory's current ones */
};
void judge_request_release(struct judge_request *request); /* accepts a zeroed struct */

/* Comparison of the results of two versions from one plan, without excluded disturbed runs. */
struct judge_compared {
	struct run_set sides[2];
	struct disturbed disturbed;
	struct comparison comparison;
};

struct judge_asked {
	const struct judge_request *request;
	const char *plan;
	const char *candidate;	   /* version to compare; NULL: the request's */
	const char *architecture;  /* restricts the runs to machines of this architecture; NULL: no restriction */
	enum comparison_part last; /* last part to compute */
};

/* Compares the request's baseline with a candidate. The caller must judge_compared_release() *out even after an error. */
enum assay_status judge_compare(struct lab *lab, const struct evidence *evidence, const struct judge_asked *asked,
				struct judge_compared *out, struct assay_error *err);
void judge_compared_release(struct judge_compared *compared); /* accepts a zeroed struct */

/* ---- the rules of a night ---- */

/* Table of rules that decides a comparison of a night: from the verdict on its runs, the confirmation runs with their A/A control, and the
 * other comparisons. The first rule that applies decides (table: docs/design/decisions.md). gate/decide/rules.h makes the verdict. */

/* Results of confirmation runs: constant, code. none: not needed; due: needed but missing; disturbed: the environment slowed the runs. */
#define DECISION_FRESH_ROWS(X)                                                                                                             \
	X(FRESH_NONE, "none")                                                                                                              \
	X(FRESH_DUE, "due")                                                                                                                \
	X(FRESH_SEEN, "seen")                                                                                                              \
	X(FRESH_NOT_SEEN, "not_seen")                                                                                                      \
	X(FRESH_DISTURBED, "disturbed")

enum decision_fresh { DECISION_FRESH_ROWS(ROWS_ENUM) FRESHES };
const char *decision_fresh_code(enum decision_fresh fresh);

struct decision_input {
	enum decision verdict;	   /* verdict on the comparison's runs */
	bool left_out;		   /* too many runs were disturbed */
	enum decision_fresh fresh; /* result of the confirmation runs */
	bool control_moved;	   /* the A/A control changed in the direction of the finding */
	bool chance;		   /* the finding may be chance among as many comparisons as the night has */
	bool alike;		   /* nearly all comparisons of the night lean like this finding, or several depend on one machine */
	bool crashes;		   /* every run of the candidate crashed or hung, and no run of the baseline failed */
};

/* Constant, code, decision, condition, text. A text that starts with a space follows "a regression" or "an improvement". */
/* clang-format off */
#define DECISION_RULE_ROWS(X)                                                                                                              \
	X(RULE_CRASHES, "every_run_crashes", DECISION_REGRESSION, in->verdict == DECISION_REGRESSION && in->crashes,                       \
	  "every run of the candidate crashed, or reached its time limit after twice the longest time of the baseline, and no run " \
	  "of the baseline failed: the machines are not the cause, and no confirmation is needed")                                           \
	X(RULE_LEFT_OUT, "too_many_left_out", DECISION_ENVIRONMENT, in->verdict == DECISION_INCONCLUSIVE && in->left_out,                  \
	  "too many runs were disturbed by other work on the machines: measure again when they are quiet")                                 \
	X(RULE_CONTROL, "control_moved", DECISION_ENVIRONMENT, finding && in->control_moved,                                               \
	  "the A/A control (baseline against itself) changed in the same direction: the machines changed, not the code")                   \
	X(RULE_ALIKE, "findings_alike", DECISION_ENVIRONMENT, finding && in->alike,                                                        \
	  "nearly all comparisons of this night changed in the same direction, or depend on the same machine: the night may be disturbed")    \
	X(RULE_FRESH_DISTURBED, "fresh_disturbed", DECISION_ENVIRONMENT, finding && in->fresh == FRESH_DISTURBED,                          \
	  " was found, but not confirmed: the environment slowed the confirmation runs")                                   \
	X(RULE_NOT_SEEN, "not_seen_again", DECISION_INCONCLUSIVE, finding && in->fresh == FRESH_NOT_SEEN,                                  \
	  " was found, but not confirmed on enough machines")                                                           \
	X(RULE_NOT_CONFIRMED, "not_confirmed", DECISION_INCONCLUSIVE, finding && in->fresh == FRESH_DUE,                                   \
	  " was found, but there are no confirmation runs")                                                              \
	X(RULE_CHANCE, "may_be_chance", DECISION_INCONCLUSIVE, finding && in->fresh == FRESH_NONE && in->chance,                           \
	  "with as many comparisons as this night has, a finding as weak as this may be by chance (false discovery rate 5 %)")
/* clang-format on */

enum decision_rule { DECISION_RULE_ROWS(ROWS_ENUM) DECISION_RULES };

/* ---- the decision ---- */

/* Machine that ran both versions. */
struct judge_machine {
	char *machine;
	double log_ratio; /* log of candidate / baseline; NaN: the machine does not count */
};

/* Function that explains the decision: a copy of function_evidence_row(). */
struct judge_function {
	char *name, *file, *kind, *counter; /* file and counter are "" if unknown or none */
	int64_t line;
	double normal, now, part;
};
#define JUDGE_FUNCTIONS 5 /* maximum number of functions to keep */

/* A decision. Nights store all but machine, fresh_why, why and rule; of `input`, only fresh and control_moved (gate/nightly/night.h). */
struct judgement {
	struct decision_input input;
	enum decision_rule rule; /* rule that decided; DECISION_RULES: none, so the verdict stands */
	enum decision decision;
	bool by_processor;		/* CPU time decided, and `ratio` is that of CPU time */
	double ratio, low, high, level; /* ratio with its interval and level; NaN: not known */
	double p;			/* two-sided p-value, corrected for interim analyses; NaN: there is no interval */
	char *machine;			/* machine without which the finding would not hold; NULL: none */
	char *fresh_why;		/* time that the environment cost confirmation runs; NULL: too little to explain the difference */
	char *why;			/* result of decision_why(); NULL: there are no runs */
	char *cause;			/* parts of the difference, as text; "": not known */
	int64_t recorded;		/* number of runs whose recorded calls were analysed */
	struct reasons reasons;
	struct judge_machine *machines; /* [n_machines] */
	size_t n_machines;
	struct judge_function functions[JUDGE_FUNCTIONS]; /* [n_functions], most expensive first */
	size_t n_functions;
	struct disturbed disturbed;
	struct calibration_quote calibration; /* false-alarm rates that the decision shows */
	char *document;			      /* JSON text for display */
};

/* Decides a request. Overwrites *out; judgement_release() it. */
enum assay_status judge(struct lab *lab, const struct evidence *evidence, const struct judge_request *request, struct judgement *out,
			struct assay_error *err);
void judgement_release(struct judgement *judgement); /* accepts a zeroed struct */

/* Adds the member `functions`: the functions that explain the decision. */
void judgement_functions_answer(const struct judgement *judgement, struct document *d);

/* Returns the number of machines that ran both versions and count. */
size_t judgement_machines(const struct judgement *judgement);

/* Reports whether measurement can stop before the last interim analysis: after a pass, if the candidate never starts, or after a finding
 * whose interval lies entirely beyond the smallest change that matters. Otherwise early estimates of smaller changes would often pass as
 * findings. */
bool judge_settled(const struct verdict *verdict);

/* Reports whether confirmation runs show a finding (regression or improved) again on `machines` machines, or on all if fewer ran. */
bool judge_seen_again(const struct verdict *fresh, enum decision finding, bool by_processor, size_t machines);

#endif
