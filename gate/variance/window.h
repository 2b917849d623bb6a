/* A part of a run's fragments. */
#ifndef GATE_VARIANCE_WINDOW_H
#define GATE_VARIANCE_WINDOW_H

#include "gate/variance/fragments.h"

/* Removes what ended outside the window from fragments with times since the run's beginning, whose snapshots are in order; times then begin
 * with what is left. O(fragments + snapshots). */
void fragments_cut(struct fragments *fragments, const struct fragments_window *window);

#endif
