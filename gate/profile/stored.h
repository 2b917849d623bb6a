/* The measured part of a profile from what hosts have said of the runs in the store: the kernel's accounts of each, and samples of where
 * its time went. No model is in between. */
#ifndef GATE_PROFILE_STORED_H
#define GATE_PROFILE_STORED_H

#include "base/buf.h"
#include "gate/profile/parts.h"
#include "runs/running/run.h"

struct stored_time {
	struct levels levels;	/* 0 runs: there are none that were measured here */
	struct sampled sampled; /* of those that have samples, on all machines; why there are none where no run has any */
	struct parts parts;	/* of both */
	size_t sampled_runs;
};

/* Of the runs that count as results of the version; stored_time_free() it. NULL on failure. */
enum assay_status stored_time_load(struct store *store, const struct run_set *runs, struct stored_time **out, struct assay_error *err);
void stored_time_free(struct stored_time *stored); /* accepts NULL */

/* Where the time of two versions went, as folded stacks with two columns: a line a part, "APPLICATION;LEVEL;PART;FUNCTION BASELINE
 * CANDIDATE", microseconds a run; of the application's own files by function. Programs that draw flame graphs read it as a difference.
 *
 * The two sides' runs and what stored_time_load() says of them. Appends; returns how many lines there are: none where neither has runs
 * whose time is known. */
size_t folded_difference(const struct run_set runs[2], struct stored_time *const stored[2], struct buf *out);

#endif
