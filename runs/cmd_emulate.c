#include "base/cli.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/text.h"
#include "runs/cmd.h"
#include "runs/cmd_made.h"
#include "runs/inside/instrument/emulate_build.h"
#include "runs/inside/instrument/launch.h"

#include <errno.h>
#include <ftw.h>
#include <string.h>
#include <unistd.h>

extern char **environ;

static const char build_doc[] =
    "Compiles or links as the words behind -- say, so that the program counts in an emulation what processors count elsewhere: caches, "
    "sharing between threads, branches, allocations and more. The words are those of gcc or clang, for C or C++."
    "\vExample:\n"
    "  assay emulate build -- gcc -O2 -g main.c -o main\n"
    "  make CC='assay emulate build -- gcc'\n"
    "  assay emulate run -o samples -- ./main\n"
    "\n"
    "Without 'assay emulate run' such a program runs as any other, only slower.";

static const char run_doc[] = "Runs a program that 'assay emulate build' has built, and keeps what it counted: a file of samples for each "
			      "process, in a directory. One window of time in sixteen is simulated, the same ones in all threads."
			      "\vExample:\n"
			      "  assay emulate run -o samples -- ./main 4 1000\n"
			      "  assay emulate run -o samples --full --functions work,merge -- ./main 4 1000";

/* ---- build ---- */

struct build {
	const char **words; /* [n] */
	size_t n, capacity;
	const char *archive;
};

#define KEY_ARCHIVE 256

static const struct argp_option build_options[] = {
	{ "archive", KEY_ARCHIVE, "FILE", 0, "Only write the library to FILE, for build systems of your own", 0 },
	{ 0 },
};

static error_t parse_build(int key, char *arg, struct argp_state *state)
{
	struct build *build = state->input;

	switch (key) {
	case KEY_ARCHIVE:
		build->archive = arg;
		return 0;
	case ARGP_KEY_ARG:
		build->words = mem_grow(build->words, build->n, &build->capacity, sizeof(*build->words));
		build->words[build->n++] = arg;
		return 0;
	case ARGP_KEY_END:
		if (build->n == 0 && !build->archive)
			cli_refuse(state, "there is no compiler: it stands behind --");
		if (build->n > 0 && build->archive)
			cli_refuse(state, "--archive only writes the library: no compiler behind it");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static enum assay_status write_archive(const char *path, struct assay_error *err)
{
	const char *bytes;
	size_t n;

	emulate_archive(&bytes, &n);
	return file_replace(path, bytes, n, 0644, err);
}

static int remove_one(const char *path, const struct stat *info, int kind, struct FTW *walk)
{
	(void)info;
	(void)kind;
	(void)walk;
	return remove(path);
}

static enum assay_status execute_plan(const struct emulate_plan *plan, const char *directory, struct assay_error *err)
{
	enum assay_status st = ASSAY_OK;

	if (plan->links) {
		char *path = mem_format("%s/%s", directory, EMULATE_ARCHIVE);

		st = write_archive(path, err);
		free(path);
	}
	for (size_t i = 0; i < plan->n && !st; i++) {
		int status = 0;

		st = launch_program(plan->steps[i].words, environ, &status, err);
		if (!st)
			st = launch_succeeded(plan->steps[i].words[0], status, err);
	}
	return st;
}

static enum assay_status build_program(const struct build *build, struct assay_error *err)
{
	const char *parent = getenv("TMPDIR");
	char *directory = mem_format("%s/assay-emulate-XXXXXX", parent && *parent ? parent : "/tmp");
	struct emulate_plan plan = { 0 };
	enum assay_status st = ASSAY_OK;

	if (!mkdtemp(directory)) {
		st = assay_fail_errno(err, errno, "cannot make a directory '%s'", directory);
		goto out;
	}
	st = emulate_plan_make(build->words, build->n, directory, &plan, err);
	if (!st)
		st = execute_plan(&plan, directory, err);
	nftw(directory, remove_one, 16, FTW_DEPTH | FTW_PHYS);
out:
	emulate_plan_release(&plan);
	free(directory);
	return st;
}

int cmd_emulate_build(int argc, char **argv, const char *directory)
{
	static const struct argp argp = { build_options, parse_build, "-- COMPILER [ARG...]", build_doc, NULL, NULL, NULL };
	struct build build = { 0 };
	struct assay_error err;
	enum assay_status st;
	struct cli cli;

	cli_parse_without(&cli, CLI_NO_DIRECTORY_OLD | CLI_NO_FORMAT_OLD, &argp, argc, argv, directory, &build);
	st = build.archive ? write_archive(build.archive, &err) : build_program(&build, &err);
	free(build.words);
	return cli_end(&cli, st, &err, 0);
}

/* ---- run ---- */

struct run_options {
	char **words; /* [n], and a NULL behind them */
	size_t n, capacity;
	const char *samples, *functions, *nodes;
	bool full;
};

#define KEY_FULL      257
#define KEY_FUNCTIONS 258
#define KEY_NODES     259

static const struct argp_option run_options[] = {
	{ "output", 'o', "DIRECTORY", 0, "Directory for the files of samples, made if need be, its parents not (default: samples)", 0 },
	{ "full", KEY_FULL, NULL, 0, "Simulate all windows: slower, with less noise in short functions", 0 },
	{ "functions", KEY_FUNCTIONS, "NAME,...|@FILE", 0, "Samples of these functions only (default: of all)", 0 },
	{ "nodes", KEY_NODES, "N", 0, "Nodes of memory among which threads are dealt (default: 2)", 0 },
	{ 0 },
};

static error_t parse_run(int key, char *arg, struct argp_state *state)
{
	struct run_options *run = state->input;
	int64_t nodes;

	switch (key) {
	case 'o':
		run->samples = arg;
		return 0;
	case KEY_FULL:
		run->full = true;
		return 0;
	case KEY_FUNCTIONS:
		run->functions = arg;
		return 0;
	case KEY_NODES:
		if (!text_int64(arg, &nodes) || nodes < 1 || nodes > 64)
			cli_refuse(state, "--nodes is a number from 1 to 64, not '%s'", arg);
		run->nodes = arg;
		return 0;
	case ARGP_KEY_ARG:
		run->words = mem_grow(run->words, run->n + 1, &run->capacity, sizeof(*run->words));
		run->words[run->n++] = arg;
		run->words[run->n] = NULL;
		return 0;
	case ARGP_KEY_END:
		if (run->n == 0)
			cli_refuse(state, "there is no program: it stands behind --");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static void set(const char *name, const char *value)
{
	if (value)
		setenv(name, value, 1);
	else
		unsetenv(name);
}

static enum assay_status run_program(const struct cli *cli, const struct run_options *run, struct assay_error *err)
{
	enum assay_status st = file_make_directory(run->samples, 0755, err);
	struct buf before = BUF_INIT;
	char *absolute = st ? NULL : realpath(run->samples, NULL);
	int status = 0;

	if (!st && !absolute)
		st = assay_fail_errno(err, errno, "cannot find '%s'", run->samples);
	if (st)
		return st;
	set("ASSAY_EMULATE_DIRECTORY", absolute);
	set("ASSAY_EMULATE_FULL", run->full ? "1" : NULL);
	set("ASSAY_EMULATE_FUNCTIONS", run->functions);
	set("ASSAY_EMULATE_NODES", run->nodes);
	cmd_made_before(run->samples, &before);
	st = launch_program(run->words, environ, &status, err);
	if (!st)
		st = launch_succeeded(run->words[0], status, err);
	if (!st)
		st = cmd_made(cli, run->samples, &before, "the program wrote no samples: was it built by 'assay emulate build', and does it call these "
			      "functions?", err);
	buf_release(&before);
	free(absolute);
	return st;
}

int cmd_emulate_run(int argc, char **argv, const char *directory)
{
	static const struct argp argp = { run_options, parse_run, "-- PROGRAM [ARG...]", run_doc, NULL, NULL, NULL };
	struct run_options run = { .samples = "samples" };
	struct assay_error err;
	enum assay_status st;
	struct cli cli;

	cli_parse_without(&cli, CLI_NO_DIRECTORY_OLD | CLI_NO_FORMAT_OLD, &argp, argc, argv, directory, &run);
	st = run_program(&cli, &run, &err);
	free(run.words);
	return cli_end(&cli, st, &err, 0);
}
