/* Shared by observe*.c. */
#ifndef GATE_DETECT_OBSERVE_INTERNAL_H
#define GATE_DETECT_OBSERVE_INTERNAL_H

#include "gate/detect/observe.h"
#include "runs/inside/samples/samples_join.h"

/* ---- observe_source.c: what one process counted, in one file or, by several executions, in several ---- */

struct source {
	const struct samples *files[SAMPLES_RUNS_MAX]; /* [n] */
	size_t n;
	struct samples_join join; /* when n > 1 */
};

/* A function of a source and its invocations, by thread and ordinal. */
struct source_rows {
	const struct source *source;
	size_t function;             /* of the file, or of the join */
	size_t n;
	const struct sample *first;  /* of the first file: its items, when there is no join */
};

enum assay_status sources_of(const struct side *side, const struct side_run *run, struct source **out, size_t *n, struct assay_error *err);
void sources_free(struct source *sources, size_t n);

size_t source_functions(const struct source *source);
const char *source_function_name(const struct source *source, size_t function);
/* *apart: why there are none, of a join. */
struct source_rows source_rows(const struct source *source, size_t function, enum samples_apart *apart);
const struct sample *source_sample(const struct source_rows *rows, size_t i);
/* Index of a counter in vectors, SIZE_MAX when it is not there; how long vectors are. */
size_t source_column(const struct source *source, const char *name);
size_t source_columns(const struct source *source);
/* vector[source_columns()], NaN where it overflowed; as samples_vector() has it, or not divided by threads. Returns the work, NaN when there
 * is no counter of it; *overflow is set, never cleared. */
double source_vector(const struct source_rows *rows, size_t i, bool alone, bool per_thread, double *vector, bool *overflow);

/* ---- observe_names.c: names of functions, and how much each does ---- */

/* Sorted, each once. Without what compilers put behind a name. */
struct observe_names {
	char **items; /* [n], owned */
	size_t n, capacity;
};

void observe_names_add(struct observe_names *names, const char *symbol); /* then sort */
void observe_names_sort(struct observe_names *names);
size_t observe_names_find(const struct observe_names *names, const char *symbol); /* SIZE_MAX: not there */
void observe_names_release(struct observe_names *names);
/* Those that a side has samples of; those of which some sample's nested calls are an estimate. */
void observe_names_of(const struct side *side, struct observe_names *out);
void observe_names_of_estimated(const struct side *side, struct observe_names *out);

struct observe_share {
	double alone, nested; /* without and with nested calls, of all that the side did: work and contention by what they cost, or time where there is no work */
};
/* share[names->n] is overwritten. */
void observe_shares(const struct side *side, const struct observe_names *names, struct observe_share *share);

/* ---- observe_pool.c: invocations put together until they are large enough ---- */

struct pool_row {
	double weight, ns;
	size_t samples;
	double *values; /* [columns] */
};

struct pool_rows {
	struct pool_row *items; /* [n] */
	size_t n, capacity, columns;
	size_t left_out;
};

struct pool_shape {
	const size_t *from;  /* [columns] index into the source's vectors, SIZE_MAX: time */
	const bool *per_call; /* [columns] work itself, or time: a mean over calls; else over work */
	size_t columns;
	bool alone, per_thread;
	double least_work, least_ns;
};

/* Appends the rows of a function of a source to *out. */
void pool_add(const struct source_rows *rows, const struct pool_shape *shape, struct pool_rows *out, bool *overflow);
void pool_rows_release(struct pool_rows *rows);
/* Keeps `most` of them by a seeded choice, in their order; the others' weight goes to those that are kept. */
void pool_choose(struct pool_rows *rows, size_t most, uint64_t seed);

#endif
