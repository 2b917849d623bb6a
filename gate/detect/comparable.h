/* What may make two sides incomparable, whatever their functions do: they were asked for other work, or are not versions of one
 * program. */
#ifndef GATE_DETECT_COMPARABLE_H
#define GATE_DETECT_COMPARABLE_H

#include "gate/detect/side.h"

/* Each is a text for people, to be freed, or NULL where nothing speaks against comparing. */

/* A number of the arguments is the same in all old runs and another one in most new ones, or one program had no input twice that is known
 * by numbers. NULL where some input is on both sides, or a model knows what inputs cost. Seeds that differ from run to run are no such
 * thing. */
char *comparable_inputs(const struct side *old, const struct side *new);

/* On both sides most of the work lies in several functions that the other side has not, which are most of its functions. `old` after
 * renamed_match(). O(samples). */
char *comparable_programs(const struct side *old, const struct side *new);

#endif
