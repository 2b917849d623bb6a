/* Makes counters comparable between runs with different inputs. The time and other counters of a call depend on the size of the input. From
 * normal runs with several inputs, this module learns the expected value per function, column and input (model/anomaly/expect.h). It then
 * scales each value to the typical input: typical value * value / expected value. For a normal run, it learns the expected value from the
 * other normal runs, so that normal and new runs have the same random errors. */
#ifndef GATE_DETECT_LIKE_INPUTS_H
#define GATE_DETECT_LIKE_INPUTS_H

#include "gate/detect/observe.h"
#include "model/anomaly/expect.h"

#define INPUT_NUMBERS_MAX 16 /* maximum count of numbers in an input; if there are more, none is used */

/* Returns the count of numbers in each input of a side; 0 if there are none, too many, or if the runs differ in this count. The numbers
 * are those in the arguments of a run, or in the input's name if the arguments are unknown. A number can be a whole argument, or follow
 * '=', ':' or ','. */
size_t input_count_numbers(const struct side *side);
/* Writes asinh() of each number of a run's input into numbers[INPUT_NUMBERS_MAX]. Returns the count of numbers, which can be larger. */
size_t input_parse_run_numbers(const struct side_run *run, double *numbers);
/* Reports whether both sides have an input in common; not if, for example, arguments name the build. Costs O(runs of a * runs of b). */
bool input_has_common(const struct side *a, const struct side *b);

struct like_inputs {
	size_t numbers;			   /* count of numbers per input; 0 if numbers are not used */
	size_t functions;		   /* number of functions whose values were scaled */
	bool by_number[INPUT_NUMBERS_MAX]; /* for each number of the input: whether expected values depend on it */
	bool by_input;			   /* expected values come from runs of the same input */
	size_t runs_unlike;		   /* number of runs of the new version whose inputs have no expected values */
};

/* Scales the values of both sides to the typical input of the old side. If an input has no expected values for a function, removes the
 * samples of that function and run (OBSERVE_UNLIKE). Both sides must have the same columns. Costs O(samples log samples + functions * runs
 * * numbers * 40 + runs * runs). */
struct like_inputs like_inputs_scale(const struct side *old, struct observed *normal, const struct side *new, struct observed *seen);

/* Appends a note on the scaled functions and on the numbers of the input that matter, such as "by number 2 of 3". Appends nothing if
 * there are none. */
void like_inputs_text(const struct like_inputs *like, struct buf *out);

#endif
