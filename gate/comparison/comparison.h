/* The comparison of two versions: how much slower, whether the machines were the cause, which resource, which function. It is computed here
 * for every command that tells of two versions, so that the same results give the same numbers everywhere; they only render it. */
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

/* The parts, in the order in which they are computed: each may use those before it. Constant, code. */
#define COMPARISON_ROWS(X)                                                                                                                 \
	X(COMPARISON_VERDICT, "verdict")	     /* effect, conditions, decision */                                                    \
	X(COMPARISON_VARIANCE, "variance")	     /* what recorded calls say of the environment; may change the decision */             \
	X(COMPARISON_MEASURED, "measured")	     /* resources and functions, as the runs themselves show them */                       \
	X(COMPARISON_CALIBRATION, "calibration")     /* what such decisions are worth */                                                   \
	X(COMPARISON_CONTRIBUTIONS, "contributions") /* resources, inferred from fingerprints */                                           \
	X(COMPARISON_FUNCTIONS, "functions")	     /* changed functions, by their samples */                                             \
	X(COMPARISON_SIGNATURES, "signatures")	     /* which resource these functions look like */

enum comparison_part { COMPARISON_ROWS(ROWS_ENUM) COMPARISON_PARTS };
#define COMPARISON_ALL (COMPARISON_PARTS - 1)

struct comparison_asked {
	const struct evidence *evidence;
	const struct run_set *baseline, *candidate;
	double min_effect, min_gain;		     /* min_gain 0: the same */
	enum comparison_part last;		     /* the parts after it are not computed */
	const struct calibration_quote *calibration; /* to quote; NULL: the laboratory's now */
	/* Without a laboratory, where runs were made on this machine: */
	const struct measured_side *sides; /* [2], measured_of()'s */
	struct code *code;
};

/* Why a part is not there: a code, and a clause for users; code NULL: it is there. Borrowed from the part. */
struct comparison_absent {
	const char *code, *text;
};

/* Codes of reasons that rest on samples of functions. */
#define COMPARISON_CONFIRMS    "function_confirms"
#define COMPARISON_LATENT      "latent"
#define COMPARISON_UNEXPLAINED "not_explained"

/* Filled by comparison_of() alone. Parts that were not computed are zero. */
struct comparison {
	enum comparison_part last;
	struct verdict verdict;
	struct variance_weighed weighed;
	bool excused;	/* recorded calls have withdrawn a finding */
	bool confirmed; /* what functions take more has settled what was open */
	bool latent;	/* it has that finding */
	struct measured measured;
	double open; /* seconds: of a difference that is not settled, smaller parts are not told */
	char *cause; /* what a finding's difference is made of: "+0.19 s in the kernel, ..."; "": not known */
	struct calibration_quote calibration;
	struct contributions contributions;
	struct function_evidence functions;
	struct likeness likeness;
	struct comparison_absent absent[COMPARISON_PARTS]; /* COMPARISON_VERDICT is always there: it has a decision for what is missing */
};

/* What is asked must outlive *out, which is overwritten and must not be moved; comparison_release() it, whatever is returned. lab NULL: of
 * runs that were made on this machine; parts that take a laboratory are absent. Cost: that of its parts; contributions and functions take
 * longest. */
enum assay_status comparison_of(struct lab *lab, const struct comparison_asked *asked, struct comparison *out, struct assay_error *err);
void comparison_release(struct comparison *comparison); /* accepts zeroed */

/* Returns the seconds below which a part of what was measured is not told: of a finding, those that do not explain the time that decided;
 * else `open`. */
double comparison_told(const struct verdict *verdict, const struct measured *measured, double open);

/* Adds to the cause the function that explains most, and what its counters say of it: "most in walk (src/work.c:4, modified, mostly at
 * src/work.c:7): ...". What is not known is NULL. */
void comparison_add_function(struct comparison *comparison, const char *name, const char *file, unsigned line, const char *change,
			     const char *hottest);
/* Has a function that was changed, or a resource, certainly grown? *known: it was looked at which functions were changed. */
bool comparison_is_explained(const struct comparison *comparison, bool *known);
/* Adds to a regression the finding that nothing explains it that was looked at; once it is known which functions were changed. */
void comparison_add_unexplained(struct comparison *comparison);
/* Leaves open what was a finding. Takes the text of the reason. */
void comparison_withdraw(struct comparison *comparison, const char *code, char *text);

/* Adds all parts of a whole comparison (COMPARISON_ALL), and the list `absent`. Users see all machines or the outermost, and `groups` of
 * the contributions (0: those that lead, if any is certain or nothing was measured); programs see all. */
void comparison_answer(const struct comparison *comparison, bool all_machines, size_t groups, struct document *d);

#endif
