/* When the processes of a run began, on one scale of time. Each says so by real time, which may be set meanwhile, and by the ticks that its
 * records have, which nobody sets and all processes under one kernel share. Where the two disagree ticks count, from the moment that most
 * processes there say; ranks of several kernels, of which some would have begun when others had ended, have begun at the same time. */
#ifndef GATE_VARIANCE_SCALE_H
#define GATE_VARIANCE_SCALE_H

#include "base/document.h"
#include "gate/variance/fragments.h"

/* Seconds from one moment to another: by ticks of their clock where they have the same and real time says something else. */
double scale_since(const struct fragments_moment *from, const struct fragments_moment *to);
/* Fills in start_s of all processes, which are in order, and, but for a window, what was mended on the way. */
void scale_find(struct fragments *f, const struct fragments_window *window);
/* Says what was mended, of "the candidate", or (NULL) of the one run that there is. */
void scale_tell(const struct fragments *f, const char *whose, struct document *d);

#endif
