#include "gate/detect/kind.h"

#include "base/mem.h"

#include <math.h>
#include <string.h>

#define PART_MIN	 .02 /* a column with a smaller fraction of the function's reconstruction error, and without votes, is ignored */
#define OTHER_PART_MIN	 .05 /* smaller relative changes are negligible */
#define REMOTE_PART_MAX	 .75 /* fraction of the additional misses; if pages are spread evenly over nodes, at most 0.5 are remote */
#define CALLS_PART_MAX	 .5  /* calls lead if they make up this fraction of the logarithm of the factor by which a run costs more */
#define OPPOSED_PART_MIN .25 /* minimum added cost that can lead, as a fraction of the saved cost; costs are orders of magnitude */

/* Events that cause other events. A line that another core changed is also a miss, and copying 8 bytes is also an access. */
static const struct {
	const char *cause, *effect;
	double each; /* number of effect events per cause event */
} consequences[] = {
	{ "emulated:hitm_true_milli", "emulated:l1_misses", .001 },
	{ "emulated:hitm_true_milli", "emulated:l2_misses", .001 },
	{ "emulated:hitm_true_milli", "emulated:remote", .001 },
	{ "emulated:hitm_true_milli", "emulated:atomics", .001 },
	{ "emulated:hitm_false_milli", "emulated:l1_misses", .001 },
	{ "emulated:hitm_false_milli", "emulated:l2_misses", .001 },
	{ "emulated:hitm_false_milli", "emulated:remote", .001 },
	{ "emulated:l2_misses", "emulated:remote", 1 },
	{ "emulated:copied_bytes", "emulated:accesses", .125 },
	{ "emulated:copied_bytes", "emulated:l1_misses", 1 / 32. },
	{ "emulated:copied_bytes", "emulated:l2_misses", 1 / 32. },
	{ "emulated:copied_bytes", "emulated:remote", 1 / 32. },
	{ "PAPI_L2_TCM", "PAPI_L1_DCM", 1 },
	{ "PAPI_L3_TCM", "PAPI_L2_TCM", 1 },
};

/* Change of one column of a function. */
struct change {
	struct counter_info about;
	bool is_significant; /* the column is part of the anomaly, or chance does not explain the change of its mean */
	bool is_time;
	double normal, now, unsure[2];
	double more; /* additional events of a call, without those that other events cause; negative if fewer */
	double raw;  /* additional events of a call, even if they do not matter */
};

/* Work of a call, and number of calls. */
struct work {
	double normal, now; /* work of a call; 1 if work is not counted */
	double calls;	    /* calls now per normal call; 1 if chance explains the difference */
	bool counted;
};

/* Returns the change of events in a run, per call that the run normally had. Returns 0 if the rate per work and the number changed in
 * opposite directions. Also returns 0 if the rate changed but the number in a run is nearly the same. */
static double change_events_per_call(const struct change *c, const struct work *work)
{
	bool is_work = c->about.role == COUNTER_WORK;
	double normal = c->normal * (is_work ? 1 : work->normal), now = c->now * (is_work ? 1 : work->now) * work->calls;
	double by_run = now - normal, by_rate = is_work ? by_run : (c->now - c->normal) * work->now * work->calls;

	if (by_rate * by_run <= 0)
		return 0;
	if (fabs(by_rate) <= fabs(by_run))
		return by_rate;
	return fabs(by_run) >= OTHER_PART_MIN * normal ? by_run : 0; /* a smaller change of the number counts as no change */
}

/* Reports whether a change matters. Work and time are compared per run. One sort of work is compared with all work. */
static bool change_matters(const struct change *c, const struct work *work)
{
	bool is_work = c->about.role == COUNTER_WORK, by_run = is_work || c->is_time;
	double difference = fabs(c->now * (by_run ? work->calls : 1) - c->normal),
	       most = is_work ? fmax(work->normal, work->now * work->calls) : fmax(fabs(c->normal), fabs(c->now));

	/* Adds the possible errors, which have the same direction on both sides. */
	if (c->is_time)
		most = fmax(fabs(c->normal) + c->unsure[0], fabs(c->now) + c->unsure[1]);
	return c->is_significant && difference >= (is_work ? 0 : c->about.min_relevant_delta) && difference >= OTHER_PART_MIN * most &&
	       difference > 0;
}

/* Reports whether nearly all additional misses are on other nodes. The trouble then is the location of the pages, not the misses. */
static bool is_mostly_remote(const struct change *misses, const struct change *remote, const struct work *work)
{
	return misses->about.role == COUNTER_MISS && remote->about.trouble == TROUBLE_REMOTE && change_matters(misses, work) &&
	       remote->more >= REMOTE_PART_MAX * misses->more;
}

static void changes_subtract_consequences(const char *const *columns, size_t p, const struct work *work, struct change *changes)
{
	for (size_t r = 0; r < sizeof(consequences) / sizeof(consequences[0]); r++) {
		const struct change *cause = NULL;
		struct change *effect = NULL;

		for (size_t c = 0; c < p; c++) {
			if (strcmp(columns[c], consequences[r].cause) == 0)
				cause = &changes[c];
			if (strcmp(columns[c], consequences[r].effect) == 0)
				effect = &changes[c];
		}
		if (cause && effect && cause->more > 0 && effect->more > 0 && !is_mostly_remote(cause, effect, work))
			effect->more = fmax(0, effect->more - consequences[r].each * cause->more);
	}
}

static struct work changes_work(const struct detection_function *f, size_t p, const struct change *changes)
{
	const struct detection_mean *calls = &f->means[p];
	struct work work = { .calls = calls->is_significant && calls->normal > 0 ? calls->now / calls->normal : 1 };

	for (size_t c = 0; c < p; c++) {
		work.counted = work.counted || changes[c].about.role == COUNTER_WORK;
		work.normal += changes[c].about.role == COUNTER_WORK ? changes[c].normal : 0;
		work.now += changes[c].about.role == COUNTER_WORK ? changes[c].now : 0;
	}
	if (!work.counted)
		work.normal = work.now = 1;
	return work;
}

/* If chance explains the changes of all means, uses the columns that made samples anomalous instead. Work counts only with votes, because
 * it varies with the input: it is not divided by anything. */
static void changes_remove_chance(const struct detection_function *f, size_t p, const struct work *work, struct change *changes)
{
	for (size_t c = 0; c < p; c++)
		if (change_matters(&changes[c], work))
			return;
	for (size_t i = 0; i < f->n_columns; i++) {
		struct change *c = &changes[f->columns[i].column];

		c->is_significant = f->columns[i].votes > 0 || (f->columns[i].part >= PART_MIN && c->about.role != COUNTER_WORK);
	}
}

static struct work changes_find(enum record_back_end back_end, const struct observations *seen, const struct detection_function *f,
				const double error_ns[2], uint32_t without, struct change *changes)
{
	size_t p = seen->values.cols;
	struct work work;

	for (size_t c = 0; c < p; c++) {
		const struct detection_mean *mean = &f->means[c];
		bool known = !isnan(mean->normal) && !isnan(mean->now);

		changes[c] = (struct change){ .about = counter_info(back_end, seen->columns[c]),
					      .is_significant = known && (mean->is_significant || f->means[p].is_significant),
					      .is_time = strcmp(seen->columns[c], COUNTERS_TIME) == 0,
					      .normal = known ? mean->normal : 0,
					      .now = known ? mean->now : 0 };
	}
	for (size_t c = 0; c < p; c++)
		for (int side = 0; side < 2 && changes[c].is_time; side++)
			changes[c].unsure[side] = error_ns[side];
	work = changes_work(f, p, changes);
	changes_remove_chance(f, p, &work, changes);
	for (size_t c = 0; c < p; c++) {
		changes[c].is_significant = changes[c].is_significant && !(without >> changes[c].about.trouble & 1);
		changes[c].raw = change_events_per_call(&changes[c], &work);
		changes[c].more = changes[c].is_significant ? changes[c].raw : 0;
	}
	/* Also subtracts for causes too small to matter: else misses just below their limit leave remote accesses just above it. */
	changes_subtract_consequences(seen->columns, p, &work, changes);
	for (size_t c = 0; c < p; c++)
		if (!change_matters(&changes[c], &work))
			changes[c].more = 0;
	return work;
}

static double change_cost(const struct change *change)
{
	return change->more * change->about.cost_ns;
}

bool kind_has(const struct kind *kind, enum trouble trouble)
{
	bool has = kind->trouble == trouble;

	for (size_t i = 0; i < kind->n_further_kinds; i++)
		has = has || kind->further_kinds[i] == trouble;
	return has;
}

static bool kind_is_named(const struct kind *kind, enum trouble trouble)
{
	bool only_calls = trouble == TROUBLE_MORE_WORK && kind->trouble == TROUBLE_CALLS;

	return trouble == TROUBLE_UNKNOWN || trouble == TROUBLE_SLOWER || only_calls || kind_has(kind, trouble);
}

/* Returns the cost of all counters of the same kind as this column, if they changed in its direction: accesses and blocks are both work. */
static double changes_sum_kind_cost(const struct change *changes, size_t p, size_t column)
{
	double cost = 0;

	for (size_t c = 0; c < p; c++)
		if (changes[c].about.role != COUNTER_EFFECT && changes[c].about.trouble == changes[column].about.trouble &&
		    (changes[c].more > 0) == (changes[column].more > 0))
			cost += change_cost(&changes[c]);
	return cost;
}

/* Reports whether column `c` costs more than column `best` (SIZE_MAX: none): by their kinds or, within one kind, by the columns. */
static bool change_costs_more(const struct change *changes, size_t p, size_t c, size_t best)
{
	double more;

	if (best == SIZE_MAX)
		return true;
	more = fabs(changes_sum_kind_cost(changes, p, c)) - fabs(changes_sum_kind_cost(changes, p, best));
	return changes[c].about.trouble == changes[best].about.trouble ? fabs(change_cost(&changes[c])) > fabs(change_cost(&changes[best]))
								       : more > 0;
}

/* Returns the column of the most expensive kind that is not named yet and changed in the leading direction; SIZE_MAX if there is none. */
static size_t kind_next_further(const struct change *changes, size_t p, const struct kind *kind)
{
	double lead = changes_sum_kind_cost(changes, p, kind->column);
	size_t next = SIZE_MAX;

	for (size_t c = 0; c < p; c++)
		if (change_cost(&changes[c]) / lead > 0 && changes_sum_kind_cost(changes, p, c) / lead >= KIND_FURTHER_PART &&
		    changes[c].about.role != COUNTER_EFFECT && !kind_is_named(kind, changes[c].about.trouble) &&
		    change_costs_more(changes, p, c, next))
			next = c;
	return next;
}

static void kind_add_further(const struct change *changes, size_t p, struct kind *kind)
{
	size_t c;

	while (kind->n_further_kinds < KIND_FURTHER_MAX && (c = kind_next_further(changes, p, kind)) != SIZE_MAX)
		kind->further_kinds[kind->n_further_kinds++] = changes[c].about.trouble;
}

/* Adds up misses and mispredicted branches, which another function may have caused. Determines whether anything else changed. */
static void kind_add_misses(const struct change *changes, size_t p, struct kind *kind)
{
	bool own = false, missed = false, branched = false;

	for (size_t c = 0; c < p; c++) {
		const struct change *change = &changes[c];
		enum trouble trouble = change->about.trouble;
		bool miss = change->about.role == COUNTER_MISS, branch = trouble == TROUBLE_BRANCH;

		if ((miss || trouble == TROUBLE_REMOTE) && change->is_significant)
			kind->misses_by_kind_ns[trouble] += change->raw * change->about.cost_ns;
		kind->misses_ns += miss ? fmax(0, change->raw) * change->about.cost_ns : 0;
		kind->lines = fmax(kind->lines, trouble == TROUBLE_CACHE ? change->raw : 0);
		kind->branches += branch ? fmax(0, change->more) : 0;
		missed = missed || (miss && change->more > 0);
		branched = branched || (branch && change->more > 0);
		own = own || (!miss && !(branch && change->more > 0) && change->about.role != COUNTER_EFFECT && fabs(change->more) > 0);
	}
	kind->has_only_misses = missed && !own && !branched;
	kind->has_only_branches = branched && !own && !missed;
}

/* Returns the column with the largest added cost of its kind; SIZE_MAX if there is none, or if it is small compared with the saved cost. */
static size_t changes_most_costly(const struct change *changes, size_t p)
{
	size_t most = SIZE_MAX;
	double less = 0;

	for (size_t c = 0; c < p; c++)
		if (changes[c].about.role != COUNTER_EFFECT) {
			double cost = change_cost(&changes[c]);

			less += fmax(0, -cost);
			if (cost > 0 && change_costs_more(changes, p, c, most))
				most = c;
		}
	return most != SIZE_MAX && changes_sum_kind_cost(changes, p, most) >= OPPOSED_PART_MIN * less ? most : SIZE_MAX;
}

/* Reports whether the work or copying in column `c` increased by a larger factor than the misses, and so causes them. */
static bool change_explains_misses(const struct change *c, const struct work *work, const struct change *misses)
{
	if (c->about.role == COUNTER_WORK)
		return work->now * work->calls * misses->normal > work->normal * misses->now;
	return c->about.trouble == TROUBLE_COPYING && c->now * misses->normal > c->normal * misses->now;
}

/* Returns the leading column, usually `most`. If that has misses that more work or copying causes, returns the column of the cause instead,
 * unless the cause is far cheaper. */
static size_t changes_find_leading(const struct change *changes, size_t p, const struct work *work, size_t most)
{
	size_t lead = SIZE_MAX;

	if (most == SIZE_MAX || changes[most].about.role != COUNTER_MISS)
		return most;
	for (size_t c = 0; c < p; c++)
		if (changes[c].more > 0 && change_explains_misses(&changes[c], work, &changes[most]) &&
		    change_costs_more(changes, p, c, lead))
			lead = c;
	return lead != SIZE_MAX && changes_sum_kind_cost(changes, p, lead) >= OPPOSED_PART_MIN * changes_sum_kind_cost(changes, p, most)
		   ? lead
		   : most;
}

/* Returns the column whose kind saves most per call; SIZE_MAX if there is none. */
static size_t changes_least_costly(const struct change *changes, size_t p)
{
	size_t least = SIZE_MAX;

	for (size_t c = 0; c < p; c++)
		if (changes[c].about.role != COUNTER_EFFECT && change_cost(&changes[c]) < 0 && change_costs_more(changes, p, c, least))
			least = c;
	return least;
}

/* Reports whether the work of a run increased, including changes in the number of calls. */
static bool has_more_work(const struct work *work, const struct change *changes, size_t p)
{
	bool there = work->calls < 1 || work->calls > 1;

	for (size_t c = 0; c < p; c++)
		there = there || (changes[c].about.role == COUNTER_WORK && changes[c].is_significant);
	return there && work->now * work->calls >= (1 + OTHER_PART_MIN) * work->normal;
}

/* Cost of a run per call that it normally had, ns; the measured time if available. */
struct cost {
	double normal, now;
};

static struct cost compute_run_cost(const struct change *changes, size_t p, const struct work *work, uint32_t without, struct kind *kind)
{
	struct cost cost = { 0, 0 }, time = { (double)NAN, (double)NAN };

	for (size_t c = 0; c < p; c++) {
		const struct change *change = &changes[c];
		bool is_work = change->about.role == COUNTER_WORK, effect = change->about.role == COUNTER_EFFECT;
		double each = effect ? 0 : change->about.cost_ns, normal = each * change->normal * (is_work ? 1 : work->normal),
		       now = each * change->now * (is_work ? 1 : work->now) * work->calls;

		cost.normal += without >> change->about.trouble & 1 ? 0 : normal;
		cost.now += without >> change->about.trouble & 1 ? 0 : now;
		kind->run_events[change->about.trouble] += now - normal;
		if (change->is_time)
			time = (struct cost){ change->normal, change->now * work->calls };
	}
	return isnan(time.now) ? cost : time;
}

/* Reports whether calls make up most of the factor by which a run costs more or less. */
static bool is_led_by_calls(const struct cost *cost, double calls)
{
	double factor = cost->normal > 0 && cost->now > 0 ? log(cost->now / cost->normal) : 0, by_calls = calls > 0 ? log(calls) : 0;

	return fabs(calls - 1) > OTHER_PART_MIN && by_calls * factor > 0 && fabs(by_calls) >= CALLS_PART_MAX * fabs(factor);
}

/* Computes the added cost of a call, from its time if measured. Sets *slower and *faster if a consequence such as time changed. */
static void kind_add_costs(const struct change *changes, size_t p, const struct work *work, struct kind *kind, bool *slower, bool *faster)
{
	double time_ns = (double)NAN;

	for (size_t c = 0; c < p; c++) {
		const struct change *change = &changes[c];

		if (change->about.role != COUNTER_EFFECT) {
			bool miss = change->about.role == COUNTER_MISS || change->about.trouble == TROUBLE_REMOTE;

			kind->added_cost_ns += change_cost(change);
			kind->own_ns += miss ? 0 : change_cost(change);
		} else {
			double now = change->now * (change->is_time ? work->calls : 1);

			*slower = *slower || (change_matters(change, work) && now > change->normal);
			*faster = *faster || (change_matters(change, work) && now < change->normal);
			time_ns = change->is_time ? now - change->normal : time_ns;
		}
	}
	kind->added_cost_ns = isnan(time_ns) ? kind->added_cost_ns : time_ns;
	kind->own_ns = isnan(time_ns) ? kind->own_ns : time_ns;
}

/* Sets the leading kind: that of the deciding column, more calls, or more time. Then adds the further kinds. */
static void kind_choose_leading(const struct change *changes, size_t p, const struct cost *cost, bool slower, bool with_calls,
				struct kind *kind)
{
	bool by_calls = !kind->is_negligible && with_calls && is_led_by_calls(cost, kind->calls) && (kind->calls < 1) == kind->improved;

	if (kind->column != SIZE_MAX)
		kind->trouble = changes[kind->column].about.trouble;
	else if (kind->has_grown && !kind->is_negligible)
		kind->trouble = TROUBLE_MORE_WORK;
	else if (slower)
		kind->trouble = TROUBLE_SLOWER;
	if (by_calls) {
		enum trouble beside = kind->trouble;

		kind->trouble = TROUBLE_CALLS;
		if (!kind_is_named(kind, beside))
			kind->further_kinds[kind->n_further_kinds++] = beside;
	}
	if (kind->column != SIZE_MAX)
		kind_add_further(changes, p, kind);
	if (kind->column != SIZE_MAX && changes[kind->column].about.trouble == TROUBLE_MORE_WORK && by_calls)
		kind->column = SIZE_MAX;
}

struct kind kind_classify(enum record_back_end back_end, const struct observations *seen, const struct detection_function *function,
			  const double error_ns[2], uint32_t without)
{
	size_t p = seen->values.cols, most, least;
	struct change *changes = mem_new(p, sizeof(changes[0]));
	struct kind kind = { .trouble = TROUBLE_UNKNOWN, .column = SIZE_MAX, .is_negligible = function->is_negligible, .each = 1 };
	bool slower = false, faster = false;
	struct work work;
	struct cost cost;

	if (!function->means)
		goto out;
	without |= without >> TROUBLE_CALLS & 1 ? 1u << TROUBLE_MORE_WORK : 0; /* more calls are also more work */
	work = changes_find(back_end, seen, function, error_ns, without, changes);
	cost = compute_run_cost(changes, p, &work, without, &kind);
	kind_add_costs(changes, p, &work, &kind, &slower, &faster);
	most = changes_find_leading(changes, p, &work, changes_most_costly(changes, p));
	least = changes_least_costly(changes, p);
	kind.spread = !kind.is_negligible && most == SIZE_MAX && least == SIZE_MAX && !slower && !faster;
	kind.is_negligible = kind.is_negligible || kind.spread;
	kind.calls = work.calls;
	kind.run_ns = cost.now - cost.normal;
	kind.has_grown = has_more_work(&work, changes, p) && !(without >> TROUBLE_MORE_WORK & 1);
	kind.improved = most == SIZE_MAX && !slower && (least != SIZE_MAX || faster);
	kind.column = most != SIZE_MAX ? most : kind.improved ? least : SIZE_MAX;
	if (kind.improved && kind.has_grown && kind.run_ns > 0) { /* the savings do not make up for the additional work */
		kind.improved = false;
		kind.column = SIZE_MAX;
	}
	kind_choose_leading(changes, p, &cost, slower, !(without >> TROUBLE_CALLS & 1), &kind);
	if ((kind.trouble == TROUBLE_MORE_WORK || kind.trouble == TROUBLE_CALLS) &&
	    !kind.improved) /* includes the consequences of the additional work */
		kind.added_cost_ns = fmax(kind.added_cost_ns, kind.run_ns);
	for (size_t c = 0; c < p; c++) {
		if (strcmp(seen->columns[c], "emulated:allocated_bytes") == 0)
			kind.allocated_bytes = fmax(0, changes[c].raw);
		if (changes[c].is_time)
			kind.each = changes[c].normal > 0 ? changes[c].now / changes[c].normal : 1;
	}
	if (work.counted && work.normal > 0)
		kind.each = work.now / work.normal;
	kind_add_misses(changes, p, &kind);
out:
	free(changes);
	return kind;
}

/* Appends a kind as text for users. For an improvement, says that the trouble decreased. */
static void describe_trouble(const struct kind *kind, enum trouble trouble, struct buf *out)
{
	bool same = fabs(kind->each - 1) <= OTHER_PART_MIN;

	if (trouble == TROUBLE_UNKNOWN && kind->improved) {
		buf_text(out, "takes less time");
	} else if (trouble == TROUBLE_CALLS || (trouble == TROUBLE_MORE_WORK && same)) {
		buf_format(out, "called %.3g times as often", kind->calls);
		if (trouble == TROUBLE_CALLS && !same)
			buf_format(out, ", and each call takes %.3g times as much", kind->each);
		else if (trouble == TROUBLE_CALLS)
			buf_text(out, kind->n_further_kinds ? ", each call with the same work" : ", each call the same");
	} else if (trouble == TROUBLE_MORE_WORK && kind->improved) {
		buf_text(out, "less work at each call");
	} else {
		buf_format(out, "%s%s", kind->improved ? "less: " : "", trouble_text(trouble));
	}
}

void kind_text(const struct kind *kind, const char *also, struct buf *out)
{
	describe_trouble(kind, kind->trouble, out);
	for (size_t i = 0; i < kind->n_further_kinds; i++) {
		buf_text(out, also);
		describe_trouble(kind, kind->further_kinds[i], out);
	}
}
