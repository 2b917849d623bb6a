/* Fetches the files that a run wrote on its host, one by one, and adds them to the run's execution. */
#ifndef RUNS_RUNNING_SAMPLES_FETCH_H
#define RUNS_RUNNING_SAMPLES_FETCH_H

#include "fleet/engine/session.h"
#include "fleet/lab/lab.h"
#include "runs/running/execution.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Maximum sum of the sizes of the sample files of one run. Each file is fetched in one piece. */
#define SAMPLES_FETCH_BYTES_MAX (256u << 20)
#define SAMPLES_FETCH_FILES_MAX 1000 /* maximum number of processes with samples in one run; samples are only useful if complete */

/* Kinds of files that a run writes: samples of functions, records of calls to outside functions, features of a counting build. */
enum samples_kind { SAMPLES_OF_FUNCTIONS, SAMPLES_OF_CALLS, SAMPLES_OF_FEATURES };

struct samples_source {
	const struct lab *lab;
	enum samples_kind kind;
	const char *directory; /* directory on the host */
	bool emulated;	       /* true if samples of functions come from the emulation, not from the probe */
};

/* Adds the files of one run to the execution. If samples of functions are missing, wrong or too many, the execution fails
 * (samples_mark_missing()). Faults of other files are only noted in its `detail`. `pack` is the index of the run among those of its
 * repetition. Returns false if the host has failed, or if a file cannot be stored; *fault, which must be ASSAY_OK before, is set only in
 * the latter case. */
bool samples_fetch(struct session *session, const struct samples_source *source, size_t pack, struct execution *e,
		   struct assay_error *fault);

/* Sets the outcome to EXECUTION_NO_SAMPLES for the reason `why`, unless the execution has already failed. */
void samples_mark_missing(struct execution *e, const char *why);

#endif
