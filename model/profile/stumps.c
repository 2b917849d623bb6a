#include "model/profile/stumps.h"

#include "base/error.h"
#include "base/mem.h"

#include <math.h>
#include <stdbool.h>

/* Rows are the types that count. */
struct boost {
	const struct features *features;
	size_t n;
	size_t *type;     /* [n] */
	double *weight;   /* [n] */
	double total;
	double *residual; /* [n] */
	double *update;   /* [n] */
	size_t *order;    /* [cols x n] rows, ascending along the feature */
	double *gain;     /* [cols] of its best cut */
	size_t *at;       /* [cols] rows below that cut */
	double *below;    /* [cols] mean residual there */
	double *above;    /* [cols] */
};

static double value(const struct boost *b, size_t feature, size_t row)
{
	return mat_get(&b->features->type_logs, b->type[row], feature);
}

static void sort_along(struct boost *b, size_t feature)
{
	size_t *order = &b->order[feature * b->n];

	for (size_t i = 0; i < b->n; i++) {
		size_t k = i;

		for (; k > 0 && value(b, feature, order[k - 1]) > value(b, feature, i); k--)
			order[k] = order[k - 1];
		order[k] = i;
	}
}

static struct boost boost_new(const struct features *f, const double *count)
{
	size_t types = f->type_logs.rows;
	struct boost b = { .features = f, .type = mem_new(types, sizeof(size_t)), .weight = mem_new(types, sizeof(double)) };

	for (size_t t = 0; t < types; t++) {
		if (!(count[t] > 0))
			continue;
		b.type[b.n] = t;
		b.weight[b.n++] = count[t];
		b.total += count[t];
	}
	ASSAY_BUG_IF(b.n < 2);
	b.residual = mem_new(b.n, sizeof(double));
	b.update = mem_new(b.n, sizeof(double));
	b.order = mem_new(f->n * b.n, sizeof(size_t));
	b.gain = mem_new(f->n, sizeof(double));
	b.at = mem_new(f->n, sizeof(size_t));
	b.below = mem_new(f->n, sizeof(double));
	b.above = mem_new(f->n, sizeof(double));
	for (size_t j = 0; j < f->n; j++)
		sort_along(&b, j);
	return b;
}

static void boost_release(struct boost *b)
{
	free(b->type);
	free(b->weight);
	free(b->residual);
	free(b->update);
	free(b->order);
	free(b->gain);
	free(b->at);
	free(b->below);
	free(b->above);
}

/* The best cut along a feature: the decrease of the mean squared residual. Equal values are not cut. */
static void best_cut(struct boost *b, size_t j)
{
	const size_t *order = &b->order[j * b->n];
	double all = 0.0, sum = 0.0, weight = 0.0;

	b->gain[j] = 0.0;
	for (size_t i = 0; i < b->n; i++)
		all += b->weight[i] * b->residual[i];
	for (size_t i = 0; i + 1 < b->n; i++) {
		double rest, gap, gain;

		sum += b->weight[order[i]] * b->residual[order[i]];
		weight += b->weight[order[i]];
		rest = b->total - weight;
		if (!(value(b, j, order[i + 1]) > value(b, j, order[i])))
			continue;
		gap = sum / weight - (all - sum) / rest;
		gain = gap * gap * weight * rest / (b->total * b->total);
		if (gain > b->gain[j]) {
			b->gain[j] = gain;
			b->at[j] = i + 1;
			b->below[j] = sum / weight;
			b->above[j] = (all - sum) / rest;
		}
	}
}

static void share_credit(const struct boost *b, double enough, double top, double *importance)
{
	const struct features *f = b->features;
	size_t *in_group = mem_new(f->groups, sizeof(*in_group));
	double groups = 0.0;

	for (size_t j = 0; j < f->n; j++) {
		if (b->gain[j] >= enough && in_group[f->group[j]]++ == 0)
			groups += 1.0;
	}
	for (size_t j = 0; j < f->n; j++) {
		if (b->gain[j] >= enough)
			importance[j] += top / groups / (double)in_group[f->group[j]];
	}
	free(in_group);
}

/* Adds the step of feature j, `part` of it, to the model and to what the rows are moved by. */
static void take_step(struct boost *b, struct stumps *s, size_t j, double part)
{
	const size_t *order = &b->order[j * b->n];
	double cut = .5 * (value(b, j, order[b->at[j] - 1]) + value(b, j, order[b->at[j]]));
	size_t k = 0;

	s->start += part * b->below[j];
	while (k < s->cuts[j] && s->cut[j * s->cuts_max + k] != cut)
		k++;
	s->cut[j * s->cuts_max + k] = cut;
	s->step[j * s->cuts_max + k] += part * (b->above[j] - b->below[j]);
	s->cuts[j] += k == s->cuts[j] ? 1 : 0;
	for (size_t i = 0; i < b->n; i++)
		b->update[order[i]] += part * (i < b->at[j] ? b->below[j] : b->above[j]);
}

/* One stage; false when nothing is left to split. */
static bool stage(struct boost *b, struct stumps *s, double *gained)
{
	double top = 0.0, tied = 0.0, enough;

	for (size_t j = 0; j < s->cols; j++) {
		best_cut(b, j);
		top = fmax(top, b->gain[j]);
	}
	if (top <= 1e-20)
		return false;
	enough = top * (1.0 - STUMPS_TIE);
	for (size_t j = 0; j < s->cols; j++)
		tied += b->gain[j] >= enough ? 1.0 : 0.0;
	for (size_t i = 0; i < b->n; i++)
		b->update[i] = 0.0;
	for (size_t j = 0; j < s->cols; j++) {
		if (b->gain[j] >= enough)
			take_step(b, s, j, STUMPS_RATE / tied);
	}
	share_credit(b, enough, top, s->importance);
	for (size_t i = 0; i < b->n; i++)
		b->residual[i] -= b->update[i];
	s->tied += top * tied;
	*gained += top;
	return true;
}

void stumps_fit(const struct features *f, const double *y, const double *count, struct stumps *out)
{
	struct boost b = boost_new(f, count);
	struct stumps s = { .cols = f->n, .cuts_max = b.n - 1 };
	double gained = 0.0;

	s.step = mem_new(s.cols * s.cuts_max, sizeof(*s.step));
	s.cut = mem_new(s.cols * s.cuts_max, sizeof(*s.cut));
	s.cuts = mem_new(s.cols, sizeof(*s.cuts));
	s.importance = mem_new(s.cols, sizeof(*s.importance));
	for (size_t i = 0; i < b.n; i++)
		s.start += b.weight[i] * y[b.type[i]] / b.total;
	for (size_t i = 0; i < b.n; i++)
		b.residual[i] = y[b.type[i]] - s.start;
	for (size_t i = 0; i < STUMPS_STAGES && stage(&b, &s, &gained); i++)
		;
	for (size_t j = 0; gained > 0.0 && j < s.cols; j++)
		s.importance[j] /= gained;
	s.tied = gained > 0.0 ? s.tied / gained : 0.0;
	boost_release(&b);
	*out = s;
}

void stumps_release(struct stumps *s)
{
	free(s->step);
	free(s->cut);
	free(s->cuts);
	free(s->importance);
	*s = (struct stumps){ 0 };
}

double stumps_predict(const struct stumps *s, const double *logs)
{
	double sum = s->start;

	for (size_t j = 0; j < s->cols; j++) {
		for (size_t k = 0; k < s->cuts[j]; k++)
			sum += logs[j] > s->cut[j * s->cuts_max + k] ? s->step[j * s->cuts_max + k] : 0.0;
	}
	return sum;
}
