#include "gate/cost/cost_where.h"

#include "base/mem.h"
#include "base/order.h"
#include "base/stats.h"
#include "base/text.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define INPUTS_MIN  5
#define LISTED_MAX  8
#define NORMAL_MEAN 1.2533 /* standard deviations in the mean of a normal error's amount: sqrt(pi / 2) */
#define LEAST_NOISE 1e-3   /* no clock is better */

/* Inputs of one version that have samples. */
struct sampled {
	const struct cost_places **places; /* [X.rows] */
	struct mat X;
	double *excess; /* [X.rows] of the candidate */
};

static void sampled_release(struct sampled *s)
{
	mem_free(s->places, s->excess);
	mat_release(&s->X);
}

static void sampled_add(struct sampled *s, const struct cost_places *places, const double *row, double excess)
{
	if (!places->runs)
		return;
	memcpy(s->X.at + s->X.rows * s->X.cols, row, s->X.cols * sizeof(*row));
	s->excess[s->X.rows] = excess;
	s->places[s->X.rows++] = places;
}

static struct sampled sampled_new(size_t rows, size_t cols)
{
	struct sampled s = { .places = mem_new(rows, sizeof(*s.places)),
			     .X = mat_new(rows, cols),
			     .excess = mem_new(rows, sizeof(double)) };

	s.X.rows = 0;
	return s;
}

/* What one sample is worth, on average. */
static double sample_of(const struct sampled *s)
{
	double sum = 0.0;

	for (size_t i = 0; i < s->X.rows; i++)
		sum += s->places[i]->sample / (double)s->X.rows;
	return sum;
}

struct both {
	struct sampled old, new;
	const struct cost_model *model;
};

static struct both both_of(const struct cost_where_asked *asked)
{
	const struct costs *costs = &asked->model->costs;
	const struct cost_fit *fit = &asked->model->all;
	struct both both = { .old = sampled_new(costs->n, fit->n), .new = sampled_new(asked->X->rows, fit->n), .model = asked->model };
	double *row = mem_new(fit->n, sizeof(*row));

	for (size_t i = 0; i < costs->n; i++) {
		cost_fit_row(fit, costs->X.at + i * costs->p, row);
		sampled_add(&both.old, &costs->inputs[i].places, row, 0.0);
	}
	for (size_t i = 0; i < asked->X->rows; i++)
		sampled_add(&both.new, &asked->candidate->inputs[asked->input[i]].places, asked->X->at + i * asked->X->cols,
			    asked->excess[i]);
	free(row);
	return both;
}

/* ---- functions, and loops within them ---- */

/* What stands behind a loop's test and before that of the next loop in the same function; before the first one, line 0. */
struct segment {
	size_t function;
	unsigned line; /* in the old source */
	size_t column; /* of the model: the loop's feature; SIZE_MAX: it is no loop's */
};

struct division {
	const char **names; /* of functions, [n_names], rising */
	long *moved;	    /* [n_names] lines of the new source, less those of the old one */
	size_t n_names;
	struct segment *items; /* [n], by function and line */
	size_t n;
};

static void add_functions(const struct sampled *s, struct division *division, size_t *capacity)
{
	for (size_t i = 0; i < s->X.rows; i++) {
		for (size_t k = 0; k < s->places[i]->n; k++) {
			const char *name = s->places[i]->items[k].function;

			if (k && strcmp(name, s->places[i]->items[k - 1].function) == 0)
				continue;
			mem_append(division->names, division->n_names, capacity, name);
		}
	}
}

/* In which line the function's name is; 0: not known. */
static unsigned begin_of(const struct sampled *s, const char *function)
{
	for (size_t i = 0; i < s->X.rows; i++) {
		for (size_t k = 0; k < s->places[i]->n; k++) {
			if (s->places[i]->items[k].begins && strcmp(s->places[i]->items[k].function, function) == 0)
				return s->places[i]->items[k].begins;
		}
	}
	return 0;
}

/* The line of the loop whose feature this is, if it stands in the function; 0: it is none. */
static unsigned loop_of(const char *feature, const char *function)
{
	const char *colon, *name;
	size_t n;

	if (strncmp(feature, "loop ", 5) != 0)
		return 0;
	name = strchr(feature + 5, ' ');
	colon = name ? memrchr(feature, ':', (size_t)(name - feature)) : NULL;
	if (!colon)
		return 0;
	n = strlen(++name);
	return strncmp(function, name, n) == 0 && (function[n] == '\0' || function[n] == '(') ? (unsigned)strtoul(colon + 1, NULL, 10) : 0;
}

ORDER_BY(compare_segments, struct segment, BY_UP(function) BY_UP(line) BY_UP(column))

/* All of one function; of several loops in a line the first. */
static void add_segments(const struct both *both, size_t function, struct division *division, size_t *capacity)
{
	const struct cost_fit *fit = &both->model->all;
	size_t first = division->n, kept = division->n + 1;

	mem_append(division->items, division->n, capacity, (struct segment){ function, 0, SIZE_MAX });
	for (size_t j = 0; j < fit->n; j++) {
		unsigned line = loop_of(both->model->costs.names[fit->column[j]], division->names[function]);

		if (!line)
			continue;
		mem_append(division->items, division->n, capacity, (struct segment){ function, line, j });
	}
	qsort(division->items + first, division->n - first, sizeof(*division->items), compare_segments);
	for (size_t k = first + 1; k < division->n; k++) {
		if (division->items[k].line != division->items[kept - 1].line)
			division->items[kept++] = division->items[k];
	}
	division->n = kept;
}

static struct division division_of(const struct both *both)
{
	struct division d = { .n = 0 };
	size_t capacity = 0, kept = 0;

	add_functions(&both->old, &d, &capacity);
	add_functions(&both->new, &d, &capacity);
	order_sort(d.names, d.n_names, text_order);
	for (size_t i = 0; i < d.n_names; i++) {
		if (!kept || strcmp(d.names[kept - 1], d.names[i]) != 0)
			d.names[kept++] = d.names[i];
	}
	d.n_names = kept;
	d.moved = mem_new(kept, sizeof(*d.moved));
	capacity = 0;
	for (size_t f = 0; f < kept; f++) {
		unsigned old = begin_of(&both->old, d.names[f]), new = begin_of(&both->new, d.names[f]);

		d.moved[f] = old && new ? (long)new - (long)old : 0;
		add_segments(both, f, &d, &capacity);
	}
	return d;
}

static void division_release(struct division *d)
{
	mem_free(d->names, d->moved, d->items);
}

static size_t segment_of(const struct division *d, const struct cost_place *place, bool new)
{
	size_t function =
	    (size_t)((const char **)bsearch(&place->function, d->names, d->n_names, sizeof(*d->names), text_order) - d->names);
	long line = (long)place->line - (new ? d->moved[function] : 0);
	size_t k = 0;

	while (d->items[k].function < function)
		k++;
	while (place->line && k + 1 < d->n && d->items[k + 1].function == function && (long)d->items[k + 1].line <= line)
		k++;
	return k;
}

/* What of each run's samples is in each segment, [rows x d->n]. */
static struct mat divide(const struct division *d, const struct sampled *s, bool new)
{
	struct mat part = mat_new(s->X.rows, d->n);

	for (size_t i = 0; i < s->X.rows; i++) {
		for (size_t k = 0; k < s->places[i]->n; k++) {
			part.at[i * part.cols + segment_of(d, &s->places[i]->items[k], new)] += s->places[i]->items[k].seconds;
		}
	}
	return part;
}

/* ---- in which of them ---- */

/* [d->n], free() it. */
static struct sparse_part *parts_of(const struct both *both, const struct division *d, double noise)
{
	const struct sparse *model = &both->model->all.model;
	struct mat was = divide(d, &both->old, false), is = divide(d, &both->new, true);
	size_t *column = mem_new(d->n, sizeof(*column)), n = both->new.X.rows;
	double all = 0.0;
	struct sparse_part *out = mem_new(d->n, sizeof(*out));

	for (size_t k = 0; k < d->n; k++)
		column[k] = d->items[k].column;
	for (size_t i = 0; i < n; i++)
		all += sparse_predict(model, both->new.X.at + i * both->new.X.cols);
	sparse_parts_of(model, &(struct sparse_parts){ &both->old.X, &was }, &(struct sparse_parts){ &both->new.X, &is },
			&(struct sparse_costs){ column, both->new.excess, noise, sample_of(&both->new) / all }, out);
	mat_release(&was);
	mat_release(&is);
	free(column);
	return out;
}

/* Seconds in a line of the old source, as a part of all that is expected of the runs. */
static double in_line(const struct both *both, const struct division *d, size_t segment, long line, bool new)
{
	const struct sampled *s = new ? &both->new : &both->old;
	double sum = 0.0, all = 0.0;

	for (size_t i = 0; i < s->X.rows; i++) {
		all += sparse_predict(&both->model->all.model, s->X.at + i * s->X.cols);
		for (size_t k = 0; k < s->places[i]->n; k++) {
			const struct cost_place *place = &s->places[i]->items[k];

			if ((long)place->line - (new ? d->moved[d->items[segment].function] : 0) == line &&
			    segment_of(d, place, new) == segment)
				sum += place->seconds;
		}
	}
	return sum / all;
}

/* The line of the segment to which most was added. */
static void find_line(const struct both *both, const struct division *d, size_t segment, struct cost_where_place *out)
{
	double most = -HUGE_VAL;

	for (size_t i = 0; i < both->new.X.rows; i++) {
		for (size_t k = 0; k < both->new.places[i]->n; k++) {
			const struct cost_place *place = &both->new.places[i]->items[k];
			long line = (long)place->line - d->moved[d->items[segment].function];
			double more;

			if (!place->line || place->line == out->line || segment_of(d, place, true) != segment)
				continue;
			more = in_line(both, d, segment, line, true) - in_line(both, d, segment, line, false);
			if (more <= most)
				continue;
			most = more;
			out->file = place->file;
			out->line = place->line;
		}
	}
}

ORDER_BY(by_adds, struct cost_where_place, BY_DOWN(of.adds) BY_TEXT(function) BY_UP(segment))

/* Lists the places of which each adds most, until all that the runs cost more is explained. */
static void find(const struct both *both, const struct cost_where_asked *asked, struct cost_where *out)
{
	const struct cost_model *model = both->model;
	struct division d = division_of(both);
	struct sparse_part *parts = parts_of(both, &d, cost_where_noise(model));
	double sum = 0.0;

	out->items = mem_new(d.n, sizeof(*out->items));
	for (size_t k = 0; k < d.n; k++)
		out->items[k] = (struct cost_where_place){ .function = d.names[d.items[k].function], .of = parts[k], .segment = k };
	qsort(out->items, d.n, sizeof(*out->items), by_adds);
	out->t = stats_t_quantile(1.0 - .025 / fmax(1.0, (double)d.n), (double)(both->new.X.rows - 1)); /* of any of them */
	while (out->n < d.n && out->n < LISTED_MAX && sum < asked->more && out->items[out->n].of.adds > 0.0) {
		struct cost_where_place *place = &out->items[out->n++];

		sum += place->of.adds;
		if (d.items[place->segment].column != SIZE_MAX)
			place->loop = cost_fit_column(model, &model->all, d.items[place->segment].column);
		find_line(both, &d, place->segment, place);
	}
	out->all = fmax(sum, asked->more);
	free(parts);
	division_release(&d);
}

void cost_where_of(const struct cost_where_asked *asked, struct cost_where *out)
{
	struct both both = both_of(asked);

	*out = (struct cost_where){ .n = 0 };
	if (both.old.X.rows >= INPUTS_MIN && both.new.X.rows >= INPUTS_MIN)
		find(&both, asked, out);
	sampled_release(&both.old);
	sampled_release(&both.new);
}

double cost_where_noise(const struct cost_model *model)
{
	return NORMAL_MEAN * fmax(model->all.model.error_mean, LEAST_NOISE);
}

/* ---- the answer ---- */

/* Is more than nothing added there, whichever of all places it is? */
static bool is_certain(const struct cost_where *where, const struct cost_where_place *place)
{
	return place->of.adds > where->t * place->of.error;
}

static void say_place(const struct cost_where_place *place, struct buf *out)
{
	buf_format(out, "%s, which adds %.1f %% to the cost that is expected", place->function, 100 * place->of.adds);
	if (place->loop) {
		buf_text(out, ", in ");
		cost_feature_words(place->loop, out);
	}
	if (place->line)
		buf_format(out, " (the line is %s:%u)", place->file, place->line);
}

static void say_places(const struct cost_where *where, struct document *d)
{
	size_t said = 0;

	for (size_t i = 0; i < where->n; i++) {
		struct buf words = BUF_INIT;

		if (!is_certain(where, &where->items[i]))
			continue;
		say_place(&where->items[i], &words);
		doc_line(d, "%s %s", said++ ? "and in" : "slower in", words.bytes);
		buf_release(&words);
	}
	if (where->n && !said)
		doc_line(d, "it is not certain where: more runs, or longer ones, have more samples of where the time went");
}

void cost_where_answer(const struct cost_where *where, struct document *d)
{
	say_places(where, d);
	if (where->n)
		doc_heading(d, "Where it became slower, by samples of where the time went and by which inputs cost more");
	doc_table(d, "slower_at");
	for (size_t i = 0; i < where->n; i++) {
		const struct cost_where_place *place = &where->items[i];
		char *line = place->line ? mem_format("%s:%u", place->file, place->line) : NULL;
		double low = fmax(place->of.adds - where->t * place->of.error, 0.0),
		       high = fmax(fmin(place->of.adds + where->t * place->of.error, where->all), place->of.adds);

		doc_row(d);
		doc_show(d, "function", "function", place->function);
		doc_showf(d, "adds", "adds", place->of.adds, "%.1f %%", 100 * place->of.adds);
		doc_showf(d, "low", "from", low, "%.1f %%", 100 * low);
		doc_showf(d, "high", "to", high, "%.1f %%", 100 * high);
		doc_set_bool(d, "certain", is_certain(where, place));
		doc_show(d, "line", "line", line ? line : "");
		doc_show(d, "loop", "loop", place->loop ? place->loop : "");
		free(line);
	}
	doc_end(d);
}
