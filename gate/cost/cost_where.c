#include "gate/cost/cost_where.h"

#include "base/mem.h"
#include "base/stats.h"
#include "base/text.h"
#include "gate/cost/cost_words.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define INPUTS_MIN 5
#define LISTED_MAX 8

/* Inputs of one version that have samples. */
struct sampled {
	const struct cost_places **places; /* [X.rows] */
	struct mat X;
};

static void sampled_release(struct sampled *s)
{
	free(s->places);
	mat_release(&s->X);
}

static void sampled_add(struct sampled *s, const struct cost_places *places, const double *row)
{
	if (!places->runs)
		return;
	memcpy(s->X.at + s->X.rows * s->X.cols, row, s->X.cols * sizeof(*row));
	s->places[s->X.rows++] = places;
}

static struct sampled sampled_new(size_t rows, size_t cols)
{
	struct sampled s = { .places = mem_new(rows, sizeof(*s.places)), .X = mat_new(rows, cols) };

	s.X.rows = 0;
	return s;
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
		sampled_add(&both.old, &costs->inputs[i].places, row);
	}
	for (size_t i = 0; i < asked->X->rows; i++)
		sampled_add(&both.new, &asked->candidate->inputs[asked->input[i]].places, asked->X->at + i * asked->X->cols);
	free(row);
	return both;
}

/* ---- parts ---- */

/* To which of some parts a place belongs; SIZE_MAX: to none. */
struct division {
	size_t (*part_of)(const struct division *division, const struct cost_place *place, bool new);
	size_t n;
	const char **names;   /* of functions, [n], rising */
	const char *function; /* of its places alone */
	long moved;	      /* lines of the new source, less those of the old */
	unsigned *lines;      /* [n], rising: each place belongs to the last one that is not behind it */
};

static struct mat divide(const struct division *division, const struct sampled *s, bool new)
{
	struct mat part = mat_new(s->X.rows, division->n);

	for (size_t i = 0; i < s->X.rows; i++) {
		for (size_t k = 0; k < s->places[i]->n; k++) {
			size_t j = division->part_of(division, &s->places[i]->items[k], new);

			if (j != SIZE_MAX)
				part.at[i * part.cols + j] += s->places[i]->items[k].seconds;
		}
	}
	return part;
}

/* [division->n], free() it. */
static struct sparse_part *compare(const struct both *both, const struct division *division)
{
	struct mat was = divide(division, &both->old, false), is = divide(division, &both->new, true);
	struct sparse_part *out = mem_new(division->n, sizeof(*out));

	if (division->n)
		sparse_parts_of(&both->model->all.model, &(struct sparse_parts){ &both->old.X, &was },
				&(struct sparse_parts){ &both->new.X, &is }, out);
	mat_release(&was);
	mat_release(&is);
	return out;
}

/* ---- functions ---- */

static int compare_names(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static size_t part_of_function(const struct division *division, const struct cost_place *place, bool new)
{
	const char **found = bsearch(&place->function, division->names, division->n, sizeof(*division->names), compare_names);

	(void)new;
	return found ? (size_t)(found - division->names) : SIZE_MAX;
}

static void add_functions(const struct sampled *s, struct division *division, size_t *capacity)
{
	for (size_t i = 0; i < s->X.rows; i++) {
		for (size_t k = 0; k < s->places[i]->n; k++) {
			const char *name = s->places[i]->items[k].function;

			if (k && strcmp(name, s->places[i]->items[k - 1].function) == 0)
				continue;
			division->names = mem_grow(division->names, division->n, capacity, sizeof(*division->names));
			division->names[division->n++] = name;
		}
	}
}

static struct division functions_of(const struct both *both)
{
	struct division division = { .part_of = part_of_function };
	size_t capacity = 0, kept = 0;

	add_functions(&both->old, &division, &capacity);
	add_functions(&both->new, &division, &capacity);
	if (division.n)
		qsort(division.names, division.n, sizeof(*division.names), compare_names);
	for (size_t i = 0; i < division.n; i++) {
		if (!kept || strcmp(division.names[kept - 1], division.names[i]) != 0)
			division.names[kept++] = division.names[i];
	}
	division.n = kept;
	return division;
}

static double reach(const struct both *both, const struct sparse_part *part)
{
	size_t n = both->old.X.rows < both->new.X.rows ? both->old.X.rows : both->new.X.rows;

	return stats_t_quantile(.975, (double)n - 1.0) * part->error;
}

static int by_adds(const void *a, const void *b)
{
	const struct cost_where_place *x = a, *y = b;

	return x->of.adds != y->of.adds ? (x->of.adds < y->of.adds) - (x->of.adds > y->of.adds) : strcmp(x->function, y->function);
}

static void find_functions(const struct both *both, struct cost_where *out)
{
	struct division functions = functions_of(both);
	struct sparse_part *parts = compare(both, &functions);

	out->items = mem_new(functions.n, sizeof(*out->items));
	for (size_t j = 0; j < functions.n; j++) {
		if (parts[j].adds > reach(both, &parts[j]))
			out->items[out->n++] = (struct cost_where_place){ .function = functions.names[j], .of = parts[j] };
	}
	if (out->n)
		qsort(out->items, out->n, sizeof(*out->items), by_adds);
	out->n = out->n < LISTED_MAX ? out->n : LISTED_MAX;
	free(functions.names);
	free(parts);
}

/* ---- lines and loops ---- */

/* A place of the new source as it was in the old one; 0: not known. */
static unsigned old_line(const struct division *division, const struct cost_place *place, bool new)
{
	long line = (long)place->line - (new ? division->moved : 0);

	return place->line && line > 0 ? (unsigned)line : 0;
}

static size_t part_of_line(const struct division *division, const struct cost_place *place, bool new)
{
	unsigned line = old_line(division, place, new);
	size_t j = 0;

	if (!line || strcmp(place->function, division->function) != 0)
		return SIZE_MAX;
	while (j < division->n && division->lines[j] <= line)
		j++;
	return j ? j - 1 : SIZE_MAX;
}

static int compare_lines(const void *a, const void *b)
{
	const unsigned *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static void sort_lines(struct division *division)
{
	size_t kept = 0;

	if (division->n)
		qsort(division->lines, division->n, sizeof(*division->lines), compare_lines);
	for (size_t i = 0; i < division->n; i++) {
		if (!kept || division->lines[kept - 1] != division->lines[i])
			division->lines[kept++] = division->lines[i];
	}
	division->n = kept;
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

static void add_lines(const struct sampled *s, bool new, struct division *division, size_t *capacity)
{
	for (size_t i = 0; i < s->X.rows; i++) {
		for (size_t k = 0; k < s->places[i]->n; k++) {
			const struct cost_place *place = &s->places[i]->items[k];
			unsigned line = old_line(division, place, new);

			if (!line || strcmp(place->function, division->function) != 0)
				continue;
			division->lines = mem_grow(division->lines, division->n, capacity, sizeof(*division->lines));
			division->lines[division->n++] = line;
		}
	}
}

/* The part to which most is added; SIZE_MAX: there is none. */
static size_t most_of(const struct sparse_part *parts, size_t n)
{
	size_t most = SIZE_MAX;

	for (size_t j = 0; j < n; j++) {
		if (most == SIZE_MAX || parts[j].adds > parts[most].adds)
			most = j;
	}
	return most;
}

static void find_line(const struct both *both, const struct division *of, struct cost_where_place *place)
{
	struct division lines = *of;
	size_t capacity = 0, most;
	struct sparse_part *parts;

	add_lines(&both->old, false, &lines, &capacity);
	add_lines(&both->new, true, &lines, &capacity);
	sort_lines(&lines);
	parts = compare(both, &lines);
	most = most_of(parts, lines.n);
	for (size_t i = 0; i < both->new.X.rows &&most != SIZE_MAX && !place->line; i++) {
		for (size_t k = 0; k < both->new.places[i]->n; k++) {
			const struct cost_place *at = &both->new.places[i]->items[k];

			if (part_of_line(&lines, at, true) == most) {
				place->file = at->file;
				place->line = at->line;
				break;
			}
		}
	}
	free(lines.lines);
	free(parts);
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

static void find_loop(const struct both *both, const struct division *of, struct cost_where_place *place)
{
	const struct costs *costs = &both->model->costs;
	struct division loops = *of;
	size_t capacity = 0, most;
	struct sparse_part *parts;

	for (size_t j = 0; j < costs->p; j++) {
		unsigned line = loop_of(costs->names[j], place->function);

		if (!line)
			continue;
		loops.lines = mem_grow(loops.lines, loops.n, &capacity, sizeof(*loops.lines));
		loops.lines[loops.n++] = line;
	}
	sort_lines(&loops);
	parts = compare(both, &loops);
	most = most_of(parts, loops.n);
	for (size_t j = 0; j < costs->p && most != SIZE_MAX && parts[most].adds > 0.0 && !place->loop; j++) {
		if (loop_of(costs->names[j], place->function) == loops.lines[most]) {
			place->loop = costs->names[j];
			place->in_loop = parts[most];
		}
	}
	free(loops.lines);
	free(parts);
}

void cost_where_of(const struct cost_where_asked *asked, struct cost_where *out)
{
	struct both both = both_of(asked);

	*out = (struct cost_where){ .old_inputs = both.old.X.rows, .new_inputs = both.new.X.rows };
	if (out->old_inputs >= INPUTS_MIN && out->new_inputs >= INPUTS_MIN)
		find_functions(&both, out);
	for (size_t i = 0; i < out->n; i++) {
		struct division division = { .part_of = part_of_line, .function = out->items[i].function };
		unsigned old = begin_of(&both.old, division.function), new = begin_of(&both.new, division.function);

		division.moved = old && new ? (long)new - (long)old : 0;
		find_line(&both, &division, &out->items[i]);
		find_loop(&both, &division, &out->items[i]);
	}
	sampled_release(&both.old);
	sampled_release(&both.new);
}

/* ---- the answer ---- */

static void say_first(const struct cost_where_place *first, struct document *d)
{
	struct buf words = BUF_INIT;

	if (first->loop) {
		buf_text(&words, ", most of it in ");
		cost_feature_words(first->loop, &words);
	}
	if (first->line)
		buf_format(&words, "; the line is %s:%u", first->file, first->line);
	doc_line(d, "slower in %s: %.1f %% of the cost that is expected were added there%s", first->function, 100 * first->of.adds,
		 words.bytes ? words.bytes : "");
	buf_release(&words);
}

void cost_where_answer(const struct cost_where *where, struct document *d)
{
	size_t n = where->old_inputs < where->new_inputs ? where->old_inputs : where->new_inputs;
	double t = n > 1 ? stats_t_quantile(.975, (double)n - 1.0) : 0.0;

	if (where->old_inputs < INPUTS_MIN || where->new_inputs < INPUTS_MIN)
		return;
	if (where->n)
		say_first(where->items, d);
	doc_heading(d, "Where it became slower, by samples of where the time went");
	doc_table(d, "slower_at");
	for (size_t i = 0; i < where->n; i++) {
		const struct cost_where_place *place = &where->items[i];
		char *line = place->line ? mem_format("%s:%u", place->file, place->line) : NULL;

		doc_row(d);
		doc_show(d, "function", "function", place->function);
		doc_showf(d, "adds", "adds", place->of.adds, "%.1f %%", 100 * place->of.adds);
		doc_showf(d, "low", "from", place->of.adds - t * place->of.error, "%.1f %%", 100 * (place->of.adds - t * place->of.error));
		doc_showf(d, "high", "to", place->of.adds + t * place->of.error, "%.1f %%", 100 * (place->of.adds + t * place->of.error));
		doc_show(d, "line", "line", line ? line : "");
		doc_show(d, "loop", "loop", place->loop ? place->loop : "");
		free(line);
	}
	doc_end(d);
}
