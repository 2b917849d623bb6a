/* Operations on observations: releasing them, excluding functions and removing rows. Also computes each function's fraction of the work. */
#include "gate/detect/observe.h"

#include "base/mem.h"
#include "gate/detect/counters.h"

#include <math.h>
#include <string.h>

ROWS_FUNCTION(observe_note_code, enum observe_note_kind, OBSERVE_NOTE_ROWS, ROWS_CODE)
ROWS_FUNCTION(observe_note_text, enum observe_note_kind, OBSERVE_NOTE_ROWS, ROWS_TEXT)

void observed_release(struct observed *observed)
{
	for (size_t i = 0; i < observed->n_aside; i++)
		free(observed->excluded[i].function);
	mem_free_all(observed->functions, observed->observations.functions);
	mem_free_all(observed->columns, observed->observations.values.cols);
	mem_free(observed->excluded, observed->facts, observed->min_relevant_delta, observed->per_call);
	mem_free(observed->function, observed->run, observed->weight, observed->ns);
	mat_release(&observed->observations.values);
	*observed = (struct observed){ .function = NULL };
}

static enum observe_note_kind observed_find_exclusion_reason(const struct observed *o, size_t function)
{
	static const enum observe_note_kind order[] = { OBSERVE_UNASKED,  OBSERVE_LITTLE_WORK, OBSERVE_NESTED,
							OBSERVE_OVERFLOW, OBSERVE_APART,       OBSERVE_UNLIKE };

	for (size_t i = 0; i < sizeof(order) / sizeof(order[0]); i++)
		if (o->facts[function].remarks[order[i]])
			return order[i];
	return OBSERVE_NOT_COUNTED;
}

static void observed_move_row(struct observed *o, size_t from, size_t to)
{
	struct mat *m = &o->observations.values;

	memmove(m->at + to * m->cols, m->at + from * m->cols, m->cols * sizeof(double));
	o->function[to] = o->function[from];
	o->run[to] = o->run[from];
	o->weight[to] = o->weight[from];
	o->ns[to] = o->ns[from];
}

/* Renumbers functions. number[functions] has the new numbers; SIZE_MAX removes a function's rows. */
static void observed_renumber_functions(struct observed *o, const size_t *number)
{
	struct mat *m = &o->observations.values;
	size_t kept = 0;

	for (size_t i = 0; i < m->rows; i++) {
		if (number[o->function[i]] == SIZE_MAX)
			continue;
		observed_move_row(o, i, kept);
		o->function[kept] = number[o->function[kept]];
		kept++;
	}
	m->rows = kept;
}

/* Excludes the functions not marked in `keep`, for the reason `why`. OBSERVE_NOTES: each function has its own reason. */
static void observed_exclude(struct observed *o, const bool *keep, enum observe_note_kind why)
{
	size_t n = o->observations.functions, kept = 0, *number = mem_new(n, sizeof(number[0]));

	o->excluded = mem_resize(o->excluded, o->n_aside + n, sizeof(o->excluded[0]));
	for (size_t f = 0; f < n; f++) {
		number[f] = keep[f] ? kept : SIZE_MAX;
		if (!keep[f]) {
			o->excluded[o->n_aside++] =
			    (struct observed_excluded){ o->functions[f], why < OBSERVE_NOTES ? why : observed_find_exclusion_reason(o, f) };
			continue;
		}
		o->functions[kept] = o->functions[f];
		o->facts[kept++] = o->facts[f];
	}
	observed_renumber_functions(o, number);
	o->observations.functions = kept;
	free(number);
}

size_t observed_find(const struct observed *o, const char *function)
{
	return stems_find(&(struct stems){ o->functions, o->observations.functions, 0 }, function);
}

static void observed_keep_common_with(struct observed *o, const struct observed *other)
{
	bool *keep = mem_new(o->observations.functions + 1, sizeof(keep[0]));

	for (size_t f = 0; f < o->observations.functions; f++)
		keep[f] = observed_find(other, o->functions[f]) != SIZE_MAX;
	observed_exclude(o, keep, OBSERVE_UNASKED);
	free(keep);
}

void observed_keep_common(struct observed *a, struct observed *b)
{
	observed_keep_common_with(a, b);
	observed_keep_common_with(b, a);
}

double observed_count_calls(const struct observed *observed, size_t function)
{
	double calls = 0;

	for (size_t i = 0; i < observed->observations.values.rows; i++)
		calls += observed->function[i] == function ? observed->weight[i] : 0;
	return calls;
}

struct observations observed_without_load_counters(const struct observed *o, enum record_back_end back_end)
{
	struct observations out = o->observations;

	out.values = mat_new(out.values.rows, out.values.cols);
	for (size_t c = 0; c < out.values.cols; c++) {
		bool load = counter_info(back_end, o->columns[c]).role == COUNTER_LOAD;

		for (size_t i = 0; i < out.values.rows; i++)
			mat_set(&out.values, i, c, load ? (double)NAN : mat_get(&o->observations.values, i, c));
	}
	return out;
}

void observed_drop_rows(struct observed *o, const bool *drop)
{
	bool *has_rows = mem_new(o->observations.functions, sizeof(has_rows[0]));
	size_t kept = 0;

	for (size_t i = 0; i < o->observations.values.rows; i++) {
		if (drop && drop[i]) {
			o->facts[o->function[i]].remarks[OBSERVE_UNLIKE]++;
			continue;
		}
		has_rows[o->function[i]] = true;
		observed_move_row(o, i, kept++);
	}
	o->observations.values.rows = kept;
	observed_exclude(o, has_rows, OBSERVE_NOTES);
	free(has_rows);
}

/* Returns the costs of events, ns (counters.h), in costs[2 * n_counters]. The second half has the costs of all counters. The first half has
 * only the costs of work, of waiting for cache lines that other threads changed, and of system calls, which determine the size of a
 * function. Its other costs are 0, because a thread's first misses and allocations would count too much in short runs. */
static double *estimate_counter_costs(const struct samples *s)
{
	double *costs = mem_new(2 * s->n_counters, sizeof(double));

	for (size_t c = 0; c < s->n_counters; c++) {
		struct counter_info about = counter_info(s->back_end, s->counters[c]);
		bool counts = about.role == COUNTER_WORK || about.trouble == TROUBLE_FALSE_SHARING ||
			      about.trouble == TROUBLE_TRUE_SHARING || about.trouble == TROUBLE_SHARING ||
			      about.trouble == TROUBLE_SYSTEM_CALLS;

		costs[c] = counts ? about.cost_ns : 0;
		costs[s->n_counters + c] = about.role == COUNTER_EFFECT ? 0 : about.cost_ns;
	}
	return costs;
}

/* Returns x; 0 if x is negative or NaN (not counted). */
static double clamp_to_zero(double x)
{
	return x > 0 ? x : 0;
}

/* Returns the work of a sample: from `costs`, or from its time if `costs` is NULL. */
static struct observe_share shares_of_sample(const struct samples *s, size_t item, const double *costs)
{
	const double *alone = s->self_counts + item * s->n_counters, *nested = s->values + item * s->n_counters;
	double time_ns = s->items[item].self_ns, weight = s->items[item].weight;
	struct observe_share done = { costs ? 0 : time_ns, costs ? 0 : s->items[item].ns, costs ? 0 : time_ns };

	for (size_t c = 0; costs && c < s->n_counters; c++) {
		done.self_share += costs[c] * clamp_to_zero(alone[c]);
		done.nested += costs[c] * clamp_to_zero(nested[c]);
		done.own_ns += costs[s->n_counters + c] * clamp_to_zero(alone[c]);
	}
	done.self_share = isnan(done.self_share) ? 0 : done.self_share * weight;
	done.nested = isnan(done.nested) ? 0 : done.nested * weight;
	done.own_ns = isnan(done.own_ns) ? 0 : done.own_ns * weight;
	return done;
}

/* Returns the work of a function in a file. Its own work is that of all calls if known, otherwise that of the samples. */
static struct observe_share compute_function_share(const struct samples *s, size_t function, const double *costs)
{
	const struct samples_function *f = &s->functions[function];
	struct observe_share done = { 0, 0, 0 };
	struct samples_total total;
	double alone = 0;

	for (size_t i = f->first; i < f->first + f->n; i++) {
		struct observe_share one = shares_of_sample(s, i, costs);

		done.self_share += one.self_share;
		done.nested += one.nested;
		done.own_ns += one.own_ns;
	}
	if (!costs || !observe_is_total_known(s, function))
		return done;
	samples_total_find(s, function, &total);
	for (size_t c = 0; c < s->n_counters; c++)
		alone += isnan(total.sums[c]) ? 0 : costs[c] * total.sums[c];
	samples_total_release(&total);
	return (struct observe_share){ alone, fmax(alone, done.nested), done.own_ns };
}

/* Adds the work of the functions in a file to share[names->n]. Returns the work of all functions in the file. */
static double shares_add(const struct samples *s, bool by_work, const struct stems *names, struct observe_share *share)
{
	double *costs = by_work ? estimate_counter_costs(s) : NULL, all = 0;

	for (size_t k = 0; k < s->n_functions; k++) {
		size_t name = stems_find(names, s->functions[k].name);
		struct observe_share done = compute_function_share(s, k, costs);

		all += done.self_share;
		if (name == SIZE_MAX)
			continue;
		share[name].self_share += done.self_share;
		share[name].nested += done.nested;
		share[name].own_ns += done.own_ns;
	}
	free(costs);
	return all;
}

double observe_shares(const struct side *side, const struct stems *names, struct observe_share *share)
{
	bool by_work = side_has_work(side);
	double all = 0;

	memset(share, 0, names->n * sizeof(share[0]));
	for (size_t r = 0; r < side->n; r++)
		for (size_t f = 0; f < side->runs[r].n_files; f++)
			all += shares_add(&side->runs[r].files[f], by_work, names, share);
	for (size_t i = 0; i < names->n && all > 0; i++) {
		share[i].self_share /= all;
		share[i].nested /= all;
	}
	return all;
}
