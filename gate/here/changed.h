/* Describes functions whose time changed: kind of change and source lines. Can also run both builds with emulated counters to find the
 * cause. */
#ifndef GATE_HERE_CHANGED_H
#define GATE_HERE_CHANGED_H

#include "gate/comparison/measured.h"
#include "gate/here/here.h"
#include "gate/here/trees.h"
#include "gate/nightly/why.h"

struct changed_request {
	const char *directories[2]; /* absolute paths of the built trees */
	const char *repository;	    /* path of the git repository; NULL if the trees are not from git */
	const char *commits[2];
	const struct measured_side *candidate;
	const struct trees_request *trees; /* sources and build command of the trees; NULL if nothing was built */
	double explanation_s; /* time limit in seconds for counting events in functions of a slower candidate; 0 to count nothing */
};

/* Sets change, source, line and hottest of each function in the builds whose time differs significantly by more than `least` seconds.
 * `code` must have read the program files of the runs. Returns false if debug information is missing. O(bytes of debug information). */
bool changed_describe_functions(struct measured *measured, const struct code *code, const struct changed_request *asked, double least);

/* Returns the names of the trees' files in which the runs spent time, such as "'a', 'b'", if no function of these files differs between
 * the builds; free() it. NULL: functions differ, or the files cannot be compared. O(bytes of debug information). */
char *changed_unchanged_files(const struct measured *measured, const struct code *code, const struct changed_request *asked);

/* Returns the function whose time certainly increased most, or decreased most if `slower` is false. The end of the interval nearer to 0
 * decides. Ignores functions that differ by at most `least` seconds or are not in the builds. Returns NULL if none is left. */
const struct measured_part *changed_find_largest(const struct measured *measured, double least, bool slower);

struct counted_request {
	struct trees_request trees;	/* sources and build command */
	const struct adhoc_side *sides; /* [2] commands that were measured */
	const char *input;		/* file for standard input; NULL if there is none */
	double budget_s;		/* time limit for all runs in seconds, excluding builds */
	bool progress, accept_any_status;
};

/* Runs both versions as often as the detector needs, until the budget ends or the user interrupts (SIGINT), and judges their counters. If
 * functions cannot be counted, *why has the reason and *functions is empty. Overwrites both; the caller releases both, even on error. */
enum assay_status count_changed_functions(const struct counted_request *asked, struct function_evidence *functions, struct explanation *why,
					  struct assay_error *err);

#endif
