/* Removes bulky data of a laboratory: output of programs and sample files. Keeps results, resource usage counters and clock samples, so
 * that every decision can still be verified. */
#ifndef RUNS_PRUNE_H
#define RUNS_PRUNE_H

#include "fleet/lab/lab.h"
#include "runs/inside/samples/sample_files.h"

struct pruned {
	int64_t executions, output_bytes;
	int64_t unused_bytes; /* free pages in the database, bytes, if the disk had no space for shrinking the database */
	struct sample_pruned samples;
	int64_t before_ms; /* limit in ms since 1970: earlier measurements are pruned */
};

/* Prunes executions before `before_ms`. `dry_run`: only counts. Overwrites *out. */
enum assay_status prune_before(struct lab *lab, int64_t before_ms, bool dry_run, struct pruned *out, struct assay_error *err);

struct store_space {
	int64_t bytes, free_bytes; /* size of .assay, bytes; free space of .assay's file system for this user, bytes */
};

/* Measures the size of the store and the free space. O(files). */
enum assay_status prune_space(const struct lab *lab, struct store_space *out, struct assay_error *err);

/* Removes the oldest data until the store, without unused pages, fits its quota; keeps the last day. *space: size afterwards.
 * ASSAY_E_LIMIT: still too large. `dry_run`: only counts, with sample files as empty because their compressed sizes are unknown. */
enum assay_status prune_to_quota(struct lab *lab, bool dry_run, struct pruned *out, struct store_space *space, struct assay_error *err);

#endif
