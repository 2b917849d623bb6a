/* When the processes of a run began, on one scale of time. Each has recorded that by real time, whose clock may be set during the run, and
 * by the ticks of its records, which cannot be set and are the same for all processes under one kernel. If the two disagree, ticks count,
 * from the start that most processes there agree on. If ranks under one kernel would have begun after those under another had ended, they
 * are taken to have begun at the same time. */
#ifndef GATE_VARIANCE_SCALE_H
#define GATE_VARIANCE_SCALE_H

#include "base/document.h"
#include "gate/variance/fragments.h"

/* Seconds from one moment to another: by real time, or by ticks if both have the same clock and the two disagree. */
double scale_since(const struct fragments_moment *from, const struct fragments_moment *to);
/* Fills start_s of all processes, which are in order, and (except for a window) the clocks that were corrected. */
void scale_find(struct fragments *f, const struct fragments_window *window);
/* Tells which clocks were corrected; whose: "the candidate", or NULL for a single run. */
void scale_tell(const struct fragments *f, const char *whose, struct document *d);

#endif
