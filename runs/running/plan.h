/* A plan: which runs to make where, in which order. It is stored, so that a killed session can be resumed. */
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
	char id[DIGEST_ID_BYTES]; /* over application, manifest hash, artefacts, versions, inputs, machines, repetitions, seed, time */
	char *application;
	char manifest_hash[DIGEST_HEX_BYTES];
	char **versions;  /* [n_versions], names, in the order given */
	char **artefacts; /* [n_versions], hash over deployed files (common and own) */
	char **plains; /* [n_versions], if a variant is deployed: hash of the plain build, else NULL; the array is NULL after plan_find() */
	size_t n_versions;
	char **inputs; /* [n_inputs], names */
	size_t n_inputs;
	char **machines; /* [n_machines], ids, in inventory order */
	size_t n_machines;
	int64_t repetitions, warm_ups;
	uint64_t seed;
	int64_t started_ms; /* ms since 1970 */
	bool complete;
	double level; /* level of its intervals if the plan had interim analyses (gate/decide/effect.h); else NaN */
	char *probe;  /* how its runs measure functions (manifest_probe_text()) instead of results; NULL: they give results */
};

/* One run of a plan on a machine. */
struct plan_cell {
	size_t input, version;
	int64_t repetition; /* from 1; warm-ups are 0, -1, ... and never results */
};

/* Orders the runs of one machine: inputs one after another; per input, warm-ups of every version, then blocks of two mirrored repetitions
 * (ABBA; with more versions a seeded order, then its reverse; an odd last repetition is single). The order depends only on plan and
 * machine, not on other machines. *out[*n]; free() it. */
void plan_order(const struct plan *plan, size_t machine, struct plan_cell **out, size_t *n);

/* Stores a new plan and fills in its id and time. */
enum assay_status plan_new(struct store *store, const struct manifest *manifest, struct plan *plan, struct assay_error *err);
/* Finds the latest incomplete plan of an application, with or without a probe. If `seed` is not NULL, finds the latest one with this seed,
 * complete or not. ASSAY_E_NOTFOUND: there is none. plan_release() *out. */
enum assay_status plan_find(struct store *store, const char *application, bool probe, const uint64_t *seed, struct plan *out,
			    struct assay_error *err);
enum assay_status plan_complete(struct store *store, const struct plan *plan, struct assay_error *err);
/* Records an interim analysis at this level and sets the number of repetitions, never below the present one. With more repetitions the plan
 * becomes incomplete again. */
enum assay_status plan_grow(struct store *store, const char *id, int64_t repetitions, double level, struct assay_error *err);
void plan_release(struct plan *plan); /* accepts a zeroed struct */

/* ---- better direction of a plan's metric, from the manifest stored with the plan ---- */

struct plan_metric {
	char plan[DIGEST_ID_BYTES];
	char hash[DIGEST_HEX_BYTES]; /* hash of the metric; "": this program cannot read the manifest */
	bool higher_is_better;
	int64_t started_ms;
};

struct plan_metrics {
	struct plan_metric *items; /* [n], sorted by plan; without plans with a probe */
	size_t n;
};

/* Overwrites *out; plan_metrics_release() it. Cost: parses each manifest that differs from the one of the application's plan before it. */
enum assay_status plan_metrics_load(struct store *store, struct plan_metrics *out, struct assay_error *err);
void plan_metrics_release(struct plan_metrics *metrics); /* accepts a zeroed struct */

/* Returns NULL if there is no such plan or its manifest cannot be read. */
const struct plan_metric *plan_metrics_find(const struct plan_metrics *metrics, const char *plan);

#endif
