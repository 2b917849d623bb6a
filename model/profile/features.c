#include "model/profile/features.h"

#include "base/error.h"
#include "base/linkage.h"
#include "base/mem.h"
#include "base/stats.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

ROWS_FUNCTION(feature_code, enum feature_state, FEATURE_ROWS, ROWS_CODE)
ROWS_FUNCTION(feature_text, enum feature_state, FEATURE_ROWS, ROWS_TEXT)

/* ---- columns ---- */

/* Computes mean [types], the mean of column[rows] over the rows of each type. */
static void features_type_means(const double *column, const size_t *type, size_t rows, size_t types, double *mean)
{
	size_t *count = mem_new(types, sizeof(*count));

	memset(mean, 0, types * sizeof(*mean));
	for (size_t i = 0; i < rows; i++) {
		mean[type[i]] += column[i];
		count[type[i]]++;
	}
	for (size_t t = 0; t < types; t++) {
		ASSAY_BUG_IF(count[t] == 0);
		mean[t] /= (double)count[t];
	}
	free(count);
}

/* Fills logs[rows] with the logs of column j. Returns false if a rate is missing. */
static bool column_logs(const struct mat *rates, size_t j, double *logs)
{
	for (size_t i = 0; i < rates->rows; i++) {
		double rate = mat_get(rates, i, j);

		if (!(rate > 0) || !isfinite(rate))
			return false;
		logs[i] = log(rate);
	}
	return true;
}

/* Reports whether the means of all types are equal, except for rounding errors. */
static bool column_is_constant(const double *mean, size_t types)
{
	double low = mean[0], high = mean[0];

	for (size_t t = 1; t < types; t++) {
		low = fmin(low, mean[t]);
		high = fmax(high, mean[t]);
	}
	return high - low < 1e-9;
}

static bool column_is_copy(const struct mat *m, size_t a, const double *column)
{
	for (size_t i = 0; i < m->rows; i++) {
		if (mat_get(m, i, a) != column[i])
			return false;
	}
	return true;
}

/* Adds column j with the centred logs `logs`, or records the distinct column that it duplicates. f->logs has room for p columns. */
static void features_add_column(struct features *f, size_t j, const double *logs)
{
	size_t k = 0;

	while (k < f->n && !column_is_copy(&f->logs, k, logs))
		k++;
	f->distinct[j] = k;
	f->copies[k]++;
	if (k < f->n)
		return;
	f->first[k] = j;
	for (size_t i = 0; i < f->logs.rows; i++)
		mat_set(&f->logs, i, k, logs[i]);
	f->n++;
}

static void features_columns(struct features *f, const struct mat *rates, const size_t *type, size_t types)
{
	double *logs = mem_new(rates->rows, sizeof(*logs)), *mean = mem_new(types, sizeof(*mean));

	for (size_t j = 0; j < f->p; j++) {
		f->distinct[j] = FEATURES_NONE;
		if (!column_logs(rates, j, logs)) {
			f->state[j] = FEATURE_MISSING;
			continue;
		}
		features_type_means(logs, type, rates->rows, types, mean);
		f->centre[j] = stats_mean(mean, types);
		if (column_is_constant(mean, types)) {
			f->state[j] = FEATURE_CONSTANT;
			continue;
		}
		for (size_t i = 0; i < rates->rows; i++)
			logs[i] = stats_round(logs[i] - f->centre[j]);
		features_add_column(f, j, logs);
	}
	mem_free(logs, mean);
}

/* ---- groups ---- */

static struct mat mat_keep_columns(struct mat *wide, size_t cols)
{
	struct mat m = mat_new(wide->rows, cols);

	for (size_t i = 0; i < m.rows; i++)
		memcpy(&m.at[i * cols], &wide->at[i * wide->cols], cols * sizeof(double));
	mat_release(wide);
	return m;
}

static struct mat mat_type_means(const struct mat *logs, const size_t *type, size_t types)
{
	struct mat m = mat_new(types, logs->cols);
	double *column = mem_new(logs->rows, sizeof(*column)), *mean = mem_new(types, sizeof(*mean));

	for (size_t j = 0; j < logs->cols; j++) {
		for (size_t i = 0; i < logs->rows; i++)
			column[i] = mat_get(logs, i, j);
		features_type_means(column, type, logs->rows, types, mean);
		for (size_t t = 0; t < types; t++)
			mat_set(&m, t, j, mean[t]);
	}
	mem_free(column, mean);
	return m;
}

/* Returns the transposed matrix, [cols x rows]. */
static struct mat mat_transposed(const struct mat *m)
{
	struct mat t = mat_new(m->cols, m->rows);

	for (size_t i = 0; i < m->rows; i++) {
		for (size_t j = 0; j < m->cols; j++)
			mat_set(&t, j, i, mat_get(m, i, j));
	}
	return t;
}

static double columns_participation(const struct mat *columns)
{
	double squares = 0.0, n = (double)columns->rows;

	for (size_t a = 0; a < columns->rows; a++) {
		for (size_t b = 0; b < columns->rows; b++) {
			double r = a == b
				       ? 1.0
				       : stats_correlation(&columns->at[a * columns->cols], &columns->at[b * columns->cols], columns->cols);

			squares += r * r;
		}
	}
	return squares > 0.0 ? n * n / squares : 0.0;
}

static void features_find_groups(struct features *f)
{
	struct mat columns = mat_transposed(&f->type_logs), ranks = mat_new(f->n, f->type_logs.rows), distance = mat_new(f->n, f->n);
	size_t types = f->type_logs.rows;

	f->effective_rank = columns_participation(&columns);
	for (size_t k = 0; k < f->n; k++)
		stats_ranks(&columns.at[k * types], types, &ranks.at[k * types]);
	f->correlation = mat_new(f->n, f->n);
	for (size_t a = 0; a < f->n; a++) {
		mat_set(&f->correlation, a, a, 1.0);
		for (size_t b = a + 1; b < f->n; b++) {
			double r = stats_correlation(&ranks.at[a * types], &ranks.at[b * types], types), d = stats_round(1.0 - fabs(r));

			mat_set(&f->correlation, a, b, r);
			mat_set(&f->correlation, b, a, r);
			mat_set(&distance, a, b, d);
			mat_set(&distance, b, a, d);
		}
	}
	f->groups = linkage_cut(&distance, FEATURES_CUT, f->group);
	mat_release(&columns);
	mat_release(&ranks);
	mat_release(&distance);
}

void features_select(const struct mat *rates, const size_t *type, size_t types, struct features *out)
{
	struct features f = { .p = rates->cols };

	ASSAY_BUG_IF(types == 0);
	f.state = mem_new(f.p, sizeof(*f.state));
	f.distinct = mem_new(f.p, sizeof(*f.distinct));
	f.centre = mem_new(f.p, sizeof(*f.centre));
	f.first = mem_new(f.p, sizeof(*f.first));
	f.copies = mem_new(f.p, sizeof(*f.copies));
	f.group = mem_new(f.p, sizeof(*f.group));
	f.logs = mat_new(rates->rows, f.p);
	features_columns(&f, rates, type, types);
	f.logs = mat_keep_columns(&f.logs, f.n);
	f.type_logs = mat_type_means(&f.logs, type, types);
	features_find_groups(&f);
	*out = f;
}

void features_release(struct features *f)
{
	mem_free(f->state, f->distinct, f->centre, f->first, f->copies, f->group);
	mat_release(&f->logs);
	mat_release(&f->type_logs);
	mat_release(&f->correlation);
	*f = (struct features){ 0 };
}

void features_convert_row(const struct features *f, const double *rates, double *out)
{
	for (size_t k = 0; k < f->n; k++) {
		double rate = rates[f->first[k]];

		out[k] = rate > 0 && isfinite(rate) ? stats_round(log(rate) - f->centre[f->first[k]]) : 0.0;
	}
}
