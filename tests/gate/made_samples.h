/* Builds samples by hand, as the reader of sample files would return them. */
#ifndef TESTS_MADE_SAMPLES_H
#define TESTS_MADE_SAMPLES_H

#include "base/mem.h"
#include "gate/detect/side.h"

#include <string.h>

#define MADE_COUNTERS 8

/* One invocation. `function` is an index into the names. Rows are in the order of function and thread; ordinals count them. */
struct made {
	uint32_t function, thread, weight, threads;
	double ns;
	double nested_ns; /* part of `ns` spent in selected functions that it called */
	double values[MADE_COUNTERS];
	double nested[MADE_COUNTERS]; /* part of `values` from selected functions that it called */
	bool estimated;
	uint32_t caller; /* 1 + index of the calling function; RECORD_NO_CALLER: none; 0: unknown */
};

static inline void made_copy(char ***out, size_t *n, const char *const *names)
{
	*n = 0;
	while (names[*n])
		++*n;
	*out = mem_new(*n, sizeof(char *));
	for (size_t i = 0; i < *n; i++)
		(*out)[i] = mem_string(names[i]);
}

/* Builds samples from `n` rows. `counters` and `functions` end with NULL. */
static inline struct samples made_samples(enum record_back_end back_end, const char *const *counters, const char *const *functions,
					  const struct made *rows, size_t n)
{
	struct samples s = { .back_end = back_end, .finished = true, .n = n };
	char **names;

	made_copy(&s.counters, &s.n_counters, counters);
	made_copy(&names, &s.n_functions, functions);
	s.functions = mem_new(s.n_functions, sizeof(s.functions[0]));
	s.items = mem_new(n, sizeof(s.items[0]));
	s.values = mem_new(n * s.n_counters, sizeof(double));
	s.self_counts = mem_new(n * s.n_counters, sizeof(double));
	s.calls = mem_new(n, sizeof(s.calls[0]));
	for (size_t f = 0; f < s.n_functions; f++)
		s.functions[f] = (struct samples_function){ .module = mem_string("m"), .name = names[f], .address = 16 * (f + 1) };
	for (size_t i = 0; i < n; i++) {
		struct samples_function *f = &s.functions[rows[i].function];
		bool first = !i || rows[i - 1].function != rows[i].function || rows[i - 1].thread != rows[i].thread;

		f->first = f->n ? f->first : i;
		f->n++;
		s.items[i] = (struct sample){ .function = rows[i].function,
					      .thread = rows[i].thread,
					      .weight = rows[i].weight ? rows[i].weight : 1,
					      .threads = rows[i].threads,
					      .estimated = rows[i].estimated,
					      .caller = rows[i].caller,
					      .ns = rows[i].ns,
					      .self_ns = rows[i].ns - rows[i].nested_ns,
					      .ordinal = first ? 0 : s.items[i - 1].ordinal + 1 };
		for (size_t c = 0; c < s.n_counters; c++) {
			s.values[i * s.n_counters + c] = rows[i].values[c];
			s.self_counts[i * s.n_counters + c] = rows[i].values[c] - rows[i].nested[c];
		}
		if (first)
			s.calls[s.n_calls++] = (struct samples_calls){ .function = rows[i].function, .thread = rows[i].thread };
		s.calls[s.n_calls - 1].calls += s.items[i].weight;
	}
	free(names);
	return s;
}

static inline struct side made_side(const char *what)
{
	return (struct side){ .label = mem_string(what), .hardware_type = mem_string("") };
}

/* Adds a run that consists of one sample file. */
static inline void made_run(struct side *side, const char *name, struct samples samples)
{
	side_add_run(side, name, "", "");
	side_add_samples(side, &samples);
}

#endif
