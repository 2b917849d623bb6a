/* Turns a compiler's command line into one that makes a program count (counting/), for `assay features build` and `assay variance build`.
 */
#ifndef RUNS_FEATURES_BUILD_H
#define RUNS_FEATURES_BUILD_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>

struct features_build {
	const char *only;    /* a file of names, a feature a line: nothing else is counted; or NULL */
	const char *until;   /* a function where a run may stop (ASSAY_FEATURES_UNTIL); or NULL */
	const char *without; /* a file of pieces that are left out, a name a line; or NULL */
	bool pieces;	     /* that may be left out of a run have switches */
	bool values;	     /* first values of variables, too */
	bool statements;     /* that a thread executes, and nothing else */
};

/* Executes a compiler's command so that what it makes counts; or a command that calls compilers, such as make, with this program as its
 * compiler. ASSAY_E_IO if the command fails; ASSAY_E_USAGE if it is no compiler that can count; ASSAY_E_VERSION if it is of another version
 * than the plugin's. */
enum assay_status features_build(const char *const *words, size_t n, const struct features_build *how, struct assay_error *err);

#endif
