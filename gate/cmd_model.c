/* assay model train, assay model show */
#include "gate/cmd_detect.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/text.h"
#include "gate/cmd.h"
#include "gate/detect/model_file.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#define NAMES_SHOWN 12

/* ---- what a model is ---- */

static void add_names(const char *key, const char *label, char *const *names, size_t n, struct document *d)
{
	struct buf text = BUF_INIT;

	for (size_t i = 0; i < n && i < NAMES_SHOWN; i++)
		buf_format(&text, "%s%s", i ? ", " : "", names[i]);
	if (n > NAMES_SHOWN)
		buf_format(&text, " and %zu more", n - NAMES_SHOWN);
	doc_list(d, key);
	for (size_t i = 0; i < n; i++)
		doc_set(d, NULL, names[i]);
	doc_end(d);
	if (n && label)
		doc_line(d, "%-14s%s", label, text.bytes);
	buf_release(&text);
}

/* All of a model but what it has learned. */
static void add_model(const struct model_file *m, struct document *d)
{
	const struct detector_about *learned = detector_about(m->detector);

	doc_set(d, "assay_model", MODEL_FILE_VERSION);
	doc_set(d, "what", m->what);
	doc_set(d, "trained", m->trained);
	doc_line(d, "%-14s%s on %zu runs, %zu samples of %zu functions%s", "trained", m->trained, learned->runs, learned->samples,
		 learned->functions, learned->sufficient ? "" : "; more runs would still change it");
	doc_line(d, "%-14s%s%s%s, %zu cluster%s of functions, seed %llu", "model", m->options.scorer->name, *learned->topology ? " " : "",
		 learned->topology, learned->clusters, text_plural(learned->clusters), (unsigned long long)m->options.seed);
	doc_line(d, "%-14s%.3g a run asked for, %.3g measured on normal runs", "rate", m->options.rate, learned->rate_measured);
	doc_line(d, "%-14s%s%s%s", "back end", samples_back_end_name(m->back_end), *m->hardware_type ? ", hardware type " : "",
		 m->hardware_type);
	doc_set(d, "backend", samples_back_end_name(m->back_end));
	doc_set(d, "hardware_type", m->hardware_type);
	add_names("counters", "counters", m->counters, m->n_counters, d);
	add_names("with_nested", "with nested", m->inclusive, m->n_inclusive, d);
	add_names("with_share", NULL, m->active_names, m->n_active, d);
	doc_line(d, "%-14ssha256 %s", "samples", m->digest);
	doc_set(d, "samples_sha256", m->digest);
	doc_set(d, "model", m->options.scorer->name);
	doc_set(d, "rate", m->options.rate);
	doc_set(d, "seed", (double)m->options.seed);
	doc_object(d, "training");
	doc_set(d, "runs", learned->runs);
	doc_set(d, "samples", learned->samples);
	doc_set(d, "functions", learned->functions);
	doc_set(d, "topology", learned->topology);
	doc_set(d, "clusters", learned->clusters);
	doc_set_bool(d, "sufficient", learned->sufficient);
	doc_end(d);
	doc_object(d, "observe");
	doc_set(d, "least_work", m->observe.least_work);
	doc_set(d, "least_ns", m->observe.least_ns);
	doc_set(d, "least_share", m->observe.least_share);
	doc_set(d, "samples_max", m->observe.samples_max);
	doc_set(d, "seed", (double)m->observe.seed);
	doc_set_bool(d, "per_thread", m->observe.per_thread);
	doc_end(d);
}

/* ---- train ---- */

struct train_arguments {
	const char *samples, *output, *type;
	double rate;
	int64_t seed;
	const struct scorer_kind *scorer;
};

static const struct train_arguments train_defaults = { .rate = .05, .seed = 1, .scorer = &scorer_autoencoder };

static const struct cli_option train_options[] = {
	CLI_OPTION(TEXT, "output", "FILE", struct train_arguments, output, "Where to keep it", .letter = 'o'),
	CLI_REAL("rate", "RATE", struct train_arguments, rate, CMD_DETECT_RATE_LEAST, CMD_DETECT_RATE_MOST,
		 "Accept this rate of false positives per run (default: 0.05)"),
	CLI_PARSED("model", "NAME", struct train_arguments, scorer, cmd_detect_scorer,
		   "What learns: autoencoder (the default), paper, som, mahalanobis"),
	CLI_INTEGER("seed", "N", struct train_arguments, seed, 0, CMD_DETECT_SEED_MAX, "Seed of everything random (default: 1)"),
	CLI_TEXT("type", "NAME", struct train_arguments, type, "Only stored samples of machines of this hardware type"),
	CLI_END,
};

static const struct cli_option train_words[] = { CLI_WORD("SAMPLES", struct train_arguments, samples), CLI_END };

/* The file in the laboratory, whose directory is made when it is not there. free() it. */
static enum assay_status model_path(const char *samples, char **out, struct assay_error *err)
{
	char *models = mem_format("%s/.assay/models", cli_directory()), *name = mem_string(samples);
	enum assay_status st = ASSAY_OK;
	struct stat info;

	for (char *c = name; *c; c++)
		if (*c == '/')
			*c = '_';
	if (stat(samples, &info) == 0)
		st = assay_fail(err, ASSAY_E_USAGE, "-o FILE is needed: where to keep a model of a directory's samples");
	else if (mkdir(models, 0700) != 0 && errno != EEXIST)
		st = assay_fail_errno(err, errno, "cannot make the directory '%s'", models);
	*out = st ? NULL : mem_format("%s/%s.model", models, name);
	free(models);
	free(name);
	return st;
}

/* Learns from the samples. *out: model_file_release() it. */
static enum assay_status learn(const struct train_arguments *a, struct model_file *out, struct assay_error *err)
{
	struct side side = { .runs = NULL };
	struct observed observed = { .function = NULL };
	struct like_inputs like = { .inputs = NULL };
	struct detector *detector = NULL;
	struct detector_options options = detector_defaults;
	struct observe_options observing = observe_defaults, learned;
	char now[TEXT_DATE_BYTES];
	enum assay_status st = cmd_detect_side(a->samples, a->type, &side, err);

	options.scorer = a->scorer;
	options.rate = a->rate;
	options.seed = observing.seed = (uint64_t)a->seed;
	options.threads = cmd_detect_threads();
	learned = observing;
	learned.least_share *= OBSERVE_LEARNED;
	if (!st)
		st = observe(&side, &learned, &observed, err);
	if (!st)
		like_inputs_learn(&side, &observed, input_numbers(&side), true, &like);
	if (!st)
		st = detector_fit(&observed.observations, &options, &detector, err);
	if (!st)
		model_file_make(&side, &observed, &observing, &options, &like, &detector, text_from_ms(clock_real_ms() / 1000 * 1000, now),
				out);
	like_inputs_release(&like);
	observed_release(&observed);
	side_release(&side);
	return st;
}

static enum assay_status model_train_run(struct lab *none, void *arguments, struct document *d, struct assay_error *err)
{
	const struct train_arguments *a = arguments;
	struct model_file model = { .detector = NULL };
	char *path = a->output ? mem_string(a->output) : NULL;
	enum assay_status st = path ? ASSAY_OK : model_path(a->samples, &path, err);

	(void)none;
	if (!st)
		st = learn(a, &model, err);
	if (!st)
		st = model_file_write(&model, path, err);
	if (!st) {
		if (cli_for_people())
			cli_remark("what is normal for %zu function%s, from %zu runs, is in '%s'",
				   detector_about(model.detector)->functions, text_plural(detector_about(model.detector)->functions),
				   detector_about(model.detector)->runs, path);
		else
			add_model(&model, d);
		doc_set(d, "file", path);
	}
	model_file_release(&model);
	free(path);
	return st;
}

const struct command model_train_command = {
	.name = "model train",
	.summary = "learn from samples what is normal, and keep it",
	.about = "Learns from samples what is normal, and keeps that: for 'assay detect --model-file'. The samples are a directory, or "
		 "APP@VERSION of the "
		 "laboratory. Without -o the file is .assay/models/APP@VERSION.model of the laboratory.",
	.examples = "  assay model train samples/1.0 -o 1.0.model\n"
		    "  assay detect --model-file 1.0.model samples/1.1\n",
	.words = train_words,
	.options = train_options,
	.defaults = &train_defaults,
	.arguments_bytes = sizeof(struct train_arguments),
	.lab = CLI_LAB_LATER,
	.run = model_train_run,
};

/* ---- show ---- */

struct show_arguments {
	const char *file;
};

static const struct cli_option show_words[] = { CLI_WORD("FILE", struct show_arguments, file), CLI_END };

static enum assay_status model_show_run(struct lab *none, void *arguments, struct document *d, struct assay_error *err)
{
	const struct show_arguments *a = arguments;
	struct model_file model = { .detector = NULL };
	enum assay_status st = model_file_read(a->file, &model, err);

	(void)none;
	if (!st) {
		doc_line(d, "what is normal for %s", model.what);
		add_model(&model, d);
	}
	model_file_release(&model);
	return st;
}

const struct command model_show_command = {
	.name = "model show",
	.summary = "show where a kept model comes from and what it knows",
	.about = "Shows where a kept model comes from and what it knows.",
	.examples = "  assay model show 1.0.model\n",
	.words = show_words,
	.arguments_bytes = sizeof(struct show_arguments),
	.lab = CLI_LAB_NONE,
	.run = model_show_run,
};
