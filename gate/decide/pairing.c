#include "gate/decide/pairing.h"

#include "base/mem.h"
#include "base/order.h"
#include "base/stats.h"
#include "model/change_points.h"

#include <math.h>

#define ORDER_TYPES_MIN	 3   /* minimum number of types for a standard error over types */
#define GROUPS_RUNS_MIN	 16  /* minimum number of runs of a version for two groups, so that two or three outliers are not a group */
#define GROUPS_TICKS_MIN 2.5 /* minimum distance of two groups in ticks: five standard deviations, each at least half a tick */

ROWS_FUNCTION(pairing_code, enum pairing_reason, PAIRING_ROWS, ROWS_CODE)
ROWS_FUNCTION(pairing_text, enum pairing_reason, PAIRING_ROWS, ROWS_TEXT)

/* ---- error from different repetitions ---- */

/* Many machines may share a change from one repetition to the next. If the versions do not have the same repetitions, this looks like a
 * change of the version (docs/evidence/statistics.md, "Repetitions that did not take turns"). */

struct order_result {
	int64_t repetition; /* number of the repetition */
	double log_cost;
};

/* The results of both versions that were compared on one machine in one session. */
struct order_series {
	size_t type;			 /* index of the hardware type */
	size_t n[2];			 /* numbers of results of the baseline and of the candidate; at least one each */
	struct order_result *results[2]; /* [n] sorted by repetition */
	double mean[2];			 /* mean log cost of each version */
	bool alternation;		 /* true if the versions took turns, so that differences between repetitions cancel out */
};

struct order_list {
	struct order_series *items; /* [n] one per comparison */
	size_t n, capacity;
};

ORDER_BY(order_results, struct order_result, BY_ASC(repetition))
ORDER_BY(order_ascending, int64_t, BY_VALUE)

/* Adds a series. Copies the repetition numbers and the costs, which must be above 0. */
static void order_add(struct order_list *list, size_t type, bool turns, const size_t n[2], const int64_t *const repetition[2],
		      const double *const cost[2], bool higher_is_better)
{
	struct order_series *s;

	s = mem_append_slot(list->items, list->n, &list->capacity);
	*s = (struct order_series){ .type = type, .alternation = turns };
	for (int side = 0; side < 2; side++) {
		ASSAY_BUG_IF(n[side] == 0);
		s->n[side] = n[side];
		s->results[side] = mem_new(n[side], sizeof(*s->results[side]));
		for (size_t i = 0; i < n[side]; i++) {
			double log_cost = higher_is_better ? -log(cost[side][i]) : log(cost[side][i]);

			s->results[side][i] = (struct order_result){ repetition[side][i], log_cost };
			s->mean[side] += log_cost / (double)n[side];
		}
		qsort(s->results[side], n[side], sizeof(*s->results[side]), order_results);
	}
}

static void order_release(struct order_list *list)
{
	for (size_t i = 0; i < list->n; i++) {
		for (int side = 0; side < 2; side++)
			free(list->items[i].results[side]);
	}
	free(list->items);
	*list = (struct order_list){ 0 };
}

/* Counts the results of one repetition from results[*at] on, and moves *at after them. */
static size_t order_count(const struct order_series *s, int side, int64_t repetition, size_t *at)
{
	size_t first = *at;

	while (*at < s->n[side] && s->results[side][*at].repetition == repetition)
		(*at)++;
	return *at - first;
}

/* Returns the sum, over all repetition numbers, of the squared difference between their shares in the two versions. The sum is 0 if both
 * versions have the same repetitions or took turns. It is 1/n + 1/m if they have no repetition in common. */
static double order_imbalance(const struct order_series *s)
{
	size_t at[2] = { 0 };
	double sum = 0;

	while (!s->alternation && (at[0] < s->n[0] || at[1] < s->n[1])) {
		int next = at[0] == s->n[0] || (at[1] < s->n[1] && s->results[1][at[1]].repetition < s->results[0][at[0]].repetition);
		int64_t repetition = s->results[next][at[next]].repetition;
		double share = (double)order_count(s, 0, repetition, &at[0]) / (double)s->n[0] -
			       (double)order_count(s, 1, repetition, &at[1]) / (double)s->n[1];

		sum += share * share;
	}
	return sum;
}

/* ---- variation between repetitions that all types share ---- */

/* Sets *out to one result per repetition number of a side, over all series, ascending; free() it. Returns the number of them. */
static size_t order_numbers(const struct order_list *list, int side, struct order_result **out)
{
	size_t all = 0, n = 0;
	struct order_result *numbers;

	for (size_t i = 0; i < list->n; i++)
		all += list->items[i].n[side];
	*out = numbers = mem_new(all, sizeof(*numbers));
	for (size_t i = 0, at = 0; i < list->n; at += list->items[i++].n[side])
		memcpy(numbers + at, list->items[i].results[side], list->items[i].n[side] * sizeof(*numbers));
	qsort(numbers, all, sizeof(*numbers), order_results);
	for (size_t i = 0; i < all; i++) {
		if (i == 0 || numbers[i].repetition != numbers[n - 1].repetition)
			numbers[n++] = numbers[i];
	}
	return n;
}

/* Sets *out to the log cost of a repetition minus the mean of its version in this series. Returns false unless the version has exactly
 * `repetitions` results in the series, and exactly one of them is of this repetition. */
static bool order_deviation(const struct order_series *s, int side, const struct order_result *sought, size_t repetitions, double *out)
{
	const struct order_result *results = s->results[side], *found;
	size_t n = s->n[side];

	if (n != repetitions)
		return false;
	found = bsearch(sought, results, n, sizeof(*results), order_results);
	if (!found || (found > results && found[-1].repetition == found->repetition) ||
	    (found + 1 < results + n && found[1].repetition == found->repetition))
		return false;
	*out = found->log_cost - s->mean[side];
	return true;
}

/* Averages a repetition's deviations over types. Sets *squared to the square of the mean and *noise to the squared standard error. Returns
 * false, and sets nothing, with fewer than ORDER_TYPES_MIN types. */
static bool order_common(const struct order_list *list, size_t n_types, int side, const struct order_result *repetition, size_t repetitions,
			 double *squared, double *noise)
{
	double *sum = mem_new(n_types, sizeof(*sum)), *count = mem_new(n_types, sizeof(*count)), d;
	size_t types = 0;

	for (size_t i = 0; i < list->n; i++) {
		if (order_deviation(&list->items[i], side, repetition, repetitions, &d)) {
			sum[list->items[i].type] += d;
			count[list->items[i].type]++;
		}
	}
	for (size_t t = 0; t < n_types; t++) {
		if (count[t] > 0)
			sum[types++] = sum[t] / count[t];
	}
	if (types >= ORDER_TYPES_MIN) {
		*squared = stats_mean(sum, types) * stats_mean(sum, types);
		*noise = stats_sd(sum, types) * stats_sd(sum, types) / (double)types;
	}
	mem_free(sum, count);
	return types >= ORDER_TYPES_MIN;
}

/* Adds one version's squared mean deviations to *squares, and the part explained by noise to *explained. Returns the degrees of freedom. */
static double order_add_side(const struct order_list *list, size_t n_types, int side, double *squares, double *explained)
{
	struct order_result *numbers;
	size_t repetitions = order_numbers(list, side, &numbers), used = 0;

	for (size_t k = 0; k < repetitions; k++) {
		double squared, noise;

		if (!order_common(list, n_types, side, &numbers[k], repetitions, &squared, &noise))
			continue;
		*squares += squared;
		*explained += noise;
		used++;
	}
	free(numbers);
	return used > 1 ? (double)used - 1 : 0;
}

/* Returns the error from different repetitions; 0 with fewer than ORDER_TYPES_MIN types, which cannot show a common variation. */
static struct order order_estimate(const struct order_list *list, size_t n_types)
{
	struct order o = { 0 };
	double unlike = 0, squares = 0, explained = 0, df, variance;

	for (size_t i = 0; i < list->n; i++) {
		double here = order_imbalance(&list->items[i]);

		o.n_unpaired += here > 0;
		unlike += here / (double)list->n;
	}
	if (2 * o.n_unpaired <= list->n)
		return o;
	df = order_add_side(list, n_types, 0, &squares, &explained) + order_add_side(list, n_types, 1, &squares, &explained);
	variance = df > 0 ? stats_round((squares - explained) / df) : 0;
	if (variance > 0) {
		o.spread = sqrt(variance);
		o.error = sqrt(variance * unlike);
		o.df = df;
	}
	return o;
}

/* ---- comparison on one machine ---- */

/* The runs of one version on one machine: a part of an array that is sorted by machine. */
struct machine_runs {
	const struct run *runs;
	size_t n;
};

/* The lists of runs per version: the runs that count, and the others (of other builds, or disturbed). */
enum { BASELINE, BASELINE_OTHERS, CANDIDATE, CANDIDATE_OTHERS, LISTS };

/* Returns the runs at the start of runs[n] that ran on `machine`. The result is empty if the first run is of another machine. */
static struct machine_runs find_machine_runs(const struct run *runs, size_t n, const char *machine)
{
	struct machine_runs s = { runs, 0 };

	while (s.n < n && strcmp(runs[s.n].machine, machine) == 0)
		s.n++;
	return s;
}

struct pairing_input {
	const struct evidence *evidence;
	const struct lab_config *config;
	bool higher_is_better, same_application;
	struct pairing *pairing;
	const char *plan;	 /* plan whose runs count on the current machine; NULL if all runs count */
	double *values[2];	 /* working memory with room for all runs of each version */
	int64_t *repetitions[2]; /* repetition numbers that belong to `values` */
	struct order_list series;
	double squares;	   /* sum of squared deviations of log values from the mean of their version, on the current machine */
	double squares_df; /* degrees of freedom of `squares` */
	double unknown;	   /* variance of the current machine's sessions with unknown noise, in multiples of one repetition's variance */
	bool by_plan, by_sessions; /* how the versions took turns on the current machine: in one plan, or by enough sessions */
};

static size_t find_or_add_type(struct pairing *p, const char *name)
{
	for (size_t i = 0; i < p->n_types; i++) {
		if (strcmp(p->types[i], name) == 0)
			return i;
	}
	p->types = mem_grow(p->types, p->n_types, &p->types_capacity, sizeof(*p->types));
	p->types[p->n_types] = mem_string(name);
	return p->n_types++;
}

/* Returns the name of the machine's hardware type at the time of a run. If no type is known, returns the machine's name. */
static const char *find_run_type(const struct pairing_input *in, const struct run *run)
{
	size_t type = types_find(&in->evidence->types, run->fingerprint);
	const struct host *host;

	if (type != SIZE_MAX)
		return in->evidence->types.types[type].name;
	host = inventory_find(&in->config->inventory, run->machine);
	return host && host->type ? host->type : run->machine;
}

static bool is_run_of_type(const struct pairing_input *in, const struct run *run, const char *type)
{
	return (!in->plan || strcmp(run->plan, in->plan) == 0) && strcmp(find_run_type(in, run), type) == 0;
}

/* Copies metrics and repetition numbers of the runs that count for `type` (and were made under `fingerprint` unless it is NULL) into
 * in->values[side] and in->repetitions[side]. Returns their number. */
static size_t select_values(const struct pairing_input *in, const struct machine_runs *s, const char *type, const char *fingerprint,
			    int side)
{
	size_t n = 0;

	for (size_t i = 0; i < s->n; i++) {
		if (!is_run_of_type(in, &s->runs[i], type) || (fingerprint && strcmp(s->runs[i].fingerprint, fingerprint) != 0))
			continue;
		in->values[side][n] = s->runs[i].metric;
		in->repetitions[side][n++] = s->runs[i].repetition;
	}
	return n;
}

/* Returns the variance of the median of n values, in multiples of the variance of one value. For few normal values, the standard error of
 * the median is c[n] times that of the mean (docs/evidence/statistics.md). Larger n use the limit of c, which is never too small. */
static double median_variance_factor(size_t n)
{
	static const double c[] = { 0, 1, 1, 1.160, 1.092, 1.198 };
	double factor = n < sizeof(c) / sizeof(c[0]) ? c[n] : 1.2533;

	return factor * factor / (double)n;
}

/* Returns the variance of the log of the median of n > 1 positive values, from their spread. Replaces the values by their logs. */
static double median_variance(struct pairing_input *in, double *values, size_t n)
{
	double variance;

	for (size_t i = 0; i < n; i++)
		values[i] = log(values[i]);
	variance = stats_sd(values, n) * stats_sd(values, n);
	in->squares += (double)(n - 1) * variance;
	return median_variance_factor(n) * variance;
}

static bool is_all_positive(const double *values, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (!(values[i] > 0))
			return false;
	}
	return true;
}

/* Sets *logs to the log ratios of the repetitions that one plan ran of both versions; free() it. Returns their number. Returns 0 if there
 * are fewer than EFFECT_PAIRS_MIN, or if they are at most half of a version's repetitions. */
static size_t pair_logs(const struct pairing_input *in, const size_t n[2], double **logs)
{
	size_t pairs = 0;

	*logs = mem_new(n[0], sizeof(**logs));
	for (size_t i = 0, k = 0; in->by_plan && i < n[0] && k < n[1];) {
		int64_t ahead = in->repetitions[0][i] - in->repetitions[1][k];

		if (ahead == 0)
			(*logs)[pairs++] = log(in->values[1][k] / in->values[0][i]);
		i += ahead <= 0;
		k += ahead >= 0;
	}
	return pairs >= EFFECT_PAIRS_MIN && 2 * pairs > n[0] && 2 * pairs > n[1] ? pairs : 0;
}

/* Adds the rank statistics of unpaired results to *ranks. Sorts the values of both versions. */
static void rank_values(const struct pairing_input *in, const size_t n[2], struct effect_ranks *ranks)
{
	double *a = in->values[0], *b = in->values[1], all = (double)n[0] * (double)n[1], above = 0;

	qsort(a, n[0], sizeof(*a), stats_compare);
	qsort(b, n[1], sizeof(*b), stats_compare);
	for (size_t i = 0, below = 0, up_to = 0; i < n[0]; i++) {
		while (below < n[1] && b[below] < a[i])
			below++;
		while (up_to < n[1] && b[up_to] <= a[i])
			up_to++;
		above += (double)n[1] - (double)(below + up_to) / 2;
	}
	ranks->ahead += in->higher_is_better ? all / 2 - above : above - all / 2;
	ranks->most += all / 2;
	ranks->variance += all * (double)(n[0] + n[1] + 1) / 12;
}

/* Adds one comparison to the sums in m->log_ratio and m->noise (a variance here). pair_type() divides them by the number of comparisons.
 * Returns false if a median is not above 0. */
static bool compare_values(struct pairing_input *in, size_t n_baseline, size_t n_candidate, struct pairing_machine *m)
{
	const size_t n[2] = { n_baseline, n_candidate };
	double baseline = stats_median(in->values[0], n_baseline), candidate = stats_median(in->values[1], n_candidate);
	bool known = is_all_positive(in->values[0], n_baseline) && is_all_positive(in->values[1], n_candidate);
	double log_ratio, variance[2], *logs = NULL;
	struct effect_pair of_pairs = { 0 };
	size_t pairs;

	if (!(baseline > 0) || !(candidate > 0))
		return false;
	log_ratio = log(candidate) - log(baseline);
	pairs = known ? pair_logs(in, n, &logs) : 0;
	if (pairs) {
		effect_estimate_pair(logs, pairs, &of_pairs);
		log_ratio = of_pairs.log_ratio;
	}
	free(logs);
	m->log_ratio += in->higher_is_better ? -log_ratio : log_ratio;
	m->log_cost += in->higher_is_better ? -log(baseline) : log(baseline);
	m->baseline_runs += n_baseline;
	m->candidate_runs += n_candidate;
	if (m->alternation == PAIRING_TURNS_TAKEN && known)
		order_add(&in->series, m->type, in->by_plan || in->by_sessions, n, (const int64_t *const *)in->repetitions,
			  (const double *const *)in->values, in->higher_is_better);
	/* The noise is unknown for a single repetition, and if a result is 0. */
	if (n_baseline > 1 && n_candidate > 1 && known) {
		if (!pairs)
			rank_values(in, n, &m->ranks);
		variance[0] = median_variance(in, in->values[0], n_baseline);
		variance[1] = median_variance(in, in->values[1], n_candidate);
		m->noise += pairs ? of_pairs.noise * of_pairs.noise : variance[0] + variance[1];
		m->noise_df += pairs ? of_pairs.noise_df : (double)(n_baseline + n_candidate - 2);
		in->squares_df += (double)(n_baseline + n_candidate - 2);
		m->is_paired = m->is_paired && pairs;
	} else {
		in->unknown += median_variance_factor(n_baseline) + median_variance_factor(n_candidate);
	}
	return true;
}

/* Compares each session that both versions have; a session is all runs under one fingerprint. Returns the number of compared sessions. Sets
 * *positive to false if a median is not above 0. */
static size_t compare_sessions(struct pairing_input *in, const struct machine_runs *baseline, const struct machine_runs *candidate,
			       const char *type, struct pairing_machine *m, bool *positive)
{
	size_t sessions = 0;

	for (size_t i = 0; i < baseline->n; i++) {
		const char *fingerprint = baseline->runs[i].fingerprint;
		bool repeated = !*fingerprint || !is_run_of_type(in, &baseline->runs[i], type);
		size_t n[2];

		for (size_t k = 0; k < i && !repeated; k++)
			repeated = is_run_of_type(in, &baseline->runs[k], type) && strcmp(baseline->runs[k].fingerprint, fingerprint) == 0;
		if (repeated)
			continue;
		n[0] = select_values(in, baseline, type, fingerprint, 0);
		n[1] = select_values(in, candidate, type, fingerprint, 1);
		if (!n[1])
			continue;
		*positive = compare_values(in, n[0], n[1], m) && *positive;
		m->fingerprint = fingerprint_find(&in->evidence->fingerprints, fingerprint);
		sessions++;
	}
	return sessions;
}

static void add_machine(struct pairing *p, const struct pairing_machine *m)
{
	mem_append(p->machines, p->n, &p->capacity, *m);
	p->used += m->reason == PAIRING_USED;
}

static void exclude_machine(struct pairing *p, const char *machine, enum pairing_reason reason)
{
	struct pairing_machine m = {
		.machine = machine, .type = SIZE_MAX, .reason = reason, .log_ratio = (double)NAN, .log_cost = (double)NAN
	};

	add_machine(p, &m);
}

static bool has_plan(const struct machine_runs *s, const char *plan)
{
	for (size_t i = 0; i < s->n; i++) {
		if (strcmp(s->runs[i].plan, plan) == 0)
			return true;
	}
	return false;
}

/* Returns the plan of the latest baseline run among the plans that ran both versions; NULL if there is none. */
static const char *latest_common_plan(const struct machine_runs *baseline, const struct machine_runs *candidate)
{
	const struct run *latest = NULL;

	for (size_t i = 0; i < baseline->n; i++) {
		const struct run *run = &baseline->runs[i];

		if (!*run->plan || (latest && run->taken_ms <= latest->taken_ms))
			continue;
		if ((latest && strcmp(run->plan, latest->plan) == 0) || has_plan(candidate, run->plan))
			latest = run;
	}
	return latest ? latest->plan : NULL;
}

/* ---- turns of the versions ---- */

#define TURNS_SESSIONS 5 /* minimum number of sessions per version if the versions did not take turns */

/* One result in the sequence of both versions' results on one machine. */
struct place {
	const struct run *run;
	int side;
	int64_t number; /* repetition number; 0 if it does not determine the order */
	size_t session; /* index of the session */
};

ORDER_BY(compare_places, struct place, BY_ASC(run->taken_ms) BY_ASC(number) BY_ASC(side))

static void add_places(const struct pairing_input *in, const struct machine_runs *s, const char *type, int side, struct place *places,
		       size_t *n)
{
	for (size_t i = 0; i < s->n; i++) {
		const struct run *run = &s->runs[i];

		if (is_run_of_type(in, run, type))
			places[(*n)++] = (struct place){ run, side, run->order_source == RUN_ORDER_NUMBERED ? run->repetition : 0, 0 };
	}
}

/* Returns whether the versions took turns. They did if the share of its results that one version has ahead of the other is never above one
 * half. A steady drift changes the difference by at most this share of itself (Koksma 1942; Kolmogorov-Smirnov distance). Consecutive
 * results of one version are one session. */
static enum pairing_turns check_turns_by_order(struct place *p, size_t n, const size_t total[2], size_t stretches[2])
{
	enum { BOTH = 3 };
	int64_t done[2] = { 0 }, alone[2] = { 0 }, all[2] = { (int64_t)total[0], (int64_t)total[1] };
	bool unknown = false, ahead = false;
	int before = 0;

	for (size_t i = 0, end, session = 0; i < n; i = end) {
		int64_t here[2] = { 0 };
		int sides;

		for (end = i; end < n && p[end].run->taken_ms == p[i].run->taken_ms && p[end].number == p[i].number; end++)
			here[p[end].side]++;
		sides = (here[0] > 0) + 2 * (here[1] > 0);
		session += sides == BOTH || sides != before;
		for (size_t k = i; k < end; k++)
			p[k].session = session;
		for (int side = 0; side < 2; side++) {
			stretches[side] += here[side] && (sides == BOTH || sides != before);
			alone[side] += here[side] && sides != BOTH;
			done[side] += here[side];
		}
		unknown = unknown || (sides == BOTH && !p[i].number);
		ahead = ahead || 2 * llabs(done[0] * all[1] - done[1] * all[0]) > all[0] * all[1];
		before = sides;
	}
	if (unknown)
		return PAIRING_TURNS_UNKNOWN;
	return ahead && alone[0] && alone[1] ? PAIRING_TURNS_NOT_TAKEN : PAIRING_TURNS_TAKEN;
}

/* Divides the results into sessions, at changes of the plan and at pauses of at least `pause` ms. Reports whether each version has
 * TURNS_SESSIONS sessions. Pauses count only if every session is shorter than `pause` and has no version with a single result. */
static bool has_turns_by_sessions(struct place *p, size_t n, int64_t pause)
{
	size_t sessions[2] = { 0 };
	bool divided = true;

	for (size_t i = 0, end, session = 0; i < n; i = end, session++) {
		size_t here[2] = { 0 };

		for (end = i; end < n && (end == i || (strcmp(p[end].run->plan, p[i].run->plan) == 0 &&
						       p[end].run->taken_ms - p[end - 1].run->taken_ms < pause));
		     end++) {
			p[end].session = session;
			here[p[end].side]++;
		}
		for (int side = 0; side < 2; side++)
			sessions[side] += here[side] > 0;
		divided = divided && here[0] != 1 && here[1] != 1 && p[end - 1].run->taken_ms - p[i].run->taken_ms < pause;
	}
	return (divided || pause == INT64_MAX) && sessions[0] >= TURNS_SESSIONS && sessions[1] >= TURNS_SESSIONS;
}

/* Returns the pause in ms that exceeds the next shorter one by the largest factor, as it may separate sessions; INT64_MAX if none does. */
static int64_t turns_pause(const struct place *p, size_t n)
{
	int64_t *pauses = mem_new(n, sizeof(*pauses)), found = INT64_MAX;
	double largest = 1;

	for (size_t i = 1; i < n; i++) {
		int64_t ms = p[i].run->taken_ms - p[i - 1].run->taken_ms;

		pauses[i] = ms > 1 ? ms : 1;
	}
	qsort(pauses, n, sizeof(*pauses), order_ascending);
	for (size_t i = 2; i < n; i++) {
		if ((double)pauses[i] > largest * (double)pauses[i - 1]) {
			largest = (double)pauses[i] / (double)pauses[i - 1];
			found = pauses[i];
		}
	}
	free(pauses);
	return found;
}

/* Reports whether the imports of both versions state that they took turns. A common time for all results of a file is no contradiction. */
static bool has_turns_stated(const struct place *p, size_t n)
{
	int64_t at[2] = { -1, -1 };

	for (size_t i = 0; i < n; i++) {
		if (p[i].run->order_source != RUN_ORDER_STATED || (at[p[i].side] >= 0 && at[p[i].side] != p[i].run->taken_ms))
			return false;
		at[p[i].side] = p[i].run->taken_ms;
	}
	return true;
}

/* Returns whether the versions took turns. Uses the plan; otherwise the import's statement, if results have no times of their own;
 * otherwise times and repetition numbers. Sets in->by_sessions if there are enough sessions of each version, so that one value per session
 * is compared. */
static enum pairing_turns determine_turns(struct pairing_input *in, struct place *p, size_t n, const size_t total[2])
{
	size_t stretches[2] = { 0 };
	enum pairing_turns turns;

	in->by_plan = in->plan && in->same_application;
	in->by_sessions = false;
	if (in->by_plan || has_turns_stated(p, n))
		return PAIRING_TURNS_TAKEN;
	turns = check_turns_by_order(p, n, total, stretches);
	in->by_sessions = turns == PAIRING_TURNS_TAKEN
			      ? 2 * stretches[0] < total[0] || 2 * stretches[1] < total[1]
			      : has_turns_by_sessions(p, n, INT64_MAX) || has_turns_by_sessions(p, n, turns_pause(p, n));
	return in->by_sessions ? PAIRING_TURNS_TAKEN : turns;
}

/* Sets in->values[side] to the median of each session of a version. Returns the number of sessions. */
static size_t fill_session_medians(struct pairing_input *in, const struct place *p, size_t n_places, int side)
{
	double *values = in->values[side];
	size_t n = 0, here = 0;

	for (size_t i = 0; i < n_places; i++) {
		if (p[i].side != side)
			continue;
		if (here && p[i].session != (size_t)in->repetitions[side][n]) {
			values[n] = stats_median(values + n, here);
			here = 0;
			n++;
		}
		in->repetitions[side][n] = (int64_t)p[i].session;
		values[n + here++] = p[i].run->metric;
	}
	values[n] = stats_median(values + n, here);
	return n + 1;
}

/* Returns the tick of the metric on a machine, which is the largest common divisor of all results (Euclid's algorithm). Returns 0 if no two
 * results are equal, if all are equal, or if the tick would be below 1e-9 of the largest result. */
static double metric_tick(const struct place *p, size_t n)
{
	double *sorted = mem_new(n, sizeof(*sorted)), tick = 0;
	bool equal = false;

	for (size_t i = 0; i < n; i++)
		sorted[i] = p[i].run->metric;
	qsort(sorted, n, sizeof(*sorted), stats_compare);
	for (size_t i = 0; i < n; i++) {
		double value = sorted[i], least = 1e-9 * sorted[n - 1];

		equal = equal || (i > 0 && !(sorted[i] - sorted[i - 1] > least));
		while (value > least) {
			double rest = fmod(tick, value);

			tick = value;
			value = tick - rest > least ? rest : 0;
		}
	}
	equal = equal && tick < sorted[n - 1];
	free(sorted);
	return equal ? tick : 0;
}

/* Moves one group of a version's results to the front: those above `between` if `above` is true, else the others. Returns their number. */
static size_t keep_group(struct pairing_input *in, int side, size_t n, double between, bool above)
{
	size_t kept = 0;

	for (size_t i = 0; i < n; i++) {
		if ((in->values[side][i] > between) == above) {
			in->values[side][kept] = in->values[side][i];
			in->repetitions[side][kept++] = in->repetitions[side][i];
		}
	}
	return kept;
}

/* If the results of one version form two groups, compares the versions group by group. Returns the number of groups that both have. */
static size_t compare_groups(struct pairing_input *in, const struct machine_runs *const sides[2], const char *type, double tick,
			     struct pairing_machine *m, bool *positive)
{
	struct pairing_groups *g = &in->pairing->groups;
	double heaps[2], between;
	size_t groups = 0, n[2];

	for (int side = 0; side < 2; side++)
		n[side] = select_values(in, sides[side], type, NULL, side);
	if (((n[1] < GROUPS_RUNS_MIN || !change_points_find_clusters(in->values[1], n[1], heaps, &between)) &&
	     (n[0] < GROUPS_RUNS_MIN || !change_points_find_clusters(in->values[0], n[0], heaps, &between))) ||
	    heaps[1] - heaps[0] < GROUPS_TICKS_MIN * tick)
		return 0;
	memcpy(g->metric, g->machine ? g->metric : heaps, sizeof(heaps));
	g->machine = g->machine ? g->machine : m->machine;
	g->machines++;
	for (int group = 0; group < 2; group++) {
		for (int side = 0; side < 2; side++) {
			n[side] = keep_group(in, side, select_values(in, sides[side], type, NULL, side), between, group);
			g->low[side] += group ? 0 : n[side];
			g->total[side] += n[side];
		}
		if (n[0] && n[1]) {
			*positive = compare_values(in, n[0], n[1], m) && *positive;
			groups++;
		}
	}
	return groups;
}

/* Reports whether the share of the lower group differs between the versions: normal approximation with a common variance, 5 % level. */
static bool groups_differ(const struct pairing_groups *g)
{
	double n[2] = { (double)g->total[0], (double)g->total[1] }, all = (double)(g->low[0] + g->low[1]) / (n[0] + n[1]);
	double error = sqrt(all * (1 - all) * (1 / n[0] + 1 / n[1]));

	return g->machine && fabs((double)g->low[0] / n[0] - (double)g->low[1] / n[1]) > stats_t_quantile(.975, 1e6) * error;
}

/* Compares both versions on one machine, using the runs with one hardware type that both versions have. */
static void pair_type(struct pairing_input *in, const struct machine_runs *baseline, const struct machine_runs *candidate, const char *type)
{
	struct pairing_machine m = { .machine = baseline->runs[0].machine, .reason = PAIRING_USED, .plan = in->plan, .is_paired = true };
	struct place *places = mem_new(baseline->n + candidate->n, sizeof(*places));
	size_t sessions = 0, total[2] = { 0 }, n_places = 0;
	bool positive = true;
	double tick;

	add_places(in, baseline, type, 0, places, &n_places);
	total[0] = n_places;
	add_places(in, candidate, type, 1, places, &n_places);
	total[1] = n_places - total[0];
	order_sort(places, n_places, compare_places);
	tick = metric_tick(places, n_places);
	in->squares = in->squares_df = in->unknown = 0;
	m.type = find_or_add_type(in->pairing, type);
	m.alternation = determine_turns(in, places, n_places, total);
	m.first = n_places == 2 && places[0].run->taken_ms < places[1].run->taken_ms ? places[0].side : -1;
	if (!in->by_sessions)
		sessions = compare_groups(in, (const struct machine_runs *const[]){ baseline, candidate }, type, tick, &m, &positive);
	if (!in->by_sessions && sessions == 0)
		sessions = compare_sessions(in, baseline, candidate, type, &m, &positive);
	if (sessions == 0) {
		size_t n[2];

		n[0] = in->by_sessions ? fill_session_medians(in, places, n_places, 0) : select_values(in, baseline, type, NULL, 0);
		n[1] = in->by_sessions ? fill_session_medians(in, places, n_places, 1) : select_values(in, candidate, type, NULL, 1);
		positive = compare_values(in, n[0], n[1], &m);
		m.baseline_runs = total[0];
		m.candidate_runs = total[1];
		for (size_t i = 0; i < baseline->n && !m.fingerprint; i++) {
			if (is_run_of_type(in, &baseline->runs[i], type))
				m.fingerprint = fingerprint_find(&in->evidence->fingerprints, baseline->runs[i].fingerprint);
		}
		sessions = 1;
	}
	free(places);
	if (!positive || fabs(m.log_ratio) > (double)sessions * log(EFFECT_RATIO_MAX)) {
		exclude_machine(in->pairing, m.machine, positive ? PAIRING_RATIO : PAIRING_NOT_POSITIVE);
		return;
	}
	m.log_ratio /= (double)sessions;
	m.log_cost /= (double)sessions;
	if (m.noise_df > 0) /* sessions with unknown noise count with the noise of the other sessions */
		m.noise += in->squares / in->squares_df * in->unknown;
	m.is_paired = m.is_paired && sessions == 1 && m.noise_df > 0;
	m.noise = sqrt(m.noise) / (double)sessions;
	/* A median is rounded to one of two neighbouring ticks, so its variance is at most tick^2 / 4 (Popoviciu 1935). */
	tick *=
	    .5 * exp(in->higher_is_better ? m.log_cost : -m.log_cost) * hypot(1, exp(in->higher_is_better ? m.log_ratio : -m.log_ratio));
	m.noise = m.noise_df > 0 ? fmax(m.noise, tick) : m.noise;
	in->pairing->n_untyped += strcmp(type, m.machine) == 0;
	add_machine(in->pairing, &m);
}

static size_t exclude_superseded(const struct pairing_input *in, const struct machine_runs *s)
{
	size_t n = 0;

	for (size_t i = 0; in->plan && i < s->n; i++)
		n += strcmp(s->runs[i].plan, in->plan) != 0;
	return n;
}

static void pair_machine(struct pairing_input *in, const struct machine_runs *baseline, const struct machine_runs *candidate)
{
	size_t common = 0;

	in->plan = latest_common_plan(baseline, candidate);
	in->pairing->n_superseded[0] += exclude_superseded(in, baseline);
	in->pairing->n_superseded[1] += exclude_superseded(in, candidate);
	for (size_t i = 0; i < baseline->n; i++) {
		const char *type = find_run_type(in, &baseline->runs[i]);
		bool repeated = !is_run_of_type(in, &baseline->runs[i], type);

		for (size_t k = 0; k < i && !repeated; k++)
			repeated = is_run_of_type(in, &baseline->runs[k], type);
		if (repeated || !select_values(in, candidate, type, NULL, 1))
			continue;
		pair_type(in, baseline, candidate, type);
		common++;
	}
	if (!common)
		exclude_machine(in->pairing, baseline->runs[0].machine, PAIRING_HARDWARE_CHANGED);
}

ORDER_BY(compare_machines, struct pairing_machine, BY_TEXT(machine) BY_ASC(type))

/* Returns the name of the next machine in alphabetical order; NULL after the last one. */
static const char *next_machine(const struct machine_runs all[LISTS], const size_t at[LISTS])
{
	const char *next = NULL;

	for (int i = 0; i < LISTS; i++) {
		if (at[i] < all[i].n && (!next || strcmp(all[i].runs[at[i]].machine, next) < 0))
			next = all[i].runs[at[i]].machine;
	}
	return next;
}

/* Returns the reason for excluding a machine on which one version has no result that counts. */
static enum pairing_reason explanation_set_reason(const struct machine_runs here[LISTS])
{
	if (!here[CANDIDATE].n && !here[CANDIDATE_OTHERS].n)
		return PAIRING_ONLY_BASELINE;
	if (!here[BASELINE].n && !here[BASELINE_OTHERS].n)
		return PAIRING_ONLY_CANDIDATE;
	return PAIRING_OTHER_BUILD;
}

static bool is_certainly_different(const char *a, const char *b)
{
	return *a && *b && strcmp(a, b) != 0;
}

enum pairing_reason pairing_compare_terms(const struct run_set *baseline, const struct run_set *candidate)
{
	const struct manifest_hashes *a = &baseline->terms, *b = &candidate->terms;
	size_t n = strcspn(baseline->application, "/"); /* length of the manifest's name */

	if (n != strcspn(candidate->application, "/") || strncmp(baseline->application, candidate->application, n) != 0)
		return PAIRING_USED;
	if (is_certainly_different(a->metric, b->metric))
		return PAIRING_OTHER_METRIC;
	if (strcmp(baseline->application, candidate->application) == 0 &&
	    (is_certainly_different(a->shared, b->shared) || is_certainly_different(a->command, b->command)))
		return PAIRING_OTHER_TERMS;
	return PAIRING_USED;
}

static void exclude_pair(struct pairing *p, struct pairing_machine *m, enum pairing_reason reason)
{
	p->n_untyped -= strcmp(p->types[m->type], m->machine) == 0;
	p->used--;
	m->reason = reason;
	m->type = SIZE_MAX;
	m->log_ratio = m->log_cost = (double)NAN;
}

/* Reports whether there are at least EFFECT_TYPES_MIN machines, each with one run per version, and the same version ran first on all. A
 * drift that the machines share then looks like a change of the version. */
static bool has_fixed_first_side(const struct pairing *p)
{
	size_t first[2] = { 0 };

	for (size_t i = 0; i < p->n; i++)
		if (p->machines[i].reason == PAIRING_USED && p->machines[i].first >= 0)
			first[p->machines[i].first]++;
	return p->used >= EFFECT_TYPES_MIN && (first[0] == p->used || first[1] == p->used);
}

/* Sets p->turns. If the versions took turns on some machines, excludes all machines where they did not. */
static void exclude_unordered(struct pairing *p)
{
	bool any[PAIRING_TURNS] = { false }, unbalanced = has_fixed_first_side(p);

	for (size_t i = 0; unbalanced && i < p->n; i++)
		p->machines[i].alternation = PAIRING_TURNS_NOT_TAKEN;

	for (size_t i = 0; i < p->n; i++)
		any[p->machines[i].alternation] = any[p->machines[i].alternation] || p->machines[i].reason == PAIRING_USED;
	if (!any[PAIRING_TURNS_TAKEN])
		p->alternation = any[PAIRING_TURNS_NOT_TAKEN] ? PAIRING_TURNS_NOT_TAKEN
				 : any[PAIRING_TURNS_UNKNOWN] ? PAIRING_TURNS_UNKNOWN
							      : 0;
	for (size_t i = 0; any[PAIRING_TURNS_TAKEN] && i < p->n; i++) {
		struct pairing_machine *m = &p->machines[i];

		if (m->reason == PAIRING_USED && m->alternation != PAIRING_TURNS_TAKEN)
			exclude_pair(p, m, m->alternation == PAIRING_TURNS_UNKNOWN ? PAIRING_ORDER_UNKNOWN : PAIRING_ORDER_CONFOUNDED);
	}
}

void pairing_compute(const struct evidence *evidence, const struct lab_config *config, const struct run_set *baseline,
		     const struct run_set *candidate, struct pairing *out)
{
	struct pairing pairing = { 0 };
	struct pairing_input in = { evidence,
				    config,
				    baseline->higher_is_better,
				    strcmp(baseline->application, candidate->application) == 0,
				    &pairing,
				    NULL,
				    { mem_new(baseline->n, sizeof(double)), mem_new(candidate->n, sizeof(double)) },
				    { mem_new(baseline->n, sizeof(int64_t)), mem_new(candidate->n, sizeof(int64_t)) },
				    { 0 },
				    0,
				    0,
				    0,
				    false,
				    false };
	const struct machine_runs all[LISTS] = { { baseline->items, baseline->n },
						 { baseline->others, baseline->n_others },
						 { candidate->items, candidate->n },
						 { candidate->others, candidate->n_others } };
	enum pairing_reason terms = pairing_compare_terms(baseline, candidate);
	size_t at[LISTS] = { 0 };
	const char *machine;

	ASSAY_BUG_IF(!terms && baseline->higher_is_better != candidate->higher_is_better);
	while ((machine = next_machine(all, at))) {
		struct machine_runs here[LISTS];

		for (int i = 0; i < LISTS; i++) {
			here[i] = find_machine_runs(all[i].runs + at[i], all[i].n - at[i], machine);
			at[i] += here[i].n;
		}
		if (here[BASELINE].n && here[CANDIDATE].n && terms)
			exclude_machine(&pairing, machine, terms);
		else if (here[BASELINE].n && here[CANDIDATE].n)
			pair_machine(&in, &here[BASELINE], &here[CANDIDATE]);
		else
			exclude_machine(&pairing, machine, explanation_set_reason(here));
	}
	order_sort(pairing.machines, pairing.n, compare_machines);
	pairing.groups.differ = 2 * pairing.groups.machines > pairing.used && groups_differ(&pairing.groups);
	exclude_unordered(&pairing);
	pairing.order = order_estimate(&in.series, pairing.n_types);
	for (int side = 0; side < 2; side++)
		mem_free(in.values[side], in.repetitions[side]);
	order_release(&in.series);
	*out = pairing;
}

struct effect pairing_effect(const struct pairing *pairing, const struct effect_request *asked)
{
	struct effect_common common = { .error = pairing->order.error, .df = pairing->order.df };
	bool ranked = true;
	struct effect_pair *pairs = mem_new(pairing->n, sizeof(*pairs));
	struct effect effect;
	size_t n = 0;

	for (size_t i = 0; i < pairing->n; i++) {
		const struct pairing_machine *m = &pairing->machines[i];

		if (m->reason != PAIRING_USED)
			continue;
		ranked = ranked && m->ranks.variance > 0;
		common.ranks.ahead += m->ranks.ahead;
		common.ranks.most += m->ranks.most;
		common.ranks.variance += m->ranks.variance;
		pairs[n++] = (struct effect_pair){ m->type, m->log_ratio, m->noise, m->noise_df, m->is_paired };
	}
	if (!ranked)
		common.ranks = (struct effect_ranks){ 0 };
	effect = effect_compute(pairs, n, pairing->n_types, asked, &common);
	free(pairs);
	return effect;
}

void pairing_release(struct pairing *pairing)
{
	mem_free_all(pairing->types, pairing->n_types);
	free(pairing->machines);
	*pairing = (struct pairing){ 0 };
}
