#include "gate/variance/conditions.h"

#include "base/mem.h"
#include "base/order.h"
#include "base/stats.h"
#include "gate/variance/processors.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MOST_SHARE  0.5 /* minimum fraction of a wait that a cause must explain */
#define SURE_SIGMAS 3	/* number of standard errors added to an upper limit */

/* Rows of a process's matrix. A cell has the seconds of all threads in one column of the maps. KNOWN is the part of WALL in which quotas
 * and steal are known. WORK, MESSAGES and WAITS are comparable times, each followed by its usual time. ERROR is their squared error. POLLS
 * is time in MPI calls, which may poll. ASLEEP is time in other communication and waiting. WANTED_TO_RUN is time in which the process
 * needed a CPU; RAN is the part of it on a CPU. */
enum {
	CPU,
	QUEUE,
	THROTTLED,
	STEAL,
	WALL,
	KNOWN,
	WORK,
	WORK_USUAL,
	MESSAGES,
	MESSAGES_USUAL,
	WAITS,
	WAITS_USUAL,
	ERROR,
	POLLS,
	ASLEEP,
	WANTED_TO_RUN,
	RAN,
	ROWS
};

/* Run-queue delay of a process outside the conditions that stand out. */
struct remaining_delay {
	struct region_member when; /* the whole time of the process */
	double waited_s, ran_s;
	double most_s;	       /* upper limit of the loss, s */
	bool polls;	       /* the process polls, so that it and its partner may delay each other */
	enum loss_cause cause; /* LOSS_UNKNOWN if it is neither a quota nor steal */
};

double conditions_overlap(const struct variance *v, size_t process, double from_s, double to_s)
{
	double sum = 0;

	for (size_t i = 0; i < v->n_conditions; i++)
		if (v->conditions[i].process == process && !v->conditions[i].throughout)
			sum += stretch_overlap(from_s, to_s, v->conditions[i].from_s, v->conditions[i].to_s);
	return fmin(sum, to_s - from_s);
}

static double *cell_at(struct mat *m, size_t row, size_t column)
{
	return &m->at[row * m->cols + column];
}

/* Returns the activity in which the process spent most of the member's time. */
static enum activity main_activity(const struct variance *v, const struct region_member *m)
{
	const struct fragment_process *p = &v->fragments.processes[m->process];
	double time_s[ACTIVITIES] = { 0 };
	enum activity most = ACTIVITY_COMPUTATION;

	for (size_t i = p->first; i < p->first + p->n; i++) {
		const struct fragment *f = &v->fragments.items[i];

		time_s[f->activity] += f->weight * f->time_s * stretch_overlap_share(f, m->from_s, m->to_s);
	}
	for (enum activity a = 0; a < ACTIVITY_OTHER; a++)
		most = time_s[a] > time_s[most] ? a : most;
	return most;
}

/* Adds a condition. If `clears`, no other region may include its time, unless the condition lasts as long as the process. */
static void condition_add(struct variance *v, struct stretches *all, enum loss_cause cause, struct region_member m, bool clears)
{
	const struct fragment_process *p = &v->fragments.processes[m.process];
	size_t from = variance_column(v, m.from_s), to = variance_column(v, m.to_s - v->column_s / 2);
	struct stretch s = { .condition = true, .is_remainder = !clears, .cause = cause, .waited_for = VARIANCE_NONE, .own_s = m.loss_s };

	if (stats_round(m.loss_s) < stats_round(v->least_s))
		return;
	m.throughout = m.throughout || m.to_s - m.from_s >= STRETCH_THROUGHOUT * (p->end_s - p->start_s);
	m.time_s = m.to_s - m.from_s;
	m.loss_s = m.estimated_s = fmin(m.loss_s, m.time_s);
	m.expected_s = m.time_s - m.loss_s;
	m.n_simultaneous = 1;
	s.activity = main_activity(v, &m);
	s.member = m;
	stretch_add(all, &s);
	if (!clears)
		return;
	mem_append(v->conditions, v->n_conditions, &v->conditions_capacity, m);
	for (size_t map = 0; !m.throughout && map < ACTIVITY_MAPS; map++)
		for (size_t c = from; c <= to; c++)
			*cell_at(&v->maps[map].time, m.process, c) = *cell_at(&v->maps[map].expected, m.process, c) = 0;
}

/* Spreads `amount` evenly over the columns from from_s to to_s. */
static void spread_amount(const struct variance *v, struct mat *of, size_t row, double from_s, double to_s, double amount)
{
	size_t first = variance_column(v, from_s), last = variance_column(v, to_s);

	for (size_t c = first; c <= last; c++) {
		double begin = fmax(from_s, (double)c * v->column_s), end = fmin(to_s, (double)(c + 1) * v->column_s);

		*cell_at(of, row, c) += first == last ? amount : amount * fmax(end - begin, 0) / (to_s - from_s);
	}
}

/* Returns a value at the time at_s, interpolated between readings from outside. */
static double reading_at(const struct fragment_process *p, enum usage_counter a, double at_s)
{
	double before_s = p->start_s, before = 0;

	for (size_t i = 0; i < p->n_readings; i++) {
		const struct fragment_reading *r = &p->readings[i];
		double value = a == USAGE_CPU ? r->cpu_s : a == USAGE_QUEUE ? r->queue_s : r->stopped_s;

		if (r->at_s > at_s)
			return before + (value - before) * fmax(at_s - before_s, 0) / (r->at_s - before_s);
		before_s = r->at_s;
		before = value;
	}
	return before;
}

/* Returns the time of the first reading from outside after from_s, but at most to_s. */
static double piece_end(const struct fragment_process *p, double from_s, double to_s)
{
	for (size_t i = 0; i < p->n_readings; i++)
		if (p->readings[i].at_s > from_s)
			return fmin(p->readings[i].at_s, to_s);
	return to_s;
}

/* Spreads the count of a thread over the columns in the same way as the readings from outside, which cover all threads of the process. */
static void spread_by_readings(const struct variance *v, const struct fragment_process *p, struct mat *of, size_t row, enum usage_counter a,
			       double from_s, double to_s, double amount)
{
	double seen = to_s - from_s > v->column_s ? reading_at(p, a, to_s) - reading_at(p, a, from_s) : 0;

	if (!(seen > 0)) {
		spread_amount(v, of, row, from_s, to_s, amount);
		return;
	}
	for (double at_s = from_s, end_s; at_s < to_s; at_s = end_s) {
		end_s = piece_end(p, at_s, to_s);
		spread_amount(v, of, row, at_s, end_s, amount * (reading_at(p, a, end_s) - reading_at(p, a, at_s)) / seen);
	}
}

/* Narrows [*from_s, *to_s) to the part in which the process's run-queue delay was above its mean. */
static void narrow_to_readings(const struct fragment_process *p, double *from_s, double *to_s)
{
	double mean = (reading_at(p, USAGE_QUEUE, *to_s) - reading_at(p, USAGE_QUEUE, *from_s)) / (*to_s - *from_s);
	double sum = 0, most = 0, first_s = *from_s, from = *from_s, to = *to_s;

	for (double at_s = *from_s, end_s; at_s < *to_s; at_s = end_s) {
		end_s = piece_end(p, at_s, *to_s);
		if (!(sum > 0)) {
			sum = 0;
			first_s = at_s;
		}
		sum += reading_at(p, USAGE_QUEUE, end_s) - reading_at(p, USAGE_QUEUE, at_s) - mean * (end_s - at_s);
		if (sum > most) {
			most = sum;
			from = first_s;
			to = end_s;
		}
	}
	*from_s = from;
	*to_s = to;
}

/* Returns the increase of a counter; 0 if a value is unknown. */
static double counter_growth(const struct snapshot *before, const struct snapshot *after, enum usage_counter a)
{
	double more = after->value[a] - before->value[a];

	return more > 0 ? more : 0;
}

/* Adds two consecutive readings of one thread. Sets joined[c] if the pair also covers column c - 1. The quota of a cgroup is not read each
 * time: throttled time ended by the second reading, and may have started before the first. */
static void readings_add(const struct variance *v, const struct snapshot *before, const struct snapshot *after, struct mat *of,
			 bool *joined)
{
	const struct fragment_process *p = &v->fragments.processes[before->process];
	double from_s = before->at_s, to_s = after->at_s, throttled = counter_growth(before, after, USAGE_THROTTLED);
	bool known = !isnan(after->value[USAGE_THROTTLED] - before->value[USAGE_THROTTLED]);

	if (isnan(after->value[USAGE_QUEUE] - before->value[USAGE_QUEUE] + after->value[USAGE_CPU] - before->value[USAGE_CPU]))
		return;
	spread_by_readings(v, p, of, CPU, USAGE_CPU, from_s, to_s, counter_growth(before, after, USAGE_CPU));
	spread_by_readings(v, p, of, QUEUE, USAGE_QUEUE, from_s, to_s, counter_growth(before, after, USAGE_QUEUE));
	spread_amount(v, of, STEAL, from_s, to_s, counter_growth(before, after, USAGE_STEAL));
	spread_by_readings(v, p, of, THROTTLED, USAGE_QUEUE, fmax(fmin(from_s, to_s - throttled), 0), to_s, throttled);
	spread_amount(v, of, WALL, from_s, to_s, to_s - from_s);
	spread_amount(v, of, KNOWN, from_s, to_s, known ? to_s - from_s : 0);
	for (double at_s = from_s, end_s; to_s - from_s > v->column_s && at_s < to_s; at_s = end_s) {
		end_s = piece_end(p, at_s, to_s);
		for (size_t c = variance_column(v, at_s + MOST_SHARE * v->column_s);
		     c < variance_column(v, end_s - MOST_SHARE * v->column_s); c++)
			joined[c + 1] = true;
	}
}

static double row_sum(const struct mat *of, size_t row)
{
	double sum = 0;

	for (size_t c = 0; c < of->cols; c++)
		sum += mat_get(of, row, c);
	return sum;
}

/* Fills RAN and WANTED_TO_RUN. Some kernels do not count throttled and stolen time as run-queue delay. Delay during polling for messages
 * counts as waiting for others. */
static void fill_requested_columns(const struct variance *v, const bool *taken, struct mat *of)
{
	for (size_t c = 0; c < v->columns; c++) {
		double outside = fmax(mat_get(of, WALL, c) - mat_get(of, POLLS, c), 0);
		double ran = mat_get(of, CPU, c), queue = mat_get(of, QUEUE, c);
		double withheld = mat_get(of, THROTTLED, c) + mat_get(of, STEAL, c);
		double unknown = mat_get(of, WALL, c) - mat_get(of, ASLEEP, c) - ran;

		if (taken[c]) {
			*cell_at(of, THROTTLED, c) = 0;
			continue;
		}
		queue = fmax(queue, fmin(withheld, unknown));
		*cell_at(of, RAN, c) = ran;
		*cell_at(of, WANTED_TO_RUN, c) = ran + fmin(queue, outside);
	}
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
		const struct cluster *cluster = &v->clusters[f->cluster];
		bool polls = f->from == FRAGMENT_NO_SITE && strncmp(v->fragments.sites[f->to].name, "MPI_", 4) == 0;
		size_t row = f->activity == ACTIVITY_COMMUNICATION ? MESSAGES : f->activity == ACTIVITY_WAITING ? WAITS : WORK;
		double end_s = f->start_s + f->time_s;

		if (polls || row != WORK)
			spread_amount(v, of, polls ? POLLS : ASLEEP, f->start_s, end_s, f->weight * f->time_s);
		if (!cluster->repeated)
			continue;
		spread_amount(v, of, row, f->start_s, end_s, f->weight * f->time_s);
		spread_amount(v, of, row + 1, f->start_s, end_s, f->weight * cluster->usual_s);
		spread_amount(v, of, ERROR, f->start_s, end_s, f->weight * (f->weight - 1.0) * pow(f->time_s - cluster->usual_s, 2));
	}
}

static double sum_in(const struct variance *v, const struct mat *of, size_t row, const struct region_member *m, const bool *without)
{
	double sum = 0;

	for (size_t c = variance_column(v, m->from_s); c < v->columns && (double)c * v->column_s < m->to_s; c++)
		if (!without || !without[c])
			sum += mat_get(of, row, c) / v->column_s *
			       stretch_overlap(m->from_s, m->to_s, (double)c * v->column_s, (double)(c + 1) * v->column_s);
	return sum;
}

/* Time of all threads beyond the usual time, by kind, s. messages_expected_s is the part of wall_s that can be compared. */
struct duration_excess {
	double work_s, messages_s, waits_s, wall_s, messages_expected_s;
	double error_s; /* standard error, s: a record may represent several calls */
};

/* Sums the time beyond the usual time. without[columns] marks columns to exclude; NULL excludes none. */
static struct duration_excess sum_excess_time(const struct variance *v, const struct mat *of, const struct region_member *m,
					      const bool *without)
{
	double time[3], duration_excess[3], wall_s = sum_in(v, of, WALL, m, without);

	for (size_t i = 0; i < 3; i++) {
		time[i] = sum_in(v, of, WORK + 2 * i, m, without);
		duration_excess[i] = time[i] - sum_in(v, of, WORK_USUAL + 2 * i, m, without);
	}
	if (!(wall_s > 0)) /* the kernel has no run-queue delay: use the time of one thread */
		wall_s = m->to_s - m->from_s;
	return (struct duration_excess){ duration_excess[0],	      duration_excess[1],
					 duration_excess[2],	      wall_s,
					 time[0] + time[1] + time[2], sqrt(sum_in(v, of, ERROR, m, without)) };
}

/* Returns the loss of all threads, s: lost_s, plus `errors` standard errors, extrapolated from comparable time. Returns INFINITY if less
 * than MOST_SHARE of the time can be compared. */
static double condition_loss(const struct duration_excess *l, double lost_s, double errors)
{
	return l->messages_expected_s >= MOST_SHARE * l->wall_s ? fmax(lost_s + errors * l->error_s, 0) * l->wall_s / l->messages_expected_s
								: (double)INFINITY;
}

/* Returns the upper limit of the loss, s. A wait that only shortened a later wait is no loss. Longer waiting for messages is a loss of
 * other processes, except for the time after the messages arrived. */
static double condition_max_loss(const struct variance *v, struct waits *known, const struct mat *of, const struct region_member *m,
				 const bool *without)
{
	struct region_member own = { .process = m->process, .from_s = m->from_s, .to_s = m->to_s, .loss_s = (double)INFINITY };
	struct duration_excess l = sum_excess_time(v, of, m, without);

	return condition_loss(&l, l.work_s + fmin(l.messages_s, 0) + waits_own_loss(v, known, &own, true) + l.waits_s, SURE_SIGMAS);
}

/* Reports whether another process of the run waited for a CPU at the same time. If so, waiting for that process has the same cause. */
static bool is_wait_simultaneous(const struct variance *v, const struct region_member *m)
{
	const struct fragment_process *all = v->fragments.processes, *own = &all[m->process];
	double queue = reading_at(own, USAGE_QUEUE, m->to_s) - reading_at(own, USAGE_QUEUE, m->from_s);

	for (size_t p = 0; queue > 0 && p < v->fragments.n_processes; p++)
		if (p != m->process && processors_same_host(&v->fragments, m->process, p) &&
		    reading_at(&all[p], USAGE_QUEUE, m->to_s) - reading_at(&all[p], USAGE_QUEUE, m->from_s) >= MOST_SHARE * queue)
			return true;
	return false;
}

/* Adds an interval in which a counter of the whole process grew. Its cost is at most its time and, for a quota, the time off the CPU. */
static void interval_end(struct variance *v, struct waits *known, const struct mat *of, enum loss_cause cause, struct region_member m,
			 struct stretches *all)
{
	double queue = 0, ran = 0, idle = 0, lost;
	struct duration_excess l;

	if (!(m.loss_s > 0))
		return;
	for (size_t c = variance_column(v, m.from_s); c < v->columns && (double)c * v->column_s < m.to_s; c++) {
		queue += mat_get(of, QUEUE, c);
		ran += mat_get(of, CPU, c);
		idle += fmax(mat_get(of, WALL, c) - mat_get(of, ASLEEP, c) - mat_get(of, CPU, c), 0);
	}
	l = sum_excess_time(v, of, &m, NULL);
	lost = condition_loss(&l, l.work_s + l.messages_s + l.waits_s, SURE_SIGMAS);
	if (cause == LOSS_STOPPED) {
		m.loss_s = fmin(m.loss_s, lost / fmax(l.wall_s / (m.to_s - m.from_s), 1));
	} else {
		double out =
		    queue >= MOST_SHARE * fmin(m.loss_s, idle) ? queue : idle; /* some kernels count throttled time as run-queue delay */

		out = fmin(m.loss_s >= MOST_SHARE * out ? out : m.loss_s,
			   is_wait_simultaneous(v, &m) ? lost : condition_max_loss(v, known, of, &m, NULL));
		m.loss_s = out / fmax((ran + out) / (m.to_s - m.from_s), 1);
	}
	condition_add(v, all, cause, m, true);
}

struct moment {
	double at_s, value;
};

ORDER_BY(moments_order, struct moment, BY_ASC(at_s) BY_ASC(value))

/* Lists the total stopped or throttled time at each reading, from outside or by threads. Returns the count; the caller frees *out. */
static size_t moments_find(const struct variance *v, const struct fragment_process *p, enum usage_counter a, struct moment **out)
{
	struct fragment_reading before = { .at_s = p->start_s };
	bool outside = a == USAGE_STOPPED && p->n_readings;
	double stopped_s = 0;
	size_t n = 0;

	*out = mem_new(1 + p->n_snapshots + p->n_readings, sizeof(**out));
	if (outside)
		(*out)[n++] = (struct moment){ p->start_s, 0 };
	for (size_t i = 0; outside && i < p->n_readings; before = p->readings[i++]) {
		const struct fragment_reading *r = &p->readings[i];
		double used_s = r->cpu_s - before.cpu_s + r->queue_s - before.queue_s; /* time in which the process was not stopped */

		stopped_s += fmin(r->stopped_s - before.stopped_s, fmax(r->at_s - before.at_s - used_s, 0));
		(*out)[n++] = (struct moment){ r->at_s, stopped_s };
	}
	for (size_t i = p->first_snapshot; !outside && i < p->first_snapshot + p->n_snapshots; i++)
		if (!isnan(v->fragments.snapshots[i].value[a]))
			(*out)[n++] = (struct moment){ v->fragments.snapshots[i].at_s, v->fragments.snapshots[i].value[a] };
	order_sort(*out, n, moments_order);
	return n;
}

/* Adds the intervals in which a counter grew. Throttled time ended by the reading, and may have started before the previous one. Two
 * intervals become one if the gap between them is shorter than the first, or than a column. */
static void intervals_add(struct variance *v, struct waits *known, size_t process, const struct mat *of, enum usage_counter a,
			  enum loss_cause cause, struct stretches *all)
{
	const struct fragment_process *p = &v->fragments.processes[process];
	struct moment *at, before = { 0, (double)NAN };
	size_t n = moments_find(v, p, a, &at);
	struct region_member m = { .process = process };

	for (size_t i = 0; i < n; i++) {
		double more = at[i].value - before.value;

		if (more > 0) {
			double began_s = at[i].at_s - more;
			double from_s = fmax(cause == LOSS_THROTTLED || !p->n_readings ? fmin(before.at_s, began_s) : began_s, p->start_s);
			double to_s = at[i].at_s;

			if (cause == LOSS_THROTTLED && to_s - from_s > v->column_s)
				narrow_to_readings(p, &from_s, &to_s);
			if (m.loss_s > 0 && from_s - m.to_s > fmax(m.to_s - m.from_s, v->column_s)) {
				interval_end(v, known, of, cause, m, all);
				m.loss_s = 0;
			}
			m.from_s = m.loss_s > 0 ? fmin(m.from_s, from_s) : from_s;
			m.to_s = to_s;
			m.loss_s += more;
		}
		if (!(more < 0))
			before = at[i];
	}
	interval_end(v, known, of, cause, m, all);
	free(at);
}

/* Returns the cause of most of the wait in columns [from, to): a quota or a hypervisor; LOSS_UNKNOWN if it is neither. */
static enum loss_cause cause_of_wait(const struct mat *of, size_t from, size_t to)
{
	double waited = 0, throttled = 0, stolen = 0;

	for (size_t c = from; c < to; c++) {
		double wall = mat_get(of, WALL, c), known = wall > 0 ? mat_get(of, KNOWN, c) / wall : 0;

		waited += known * (mat_get(of, WANTED_TO_RUN, c) - mat_get(of, RAN, c));
		throttled += mat_get(of, THROTTLED, c);
		stolen += mat_get(of, STEAL, c);
	}
	return fmax(throttled, stolen) < MOST_SHARE * waited || !(waited > 0) ? LOSS_UNKNOWN
	       : throttled >= stolen					      ? LOSS_THROTTLED
									      : LOSS_STEAL;
}

/* Measures run-queue delay outside the columns with found[c], which belong to conditions. */
static void measure_remaining_delay(const struct variance *v, struct waits *known, const struct mat *of, const bool *found,
				    struct remaining_delay *out)
{
	const struct fragment_process *p = &v->fragments.processes[out->when.process];
	struct duration_excess l;

	for (size_t c = 0; c < v->columns; c++) {
		out->waited_s += found[c] ? 0 : mat_get(of, WANTED_TO_RUN, c) - mat_get(of, RAN, c);
		out->ran_s += found[c] ? 0 : mat_get(of, RAN, c);
	}
	out->when.from_s = p->start_s;
	out->when.to_s = p->end_s;
	out->when.throughout = true;
	out->when.loss_s = (double)INFINITY;
	l = sum_excess_time(v, of, &out->when, found);
	out->most_s = condition_loss(&l, l.work_s + waits_own_loss(v, known, &out->when, true) + fmin(l.waits_s, 0), SURE_SIGMAS);
	out->when.time_s = row_sum(of, WANTED_TO_RUN);
	out->polls = row_sum(of, POLLS) > 0;
	out->cause = cause_of_wait(of, 0, v->columns);
}

/* Adds a condition for a wait that stands out, without the usual wait for the same amount of work. The condition excludes its time from
 * other regions only if it is most of the loss. */
static void wait_add(struct variance *v, struct waits *known, const struct mat *of, const struct stretch *high, const bool *taken,
		     const struct remaining_delay *rest, struct stretches *all)
{
	struct region_member m = high->member;
	double usual = rest->ran_s > 0 ? m.expected_s * rest->waited_s / rest->ran_s : 0, lost;
	enum loss_cause cause = cause_of_wait(of, high->first, high->end);
	struct duration_excess l = sum_excess_time(v, of, &m, taken);
	bool most;

	if (cause == LOSS_UNKNOWN)
		cause = breakdown_queue_cause(v, m.process, m.from_s, m.to_s, m.loss_s - usual);
	lost = condition_loss(&l, l.work_s + l.messages_s + l.waits_s, 0);
	if (cause == LOSS_QUEUE && is_wait_simultaneous(v, &m))
		m.loss_s = fmin(fmax(m.loss_s, sum_in(v, of, QUEUE, &m, taken)) - usual, lost);
	else
		m.loss_s = fmin(m.loss_s - usual, condition_max_loss(v, known, of, &m, taken));
	most = isinf(lost) || m.loss_s >= MOST_SHARE * lost;
	m.loss_s /= fmax(m.time_s / (m.to_s - m.from_s), 1); /* several threads waited in parallel */
	if (cause != LOSS_OWN_QUEUE || !rest->polls)
		condition_add(v, all, cause, m, most);
}

/* Adds the conditions of a process, and measures the rest of its run-queue delay. */
static void waits_add(struct variance *v, struct waits *known, size_t process, struct stretches *all, struct remaining_delay *rest)
{
	struct mat of = mat_new(ROWS, v->columns);
	bool *joined = mem_new(v->columns, sizeof(*joined)), *found = mem_new(v->columns, sizeof(*found));
	bool *taken = mem_new(v->columns, sizeof(*taken)); /* [columns], most of the column is in stops and quotas */
	struct stretches high = { .n = 0 };

	process_columns(v, process, &of, joined);
	intervals_add(v, known, process, &of, USAGE_STOPPED, LOSS_STOPPED, all);
	intervals_add(v, known, process, &of, USAGE_THROTTLED, LOSS_THROTTLED, all);
	for (size_t c = 0; c < v->columns; c++)
		taken[c] = conditions_overlap(v, process, (double)c * v->column_s, (double)(c + 1) * v->column_s) > v->column_s / 2;
	fill_requested_columns(v, taken, &of);
	stretches_find_in_row(v, process, &of.at[WANTED_TO_RUN * v->columns], &of.at[RAN * v->columns], joined, &high);
	for (size_t i = 0; i < high.n; i++)
		for (size_t c = high.items[i].first; c < high.items[i].end; c++)
			found[c] = true;
	rest->when.process = process;
	measure_remaining_delay(v, known, &of, found, rest);
	for (size_t i = 0; i < high.n; i++)
		wait_add(v, known, &of, &high.items[i], taken, rest, all);
	mat_release(&of);
	mem_free(joined, found, taken, high.items);
}

/* Adds a condition for a process that waits evenly from start to end. The usual wait is the longest wait of another process on the host for
 * as much work. Other programs must have used the CPUs for as long as the loss; half as long if the run itself cannot have delayed the
 * process. */
static void add_remaining_condition(struct variance *v, size_t process, const struct remaining_delay *rests, struct stretches *all)
{
	struct remaining_delay r = rests[process];
	double most = 0;
	bool alone = true; /* no other process shows the usual wait */

	if (!(r.waited_s >= v->least_s))
		return;
	for (size_t p = 0; p < v->fragments.n_processes; p++)
		if (p != process && processors_same_host(&v->fragments, process, p) && rests[p].ran_s >= MOST_SHARE * r.ran_s) {
			most = fmax(most, rests[p].waited_s / rests[p].ran_s);
			alone = false;
		}
	r.most_s = alone ? r.waited_s : r.most_s;
	r.when.loss_s = fmin(r.waited_s, r.most_s);
	if (r.cause == LOSS_UNKNOWN && r.polls && !alone)
		return;
	if (r.cause == LOSS_UNKNOWN) {
		struct processors_usage used = processors_usage(&v->fragments, process, r.when.from_s, r.when.to_s);
		double others = used.busy_s - used.own_s;

		r.when.loss_s =
		    v->threshold * (r.ran_s + r.waited_s) > (1 + most) * r.ran_s ? fmin(r.waited_s - most * r.ran_s, r.most_s) : 0;
		if (!(others >= (used.other_threads_s < MOST_SHARE * r.when.loss_s ? MOST_SHARE : 1) * r.when.loss_s))
			return;
		r.cause = LOSS_QUEUE;
	}
	r.when.loss_s /= fmax(r.when.time_s / (r.when.to_s - r.when.from_s), 1);
	condition_add(v, all, r.cause, r.when, r.when.throughout && v->threshold * (r.ran_s + r.when.loss_s) > r.ran_s);
}

void conditions_find(struct variance *v, struct waits *known, struct stretches *all)
{
	struct remaining_delay *rests = mem_new(v->fragments.n_processes, sizeof(*rests));

	for (size_t p = 0; p < v->fragments.n_processes; p++)
		waits_add(v, known, p, all, &rests[p]);
	for (size_t p = 0; p < v->fragments.n_processes; p++)
		add_remaining_condition(v, p, rests, all);
	free(rests);
}
