#include "gate/cost/cost_drift.h"

#include "base/mem.h"

#include <math.h>
#include <stdlib.h>

/* The sessions of a version on a machine. */
struct sessions {
	double *y[COST_DRIFT_SESSIONS_MAX]; /* [inputs] log of the cost less what is expected, on average; NaN: not run */
	size_t n;
	double alike; /* so many of one size would say as much: (inputs in all)^2 / the sum of squares of theirs */
};

static size_t latest_before(const struct costs *c, size_t before)
{
	size_t latest = 0;

	for (size_t i = 0; i < c->n; i++) {
		for (size_t k = 0; k < c->inputs[i].runs; k++) {
			if (c->inputs[i].session[k] < before && c->inputs[i].session[k] > latest)
				latest = c->inputs[i].session[k];
		}
	}
	return latest;
}

/* Of each input what it cost in this session; returns how many were run. */
static size_t look_at_session(const struct costs *c, size_t session, double *y)
{
	size_t inputs = 0;

	for (size_t i = 0; i < c->n; i++) {
		size_t runs = 0;

		y[i] = 0.0;
		for (size_t k = 0; k < c->inputs[i].runs; k++) {
			if (c->inputs[i].session[k] == session) {
				y[i] += log(c->inputs[i].cost[k]);
				runs++;
			}
		}
		y[i] = runs ? y[i] / (double)runs : (double)NAN;
		inputs += runs > 0;
	}
	return inputs;
}

static void sessions_of(const struct costs *c, struct sessions *out)
{
	double sum = 0.0, squares = 0.0;

	*out = (struct sessions){ .n = 0 };
	for (size_t at = SIZE_MAX; (at = latest_before(c, at)) && out->n < COST_DRIFT_SESSIONS_MAX;) {
		double *y = mem_new(c->n, sizeof(*y)), inputs = (double)look_at_session(c, at, y);

		sum += inputs;
		squares += inputs * inputs;
		if (inputs < COST_SIDE_INPUTS_MIN) {
			free(y);
			continue;
		}
		out->y[out->n++] = y;
	}
	out->alike = sum * sum / squares;
}

static void sessions_release(struct sessions *s)
{
	for (size_t i = 0; i < s->n; i++)
		free(s->y[i]);
}

/* Of two sessions, of the inputs that both ran, or of all: expected[n]. */
static double difference(const double *a, const double *b, const double *expected, size_t n)
{
	double common = 0.0, both = 0.0, sum[2] = { 0.0, 0.0 }, inputs[2] = { 0.0, 0.0 };

	for (size_t i = 0; i < n; i++) {
		const double y[2] = { a[i], b[i] };

		if (!isnan(a[i]) && !isnan(b[i])) {
			common++;
			both += a[i] - b[i];
		}
		for (int k = 0; k < 2; k++) {
			sum[k] += isnan(y[k]) ? 0.0 : y[k] - expected[i];
			inputs[k] += !isnan(y[k]);
		}
	}
	return common >= COST_SIDE_INPUTS_MIN ? both / common : sum[0] / inputs[0] - sum[1] / inputs[1];
}

static double variance_between(const struct cost_model *model, const struct sessions *s)
{
	const struct costs *c = &model->costs;
	double *expected = mem_new(c->n, sizeof(*expected)), *part = mem_new(model->all.n, sizeof(*part)), sum = 0.0;

	for (size_t i = 0; i < c->n; i++) {
		cost_fit_row(&model->all, c->X.at + i * c->p, part);
		expected[i] = log(sparse_predict(&model->all.model, part));
	}
	for (size_t j = 0; j < s->n; j++) {
		for (size_t k = 0; k < j; k++)
			sum += pow(difference(s->y[j], s->y[k], expected, c->n), 2);
	}
	mem_free(expected, part);
	return sum / (double)(s->n * (s->n - 1));
}

struct cost_drift cost_drift_of(const struct cost_side *side)
{
	struct cost_drift drift = { .spread = (double)NAN };
	struct sessions old, new;

	if (side->turns.n || side->n < COST_SIDE_INPUTS_MIN)
		return (struct cost_drift){ .sessions = 0 };
	sessions_of(&side->model->costs, &old);
	sessions_of(&side->costs, &new);
	drift.sessions = old.n;
	if (old.n > 1) {
		drift.spread = sqrt(variance_between(side->model, &old));
		drift.error = drift.spread * sqrt(1.0 / old.alike + 1.0 / new.alike);
		drift.df = (double)old.n - 1.0;
	}
	sessions_release(&old);
	sessions_release(&new);
	return drift;
}
