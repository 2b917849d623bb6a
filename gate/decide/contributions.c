#include "gate/decide/contributions.h"

#include "base/mem.h"
#include "base/stats.h"
#include "base/text.h"
#include "gate/page/html.h"
#include "gate/page/svg.h"
#include "gate/profile/profile.h"
#include "model/parallel.h"

#include <math.h>

#define SEED		20189
#define CHANGE_MIN	.0005 /* share of the baseline's time; smaller changes would be printed as 0.0 % */
#define CANCELLED_MAX	.5    /* maximum sum of negative times, as a share of the candidate's time */
#define STRESSORS_NAMED 4     /* maximum number of leading groups that the text lists by name */

/* Returns the input of both models. It has one row for each machine that ran both versions and has a fingerprint comparable to the others'.
 * Sets ratio[types] to the geometric mean of the ratios over the machines of each type. */
static struct profile_rows common_rows_build(const struct evidence *evidence, const struct verdict *v, double *ratio)
{
	size_t p = evidence->fingerprints.n_stressors, n = v->pairing.n, row = 0;
	struct profile_rows r = { .rates = mat_new(n, p), .cost = mem_new(n, sizeof(double)), .type = mem_new(n, sizeof(size_t)) };
	size_t *index = mem_new(v->pairing.n_types, sizeof(*index)), *machines = mem_new(n, sizeof(*machines));
	const struct fingerprint *kind = verdict_first_fingerprint(v);

	for (size_t i = 0; kind && i < n; i++) {
		const struct pairing_machine *m = &v->pairing.machines[i];

		if (m->reason != PAIRING_USED || !m->fingerprint || !fingerprint_is_comparable(m->fingerprint, kind))
			continue;
		for (size_t j = 0; j < p; j++)
			mat_set(&r.rates, row, j, fingerprint_summarise(&evidence->fingerprints, m->fingerprint, j).median);
		r.cost[row] = exp(m->log_cost);
		if (!index[m->type])
			index[m->type] = ++r.types;
		r.type[row] = index[m->type] - 1;
		ratio[r.type[row]] += m->log_ratio;
		machines[r.type[row++]]++;
	}
	for (size_t t = 0; t < r.types; t++)
		ratio[t] = exp(ratio[t] / (double)machines[t]);
	r.rates.rows = row;
	mem_free(index, machines);
	return r;
}

/* Reports whether costs and ratios are within limits. They are exponentials, which overflow if costs differ extremely. */
static bool common_rows_are_finite(const struct profile_rows *r, const double *ratio)
{
	bool finite = true;

	for (size_t i = 0; i < r->rates.rows; i++)
		finite = finite && r->cost[i] > 1 / GROWTH_RATIO_MAX && r->cost[i] < GROWTH_RATIO_MAX;
	for (size_t t = 0; t < r->types; t++)
		finite = finite && ratio[t] > 1 / GROWTH_RATIO_MAX && ratio[t] < GROWTH_RATIO_MAX;
	return finite;
}

static struct contribution fill_contribution(const struct growth *g, size_t group)
{
	return (struct contribution){ .before = g->before[group],
				      .after = g->after[group],
				      .change = g->after[group] - g->before[group],
				      .low = g->low[group],
				      .high = g->high[group],
				      .first = g->lead[group] };
}

static int by_change(const void *a, const void *b)
{
	const struct contribution *x = a, *y = b;

	if (fabs(x->change) != fabs(y->change))
		return fabs(x->change) > fabs(y->change) ? -1 : 1;
	return strcmp(x->name, y->name);
}

/* Returns the most frequent category of the members; of equally frequent ones, the first. */
static enum category main_category(const char *const *features, const size_t *members, size_t n)
{
	size_t count[CATEGORY_COUNT] = { 0 }, best = 0;

	for (size_t i = 0; i < n; i++)
		count[stressor_category(features[members[i]])]++;
	for (size_t c = 1; c < CATEGORY_COUNT; c++)
		best = count[c] > count[best] ? c : best;
	return (enum category)best;
}

static void contributions_group(const struct features *f, const char *const *names, const struct growth *g, struct contributions *out)
{
	size_t *members = mem_new(f->p, sizeof(*members));

	out->n_groups = f->groups;
	out->groups = mem_new(f->groups, sizeof(*out->groups));
	for (size_t k = 0; k < f->groups; k++) {
		struct contribution *c = &out->groups[k];

		*c = fill_contribution(g, k);
		c->members = mem_new(f->p, sizeof(char *));
		for (size_t j = 0; j < f->p; j++) {
			if (f->distinct[j] == FEATURES_NONE || f->group[f->distinct[j]] != k)
				continue;
			members[c->n] = j;
			c->members[c->n++] = names[j];
		}
		c->name = profile_group_name(names, members, c->n);
		c->category = main_category(names, members, c->n);
	}
	out->unexplained = fill_contribution(g, f->groups);
	out->unexplained.category = CATEGORY_UNKNOWN;
	qsort(out->groups, out->n_groups, sizeof(*out->groups), by_change);
	free(members);
}

static int compare_lead_counts(const void *a, const void *b)
{
	const struct contribution *x = *(const struct contribution *const *)a, *y = *(const struct contribution *const *)b;
	double px = stats_round(x->first), py = stats_round(y->first);

	if (px < py || px > py)
		return px > py ? -1 : 1;
	return (x > y) - (x < y); /* if equally probable, the group with the larger change is first */
}

/* Selects the leading groups: the most probable ones, until their probabilities sum to CONTRIBUTIONS_LEADING. Selects none if one of them
 * is less probable than "no group changed", or if the kind of change is not PATTERN_OTHER_RESOURCE. */
static void find_leading_groups(const struct verdict *v, struct contributions *c)
{
	double none = stats_round(c->unexplained.first), sum = 0;

	c->resource = v->effect_pattern == PATTERN_OTHER_RESOURCE;
	if (!c->resource)
		return;
	c->leading = mem_new(c->n_groups, sizeof(const struct contribution *));
	for (size_t k = 0; k < c->n_groups; k++)
		c->leading[k] = &c->groups[k];
	qsort(c->leading, c->n_groups, sizeof(const struct contribution *), compare_lead_counts);
	while (c->n_leading < c->n_groups && stats_round(sum) < CONTRIBUTIONS_LEADING &&
	       stats_round(c->leading[c->n_leading]->first) > none)
		sum += c->leading[c->n_leading++]->first;
	if (stats_round(sum) < CONTRIBUTIONS_LEADING)
		c->n_leading = 0;
}

/* Reports whether negative times, which are impossible, sum to more than CANCELLED_MAX of the candidate's time. In this case the models
 * only fit because they add time to one group and subtract it from another. */
static bool contributions_cancel_out(const struct contributions *c, double total)
{
	double below = fmin(c->unexplained.after, 0);

	for (size_t k = 0; k < c->n_groups; k++)
		below += fmin(c->groups[k].after, 0);
	return stats_round(-below) > stats_round(CANCELLED_MAX * (1 + total));
}

static void contributions_groups_release(struct contributions *c)
{
	for (size_t i = 0; i < c->n_groups; i++)
		mem_free(c->groups[i].name, c->groups[i].members);
	free(c->groups);
	c->groups = NULL;
	c->n_groups = 0;
}

void contributions_compute(const struct evidence *evidence, const struct verdict *v, size_t threads, struct contributions *out)
{
	struct shares_options options = { SHARES_RESAMPLES, SEED, threads ? threads : parallel_threads() };
	double *ratio = mem_new(v->pairing.n, sizeof(*ratio));
	struct profile_rows rows = common_rows_build(evidence, v, ratio);
	struct blend_data data = { 0 };
	struct contributions c = { .types = rows.types, .machines = rows.rates.rows };
	struct growth growth = { 0 };

	if (rows.types && common_rows_are_finite(&rows, ratio))
		blend_data_init(&rows.rates, rows.cost, rows.type, rows.types, &data);
	if (rows.types < PROFILE_TYPES_MIN) {
		c.missing = "fewer than 4 hardware types with fingerprints ran both";
	} else if (!common_rows_are_finite(&rows, ratio)) {
		c.missing = "the costs vary too much for a computation";
	} else if (data.features.n == 0) {
		c.missing = "no stressor was measured on all machines and differs between them";
	} else {
		growth_compute(&data, ratio, &options, &growth);
		contributions_group(&data.features, (const char *const *)evidence->fingerprints.stressors, &growth, &c);
		if (contributions_cancel_out(&c, growth.total)) {
			c.missing = "on these machines the parts of two groups of stressors cancel out and exceed the whole time";
			contributions_groups_release(&c);
		}
		find_leading_groups(v, &c);
		c.total = growth.total;
		c.total_low = growth.total_low;
		c.total_high = growth.total_high;
	}
	growth_release(&growth);
	blend_data_release(&data);
	profile_rows_release(&rows);
	free(ratio);
	*out = c;
}

void contributions_release(struct contributions *c)
{
	contributions_groups_release(c);
	free(c->leading);
	*c = (struct contributions){ 0 };
}

/* Returns a share in per cent, rounded as it is printed. A value that rounds to 0 has no sign. */
static double to_percent(double part)
{
	return isfinite(part) ? round(1000 * part) / 10 + 0. : part; /* adding 0. turns -0. into 0. */
}

static const struct contribution *most_probable(const struct contributions *c)
{
	const struct contribution *most = NULL;

	for (size_t i = 0; i < c->n_groups; i++)
		if (!most || c->groups[i].first > most->first)
			most = &c->groups[i];
	return most;
}

static void describe_leading_groups(const struct contributions *c, struct buf *out)
{
	size_t named = c->n_leading > STRESSORS_NAMED ? STRESSORS_NAMED : c->n_leading;
	const struct contribution *most = most_probable(c);
	double sum = 0;

	for (size_t i = 0; i < c->n_leading; i++)
		sum += c->leading[i]->first;
	if (!c->n_leading && c->resource && most && c->unexplained.first <= 1 - CONTRIBUTIONS_LEADING)
		buf_format(
		    out,
		    "Apart from a factor for all of the work, the group that changed most is not certain; the most probable is %s (%s).",
		    most->name, text_probability(most->first).text);
	else if (!c->n_leading)
		buf_text(out, "Apart from a factor for all of the work, no group has changed for certain.");
	else if (c->n_leading == 1)
		buf_format(out, "Apart from a factor for all of the work, the largest change is in %s (probability %s).",
			   c->leading[0]->name, text_probability(sum).text);
	else
		buf_format(out,
			   "Apart from a factor for all of the work, the largest change is in one of %zu groups (together probability %s):",
			   c->n_leading, text_probability(sum).text);
	for (size_t i = 0; c->n_leading > 1 && i < named; i++)
		buf_format(out, " %s (%s)%s", c->leading[i]->name, text_probability(c->leading[i]->first).text, i + 1 < named ? "," : "");
	if (c->n_leading > 1)
		buf_text(out, named < c->n_leading ? ", ..." : ".");
}

static bool contributions_has_negative(const struct contributions *c, size_t shown)
{
	for (size_t i = 0; i < shown && i < c->n_groups; i++)
		if (to_percent(fmin(c->groups[i].before, c->groups[i].after)) < 0)
			return true;
	return false;
}

/* Draws a bar for the change of a group, with its interval. The middle of the chart is 0, and its ends are -`scale` and `scale`. */
static void contribution_chart(const struct contribution *c, double scale, struct document *d)
{
	double end = 50 + 50 * c->change / scale;
	struct buf svg = BUF_INIT;

	svg_open(20, &svg);
	svg_bar("bar", category_name(c->category), fmin(end, 50), fmax(end, 50), 4, 12, &svg);
	html_format(&svg, "<line class=\"whisker\" x1=\"%.2f%%\" x2=\"%.2f%%\" y1=\"10\" y2=\"10\"/>", 50 + 50 * fmax(c->low / scale, -1),
		    50 + 50 * fmin(c->high / scale, 1));
	buf_text(&svg, "<line class=\"one\" x1=\"50%\" x2=\"50%\" y1=\"0\" y2=\"20\"/>");
	svg_close(&svg);
	doc_picture(d, "chart", &svg, NULL);
}

/* Adds the numbers of a contribution as JSON members and as table cells. */
static void contribution_describe(const struct contribution *c, double scale, struct document *d)
{
	doc_showf(d, "before", "before", c->before, "%s %%", text_fixed(to_percent(c->before), 1).text);
	doc_showf(d, "after", "after", c->after, "%s %%", text_fixed(to_percent(c->after), 1).text);
	doc_showf(d, "change", "change", c->change, "%s %%", text_signed(to_percent(c->change), 1).text);
	contribution_chart(c, scale, d);
	doc_showf(d, NULL, "90 % interval", c->low, "%s to %s %%%s", text_signed(to_percent(c->low), 1).text,
		  text_signed(to_percent(c->high), 1).text, c->low > 0 ? ", grew" : (c->high < 0 ? ", shrank" : ""));
	doc_set(d, "low", c->low);
	doc_set(d, "high", c->high);
}

static void group_describe(const struct contribution *c, double scale, struct document *d)
{
	doc_showf(d, "name", "group", c->name, "%s", c->name);
	doc_texts(d, "members", c->members, c->n);
	contribution_describe(c, scale, d);
	doc_set(d, "first_probability", c->first);
}

/* Returns the value at the ends of the charts: the largest change, or the largest end of an interval, limited by the total change. */
static double contributions_scale(const struct contributions *c, size_t shown)
{
	double scale = fmax(.01, fabs(c->unexplained.change));

	for (size_t i = 0; i < shown; i++) {
		double whisker = fmax(fabs(c->groups[i].low), fabs(c->groups[i].high));

		scale = fmax(scale, fmax(fabs(c->groups[i].change), fmin(whisker, 2 * fabs(c->total) + .1)));
	}
	return scale;
}

/* Adds a line with the sum of the groups that are not shown. */
static void rest_describe(const struct contributions *c, size_t rows, struct document *d)
{
	size_t hidden = c->n_groups - rows;
	double rest = 0;

	for (size_t i = rows; i < c->n_groups; i++)
		rest += c->groups[i].change;
	if (hidden)
		doc_styled_line(d, "muted", "And %s\u00a0%% in %zu other group%s.", text_signed(to_percent(rest), 1).text, hidden,
				text_plural(hidden));
	if (contributions_has_negative(c, rows))
		doc_styled_line(d, "muted",
				"A part below 0 is not a time: the machines do not distinguish this group from others; use the intervals.");
}

/* Adds the table of groups and the list of leading groups. Both are empty if there are no groups. */
static void groups_describe(const struct contributions *c, size_t shown, struct document *d)
{
	size_t rows = 0;
	double scale;

	while (rows < c->n_groups && rows < shown && fabs(c->groups[rows].change) >= CHANGE_MIN)
		rows++;
	scale = contributions_scale(c, rows);
	doc_table(d, "groups");
	doc_style(d, "moves parts scroll");
	for (size_t i = 0; i < c->n_groups; i++) {
		doc_row(d);
		if (i >= rows)
			doc_hide(d);
		group_describe(&c->groups[i], scale, d);
	}
	if (!c->missing && shown) {
		doc_row(d);
		doc_hide_from_programs(d);
		doc_show(d, NULL, "group", "(unexplained)");
		contribution_describe(&c->unexplained, scale, d);
	}
	doc_end(d);
	if (shown)
		rest_describe(c, rows, d);
	doc_list(d, "leading");
	for (size_t i = 0; i < c->n_leading; i++)
		doc_set(d, NULL, c->leading[i]->name);
	doc_end(d);
}

static void leading_describe(const struct contributions *c, struct document *d)
{
	struct buf text = BUF_INIT;

	describe_leading_groups(c, &text);
	doc_styled_line(d, "finding", "%s", text.bytes);
	buf_release(&text);
}

void contributions_describe(const struct contributions *c, size_t shown, struct document *d)
{
	double none = (double)NAN;

	if (!c->missing || shown)
		doc_section(d, "time", "Inferred", "Inferred from how the machines differ",
			    "The time that each group of stressors explains, as a fraction of the baseline's time, on the machines that "
			    "ran both versions. Common parts cancel out: the candidate is modelled as the baseline times a factor, plus up "
			    "to two resources that it uses more or less.");
	if (c->missing && shown)
		doc_styled_line(d, "empty", "Not known: %s.", c->missing);
	else if (!c->missing)
		doc_styled_line(
		    d, "finding",
		    "Total change: %s\u00a0%% of the baseline's time (95\u00a0%% interval %s to %s\u00a0%%, arithmetic mean) over "
		    "%zu hardware types, %zu machines.",
		    text_signed(to_percent(c->total), 1).text, text_signed(to_percent(c->total_low), 1).text,
		    text_signed(to_percent(c->total_high), 1).text, c->types, c->machines);
	doc_object(d, "contributions");
	doc_set(d, "hardware_types", c->types);
	doc_set(d, "machines", c->machines);
	doc_set(d, "missing", c->missing);
	doc_set(d, "total", c->missing ? none : c->total);
	doc_set(d, "total_low", c->missing ? none : c->total_low);
	doc_set(d, "total_high", c->missing ? none : c->total_high);
	groups_describe(c, shown, d);
	doc_set(d, "none_probability", c->missing ? none : c->unexplained.first);
	if (c->missing) {
		doc_set(d, "unexplained", DOC_NULL_VALUE);
	} else {
		leading_describe(c, d);
		doc_object(d, "unexplained");
		doc_hide(d);
		contribution_describe(&c->unexplained, 1, d);
		doc_end(d);
	}
	doc_end(d);
}
