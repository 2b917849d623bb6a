/* The sums of the additive model: all that its fits need of the rows. */
#include "base/error.h"
#include "base/mem.h"
#include "base/stats.h"
#include "model/profile/additive.h"

#include <math.h>

static double log_scale(const double *cost, const size_t *type, size_t rows, size_t types)
{
	double *sum = mem_new(types, sizeof(*sum)), *count = mem_new(types, sizeof(*count)), scale;

	for (size_t i = 0; i < rows; i++) {
		ASSAY_BUG_IF(!(cost[i] > 0));
		sum[type[i]] += log(cost[i]);
		count[type[i]] += 1.0;
	}
	for (size_t t = 0; t < types; t++)
		sum[t] /= count[t];
	scale = stats_mean(sum, types);
	free(sum);
	free(count);
	return scale;
}

static void add_row(struct additive_sums *s, size_t t, const double *r)
{
	for (size_t a = 0; a < s->cols; a++) {
		s->h.at[t * s->cols + a] += r[a];
		for (size_t b = 0; b < s->cols; b++)
			s->G[t].at[a * s->cols + b] += r[a] * r[b];
	}
}

static void divide(struct additive_sums *s, size_t t, double count)
{
	for (size_t a = 0; a < s->cols; a++)
		s->h.at[t * s->cols + a] /= count;
	for (size_t a = 0; a < s->cols * s->cols; a++)
		s->G[t].at[a] /= count;
}

void additive_sums_of(const struct features *f, const double *cost, const size_t *type, struct additive_sums *out)
{
	struct additive_sums s = { .types = f->type_logs.rows, .cols = f->n + 1, .groups = f->groups + 1 };
	double *count = mem_new(s.types, sizeof(*count)), *r = mem_new(s.cols, sizeof(*r));
	double scale = log_scale(cost, type, f->logs.rows, s.types);

	s.y_scale = exp(scale);
	s.G = mem_new(s.types, sizeof(*s.G));
	for (size_t t = 0; t < s.types; t++)
		s.G[t] = mat_new(s.cols, s.cols);
	s.h = mat_new(s.types, s.cols);
	s.group = mem_new(s.cols, sizeof(*s.group));
	for (size_t k = 0; k < s.cols; k++)
		s.group[k] = k < f->n ? f->group[k] : f->groups;
	for (size_t i = 0; i < f->logs.rows; i++) {
		double y = stats_round(log(cost[i]) - scale); /* a rescaled unit changes nothing */

		for (size_t k = 0; k < f->n; k++)
			r[k] = exp(-mat_get(&f->logs, i, k) - y);
		r[f->n] = exp(-y);
		add_row(&s, type[i], r);
		count[type[i]] += 1.0;
	}
	for (size_t t = 0; t < s.types; t++)
		divide(&s, t, count[t]);
	free(count);
	free(r);
	*out = s;
}

void additive_sums_release(struct additive_sums *s)
{
	for (size_t t = 0; t < s->types; t++)
		mat_release(&s->G[t]);
	free(s->G);
	mat_release(&s->h);
	free(s->group);
	*s = (struct additive_sums){ 0 };
}
