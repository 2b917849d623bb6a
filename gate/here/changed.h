/* Finds which functions take more or less time, their changes, their places in the sources, and why they take longer. For the last, both
 * source trees are built again with emulated counters, and run in turn. */
#ifndef GATE_HERE_CHANGED_H
#define GATE_HERE_CHANGED_H

#include "gate/comparison/measured.h"
#include "gate/here/here.h"
#include "gate/here/trees.h"
#include "gate/nightly/why.h"

struct changed_asked {
	const char *directories[2]; /* absolute paths of the built trees */
	const char *repository;	    /* git repository; NULL: there is none */
	const char *commits[2];
	const struct measured_side *candidate; /* runs of the candidate, with samples */
	const struct trees_asked *trees;       /* sources of the builds; NULL: nothing was built */
	double why_s;			       /* seconds for counting in functions, if it is slower; 0: do not count */
};

/* Fills change, source, line and hottest line of the functions that certainly differ by more than `least` seconds, as far as their programs
 * and libraries contain these. `code` has already read the files of the runs. Returns false if debug information is missing in one of them.
 * O(bytes of debug information). */
bool changed_fill(struct measured *measured, const struct code *code, const struct changed_asked *asked, double least);

/* Returns the function whose time has certainly grown most (if not `slower`: shrunk most), by the end of its interval nearer to 0. It
 * differs by more than `least` seconds. NULL: no function known in the builds does. */
const struct measured_part *changed_first(const struct measured *measured, double least, bool slower);

struct counted_asked {
	struct trees_asked trees;      /* sources and build of the measured programs */
	const struct here_side *sides; /* [2], the commands that were measured */
	const char *input;	       /* file for standard input; NULL: none */
	double budget_s;	       /* limit for the time of runs, without builds */
	bool progress, any_status;
};

/* Runs both as often as the detector needs, or as the budget and the user (SIGINT) allow, and judges their counts. If they cannot be
 * counted, that is no error: *why has the reason, *functions is empty. Both are overwritten; release both, whatever is returned. */
enum assay_status counted_functions(const struct counted_asked *asked, struct function_evidence *functions, struct why *why,
				    struct assay_error *err);

#endif
