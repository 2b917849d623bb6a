/* The command assay detect. */
#include "base/text.h"
#include "gate/commands/gate_commands.h"
#include "gate/detect/detect.h"
#include "model/parallel.h"
#include "model/published/published.h"
#include "runs/running/version.h"

#include <string.h>

#define RATE_MIN 1e-6
#define RATE_MAX .5
#define SEED_MAX (INT64_C(1) << 53)

/* Returns the largest value over all runs of the number `label`, for example the number of threads that the emulation did not follow. */
static uint64_t side_sum_unsimulated(const struct side *side, const char *what)
{
	uint64_t most = 0;

	for (size_t r = 0; r < side->n; r++) {
		uint64_t n = 0;

		for (size_t i = 0; i < side->runs[r].n_files; i++)
			n += samples_info_number(&side->runs[r].files[i], what);
		most = n > most ? n : most;
	}
	return most;
}

static void note_excluded(const struct side *side)
{
	uint64_t threads = side_sum_unsimulated(side, SAMPLES_THREADS_UNSEEN);

	if (threads)
		cli_note("%s: %llu thread%s of a run were not simulated, because more ran at once than the emulation follows; they are not "
			 "judged",
			 side->label, (unsigned long long)threads, text_plural(threads));
	if (side_sum_unsimulated(side, SAMPLES_SHARED_BYTES))
		cli_note("%s: the program maps memory shared with other processes: sharing between processes was not simulated and is not "
			 "judged",
			 side->label);
	if (side->failed)
		cli_note("%s: %zu failed executions are excluded", side->label, side->failed);
	if (side->others)
		cli_note("%s: samples of %zu execution%s of another build than the latest are excluded", side->label, side->others,
			 text_plural(side->others));
	if (side->stale)
		cli_note("%s: its samples are from another build than its latest runs ('assay run --probe' takes new samples)",
			 side->label);
	if (side->pruned)
		cli_note("%s: samples of %zu executions were removed by policy", side->label, side->pruned);
}

/* Reads the samples of OLD or NEW, which `word` names: a directory, or APP@VERSION in the laboratory. Uses only machines of the hardware
 * type `type` unless it is NULL. Prints notes about excluded samples. */
static enum assay_status detect_side(const char *word, const char *type, struct side *out, struct assay_error *err)
{
	struct lab lab = { .lock_fd = -1 };
	enum assay_status st;

	if (version_is_selector(word)) {
		st = lab_open(cli_directory(), STORE_READ, &lab, err);
		if (!st)
			st = side_load(&lab, &(struct side_request){ .selector = word, .hardware_type = type }, out, err);
		lab_close(&lab);
	} else {
		st = version_check_selector(cli_directory(), word, err);
		if (!st)
			st = side_read(word, out, err);
	}
	if (!st)
		note_excluded(out);
	return st;
}

struct arguments {
	const char *words[2];  /* OLD and NEW */
	double rate, t, least; /* below 0 if not given */
	int64_t seed, threads;
	int model; /* below 0 if not given */
	const char *threshold, *clusters;
	bool paper, single_sample;
	struct cli_list functions;
	const char *old_build, *new_build, *type;
	bool all;
	struct detect_options detect; /* derived from the other options by choose_options() */
};

#define NOT_GIVEN (-1)

static const struct arguments defaults = { .rate = NOT_GIVEN, .t = NOT_GIVEN, .least = NOT_GIVEN, .seed = NOT_GIVEN, .model = NOT_GIVEN };

static const char *const models[] = { "autoencoder", "paper", NULL };
static const struct scorer_kind *const scorers[] = { &scorer_autoencoder, &scorer_paper };

static const struct cli_option options[] = {
	CLI_REAL("rate", "RATE", struct arguments, rate, RATE_MIN, RATE_MAX,
		 "Accepted rate of false positives per run (default: 0.05; needs 1/RATE - 1 normal runs)"),
	CLI_CHOICE("model", models, struct arguments, model, "Model: autoencoder (the default) or paper, which is trained as published"),
	CLI_FLAG("paper", struct arguments, paper, "Use all choices published with AutoPerf (2019), for comparison"),
	CLI_TEXT(
	    "threshold", "NAME", struct arguments, threshold,
	    "Threshold: held-out (default), deviation (mean + t sd of errors), or a fraction of the range, as published 0.1, 0.2, 0.4"),
	CLI_REAL("t", "NUMBER", struct arguments, t, 0, 3, "Factor t of --threshold deviation, 0 to 3 (default: 2)"),
	CLI_TEXT("clusters", "N", struct arguments, clusters,
		 "Number of clusters of functions, each with its own model, or 'each' (one per function); default: 1"),
	CLI_FLAG("single-sample", struct arguments, single_sample, "Call a run anomalous if one sample is anomalous"),
	CLI_NAMES("functions", "NAME,...", struct arguments, functions, "Only these functions"),
	CLI_REAL("least", "FRACTION", struct arguments, least, 0, 1,
		 "Exclude functions with less than this fraction of all work (default: 0.005)"),
	CLI_TEXT("old-build", "FILE", struct arguments, old_build,
		 "Old executable; with --new-build: judge only the functions that changed between both"),
	CLI_TEXT("new-build", "FILE", struct arguments, new_build,
		 "New program or library with debug information: gives file and line of functions"),
	CLI_TEXT("type", "NAME", struct arguments, type, "Use only stored samples of machines of this hardware type"),
	CLI_INTEGER("seed", "N", struct arguments, seed, 0, SEED_MAX, "Seed of all random choices (default: 1)"),
	CLI_INTEGER("threads", "N", struct arguments, threads, 1, 1024,
		    "Number of threads (default: one per CPU); the result does not depend on it"),
	CLI_FLAG("all", struct arguments, all, "List all functions, including those not judged"),
	CLI_END,
};

static const struct cli_option words[] = {
	CLI_ARGUMENT("OLD", struct arguments, words[0]),
	CLI_ARGUMENT("NEW", struct arguments, words[1]),
	CLI_END,
};

static enum assay_status choose_threshold(struct arguments *a, struct assay_error *err)
{
	struct detector_options *d = &a->detect.detector;

	if (!a->threshold)
		return ASSAY_OK;
	if (strcmp(a->threshold, "held-out") == 0) {
		d->rule = &detector_held_out;
	} else if (strcmp(a->threshold, "deviation") == 0) {
		d->rule = &detector_deviation;
	} else if (text_parse_double(a->threshold, &d->fixed) && d->fixed > 0 && d->fixed <= 1) {
		d->rule = &detector_fixed;
		d->scaling = &detector_range;
	} else {
		return assay_fail(err, ASSAY_E_USAGE, "--threshold must be held-out, deviation or a number above 0 and up to 1, not '%s'",
				  a->threshold);
	}
	return ASSAY_OK;
}

static enum assay_status choose_clusters(struct arguments *a, struct assay_error *err)
{
	int64_t n;

	if (!a->clusters)
		return ASSAY_OK;
	if (strcmp(a->clusters, "each") == 0)
		a->detect.detector.clusters = DETECTOR_ONE_PER_FUNCTION;
	else if (text_parse_int64(a->clusters, &n) && n >= 1 && n <= RECORD_FUNCTIONS_MAX)
		a->detect.detector.clusters = (size_t)n;
	else
		return assay_fail(err, ASSAY_E_USAGE, "--clusters must be 'each' or a whole number from 1 to %d, not '%s'",
				  RECORD_FUNCTIONS_MAX, a->clusters);
	return ASSAY_OK;
}

/* Converts the options to those of the detector. */
static enum assay_status choose_options(struct arguments *a, struct assay_error *err)
{
	struct detector_options *d = &a->detect.detector;
	enum assay_status st;

	a->detect = (struct detect_options){ .detector = a->paper ? detector_paper : detector_defaults, .observe = observe_defaults };
	a->detect.observe.per_thread = a->paper;
	d->rate = a->rate < 0 ? d->rate : a->rate;
	d->t = a->t < 0 ? d->t : a->t;
	d->single_sample |= a->single_sample;
	d->seed = a->detect.observe.seed = a->seed < 0 ? 1 : (uint64_t)a->seed;
	d->threads = a->threads ? (size_t)a->threads : parallel_threads();
	a->detect.observe.share_min = a->least < 0 ? a->detect.observe.share_min : a->least;
	a->detect.observe.selected_functions = a->functions.n ? (const char *const *)a->functions.items : NULL;
	a->detect.observe.n_selected_functions = a->functions.n;
	if (a->model >= 0)
		d->scorer = scorers[a->model];
	st = choose_threshold(a, err);
	return st ? st : choose_clusters(a, err);
}

static enum assay_status detect_check(void *arguments, struct assay_error *err)
{
	struct arguments *a = arguments;

	if (a->old_build && !a->new_build)
		return assay_fail(err, ASSAY_E_USAGE, "--old-build needs --new-build");
	return choose_options(a, err);
}

static enum assay_status find_places(const struct arguments *a, const char *new, struct places *out, struct assay_error *err)
{
	if (a->new_build)
		return places_find_in_builds(a->old_build, a->new_build, out, err);
	if (version_is_selector(new))
		places_find_in_version(cli_directory(), new, out);
	return ASSAY_OK;
}

static enum assay_status detect_run(struct lab *none, void *arguments, struct document *d, struct assay_error *err)
{
	const struct arguments *a = arguments;
	struct side old = { .runs = NULL }, new = { .runs = NULL };
	struct places places = { .items = NULL };
	struct detected detected = { .input = NULL };
	struct detect_input input = { .old = &old, .new = &new, .places = &places };
	enum assay_status st = find_places(a, a->words[1], &places, err);

	(void)none;
	if (!st)
		st = detect_side(a->words[0], a->type, &old, err);
	if (!st)
		st = detect_side(a->words[1], a->type, &new, err);
	if (!st)
		st = sides_keep_ended(&old, &new, err);
	if (!st)
		st = detect(&input, &a->detect, &detected, err);
	if (!st) {
		d->exit_status = decision_exit_status(detected.decision);
		detect_describe(&detected, a->all, d);
	}
	detected_release(&detected);
	side_release(&old);
	side_release(&new);
	places_release(&places);
	return st;
}

const struct command detect_command = {
	.name = "detect",
	.summary = "find functions that changed behavior, and why",
	.about =
	    "Learns the normal behavior of each function from samples of OLD. Reports the functions of NEW that are not normal, by which "
	    "counters, and the kind of problem. OLD and NEW are directories of samples, with a sub-directory or a file for each run of the "
	    "program ('assay record --for functions' and 'assay record --for counters' write them), or APP@VERSION of the laboratory "
	    "('assay run --probe' keeps samples).\n\n--paper makes all published choices; other options change single ones.",
	.examples = "  mkdir old new\n"
		    "  for i in $(seq 20); do assay record --for counters -o old/$i -- ./old-build 4; done\n"
		    "  for i in $(seq 20); do assay record --for counters -o new/$i -- ./new-build 4; done\n"
		    "  assay detect old new --new-build ./new-build\n"
		    "  assay detect old new --format json | jq '.functions[] | select(.anomalous)'\n"
		    "  assay detect myapp@1.0 myapp@1.1\n",
	.exit_status = "0 nothing anomalous, or only improvements; 3 anomalous; 4 inconclusive: too few normal runs; 6 nothing measured; 1 "
		       "failure, 2 usage.",
	.words = words,
	.options = options,
	.defaults = &defaults,
	.flags = CLI_PROGRESS,
	.check = detect_check,
	CLI_RUN(struct arguments, CLI_LAB_DEFERRED, detect_run),
};
