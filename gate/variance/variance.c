#include "gate/variance/variance.h"

#include "base/mem.h"
#include "base/stats.h"
#include "model/variance/fixed_workload.h"

#include <math.h>
#include <stdlib.h>

#define PLACES	  (1u << 16) /* places for clusters; later clusters are not kept */
#define TRIES	  64u
#define FORGOTTEN 1.01 /* factor by which the usual time grows per window, at most to the present time */

/* ---- what was usual in earlier windows of a run ---- */

struct variance_known {
	uint64_t windows;
	struct {
		uint64_t key; /* 0: free */
		double work, usual_s, slow_s;
	} places[PLACES];
};

struct variance_known *variance_known_new(void)
{
	return mem_new(1, sizeof(struct variance_known));
}

static uint64_t site_key(const struct fragment_site *s)
{
	uint64_t key = fragment_hash(0, s->address);

	for (const char *at = s->module; *at; at++)
		key = fragment_hash(key, (unsigned char)*at);
	for (const char *at = s->name; *at; at++)
		key = fragment_hash(key, (unsigned char)*at);
	return key;
}

/* Returns a key of the cluster that is the same in all windows; numbers of sites are not. */
static uint64_t cluster_key(const struct variance *v, const struct cluster *c)
{
	uint64_t key = site_key(&v->fragments.sites[c->to]);

	if (c->from != FRAGMENT_NO_SITE) /* from -> to is not to -> from */
		key = fragment_hash(fragment_hash(key, 1), site_key(&v->fragments.sites[c->from]));
	return fragment_hash(fragment_hash(key, c->basis), c->arguments) | 1;
}

static void cluster_apply(struct cluster *c, uint64_t key, struct variance_known *known)
{
	for (size_t i = 0, at = key % PLACES; i < TRIES; i++, at = (at + 1) % PLACES) {
		double times;

		if (!known->places[at].key) {
			known->places[at].key = key;
			known->places[at].work = c->work;
			known->places[at].usual_s = (double)INFINITY;
		} else if (known->places[at].key != key || fabs(known->places[at].work - c->work) > FIXED_WORKLOAD_DISTANCE * c->work) {
			continue;
		}
		times = fmin(FORGOTTEN, c->usual_s / known->places[at].usual_s);
		if (times <= 1) { /* as fast as ever */
			known->places[at].usual_s = c->usual_s;
			known->places[at].slow_s = c->slow_s;
		} else {
			c->usual_s = known->places[at].usual_s;
			c->slow_s = known->places[at].slow_s;
			known->places[at].usual_s *= times;
			known->places[at].slow_s *= times;
		}
		return;
	}
}

/* Updates the usual times of computation in both. Returns false for the first window. */
static bool known_apply(struct variance *v, struct variance_known *known)
{
	bool before = known->windows++ > 0;

	for (size_t i = 0; i < v->n_clusters; i++)
		if (v->clusters[i].repeated && v->clusters[i].activity == ACTIVITY_COMPUTATION)
			cluster_apply(&v->clusters[i], cluster_key(v, &v->clusters[i]), known);
	return before;
}

/* ---- all steps ---- */

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
static void map_add(struct variance *v, struct heat_map *map, const struct fragment *f)
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
	fragment_clusters_find(&v);
	if (options->known)
		v.known = known_apply(&v, options->known);
	maps_fill(&v);
	st = regions_find(&v, options, err);
	if (!st) {
		breakdowns_find(&v);
		regions_follow(&v);
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
	mem_free(v->clusters, v->conditions);
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
