/* A profile as an answer; docs/formats.md has the members. */
#include "base/mem.h"
#include "base/text.h"
#include "gate/profile/profile.h"

#include <math.h>

/* ---- the first line, and how far it can be trusted ---- */

/* "A, B and C": why the profile is not trusted more than it is; free() it. */
static char *because_text(const struct profile *p)
{
	struct buf text = BUF_INIT;
	size_t left = 0;

	for (size_t i = 0; i < p->n_reasons; i++)
		left += p->reasons[i].at_most == p->verdict;
	for (size_t i = 0; i < p->n_reasons; i++) {
		if (p->reasons[i].at_most != p->verdict)
			continue;
		left--;
		buf_format(&text, "%s%s", p->reasons[i].because, left > 1 ? ", " : left == 1 ? " and " : "");
	}
	return buf_take(&text);
}

static void answer_sentence(const struct profile *p, const struct run_set *runs, struct document *d)
{
	const struct profile_group *lead = p->n_groups ? &p->groups[0] : NULL;
	char *because = because_text(p);

	if (p->verdict == PROFILE_NOT_IDENTIFIABLE)
		doc_answer(d, DOC_BAD, profile_verdict_text(p->verdict), "what %s@%s spends its time on, because %s", runs->application,
			   runs->version, because);
	else
		doc_answer(d, p->verdict == PROFILE_TRUSTED ? DOC_GOOD : DOC_DOUBTFUL, "",
			   "%s@%s spends about %.0f %% of its time in '%s' (90 %% interval %.0f to %.0f %%); %s%s%s", runs->application,
			   runs->version, 100 * lead->share, lead->name, 100 * lead->low, 100 * lead->high,
			   profile_verdict_text(p->verdict), *because ? " because " : "", because);
	free(because);
}

static void answer_trust(const struct profile *p, struct document *d)
{
	doc_object(d, "trust");
	doc_set(d, "verdict", profile_verdict_text(p->verdict));
	doc_list(d, "reasons");
	for (size_t i = 0; i < p->n_reasons; i++)
		doc_reason(d, p->reasons[i].code, p->reasons[i].text);
	doc_end(d);
	doc_end(d);
}

static void answer_basis(const struct profile *p, const struct dataset *data, struct document *d)
{
	size_t rows = p->rows->rates.rows, types = p->rows->types;
	double none = (double)NAN;

	doc_set(d, "q2", p->fitted ? p->validation.q2 : none);
	doc_set(d, "mape", p->fitted ? p->validation.mape : none);
	doc_set(d, "noise", p->rows->noise);
	doc_line(d, "from %zu hardware type%s (%zu machine%s, %zu result%s)%s", types, text_plural(types), data->machines,
		 text_plural(data->machines), rows, text_plural(rows), p->fitted ? "" : "\n");
	if (p->fitted)
		doc_line(d, "on hardware types left out: error %.0f %%, Q2 %.2f; effective rank %.1f\n", 100 * p->validation.mape,
			 p->validation.q2, p->data.features.effective_rank);
}

static void answer_choice(const struct profile *p, struct document *d)
{
	if (!p->fitted) {
		doc_set(d, "choice", DOC_NOTHING);
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

/* ---- groups ---- */

static void answer_group(const struct profile *p, size_t i, struct document *d)
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

static void answer_unexplained_row(const struct shares *s, struct document *d)
{
	size_t k = s->groups;

	doc_row(d);
	doc_aside(d);
	doc_showf(d, NULL, "share", s->share[k], "%.1f %%", 100 * s->share[k]);
	doc_showf(d, NULL, "90 % interval", s->low[k], "%.0f to %.0f %%", 100 * s->low[k], 100 * s->high[k]);
	doc_show(d, NULL, "group", "(unexplained)");
}

static void answer_unexplained(const struct profile *p, struct document *d)
{
	const struct shares *s = &p->shares;

	if (!p->fitted) {
		doc_set(d, "unexplained", DOC_NOTHING);
		return;
	}
	doc_object(d, "unexplained");
	doc_set(d, "share", s->share[s->groups]);
	doc_set(d, "share_low", s->low[s->groups]);
	doc_set(d, "share_high", s->high[s->groups]);
	doc_end(d);
}

static void answer_groups(const struct profile *p, size_t shown, struct document *d)
{
	double rest = 0;

	doc_table(d, "groups");
	for (size_t i = 0; i < p->n_groups; i++) {
		doc_row(d);
		if (i >= shown)
			doc_hide(d);
		answer_group(p, i, d);
	}
	if (p->fitted)
		answer_unexplained_row(&p->shares, d);
	doc_end(d);
	answer_unexplained(p, d);
	for (size_t i = shown; i < p->n_groups; i++)
		rest += p->groups[i].share;
	if (shown < p->n_groups)
		doc_line(d, "and %.1f %% in %zu other group%s (--top)", 100 * rest, p->n_groups - shown, text_plural(p->n_groups - shown));
	if (p->fitted) {
		doc_line(d,
			 "\nshare: of its time; other fits: what models say that fit nearly as well; first: how often it is the largest");
		doc_line(d, "rank: by share; groups below %.0f %% are tied: most of them are not used at all", 100 * PROFILE_RANKED);
	}
}

static void answer_features(const struct profile *p, struct document *d)
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

char *profile_categories_text(const double shares[CATEGORY_COUNT])
{
	bool done[CATEGORY_COUNT] = { false };
	struct buf text = BUF_INIT;

	for (;;) {
		size_t best = CATEGORY_COUNT;

		for (size_t c = 0; c < CATEGORY_COUNT; c++) {
			if (!done[c] && shares[c] >= .005 && (best == CATEGORY_COUNT || shares[c] > shares[best]))
				best = c;
		}
		if (best == CATEGORY_COUNT)
			break;
		buf_format(&text, "%s%s %.0f %%", text.size ? ", " : "", category_name((enum category)best), 100 * shares[best]);
		done[best] = true;
	}
	if (!text.size)
		buf_text(&text, "nothing");
	return buf_take(&text);
}

static void answer_categories(const struct profile *p, struct document *d)
{
	char *text = profile_categories_text(p->by_category);

	if (p->fitted)
		doc_line(d, "By main category: %s", text);
	doc_object(d, "by_category");
	for (size_t c = 0; c < CATEGORY_COUNT; c++) {
		if (p->by_category[c] > 0)
			doc_set(d, category_name((enum category)c), p->by_category[c]);
	}
	doc_end(d);
	free(text);
}

static void answer_members(const struct profile *p, struct document *d)
{
	doc_heading(d, "Members");
	for (size_t i = 0; i < p->n_groups; i++) {
		struct buf text = BUF_INIT;

		for (size_t k = 0; k < p->groups[i].n; k++)
			buf_format(&text, " %s", p->rows->features[p->groups[i].members[k]]);
		doc_line(d, "  %s:\n   %s", p->groups[i].name, text.bytes);
		buf_release(&text);
	}
}

/* ---- hardware types ---- */

static void answer_type(const struct profile *p, size_t t, struct document *d)
{
	static const char *const places[] = { "1st", "2nd", "3rd" };
	double rest = mat_get(&p->shares.by_type, t, p->shares.groups), error = p->validation.type_error[t];

	doc_show(d, "type", "hardware type", p->rows->type_names[t]);
	doc_showf(d, "error", "error", error, "%.0f %%", 100 * error);
	doc_object(d, "shares");
	for (size_t g = 0; g < p->n_groups; g++) {
		size_t group = p->data.features.group[p->data.features.distinct[p->groups[g].members[0]]];

		doc_set(d, p->groups[g].name, mat_get(&p->shares.by_type, t, group));
	}
	doc_end(d);
	for (size_t g = 0; g < 3 && g < p->n_groups; g++) {
		size_t group = p->data.features.group[p->data.features.distinct[p->groups[g].members[0]]];
		double share = mat_get(&p->shares.by_type, t, group);

		doc_showf(d, NULL, places[g], share, "%.0f %%", 100 * share);
	}
	doc_showf(d, "unexplained", "unexplained", rest, "%.0f %%", 100 * rest);
}

static void answer_types(const struct profile *p, bool shown, struct document *d)
{
	if (shown)
		doc_heading(d, "By hardware type: share of the three leading groups");
	doc_table(d, "by_hardware_type");
	if (!shown)
		doc_hide(d);
	for (size_t t = 0; p->fitted && t < p->rows->types; t++) {
		doc_row(d);
		answer_type(p, t, d);
	}
	doc_end(d);
}

/* ---- what is left out ---- */

void profile_left_out_answer(const struct dataset *data, const struct profile_rows *rows, struct document *d)
{
	struct profile_left_out all[PROFILE_LEFT_OUT];
	size_t n = profile_left_out(data, rows, all);

	for (size_t i = 0; i < n; i++) {
		doc_set(d, all[i].code, all[i].n);
		if (all[i].n)
			doc_line(d, "left out: %zu results: %s", all[i].n, all[i].why);
	}
}

static void answer_left_out(const struct profile *p, const struct dataset *data, struct document *d)
{
	const struct features *f = &p->data.features;

	doc_object(d, "left_out");
	profile_left_out_answer(data, p->rows, d);
	doc_end(d);
	for (size_t state = FEATURE_USED + 1; state < FEATURE_STATES; state++) {
		struct buf names = BUF_INIT;

		for (size_t j = 0; f->state && j < f->p; j++) {
			if (f->state[j] == state)
				buf_format(&names, "%s%s", names.size ? ", " : "", p->rows->features[j]);
		}
		if (names.size)
			doc_line(d, "stressors left out: %s: %s", names.bytes, feature_text((enum feature_state)state));
		buf_release(&names);
	}
}

/* ---- all ---- */

void profile_answer(const struct profile *p, const struct run_set *runs, const struct dataset *data, const struct profile_shown *shown,
		    struct document *d)
{
	answer_sentence(p, runs, d);
	doc_set(d, "application", runs->application);
	doc_set(d, "version", runs->version);
	doc_set(d, "battery", data->battery);
	doc_set(d, "rows", p->rows->rates.rows);
	doc_set(d, "machines", data->machines);
	doc_set(d, "hardware_types", p->rows->types);
	doc_set(d, "effective_rank", p->rows->types ? p->data.features.effective_rank : (double)NAN);
	answer_trust(p, d);
	answer_basis(p, data, d);
	answer_choice(p, d);
	answer_groups(p, shown->groups, d);
	answer_features(p, d);
	answer_categories(p, d);
	if (p->fitted && shown->members)
		answer_members(p, d);
	answer_types(p, p->fitted && shown->by_type, d);
	answer_left_out(p, data, d);
	doc_set_json(d, "other_builds", run_others_json(runs));
}
