/* Removes bulky data of a laboratory: the output of programs, and sample files. Keeps results, resource usage counters and clock samples,
 * so that every decision can still be verified. */
#ifndef RUNS_PRUNE_H
#define RUNS_PRUNE_H

#include "fleet/lab/lab.h"
#include "runs/inside/samples/sample_files.h"

struct pruned {
	int64_t executions, output_bytes;
	int64_t unused_bytes; /* size of free pages in the database, bytes; 0 if the database could be shrunk */
	struct sample_pruned samples;
	int64_t before_ms; /* time limit, ms since 1970; earlier measurements are pruned */
};

/* Prunes executions before `before_ms` (ms since 1970) and overwrites *out. With `dry_run`, only counts them. */
enum assay_status prune_before(struct lab *lab, int64_t before_ms, bool dry_run, struct pruned *out, struct assay_error *err);

struct store_space {
	int64_t bytes, free_bytes; /* size of .assay, and free space of its file system for this user, bytes */
};

/* Measures the size of the store and the free space. O(files). */
enum assay_status prune_measure_space(const struct lab *lab, struct store_space *out, struct assay_error *err);

/* Removes the oldest data until the store without its unused pages fits the quota. Keeps the last day. *space: space afterwards.
 * ASSAY_E_LIMIT: still too large. `dry_run`: only counts; sample files count as 0 bytes, because their compressed sizes are unknown. */
enum assay_status prune_to_quota(struct lab *lab, bool dry_run, struct pruned *out, struct store_space *space, struct assay_error *err);

#endif
