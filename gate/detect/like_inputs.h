/* Compares counters at like inputs. Times and other counters of a call depend on the size of the input. From normal runs of several inputs,
 * the expected value of each column of a function is learned per input (model/anomaly/expect.h). Each value is then scaled to the typical
 * input: typical value * value / expected value. The expectation for a normal run is learned from the other normal runs, so that normal and
 * new runs have equal chance errors. */
#ifndef GATE_DETECT_LIKE_INPUTS_H
#define GATE_DETECT_LIKE_INPUTS_H

#include "gate/detect/observe.h"
#include "model/anomaly/expect.h"

#define INPUT_NUMBERS_MAX 16 /* maximum number of numbers in an input; of an input with more, no number is used */

/* Returns the number of numbers in each input of a side; 0: none, too many, or different counts in the side's runs. An input is its name
 * or, without a name, the arguments in the samples. Its numbers are the arguments that are numbers, also after '=', ':' and ','. */
size_t input_numbers(const struct side *side);
/* Writes asinh() of each number of a run's input into numbers[INPUT_NUMBERS_MAX]. Returns the count of numbers, which may be larger. */
size_t input_run_numbers(const struct side_run *run, double *numbers);
/* Reports whether runs of both sides have a common input (not if arguments name the build, for example). O(runs of a * runs of b). */
bool input_common(const struct side *a, const struct side *b);

struct like_inputs {
	size_t numbers;			   /* count of numbers of an input; 0: numbers are not used */
	size_t functions;		   /* number of functions compared at like inputs */
	bool by_number[INPUT_NUMBERS_MAX]; /* compared by this number */
	bool by_input;			   /* compared with runs of the same input */
	size_t runs_unlike;		   /* number of runs of the new version whose inputs have no expectation */
};

/* Scales the values of both sides to the typical input of the old side. Removes samples of functions and runs whose inputs have no
 * expectation (OBSERVE_UNLIKE). Both sides must have the same columns. O(samples log samples + functions * runs * numbers * 40 + runs *
 * runs). */
struct like_inputs like_inputs_bring(const struct side *old, struct observed *normal, const struct side *new, struct observed *seen);

/* Appends "counters of 2 functions were compared at like inputs (by number 2 of 3)", or nothing if no function was. */
void like_inputs_text(const struct like_inputs *like, struct buf *out);

#endif
