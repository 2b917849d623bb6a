#include "fingerprint/compare/compare.h"

#include "base/mem.h"
#include "base/stats.h"
#include "base/text.h"
#include "fingerprint/battery/stressor.h"

#include <math.h>

#define SCALE_QUANTILE	  .85	       /* quantile of absolute differences that tells most about the scale of normally distributed values */
#define SCALE_NORMAL	  1.4395314709 /* this quantile for absolute values of a standard normal distribution */
#define SCALE_DF	  .45	       /* degrees of freedom, per difference, of a variance that is estimated from this quantile */
#define PASSES_DF	  3.	       /* degrees of freedom of a variance between sessions that is predicted from passes */
#define ASSUMED_NOISE	  3.	       /* assumed ratio of the variance between sessions to that between passes, if no sessions show it */
#define ASSUMED_DF	  10.
#define ODD_DF		  10. /* degrees of freedom of Student's t, because sessions have more outliers than a normal distribution */
#define SIDE_SESSIONS_MIN 3   /* minimum number of sessions on each side of a change, because one outlier is not a change */
#define LATEST_TEST_SHARE .25 /* part of the level for the test of only the latest session */
#define NOISE_RATIO_MIN_SESSIONS                                                                                                           \
	4		 /* minimum number of sessions for a `relative_noise`, because one of three differences may be a change            \
			  */
#define PEER_SESSIONS 3	 /* number of sessions of each machine in a comparison of two machines */
#define TYPE_SESSIONS 24 /* minimum number of sessions of the type's machines; with fewer, all machines give the noise */

/* Returns the median of the numbers in x[0..n) that are not NaN; NaN if there are none. *known gets the number of these; may be NULL. */
static double median_of_measured(const double *x, size_t n, size_t *known)
{
	double *kept = mem_new(n, sizeof(*kept)), median;
	size_t count = 0;

	for (size_t i = 0; i < n; i++) {
		if (!isnan(x[i]))
			kept[count++] = x[i];
	}
	median = count ? stats_median(kept, count) : (double)NAN;
	free(kept);
	if (known)
		*known = count;
	return median;
}

/* ---- sessions of a machine ---- */

/* Returns the variance of the logarithm of a rate between the passes of a session; NaN if fewer than two passes have a rate. */
static double log_rate_variance(const struct fingerprint_set *set, const struct fingerprint *f, size_t stressor)
{
	double *logs = mem_new(f->n_passes, sizeof(*logs)), sd;
	size_t n = 0;

	for (size_t i = 0; i < f->n_passes; i++) {
		double rate = fingerprint_rate(set, f, i, stressor);

		if (rate > 0)
			logs[n++] = log(rate);
	}
	sd = n >= 2 ? stats_sd(logs, n) : (double)NAN;
	free(logs);
	return sd * sd;
}

static void compare_series_init(const struct fingerprint_set *set, const struct fingerprint *const *sessions, size_t n,
				struct compare_series *out)
{
	size_t stressors = set->n_stressors;
	struct compare_series s = {
		set, mem_new(n, sizeof(*s.sessions)), n, mem_new((stressors + 1) * n, sizeof(double)), mem_new(stressors, sizeof(double)), 1
	};
	double *apart = mem_new(stressors * n, sizeof(*apart)), *variances = mem_new(n, sizeof(*variances));

	memcpy(s.sessions, sessions, n * sizeof(*sessions));
	for (size_t j = 0; j < stressors; j++) {
		double *logs = &s.logs[j * n], level;

		for (size_t t = 0; t < n; t++) {
			logs[t] = log(fingerprint_summarise(set, sessions[t], j).median);
			variances[t] = log_rate_variance(set, sessions[t], j);
		}
		s.passes[j] = median_of_measured(variances, n, NULL);
		level = median_of_measured(logs, n, NULL);
		for (size_t t = 0; t < n; t++)
			apart[t * stressors + j] = logs[t] - level;
	}
	for (size_t t = 0; t < n; t++)
		s.logs[stressors * n + t] = median_of_measured(&apart[t * stressors], stressors, NULL);
	mem_free(apart, variances);
	*out = s;
}

static void compare_series_release(struct compare_series *series)
{
	mem_free(series->sessions, series->logs, series->passes);
	*series = (struct compare_series){ 0 };
}

/* ---- noise between sessions ---- */

/* Collects the absolute differences between consecutive sessions in one row, ascending, each divided by its machine's `relative_noise`. */
static void add_differences(struct compare_noise *noise, struct compare_series *const *series, size_t n, size_t row)
{
	double *out = &noise->apart[row * noise->capacity];
	size_t count = 0;

	for (size_t i = 0; i < n; i++) {
		const double *logs = &series[i]->logs[row * series[i]->n];

		for (size_t t = 1; t < series[i]->n; t++) {
			if (!isnan(logs[t] - logs[t - 1]))
				out[count++] = fabs(logs[t] - logs[t - 1]) / series[i]->relative_noise;
		}
	}
	qsort(out, count, sizeof(*out), stats_compare);
	noise->n[row] = count;
}

/* Returns the ratio of a machine's noise to that of others, >= 1: the median over its sessions of the median ratio over stressors. */
static double noise_ratio(const struct compare_series *s, const struct compare_noise *noise)
{
	double *apart = mem_new(noise->n_stressors, sizeof(*apart)), *weeks = mem_new(s->n, sizeof(*weeks)), relative_noise = 1;

	for (size_t t = 1; t < s->n; t++) {
		for (size_t j = 0; j < noise->n_stressors; j++) {
			double middle = noise->n[j] ? noise->apart[j * noise->capacity + noise->n[j] / 2] : 0;

			apart[j] = middle > 0 ? fabs(s->logs[j * s->n + t] - s->logs[j * s->n + t - 1]) / middle : (double)NAN;
		}
		weeks[t - 1] = median_of_measured(apart, noise->n_stressors, NULL);
	}
	if (s->n >= NOISE_RATIO_MIN_SESSIONS)
		relative_noise = fmax(1, median_of_measured(weeks, s->n - 1, NULL));
	mem_free(apart, weeks);
	return relative_noise;
}

/* Estimates the noise from the sessions of all machines, and sets their `relative_noise`. Overwrites *out; compare_noise_release() it. */
static void compare_noise_estimate(const struct fingerprint_set *set, struct compare_series *const *series, size_t n,
				   struct compare_noise *out)
{
	struct compare_noise noise = { .n_stressors = set->n_stressors };
	double *passes = mem_new(n, sizeof(*passes));

	for (size_t i = 0; i < n; i++) {
		noise.capacity += series[i]->n;
		noise.sessions += series[i]->n > 1 ? series[i]->n : 0;
	}
	noise.apart = mem_new((set->n_stressors + 1) * noise.capacity, sizeof(*noise.apart));
	noise.n = mem_new(set->n_stressors + 1, sizeof(*noise.n));
	noise.passes = mem_new(set->n_stressors, sizeof(*noise.passes));
	for (size_t j = 0; j < set->n_stressors; j++) {
		for (size_t i = 0; i < n; i++)
			passes[i] = series[i]->passes[j];
		noise.passes[j] = median_of_measured(passes, n, NULL);
		add_differences(&noise, series, n, j);
	}
	for (size_t i = 0; i < n; i++)
		series[i]->relative_noise = noise_ratio(series[i], &noise);
	for (size_t row = 0; row <= set->n_stressors; row++)
		add_differences(&noise, series, n, row);
	free(passes);
	*out = noise;
}

static void compare_noise_release(struct compare_noise *noise)
{
	mem_free(noise->apart, noise->n, noise->passes);
	*noise = (struct compare_noise){ 0 };
}

/* Returns the variance of one session in a row, from differences between consecutive sessions; NaN if there are none. *df gets its degrees
 * of freedom. Excludes the difference at `split` of this series, because it is being tested. */
static double noise_variance(const struct compare_series *s, const struct compare_noise *noise, size_t row, size_t split, double *df)
{
	const double *x = &noise->apart[row * noise->capacity], *logs = &s->logs[row * s->n];
	double asked = fabs(logs[split] - logs[split - 1]) / s->relative_noise, apart;
	size_t n = noise->n[row], below = 0, left, rank;

	while (below < n && x[below] < asked)
		below++;
	left = n - (below < n && x[below] <= asked);
	*df = SCALE_DF * (double)left;
	if (!left)
		return (double)NAN;
	rank = (size_t)fmin(ceil(SCALE_QUANTILE * (double)(left + 1)), (double)left) - 1;
	apart = x[rank + (left < n && below <= rank)] * s->relative_noise / SCALE_NORMAL;
	return apart * apart / 2;
}

/* Computes the variance of one session, and its degrees of freedom, for each row. Adds a prediction from the variance between passes, with
 * PASSES_DF degrees of freedom. The prediction uses the median ratio of both variances over the stressors, or else an assumed ratio. */
static void noise_variances(const struct compare_series *s, const struct compare_noise *noise, size_t split, double *variances, double *dfs)
{
	size_t n = noise->n_stressors;
	double *over = mem_new(n, sizeof(*over)), middle, passes = median_of_measured(noise->passes, n, NULL);

	for (size_t row = 0; row <= n; row++)
		variances[row] = noise_variance(s, noise, row, split, &dfs[row]);
	for (size_t j = 0; j < n; j++)
		over[j] = noise->passes[j] > 0 ? variances[j] / noise->passes[j] : (double)NAN;
	middle = median_of_measured(over, n, NULL);
	free(over);
	for (size_t j = 0; j < n; j++) {
		double own = noise->passes[j], df = isnan(middle) ? ASSUMED_DF : PASSES_DF;
		double foretold = isnan(middle) ? ASSUMED_NOISE * fmax(own, (own + passes) / 2) : middle * own;

		if (isnan(own))
			continue; /* without the stressor's own variance between passes, no prediction is possible */
		variances[j] = ((dfs[j] > 0 ? dfs[j] * variances[j] : 0) + df * foretold) / (dfs[j] + df);
		dfs[j] += df;
	}
}

/* ---- rows ---- */

static const char *find_reason(const struct fingerprint_set *set, const struct fingerprint *f, size_t stressor)
{
	struct fingerprint_summary s = fingerprint_summarise(set, f, stressor);

	if (s.measured)
		return NULL;
	return s.zero ? "recorded 0" : (f->reasons ? f->reasons[stressor] : NULL);
}

/* Returns the distance that the median of k sessions exceeds with probability `level`, in standard deviations of one session. More than
 * half of the sessions then exceed it, each with probability p; a beta distribution gives p. A mean would be more sensitive to outliers. */
static double median_limit(double level, size_t k, double df)
{
	double a = (double)(k + 1), t = stats_t_quantile(level, a), p = (1 + t / sqrt(t * t + a)) / 2;

	return stats_t_quantile(1 - p, df);
}

static double sum_distances(double level, const double *x, size_t n)
{
	double sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += isnan(x[i]) ? 0 : fabs(x[i] - level);
	return sum;
}

/* Compares the sessions before and after `split` in one row. Stores the first result. Stores a later one only if it differs, and the stored
 * one does not differ or has a larger sum of distances (*left). `variance` is the variance of one session. */
static void judge_row(struct compare_row *row, const struct compare_series *s, size_t index, size_t split, double variance, double df,
		      double level, double *left)
{
	const double *logs = &s->logs[index * s->n];
	size_t m, k;
	double before = median_of_measured(logs, split, &m), after = median_of_measured(logs + split, s->n - split, &k);
	double sd = sqrt(variance), apart = fabs(after - before), half, here;
	bool first = isnan(row->noise), differs;

	if (!m || !k || !(df > 0) || (!first && apart < sd * stats_normal_quantile(1 - pow(level, 2 / (double)(k + 1)))))
		return; /* cheap test first, because normal noise explains most differences */
	df = 1 / (1 / df + 1 / ODD_DF);
	half = sd * hypot(median_limit(level, m, df), median_limit(level, k, df));
	differs = stats_round(apart) > fmax(stats_round(half), log1p(COMPARE_MIN_CHANGE));
	here = sum_distances(before, logs, split) + sum_distances(after, logs + split, s->n - split);
	if (!first && (!differs || (row->differs && here >= *left)))
		return;
	*left = here;
	if (index < s->set->n_stressors) {
		row->medians[0] = exp(before);
		row->medians[1] = exp(after);
	}
	row->ratio = exp(after - before);
	row->low = exp(after - before - half);
	row->high = exp(after - before + half);
	row->noise = half / median_limit(level, 1, df);
	row->differs = differs;
	row->since_ms = s->n > 2 ? s->sessions[split]->taken_ms : 0;
}

/* Adds a row for each stressor that was tried in the first or last session. which[] gets the stressor's row in the series. */
static void add_rows(struct compare *c, const struct compare_series *s, size_t *which)
{
	const double none = (double)NAN;
	struct compare_row row = { .medians = { none, none }, .ratio = none, .low = none, .high = none, .noise = none };

	c->rows[s->set->n_stressors] = row;
	for (size_t j = 0; j < s->set->n_stressors; j++) {
		row.stressor = s->set->stressors[j];
		for (int i = 0; i < 2; i++) {
			size_t session = i ? s->n - 1 : 0;

			row.medians[i] = exp(s->logs[j * s->n + session]);
			row.reasons[i] = find_reason(s->set, s->sessions[session], j);
		}
		if (isnan(row.medians[0]) && isnan(row.medians[1]) && !row.reasons[0] && !row.reasons[1])
			continue; /* the stressor belongs to another battery */
		row.ratio = row.medians[1] / row.medians[0];
		c->compared += isnan(row.ratio) ? 0 : 1;
		which[c->n] = j;
		c->rows[c->n++] = row;
	}
	which[c->n] = s->set->n_stressors;
	c->rows[c->n] = c->rows[s->set->n_stressors];
	c->rows[c->n].stressor = "all stressors";
}

/* Compares the latest 3, 5, ... sessions with the earlier ones, of which there are at least SIDE_SESSIONS_MIN. In short series and for all
 * stressors together, also compares the latest session only. The splits share the level; later ones get less. All stressors together get
 * three quarters of each share. `looks` is the number of comparisons that the caller makes, >= 1; the level holds for all of these.
 * Overwrites *out; free() its rows. O(stressors * sessions^2). */
static void compare_sessions(const struct compare_series *s, const struct compare_noise *noise, size_t looks, struct compare *out)
{
	size_t rows = s->set->n_stressors + 1, *which = mem_new(rows, sizeof(*which));
	struct compare c = { 0 };
	double *variances = mem_new(3 * rows, sizeof(*variances)), *dfs = variances + rows, *left = dfs + rows, rest = 1;

	ASSAY_BUG_IF(looks == 0 || s->n < 2);
	c.rows = mem_new(rows, sizeof(*c.rows));
	add_rows(&c, s, which);
	for (size_t k = 1; k == 1 || k + SIDE_SESSIONS_MIN <= s->n; k += 2) {
		double share = k + 2 + SIDE_SESSIONS_MIN > s->n ? rest : k == 1 ? LATEST_TEST_SHARE : rest / 2;

		noise_variances(s, noise, s->n - k, variances, dfs);
		for (size_t i = 0; i <= c.n; i++) {
			double level = share * COMPARE_SIGNIFICANCE / (double)looks * (i < c.n ? .25 / (double)c.compared : .75);

			if (i == c.n ? c.compared > 1 : !isnan(c.rows[i].ratio) && (k > 1 || s->n < 2 * SIDE_SESSIONS_MIN))
				judge_row(&c.rows[i], s, which[i], s->n - k, variances[which[i]], dfs[which[i]], level / 2, &left[i]);
		}
		rest -= share;
	}
	for (size_t i = 0; i <= c.n; i++) {
		c.n_differing += c.rows[i].differs;
		c.has_noise = c.has_noise || !isnan(c.rows[i].noise);
	}
	mem_free(variances, which);
	*out = c;
}

static enum assay_status compare_check_allowed(const struct fingerprint *a, const struct fingerprint *b, struct assay_error *err)
{
	const struct {
		const char *of, *a, *b;
	} rows[] = { { "batteries", a->battery_hash, b->battery_hash },
		     { "versions of stress-ng", a->stress_ng, b->stress_ng },
		     { "architectures", a->architecture, b->architecture } };

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (strcmp(rows[i].a, rows[i].b) != 0)
			return assay_fail(err, ASSAY_E_USAGE,
					  "fingerprints of different %s cannot be compared: %s (battery '%s') is of %s, %s ('%s') of %s",
					  rows[i].of, a->id, a->battery, rows[i].a, b->id, b->battery, rows[i].b);
	return ASSAY_OK;
}

enum assay_status compare_fingerprints(const struct fingerprint_set *set, const struct fingerprint *a, const struct fingerprint *b,
				       struct compare *out, struct assay_error *err)
{
	const struct fingerprint *const both[2] = { a, b };
	enum assay_status st = compare_check_allowed(a, b, err);
	struct compare_series series, *const alone[1] = { &series };
	struct compare_noise noise;

	*out = (struct compare){ 0 };
	if (st)
		return st;
	compare_series_init(set, both, 2, &series);
	compare_noise_estimate(set, alone, 1, &noise);
	compare_sessions(&series, &noise, 1, out);
	compare_noise_release(&noise);
	compare_series_release(&series);
	return ASSAY_OK;
}

/* ---- output ---- */

static int order_by_size(const void *a, const void *b)
{
	double sizes[2] = { fabs(log((*(const struct compare_row *const *)a)->ratio)),
			    fabs(log((*(const struct compare_row *const *)b)->ratio)) };

	return (sizes[0] < sizes[1]) - (sizes[0] > sizes[1]);
}

void compare_add_largest(const struct compare *compare, size_t rows, struct document *d)
{
	const struct compare_row **order = mem_new(compare->n + 1, sizeof(*order));
	size_t n = 0;

	for (size_t i = 0; i <= compare->n; i++) {
		if (compare->rows[i].differs)
			order[n++] = &compare->rows[i];
	}
	qsort(order, n, sizeof(*order), order_by_size);
	doc_table(d, NULL);
	for (size_t i = 0; i < n && i < rows; i++) {
		const struct compare_row *row = order[i];

		doc_row(d);
		doc_show(d, NULL, "stressor", row->stressor);
		doc_showf(d, NULL, "before/s", row->medians[0], "%.5g", row->medians[0]);
		doc_showf(d, NULL, "after/s", row->medians[1], "%.5g", row->medians[1]);
		doc_showf(d, NULL, "ratio", row->ratio, "%.3f", row->ratio);
		doc_showf(d, NULL, "interval", "", "%.3f to %.3f", row->low, row->high);
		if (row->since_ms)
			doc_show(d, NULL, "since", TEXT_DATE(row->since_ms));
		doc_show(d, NULL, "category", row < &compare->rows[compare->n] ? category_name(stressor_category(row->stressor)) : "");
	}
	doc_end(d);
	if (n > rows)
		doc_line(d, "and %zu more", n - rows);
	free(order);
}

static void set_row(const struct compare_row *row, struct document *d)
{
	doc_set(d, "ratio", row->ratio);
	doc_set(d, "low", row->low);
	doc_set(d, "high", row->high);
	doc_set(d, "noise", row->noise);
	doc_set_bool(d, "differs", row->differs);
	if (row->since_ms)
		doc_set(d, "since_ms", row->since_ms);
	doc_end(d);
}

void compare_set_rows(const struct compare *compare, struct document *d)
{
	static const char *const medians[2] = { "before", "after" }, *const reasons[2] = { "before_not_measured", "after_not_measured" };

	doc_object(d, "all_stressors");
	set_row(&compare->rows[compare->n], d);
	doc_list(d, "stressors");
	for (size_t i = 0; i < compare->n; i++) {
		const struct compare_row *row = &compare->rows[i];

		doc_object(d, NULL);
		doc_set(d, "stressor", row->stressor);
		for (int k = 0; k < 2; k++) {
			doc_set(d, medians[k], row->medians[k]);
			if (row->reasons[k])
				doc_set(d, reasons[k], row->reasons[k]);
		}
		set_row(row, d);
	}
	doc_end(d);
}

/* ---- drift: fingerprints of one machine ---- */

ROWS_FUNCTION(drift_state_code, enum drift_state, DRIFT_STATE_ROWS, ROWS_WORD)

/* Reports whether `f` is the machine's latest fingerprint of its battery and architecture up to `now_ms`. Fingerprints with another
 * stress-ng version count, too, because they describe the current state. False if `f` is after `now_ms`. */
static bool drift_is_latest(const struct machine *machine, const struct machine_fingerprint *f, int64_t now_ms)
{
	if (f->taken_ms > now_ms)
		return false;
	for (const struct machine_fingerprint *later = f + 1; later < machine->fingerprints + machine->n_fingerprints; later++) {
		if (later->taken_ms <= now_ms && strcmp(later->battery_hash, f->battery_hash) == 0 &&
		    strcmp(later->architecture, f->architecture) == 0)
			return false;
	}
	return true;
}

/* Returns the reference for `latest`: the last accepted fingerprint, otherwise the first. *acceptance gets its acceptance, or NULL. */
static const struct machine_fingerprint *drift_reference(const struct machine *machine, const struct machine_fingerprint *latest,
							 const struct machine_acceptance **acceptance)
{
	const struct machine_fingerprint *f = machine->fingerprints;

	*acceptance = NULL;
	for (size_t i = machine->n_accepted; i-- > 0;) {
		const struct machine_fingerprint *accepted = machine_find_fingerprint(machine, machine->accepted[i].fingerprint);

		if (!accepted || !machine_is_comparable(accepted, latest))
			continue;
		*acceptance = &machine->accepted[i];
		return accepted;
	}
	while (!machine_is_comparable(f, latest))
		f++;
	return f;
}

bool drift_is_acceptable(const struct machine *machine, const struct machine_fingerprint *f, int64_t now_ms)
{
	const struct machine_acceptance *acceptance;

	return drift_is_latest(machine, f, now_ms) && (drift_reference(machine, f, &acceptance) != f || !acceptance);
}

const char *drift_previous_version(const struct machine *machine, const struct machine_fingerprint *f)
{
	const char *before = NULL;

	for (const struct machine_fingerprint *e = machine->fingerprints; e < f; e++) {
		if (strcmp(e->battery_hash, f->battery_hash) == 0 && strcmp(e->architecture, f->architecture) == 0)
			before = e->stress_ng;
	}
	return before && strcmp(before, f->stress_ng) != 0 ? before : NULL;
}

/* ---- comparison with the machine's past ---- */

size_t drift_find_other_work(const struct machine *machine, const struct machine_fingerprint *latest, char **out)
{
	const struct machine_fingerprint *first = machine->fingerprints;
	const char **conditions = mem_new(machine->n_fingerprints, sizeof(*conditions));
	size_t known = 0;

	for (size_t i = 0; i < machine->n_fingerprints; i++) {
		conditions[i] = &first[i] <= latest && machine_is_comparable(&first[i], latest) ? first[i].conditions : NULL;
		known += conditions[i] != NULL;
	}
	conditions_find_other_work(conditions, machine->n_fingerprints, strcmp(latest->origin, "emulated") == 0, out);
	free(conditions);
	return known;
}

/* Adds the fingerprints from the reference to the latest, except those of a busy machine, to the series. Sets the state. */
static void add_series(struct drift_history *past, const struct fingerprint_set *set)
{
	size_t n = past->machine->n_fingerprints, known, kept = 0;
	const struct machine_fingerprint *first = past->machine->fingerprints;
	const struct fingerprint **sessions = mem_new(n, sizeof(*sessions));

	past->busy = mem_new(n, sizeof(*past->busy));
	known = drift_find_other_work(past->machine, past->latest, past->busy);
	for (const struct machine_fingerprint *f = past->reference; f <= past->latest; f++) {
		const struct fingerprint *session = machine_is_comparable(f, past->latest) ? fingerprint_find(set, f->id) : NULL;

		if (session && past->busy[f - first] && known > 1)
			past->n_excluded++;
		else if (session)
			sessions[kept++] = session;
	}
	compare_series_init(set, sessions, kept, &past->series);
	past->state = kept > 1 ? DRIFT_COMPARED : DRIFT_BUSY;
	if (past->latest <= past->reference)
		past->state = past->acceptance ? DRIFT_IS_REFERENCE : DRIFT_NOTHING_TO_COMPARE;
	else if (!fingerprint_find(set, past->latest->id) || !fingerprint_find(set, past->reference->id))
		past->state = DRIFT_NO_RAW_RECORD;
	free(sessions);
}

static bool is_similar(const struct drift *drift, size_t a, size_t b)
{
	return machine_is_comparable(drift->past[a].latest, drift->past[b].latest) && drift->peers[a].type == drift->peers[b].type;
}

/* Estimates the noise from machines of the same type, or from all machines if the former have too few sessions. */
static void add_noise(struct drift *drift, const struct fingerprint_set *set, size_t index)
{
	struct compare_series **series = mem_new(drift->n, sizeof(*series));
	struct drift_history *past = &drift->past[index];

	for (int of_type = 1; of_type >= 0 && past->noise.sessions < TYPE_SESSIONS; of_type--) {
		size_t n = 0;

		for (size_t i = 0; i < drift->n; i++) {
			if (of_type ? is_similar(drift, index, i) : machine_is_comparable(past->latest, drift->past[i].latest))
				series[n++] = &drift->past[i].series;
		}
		compare_noise_release(&past->noise);
		compare_noise_estimate(set, series, n, &past->noise);
	}
	free(series);
}

static void compare_past(struct drift *drift, const struct fingerprint_set *set)
{
	size_t looks = 0;

	for (size_t i = 0; i < drift->n; i++) {
		add_series(&drift->past[i], set);
		looks += drift->past[i].state == DRIFT_COMPARED;
	}
	for (size_t i = 0; i < drift->n; i++) {
		struct drift_history *past = &drift->past[i];

		add_noise(drift, set, i);
		if (past->state == DRIFT_COMPARED)
			compare_sessions(&past->series, &past->noise, looks, &past->compare);
	}
}

/* ---- comparison with the type ---- */

static bool are_peers(const struct drift *drift, size_t a, size_t b)
{
	return drift->past[a].machine != drift->past[b].machine && is_similar(drift, a, b) && drift->past[a].series.n &&
	       drift->past[b].series.n;
}

/* Compares two machines as if one had become the other. Uses the latest three fingerprints of each, so that one outlier does not matter;
 * only the latest one if a machine has fewer. */
static void compare_two(const struct drift_history *before, const struct drift_history *after, const struct fingerprint_set *set,
			size_t looks, struct compare *compare)
{
	const struct fingerprint *sessions[2 * PEER_SESSIONS];
	const struct compare_series *a = &before->series, *b = &after->series;
	size_t n = a->n < PEER_SESSIONS || b->n < PEER_SESSIONS ? 1 : PEER_SESSIONS;
	struct compare_series series;

	for (size_t i = 0; i < n; i++) {
		sessions[i] = a->sessions[a->n - n + i];
		sessions[n + i] = b->sessions[b->n - n + i];
	}
	compare_series_init(set, sessions, 2 * n, &series);
	series.relative_noise = fmax(a->relative_noise, b->relative_noise);
	compare_sessions(&series, &after->noise, looks, compare);
	compare_series_release(&series);
}

/* Counts the peers that differ, per stressor. logs [stressors x peers] gets the logarithms of the ratios. */
static void count_differences(struct drift_stressor *stressors, double *logs, size_t peers, const struct compare *compare)
{
	for (size_t i = 0, j = 0; i < compare->n; i++) {
		const struct compare_row *row = &compare->rows[i];

		while (strcmp(stressors[j].name, row->stressor) != 0)
			j++;
		if (isnan(row->ratio))
			continue;
		logs[j * peers + stressors[j].others++] = log(row->ratio);
		stressors[j].differ += row->differs;
	}
}

static void compare_peer(struct drift *drift, size_t index, const struct fingerprint_set *set)
{
	struct drift_stressor *stressors = mem_new(set->n_stressors, sizeof(*stressors));
	double *logs = mem_new(set->n_stressors * drift->n, sizeof(*logs));
	struct drift_peer *peer = &drift->peers[index];
	const struct drift_history *past = &drift->past[index];

	for (size_t j = 0; j < set->n_stressors; j++)
		stressors[j].name = set->stressors[j];
	for (size_t i = 0; i < drift->n; i++) {
		struct compare compare;

		if (!are_peers(drift, index, i))
			continue;
		compare_two(&drift->past[i], past, set, drift->n, &compare);
		count_differences(stressors, logs, drift->n, &compare);
		free(compare.rows);
		peer->others++;
	}
	peer->state = peer->others	 ? DRIFT_COMPARED
		      : past->series.n	 ? DRIFT_NOTHING_TO_COMPARE
		      : past->n_excluded ? DRIFT_BUSY
					 : DRIFT_NO_RAW_RECORD;
	peer->stressors = stressors;
	for (size_t j = 0; j < set->n_stressors; j++) {
		if (2 * stressors[j].differ <= stressors[j].others)
			continue;
		stressors[j].ratio = exp(stats_median(&logs[j * drift->n], stressors[j].others));
		stressors[peer->n++] = stressors[j];
	}
	free(logs);
}

/* ---- the whole analysis ---- */

static void add_machine(struct drift *drift, const struct machine *machine, const struct types *types, int64_t now_ms)
{
	for (size_t k = 0; k < machine->n_fingerprints; k++) {
		const struct machine_fingerprint *f = &machine->fingerprints[k];
		struct drift_history *past = &drift->past[drift->n];

		if (f->taken_ms > now_ms)
			drift->ahead[drift->n_ahead++] = (struct drift_future){ machine, f };
		if (!drift_is_latest(machine, f, now_ms))
			continue;
		*past = (struct drift_history){ .machine = machine, .latest = f };
		past->reference = drift_reference(machine, f, &past->acceptance);
		drift->peers[drift->n++] = (struct drift_peer){ .type = types_find(types, f->id) };
	}
}

void drift_find(const struct catalog *catalog, const struct fingerprint_set *set, const struct types *types, int64_t now_ms,
		struct drift *out)
{
	struct drift drift = { 0 };
	size_t n = types->n_members; /* number of all fingerprints of the catalog */

	drift.past = mem_new(n, sizeof(*drift.past));
	drift.peers = mem_new(n, sizeof(*drift.peers));
	drift.ahead = mem_new(n, sizeof(*drift.ahead));
	for (size_t i = 0; i < catalog->n; i++) {
		drift.retired += catalog->machines[i].retired;
		if (!catalog->machines[i].retired)
			add_machine(&drift, &catalog->machines[i], types, now_ms);
	}
	compare_past(&drift, set);
	for (size_t i = 0; i < drift.n; i++)
		compare_peer(&drift, i, set);
	*out = drift;
}

void drift_release(struct drift *drift)
{
	for (size_t i = 0; i < drift->n; i++) {
		free(drift->past[i].compare.rows);
		compare_series_release(&drift->past[i].series);
		compare_noise_release(&drift->past[i].noise);
		mem_free_all(drift->past[i].busy, drift->past[i].machine->n_fingerprints);
		free(drift->peers[i].stressors);
	}
	mem_free(drift->past, drift->peers, drift->ahead);
	*drift = (struct drift){ 0 };
}

const char *drift_other_work_at(const struct drift_history *past, const struct machine_fingerprint *f)
{
	return past->busy[f - past->machine->fingerprints];
}
