/* A plan: the runs to make on each machine, and their order. It is stored, so that an interrupted session can be resumed. */
#ifndef RUNS_RUNNING_PLAN_H
#define RUNS_RUNNING_PLAN_H

#include "base/error.h"
#include "fleet/lab/store.h"
#include "runs/running/manifest.h"
#include "runs/running/run.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct plan {
	char id[DIGEST_ID_BYTES]; /* hash over application, manifest hash, artefacts, versions, inputs, machines, repetitions, seed, time */
	char *application;
	char manifest_hash[DIGEST_HEX_BYTES];
	char **versions;     /* [n_versions], names in the order in which the user chose them */
	char **artefacts;    /* [n_versions], hash over all files that are deployed for each version */
	char **plain_builds; /* [n_versions], hash of the plain build if a variant is deployed, else NULL; the array is NULL after
				plan_find() */
	size_t n_versions;
	char **inputs; /* [n_inputs], names of the inputs */
	size_t n_inputs;
	char **machines; /* [n_machines], ids in the order of the inventory */
	size_t n_machines;
	int64_t repetitions, warm_ups;
	uint64_t seed;
	int64_t started_ms; /* start time, ms since 1970 */
	bool complete;
	double level; /* confidence level of the plan's intervals if there were interim analyses (gate/decide/effect.h); else NaN */
	char *probe;  /* manifest_probe_text() if the runs measure functions; NULL if they give results */
};

/* One run of a plan on a machine. */
struct plan_cell {
	size_t input, version;
	int64_t repetition; /* from 1; warm-ups have 0, -1, ... and give no results */
};

/* Returns the runs of one machine in their order, input by input. Each input has first the warm-ups of every version, then blocks of two
 * mirrored repetitions: the versions in a seeded random order, then in the reverse order (ABBA). An odd last repetition is single. The
 * order depends only on the plan and this machine. Sets *out to an array of *n elements; free() it. */
void plan_order(const struct plan *plan, size_t machine, struct plan_cell **out, size_t *n);

/* Stores a new plan. Sets its id and time. */
enum assay_status plan_new(struct store *store, const struct manifest *manifest, struct plan *plan, struct assay_error *err);
/* Finds the latest incomplete plan of an application, with or without a probe. If `seed` is not NULL, finds the latest plan with this seed,
 * complete or not. ASSAY_E_NOTFOUND: there is none. Free *out with plan_release(). */
enum assay_status plan_find(struct store *store, const char *application, bool probe, const uint64_t *seed, struct plan *out,
			    struct assay_error *err);
enum assay_status plan_mark_complete(struct store *store, const struct plan *plan, struct assay_error *err);
/* Records an interim analysis with its confidence level. May raise the number of repetitions, which makes the plan incomplete, but never
 * lowers this number. */
enum assay_status plan_add_repetitions(struct store *store, const char *id, int64_t repetitions, double level, struct assay_error *err);
void plan_release(struct plan *plan); /* frees the members; accepts a zeroed struct */

/* ---- metrics of stored plans ---- */

struct plan_metric {
	char plan[DIGEST_ID_BYTES];
	char hash[DIGEST_HEX_BYTES]; /* hash of the metric in the plan's manifest; "" if this version of assay cannot read the manifest */
	bool higher_is_better;
	int64_t started_ms;
};

struct plan_metrics {
	struct plan_metric *items; /* [n], sorted by plan; without plans that have a probe */
	size_t n;
};

/* Loads the metrics of all plans. Overwrites *out; plan_metrics_release() frees it. Parses each manifest that differs from the previous one
 * of its application. */
enum assay_status plan_metrics_load(struct store *store, struct plan_metrics *out, struct assay_error *err);
void plan_metrics_release(struct plan_metrics *metrics); /* frees the members; accepts a zeroed struct */

/* Returns the metric of a plan; NULL if there is no such plan, or its manifest cannot be read. */
const struct plan_metric *plan_metrics_find(const struct plan_metrics *metrics, const char *plan);

#endif
