/* A part of a run's fragments. */
#ifndef GATE_VARIANCE_WINDOW_H
#define GATE_VARIANCE_WINDOW_H

#include "gate/variance/fragments.h"

/* Of fragments with times since the run's beginning, and snapshots in order: what ended outside of the window goes, and times begin with
 * what is left. O(fragments and snapshots). */
void fragments_cut(struct fragments *fragments, const struct fragments_window *window);

#endif
