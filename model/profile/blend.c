#include "model/profile/blend.h"

#include "base/error.h"
#include "base/mem.h"
#include "base/stats.h"
#include "model/parallel.h"

#include <math.h>
#include <string.h>

#define ERROR_FLOOR .005 /* relative error below which candidates are equally good */
#define LOG_MAX     50.0 /* of a ratio: what is further off is infinitely wrong, but finite */

const struct additive_options blend_grid[BLEND_ADDITIVE] = {{2, .5}, {2, 1.0}, {ADDITIVE_SIZE_MAX, .5}, {ADDITIVE_SIZE_MAX, 1.0}};

/* ---- data ---- */

void blend_data_of(const struct mat *rates, const double *cost, const size_t *type, size_t types, struct blend_data *out)
{
	struct blend_data d = { .rows = rates->rows, .types = types };
	double *rows = mem_new(types, sizeof(*rows));

	features_of(rates, type, types, &d.features);
	additive_sums_of(&d.features, cost, type, &d.sums);
	d.log_cost = mem_new(d.rows, sizeof(*d.log_cost));
	d.type_cost = mem_new(types, sizeof(*d.type_cost));
	d.type = mem_new(d.rows, sizeof(*d.type));
	memcpy(d.type, type, d.rows * sizeof(*type));
	for (size_t i = 0; i < d.rows; i++) {
		/* As the sums have it, so that a rescaled unit changes nothing but the scale. */
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
	free(d->log_cost);
	free(d->type_cost);
	free(d->type);
	*d = (struct blend_data){ 0 };
}

static const double *logs_of(const struct blend_data *d, size_t row)
{
	return &d->features.logs.at[row * d->features.n];
}

/* ---- one type left out ---- */

static double relative_error(double predicted, double measured)
{
	return fabs(expm1(fmin(predicted - measured, LOG_MAX)));
}

/* Predictions of the rows of all types that do not count, by the additive grid and the stumps that were fitted to the others,
 * [BLEND_ADDITIVE + 1] a row. */
static void predict_left_out(const struct blend_data *d, const double *count, struct mat *out)
{
	struct additive additive;
	struct stumps stumps;

	additive_fit(&d->sums, count, ADDITIVE_SIZE_MAX, &additive);
	stumps_fit(&d->features, d->type_cost, count, &stumps);
	for (size_t k = 0; k < BLEND_ADDITIVE; k++) {
		additive_weigh(&additive, &blend_grid[k], &(double){ 1.0 }, 1);
		for (size_t i = 0; i < d->rows; i++) {
			if (!(count[d->type[i]] > 0))
				mat_set(out, i, k, additive_predict(&additive, logs_of(d, i)));
		}
	}
	for (size_t i = 0; i < d->rows; i++) {
		if (!(count[d->type[i]] > 0))
			mat_set(out, i, BLEND_ADDITIVE, stumps_predict(&stumps, logs_of(d, i)));
	}
	additive_release(&additive);
	stumps_release(&stumps);
}

/* sum [BLEND_CANDIDATES], overwritten: the mean relative error of every candidate over the rows of a type. */
static void errors_of(const struct blend_data *d, size_t type, const struct mat *predicted, double *sum)
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

static void add_errors(const double *one, double weight, double *error)
{
	for (size_t c = 0; c < BLEND_CANDIDATES; c++)
		error[c] += weight * one[c];
}

static void weigh_candidates(const double *error, double types, struct blend_choice *choice)
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
	for (size_t k = 0; k < BLEND_ADDITIVE; k++) /* where the stumps take all, the additive part is still asked for shares */
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
		predict_left_out(d, without, &predicted);
		without[t] = count[t];
		errors_of(d, t, &predicted, one);
		add_errors(one, count[t] / total, error);
	}
	weigh_candidates(error, types, &choice);
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
	return (1.0 - b->choice.stumps) * additive_predict(&b->additive, logs) +
	       b->choice.stumps * stumps_predict(&b->stumps, logs);
}

/* ---- validation ---- */

/* Nested: who judges type `a` chooses among the candidates by what they make of each `b` when neither has been seen. That fit also
 * says what is made of `a` when it is `b` that is judged, so that each pair is fitted once. */
struct validating {
	const struct blend_data *data;
	struct blend_validation *out;
	double *errors; /* [types x types x BLEND_CANDIDATES]: judged, left out beside it */
};

static double *errors_at(const struct validating *v, size_t judged, size_t beside)
{
	return &v->errors[(judged * v->data->types + beside) * BLEND_CANDIDATES];
}

static double *counts_without(size_t types, size_t a, size_t b)
{
	double *count = mem_new(types, sizeof(*count));

	for (size_t t = 0; t < types; t++)
		count[t] = t == a || t == b ? 0.0 : 1.0;
	return count;
}

/* Pairs (a, b), a < b, numbered by b, then a. */
static void validate_pair(void *context, size_t pair)
{
	const struct validating *v = context;
	const struct blend_data *d = v->data;
	struct mat predicted = mat_new(d->rows, BLEND_ADDITIVE + 1);
	double *count;
	size_t b = 1;

	while (pair >= b)
		pair -= b++;
	count = counts_without(d->types, pair, b);
	predict_left_out(d, count, &predicted);
	errors_of(d, b, &predicted, errors_at(v, pair, b));
	errors_of(d, pair, &predicted, errors_at(v, b, pair));
	free(count);
	mat_release(&predicted);
}

static void validate_without(void *context, size_t left)
{
	struct validating *v = context;
	const struct blend_data *d = v->data;
	double *count = counts_without(d->types, left, left), error[BLEND_CANDIDATES] = { 0 }, rows = 0.0, sum = 0.0;
	double others = (double)d->types - 1.0;
	struct blend blend;

	for (size_t t = 0; t < d->types; t++) {
		if (t != left)
			add_errors(errors_at(v, left, t), 1.0 / others, error);
	}
	weigh_candidates(error, others, &v->out->choices[left]);
	blend_fit(d, count, &v->out->choices[left], &blend);
	for (size_t i = 0; i < d->rows; i++) {
		if (d->type[i] != left)
			continue;
		v->out->predicted[i] = blend_predict(&blend, logs_of(d, i));
		sum += relative_error(v->out->predicted[i], d->log_cost[i]);
		rows += 1.0;
	}
	v->out->type_error[left] = sum / rows;
	blend_release(&blend);
	free(count);
}

static double grouped_q2(const struct blend_data *d, const double *predicted)
{
	double all = stats_mean(d->type_cost, d->types) * (double)d->types, n = (double)d->types - 1.0, missed = 0.0,
	       spread = 0.0;
	double *rows = mem_new(d->types, sizeof(*rows));

	for (size_t i = 0; i < d->rows; i++)
		rows[d->type[i]] += 1.0;
	for (size_t i = 0; i < d->rows; i++) {
		double others = (all - d->type_cost[d->type[i]]) / n, a = d->log_cost[i] - predicted[i],
		       b = d->log_cost[i] - others;

		missed += a * a / rows[d->type[i]];
		spread += b * b / rows[d->type[i]];
	}
	free(rows);
	return spread > 0.0 ? 1.0 - missed / spread : 0.0;
}

void blend_validate(const struct blend_data *d, size_t threads, struct blend_validation *out)
{
	struct blend_validation v = {.predicted = mem_new(d->rows, sizeof(double)),
	                             .type_error = mem_new(d->types, sizeof(double)),
	                             .choices = mem_new(d->types, sizeof(struct blend_choice))};
	struct validating state = { .data = d, .out = &v };

	ASSAY_BUG_IF(d->types < 4);
	state.errors = mem_new(d->types * d->types * BLEND_CANDIDATES, sizeof(double));
	parallel_for(d->types * (d->types - 1) / 2, threads, validate_pair, &state);
	parallel_for(d->types, threads, validate_without, &state);
	free(state.errors);
	v.mape = stats_mean(v.type_error, d->types);
	v.q2 = grouped_q2(d, v.predicted);
	*out = v;
}

void blend_validation_release(struct blend_validation *v)
{
	free(v->predicted);
	free(v->type_error);
	free(v->choices);
	*v = (struct blend_validation){ 0 };
}
