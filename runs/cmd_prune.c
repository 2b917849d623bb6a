/* assay prune */
#include "base/clock.h"
#include "base/command.h"
#include "base/text.h"
#include "fleet/lab/lab.h"
#include "runs/cmd.h"
#include "runs/inside/samples/sample_files.h"

#define DAY_MS 86400000.0
#define PRUNED "[removed by assay prune]\n"

struct arguments {
	double days;
	bool dry_run;
};

struct pruned {
	int64_t executions, bytes;
};

/* What programs have printed; results, accounts and samples of the clock stay, so that every decision can still be verified. */
static enum assay_status prune_outputs(struct store *store, int64_t before_ms, bool dry_run, struct pruned *out, struct assay_error *err)
{
	sqlite3_stmt *stmt = NULL;
	enum assay_status st =
	    store_ask(store, &stmt, err,
		      "SELECT count(*), ifnull(sum(length(out) + length(err)), 0) FROM execution WHERE taken_ms < ? AND (out <> x'' OR err "
		      "<> x'') AND out <> ?",
		      "ib", before_ms, PRUNED, sizeof(PRUNED) - 1);

	*out = (struct pruned){ 0 };
	if (!st && store_next(store, stmt, &st, err)) {
		out->executions = sqlite3_column_int64(stmt, 0);
		out->bytes = sqlite3_column_int64(stmt, 1);
	}
	sqlite3_finalize(stmt);
	if (!st && !dry_run)
		st = store_do(store, err,
			      "UPDATE execution SET out = ?, err = x'' WHERE taken_ms < ? AND (out <> x'' OR err <> x'') AND out <> ?",
			      "bib", PRUNED, sizeof(PRUNED) - 1, before_ms, PRUNED, sizeof(PRUNED) - 1);
	if (!st && !dry_run)
		st = store_do(store, err, "VACUUM", "");
	return st;
}

static enum assay_status prune_run(struct lab *lab, void *arguments, struct document *d, struct assay_error *err)
{
	const struct arguments *a = arguments;
	int64_t before_ms = clock_real_ms() - (int64_t)(a->days * DAY_MS);
	struct sample_pruned samples = { 0 };
	struct pruned outputs;
	enum assay_status st = prune_outputs(&lab->store, before_ms, a->dry_run, &outputs, err);

	if (!st && !a->dry_run)
		st = sample_keep_prune(lab, before_ms, &samples, err);
	if (st)
		return st;
	doc_line(d, "what %lld execution%s printed %s removed, %.1f MiB; all results stay, and decisions can be verified",
		 (long long)outputs.executions, text_plural((size_t)outputs.executions), a->dry_run ? "would be" : "was",
		 (double)outputs.bytes / (1 << 20));
	if (!a->dry_run)
		doc_line(d, "%zu sample file%s removed, %.1f MiB when they are not compressed", samples.files, text_plural(samples.files),
			 (double)samples.bytes / (1 << 20));
	doc_set_bool(d, "dry_run", a->dry_run);
	doc_set(d, "executions", outputs.executions);
	doc_set(d, "output_bytes", outputs.bytes);
	doc_set(d, "sample_files", samples.files);
	doc_set(d, "sample_bytes", samples.bytes);
	return ASSAY_OK;
}

static const struct cli_option options[] = {
	CLI_OPTION(REAL, "older-than", "DAYS", struct arguments, days, "By the time when it was measured (required)", .least = 0,
		   .most = 36500, .required = true),
	CLI_FLAG("dry-run", struct arguments, dry_run, "Only say what would be removed of what programs printed"),
	CLI_END,
};

const struct command prune_command = {
	.name = "prune",
	.summary = "remove what old runs printed, and old sample files",
	.about = "Removes what makes a laboratory large: what programs printed, and sample files ('assay samples prune' removes these "
		 "alone), older than so "
		 "many days. Each is marked. Results, accounts and fingerprints stay for ever: they are small, and decisions are "
		 "recomputed from "
		 "them. Of detectors, which rest on samples, only the answers stay.",
	.examples = "  assay prune --older-than 90 --dry-run\n"
		    "  assay prune --older-than 90\n",
	.options = options,
	.arguments_bytes = sizeof(struct arguments),
	.lab = CLI_LAB_WRITE,
	.run = prune_run,
};
