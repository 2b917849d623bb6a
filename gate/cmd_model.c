#include "base/cli.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/text.h"
#include "gate/cmd.h"
#include "gate/cmd_detect.h"
#include "gate/detect/counters.h"
#include "gate/detect/model_file.h"

#include <errno.h>
#include <sys/stat.h>
#include <time.h>

#define NAMES_SHOWN 12

static const char train_doc[] =
        "Learns from samples what is normal, and keeps that: for 'assay detect --model-file'. The samples are a directory, or "
        "APP@VERSION of the laboratory. Without -o the file is .assay/models/APP@VERSION.model of the laboratory."
        "\vExample:\n"
        "  assay model train samples/1.0 -o 1.0.model\n"
        "  assay detect --model-file 1.0.model samples/1.1";

static const char show_doc[] = "Shows where a kept model comes from and what it knows."
                               "\vExample:\n"
                               "  assay model show 1.0.model";

/* ---- train ---- */

enum { OPTION_RATE = 256, OPTION_SEED, OPTION_TYPE, OPTION_MODEL };

static const struct argp_option train_options[] = {
	{ "output", 'o', "FILE", 0, "Where to keep it", 1 },
	{ "rate", OPTION_RATE, "RATE", 0, "False positives a run that you accept (default: 0.05)", 1 },
	{ "model", OPTION_MODEL, "NAME", 0, "What learns: autoencoder (the default), paper, som, mahalanobis", 1 },
	{ "seed", OPTION_SEED, "N", 0, "Of all that is random (default: 1)", 1 },
	{ "type", OPTION_TYPE, "NAME", 0, "Stored samples of machines of this hardware type", 1 },
	{ 0 },
};

struct arguments {
	const char *words[1], *output, *type;
	struct detector_options detector;
	struct observe_options observe;
};

static void parse_model(struct arguments *a, const char *arg, struct argp_state *state)
{
	a->detector.scorer = scorer_named(arg);
	if (!a->detector.scorer)
		cli_refuse(state, "unknown model '%s': there are autoencoder, paper, som, mahalanobis", arg);
}

static error_t parse_train(int key, char *arg, struct argp_state *state)
{
	struct arguments *a = state->input;
	int64_t n;

	switch (key) {
	case 'o':
		if (!*arg)
			cli_refuse(state, "the file behind -o is empty");
		a->output = arg;
		return 0;
	case OPTION_RATE:
		if (!text_double(arg, &a->detector.rate) || a->detector.rate < 1e-6 || a->detector.rate > .5)
			cli_refuse(state, "--rate is a rate between 0.000001 and 0.5, not '%s'", arg);
		return 0;
	case OPTION_MODEL:
		parse_model(a, arg, state);
		return 0;
	case OPTION_SEED:
		if (!text_int64(arg, &n) || n < 0 || n > INT64_C(1) << 53)
			cli_refuse(state, "--seed is a number from 0 on, not '%s'", arg);
		a->detector.seed = a->observe.seed = (uint64_t)n;
		return 0;
	case OPTION_TYPE:
		a->type = arg;
		return 0;
	default:
		return cli_words(key, arg, state, a->words, 1, "SAMPLES, a directory or APP@VERSION");
	}
}

/* The file in the laboratory, whose directory is made when it is not there. free() it. */
static enum assay_status model_path(const struct cli *cli, const struct arguments *a, char **out, struct assay_error *err)
{
	char *models = mem_format("%s/.assay/models", cli->directory), *name = mem_string(a->words[0]);
	enum assay_status st = ASSAY_OK;
	struct stat info;

	for (char *c = name; *c; c++)
		if (*c == '/')
			*c = '_';
	if (stat(a->words[0], &info) == 0)
		st = assay_fail(err, ASSAY_E_USAGE, "-o FILE is needed: where to keep a model of a directory's samples");
	else if (mkdir(models, 0755) != 0 && errno != EEXIST)
		st = assay_fail_errno(err, errno, "cannot make the directory '%s'", models);
	*out = st ? NULL : mem_format("%s/%s.model", models, name);
	free(models);
	free(name);
	return st;
}

static const struct detector_about *about(const struct model_file *model)
{
	return detector_about(model->detector);
}

/* All of a model but what it has learned. */
static cJSON *summary_json(const struct model_file *model)
{
	cJSON *root = model_file_json(model);

	cJSON_DeleteItemFromObjectCaseSensitive(root, "detector");
	cJSON_DeleteItemFromObjectCaseSensitive(root, "like_inputs");
	return root;
}

static enum assay_status say_kept(const struct cli *cli, const struct model_file *model, const char *path, struct assay_error *err)
{
	struct buf out = BUF_INIT;
	enum assay_status st;

	if (cli->format == CLI_JSON) {
		cJSON *root = summary_json(model);

		cJSON_AddStringToObject(root, "file", path);
		json_add(&out, root);
	} else {
		cli_note(cli, "what is normal for %zu function%s, from %zu runs, is in '%s'", about(model)->functions,
		         text_plural(about(model)->functions), about(model)->runs, path);
	}
	st = cli_print(&out, err);
	buf_release(&out);
	return st;
}

static enum assay_status train(const struct cli *cli, const struct arguments *a, const char *path, struct assay_error *err)
{
	struct side side = { .runs = NULL };
	struct observed observed = { .function = NULL };
	struct like_inputs like = { .inputs = NULL };
	struct detector *detector = NULL;
	struct model_file model = { .detector = NULL };
	struct observe_options learned = a->observe;
	char now[TEXT_DATE_BYTES];
	enum assay_status st = detect_side(cli->directory, a->words[0], a->type, &side, err);

	if (!st) {
		detect_side_note(cli, &side);
		learned.least_share *= OBSERVE_LEARNED;
		st = observe(&side, &learned, &observed, err);
	}
	if (!st)
		like_inputs_learn(&side, &observed, input_numbers(&side), true, &like);
	if (!st)
		st = detector_fit(&observed.observations, &a->detector, &detector, err);
	if (st)
		goto out;
	model_file_make(&side, &observed, &a->observe, &a->detector, &like, &detector,
	                text_from_ms((int64_t)time(NULL) * 1000, now), &model);
	st = model_file_write(&model, path, err);
	if (!st)
		st = say_kept(cli, &model, path, err);
out:
	model_file_release(&model);
	like_inputs_release(&like);
	detector_free(detector);
	observed_release(&observed);
	side_release(&side);
	return st;
}

int cmd_model_train(int argc, char **argv, const char *directory)
{
	static const struct argp argp = { train_options, parse_train, "SAMPLES", train_doc, NULL, NULL, NULL };
	struct arguments a = { .detector = detector_defaults, .observe = observe_defaults };
	enum assay_status st = ASSAY_OK;
	struct assay_error err;
	char *path = NULL;
	struct cli cli;

	a.detector.threads = detect_threads();
	cli_parse(&cli, &argp, argc, argv, directory, &a);
	if (!a.output)
		st = model_path(&cli, &a, &path, &err);
	if (!st)
		st = train(&cli, &a, a.output ? a.output : path, &err);
	free(path);
	return cli_end(&cli, st, &err, 0);
}

/* ---- show ---- */

static error_t parse_show(int key, char *arg, struct argp_state *state)
{
	struct arguments *a = state->input;

	return cli_words(key, arg, state, a->words, 1, "FILE");
}

static void show_names(const char *what, char *const *names, size_t n, struct buf *out)
{
	buf_format(out, "%s ", what);
	for (size_t i = 0; i < n && i < NAMES_SHOWN; i++)
		buf_format(out, "%s%s", i ? ", " : "", names[i]);
	if (n > NAMES_SHOWN)
		buf_format(out, " and %zu more", n - NAMES_SHOWN);
	buf_char(out, '\n');
}

static void show(const struct model_file *m, struct buf *out)
{
	const struct detector_about *learned = about(m);

	buf_format(out, "what is normal for %s\n", m->what);
	buf_format(out, "trained       %s on %zu runs, %zu samples of %zu functions%s\n", m->trained, learned->runs,
	           learned->samples, learned->functions, learned->sufficient ? "" : "; more runs would still change it");
	buf_format(out, "model         %s%s%s, %zu cluster%s of functions, seed %llu\n", m->options.scorer->name,
	           *learned->topology ? " " : "", learned->topology, learned->clusters, text_plural(learned->clusters),
	           (unsigned long long)m->options.seed);
	buf_format(out, "rate          %.3g a run asked for, %.3g measured on normal runs\n", m->options.rate,
	           learned->rate_measured);
	buf_format(out, "back end      %s%s%s\n", samples_back_end_name(m->back_end), *m->hardware_type ? ", hardware type " : "",
	           m->hardware_type);
	show_names("counters     ", m->counters, m->n_counters, out);
	if (m->n_inclusive)
		show_names("with nested  ", m->inclusive, m->n_inclusive, out);
	buf_format(out, "samples       sha256 %s\n", m->digest);
}

int cmd_model_show(int argc, char **argv, const char *directory)
{
	static const struct argp argp = { NULL, parse_show, "FILE", show_doc, NULL, NULL, NULL };
	struct arguments a = { .output = NULL };
	struct model_file model = { .detector = NULL };
	struct buf out = BUF_INIT;
	struct assay_error err;
	enum assay_status st;
	struct cli cli;

	cli_parse_without(&cli, CLI_NO_DIRECTORY_OLD, &argp, argc, argv, directory, &a);
	st = model_file_read(a.words[0], &model, &err);
	if (!st && cli.format == CLI_JSON)
		json_add(&out, summary_json(&model));
	else if (!st)
		show(&model, &out);
	if (!st)
		st = cli_print(&out, &err);
	model_file_release(&model);
	buf_release(&out);
	return cli_end(&cli, st, &err, 0);
}
