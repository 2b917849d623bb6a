/* Pieces of a program that a run can do without, for counts that are wanted before a run (runs/commands/cmd_build.c): functions,
 * calls of libraries, and the ways of branches. With the argument `pieces` the plugin puts a switch before each of them, which
 * ASSAY_FEATURES_WITHOUT sets for a run (slices.c); with `without=FILE` the pieces that FILE names are gone.
 *
 *   skip FUNCTION FILE:LINE                  a function that returns 0 at once, but counts that it was called
 *   skip NAME FILE:LINE:COLUMN FUNCTION      a call of NAME, which the program does not have, is not made; its value is 0
 *   always FILE:LINE:COLUMN FUNCTION         a branch that is always taken; what its condition does is done
 *   never FILE:LINE:COLUMN FUNCTION          the same, never
 *   end FILE:LINE:COLUMN FUNCTION            a test that always ends its loop */
#ifndef RUNS_FEATURES_COUNTING_SLICES_H
#define RUNS_FEATURES_COUNTING_SLICES_H

#define FEATURES_WITHOUT_ENVIRONMENT "ASSAY_FEATURES_WITHOUT="
#define FEATURES_PIECES		     "sban" /* how their lines start among the names (format.h); in the order of their switches */
#define FEATURES_SKIP		     's'
#define FEATURES_BRANCH		     'b' /* a line "b PLACE": always PLACE, or never PLACE */
#define FEATURES_LOOP_ALWAYS	     'a' /* taken, the branch ends the loop; else, if never taken */
#define FEATURES_LOOP_NEVER	     'n'

/* In programs that count (thread_counts.c): the value of the variable "NAME=". NULL: not set, or empty. */
const char *assay_features_variable(const char *name) __attribute__((visibility("hidden")));

#endif
