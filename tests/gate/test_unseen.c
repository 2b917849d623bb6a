/* Time in libraries that the emulation does not count is said. */
#include "gate/detect/detect.h"

#include "base/rng.h"
#include "runs/inside/samples/samples_clock.h"
#include "tests/gate/made_samples.h"
#include "tests/scratch.h"

#include <math.h>

#define RUNS 20
#define WORK 1e6

static const char *const functions[] = { "_ZN4pack3runEv", NULL };
static const char *const counters[] = { "emulated:accesses", "emulated:blocks", NULL };

static void add_info(struct samples *s, const char *key, char *value)
{
	s->infos = mem_resize(s->infos, s->n_infos + 1, sizeof(s->infos[0]));
	s->infos[s->n_infos++] = (struct samples_info){ mem_string(key), value };
}

static void add_run(struct side *side, double library, struct rng *rng)
{
	double work = WORK * exp(.01 * rng_normal(rng));
	struct made row = { .weight = 1, .values = { work, work / 2 } };
	struct samples s = made_samples(RECORD_EMULATED, counters, functions, &row, 1);
	char *name = mem_format("%03zu", side->n);

	add_info(&s, "clock", mem_string("0 100 counted"));
	add_info(&s, "clock", mem_format("0 %.0f libz.so.1", library));
	side_add_run(side, name, "", "");
	side_add_samples(side, &s);
	free(name);
}

/* Runs of a version with so many ticks of the clock in a library, beside 100 in what counts. */
static struct side runs(const char *what, double library)
{
	struct side side = made_side(what);
	struct assay_error err;
	struct rng rng;

	rng_seed(&rng, 1);
	for (size_t r = 0; r < RUNS; r++)
		add_run(&side, library, &rng);
	check(side_check(&side, &err), &err);
	return side;
}

static const char *reason(const struct detected *d, const char *code)
{
	for (size_t i = 0; i < d->n_reasons; i++)
		if (strcmp(d->reasons[i].code, code) == 0)
			return d->reasons[i].text;
	return "";
}

static void test_said(void **state)
{
	static const struct {
		const char *what;
		double old, new;
		const char *said; /* in the reason; NULL: there is none */
	} rows[] = {
		{ "little", 5, 5, NULL },
		{ "as much as before", 60, 60, "38 % of the program's time is in libz.so.1, which" },
		{ "more than before", 5, 100, "50 % of the program's time is in libz.so.1, which" },
		{ "less than before", 100, 5, "50 % of the program's time is in libz.so.1, which" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct side old = runs("old", rows[i].old), new = runs("new", rows[i].new);
		struct detect_input input = { .old = &old, .new = &new };
		struct detect_options options = { .detector = detector_defaults, .observe = observe_defaults };
		struct assay_error err;
		struct detected d;

		check(detect(&input, &options, &d, &err), &err);
		assert_int_equal(d.decision, DECISION_PASS);
		if (rows[i].said ? !strstr(reason(&d, "unseen_time"), rows[i].said) : *reason(&d, "unseen_time") != '\0')
			fail_msg("%s: %s", rows[i].what, reason(&d, "unseen_time"));
		detected_release(&d);
		side_release(&old);
		side_release(&new);
	}
}

/* Lines that nobody wrote are left out. */
static void test_lines(void **state)
{
	static const char *const lines[] = { "",	  "-",	       "0",
					     "0 5",	  "0 5 ",      "1 5 libz.so.1",
					     "x 5 libz",  "0 libz 5",  "18446744073709551615 5 libz",
					     "- x libz",  "-5 5 libz", "0 -5 libz",
					     "0  5 libz", "0 5 ",      "0 5 counted " };
	struct made row = { .weight = 1, .values = { WORK, WORK } };
	struct samples s = made_samples(RECORD_EMULATED, counters, functions, &row, 1);
	struct samples_time time = { .n = 0 };
	struct samples_clock *rows;

	(void)state;
	for (size_t i = 0; i < COUNT(lines); i++)
		add_info(&s, "clock", mem_string(lines[i]));
	assert_int_equal(samples_clock(&s, &rows), 0);
	free(rows);
	add_info(&s, "clock", mem_string("- 5 libz.so.1"));
	add_info(&s, "clock", mem_string("0 7 program"));
	add_info(&s, "clock", mem_string("0 60 counted"));
	add_info(&s, "clock", mem_string("0 9 counted libc.so.6"));
	samples_time_add(&time, &s);
	assert_int_equal(time.n, 3);
	assert_float_equal(time.ticks, 81, 0);
	assert_float_equal(time.unseen, 12, 0);
	samples_time_release(&time);
	samples_release(&s);
}

int suite_unseen(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_said), cmocka_unit_test(test_lines) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
