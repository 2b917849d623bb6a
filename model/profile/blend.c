#include "model/profile/blend.h"

#include "base/error.h"
#include "base/mem.h"
#include "base/stats.h"
#include "model/parallel.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#define STUMPS_STAGES 60
#define STUMPS_RATE   .2
#define STUMPS_TIE    1e-9 /* maximum relative difference between the gains of equally good splits */
#define ERROR_FLOOR   .005 /* added to relative errors, so that candidates with much smaller errors are equally good */
#define LOG_MAX	      50.0 /* limit of a log ratio, so that errors stay finite */

const struct additive_options blend_grid[BLEND_ADDITIVE] = { { 2, .5 }, { 2, 1.0 }, { ADDITIVE_SIZE_MAX, .5 }, { ADDITIVE_SIZE_MAX, 1.0 } };

/* ---- stumps ---- */

/* State of the boosting. A row is a type that counts. */
struct boost {
	const struct features *features;
	size_t n;
	size_t *type;	/* [n] index of each row's type */
	double *weight; /* [n] multiplicity of each row */
	double total;
	double *residual; /* [n] log cost minus the prediction */
	double *update;	  /* [n] change of the prediction in the present stage */
	size_t *order;	  /* [cols x n] rows, sorted by each feature in ascending order */
	double *gain;	  /* [cols] gain of the best cut along each feature */
	size_t *at;	  /* [cols] number of rows below this cut */
	double *below;	  /* [cols] mean residual below this cut */
	double *above;	  /* [cols] mean residual above this cut */
};

static double boost_value(const struct boost *b, size_t feature, size_t row)
{
	return mat_get(&b->features->type_logs, b->type[row], feature);
}

static void boost_sort(struct boost *b, size_t feature)
{
	size_t *order = &b->order[feature * b->n];

	for (size_t i = 0; i < b->n; i++) {
		size_t k = i;

		for (; k > 0 && boost_value(b, feature, order[k - 1]) > boost_value(b, feature, i); k--)
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
		boost_sort(&b, j);
	return b;
}

static void boost_release(struct boost *b)
{
	mem_free(b->type, b->weight, b->residual, b->update, b->order, b->gain, b->at, b->below, b->above);
}

/* Finds the cut along feature j that reduces the mean squared residual most. Does not cut between equal values. */
static void boost_best_cut(struct boost *b, size_t j)
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
		if (!(boost_value(b, j, order[i + 1]) > boost_value(b, j, order[i])))
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

static void boost_share_credit(const struct boost *b, double enough, double top, double *importance)
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

/* Adds the step of feature j, times `part`, to the model and to the updates of the rows. */
static void boost_take_step(struct boost *b, struct stumps *s, size_t j, double part)
{
	const size_t *order = &b->order[j * b->n];
	double cut = .5 * (boost_value(b, j, order[b->at[j] - 1]) + boost_value(b, j, order[b->at[j]]));
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

/* Makes one stage. Returns false if no split has a gain. */
static bool boost_stage(struct boost *b, struct stumps *s, double *gained)
{
	double top = 0.0, tied = 0.0, enough;

	for (size_t j = 0; j < s->cols; j++) {
		boost_best_cut(b, j);
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
			boost_take_step(b, s, j, STUMPS_RATE / tied);
	}
	boost_share_credit(b, enough, top, s->importance);
	for (size_t i = 0; i < b->n; i++)
		b->residual[i] -= b->update[i];
	s->tied += top * tied;
	*gained += top;
	return true;
}

/* Fits stumps to the log costs y [types]. count [types] is the multiplicity of each type; 0 excludes a type; at least 2 are above 0. */
static void stumps_fit(const struct features *f, const double *y, const double *count, struct stumps *out)
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
	for (size_t i = 0; i < STUMPS_STAGES && boost_stage(&b, &s, &gained); i++)
		;
	for (size_t j = 0; gained > 0.0 && j < s.cols; j++)
		s.importance[j] /= gained;
	s.tied = gained > 0.0 ? s.tied / gained : 0.0;
	boost_release(&b);
	*out = s;
}

static void stumps_release(struct stumps *s)
{
	mem_free(s->step, s->cut, s->cuts, s->importance);
	*s = (struct stumps){ 0 };
}

static double stumps_predict(const struct stumps *s, const double *logs)
{
	double sum = s->start;

	for (size_t j = 0; j < s->cols; j++) {
		for (size_t k = 0; k < s->cuts[j]; k++)
			sum += logs[j] > s->cut[j * s->cuts_max + k] ? s->step[j * s->cuts_max + k] : 0.0;
	}
	return sum;
}

/* ---- data ---- */

void blend_data_init(const struct mat *rates, const double *cost, const size_t *type, size_t types, struct blend_data *out)
{
	struct blend_data d = { .rows = rates->rows, .types = types };
	double *rows = mem_new(types, sizeof(*rows));

	features_select(rates, type, types, &d.features);
	additive_sums_compute(&d.features, cost, type, &d.sums);
	d.log_cost = mem_new(d.rows, sizeof(*d.log_cost));
	d.type_cost = mem_new(types, sizeof(*d.type_cost));
	d.type = mem_new(d.rows, sizeof(*d.type));
	memcpy(d.type, type, d.rows * sizeof(*type));
	for (size_t i = 0; i < d.rows; i++) {
		/* Rounds as additive_sums_compute() does, so that the unit of the cost does not matter. */
		d.log_cost[i] = stats_round(log(cost[i]) - log(d.sums.y_scale));
		d.type_cost[type[i]] += d.log_cost[i];
		rows[type[i]] += 1.0;
	}
	for (size_t t = 0; t < types; t++)
		d.type_cost[t] /= rows[t];
	free(rows);
	*out = d;
}

void blend_data_release(struct blend_data *d)
{
	features_release(&d->features);
	additive_sums_release(&d->sums);
	mem_free(d->log_cost, d->type_cost, d->type);
	*d = (struct blend_data){ 0 };
}

static const double *blend_logs(const struct blend_data *d, size_t row)
{
	return &d->features.logs.at[row * d->features.n];
}

/* ---- one type held out ---- */

static double relative_error(double predicted, double measured)
{
	return fabs(expm1(fmin(predicted - measured, LOG_MAX)));
}

/* Fits the additive grid and the stumps to the types that count, and predicts the rows of the types with count 0: out [rows x
 * BLEND_ADDITIVE + 1]. */
static void predict_excluded(const struct blend_data *d, const double *count, struct mat *out)
{
	struct additive additive;
	struct stumps stumps;

	additive_fit(&d->sums, count, ADDITIVE_SIZE_MAX, &additive);
	stumps_fit(&d->features, d->type_cost, count, &stumps);
	for (size_t k = 0; k < BLEND_ADDITIVE; k++) {
		additive_weigh(&additive, &blend_grid[k], &(double){ 1.0 }, 1);
		for (size_t i = 0; i < d->rows; i++) {
			if (!(count[d->type[i]] > 0))
				mat_set(out, i, k, additive_predict(&additive, blend_logs(d, i)));
		}
	}
	for (size_t i = 0; i < d->rows; i++) {
		if (!(count[d->type[i]] > 0))
			mat_set(out, i, BLEND_ADDITIVE, stumps_predict(&stumps, blend_logs(d, i)));
	}
	additive_release(&additive);
	stumps_release(&stumps);
}

/* Sets sum [BLEND_CANDIDATES] to the mean relative error of each candidate over the rows of a type. */
static void candidates_errors(const struct blend_data *d, size_t type, const struct mat *predicted, double *sum)
{
	double rows = 0.0;

	memset(sum, 0, BLEND_CANDIDATES * sizeof(*sum));
	for (size_t i = 0; i < d->rows; i++) {
		const double *p = &predicted->at[i * predicted->cols];

		if (d->type[i] != type)
			continue;
		rows += 1.0;
		for (size_t k = 0; k < BLEND_ADDITIVE; k++) {
			for (size_t part = 0; part < BLEND_PARTS; part++) {
				double stumps = (double)part / BLEND_PARTS;

				sum[k * BLEND_PARTS + part] +=
				    relative_error((1.0 - stumps) * p[k] + stumps * p[BLEND_ADDITIVE], d->log_cost[i]);
			}
		}
		sum[BLEND_CANDIDATES - 1] += relative_error(p[BLEND_ADDITIVE], d->log_cost[i]);
	}
	for (size_t c = 0; c < BLEND_CANDIDATES; c++)
		sum[c] /= rows;
}

static void add_candidate_error(const double *one, double weight, double *error)
{
	for (size_t c = 0; c < BLEND_CANDIDATES; c++)
		error[c] += weight * one[c];
}

static void candidates_weigh(const double *error, double types, struct blend_choice *choice)
{
	double least = error[0], sum = 0.0, additive = 0.0;

	for (size_t c = 1; c < BLEND_CANDIDATES; c++)
		least = fmin(least, error[c]);
	for (size_t c = 0; c < BLEND_CANDIDATES; c++) {
		choice->weight[c] = exp(-types * log((error[c] + ERROR_FLOOR) / (least + ERROR_FLOOR)));
		sum += choice->weight[c];
	}
	for (size_t c = 0; c < BLEND_CANDIDATES; c++) {
		double stumps = c + 1 == BLEND_CANDIDATES ? 1.0 : (double)(c % BLEND_PARTS) / BLEND_PARTS;

		choice->weight[c] /= sum;
		choice->stumps += choice->weight[c] * stumps;
		if (c + 1 < BLEND_CANDIDATES)
			choice->additive[c / BLEND_PARTS] += choice->weight[c] * (1.0 - stumps);
		additive += choice->weight[c] * (1.0 - stumps);
	}
	for (size_t k = 0; k < BLEND_ADDITIVE; k++) /* shares need weights of additive models, even if only stumps have weight */
		choice->additive[k] = additive > 1e-9 ? choice->additive[k] / additive : 1.0 / BLEND_ADDITIVE;
}

void blend_choose(const struct blend_data *d, const double *count, struct blend_choice *out)
{
	struct mat predicted = mat_new(d->rows, BLEND_ADDITIVE + 1);
	double *without = mem_new(d->types, sizeof(*without)), error[BLEND_CANDIDATES] = { 0 }, one[BLEND_CANDIDATES];
	double total = 0.0, types = 0.0;
	struct blend_choice choice = { .stumps = 0.0 };

	memcpy(without, count, d->types * sizeof(*count));
	for (size_t t = 0; t < d->types; t++) {
		total += count[t];
		types += count[t] > 0 ? 1.0 : 0.0;
	}
	ASSAY_BUG_IF(types < 3);
	for (size_t t = 0; t < d->types; t++) {
		if (!(count[t] > 0))
			continue;
		without[t] = 0.0;
		predict_excluded(d, without, &predicted);
		without[t] = count[t];
		candidates_errors(d, t, &predicted, one);
		add_candidate_error(one, count[t] / total, error);
	}
	candidates_weigh(error, types, &choice);
	free(without);
	mat_release(&predicted);
	*out = choice;
}

/* ---- the blend ---- */

void blend_fit(const struct blend_data *d, const double *count, const struct blend_choice *choice, struct blend *out)
{
	struct blend b = { .choice = *choice };

	additive_fit(&d->sums, count, ADDITIVE_SIZE_MAX, &b.additive);
	additive_weigh(&b.additive, blend_grid, choice->additive, BLEND_ADDITIVE);
	stumps_fit(&d->features, d->type_cost, count, &b.stumps);
	*out = b;
}

void blend_release(struct blend *b)
{
	additive_release(&b->additive);
	stumps_release(&b->stumps);
	*b = (struct blend){ 0 };
}

double blend_predict(const struct blend *b, const double *logs)
{
	return (1.0 - b->choice.stumps) * additive_predict(&b->additive, logs) + b->choice.stumps * stumps_predict(&b->stumps, logs);
}

/* ---- validation ---- */

/* State of the nested validation. To judge type `a`, each candidate's weight depends on its errors on each other type `b`, with both types
 * held out. The same fit is used to judge `b`, so that each pair of types is fitted once. */
struct validation_state {
	const struct blend_data *data;
	struct blend_validation *out;
	double *errors; /* [types x types x BLEND_CANDIDATES] errors by judged type, then by the type on which the error was measured */
};

static double *leave_two_out_errors(const struct validation_state *v, size_t judged, size_t beside)
{
	return &v->errors[(judged * v->data->types + beside) * BLEND_CANDIDATES];
}

static double *count_weights_excluding(size_t types, size_t a, size_t b)
{
	double *count = mem_new(types, sizeof(*count));

	for (size_t t = 0; t < types; t++)
		count[t] = t == a || t == b ? 0.0 : 1.0;
	return count;
}

/* Computes the errors of one pair of types (a, b), a < b. The pairs are numbered by b, then by a. */
static void validating_pair(void *context, size_t pair)
{
	const struct validation_state *v = context;
	const struct blend_data *d = v->data;
	struct mat predicted = mat_new(d->rows, BLEND_ADDITIVE + 1);
	double *count;
	size_t b = 1;

	while (pair >= b)
		pair -= b++;
	count = count_weights_excluding(d->types, pair, b);
	predict_excluded(d, count, &predicted);
	candidates_errors(d, b, &predicted, leave_two_out_errors(v, pair, b));
	candidates_errors(d, pair, &predicted, leave_two_out_errors(v, b, pair));
	free(count);
	mat_release(&predicted);
}

static void validate_excluding_type(void *context, size_t left)
{
	struct validation_state *v = context;
	const struct blend_data *d = v->data;
	double *count = count_weights_excluding(d->types, left, left), error[BLEND_CANDIDATES] = { 0 }, rows = 0.0, sum = 0.0;
	double others = (double)d->types - 1.0;
	struct blend blend;

	for (size_t t = 0; t < d->types; t++) {
		if (t != left)
			add_candidate_error(leave_two_out_errors(v, left, t), 1.0 / others, error);
	}
	candidates_weigh(error, others, &v->out->choices[left]);
	blend_fit(d, count, &v->out->choices[left], &blend);
	for (size_t i = 0; i < d->rows; i++) {
		if (d->type[i] != left)
			continue;
		v->out->predicted[i] = blend_predict(&blend, blend_logs(d, i));
		sum += relative_error(v->out->predicted[i], d->log_cost[i]);
		rows += 1.0;
	}
	v->out->type_error[left] = sum / rows;
	blend_release(&blend);
	free(count);
}

static double grouped_q2(const struct blend_data *d, const double *predicted)
{
	double all = stats_mean(d->type_cost, d->types) * (double)d->types, n = (double)d->types - 1.0, missed = 0.0, spread = 0.0;
	double *rows = mem_new(d->types, sizeof(*rows));

	for (size_t i = 0; i < d->rows; i++)
		rows[d->type[i]] += 1.0;
	for (size_t i = 0; i < d->rows; i++) {
		double others = (all - d->type_cost[d->type[i]]) / n, a = d->log_cost[i] - predicted[i], b = d->log_cost[i] - others;

		missed += a * a / rows[d->type[i]];
		spread += b * b / rows[d->type[i]];
	}
	free(rows);
	return spread > 0.0 ? 1.0 - missed / spread : 0.0;
}

void blend_validate(const struct blend_data *d, size_t threads, struct blend_validation *out)
{
	struct blend_validation v = { .predicted = mem_new(d->rows, sizeof(double)),
				      .type_error = mem_new(d->types, sizeof(double)),
				      .choices = mem_new(d->types, sizeof(struct blend_choice)) };
	struct validation_state state = { .data = d, .out = &v };

	ASSAY_BUG_IF(d->types < 4);
	state.errors = mem_new(d->types * d->types * BLEND_CANDIDATES, sizeof(double));
	parallel_for(d->types * (d->types - 1) / 2, threads, validating_pair, &state);
	parallel_for(d->types, threads, validate_excluding_type, &state);
	free(state.errors);
	v.mape = stats_mean(v.type_error, d->types);
	v.q2 = grouped_q2(d, v.predicted);
	*out = v;
}

void blend_validation_release(struct blend_validation *v)
{
	mem_free(v->predicted, v->type_error, v->choices);
	*v = (struct blend_validation){ 0 };
}
