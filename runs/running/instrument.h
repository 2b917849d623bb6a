/* What measures functions in the runs of `assay run --probe`: what is brought to the hosts beside the versions, and what each run
 * is told. */
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
#define INSTRUMENT_RECORDER "libassay-interpose.so" /* records calls into the outside */
#define INSTRUMENT_VERSION  "1"			    /* of the library: runs/inside/probe/probe.h */

/* A version of a plan; all is borrowed. */
struct instrument_version {
	size_t version;			 /* of the manifest */
	const struct artefact *build;	 /* its own files */
	const char *repository, *commit; /* it was built from; NULL: not by git */
};

struct instrument {
	const struct manifest *manifest; /* borrowed */
	struct artefact files;		 /* the list of each version and, with the probe, its library */
	char **lists;			 /* [n] names of lists in files, by version */
	size_t *listed;			 /* [n] entry points in them */
	size_t n;
};

/* versions[n] of a plan, and the files that they have in common. `functions: changed` is what lies between versions[0] and [1],
 * of which there are two then (ASSAY_E_USAGE); ASSAY_E_NODATA when nothing does. Else as site_list(), changes_find(),
 * instrument_own_library(). *out is overwritten; instrument_release() it. */
enum assay_status instrument_make(const struct manifest *manifest, const struct instrument_version *versions, size_t n,
				  const struct artefact *files, struct instrument *out, struct assay_error *err);
void instrument_release(struct instrument *instrument); /* accepts zeroed */

/* The hash of what a version is measured with, for plan.artefacts. */
void instrument_hash(const struct instrument *instrument, size_t version, char hash[DIGEST_HEX_BYTES]);

/* Which events a host is to be asked for; false: none, runs are timed only. counting_events_release() it. */
bool instrument_events(const struct manifest_probe *probe, const struct facts *facts, struct counting_events *out);

/* Why functions cannot be measured on hosts of that architecture (NULL: not known), with the remedy; NULL: they can. free() it. */
char *instrument_refusal(const char *architecture);

/* One run of a version on a host. */
struct instrument_run {
	size_t version;			 /* of the plan */
	const char *input;		 /* name */
	uint64_t seed;			 /* which calls are measured; the same for all packs of a repetition */
	const char *files, *samples;	 /* directories on the host: of instrument.files; for sample files */
	const struct counting_run *pack; /* NULL: no counters */
};
/* "NAME=value" of its environment, for helper_request_variable(); manifest_words_release() it. */
void instrument_environment(const struct instrument *instrument, const struct instrument_run *run, struct manifest_words *out);

/* Finds a library of ours on this machine: beside this program, or in ../lib as an installation has it. free() *path. */
enum assay_status instrument_own_library(const char *name, char **path, struct assay_error *err);
/* The value of ASSAY_PROBE_COUNTERS; free() it. */
char *instrument_counters(const struct counting_run *pack);

#endif
