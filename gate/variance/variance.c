#include "gate/variance/variance.h"

#include "base/mem.h"
#include "base/stats.h"
#include "gate/variance/long_waits.h"

#include <math.h>
#include <stdlib.h>

size_t variance_column(const struct variance *v, double at_s)
{
	size_t column = at_s > 0 ? (size_t)(at_s / v->column_s) : 0;

	return column < v->columns ? column : v->columns - 1;
}

static void columns_choose(struct variance *v)
{
	double span = fmax(v->fragments.span_s, 1e-6);

	v->columns = (size_t)fmin(fmax(floor(span / VARIANCE_COLUMN_S), 1), VARIANCE_COLUMNS);
	v->column_s = span / (double)v->columns;
}

/* Puts a fragment on the columns in which it happened. */
static void map_add(struct variance *v, struct map *map, const struct fragment *f)
{
	const struct cluster *c = &v->clusters[f->cluster];
	size_t from = variance_column(v, f->start_s), to = variance_column(v, f->start_s + f->time_s);

	for (size_t column = from; column <= to; column++) {
		double begin = fmax(f->start_s, (double)column * v->column_s);
		double end = fmin(f->start_s + f->time_s, (double)(column + 1) * v->column_s);
		double part = from == to ? 1 : fmax(end - begin, 0) / f->time_s;
		size_t at = f->process * v->columns + column;

		map->time.at[at] += f->weight * f->time_s * part;
		map->expected.at[at] += f->weight * c->usual_s * part;
	}
}

static void maps_fill(struct variance *v)
{
	size_t rows = v->fragments.n_processes;

	for (size_t m = 0; m < ACTIVITY_MAPS; m++) {
		v->maps[m].time = mat_new(rows, v->columns);
		v->maps[m].expected = mat_new(rows, v->columns);
	}
	for (size_t i = 0; i < v->fragments.n; i++) {
		const struct fragment *f = &v->fragments.items[i];
		const struct cluster *c = &v->clusters[f->cluster];
		double time = f->weight * f->time_s;

		v->activity_s[f->activity] += time;
		if (f->activity >= ACTIVITY_MAPS)
			continue;
		v->maps[f->activity].time_s += time;
		if (c->repeated) {
			v->covered_s += time;
			v->verified_s += c->basis != BASIS_UNVERIFIED ? time : 0;
			v->maps[f->activity].repeated_s += time;
			map_add(v, &v->maps[f->activity], f);
		}
	}
	for (size_t p = 0; p < rows; p++)
		v->total_s += v->fragments.processes[p].thread_s;
}

enum assay_status variance_of(struct fragments *fragments, const struct variance_options *options, struct variance *out,
			      struct assay_error *err)
{
	struct variance v = { .fragments = *fragments, .threshold = options->threshold };
	enum assay_status st;

	*fragments = (struct fragments){ .n = 0 };
	v.least_s = isnan(options->least_s) ? VARIANCE_LEAST * v.fragments.span_s : options->least_s;
	columns_choose(&v);
	clusters_find(&v);
	if (options->known)
		v.known = known_apply(&v, options->known);
	maps_fill(&v);
	st = regions_find(&v, options, err);
	if (!st) {
		breakdowns_find(&v);
		regions_follow(&v);
		long_waits_find(&v);
		*out = v;
		v = (struct variance){ .n_clusters = 0 };
	}
	variance_release(&v);
	return st;
}

double *variance_runs_times(const struct variance *v, double *usual_s)
{
	size_t n = v->fragments.n_runs ? v->fragments.n_runs : 1;
	double *times = mem_new(n, sizeof(*times)), *spans = mem_new(n, sizeof(*spans));

	for (size_t p = 0; p < v->fragments.n_processes; p++) {
		const struct fragment_process *process = &v->fragments.processes[p];

		times[process->run] = fmax(times[process->run], process->end_s);
	}
	for (size_t r = 0; r < n; r++)
		spans[r] = times[r];
	*usual_s = n ? stats_median(spans, n) : 0;
	for (size_t r = 0; r < n; r++)
		times[r] = *usual_s > 0 ? times[r] / *usual_s : 1;
	free(spans);
	return times;
}

void variance_release(struct variance *v)
{
	for (size_t m = 0; m < ACTIVITY_MAPS; m++) {
		mat_release(&v->maps[m].time);
		mat_release(&v->maps[m].expected);
	}
	regions_release(v);
	mem_free(v->waits, v->clusters);
	fragments_release(&v->fragments);
	*v = (struct variance){ .n_clusters = 0 };
}

char *variance_seconds(double s)
{
	if (s == 0)
		return mem_string("0 s");
	if (fabs(s) >= 9.995)
		return mem_format("%.1f s", s);
	if (fabs(s) >= .9995)
		return mem_format("%.2f s", s);
	return fabs(s) >= .0095	   ? mem_format("%.0f ms", 1e3 * s)
	       : fabs(s) >= 9.5e-6 ? mem_format("%.2f ms", 1e3 * s)
				   : mem_format("%.1f us", 1e6 * s);
}
