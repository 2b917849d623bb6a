#include "gate/profile/profile.h"

#include "base/mem.h"
#include "base/order.h"
#include "base/stats.h"
#include "base/text.h"
#include "model/parallel.h"

#include <math.h>
#include <stdarg.h>
#include <string.h>

#define NOISE_FLOOR	  .01	 /* relative noise that repetitions on one day do not show */
#define GROUP_NAMES_SHOWN 2	 /* maximum number of members in the name of a group */
#define MEDIAN_ERROR	  1.8582 /* standard error of the median of normal values, in units of median absolute deviation / sqrt(n) */
#define NOISE_LEVEL	  .02	 /* relative day-to-day noise of one machine's rates */
#define NOISE_RATIO_MAX                                                                                                                    \
	1.7 /* largest spread of types that is due to noise, in multiples of the noise (0.999 quantile for twelve types)                   \
	     */

/* Thresholds of trust, derived from recorded machines (docs/evidence/statistics.md). */
#define TYPES_TRUSTED		    9  /* minimum number of hardware types */
#define Q2_TRUSTED		    .5 /* minimum Q2 on held-out types */
#define Q2_IDENTIFIED		    0.0
#define LEAD_PROBABILITY_TRUSTED    .80 /* minimum probability that the leading group is the largest */
#define LEAD_PROBABILITY_IDENTIFIED .4
#define SHARE_TRUSTED_MIN	    .20	 /* minimum share of the leading group in all fits that are nearly as good */
#define TIED_FEATURES_TRUSTED_MAX   25.0 /* maximum number of features that tie in a split */
#define UNEXPLAINED_TRUSTED	    .25

ROWS_FUNCTION(profile_verdict_text, enum profile_verdict, PROFILE_TRUST_ROWS, ROWS_WORD)

const struct profile_options profile_defaults = { SHARES_RESAMPLES, PROFILE_SEED, 0 };

/* ---- thresholds of the inferred parts ---- */

/* Calibrated with held-out stressors and injected mixtures (docs/evidence/irup.md). */
#define PART_TRUSTED .8 /* minimum probability that the leading part is the largest */
static const double least_trusted[INFERRED_LEVELS] = { .2,
						       .45 }; /* minimum share of the leading part in all fits that are nearly as good */
#define SHOWN_MIN	 .02
#define PART_NAMES_SHOWN 3

static const char *const depths[INFERRED_LEVELS] = { "time", "category" };

/* ---- composition of the columns ---- */

/* The categories. Those that cannot be distinguished are merged into sets. */
struct category_list {
	const char **name; /* [n] borrowed */
	enum level *level; /* [n] level of each category */
	size_t *set;	   /* [n] index of the first category of the same set */
	size_t *group;	   /* [n] for a category without a name, the group that it belongs to; otherwise FEATURES_NONE */
	bool *leads;	   /* [n] true if the category is the largest part of a column */
	size_t n, capacity;
};

/* Returns the index of a category, which is added if necessary. Categories without a name differ between groups. */
static size_t category_index(struct category_list *c, const char *name, enum level level, size_t group)
{
	size_t i = 0, room = c->capacity;

	group = strncmp(name, "other ", 6) == 0 ? group : FEATURES_NONE;
	while (i < c->n && (c->level[i] != level || c->group[i] != group || strcmp(c->name[i], name) != 0))
		i++;
	if (i < c->n)
		return i;
	c->name = mem_grow(c->name, c->n, &room, sizeof(*c->name));
	c->level = mem_resize(c->level, room, sizeof(*c->level));
	c->set = mem_resize(c->set, room, sizeof(*c->set));
	c->group = mem_resize(c->group, room, sizeof(*c->group));
	c->leads = mem_resize(c->leads, room, sizeof(*c->leads));
	c->capacity = room;
	c->name[i] = name;
	c->level[i] = level;
	c->set[i] = i;
	c->group[i] = group;
	c->leads[i] = false;
	return c->n++;
}

/* The parts of one column by category. */
struct column_parts {
	size_t category[COMPOSITION_CLASSES_MAX + 2];
	double part[COMPOSITION_CLASSES_MAX + 2];
	size_t n;
};

static void column_add(struct column_parts *p, size_t category, double part)
{
	if (part <= 0.0)
		return;
	p->category[p->n] = category;
	p->part[p->n++] = part;
}

static struct column_parts column_parts_build(const struct composition *m, size_t group, struct category_list *c)
{
	struct column_parts p = { .n = 0 };
	double left = 1.0;

	if (!m->kind) {
		column_add(&p, category_index(c, COMPOSITION_UNKNOWN, LEVELS, group), 1.0);
		return p;
	}
	column_add(&p, category_index(c, m->kind, LEVEL_COMPUTE, group), m->computing);
	left -= m->computing;
	for (size_t i = 0; i < m->n; i++) {
		column_add(&p, category_index(c, m->kernel[i].class, LEVEL_KERNEL, group), m->kernel[i].part);
		left -= m->kernel[i].part;
	}
	if (left > 1e-9)
		column_add(&p, category_index(c, "other work", LEVEL_KERNEL, group), left);
	return p;
}

static size_t column_largest_category(const struct column_parts *p)
{
	size_t best = 0;

	for (size_t i = 1; i < p->n; i++)
		best = p->part[i] > p->part[best] ? i : best;
	return p->category[best];
}

/* Merges the main categories of columns of the same group and level, because these columns vary together and cannot be distinguished. */
static void categories_join(const struct features *f, const struct column_parts *columns, struct category_list *c)
{
	for (size_t k = 0; k < f->n; k++) {
		for (size_t j = 0; j < k; j++) {
			size_t a = column_largest_category(&columns[k]), b = column_largest_category(&columns[j]), from, to;

			if (f->group[k] != f->group[j] || c->level[a] != c->level[b])
				continue;
			from = c->set[a] > c->set[b] ? c->set[a] : c->set[b];
			to = c->set[a] > c->set[b] ? c->set[b] : c->set[a];
			for (size_t i = 0; i < c->n; i++)
				c->set[i] = c->set[i] == from ? to : c->set[i];
		}
	}
}

/* Reports whether no named category of the set is the main category of a column. */
static bool set_is_nameless(const struct category_list *c, size_t set)
{
	bool nameless = true;

	for (size_t i = 0; i < c->n; i++)
		nameless &= c->set[i] != set || c->group[i] != FEATURES_NONE || !c->leads[i];
	return nameless;
}

/* Merges all nameless sets of a level into one. */
static void categories_fold(const struct column_parts *columns, size_t n, struct category_list *c)
{
	size_t rest[LEVELS + 1];

	for (size_t k = 0; k < n; k++)
		c->leads[column_largest_category(&columns[k])] = true;
	for (size_t level = 0; level < LEVELS; level++)
		rest[level] = SIZE_MAX;
	for (size_t i = 0, set; i < c->n; i++) {
		if (c->level[i] == LEVELS || !set_is_nameless(c, c->set[i]))
			continue;
		if (rest[c->level[i]] == SIZE_MAX)
			rest[c->level[i]] = i;
		set = c->set[i];
		for (size_t j = 0; j < c->n; j++)
			c->set[j] = c->set[j] == set ? rest[c->level[i]] : c->set[j];
	}
}

/* ---- inferred parts ---- */

static size_t part_add(struct inferred_profile *r, size_t depth, enum level of, char *name)
{
	r->items = mem_resize(r->items, r->n + 1, sizeof(*r->items));
	r->parts.level = mem_resize(r->parts.level, r->n + 1, sizeof(*r->parts.level));
	r->items[r->n] = (struct inferred_part){ .depth = depth, .level = of, .name = name, .together = 1 };
	r->parts.level[r->n] = depth;
	return r->n++;
}

/* Returns the set's named categories as text: "arithmetic, cryptography and 2 more"; a general name if there are none. free() it. */
static char *set_name(const struct category_list *c, size_t set, size_t *together)
{
	bool nameless = set_is_nameless(c, set);
	struct buf text = BUF_INIT;
	size_t n = 0, all = 0;

	for (size_t i = 0; i < c->n; i++)
		all += c->set[i] == set && c->leads[i] && c->group[i] == FEATURES_NONE;
	for (size_t i = 0; i < c->n && !nameless; i++) {
		if (c->set[i] != set || !c->leads[i] || c->group[i] != FEATURES_NONE ||
		    (n == PART_NAMES_SHOWN && all > PART_NAMES_SHOWN + 1))
			continue;
		buf_format(&text, "%s%s", n == 0 ? "" : n + 1 == all ? " and " : ", ", c->name[i]);
		n++;
	}
	if (!nameless && n < all)
		buf_format(&text, " and %zu more", all - n);
	if (nameless)
		buf_text(&text, c->level[set] == LEVEL_COMPUTE	? "other computing"
				: c->level[set] == LEVEL_KERNEL ? "other work"
								: c->name[set]);
	*together = all > 1 ? all : 1;
	return buf_take(&text);
}

/* Adds the parts of both depths. Sets index[c->n] to the part that contains each category. */
static void parts_begin(struct inferred_profile *r, const struct category_list *c, size_t level_part[LEVELS + 1], size_t *index)
{
	for (size_t level = 0; level <= LEVELS; level++)
		if (level != LEVEL_WAITING)
			level_part[level] = part_add(r, 0, (enum level)level,
						     mem_string(level < LEVELS ? level_code((enum level)level) : COMPOSITION_UNKNOWN));
	for (size_t i = 0; i < c->n; i++) {
		if (c->set[i] == i) {
			size_t together;
			char *name = set_name(c, i, &together);

			index[i] = part_add(r, 1, c->level[i], name);
			r->items[index[i]].together = together;
		}
	}
	for (size_t i = 0; i < c->n; i++)
		index[i] = index[c->set[i]];
}

/* Determines the parts and the composition of each column, but not the shares. features[f->p] are names of stressors; composition[f->p] are
 * known compositions, or NULL to use the table. */
static void inferred_parts_build(const struct features *f, const char *const *features, const struct composition *composition,
				 struct inferred_profile *out)
{
	struct inferred_profile r = { .n = 0 };
	struct category_list c = { .n = 0 };
	struct column_parts *columns = mem_new(f->n, sizeof(*columns));
	size_t level_part[LEVELS + 1] = { 0 }, *index;

	for (size_t k = 0; k < f->n; k++) {
		struct composition known = composition ? composition[f->first[k]] : composition_find(features[f->first[k]]);

		columns[k] = column_parts_build(&known, f->group[k], &c);
	}
	categories_join(f, columns, &c);
	categories_fold(columns, f->n, &c);
	index = mem_new(c.n, sizeof(*index));
	parts_begin(&r, &c, level_part, index);
	r.parts.part_shares = mat_new(f->n, r.n);
	for (size_t k = 0; k < f->n; k++) {
		for (size_t i = 0; i < columns[k].n; i++) {
			size_t category = columns[k].category[i];

			r.parts.part_shares.at[k * r.n + level_part[c.level[category]]] += columns[k].part[i];
			r.parts.part_shares.at[k * r.n + index[category]] += columns[k].part[i];
		}
	}
	mem_free(index, columns, c.name, c.level, c.set, c.group, c.leads);
	*out = r;
}

/* ---- trust in the inferred parts ---- */

const struct inferred_part *inferred_find_largest(const struct inferred_profile *r, size_t depth)
{
	const struct inferred_part *lead = NULL;

	for (size_t i = 0; i < r->n; i++)
		if (r->items[i].depth == depth && (!lead || r->items[i].share.share > lead->share.share))
			lead = &r->items[i];
	return lead;
}

/* Reports whether the leading part is certain. It is not if it is the unknown part, or if it merges several categories and is the only part
 * of its level. */
static bool is_certain_lead(const struct inferred_profile *r, const struct inferred_part *lead)
{
	bool alone = lead && lead->together > 1;

	for (size_t i = 0; alone && i < r->n; i++)
		alone = r->items[i].depth != lead->depth || r->items[i].level != lead->level || &r->items[i] == lead;
	return lead && lead->level != LEVELS && !alone && stats_round(lead->share.first) >= PART_TRUSTED &&
	       stats_round(lead->share.least) >= least_trusted[lead->depth];
}

/* Sets the shares and the trust at each depth. `is_sound` states that there is no reason against the whole fit. */
static void inferred_shares(const struct shares *shares, bool is_sound, struct inferred_profile *r)
{
	bool above = is_sound;

	r->is_sound = is_sound;
	for (size_t i = 0; i < r->n; i++)
		r->items[i].share = shares->part[i];
	for (size_t depth = 0; depth < INFERRED_LEVELS; depth++)
		above = r->trusted[depth] = above && is_certain_lead(r, inferred_find_largest(r, depth));
}

static void inferred_release(struct inferred_profile *r)
{
	for (size_t i = 0; i < r->n; i++)
		free(r->items[i].name);
	free(r->items);
	mat_release(&r->parts.part_shares);
	free(r->parts.level);
	*r = (struct inferred_profile){ .n = 0 };
}

/* ---- document of the inferred parts ---- */

/* Returns the part with the largest share at this depth (and level) that is not `done`, and marks it as done; NULL if there is none. */
static const struct inferred_part *inferred_next_largest(const struct inferred_profile *r, size_t depth, enum level of, bool *done)
{
	size_t best = r->n;

	for (size_t i = 0; i < r->n; i++) {
		const struct inferred_part *part = &r->items[i];

		if (!done[i] && part->depth == depth && (depth == 0 || part->level == of) && part->share.most > 0.0 &&
		    (best == r->n || part->share.share > r->items[best].share.share))
			best = i;
	}
	if (best == r->n)
		return NULL;
	done[best] = true;
	return &r->items[best];
}

static void inferred_add_row(const struct inferred_profile *r, const struct inferred_part *part, struct document *d)
{
	doc_row(d);
	doc_set(d, "level", depths[part->depth]);
	doc_set(d, "name", part->name);
	if (part->depth > 0)
		doc_set(d, "of", part->level < LEVELS ? level_code(part->level) : COMPOSITION_UNKNOWN);
	doc_set(d, "share", part->share.share);
	doc_set(d, "low", part->share.low);
	doc_set(d, "high", part->share.high);
	doc_set(d, "how", "inferred");
	doc_set(d, "verdict", r->trusted[part->depth] ? "trusted" : "indicative");
}

void inferred_add_rows(const struct inferred_profile *r, struct document *d)
{
	const struct inferred_part *part;
	bool *done = r ? mem_new(r->n, sizeof(*done)) : NULL;

	for (size_t depth = 0; r && depth < INFERRED_LEVELS; depth++)
		for (size_t of = 0; of <= (depth ? LEVELS : 0); of++)
			while ((part = inferred_next_largest(r, depth, (enum level)of, done)))
				inferred_add_row(r, part, d);
	free(done);
}

static void part_describe(const struct inferred_profile *r, const struct inferred_part *part, struct document *d)
{
	char *name =
	    mem_format("%*s%s", 2 * (int)part->depth, "", part->depth > 0 || part->level == LEVELS ? part->name : level_text(part->level));

	doc_row(d);
	doc_show(d, NULL, "where the time goes", name);
	doc_showf(d, NULL, "share", part->share.share, "%.0f %%", 100 * part->share.share);
	doc_showf(d, NULL, "90 % interval", part->share.low, "%.0f to %.0f %%", 100 * part->share.low, 100 * part->share.high);
	doc_show(d, NULL, "how", r->trusted[part->depth] ? "inferred" : "inferred?");
	doc_bar(d, "", part->share.share);
	free(name);
}

void inferred_describe(const struct inferred_profile *r, struct document *d)
{
	const struct inferred_part *level, *part;
	bool *done = mem_new(r->n, sizeof(*done));

	doc_heading(d, "Inferred from how its cost differs between machines");
	doc_table(d, NULL);
	while ((level = inferred_next_largest(r, 0, LEVELS, done))) {
		if (level->share.share < SHOWN_MIN)
			continue;
		part_describe(r, level, d);
		while ((part = inferred_next_largest(r, 1, level->level, done)))
			if (part->share.share >= SHOWN_MIN && part->level != LEVELS)
				part_describe(r, part, d);
	}
	doc_end(d);
	for (size_t i = 0; i < r->n; i++)
		if (r->items[i].together > 1 && r->items[i].share.share >= SHOWN_MIN)
			doc_line(d, "cannot be distinguished on these machines: %s", r->items[i].name);
	if (!r->trusted[INFERRED_LEVELS - 1])
		doc_line(d, "inferred?: indicative");
	free(done);
}

/* ---- input of a model ---- */

/* Returns the typical relative noise of repetitions on one machine under one fingerprint. This is the median, over machines with at least
 * two repetitions, of the standard deviation of their log metrics. The rows of a machine are adjacent. */
static double rows_noise(const struct run_set *runs, const struct dataset *d)
{
	double *logs = mem_new(d->X.rows, sizeof(*logs)), *noise = mem_new(d->X.rows, sizeof(*noise)), typical;
	size_t machines = 0;

	for (size_t i = 0, end; i < d->X.rows; i = end) {
		const struct run *first = &runs->items[d->run[i]];
		size_t n = 0;

		for (end = i; end < d->X.rows && strcmp(runs->items[d->run[end]].machine, first->machine) == 0; end++) {
			if (d->y[end] > 0 && d->types[end] == d->types[i])
				logs[n++] = log(d->y[end]);
		}
		if (n > 1)
			noise[machines++] = stats_sd(logs, n);
	}
	typical = machines ? stats_median(noise, machines) : 0.0;
	mem_free(logs, noise);
	return typical;
}

/* Returns each stressor's typical relative standard error of the median over the passes of a fingerprint: the median over rows. free() it.
 */
static double *rows_rate_noise(const struct evidence *evidence, const struct run_set *runs, const struct dataset *d)
{
	const struct fingerprint_set *set = &evidence->fingerprints;
	double *rate_noise = mem_new(d->X.cols, sizeof(*rate_noise)), *errors = mem_new(d->X.rows, sizeof(*errors));

	for (size_t j = 0, k = 0; j < d->X.cols; j++) {
		size_t n = 0;

		while (strcmp(set->stressors[k], d->features[j]) != 0) /* both are sorted by name */
			k++;
		for (size_t i = 0; i < d->X.rows; i++) {
			const struct run *run = &runs->items[d->run[i]];
			const struct fingerprint *f = run->pass == 0 ? fingerprint_find(set, run->fingerprint) : NULL;
			struct fingerprint_summary s = { 0 };

			if (f)
				s = fingerprint_summarise(set, f, k);
			if (s.measured > 1)
				errors[n++] = MEDIAN_ERROR * s.mad / s.median / sqrt((double)s.measured);
		}
		rate_noise[j] = n ? stats_median(errors, n) : 0.0;
	}
	free(errors);
	return rate_noise;
}

/* Reports whether a row lacks a stressor that another row of its type has, for example because a pass failed. If a whole type lacks the
 * stressor, the rows are complete, and the models do not use the stressor (features.h). */
static bool row_is_incomplete(const struct dataset *d, size_t row)
{
	for (size_t j = 0; j < d->X.cols; j++) {
		if (!isnan(mat_get(&d->X, row, j)))
			continue;
		for (size_t i = 0; i < d->X.rows; i++) {
			if (d->types[i] == d->types[row] && !isnan(mat_get(&d->X, i, j)))
				return true;
		}
	}
	return false;
}

void profile_rows_build(const struct evidence *evidence, const struct run_set *runs, const struct dataset *d, struct profile_rows *out)
{
	size_t n_types = evidence->types.n, *index = mem_new(n_types, sizeof(*index)), cols = d->X.cols;
	struct profile_rows r = { .features = mem_new(cols, sizeof(char *)),
				  .rates = mat_new(d->X.rows, cols),
				  .cost = mem_new(d->X.rows, sizeof(double)),
				  .type = mem_new(d->X.rows, sizeof(size_t)),
				  .type_names = mem_new(n_types, sizeof(char *)) };

	memcpy(r.features, d->features, cols * sizeof(char *));
	r.rates.rows = 0;
	for (size_t i = 0; i < d->X.rows; i++) {
		if (!(d->y[i] > 0)) {
			r.n_not_positive++;
		} else if (d->types[i] >= n_types) {
			r.n_untyped++;
		} else if (row_is_incomplete(d, i)) {
			r.incomplete++;
		} else {
			memcpy(&r.rates.at[r.rates.rows * cols], &d->X.at[i * cols], cols * sizeof(double));
			r.cost[r.rates.rows] = runs->higher_is_better ? 1.0 / d->y[i] : d->y[i];
			r.type[r.rates.rows++] = d->types[i];
			index[d->types[i]] = 1;
		}
	}
	for (size_t t = 0; t < n_types; t++) {
		if (index[t]) {
			index[t] = r.types;
			r.type_names[r.types++] = evidence->types.types[t].name;
		}
	}
	for (size_t i = 0; i < r.rates.rows; i++)
		r.type[i] = index[r.type[i]];
	r.noise = rows_noise(runs, d);
	r.rate_noise = rows_rate_noise(evidence, runs, d);
	free(index);
	*out = r;
}

void profile_rows_release(struct profile_rows *r)
{
	free(r->features);
	mat_release(&r->rates);
	mem_free(r->cost, r->type, r->composition, r->rate_noise, r->type_names);
	*r = (struct profile_rows){ 0 };
}

void profile_fill_rates(const struct fingerprint_set *set, const struct fingerprint *f, const struct profile_rows *rows, double *rates)
{
	for (size_t j = 0; j < rows->rates.cols; j++) {
		rates[j] = (double)NAN;
		for (size_t k = 0; k < set->n_stressors; k++) {
			if (strcmp(set->stressors[k], rows->features[j]) == 0)
				rates[j] = fingerprint_summarise(set, f, k).median;
		}
	}
}

enum assay_status profile_fail_no_rows(const struct run_set *runs, const struct dataset *d, const char *what, size_t usable,
				       struct assay_error *err)
{
	struct buf why = BUF_INIT;
	enum assay_status st;

	for (int i = 0; i < EXCLUDED_REASONS; i++) {
		if (d->n_excluded[i])
			buf_format(&why, "; %zu: %s", d->n_excluded[i], excluded_text((enum exclusion_code)i));
	}
	st = assay_fail(err, ASSAY_E_NODATA, "a profile of '%s@%s' needs %s: %zu of %zu can be used%s", runs->application, runs->version,
			what, usable, runs->n, why.bytes ? why.bytes : "");
	buf_release(&why);
	return st;
}

/* ---- groups of stressors ---- */

/* Appends the one or two most frequent main categories of the members: "cpu" or "cpu/memory". */
static void add_main_categories(const char *const *features, const size_t *members, size_t n, struct buf *name)
{
	size_t count[CATEGORY_COUNT] = { 0 };

	for (size_t i = 0; i < n; i++)
		count[stressor_category(features[members[i]])]++;
	for (size_t k = 0; k < 2; k++) {
		size_t best = 0;

		for (size_t c = 1; c < CATEGORY_COUNT; c++)
			best = count[c] > count[best] ? c : best;
		if (count[best] == 0 || (k && 4 * count[best] < n))
			break;
		buf_format(name, "%s%s", k ? "/" : "", category_name((enum category)best));
		count[best] = 0;
	}
}

char *profile_group_name(const char *const *features, const size_t *members, size_t n)
{
	struct buf name = BUF_INIT;

	add_main_categories(features, members, n, &name);
	for (size_t i = 0; i < n && (i < GROUP_NAMES_SHOWN || n == GROUP_NAMES_SHOWN + 1); i++)
		buf_format(&name, "%s%s", i ? ", " : ": ", features[members[i]]);
	if (n > GROUP_NAMES_SHOWN + 1)
		buf_format(&name, " and %zu more", n - GROUP_NAMES_SHOWN);
	return buf_take(&name);
}

static void group_add_member(struct profile *p, struct profile_group *g, size_t column)
{
	const struct stressor *stressor = stressor_find(p->rows->features[column]);

	g->members[g->n++] = column;
	for (size_t i = 0; stressor && i < stressor->n_categories; i++)
		g->categories[stressor->categories[i]] = true;
	if (!stressor)
		g->categories[CATEGORY_UNKNOWN] = true;
}

ORDER_BY(compare_shares, struct profile_group, BY_DESC(share) BY_ASC(members[0]))

/* Ranks the groups by share. Shares below PROFILE_RANKED_SHARE_MIN are mostly noise, so these groups share the last rank. */
static void rank_groups(struct profile *p)
{
	double before = (double)NAN;

	for (size_t g = 0; g < p->n_groups; g++) {
		double share = stats_round(p->groups[g].share), key = share >= PROFILE_RANKED_SHARE_MIN ? share : 0.0;

		p->groups[g].rank = key == before ? p->groups[g - 1].rank : g + 1;
		p->n_ranked += key > 0.0 ? 1 : 0;
		before = key;
	}
}

static void profile_group(struct profile *p)
{
	const struct features *f = &p->data.features;
	const struct shares *s = &p->shares;

	p->n_groups = f->groups;
	p->groups = mem_new(f->groups, sizeof(*p->groups));
	for (size_t g = 0; g < f->groups; g++) {
		p->groups[g] = (struct profile_group){ .members = mem_new(f->p, sizeof(size_t)),
						       .share = s->share[g],
						       .low = s->low[g],
						       .high = s->high[g],
						       .least = s->least[g],
						       .most = s->most[g],
						       .first = s->first[g] };
	}
	for (size_t j = 0; j < f->p; j++) {
		size_t k = f->distinct[j];

		if (k == FEATURES_NONE)
			continue;
		group_add_member(p, &p->groups[f->group[k]], j);
		p->importance[j] = p->blend.stumps.importance[k] / (double)f->copies[k];
		p->groups[f->group[k]].importance += p->importance[j];
	}
	for (size_t g = 0; g < f->groups; g++)
		p->groups[g].name = profile_group_name((const char *const *)p->rows->features, p->groups[g].members, p->groups[g].n);
	qsort(p->groups, p->n_groups, sizeof(*p->groups), compare_shares);
	rank_groups(p);
}

/* ---- trust in the profile ---- */

/* Reasons against trust: constant, code, clause after "because". */
#define TRUST_ROWS(X)                                                                                                                      \
	X(TRUST_TOO_FEW_TYPES, "too_few_types", "it ran on too few hardware types")                                                        \
	X(TRUST_NO_FEATURES, "no_features", "no stressor was measured on all of its machines and differs between them")                    \
	X(TRUST_RANGE_BELOW_NOISE, "range_below_noise", "its cost hardly differs between machines")                                        \
	X(TRUST_Q2_LOW, "q2_low", "the models predict other hardware types poorly")                                                        \
	X(TRUST_UNEXPLAINED, "unexplained", "much of the time is not explained")                                                           \
	X(TRUST_LEADING_UNCERTAIN, "leading_group_uncertain", "another group may be the largest")                                          \
	X(TRUST_NOT_SEPARABLE, "not_separable", "models with other shares fit nearly as well")                                             \
	X(TRUST_RANK_TOO_SMALL, "rank_too_small", "the machines differ in too few ways")                                                   \
	X(TRUST_FEATURES_TIED, "features_tied", "many stressors separate the machines equally well")                                       \
	X(TRUST_MODELS_DISAGREE, "models_disagree", "two kinds of models disagree on the largest group")

enum trust_reason { TRUST_ROWS(ROWS_ENUM) };

static void trust_limit(struct profile *p, enum profile_verdict at_most, enum trust_reason reason, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
static void trust_limit(struct profile *p, enum profile_verdict at_most, enum trust_reason reason, const char *fmt, ...)
{
	static const char *const codes[] = { TRUST_ROWS(ROWS_CODE) }, *const clauses[] = { TRUST_ROWS(ROWS_TEXT) };
	char *text = NULL;
	va_list args;

	va_start(args, fmt);
	ASSAY_BUG_IF(p->n_reasons == PROFILE_REASONS_MAX || vasprintf(&text, fmt, args) < 0);
	va_end(args);
	p->reasons[p->n_reasons++] = (struct profile_reason){ codes[reason], clauses[reason], at_most, text };
	p->verdict = at_most > p->verdict ? at_most : p->verdict;
}

static void judge_types(struct profile *p)
{
	size_t types = p->rows->types;

	if (types < PROFILE_TYPES_MIN)
		trust_limit(p, PROFILE_NOT_IDENTIFIABLE, TRUST_TOO_FEW_TYPES,
			    "%zu hardware type%s: a profile needs at least %d, and trust needs %d; run it on %zu more", types,
			    text_plural(types), PROFILE_TYPES_MIN, TYPES_TRUSTED, TYPES_TRUSTED - types);
	else if (types < TYPES_TRUSTED)
		trust_limit(p, PROFILE_INDICATIVE, TRUST_TOO_FEW_TYPES, "%zu hardware types: trust needs %d; run it on %zu more", types,
			    TYPES_TRUSTED, TYPES_TRUSTED - types);
}

static void judge_fit(struct profile *p)
{
	double spread = stats_round(stats_sd(p->data.type_cost, p->data.types)), noise = fmax(p->rows->noise, .01),
	       q2 = stats_round(p->validation.q2);

	if (spread < 2.0 * noise)
		trust_limit(
		    p, PROFILE_NOT_IDENTIFIABLE, TRUST_RANGE_BELOW_NOISE,
		    "its cost varies by %.1f %% over the hardware types and by %.1f %% between repetitions: nothing can be inferred",
		    100 * spread, 100 * noise);
	if (q2 < Q2_TRUSTED)
		trust_limit(p, q2 < Q2_IDENTIFIED ? PROFILE_NOT_IDENTIFIABLE : PROFILE_INDICATIVE, TRUST_Q2_LOW,
			    "on held-out hardware types, the models explain %.0f %% of the variance (trust needs %.0f %%): perhaps no "
			    "measured stressor represents what it uses, or one machine is unlike all others",
			    100 * fmax(q2, 0), 100 * Q2_TRUSTED);
	if (stats_round(p->shares.share[p->shares.groups]) > UNEXPLAINED_TRUSTED)
		trust_limit(p, PROFILE_INDICATIVE, TRUST_UNEXPLAINED, "%.0f %% of the time is not explained",
			    100 * p->shares.share[p->shares.groups]);
}

/* Returns the group with the largest importance in the boosted stumps; 0 if the stumps have no split. */
static size_t leading_by_importance(const struct profile *p)
{
	size_t best = 0;

	for (size_t g = 1; g < p->n_groups; g++)
		best = stats_round(p->groups[g].importance) > stats_round(p->groups[best].importance) ? g : best;
	return best;
}

static void judge_groups(struct profile *p)
{
	const struct profile_group *lead = &p->groups[0];
	double first = stats_round(lead->first), rank = p->data.features.effective_rank;
	size_t other = leading_by_importance(p);

	if (!(first >= LEAD_PROBABILITY_TRUSTED))
		trust_limit(p, first < LEAD_PROBABILITY_IDENTIFIED ? PROFILE_NOT_IDENTIFIABLE : PROFILE_INDICATIVE, TRUST_LEADING_UNCERTAIN,
			    "'%s' is the largest in %.0f %% of the resampled models (trust needs %.0f %%): add machines that differ in it "
			    "but not in the next groups",
			    lead->name, 100 * first, 100 * LEAD_PROBABILITY_TRUSTED);
	if (stats_round(lead->least) < SHARE_TRUSTED_MIN)
		trust_limit(p, PROFILE_INDICATIVE, TRUST_NOT_SEPARABLE,
			    "models that fit nearly as well give '%s' between %.0f and %.0f %% of the time (trust needs %.0f %% at least)",
			    lead->name, 100 * lead->least, 100 * lead->most, 100 * SHARE_TRUSTED_MIN);
	if (stats_round(rank) + 1.0 < (double)p->n_ranked)
		trust_limit(
		    p, PROFILE_INDICATIVE, TRUST_RANK_TOO_SMALL,
		    "the machines differ in about %.1f independent ways, and %zu groups are ranked: their shares depend on each other",
		    rank, p->n_ranked);
	if (stats_round(p->blend.stumps.tied) > TIED_FEATURES_TRUSTED_MAX)
		trust_limit(p, PROFILE_INDICATIVE, TRUST_FEATURES_TIED, "%.0f stressors separate the machines equally well",
			    p->blend.stumps.tied);
	if (other != 0 && p->blend.stumps.tied > 0)
		trust_limit(p, PROFILE_INDICATIVE, TRUST_MODELS_DISAGREE, "boosted trees put '%s' first, the additive model '%s'",
			    p->groups[other].name, lead->name);
}

static void profile_judge(struct profile *p)
{
	p->verdict = PROFILE_TRUSTED;
	judge_types(p);
	if (p->rows->types >= PROFILE_TYPES_MIN && p->data.features.n == 0)
		trust_limit(p, PROFILE_NOT_IDENTIFIABLE, TRUST_NO_FEATURES,
			    "no stressor was measured on all of its machines and differs between them");
	if (!p->fitted)
		return;
	judge_fit(p);
	inferred_shares(&p->shares, p->verdict == PROFILE_TRUSTED, &p->inferred);
	judge_groups(p);
}

/* ---- whole profile ---- */

void profile_fit_blend(const struct blend_data *data, size_t threads, struct blend_validation *validation, struct blend *blend)
{
	double *count = mem_new(data->types, sizeof(*count));
	struct blend_choice choice;

	for (size_t t = 0; t < data->types; t++)
		count[t] = 1.0;
	blend_validate(data, threads, validation);
	blend_choose(data, count, &choice);
	blend_fit(data, count, &choice, blend);
	free(count);
}

static void profile_fit(struct profile *p, const struct profile_options *options)
{
	struct shares_options shares = { options->resamples, options->seed, options->threads ? options->threads : parallel_threads() };

	profile_fit_blend(&p->data, shares.threads, &p->validation, &p->blend);
	inferred_parts_build(&p->data.features, p->rows->features, p->rows->composition, &p->inferred);
	shares_compute(&p->data, &p->blend, &p->inferred.parts, fmax(p->rows->noise, NOISE_FLOOR), &shares, &p->shares);
	profile_group(p);
}

/* Reports whether the mean log rates of the types differ by no more than the noise of the column. */
static bool is_within_noise(const struct profile_rows *rows, size_t column)
{
	double *mean = mem_new(rows->types, sizeof(*mean)), *n = mem_new(rows->types, sizeof(*n)), spread;

	for (size_t i = 0; i < rows->rates.rows; i++) {
		mean[rows->type[i]] += log(mat_get(&rows->rates, i, column));
		n[rows->type[i]] += 1.0;
	}
	for (size_t t = 0; t < rows->types; t++)
		mean[t] /= n[t];
	spread = stats_round(stats_sd(mean, rows->types));
	mem_free(mean, n);
	return spread < NOISE_RATIO_MAX * fmax(NOISE_LEVEL, rows->rate_noise[column]);
}

/* Returns a copy of the rates in which the unusable columns are NaN: those that do not differ between types, and those that the
 * application's composition excludes. Sets why[rates.cols] to the reasons. */
static struct mat select_rates(const struct profile_rows *rows, enum feature_state *why)
{
	struct mat m = mat_new(rows->rates.rows, rows->rates.cols);

	memcpy(m.at, rows->rates.at, m.rows * m.cols * sizeof(double));
	for (size_t j = 0; j < m.cols; j++) {
		if (rows->rate_noise && rows->rate_noise[j] > 0.0 && is_within_noise(rows, j))
			why[j] = FEATURE_WITHIN_NOISE;
		else if (views_is_excluded(rows, j))
			why[j] = FEATURE_EXCLUDED;
		for (size_t i = 0; why[j] && i < m.rows; i++)
			mat_set(&m, i, j, (double)NAN);
	}
	return m;
}

static void profile_data(const struct profile_rows *rows, struct blend_data *out)
{
	enum feature_state *why = mem_new(rows->rates.cols, sizeof(*why));
	struct mat seen = select_rates(rows, why);

	blend_data_init(&seen, rows->cost, rows->type, rows->types, out);
	for (size_t j = 0; j < seen.cols; j++)
		out->features.state[j] = why[j] ? why[j] : out->features.state[j];
	views_add_to_models(rows, out);
	mat_release(&seen);
	free(why);
}

void profile_compute(const struct profile_rows *rows, const struct profile_options *options, struct profile *out)
{
	struct profile p = { .rows = rows, .importance = mem_new(rows->rates.cols, sizeof(double)) };

	if (rows->types > 0)
		profile_data(rows, &p.data);
	p.fitted = rows->types >= PROFILE_TYPES_MIN && p.data.features.n > 0;
	if (p.fitted)
		profile_fit(&p, options);
	profile_judge(&p);
	*out = p;
}

void profile_release(struct profile *p)
{
	blend_data_release(&p->data);
	blend_release(&p->blend);
	blend_validation_release(&p->validation);
	shares_release(&p->shares);
	inferred_release(&p->inferred);
	for (size_t g = 0; g < p->n_groups; g++)
		mem_free(p->groups[g].name, p->groups[g].members);
	mem_free(p->groups, p->importance);
	for (size_t i = 0; i < p->n_reasons; i++)
		free(p->reasons[i].text);
	*p = (struct profile){ 0 };
}

enum assay_status paper_profile_fit(const struct evidence *evidence, const struct run_set *runs, struct paper_profile *out,
				    struct assay_error *err)
{
	struct paper_profile profile = { .runs = runs };
	double *scale = NULL;
	struct mat X;
	enum assay_status st = ASSAY_OK;

	dataset_build(evidence, runs, false, &profile.dataset);
	X = mat_new(profile.dataset.X.rows, profile.dataset.X.cols);
	if (X.rows < 2 || X.cols == 0) {
		st = profile_fail_no_rows(runs, &profile.dataset, "at least two results on machines with a fingerprint", X.rows, err);
	} else {
		memcpy(X.at, profile.dataset.X.at, X.rows * X.cols * sizeof(double));
		scale = mem_new(2 * X.cols, sizeof(double));
		gbt_standardise(&X, scale, scale + X.cols);
		st = gbt_fit(&X, profile.dataset.y, &gbt_paper, &profile.gbt, err);
	}
	free(scale);
	mat_release(&X);
	*out = profile;
	if (st)
		paper_profile_release(out);
	return st;
}

void paper_profile_release(struct paper_profile *profile)
{
	gbt_free(profile->gbt);
	dataset_release(&profile->dataset);
	*profile = (struct paper_profile){ 0 };
}
