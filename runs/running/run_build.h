/* Which build a version's name stood for when it ran: the files that a plan deployed for it, and what was done with them. */
#ifndef RUNS_RUNNING_RUN_BUILD_H
#define RUNS_RUNNING_RUN_BUILD_H

#include "base/error.h"
#include "fleet/lab/store.h"
#include "runs/inside/samples/sample_files.h"
#include "runs/running/run.h"

#include <stddef.h>
#include <stdint.h>

/* A plan without a probe that has the version. */
struct run_build {
	char plan[DIGEST_ID_BYTES];
	char id[DIGEST_ID_BYTES];    /* of artefact, command, environment, arguments of the input, directory, metric: the same in
					plans of one build */
	int64_t last_ms;	     /* when it began; run_load() raises it to the last run of the version */
	size_t planned;		     /* runs of the version in it */
	double level;		     /* as in plan.h */
	struct manifest_terms terms; /* of its manifest */
};

struct run_builds {
	struct run_build *items; /* [n], by plan */
	size_t n;
};

/* *out is overwritten; run_builds_release() it. Cost: parses each manifest that differs from that of the plan before it. */
enum assay_status run_builds_load(struct store *store, const char *application, const char *version, struct run_builds *out,
				  struct assay_error *err);
void run_builds_release(struct run_builds *builds); /* accepts zeroed */

/* NULL when there is none: imported. */
struct run_build *run_builds_find(const struct run_builds *builds, const char *plan);
/* The one with the largest last_ms; NULL when there is none. */
const struct run_build *run_builds_latest(const struct run_builds *builds);

/* Sample files of one version, whose name stays while the build under it changes. Of files[*n], moves those to the end whose plans are
 * known to have run something else than `plan` (NULL: than the plan of the latest file): other programs or libraries deployed, another
 * command, environment or arguments. *n becomes how many stay, in the same order. Cost: parses both manifests. */
enum assay_status run_build_keep_samples(struct store *store, const char *plan, struct sample_file *files, size_t *n,
					 struct assay_error *err);

/* Which of the files are of plans that are known to have run something else than the latest plan that gives results of the same
 * application and version: (*out)[n], free() it. */
enum assay_status run_build_stale_samples(struct store *store, const struct sample_file *files, size_t n, bool **out,
					  struct assay_error *err);

#endif
