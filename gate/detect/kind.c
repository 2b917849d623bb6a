#include "gate/detect/kind.h"

#include "base/mem.h"
#include "base/stats.h"

#include <math.h>
#include <string.h>

#define LEAST_PART    .02 /* of a function's errors: a column with less, and no votes, is not considered */
#define LEAST_OTHER   .05 /* relative difference below which a change is negligible */
#define LEAST_AGAINST .05 /* of the cost of what became less: what became more by less is negligible */

/* What brings other events with it: a line that another core has changed is a miss, too; new misses on other nodes are
 * not trouble of their own; copying 8 bytes is an access. */
static const struct {
	const char *cause, *effect;
	double each; /* events of the effect for one of the cause */
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

/* A column of a function. */
struct change {
	struct counter_about about;
	bool there; /* it has a part in what is wrong */
	double normal, now;
	double more;  /* events a call on top, less those that follow from others; below 0: fewer */
	double raw;   /* these too, whether they matter or not */
	double share; /* of the samples that are anomalous: what their median moved by, the mean moved by about so much of it */
};

static double change_more(const struct change *c, double work_normal, double work_now)
{
	double by_rate = (c->now - c->normal) * work_now, by_call = c->now * work_now - c->normal * work_normal;

	if (c->about.role == COUNTER_WORK)
		return c->now - c->normal;
	/* As often per work, but more work: that is the work's. Fewer a call, but less work: neither. As many a call, but less work (or
	 * more, and fewer per work): neither, and medians are not equal to the last event. */
	if (by_rate * by_call <= 0)
		return 0;
	if (fabs(by_rate) <= fabs(by_call))
		return by_rate;
	return fabs(by_call) >= LEAST_OTHER * c->normal * work_normal ? by_call : 0;
}

static bool change_matters(const struct change *c)
{
	double difference = fabs(c->now - c->normal) * c->share;

	return c->there && difference >= c->about.min_relevant_delta && difference >= LEAST_OTHER * fmax(fabs(c->normal), fabs(c->now));
}

static void changes_subtract_consequences(const char *const *columns, size_t p, struct change *changes)
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
		if (cause && effect && cause->more > 0 && effect->more > 0)
			effect->more = fmax(0, effect->more - consequences[r].each * cause->more);
	}
}

/* For a column that is not anomalous: its median now is what it was. */
static double kind_median(const struct observations *seen, size_t function, size_t column)
{
	double *values = mem_new(seen->values.rows, sizeof(double)), median = 0;
	size_t n = 0;

	for (size_t i = 0; i < seen->values.rows; i++)
		if (seen->function[i] == function && !isnan(mat_get(&seen->values, i, column)))
			values[n++] = mat_get(&seen->values, i, column);
	if (n)
		median = stats_median(values, n);
	free(values);
	return median;
}

static void changes_find(enum record_back_end back_end, const struct observations *seen, const struct detection_function *f,
			 struct change *changes)
{
	double work_normal = 0, work_now = 0;
	size_t p = seen->values.cols;
	bool has_work = false;

	for (size_t c = 0; c < p; c++) {
		changes[c].about = counter_about(back_end, seen->columns[c]);
		if (changes[c].about.role == COUNTER_WORK)
			changes[c].normal = changes[c].now = kind_median(seen, f->function, c);
	}
	for (size_t i = 0; i < f->n_columns; i++) {
		const struct detection_column *d = &f->columns[i];
		struct change *c = &changes[d->column];

		c->share = f->samples_anomalous ? (double)f->samples_anomalous / (double)f->samples : 1;
		c->there = d->votes > 0 || d->part >= LEAST_PART;
		c->normal = d->normal;
		c->now = d->now;
	}
	for (size_t c = 0; c < p; c++) {
		has_work = has_work || changes[c].about.role == COUNTER_WORK;
		work_normal += changes[c].about.role == COUNTER_WORK ? changes[c].normal : 0;
		work_now += changes[c].about.role == COUNTER_WORK ? changes[c].now : 0;
	}
	for (size_t c = 0; c < p; c++) {
		changes[c].raw = change_more(&changes[c], has_work ? work_normal : 1, has_work ? work_now : 1);
		changes[c].more = changes[c].there ? changes[c].raw : 0;
	}
	/* Causes that are too small to matter as well: misses just below, on pages just above. */
	changes_subtract_consequences(seen->columns, p, changes);
	for (size_t c = 0; c < p; c++)
		if (!change_matters(&changes[c]))
			changes[c].more = 0;
}

static double change_cost(const struct change *change)
{
	return change->more * change->about.cost_ns;
}

static bool kind_is_named(const struct kind *kind, enum trouble trouble)
{
	bool named = kind->trouble == trouble || trouble == TROUBLE_UNKNOWN || trouble == TROUBLE_SLOWER;

	for (size_t i = 0; i < kind->n_further; i++)
		named = named || kind->further[i] == trouble;
	return named;
}

/* The column whose events cost most, among kinds not named so far that moved as the leading one did; SIZE_MAX: none. */
static size_t kind_next_further(const struct change *changes, size_t p, const struct kind *kind)
{
	double lead = change_cost(&changes[kind->column]), most = 0;
	size_t next = SIZE_MAX;

	for (size_t c = 0; c < p; c++) {
		double part = change_cost(&changes[c]) / lead;

		if (part < KIND_FURTHER_PART || part <= most || changes[c].about.role == COUNTER_EFFECT ||
		    kind_is_named(kind, changes[c].about.trouble))
			continue;
		most = part;
		next = c;
	}
	return next;
}

static void kind_add_further(const struct change *changes, size_t p, struct kind *kind)
{
	size_t c;

	while (kind->n_further < KIND_FURTHER_MAX && (c = kind_next_further(changes, p, kind)) != SIZE_MAX)
		kind->further[kind->n_further++] = changes[c].about.trouble;
}

/* Misses, which another function may have caused; and whether there is anything else. */
static void kind_add_misses(const struct change *changes, size_t p, struct kind *kind)
{
	bool own = false, missed = false;

	for (size_t c = 0; c < p; c++) {
		const struct change *change = &changes[c];
		bool miss = change->about.role == COUNTER_MISS;

		kind->misses_ns += miss ? change->share * fmax(0, change->raw) * change->about.cost_ns : 0;
		missed = missed || (miss && change->more > 0);
		own = own || (!miss && change->about.role != COUNTER_EFFECT && fabs(change->more) > 0);
	}
	kind->only_misses = missed && !own;
}

/* The column whose events on top cost most; SIZE_MAX: none whose cost is not small beside all that became less. */
static size_t changes_most_costly(const struct change *changes, size_t p)
{
	size_t most = SIZE_MAX;
	double less = 0;

	for (size_t c = 0; c < p; c++)
		if (changes[c].about.role != COUNTER_EFFECT) {
			double cost = change_cost(&changes[c]);

			less += fmax(0, -cost);
			if (cost > 0 && (most == SIZE_MAX || cost > change_cost(&changes[most])))
				most = c;
		}
	return most != SIZE_MAX && change_cost(&changes[most]) >= LEAST_AGAINST * less ? most : SIZE_MAX;
}

/* The column by which a call saves most; SIZE_MAX: none. */
static size_t changes_least_costly(const struct change *changes, size_t p)
{
	size_t least = SIZE_MAX;

	for (size_t c = 0; c < p; c++) {
		double cost = changes[c].about.role == COUNTER_EFFECT ? 0 : change_cost(&changes[c]);

		if (cost < 0 && (least == SIZE_MAX || cost < change_cost(&changes[least])))
			least = c;
	}
	return least;
}

struct kind kind_of(enum record_back_end back_end, const struct observations *seen, const struct detection_function *function)
{
	size_t p = seen->values.cols, most, least;
	struct change *changes = mem_new(p, sizeof(changes[0]));
	struct kind kind = { .trouble = TROUBLE_UNKNOWN, .column = SIZE_MAX };
	bool slower = false, faster = false;
	double time_ns = (double)NAN;

	changes_find(back_end, seen, function, changes);
	for (size_t c = 0; c < p; c++) {
		const struct change *change = &changes[c];

		if (change->about.role != COUNTER_EFFECT) {
			kind.more_ns += change_cost(change);
		} else {
			slower = slower || (change_matters(change) && change->now > change->normal);
			faster = faster || (change_matters(change) && change->now < change->normal);
			time_ns = strcmp(seen->columns[c], COUNTERS_TIME) == 0 ? change->now - change->normal : time_ns;
		}
	}
	most = changes_most_costly(changes, p);
	least = changes_least_costly(changes, p);
	kind.more_ns = isnan(time_ns) ? kind.more_ns : time_ns;
	kind.small = function->small || (most == SIZE_MAX && least == SIZE_MAX && !slower && !faster);
	kind.improved = most == SIZE_MAX && !slower && (least != SIZE_MAX || faster);
	kind.column = most != SIZE_MAX ? most : kind.improved ? least : SIZE_MAX;
	if (kind.column != SIZE_MAX) {
		kind.trouble = changes[kind.column].about.trouble;
		kind_add_further(changes, p, &kind);
	} else if (slower) {
		kind.trouble = TROUBLE_SLOWER;
	}
	kind_add_misses(changes, p, &kind);
	free(changes);
	return kind;
}

void kind_text(const struct kind *kind, const char *also, struct buf *out)
{
	if (kind->improved && kind->column == SIZE_MAX)
		buf_text(out, "takes less time");
	else
		buf_format(out, "%s%s", kind->improved ? "less: " : "", trouble_text(kind->trouble));
	for (size_t i = 0; i < kind->n_further; i++)
		buf_format(out, "%s%s", also, trouble_text(kind->further[i]));
}
