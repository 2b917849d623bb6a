/* Time in libraries that the emulation does not count: said, and no pass where it grew. */
#include "gate/detect/detect.h"

#include "base/rng.h"
#include "model/published/published.h"
#include "runs/inside/samples/samples_clock.h"
#include "tests/gate/made_samples.h"
#include "tests/scratch.h"

#include <math.h>

#define RUNS 20
#define WORK 1e6

static const char *const functions[] = { "_ZN4pack3runEv", NULL };
static const char *const counters[] = { "emulated:accesses", "emulated:blocks", NULL };

/* A version: its work, and ticks of the clock in what counts and in a library, of a run in the mean; ticks below 0: it had no clock. */
struct version {
	double work, counted, library;
	double noise; /* of the library's, in logarithms; 0: little */
};

static void add_info(struct samples *s, const char *key, char *value)
{
	s->infos = mem_resize(s->infos, s->n_infos + 1, sizeof(s->infos[0]));
	s->infos[s->n_infos++] = (struct samples_info){ mem_string(key), value };
}

static void add_run(struct side *side, const struct version *v, const char *library, struct rng *rng)
{
	double work = v->work * exp(.01 * rng_normal(rng));
	struct made row = { .weight = 1, .values = { work, work / 2 } };
	struct samples s = made_samples(RECORD_EMULATED, counters, functions, &row, 1);
	char *name = mem_format("%03zu", side->n);

	add_info(&s, "total:emulated:accesses", mem_format("%.0f", work));
	add_info(&s, "total:emulated:blocks", mem_format("%.0f", work / 2));
	add_info(&s, "clock-threads-without", mem_string(v->library < 0 ? "1" : "0"));
	add_info(&s, "clock", mem_format("0 %.0f counted", v->counted * exp(.1 * rng_normal(rng))));
	add_info(&s, "clock", mem_format("0 %.0f %s", fabs(v->library) * exp((v->noise > 0 ? v->noise : .1) * rng_normal(rng)), library));
	add_info(&s, "clock", mem_string("- 1 libother.so"));
	side_add_run(side, name, "", "");
	side_add_samples(side, &s);
	free(name);
}

static struct side runs(const char *what, const struct version *v, const char *library, struct rng *rng)
{
	struct side side = made_side(what);
	struct assay_error err;

	for (size_t r = 0; r < RUNS; r++)
		add_run(&side, v, library, rng);
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

static void test_decisions(void **state)
{
	static const struct {
		const char *what;
		struct version old, new;
		enum decision decision;
		bool said, slower;
	} rows[] = {
		{ "little", { WORK, 100, 5, 0 }, { WORK, 100, 5, 0 }, DECISION_PASS, false, false },
		{ "as much as before", { WORK, 100, 60, 0 }, { WORK, 100, 60, 0 }, DECISION_PASS, true, false },
		{ "twice as much", { WORK, 100, 60, 0 }, { WORK, 100, 120, 0 }, DECISION_INCONCLUSIVE, true, true },
		{ "for the first time", { WORK, 100, 0, 0 }, { WORK, 100, 40, 0 }, DECISION_INCONCLUSIVE, true, true },
		{ "a tenth more", { WORK, 100, 60, 0 }, { WORK, 100, 66, 0 }, DECISION_PASS, true, false },
		{ "twice as much of little", { WORK, 100, 2, 0 }, { WORK, 100, 4, 0 }, DECISION_PASS, false, false },
		{ "more by chance", { WORK, 100, 60, 1.5 }, { WORK, 100, 90, 1.5 }, DECISION_PASS, true, false },
		{ "less", { WORK, 100, 120, 0 }, { WORK, 100, 60, 0 }, DECISION_PASS, true, false },
		{ "the machine was slower", { WORK, 100, 60, 0 }, { WORK, 200, 120, 0 }, DECISION_PASS, true, false },
		{ "other work was saved", { WORK, 100, 60, 0 }, { WORK / 2, 50, 120, 0 }, DECISION_INCONCLUSIVE, true, true },
		{ "other work was saved alone", { WORK, 100, 60, 0 }, { WORK / 2, 50, 60, 0 }, DECISION_IMPROVED, true, false },
		{ "more work beside it", { WORK, 100, 60, 0 }, { WORK * 2, 200, 120, 0 }, DECISION_REGRESSION, true, true },
		{ "not known", { WORK, 100, -60, 0 }, { WORK, 100, -120, 0 }, DECISION_PASS, true, false },
	};
	struct rng rng;

	(void)state;
	rng_seed(&rng, 1);
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct side old = runs("old", &rows[i].old, "libz.so.1", &rng), new = runs("new", &rows[i].new, "libz.so.1", &rng);
		struct detect_input input = { .old = &old, .new = &new };
		struct detect_options options = { .detector = detector_defaults,
						  .comparison = &comparison_mannwhitney,
						  .observe = observe_defaults };
		struct assay_error err;
		struct detected d;

		check(detect(&input, &options, &d, &err), &err);
		if (d.decision != rows[i].decision || (*reason(&d, "unseen_time") != '\0') != rows[i].said ||
		    (*reason(&d, "slower_elsewhere") != '\0') != rows[i].slower)
			fail_msg("%s: %s; %s; %s", rows[i].what, decision_text(d.decision), reason(&d, "unseen_time"),
				 reason(&d, "slower_elsewhere"));
		if (rows[i].said)
			assert_non_null(strstr(reason(&d, "unseen_time"), " % of the program's time is in libz.so.1, which"));
		if (rows[i].slower)
			assert_non_null(strstr(reason(&d, "slower_elsewhere"), " in libz.so.1, mostly from pack::run()"));
		detected_release(&d);
		side_release(&old);
		side_release(&new);
	}
}

/* The first line answers. */
static void check_answer(const struct detected *d)
{
	struct buf text = BUF_INIT;
	struct document out;

	document_init(&out);
	detect_add(d, false, &out);
	document_human(&out, &(struct doc_style){ .columns = 100 }, &text);
	if (!strstr(text.bytes, " times as much time is spent in libc.so.6; by what is counted none of 1 function"))
		fail_msg("%s", text.bytes);
	buf_release(&text);
	document_release(&out);
}

/* Time in the C library, whose calls count: never said to be unseen, and no pass where it grew and the program saves less. */
static void test_priced(void **state)
{
	static const struct {
		const char *what;
		struct version old, new;
		enum decision decision;
	} rows[] = {
		{ "as much as before", { WORK, 100, 60, 0 }, { WORK, 100, 60, 0 }, DECISION_PASS },
		{ "twice as much", { WORK, 100, 60, 0 }, { WORK, 100, 120, 0 }, DECISION_INCONCLUSIVE },
		{ "the machine was slower", { WORK, 100, 60, 0 }, { WORK, 200, 120, 0 }, DECISION_PASS },
		{ "instead of the program's", { WORK, 100, 10, 0 }, { WORK / 2, 50, 40, 0 }, DECISION_IMPROVED },
		{ "more than the program's", { WORK, 100, 10, 0 }, { WORK / 2, 50, 120, 0 }, DECISION_INCONCLUSIVE },
	};
	struct rng rng;

	(void)state;
	rng_seed(&rng, 2);
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct side old = runs("old", &rows[i].old, "counted libc.so.6", &rng);
		struct side new = runs("new", &rows[i].new, "counted libc.so.6", &rng);
		struct detect_input input = { .old = &old, .new = &new };
		struct detect_options options = { .detector = detector_defaults,
						  .comparison = &comparison_mannwhitney,
						  .observe = observe_defaults };
		const char *slower;
		struct assay_error err;
		struct detected d;

		check(detect(&input, &options, &d, &err), &err);
		slower = reason(&d, "slower_elsewhere");
		if (d.decision != rows[i].decision || *reason(&d, "unseen_time") ||
		    (*slower != '\0') != (rows[i].decision == DECISION_INCONCLUSIVE))
			fail_msg("%s: %s; %s; %s", rows[i].what, decision_text(d.decision), reason(&d, "unseen_time"), slower);
		assert_true(!*slower || strstr(slower, " in libc.so.6, mostly from pack::run()"));
		if (i == 1)
			check_answer(&d);
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
	assert_true(time.unknown && time.n == 3);
	assert_float_equal(time.ticks, 81, 0);
	assert_float_equal(time.unseen, 12, 0);
	assert_string_equal(samples_time_most(&time)->name, SAMPLES_CLOCK_PROGRAM);
	samples_time_release(&time);
	samples_release(&s);
}

int suite_unseen(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_decisions), cmocka_unit_test(test_priced), cmocka_unit_test(test_lines) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
