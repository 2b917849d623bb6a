#include "model/profile/additive.h"

#include "base/error.h"
#include "base/mem.h"
#include "base/stats.h"

#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

#define BEAM_WIDTH	 48   /* number of models of each size that the beam search extends by a column */
#define LOG_ERROR_MAX	 2.0  /* limit of the |log error| of one type */
#define LOG_ERROR_OFFSET .01  /* added to |log error|, so that models with much smaller errors are equally good */
#define NEGLIGIBLE	 1e-5 /* models with a smaller weight, relative to the largest one, get weight 0 */
#define SINGULAR	 1e-10

/* ---- sums over the rows of each type ---- */

static double sums_log_scale(const double *cost, const size_t *type, size_t rows, size_t types)
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
	mem_free(sum, count);
	return scale;
}

static void sums_add_row(struct additive_sums *s, size_t t, const double *r)
{
	for (size_t a = 0; a < s->cols; a++) {
		s->h.at[t * s->cols + a] += r[a];
		for (size_t b = 0; b < s->cols; b++)
			s->G[t].at[a * s->cols + b] += r[a] * r[b];
	}
}

static void sums_divide(struct additive_sums *s, size_t t, double count)
{
	for (size_t a = 0; a < s->cols; a++)
		s->h.at[t * s->cols + a] /= count;
	for (size_t a = 0; a < s->cols * s->cols; a++)
		s->G[t].at[a] /= count;
}

void additive_sums_compute(const struct features *f, const double *cost, const size_t *type, struct additive_sums *out)
{
	struct additive_sums s = { .types = f->type_logs.rows, .cols = f->n + 1, .groups = f->groups + 1 };
	double *count = mem_new(s.types, sizeof(*count)), *r = mem_new(s.cols, sizeof(*r));
	double scale = sums_log_scale(cost, type, f->logs.rows, s.types);

	s.y_scale = exp(scale);
	s.G = mem_new(s.types, sizeof(*s.G));
	for (size_t t = 0; t < s.types; t++)
		s.G[t] = mat_new(s.cols, s.cols);
	s.h = mat_new(s.types, s.cols);
	s.group = mem_new(s.cols, sizeof(*s.group));
	for (size_t k = 0; k < s.cols; k++)
		s.group[k] = k < f->n ? f->group[k] : f->groups;
	for (size_t i = 0; i < f->logs.rows; i++) {
		double y = stats_round(log(cost[i]) - scale); /* rounded, so that the unit of the cost does not matter */

		for (size_t k = 0; k < f->n; k++)
			r[k] = exp(-mat_get(&f->logs, i, k) - y);
		r[f->n] = exp(-y);
		sums_add_row(&s, type[i], r);
		count[type[i]] += 1.0;
	}
	for (size_t t = 0; t < s.types; t++)
		sums_divide(&s, t, count[t]);
	mem_free(count, r);
	*out = s;
}

void additive_sums_add_view(struct additive_sums *s, const struct mat *differs)
{
	ASSAY_BUG_IF(differs->rows + 1 != s->cols || s->views.rows > 0);
	s->views = mat_new(s->cols, s->cols);
	for (size_t a = 0; a + 1 < s->cols; a++)
		for (size_t b = 0; b + 1 < s->cols; b++)
			for (size_t c = 0; c < differs->cols; c++)
				s->views.at[a * s->cols + b] += mat_get(differs, a, c) * mat_get(differs, b, c);
	for (size_t t = 0; t < s->types; t++) /* adds, per class, the square of the sum of w_k r_k differs_k */
		for (size_t i = 0; i < s->cols * s->cols; i++)
			s->G[t].at[i] *= 1.0 + s->views.at[i];
}

void additive_sums_release(struct additive_sums *s)
{
	mat_release(&s->views);
	mem_release_all(s->G, s->types, mat_release);
	mat_release(&s->h);
	free(s->group);
	*s = (struct additive_sums){ 0 };
}

/* ---- one model ---- */

/* Data of a search: sums over all types that count, and sums without each of these types. */
struct search {
	const struct additive_sums *sums;
	size_t n;      /* number of types that count */
	size_t *type;  /* [n] indices of the types that count */
	double *count; /* [n] multiplicity of each of these types */
	double total;  /* sum of the counts */
	struct mat G;  /* sum over all types that count; also `h` */
	double *h;
	struct mat *G_out; /* [n] sums without type[i]; also `h_out` */
	struct mat h_out;
};

/* Solves the k x k system of columns `col` for w. Returns false if the system is singular, or if a weight is not positive and finite. */
static bool model_solve(const struct mat *G, const double *h, const size_t *col, size_t k, double *w)
{
	double L[ADDITIVE_SIZE_MAX][ADDITIVE_SIZE_MAX], z[ADDITIVE_SIZE_MAX];

	for (size_t i = 0; i < k; i++) {
		const double *row = &G->at[col[i] * G->cols];
		double left = row[col[i]];

		z[i] = h[col[i]];
		for (size_t j = 0; j < i; j++) {
			double sum = row[col[j]];

			for (size_t m = 0; m < j; m++)
				sum -= L[i][m] * L[j][m];
			L[i][j] = sum / L[j][j];
			left -= L[i][j] * L[i][j];
			z[i] -= L[i][j] * z[j];
		}
		if (!(left > SINGULAR * row[col[i]]))
			return false;
		L[i][i] = sqrt(left);
		z[i] /= L[i][i];
	}
	for (size_t i = k; i-- > 0;) {
		for (size_t j = i + 1; j < k; j++)
			z[i] -= L[j][i] * z[j];
		z[i] /= L[i][i];
		if (!(z[i] > 0.0) || isinf(z[i]))
			return false;
	}
	for (size_t i = 0; i < k; i++) /* a separate loop, because gcc 12 -O2 would drop values that are stored in reverse order */
		w[i] = z[i];
	return true;
}

/* Returns the part of the time that the column shares assign to wrong classes: the root of the sum of squares over classes. */
static double model_view_missed(const struct additive_sums *s, size_t t, const struct additive_model *m, const double *w)
{
	double squares = 0.0;

	for (size_t i = 0; i < m->size; i++)
		for (size_t j = 0; j < m->size; j++)
			squares += w[i] * mat_get(&s->h, t, m->col[i]) * w[j] * mat_get(&s->h, t, m->col[j]) *
				   mat_get(&s->views, m->col[i], m->col[j]);
	return sqrt(fmax(squares, 0.0));
}

/* Returns |log(predicted / measured time)| on a type, from the mean ratio over its rows. With views, includes model_view_missed(). */
static double model_error_on(const struct additive_sums *s, size_t t, const struct additive_model *m, const double *w)
{
	double ratio = 0.0;

	for (size_t i = 0; i < m->size; i++)
		ratio += w[i] * s->h.at[t * s->cols + m->col[i]];
	if (s->views.rows > 0)
		return fmin(hypot(log(ratio), model_view_missed(s, t, m, w)), LOG_ERROR_MAX);
	return fmin(fabs(log(ratio)), LOG_ERROR_MAX);
}

/* Fits the model with the columns of m, also with each type held out. False if a weight is not positive: a smaller model is as good. */
static bool model_fit(const struct search *s, struct additive_model *m)
{
	double sum = 0.0, w[ADDITIVE_SIZE_MAX] = { 0 };

	if (!model_solve(&s->G, s->h, m->col, m->size, m->w))
		return false;
	for (size_t i = 0; i < s->n; i++) {
		if (!model_solve(&s->G_out[i], &s->h_out.at[i * s->sums->cols], m->col, m->size, w))
			return false;
		sum += s->count[i] * model_error_on(s->sums, s->type[i], m, w);
	}
	m->held_out_error = sum / s->total;
	return true;
}

/* ---- search ---- */

static struct search search_new(const struct additive_sums *sums, const double *count)
{
	struct search s = { .sums = sums, .type = mem_new(sums->types, sizeof(size_t)), .count = mem_new(sums->types, sizeof(double)) };
	size_t p = sums->cols;

	s.G = mat_new(p, p);
	s.h = mem_new(p, sizeof(*s.h));
	for (size_t t = 0; t < sums->types; t++) {
		if (!(count[t] > 0))
			continue;
		s.type[s.n] = t;
		s.count[s.n++] = count[t];
		s.total += count[t];
		for (size_t a = 0; a < p * p; a++)
			s.G.at[a] += count[t] * sums->G[t].at[a];
		for (size_t a = 0; a < p; a++)
			s.h[a] += count[t] * mat_get(&sums->h, t, a);
	}
	ASSAY_BUG_IF(s.n < 2);
	s.G_out = mem_new(s.n, sizeof(*s.G_out));
	s.h_out = mat_new(s.n, p);
	for (size_t i = 0; i < s.n; i++) {
		s.G_out[i] = mat_new(p, p);
		for (size_t a = 0; a < p * p; a++)
			s.G_out[i].at[a] = s.G.at[a] - s.count[i] * sums->G[s.type[i]].at[a];
		for (size_t a = 0; a < p; a++)
			mat_set(&s.h_out, i, a, s.h[a] - s.count[i] * mat_get(&sums->h, s.type[i], a));
	}
	return s;
}

static void search_release(struct search *s)
{
	mem_release_all(s->G_out, s->n, mat_release);
	mem_free(s->type, s->count, s->h);
	mat_release(&s->G);
	mat_release(&s->h_out);
}

static void search_try(const struct search *s, struct additive_model *m, struct additive *fit)
{
	if (!model_fit(s, m))
		return;
	mem_append(fit->models, fit->n, &fit->capacity, *m);
}

static void search_small(const struct search *s, size_t size, struct additive *fit)
{
	for (size_t a = 0; a < s->sums->cols; a++) {
		struct additive_model m = { .size = 1, .col = { a } };

		search_try(s, &m, fit);
	}
	for (size_t a = 0; size > 1 && a < s->sums->cols; a++) {
		for (size_t b = a + 1; b < s->sums->cols; b++) {
			struct additive_model m = { .size = 2, .col = { a, b } };

			search_try(s, &m, fit);
		}
	}
}

/* Orders models by error, then by columns. */
static int compare_errors(const void *a, const void *b)
{
	const struct additive_model *x = a, *y = b;

	if (x->held_out_error != y->held_out_error)
		return x->held_out_error < y->held_out_error ? -1 : 1;
	return memcmp(x->col, y->col, sizeof(x->col)); /* any order suffices if it is consistent */
}

static int compare_columns(const void *a, const void *b)
{
	const struct additive_model *x = a, *y = b;

	for (size_t i = 0; i < x->size; i++) {
		if (x->col[i] != y->col[i])
			return x->col[i] < y->col[i] ? -1 : 1;
	}
	return 0;
}

/* Sets *out to model m with one more column; keeps columns in ascending order. Returns false if m has that column. */
static bool add_column_to_model(const struct additive_model *m, size_t column, struct additive_model *out)
{
	size_t at = 0;

	*out = (struct additive_model){ .size = m->size + 1 };
	for (size_t i = 0; i < m->size; i++) {
		if (m->col[i] == column)
			return false;
		at += m->col[i] < column;
	}
	memcpy(out->col, m->col, at * sizeof(out->col[0]));
	out->col[at] = column;
	memcpy(&out->col[at + 1], &m->col[at], (m->size - at) * sizeof(out->col[0]));
	return true;
}

/* Extends the BEAM_WIDTH best models, from index `from` on, by each column that they lack. */
static void search_beam(const struct search *s, size_t from, struct additive *fit)
{
	size_t parents = fit->n - from, n = 0;
	struct additive_model *children;

	if (parents > BEAM_WIDTH)
		parents = BEAM_WIDTH;
	qsort(&fit->models[from], fit->n - from, sizeof(*fit->models), compare_errors);
	children = mem_new(parents * s->sums->cols, sizeof(*children));
	for (size_t i = 0; i < parents; i++) {
		for (size_t c = 0; c < s->sums->cols; c++)
			n += add_column_to_model(&fit->models[from + i], c, &children[n]) ? 1 : 0;
	}
	qsort(children, n, sizeof(*children), compare_columns);
	for (size_t i = 0; i < n; i++) {
		if (i == 0 || compare_columns(&children[i], &children[i - 1]) != 0)
			search_try(s, &children[i], fit);
	}
	free(children);
}

/* Adds the model that predicts the geometric mean, as the only model. No other model can be fitted if costs differ so much that the
 * smallest cost dominates the sums, and rounding errors hide the others. */
static void search_mean_alone(const struct search *s, struct additive *fit)
{
	mem_append(fit->models, fit->n, &fit->capacity,
		   (struct additive_model){ .size = 1, .col = { s->sums->cols - 1 }, .w = { 1.0 }, .held_out_error = LOG_ERROR_MAX });
}

void additive_fit(const struct additive_sums *sums, const double *count, size_t size, struct additive *out)
{
	struct additive fit = { .cols = sums->cols };
	struct search s = search_new(sums, count);
	size_t from;

	ASSAY_BUG_IF(size < 1 || size > ADDITIVE_SIZE_MAX);
	fit.types = s.n;
	search_small(&s, size, &fit);
	if (fit.n == 0)
		search_mean_alone(&s, &fit);
	from = 0;
	while (from < fit.n && fit.models[from].size == 1)
		from++;
	for (size_t k = 3; k <= size && from < fit.n; k++) {
		size_t next = fit.n;

		search_beam(&s, from, &fit);
		from = next;
	}
	search_release(&s);
	*out = fit;
}

void additive_release(struct additive *fit)
{
	free(fit->models);
	*fit = (struct additive){ 0 };
}

/* ---- averaging ---- */

/* Adds each model's weight under one set of options, times `part`. raw [n] is a buffer. */
static void additive_weigh_once(struct additive *fit, const struct additive_options *options, double part, double *raw)
{
	double power = -options->sharpness * (double)fit->types, top = -DBL_MAX, sum = 0.0;

	for (size_t i = 0; i < fit->n; i++) {
		raw[i] = power * log(fit->models[i].held_out_error + LOG_ERROR_OFFSET);
		if (fit->models[i].size <= options->size)
			top = fmax(top, raw[i]);
	}
	for (size_t i = 0; i < fit->n; i++) {
		raw[i] = fit->models[i].size <= options->size ? exp(raw[i] - top) : 0.0;
		if (raw[i] < NEGLIGIBLE)
			raw[i] = 0.0;
		sum += raw[i];
	}
	for (size_t i = 0; i < fit->n; i++)
		fit->models[i].weight += part * raw[i] / sum;
}

void additive_weigh(struct additive *fit, const struct additive_options *options, const double *part, size_t n)
{
	double *raw = mem_new(fit->n, sizeof(*raw));

	for (size_t i = 0; i < fit->n; i++)
		fit->models[i].weight = 0.0;
	for (size_t k = 0; k < n; k++) {
		ASSAY_BUG_IF(!(options[k].sharpness > 0));
		if (part[k] > 0.0)
			additive_weigh_once(fit, &options[k], part[k], raw);
	}
	free(raw);
}

static double model_part(const struct additive *fit, const struct additive_model *m, size_t i, const double *logs)
{
	return m->col[i] + 1 == fit->cols ? m->w[i] : m->w[i] * exp(-logs[m->col[i]]);
}

/* Computes the times of a model's columns relative to their sum, and returns the log of the sum. Computes with logs if a number would
 * overflow or underflow. */
static double model_parts(const struct additive *fit, const struct additive_model *m, const double *logs, double *part)
{
	double time = 0.0, top = -HUGE_VAL, log_time = 0.0;

	for (size_t i = 0; i < m->size; i++) {
		part[i] = model_part(fit, m, i, logs);
		time += part[i];
	}
	if (time > DBL_MIN && time < DBL_MAX) {
		for (size_t i = 0; i < m->size; i++)
			part[i] /= time;
		return log(time);
	}
	for (size_t i = 0; i < m->size; i++) {
		part[i] = log(m->w[i]) - (m->col[i] + 1 == fit->cols ? 0.0 : logs[m->col[i]]);
		top = fmax(top, part[i]);
	}
	for (size_t i = 0; i < m->size; i++)
		log_time += exp(part[i] - top);
	log_time = top + log(log_time);
	for (size_t i = 0; i < m->size; i++)
		part[i] = exp(part[i] - log_time);
	return log_time;
}

double additive_predict(const struct additive *fit, const double *logs)
{
	double sum = 0.0;

	for (size_t k = 0; k < fit->n; k++) {
		const struct additive_model *m = &fit->models[k];
		double part[ADDITIVE_SIZE_MAX];

		if (m->weight > 0)
			sum += m->weight * model_parts(fit, m, logs, part);
	}
	return sum;
}

void additive_shares(const struct additive *fit, const double *logs, double *share)
{
	memset(share, 0, fit->cols * sizeof(*share));
	for (size_t k = 0; k < fit->n; k++) {
		const struct additive_model *m = &fit->models[k];
		double part[ADDITIVE_SIZE_MAX];

		if (!(m->weight > 0))
			continue;
		model_parts(fit, m, logs, part);
		for (size_t i = 0; i < m->size; i++)
			share[m->col[i]] += m->weight * part[i];
	}
}
