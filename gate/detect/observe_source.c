#include "gate/detect/observe_internal.h"

#include "base/mem.h"

#include <math.h>
#include <string.h>

#define OVERFLOWED 0x1p62 /* no counter gets there: it went below zero, or round */

void sources_free(struct source *sources, size_t n)
{
	for (size_t i = 0; i < n; i++)
		samples_join_release(&sources[i].join);
	free(sources);
}

static bool same_counters(const struct samples *a, const struct samples *b)
{
	if (a->n_counters != b->n_counters)
		return false;
	for (size_t c = 0; c < a->n_counters; c++)
		if (strcmp(a->counters[c], b->counters[c]) != 0)
			return false;
	return true;
}

static int by_start(const void *a, const void *b)
{
	const struct samples *const *x = a, *const *y = b;

	if ((*x)->started_ns != (*y)->started_ns)
		return (*x)->started_ns < (*y)->started_ns ? -1 : 1;
	return ((*x)->pid > (*y)->pid) - ((*x)->pid < (*y)->pid);
}

/* Files of one list of counters, oldest first; those of the others in turn. Returns how many lists there are, SIZE_MAX when they
 * have not equally many files. files[n] is sorted so. */
static size_t lists_of(const struct samples **files, size_t n)
{
	size_t lists = 0, done = 0, each = 0;

	while (done < n) {
		size_t end = done + 1;

		for (size_t i = end; i < n; i++) {
			const struct samples *file = files[i];

			if (!same_counters(files[done], file))
				continue;
			files[i] = files[end];
			files[end++] = file;
		}
		qsort(files + done, end - done, sizeof(files[0]), by_start);
		each = lists++ ? each : end - done;
		if (end - done != each)
			return SIZE_MAX;
		done = end;
	}
	return lists;
}

/* The k-th process of each execution is the same one. */
enum assay_status sources_of(const struct side *side, const struct side_run *run, struct source **out, size_t *n,
                             struct assay_error *err)
{
	const struct samples **files = mem_new(run->n_files, sizeof(files[0]));
	struct source *sources = NULL;
	enum assay_status st = ASSAY_OK;
	size_t lists, processes = 0;

	for (size_t f = 0; f < run->n_files; f++)
		files[f] = &run->files[f];
	lists = lists_of(files, run->n_files);
	if (lists == SIZE_MAX) {
		st = assay_fail(err, ASSAY_E_USAGE,
		                "%s: the counters of '%s' took several executions, which had not equally many processes",
		                side->what, run->name);
		goto out;
	}
	if (lists > SAMPLES_RUNS_MAX) {
		st = assay_fail(err, ASSAY_E_LIMIT, "%s: the counters of '%s' took more than %d executions", side->what,
		                run->name, SAMPLES_RUNS_MAX);
		goto out;
	}
	processes = lists ? run->n_files / lists : 0;
	sources = mem_new(processes, sizeof(sources[0]));
	for (size_t p = 0; p < processes && !st; p++) {
		sources[p].n = lists;
		for (size_t l = 0; l < lists; l++)
			sources[p].files[l] = files[l * processes + p];
		if (lists > 1)
			st = samples_join(sources[p].files, lists, &sources[p].join, err);
	}
	if (st) {
		sources_free(sources, processes);
		sources = NULL;
		processes = 0;
	}
out:
	free(files);
	*out = sources;
	*n = processes;
	return st;
}

size_t source_functions(const struct source *source)
{
	return source->n > 1 ? source->join.n : source->files[0]->n_functions;
}

const char *source_function_name(const struct source *source, size_t function)
{
	size_t file = 0, index = function;

	if (source->n > 1) {
		while (source->join.functions[function].functions[file] == SIZE_MAX)
			file++;
		index = source->join.functions[function].functions[file];
	}
	return source->files[file]->functions[index].name;
}

struct source_rows source_rows(const struct source *source, size_t function, enum samples_apart *apart)
{
	struct source_rows rows = { .source = source, .function = function };

	*apart = SAMPLES_JOINED;
	if (source->n > 1) {
		rows.n = source->join.functions[function].n;
		*apart = source->join.functions[function].apart;
	} else {
		rows.n = source->files[0]->functions[function].n;
		rows.first = source->files[0]->items + source->files[0]->functions[function].first;
	}
	return rows;
}

static size_t item(const struct source_rows *rows, size_t i, size_t file)
{
	if (rows->first)
		return rows->source->files[0]->functions[rows->function].first + i;
	return rows->source->join.functions[rows->function].items[i * rows->source->n + file];
}

const struct sample *source_sample(const struct source_rows *rows, size_t i)
{
	return &rows->source->files[0]->items[item(rows, i, 0)];
}

size_t source_column(const struct source *source, const char *name)
{
	if (source->n == 1)
		return samples_counter(source->files[0], name);
	for (size_t c = 0; c < source->join.n_columns; c++)
		if (strcmp(source->join.columns[c].name, name) == 0)
			return c;
	return SIZE_MAX;
}

size_t source_columns(const struct source *source)
{
	return source->n == 1 ? source->files[0]->n_counters : source->join.n_columns;
}

/* Of the first execution. */
static double work_of(const struct samples *file, size_t i, bool alone)
{
	const double *values = (alone ? file->alone : file->values) + i * file->n_counters;
	size_t counters[SAMPLES_WORK_MAX], n = samples_work(file, counters);
	double work = n ? 0 : (double)NAN;

	for (size_t k = 0; k < n; k++)
		work += values[counters[k]];
	return work;
}

double source_vector(const struct source_rows *rows, size_t i, bool alone, bool per_thread, double *vector, bool *overflow)
{
	const struct source *source = rows->source;

	if (source->n > 1)
		samples_join_vector(&source->join, rows->function, i, alone, vector);
	else
		samples_vector(source->files[0], item(rows, i, 0), alone, vector);
	for (size_t c = 0; c < source_columns(source); c++) {
		size_t run = source->n > 1 ? source->join.columns[c].run : 0,
		       counter = source->n > 1 ? source->join.columns[c].counter : c;
		const struct samples *file = source->files[run];
		size_t at = item(rows, i, run);

		if (!per_thread && file->items[at].threads)
			vector[c] *= file->items[at].threads;
		if (file->values[at * file->n_counters + counter] >= OVERFLOWED) {
			vector[c] = (double)NAN;
			*overflow = true;
		}
	}
	return work_of(source->files[0], item(rows, i, 0), alone);
}
