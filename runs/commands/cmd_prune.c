/* The command 'assay prune': removes the output of old runs, and old sample files. */
#include "base/clock.h"
#include "base/command.h"
#include "base/text.h"
#include "fleet/lab/lab.h"
#include "runs/commands/runs_commands.h"
#include "runs/prune.h"

#define DAY_MS 86400000.0
#define GIB    (1024. * 1024 * 1024)
#define NO_AGE -1

struct arguments {
	double days;
	bool dry_run, samples;
};

static enum assay_status prune_run(struct lab *lab, void *arguments, struct document *d, struct assay_error *err)
{
	const struct arguments *a = arguments;
	struct pruned pruned = { .executions = 0 };
	struct store_space space;
	const double quota = lab->config.quota_gib * GIB;
	enum assay_status st;
	bool over;

	if (a->samples && a->days < 0)
		st = assay_fail(err, ASSAY_E_USAGE, "--samples needs --older-than DAYS");
	else if (a->samples)
		st = sample_file_prune(lab, clock_real_ms() - (int64_t)(a->days * DAY_MS), a->dry_run, &pruned.samples, err);
	else if (a->days >= 0)
		st = prune_before(lab, clock_real_ms() - (int64_t)(a->days * DAY_MS), a->dry_run, &pruned, err);
	else if (quota > 0)
		st = prune_to_quota(lab, a->dry_run, &pruned, &space, err);
	else
		st = assay_fail(err, ASSAY_E_USAGE, "give --older-than DAYS, or set quota_gib in lab.yaml");
	if (!st)
		st = prune_measure_space(lab, &space, err);
	if (st)
		return st;
	if (!a->samples)
		doc_line(d, "the output of %lld execution%s %s removed, %.1f MiB; all results remain, and decisions can be verified",
			 (long long)pruned.executions, text_plural((size_t)pruned.executions), a->dry_run ? "would be" : "was",
			 (double)pruned.output_bytes / (1 << 20));
	doc_line(d, "%zu sample file%s %sremoved, %.1f MiB when they are not compressed", pruned.samples.files,
		 text_plural(pruned.samples.files), a->dry_run ? "would be " : "", (double)pruned.samples.bytes / (1 << 20));
	if (pruned.unused_bytes)
		doc_line(d, "runs.db keeps its size, because the disk is too full to rewrite it: %.1f MiB in it are free for new results",
			 (double)pruned.unused_bytes / (1 << 20));
	doc_line(d, "the store has %.1f MiB now", (double)space.bytes / (1 << 20));
	over = a->dry_run && a->days < 0 && (double)(space.bytes - pruned.output_bytes) > quota;
	if (over) {
		doc_line(d, "the store is still larger than quota_gib in lab.yaml, %.4g: raise the quota, or remove builds (.assay/builds)",
			 lab->config.quota_gib);
		d->exit_status = assay_status_exit_code(ASSAY_E_LIMIT);
	}
	doc_set_bool(d, "dry_run", a->dry_run);
	doc_set_bool(d, "over_quota", over);
	doc_set(d, "executions", pruned.executions);
	doc_set(d, "output_bytes", pruned.output_bytes);
	doc_set(d, "sample_files", pruned.samples.files);
	doc_set(d, "sample_bytes", pruned.samples.bytes);
	doc_set(d, "unused_bytes", pruned.unused_bytes);
	doc_set(d, "store_bytes", space.bytes);
	return ASSAY_OK;
}

static const struct cli_option options[] = {
	CLI_OPTION(REAL, "older-than", "DAYS", struct arguments, days,
		   "Age of the measurement in days (default: as much as quota_gib of lab.yaml needs)", .least = 0, .most = 36500),
	CLI_FLAG("dry-run", struct arguments, dry_run, "Show what would be removed; remove nothing"),
	CLI_FLAG("samples", struct arguments, samples, "Remove only sample files"),
	CLI_END,
};
static const struct arguments defaults = { .days = NO_AGE };

const struct command prune_command = {
	.name = "prune",
	.summary = "remove the output of old runs, and old sample files",
	.about = "Removes the largest parts of a laboratory: the output of programs and sample files older than the given days; without "
		 "--older-than the oldest ones, until the store is within quota_gib of lab.yaml. Their rows remain and are marked. "
		 "Results, resource usage and fingerprints are never removed: they are small, and decisions are recomputed from them. "
		 "Decisions that use removed sample files remain, but can no longer be verified.",
	.examples = "  assay prune --older-than 90 --dry-run\n"
		    "  assay prune --older-than 90\n"
		    "  assay prune --older-than 90 --samples\n"
		    "  assay prune\n",
	.options = options,
	.defaults = &defaults,
	CLI_RUN(struct arguments, CLI_LAB_WRITE, prune_run),
};
