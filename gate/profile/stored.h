/* Loads the measured part of a profile from stored runs: the kernel's resource usage counters and samples. It needs no model. */
#ifndef GATE_PROFILE_STORED_H
#define GATE_PROFILE_STORED_H

#include "fleet/agent/signature.h"
#include "gate/profile/parts.h"
#include "runs/running/run.h"

struct stored_run {
	const struct run *run; /* borrowed */
	struct level_run time;
	struct parts_run sample_counts; /* numbers of the run's samples */
	struct run_usage run_usage;	/* its `samples` are NULL if they could not be added to those of the other runs */
};

struct stored_time {
	char *program;		 /* first argument of the command; "" if not known; owned */
	struct stored_run *runs; /* [n] runs with known times, sorted by machine, then by repetition */
	size_t n;
	struct levels levels;	/* its `runs` is 0 if there are no times */
	struct sampled sampled; /* samples of all machines; if there are none, the reason */
	struct parts parts;	/* computed from `levels` and `sampled` */
	size_t sampled_runs;
};

/* Loads times and samples of those runs that are results of the version. Sets *out, or sets it to NULL on failure; the caller calls
 * stored_time_free(). The runs must outlive *out. */
enum assay_status stored_time_load(struct store *store, const struct run_set *runs, struct stored_time **out, struct assay_error *err);
void stored_time_free(struct stored_time *stored); /* accepts NULL */

#endif
