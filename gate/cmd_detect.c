#include "base/cli.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/term.h"
#include "base/text.h"
#include "gate/cmd.h"
#include "gate/cmd_detect.h"
#include "gate/detect/detect.h"
#include "model/published/published.h"
#include "runs/running/version.h"

static const char doc[] =
        "Learns from samples of OLD what is normal for each function, and says which functions of NEW are not, by which "
        "counters, and what kind of "
        "trouble that is. OLD and NEW are directories of samples, a run of the program a sub-directory or a file ('assay probe' "
        "and 'assay emulate run' "
        "write them), or APP@VERSION of the laboratory ('assay run --probe' keeps samples). With --model-file there is no OLD."
        "\vExample:\n"
        "  mkdir old new\n"
        "  for i in $(seq 20); do assay emulate run -o old/$i -- ./old-build 4; done\n"
        "  for i in $(seq 20); do assay emulate run -o new/$i -- ./new-build 4; done\n"
        "  assay detect old new --new-build ./new-build\n"
        "  assay detect old new --format json | jq '.functions[] | select(.anomalous)'\n"
        "  assay detect myapp@1.0 myapp@1.1 --run\n"
        "  assay detect --model-file 1.0.model new\n"
        "\n"
        "Models (--model): autoencoder (the default), paper (the same as published), som, mahalanobis, mann-whitney (no model: "
        "means of runs "
        "compared). --paper takes all published choices together.\n"
        "\n"
        "Exit status: 0 nothing is anomalous, or only for the better; 3 something is; 4 inconclusive: too few normal runs; 6 "
        "nothing measured; 1 failure, "
        "2 usage.";

enum {
	OPTION_RATE = 256,
	OPTION_MODEL,
	OPTION_PAPER,
	OPTION_THRESHOLD,
	OPTION_T,
	OPTION_CLUSTERS,
	OPTION_SINGLE,
	OPTION_FUNCTIONS,
	OPTION_SEED,
	OPTION_THREADS,
	OPTION_CHANGES,
	OPTION_OLD_BUILD,
	OPTION_NEW_BUILD,
	OPTION_MODEL_FILE,
	OPTION_TYPE,
	OPTION_LEAST,
	OPTION_ALL,
	OPTION_RUN,
};

static const struct argp_option options[] = {
	{ "rate", OPTION_RATE, "RATE", 0,
	  "False positives a run that you accept (default: 0.05; it takes 1/RATE - 1 normal runs)", 1 },
	{ "model", OPTION_MODEL, "NAME", 0, "What learns: autoencoder, paper, som, mahalanobis, mann-whitney", 1 },
	{ "paper", OPTION_PAPER, NULL, 0, "All choices as published with AutoPerf (2019), for comparison", 1 },
	{ "threshold", OPTION_THRESHOLD, "NAME", 0,
	  "held-out (default), deviation (mean + t sd of errors), or a number: of the range, as published .1, .2, .4", 2 },
	{ "t", OPTION_T, "NUMBER", 0, "Of --threshold deviation, 0 to 3 (default: 2)", 2 },
	{ "clusters", OPTION_CLUSTERS, "N", 0,
	  "Clusters of functions, a model for each: a number, 'each' (one a function), default: chosen", 2 },
	{ "single-sample", OPTION_SINGLE, NULL, 0, "One anomalous sample makes a run anomalous", 2 },
	{ "functions", OPTION_FUNCTIONS, "NAME,...", 0, "Only these functions", 3 },
	{ "least", OPTION_LEAST, "FRACTION", 0, "Functions with less of all the work are not looked at (default: 0.005)", 3 },
	{ "changes", OPTION_CHANGES, "FILE", 0,
	  "What 'assay changes --format json' says: only changed functions, with file and line", 3 },
	{ "old-build", OPTION_OLD_BUILD, "FILE", 0, "With --new-build: finds the changed functions itself", 3 },
	{ "new-build", OPTION_NEW_BUILD, "FILE", 0, "The program or library with debug information: file and line of functions",
	  3 },
	{ "model-file", OPTION_MODEL_FILE, "FILE", 0, "What 'assay model train' has kept, instead of OLD", 4 },
	{ "run", OPTION_RUN, NULL, 0, "First run APP@OLD and APP@NEW on the machines, as 'assay run --probe' does", 4 },
	{ "type", OPTION_TYPE, "NAME", 0, "Stored samples of machines of this hardware type", 4 },
	{ "seed", OPTION_SEED, "N", 0, "Of all that is random (default: 1)", 5 },
	{ "threads", OPTION_THREADS, "N", 0, "At work (default: one a processor); the result is the same with any number", 5 },
	{ "all", OPTION_ALL, NULL, 0, "List all functions, those that were not judged too", 5 },
	{ 0 },
};

struct arguments {
	const char *words[2];
	size_t n_words;
	struct detect_options detect;
	const char *changes, *old_build, *new_build, *model_file, *type;
	char *functions;   /* text of --functions, cut at its commas */
	const char **only; /* [n_only] into it */
	size_t n_only;
	bool all, run, learning; /* an option of learning was given */
};

/* ---- words ---- */

static void parse_model(struct arguments *a, const char *arg, struct argp_state *state)
{
	const struct scorer_kind *scorer = scorer_named(arg);

	a->detect.comparison = comparison_named(arg);
	if (scorer)
		a->detect.detector.scorer = scorer;
	if (!scorer && !a->detect.comparison)
		cli_refuse(state, "unknown model '%s': there are autoencoder, paper, som, mahalanobis, mann-whitney", arg);
}

static void parse_paper(struct arguments *a)
{
	struct detector_options before = a->detect.detector;

	a->detect.detector = detector_paper;
	a->detect.detector.seed = before.seed;
	a->detect.detector.threads = before.threads;
	a->detect.detector.rate = before.rate;
	a->detect.observe.per_thread = true;
}

static void parse_threshold(struct arguments *a, const char *arg, struct argp_state *state)
{
	struct detector_options *d = &a->detect.detector;

	if (strcmp(arg, "held-out") == 0) {
		d->rule = &detector_held_out;
	} else if (strcmp(arg, "deviation") == 0) {
		d->rule = &detector_deviation;
	} else if (text_double(arg, &d->fixed) && d->fixed > 0 && d->fixed <= 1) {
		d->rule = &detector_fixed;
		d->scaling = &detector_range;
	} else {
		cli_refuse(state, "--threshold is held-out, deviation or a number above 0 and up to 1, not '%s'", arg);
	}
}

static size_t parse_count(const char *arg, int64_t low, int64_t high, const char *what, struct argp_state *state)
{
	int64_t n;

	if (!text_int64(arg, &n) || n < low || n > high)
		cli_refuse(state, "%s is a number from %lld to %lld, not '%s'", what, (long long)low, (long long)high, arg);
	return (size_t)n;
}

static void parse_functions(struct arguments *a, const char *arg, struct argp_state *state)
{
	char *rest, *name;

	free(a->functions);
	a->functions = rest = mem_string(arg);
	a->only = mem_resize(a->only, strlen(arg) + 1, sizeof(a->only[0]));
	a->n_only = 0;
	while ((name = strsep(&rest, ",")))
		if (*name)
			a->only[a->n_only++] = name;
	if (!a->n_only)
		cli_refuse(state, "--functions has no name in it");
}

static error_t parse_choices(int key, char *arg, struct argp_state *state)
{
	struct arguments *a = state->input;

	a->learning = true;
	switch (key) {
	case OPTION_RATE:
		if (!text_double(arg, &a->detect.detector.rate) || a->detect.detector.rate < 1e-6 || a->detect.detector.rate > .5)
			cli_refuse(state, "--rate is a rate between 0.000001 and 0.5, not '%s'", arg);
		return 0;
	case OPTION_MODEL:
		parse_model(a, arg, state);
		return 0;
	case OPTION_PAPER:
		parse_paper(a);
		return 0;
	case OPTION_THRESHOLD:
		parse_threshold(a, arg, state);
		return 0;
	case OPTION_T:
		if (!text_double(arg, &a->detect.detector.t) || a->detect.detector.t < 0 || a->detect.detector.t > 3)
			cli_refuse(state, "--t is a number from 0 to 3, not '%s'", arg);
		return 0;
	case OPTION_CLUSTERS:
		a->detect.detector.clusters = strcmp(arg, "each") == 0
		                                      ? DETECTOR_ONE_EACH
		                                      : parse_count(arg, 1, RECORD_FUNCTIONS_MAX, "--clusters", state);
		return 0;
	case OPTION_SINGLE:
		a->detect.detector.single_sample = true;
		return 0;
	case OPTION_SEED:
		a->detect.detector.seed = parse_count(arg, 0, INT64_C(1) << 53, "--seed", state);
		a->detect.observe.seed = a->detect.detector.seed;
		return 0;
	case OPTION_LEAST:
		if (!text_double(arg, &a->detect.observe.least_share) || a->detect.observe.least_share < 0 ||
		    a->detect.observe.least_share > 1)
			cli_refuse(state, "--least is a fraction from 0 to 1, not '%s'", arg);
		return 0;
	default:
		a->learning = false;
		return ARGP_ERR_UNKNOWN;
	}
}

static void check_together(const struct arguments *a, struct argp_state *state)
{
	if (a->model_file && a->learning)
		cli_refuse(state, "--model-file brings all choices along: leave out those of learning");
	if (a->model_file ? a->n_words != 1 : a->n_words != 2)
		cli_refuse(state, a->model_file ? "with --model-file there is one word: NEW"
		                                : "OLD and NEW are needed: directories of samples, or APP@VERSION");
	if (a->run && (a->model_file || !version_is_selector(a->words[0]) || !version_is_selector(a->words[1])))
		cli_refuse(state, "--run takes APP@OLD and APP@NEW");
	if (a->old_build && !a->new_build)
		cli_refuse(state, "--old-build belongs to --new-build");
	if (a->old_build && a->changes)
		cli_refuse(state, "--changes says already what --old-build would find");
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct arguments *a = state->input;
	bool learning = a->learning;

	switch (key) {
	case OPTION_FUNCTIONS:
		parse_functions(a, arg, state);
		return 0;
	case OPTION_CHANGES:
		a->changes = arg;
		return 0;
	case OPTION_OLD_BUILD:
		a->old_build = arg;
		return 0;
	case OPTION_NEW_BUILD:
		a->new_build = arg;
		return 0;
	case OPTION_MODEL_FILE:
		a->model_file = arg;
		return 0;
	case OPTION_TYPE:
		a->type = arg;
		return 0;
	case OPTION_THREADS:
		a->detect.detector.threads = parse_count(arg, 1, 1024, "--threads", state);
		return 0;
	case OPTION_ALL:
		a->all = true;
		return 0;
	case OPTION_RUN:
		a->run = true;
		return 0;
	case ARGP_KEY_ARG:
		if (a->n_words == 2)
			cli_refuse(state, "OLD and NEW are all that is taken, not '%s'", arg);
		a->words[a->n_words++] = arg;
		return 0;
	case ARGP_KEY_SUCCESS:
		check_together(a, state);
		return 0;
	default:
		if (parse_choices(key, arg, state) == 0)
			return 0;
		a->learning = learning;
		return ARGP_ERR_UNKNOWN;
	}
}

/* ---- what is read ---- */

static enum assay_status places_by_builds(const struct arguments *a, struct places *out, struct assay_error *err)
{
	struct changes_options choices = { .wrapper = CHANGES_WRAPPER };
	struct build old = { .referred = NULL }, new = { .referred = NULL };
	struct changes changes = { .old = { .referred = NULL } };
	enum assay_status st = build_open(a->new_build, &new, err);

	if (!st)
		functions_extents(&new.image, &new.functions);
	if (!st && !a->old_build)
		places_of_build(&new, out);
	if (!st && a->old_build) {
		st = build_open(a->old_build, &old, err);
		if (!st)
			st = changes_find(&old, &new, &choices, &changes, err);
		if (!st)
			places_of_changes(&changes, out);
	}
	changes_release(&changes);
	build_release(&old);
	build_release(&new);
	return st;
}

static enum assay_status places_of(const struct cli *cli, const struct arguments *a, struct places *out, struct assay_error *err)
{
	const char *new = a->words[a->n_words - 1];

	if (a->changes)
		return places_read(a->changes, out, err);
	if (a->new_build)
		return places_by_builds(a, out, err);
	if (version_is_selector(new))
		places_of_version(cli->directory, new, out);
	return ASSAY_OK;
}

/* ---- the command ---- */

static enum assay_status execute(const struct cli *cli, const struct arguments *a, struct buf *out, int *decided,
                                 struct assay_error *err)
{
	struct side old = { .runs = NULL }, new = { .runs = NULL };
	struct model_file model = { .detector = NULL };
	struct places places = { .items = NULL };
	struct detected detected = { .input = NULL };
	struct detect_input input = { .new = &new, .places = &places };
	struct detect_options chosen = a->detect;
	enum assay_status st = a->run ? detect_run(cli, a->words[0], a->words[1], err) : ASSAY_OK;

	if (!st)
		st = places_of(cli, a, &places, err);
	chosen.observe.only = a->only;
	chosen.observe.n_only = a->n_only;
	if (!st && a->model_file)
		st = model_file_read(a->model_file, &model, err);
	if (!st && !a->model_file)
		st = detect_side(cli->directory, a->words[0], a->type, &old, err);
	if (!st)
		st = detect_side(cli->directory, a->words[a->n_words - 1], a->type, &new, err);
	input.old = a->model_file ? NULL : &old;
	input.model = a->model_file ? &model : NULL;
	if (!st) {
		detect_side_note(cli, &old);
		detect_side_note(cli, &new);
		st = detect(&input, &chosen, &detected, err);
	}
	if (!st) {
		*decided = decision_exit(detected.decision);
		if (cli->format == CLI_JSON)
			json_add(out, detect_json(&detected));
		else
			detect_print(&detected, term_colours(stdout), a->all, out);
	}
	detected_release(&detected);
	side_release(&old);
	side_release(&new);
	model_file_release(&model);
	places_release(&places);
	return st;
}

int cmd_detect(int argc, char **argv, const char *directory)
{
	static const struct argp argp = { options, parse, "[OLD] NEW", doc, NULL, NULL, NULL };
	struct arguments a = { .detect = { .detector = detector_defaults, .observe = observe_defaults } };
	struct buf out = BUF_INIT;
	struct assay_error err;
	enum assay_status st;
	struct cli cli;
	int decided = 0;

	a.detect.detector.threads = detect_threads();
	cli_parse(&cli, &argp, argc, argv, directory, &a);
	st = execute(&cli, &a, &out, &decided, &err);
	if (!st)
		st = cli_print(&out, &err);
	buf_release(&out);
	free(a.functions);
	free(a.only);
	return cli_end(&cli, st, &err, decided);
}
