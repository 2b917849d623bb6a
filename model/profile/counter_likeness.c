#include "model/profile/counter_likeness.h"

#include "base/error.h"
#include "base/mem.h"
#include "base/rng.h"
#include "base/stats.h"

#include <math.h>

#define SPREAD_MIN .2 /* of the logs over stressors: noise that differs by less would count as much as what tells them apart */
#define SEED	   71

/* ---- the stressors ---- */

static size_t space_known_in_row(const struct mat *m, size_t row)
{
	size_t n = 0;

	for (size_t c = 0; c < m->cols; c++)
		n += isfinite(mat_get(m, row, c)) != 0;
	return n;
}

/* Those that more than half of the stressors that have anything have. */
static void space_choose_columns(const struct mat *m, struct counter_likeness_space *s)
{
	size_t rows = 0;

	for (size_t i = 0; i < m->rows; i++)
		rows += space_known_in_row(m, i) > 0;
	for (size_t c = 0; c < m->cols; c++) {
		size_t known = 0;

		for (size_t i = 0; i < m->rows; i++)
			known += isfinite(mat_get(m, i, c)) != 0;
		if (2 * known > rows)
			s->column[s->p++] = c;
	}
}

static void space_choose_rows(const struct mat *m, struct counter_likeness_space *s)
{
	for (size_t i = 0; i < m->rows && s->p; i++) {
		bool whole = true;

		for (size_t k = 0; k < s->p; k++)
			whole = whole && isfinite(mat_get(m, i, s->column[k]));
		if (whole)
			s->row[s->n++] = i;
	}
}

/* The scale of each counter; those that do not differ are dropped. */
static void space_set_scales(const struct mat *m, struct counter_likeness_space *s)
{
	double *values = mem_new(s->n, sizeof(*values));
	size_t kept = 0;

	for (size_t k = 0; k < s->p; k++) {
		double sd;

		for (size_t i = 0; i < s->n; i++)
			values[i] = mat_get(m, s->row[i], s->column[k]);
		sd = stats_sd(values, s->n);
		if (!(stats_round(sd) >= SPREAD_MIN))
			continue;
		s->mean[kept] = stats_mean(values, s->n);
		s->sd[kept] = sd;
		s->column[kept++] = s->column[k];
	}
	s->p = kept;
	free(values);
}

void counter_likeness_space_of(const struct mat *log_rates, struct counter_likeness_space *out)
{
	size_t rows = log_rates->rows, cols = log_rates->cols;
	struct counter_likeness_space s = { .row = mem_new(rows, sizeof(size_t)),
					    .column = mem_new(cols, sizeof(size_t)),
					    .mean = mem_new(cols, sizeof(double)),
					    .sd = mem_new(cols, sizeof(double)),
					    .low = mem_new(cols, sizeof(double)),
					    .high = mem_new(cols, sizeof(double)) };

	space_choose_columns(log_rates, &s);
	space_choose_rows(log_rates, &s);
	if (s.n)
		space_set_scales(log_rates, &s);
	s.points = mat_new(s.n, s.p);
	for (size_t k = 0; k < s.p; k++) {
		s.low[k] = HUGE_VAL;
		s.high[k] = -HUGE_VAL;
		for (size_t i = 0; i < s.n; i++) {
			double z = (mat_get(log_rates, s.row[i], s.column[k]) - s.mean[k]) / s.sd[k];

			mat_set(&s.points, i, k, z);
			s.low[k] = fmin(s.low[k], z);
			s.high[k] = fmax(s.high[k], z);
		}
	}
	*out = s;
}

void counter_likeness_space_release(struct counter_likeness_space *s)
{
	mat_release(&s->points);
	mem_free(s->row, s->column, s->mean, s->sd, s->low, s->high);
	*s = (struct counter_likeness_space){ .n = 0 };
}

/* ---- something among them ---- */

void counter_likeness_similarities(const struct counter_likeness_space *s, const double *log_rates, double *similarity)
{
	double *point = mem_new(s->p, sizeof(*point)), length = 0;

	for (size_t k = 0; k < s->p; k++) {
		double z = (log_rates[s->column[k]] - s->mean[k]) / s->sd[k];

		point[k] = isnan(z) ? 0 : fmin(fmax(z, s->low[k]), s->high[k]);
		length += point[k] * point[k];
	}
	for (size_t i = 0; i < s->n; i++) {
		double product = 0, own = 0;

		for (size_t k = 0; k < s->p; k++) {
			double z = mat_get(&s->points, i, k);

			product += point[k] * z;
			own += z * z;
		}
		similarity[i] = length > 0 && own > 0 ? stats_round(product / sqrt(length * own)) : 0;
	}
	free(point);
}

/* ---- a group ---- */

/* Sum over so many, drawn without putting back; order[n] is any order of all. */
static double match_draw(struct rng *rng, const double *similarity, size_t *order, size_t n, size_t members)
{
	double sum = 0;

	for (size_t k = 0; k < members; k++) {
		size_t other = k + (size_t)rng_below(rng, n - k), taken = order[other];

		order[other] = order[k];
		order[k] = taken;
		sum += similarity[taken];
	}
	return sum;
}

struct counter_likeness_match counter_likeness_match_of(const double *similarity, const bool *member, size_t n)
{
	struct counter_likeness_match match = { .as_similar = 0 };
	size_t *order = mem_new(n, sizeof(*order)), members = 0, reached = 0;
	double sum = 0;
	struct rng rng;

	for (size_t i = 0; i < n; i++) {
		order[i] = i;
		members += member[i];
		sum += member[i] ? similarity[i] : 0;
	}
	ASSAY_BUG_IF(!members);
	match.similarity = sum / (double)members;
	for (size_t i = 0; i < n; i++)
		match.as_similar += !member[i] && stats_round(similarity[i] - match.similarity) >= 0;
	rng_seed(&rng, SEED);
	for (size_t b = 0; b < COUNTER_LIKENESS_PERMUTATIONS; b++)
		reached += stats_round(match_draw(&rng, similarity, order, n, members) - sum) >= 0;
	match.p = (1 + (double)reached) / (1 + (double)COUNTER_LIKENESS_PERMUTATIONS);
	free(order);
	return match;
}
