/* Which functions take more or less time, what was changed in them, where they are in the sources, and why they take longer: both source
 * trees are built once more with emulated counters, and run in turn. */
#ifndef GATE_HERE_CHANGED_H
#define GATE_HERE_CHANGED_H

#include "gate/comparison/measured.h"
#include "gate/here/here.h"
#include "gate/here/trees.h"
#include "gate/nightly/why.h"

struct changed_asked {
	const char *directories[2]; /* the built trees, absolute */
	const char *repository;	    /* of git; NULL: there is none */
	const char *commits[2];
	const struct measured_side *candidate; /* its runs, with samples */
	const struct trees_asked *trees;       /* from which they were built; NULL: nothing was */
	double why_s;			       /* to count what its functions do, if it is slower; 0: they are not counted */
};

/* Fills change, source, line and hottest line of the functions that certainly differ by more than `least` seconds, as far as their programs
 * and libraries say. `code` has met the files of the runs. Returns false if debug information is missing in one of them. O(bytes of debug
 * information).
 */
bool changed_fill(struct measured *measured, const struct code *code, const struct changed_asked *asked, double least);

/* Returns the function whose time has certainly grown most, by the near end of its interval, or, not `slower`, has shrunk most. It differs
 * by more than `least` seconds. NULL: none that is known in the builds. */
const struct measured_part *changed_first(const struct measured *measured, double least, bool slower);

struct counted_asked {
	struct trees_asked trees;      /* as the programs were built whose times were measured */
	const struct here_side *sides; /* [2], as they ran */
	const char *input;	       /* a file that is the standard input; NULL: none */
	double budget_s;	       /* limit of the time of runs, without builds */
	bool progress, any_status;
};

/* Runs both as often as the detector needs, or as the budget and the user (SIGINT) allow, and judges what they counted. What cannot be
 * counted is no failure: *why says why, *functions is empty. Both are overwritten; release both, whatever is returned. */
enum assay_status counted_functions(const struct counted_asked *asked, struct function_evidence *functions, struct why *why,
				    struct assay_error *err);

#endif
