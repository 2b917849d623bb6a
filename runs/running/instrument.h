/* Measures functions in the runs of `assay run --probe`: files deployed to hosts in addition to the versions, and the environment of each
 * run. */
#ifndef RUNS_RUNNING_INSTRUMENT_H
#define RUNS_RUNNING_INSTRUMENT_H

#include "base/error.h"
#include "fleet/counters/countable.h"
#include "fleet/agent/facts.h"
#include "runs/running/artefact.h"
#include "runs/running/manifest.h"

#include <stdbool.h>
#include <stddef.h>

#define INSTRUMENT_LIBRARY  "libassay-probe.so"
#define INSTRUMENT_RECORDER "libassay-interpose.so" /* records calls to the outside */
#define INSTRUMENT_VERSION  "1"			    /* version of the library in runs/inside/probe/probe.h */

/* A version of a plan; all is borrowed. */
struct instrument_version {
	size_t version;			 /* index in the manifest */
	const struct artefact *build;	 /* its own files */
	const char *repository, *commit; /* it was built from these; NULL: not built by git */
};

struct instrument {
	const struct manifest *manifest; /* borrowed */
	struct artefact files;		 /* the list of each version and, with the probe, its library */
	char **lists;			 /* [n] names of the lists in files, by version */
	size_t *listed;			 /* [n] number of entry points in each list */
	size_t n;
};

/* Makes the instrument for versions[n] of a plan and their common `files`. With `functions: changed` it measures changes between
 * versions[0] and [1]; then n must be 2 (ASSAY_E_USAGE). ASSAY_E_NODATA: nothing changed. Other errors: see site_list(), changes_find(),
 * instrument_own_library(). Overwrites *out; instrument_release() it. */
enum assay_status instrument_make(const struct manifest *manifest, const struct instrument_version *versions, size_t n,
				  const struct artefact *files, struct instrument *out, struct assay_error *err);
void instrument_release(struct instrument *instrument); /* accepts a zeroed struct */

/* Hashes everything that measures a version, for plan.artefacts. */
void instrument_hash(const struct instrument *instrument, size_t version, char hash[DIGEST_HEX_BYTES]);

/* Chooses the events to request from a host. Returns false if there are none: then runs are only timed. counting_events_release() it. */
bool instrument_events(const struct manifest_probe *probe, const struct facts *facts, struct counting_events *out);

/* Returns why functions cannot be measured on hosts of that architecture (NULL: unknown), with the remedy; NULL: they can. free() it. */
char *instrument_refusal(const char *architecture);

/* One run of a version on a host. */
struct instrument_run {
	size_t version;			 /* index in the plan */
	const char *input;		 /* name of the input */
	uint64_t seed;			 /* selects the measured calls; equal for all packs of a repetition */
	const char *files, *samples;	 /* directories on the host: for instrument.files; for sample files */
	const struct counting_run *pack; /* NULL: no counters */
};
/* Makes the "NAME=value" words of the run's environment for helper_request_variable(); manifest_words_release() them. */
void instrument_environment(const struct instrument *instrument, const struct instrument_run *run, struct manifest_words *out);

/* Finds a library of assay on this machine: next to this program, or in ../lib if installed. free() *path. */
enum assay_status instrument_own_library(const char *name, char **path, struct assay_error *err);
/* Returns the value of ASSAY_PROBE_COUNTERS; free() it. */
char *instrument_counters(const struct counting_run *pack);

#endif
