/* Pieces of a program that a run can exclude, for counts that are needed before the run (runs/commands/cmd_build.c). A piece is a function,
 * a call of a library function, or a branch. With the argument `pieces`, the plugin adds a switch to each piece; ASSAY_FEATURES_WITHOUT
 * sets the switches of a run (slices.c). With `without=FILE`, the plugin removes the pieces named in FILE.
 *
 *  skip FUNCTION FILE:LINE                the function returns 0 at once, but its call is counted
 *  skip NAME FILE:LINE:COLUMN FUNCTION    a call of NAME, which is not part of the program, is omitted; its value is 0
 *  always FILE:LINE:COLUMN FUNCTION       the branch is always taken; its condition is evaluated
 *  never FILE:LINE:COLUMN FUNCTION        the branch is never taken; its condition is evaluated
 *  end FILE:LINE:COLUMN FUNCTION          the test always ends its loop */
#ifndef RUNS_FEATURES_COUNTING_SLICES_H
#define RUNS_FEATURES_COUNTING_SLICES_H

#define FEATURES_WITHOUT_ENVIRONMENT "ASSAY_FEATURES_WITHOUT="
#define FEATURES_PIECES		     "sban" /* first letters of pieces' lines in the names (format.h); these lines have the order of the switches */
#define FEATURES_SKIP		     's'
#define FEATURES_BRANCH		     'b' /* a line "b PLACE" has two pieces: always PLACE, never PLACE */
#define FEATURES_LOOP_ALWAYS	     'a' /* the branch ends the loop if taken; with FEATURES_LOOP_NEVER, if not taken */
#define FEATURES_LOOP_NEVER	     'n'

/* Returns the value of the environment variable "NAME="; NULL if it is not set or is empty. Defined in thread_counts.c. */
const char *assay_features_variable(const char *name) __attribute__((visibility("hidden")));

#endif
