/* Tests time slices of samples, and the phases derived from them. */
#include "base/mem.h"
#include "gate/profile/parts.c" /* the static functions of phases */
#include "tests/scratch.h"

#include <math.h>

static struct sampled s;

static void take(const char *text)
{
	struct assay_error err = { .text = "" };

	check(sampled_add(&s, text, "prog", NULL, &err), &err);
}

/* Checks slices of 10 ms, of which the last one is half: a run of 75 ms is spread over all slices, and no sample is lost. */
static void slices_are_spread(void **state)
{
	double sum = 0;

	(void)state;
	s = (struct sampled){ .n = 0 };
	take("4000000 period ns\n10000000 slice 75000000\n40 user /bin/prog\n0 slices 20,,,,,,,20\n3 kernel read\n");
	assert_int_equal(s.n_sliced, 2); /* the second class has no slices, because it has too few samples */
	assert_int_equal(s.sliced_runs, 1);
	for (size_t k = 0; k < SAMPLED_SLICES; k++)
		sum += s.sliced[0].count[k];
	assert_true(fabs(sum - 40) < 1e-9);
	assert_true(s.sliced[0].count[0] > 4 && fabs(s.sliced[0].count[10]) < 1e-12 && s.sliced[0].count[31] > 9);
	s.no_more_slices = true;
	take("4000000 period ns\n10000000 slice 75000000\n40 user /bin/prog\n0 slices 40\n");
	assert_int_equal(s.sliced_runs, 1);
	assert_int_equal(s.user, 80);
}

static void slices_that_make_no_sense(void **state)
{
	static const char *const rows[] = { "0 slices 1\n",
					    "10 slice x\n",
					    "0 slice 10\n",
					    "10 slice 0\n",
					    "1 slice 1000\n",
					    "10 slice 20\n1 user /a\n0 slices 1;2\n",
					    "10 slice 20\n10 slice 20\n" };

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct assay_error err = { .text = "" };

		s = (struct sampled){ .n = 0 };
		assert_int_equal(sampled_add(&s, rows[i], "prog", NULL, &err), ASSAY_E_FORMAT);
	}
}

/* Checks two runs, of which the second is slower: one quarter computes, the rest reads, with a little of the other in both. */
static void phases_of_two_runs(void **state)
{
	struct phase phases[SAMPLED_SLICES];

	(void)state;
	s = (struct sampled){ .n = 0 };
	take("4000000 period ns\n100000000 slice 800000000\n50 user /bin/prog\n0 slices 24,24,,1,,,,1\n140 kernel pread64\n"
	     "0 slices 1,,23,23,23,23,23,24\n");
	take("4000000 period ns\n200000000 slice 1600000000\n50 user /bin/prog\n0 slices 24,24,,1,,,,1\n140 kernel pread64\n"
	     "0 slices 1,,23,23,23,23,23,24\n");
	assert_int_equal(phases_find(&s, phases), 2);
	assert_int_equal(phases[0].from, 0);
	assert_int_equal(phases[0].to, 8);
	assert_int_equal(phases[1].to, SAMPLED_SLICES);
	assert_true(fabs(phases[0].share - 98. / 380) < .001 && phases[0].of[0] > .97 && phases[1].of[1] > .97);
}

/* Checks that slices that mix two phases are their border. A different activity, however short, and a lasting mixture are phases. */
static void borders_are_no_phases(void **state)
{
	struct phase phases[SAMPLED_SLICES];

	(void)state;
	s = (struct sampled){ .n = 0 };
	take("4000000 period ns\n25000000 slice 800000000\n397 user /bin/prog\n"
	     "0 slices 29,28,29,30,29,28,29,30,29,28,29,30,20,10,1,2,1,,1,2,1,,1,2,1,,1,2,1,,1,2\n563 kernel pread64\n"
	     "0 slices 1,2,1,,1,2,1,,1,2,1,,10,20,29,28,29,30,29,28,29,30,29,28,29,30,29,28,29,30,29,28\n");
	assert_int_equal(phases_find(&s, phases), 2);
	assert_int_equal(phases[0].to, 13);
	assert_int_equal(phases[1].from, 13);
	assert_true(fabs(phases[0].share + phases[1].share - 1) < 1e-9);
	s = (struct sampled){ .n = 0 };
	take("4000000 period ns\n25000000 slice 800000000\n368 user /bin/prog\n"
	     "0 slices 29,28,29,30,29,28,29,30,29,28,29,30,1,,1,2,1,,1,2,1,,1,2,1,,1,2,1,,1,2\n534 kernel pread64\n"
	     "0 slices 1,2,1,,1,2,1,,1,2,1,,,1,29,28,29,30,29,28,29,30,29,28,29,30,29,28,29,30,29,28\n60 kernel futex\n"
	     "0 slices ,,,,,,,,,,,,30,30,,,,,,,,,,,,,,,,,,\n");
	assert_int_equal(phases_find(&s, phases), 3);
	s = (struct sampled){ .n = 0 };
	take("4000000 period ns\n25000000 slice 800000000\n480 user /bin/prog\n"
	     "0 slices 29,28,29,30,29,28,29,30,29,28,29,30,15,14,16,15,15,14,16,15,1,2,1,,1,2,1,,1,2,1,\n480 kernel pread64\n"
	     "0 slices 1,2,1,,1,2,1,,1,2,1,,15,16,14,15,15,16,14,15,29,28,29,30,29,28,29,30,29,28,29,30\n");
	assert_int_equal(phases_find(&s, phases), 3);
}

/* Checks activity that is constant, and too few samples. */
static void no_phases(void **state)
{
	struct phase phases[SAMPLED_SLICES];

	(void)state;
	s = (struct sampled){ .n = 0 };
	assert_int_equal(phases_find(&s, phases), 0);
	take("4000000 period ns\n100000000 slice 800000000\n80 user /bin/prog\n0 slices 9,11,10,10,10,12,8,10\n85 kernel read\n"
	     "0 slices 10,11,9,12,11,10,12,10\n");
	assert_int_equal(phases_find(&s, phases), 1);
	s = (struct sampled){ .n = 0 };
	take("4000000 period ns\n100000000 slice 200000000\n20 user /bin/prog\n0 slices 20\n20 kernel read\n0 slices ,20\n");
	assert_int_equal(phases_find(&s, phases), 0);
}

/* Checks that program numbers belong to a run: two runs of a pipeline list its programs in different orders. */
static void programs_of_two_runs(void **state)
{
	(void)state;
	s = (struct sampled){ .n = 0 };
	take("4000000 period ns\n100000000 slice 800000000\n2 program ?\n30 program sh\n68 program gzip\n70 user /bin/gzip\n0 slices 70\n"
	     "0 programs ,2,68\n30 kernel read\n0 slices 30\n0 programs 2,28\n");
	take("4000000 period ns\n100000000 slice 800000000\n0 program ?\n60 program gzip\n40 program sh\n60 user /bin/gzip\n0 slices 60\n"
	     "0 programs ,60\n40 kernel read\n0 slices 40\n0 programs ,,40\n");
	assert_int_equal(s.n_programs, 3);
	assert_string_equal(s.programs[1].name, "sh");
	assert_int_equal(s.programs[1].count, 70);
	assert_int_equal(s.programs[2].count, 128);
	assert_true(fabs(s.sliced[0].in_program[2] - 128) < 1e-9 && fabs(s.sliced[0].in_program[1] - 2) < 1e-9);
	assert_true(fabs(s.sliced[1].in_program[1] - 68) < 1e-9 && fabs(s.sliced[1].in_program[0] - 2) < 1e-9);
}

static void programs_that_make_no_sense(void **state)
{
	struct assay_error err = { .text = "" };
	struct buf many = BUF_INIT;

	(void)state;
	s = (struct sampled){ .n = 0 };
	assert_int_equal(sampled_add(&s, "1 program a\n1 user /a\n0 programs 1;2\n", "prog", NULL, &err), ASSAY_E_FORMAT);
	for (int i = 0; i < SAMPLED_PROGRAMS; i++)
		buf_format(&many, "1 program p%d\n", i);
	s = (struct sampled){ .n = 0 };
	take(many.bytes);
	assert_int_equal(s.n_programs, SAMPLED_PROGRAMS);
	take("5 program late\n"); /* there is no room: counted as unknown programs */
	assert_int_equal(s.programs[0].count, 6);
	buf_text(&many, "1 program more\n");
	assert_int_equal(sampled_add(&s, many.bytes, "prog", NULL, &err), ASSAY_E_FORMAT);
	buf_release(&many);
}

int suite_phases(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(slices_are_spread),
					    cmocka_unit_test(slices_that_make_no_sense),
					    cmocka_unit_test(phases_of_two_runs),
					    cmocka_unit_test(borders_are_no_phases),
					    cmocka_unit_test(no_phases),
					    cmocka_unit_test(programs_of_two_runs),
					    cmocka_unit_test(programs_that_make_no_sense) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
