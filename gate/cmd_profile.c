#include "base/cli.h"
#include "base/term.h"
#include "base/text.h"
#include "gate/cmd.h"
#include "gate/paper_profile.h"

static const char doc[] =
    "Infers which resources an application stresses from how its performance varies over machines whose fingerprints are known; "
    "nothing is instrumented."
    "\vExample:\n"
    "  assay profile hpccg\n"
    "  assay profile stream/add-1@imported --model paper --format json\n"
    "\n"
    "Models:\n"
    "  paper   importances of boosted trees, as published with quiho (2018); says nothing of how far it can be trusted";

enum { OPTION_MODEL = 256, OPTION_TOP };

#define SHOWN_DEFAULT 15
#define SHOWN_MAX     10000

static const struct argp_option options[] = {
	{ "model", OPTION_MODEL, "NAME", 0, "paper (the only one so far, and the default)", 1 },
	{ "top", OPTION_TOP, "N", 0, "Show the N most important stressors (default: 15)", 1 },
	{ 0 }
};

struct arguments {
	const char *selector;
	int64_t shown;
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct arguments *a = state->input;

	switch (key) {
	case OPTION_MODEL:
		if (strcmp(arg, "paper") != 0)
			cli_refuse(state, "unknown model '%s': there is paper", arg);
		return 0;
	case OPTION_TOP:
		if (!text_int64(arg, &a->shown) || a->shown < 1 || a->shown > SHOWN_MAX)
			cli_refuse(state, "--top is a number from 1 to %d, not '%s'", SHOWN_MAX, arg);
		return 0;
	default:
		return cli_words(key, arg, state, &a->selector, 1, "APP[@VERSION]");
	}
}

int cmd_profile(int argc, char **argv, const char *directory)
{
	static const struct argp argp = { options, parse, "APP[@VERSION]", doc, NULL, NULL, NULL };
	struct chart_style style = { term_colours(stdout), term_utf8(), term_columns(stdout) };
	struct arguments a = { NULL, SHOWN_DEFAULT };
	struct paper_profile profile = { 0 };
	struct evidence evidence = { 0 };
	struct run_set runs = { 0 };
	struct lab lab = { .lock_fd = -1 };
	struct buf out = BUF_INIT;
	struct assay_error err;
	enum assay_status st;
	struct cli cli;

	cli_parse(&cli, &argp, argc, argv, directory, &a);
	st = lab_open(cli.directory, STORE_READ, &lab, &err);
	if (!st)
		st = evidence_runs(&lab, a.selector, &runs, &err);
	if (!st)
		st = evidence_load(&lab, &evidence, &err);
	if (!st)
		st = paper_profile_of(&evidence, &runs, &profile, &err);
	if (!st) {
		if (cli.format == CLI_JSON)
			json_add(&out, paper_profile_json(&profile));
		else
			paper_profile_print(&profile, (size_t)a.shown, &style, &out);
		st = cli_print(&out, &err);
	}
	paper_profile_release(&profile);
	evidence_release(&evidence);
	run_set_release(&runs);
	lab_close(&lab);
	buf_release(&out);
	return cli_end(&cli, st, &err, 0);
}
