/* Pieces that a run of a program can exclude, for counts that are needed before the run (runs/commands/cmd_build.c): functions, calls of
 * libraries, and ways of branches. With the argument `pieces` the plugin puts a switch before each piece, which ASSAY_FEATURES_WITHOUT sets
 * for a run (slices.c). With `without=FILE` the pieces named in FILE are removed.
 *
 *   skip FUNCTION FILE:LINE                  the function returns 0 at once, but its call is counted
 *   skip NAME FILE:LINE:COLUMN FUNCTION      a call of NAME, which is not part of the program, is not made; its value is 0
 *   always FILE:LINE:COLUMN FUNCTION         the branch is always taken; its condition is evaluated
 *   never FILE:LINE:COLUMN FUNCTION          the same, never taken
 *   end FILE:LINE:COLUMN FUNCTION            a test that always ends its loop */
#ifndef RUNS_FEATURES_COUNTING_SLICES_H
#define RUNS_FEATURES_COUNTING_SLICES_H

#define FEATURES_WITHOUT_ENVIRONMENT "ASSAY_FEATURES_WITHOUT="
#define FEATURES_PIECES		     "sban" /* first letters of their lines in the names (format.h), ordered as their switches */
#define FEATURES_SKIP		     's'
#define FEATURES_BRANCH		     'b' /* a line "b PLACE": always PLACE, or never PLACE */
#define FEATURES_LOOP_ALWAYS	     'a' /* if taken, the branch ends the loop; the next one: if not taken */
#define FEATURES_LOOP_NEVER	     'n'

/* In counting programs (thread_counts.c): returns the value of the variable "NAME=". NULL: not set, or empty. */
const char *assay_features_variable(const char *name) __attribute__((visibility("hidden")));

#endif
