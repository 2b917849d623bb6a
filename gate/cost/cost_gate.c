#include "gate/cost/cost_gate.h"

#include "base/mem.h"
#include "base/order.h"
#include "base/stats.h"
#include "base/text.h"
#include "gate/cost/cost_side.h"
#include "gate/decide/verdict.h"
#include "model/sparse/excess.h"
#include "runs/running/evidence.h"
#include "runs/running/run.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define INPUTS_MAX 12

/* ---- drift between sessions ---- */

/* Versions that did not take turns may differ only because the machine is faster in one session than in another. A session is one `assay
 * run`. The differences between the sessions of one version show how large this drift is. Let d be the mean difference of log costs between
 * two sessions of the baseline. It is taken over the common inputs if there are at least COST_SIDE_INPUTS_MIN. Otherwise it is taken over
 * all inputs, after the model's expectation is subtracted from each. For J sessions, the variance s^2 is the sum of d^2 over all pairs / (J
 * (J - 1)), with J - 1 degrees of freedom. This is the variance of session means in the one-way random-effects model (Cochran, Biometrics
 * 10(1), 1954). The log ratio of a candidate with K sessions to this baseline has the variance s^2 (1 / J + 1 / K), if sessions are
 * weighted by their inputs. Because s includes differences of inputs within sessions, the interval by sessions is not added to the interval
 * by inputs. The wider of the two is used. */
#define SESSIONS_MAX 32

struct drift {
	size_t sessions;  /* number of the baseline's sessions with at least COST_SIDE_INPUTS_MIN inputs; at most the latest SESSIONS_MAX */
	double spread;	  /* s in the comment above; NaN with fewer than two sessions */
	double error, df; /* standard error of log_ratio that follows from `spread`, and its degrees of freedom */
};

/* The sessions of a version on one machine. */
struct sessions {
	double *y[SESSIONS_MAX]; /* [inputs] for each session: mean log cost of each input; NaN if the session did not run it */
	size_t n;
	double alike; /* effective number of sessions: (sum of their inputs)^2 / sum of the squares of their inputs */
};

static size_t find_latest_before(const struct costs *c, size_t before)
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

/* Sets y[c->n] to the mean log cost of each input in this session; NaN if it was not run. Returns the number of inputs that were run. */
static size_t inspect_session(const struct costs *c, size_t session, double *y)
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

static void sessions_collect(const struct costs *c, struct sessions *out)
{
	double sum = 0.0, squares = 0.0;

	*out = (struct sessions){ .n = 0 };
	for (size_t at = SIZE_MAX; (at = find_latest_before(c, at)) && out->n < SESSIONS_MAX;) {
		double *y = mem_new(c->n, sizeof(*y)), inputs = (double)inspect_session(c, at, y);

		if (inputs < COST_SIDE_INPUTS_MIN) {
			free(y);
			continue;
		}
		sum += inputs;
		squares += inputs * inputs;
		out->y[out->n++] = y;
	}
	out->alike = sum * sum / squares;
}

static void sessions_release(struct sessions *s)
{
	for (size_t i = 0; i < s->n; i++)
		free(s->y[i]);
}

/* Returns the mean difference of the log costs of two sessions over their common inputs. If these are too few, takes all inputs and
 * subtracts expected[n] from each. */
static double mean_difference(const double *a, const double *b, const double *expected, size_t n)
{
	double common = 0.0, side_pair = 0.0, sum[2] = { 0.0, 0.0 }, inputs[2] = { 0.0, 0.0 };

	for (size_t i = 0; i < n; i++) {
		const double y[2] = { a[i], b[i] };

		if (!isnan(a[i]) && !isnan(b[i])) {
			common++;
			side_pair += a[i] - b[i];
		}
		for (int k = 0; k < 2; k++) {
			sum[k] += isnan(y[k]) ? 0.0 : y[k] - expected[i];
			inputs[k] += !isnan(y[k]);
		}
	}
	return common >= COST_SIDE_INPUTS_MIN ? side_pair / common : sum[0] / inputs[0] - sum[1] / inputs[1];
}

static double variance_between(const struct cost_model *model, const struct sessions *s)
{
	const struct costs *c = &model->costs;
	double *expected = mem_new(c->n, sizeof(*expected)), *part = mem_new(model->all.n, sizeof(*part)), sum = 0.0;

	for (size_t i = 0; i < c->n; i++) {
		cost_fit_extract_row(&model->all, c->X.at + i * c->p, part);
		expected[i] = log(sparse_predict(&model->all.model, part));
	}
	for (size_t j = 0; j < s->n; j++) {
		for (size_t k = 0; k < j; k++)
			sum += pow(mean_difference(s->y[j], s->y[k], expected, c->n), 2);
	}
	mem_free(expected, part);
	return sum / (double)(s->n * (s->n - 1));
}

/* Returns the drift between sessions. It is zero if the versions took turns, or if too few inputs count. */
static struct drift drift_find(const struct cost_side *side)
{
	struct drift drift = { .spread = (double)NAN };
	struct sessions old, new;

	if (side->paired_costs.n || side->n < COST_SIDE_INPUTS_MIN)
		return (struct drift){ .sessions = 0 };
	sessions_collect(&side->model->costs, &old);
	sessions_collect(&side->costs, &new);
	drift.sessions = old.n;
	if (old.n > 1 && new.n) {
		drift.spread = sqrt(variance_between(side->model, &old));
		drift.error = drift.spread * sqrt(1.0 / old.alike + 1.0 / new.alike);
		drift.df = (double)old.n - 1.0;
	}
	sessions_release(&old);
	sessions_release(&new);
	return drift;
}

struct side {
	struct cost_model model;     /* model of the baseline */
	struct cost_side comparison; /* comparison of the candidate with the model */
	struct drift drift;
	const char *architecture; /* borrowed; NULL if not known */
};

static enum assay_status side_load_costs(struct lab *lab, const struct cost_request *asked, const char *candidate, const char *machine,
					 struct side *s, struct assay_error *err)
{
	struct cost_request old = *asked;
	struct costs_request new = asked->costs;
	enum assay_status st;

	old.costs.machine = new.machine = machine;
	new.version = candidate;
	st = cost_model_learn(&lab->store, &old, &s->model, err);
	st = st ? st : cost_side_compare(&lab->store, &s->model, &new, &s->comparison, err);
	if (!st)
		s->drift = drift_find(&s->comparison);
	return st;
}

/* ---- decision over all machines ---- */

struct sides {
	struct side *items; /* [n] the first is the machine with most of the baseline's inputs */
	size_t n;
	bool same_build;		     /* true if both versions are the same build (rules.h), checked for one input that both ran */
	struct verdict_architecture *within; /* [n_within] results per known architecture, or one result if none is known; the first
						decides; machines of unknown architecture count in each */
	size_t n_within;
};

static bool is_of_architecture(const struct side *s, const char *architecture)
{
	return !s->architecture || !architecture || strcmp(s->architecture, architecture) == 0;
}

/* Returns the machine of this architecture on which the baseline ran most inputs. */
static const struct side *find_side_of_architecture(const struct sides *sides, const char *architecture)
{
	const struct side *s = sides->items;

	while (!is_of_architecture(s, architecture))
		s++;
	return s;
}

/* Sets `id` to the id of the version's latest build that ran this input; "" if it is not known. */
static enum assay_status find_build(struct store *store, const struct costs *costs, const char *input, char id[DIGEST_ID_BYTES],
				    struct assay_error *err)
{
	char *application = mem_format("%s%s%s", costs->application, *input ? "/" : "", input);
	enum assay_status st = run_latest_build(store, application, costs->version, id, err);

	free(application);
	return st;
}

static enum assay_status same_build(struct store *store, const struct costs *old, const struct costs *new, bool *same,
				    struct assay_error *err)
{
	char a[DIGEST_ID_BYTES] = "", b[DIGEST_ID_BYTES] = "";
	enum assay_status st = ASSAY_OK;
	size_t i = 0;

	while (i < new->n && costs_find_input(old, new->inputs[i].name) == SIZE_MAX)
		i++;
	if (i < new->n && strcmp(old->version, new->version) != 0) {
		st = find_build(store, old, new->inputs[i].name, a, err);
		st = st ? st : find_build(store, new, new->inputs[i].name, b, err);
	}
	*same = !st && *a && strcmp(a, b) == 0;
	return st;
}

/* Loads and compares the runs on each machine that ran both versions. */
static enum assay_status sides_load(struct lab *lab, const struct evidence *evidence, const struct cost_request *asked,
				    const char *candidate, struct sides *out, struct assay_error *err)
{
	struct costs old = { .application = NULL }, new = { .application = NULL };
	struct costs_request of_new = asked->costs;
	enum assay_status st = costs_load(&lab->store, &asked->costs, &old, err);

	of_new.version = candidate;
	if (!st)
		st = costs_load(&lab->store, &of_new, &new, err);
	out->items = mem_new(old.n_machines, sizeof(*out->items));
	for (size_t i = 0; !st && i < old.n_machines; i++) {
		struct side *s = &out->items[out->n];

		if (!text_is_among(new.machines, new.n_machines, old.machines[i]))
			continue;
		out->n++;
		st = side_load_costs(lab, asked, candidate, old.machines[i], s, err);
		if (!st)
			s->architecture = evidence_architecture(evidence, old.machines[i], s->model.costs.architecture, "");
	}
	if (!st && !out->n)
		st = assay_fail(err, ASSAY_E_NODATA, "no machine ran both %s@%s and %s@%s", old.application, old.version, new.application,
				new.version);
	if (!st)
		st = same_build(&lab->store, &old, &new, &out->same_build, err);
	costs_release(&old);
	costs_release(&new);
	return st;
}

/* Reports whether the decision about the inputs that count holds for all inputs. The inputs that are unlike the learned ones may hide a
 * slowdown, so only few are allowed. A regression holds unless most inputs are unlike. */
static bool is_true_for_all_inputs(const struct side *s, enum decision decision)
{
	double most = decision == DECISION_REGRESSION ? COST_GATE_UNLIKE_SLOWER_MAX : COST_GATE_UNLIKE_MAX;

	return s->comparison.n >= COST_SIDE_INPUTS_MIN &&
	       (double)s->comparison.n_dissimilar <= most * (double)(s->comparison.n + s->comparison.n_dissimilar);
}

/* Reports whether the effect may be a drift of the machine, because the spread of its sessions is not known. */
static bool may_be_drift(const struct side *s)
{
	return s->comparison.n >= COST_SIDE_INPUTS_MIN && isnan(s->drift.spread);
}

/* Widens an interval that holds only for these machines to the interval by the spread of their sessions, if that is wider. Welch and
 * Satterthwaite's formula gives the degrees of freedom. */
static void add_drift_error(const struct effect_pair *pairs, const struct drift *const *drift, size_t n, double min_effect,
			    struct effect *e)
{
	double variance = 0.0, uncertain = 0.0, half;

	for (size_t i = 0; i < n; i++) {
		double alike = 0.0, own;

		for (size_t k = 0; k < n; k++)
			alike += pairs[k].type == pairs[i].type;
		own = pow(drift[i]->error / ((double)e->types * alike), 2);
		variance += own;
		uncertain += own > 0.0 ? own * own / drift[i]->df : 0.0;
	}
	if (!e->within || !(variance > 0.0))
		return;
	half = stats_t_quantile((1.0 + e->level) / 2.0, variance * variance / uncertain) * sqrt(variance);
	e->low = fmin(e->low, e->ratio * exp(-half));
	e->high = fmax(e->high, e->ratio * exp(half));
	e->decision = effect_decide(e->ratio, e->low, e->high, min_effect);
}

static struct verdict_architecture decide_architecture(const struct lab *lab, const struct sides *sides, const char *architecture,
						       double min_effect)
{
	struct effect_pair *pairs = mem_new(sides->n, sizeof(*pairs));
	const struct drift **drift = mem_new(sides->n, sizeof(*drift));
	const char **types = mem_new(sides->n, sizeof(*types));
	struct verdict_architecture out = { .architecture = architecture };
	size_t n_types = 0;
	bool unknown = false;

	for (size_t i = 0; i < sides->n; i++) {
		const struct side *s = &sides->items[i];
		const struct host *host = inventory_find(&lab->config.inventory, s->model.costs.machine);
		const char *type = host && host->type ? host->type : s->model.costs.machine;
		size_t t = 0;

		if (s->comparison.n < COST_SIDE_INPUTS_MIN || !is_of_architecture(s, architecture))
			continue;
		while (t < n_types && strcmp(types[t], type) != 0)
			t++;
		if (t == n_types)
			types[n_types++] = type;
		drift[out.machines] = &s->drift;
		pairs[out.machines] = s->comparison.effect;
		pairs[out.machines++].type = t;
		unknown = unknown || may_be_drift(s);
	}
	out.effect = effect_compute(pairs, out.machines, n_types, &(struct effect_request){ min_effect, EFFECT_LEVEL }, NULL);
	add_drift_error(pairs, drift, out.machines, min_effect, &out.effect);
	if (!is_true_for_all_inputs(find_side_of_architecture(sides, architecture), out.effect.decision))
		out.effect.decision = DECISION_INCONCLUSIVE;
	if (sides->same_build && (out.effect.decision == DECISION_REGRESSION || out.effect.decision == DECISION_IMPROVED))
		out.effect.decision = DECISION_ENVIRONMENT;
	else if (unknown && out.effect.within) /* otherwise the spread over types includes the drift */
		out.effect.decision = DECISION_INCONCLUSIVE;
	mem_free(types, pairs, drift);
	return out;
}

/* Sorts the worst decision first, as in verdict.h. Of equal decisions, the one on more machines comes first. */
static int compare_decisions(const void *a, const void *b)
{
	const struct verdict_architecture *x = a, *y = b;
	int order = decision_rank(x->effect.decision) - decision_rank(y->effect.decision);

	if (!order && x->machines != y->machines)
		return x->machines < y->machines ? 1 : -1;
	return order ? order : strcmp(x->architecture, y->architecture);
}

static void decide_all(const struct lab *lab, struct sides *sides, double min_effect)
{
	size_t n = 0;

	sides->within = mem_new(sides->n, sizeof(*sides->within));
	for (size_t i = 0; i < sides->n; i++) {
		const char *name = sides->items[i].architecture;
		bool there = !name;

		for (size_t k = 0; k < n && !there; k++)
			there = strcmp(sides->within[k].architecture, name) == 0;
		if (!there)
			sides->within[n++] = decide_architecture(lab, sides, name, min_effect);
	}
	if (n == 0)
		sides->within[n++] = decide_architecture(lab, sides, NULL, min_effect);
	order_sort(sides->within, n, compare_decisions);
	sides->n_within = n;
}

/* ---- source places that became slower ---- */

/* Finds the source places where a candidate takes longer than its inputs explain; there may be several. The evidence is the time samples in
 * the runs of both versions (struct cost_source_lines), compared with the baseline model's expectation. In addition, a place must explain
 * which inputs cost more (model/sparse/excess.h). A place is the code between a loop's test and the next loop in the same function, or the
 * code before the first loop. */
#define LISTED_MAX  8
#define NORMAL_MEAN 1.2533 /* standard deviation / mean absolute error of a normal distribution: sqrt(pi / 2) */
#define NOISE_MIN   1e-3   /* minimum relative noise, because no clock is more exact */

struct cost_location {
	const char *function, *file;   /* names of the function, and of the file that contains `line` */
	size_t segment;		       /* index of the segment in struct division */
	unsigned line;		       /* line in the candidate's source with most added time; 0 if not known */
	const char *loop;	       /* feature of the baseline's loop; NULL if not known, or outside of all loops */
	struct sparse_part added_part; /* added cost as a share of the expected cost */
};

struct cost_locations {
	struct cost_location *items; /* [n] sorted by added cost, the largest first, until they explain all added cost */
	size_t n;
	double t, all; /* t quantile for the intervals, corrected for the number of places; added cost of the runs (or places, if larger) */
};

/* The inputs of a candidate that is certainly slower. input[n] are their indexes in candidate->inputs; X [n x fit.n] has their features. */
struct cost_location_query {
	const struct cost_model *model;
	const struct costs *candidate;
	const size_t *input;
	const struct mat *X;
	const double *excess; /* [n] cost above the expectation, as a share of the expectation */
	double more;	      /* mean of `excess` */
};

/* Returns the standard deviation of the costs of single runs, relative to the model's expectation. */
static double cost_noise_deviation(const struct cost_model *model)
{
	return NORMAL_MEAN * fmax(model->all.model.error_mean, NOISE_MIN);
}

/* The inputs of one version that have time samples. */
struct sampled {
	const struct cost_source_lines **places; /* [X.rows] time samples of each input */
	struct mat X;
	double *excess; /* [X.rows] as in struct cost_location_query; 0 for the baseline */
};

static void sampled_release(struct sampled *s)
{
	mem_free(s->places, s->excess);
	mat_release(&s->X);
}

static void sampled_add(struct sampled *s, const struct cost_source_lines *places, const double *row, double excess)
{
	if (!places->runs)
		return;
	memcpy(s->X.at + s->X.rows * s->X.cols, row, s->X.cols * sizeof(*row));
	s->excess[s->X.rows] = excess;
	s->places[s->X.rows++] = places;
}

static struct sampled sampled_shares_new(size_t rows, size_t cols)
{
	struct sampled s = { .places = mem_new(rows, sizeof(*s.places)),
			     .X = mat_new(rows, cols),
			     .excess = mem_new(rows, sizeof(double)) };

	s.X.rows = 0;
	return s;
}

/* Returns the mean time that one sample represents, in seconds. */
static double sample_seconds(const struct sampled *s)
{
	double sum = 0.0;

	for (size_t i = 0; i < s->X.rows; i++)
		sum += s->places[i]->sample / (double)s->X.rows;
	return sum;
}

struct side_pair {
	struct sampled old, new;
	const struct cost_model *model;
};

static struct side_pair side_pair_init(const struct cost_location_query *asked)
{
	const struct costs *costs = &asked->model->costs;
	const struct cost_fit *fit = &asked->model->all;
	struct side_pair side_pair = { .old = sampled_shares_new(costs->n, fit->n),
				       .new = sampled_shares_new(asked->X->rows, fit->n),
				       .model = asked->model };
	double *row = mem_new(fit->n, sizeof(*row));

	for (size_t i = 0; i < costs->n; i++) {
		cost_fit_extract_row(fit, costs->X.at + i * costs->p, row);
		sampled_add(&side_pair.old, &costs->inputs[i].places, row, 0.0);
	}
	for (size_t i = 0; i < asked->X->rows; i++)
		sampled_add(&side_pair.new, &asked->candidate->inputs[asked->input[i]].places, asked->X->at + i * asked->X->cols,
			    asked->excess[i]);
	free(row);
	return side_pair;
}

/* ---- division of functions into segments ---- */

/* A segment: the code between a loop's test and the next loop in the same function. If `line` is 0, the code before the first loop. */
struct segment {
	size_t function;
	unsigned line; /* line of the loop in the baseline's source */
	size_t column; /* column of the model for the loop's feature; SIZE_MAX outside of loops */
};

struct division {
	const char **names; /* [n_names] names of functions, sorted */
	long *moved;	    /* [n_names] line of the function in the candidate's source minus its line in the baseline's */
	size_t n_names;
	struct segment *items; /* [n] sorted by function and line */
	size_t n;
};

static void add_functions(const struct sampled *s, struct division *division, size_t *capacity)
{
	for (size_t i = 0; i < s->X.rows; i++) {
		for (size_t k = 0; k < s->places[i]->n; k++) {
			const char *name = s->places[i]->items[k].function;

			if (k && strcmp(name, s->places[i]->items[k - 1].function) == 0)
				continue;
			mem_append(division->names, division->n_names, capacity, name);
		}
	}
}

/* Returns the line with the function's name; 0 if it is not known. */
static unsigned find_function_line(const struct sampled *s, const char *function)
{
	for (size_t i = 0; i < s->X.rows; i++) {
		for (size_t k = 0; k < s->places[i]->n; k++) {
			if (s->places[i]->items[k].function_line && strcmp(s->places[i]->items[k].function, function) == 0)
				return s->places[i]->items[k].function_line;
		}
	}
	return 0;
}

/* Returns the line of the loop that this feature counts if the loop is in the function; otherwise 0. */
static unsigned find_loop_line(const char *feature, const char *function)
{
	const char *colon, *name;
	size_t n;

	if (strncmp(feature, "loop ", 5) != 0)
		return 0;
	name = strchr(feature + 5, ' ');
	colon = name ? memrchr(feature, ':', (size_t)(name - feature)) : NULL;
	if (!colon)
		return 0;
	n = strlen(++name);
	return strncmp(function, name, n) == 0 && (function[n] == '\0' || function[n] == '(') ? (unsigned)strtoul(colon + 1, NULL, 10) : 0;
}

ORDER_BY(compare_segments, struct segment, BY_ASC(function) BY_ASC(line) BY_ASC(column))

/* Adds all segments of a function. If several loops start in one line, adds only the first. */
static void add_segments(const struct side_pair *side_pair, size_t function, struct division *division, size_t *capacity)
{
	const struct cost_fit *fit = &side_pair->model->all;
	size_t first = division->n, kept = division->n + 1;

	mem_append(division->items, division->n, capacity, (struct segment){ function, 0, SIZE_MAX });
	for (size_t j = 0; j < fit->n; j++) {
		unsigned line = find_loop_line(side_pair->model->costs.names[fit->column[j]], division->names[function]);

		if (!line)
			continue;
		mem_append(division->items, division->n, capacity, (struct segment){ function, line, j });
	}
	qsort(division->items + first, division->n - first, sizeof(*division->items), compare_segments);
	for (size_t k = first + 1; k < division->n; k++) {
		if (division->items[k].line != division->items[kept - 1].line)
			division->items[kept++] = division->items[k];
	}
	division->n = kept;
}

static struct division division_build(const struct side_pair *side_pair)
{
	struct division d = { .n = 0 };
	size_t capacity = 0, kept = 0;

	add_functions(&side_pair->old, &d, &capacity);
	add_functions(&side_pair->new, &d, &capacity);
	order_sort(d.names, d.n_names, text_compare);
	for (size_t i = 0; i < d.n_names; i++) {
		if (!kept || strcmp(d.names[kept - 1], d.names[i]) != 0)
			d.names[kept++] = d.names[i];
	}
	d.n_names = kept;
	d.moved = mem_new(kept, sizeof(*d.moved));
	capacity = 0;
	for (size_t f = 0; f < kept; f++) {
		unsigned old = find_function_line(&side_pair->old, d.names[f]), new = find_function_line(&side_pair->new, d.names[f]);

		d.moved[f] = old && new ? (long)new - (long)old : 0;
		add_segments(side_pair, f, &d, &capacity);
	}
	return d;
}

static size_t segment_find(const struct division *d, const struct cost_source_line *place, bool new)
{
	size_t function =
	    (size_t)((const char **)bsearch(&place->function, d->names, d->n_names, sizeof(*d->names), text_compare) - d->names);
	long line = (long)place->line - (new ? d->moved[function] : 0);
	size_t k = 0;

	while (d->items[k].function < function)
		k++;
	while (place->line && k + 1 < d->n && d->items[k + 1].function == function && (long)d->items[k + 1].line <= line)
		k++;
	return k;
}

/* Returns the sampled time of each input in each segment, in seconds, as a matrix [rows x d->n]. */
static struct mat divide(const struct division *d, const struct sampled *s, bool new)
{
	struct mat part = mat_new(s->X.rows, d->n);

	for (size_t i = 0; i < s->X.rows; i++) {
		for (size_t k = 0; k < s->places[i]->n; k++) {
			part.at[i * part.cols + segment_find(d, &s->places[i]->items[k], new)] += s->places[i]->items[k].seconds;
		}
	}
	return part;
}

/* ---- segments that became slower ---- */

/* Returns the cost [d->n] that each segment adds; free() it. */
static struct sparse_part *parts_compute(const struct side_pair *side_pair, const struct division *d, double noise)
{
	const struct sparse *model = &side_pair->model->all.model;
	struct mat was = divide(d, &side_pair->old, false), is = divide(d, &side_pair->new, true);
	size_t *column = mem_new(d->n, sizeof(*column)), n = side_pair->new.X.rows;
	double all = 0.0;
	struct sparse_part *out = mem_new(d->n, sizeof(*out));

	for (size_t k = 0; k < d->n; k++)
		column[k] = d->items[k].column;
	for (size_t i = 0; i < n; i++)
		all += sparse_predict(model, side_pair->new.X.at + i * side_pair->new.X.cols);
	sparse_parts_compute(model, &(struct sparse_parts){ &side_pair->old.X, &was }, &(struct sparse_parts){ &side_pair->new.X, &is },
			     &(struct sparse_costs){ column, side_pair->new.excess, noise, sample_seconds(&side_pair->new) / all }, out);
	mat_release(&was);
	mat_release(&is);
	free(column);
	return out;
}

/* Returns the sampled time in one line of a segment, numbered as in the baseline's source, as a share of the runs' expected cost. */
static double line_seconds(const struct side_pair *side_pair, const struct division *d, size_t segment, long line, bool new)
{
	const struct sampled *s = new ? &side_pair->new : &side_pair->old;
	double sum = 0.0, all = 0.0;

	for (size_t i = 0; i < s->X.rows; i++) {
		all += sparse_predict(&side_pair->model->all.model, s->X.at + i * s->X.cols);
		for (size_t k = 0; k < s->places[i]->n; k++) {
			const struct cost_source_line *place = &s->places[i]->items[k];

			if ((long)place->line - (new ? d->moved[d->items[segment].function] : 0) == line &&
			    segment_find(d, place, new) == segment)
				sum += place->seconds;
		}
	}
	return sum / all;
}

/* Sets the file and line with most added time in the segment. */
static void find_line(const struct side_pair *side_pair, const struct division *d, size_t segment, struct cost_location *out)
{
	double most = -HUGE_VAL;

	for (size_t i = 0; i < side_pair->new.X.rows; i++) {
		for (size_t k = 0; k < side_pair->new.places[i]->n; k++) {
			const struct cost_source_line *place = &side_pair->new.places[i]->items[k];
			long line = (long)place->line - d->moved[d->items[segment].function];
			double more;

			if (!place->line || place->line == out->line || segment_find(d, place, true) != segment)
				continue;
			more = line_seconds(side_pair, d, segment, line, true) - line_seconds(side_pair, d, segment, line, false);
			if (more <= most)
				continue;
			most = more;
			out->file = place->file;
			out->line = place->line;
		}
	}
}

ORDER_BY(places_by_adds, struct cost_location, BY_DESC(added_part.added_share) BY_TEXT(function) BY_ASC(segment))

/* Lists the places by added cost, the largest first, until they explain the added cost of the runs. */
static void find_places(const struct side_pair *side_pair, const struct cost_location_query *asked, struct cost_locations *out)
{
	const struct cost_model *model = side_pair->model;
	struct division d = division_build(side_pair);
	struct sparse_part *parts = parts_compute(side_pair, &d, cost_noise_deviation(model));
	double sum = 0.0;

	out->items = mem_new(d.n, sizeof(*out->items));
	for (size_t k = 0; k < d.n; k++)
		out->items[k] = (struct cost_location){ .function = d.names[d.items[k].function], .added_part = parts[k], .segment = k };
	qsort(out->items, d.n, sizeof(*out->items), places_by_adds);
	out->t = stats_t_quantile(1.0 - .025 / fmax(1.0, (double)d.n),
				  (double)(side_pair->new.X.rows - 1)); /* corrected for the number of places */
	while (out->n < d.n && out->n < LISTED_MAX && sum < asked->more && out->items[out->n].added_part.added_share > 0.0) {
		struct cost_location *place = &out->items[out->n++];

		sum += place->added_part.added_share;
		if (d.items[place->segment].column != SIZE_MAX)
			place->loop = cost_fit_column_name(model, &model->all, d.items[place->segment].column);
		find_line(side_pair, &d, place->segment, place);
	}
	out->all = fmax(sum, asked->more);
	free(parts);
	mem_free(d.names, d.moved, d.items);
}

/* Finds the slower places. Finds none if too few inputs of either version have samples. All names are borrowed from the arguments; the
 * caller frees out->items. */
static void cost_places_find(const struct cost_location_query *asked, struct cost_locations *out)
{
	struct side_pair side_pair = side_pair_init(asked);

	*out = (struct cost_locations){ .n = 0 };
	if (side_pair.old.X.rows >= COST_SIDE_INPUTS_MIN && side_pair.new.X.rows >= COST_SIDE_INPUTS_MIN)
		find_places(&side_pair, asked, out);
	sampled_release(&side_pair.old);
	sampled_release(&side_pair.new);
}

/* Reports whether the added cost is significantly above 0, corrected for the number of places. */
static bool is_certain(const struct cost_locations *where, const struct cost_location *place)
{
	return place->added_part.added_share > where->t * place->added_part.error;
}

static void write_place(const struct cost_location *place, struct buf *out)
{
	buf_format(out, "%s, which adds %.1f %% to the expected cost", place->function, 100 * place->added_part.added_share);
	if (place->loop) {
		buf_text(out, ", in ");
		cost_feature_text(place->loop, out);
	}
	if (place->line)
		buf_format(out, " (the line is %s:%u)", place->file, place->line);
}

static void write_places(const struct cost_locations *where, struct document *d)
{
	size_t said = 0;

	for (size_t i = 0; i < where->n; i++) {
		struct buf words = BUF_INIT;

		if (!is_certain(where, &where->items[i]))
			continue;
		write_place(&where->items[i], &words);
		doc_line(d, "%s %s", said++ ? "and in" : "slower in", words.bytes);
		buf_release(&words);
	}
	if (where->n && !said)
		doc_line(d, "the place is not certain: more or longer runs give more samples");
}

static void cost_places_answer(const struct cost_locations *where, struct document *d)
{
	write_places(where, d);
	if (where->n)
		doc_heading(d, "Where it became slower, from samples and from the inputs that cost more");
	doc_table(d, "slower_at");
	for (size_t i = 0; i < where->n; i++) {
		const struct cost_location *place = &where->items[i];
		char *line = place->line ? mem_format("%s:%u", place->file, place->line) : NULL;
		double low = fmax(place->added_part.added_share - where->t * place->added_part.error, 0.0),
		       high = fmax(fmin(place->added_part.added_share + where->t * place->added_part.error, where->all),
				   place->added_part.added_share);

		doc_row(d);
		doc_show(d, "function", "function", place->function);
		doc_showf(d, "adds", "adds", place->added_part.added_share, "%.1f %%", 100 * place->added_part.added_share);
		doc_showf(d, "low", "from", low, "%.1f %%", 100 * low);
		doc_showf(d, "high", "to", high, "%.1f %%", 100 * high);
		doc_set_bool(d, "certain", is_certain(where, place));
		doc_show(d, "line", "line", line ? line : "");
		doc_show(d, "loop", "loop", place->loop ? place->loop : "");
		free(line);
	}
	doc_end(d);
}

/* ---- terms that became slower ---- */

struct slower_term {
	const struct sparse_term *term;
	struct sparse_part added_part;
};

ORDER_BY(by_adds, struct slower_term, BY_DESC(added_part.added_share) BY_ASC(term))

/* Adds a row for each term with added cost, the largest first, until the terms explain `more`, the added cost of the runs. */
static void add_terms(const struct side *s, const struct mat *X, const double *excess, double more, struct document *d)
{
	const struct sparse *model = &s->model.all.model;
	struct sparse_part *parts = mem_new(model->terms + 1, sizeof(*parts));
	struct slower_term *terms = mem_new(model->terms, sizeof(*terms));
	double t = stats_t_quantile(1.0 - .025 / fmax(1.0, (double)model->terms), (double)s->comparison.n - 1.0), sum = 0.0;

	sparse_terms_compute(model, X, excess, cost_noise_deviation(&s->model), parts);
	for (size_t k = 0; k < model->terms; k++)
		terms[k] = (struct slower_term){ &model->term[k], parts[k + 1] };
	order_sort(terms, model->terms, by_adds);
	for (size_t k = 0; k < model->terms && sum < more && terms[k].added_part.added_share > 0.0; k++) {
		const struct sparse_part *of = &terms[k].added_part;
		double slower = of->added_share / of->was, low = fmax(0.0, slower - t * of->error / of->was),
		       high = slower + t * of->error / of->was;
		struct buf words = BUF_INIT;

		sum += of->added_share;
		cost_term_text(&s->model, &s->model.all, terms[k].term, &words);
		doc_row(d);
		doc_show(d, "term", "term", words.bytes);
		doc_showf(d, "adds", "adds", of->added_share, "%.1f %%", 100 * of->added_share);
		doc_showf(d, "slower", "slower by", slower, "%.1f %%", 100 * slower);
		doc_showf(d, "low", "from", low, "%.1f %%", 100 * low);
		doc_showf(d, "high", "to", high, "%.1f %%", 100 * high);
		buf_release(&words);
	}
	mem_free(parts, terms);
}

/* Reports whether the candidate is certainly slower. If not, terms and places would only explain noise. */
static bool is_slower(const struct side *s, bool within)
{
	double half = stats_t_quantile(.975, s->comparison.effect.noise_df) * s->comparison.effect.noise;

	if (within && s->drift.df > 0.0)
		half = fmax(half, stats_t_quantile(.975, s->drift.df) * s->drift.error);
	return !(within && may_be_drift(s)) && s->comparison.effect.log_ratio > half;
}

static void add_slower(const struct side *s, bool within, struct document *d)
{
	bool slower = is_slower(s, within);
	struct mat X = cost_side_rows(&s->comparison);
	double *excess = mem_new(s->comparison.n, sizeof(*excess)), more = exp(s->comparison.effect.log_ratio) - 1.0;
	struct cost_locations where = { .n = 0 };

	for (size_t i = 0; i < s->comparison.n; i++)
		excess[i] = exp(s->comparison.ratio[i] - s->comparison.usual) - 1.0;
	if (slower)
		cost_places_find(&(struct cost_location_query){ &s->model, &s->comparison.costs, s->comparison.input, &X, excess, more },
				 &where);
	cost_places_answer(&where, d);
	if (slower)
		doc_heading(d, "Which terms became slower, from the inputs that cost more");
	doc_table(d, "slower");
	if (slower)
		add_terms(s, &X, excess, more, d);
	doc_end(d);
	mat_release(&X);
	mem_free(excess, where.items);
}

/* ---- more work ---- */

/* Adds the ratio of the costs that the model expects for the candidate's and for the baseline's inputs, in total and per term. */
static void add_work(const struct side *s, struct document *d)
{
	const struct cost_fit *fit = &s->model.all;
	const struct costs *old = &s->model.costs;
	struct mat new = cost_side_rows(&s->comparison);
	double *part = mem_new(fit->n, sizeof(*part)), *was = mem_new(old->n, sizeof(*was)), *is = mem_new(s->comparison.n, sizeof(*is)),
	       was_error, is_error, by, t;

	for (size_t i = 0; i < old->n; i++) {
		cost_fit_extract_row(fit, old->X.at + i * old->p, part);
		was[i] = log(sparse_predict(&fit->model, part));
	}
	for (size_t i = 0; i < s->comparison.n; i++)
		is[i] = log(s->comparison.expected[i]);
	was_error = stats_sd(was, old->n) / sqrt((double)old->n);
	is_error = stats_sd(is, s->comparison.n) / sqrt((double)s->comparison.n);
	by = stats_mean(is, s->comparison.n) - stats_mean(was, old->n);
	t = stats_t_quantile(.975, (double)(s->comparison.n < old->n ? s->comparison.n : old->n) - 1.0) * hypot(was_error, is_error);
	doc_object(d, "work");
	doc_set(d, "ratio", exp(by));
	doc_set(d, "low", exp(by - t));
	doc_set(d, "high", exp(by + t));
	doc_end(d);
	doc_line(d, "%s work: the candidate's inputs should cost %.3f times as much as the baseline's (%.3f to %.3f)",
		 by >= 0.0 ? "more" : "less", exp(by), exp(by - t), exp(by + t));
	doc_table(d, "work_by_term");
	for (size_t k = 0; k < fit->model.terms; k++) {
		struct buf words = BUF_INIT;
		double before = 0.0, now = 0.0;

		for (size_t i = 0; i < old->n; i++) {
			cost_fit_extract_row(fit, old->X.at + i * old->p, part);
			before += sparse_term_cost(&fit->model.term[k], part) / (double)old->n;
		}
		for (size_t i = 0; i < s->comparison.n; i++)
			now += sparse_term_cost(&fit->model.term[k], new.at + i *new.cols) / (double)s->comparison.n;
		cost_term_text(&s->model, fit, &fit->model.term[k], &words);
		doc_row(d);
		doc_show(d, "term", "term", words.bytes);
		doc_showf(d, "baseline", "baseline", before, "%s", cost_quantity(old->kind, before).text);
		doc_showf(d, "candidate", "candidate", now, "%s", cost_quantity(old->kind, now).text);
		doc_showf(d, "more", "more work", now - before, "%s", cost_quantity(old->kind, now - before).text);
		buf_release(&words);
	}
	doc_end(d);
	mat_release(&new);
	mem_free(part, was, is);
}

/* ---- document ---- */

/* Returns a machine on which the versions did not take turns, preferably one with unknown drift; NULL if there is none. */
static const struct side *find_not_interleaved(const struct sides *sides)
{
	const struct side *found = NULL;

	for (size_t i = 0; i < sides->n; i++) {
		const struct side *s = &sides->items[i];

		if (is_of_architecture(s, sides->within->architecture) && !s->comparison.paired_costs.n &&
		    (!found || (may_be_drift(s) && !may_be_drift(found))))
			found = s;
	}
	return found;
}

static void add_not_interleaved(const struct side *s, bool within, struct document *d)
{
	const char *old = s->model.costs.version, *new = s->comparison.costs.version, *application = s->model.costs.application;
	char *versions = mem_format("%s,%s", old, new);
	char *command = text_format_command((const char *const[]){ "run", application, "--versions", versions, NULL }), *text;
	bool unknown = within && may_be_drift(s);

	if (unknown)
		text = mem_format("the versions did not take turns on '%s', where '%s' has only one session: the variation between "
				  "sessions is not known, so the version may not be the cause (%s runs both with the same inputs in turn)",
				  s->model.costs.machine, old, command);
	else if (s->drift.sessions > 1)
		text = mem_format("the versions did not take turns on '%s': the %zu sessions of '%s' there differ by %.1f %% (standard "
				  "deviation), and '%s' may differ from them by as much (%s runs both with the same inputs in turn)",
				  s->model.costs.machine, s->drift.sessions, old, 100 * expm1(s->drift.spread), new, command);
	else
		text = mem_format("the versions did not take turns on '%s': a change of the machine in between looks like a change of the "
				  "version (%s runs both with the same inputs in turn)",
				  s->model.costs.machine, command);
	doc_reason(d, unknown ? "one_session" : "not_interleaved", text);
	mem_free(text, command, versions);
}

static void add_reasons(const struct sides *sides, double min_effect, struct document *d)
{
	const struct side *s = find_side_of_architecture(sides, sides->within->architecture), *apart = find_not_interleaved(sides);
	const struct effect *e = &sides->within->effect;
	char *text;

	doc_list(d, "reasons");
	if (sides->n_within > 1) {
		text = verdict_architectures_text(sides->within, sides->n_within);
		doc_reason(d, VERDICT_ARCHITECTURES, text);
		free(text);
	}
	if (s->comparison.n_dissimilar) {
		bool too_many = e->decision == DECISION_INCONCLUSIVE && !is_true_for_all_inputs(s, DECISION_INCONCLUSIVE);

		text = mem_format("%zu of %zu inputs of the candidate are unlike all inputs of the baseline ('%s' is outside the learned "
				  "range), and are excluded%s",
				  s->comparison.n_dissimilar, s->comparison.n_dissimilar + s->comparison.n,
				  cost_fit_column_name(&s->model, &s->model.all, s->comparison.unlike_column),
				  too_many ? ": too many for a decision about all inputs; run them with the baseline, too" : "");
		doc_reason(d, "unlike_inputs", text);
		free(text);
	}
	if (e->decision == DECISION_ENVIRONMENT)
		doc_reason(d, rule_code(RULE_SAME_BUILD), rule_text(RULE_SAME_BUILD));
	if (s->comparison.n < COST_SIDE_INPUTS_MIN)
		text = mem_format("%zu inputs can be compared; at least %d are needed", s->comparison.n, COST_SIDE_INPUTS_MIN);
	else
		text = mem_format(
		    "the same work costs %.4f times as much (95 %% interval %.4f to %.4f); the smallest effect that matters is %g",
		    e->ratio, e->low, e->high, 1.0 + min_effect);
	doc_reason(d, "same_work", text);
	free(text);
	doc_reason(d, s->comparison.paired ? "same_inputs" : "other_inputs",
		   s->comparison.paired ? "both versions ran most inputs, and each input is compared with itself"
					: "the inputs differ, and each is compared with the cost that the baseline's model expects");
	if (apart)
		add_not_interleaved(apart, e->within, d);
	doc_end(d);
}

static void add_side(const char *key, const struct costs *costs, struct document *d)
{
	doc_object(d, key);
	doc_set(d, "application", costs->application);
	doc_set(d, "version", costs->version);
	doc_set(d, "inputs", costs->n);
	doc_end(d);
}

static void add_machines(const struct sides *sides, struct document *d)
{
	doc_table(d, "machines");
	for (size_t i = 0; i < sides->n; i++) {
		const struct side *s = &sides->items[i];
		bool used = s->comparison.n >= COST_SIDE_INPUTS_MIN;

		if (!is_of_architecture(s, sides->within->architecture))
			continue;
		doc_row(d);
		doc_show(d, "machine", "machine", s->model.costs.machine);
		doc_showf(d, "ratio", "same work", used ? exp(s->comparison.effect.log_ratio) : (double)NAN, "%.4f",
			  exp(s->comparison.effect.log_ratio));
		doc_set(d, "noise", used ? s->comparison.effect.noise : (double)NAN);
		doc_set(d, "sessions", s->drift.sessions);
		doc_set(d, "drift", s->drift.spread);
		doc_show(d, "baseline_inputs", "learned", s->model.costs.n);
		doc_show(d, "candidate_inputs", "compared", s->comparison.n);
		doc_show(d, "unlike", "unlike", s->comparison.n_dissimilar);
		doc_showf(d, "error", "model's error", s->model.all.model.error_mean, "%.1f %%", 100 * s->model.all.model.error_mean);
	}
	doc_end(d);
}

ORDER_BY(by_ratio, double, BY_VALUE_DESC)

/* Adds a table of inputs with measured and expected cost, sorted by the ratio of the two, the largest first. */
static void add_inputs(const struct side *s, struct document *d)
{
	double(*order)[2] = mem_new(s->comparison.n, sizeof(*order));
	enum cost_kind of = s->model.costs.kind;

	for (size_t i = 0; i < s->comparison.n; i++) {
		order[i][0] = s->comparison.costs.inputs[s->comparison.input[i]].median / s->comparison.expected[i];
		order[i][1] = (double)i;
	}
	qsort(order, s->comparison.n, sizeof(*order), by_ratio);
	doc_heading(d, "Inputs furthest above their expected cost");
	doc_table(d, "inputs");
	for (size_t k = 0; k < s->comparison.n && k < INPUTS_MAX; k++) {
		size_t i = (size_t)order[k][1];
		double measured = s->comparison.costs.inputs[s->comparison.input[i]].median;

		doc_row(d);
		doc_show(d, "input", "input", s->comparison.costs.inputs[s->comparison.input[i]].name);
		doc_showf(d, "measured", "measured", measured, "%s", cost_quantity(of, measured).text);
		doc_showf(d, "expected", "expected", s->comparison.expected[i], "%s", cost_quantity(of, s->comparison.expected[i]).text);
		doc_showf(d, "ratio", "times", order[k][0], "%.3f", order[k][0]);
	}
	doc_end(d);
	free(order);
}

static void describe_decision(const struct sides *sides, double min_effect, struct document *d)
{
	const struct side *s = find_side_of_architecture(sides, sides->within->architecture);
	const struct effect *e = &sides->within->effect;
	enum decision decision = e->decision;
	struct buf sentence = BUF_INIT;

	cost_append_formula(&s->model, &s->model.all, &sentence);
	if (s->comparison.n < COST_SIDE_INPUTS_MIN)
		doc_answer(d, decision_tone(decision), decision_text(decision),
			   "%zu of %zu inputs of %s@%s can be compared with those of %s@%s, and at least %d are needed", s->comparison.n,
			   s->comparison.n + s->comparison.n_dissimilar, s->comparison.costs.application, s->comparison.costs.version,
			   s->model.costs.application, s->model.costs.version, COST_SIDE_INPUTS_MIN);
	else
		doc_answer(d, decision_tone(decision), decision_text(decision),
			   "the same work costs %s@%s %.3f times as much as %s@%s (%.3f to %.3f)", s->comparison.costs.application,
			   s->comparison.costs.version, e->ratio, s->model.costs.application, s->model.costs.version, e->low, e->high);
	doc_set(d, "method", "cost");
	doc_set(d, "decision", decision_text(decision));
	add_reasons(sides, min_effect, d);
	add_side("baseline", &s->model.costs, d);
	add_side("candidate", &s->comparison.costs, d);
	doc_set(d, "min_effect", min_effect);
	doc_object(d, "effect");
	doc_set(d, "ratio", e->ratio);
	doc_set(d, "low", e->low);
	doc_set(d, "high", e->high);
	doc_set(d, "hardware_types", e->types);
	doc_set_bool(d, "these_machines_only", e->within);
	doc_end(d);
	doc_set(d, "sentence", sentence.bytes);
	doc_line(d, "the baseline's model: %s", sentence.bytes);
	if (s->comparison.n >= COST_SIDE_INPUTS_MIN) {
		add_work(s, d);
		add_slower(s, e->within, d);
		add_inputs(s, d);
	}
	add_machines(sides, d);
	if (sides->n_within > 1)
		verdict_describe_architectures(sides->within, sides->n_within, d);
	d->exit_status = decision_exit_status(decision);
	buf_release(&sentence);
}

enum assay_status cost_gate(struct lab *lab, const struct cost_request *baseline, const char *candidate, double min_effect,
			    struct document *d, struct assay_error *err)
{
	struct sides sides = { .items = NULL };
	struct evidence evidence;
	enum assay_status st = evidence_load(lab, &evidence, err);

	if (st)
		return st;
	st = sides_load(lab, &evidence, baseline, candidate, &sides, err);
	if (!st) {
		decide_all(lab, &sides, min_effect);
		describe_decision(&sides, min_effect, d);
	}
	for (size_t i = 0; i < sides.n; i++) {
		cost_side_release(&sides.items[i].comparison);
		cost_model_release(&sides.items[i].model);
	}
	mem_free(sides.items, sides.within);
	evidence_release(&evidence);
	return st;
}

static bool has_enough_runs(struct store *store, const char *application, const char *const versions[2])
{
	sqlite3_stmt *stmt = NULL;
	struct assay_error ignored;
	bool enough = false;
	enum assay_status st = store_query(
	    store, &stmt, &ignored,
	    "SELECT COUNT(DISTINCT CASE e.version WHEN ?2 THEN e.input END), COUNT(DISTINCT CASE e.version WHEN ?3 THEN e.input END) "
	    "FROM plan AS p JOIN execution AS e ON e.plan = p.id WHERE p.application = ?1 AND p.probe IS NULL AND e.outcome = 'ok' "
	    "AND e.features IS NOT NULL GROUP BY e.machine",
	    "ttt", application, versions[0], versions[1]);

	while (store_next(store, stmt, &st, &ignored))
		enough =
		    enough || (sqlite3_column_int64(stmt, 0) >= COST_RUNS_MIN && sqlite3_column_int64(stmt, 1) >= COST_SIDE_INPUTS_MIN);
	(void)store_finalize(stmt, st);
	return enough;
}

char *cost_gate_command(struct store *store, const char *const applications[2], const char *const versions[2])
{
	size_t n = strcspn(applications[0], "/");
	char *application = mem_bytes(applications[0], n), *old, *new, *command = NULL;

	if (n == strcspn(applications[1], "/") && strncmp(application, applications[1], n) == 0 && strcmp(versions[0], versions[1]) != 0 &&
	    has_enough_runs(store, application, versions)) {
		old = mem_format("%s@%s", application, versions[0]);
		new = mem_format("%s@%s", application, versions[1]);
		command = text_format_command((const char *const[]){ "gate", old, new, "--method", "cost", NULL });
		mem_free(old, new);
	}
	free(application);
	return command;
}
