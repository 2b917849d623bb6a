#include "gate/detect/side_effect.h"

#include "base/mem.h"
#include "runs/inside/changes/functions.h"

#include <string.h>

/* Threads that a function ran in, each once: of all files, numbered on. */
struct threads {
	uint64_t *at; /* [n], rising */
	size_t n, capacity;
};

static void threads_add(struct threads *threads, uint64_t thread)
{
	if (threads->n && threads->at[threads->n - 1] == thread)
		return;
	threads->at = mem_grow(threads->at, threads->n, &threads->capacity, sizeof(threads->at[0]));
	threads->at[threads->n++] = thread;
}

static int by_number(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static void threads_sort(struct threads *threads)
{
	size_t n = threads->n;

	if (n)
		qsort(threads->at, n, sizeof(threads->at[0]), by_number);
	threads->n = 0;
	for (size_t i = 0; i < n; i++)
		threads_add(threads, threads->at[i]);
}

static bool symbol_is(const char *symbol, const char *stem)
{
	size_t length = functions_stem(symbol);

	return strlen(stem) == length && memcmp(symbol, stem, length) == 0;
}

static struct threads threads_of(const struct side *side, const char *stem)
{
	struct threads threads = { .at = NULL };
	uint64_t file = 0;

	for (size_t r = 0; r < side->n; r++) {
		for (size_t f = 0; f < side->runs[r].n_files; f++, file++) {
			const struct samples *s = &side->runs[r].files[f];

			for (size_t k = 0; k < s->n_functions; k++)
				for (size_t i = 0; i < s->functions[k].n && symbol_is(s->functions[k].name, stem); i++)
					threads_add(&threads, file << 32 | s->items[s->functions[k].first + i].thread);
		}
	}
	threads_sort(&threads);
	return threads;
}

/* Does b run in at least half of a's threads? */
static bool threads_overlap(const struct threads *a, const struct threads *b)
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

static double row_misses(const struct side_effect_row *row)
{
	return row->kind.misses_ns * row->calls;
}

void side_effects_find(const struct side *side, const struct side_effect_row *rows, size_t n, size_t *cause)
{
	struct threads *threads = mem_new(n, sizeof(threads[0]));

	for (size_t i = 0; i < n; i++) {
		threads[i] = threads_of(side, rows[i].symbol);
		cause[i] = SIZE_MAX;
	}
	for (size_t i = 0; i < n; i++) {
		for (size_t c = 0; c < n && rows[i].kind.only_misses; c++) {
			double most = cause[i] == SIZE_MAX ? 0 : row_misses(&rows[cause[i]]), misses = row_misses(&rows[c]);

			if (misses > most && row_misses(&rows[i]) <= SIDE_EFFECT_PART * misses && threads_overlap(&threads[i], &threads[c]))
				cause[i] = c;
		}
	}
	for (size_t i = 0; i < n; i++) {
		while (cause[i] != SIZE_MAX && cause[cause[i]] != SIZE_MAX) /* ends: each has more misses than the one before */
			cause[i] = cause[cause[i]];
		free(threads[i].at);
	}
	free(threads);
}
