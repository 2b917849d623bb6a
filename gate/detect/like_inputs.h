/* Times and other counters of a call follow the size of what a program is asked to do. Where runs had several inputs, they are compared at
 * like inputs: from normal runs it is learned what each function's column should be with an input (model/anomaly/expect.h); each value is
 * then as many times the typical one as it was what its input should have. A normal run is measured by the others alone, as a new one is,
 * so that both are equally far off by chance. */
#ifndef GATE_DETECT_LIKE_INPUTS_H
#define GATE_DETECT_LIKE_INPUTS_H

#include "gate/detect/observe.h"
#include "model/anomaly/expect.h"

#define INPUT_NUMBERS_MAX 16 /* of an input that are looked at; with more, none */

/* An input is its name or, if it has none, the arguments in the samples. Its numbers are the arguments that are numbers, also after '=',
 * ':' and ','. Returns how many they are; 0: none, too many, or not equally many in all runs. */
size_t input_numbers(const struct side *side);
/* Those of a run, as asinh(): numbers [INPUT_NUMBERS_MAX]. Returns how many there are, also of more. */
size_t input_run_numbers(const struct side_run *run, double *numbers);
/* Whether some run of the one had an input of the other: not where arguments name the build, for example. O(runs of a * runs of b). */
bool input_common(const struct side *a, const struct side *b);

struct like_inputs {
	size_t numbers;			   /* of an input; 0: they are not looked at */
	size_t functions;		   /* compared at like inputs */
	bool by_number[INPUT_NUMBERS_MAX]; /* by which numbers */
	bool by_input;			   /* by runs of the same input */
	size_t runs_unlike;		   /* of the new version, with inputs of which nothing is known */
};

/* Changes the values of both sides to those at the typical input of the old one. Samples of functions and runs with inputs of which nothing
 * is known are removed (OBSERVE_UNLIKE). Both sides have the same columns. O(samples log samples + functions * runs * numbers * 40 + runs *
 * runs). */
struct like_inputs like_inputs_bring(const struct side *old, struct observed *normal, const struct side *new, struct observed *seen);

/* Appends "what 2 functions take was compared at like inputs (by number 2 of 3)", or nothing if nothing was. */
void like_inputs_text(const struct like_inputs *like, struct buf *out);

#endif
