/* The comparison of two versions. It answers how much slower the candidate is, whether the machines caused this, and which resource and
 * function changed. Every command that compares two versions calls comparison_compute() and only renders the result. So the same runs give
 * the same numbers in every command. */
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

/* The parts of a comparison: constant, code in answers. They are computed in this order, and each part may use the earlier parts. */
#define COMPARISON_ROWS(X)                                                                                                                 \
	X(COMPARISON_VERDICT, "verdict")	     /* effect, conditions, decision */                                                    \
	X(COMPARISON_VARIANCE, "variance")	     /* time lost to the environment, from recorded calls; may change the decision */      \
	X(COMPARISON_MEASURED, "measured")	     /* resources and functions, measured in the compared runs */                          \
	X(COMPARISON_CALIBRATION, "calibration")     /* error rates of decisions in this laboratory, from `assay calibrate` */             \
	X(COMPARISON_CONTRIBUTIONS, "contributions") /* resources, inferred from fingerprints */                                           \
	X(COMPARISON_FUNCTIONS, "functions")	     /* changed functions, from samples of their calls */                                  \
	X(COMPARISON_SIGNATURES, "signatures")	     /* stressor groups with counters similar to those of the changed functions */

enum comparison_part { COMPARISON_ROWS(ROWS_ENUM) COMPARISON_PARTS };
#define COMPARISON_ALL (COMPARISON_PARTS - 1)

struct comparison_request {
	const struct evidence *evidence;
	const struct run_set *baseline, *candidate;
	double min_effect,
	    min_gain;		   /* smallest slowdown and smallest improvement that matter, 0.03 = 3 %; min_gain 0: same as min_effect */
	enum comparison_part last; /* last part of the comparison to compute */
	const struct calibration_quote *calibration; /* quote to show; NULL to read the laboratory's current calibration */
	/* The following members are used only for runs on this machine, without a laboratory. */
	const struct measured_side *sides; /* [2] baseline and candidate, passed to measured_compare() */
	struct code *code;
};

/* The reason why a part is absent: a code, and a clause for users. Both are NULL if the part is present. The part owns the strings. */
struct comparison_absent {
	const char *code, *text;
};

/* Codes of the reasons that the functions of both versions add to the verdict. */
#define COMPARISON_CONFIRMS    "function_confirms"
#define COMPARISON_LATENT      "latent"
#define COMPARISON_UNEXPLAINED "not_explained"

/* The result of comparison_compute(). Parts that were not computed are zero. */
struct comparison {
	enum comparison_part last;
	struct verdict verdict;
	struct variance_effect weighed;
	bool is_excused; /* recorded calls explain the finding, so variance_compute_effect() withdrew it */
	bool confirmed;	 /* the time spent in functions turned an inconclusive decision into a regression */
	bool latent;	 /* the verdict has the reason COMPARISON_LATENT */
	struct measured measured;
	double open; /* smallest part of the difference that is reported if the decision is no finding, in seconds per run */
	char *cause; /* description of the parts of the difference: "+0.19 s in the kernel, ..."; "" if not known; owned */
	struct calibration_quote calibration;
	struct contributions contributions;
	struct function_evidence functions;
	struct likeness likeness;
	struct comparison_absent
	    absent[COMPARISON_PARTS]; /* absent[COMPARISON_VERDICT] stays empty: if data is missing, there still is a decision */
};

/* Compares two versions and overwrites *out, which must not be moved. The caller calls comparison_release() afterwards, also on failure.
 * *asked must outlive *out. `lab` is NULL for runs made on this machine; then the parts that need a laboratory are absent. Contributions
 * and functions take most of the time. */
enum assay_status comparison_compute(struct lab *lab, const struct comparison_request *asked, struct comparison *out,
				     struct assay_error *err);
void comparison_release(struct comparison *comparison); /* accepts a zeroed struct */

/* Returns the limit in seconds per run below which a part of the difference is not reported. For a finding, this is the share
 * MEASURED_REPORTED_SHARE of the difference in the time that decided (wall time or CPU time). Otherwise it is `open`. */
double comparison_report_threshold_s(const struct verdict *verdict, const struct measured *measured, double open);

/* Appends the function that explains most of the change to the cause, with a reason from its counters: "most in walk (src/work.c:4,
 * modified, mostly at src/work.c:7): ...". `file`, `change` and `hottest` are NULL if they are not known. */
void comparison_add_function(struct comparison *comparison, const char *name, const char *file, unsigned line, const char *change,
			     const char *hottest);
/* Reports whether a changed function or a resource certainly takes more time. Sets *known to whether the changed functions are known. */
bool comparison_is_explained(const struct comparison *comparison, bool *known);
/* Adds the reason COMPARISON_UNEXPLAINED to a regression if the changed functions are known, and nothing explains the regression. */
void comparison_add_unexplained(struct comparison *comparison);
/* Changes the decision to inconclusive and adds a reason. Takes ownership of `text`. */
void comparison_set_inconclusive(struct comparison *comparison, const char *code, char *text);

/* Adds all parts of a complete comparison (COMPARISON_ALL) and the list `absent` to the document. Users see all machines or only those with
 * extreme ratios, and `groups` contributions. `groups` 0 selects CONTRIBUTIONS_SHOWN, or none if the contributions would be uncertain. */
void comparison_describe(const struct comparison *comparison, bool all_machines, size_t groups, struct document *d);

#endif
