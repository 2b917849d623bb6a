#include "gate/profile/parts.h"

#include "base/rng.h"
#include "tests/scratch.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const struct sampled_class *class_named(const struct sampled *s, const char *name)
{
	for (size_t i = 0; i < s->n; i++)
		if (strcmp(s->classes[i].name, name) == 0)
			return &s->classes[i];
	return NULL;
}

static void assert_class(const struct sampled *s, const char *name, bool kernel, uint64_t count)
{
	const struct sampled_class *class = class_named(s, name);

	if (!class || class->kernel != kernel || class->count != count)
		fail_msg("'%s' is %s with %llu", name, class ? "there" : "missing", class ? (unsigned long long)class->count : 0ull);
}

static void test_classes(void **state)
{
	static const char text[] =
	    "2003000 period ns\n10 user /usr/bin/my program\n3 user /usr/lib/x86_64-linux-gnu/libc.so.6\n"
	    "2 user /lib64/ld-linux-x86-64.so.2\n1 user [vdso]\n4 user //anon\n5 user /opt/libfancy.so.3\n6 user /usr/bin/ls\n"
	    "1 user /opt/libc.so.old/tool\n7 user ?\n11 kernel read\n12 kernel pread64\n13 kernel newfstatat\n14 kernel page_fault\n"
	    "15 kernel futex_wait\n16 kernel reader\n17 kernel other\n18 kernel clone3\n2 lost -\n"
	    "19 kernel boundary\n20 kernel schedule\n6 kernel filter\n3 processes -\n5 threads -\n";
	struct sampled s = { .n = 0 };
	struct assay_error err;

	(void)state;
	check(sampled_add(&s, text, "./my program", NULL, &err), &err);
	assert_class(&s, "own code of my program", false, 10);
	assert_class(&s, "C library", false, 3);
	assert_class(&s, "dynamic linker", false, 2);
	assert_class(&s, "clocks and dates", false, 1);
	assert_class(&s, "generated code", false, 4);
	assert_class(&s, "library libfancy.so.3", false, 5);
	assert_class(&s, "ls", false, 6);
	assert_class(&s, "tool", false, 1);
	assert_class(&s, "other code", false, 7);
	assert_class(&s, "file data", true, 23);
	assert_class(&s, "file metadata", true, 13);
	assert_class(&s, "page faults", true, 14);
	assert_class(&s, "synchronisation", true, 15);
	assert_class(&s, "other work", true, 33); /* names without a row in the table are not guessed */
	assert_class(&s, "processes and signals", true, 18);
	assert_class(&s, "entering and leaving the kernel", true, 19);
	assert_class(&s, "switching between processes", true, 20);
	assert_class(&s, "system call filters", true, 6);
	assert_true(s.lost == 2 && s.processes == 3 && s.threads == 5 && s.user == 39 && s.kernel == 161 && !s.kernel_hidden &&
		    !s.kernel_names_hidden);
	check(sampled_add(&s, "1 user /usr/bin/my program\n0 kernel not_allowed\n", "./my program", NULL, &err), &err);
	assert_class(&s, "own code of my program", false, 11);
	assert_true(s.kernel_hidden);
}

/* Checks that a program's own code has one class on both sides of a comparison, even if the tables have only one of its names. */
static void test_own_code_of_two(void **state)
{
	static const char *const programs[] = { "/opt/lua", "/opt/renamed" };
	struct assay_error err;

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct sampled s = { .program_name = "lua, renamed" }, alone = { .n = 0 };
		char text[64];

		snprintf(text, sizeof(text), "10 user %s\n", programs[i]);
		check(sampled_add(&s, text, programs[i], NULL, &err), &err);
		assert_class(&s, "own code of lua, renamed", false, 10);
		check(sampled_add(&alone, text, programs[i], NULL, &err), &err);
		assert_class(&alone, i ? "own code of renamed" : "interpreter", false, 10);
	}
}

static void test_transfers(void **state)
{
	struct sampled s = { .n = 0 };
	struct assay_error err;

	(void)state;
	check(sampled_add(&s, "12 kernel transfer\n10 kernel read\n20 kernel socket\n10 kernel pipe\n5 kernel pread64\n7 kernel sendto\n",
			  "p", NULL, &err),
	      &err);
	assert_class(&s, "file data", true, 10 + 5 + 3);
	assert_class(&s, "network and pipes", true, 37 + 9);
	assert_int_equal(s.kernel, 64);
	s = (struct sampled){ .n = 0 };
	for (int i = 0; i < 8; i++)
		check(sampled_add(&s, "1 kernel transfer\n3 kernel write\n1 kernel socket\n", "p", NULL, &err), &err);
	assert_class(&s, "file data", true, 24 + 6);
	assert_class(&s, "network and pipes", true, 8 + 2);
	s = (struct sampled){ .n = 0 };
	check(sampled_add(&s, "3 kernel transfer\n", "p", NULL, &err), &err);
	assert_class(&s, "file data", true, 3);
}

static void test_refused_and_malformed(void **state)
{
	static const char *const rows[] = { "x",
					    "1",
					    "1 user",
					    "-1 user a\n",
					    "1 nowhere a\n",
					    "99999999999999999999 user a\n",
					    " user a\n",
					    "1 at 10\n",
					    "1 user /a\n2 at 10\n",
					    "1 user /a\n1 at x\n",
					    "1 user /a\n2 line a.c:1:1 f\n",
					    "1 user /a\n1 line a.c:1:1\n",
					    "1 line a.c:1:1 f\n",
					    "1 user /a\n1 kernel read\n1 at 10\n",
					    "1 user /a\n1 at 10x\n",
					    "0 at 10\n",
					    "0 line a.c:1:1 f\n",
					    "1 user /a\n1 kernel read\n0 at 10\n" };
	struct sampled s = { .n = 0 };
	struct assay_error err;

	(void)state;
	check(sampled_add(&s, "0 forbidden perf_event_open: Permission denied\n", "a", NULL, &err), &err);
	assert_string_equal(s.refused, "perf_event_open: Permission denied");
	assert_true(s.needs_more_rights);
	check(sampled_add(&s, "0 refused perf_event_open: Function not implemented\n", "a", NULL, &err), &err);
	assert_false(s.needs_more_rights); /* no permission would help */
	check(sampled_add(&s, "0 kernel not_named\n", "a", NULL, &err), &err);
	assert_true(s.kernel_names_hidden && s.n == 0);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		check_fails(rows[i], sampled_add(&s, rows[i], "a", NULL, &err), ASSAY_E_FORMAT, &err, "");
}

/* Checks more classes than there is room for: the rest is counted, and no sample is lost. */
static void test_many(void **state)
{
	struct sampled s = { .n = 0 };
	struct assay_error err;
	uint64_t sum = 0;

	(void)state;
	for (int i = 0; i < 500; i++) {
		char line[64];

		snprintf(line, sizeof(line), "%d user /bin/tool%d\n1 kernel read\n", i + 1, i);
		check(sampled_add(&s, line, "a", NULL, &err), &err);
	}
	for (size_t i = 0; i < s.n; i++)
		sum += s.classes[i].count;
	assert_int_equal(s.user, 500 * 501 / 2);
	assert_int_equal(sum, s.user + s.kernel);
	assert_true(s.n <= SAMPLED_CLASSES_MAX && class_named(&s, "other code"));
}

/* Checks that shares divide their level, and that missing samples are reported. */
static void test_shares(void **state)
{
	static const struct level_run runs[] = { { "a", 10, 6, 2, 0, 0, 0, 0 }, { "a", 10, 6, 2, 0, 0, 0, 0 } };
	struct sampled s = { .n = 0 };
	struct levels levels;
	struct assay_error err;
	struct parts parts;

	(void)state;
	check(sampled_add(&s, "2000000 period ns\n1500 user /bin/a\n500 user /x/libc.so.6\n500 kernel read\n", "a", NULL, &err), &err);
	levels_compute(runs, 2, &levels);
	for (int half = 0; half < 2; half++) {
		parts_compute(&levels, &s, half ? 10.0 : 5.0, &parts);
		assert_int_equal(parts.n, LEVELS + 3);
		assert_string_equal(parts.items[LEVELS].name, "own code of a");
		assert_true(fabs(parts.items[LEVELS].share - .45 / (1 + half)) < 1e-12);
		assert_true(fabs(parts.unsampled_share - (half ? .4 : 0)) < 1e-12);
		assert_int_equal(parts.items[LEVELS].trusted, !half);
		parts_release(&parts);
	}
}

/* Returns how many intervals of 1000 contain the true share, if samples also divide the runs' time. */
static size_t intervals_right(size_t n)
{
	size_t covered = 0;
	struct rng rng;

	rng_seed(&rng, 5);
	for (size_t trial = 0; trial < 1000; trial++) {
		struct sampled s = { .period_ns = 2000000, .n = 2, .classes = { { .name = "one" }, { .name = "two" } } };
		struct level_run runs[8];
		struct levels levels;
		struct parts parts;

		for (size_t r = 0; r < n; r++) {
			uint64_t user = 0;

			for (int i = 0; i < 200; i++) {
				bool computing = rng_below(&rng, 10) < 6;

				user += computing;
				s.classes[rng_below(&rng, 2)].count += computing;
			}
			s.user += user;
			runs[r] = (struct level_run){ "a", .4, (double)user * .002, .4 - (double)user * .002, 0, 0, 0, 0 };
		}
		s.kernel = n * 200 - s.user;
		levels_compute(runs, n, &levels);
		parts_compute(&levels, &s, .4 * (double)n, &parts);
		covered += parts.items[LEVELS].low <= .3 && .3 <= parts.items[LEVELS].high;
		parts_release(&parts);
	}
	return covered;
}

static void test_intervals(void **state)
{
	(void)state;
	assert_in_range(intervals_right(8), 870, 930);
	assert_in_range(intervals_right(1), 870, 930); /* since samples divide the levels, too */
}

/* Checks that if the kernel may not be sampled, samples divide only the computing time. */
static void test_kernel_hidden(void **state)
{
	static const struct level_run runs[] = { { "a", 10, 6, 2, 0, 0, 0, 0 }, { "a", 10, 6, 2, 0, 0, 0, 0 } };
	struct sampled s = { .n = 0 };
	struct levels levels;
	struct assay_error err;
	struct parts parts;

	(void)state;
	check(sampled_add(&s, "2000000 period ns\n1500 user /bin/a\n1500 user /x/libc.so.6\n0 kernel not_allowed\n", "a", NULL, &err),
	      &err);
	levels_compute(runs, 2, &levels);
	parts_compute(&levels, &s, 8.0, &parts);
	assert_int_equal(parts.n, LEVELS + 2);
	assert_true(fabs(parts.items[LEVELS].share - .3) < 1e-12 && parts.unsampled_share < 1e-12);
	assert_true(parts.items[LEVELS].trusted && parts.n_reasons == 1);
	assert_string_equal(parts.reasons[0].code, "kernel_hidden");
	parts_release(&parts);
}

static void assert_text(const struct levels *levels, const struct sampled *s, const char *expected)
{
	struct parts parts;
	char *text;

	parts_compute(levels, s, 5, &parts);
	text = parts_text(&parts);
	assert_string_equal(text, expected);
	free(text);
	parts_release(&parts);
}

/* Checks that doubt about a level is doubt about its parts, and that the sentence says so. */
static void test_sentence(void **state)
{
	static const struct level_run runs[] = { { "a", 10, 6, 2, 0, 0, 0, 0 }, { "a", 10, 6, 2, 0, 0, 0, 0 } },
				      busy = { "a", 10, 6, 2, 0, 2, 0, 0 };
	static struct sampled s, none;
	struct levels levels;
	struct assay_error err;

	(void)state;
	check(sampled_add(&s, "2000000 period ns\n1500 user /bin/a\n500 user /x/libcrypto.so.3\n500 kernel read\n", "a", NULL, &err), &err);
	check(sampled_add(&none, "0 forbidden perf_event_open: Permission denied\n", "a", NULL, &err), &err);
	levels_compute(runs, 2, &levels);
	assert_text(&levels, &none, "60 % of its time computing, 20 % in the kernel and 20 % waiting; trusted, but not its parts");
	assert_text(
	    &levels, &s,
	    "60 % of its time computing (own code of a 45 %, cryptography 15 %), 20 % in the kernel (file data 20 %) and 20 % waiting; "
	    "trusted");
	levels_compute(runs, 1, &levels); /* whatever the number of samples */
	assert_false(level_is_trusted(&levels, LEVEL_COMPUTE) || level_is_trusted(&levels, LEVEL_WAITING));
	assert_text(&levels, &none,
		    "60 % of its time computing, 20 % in the kernel and 20 % waiting; indicative because it is a single run");
	levels_compute(&busy, 1, &levels);
	assert_text(
	    &levels, &s,
	    "60 % of its time computing (own code of a 45 %, cryptography 15 %), 20 % in the kernel (file data 20 %) and 20 % waiting; "
	    "indicative because the machine is busy");
}

static void divide(struct sampled *s, const uint64_t *user, const uint64_t *kernel, struct level_run *runs, size_t n)
{
	struct parts_run met[8];

	for (size_t i = 0; i < n; i++)
		met[i] = (struct parts_run){ user[i], kernel[i] };
	parts_divide_cpu_time(s, met, runs, n);
}

/* Checks that the samples of a run divide its time if they cover nearly all of it. */
static void test_divide(void **state)
{
	static const uint64_t user[] = { 300, 0 }, kernel[] = { 100, 0 }, ten = 10, twenty = 20;
	const struct level_run ticks[] = { { "a", 1, .8, 0, 0, 0, .1, 0 }, { "a", 1, .02, .02, 0, 0, .1, 0 } };
	struct level_run few = { "a", 1, .02, .02, 0, 0, .1, 0 };
	struct sampled s = { .n = 0 };
	struct assay_error err;

	(void)state;
	check(sampled_add(&s, "2000000 period ns\n12 user /bin/a\n", "a", NULL, &err), &err);
	divide(&s, user, kernel, &few, 1);
	assert_true(few.sys == .02 && few.uncertain_time == .1);
	s = (struct sampled){ .n = 0 }; /* thirty samples are too few; few ticks are as uncertain as few samples */
	few = (struct level_run){ "a", 1, .04, .02, 0, 0, 0, 0 };
	check(sampled_add(&s, "2000000 period ns\n10 user /bin/a\n20 kernel read\n1 processes -\n", "a", NULL, &err), &err);
	divide(&s, &ten, &twenty, &few, 1);
	assert_true(few.user == .04 && few.uncertain_time > .01 && few.uncertain_time < .015);
	few = (struct level_run){ "a", 1, .4, .2, 0, 0, 0, 0 }; /* many ticks are reliable */
	divide(&s, &ten, &twenty, &few, 1);
	assert_true(few.user == .4 && few.uncertain_time == 0);
	s = (struct sampled){ .n = 0 }; /* half was sampled: better than ticks, which are uninformative here, but less certain */
	few = (struct level_run){ "a", 1, .4, .4, 0, 0, .8, 0 };
	check(sampled_add(&s, "2000000 period ns\n150 user /bin/a\n50 kernel read\n1 processes -\n", "a", NULL, &err), &err);
	divide(&s, user + 1, kernel + 1, &few, 1);
	assert_true(fabs(few.user - .6) < 1e-12 && fabs(few.sys - .2) < 1e-12 && fabs(few.uncertain_time - .4) < 1e-12);
	s = (struct sampled){ .n = 0 };
	for (int i = 0; i < 4; i++) { /* not sampled, half, all, hidden */
		struct level_run runs[2] = { ticks[0], ticks[1] };

		s.kernel_hidden = i == 3;
		divide(&s, user, kernel, runs, 2);
		if (i == 2) {
			assert_true(fabs(runs[0].user - .6) < 1e-12 && fabs(runs[0].sys - .2) < 1e-12 && runs[0].uncertain_time == 0);
			assert_true(fabs(runs[1].user - .03) < 1e-12 && fabs(runs[1].sys - .01) < 1e-12 && runs[1].uncertain_time == 0);
		} else {
			assert_true(runs[0].user == .8 && runs[0].sys == 0 && runs[1].user == .02 && runs[0].uncertain_time == .1);
		}
		if (i < 2)
			check(sampled_add(&s, "2000000 period ns\n150 user /bin/a\n50 kernel read\n1 processes -\n", "a", NULL, &err),
			      &err);
	}
}

int suite_sampled(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_classes),	      cmocka_unit_test(test_own_code_of_two),
		cmocka_unit_test(test_transfers),     cmocka_unit_test(test_refused_and_malformed),
		cmocka_unit_test(test_many),	      cmocka_unit_test(test_shares),
		cmocka_unit_test(test_kernel_hidden), cmocka_unit_test(test_sentence),
		cmocka_unit_test(test_divide),	      cmocka_unit_test(test_intervals),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
