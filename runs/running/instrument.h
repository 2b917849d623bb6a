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
#define INSTRUMENT_VERSION  "1"			    /* version number that the library in runs/inside/probe/probe.h expects */

/* A version of a plan. All members belong to the caller. */
struct instrument_version {
	size_t version;			 /* index in the manifest */
	const struct artefact *build;	 /* files of only this version */
	const char *repository, *commit; /* git repository and commit of the build; NULL if the build has no git source */
};

struct instrument {
	const struct manifest *manifest; /* manifest of the plan, which belongs to the caller */
	struct artefact files;		 /* one list of entry points per version, and the probe library unless counters are emulated */
	char **lists;			 /* [n], name of each version's list in `files` */
	size_t *listed;			 /* [n], number of entry points in each list */
	size_t n;
};

/* Makes the instrument for versions[0..n) of a plan, with the files that they share. `functions: changed` in the manifest selects the
 * functions that differ between versions[0] and versions[1]; n must then be 2 (ASSAY_E_USAGE). ASSAY_E_NODATA: no function changed. Other
 * errors come from site_list(), changes_find() and instrument_find_library(). Overwrites *out; free it with instrument_release(). */
enum assay_status instrument_make(const struct manifest *manifest, const struct instrument_version *versions, size_t n,
				  const struct artefact *files, struct instrument *out, struct assay_error *err);
void instrument_release(struct instrument *instrument); /* frees the members; accepts a zeroed struct */

/* Computes the hash over all files that measure a version, which becomes part of plan.artefacts. */
void instrument_hash(const struct instrument *instrument, size_t version, char hash[DIGEST_HEX_BYTES]);

/* Selects the events to count on a host. Returns false if there are none, so that runs are only timed. Free *out with
 * counting_events_release(). */
bool instrument_choose_events(const struct manifest_probe *probe, const struct facts *facts, struct counting_events *out);

/* Returns the reason why functions cannot be measured on hosts of `architecture`, with a remedy. Returns NULL if they can be measured, or
 * if `architecture` is NULL (unknown). free() the reason. */
char *instrument_refusal(const char *architecture);

/* One run of a version on a host. */
struct instrument_run {
	size_t version;			 /* index in the plan's versions */
	const char *input;		 /* name of the input */
	uint64_t seed;			 /* seed for selecting the calls to measure; equal for all runs of a repetition */
	const char *files, *samples;	 /* directories on the host for instrument.files and for sample files */
	const struct counting_run *pack; /* events to count in this run; NULL if there are none */
};
/* Makes the environment of a run: "NAME=value" for helper_request_variable(). Free *out with manifest_arguments_release(). */
void instrument_environment(const struct instrument *instrument, const struct instrument_run *run, struct manifest_arguments *out);

/* Finds a library of assay on this machine: in the directory of the assay program, or in ../lib. The caller frees *path. */
enum assay_status instrument_find_library(const char *name, char **path, struct assay_error *err);
/* Returns the value of the variable ASSAY_PROBE_COUNTERS. The caller frees the result. */
char *instrument_counters_value(const struct counting_run *pack);

#endif
