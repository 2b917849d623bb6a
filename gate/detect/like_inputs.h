/* Times and other counters of a call follow the size of what a program is asked to do. Where runs had several inputs, they are compared at
 * like inputs: from normal runs it is learned what each function's column should be with an input (model/anomaly/expect.h); each value is
 * then as many times the typical one as it was what its input should have. A normal run is measured by the others alone, as a new one is,
 * so that both are equally far off by chance. */
#ifndef GATE_DETECT_LIKE_INPUTS_H
#define GATE_DETECT_LIKE_INPUTS_H

#include "gate/detect/observe.h"
#include "model/anomaly/expect.h"

#define INPUT_NUMBERS_MAX 16 /* of an input that are looked at; with more, none */

/* An input is its name or, if it has none, the arguments in the samples. Its numbers are the arguments that are numbers, also after '=', ':'
 * and ','. Returns how many they are; 0: none, too many, or not equally many in all runs. */
size_t input_numbers(const struct side *side);
/* Those of a run, as asinh(): numbers [INPUT_NUMBERS_MAX]. Returns how many there are, also of more. */
size_t input_run_numbers(const struct side_run *run, double *numbers);
/* Whether some run of the one had an input of the other: not where arguments name the build, for example. O(runs of a * runs of b). */
bool input_common(const struct side *a, const struct side *b);

/* A function's column that is compared so. */
struct like_column {
	char *function, *column; /* as in the observations */
	double stretch, typical; /* asinh(value / stretch) is what is expected; its median over the normal runs */
	struct expect expect;
};

struct like_inputs {
	size_t numbers; /* of an input; 0: they are not looked at */
	char **inputs;	/* [n_inputs] SHA-256 of what they are, ascending */
	size_t n_inputs;
	struct like_column *columns; /* [n] by function, then column, each once */
	size_t n;
};

/* Changes the values of `normal` to those at the typical input. numbers: input_numbers() of it, or 0; by_input: runs of one input may
 * be compared with each other. *out: like_inputs_release(). O(samples log samples + functions *
 * runs * numbers * 40). */
void like_inputs_learn(const struct side *side, struct observed *normal, size_t numbers, bool by_input, struct like_inputs *out);
/* The same for what is judged. Samples of functions and runs with inputs of which nothing is known are removed (OBSERVE_UNLIKE). Returns
 * the number of runs with such inputs. */
size_t like_inputs_apply(const struct like_inputs *like, const struct side *side, struct observed *seen);
void like_inputs_release(struct like_inputs *like); /* accepts zeroed */

/* Appends "what 2 functions take was compared at like inputs (by number 2 of 3)", or nothing if nothing was. */
void like_inputs_text(const struct like_inputs *like, struct buf *out);

#endif
