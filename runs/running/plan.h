/* What is to be run where, in which order; kept in the store, so that a session that was killed can be resumed. */
#ifndef RUNS_RUNNING_PLAN_H
#define RUNS_RUNNING_PLAN_H

#include "base/error.h"
#include "fleet/inventory/inventory.h"
#include "fleet/lab/store.h"
#include "runs/running/manifest.h"
#include "runs/running/run.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct plan {
	char id[DIGEST_ID_BYTES]; /* of application, manifest hash, artefacts, versions, inputs, machines, repetitions, seed, time
				   */
	char *application;
	char manifest_hash[DIGEST_HEX_BYTES];
	char **versions;  /* [n_versions], names, in the order given */
	char **artefacts; /* [n_versions], hash of what is deployed for it (common files and its own) */
	size_t n_versions;
	char **inputs; /* [n_inputs], names */
	size_t n_inputs;
	char **machines; /* [n_machines], ids, in the inventory's order */
	size_t n_machines;
	int64_t repetitions, warm_ups;
	uint64_t seed;
	int64_t started_ms; /* since 1970 */
	bool complete;
	double level; /* of intervals of its results, where they were looked at while it grew (gate/decide/effect.h); NaN: they were not */
	char *probe;  /* how functions are measured in its runs (manifest_probe_text()), which are no results then; NULL: they are */
};

/* One run of a plan on a machine. */
struct plan_cell {
	size_t input, version;
	int64_t repetition; /* from 1; warm-ups are 0, -1, ... and are never results */
};

/* The runs of one machine in their order: inputs one after another, in each the warm-ups of every version, then blocks of two
 * repetitions that are each other's mirror (ABBA; with more versions a seeded order, then its reverse; an odd last one alone).
 * Same plan, same machine: same order, whatever the other machines. *out[*n]; free() it. */
void plan_order(const struct plan *plan, size_t machine, struct plan_cell **out, size_t *n);

/* Store. plan_new: id and time are filled in. plan_latest_incomplete: of an application, among plans with or without a probe;
 * ASSAY_E_NOTFOUND when there is none. plan_release() what is loaded. */
enum assay_status plan_new(struct store *store, const struct manifest *manifest, struct plan *plan, struct assay_error *err);
enum assay_status plan_latest_incomplete(struct store *store, const char *application, bool probe, struct plan *out,
					 struct assay_error *err);
/* The latest one of results with this seed, complete or not. */
enum assay_status plan_of_seed(struct store *store, const char *application, uint64_t seed, struct plan *out, struct assay_error *err);
enum assay_status plan_complete(struct store *store, const struct plan *plan, struct assay_error *err);
/* Its results are looked at with intervals of this level, and it gets as many repetitions, not fewer than it has: where these are more it
 * is incomplete again. */
enum assay_status plan_grow(struct store *store, const char *id, int64_t repetitions, double level, struct assay_error *err);
void plan_release(struct plan *plan); /* accepts zeroed */

/* May the plan be resumed? `manifest` as it is now; artefacts[plan->n_versions] are the hashes of what would be deployed
 * now. ASSAY_E_CONFLICT says what has changed: of the manifest, or which version's files (and what is deployed with them). */
enum assay_status plan_check(struct store *store, const struct plan *plan, const struct manifest *manifest, struct assay_error *err);
enum assay_status plan_check_artefacts(const struct plan *plan, char *const *artefacts, struct assay_error *err);

/* ---- which versions, inputs and machines ---- */

#define PLAN_CELLS_MAX 1000000 /* runs of one machine */

/* What the user asked for; all is borrowed. */
struct plan_choice {
	struct manifest_words versions, inputs; /* names; n == 0: all */
	int64_t repetitions;			/* 0: the manifest's */
	bool has_seed;
	uint64_t seed; /* else one is drawn */
	bool probe;    /* functions are measured, as the manifest's `probe` says */
};

/* A plan that is not in the store yet: all but id, time and the artefacts' hashes, which are "". ASSAY_E_USAGE for names that the
 * manifest does not have (with the nearest) and names that come twice, and for a probe of which the manifest says nothing. *out
 * is overwritten; plan_release() it. */
enum assay_status plan_choose(const struct manifest *manifest, const struct plan_choice *choice, const struct host *const *hosts, size_t n,
			      struct plan *out, struct assay_error *err);

/* Does the choice contradict a plan that is to be resumed? hosts: NULL when no hosts were named. ASSAY_E_USAGE. */
enum assay_status plan_check_choice(const struct plan *plan, const struct plan_choice *choice, const struct host *const *hosts, size_t n,
				    struct assay_error *err);

/* The hosts of a plan's machines, in its order: (*out)[plan->n_machines] borrowed from the inventory; free(*out).
 * ASSAY_E_NOTFOUND when one of them is no longer in lab.yaml. */
enum assay_status plan_hosts(const struct plan *plan, const struct inventory *inventory, const struct host ***out, struct assay_error *err);

#endif
