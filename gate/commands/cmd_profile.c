/* The command assay profile. docs/schema/profile.json describes the members of the answer. */
#include "base/mem.h"
#include "base/order.h"
#include "base/text.h"
#include "gate/commands/gate_commands.h"
#include "gate/commands/cmd_evidence.h"
#include "gate/profile/stored.h"
#include "gate/profile/profile.h"

#include <math.h>

enum { MODEL_TIME, MODEL_PAPER };

struct arguments {
	const char *selector;
	int64_t top, resamples, seed;
	int model;
};

/* Returns the reasons that limit the trust in the profile: "A, B and C". free() it. */
static char *join_reasons_text(const struct profile *p)
{
	struct buf text = BUF_INIT;
	size_t left = 0;

	for (size_t i = 0; i < p->n_reasons; i++)
		left += p->reasons[i].verdict_limit == p->verdict;
	for (size_t i = 0; i < p->n_reasons; i++) {
		if (p->reasons[i].verdict_limit != p->verdict)
			continue;
		left--;
		buf_format(&text, "%s%s", p->reasons[i].clause, left > 1 ? ", " : left == 1 ? " and " : "");
	}
	return buf_take(&text);
}

/* Returns the largest part at the deepest trusted level as text, "in 'vm: msync'" or "computing", and sets *share. Returns NULL if no level
 * is trusted. free() it. */
static char *deepest_text(const struct profile *p, struct shares_part *share)
{
	const struct profile_group *group = p->n_groups ? &p->groups[0] : NULL;

	if (group && p->verdict == PROFILE_TRUSTED) {
		*share = (struct shares_part){ .share = group->share, .low = group->low, .high = group->high };
		return mem_format("in '%s'", group->name);
	}
	for (size_t depth = INFERRED_LEVELS; depth-- > 0;) {
		const struct inferred_part *lead = inferred_find_largest(&p->inferred, depth);

		if (!p->inferred.trusted[depth])
			continue;
		*share = lead->share;
		return depth > 0 ? mem_format("%s (%s)", level_text(lead->level), lead->name) : mem_string(level_text(lead->level));
	}
	return NULL;
}

/* Adds the first line. If the model does not identify stressors with trust, the measured parts come first. */
static void describe_conclusion(const struct profile *p, const struct parts *parts, const struct run_set *runs, struct document *d)
{
	const struct profile_group *lead = p->n_groups ? &p->groups[0] : NULL;
	bool trusted = p->verdict == PROFILE_TRUSTED;
	char *clause = join_reasons_text(p), *measured = parts->levels->runs && !trusted ? parts_text(parts) : NULL, *deepest;
	struct shares_part share = { 0 };

	deepest = deepest_text(p, &share);
	if (measured && p->verdict == PROFILE_NOT_IDENTIFIABLE)
		doc_answer(d, DOC_DOUBTFUL, "", "%s@%s spends %s; more cannot be identified because %s", runs->application, runs->version,
			   measured, clause);
	else if (measured)
		doc_answer(d, DOC_DOUBTFUL, "", "%s@%s spends %s; the stressors that it resembles are %s because %s", runs->application,
			   runs->version, measured, profile_verdict_text(p->verdict), clause);
	else if (deepest)
		doc_answer(d, DOC_GOOD, "", "%s@%s spends about %.0f %% of its time %s (90 %% interval %.0f to %.0f %%); %s%s",
			   runs->application, runs->version, 100 * share.share, deepest, 100 * share.low, 100 * share.high,
			   trusted ? "trusted" : "trusted, but not which stressors, because ", clause);
	else if (p->verdict == PROFILE_NOT_IDENTIFIABLE)
		doc_answer(d, DOC_BAD, profile_verdict_text(p->verdict), "how %s@%s spends its time, because %s", runs->application,
			   runs->version, clause);
	else
		doc_answer(d, DOC_DOUBTFUL, "",
			   "%s@%s spends about %.0f %% of its time in '%s' (90 %% interval %.0f to %.0f %%); %s because %s",
			   runs->application, runs->version, 100 * lead->share, lead->name, 100 * lead->low, 100 * lead->high,
			   profile_verdict_text(p->verdict), clause);
	mem_free(deepest, clause, measured);
}

/* Returns the code of the deepest trusted level; NULL if none is trusted. */
static const char *trusted_level(const struct profile *p)
{
	return p->verdict == PROFILE_TRUSTED ? "group" : p->inferred.trusted[1] ? "category" : p->inferred.trusted[0] ? "time" : NULL;
}

static void describe_trust(const struct profile *p, struct document *d)
{
	doc_object(d, "trust");
	doc_set(d, "verdict", profile_verdict_text(p->verdict));
	doc_set_empty(d, "level", trusted_level(p));
	doc_list(d, "reasons");
	for (size_t i = 0; i < p->n_reasons; i++)
		doc_reason(d, p->reasons[i].code, p->reasons[i].text);
	doc_end(d);
	doc_end(d);
}

static void describe_basis(const struct profile *p, const struct dataset *data, struct document *d)
{
	size_t rows = p->rows->rates.rows, types = p->rows->types;
	double none = (double)NAN;

	doc_set(d, "q2", p->fitted ? p->validation.q2 : none);
	doc_set(d, "mape", p->fitted ? p->validation.mape : none);
	doc_set(d, "noise", p->rows->noise);
	doc_line(d, "from %zu hardware type%s (%zu machine%s, %zu result%s)%s", types, text_plural(types), data->machines,
		 text_plural(data->machines), rows, text_plural(rows), p->fitted ? "" : "\n");
	if (p->fitted)
		doc_line(d, "on held-out hardware types: error %.0f %%, Q2 %.2f; effective rank %.1f\n", 100 * p->validation.mape,
			 p->validation.q2, p->data.features.effective_rank);
}

static void describe_model_choice(const struct profile *p, struct document *d)
{
	if (!p->fitted) {
		doc_set(d, "choice", DOC_NULL_VALUE);
		return;
	}
	doc_object(d, "choice");
	doc_set(d, "stumps", p->blend.choice.stumps);
	doc_list(d, "additive");
	for (size_t k = 0; k < BLEND_ADDITIVE; k++) {
		doc_object(d, NULL);
		doc_set(d, "size", blend_grid[k].size);
		doc_set(d, "sharpness", blend_grid[k].sharpness);
		doc_set(d, "weight", p->blend.choice.additive[k]);
		doc_end(d);
	}
	doc_end(d);
	doc_end(d);
}

static void describe_group(const struct profile *p, size_t i, struct document *d)
{
	const struct profile_group *g = &p->groups[i];

	if (i < p->n_ranked)
		doc_show(d, NULL, "rank", g->rank);
	doc_showf(d, NULL, "share", g->share, "%.1f %%", 100 * g->share);
	doc_showf(d, NULL, "90 % interval", g->low, "%.0f to %.0f %%", 100 * g->low, 100 * g->high);
	doc_showf(d, NULL, "other fits", g->least, "%.0f to %.0f %%", 100 * g->least, 100 * g->most);
	doc_showf(d, NULL, "first", g->first, "%.0f %%", 100 * g->first);
	doc_show(d, "name", "group", g->name);
	doc_bar(d, "", g->share);
	doc_list(d, "categories");
	for (size_t c = 0; c < CATEGORY_COUNT; c++) {
		if (g->categories[c])
			doc_set(d, NULL, category_name((enum category)c));
	}
	doc_end(d);
	doc_list(d, "members");
	for (size_t k = 0; k < g->n; k++)
		doc_set(d, NULL, p->rows->features[g->members[k]]);
	doc_end(d);
	doc_set(d, "share", g->share);
	doc_set(d, "share_low", g->low);
	doc_set(d, "share_high", g->high);
	doc_set(d, "share_min", g->least);
	doc_set(d, "share_max", g->most);
	doc_set(d, "importance", g->importance);
	doc_set(d, "rank", g->rank);
	doc_set(d, "first_probability", g->first);
}

static void describe_unexplained_row(const struct shares *s, struct document *d)
{
	size_t k = s->groups;

	doc_row(d);
	doc_hide_from_programs(d);
	doc_showf(d, NULL, "share", s->share[k], "%.1f %%", 100 * s->share[k]);
	doc_showf(d, NULL, "90 % interval", s->low[k], "%.0f to %.0f %%", 100 * s->low[k], 100 * s->high[k]);
	doc_show(d, NULL, "group", "(unexplained)");
}

static void describe_unexplained(const struct profile *p, struct document *d)
{
	const struct shares *s = &p->shares;

	if (!p->fitted) {
		doc_set(d, "unexplained", DOC_NULL_VALUE);
		return;
	}
	doc_object(d, "unexplained");
	doc_set(d, "share", s->share[s->groups]);
	doc_set(d, "share_low", s->low[s->groups]);
	doc_set(d, "share_high", s->high[s->groups]);
	doc_end(d);
}

static void describe_groups(const struct profile *p, size_t shown, struct document *d)
{
	double rest = 0;

	doc_table(d, "groups");
	for (size_t i = 0; i < p->n_groups; i++) {
		doc_row(d);
		if (i >= shown)
			doc_hide(d);
		describe_group(p, i, d);
	}
	if (p->fitted)
		describe_unexplained_row(&p->shares, d);
	doc_end(d);
	describe_unexplained(p, d);
	for (size_t i = shown; i < p->n_groups; i++)
		rest += p->groups[i].share;
	if (shown < p->n_groups)
		doc_line(d, "and %.1f %% in %zu other group%s (--top)", 100 * rest, p->n_groups - shown, text_plural(p->n_groups - shown));
	if (p->fitted) {
		doc_line(d,
			 "\nshare: of its time; other fits: range over models that fit nearly as well; first: how often it is the largest");
		doc_line(d, "rank: by share; groups below %.0f %% are tied: most of them are not used", 100 * PROFILE_RANKED_SHARE_MIN);
	}
}

static void describe_features(const struct profile *p, struct document *d)
{
	const struct features *f = &p->data.features;

	doc_list(d, "features");
	for (size_t g = 0; g < p->n_groups; g++) {
		for (size_t i = 0; i < p->groups[g].n; i++) {
			size_t j = p->groups[g].members[i], k = f->distinct[j];

			doc_object(d, NULL);
			doc_set(d, "name", p->rows->features[j]);
			doc_set(d, "group", p->groups[g].name);
			doc_set(d, "importance", p->importance[j]);
			doc_set(d, "share", p->shares.column[k] / (double)f->copies[k]);
			doc_end(d);
		}
	}
	doc_end(d);
	doc_list(d, "dropped");
	for (size_t j = 0; f->state && j < f->p; j++) {
		if (f->state[j] == FEATURE_USED)
			continue;
		doc_object(d, NULL);
		doc_set(d, "name", p->rows->features[j]);
		doc_set(d, "reason", feature_code(f->state[j]));
		doc_end(d);
	}
	doc_end(d);
}

static void excluded_add(const char *code, const char *why, size_t n, struct document *d)
{
	doc_set(d, code, n);
	if (n)
		doc_line(d, "excluded: %zu results: %s", n, why);
}

/* Adds the results excluded from a data set and, unless NULL, from `rows`, as members of the open object and as lines for users. */
static void profile_describe_excluded(const struct dataset *data, const struct profile_rows *rows, struct document *d)
{
	for (int i = 0; i < EXCLUDED_REASONS; i++)
		excluded_add(excluded_code((enum exclusion_code)i), excluded_text((enum exclusion_code)i),
			     data->n_excluded[i] + (rows && i == EXCLUDED_INCOMPLETE ? rows->incomplete : 0), d);
	if (!rows)
		return;
	excluded_add("metric_not_positive", "not above 0", rows->n_not_positive, d);
	excluded_add("hardware_type_unknown", "the catalog has no fingerprint of their machine", rows->n_untyped, d);
}

static void describe_excluded(const struct profile *p, const struct dataset *data, struct document *d)
{
	const struct features *f = &p->data.features;

	doc_object(d, "left_out");
	profile_describe_excluded(data, p->rows, d);
	doc_end(d);
	for (size_t state = FEATURE_USED + 1; state < FEATURE_STATES; state++) {
		struct buf names = BUF_INIT;

		for (size_t j = 0; f->state && j < f->p; j++) {
			if (f->state[j] == state)
				buf_format(&names, "%s%s", names.size ? ", " : "", p->rows->features[j]);
		}
		if (names.size)
			doc_line(d, "stressors excluded: %s: %s", names.bytes, feature_text((enum feature_state)state));
		buf_release(&names);
	}
}

/* Adds the measured parts, if there are any, and the table of measured and inferred levels. */
static void describe_measured(const struct stored_time *time, const struct inferred_profile *inferred, struct document *d)
{
	if (time->levels.runs) {
		parts_describe(&time->parts, "measured", inferred, d);
	} else {
		doc_table(d, "levels");
		doc_hide(d);
		inferred_add_rows(inferred, d);
		doc_end(d);
		doc_set(d, "measured", DOC_NULL_VALUE);
	}
	doc_set(d, "sampled_runs", time->sampled_runs);
	if (time->sampled_runs && time->sampled_runs < time->levels.runs)
		doc_line(d, "Samples are of %zu of %zu runs", time->sampled_runs, time->levels.runs);
}

/* Adds an answer with only the measured parts, for results without fingerprints. */
static void measured_describe(const struct stored_time *time, const struct run_set *runs, const char *why, struct document *d)
{
	char *text = parts_text(&time->parts), *reason = mem_format("%s; take fingerprints with 'assay host measure' before the runs", why);

	doc_answer(d, DOC_DOUBTFUL, "", "%s@%s spends %s; more is not identifiable because no fingerprint belongs to its results",
		   runs->application, runs->version, text);
	describe_measured(time, NULL, d);
	doc_set(d, "application", runs->application);
	doc_set(d, "version", runs->version);
	doc_set(d, "machines", time->levels.machines);
	doc_object(d, "trust");
	doc_set(d, "verdict", profile_verdict_text(PROFILE_NOT_IDENTIFIABLE));
	doc_list(d, "reasons");
	doc_reason(d, "no_fingerprints", reason);
	doc_end(d);
	doc_end(d);
	mem_free(reason, text);
}

static void profile_describe(const struct profile *p, const struct stored_time *time, const struct run_set *runs,
			     const struct dataset *data, const struct arguments *a, struct document *d)
{
	describe_conclusion(p, &time->parts, runs, d);
	describe_measured(time, &p->inferred, d);
	doc_set(d, "application", runs->application);
	doc_set(d, "version", runs->version);
	doc_set(d, "battery", data->battery);
	doc_set(d, "rows", p->rows->rates.rows);
	doc_set(d, "machines", data->machines);
	doc_set(d, "hardware_types", p->rows->types);
	doc_set(d, "effective_rank", p->rows->types ? p->data.features.effective_rank : (double)NAN);
	describe_trust(p, d);
	describe_basis(p, data, d);
	describe_model_choice(p, d);
	if (p->fitted)
		inferred_describe(&p->inferred, d);
	describe_groups(p, (size_t)a->top, d);
	describe_features(p, d);
	describe_excluded(p, data, d);
	doc_set_json(d, "other_builds", run_others_json(runs));
}

struct stressor_bar {
	const char *name;
	double value;
};

ORDER_BY(compare_bars, struct stressor_bar, BY_DESC(value) BY_TEXT(name))

static void paper_bars(const struct stressor_bar *bars, size_t n, size_t shown, struct document *d)
{
	double rest = 0;

	doc_table(d, NULL);
	for (size_t i = 0; i < shown; i++) {
		doc_row(d);
		doc_show(d, NULL, "stressor", bars[i].name);
		doc_showf(d, NULL, "importance", bars[i].value, "%.1f %%", 100 * bars[i].value);
		doc_show(d, NULL, "category", category_name(stressor_category(bars[i].name)));
		doc_bar(d, "", bars[i].value / bars[0].value);
	}
	doc_end(d);
	for (size_t i = shown; i < n; i++)
		rest += bars[i].value;
	if (rest > .0005)
		doc_line(d, "and %.1f %% in %zu others", 100 * rest, n - shown);
}

static void paper_describe_human(const struct paper_profile *p, size_t shown, struct document *d)
{
	const double *importance = gbt_info(p->gbt).importance_per_tree;
	size_t cols = p->dataset.X.cols, n = 0;
	struct stressor_bar *bars = mem_new(cols, sizeof(*bars));

	for (size_t j = 0; j < cols; j++)
		bars[j] = (struct stressor_bar){ p->dataset.features[j], importance[j] };
	qsort(bars, cols, sizeof(*bars), compare_bars);
	while (n < cols && n < shown && bars[n].value > 0)
		n++;
	if (n)
		doc_answer(d, DOC_PLAIN, "", "%s@%s varies most with '%s', which has %.1f %% of the importance", p->runs->application,
			   p->runs->version, bars[0].name, 100 * bars[0].value);
	else
		doc_answer(d, DOC_PLAIN, "", "%s@%s has the same metric on all machines: nothing can be inferred from it",
			   p->runs->application, p->runs->version);
	doc_line(d, "published method, unvalidated, from %zu hardware type%s (%zu machine%s, %zu results);", p->dataset.hardware_types,
		 text_plural(p->dataset.hardware_types), p->dataset.machines, text_plural(p->dataset.machines), p->dataset.X.rows);
	doc_line(d, "%.1f features tied a split: tied stressors share an importance that the data cannot divide\n",
		 gbt_info(p->gbt).tied_per_split);
	if (p->dataset.hardware_types < 2)
		doc_line(d, "On a single hardware type only noise differs: these bars have no meaning.\n");
	if (n)
		paper_bars(bars, cols, n, d);
	free(bars);
}

static void paper_importances(const char *key, const struct dataset *data, const double *importance, struct document *d)
{
	doc_object(d, key);
	for (size_t j = 0; j < data->X.cols; j++)
		doc_set(d, data->features[j], importance[j]);
	doc_end(d);
}

static void paper_errors(const struct gbt *gbt, struct document *d)
{
	static const size_t stages[] = { 1, 2, 3, 10, 100, 500, 1000 };

	doc_object(d, "train_mse");
	for (size_t i = 0; i < sizeof(stages) / sizeof(stages[0]); i++) {
		char stage[24];

		snprintf(stage, sizeof(stage), "%zu", stages[i]);
		doc_set(d, stage, gbt_info(gbt).mse[stages[i]]);
	}
	doc_end(d);
}

/* Adds the answer of the published method, with bars for at most `shown` stressors. */
static void paper_profile_describe(const struct paper_profile *p, size_t shown, struct document *d)
{
	const struct dataset *data = &p->dataset;

	paper_describe_human(p, shown, d);
	doc_set(d, "application", p->runs->application);
	doc_set(d, "version", p->runs->version);
	doc_set(d, "model", "paper");
	doc_set_bool(d, "validated", false);
	doc_set(d, "battery", data->battery);
	doc_set(d, "rows", data->X.rows);
	doc_set(d, "machines", data->machines);
	doc_set(d, "hardware_types", data->hardware_types);
	doc_texts(d, "features", data->features, data->X.cols);
	paper_errors(p->gbt, d);
	paper_importances("importances_sum", data, gbt_info(p->gbt).importance_sum, d);
	paper_importances("importances_per_tree", data, gbt_info(p->gbt).importance_per_tree, d);
	doc_set(d, "tied_per_split", gbt_info(p->gbt).tied_per_split);
	doc_set(d, "ambiguous_splits", gbt_info(p->gbt).ambiguous_splits);
	doc_object(d, "left_out");
	profile_describe_excluded(data, NULL, d);
	doc_end(d);
	doc_set_json(d, "other_builds", run_others_json(p->runs));
}

/* Adds the profile to the document, even if it is not trusted. Fails only if there is no usable result. */
static enum assay_status profile_show_time(struct lab *lab, const struct cmd_evidence *e, const struct arguments *a, struct document *d,
					   struct assay_error *err)
{
	const struct profile_options how = { .resamples = (size_t)a->resamples, .seed = (uint64_t)a->seed };
	const struct run_set *runs = &e->runs[0];
	struct profile_rows rows;
	struct profile profile = { 0 };
	struct dataset dataset;
	struct stored_time *time;
	enum assay_status st = stored_time_load(&lab->store, runs, &time, err);

	if (st)
		return st;
	dataset_build(&e->evidence, runs, true, &dataset);
	profile_rows_build(&e->evidence, runs, &dataset, &rows);
	if (rows.rates.rows > 0)
		st = views_load(&lab->store, time, &dataset, &rows, err);
	else
		st = profile_fail_no_rows(runs, &dataset, "results above 0 on machines with a fingerprint", 0, err);
	if (rows.rates.rows == 0 && time->levels.runs) {
		measured_describe(time, runs, err->text, d);
		st = ASSAY_OK;
	}
	if (!st && rows.rates.rows > 0) {
		profile_compute(&rows, &how, &profile);
		profile_describe(&profile, time, runs, &dataset, a, d);
	}
	stored_time_free(time);
	profile_release(&profile);
	profile_rows_release(&rows);
	dataset_release(&dataset);
	return st;
}

static enum assay_status profile_show_paper(struct lab *lab, const struct cmd_evidence *e, const struct arguments *a, struct document *d,
					    struct assay_error *err)
{
	struct paper_profile profile;
	enum assay_status st = paper_profile_fit(&e->evidence, &e->runs[0], &profile, err);

	(void)lab;
	if (!st)
		paper_profile_describe(&profile, (size_t)a->top, d);
	paper_profile_release(&profile);
	return st;
}

static enum assay_status profile_run(struct lab *lab, void *arguments, struct document *d, struct assay_error *err)
{
	const struct arguments *a = arguments;
	struct cmd_evidence e;
	enum assay_status st = cmd_evidence_load(lab, &a->selector, 1, true, &e, err);

	if (!st)
		st = (a->model == MODEL_PAPER ? profile_show_paper : profile_show_time)(lab, &e, a, d, err);
	cmd_evidence_release(&e);
	return st;
}

static const char *const models[] = { [MODEL_TIME] = "time", [MODEL_PAPER] = "paper", NULL };
static const struct cli_option words[] = { CLI_ARGUMENT("APP[@VERSION]", struct arguments, selector), CLI_END };
static const struct cli_option options[] = {
	CLI_CHOICE("model", models, struct arguments, model, "The model: time (the default) or paper"),
	CMD_TOP(struct arguments, top, "Number of groups, or stressors of the paper's model, to show (default: 15)"),
	CMD_RESAMPLES(struct arguments, resamples, "Number of resamples of the hardware types for the error bars (default: 200)"),
	CMD_SEED(struct arguments, seed),
	CLI_END,
};
static const struct arguments defaults = { .top = 15, .resamples = SHARES_RESAMPLES, .seed = PROFILE_SEED };

const struct command profile_command = {
	.name = "profile",
	.summary = "infer the resources that a version stresses",
	.about = "Infers the resources that an application stresses from the variation of its performance over machines with known "
		 "fingerprints; nothing is instrumented. Correlated stressors form one group. Each group has the share of the time that it "
		 "explains, with its uncertainty. The profile states whether it can be trusted, and if not, what would help. 'assay stat' "
		 "measures a command on this machine instead.",
	.more = "Models:\n  time    (default) work on each resource divided by its speed, blended with boosted stumps;\n          "
		"validated on held-out hardware types\n  paper   importances of boosted trees, as published with quiho (2018); not "
		"validated, so it has\n          no measure of trust\n",
	.examples = "  assay profile hpccg\n"
		    "  assay profile stream/add-1@imported --model paper --format json\n",
	.words = words,
	.options = options,
	.defaults = &defaults,
	CLI_RUN(struct arguments, CLI_LAB_READ, profile_run),
};
