/* Where the time of two versions went, as folded stacks with two columns: a line a part, "APPLICATION;LEVEL;PART;FUNCTION BASELINE
 * CANDIDATE", microseconds a run; of the application's own files by function. Programs that draw flame graphs read it as a difference. */
#ifndef GATE_PROFILE_FOLDED_H
#define GATE_PROFILE_FOLDED_H

#include "base/buf.h"
#include "gate/profile/stored.h"

/* The two sides' runs and what stored_time_load() says of them. Appends; returns how many lines there are: none where neither has runs
 * whose time is known. */
size_t folded_difference(const struct run_set runs[2], struct stored_time *const stored[2], struct buf *out);

#endif
