/* Decides a comparison of a night from its evidence. The request holds all inputs of the decision besides raw results, and is stored with
 * it: the same request over the same raw results gives the same document, byte by byte. */
#ifndef GATE_NIGHTLY_JUDGE_H
#define GATE_NIGHTLY_JUDGE_H

#include "fleet/lab/lab.h"
#include "base/rows.h"
#include "base/digest.h"
#include "gate/comparison/comparison.h"
#include "gate/decide/reasons.h"
#include "gate/conditions/disturbed.h"
#include "runs/running/evidence.h"

/* Version of the rules. Increase it with every change in base, runs or gate that may change the decision or the text for the same results.
 * Otherwise earlier decisions would be reported as tampered with. */
#define JUDGE_RULES 1

/* A request for a decision. Recomputing a decision takes these values from the store, and looks none of them up again. */
struct judge_request {
	int64_t rules; /* JUDGE_RULES of the assay that made it; 0: it is not stored */
	char *application, *baseline, *candidate;
	char plan[DIGEST_ID_BYTES];	  /* "": nothing was run; `why` has the reason */
	char fresh_plan[DIGEST_ID_BYTES]; /* plan of the confirmation runs, which include an A/A control; "": none */
	double min_effect, min_gain;	  /* min_gain 0: same as min_effect */
	bool confirm;			  /* a finding needs confirmation runs */
	bool control;			  /* the plan itself also has an A/A control */
	int64_t machines;		  /* number of machines that must show a finding again; all if there are fewer */
	bool chance, alike;		  /* results of the night's other comparisons (struct decision_input) */
	char *why;			  /* why there is nothing to compare; else "" */
	char *accepted;			  /* when and why users accepted the baseline (baselines_text()); "" or NULL: they did not */
	const struct calibration_quote *calibration; /* quote to show; NULL: the laboratory's current one */
};
void judge_request_release(struct judge_request *request); /* accepts zeroed */

/* Comparison of the results of two versions from one plan, without those of excluded disturbed runs. */
struct judge_compared {
	struct run_set sides[2];
	struct disturbed disturbed;
	struct comparison comparison;
};

struct judge_asked {
	const struct judge_request *request;
	const char *plan;
	const char *candidate;	   /* NULL: the request's */
	const char *architecture;  /* architecture of the machines to use; NULL: all machines */
	enum comparison_part last; /* last part to compute */
};

/* Compares the request's baseline with a candidate. judge_compared_release() *out, whatever is returned. */
enum assay_status judge_compare(struct lab *lab, const struct evidence *evidence, const struct judge_asked *asked,
				struct judge_compared *out, struct assay_error *err);
void judge_compared_release(struct judge_compared *compared); /* accepts zeroed */

/* ---- the rules of a night ---- */

/* Table of rules that turns the verdict of a comparison's runs, its confirmation runs with their A/A control, and the night's other
 * comparisons into one decision. The first rule that applies decides (docs/statistics.md shows the table). The rules in
 * gate/decide/rules.h make the verdict, from performance, CPU time, waiting, builds and failures. */

/* Results of confirmation runs: constant, code. none: not requested; due: requested, not made; disturbed: the environment slowed them. */
#define DECISION_FRESH_ROWS(X)                                                                                                             \
	X(FRESH_NONE, "none")                                                                                                              \
	X(FRESH_DUE, "due")                                                                                                                \
	X(FRESH_SEEN, "seen")                                                                                                              \
	X(FRESH_NOT_SEEN, "not_seen")                                                                                                      \
	X(FRESH_DISTURBED, "disturbed")

enum decision_fresh { DECISION_FRESH_ROWS(ROWS_ENUM) FRESHES };
const char *decision_fresh_code(enum decision_fresh fresh);

struct decision_input {
	enum decision verdict;	   /* verdict of the runs that count */
	bool left_out;		   /* too many of the runs were disturbed */
	enum decision_fresh fresh; /* whether confirmation runs showed a finding again, on enough machines */
	bool control_moved;	   /* the A/A control moved in the same direction */
	bool chance;		   /* among as many comparisons as the night has, such a finding may be chance */
	bool alike;		   /* nearly all comparisons of the night lean like this finding, or several depend on one machine */
	bool crashes;		   /* every run of the candidate crashed or hung, and no run of the baseline failed */
};

/* Constant, code of the reason, decision, condition, text of the reason; a text that starts with a space follows "a regression" or "an
 * improvement". */
/* clang-format off */
#define DECISION_RULE_ROWS(X)                                                                                                              \
	X(RULE_CRASHES, "every_run_crashes", DECISION_REGRESSION, in->verdict == DECISION_REGRESSION && in->crashes,                       \
	  "every run of the candidate crashed, or was ended by its time limit after twice as long as any of the baseline had taken, and none " \
	  "of the baseline failed: that is no matter of the machines and needs no confirmation")                                           \
	X(RULE_LEFT_OUT, "too_many_left_out", DECISION_ENVIRONMENT, in->verdict == DECISION_INCONCLUSIVE && in->left_out,                  \
	  "too many runs were disturbed by what else the machines did: measure again when they are quiet")                                 \
	X(RULE_CONTROL, "control_moved", DECISION_ENVIRONMENT, finding && in->control_moved,                                               \
	  "the A/A control (baseline against itself) changed in the same direction: the machines changed, not the code")                   \
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
	double log_ratio; /* NaN: the machine does not count */
};

/* A function that explains the decision: function_evidence_row(). */
struct judge_function {
	char *name, *file, *kind, *counter; /* file, counter "": not known, or none */
	int64_t line;
	double normal, now, part;
};
#define JUDGE_FUNCTIONS 5 /* functions that are kept, at most */

/* Nights store all members except machine, fresh_why, why and rule; of the input, only fresh and control_moved (gate/nightly/night.h). */
struct judgement {
	struct decision_input input;
	enum decision_rule rule; /* DECISION_RULES: the verdict stands */
	enum decision decision;
	bool by_processor;		/* CPU time decided, and the ratio is that of CPU time */
	double ratio, low, high, level; /* NaN: not known */
	double p;			/* two-sided p-value of the finding, corrected for interim analyses; NaN: there is no interval */
	char *machine;			/* machine without which the finding would not hold; NULL: none */
	char *fresh_why;		/* time that the environment cost confirmation runs; NULL: that does not explain the difference */
	char *why;			/* decision_why(); NULL: there are no runs */
	char *cause;			/* parts of the difference; "": not known */
	int64_t recorded;		/* runs whose recorded calls were analysed */
	struct reasons reasons;
	struct judge_machine *machines; /* [n_machines] */
	size_t n_machines;
	struct judge_function functions[JUDGE_FUNCTIONS]; /* [n_functions], the most expensive first */
	size_t n_functions;
	struct disturbed disturbed;
	struct calibration_quote calibration; /* the quote that the decision shows */
	char *document;			      /* JSON text, for display */
};

/* Decides a request. *out is overwritten; judgement_release() it. */
enum assay_status judge(struct lab *lab, const struct evidence *evidence, const struct judge_request *request, struct judgement *out,
			struct assay_error *err);
void judgement_release(struct judgement *judgement); /* accepts zeroed */

/* Adds the list `functions`. */
void judgement_functions_answer(const struct judgement *judgement, struct document *d);

/* Returns the number of machines that count. */
size_t judgement_machines(const struct judgement *judgement);

/* Reports whether measuring can end before the last interim analysis. A finding needs an interval entirely beyond the smallest change that
 * matters; otherwise chance would often take an early estimate of a smaller change beyond it. A pass, or a candidate that never starts, is
 * settled. */
bool judge_settled(const struct verdict *verdict);

/* Reports whether confirmation runs show a finding (regression or improved) again, on `machines` machines, or on all if there are fewer. */
bool judge_seen_again(const struct verdict *fresh, enum decision finding, bool by_processor, size_t machines);

#endif
