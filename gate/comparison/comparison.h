/* The comparison of two versions: how much slower, whether the machines were the cause, which resource, which function. Every command that
 * compares two versions computes it here and only renders it, so the same results give the same numbers everywhere. */
#ifndef GATE_COMPARISON_COMPARISON_H
#define GATE_COMPARISON_COMPARISON_H

#include "base/rows.h"
#include "fleet/lab/lab.h"
#include "gate/comparison/calibration.h"
#include "gate/comparison/measured.h"
#include "gate/decide/contributions.h"
#include "gate/decide/verdict.h"
#include "gate/detect/function_evidence.h"
#include "gate/detect/likeness.h"
#include "gate/comparison/weigh.h"
#include "runs/running/evidence.h"

/* The parts of a comparison: constant, code. The order is that of computation: each part may use the parts before it. */
#define COMPARISON_ROWS(X)                                                                                                                 \
	X(COMPARISON_VERDICT, "verdict")	     /* effect, conditions, decision */                                                    \
	X(COMPARISON_VARIANCE, "variance")	     /* effect of the environment, from recorded calls; may change the decision */         \
	X(COMPARISON_MEASURED, "measured")	     /* resources and functions, measured in the runs themselves */                        \
	X(COMPARISON_CALIBRATION, "calibration")     /* error rates of decisions, from `assay calibrate` */                                \
	X(COMPARISON_CONTRIBUTIONS, "contributions") /* resources, inferred from fingerprints */                                           \
	X(COMPARISON_FUNCTIONS, "functions")	     /* changed functions, from their samples */                                           \
	X(COMPARISON_SIGNATURES, "signatures")	     /* stressor groups whose counters resemble the changed functions */

enum comparison_part { COMPARISON_ROWS(ROWS_ENUM) COMPARISON_PARTS };
#define COMPARISON_ALL (COMPARISON_PARTS - 1)

struct comparison_asked {
	const struct evidence *evidence;
	const struct run_set *baseline, *candidate;
	double min_effect, min_gain; /* smallest slowdown and smallest improvement that matter; min_gain 0: same as min_effect */
	enum comparison_part last;   /* last part of the comparison to compute */
	const struct calibration_quote *calibration; /* quote to show; NULL: the laboratory's current quote */
	/* Used only without a laboratory, for runs made on this machine: */
	const struct measured_side *sides; /* [2] arguments of measured_of() */
	struct code *code;
};

/* The reason why a part is absent: a code, and a clause for users. code NULL: the part is present. Borrowed from the part. */
struct comparison_absent {
	const char *code, *text;
};

/* Codes of reasons that come from samples of functions. */
#define COMPARISON_CONFIRMS    "function_confirms"
#define COMPARISON_LATENT      "latent"
#define COMPARISON_UNEXPLAINED "not_explained"

/* The result, filled only by comparison_of(). Parts that were not computed are zero. */
struct comparison {
	enum comparison_part last;
	struct verdict verdict;
	struct variance_weighed weighed;
	bool excused;	/* recorded calls explain the finding, so verdict_excuse() withdrew it */
	bool confirmed; /* the time of functions settled an open decision */
	bool latent;	/* the reason COMPARISON_LATENT was added */
	struct measured measured;
	double open; /* without a finding: seconds below which parts of the difference are not reported */
	char *cause; /* parts of the difference: "+0.19 s in the kernel, ..."; "": not known */
	struct calibration_quote calibration;
	struct contributions contributions;
	struct function_evidence functions;
	struct likeness likeness;
	struct comparison_absent absent[COMPARISON_PARTS]; /* COMPARISON_VERDICT is never absent: missing data is a decision */
};

/* Compares two versions into *out, which is overwritten and must not be moved; comparison_release() it, whatever is returned. *asked must
 * outlive *out. lab NULL: the runs were made on this machine, and parts that need a laboratory are absent. Contributions and functions take
 * longest. */
enum assay_status comparison_of(struct lab *lab, const struct comparison_asked *asked, struct comparison *out, struct assay_error *err);
void comparison_release(struct comparison *comparison); /* accepts zeroed */

/* Returns the seconds below which a part of the measured difference is not reported: for a finding, MEASURED_TOLD of the difference in the
 * time that decided; otherwise `open`. */
double comparison_summary(const struct verdict *verdict, const struct measured *measured, double open);

/* Adds to the cause the function that explains most, with the reason from its counters: "most in walk (src/work.c:4, modified, mostly at
 * src/work.c:7): ...". An argument is NULL if it is not known. */
void comparison_add_function(struct comparison *comparison, const char *name, const char *file, unsigned line, const char *change,
			     const char *hottest);
/* Reports whether a changed function or a resource certainly takes more. Sets *known to whether it is known which functions changed. */
bool comparison_is_explained(const struct comparison *comparison, bool *known);
/* Adds the reason COMPARISON_UNEXPLAINED to a regression if it is known which functions changed, and nothing explains the regression. */
void comparison_add_unexplained(struct comparison *comparison);
/* Changes the decision to inconclusive, with a reason. Takes ownership of `text`. */
void comparison_withdraw(struct comparison *comparison, const char *code, char *text);

/* Adds all parts of a complete comparison (COMPARISON_ALL), and the list `absent`. Users see all machines or those with extreme ratios, and
 * `groups` contributions. groups 0: CONTRIBUTIONS_SHOWN with all machines, with leading groups, or if nothing was measured. */
void comparison_answer(const struct comparison *comparison, bool all_machines, size_t groups, struct document *d);

#endif
