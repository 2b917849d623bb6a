/* Describes functions whose time changed: changes and source lines. To find the cause, runs both sources with emulated counters. */
#ifndef GATE_HERE_CHANGED_H
#define GATE_HERE_CHANGED_H

#include "gate/comparison/measured.h"
#include "gate/here/here.h"
#include "gate/here/trees.h"
#include "gate/nightly/why.h"

struct changed_asked {
	const char *directories[2]; /* absolute paths of the built trees */
	const char *repository;	    /* git repository; NULL: none */
	const char *commits[2];
	const struct measured_side *candidate;
	const struct trees_asked *trees; /* sources of the builds; NULL: nothing was built */
	double why_s;			 /* seconds for counting events in functions of a slower candidate; 0: do not count */
};

/* Fills change, source file, line and hottest line of functions whose time certainly differs by more than `least` seconds, if the builds
 * contain them. `code` must have read the files of the runs. Returns false if debug information is missing. O(bytes of debug information).
 */
bool changed_fill(struct measured *measured, const struct code *code, const struct changed_asked *asked, double least);

/* Returns the names of the trees' files in which the runs spent time, such as "'a', 'b'", if no function of these files differs between
 * the builds; free() it. NULL: functions differ, or the files cannot be compared. O(bytes of debug information). */
char *changed_unchanged_files(const struct measured *measured, const struct code *code, const struct changed_asked *asked);

/* Returns the function with the largest certain increase in time (`slower`), or decrease (not `slower`), judged by the interval's end
 * nearer to 0. Ignores functions that differ by at most `least` seconds or are not in the builds. NULL: none is left. */
const struct measured_part *changed_first(const struct measured *measured, double least, bool slower);

struct counted_asked {
	struct trees_asked trees;      /* sources and build commands */
	const struct here_side *sides; /* [2], measured commands */
	const char *input;	       /* file for standard input; NULL: none */
	double budget_s;	       /* time limit of all runs, s, without builds */
	bool progress, any_status;
};

/* Runs both versions as often as the detector needs, unless the budget ends or the user interrupts (SIGINT), and judges their counts. If
 * functions cannot be counted, *why has the reason, and *functions is empty. Overwrites both; release both even after an error. */
enum assay_status counted_functions(const struct counted_asked *asked, struct function_evidence *functions, struct why *why,
				    struct assay_error *err);

#endif
