#include "gate/nightly/disturbed.h"

#include "base/mem.h"
#include "base/stats.h"

#include <math.h>

#define USUAL_QUANTILE .25
#define EXCEPTIONS_MAX .25 /* of the runs of a version on a machine: where more are disturbed, that is how the machine was */
#define OWN_LEVEL      .05

ROWS_FUNCTION(disturbed_code, enum disturbed_cause, DISTURBED_ROWS, ROWS_CODE)

/* ---- accounts ---- */

/* Parts of the wall-clock time of one run; NaN where the host did not say. */
struct account {
	double share[DISTURBED_CAUSES];
	int worst; /* cause by which it is disturbed; -1: it is not */
	double usual, excess;
};

struct accounts {
	struct account *items; /* [n] of a side's items */
	size_t n;
};

static struct accounts accounts_of(const struct run_set *set)
{
	struct accounts a = { mem_new(set->n, sizeof(*a.items)), set->n };

	for (size_t i = 0; i < set->n; i++) {
		const struct run *run = &set->items[i];

		a.items[i].worst = -1;
		for (int k = 0; k < DISTURBED_CAUSES; k++)
			a.items[i].share[k] = run_withheld_of(run->withheld_ns[k], run->usage.wall_ns);
	}
	return a;
}

/* ---- what is usual, and what is not ---- */

/* Of the runs [from, to) of one version on one machine. */
static void judge_cause(struct accounts *a, size_t from, size_t to, int cause, double min_effect)
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

static size_t machine_end(const struct run_set *set, size_t from)
{
	size_t to = from;

	while (to < set->n && strcmp(set->items[to].machine, set->items[from].machine) == 0)
		to++;
	return to;
}

/* Adds those of one machine to the list. */
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
	exceptions = (double)n <= EXCEPTIONS_MAX * (double)(to - from);
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
						   .left_out = exceptions });
	}
}

/* ---- is it the candidate's own making? ---- */

/* How likely it is that of n disturbed runs so many, or more, are of one side, when either is as likely. */
static double tail(size_t n, size_t of_one)
{
	double sum = 0;

	for (size_t k = of_one; k <= n; k++)
		sum += exp(lgamma((double)n + 1) - lgamma((double)k + 1) - lgamma((double)(n - k) + 1) - (double)n * M_LN2);
	return sum;
}

static void take_out(struct run_set *set, const struct disturbed *disturbed)
{
	size_t kept = 0;

	set->others = mem_resize(set->others, set->n_others + set->n, sizeof(*set->others));
	for (size_t i = 0; i < set->n; i++) {
		bool out = false;

		for (size_t k = 0; k < disturbed->n && !out; k++) {
			const struct disturbed_run *r = &disturbed->items[k];

			out = r->left_out && r->repetition == set->items[i].repetition && strcmp(r->version, set->version) == 0 &&
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

void disturbed_take(struct run_set sides[2], double min_effect, struct disturbed *out)
{
	size_t capacity = 0, of_candidate = 0;

	*out = (struct disturbed){ .n = 0 };
	for (int side = 0; side < 2; side++) {
		const struct run_set *set = &sides[side];
		struct accounts a = accounts_of(set);

		for (size_t from = 0, to; from < set->n; from = to) {
			to = machine_end(set, from);
			for (int k = 0; k < DISTURBED_CAUSES; k++)
				judge_cause(&a, from, to, k, min_effect);
			list_machine(set, &a, from, to, out, &capacity);
		}
		free(a.items);
		of_candidate = side ? out->n - of_candidate : out->n;
	}
	out->too_many = 2 * out->n > out->known;
	out->own_making = out->n && tail(out->n, of_candidate) < OWN_LEVEL;
	for (size_t i = 0; i < out->n; i++) {
		out->items[i].left_out = out->items[i].left_out && !out->own_making;
		out->left_out += out->items[i].left_out;
	}
	if (out->left_out) {
		take_out(&sides[0], out);
		take_out(&sides[1], out);
	}
}

void disturbed_release(struct disturbed *d)
{
	for (size_t i = 0; i < d->n; i++)
		mem_free(d->items[i].machine, d->items[i].version);
	free(d->items);
	*d = (struct disturbed){ .n = 0 };
}
