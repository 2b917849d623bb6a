/* Finds all calls of a function, sampled or not, and joins runs whose calls align. */
#include "runs/inside/samples/samples_join.h"

#include "base/mem.h"
#include "base/order.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

ORDER_LOWER_BOUND(calls_at, struct samples_calls, x->function < function || (x->function == function && x->thread < thread),
		  size_t function, uint32_t thread)

/* Returns calls[n] of a function, ordered by thread; NULL if there are none. O(log(calls)). */
static const struct samples_calls *samples_find_calls_range(const struct samples *samples, size_t function, size_t *n)
{
	size_t first = calls_at(samples->calls, samples->n_calls, function, 0);

	*n = calls_at(samples->calls, samples->n_calls, function + 1, 0) - first;
	return *n ? samples->calls + first : NULL;
}

size_t samples_find_calls(const struct samples *samples, size_t function, uint32_t thread)
{
	size_t i = calls_at(samples->calls, samples->n_calls, function, thread);

	return i < samples->n_calls && samples->calls[i].function == function && samples->calls[i].thread == thread ? i : SIZE_MAX;
}

/* Returns the end of the items in [i, end) that have the thread of items[i]. The step doubles after each hit and halves after a miss. */
static size_t thread_end(const struct samples *samples, size_t i, size_t end)
{
	uint32_t thread = samples->items[i].thread;
	size_t step = 1;

	while (step) {
		if (step < end - i && samples->items[i + step].thread == thread) {
			i += step;
			step *= 2;
		} else {
			step /= 2;
		}
	}
	return i + 1;
}

/* Returns the number of threads that have samples of the function but have not reported their number of calls. */
static size_t count_unknown_threads(const struct samples *samples, size_t function)
{
	const struct samples_function *f = &samples->functions[function];
	size_t unknown = 0, end = f->first + f->n;

	for (size_t i = f->first; i < end; i = thread_end(samples, i, end))
		unknown += samples_find_calls(samples, function, samples->items[i].thread) == SIZE_MAX;
	return unknown;
}

static void sums_add(const double *sums, const double *errors, size_t width, double *to, double *to_errors)
{
	for (size_t c = 0; c < width; c++) {
		to[c] += sums ? sums[c] : (double)NAN;
		to_errors[c] = sums ? hypot(to_errors[c], errors[c]) : (double)NAN;
	}
}

void samples_total_find(const struct samples *samples, size_t function, struct samples_total *out)
{
	const char *running = samples_info(samples, "threads-running");
	size_t width = samples->n_counters, unknown = count_unknown_threads(samples, function), n;
	const struct samples_calls *calls = samples_find_calls_range(samples, function, &n);

	*out = (struct samples_total){ .sums = mem_new(4 * width, sizeof(double)) };
	out->errors = out->sums + width;
	out->nested_sums = out->errors + width;
	out->nested_errors = out->nested_sums + width;
	out->threads = n;
	for (; n > 0; n--, calls++) {
		out->calls += calls->calls;
		sums_add(calls->sums, calls->errors, width, out->sums, out->errors);
		sums_add(calls->nested_sums, calls->nested_errors, width, out->nested_sums, out->nested_errors);
		out->bursts += calls->bursts;
		out->nested_bursts += calls->nested_bursts;
	}
	out->known = out->threads > 0 && !unknown;
	out->complete = out->known && samples->finished && (!running || strcmp(running, "0") == 0);
	for (size_t c = 0; c < 4 * width && !out->threads; c++)
		out->sums[c] = (double)NAN;
	out->threads += unknown;
}

void samples_total_release(struct samples_total *total)
{
	free(total->sums);
	*total = (struct samples_total){ .sums = NULL };
}

/* ---- several runs ---- */

static bool is_same_text(const char *a, const char *b)
{
	return a == b || (a && b && strcmp(a, b) == 0);
}

static enum assay_status runs_check(const struct samples *const *runs, size_t n, struct assay_error *err)
{
	for (size_t r = 1; r < n; r++) {
		if (runs[r]->back_end != runs[0]->back_end)
			return assay_fail(err, ASSAY_E_USAGE, "cannot join samples of different back ends: %s and %s",
					  samples_back_end_name(runs[0]->back_end), samples_back_end_name(runs[r]->back_end));
		if (!is_same_text(samples_info(runs[r], "input"), samples_info(runs[0], "input")))
			return assay_fail(err, ASSAY_E_USAGE, "cannot join samples of different inputs");
	}
	return ASSAY_OK;
}

static void columns_find(struct samples_join *join)
{
	size_t capacity = 0;

	for (size_t r = 0; r < join->n_runs; r++) {
		for (size_t c = 0; c < join->runs[r]->n_counters; c++) {
			const char *name = join->runs[r]->counters[c];
			size_t k = 0;

			while (k < join->n_columns && strcmp(join->columns[k].name, name) != 0)
				k++;
			if (k < join->n_columns)
				continue;
			mem_append(join->columns, join->n_columns, &capacity, (struct samples_column){ name, r, c });
		}
	}
}

/* ---- the same function in other runs ---- */

static size_t function_find(const struct samples *run, const struct samples_function *f)
{
	for (size_t i = 0; i < run->n_functions; i++)
		if (run->functions[i].address == f->address && strcmp(run->functions[i].module, f->module) == 0 &&
		    strcmp(run->functions[i].name, f->name) == 0)
			return i;
	return SIZE_MAX;
}

static void functions_find(struct samples_join *join)
{
	size_t capacity = 0;

	for (size_t r = 0; r < join->n_runs; r++) {
		for (size_t f = 0; f < join->runs[r]->n_functions; f++) {
			struct samples_joined joined = { .outcome = SAMPLES_JOINED };
			bool earlier = false;

			for (size_t k = 0; k < join->n_runs; k++) {
				joined.functions[k] = k == r ? f : function_find(join->runs[k], &join->runs[r]->functions[f]);
				earlier = earlier || (k < r && joined.functions[k] != SIZE_MAX);
			}
			if (earlier)
				continue;
			mem_append(join->functions, join->n, &capacity, joined);
		}
	}
}

/* ---- alignment of invocations ---- */

static bool has_known_calls(const struct samples *run, size_t function)
{
	const struct samples_function *f = &run->functions[function];

	for (size_t i = f->first; i < f->first + f->n; i++)
		if (samples_find_calls(run, function, run->items[i].thread) == SIZE_MAX)
			return false;
	return true;
}

static enum samples_join_outcome calls_align(const struct samples_join *join, const struct samples_joined *joined)
{
	const struct samples_calls *first = NULL, *other;
	size_t n_first = 0, n;

	for (size_t r = 0; r < join->n_runs; r++)
		if (joined->functions[r] == SIZE_MAX || !join->runs[r]->functions[joined->functions[r]].n)
			return SAMPLES_FUNCTION_MISSING;
	for (size_t r = 0; r < join->n_runs; r++)
		if (!has_known_calls(join->runs[r], joined->functions[r]))
			return SAMPLES_CALLS_UNKNOWN;
	for (size_t r = 0; r < join->n_runs; r++) {
		other = samples_find_calls_range(join->runs[r], joined->functions[r], &n);
		if (r == 0) {
			first = other;
			n_first = n;
			continue;
		}
		if (n != n_first)
			return SAMPLES_CALLS_DIFFER;
		for (size_t i = 0; i < n; i++)
			if (other[i].thread != first[i].thread || other[i].calls != first[i].calls)
				return SAMPLES_CALLS_DIFFER;
	}
	return SAMPLES_JOINED;
}

static int invocation_compare(const struct sample *a, const struct sample *b)
{
	if (a->thread != b->thread)
		return a->thread < b->thread ? -1 : 1;
	return (a->ordinal > b->ordinal) - (a->ordinal < b->ordinal);
}

/* Advances each run's index at[] to the first invocation that is not before the one of run 0. Returns true if all runs have that one. */
static bool rows_align(const struct samples_join *join, const struct samples_joined *joined, size_t *at)
{
	const struct sample *next = &join->runs[0]->items[at[0]];

	for (size_t r = 1; r < join->n_runs; r++) {
		const struct samples *run = join->runs[r];
		const struct samples_function *f = &run->functions[joined->functions[r]];

		while (at[r] < f->first + f->n && invocation_compare(&run->items[at[r]], next) < 0)
			at[r]++;
		if (at[r] == f->first + f->n || invocation_compare(&run->items[at[r]], next) != 0)
			return false;
	}
	return true;
}

static void rows_find(const struct samples_join *join, struct samples_joined *joined)
{
	const struct samples_function *first = &join->runs[0]->functions[joined->functions[0]];
	size_t at[SAMPLES_RUNS_MAX];

	joined->items = mem_new(first->n * join->n_runs, sizeof(joined->items[0]));
	for (size_t r = 0; r < join->n_runs; r++)
		at[r] = join->runs[r]->functions[joined->functions[r]].first;
	for (; at[0] < first->first + first->n; at[0]++) {
		if (!rows_align(join, joined, at))
			continue;
		memcpy(joined->items + joined->n * join->n_runs, at, join->n_runs * sizeof(at[0]));
		joined->n++;
	}
	if (!joined->n)
		joined->outcome = SAMPLES_NO_COMMON_CALL;
}

enum assay_status samples_join(const struct samples *const *runs, size_t n, struct samples_join *out, struct assay_error *err)
{
	struct samples_join join = { .runs = runs, .n_runs = n };
	enum assay_status st;

	ASSAY_BUG_IF(n == 0 || n > SAMPLES_RUNS_MAX);
	st = runs_check(runs, n, err);
	if (st)
		return st;
	columns_find(&join);
	functions_find(&join);
	for (size_t f = 0; f < join.n; f++) {
		join.functions[f].outcome = calls_align(&join, &join.functions[f]);
		if (join.functions[f].outcome == SAMPLES_JOINED)
			rows_find(&join, &join.functions[f]);
	}
	*out = join;
	return ASSAY_OK;
}

void samples_join_release(struct samples_join *join)
{
	for (size_t f = 0; f < join->n; f++)
		free(join->functions[f].items);
	mem_free(join->functions, join->columns);
	*join = (struct samples_join){ .runs = NULL };
}

void samples_join_vector(const struct samples_join *join, size_t function, size_t i, bool alone, double *vector)
{
	const struct samples_joined *joined = &join->functions[function];
	double of_run[RECORD_COUNTERS_MAX];
	size_t computed = SIZE_MAX;

	ASSAY_BUG_IF(joined->outcome != SAMPLES_JOINED || i >= joined->n);
	for (size_t c = 0; c < join->n_columns; c++) {
		const struct samples_column *column = &join->columns[c];

		if (column->run != computed)
			samples_fill_vector(join->runs[column->run], joined->items[i * join->n_runs + column->run], alone, of_run);
		computed = column->run;
		vector[c] = of_run[column->counter];
	}
}
