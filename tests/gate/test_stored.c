/* Tests the division of a version's time, from the runs in the store. */
#include "gate/profile/stored.h"
#include "gate/profile/profile.h"

#include "runs/running/execution.h"
#include "tests/scratch.h"

#include <math.h>

static void assert_near(double is, double wanted)
{
	assert_true(fabs(is - wanted) < 1e-12);
}

static void assert_shares(const struct levels *levels, double compute, double kernel, double waiting)
{
	assert_near(levels->of[LEVEL_COMPUTE].share, compute);
	assert_near(levels->of[LEVEL_KERNEL].share, kernel);
	assert_near(levels->of[LEVEL_WAITING].share, waiting);
}

#define MANIFEST "command: [run]\nversions: { a: }\nwarm_ups: 0\nrepetitions: 3\n"

struct stored {
	struct lab lab;
	struct manifest manifest;
	struct plan plan;
};

static void stored_enter(struct stored *s)
{
	static char names[][8] = { "a", "", "m1", "m2", "app" };
	static char *versions[] = { names[0] }, *inputs[] = { names[1] }, *machines[] = { names[2], names[3] };
	struct assay_error err;

	s->lab = scratch_lab("lab");
	check(manifest_parse("app.yaml", MANIFEST, strlen(MANIFEST), &s->manifest, &err), &err);
	s->plan = (struct plan){ .application = names[4],
				 .versions = versions,
				 .artefacts = versions,
				 .n_versions = 1,
				 .inputs = inputs,
				 .n_inputs = 1,
				 .machines = machines,
				 .n_machines = 2,
				 .repetitions = 3 };
	check(plan_new(&s->lab.store, &s->manifest, &s->plan, &err), &err);
}

static void stored_leave(struct stored *s)
{
	manifest_release(&s->manifest);
	lab_close(&s->lab);
}

/* Stores a run of one second, of which `user_us` is user time and 0.1 s system time. */
static void stored_put(struct stored *s, const char *machine, int64_t repetition, int64_t user_us, const char *run_usage)
{
	const struct execution_context place = { &s->plan, machine, NULL, "app", 1, NULL, NULL };
	struct execution e = { .cell = { 0, 0, repetition },
			       .metric = 1,
			       .taken_ms = 1000 * repetition,
			       .usage = { 1000000000, user_us, 100000 },
			       .max_rss_bytes = -1,
			       .signal = -1,
			       .run_usage = run_usage ? mem_string(run_usage) : NULL };
	struct assay_error err;

	check(execution_put(&s->lab.store, &place, &e, &err), &err);
	execution_release(&e);
}

/* Releases *out and loads it again. */
static void stored_time(struct stored *s, struct stored_time **out)
{
	struct run_set runs;
	struct assay_error err;

	stored_time_free(*out);
	check(run_load(&s->lab.store, "app", "a", &runs, &err), &err);
	check(stored_time_load(&s->lab.store, &runs, out, &err), &err);
	run_set_release(&runs);
}

/* Checks runs with only CPU times, with and without further resource usage. */
static void test_accounts(void **state)
{
	struct stored_time *time = NULL;
	const struct levels *levels;
	struct stored s;

	(void)state;
	stored_enter(&s);
	stored_time(&s, &time);
	levels = &time->levels;
	assert_int_equal(levels->runs, 0);
	stored_put(&s, "m1", 1, 300000, NULL);
	stored_time(&s, &time);
	levels = &time->levels;
	assert_shares(levels, .3, .1, .6);
	assert_true(levels->runs == 1 && isnan(levels->doubt) && !levels->certain);
	stored_put(&s, "m1", 2, 500000, "{\"run_delay_ns\":0,\"crowded_ns\":0,\"processes\":1,\"tick_ns\":4000000}");
	stored_put(&s, "m2", 1, 800000, "{\"run_delay_ns\":0,\"crowded_ns\":0,\"processes\":9,\"tick_ns\":4000000}");
	stored_time(&s, &time);
	levels = &time->levels; /* every machine counts once */
	assert_shares(levels, .6, .1, .3);
	assert_true(levels->runs == 3 && levels->machines == 2);
	assert_near(levels->uncertain_time, .036 / 3);
	assert_int_equal(sqlite3_exec(s.lab.store.db, "UPDATE execution SET signature = '{\"crowded_ns\":20000000}'", NULL, NULL, NULL),
			 SQLITE_OK);
	stored_time(&s, &time);
	levels = &time->levels;
	assert_near(levels->doubt, .02);
	assert_true(levels->certain);
	assert_near(levels->of[LEVEL_COMPUTE].low, 0); /* two machines that differ so much give no information */
	assert_near(levels->of[LEVEL_COMPUTE].high, 1);
	stored_time_free(time);
	stored_leave(&s);
}

/* Checks that samples divide the time of their runs, on any machine. Ticks divide the time of runs without usable samples. */
static void test_samples(void **state)
{
	static const char sampled[] =
	    "{\"run_delay_ns\":0,\"crowded_ns\":0,\"processes\":9,\"samples\":\"10000000 period ns\\n1 processes -\\n"
	    "20 user /dev/shm/assay-session-1/b000/run\\n30 user /lib/libc.so.6\\n10 kernel read\\n\"}",
			  other[] =
			      "{\"crowded_ns\":0,\"processes\":1,\"samples\":\"1000000 period ns\\n1 processes -\\n600 kernel mmap\\n\"}",
			  refused[] = "{\"crowded_ns\":0,\"processes\":1,\"samples\":\"0 forbidden perf_event_open\\n\"}";
	struct stored_time *time = NULL;
	struct stored s;

	(void)state;
	stored_enter(&s);
	stored_put(&s, "m1", 2, 500000, refused);
	stored_time(&s, &time);
	assert_true(time->sampled_runs == 0 && time->sampled.needs_more_rights && time->sampled.period_ns == 0);
	stored_put(&s, "m1", 1, 500000, sampled);
	stored_put(&s, "m2", 1, 500000, sampled);
	stored_put(&s, "m2", 2, 500000, other);
	stored_time(&s, &time);
	assert_true(time->sampled_runs == 2 && !*time->sampled.refused && time->sampled.user == 100 && time->sampled.kernel == 20 &&
		    time->sampled.n == 3);
	assert_string_equal(time->sampled.classes[0].name, "own code of run");
	assert_near(time->parts.unsampled_share, 0);
	assert_near(time->levels.uncertain_time, 0);
	assert_shares(&time->levels, .5, .1, .4);
	stored_time_free(time);
	stored_leave(&s);
}

static const struct part *part_of(const struct stored_time *time, enum part_level depth, const char *name)
{
	for (size_t i = 0; i < time->parts.n; i++)
		if (time->parts.items[i].depth == depth && strcmp(time->parts.items[i].name, name) == 0)
			return &time->parts.items[i];
	fail_msg("there is no part '%s'", name);
	return NULL;
}

/* Checks that a category's interval contains the differences between machines, not only the uncertainty of few samples. */
static void test_machines_differ(void **state)
{
	static const char reads[] =
	    "{\"crowded_ns\":0,\"samples\":\"1000000 period ns\\n1 processes -\\n500 user /bin/x\\n90 kernel read\\n"
	    "10 kernel mmap\\n\"}",
			  maps[] = "{\"crowded_ns\":0,\"samples\":\"1000000 period ns\\n1 processes -\\n500 user /bin/x\\n10 kernel read\\n"
				   "90 kernel mmap\\n\"}";
	struct stored_time *time = NULL;
	const struct part *files;
	struct stored s;

	(void)state;
	stored_enter(&s);
	stored_put(&s, "m1", 1, 500000, reads);
	stored_put(&s, "m2", 1, 500000, reads);
	stored_time(&s, &time);
	files = part_of(time, PART_CATEGORY, "file data");
	assert_true(files->low > .08 && files->share > .089 && files->share < .091 && files->high < .1);
	stored_put(&s, "m2", 2, 500000, maps);
	stored_put(&s, "m2", 3, 500000, maps);
	stored_time(&s, &time);
	files = part_of(time, PART_CATEGORY, "file data");
	assert_true(files->low < .01 && files->high > .1);
	stored_time_free(time);
	stored_leave(&s);
}

/* Checks that functions of the application's own files are known from stored lines, and those of other files are not. The intervals contain
 * the differences between machines, too. */
static void test_functions(void **state)
{
	static const char here[] =
	    "{\"crowded_ns\":0,\"samples\":\"1000000 period ns\\n1 processes -\\n400 user /d/run\\n"
	    "250 line w.c:7:3 work\\n100 line w.c:8:3 work\\n40 line -:0:0 other thing\\n100 user /lib/libx.so\\n100 kernel read\\n\"}",
			  there[] = "{\"crowded_ns\":0,\"samples\":\"1000000 period ns\\n1 processes -\\n400 user /d/run\\n"
				    "40 line w.c:7:3 work\\n350 line -:0:0 other thing\\n100 user /lib/libx.so\\n100 kernel read\\n\"}";
	struct stored_time *time = NULL;
	const struct part *part;
	struct stored s;

	(void)state;
	stored_enter(&s);
	stored_put(&s, "m1", 1, 500000, here);
	stored_put(&s, "m2", 1, 500000, here);
	stored_time(&s, &time);
	assert_int_equal(time->sampled.n_functions, 2);
	part = part_of(time, PART_FUNCTION, "work");
	assert_near(part->share, .5 * .7);
	assert_true(part->low > .3 && part->high < .4);
	assert_string_equal(part->file, "run");
	assert_string_equal(part->category, "own code of run");
	assert_near(part_of(time, PART_CATEGORY, "own code of run")->share, .5 * .8);
	assert_near(part_of(time, PART_FUNCTION, "other thing")->share, .5 * .08);
	stored_put(&s, "m2", 2, 500000, there);
	stored_put(&s, "m2", 3, 500000, there);
	stored_time(&s, &time);
	part = part_of(time, PART_FUNCTION, "work");
	assert_true(part->low < .1 && part->high > .4);
	stored_time_free(time);
	stored_leave(&s);
}

/* Checks the parts of the application and of stressors: by samples if there are enough, else by resource usage and by the table. */
static void test_views(void **state)
{
	static const char fingerprints[] =
	    "INSERT INTO fingerprint (id, machine, battery, battery_hash, stress_ng, taken_ms, architecture, origin) VALUES "
	    "('f', 'm1', 'mine', 'h', '1', 1, 'x', 'measured'), ('g', 'm1', 'another', 'i', '1', 1, 'x', 'measured'); "
	    "INSERT INTO raw (fingerprint, pass, stressor, text, signature) VALUES "
	    "('f', 1, 'brk', '', '{\"samples\":\"4583592 period ns\\n10 user /bin/stress-ng\\n30 kernel brk\\n\"}'), "
	    "('f', 1, 'cpu', '', '{\"samples\":\"4583592 period ns\\n5 user /bin/stress-ng\\n5 kernel brk\\n\"}'), "
	    "('f', 1, 'str', '', 'no signature'), "
	    "('g', 1, 'str', '', '{\"samples\":\"4583592 period ns\\n99 kernel brk\\n\"}')";
	static const char *features[] = { "brk", "cpu", "nobody", "str" };
	struct profile_rows rows = { .features = features, .rates = { .cols = 4 } };
	const struct dataset dataset = { .battery = "mine" };
	struct stored_time *time = NULL;
	struct assay_error err;
	struct stored s;

	(void)state;
	stored_enter(&s);
	assert_int_equal(sqlite3_exec(s.lab.store.db, fingerprints, NULL, NULL, NULL), SQLITE_OK);
	stored_time(&s, &time);
	check(views_load(&s.lab.store, time, &dataset, &rows, &err), &err);
	assert_null(rows.application_composition.kind); /* the application has not run */
	assert_near(rows.composition[0].computing, .25);
	assert_string_equal(rows.composition[0].kernel[0].class, "mapping memory");
	assert_near(rows.composition[0].kernel[0].part, .75);
	assert_near(rows.composition[1].computing, .98); /* too few samples: by the table */
	assert_null(rows.composition[2].kind);
	assert_true(rows.composition[3].computing > .9); /* another battery's samples do not count */
	free(rows.composition);
	stored_put(&s, "m1", 1, 300000, "{\"crowded_ns\":0,\"processes\":1,\"tick_ns\":4000000}");
	stored_time(&s, &time);
	check(views_load(&s.lab.store, time, &dataset, &rows, &err), &err);
	assert_near(rows.application_composition.computing, .75); /* from .3 s and .1 s */
	assert_int_equal(rows.application_composition.n, 0);
	assert_true(!views_is_excluded(&rows, 1) && !views_is_excluded(&rows, 2));
	free(rows.composition);
	stored_time_free(time);
	stored_leave(&s);
}

int suite_stored(void)
{
	const struct CMUnitTest tests[] = { SCRATCH_TEST(test_accounts), SCRATCH_TEST(test_samples), SCRATCH_TEST(test_machines_differ),
					    SCRATCH_TEST(test_functions), SCRATCH_TEST(test_views) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
