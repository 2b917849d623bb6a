#include "gate/detect/like_inputs.h"

#include "base/buf.h"
#include "base/mem.h"
#include "base/order.h"
#include "base/stats.h"
#include "runs/running/input_features.h"

#include <math.h>
#include <string.h>

#define FOLDS_MAX 40  /* maximum number of parts to hold out; if there are more normal runs, a part has several runs */
#define TOLERANCE .05 /* as in detector_defaults: smaller differences count by their amount, larger ones by their ratio */

static const char *run_arguments(const struct side_run *run)
{
	const char *arguments = samples_info(side_run_first_process(run), "arguments");

	return arguments ? arguments : "";
}

/* Writes asinh() of each number in `text` into numbers[INPUT_NUMBERS_MAX]. Returns the count of numbers, which can be larger. */
static size_t text_numbers(const char *text, double *numbers)
{
	char *words = mem_string(text), *rest = words, *word;
	size_t n = 0;

	while ((word = strsep(&rest, " "))) {
		size_t there = n < INPUT_NUMBERS_MAX ? n : INPUT_NUMBERS_MAX;

		n += input_feature_parse_numbers(word, numbers + there, INPUT_NUMBERS_MAX - there);
	}
	for (size_t k = 0; k < n && k < INPUT_NUMBERS_MAX; k++)
		numbers[k] = asinh(numbers[k]);
	free(words);
	return n;
}

/* The numbers are those of the arguments, or those of the input's name if the arguments are unknown. */
size_t input_parse_run_numbers(const struct side_run *run, double *numbers)
{
	const char *arguments = run->n_files ? run_arguments(run) : "";

	return text_numbers(*arguments ? arguments : run->input, numbers);
}

size_t input_count_numbers(const struct side *side)
{
	double numbers[INPUT_NUMBERS_MAX];
	size_t n = side->n ? input_parse_run_numbers(&side->runs[0], numbers) : 0;

	for (size_t r = 1; r < side->n; r++)
		n = input_parse_run_numbers(&side->runs[r], numbers) == n ? n : 0;
	return n <= INPUT_NUMBERS_MAX ? n : 0;
}

/* Returns the input's name in the manifest, or the arguments if it has no name. */
static const char *run_input(const struct side_run *run)
{
	return *run->input ? run->input : run->n_files ? run_arguments(run) : "";
}

/* Returns the index of the first run with this input among the first `runs` runs of `side`; SIZE_MAX if there is none. */
static size_t find_run_with_input(const struct side *side, size_t runs, const char *input)
{
	for (size_t r = 0; r < runs; r++)
		if (strcmp(run_input(&side->runs[r]), input) == 0)
			return r;
	return SIZE_MAX;
}

bool input_has_common(const struct side *a, const struct side *b)
{
	for (size_t r = 0; r < a->n; r++)
		if (find_run_with_input(b, b->n, run_input(&a->runs[r])) != SIZE_MAX)
			return true;
	return false;
}

/* Describes the inputs of a side's runs. The id of an input is the index of the first run of `old` that had it. If not `by_input`, runs of
 * the same input are not compared with each other. `numbers` is the count of numbers per input; 0 if numbers are not used. The result uses
 * *input [runs], which the caller frees. */
static struct expect_inputs inputs_build(const struct side *side, const struct side *old, size_t numbers, bool by_input, size_t **input)
{
	struct expect_inputs out = { .numbers = mat_new(side->n, numbers), .inputs = old->n };
	double of_run[INPUT_NUMBERS_MAX];

	*input = mem_new(side->n + 1, sizeof((*input)[0]));
	for (size_t r = 0; r < side->n; r++) {
		(*input)[r] = by_input ? find_run_with_input(old, old->n, run_input(&side->runs[r])) : SIZE_MAX;
		if (numbers)
			input_parse_run_numbers(&side->runs[r], of_run);
		for (size_t k = 0; k < numbers; k++)
			mat_set(&out.numbers, r, k, of_run[k]);
	}
	out.input = *input;
	return out;
}

static bool has_varying_inputs(const struct side *side)
{
	for (size_t r = 1; r < side->n; r++)
		if (find_run_with_input(side, 1, run_input(&side->runs[r])) == SIZE_MAX)
			return true;
	return false;
}

struct cell {
	struct observed *observed;
	size_t function, column;
	const size_t *rows; /* [n], rows of the function, sorted by run */
	size_t n;
	double stretch;
};

static double cell_value(const struct cell *c, size_t i)
{
	return asinh(mat_get(&c->observed->observations.values, c->rows[i], c->column) / c->stretch);
}

static void cell_shift(const struct cell *c, size_t i, double by)
{
	mat_set(&c->observed->observations.values, c->rows[i], c->column, c->stretch * sinh(cell_value(c, i) + by));
}

/* Writes the median of each run into y[runs]. Sets use[r] if run r has values. Returns the number of these runs. */
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

static double cell_median(const double *y, const bool *use, size_t runs, double *work)
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

ORDER_BY(compare_inputs, struct input_run, BY_ASC(input) BY_ASC(run))

/* Divides the runs in use into parts that are held out together, and writes the number of each run's part into fold[runs]. Distributes runs
 * of the same input over the parts as evenly as possible. */
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

/* Writes into out[runs] by how much each run's values must shift, from a fit without that run's part. Writes NaN if this fit has no
 * expected value for the run's input. */
static void cell_leave_one_out_shifts(const struct expect_inputs *inputs, const double *y, const bool *use, size_t n, double typical,
				      double *out)
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
				out[r] = expect_predict(&expect, inputs, r, &should) ? typical - should
					 : expect.by == EXPECT_BY_NOTHING	     ? 0
										     : (double)NAN;
		}
		expect_release(&expect);
	}
	mem_free(others, of);
}

/* Learns the expected value of the column per input from normal runs, and shifts their values to the typical input. Sets drop[rows] for
 * runs whose input has no expected value from other runs. Sets *typical to the median over runs, and *expect to the fit. */
static void cell_learn(const struct cell *c, const struct expect_inputs *inputs, double *typical, struct expect *expect, bool *drop)
{
	size_t runs = inputs->numbers.rows, n;
	double *y = mem_new(3 * runs + 1, sizeof(y[0])), *by = y + runs;
	bool *use = mem_new(runs + 1, sizeof(use[0]));

	n = cell_medians(c, y, use);
	*typical = cell_median(y, use, runs, by + runs);
	expect_fit(inputs, y, use, expect);
	cell_leave_one_out_shifts(inputs, y, use, n, *typical, by);
	for (size_t i = 0; i < c->n; i++) {
		size_t run = c->observed->run[c->rows[i]];

		if (use[run] && isnan(by[run]))
			drop[c->rows[i]] = drop[c->rows[i]] ||
					   expect->by != EXPECT_BY_NOTHING; /* a new run with the same input is treated in the same way */
		else if (use[run] && fabs(by[run]) > 0)
			cell_shift(c, i, by[run]);
	}
	mem_free(y, use);
}

/* Shifts the values of new runs to the typical input. Sets drop[rows] as cell_learn() does. */
static void cell_apply(const struct cell *c, const struct expect_inputs *inputs, double typical, const struct expect *expect, bool *drop)
{
	for (size_t i = 0; i < c->n; i++) {
		double should;

		if (expect_predict(expect, inputs, c->observed->run[c->rows[i]], &should))
			cell_shift(c, i, typical - should);
		else
			drop[c->rows[i]] = true;
	}
}

/* Rows of the observations, sorted by function. The rows of a function keep their order, which is by run. */
struct by_function {
	size_t *rows, *first; /* [rows], indices; [functions + 1], start of each function in `rows` */
};

static struct by_function group_by_function(const struct observed *o)
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

static struct cell cell_init(struct observed *o, const struct by_function *by, size_t function, size_t column, double stretch)
{
	return (struct cell){ .observed = o,
			      .function = function,
			      .column = column,
			      .stretch = stretch,
			      .rows = by->rows + by->first[function],
			      .n = by->first[function + 1] - by->first[function] };
}

/* Values of one side. */
struct values {
	struct observed *observed;
	struct expect_inputs inputs;
	size_t *input;
	struct by_function by;
	bool *drop; /* [rows], the row must be removed */
};

static struct values values_build(const struct side *side, const struct side *old, struct observed *o, size_t numbers, bool by_input)
{
	struct values v = { .observed = o, .by = group_by_function(o), .drop = mem_new(o->observations.values.rows + 1, sizeof(bool)) };

	v.inputs = inputs_build(side, old, numbers, by_input, &v.input);
	return v;
}

static void values_release(struct values *v)
{
	observed_drop_rows(v->observed, v->drop);
	mat_release(&v->inputs.numbers);
	mem_free(v->by.rows, v->by.first, v->input, v->drop);
}

static size_t count_dropped_runs(const struct observed *o, const bool *drop)
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

/* Shifts one column of one function to the typical input on both sides. Reports whether there are expected values. */
static bool column_shift(struct values *old, struct values *new, const size_t function[2], size_t column, struct like_inputs *like)
{
	double stretch = detector_stretch(old->observed->min_relevant_delta[column], TOLERANCE), typical;
	struct cell then = cell_init(old->observed, &old->by, function[0], column, stretch);
	struct cell now = cell_init(new->observed, &new->by, function[1], column, stretch);
	struct expect expect;
	bool known;

	cell_learn(&then, &old->inputs, &typical, &expect, old->drop);
	known = expect.by != EXPECT_BY_NOTHING;
	if (known)
		cell_apply(&now, &new->inputs, typical, &expect, new->drop);
	like->by_input = like->by_input || expect.by == EXPECT_BY_INPUT;
	for (size_t k = 0; k < expect.n; k++)
		like->by_number[expect.number[k]] = true;
	expect_release(&expect);
	return known;
}

struct like_inputs like_inputs_scale(const struct side *old, struct observed *normal, const struct side *new, struct observed *seen)
{
	size_t numbers = input_count_numbers(old);
	bool common = input_has_common(old, new), vary = has_varying_inputs(old);
	struct like_inputs like = { .numbers = numbers == input_count_numbers(new) ? numbers : 0 };
	struct values of_old = values_build(old, old, normal, like.numbers, common);
	struct values of_new = values_build(new, old, seen, like.numbers, common);

	for (size_t f = 0; f < normal->observations.functions && vary; f++) {
		size_t function[2] = { f, observed_find(seen, normal->functions[f]) };
		bool known = false;

		for (size_t c = 0; c < normal->observations.values.cols && function[1] != SIZE_MAX; c++)
			known = (normal->per_call[c] && column_shift(&of_old, &of_new, function, c, &like)) || known;
		like.functions += known;
	}
	like.runs_unlike = count_dropped_runs(seen, of_new.drop);
	values_release(&of_old);
	values_release(&of_new);
	return like;
}

void like_inputs_text(const struct like_inputs *like, struct buf *out)
{
	const char *before = " (by number ", *between = before;

	if (!like->functions)
		return;
	buf_format(out, "%zu function%s compared at equal inputs", like->functions, like->functions == 1 ? " takes" : "s take");
	for (size_t k = 0; k < like->numbers; k++) {
		if (!like->by_number[k])
			continue;
		buf_format(out, "%s%zu", between, k + 1);
		between = ", ";
	}
	if (between != before)
		buf_format(out, " of %zu", like->numbers);
	if (like->by_input)
		buf_format(out, "%sby runs of the same input", between != before ? "; " : " (");
	if (between != before || like->by_input)
		buf_char(out, ')');
}
