/* Why functions of a program take longer than before: both source trees are built once more with emulated counters, and run in turn. */
#ifndef GATE_HERE_COUNTED_H
#define GATE_HERE_COUNTED_H

#include "gate/detect/function_evidence.h"
#include "gate/here/here.h"
#include "gate/here/trees.h"
#include "gate/nightly/why.h"

struct counted_asked {
	struct trees_asked trees;      /* as the programs were built whose times were measured */
	const struct here_side *sides; /* [2], as they ran */
	const char *input;	       /* a file that is the standard input; NULL: none */
	double budget_s;	       /* of the runs; builds do not count */
	bool progress, any_status;
};

/* Runs both as often as the detector needs, or as the budget and the user (SIGINT) allow, and judges what they counted. What cannot be
 * counted is no failure: *why says why, *functions is empty. Both are overwritten; release both, whatever is returned. */
enum assay_status counted_functions(const struct counted_asked *asked, struct function_evidence *functions, struct why *why,
				    struct assay_error *err);

#endif
