#include "gate/detect/side_effect.h"

#include "base/mem.h"
#include "base/order.h"
#include "runs/inside/changes/functions.h"

#include <math.h>
#include <string.h>

#define LINE_BYTES 64

/* Distinct threads in which a function ran, numbered over all files. */
struct threads {
	uint64_t *at; /* [n], ascending numbers of threads */
	size_t n, capacity;
};

static void threads_add(struct threads *threads, uint64_t thread)
{
	if (threads->n && threads->at[threads->n - 1] == thread)
		return;
	mem_append(threads->at, threads->n, &threads->capacity, thread);
}

ORDER_BY(by_number, uint64_t, BY_VALUE)

static void threads_sort(struct threads *threads)
{
	size_t n = threads->n;

	order_sort(threads->at, n, by_number);
	threads->n = 0;
	for (size_t i = 0; i < n; i++)
		threads_add(threads, threads->at[i]);
}

static bool is_symbol_of(const char *symbol, const char *stem)
{
	size_t length = functions_stem_length(symbol);

	return strlen(stem) == length && memcmp(symbol, stem, length) == 0;
}

static struct threads threads_collect(const struct side *side, const char *stem)
{
	struct threads threads = { .at = NULL };
	uint64_t file = 0;

	for (size_t r = 0; r < side->n; r++) {
		for (size_t f = 0; f < side->runs[r].n_files; f++, file++) {
			const struct samples *s = &side->runs[r].files[f];

			for (size_t k = 0; k < s->n_functions; k++)
				if (is_symbol_of(s->functions[k].name, stem))
					for (size_t i = 0; i < s->functions[k].n; i++)
						threads_add(&threads, file << 32 | s->items[s->functions[k].first + i].thread);
		}
	}
	threads_sort(&threads);
	return threads;
}

/* Reports whether `b` has at least half of the threads of `a`. */
static bool threads_are_shared(const struct threads *a, const struct threads *b)
{
	size_t both = 0;

	for (size_t i = 0, j = 0; i < a->n && j < b->n;) {
		both += a->at[i] == b->at[j];
		if (a->at[i] <= b->at[j])
			i++;
		else
			j++;
	}
	return 2 * both >= a->n && both > 0;
}

static double sum_row_misses(const struct side_effect_row *row)
{
	return row->kind.misses_ns * row->calls;
}

static bool is_cause_of_own_misses(const struct side_effect_row *row)
{
	for (int t = 0; t < TROUBLES; t++)
		if (fabs(row->kind.misses_by_kind_ns[t]) > 0)
			return true;
	return false;
}

/* Returns the row whose misses decreased most if misses moved to row i, that is, if rows of the same threads lost as many; else
 * SIZE_MAX. */
static size_t find_moved_from(const struct side_effect_row *rows, size_t n, const struct threads *threads, size_t i)
{
	double most = 0;
	size_t from = SIZE_MAX;

	for (int t = 0; t < TROUBLES && rows[i].kind.has_only_misses; t++) {
		double mine = rows[i].kind.misses_by_kind_ns[t] * rows[i].calls, others = 0;

		for (size_t g = 0; g < n && mine > 0; g++) {
			double more = rows[g].kind.misses_by_kind_ns[t] * rows[g].calls;

			if (g == i || fabs(more) <= 0 || !threads_are_shared(&threads[i], &threads[g]))
				continue;
			others += more;
			from = more < most ? g : from;
			most = fmin(most, more);
		}
		if (mine > 0 && others > -SIDE_EFFECT_MOVED * mine)
			return SIZE_MAX;
	}
	return from;
}

/* Reports whether the cause explains the effect by new memory, calls or paths. Such a cause has own events, so is no side effect. */
static bool is_possible_cause(const struct side_effect_row *cause, const struct side_effect_row *effect)
{
	double lines = cause->kind.allocated_bytes * cause->calls / LINE_BYTES, calls = (cause->kind.calls - 1) * cause->calls;

	if (effect->kind.has_only_misses)
		return kind_has(&cause->kind, TROUBLE_ALLOCATION) && effect->kind.lines * effect->calls <= lines;
	if (!effect->kind.has_only_branches || cause->kind.has_only_branches)
		return false;
	return effect->kind.branches * effect->calls <= fmax(calls, cause->kind.branches * cause->calls);
}

/* Returns the worse row that explains row i; SIZE_MAX if there is none. */
static size_t find_cause(const struct side_effect_row *rows, size_t n, const struct threads *threads, size_t i)
{
	size_t cause = SIZE_MAX;

	for (size_t c = 0; c < n; c++) {
		double most = cause == SIZE_MAX ? 0 : sum_row_misses(&rows[cause]), misses = sum_row_misses(&rows[c]);

		if (c == i || !rows[c].worse || !threads_are_shared(&threads[i], &threads[c]))
			continue;
		if (is_possible_cause(&rows[c], &rows[i]))
			return c;
		if (rows[i].kind.has_only_misses && misses > most && sum_row_misses(&rows[i]) <= SIDE_EFFECT_PART * misses)
			cause = c;
	}
	return cause;
}

void side_effects_find(const struct side *side, const struct side_effect_row *rows, size_t n, size_t *cause)
{
	struct threads *threads = mem_new(n, sizeof(threads[0]));

	for (size_t i = 0; i < n; i++) {
		cause[i] = SIZE_MAX;
		if (rows[i].worse || is_cause_of_own_misses(&rows[i]))
			threads[i] = threads_collect(side, rows[i].symbol);
	}
	for (size_t i = 0; i < n; i++)
		if (rows[i].worse && (cause[i] = find_moved_from(rows, n, threads, i)) == SIZE_MAX)
			cause[i] = find_cause(rows, n, threads, i);
	for (size_t i = 0; i < n; i++) {
		for (size_t k = 0; k < n && cause[i] != SIZE_MAX && cause[cause[i]] != SIZE_MAX && cause[cause[i]] != i; k++)
			cause[i] = cause[cause[i]];
		free(threads[i].at);
	}
	free(threads);
}
