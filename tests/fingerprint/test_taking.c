/* Tests a fingerprint while it is taken: resuming finds the right one, each cell is stored once, and kill -9 loses no measurement. */
#include "fingerprint/stored/fingerprint.h"
#include "fingerprint/take/take.c"
#include "tests/scratch.h"

#include <math.h>
#include <unistd.h>

#define TEXT "name: tiny\npasses: 2\nstressors:\n  - { stressor: cpu }\n  - { stressor: memcpy }\n  - { stressor: str }\n"
#define DAY  INT64_C(86400000)

static struct battery tiny(const char *text)
{
	struct battery battery;
	struct assay_error err;

	check(battery_parse("tiny", text, strlen(text), &battery, &err), &err);
	return battery;
}

static struct fingerprint_key key_of(const struct battery *battery, const char *machine, int64_t taken_ms)
{
	return (struct fingerprint_key){ machine, battery->name, battery->hash, "0.15.06", "x86_64", taken_ms };
}

static struct fingerprint_run open_it(struct lab *lab, const struct fingerprint_key *key, const struct battery *battery, bool resume)
{
	struct fingerprint_run session;
	struct assay_error err;

	check(fingerprint_run_open(&lab->store, key, battery, "measured", NULL, "{}", resume ? TAKING_RESUME : TAKING_NEW, &session, &err),
	      &err);
	return session;
}

static enum assay_status measure(struct lab *lab, struct fingerprint_run *session, const struct battery *battery, int64_t pass,
				 size_t entry, struct assay_error *err)
{
	const struct stressng_metrics metrics = {
		.version = "0.15.06", .bogo_ops = 5, .per_s = (double)(100 * pass) + (double)entry, .real_per_s = 50, .measured = true
	};

	return fingerprint_run_store_cell(&lab->store, session, pass, entry, battery->entries[entry].name, &metrics, "raw",
					  "{\"sys_us\":1}", err);
}

/* Measures until `stop` cells are done. Returns the number of cells that it measured. */
static size_t measure_some(struct lab *lab, struct fingerprint_run *session, const struct battery *battery, size_t stop)
{
	struct assay_error err;
	size_t n = 0, entry;
	int64_t pass;

	while (n < stop && fingerprint_run_next_cell(session, &pass, &entry)) {
		check(measure(lab, session, battery, pass, entry, &err), &err);
		n++;
	}
	return n;
}

#define CELLS "SELECT pass, stressor, count(*) FROM rate GROUP BY fingerprint, pass, stressor ORDER BY 1, 2"

static void test_whole(void **state)
{
	struct lab lab = scratch_lab("lab");
	struct battery battery = tiny(TEXT);
	struct fingerprint_key key = key_of(&battery, "m", 1000);
	struct fingerprint_run session = open_it(&lab, &key, &battery, false);
	struct fingerprint_set set;
	struct assay_error err;
	size_t entry;
	int64_t pass;

	(void)state;
	/* Passes are interleaved: one pass measures all stressors before the next pass starts. */
	assert_int_equal(measure_some(&lab, &session, &battery, 3), 3);
	check_select(&lab.store, CELLS, "1|cpu|1\n1|memcpy|1\n1|str|1\n");
	check_fails("a cell twice", measure(&lab, &session, &battery, 1, 0, &err), ASSAY_E_IO, &err, "");
	check_select(&lab.store, "SELECT count(*) FROM raw", "3\n"); /* the whole transaction was rolled back */
	check(fingerprint_run_store_cell(&lab.store, &session, 2, 0, "cpu", NULL, "it hung", NULL, &err), &err);
	assert_int_equal(measure_some(&lab, &session, &battery, 9), 2);
	assert_false(fingerprint_run_next_cell(&session, &pass, &entry));
	check(fingerprint_load(&lab.store, &set, &err), &err);
	assert_int_equal(set.n, 0); /* a fingerprint is not loaded before it is complete */
	fingerprint_set_release(&set);
	check(fingerprint_run_complete(&lab.store, &session, "{\"load1\":1}", &err), &err);
	check(fingerprint_load(&lab.store, &set, &err), &err);
	assert_int_equal(set.n, 1);
	assert_int_equal(set.items[0].n_passes, 2);
	assert_string_equal(set.items[0].reasons[0], "it hung");
	assert_true(isnan(fingerprint_rate(&set, &set.items[0], 1, 0)));
	assert_true(fingerprint_rate(&set, &set.items[0], 1, 1) == 201);
	assert_string_equal(set.items[0].conditions, "{\"load1\":1}");
	fingerprint_set_release(&set);
	fingerprint_run_release(&session);
	battery_release(&battery);
	lab_close(&lab);
}

static void test_nothing_measured(void **state)
{
	struct lab lab = scratch_lab("lab");
	struct battery battery = tiny(TEXT);
	struct fingerprint_key key = key_of(&battery, "m", 1000);
	struct fingerprint_run session = open_it(&lab, &key, &battery, false);
	struct assay_error err;

	(void)state;
	for (int64_t pass = 1; pass <= 2; pass++) {
		for (size_t i = 0; i < 3; i++)
			check(fingerprint_run_store_cell(&lab.store, &session, pass, i, battery.entries[i].name, NULL, "no such thing",
							 NULL, &err),
			      &err);
	}
	check_fails("no rate", fingerprint_run_complete(&lab.store, &session, NULL, &err), ASSAY_E_NODATA, &err,
		    "no stressor of the battery");
	check_select(&lab.store, "SELECT complete FROM fingerprint", "0\n");
	fingerprint_run_release(&session);
	battery_release(&battery);
	lab_close(&lab);
}

/* Checks that a complete fingerprint is reused for a day. Another one is started if counters are wanted and it has none, or if the profile
 * differs. */
static void test_resume_complete(void **state)
{
	struct lab lab = scratch_lab("lab");
	struct battery battery = tiny(TEXT);
	struct fingerprint_key key = key_of(&battery, "m", DAY), later = key_of(&battery, "m", DAY + 1000);
	struct fingerprint_run first = open_it(&lab, &key, &battery, false), session;
	struct assay_error err;

	(void)state;
	assert_int_equal(measure_some(&lab, &first, &battery, 9), 6);
	check(fingerprint_run_complete(&lab.store, &first, NULL, &err), &err);
	session = open_it(&lab, &later, &battery, true);
	assert_true(session.complete);
	assert_string_equal(session.id, first.id);
	fingerprint_run_release(&session);
	check_select(&lab.store, "SELECT count(*) FROM fingerprint", "1\n");
	check(fingerprint_run_open(&lab.store, &later, &battery, "measured", NULL, "{}", TAKING_RESUME_COUNTED, &session, &err), &err);
	assert_false(session.complete);
	assert_string_not_equal(session.id, first.id);
	fingerprint_run_release(&session);
	later.taken_ms++; /* the fingerprint with counters was interrupted, and is resumed */
	session = open_it(&lab, &later, &battery, true);
	assert_false(session.complete);
	fingerprint_run_release(&session);
	check_select(&lab.store, "SELECT count(*) FROM fingerprint", "2\n");
	check(fingerprint_run_open(&lab.store, &later, &battery, "emulated", "slow", "{}", TAKING_RESUME_COUNTED, &session, &err), &err);
	fingerprint_run_release(&session);
	check_select(&lab.store, "SELECT count(*) FROM fingerprint", "3\n");
	/* A later one could not measure anything, so the complete one no longer satisfies the request. */
	later.taken_ms++;
	session = open_it(&lab, &later, &battery, false);
	check(fingerprint_run_store_cell(&lab.store, &session, 1, 0, battery.entries[0].name, NULL, "no room", NULL, &err), &err);
	fingerprint_run_release(&session);
	later.taken_ms++;
	session = open_it(&lab, &later, &battery, true);
	assert_false(session.complete);
	check_select(&lab.store, "SELECT count(*) FROM fingerprint", "5\n");
	fingerprint_run_release(&session);
	fingerprint_run_release(&first);
	battery_release(&battery);
	lab_close(&lab);
}

/* Checks the text about a machine that was not idle. */
static void test_busy(void **state)
{
	static const struct {
		const char *conditions, *text;
		bool emulated;
	} rows[] = {
		{ NULL, NULL, false },
		{ "{\"cpus_online\":4}", NULL, false },
		{ "{\"cpus_online\":4,\"load1\":0.9,\"steal_percent\":1}", NULL, false },
		{ "{\"cpus_online\":4,\"load1\":1}", "a load of 1.0 on 4 CPUs at its start", false },
		{ "{\"cpus_online\":1,\"load1\":2.25,\"steal_percent\":12.3}",
		  "a load of 2.2 on 1 CPU at its start, and other guests of its host using 12 % of the time", false },
		{ "{\"load1\":0,\"steal_percent\":50}", "other guests of its host using 50 % of the time", false },
		{ "{\"cpus_online\":2,\"load1\":7.5}", NULL, true }, /* possibly the load of other hosts of its machine */
		{ "{\"cpus_online\":2,\"load1\":7.5,\"crowded_percent\":24.5}", NULL, true },
		{ "{\"cpus_online\":2,\"load1\":0.5,\"crowded_percent\":94.8}",
		  "programs on its machine waiting for a CPU in 95 % of the time", true },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		char *text;

		conditions_find_other_work(&rows[i].conditions, 1, rows[i].emulated, &text);

		if (rows[i].text)
			assert_string_equal(text, rows[i].text);
		else
			assert_null(text);
		free(text);
	}
}

/* Checks which of the interrupted fingerprints is resumed. */
static void test_resume(void **state)
{
	static const char longer[] = "name: tiny\npasses: 3\nstressors:\n  - { stressor: cpu }\n";
	struct lab lab = scratch_lab("lab");
	struct battery battery = tiny(TEXT), other = tiny(longer);
	struct fingerprint_key key = key_of(&battery, "m", DAY), rows[6];
	struct fingerprint_run first = open_it(&lab, &key, &battery, false), session;
	static const struct {
		const char *what;
		bool same, resume;
	} expected[] = { { "an hour later", true, true },      { "not asked for", false, false },	{ "another machine", false, true },
			 { "another stress-ng", false, true }, { "another architecture", false, true }, { "a day later", false, true } };

	(void)state;
	assert_int_equal(measure_some(&lab, &first, &battery, 4), 4);
	for (size_t i = 0; i < COUNT(rows); i++)
		rows[i] = key_of(&battery, "m", DAY + 3600000 + (int64_t)i);
	rows[2].machine = "n";
	rows[3].stress_ng = "0.17.00";
	rows[4].architecture = "aarch64";
	rows[5].taken_ms = DAY + TAKING_RESUME_MS;
	for (size_t i = 0; i < COUNT(rows); i++) {
		session = open_it(&lab, &rows[i], &battery, expected[i].resume);
		if ((strcmp(session.id, first.id) == 0) != expected[i].same)
			fail_msg("%s: %s was opened", expected[i].what, session.id);
		if (expected[i].same)
			assert_int_equal(measure_some(&lab, &session, &battery, 9), 2);
		else
			assert_int_equal(sqlite3_exec(lab.store.db,
						      "DELETE FROM fingerprint WHERE id NOT IN (SELECT fingerprint FROM rate)", NULL, NULL,
						      NULL),
					 0);
		fingerprint_run_release(&session);
	}
	check_select(&lab.store, CELLS, "1|cpu|1\n1|memcpy|1\n1|str|1\n2|cpu|1\n2|memcpy|1\n2|str|1\n");
	key = key_of(&other, "m", DAY + 5);
	session = open_it(&lab, &key, &other, true);
	assert_string_not_equal(session.id, first.id);
	fingerprint_run_release(&session);
	fingerprint_run_release(&first);
	battery_release(&battery);
	battery_release(&other);
	lab_close(&lab);
}

/* Checks that the latest of two interrupted fingerprints is resumed, not one from a clock that was ahead. */
static void test_latest(void **state)
{
	struct lab lab = scratch_lab("lab");
	struct battery battery = tiny(TEXT);
	struct fingerprint_key key = key_of(&battery, "m", 1000);
	struct fingerprint_run a = open_it(&lab, &key, &battery, false), b, c, ahead;

	(void)state;
	key.taken_ms = 2000;
	b = open_it(&lab, &key, &battery, false);
	key.taken_ms = 3001;
	ahead = open_it(&lab, &key, &battery, false);
	key.taken_ms = 3000;
	c = open_it(&lab, &key, &battery, true);
	assert_string_equal(c.id, b.id);
	assert_string_not_equal(c.id, a.id);
	fingerprint_run_release(&ahead);
	fingerprint_run_release(&a);
	fingerprint_run_release(&b);
	fingerprint_run_release(&c);
	battery_release(&battery);
	lab_close(&lab);
}

static void killed(int ready)
{
	struct battery battery = tiny(TEXT);
	struct fingerprint_key key = key_of(&battery, "m", 1000);
	struct assay_error err;
	struct fingerprint_run session;
	struct lab lab;

	if (lab_open("lab", STORE_WRITE, &lab, &err))
		_exit(1);
	session = open_it(&lab, &key, &battery, false);
	measure_some(&lab, &session, &battery, 4);
	/* Stops in the middle of the fifth cell. */
	if (store_begin(&lab.store, &err) ||
	    sqlite3_exec(lab.store.db, "INSERT INTO rate SELECT fingerprint, 2, 'memcpy', 0, 1, 1 FROM rate LIMIT 1", NULL, NULL, NULL) ||
	    write(ready, "x", 1) != 1)
		_exit(1);
	pause();
}

static void test_killed(void **state)
{
	struct battery battery = tiny(TEXT);
	struct fingerprint_key key = key_of(&battery, "m", 2000);
	struct fingerprint_run session;
	struct assay_error err;
	struct lab lab;

	(void)state;
	check(lab_create("lab", &err), &err);
	scratch_kill(scratch_start(killed));
	check(lab_open("lab", STORE_WRITE, &lab, &err), &err);
	check_select(&lab.store, CELLS, "1|cpu|1\n1|memcpy|1\n1|str|1\n2|cpu|1\n");
	session = open_it(&lab, &key, &battery, true);
	assert_int_equal(measure_some(&lab, &session, &battery, 9), 2);
	check(fingerprint_run_complete(&lab.store, &session, NULL, &err), &err);
	check_select(&lab.store, CELLS, "1|cpu|1\n1|memcpy|1\n1|str|1\n2|cpu|1\n2|memcpy|1\n2|str|1\n");
	check_select(&lab.store, "SELECT taken_ms, complete FROM fingerprint", "1000|1\n");
	fingerprint_run_release(&session);
	battery_release(&battery);
	lab_close(&lab);
}

int suite_taking(void)
{
	const struct CMUnitTest tests[] = {
		SCRATCH_TEST(test_whole),    SCRATCH_TEST(test_nothing_measured), SCRATCH_TEST(test_resume),
		cmocka_unit_test(test_busy), SCRATCH_TEST(test_resume_complete),  SCRATCH_TEST(test_latest),
		SCRATCH_TEST(test_killed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
