#include "base/cli.h"
#include "base/term.h"
#include "base/text.h"
#include "gate/cmd.h"
#include "gate/verdict.h"

#include <math.h>

static const char doc[] =
    "Decides whether CANDIDATE is slower than BASELINE. Machines that ran both are compared with themselves, hardware types count "
    "once each, and the decision is made on the interval of the ratio of costs: regression, improved, pass, or inconclusive."
    "\vExample:\n"
    "  assay gate myapp@1.0 myapp@1.1 --min-effect 0.05\n"
    "  assay gate mysqlslap/innodb_load mysqlslap/memory_load --format json | jq .decision\n"
    "\n"
    "Exit status: 0 pass or improved, 3 regression, 4 inconclusive, 6 nothing measured; 1 failure, 2 usage.";

enum { OPTION_MIN_EFFECT = 256, OPTION_ALL };

static const struct argp_option options[] = {
	{ "min-effect", OPTION_MIN_EFFECT, "FRACTION", 0, "The smallest slowdown that matters to you (default: that of lab.yaml, else 0.03)", 1 },
	{ "all", OPTION_ALL, NULL, 0, "List the machines that were left out, too", 1 },
	{ 0 }
};

struct arguments {
	const char *selectors[2];
	double min_effect; /* 0: not given */
	bool all;
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct arguments *a = state->input;

	switch (key) {
	case OPTION_MIN_EFFECT:
		if (!text_double(arg, &a->min_effect) || a->min_effect < 1e-6 || a->min_effect > 10)
			cli_refuse(state, "--min-effect is a fraction between 0.000001 and 10, not '%s'", arg);
		return 0;
	case OPTION_ALL:
		a->all = true;
		return 0;
	default:
		return cli_words(key, arg, state, a->selectors, 2, "BASELINE and CANDIDATE, as APP[@VERSION]");
	}
}

int cmd_gate(int argc, char **argv, const char *directory)
{
	static const struct argp argp = { options, parse, "BASELINE CANDIDATE", doc, NULL, NULL, NULL };
	struct run_set runs[2] = { 0 };
	struct evidence evidence = { 0 };
	struct verdict verdict = { 0 };
	struct lab lab = { .lock_fd = -1 };
	struct arguments a = { 0 };
	struct buf out = BUF_INIT;
	struct assay_error err;
	enum assay_status st;
	struct cli cli;
	int decided = 0;

	cli_parse(&cli, &argp, argc, argv, directory, &a);
	st = lab_open(cli.directory, STORE_READ, &lab, &err);
	for (int i = 0; !st && i < 2; i++)
		st = evidence_runs(&lab, a.selectors[i], &runs[i], &err);
	if (!st)
		st = evidence_load(&lab, &evidence, &err);
	if (!st)
		st = verdict_of(&evidence, &lab.config, &runs[0], &runs[1], a.min_effect > 0 ? a.min_effect : lab.config.min_effect, &verdict,
				&err);
	if (!st) {
		if (cli.format == CLI_JSON)
			json_add(&out, verdict_json(&verdict));
		else
			verdict_print(&verdict, term_colours(stdout), a.all, &out);
		decided = decision_exit(verdict.effect.decision);
		st = cli_print(&out, &err);
	}
	verdict_release(&verdict);
	evidence_release(&evidence);
	run_set_release(&runs[0]);
	run_set_release(&runs[1]);
	lab_close(&lab);
	buf_release(&out);
	return cli_end(&cli, st, &err, decided);
}
