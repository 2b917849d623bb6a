/* Decides a comparison of a night. A request and the raw results of its runs determine the decision completely. Nights store the request
 * with the decision, so that assay can recompute the same document byte by byte. */
#ifndef GATE_NIGHTLY_JUDGE_H
#define GATE_NIGHTLY_JUDGE_H

#include "fleet/lab/lab.h"
#include "base/rows.h"
#include "base/digest.h"
#include "gate/comparison/comparison.h"
#include "gate/decide/reasons.h"
#include "gate/conditions/disturbed.h"
#include "runs/running/evidence.h"

/* Version of the decision rules. Increase it with each change in base, runs or gate that can change a decision or its text for the same
 * results. Otherwise assay reports older decisions as tampered with. */
#define JUDGE_RULES 1

/* Request for a decision. When assay recomputes a decision, it uses the stored values and determines none of them again. */
struct judge_request {
	int64_t rules; /* JUDGE_RULES of the assay that made the request; 0 if not stored */
	char *application, *baseline, *candidate;
	char plan[DIGEST_ID_BYTES]; /* id of the plan of the runs; "" if nothing was run, for the reason in `no_comparison_reason` */
	char confirmation_plan[DIGEST_ID_BYTES]; /* id of the plan of the confirmation runs, which include an A/A control; "" if there is
						    none */
	double min_effect, min_gain; /* smallest slowdown and smallest improvement that matter, as fractions; min_gain 0 means min_effect */
	bool confirm;		     /* findings need confirmation runs */
	bool control;		     /* the plan also has an A/A control */
	int64_t machines; /* number of machines on which confirmation runs must show the finding; if fewer machines ran, all of them */
	bool may_be_chance, follows_night_trend; /* conclusions from all comparisons of the night (struct decision_input) */
	char *no_comparison_reason;		 /* reason why there is nothing to compare; "" if there is something */
	char *accepted; /* date and reason of the baseline's acceptance (baselines_text()); "" or NULL if no user accepted it */
	const struct calibration_quote *calibration; /* false-alarm rates to show; NULL means the laboratory's current rates */
};
void judge_request_release(struct judge_request *request); /* Accepts a zeroed struct. */

/* Comparison of the results of two versions from one plan. Excluded disturbed runs are not part of it. */
struct judge_comparison {
	struct run_set sides[2];
	struct disturbed disturbed;
	struct comparison comparison;
};

struct judge_compare_request {
	const struct judge_request *request;
	const char *plan;
	const char *candidate;	   /* version to compare with the baseline; NULL means the request's candidate */
	const char *architecture;  /* only runs on machines of this architecture count; NULL means all runs */
	enum comparison_part last; /* last part of the comparison to compute */
};

/* Compares the request's baseline with a candidate. The caller releases *out by judge_comparison_release(), even after an error. */
enum assay_status judge_compare(struct lab *lab, const struct evidence *evidence, const struct judge_compare_request *asked,
				struct judge_comparison *out, struct assay_error *err);
void judge_comparison_release(struct judge_comparison *compared); /* Accepts a zeroed struct. */

/* A table of rules decides a comparison of a night. Its inputs are the verdict on the comparison's runs (gate/decide/rules.h), the
 * confirmation runs with their A/A control, and the night's other comparisons. The first rule that applies decides; see
 * docs/design/decisions.md. */

/* Outcomes of confirmation runs: constant, code. CONFIRMATION_NONE: not needed. CONFIRMATION_MISSING: needed, but missing.
 * CONFIRMATION_SEEN: the runs confirm the finding. CONFIRMATION_NOT_SEEN: they do not. CONFIRMATION_DISTURBED: the environment slowed them.
 */
#define CONFIRMATION_ROWS(X)                                                                                                               \
	X(CONFIRMATION_NONE, "none")                                                                                                       \
	X(CONFIRMATION_MISSING, "due")                                                                                                     \
	X(CONFIRMATION_SEEN, "seen")                                                                                                       \
	X(CONFIRMATION_NOT_SEEN, "not_seen")                                                                                               \
	X(CONFIRMATION_DISTURBED, "disturbed")

enum confirmation_result { CONFIRMATION_ROWS(ROWS_ENUM) CONFIRMATION_RESULTS };
const char *confirmation_result_code(enum confirmation_result confirmation);

struct decision_input {
	enum decision verdict;		       /* verdict on the comparison's own runs */
	bool too_many_disturbed;	       /* too many runs were disturbed */
	enum confirmation_result confirmation; /* outcome of the confirmation runs */
	bool has_control_moved;		       /* the A/A control changed in the direction of the finding */
	bool may_be_chance;		       /* the finding may be chance, given the number of comparisons of the night */
	bool
	    follows_night_trend; /* nearly all comparisons of the night changed like this finding, or findings depend on the same machine */
	bool crashes;		 /* all runs of the candidate crashed or hung, and no run of the baseline failed */
};

/* Columns: constant, code, decision, condition, text. A text that starts with a space follows "a regression" or "an improvement". */
/* clang-format off */
#define DECISION_RULE_ROWS(X)                                                                                                              \
	X(RULE_CRASHES, "every_run_crashes", DECISION_REGRESSION, in->verdict == DECISION_REGRESSION && in->crashes,                       \
	  "every run of the candidate crashed, or reached its time limit after twice the longest time of the baseline, and no run " \
	  "of the baseline failed: the machines are not the cause, and no confirmation is needed")                                           \
	X(RULE_TOO_MANY_EXCLUDED, "too_many_left_out", DECISION_ENVIRONMENT, in->verdict == DECISION_INCONCLUSIVE && in->too_many_disturbed,                  \
	  "too many runs were disturbed by other work on the machines: measure again when they are quiet")                                 \
	X(RULE_CONTROL, "control_moved", DECISION_ENVIRONMENT, finding && in->has_control_moved,                                               \
	  "the A/A control (baseline against itself) changed in the same direction: the machines changed, not the code")                   \
	X(RULE_FINDINGS_ALIKE, "findings_alike", DECISION_ENVIRONMENT, finding && in->follows_night_trend,                                                        \
	  "nearly all comparisons of this night changed in the same direction, or depend on the same machine: the night may be disturbed")    \
	X(RULE_CONFIRMATION_DISTURBED, "fresh_disturbed", DECISION_ENVIRONMENT, finding && in->confirmation == CONFIRMATION_DISTURBED,                          \
	  " was found, but not confirmed: the environment slowed the confirmation runs")                                   \
	X(RULE_NOT_REPRODUCED, "not_seen_again", DECISION_INCONCLUSIVE, finding && in->confirmation == CONFIRMATION_NOT_SEEN,                                  \
	  " was found, but not confirmed on enough machines")                                                           \
	X(RULE_NO_CONFIRMATION, "not_confirmed", DECISION_INCONCLUSIVE, finding && in->confirmation == CONFIRMATION_MISSING,                                   \
	  " was found, but there are no confirmation runs")                                                              \
	X(RULE_CHANCE, "may_be_chance", DECISION_INCONCLUSIVE, finding && in->confirmation == CONFIRMATION_NONE && in->may_be_chance,                           \
	  "with as many comparisons as this night has, a finding as weak as this may be by chance (false discovery rate 5 %)")
/* clang-format on */

enum decision_rule { DECISION_RULE_ROWS(ROWS_ENUM) DECISION_RULES };

/* A machine that ran both versions. */
struct judge_machine {
	char *machine;
	double log_ratio; /* log of the ratio candidate / baseline; NaN if the machine does not count */
};

/* A function that explains the decision, copied from function_evidence_get_reason(). */
struct judge_function {
	char *name, *file, *kind, *counter; /* owned; `file` is "" if unknown, `counter` is "" if there is none */
	int64_t line;
	double normal, now, part;
};
#define JUDGE_FUNCTIONS 5 /* maximum number of functions in a decision */

/* A decision. Nights do not store machine, confirmation_reason, why and rule. Of `input`, nights store only fresh and has_control_moved
 * (night.h). */
struct judgement {
	struct decision_input input;
	enum decision_rule rule; /* rule that decided; DECISION_RULES if no rule applied, so that the verdict decided */
	enum decision decision;
	bool by_processor;		/* the decision and `ratio` are based on CPU time instead of the metric */
	double ratio, low, high, level; /* ratio, its interval, and the level of the interval; NaN if unknown */
	double p;			/* two-sided p-value, corrected for interim analyses; NaN if there is no interval */
	char *machine;			/* the only one of several machines that shows the finding; NULL if there is no such machine */
	char *confirmation_reason;	/* explanation how the environment slowed the confirmation runs; NULL unless input.fresh is
					   CONFIRMATION_DISTURBED */
	char *why;			/* result of decision_first_reason(); NULL if there were no runs */
	char *cause;			/* parts of the cost difference, as text; "" if unknown */
	int64_t recorded;		/* number of runs whose recorded calls were analysed */
	struct reasons reasons;
	struct judge_machine *machines; /* array of n_machines elements */
	size_t n_machines;
	struct judge_function functions[JUDGE_FUNCTIONS]; /* [n_functions], most expensive first */
	size_t n_functions;
	struct disturbed disturbed;
	struct calibration_quote calibration; /* false-alarm rates that the decision shows */
	char *document;			      /* JSON text of the decision, for display */
};

/* Decides a request. Overwrites *out; the caller releases it by judgement_release(). */
enum assay_status judge_decide(struct lab *lab, const struct evidence *evidence, const struct judge_request *request, struct judgement *out,
			       struct assay_error *err);
void judgement_release(struct judgement *judgement); /* Accepts a zeroed struct. */

/* Adds the member `functions` to the document: the functions that explain the decision. */
void judgement_describe_functions(const struct judgement *judgement, struct document *d);

/* Returns the number of machines that ran both versions and count in the decision. */
size_t judgement_count_machines(const struct judgement *judgement);

/* Reports whether measurement can stop before the last interim analysis. It can after a pass, if the candidate never starts, or if the
 * whole interval of a finding is beyond the smallest effect. A weaker finding needs more runs, because early estimates of small changes
 * often exceed the smallest effect by chance. */
bool judge_is_settled(const struct verdict *verdict);

/* Reports whether confirmation runs show a finding again on at least `machines` machines, or on all machines if fewer ran. */
bool judge_is_confirmed(const struct verdict *confirmation, enum decision finding, bool by_processor, size_t machines);

#endif
