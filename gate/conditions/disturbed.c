#include "gate/conditions/disturbed.h"

#include "base/mem.h"
#include "base/stats.h"

#include <math.h>

#define BUSY_SHARE	    .25 /* fraction of the baseline's runs; medians are robust against fewer disturbed runs */
#define USUAL_QUANTILE	    .25
#define DISTURBED_SHARE_MAX .25 /* fraction of a version's runs on a machine; if more are disturbed, this is the machine's usual state */
#define OWN_CAUSE_LEVEL	    .05

ROWS_FUNCTION(disturbed_code, enum disturbed_cause, DISTURBED_ROWS, ROWS_CODE)

static double share_of(const struct run *run, int cause)
{
	return run_withheld_share(run->withheld_ns[cause], run->usage.wall_ns);
}

static size_t machine_end(const struct run_set *set, size_t from)
{
	size_t to = from;

	while (to < set->n && strcmp(set->items[to].machine, set->items[from].machine) == 0)
		to++;
	return to;
}

/* Returns the fraction of a run's wall-clock time in which it waited for a CPU or its cgroup was throttled; NaN if unknown. */
static double withheld_share(const struct run *run)
{
	return share_of(run, DISTURBED_WAITED) + fmax(share_of(run, DISTURBED_THROTTLED), 0); /* NaN counts as 0 */
}

/* Returns the minimum of `quietest` and of withheld_share() over the runs [from, to). Ignores NaN. */
static double lowest_share(const struct run_set *set, size_t from, size_t to, double quietest)
{
	for (size_t i = from; i < to; i++)
		quietest = fmin(quietest, withheld_share(&set->items[i]));
	return quietest;
}

static void machine_add(const struct run_set *set, size_t from, size_t to, int side, double limit, struct disturbed_machine *m)
{
	for (size_t i = from; i < to; i++) {
		double waited = withheld_share(&set->items[i]);

		if (isnan(waited))
			continue;
		m->runs[side]++;
		m->disturbed[side] += stats_round(waited) >= stats_round(limit);
		m->wait_share[side] += waited;
	}
	if (m->runs[side])
		m->wait_share[side] /= (double)m->runs[side];
}

bool disturbed_is_baseline_busy(const struct run_set *const sides[2], double min_effect, struct disturbed_machine **machines, size_t *n)
{
	const struct run_set *a = sides[0], *b = sides[1];
	size_t at = 0, runs = 0, disturbed = 0;

	*machines = mem_new(a->n, sizeof(**machines));
	*n = 0;
	for (size_t from = 0, to, end; from < a->n; from = to, at = end) {
		struct disturbed_machine m = { .machine = a->items[from].machine };
		double limit;

		to = machine_end(a, from);
		while (at < b->n && strcmp(b->items[at].machine, m.machine) < 0)
			at++;
		end = at < b->n && strcmp(b->items[at].machine, m.machine) == 0 ? machine_end(b, at) : at;
		limit = lowest_share(b, at, end, lowest_share(a, from, to, (double)NAN)) + min_effect;
		machine_add(a, from, to, 0, limit, &m);
		machine_add(b, at, end, 1, limit, &m);
		runs += m.runs[0];
		disturbed += m.disturbed[0];
		if (m.runs[0] + m.runs[1])
			(*machines)[(*n)++] = m;
	}
	return disturbed > 0 && (double)disturbed > BUSY_SHARE * (double)runs;
}

/* Fractions of a run's wall-clock time that the machine withheld; NaN if the host did not report a kind. */
struct account {
	double share[DISTURBED_CAUSES];
	int worst; /* cause that disturbed the run most; -1 if the run was not disturbed */
	double usual, excess;
};

struct accounts {
	struct account *items; /* [n], one per run of a side */
	size_t n;
};

static struct accounts withheld_shares(const struct run_set *set)
{
	struct accounts a = { mem_new(set->n, sizeof(*a.items)), set->n };

	for (size_t i = 0; i < set->n; i++) {
		a.items[i].worst = -1;
		for (int k = 0; k < DISTURBED_CAUSES; k++)
			a.items[i].share[k] = share_of(&set->items[i], k);
	}
	return a;
}

/* Marks those runs in [from, to) that this cause disturbed more than earlier causes. The runs are of one version on one machine. */
static void find_disturbed_by(struct accounts *a, size_t from, size_t to, int cause, double min_effect)
{
	double *known = mem_new(to - from, sizeof(*known)), usual;
	size_t n = 0;

	for (size_t i = from; i < to; i++) {
		if (!isnan(a->items[i].share[cause]))
			known[n++] = a->items[i].share[cause];
	}
	usual = n ? stats_quantile(known, n, USUAL_QUANTILE) : (double)NAN;
	for (size_t i = from; n && i < to; i++) {
		struct account *r = &a->items[i];
		double excess = r->share[cause] - usual;

		if (stats_round(excess) >= stats_round(min_effect) && (r->worst < 0 || excess > r->excess)) {
			r->worst = cause;
			r->usual = usual;
			r->excess = excess;
		}
	}
	free(known);
}

/* Adds the disturbed runs of one machine to the list. */
static void list_machine(const struct run_set *set, const struct accounts *a, size_t from, size_t to, struct disturbed *out,
			 size_t *capacity)
{
	size_t n = 0;
	bool exceptions;

	for (size_t i = from; i < to; i++) {
		n += a->items[i].worst >= 0;
		for (int k = 0; k < DISTURBED_CAUSES; k++) {
			if (!isnan(a->items[i].share[k])) {
				out->known++;
				break;
			}
		}
	}
	exceptions = (double)n <= DISTURBED_SHARE_MAX * (double)(to - from);
	for (size_t i = from; i < to; i++) {
		const struct account *r = &a->items[i];

		if (r->worst < 0)
			continue;
		mem_append(out->items, out->n, capacity,
			   (struct disturbed_run){ .machine = mem_string(set->items[i].machine),
						   .version = mem_string(set->version),
						   .repetition = set->items[i].repetition,
						   .cause = (enum disturbed_cause)r->worst,
						   .share = r->share[r->worst],
						   .usual = r->usual,
						   .is_excluded = exceptions });
	}
}

/* Returns the probability that at least `of_one` of n disturbed runs are of one side, if both sides are equally likely. */
static double binomial_tail(size_t n, size_t of_one)
{
	double sum = 0;

	for (size_t k = of_one; k <= n; k++)
		sum += exp(lgamma((double)n + 1) - lgamma((double)k + 1) - lgamma((double)(n - k) + 1) - (double)n * M_LN2);
	return sum;
}

static void move_to_others(struct run_set *set, const struct disturbed *disturbed)
{
	size_t kept = 0;

	set->others = mem_resize(set->others, set->n_others + set->n, sizeof(*set->others));
	for (size_t i = 0; i < set->n; i++) {
		bool out = false;

		for (size_t k = 0; k < disturbed->n && !out; k++) {
			const struct disturbed_run *r = &disturbed->items[k];

			out = r->is_excluded && r->repetition == set->items[i].repetition && strcmp(r->version, set->version) == 0 &&
			      strcmp(r->machine, set->items[i].machine) == 0;
		}
		set->items[i].disturbed = out;
		if (out)
			set->others[set->n_others++] = set->items[i];
		else
			set->items[kept++] = set->items[i];
	}
	set->n = kept;
}

void disturbed_exclude_runs(struct run_set sides[2], double min_effect, struct disturbed *out)
{
	size_t capacity = 0, of_candidate = 0;

	*out = (struct disturbed){ .n = 0 };
	for (int side = 0; side < 2; side++) {
		const struct run_set *set = &sides[side];
		struct accounts a = withheld_shares(set);

		for (size_t from = 0, to; from < set->n; from = to) {
			to = machine_end(set, from);
			for (int k = 0; k < DISTURBED_CAUSES; k++)
				find_disturbed_by(&a, from, to, k, min_effect);
			list_machine(set, &a, from, to, out, &capacity);
		}
		free(a.items);
		of_candidate = side ? out->n - of_candidate : out->n;
	}
	out->too_many = 2 * out->n > out->known;
	out->caused_by_version = out->n && binomial_tail(out->n, of_candidate) < OWN_CAUSE_LEVEL;
	for (size_t i = 0; i < out->n; i++) {
		out->items[i].is_excluded = out->items[i].is_excluded && !out->caused_by_version;
		out->n_excluded += out->items[i].is_excluded;
	}
	if (out->n_excluded) {
		move_to_others(&sides[0], out);
		move_to_others(&sides[1], out);
	}
}

void disturbed_release(struct disturbed *d)
{
	for (size_t i = 0; i < d->n; i++)
		mem_free(d->items[i].machine, d->items[i].version);
	free(d->items);
	*d = (struct disturbed){ .n = 0 };
}
