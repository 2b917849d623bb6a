/* The sample files of an instrumented run, brought here one by one and kept with its execution. */
#ifndef RUNS_RUNNING_SAMPLES_FETCH_H
#define RUNS_RUNNING_SAMPLES_FETCH_H

#include "fleet/engine/session.h"
#include "fleet/lab/lab.h"
#include "runs/running/execution.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* All sample files of one run; a file is fetched in one piece. */
#define SAMPLES_FETCH_BYTES_MAX (256u << 20)
#define SAMPLES_FETCH_FILES_MAX 1000 /* processes of one run that have samples, which are of use only all together */

/* What a run has left: sample files of its functions; records of its calls into the outside; features that a counting build has counted. */
enum samples_kind { SAMPLES_OF_FUNCTIONS, SAMPLES_OF_CALLS, SAMPLES_OF_FEATURES };

struct samples_source {
	const struct lab *lab;
	enum samples_kind kind;
	const char *directory; /* on the host */
	bool emulated;	       /* of functions: they are the emulation's, not the probe's */
};

/* Files of one run become part of the execution. Where those of functions are missing, wrong or too many, it is spoilt; what is wrong with
 * others is its `detail`, and its result stays. False when the host has failed, or nothing can be kept here: then *fault, which starts as
 * ASSAY_OK, says why. pack: of functions, which of the runs that the counters take. */
bool samples_fetch(struct session *session, const struct samples_source *source, size_t pack, struct execution *e,
		   struct assay_error *fault);

/* The execution has no samples, or not all: that is its outcome, unless there is a worse one. */
void samples_spoil(struct execution *e, const char *why);

#endif
