/* Loads the measured part of a profile from stored runs: the kernel's resource usage counters and samples, without a model. */
#ifndef GATE_PROFILE_STORED_H
#define GATE_PROFILE_STORED_H

#include "fleet/agent/signature.h"
#include "gate/profile/parts.h"
#include "runs/running/run.h"

struct stored_run {
	const struct run *run; /* the stored run; borrowed */
	struct level_run time;
	struct parts_run met;	    /* numbers of the run's samples */
	struct signature signature; /* the run's samples are removed if they cannot be added to the samples of the other runs */
};

struct stored_time {
	char *program;		 /* first argument of the command; "": not known */
	struct stored_run *runs; /* [n] runs with known times, by machine, then repetition */
	size_t n;
	struct levels levels;	/* `runs` is 0 if there are no times */
	struct sampled sampled; /* samples of all machines; if no run has samples, the reason */
	struct parts parts;	/* parts of `levels` and `sampled` */
	size_t sampled_runs;
};

/* Loads the runs that are results of the version into *out, which is NULL on failure; stored_time_free() it. The runs must outlive *out. */
enum assay_status stored_time_load(struct store *store, const struct run_set *runs, struct stored_time **out, struct assay_error *err);
void stored_time_free(struct stored_time *stored); /* accepts NULL */

#endif
