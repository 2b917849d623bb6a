#include "gate/profile/inferred.h"

#include "base/mem.h"
#include "base/stats.h"

#include <math.h>
#include <string.h>

/* Calibrated with stressors left out and planted mixtures: docs/evidence/irup.md. */
#define FIRST_TRUSTED .8					  /* probability that the leading part leads */
static const double least_trusted[INFERRED_LEVELS] = { .2, .45 }; /* of the time, that it has in every fit that is nearly as good */
#define SHOWN_MIN .02
#define NAMED	  3

static const char *const depths[INFERRED_LEVELS] = { "time", "category" };

/* ---- what the columns are made of ---- */

/* Categories, before those that cannot be told apart are put together. */
struct category_list {
	const char **name; /* [n] */
	enum level *level; /* [n] */
	size_t *set;	   /* [n] the first one of those that it cannot be told from */
	size_t *group;	   /* [n] of what has no name of its own: the group that it stands for; else FEATURES_NONE */
	bool *leads;	   /* [n] it is what most of some column's time is */
	size_t n, capacity;
};

/* What has no name of its own in one group need not be the same as in another. */
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

/* Parts of one column: a category each. */
struct column_parts {
	size_t category[MADE_OF_CLASSES_MAX + 2];
	double part[MADE_OF_CLASSES_MAX + 2];
	size_t n;
};

static void column_add(struct column_parts *p, size_t category, double part)
{
	if (part <= 0.0)
		return;
	p->category[p->n] = category;
	p->part[p->n++] = part;
}

static struct column_parts column_parts_of(const struct made_of *m, size_t group, struct category_list *c)
{
	struct column_parts p = { .n = 0 };
	double left = 1.0;

	if (!m->kind) {
		column_add(&p, category_index(c, MADE_OF_UNKNOWN, LEVELS, group), 1.0);
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

static size_t column_main(const struct column_parts *p)
{
	size_t best = 0;

	for (size_t i = 1; i < p->n; i++)
		best = p->part[i] > p->part[best] ? i : best;
	return p->category[best];
}

/* Columns of one group move together: what they mostly are cannot be told apart, within a level. */
static void categories_join(const struct features *f, const struct column_parts *columns, struct category_list *c)
{
	for (size_t k = 0; k < f->n; k++) {
		for (size_t j = 0; j < k; j++) {
			size_t a = column_main(&columns[k]), b = column_main(&columns[j]), from, to;

			if (f->group[k] != f->group[j] || c->level[a] != c->level[b])
				continue;
			from = c->set[a] > c->set[b] ? c->set[a] : c->set[b];
			to = c->set[a] > c->set[b] ? c->set[b] : c->set[a];
			for (size_t i = 0; i < c->n; i++)
				c->set[i] = c->set[i] == from ? to : c->set[i];
		}
	}
}

/* The first set of a level that is nothing but what has no name; c->n: none. */
static bool set_is_nameless(const struct category_list *c, size_t set)
{
	bool nameless = true;

	for (size_t i = 0; i < c->n; i++)
		nameless &= c->set[i] != set || c->group[i] != FEATURES_NONE || !c->leads[i];
	return nameless;
}

/* What no column mostly is, and what has no name, is one other set of its level. */
static void categories_fold(const struct column_parts *columns, size_t n, struct category_list *c)
{
	size_t rest[LEVELS + 1];

	for (size_t k = 0; k < n; k++)
		c->leads[column_main(&columns[k])] = true;
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

/* ---- parts ---- */

static size_t part_add(struct inferred *r, size_t depth, enum level of, char *name)
{
	r->items = mem_resize(r->items, r->n + 1, sizeof(*r->items));
	r->parts.level = mem_resize(r->parts.level, r->n + 1, sizeof(*r->parts.level));
	r->items[r->n] = (struct inferred_part){ .depth = depth, .of = of, .name = name, .together = 1 };
	r->parts.level[r->n] = depth;
	return r->n++;
}

/* "arithmetic, cryptography and 2 more": what has a name, unless nothing has. */
static char *set_name(const struct category_list *c, size_t set, size_t *together)
{
	bool nameless = set_is_nameless(c, set);
	struct buf text = BUF_INIT;
	size_t n = 0, all = 0;

	for (size_t i = 0; i < c->n; i++)
		all += c->set[i] == set && c->leads[i] && c->group[i] == FEATURES_NONE;
	for (size_t i = 0; i < c->n && !nameless; i++) {
		if (c->set[i] != set || !c->leads[i] || c->group[i] != FEATURES_NONE || (n == NAMED && all > NAMED + 1))
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

/* The parts of both levels; index [c->n] of the category of each. */
static void parts_begin(struct inferred *r, const struct category_list *c, size_t level_part[LEVELS + 1], size_t *index)
{
	for (size_t level = 0; level <= LEVELS; level++)
		if (level != LEVEL_WAITING)
			level_part[level] =
			    part_add(r, 0, (enum level)level, mem_string(level < LEVELS ? level_code((enum level)level) : MADE_OF_UNKNOWN));
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

void inferred_parts_of(const struct features *f, const char *const *features, const struct made_of *made_of, struct inferred *out)
{
	struct inferred r = { .n = 0 };
	struct category_list c = { .n = 0 };
	struct column_parts *columns = mem_new(f->n, sizeof(*columns));
	size_t level_part[LEVELS + 1] = { 0 }, *index;

	for (size_t k = 0; k < f->n; k++) {
		struct made_of known = made_of ? made_of[f->first[k]] : made_of_stressor(features[f->first[k]]);

		columns[k] = column_parts_of(&known, f->group[k], &c);
	}
	categories_join(f, columns, &c);
	categories_fold(columns, f->n, &c);
	index = mem_new(c.n, sizeof(*index));
	parts_begin(&r, &c, level_part, index);
	r.parts.of = mat_new(f->n, r.n);
	for (size_t k = 0; k < f->n; k++) {
		for (size_t i = 0; i < columns[k].n; i++) {
			size_t category = columns[k].category[i];

			r.parts.of.at[k * r.n + level_part[c.level[category]]] += columns[k].part[i];
			r.parts.of.at[k * r.n + index[category]] += columns[k].part[i];
		}
	}
	mem_free(index, columns, c.name, c.level, c.set, c.group, c.leads);
	*out = r;
}

/* ---- trust ---- */

const struct inferred_part *inferred_lead(const struct inferred *r, size_t depth)
{
	const struct inferred_part *lead = NULL;

	for (size_t i = 0; i < r->n; i++)
		if (r->items[i].depth == depth && (!lead || r->items[i].share.share > lead->share.share))
			lead = &r->items[i];
	return lead;
}

/* Of what is not known nothing can be said; all categories of a level together say no more than the level. */
static bool lead_is_certain(const struct inferred *r, const struct inferred_part *lead)
{
	bool alone = lead && lead->together > 1;

	for (size_t i = 0; alone && i < r->n; i++)
		alone = r->items[i].depth != lead->depth || r->items[i].of != lead->of || &r->items[i] == lead;
	return lead && lead->of != LEVELS && !alone && stats_round(lead->share.first) >= FIRST_TRUSTED &&
	       stats_round(lead->share.least) >= least_trusted[lead->depth];
}

void inferred_shares(const struct shares *shares, bool sound, struct inferred *r)
{
	bool above = sound;

	r->sound = sound;
	for (size_t i = 0; i < r->n; i++)
		r->items[i].share = shares->part[i];
	for (size_t depth = 0; depth < INFERRED_LEVELS; depth++)
		above = r->trusted[depth] = above && lead_is_certain(r, inferred_lead(r, depth));
}

void inferred_release(struct inferred *r)
{
	for (size_t i = 0; i < r->n; i++)
		free(r->items[i].name);
	free(r->items);
	mat_release(&r->parts.of);
	free(r->parts.level);
	*r = (struct inferred){ .n = 0 };
}

/* ---- as an answer ---- */

/* The next one of a depth by share, after those of `done`; NULL: no more. */
static const struct inferred_part *inferred_next(const struct inferred *r, size_t depth, enum level of, bool *done)
{
	size_t best = r->n;

	for (size_t i = 0; i < r->n; i++) {
		const struct inferred_part *part = &r->items[i];

		if (!done[i] && part->depth == depth && (depth == 0 || part->of == of) && part->share.most > 0.0 &&
		    (best == r->n || part->share.share > r->items[best].share.share))
			best = i;
	}
	if (best == r->n)
		return NULL;
	done[best] = true;
	return &r->items[best];
}

static void inferred_row(const struct inferred *r, const struct inferred_part *part, struct document *d)
{
	doc_row(d);
	doc_set(d, "level", depths[part->depth]);
	doc_set(d, "name", part->name);
	if (part->depth > 0)
		doc_set(d, "of", part->of < LEVELS ? level_code(part->of) : MADE_OF_UNKNOWN);
	doc_set(d, "share", part->share.share);
	doc_set(d, "low", part->share.low);
	doc_set(d, "high", part->share.high);
	doc_set(d, "how", "inferred");
	doc_set(d, "verdict", r->trusted[part->depth] ? "trusted" : "indicative");
}

void inferred_rows(const struct inferred *r, struct document *d)
{
	const struct inferred_part *part;
	bool *done = r ? mem_new(r->n, sizeof(*done)) : NULL;

	for (size_t depth = 0; r && depth < INFERRED_LEVELS; depth++)
		for (size_t of = 0; of <= (depth ? LEVELS : 0); of++)
			while ((part = inferred_next(r, depth, (enum level)of, done)))
				inferred_row(r, part, d);
	free(done);
}

static void part_shown(const struct inferred *r, const struct inferred_part *part, struct document *d)
{
	char *name =
	    mem_format("%*s%s", 2 * (int)part->depth, "", part->depth > 0 || part->of == LEVELS ? part->name : level_text(part->of));

	doc_row(d);
	doc_show(d, NULL, "where the time goes", name);
	doc_showf(d, NULL, "share", part->share.share, "%.0f %%", 100 * part->share.share);
	doc_showf(d, NULL, "90 % interval", part->share.low, "%.0f to %.0f %%", 100 * part->share.low, 100 * part->share.high);
	doc_show(d, NULL, "how", r->trusted[part->depth] ? "inferred" : "inferred?");
	doc_bar(d, "", part->share.share);
	free(name);
}

void inferred_shown(const struct inferred *r, struct document *d)
{
	const struct inferred_part *level, *part;
	bool *done = mem_new(r->n, sizeof(*done));

	doc_heading(d, "Inferred from how its cost differs between machines");
	doc_table(d, NULL);
	while ((level = inferred_next(r, 0, LEVELS, done))) {
		if (level->share.share < SHOWN_MIN)
			continue;
		part_shown(r, level, d);
		while ((part = inferred_next(r, 1, level->of, done)))
			if (part->share.share >= SHOWN_MIN && part->of != LEVELS)
				part_shown(r, part, d);
	}
	doc_end(d);
	for (size_t i = 0; i < r->n; i++)
		if (r->items[i].together > 1 && r->items[i].share.share >= SHOWN_MIN)
			doc_line(d, "cannot be told apart on these machines: %s", r->items[i].name);
	if (!r->trusted[INFERRED_LEVELS - 1])
		doc_line(d, "inferred?: indicative");
	free(done);
}
