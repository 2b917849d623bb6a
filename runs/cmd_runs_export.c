/* assay runs export */
#include "base/command.h"
#include "base/file.h"
#include "base/text.h"
#include "fleet/lab/lab.h"
#include "runs/cmd.h"
#include "runs/running/quiho.h"

struct arguments {
	bool csv;
	const char *output;
};

/* What is not in the table, on standard error, which is not a part of it. */
static void remark_left_out(const struct quiho_export_result *r)
{
	const struct {
		size_t n;
		const char *what, *why;
	} rows[] = {
		{ r->fingerprints, "fingerprint", "interrupted: not exported" },
		{ r->failed, "run", "without a result: not exported" },
		{ r->other_metric, "result", "under another metric than the latest of the application: not exported" },
		{ r->other_builds, "result", "of earlier builds, which an import cannot tell from the latest one" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (rows[i].n)
			cli_remark("%zu %s%s %s", rows[i].n, rows[i].what, text_plural(rows[i].n), rows[i].why);
	}
}

static enum assay_status runs_export_run(struct lab *lab, void *arguments, struct document *d, struct assay_error *err)
{
	const struct arguments *a = arguments;
	struct quiho_export_result result = { 0 };
	struct buf out = BUF_INIT;
	enum assay_status st = quiho_export(&lab->store, &out, &result, err);

	if (!st && a->output)
		st = file_replace(a->output, out.bytes, out.size, 0644, err);
	else if (!st)
		doc_raw(d, out.bytes);
	if (!st)
		remark_left_out(&result);
	buf_release(&out);
	return st;
}

static const struct cli_option options[] = { CLI_FLAG("csv", struct arguments, csv,
						      "As comma-separated values, the only format so far and the default"),
					     CLI_OPTION(TEXT, "output", "FILE", struct arguments, output,
							"Write to FILE (replaced as a whole) instead of standard output", .letter = 'o'),
					     CLI_END };

const struct command runs_export_command = {
	.name = "runs export",
	.summary = "export all rates and results as a table",
	.about =
	    "Writes recorded rates and results as one CSV table in the layout of the quiho data package (results.csv). Importing what was "
	    "imported into an empty laboratory gives the same store. Of what was measured here, the table has the results with their "
	    "versions and directions; fingerprints that were interrupted, runs that failed, and what tells builds and "
	    "metrics apart are not in it: how many there are is said on standard error.",
	.examples = "  mkdir copy && assay runs export --csv -o copy/results.csv\n"
		    "  assay init other && assay -C other import quiho copy\n",
	.options = options,
	.arguments_bytes = sizeof(struct arguments),
	.lab = CLI_LAB_READ,
	.flags = CLI_NO_FORMAT,
	.run = runs_export_run,
};
