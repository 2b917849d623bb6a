/* Measures functions in the runs of `assay run --probe`: additional files for the hosts, and the environment of each run. */
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
#define INSTRUMENT_RECORDER "libassay-interpose.so" /* library that records calls to outside functions */
#define INSTRUMENT_VERSION  "1"			    /* value that the library in runs/inside/probe/probe.h expects */

/* A version of a plan; all members are borrowed. */
struct instrument_version {
	size_t version;			 /* index in the manifest */
	const struct artefact *build;	 /* files of this version only */
	const char *repository, *commit; /* git source of the build; NULL if the build has no git source */
};

struct instrument {
	const struct manifest *manifest; /* borrowed */
	struct artefact files;		 /* list of entry points per version and, unless counters are emulated, the probe library */
	char **lists;			 /* [n], names of the lists in `files` */
	size_t *listed;			 /* [n], number of entry points in each list */
	size_t n;
};

/* Makes the instrument for versions[0..n) of a plan and their common `files`. `functions: changed` in the manifest selects changes between
 * versions[0] and [1]. ASSAY_E_USAGE: then n must be 2. ASSAY_E_NODATA: nothing changed. Other errors: see site_list(), changes_find(),
 * instrument_own_library(). Overwrites *out; instrument_release() it. */
enum assay_status instrument_make(const struct manifest *manifest, const struct instrument_version *versions, size_t n,
				  const struct artefact *files, struct instrument *out, struct assay_error *err);
void instrument_release(struct instrument *instrument); /* accepts a zeroed struct */

/* Computes the hash over all files that measure a version, for plan.artefacts. */
void instrument_hash(const struct instrument *instrument, size_t version, char hash[DIGEST_HEX_BYTES]);

/* Chooses events to count on a host. Returns false if there are no such events, so runs are only timed. counting_events_release() it. */
bool instrument_events(const struct manifest_probe *probe, const struct facts *facts, struct counting_events *out);

/* Returns why functions cannot be measured on hosts of `architecture` (NULL: unknown), with a remedy; NULL if they can. free() it. */
char *instrument_refusal(const char *architecture);

/* One run of a version on a host. */
struct instrument_run {
	size_t version;			 /* index in the plan's versions */
	const char *input;		 /* name of the input */
	uint64_t seed;			 /* selects the calls to measure; equal for all runs of a repetition */
	const char *files, *samples;	 /* directories on the host, of instrument.files and for sample files */
	const struct counting_run *pack; /* events to count in this run; NULL: none */
};
/* Makes the environment of a run, "NAME=value" for helper_request_variable(). manifest_arguments_release() it. */
void instrument_environment(const struct instrument *instrument, const struct instrument_run *run, struct manifest_arguments *out);

/* Finds a library of assay on this machine: next to the assay program, or in ../lib. free() *path. */
enum assay_status instrument_own_library(const char *name, char **path, struct assay_error *err);
/* Returns the value of the variable ASSAY_PROBE_COUNTERS; free() it. */
char *instrument_counters(const struct counting_run *pack);

#endif
