#include "gate/detect/like_inputs.h"

#include "base/buf.h"
#include "base/digest.h"
#include "base/mem.h"
#include "base/stats.h"
#include "runs/running/input_features.h"

#include <math.h>
#include <string.h>

#define FOLDS_MAX 40  /* of more normal runs some are left out together */
#define TOLERANCE .05 /* as detector_defaults has it: below, differences count by themselves, above by their ratio */

/* ---- inputs of runs ---- */

static const char *run_arguments(const struct side_run *run)
{
	const char *arguments = samples_info(side_run_first(run), "arguments");

	return arguments ? arguments : "";
}

/* numbers [INPUT_NUMBERS_MAX]; returns how many there are, also of more. */
static size_t text_numbers(const char *text, double *numbers)
{
	char *words = mem_string(text), *rest = words, *word;
	size_t n = 0;

	while ((word = strsep(&rest, " "))) {
		size_t there = n < INPUT_NUMBERS_MAX ? n : INPUT_NUMBERS_MAX;

		n += input_feature_numbers(word, numbers + there, INPUT_NUMBERS_MAX - there);
	}
	for (size_t k = 0; k < n && k < INPUT_NUMBERS_MAX; k++)
		numbers[k] = asinh(numbers[k]);
	free(words);
	return n;
}

/* Takes numbers from the arguments or, if these are not known, from the input's name. */
size_t input_run_numbers(const struct side_run *run, double *numbers)
{
	const char *arguments = run->n_files ? run_arguments(run) : "";

	return text_numbers(*arguments ? arguments : run->input, numbers);
}

size_t input_numbers(const struct side *side)
{
	double numbers[INPUT_NUMBERS_MAX];
	size_t n = side->n ? input_run_numbers(&side->runs[0], numbers) : 0;

	for (size_t r = 1; r < side->n; r++)
		n = input_run_numbers(&side->runs[r], numbers) == n ? n : 0;
	return n <= INPUT_NUMBERS_MAX ? n : 0;
}

/* The name that the manifest gives an input, or the arguments, which may name the build. As a digest: arguments may hold secrets, and
 * models are passed on. */
static char *run_digest(const struct side_run *run)
{
	const char *text = *run->input ? run->input : run->n_files ? run_arguments(run) : "";
	char hex[DIGEST_HEX_BYTES];

	digest_sha256(text, strlen(text), hex);
	return mem_string(hex);
}

static int compare_texts(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static void like_name_inputs(const struct side *side, struct like_inputs *like)
{
	size_t kept = 0;

	like->inputs = mem_new(side->n + 1, sizeof(like->inputs[0]));
	for (size_t r = 0; r < side->n; r++)
		like->inputs[r] = run_digest(&side->runs[r]);
	qsort(like->inputs, side->n, sizeof(like->inputs[0]), compare_texts);
	for (size_t i = 0; i < side->n; i++) {
		if (kept && strcmp(like->inputs[kept - 1], like->inputs[i]) == 0)
			free(like->inputs[i]);
		else
			like->inputs[kept++] = like->inputs[i];
	}
	like->n_inputs = kept;
}

static struct expect_inputs like_expect_inputs(const struct like_inputs *like, const struct side *side, size_t **input)
{
	bool numbered = like->numbers > 0 && input_numbers(side) == like->numbers;
	struct expect_inputs out = { .numbers = mat_new(side->n, like->numbers), .inputs = like->n_inputs };
	double numbers[INPUT_NUMBERS_MAX];

	*input = mem_new(side->n + 1, sizeof((*input)[0]));
	for (size_t r = 0; r < side->n; r++) {
		char *text = run_digest(&side->runs[r]),
		     **found = bsearch(&text, like->inputs, like->n_inputs, sizeof(text), compare_texts);

		(*input)[r] = found ? (size_t)(found - like->inputs) : SIZE_MAX;
		free(text);
		if (numbered)
			input_run_numbers(&side->runs[r], numbers);
		for (size_t k = 0; k < like->numbers; k++)
			mat_set(&out.numbers, r, k, numbered ? numbers[k] : (double)NAN);
	}
	out.input = *input;
	return out;
}

/* ---- one column of one function ---- */

struct cell {
	struct observed *observed;
	size_t function, column;
	const size_t *rows; /* [n] of the function, by run */
	size_t n;
	double stretch;
};

static double cell_value(const struct cell *c, size_t i)
{
	return asinh(mat_get(&c->observed->observations.values, c->rows[i], c->column) / c->stretch);
}

static void cell_move(const struct cell *c, size_t i, double by)
{
	mat_set(&c->observed->observations.values, c->rows[i], c->column, c->stretch * sinh(cell_value(c, i) + by));
}

/* Medians of the runs: y [runs], use [runs] those that have one. Returns how many. */
static size_t cell_medians(const struct cell *c, double *y, bool *use)
{
	double *work = mem_new(c->n + 1, sizeof(work[0]));
	size_t runs = 0;

	for (size_t first = 0, n; first < c->n; first += n) {
		size_t run = c->observed->run[c->rows[first]], kept = 0;

		for (n = 0; first + n < c->n && c->observed->run[c->rows[first + n]] == run; n++) {
			double value = cell_value(c, first + n);

			if (isfinite(value))
				work[kept++] = value;
		}
		if (!kept)
			continue;
		y[run] = stats_median(work, kept);
		use[run] = true;
		runs++;
	}
	free(work);
	return runs;
}

static double cell_typical(const double *y, const bool *use, size_t runs, double *work)
{
	size_t n = 0;

	for (size_t r = 0; r < runs; r++) {
		if (use[r])
			work[n++] = y[r];
	}
	return n ? stats_median(work, n) : 0;
}

struct input_run {
	size_t input, run;
};

static int compare_inputs(const void *a, const void *b)
{
	const struct input_run *x = a, *y = b;

	return x->input != y->input ? (x->input < y->input ? -1 : 1) : (x->run > y->run) - (x->run < y->run);
}

/* Which runs in use are left out together: of one input as few as can be. fold [runs]. */
static void input_folds(const struct expect_inputs *inputs, const bool *use, size_t folds, size_t *fold)
{
	size_t runs = inputs->numbers.rows, n = 0;
	struct input_run *places = mem_new(runs + 1, sizeof(places[0]));

	for (size_t r = 0; r < runs; r++) {
		if (use[r])
			places[n++] = (struct input_run){ inputs->input[r], r };
	}
	qsort(places, n, sizeof(places[0]), compare_inputs);
	for (size_t i = 0; i < n; i++)
		fold[places[i].run] = i % folds;
	free(places);
}

/* By what to move the values of the runs in `out` [runs], each by a fit without it; NaN: that knows nothing of its input. */
static void cell_left_out(const struct expect_inputs *inputs, const double *y, const bool *use, size_t n, double typical, double *out)
{
	size_t runs = inputs->numbers.rows, folds = n < FOLDS_MAX ? n : FOLDS_MAX;
	bool *others = mem_new(runs + 1, sizeof(others[0]));
	size_t *of = mem_new(runs + 1, sizeof(of[0]));

	if (n)
		input_folds(inputs, use, folds, of);
	for (size_t fold = 0; fold < folds; fold++) {
		struct expect expect;

		for (size_t r = 0; r < runs; r++)
			others[r] = use[r] && of[r] != fold;
		expect_fit(inputs, y, others, &expect);
		for (size_t r = 0; r < runs; r++) {
			double should = 0;

			if (use[r] && !others[r])
				out[r] = expect_of(&expect, inputs, r, &should) ? typical - should
					 : expect.by == EXPECT_BY_NOTHING	? 0
										: (double)NAN;
		}
		expect_release(&expect);
	}
	free(others);
	free(of);
}

/* Changes its values; what it should be with an input goes to the list, if anything is known of that. */
static void cell_learn(const struct cell *c, const struct expect_inputs *inputs, struct like_inputs *like, bool *drop)
{
	const struct observed *o = c->observed;
	size_t runs = inputs->numbers.rows, n;
	double *y = mem_new(3 * runs + 1, sizeof(y[0])), *by = y + runs;
	bool *use = mem_new(runs + 1, sizeof(use[0]));
	struct like_column column = { .stretch = c->stretch };

	n = cell_medians(c, y, use);
	column.typical = cell_typical(y, use, runs, by + runs);
	expect_fit(inputs, y, use, &column.expect);
	cell_left_out(inputs, y, use, n, column.typical, by);
	for (size_t i = 0; i < c->n; i++) {
		size_t run = o->run[c->rows[i]];

		if (use[run] && isnan(by[run]))
			drop[c->rows[i]] =
			    drop[c->rows[i]] || column.expect.by != EXPECT_BY_NOTHING; /* a new run of it is not judged either */
		else if (use[run] && fabs(by[run]) > 0)
			cell_move(c, i, by[run]);
	}
	if (column.expect.by != EXPECT_BY_NOTHING) {
		column.function = mem_string(o->functions[c->function]);
		column.column = mem_string(o->columns[c->column]);
		like->columns = mem_resize(like->columns, like->n + 1, sizeof(like->columns[0]));
		like->columns[like->n++] = column;
	}
	free(y);
	free(use);
}

/* ---- all functions and columns ---- */

/* Rows of the observations by function, in their order within, which is by run. */
struct by_function {
	size_t *rows, *first; /* [rows]; [functions + 1] */
};

static struct by_function by_function_of(const struct observed *o)
{
	size_t functions = o->observations.functions, rows = o->observations.values.rows;
	struct by_function b = { mem_new(rows + 1, sizeof(b.rows[0])), mem_new(functions + 2, sizeof(b.first[0])) };

	for (size_t i = 0; i < rows; i++)
		b.first[o->function[i] + 2]++;
	for (size_t f = 2; f < functions + 2; f++)
		b.first[f] += b.first[f - 1];
	for (size_t i = 0; i < rows; i++)
		b.rows[b.first[o->function[i] + 1]++] = i;
	return b;
}

static void by_function_release(struct by_function *b)
{
	free(b->rows);
	free(b->first);
}

static struct cell cell_of(struct observed *o, const struct by_function *by, size_t function, size_t column, double stretch)
{
	return (struct cell){ .observed = o,
			      .function = function,
			      .column = column,
			      .stretch = stretch,
			      .rows = by->rows + by->first[function],
			      .n = by->first[function + 1] - by->first[function] };
}

bool input_common(const struct side *a, const struct side *b)
{
	bool common = false;

	for (size_t i = 0; i < a->n && !common; i++) {
		char *text = run_digest(&a->runs[i]);

		for (size_t k = 0; k < b->n && !common; k++) {
			char *other = run_digest(&b->runs[k]);

			common = strcmp(text, other) == 0;
			free(other);
		}
		free(text);
	}
	return common;
}

void like_inputs_learn(const struct side *side, struct observed *normal, size_t numbers, bool by_input, struct like_inputs *out)
{
	struct like_inputs like = { .numbers = numbers };
	struct by_function by = by_function_of(normal);
	struct expect_inputs inputs;
	bool *drop = mem_new(normal->observations.values.rows + 1, sizeof(drop[0]));
	size_t *input;

	like_name_inputs(side, &like);
	inputs = like_expect_inputs(&like, side, &input);
	for (size_t r = 0; r < side->n && !by_input; r++)
		input[r] = SIZE_MAX;
	for (size_t f = 0; f < normal->observations.functions && like.n_inputs > 1; f++) {
		for (size_t c = 0; c < normal->observations.values.cols; c++) {
			struct cell cell = cell_of(normal, &by, f, c, detector_stretch(normal->min_relevant_delta[c], TOLERANCE));

			if (normal->per_call[c])
				cell_learn(&cell, &inputs, &like, drop);
		}
	}
	observed_drop(normal, drop);
	free(drop);
	mat_release(&inputs.numbers);
	by_function_release(&by);
	free(input);
	*out = like;
}

void like_inputs_release(struct like_inputs *like)
{
	for (size_t i = 0; i < like->n; i++) {
		free(like->columns[i].function);
		free(like->columns[i].column);
		expect_release(&like->columns[i].expect);
	}
	for (size_t i = 0; i < like->n_inputs; i++)
		free(like->inputs[i]);
	free(like->columns);
	free(like->inputs);
	*like = (struct like_inputs){ .inputs = NULL };
}

/* ---- what is judged ---- */

static size_t names_find(char *const *names, size_t n, const char *name)
{
	for (size_t i = 0; i < n; i++) {
		if (strcmp(names[i], name) == 0)
			return i;
	}
	return SIZE_MAX;
}

/* drop [rows] those of runs with an input of which nothing is known. */
static void cell_apply(const struct cell *c, const struct expect_inputs *inputs, const struct like_column *like, bool *drop)
{
	for (size_t i = 0; i < c->n; i++) {
		double should;

		if (expect_of(&like->expect, inputs, c->observed->run[c->rows[i]], &should))
			cell_move(c, i, like->typical - should);
		else
			drop[c->rows[i]] = true;
	}
}

static size_t runs_dropped(const struct observed *o, const bool *drop)
{
	bool *run = mem_new(o->observations.runs + 1, sizeof(run[0]));
	size_t n = 0;

	for (size_t i = 0; i < o->observations.values.rows; i++) {
		n += drop[i] && !run[o->run[i]];
		run[o->run[i]] |= drop[i];
	}
	free(run);
	return n;
}

size_t like_inputs_apply(const struct like_inputs *like, const struct side *side, struct observed *seen)
{
	struct by_function by = by_function_of(seen);
	size_t *input, dropped;
	bool *drop = mem_new(seen->observations.values.rows + 1, sizeof(drop[0]));
	struct expect_inputs inputs = like_expect_inputs(like, side, &input);

	for (size_t i = 0; i < like->n; i++) {
		const struct like_column *column = &like->columns[i];
		size_t f = names_find(seen->functions, seen->observations.functions, column->function);
		size_t c = names_find(seen->columns, seen->observations.values.cols, column->column);
		struct cell cell;

		if (f == SIZE_MAX || c == SIZE_MAX)
			continue;
		cell = cell_of(seen, &by, f, c, column->stretch);
		cell_apply(&cell, &inputs, column, drop);
	}
	dropped = runs_dropped(seen, drop);
	observed_drop(seen, drop);
	mat_release(&inputs.numbers);
	by_function_release(&by);
	free(input);
	free(drop);
	return dropped;
}

/* ---- what is said about it ---- */

void like_inputs_text(const struct like_inputs *like, struct buf *out)
{
	size_t functions = 0;
	bool number[INPUT_NUMBERS_MAX] = { false }, by_input = false;
	const char *before = " (by number ", *between = before;

	for (size_t i = 0; i < like->n; i++) {
		const struct expect *e = &like->columns[i].expect;

		functions += !i || strcmp(like->columns[i].function, like->columns[i - 1].function) != 0;
		by_input = by_input || e->by == EXPECT_BY_INPUT;
		for (size_t k = 0; k < e->n; k++)
			number[e->number[k]] = true;
	}
	if (!functions)
		return;
	buf_format(out, "what %zu function%s was compared at like inputs", functions, functions == 1 ? " takes" : "s take");
	for (size_t k = 0; k < like->numbers; k++) {
		if (!number[k])
			continue;
		buf_format(out, "%s%zu", between, k + 1);
		between = ", ";
	}
	if (between != before)
		buf_format(out, " of %zu", like->numbers);
	if (by_input)
		buf_format(out, "%sby runs of the same input", between != before ? "; " : " (");
	if (between != before || by_input)
		buf_char(out, ')');
}
