/* One machine under several conditions: where the battery was measured with something dearer, and the application was counted by doses
 * (runs/running/shaped.h), the machine with the same dose is a further row of the model, of the machine's own type. */
#ifndef GATE_PROFILE_SHAPED_ROWS_H
#define GATE_PROFILE_SHAPED_ROWS_H

#include "gate/profile/profile.h"
#include "runs/running/shaped.h"

/* Fills rows->shaped from machines[n] of the same runs: a row for each shape of which the count is known, and under which all stressors of
 * the rows were measured on that machine. */
void shaped_rows_of(const struct shaped_machine *machines, size_t n, const struct run_set *runs, const struct dataset *dataset,
		    struct profile_rows *rows);

/* Whether they are rows, and why: nothing where there are none. */
void shaped_rows_answer(const struct profile *profile, struct document *d);

#endif
