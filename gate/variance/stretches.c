#include "gate/variance/conditions.h"

#include "base/mem.h"
#include "base/stats.h"
#include "model/variance/slow_spans.h"

#include <math.h>
#include <stdlib.h>

#define SURE_SIGMAS		 3 /* a loss must exceed the minimum by this number of standard errors, because there are many candidates */
#define RANDOM_ORDERS_BETTER_MAX 1 /* maximum number of random orders, of SLOW_SPANS_ORDERS, with a stretch that is as slow */
#define SINGLE_PIECE_SCORE_MAX	 1.2 /* a score up to this multiple of the score of one piece can be this piece and others by chance */
#define MOST_SHARE		 .5  /* minimum fraction of a stretch in long fragments, and of a column in one fragment */
/* Minimum excess over chance of computation, and of calls, in standard deviations for a row of VARIANCE_COLUMNS pieces. It grows with the
 * square root of the number of pieces. It is larger for calls, because consecutive calls often take similar times without a cause. */
#define BEYOND_SIGMAS	    5
#define BEYOND_CALLS_SIGMAS 10
#define CALLS_DISTANCE	    1.5 /* minimum ratio of the time of calls to the rest of the row or, for slow processes, to the next process */

/* Returns the fraction of a fragment's time that is in [from_s, to_s). */
double stretch_overlap_share(const struct fragment *f, double from_s, double to_s)
{
	double begin = fmax(f->start_s, from_s), end = fmin(f->start_s + f->time_s, to_s);

	if (f->time_s <= 0)
		return f->start_s >= from_s && f->start_s < to_s;
	return fmax(end - begin, 0) / f->time_s;
}

double stretch_overlap(double a_from, double a_to, double b_from, double b_to)
{
	return fmax(fmin(a_to, b_to) - fmax(a_from, b_from), 0);
}

/* Returns stretch_overlap_share() without conditions. */
static double share_outside_conditions(const struct variance *v, const struct fragment *f, double from_s, double to_s)
{
	double part = stretch_overlap_share(f, from_s, to_s), begin = fmax(f->start_s, from_s), end = fmin(f->start_s + f->time_s, to_s);

	return part > 0 && v->n_conditions && end > begin ? part * (1 - conditions_overlap(v, f->process, begin, end) / (end - begin))
							  : part;
}

/* Sums the fragments of one activity in the member's interval. Extrapolates the loss of computation to all time of the threads outside of
 * calls, including work that is not repeated or not recorded. */
void stretch_measure(const struct variance *v, enum activity activity, struct region_member *m)
{
	const struct fragment_process *p = &v->fragments.processes[m->process];
	double calls = 0, threads = 0, repeated = 0, first = 0, last = 0, there;

	m->time_s = m->expected_s = m->error_s = 0;
	m->fragments = 0;
	for (size_t i = p->first; i < p->first + p->n; i++) {
		const struct fragment *f = &v->fragments.items[i];
		double part = share_outside_conditions(v, f, m->from_s, m->to_s), time = f->weight * f->time_s * part;
		const struct cluster *c = &v->clusters[f->cluster];

		if (i == p->first || f->thread != f[-1].thread) {
			threads += fmax(fmin(last, m->to_s) - fmax(first, m->from_s), 0);
			first = last = f->start_s;
		}
		last = fmax(last, f->start_s + f->time_s);
		if (part <= 0)
			continue;
		if (f->activity != ACTIVITY_COMPUTATION)
			calls += time;
		else if (c->repeated)
			repeated += time;
		if (f->activity != activity || !c->repeated)
			continue;
		m->time_s += time;
		m->expected_s += f->weight * c->usual_s * part;
		m->error_s += (double)f->weight * (f->weight - 1.0) * pow((f->time_s - c->usual_s) * part, 2);
		m->fragments++;
	}
	threads += fmax(fmin(last, m->to_s) - fmax(first, m->from_s), 0);
	threads *= 1 - conditions_overlap(v, m->process, m->from_s, m->to_s) / fmax(m->to_s - m->from_s, 1e-9);
	m->loss_s = m->time_s - m->expected_s;
	m->error_s = sqrt(m->error_s); /* estimator of Horvitz and Thompson for independently chosen records */
	m->estimated_s = m->loss_s;
	there = activity == ACTIVITY_COMPUTATION ? fmax(threads - calls, repeated) : m->time_s;
	if (activity == ACTIVITY_COMPUTATION && repeated > 0)
		m->estimated_s *= there / repeated;
	m->n_simultaneous = fmax(there / fmax(m->to_s - m->from_s, 1e-9), 1);
}

/* Reports whether the loss is large enough for the answer, whichever calls were recorded. */
static bool is_loss_relevant(const struct variance *v, const struct region_member *m)
{
	return stats_round(m->loss_s - SURE_SIGMAS * m->error_s) >= stats_round(v->least_s) &&
	       stats_round(m->expected_s) < stats_round(v->threshold * m->time_s);
}

#define MAP_RUN_QUEUE_DELAY ACTIVITY_MAPS /* index for the row of run-queue delay, which has no map */

struct row {
	size_t map, process;
	const double *time, *expected; /* [columns], s */
	double *x;     /* [columns], log of time / usual time; NaN if there is no work, -INFINITY if the column is already in a stretch */
	bool *joined;  /* [columns], one fragment fills most of this column and of the previous one */
	bool *alone;   /* [columns], part of a long fragment that is slow on its own */
	double *piece; /* [columns], scratch memory */
};

static struct row row_new(const struct variance *v)
{
	return (struct row){ .x = mem_new(v->columns, sizeof(double)),
			     .joined = mem_new(v->columns, sizeof(bool)),
			     .alone = mem_new(v->columns, sizeof(bool)),
			     .piece = mem_new(v->columns, sizeof(double)) };
}

static void row_release(struct row *row)
{
	mem_free(row->x, row->joined, row->alone, row->piece);
}

static void row_begin(const struct variance *v, struct row *row)
{
	for (size_t c = 0; c < v->columns; c++) {
		row->x[c] = row->expected[c] > 0 ? log(fmax(row->time[c] / row->expected[c], 1e-3)) : (double)NAN;
		row->joined[c] = row->alone[c] = false;
	}
}

static void row_fill(const struct variance *v, struct row *row)
{
	const struct fragment_process *p = &v->fragments.processes[row->process];

	row->time = &v->maps[row->map].time.at[row->process * v->columns];
	row->expected = &v->maps[row->map].expected.at[row->process * v->columns];
	row_begin(v, row);
	for (size_t i = p->first; i < p->first + p->n; i++) {
		const struct fragment *f = &v->fragments.items[i];
		size_t first = variance_column(v, f->start_s), last = variance_column(v, f->start_s + f->time_s);
		bool slow = v->clusters[f->cluster].repeated && f->time_s > v->clusters[f->cluster].slow_s;

		if (f->activity != row->map || f->time_s < v->column_s)
			continue;
		for (size_t c = first, before = last + 1; c <= last; c++) {
			double part = stretch_overlap_share(f, (double)c * v->column_s, (double)(c + 1) * v->column_s);

			row->alone[c] |= slow;
			if (part * f->time_s < MOST_SHARE * v->column_s)
				continue;
			row->joined[c] |= before + 1 == c;
			before = c;
		}
	}
}

/* Returns time / usual time of a row without found stretches and without columns [without_from, without_to); NaN if nothing is left. */
static double row_times(const struct variance *v, const struct row *row, size_t without_from, size_t without_to)
{
	double time = 0, expected = 0;

	for (size_t c = 0; c < v->columns; c++)
		if (isfinite(row->x[c]) && !(c >= without_from && c < without_to)) {
			time += row->time[c];
			expected += row->expected[c];
		}
	return expected > 0 ? time / expected : (double)NAN;
}

/* Sums the scores of long fragments in a stretch that are slow on their own. Sets *longest to the largest score. */
static void sum_slow_fragments(const struct variance *v, const struct row *row, const struct slow_span *span, double *longest, double *all)
{
	*longest = *all = 0;
	for (size_t c = span->from, to; c < span->to; c = to) {
		to = c + 1;
		if (row->alone[c]) {
			double piece = slow_span_score_piece(row->x, row->joined, v->columns, span, c, &to);

			*longest = fmax(*longest, piece);
			*all += piece;
		}
	}
}

/* Reports whether chance does not explain a stretch: neither another order of the same pieces, nor consecutive similar times. Long
 * fragments that are slow on their own do not count as similar times. If one of them has nearly the whole score, only other orders are
 * tested. */
static bool is_beyond_chance(const struct variance *v, const struct row *row, const struct slow_span *span)
{
	double longest, all, least;
	struct slow_span_test chance;

	sum_slow_fragments(v, row, span, &longest, &all);
	chance =
	    slow_span_compute_test(row->x, row->joined, v->columns, span, fmax(span->score, SINGLE_PIECE_SCORE_MAX * longest), row->piece);
	least = row->map == ACTIVITY_COMPUTATION || row->map == MAP_RUN_QUEUE_DELAY || all >= MOST_SHARE * span->score
		    ? BEYOND_SIGMAS
		    : BEYOND_CALLS_SIGMAS;
	return chance.better <= RANDOM_ORDERS_BETTER_MAX &&
	       (SINGLE_PIECE_SCORE_MAX * longest >= span->score || chance.beyond >= least * sqrt((double)chance.n / VARIANCE_COLUMNS));
}

static double sum_values(const double *of, size_t n)
{
	double sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += of[i];
	return sum;
}

static struct stretch stretch_at(const struct variance *v, const struct row *row, size_t from, size_t to)
{
	struct stretch s = { .activity = (enum activity)row->map,
			     .first = from,
			     .end = to,
			     .member = {
				 .process = row->process, .from_s = (double)from * v->column_s, .to_s = (double)to * v->column_s } };

	if (row->map == MAP_RUN_QUEUE_DELAY) {
		s.member.time_s = sum_values(row->time + from, to - from);
		s.member.expected_s = sum_values(row->expected + from, to - from);
		s.member.loss_s = s.member.time_s - s.member.expected_s;
	} else
		stretch_measure(v, s.activity, &s.member);
	s.member.throughout = s.member.expected_s >= STRETCH_THROUGHOUT * sum_values(row->expected, v->columns);
	return s;
}

/* Returns the minimum ratio of the times of slow and other work. */
static double typical_distance(const struct variance *v, size_t map)
{
	return map == ACTIVITY_COMPUTATION || map == MAP_RUN_QUEUE_DELAY ? 1 / v->threshold : fmax(CALLS_DISTANCE, 1 / v->threshold);
}

/* Finds the stretch that divides the row best, over all levels. The stretch must be slower than the rest of the row, and not by chance. */
static bool find_slowest_stretch(const struct variance *v, const struct row *row, struct slow_span *out, struct stretch *stretch)
{
	struct slow_span spans[SLOW_SPANS_LEVELS];
	size_t n = slow_spans_find(row->x, v->columns, spans);
	double most = 0;

	for (size_t k = 0; k < n; k++) {
		struct stretch s = stretch_at(v, row, spans[k].from, spans[k].to);
		double rest = row_times(v, row, spans[k].from, spans[k].to);

		if (stats_round(spans[k].between) <= stats_round(most) || !is_loss_relevant(v, &s.member) || s.member.throughout ||
		    !(rest * typical_distance(v, row->map) * s.member.expected_s < s.member.time_s) || !is_beyond_chance(v, row, &spans[k]))
			continue;
		most = spans[k].between;
		*out = spans[k];
		*stretch = s;
	}
	return most > 0;
}

void stretch_add(struct stretches *out, const struct stretch *s)
{
	mem_append(out->items, out->n, &out->capacity, *s);
}

/* Adds the stretches of a row, the slowest first. A stretch that was found is no longer a part of the rest of the row. */
static void row_scan(const struct variance *v, struct row *row, struct stretches *out)
{
	struct slow_span span;
	struct stretch s;

	while (find_slowest_stretch(v, row, &span, &s)) {
		stretch_add(out, &s);
		for (size_t c = span.from; c < span.to; c++)
			row->x[c] = -(double)INFINITY;
	}
}

void stretches_find_in_row(const struct variance *v, size_t process, const double *time, const double *expected, const bool *joined,
			   struct stretches *out)
{
	struct row row = row_new(v);

	row.map = MAP_RUN_QUEUE_DELAY;
	row.process = process;
	row.time = time;
	row.expected = expected;
	row_begin(v, &row);
	for (size_t c = 1; c < v->columns; c++)
		if (joined[c]) {
			row.joined[c] = true;
			row.alone[c - 1] = row.alone[c] = true;
		}
	row_scan(v, &row, out);
	row_release(&row);
}

/* Returns the multiple of the usual time above which a process is always slow; INFINITY if no process is. Most processes (for computation,
 * half of them) must be closer to each other than to the next process. Also compares computation with usual times in earlier windows. */
static double compute_throughout_limit(const struct variance *v, size_t map, const double *times)
{
	size_t processes = v->fragments.n_processes, n = 0, usual;
	double *sorted = mem_new(processes, sizeof(*sorted));
	double from = v->known && map == ACTIVITY_COMPUTATION ? 1 / v->threshold : (double)INFINITY;

	for (size_t p = 0; p < processes; p++)
		if (times[p] > 0)
			sorted[n++] = log(times[p]);
	qsort(sorted, n, sizeof(*sorted), stats_compare);
	usual = map == ACTIVITY_COMPUTATION ? (n + 1) / 2 : n / 2 + 1;
	for (size_t k = usual; k && k < n; k++)
		if (sorted[k] - sorted[k - 1] >= fmax(log(typical_distance(v, map)), sorted[k - 1] - sorted[0])) {
			from = fmin(from, exp((sorted[k] + sorted[k - 1]) / 2));
			break;
		}
	free(sorted);
	return from;
}

/* Adds a stretch as long as the process. Removes the other stretches of the process in this map. */
static void throughout_add(const struct variance *v, struct row *row, struct stretches *out)
{
	size_t from = 0, to = v->columns, kept = 0;
	struct stretch s;

	row_fill(v, row);
	while (from < to && isnan(row->x[from]))
		from++;
	while (to > from && isnan(row->x[to - 1]))
		to--;
	s = stretch_at(v, row, from, to);
	if (!is_loss_relevant(v, &s.member))
		return;
	for (size_t i = 0; i < out->n; i++)
		if (out->items[i].condition || out->items[i].activity != s.activity || out->items[i].member.process != row->process)
			out->items[kept++] = out->items[i];
	out->n = kept;
	stretch_add(out, &s);
}

/* Returns the multiple of the usual time above which a process of a slow run is always slow; INFINITY for other runs. */
static double run_slow_from(const struct variance *v, const double *runs, const struct row *row)
{
	bool slow = v->fragments.n_runs && stats_round(runs[v->fragments.processes[row->process].run] * v->threshold) > 1;

	return slow ? typical_distance(v, row->map) : (double)INFINITY;
}

/* Reports whether a condition of the process lasts as long as the process. */
static bool has_condition_throughout(const struct variance *v, size_t process)
{
	for (size_t i = 0; i < v->n_conditions; i++)
		if (v->conditions[i].process == process && v->conditions[i].throughout)
			return true;
	return false;
}

void stretches_find(const struct variance *v, struct stretches *out)
{
	struct row row = row_new(v);
	size_t n = v->fragments.n_processes;
	double *times = mem_new(n, sizeof(*times)), slow, usual_s, *runs = variance_runs_times(v, &usual_s);

	for (row.map = 0; row.map < ACTIVITY_MAPS; row.map++) {
		for (row.process = 0; row.process < n; row.process++) {
			row_fill(v, &row);
			row_scan(v, &row, out);
			times[row.process] = sum_values(row.time, v->columns) >= v->least_s ? row_times(v, &row, 0, 0) : (double)NAN;
		}
		slow = compute_throughout_limit(v, row.map, times);
		for (row.process = 0; row.process < n; row.process++)
			if (times[row.process] > fmin(slow, run_slow_from(v, runs, &row)) && !has_condition_throughout(v, row.process))
				throughout_add(v, &row, out);
	}
	mem_free(times, runs);
	row_release(&row);
}
