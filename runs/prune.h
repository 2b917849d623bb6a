/* Removing what makes a laboratory large: what programs printed, and sample files. Results, accounts and samples of the clock stay, so
 * that every decision can still be verified. */
#ifndef RUNS_PRUNE_H
#define RUNS_PRUNE_H

#include "fleet/lab/lab.h"
#include "runs/inside/samples/sample_files.h"

struct pruned {
	int64_t executions, output_bytes;
	int64_t unused_bytes; /* inside the database: there was no room to make it smaller */
	struct sample_pruned samples;
	int64_t before_ms; /* of what was measured before */
};

/* dry_run: only counts. *out is overwritten. */
enum assay_status prune_before(struct lab *lab, int64_t before_ms, bool dry_run, struct pruned *out, struct assay_error *err);

struct store_space {
	int64_t bytes, free_bytes; /* of .assay; that its file system has left for this user */
};

/* O(files). */
enum assay_status prune_space(const struct lab *lab, struct store_space *out, struct assay_error *err);

/* The oldest first, until the store, without what is unused inside, is within its quota; nothing of the last day. *space: afterwards.
 * ASSAY_E_LIMIT: that is not enough. dry_run: only counts, and goes on as if sample files had no size, for theirs is not compressed. */
enum assay_status prune_to_quota(struct lab *lab, bool dry_run, struct pruned *out, struct store_space *space, struct assay_error *err);

#endif
