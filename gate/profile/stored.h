/* The measured part of a profile from what hosts said of stored runs: the kernel's accounts, and samples of where time went; no model. */
#ifndef GATE_PROFILE_STORED_H
#define GATE_PROFILE_STORED_H

#include "fleet/agent/signature.h"
#include "gate/profile/parts.h"
#include "runs/running/run.h"

struct stored_run {
	const struct run *run; /* borrowed */
	struct level_run time;
	struct parts_run met;	    /* of its samples */
	struct signature signature; /* without samples where they cannot be added to the others' */
};

struct stored_time {
	char *program;		 /* the first word of the command; "": not known */
	struct stored_run *runs; /* [n], by machine, then repetition, of those that were measured here */
	size_t n;
	struct levels levels;	/* 0 runs: there are none */
	struct sampled sampled; /* of those that have samples, on all machines; why there are none where no run has any */
	struct parts parts;	/* of both */
	size_t sampled_runs;
};

/* Of the runs that count as results of the version, which must outlive it; stored_time_free() it. NULL on failure. */
enum assay_status stored_time_load(struct store *store, const struct run_set *runs, struct stored_time **out, struct assay_error *err);
void stored_time_free(struct stored_time *stored); /* accepts NULL */

#endif
