/* Fetches the sample files of an instrumented run one by one and stores them with its execution. */
#ifndef RUNS_RUNNING_SAMPLES_FETCH_H
#define RUNS_RUNNING_SAMPLES_FETCH_H

#include "fleet/engine/session.h"
#include "fleet/lab/lab.h"
#include "runs/running/execution.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Sum over the sample files of one run; each file is fetched in one piece. */
#define SAMPLES_FETCH_BYTES_MAX (256u << 20)
#define SAMPLES_FETCH_FILES_MAX 1000 /* processes of one run with samples, which are useful only all together */

/* Files that a run leaves: samples of its functions; records of its calls to the outside; features counted by a counting build. */
enum samples_kind { SAMPLES_OF_FUNCTIONS, SAMPLES_OF_CALLS, SAMPLES_OF_FEATURES };

struct samples_source {
	const struct lab *lab;
	enum samples_kind kind;
	const char *directory; /* on the host */
	bool emulated;	       /* the samples of functions come from the emulation, not the probe */
};

/* Adds the files of one run to the execution. If files of functions are missing, wrong or too many, the execution is spoilt. Faults of
 * other files go to its `detail`, and its result stays. Returns false if the host has failed or nothing can be kept here; *fault, ASSAY_OK
 * at first, then says why. pack: for functions, index among the runs that the counters need. */
bool samples_fetch(struct session *session, const struct samples_source *source, size_t pack, struct execution *e,
		   struct assay_error *fault);

/* Records that the execution lacks samples: that is its outcome, unless it has a worse one. */
void samples_spoil(struct execution *e, const char *why);

#endif
