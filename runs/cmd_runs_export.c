#include "base/cli.h"
#include "base/file.h"
#include "base/text.h"
#include "fleet/lab/lab.h"
#include "runs/cmd.h"
#include "runs/running/quiho.h"

static const char doc[] =
    "Writes recorded rates and results as one CSV table in the layout of the quiho data package (results.csv). Of what was imported, importing it "
    "into an empty laboratory gives the same store. Of what was measured here, it has the results with their versions and directions; fingerprints "
    "of other batteries than quiho-2017, runs that failed, and what tells builds and metrics apart are not in it: how many there are is said on standard error."
    "\vExample:\n"
    "  mkdir copy && assay runs export --csv -o copy/results.csv\n"
    "  assay init other && assay -C other import quiho copy";

enum { OPTION_CSV = 256 };

static const struct argp_option options[] = {
	{ "csv", OPTION_CSV, NULL, 0, "As comma-separated values, the only format so far and the default", 1 },
	{ "output", 'o', "FILE", 0, "Write to FILE (replaced as a whole) instead of standard output", 1 },
	{ 0 }
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	const char **path = state->input;

	if (key == OPTION_CSV)
		return 0;
	if (key != 'o')
		return ARGP_ERR_UNKNOWN;
	*path = arg;
	return 0;
}

/* What the table is not: on standard error, which is no part of it. */
static void say_lacking(const struct cli *cli, const struct quiho_export_result *r)
{
	const struct {
		size_t n;
		const char *what, *lacks;
	} rows[] = {
		{ r->fingerprints, "fingerprint", "of other batteries than " QUIHO_BATTERY ": not exported" },
		{ r->failed, "run", "without a result: not exported" },
		{ r->other_metric, "result", "under another metric than the latest of the application: not exported" },
		{ r->other_builds, "result", "of earlier builds, which an import cannot tell from the latest one" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (rows[i].n)
			cli_note(cli, "%zu %s%s %s", rows[i].n, rows[i].what, text_plural(rows[i].n), rows[i].lacks);
	}
}

int cmd_runs_export(int argc, char **argv, const char *directory)
{
	static const struct argp argp = { options, parse, NULL, doc, NULL, NULL, NULL };
	struct lab lab = { .lock_fd = -1 };
	struct buf out = BUF_INIT;
	struct quiho_export_result result = { 0 };
	const char *path = NULL;
	struct assay_error err;
	enum assay_status st;
	struct cli cli;

	cli_parse_without(&cli, CLI_NO_FORMAT_OLD, &argp, argc, argv, directory, &path);
	st = lab_open(cli.directory, STORE_READ, &lab, &err);
	if (!st)
		st = quiho_export(&lab.store, &out, &result, &err);
	if (!st && path)
		st = file_replace(path, out.bytes, out.size, 0644, &err);
	else if (!st)
		st = cli_print(&out, &err);
	if (!st)
		say_lacking(&cli, &result);
	lab_close(&lab);
	buf_release(&out);
	return cli_end(&cli, st, &err, 0);
}
