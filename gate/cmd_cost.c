/* assay cost train, predict, explain */
#include "base/file.h"
#include "base/mem.h"
#include "base/text.h"
#include "fleet/lab/lab.h"
#include "gate/cmd.h"
#include "gate/cost/cost_answer.h"
#include "gate/cost/cost_cheap.h"
#include "gate/cost/cost_machine.h"
#include "gate/cost/cost_model.h"
#include "runs/running/artefact.h"
#include "runs/running/input_features.h"
#include "runs/running/run.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct arguments {
	const char *selector, *machine, *counts, *input, *features, *selected, *early, *slice;
	struct cli_list given; /* NAME=VALUE */
	int64_t min_runs, degree;
	double max_error, predictor_cost;
	int of;
	bool paper, terms;
};

/* *application and *version: the caller's to free(). */
static enum assay_status what_is_asked(const struct arguments *a, char **application, char **version, struct cost_asked *out,
				       struct assay_error *err)
{
	enum assay_status st = run_selector(a->selector, application, version, err);

	*out = (struct cost_asked){ .costs = { .application = *application,
					       .version = *version,
					       .counts = a->counts,
					       .machine = a->machine,
					       .of = (enum cost_of)a->of },
				    .min_runs = (size_t)a->min_runs,
				    .degree = (size_t)a->degree };
	return st;
}

static enum assay_status load_model(struct lab *lab, const struct arguments *a, bool paper, struct cost_model *out, struct assay_error *err)
{
	char *application = NULL, *version = NULL;
	struct cost_asked asked;
	enum assay_status st = what_is_asked(a, &application, &version, &asked, err);

	asked.paper = paper;
	if (!st)
		st = cost_model_of(&lab->store, &asked, out, err);
	mem_free(application, version);
	return st;
}

/* The model of the machine that is asked about; where that did not run enough inputs, of the one that ran most, and how dear the same work
 * is there. */
static enum assay_status load_model_on(struct lab *lab, const struct arguments *a, struct cost_model *out, struct cost_machine *on,
				       struct assay_error *err)
{
	char *application = NULL, *version = NULL;
	struct assay_error why;
	struct cost_asked asked;
	enum assay_status st = what_is_asked(a, &application, &version, &asked, err);

	*on = (struct cost_machine){ .name = NULL };
	if (!st)
		st = cost_model_of(&lab->store, &asked, out, err);
	if (a->machine && (st == ASSAY_E_NOTFOUND || st == ASSAY_E_NODATA)) {
		asked.costs.machine = NULL;
		if (!cost_model_of(&lab->store, &asked, out, &why))
			st = cost_machine_of(lab, out, &asked, a->machine, a->max_error, on, err);
	}
	mem_free(application, version);
	return st;
}

static enum assay_status write_selected(const struct cost_model *model, const char *path, struct assay_error *err)
{
	struct buf names = BUF_INIT;
	enum assay_status st = ASSAY_OK;

	cost_model_counted(model, &names);
	if (!names.size)
		st = assay_fail(err, ASSAY_E_NODATA, "--selected: the model needs nothing that was counted in the runs");
	else
		st = file_replace(path, names.bytes, names.size, 0644, err);
	buf_release(&names);
	return st;
}

static enum assay_status add_cheap(struct lab *lab, const struct arguments *a, const struct cost_model *model, struct document *d,
				   struct assay_error *err)
{
	const struct cost_asked asked = { .costs = { .of = (enum cost_of)a->of }, .degree = (size_t)a->degree };
	const struct cost_cheap_asked allowed = { .early = a->early, .slice = a->slice, .allowed = a->predictor_cost };
	struct cost_cheap cheap = { .source = NULL };
	enum assay_status st = cost_cheap_of(&lab->store, model, &asked, &allowed, &cheap, err);

	if (!st)
		cost_cheap_answer(model, &cheap, d);
	cost_cheap_release(&cheap);
	return st;
}

static enum assay_status train_check(void *arguments, struct assay_error *err)
{
	const struct arguments *a = arguments;

	if ((a->early || a->slice) && a->predictor_cost < 0.0)
		return assay_fail(err, ASSAY_E_USAGE, "%s is for --predictor-cost, which says what may be spent",
				  a->early ? "--early" : "--slice");
	return ASSAY_OK;
}

static enum assay_status train_run(struct lab *lab, void *arguments, struct document *d, struct assay_error *err)
{
	const struct arguments *a = arguments;
	struct cost_model model = { 0 }, paper = { 0 };
	enum assay_status st = load_model(lab, a, false, &model, err);

	if (!st && a->paper)
		st = load_model(lab, a, true, &paper, err);
	if (!st && a->selected)
		st = write_selected(&model, a->selected, err);
	if (!st)
		cost_model_answer(&model, a->max_error, a->paper ? &paper : NULL, d);
	if (!st && a->predictor_cost >= 0.0)
		st = add_cheap(lab, a, &model, d, err);
	cost_model_release(&paper);
	cost_model_release(&model);
	return st;
}

/* ---- what is asked about ---- */

static enum assay_status set_feature(const struct cost_model *model, const char *name, double value, double *row, struct assay_error *err)
{
	size_t column = costs_column(&model->costs, name);
	const char *nearest = text_nearest(name, (const char *const *)model->costs.names, model->costs.p);

	if (column == SIZE_MAX)
		return assay_fail(err, ASSAY_E_USAGE, "the runs have no feature '%s'%s%s%s", TEXT_SHOWN(name),
				  nearest ? " (did you mean '" : "", nearest ? nearest : "", nearest ? "'?)" : "");
	row[column] = value;
	return ASSAY_OK;
}

/* Are these NAME=NUMBER of one name? As in a file, the second is a mistake. */
static bool same_name(const char *a, const char *b)
{
	const char *equals = strrchr(a, '=');

	return equals && strrchr(b, '=') - b == equals - a && strncmp(a, b, (size_t)(equals - a)) == 0;
}

static enum assay_status set_given(const struct cost_model *model, const struct cli_list *given, double *row, struct assay_error *err)
{
	enum assay_status st = ASSAY_OK;

	for (size_t i = 0; !st && i < given->n; i++) {
		char *equals = strrchr(given->items[i], '='), *name;
		double value;

		if (!equals || !text_double(equals + 1, &value))
			return assay_fail(err, ASSAY_E_USAGE, "'%s' is not NAME=NUMBER", given->items[i]);
		for (size_t k = 0; k < i; k++) {
			if (same_name(given->items[k], given->items[i]))
				return assay_fail(err, ASSAY_E_USAGE, "'%s' and '%s' are of one name", given->items[k], given->items[i]);
		}
		name = mem_bytes(given->items[i], (size_t)(equals - given->items[i]));
		st = set_feature(model, name, value, row, err);
		free(name);
	}
	return st;
}

/* Counts that a whole list of features does not have are 0. */
static enum assay_status set_from_file(const struct cost_model *model, const char *path, struct cost_question *q, struct assay_error *err)
{
	struct buf text = BUF_INIT;
	struct run_features list = { .items = NULL };
	enum assay_status st = file_read(path, (size_t)64 << 20, &text, err);
	bool counted = false;

	if (!st) {
		st = run_features_text_parse(text.bytes ? text.bytes : "", text.size, &list, err);
		if (st)
			assay_context(err, "%s", strcmp(path, "-") ? path : "standard input");
	}
	for (size_t i = 0; !st && i < list.n; i++) {
		size_t column = costs_column(&model->costs, list.items[i].name);

		counted = counted || list.items[i].kind == FEATURE_COUNT;
		if (column != SIZE_MAX)
			q->row[column] = list.items[i].value;
	}
	if (!st)
		q->elsewhere = costs_elsewhere(&model->costs, &list);
	for (size_t j = 0; !st && counted && j < model->costs.p; j++) {
		if (isnan(q->row[j]) && costs_is_count(&model->costs, j))
			q->row[j] = 0.0;
	}
	run_features_release(&list);
	buf_release(&text);
	return st;
}

static void set_run(const struct cost_model *model, size_t input, struct cost_question *q)
{
	memcpy(q->row, model->costs.X.at + input * model->costs.p, model->costs.p * sizeof(double));
	q->measured = model->costs.inputs[input].median;
}

/* What the manifest says of an input. ASSAY_E_NOTFOUND: it does not have it. */
static enum assay_status read_manifest(const char *name, const struct cost_model *model, struct execution_features *out,
				       struct assay_error *err)
{
	struct manifest manifest = { .file = NULL };
	struct artefact files = { .files = NULL };
	char *input = mem_string(name), shown[TEXT_SHOWN_BYTES];
	enum assay_status st = manifest_open(cli_directory(), model->costs.application, &manifest, err);
	size_t index = st ? SIZE_MAX : manifest_find_input(&manifest, input);

	*out = (struct execution_features){ .input = "" };
	if (!st && index == SIZE_MAX)
		st = assay_fail(err, ASSAY_E_NOTFOUND, "no input '%s': neither was it run, nor does the manifest have it",
				text_shown(input, shown));
	if (!st)
		st = artefact_files(&manifest, &files, err);
	if (!st)
		st = artefact_add_inputs(&manifest, &input, 1, &files, err);
	if (!st)
		input_features_of(&manifest, index, &files, out);
	artefact_release(&files);
	manifest_release(&manifest);
	free(input);
	return st;
}

/* An input that was not run by this name: what its manifest says of it, and what other runs do. */
static enum assay_status set_not_run(struct lab *lab, const struct arguments *a, const struct cost_model *model, struct cost_question *q,
				     struct assay_error *err)
{
	const struct costs_asked asked = { .application = model->costs.application, .version = model->costs.version, .counts = a->counts };
	struct execution_features features;
	struct assay_error other;
	enum assay_status st = read_manifest(a->input, model, &features, err);
	size_t same = st ? SIZE_MAX : costs_same_input(&model->costs, features.input);

	if (same != SIZE_MAX) {
		q->same_as = model->costs.inputs[same].name;
		set_run(model, same, q);
	} else if (!costs_other_run(&lab->store, &asked, a->input, features.input, &q->other, &other) && q->other.version) {
		q->other_code = !q->other.counts && q->other.features.counted.n;
		if (!q->other.counts)
			run_features_release(&q->other.features.counted);
		costs_row(&model->costs, &q->other.features, q->row);
		q->elsewhere = costs_elsewhere(&model->costs, &q->other.features.counted);
		st = ASSAY_OK;
	} else if (!st) {
		costs_row(&model->costs, &features, q->row);
	}
	execution_features_release(&features);
	return st;
}

/* Nothing is counted less than never, and no file has less than no bytes. */
static enum assay_status check_row(const struct costs *c, const double *row, struct assay_error *err)
{
	for (size_t j = 0; j < c->p; j++) {
		bool size = costs_is_count(c, j) || (c->origin[j] == COST_KNOWN && input_feature_is_size(c->names[j]));

		if (size && row[j] < 0.0)
			return assay_fail(err, ASSAY_E_USAGE, "'%s' cannot be %.17g: it is a number of things, at least 0", c->names[j],
					  row[j]);
	}
	return ASSAY_OK;
}

static enum assay_status ask(struct lab *lab, const struct arguments *a, const struct cost_model *model, struct cost_question *q,
			     struct assay_error *err)
{
	const struct costs *c = &model->costs;
	size_t input = a->input ? costs_input(c, a->input) : SIZE_MAX;
	double *was = mem_new(c->p, sizeof(*was)), elsewhere;
	enum assay_status st = ASSAY_OK;

	*q = (struct cost_question){ .input = a->input, .row = mem_new(c->p, sizeof(double)), .measured = (double)NAN };
	for (size_t j = 0; j < c->p; j++)
		q->row[j] = c->origin[j] == COST_KNOWN && input_feature_is_word(c->names[j]) ? 0.0 : (double)NAN;
	if (input != SIZE_MAX)
		set_run(model, input, q);
	else if (a->input)
		st = set_not_run(lab, a, model, q, err);
	memcpy(was, q->row, c->p * sizeof(double));
	elsewhere = q->elsewhere;
	if (!st && a->features)
		st = set_from_file(model, a->features, q, err);
	if (!st)
		st = set_given(model, &a->given, q->row, err);
	if (q->elsewhere != elsewhere || memcmp(q->row, was, c->p * sizeof(double)) != 0)
		q->measured = (double)NAN; /* it is another input by now */
	free(was);
	return st ? st : check_row(c, q->row, err);
}

/* A model that errs more than --max-error says nothing of any input. */
static enum assay_status check_error(const struct cost_model *model, double max_error, struct assay_error *err)
{
	if (model->all.model.error_mean <= max_error)
		return ASSAY_OK;
	return assay_fail(err, ASSAY_E_NODATA,
			  "the model errs by %.1f %% on inputs left out, which is more than %.3g %% (--max-error): more inputs, or "
			  "features that say more, are needed ('assay cost train' shows it)",
			  100 * model->all.model.error_mean, 100 * max_error);
}

/* Nor does one of what is known before a run, which may err more than that of all features. */
static enum assay_status check_known(const struct cost_model *model, const double *row, double max_error, struct assay_error *err)
{
	const struct cost_fit *fit = cost_fit_for(model, row);

	if (!fit || fit->model.error_mean <= max_error)
		return ASSAY_OK;
	return assay_fail(err, ASSAY_E_NODATA,
			  "what is known of this input before a run says what it costs within %.1f %%, which is more than %.3g %% "
			  "(--max-error); with what is counted in a run it is %.1f %%: count in it, and give the counts with --features",
			  100 * fit->model.error_mean, 100 * max_error, 100 * model->all.model.error_mean);
}

/* Counts of another code do not help here, but may elsewhere. */
static enum assay_status add_remedy(const struct cost_question *q, enum assay_status st, struct assay_error *err)
{
	char *text = mem_string(err->text);

	if (st == ASSAY_E_NODATA && q->other_code)
		(void)assay_fail(err, st, "%s; '%s' has counted in it, but counts are of the code (--counts %s learns by its counts)", text,
				 q->other.version, q->other.version);
	free(text);
	return st;
}

static enum assay_status predict_or_explain(struct lab *lab, const struct arguments *a, bool terms, struct document *d,
					    struct assay_error *err)
{
	struct cost_model model = { 0 };
	struct cost_machine on = { .name = NULL };
	struct cost_question question = { .row = NULL };
	enum assay_status st = load_model_on(lab, a, &model, &on, err);

	if (!st)
		st = check_error(&model, a->max_error, err);
	if (!st)
		st = ask(lab, a, &model, &question, err);
	if (!st)
		st = check_known(&model, question.row, a->max_error, err);
	question.on = &on;
	if (on.name) /* what was measured was measured elsewhere */
		question.measured = (double)NAN;
	if (!st)
		st = cost_prediction_answer(&model, &question, terms, d, err);
	if (st)
		st = add_remedy(&question, st, err);
	free(question.row);
	costs_other_release(&question.other);
	cost_model_release(&model);
	return st;
}

static enum assay_status predict_run(struct lab *lab, void *arguments, struct document *d, struct assay_error *err)
{
	return predict_or_explain(lab, arguments, false, d, err);
}

static enum assay_status explain_run(struct lab *lab, void *arguments, struct document *d, struct assay_error *err)
{
	return predict_or_explain(lab, arguments, true, d, err);
}

static enum assay_status question_check(void *arguments, struct assay_error *err)
{
	const struct arguments *a = arguments;

	if (!a->input && !a->features && !a->given.n)
		return assay_fail(err, ASSAY_E_USAGE, "which input: --input NAME, --features FILE, or NAME=NUMBER");
	return ASSAY_OK;
}

/* clang-format off */
#define COST_CHOICE(constant, word, unit, text) [constant] = word,
static const char *const choices[] = { COST_ROWS(COST_CHOICE) [COSTS] = NULL };
#define EXIT_ASKED "6 the model cannot say: too few inputs, an error above --max-error, or features of the input that are not known."
#define MODEL_OPTIONS(of_machine)                                                                                                          \
	CLI_TEXT("machine", "MACHINE", struct arguments, machine, of_machine " (default: the one that ran most inputs)"),                  \
	CLI_CHOICE("of", choices, struct arguments, of, "Of what: cpu, processor time (the default), wall, or metric"),                    \
	CLI_TEXT("counts", "VERSION", struct arguments, counts,                                                                            \
		 "The version whose runs have counted the features, a counting build (default: the version itself)"),                      \
	CLI_INTEGER("min-runs", "N", struct arguments, min_runs, SPARSE_INPUTS_MIN, 1000000,                                               \
		    "Refuse to learn from fewer inputs (default: 40; an input that was run again is one)"),                                \
	CLI_REAL("max-error", "PART", struct arguments, max_error, 0.0, 1000.0,                                                            \
		 "The mean error on inputs left out above which the model is of no use (default: 0.15)"),                                  \
	CLI_INTEGER("degree", "N", struct arguments, degree, 1, SPARSE_DEGREE_MAX,                                                                    \
		    "Products of up to N features (default: 2, and 3 of what is known before a run)")
/* clang-format on */

static const struct cli_option train_words[] = { CLI_WORD("APP[@VERSION]", struct arguments, selector), CLI_END };
static const struct cli_option train_options[] = {
	MODEL_OPTIONS("The machine that the model is of"),
	CLI_FLAG("paper", struct arguments, paper, "Show the published procedure beside it: coefficients of any sign, absolute errors"),
	CLI_TEXT("selected", "FILE", struct arguments, selected,
		 "Write the counted features that the model needs to FILE, for 'assay features build --only'"),
	CLI_REAL("predictor-cost", "PART", struct arguments, predictor_cost, 0.0, 1.0,
		 "Also learn from what is known before a run for at most this part of its cost, such as .05"),
	CLI_TEXT("early", "VERSION", struct arguments, early,
		 "With it: a counting build whose runs end early ('assay features build --until')"),
	CLI_TEXT("slice", "VERSION", struct arguments, slice,
		 "With it: a counting build without most of the program ('assay features build --without')"),
	CLI_END,
};
static const struct cli_option question_words[] = {
	CLI_WORD("APP[@VERSION]", struct arguments, selector),
	CLI_WORDS("NAME=NUMBER", struct arguments, given, 0),
	CLI_END,
};
static const struct cli_option question_options[] = {
	CLI_TEXT("input", "NAME", struct arguments, input, "An input that was run, or that the manifest has"),
	CLI_TEXT("features", "FILE", struct arguments, features, "Features of an input, a line NUMBER NAME each; - is standard input"),
	MODEL_OPTIONS("The machine to predict for: where it did not run enough inputs, by its fingerprint and those of machines that did"),
	CLI_END,
};
static const struct arguments defaults = { .min_runs = COST_RUNS_MIN, .max_error = COST_ERROR_MAX, .predictor_cost = -1.0 };

const struct command cost_train_command = {
	.name = "cost train",
	.summary = "learn what inputs cost a version, as a sum of few terms",
	.about =
	    "Learns from the runs of a version with many inputs what an input costs it: a sparse polynomial of what is known of the inputs "
	    "(arguments, sizes of files, what the manifest's 'features' prints) and of what was counted in the runs. The first line is the "
	    "model; then its errors on inputs left out, what each term takes, and what left. APP is the name of a manifest, without an "
	    "input. Nothing is kept: the store says what the model is.",
	.examples = "  assay cost train sorter@1.0\n"
		    "  assay cost train sorter@1.0 --counts counted --paper\n"
		    "  assay cost train sorter@1.0 --format json | jq .terms\n"
		    "  assay cost train sorter@1.0 --counts counted --predictor-cost .05 --early read\n"
		    "  assay cost train sorter@1.0 --counts counted --selected names && assay features build --only "
		    "names -- make\n",
	.exit_status = "0, or 4 when the error is above --max-error; 1 failure, 2 usage, 6 too few inputs for a model.",
	.words = train_words,
	.options = train_options,
	.defaults = &defaults,
	.check = train_check,
	CLI_RUN(struct arguments, CLI_LAB_READ, train_run),
};

const struct command cost_predict_command = {
	.name = "cost predict",
	.summary = "predict what an input should cost a version",
	.about =
	    "Says what an input should cost a version, with a 90 % interval, by the model of 'assay cost train'. An input that is "
	    "unlike all that were learned is an answer of its own. On a machine that did not run enough inputs it is the model of the "
	    "machine that ran most, times how dear the same work should be by the fingerprints of both; where these do not carry that, "
	    "it is refused.",
	.examples = "  assay cost predict sorter@1.0 --input large\n"
		    "  assay cost predict sorter@1.0 'bytes of the input=250000'\n"
		    "  assay cost predict sorter@1.0 --input large --machine rome07\n"
		    "  ./features new.txt | assay cost predict sorter@1.0 --features -\n",
	.exit_status = "0, or 4 when the input is unlike all that were learned; 1 failure, 2 usage, " EXIT_ASKED,
	.words = question_words,
	.options = question_options,
	.defaults = &defaults,
	.check = question_check,
	CLI_RUN(struct arguments, CLI_LAB_READ, predict_run),
};

const struct command cost_explain_command = {
	.name = "cost explain",
	.summary = "what each term of the model costs on an input",
	.about = "As 'assay cost predict', and what each term of the model costs on this input.",
	.examples = "  assay cost explain sorter@1.0 --input large\n",
	.exit_status = "0, or 4 when the input is unlike all that were learned; 1 failure, 2 usage, " EXIT_ASKED,
	.words = question_words,
	.options = question_options,
	.defaults = &defaults,
	.check = question_check,
	CLI_RUN(struct arguments, CLI_LAB_READ, explain_run),
};
