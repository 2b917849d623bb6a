/* Invocations of functions, of one execution or joined from several, put together until they are large enough. */
#ifndef GATE_DETECT_POOL_H
#define GATE_DETECT_POOL_H

#include "gate/detect/side.h"
#include "runs/inside/samples/samples_join.h"

/* ---- sources: what one process counted, in one file or, by several executions, in several ---- */

struct source {
	const struct samples *files[SAMPLES_RUNS_MAX]; /* [n] */
	size_t n;
	struct samples_join join; /* when n > 1 */
};

/* A function of a source and its invocations, by thread and ordinal. */
struct source_rows {
	const struct source *source;
	size_t function; /* of the file, or of the join */
	size_t n;
	const struct sample *first; /* of the first file: its items, when there is no join */
};

enum assay_status sources_of(const struct side *side, const struct side_run *run, struct source **out, size_t *n, struct assay_error *err);
void sources_free(struct source *sources, size_t n);

size_t source_functions(const struct source *source);
const char *source_function_name(const struct source *source, size_t function);
/* *apart: why there are none, of a join. */
struct source_rows source_rows(const struct source *source, size_t function, enum samples_apart *apart);
/* Index of a counter in the source's vectors, SIZE_MAX when it is not there. */
size_t source_column(const struct source *source, const char *name);

/* ---- pools ---- */

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
	const size_t *from;   /* [columns] index into the source's vectors, SIZE_MAX: time */
	const bool *per_call; /* [columns] work itself, or time: a mean over calls; else over work */
	size_t columns;
	bool alone, per_thread;
	double least_work, least_ns;
};

/* Appends the rows of a function of a source to *out. */
void pool_add(const struct source_rows *rows, const struct pool_shape *shape, struct pool_rows *out, bool *overflow);
void pool_rows_release(struct pool_rows *rows);
/* Keeps `most` of them by a seeded choice, in their order, and gives them the weight of the others. */
void pool_choose(struct pool_rows *rows, size_t most, uint64_t seed);

/* ---- totals ---- */

/* What a function did in all of its calls in a run, where sample files tell (runs/inside/samples/samples.h). The rows of its samples are
 * brought to that, so that which calls were samples makes no difference to any mean. Within a run rows keep their proportions. */
struct pool_totals {
	double calls, work; /* of all of its threads and processes; 0 calls: not known */
	double *sums;	    /* [columns] in the function itself; NaN: not known */
	size_t columns;
};

/* Reports whether the file knows what the function did in all calls. */
bool pool_totals_known(const struct samples *samples, size_t function);

/* Adds a file's; one that does not know makes all unknown. columns[n] are names of counters. */
void pool_totals_add(struct pool_totals *totals, const struct samples *samples, size_t function, char *const *columns, size_t n);

/* Changes values, weights and work of a function's rows in a run; what was not counted in a row is what it is in the mean. collapse: one
 * row takes the place of all, as where what single calls did is an estimate only. */
void pool_totals_apply(const struct pool_totals *totals, const struct pool_shape *shape, bool collapse, struct pool_rows *rows);
void pool_totals_release(struct pool_totals *totals); /* accepts zeroed */

#endif
