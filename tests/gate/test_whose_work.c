/* Tests which processes' work is compared, how much a weighted record represents, and which programs used the CPUs. */
#include "gate/variance/processors.h"
#include "gate/variance/stored_runs.h"
#include "tests/gate/made_run.h"
#include "tests/gate/said.h"
#include "tests/scratch.h"

static void analyse(const char *directory, const struct made_options *o, struct variance *v)
{
	const struct variance_options options = { .threshold = VARIANCE_THRESHOLD, .least_s = (double)NAN };
	struct fragments f;
	struct assay_error err;

	assert_int_equal(mkdir(directory, 0755), 0);
	assert_int_equal(made_run(directory, o), 0);
	check(record_files_read(&directory, 1, &f, &err), &err);
	check(variance_analyse(&f, &options, v, &err), &err);
}

/* Checks two processes of one program, of which one takes three times as long per fragment. It is slow if both have the same command line;
 * otherwise its work is different, unless work is counted. */
static void commands(void **state)
{
	static const char *const alike[] = { "-1 file", "-1 file", "-1 file" }, *const unlike[] = { "-1", "-d", "-1" };
	static const struct made_disturbance slow = { 1, 0, 99, 3, MADE_SLOW };
	struct made_options o = { .ranks = 3, .seconds = 3, .noise = .01, .seed = 3, .commands = alike, .disturbances = &slow, .n = 1 };
	struct variance v;

	(void)state;
	analyse("alike", &o, &v);
	assert_int_equal(v.n_regions, 1);
	assert_int_equal(v.regions[0].members[0].process, 1);
	variance_release(&v);
	o.commands = unlike;
	analyse("unlike", &o, &v);
	assert_int_equal(v.n_regions, 0);
	variance_release(&v);
	o.counted = true;
	analyse("counted", &o, &v);
	assert_int_equal(v.n_regions, 1);
	variance_release(&v);
}

/* Checks a long fragment of weight two among short ones: it counts twice. One of weight 32 counts for no more than the time there was. */
static void bursts(void **state)
{
	struct made_options o = { .ranks = 1, .seconds = 6, .seed = 5, .bursts = 2 };
	struct variance v;

	(void)state;
	analyse("bursts", &o, &v);
	assert_true(fabs(v.activity_s[ACTIVITY_COMPUTATION] / v.total_s - 1) < .15);
	assert_true(variance_coverage(&v) > .85);
	variance_release(&v);
	o.seconds = 60;
	o.bursts = 32;
	analyse("rarely", &o, &v);
	assert_true(v.activity_s[ACTIVITY_COMPUTATION] < 1.1 * v.total_s);
	variance_release(&v);
	o.overstated = true; /* each call site has enough time for its weights, the thread does not */
	analyse("overstated", &o, &v);
	assert_true(v.activity_s[ACTIVITY_COMPUTATION] < 1.1 * v.total_s);
	variance_release(&v);
}

/* Checks other programs that use the CPU for three quarters of the time, during the whole run or a part of it. */
static void waited(void **state)
{
	static const struct made_disturbance queue = { 0, 0, 99, 4, MADE_QUEUE };
	static const struct made_disturbance part = { 0, 1, 2, 4, MADE_QUEUE };
	struct made_options o = { .ranks = 1, .seconds = 3, .noise = .01, .seed = 3, .disturbances = &queue, .n = 1 };
	struct variance v;
	char *text;

	(void)state;
	analyse("waited", &o, &v);
	assert_int_equal(v.n_regions, 1);
	assert_true(v.regions[0].condition && v.regions[0].members[0].throughout);
	assert_true(fabs(v.regions[0].estimated_s / v.total_s - .71) < .06);
	assert_non_null(strstr(text = said(&v), "that other programs were using: rank 0 lost 2."));
	assert_non_null(strstr(text, "% of the run)"));
	free(text);
	variance_release(&v);
	o.disturbances = &part;
	analyse("part", &o, &v);
	assert_non_null(strstr(text = said(&v), " from 1.0"));
	free(text);
	variance_release(&v);
	o.n = 0;
	analyse("calm", &o, &v);
	assert_null(strstr(text = said(&v), "that other programs"));
	free(text);
	variance_release(&v);
}

/* Checks delays by the process's own children. Other programs use another CPU all the time: for less than the delay, or for longer, which
 * leaves the cause unknown. */
static void another_processor(void **state)
{
	static const struct {
		double factor;
		enum loss_cause cause;
	} rows[] = { { 1.25, LOSS_OWN_QUEUE }, { 2.5, LOSS_WAITING } };

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct made_disturbance d[] = { { 1, 1, 2.5, 2, MADE_CHILDREN }, { 1, 0, 99, rows[i].factor, MADE_BESIDE } };
		const struct made_options o = {
			.ranks = 2, .seconds = 4, .noise = .01, .seed = 3, .counted = true, .disturbances = d, .n = 2
		};
		struct variance v;

		analyse(i ? "longer" : "less", &o, &v);
		assert_int_equal(v.n_regions, 1);
		assert_int_equal(v.regions[0].breakdown.parts[0].cause, rows[i].cause);
		variance_release(&v);
	}
}

/* Checks five very different runs of one process, of which the last has run-queue delay throughout: the answer names that cause. */
static void slow_run(void **state)
{
	static const double factors[] = { 1, 1.4, 1.9, 2.3, 4 };
	static const char *const names[] = { "first", "second", "third", "fourth", "fifth" };
	struct made_disturbance d = { -1, 0, 99, 1, MADE_SLOW };
	struct made_options o = { .ranks = 1, .steps = 500, .noise = .01, .seed = 3, .disturbances = &d, .n = 1 };
	const struct variance_options options = { .threshold = VARIANCE_THRESHOLD, .least_s = (double)NAN };
	struct fragments f;
	struct assay_error err;
	struct variance v;

	(void)state;
	for (size_t r = 0; r < 5; r++) {
		d.factor = factors[r];
		d.kind = r == 4 ? MADE_QUEUE : MADE_SLOW;
		assert_int_equal(mkdir(names[r], 0755), 0);
		assert_int_equal(made_run(names[r], &o), 0);
	}
	check(record_files_read(names, 5, &f, &err), &err);
	check(variance_analyse(&f, &options, &v, &err), &err);
	assert_true(v.n_regions > 0);
	assert_int_equal(v.fragments.processes[v.regions[0].members[0].process].run, 4);
	assert_true(v.regions[0].members[0].throughout);
	variance_release(&v);
}

/* Checks the last of four processes, which waits longer for each message: it is slow only if it has the same command line as the others. */
static void talk(void **state)
{
	static const char *const unlike[] = { "-1", "-1", "-1", "-d" }, *const alike[] = { "-1", "-1", "-1", "-1" };
	struct made_options o = {
		.ranks = 4, .seconds = 3, .noise = .01, .seed = 3, .commands = alike, .slow_calls = 4, .slow_from_s = 0, .slow_to_s = 99
	};
	struct variance v;

	(void)state;
	analyse("alike", &o, &v);
	assert_int_equal(v.n_regions, 1);
	variance_release(&v);
	o.commands = unlike;
	analyse("unlike", &o, &v);
	assert_int_equal(v.n_regions, 0);
	variance_release(&v);
}

/* Makes snapshots of three processes on a host: from 1 to 2 s the first one waits for a CPU. The last exists from `from_s` to `to_s`. */
#define LOOKS 41

static void looked(struct fragments *f, double hog, double from_s, double to_s)
{
	double used[3] = { 0, 0, 0 }, queue = 0, busy = 0;

	for (int k = 0; k < LOOKS; k++) {
		double at = .1 * k;
		bool then = at > 1.05 && at < 2.05;

		for (size_t p = 0; p < 3; p++) {
			double more = k == 0 ? 0 : p < 2 ? (then ? .025 : .05) : at > from_s + .05 && at < to_s + .05 ? .1 : 0;
			struct snapshot *s = &f->snapshots[p * LOOKS + (size_t)k];

			*s = (struct snapshot){ .at_s = at, .process = (uint32_t)p };
			for (size_t a = 0; a < USAGE_COUNTERS; a++)
				s->value[a] = a == USAGE_MINOR ? 0 : (double)NAN;
			used[p] += more;
			busy += more;
			s->value[USAGE_CPU] = s->value[USAGE_OWN] = used[p];
		}
		queue += then ? .05 : 0;
		busy += then ? hog : 0;
		for (size_t p = 0; p < 3; p++) {
			f->snapshots[p * LOOKS + (size_t)k].value[USAGE_QUEUE] = p ? 0 : queue;
			f->snapshots[p * LOOKS + (size_t)k].value[USAGE_BUSY] = busy;
		}
	}
}

/* Checks which program is named as the user of the CPU if another process of the run used one, too: not that process, if it always does. */
static void who_ended(void **state)
{
	static const struct {
		double hog, from_s, to_s;
		enum loss_cause cause;
	} rows[] = {
		{ .05, 0, 4, LOSS_QUEUE },   /* the other process uses the CPU equally at all times */
		{ .05, 1, 2, LOSS_WAITING }, /* the other process ran only in that time: either may be the cause */
		{ 0, 1, 2, LOSS_OWN_QUEUE },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct fragment_process processes[3];
		struct snapshot snapshots[3 * LOOKS];
		struct region_member member = { .process = 0, .from_s = 1, .to_s = 2, .estimated_s = .5, .n_simultaneous = 1 };
		struct region region = { .activity = ACTIVITY_IO, .members = &member, .n = 1 };
		struct variance v = { .fragments = { .processes = processes,
						     .n_processes = 3,
						     .snapshots = snapshots,
						     .n_snapshots = 3 * LOOKS,
						     .span_s = 4 },
				      .regions = &region,
				      .n_regions = 1 };

		for (size_t p = 0; p < 3; p++)
			processes[p] = (struct fragment_process){ .host = (char *)(uintptr_t) "node",
								  .start_s = p < 2 ? 0 : rows[i].from_s,
								  .end_s = p < 2 ? 4 : rows[i].to_s,
								  .first_snapshot = p * LOOKS,
								  .n_snapshots = LOOKS };
		looked(&v.fragments, rows[i].hog, rows[i].from_s, rows[i].to_s);
		breakdowns_find(&v);
		assert_int_equal(region.breakdown.parts[0].cause, rows[i].cause);
		breakdown_release(&region.breakdown);
	}
}

int suite_whose_work(void)
{
	const struct CMUnitTest tests[] = { SCRATCH_TEST(commands),	SCRATCH_TEST(bursts), SCRATCH_TEST(waited),
					    SCRATCH_TEST(slow_run),	SCRATCH_TEST(talk),   SCRATCH_TEST(another_processor),
					    cmocka_unit_test(who_ended) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
