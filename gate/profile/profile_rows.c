/* From the runs of a version to what a model sees. */
#include "base/mem.h"
#include "base/stats.h"
#include "gate/profile/profile.h"

#include <math.h>

/* Typical relative noise of the repetitions on one machine under one fingerprint: the median over those that have two or more of
 * the standard deviation of their logs. Rows of one machine stand together. */
static double repetition_noise(const struct run_set *runs, const struct dataset *d)
{
	double *logs = mem_new(d->X.rows, sizeof(*logs)), *noise = mem_new(d->X.rows, sizeof(*noise)), typical;
	size_t machines = 0;

	for (size_t i = 0, end; i < d->X.rows; i = end) {
		const struct run *first = &runs->items[d->run[i]];
		size_t n = 0;

		for (end = i; end < d->X.rows && strcmp(runs->items[d->run[end]].machine, first->machine) == 0; end++) {
			if (d->y[end] > 0 && d->types[end] == d->types[i])
				logs[n++] = log(d->y[end]);
		}
		if (n > 1)
			noise[machines++] = stats_sd(logs, n);
	}
	typical = machines ? stats_median(noise, machines) : 0.0;
	free(logs);
	free(noise);
	return typical;
}

/* Whether a row lacks a stressor that others of its type have: a pass that went wrong. What a whole type lacks is no reason to
 * leave its rows out; the stressor is of no use then (features.h). */
static bool is_incomplete(const struct dataset *d, size_t row)
{
	for (size_t j = 0; j < d->X.cols; j++) {
		if (!isnan(mat_get(&d->X, row, j)))
			continue;
		for (size_t i = 0; i < d->X.rows; i++) {
			if (d->types[i] == d->types[row] && !isnan(mat_get(&d->X, i, j)))
				return true;
		}
	}
	return false;
}

void profile_rows_of(const struct evidence *evidence, const struct run_set *runs, const struct dataset *d,
                     struct profile_rows *out)
{
	size_t n_types = evidence->types.n, *index = mem_new(n_types, sizeof(*index)), cols = d->X.cols;
	struct profile_rows r = { .features = mem_new(cols, sizeof(char *)), .rates = mat_new(d->X.rows, cols),
				  .cost = mem_new(d->X.rows, sizeof(double)), .type = mem_new(d->X.rows, sizeof(size_t)),
				  .type_names = mem_new(n_types, sizeof(char *)) };

	memcpy(r.features, d->features, cols * sizeof(char *));
	r.rates.rows = 0;
	for (size_t i = 0; i < d->X.rows; i++) {
		if (!(d->y[i] > 0)) {
			r.not_positive++;
		} else if (d->types[i] >= n_types) {
			r.untyped++;
		} else if (is_incomplete(d, i)) {
			r.incomplete++;
		} else {
			memcpy(&r.rates.at[r.rates.rows * cols], &d->X.at[i * cols], cols * sizeof(double));
			r.cost[r.rates.rows] = runs->higher_is_better ? 1.0 / d->y[i] : d->y[i];
			r.type[r.rates.rows++] = d->types[i];
			index[d->types[i]] = 1;
		}
	}
	for (size_t t = 0; t < n_types; t++) {
		if (index[t]) {
			index[t] = r.types;
			r.type_names[r.types++] = evidence->types.types[t].name;
		}
	}
	for (size_t i = 0; i < r.rates.rows; i++)
		r.type[i] = index[r.type[i]];
	r.noise = repetition_noise(runs, d);
	free(index);
	*out = r;
}

void profile_rows_release(struct profile_rows *r)
{
	free(r->features);
	mat_release(&r->rates);
	free(r->cost);
	free(r->type);
	free(r->type_names);
	*r = (struct profile_rows){ 0 };
}
