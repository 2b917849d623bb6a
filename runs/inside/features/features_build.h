/* Turns a compiler's command line into one that makes a program count (counting/), for `assay build --for features` and `--for work`. */
#ifndef RUNS_FEATURES_BUILD_H
#define RUNS_FEATURES_BUILD_H

#include "base/error.h"

#include <stddef.h>

enum features_build {
	FEATURES_COUNTS,     /* how often loops, branches, calls and exceptions happen */
	FEATURES_STATEMENTS, /* that a thread executes, and nothing else */
};

/* Writes the plugin, and what is linked into programs. */
enum assay_status features_write_parts(const char *directory, struct assay_error *err);

/* Executes a compiler's command so that what it makes counts. `options`, of FEATURES_COUNTS, a line for each, or "":
 *   only=FILE      of names, a feature a line: nothing else is counted     until=FUNCTION  where a run may stop (ASSAY_FEATURES_UNTIL)
 *   without=FILE   of pieces that are left out, a name a line              pieces          that may be left out of a run have switches
 *   values         first values of variables, too
 * *status: as of waitpid(). ASSAY_E_USAGE if it is no compiler that can count; ASSAY_E_VERSION if it is of another version than the
 * plugin's. */
enum assay_status features_compile(const char *const *words, size_t n, enum features_build what, const char *options, const char *parts,
				   int *status, struct assay_error *err);

#endif
