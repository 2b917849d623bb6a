/* Fetches the sample files of a run from the host, one by one, and stores them with its execution. */
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

/* Kind of files that a run leaves: samples of functions, records of calls to outside functions, features of a counting build. */
enum samples_kind { SAMPLES_OF_FUNCTIONS, SAMPLES_OF_CALLS, SAMPLES_OF_FEATURES };

struct samples_source {
	const struct lab *lab;
	enum samples_kind kind;
	const char *directory; /* directory on the host */
	bool emulated;	       /* samples of functions come from the emulation, not from the probe */
};

/* Adds the files of one run to the execution. Missing, wrong or too many samples of functions spoil the execution. Faults of other files
 * are noted in its `detail`, and its result stays. Returns false if the host has failed or a file cannot be stored; in the latter case sets
 * *fault, which must be ASSAY_OK before. `pack`: index of the run among those of its repetition. */
bool samples_fetch(struct session *session, const struct samples_source *source, size_t pack, struct execution *e,
		   struct assay_error *fault);

/* Sets the outcome to missing samples, unless the execution has already failed. */
void samples_spoil(struct execution *e, const char *why);

#endif
