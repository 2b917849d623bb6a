/* Whose work is compared with whose, what a record stands for, and whose the processors were. */
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
	check(variance_of(&f, &options, v, &err), &err);
}

/* Two processes of one program, the second of which takes three times as long for each piece: slow, if both were asked to do the same;
 * another work, if they were not, unless it is counted. */
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

/* A long piece among short ones that stands for two weighs as two. */
static void bursts(void **state)
{
	const struct made_options o = { .ranks = 1, .seconds = 6, .seed = 5, .bursts = true };
	struct variance v;

	(void)state;
	analyse("bursts", &o, &v);
	assert_true(fabs(v.activity_s[ACTIVITY_COMPUTATION] / v.total_s - 1) < .15);
	assert_true(variance_coverage(&v) > .85);
	variance_release(&v);
}

/* Others have the processor for three quarters of the time, from beginning to end: nothing shows what is usual, but that is told. */
static void waited(void **state)
{
	static const struct made_disturbance queue = { 0, 0, 99, 4, MADE_QUEUE };
	struct made_options o = { .ranks = 1, .seconds = 3, .noise = .01, .seed = 3, .disturbances = &queue, .n = 1 };
	double waited_s;
	struct variance v;
	char *text;

	(void)state;
	analyse("waited", &o, &v);
	assert_int_equal(v.n_regions, 0);
	assert_int_equal(processors_waited_most(&v.fragments, .15, v.least_s, &waited_s), 0);
	assert_true(fabs(waited_s / v.total_s - .71) < .06);
	assert_true(strstr(text = said(&v), "but rank 0 was ready to run and had no processor for ") && strstr(text, "'--region 0:0.00-"));
	free(text);
	variance_release(&v);
	o.n = 0;
	analyse("calm", &o, &v);
	assert_int_equal(processors_waited_most(&v.fragments, .15, v.least_s, &waited_s), SIZE_MAX);
	assert_null(strstr(text = said(&v), "no processor"));
	free(text);
	variance_release(&v);
}

/* Children of its own are in its way, as far as that is known: others use another processor all the time, for less than it waits, or for
 * longer. */
static void another_processor(void **state)
{
	static const struct {
		double factor;
		enum loss_cause cause;
	} rows[] = { { 1.25, LOSS_CROWDED }, { 2.5, LOSS_WAITING } };

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct made_disturbance d[] = { { 1, 1, 2.5, 2, MADE_CHILDREN }, { 1, 0, 99, rows[i].factor, MADE_BESIDE } };
		const struct made_options o = {
			.ranks = 2, .seconds = 4, .noise = .01, .seed = 3, .counted = true, .disturbances = d, .n = 2
		};
		struct variance v;

		analyse(i ? "longer" : "less", &o, &v);
		assert_int_equal(v.n_regions, 1);
		assert_int_equal(v.regions[0].why.parts[0].cause, rows[i].cause);
		variance_release(&v);
	}
}

/* Of five runs of one process, which differ much, the last one waits for a processor from beginning to end: that is its reason. */
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
	check(variance_of(&f, &options, &v, &err), &err);
	assert_true(v.n_regions > 0);
	assert_int_equal(v.fragments.processes[v.regions[0].members[0].process].run, 4);
	assert_true(v.regions[0].members[0].throughout);
	variance_release(&v);
}

/* The last of four processes waits longer for each message: it was asked to do something else, and talks to others; or it was not. */
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

int suite_whose_work(void)
{
	const struct CMUnitTest tests[] = { SCRATCH_TEST(commands), SCRATCH_TEST(bursts), SCRATCH_TEST(waited),
					    SCRATCH_TEST(slow_run), SCRATCH_TEST(talk),	  SCRATCH_TEST(another_processor) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
