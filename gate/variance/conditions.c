#include "gate/variance/conditions.h"

#include "base/mem.h"
#include "base/order.h"
#include "base/stats.h"
#include "gate/variance/processors.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define BLOCKED 0.5  /* of the time in messages and waits, that a process must sleep, or it polls for them */
#define MOST	0.5  /* of a wait, for its cause to be named */
#define AROUND	0.05 /* of a wait, at either end of it, that does not count for when it was */

/* Rows of a process's matrix: seconds of all its threads in each column of the maps. MESSAGES: in messages and waits; KNOWN: of WALL, where
 * quotas and steal are known; RAN: of WANTED, for which the process needed a CPU. */
enum { CPU, QUEUE, THROTTLED, STEAL, WALL, KNOWN, MESSAGES, WANTED, RAN, ROWS };

/* What conditions that stand out left of a process's waits for a CPU. */
struct rest {
	struct region_member when; /* nearly all of it */
	double waited_s, ran_s;
	enum loss_cause cause; /* LOSS_UNKNOWN: neither a quota nor steal */
};

ORDER_POINTERS_BY(by_time, struct snapshot, BY_UP(at_s) BY_PLACE)

double conditions_overlap(const struct variance *v, size_t process, double from_s, double to_s)
{
	double sum = 0;

	for (size_t i = 0; i < v->n_conditions; i++)
		if (v->conditions[i].process == process && !v->conditions[i].throughout)
			sum += stretch_overlap(from_s, to_s, v->conditions[i].from_s, v->conditions[i].to_s);
	return fmin(sum, to_s - from_s);
}

static double *cell(struct mat *m, size_t row, size_t column)
{
	return &m->at[row * m->cols + column];
}

bool conditions_throughout(const struct variance *v, size_t process)
{
	for (size_t i = 0; i < v->n_conditions; i++)
		if (v->conditions[i].process == process && v->conditions[i].throughout)
			return true;
	return false;
}

/* The activity in which the process spent most of that time. */
static enum activity activity_in(const struct variance *v, const struct region_member *m)
{
	const struct fragment_process *p = &v->fragments.processes[m->process];
	double time_s[ACTIVITIES] = { 0 };
	enum activity most = ACTIVITY_COMPUTATION;

	for (size_t i = p->first; i < p->first + p->n; i++) {
		const struct fragment *f = &v->fragments.items[i];

		time_s[f->activity] += f->weight * f->time_s * stretch_part(f, m->from_s, m->to_s);
	}
	for (enum activity a = 0; a < ACTIVITY_OTHER; a++)
		most = time_s[a] > time_s[most] ? a : most;
	return most;
}

/* clears: nothing else is found where it was. One that lasts as long as its process says nothing of when that was slow. */
static void condition_add(struct variance *v, struct stretches *all, enum loss_cause cause, struct region_member m, bool clears)
{
	const struct fragment_process *p = &v->fragments.processes[m.process];
	size_t from = variance_column(v, m.from_s), to = variance_column(v, m.to_s - v->column_s / 2);
	struct stretch s = {
		.condition = true, .rest = !clears || m.throughout, .cause = cause, .waited_for = VARIANCE_NONE, .own_s = m.loss_s
	};

	if (stats_round(m.loss_s) < stats_round(v->least_s))
		return;
	m.throughout = m.throughout || m.to_s - m.from_s >= STRETCH_THROUGHOUT * (p->end_s - p->start_s);
	m.time_s = m.to_s - m.from_s;
	m.loss_s = m.estimated_s = fmin(m.loss_s, m.time_s);
	m.expected_s = m.time_s - m.loss_s;
	m.beside = 1;
	s.activity = activity_in(v, &m);
	s.member = m;
	stretch_add(all, &s);
	if (!clears)
		return;
	mem_append(v->conditions, v->n_conditions, &v->conditions_capacity, m);
	for (size_t map = 0; !m.throughout && map < ACTIVITY_MAPS; map++)
		for (size_t c = from; c <= to; c++)
			*cell(&v->maps[map].time, m.process, c) = *cell(&v->maps[map].expected, m.process, c) = 0;
}

/* ---- waiting for a CPU ---- */

/* Spreads `amount` over the columns from from_s to to_s. */
static void spread(const struct variance *v, struct mat *of, size_t row, double from_s, double to_s, double amount)
{
	size_t first = variance_column(v, from_s), last = variance_column(v, to_s);

	for (size_t c = first; c <= last; c++) {
		double begin = fmax(from_s, (double)c * v->column_s), end = fmin(to_s, (double)(c + 1) * v->column_s);

		*cell(of, row, c) += first == last ? amount : amount * fmax(end - begin, 0) / (to_s - from_s);
	}
}

/* Counters only grow; 0 where one is not known. */
static double more_of(const struct snapshot *before, const struct snapshot *after, enum account a)
{
	double more = after->value[a] - before->value[a];

	return more > 0 ? more : 0;
}

/* Readings of one thread, one after the other. joined[c]: the column before belongs to the same pair. A group's quota is read by one thread
 * now and then: what was taken ended with the reading, and may have begun before the one before it. */
static void readings_add(const struct variance *v, const struct snapshot *before, const struct snapshot *after, struct mat *of,
			 bool *joined)
{
	double from_s = before->at_s, to_s = after->at_s, throttled = more_of(before, after, ACCOUNT_THROTTLED);
	bool known = !isnan(after->value[ACCOUNT_THROTTLED] - before->value[ACCOUNT_THROTTLED]);

	if (isnan(after->value[ACCOUNT_QUEUE] - before->value[ACCOUNT_QUEUE] + after->value[ACCOUNT_CPU] - before->value[ACCOUNT_CPU]))
		return;
	spread(v, of, CPU, from_s, to_s, more_of(before, after, ACCOUNT_CPU));
	spread(v, of, QUEUE, from_s, to_s, more_of(before, after, ACCOUNT_QUEUE));
	spread(v, of, STEAL, from_s, to_s, more_of(before, after, ACCOUNT_STEAL));
	spread(v, of, THROTTLED, fmax(fmin(from_s, to_s - throttled), 0), to_s, throttled);
	spread(v, of, WALL, from_s, to_s, to_s - from_s);
	spread(v, of, KNOWN, from_s, to_s, known ? to_s - from_s : 0);
	for (size_t c = variance_column(v, from_s); to_s - from_s > v->column_s && c < variance_column(v, to_s); c++)
		joined[c + 1] = true;
}

static double row_sum(const struct mat *of, size_t row)
{
	double sum = 0;

	for (size_t c = 0; c < of->cols; c++)
		sum += mat_get(of, row, c);
	return sum;
}

/* What quotas and steal took is counted as a wait by some kernels, and by others not. What a process that polls for messages waits in
 * these, it waits for others. */
static bool wanted_fill(const struct variance *v, size_t process, struct mat *of)
{
	double slept = row_sum(of, WALL) - row_sum(of, CPU) - row_sum(of, QUEUE) - row_sum(of, STEAL);
	bool polls = slept < BLOCKED * row_sum(of, MESSAGES);

	for (size_t c = 0; c < v->columns; c++) {
		double from_s = (double)c * v->column_s, wall = mat_get(of, WALL, c), outside = fmax(wall - mat_get(of, MESSAGES, c), 0);
		double ran = mat_get(of, CPU, c), queue = mat_get(of, QUEUE, c);
		double unknown = fmax((polls ? wall : outside) - ran - queue, 0),
		       withheld = mat_get(of, THROTTLED, c) + mat_get(of, STEAL, c);

		if (conditions_overlap(v, process, from_s, from_s + v->column_s) > v->column_s / 2) {
			*cell(of, THROTTLED, c) = 0;
			continue;
		}
		queue = fmax(queue, fmin(withheld, queue + unknown));
		*cell(of, RAN, c) = ran;
		*cell(of, WANTED, c) = ran + (polls ? fmin(queue, outside) : queue);
	}
	return polls;
}

static void process_columns(const struct variance *v, size_t process, struct mat *of, bool *joined)
{
	const struct fragment_process *p = &v->fragments.processes[process];
	const struct snapshot *s = v->fragments.snapshots + p->first_snapshot;

	for (size_t i = 1; i < p->n_snapshots; i++)
		if (s[i].thread == s[i - 1].thread)
			readings_add(v, &s[i - 1], &s[i], of, joined);
	for (size_t i = p->first; i < p->first + p->n; i++) {
		const struct fragment *f = &v->fragments.items[i];

		if (f->activity == ACTIVITY_COMMUNICATION || f->activity == ACTIVITY_WAITING)
			spread(v, of, MESSAGES, f->start_s, f->start_s + f->time_s, f->weight * f->time_s);
	}
}

/* ---- stops and quotas ---- */

/* What an interval of a counter of the whole process cost: at most its time, and, of a quota, what the threads did not run. */
static void interval_end(struct variance *v, const struct mat *of, enum loss_cause cause, struct region_member m, struct stretches *all)
{
	double queue = 0, ran = 0, idle = 0;

	if (!(m.loss_s > 0))
		return;
	for (size_t c = variance_column(v, m.from_s); c < v->columns && (double)c * v->column_s < m.to_s; c++) {
		queue += mat_get(of, QUEUE, c);
		ran += mat_get(of, CPU, c);
		idle += fmax(mat_get(of, WALL, c) - mat_get(of, CPU, c), 0);
	}
	if (cause == LOSS_THROTTLED) {
		double out = queue >= MOST * fmin(m.loss_s, idle) ? queue : idle; /* some kernels count it as a wait for a CPU */

		m.loss_s = fmin(m.loss_s, out) / fmax((ran + fmin(m.loss_s, out)) / (m.to_s - m.from_s), 1);
	}
	condition_add(v, all, cause, m, true);
}

/* Readings by any thread tell of the whole process. A group's quota is read now and then: what was taken ended with the reading, and may
 * have begun before the one before it. Two increases that are no further apart than they are long, or than a column, are one interval. */
static void intervals_add(struct variance *v, size_t process, const struct mat *of, enum account a, enum loss_cause cause,
			  struct stretches *all)
{
	const struct fragment_process *p = &v->fragments.processes[process];
	const struct snapshot **at = mem_new(p->n_snapshots, sizeof(*at)), *before = NULL;
	struct region_member m = { .process = process };
	size_t n = 0;

	for (size_t i = p->first_snapshot; i < p->first_snapshot + p->n_snapshots; i++)
		if (!isnan(v->fragments.snapshots[i].value[a]))
			at[n++] = &v->fragments.snapshots[i];
	order_sort(at, n, by_time);
	for (size_t i = 0; i < n; i++) {
		double more = before ? at[i]->value[a] - before->value[a] : 0;

		if (more > 0) {
			double from_s = fmax(fmin(before->at_s, at[i]->at_s - (cause == LOSS_THROTTLED ? more : 0)), p->start_s);

			if (m.loss_s > 0 && from_s - m.to_s > fmax(m.to_s - m.from_s, v->column_s)) {
				interval_end(v, of, cause, m, all);
				m.loss_s = 0;
			}
			m.from_s = m.loss_s > 0 ? fmin(m.from_s, from_s) : from_s;
			m.to_s = at[i]->at_s;
			m.loss_s += more;
		}
		if (more >= 0)
			before = at[i];
	}
	interval_end(v, of, cause, m, all);
	free(at);
}

/* Of columns [from, to): a quota or a hypervisor took most of what was waited, where that is known. LOSS_UNKNOWN: neither. */
static enum loss_cause taken_by(const struct mat *of, size_t from, size_t to)
{
	double waited = 0, throttled = 0, stolen = 0;

	for (size_t c = from; c < to; c++) {
		double wall = mat_get(of, WALL, c), known = wall > 0 ? mat_get(of, KNOWN, c) / wall : 0;

		waited += known * (mat_get(of, WANTED, c) - mat_get(of, RAN, c));
		throttled += mat_get(of, THROTTLED, c);
		stolen += mat_get(of, STEAL, c);
	}
	return fmax(throttled, stolen) < MOST * waited || !(waited > 0) ? LOSS_UNKNOWN : throttled >= stolen ? LOSS_THROTTLED : LOSS_STEAL;
}

/* Fills what found[] does not say that a condition took. */
static void rest_measure(const struct variance *v, const struct mat *of, const bool *found, struct rest *out)
{
	const struct fragment_process *p = &v->fragments.processes[out->when.process];
	double until_s = 0;
	size_t from = v->columns, to = 0;

	for (size_t c = 0; c < v->columns; c++) {
		out->waited_s += found[c] ? 0 : mat_get(of, WANTED, c) - mat_get(of, RAN, c);
		out->ran_s += found[c] ? 0 : mat_get(of, RAN, c);
	}
	for (size_t c = 0; c < v->columns; c++) {
		if (until_s < (1 - AROUND) * out->waited_s)
			to = c + 1;
		until_s += found[c] ? 0 : mat_get(of, WANTED, c) - mat_get(of, RAN, c);
		if (from == v->columns && until_s >= AROUND * out->waited_s)
			from = c;
	}
	out->when.from_s = (double)from * v->column_s;
	out->when.to_s = (double)to * v->column_s;
	if (out->when.to_s - out->when.from_s >= (1 - 4 * AROUND) * (p->end_s - p->start_s)) {
		out->when.from_s = p->start_s;
		out->when.to_s = p->end_s;
		out->when.throughout = true;
	}
	out->when.time_s = row_sum(of, WANTED);
	out->cause = taken_by(of, from, to);
}

/* Adds the waits that stand out, without what is usual at other times for as much work. */
static void waits_add(struct variance *v, size_t process, struct stretches *all, struct rest *rest)
{
	struct mat of = mat_new(ROWS, v->columns);
	bool *joined = mem_new(v->columns, sizeof(*joined)), *found = mem_new(v->columns, sizeof(*found));
	struct stretches high = { .n = 0 };
	bool polls;

	process_columns(v, process, &of, joined);
	intervals_add(v, process, &of, ACCOUNT_STOPPED, LOSS_STOPPED, all);
	intervals_add(v, process, &of, ACCOUNT_THROTTLED, LOSS_THROTTLED, all);
	polls = wanted_fill(v, process, &of);
	stretches_of_row(v, process, &of.at[WANTED * v->columns], &of.at[RAN * v->columns], joined, &high);
	for (size_t i = 0; i < high.n; i++)
		for (size_t c = high.items[i].first; c < high.items[i].end; c++)
			found[c] = true;
	rest->when.process = process;
	rest_measure(v, &of, found, rest);
	for (size_t i = 0; i < high.n; i++) {
		struct region_member m = high.items[i].member;
		enum loss_cause cause = taken_by(&of, high.items[i].first, high.items[i].end);

		m.loss_s -= rest->ran_s > 0 ? m.expected_s * rest->waited_s / rest->ran_s : 0;
		m.loss_s /= fmax(m.time_s / (m.to_s - m.from_s), 1); /* threads side by side */
		if (cause == LOSS_UNKNOWN)
			cause = breakdown_queue_cause(v, process, m.from_s, m.to_s, m.loss_s);
		if (!polls || loss_cause_is_environment(cause)) /* that of one that polls may be its partner's */
			condition_add(v, all, cause, m, true);
	}
	mat_release(&of);
	mem_free(joined, found, high.items);
}

/* A process that waits as much from beginning to end has no other times: the most that another process of its host waits for as much work
 * is usual, and others must have used the CPUs for as long; or for half of it, if the run itself cannot have been in its way. */
static void rest_add(struct variance *v, size_t process, const struct rest *rests, struct stretches *all)
{
	struct rest r = rests[process];

	if (!(r.waited_s >= v->least_s))
		return;
	r.when.loss_s = r.waited_s;
	if (r.cause == LOSS_UNKNOWN) {
		struct processors_used used = processors_used(&v->fragments, process, r.when.from_s, r.when.to_s);
		double others = used.busy_s - used.own_s, most = 0;

		for (size_t p = 0; p < v->fragments.n_processes; p++)
			if (p != process && processors_same_host(&v->fragments, process, p) && rests[p].ran_s > 0)
				most = fmax(most, rests[p].waited_s / rests[p].ran_s);
		r.when.loss_s -= most * r.ran_s;
		if (!(others >= (used.beside_s < MOST * r.when.loss_s ? MOST : 1) * r.when.loss_s))
			return;
		r.cause = LOSS_QUEUE;
	}
	r.when.loss_s /= fmax(r.when.time_s / (r.when.to_s - r.when.from_s), 1);
	condition_add(v, all, r.cause, r.when, r.when.throughout && v->threshold * (r.ran_s + r.when.loss_s) > r.ran_s);
}

void conditions_find(struct variance *v, struct stretches *all)
{
	struct rest *rests = mem_new(v->fragments.n_processes, sizeof(*rests));

	for (size_t p = 0; p < v->fragments.n_processes; p++)
		waits_add(v, p, all, &rests[p]);
	for (size_t p = 0; p < v->fragments.n_processes; p++)
		rest_add(v, p, rests, all);
	free(rests);
}
