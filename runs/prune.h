/* Removes the bulk of a laboratory: output of programs, and sample files. Results, resource usage counters and clock samples stay, so that
 * every decision can still be verified. */
#ifndef RUNS_PRUNE_H
#define RUNS_PRUNE_H

#include "fleet/lab/lab.h"
#include "runs/inside/samples/sample_files.h"

struct pruned {
	int64_t executions, output_bytes;
	int64_t unused_bytes; /* inside the database: there was no space to shrink it */
	struct sample_pruned samples;
	int64_t before_ms; /* measurements before this time, ms since 1970 */
};

/* Prunes executions before a time. dry_run: only counts. *out is overwritten. */
enum assay_status prune_before(struct lab *lab, int64_t before_ms, bool dry_run, struct pruned *out, struct assay_error *err);

struct store_space {
	int64_t bytes, free_bytes; /* size of .assay; space left for this user in its file system */
};

/* Measures the space. O(files). */
enum assay_status prune_space(const struct lab *lab, struct store_space *out, struct assay_error *err);

/* Prunes, the oldest first, until the store, without its unused space, is within its quota; keeps the last day. *space: the result.
 * ASSAY_E_LIMIT: not enough. dry_run: only counts, and assumes that sample files have no size, since their compressed sizes are unknown. */
enum assay_status prune_to_quota(struct lab *lab, bool dry_run, struct pruned *out, struct store_space *space, struct assay_error *err);

#endif
