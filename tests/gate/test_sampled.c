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
	    "19 kernel boundary\n20 kernel schedule\n3 processes -\n";
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
	assert_class(&s, "other work", true, 33); /* what no row has is not guessed */
	assert_class(&s, "processes and signals", true, 18);
	assert_class(&s, "entering and leaving the kernel", true, 19);
	assert_class(&s, "switching between processes", true, 20);
	assert_true(s.lost == 2 && s.processes == 3 && s.user == 39 && s.kernel == 155 && !s.kernel_hidden && !s.kernel_unnamed);
	check(sampled_add(&s, "1 user /usr/bin/my program\n0 kernel not_allowed\n", "./my program", NULL, &err), &err);
	assert_class(&s, "own code of my program", false, 11);
	assert_true(s.kernel_hidden);
}

/* What is common to reads and writes goes to what is read and written, by their time; parts of samples are not lost over many runs. */
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
	assert_true(s.forbidden);
	check(sampled_add(&s, "0 refused perf_event_open: Function not implemented\n", "a", NULL, &err), &err);
	assert_false(s.forbidden); /* no right would help */
	check(sampled_add(&s, "0 kernel not_named\n", "a", NULL, &err), &err);
	assert_true(s.kernel_unnamed && s.n == 0);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		check_fails(rows[i], sampled_add(&s, rows[i], "a", NULL, &err), ASSAY_E_FORMAT, &err, "");
}

/* More classes than there is room for: the rest is counted, and nothing is lost. */
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

/* Shares divide their level, and what is not sampled is said. */
static void test_shares(void **state)
{
	static const struct level_run runs[] = { { "a", 10, 6, 2, 0, 0, 0, 0, 0 }, { "a", 10, 6, 2, 0, 0, 0, 0, 0 } };
	struct sampled s = { .n = 0 };
	struct levels levels;
	struct assay_error err;
	struct parts parts;

	(void)state;
	check(sampled_add(&s, "2000000 period ns\n1500 user /bin/a\n500 user /x/libc.so.6\n500 kernel read\n", "a", NULL, &err), &err);
	levels_of(runs, 2, &levels);
	for (int half = 0; half < 2; half++) {
		parts_of(&levels, &s, half ? 10.0 : 5.0, &parts);
		assert_int_equal(parts.n, LEVELS + 3);
		assert_string_equal(parts.items[LEVELS].name, "own code of a");
		assert_true(fabs(parts.items[LEVELS].share - .45 / (1 + half)) < 1e-12);
		assert_true(fabs(parts.left - (half ? .4 : 0)) < 1e-12);
		assert_int_equal(parts.items[LEVELS].trusted, !half);
		parts_release(&parts);
	}
}

/* Intervals hold what samples are drawn around, when samples divide the runs, too. */
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
			runs[r] = (struct level_run){ "a", .4, (double)user * .002, .4 - (double)user * .002, 0, 0, 0, 0, 0 };
		}
		s.kernel = n * 200 - s.user;
		levels_of(runs, n, &levels);
		parts_of(&levels, &s, .4 * (double)n, &parts);
		covered += parts.items[LEVELS].low <= .3 && .3 <= parts.items[LEVELS].high;
		parts_release(&parts);
	}
	return covered;
}

static void test_intervals(void **state)
{
	(void)state;
	assert_in_range(intervals_right(8), 870, 930);
	assert_in_range(intervals_right(1), 870, 930); /* as samples divide the levels, too */
}

/* A run in which two parts take turns, or one of the two comes more often than in the others; as lines of samples. */
static void run_of(struct rng *rng, double steady, double differs, char text[128])
{
	double part = .5 + differs * rng_normal(rng);
	int one = 0;

	for (int i = 0; i < 100; i++)
		one += rng_double(rng) < part;
	if (rng_double(rng) < steady)
		one = (int)(100 * part + rng_double(rng));
	snprintf(text, 128, "2000000 period ns\n%d kernel read\n%d kernel futex\n50 user /bin/a\n1 processes whole\n", one, 100 - one);
}

/* How many of 1000 intervals of a part hold it; *wide: how wide they are. */
static size_t spreads_right(double steady, double differs, size_t n, double *wide)
{
	size_t covered = 0;
	struct rng rng;

	*wide = 0;
	rng_seed(&rng, 7);
	for (size_t trial = 0; trial < 1000; trial++) {
		struct sampled s = { .n = 0 };
		struct level_run runs[16];
		struct levels levels;
		struct assay_error err;
		struct parts parts;
		char text[128];

		for (size_t r = 0; r < n; r++) {
			run_of(&rng, steady, differs, text);
			check(sampled_add(&s, text, "a", NULL, &err), &err);
			runs[r] = (struct level_run){ "a", .4, .2, .2, 0, 0, 0, 0, 0 };
		}
		levels_of(runs, n, &levels);
		parts_of(&levels, &s, .3 * (double)n, &parts);
		for (size_t i = 0; i < parts.n; i++) {
			if (strcmp(parts.items[i].name, "file data") != 0)
				continue;
			covered += parts.items[i].low <= .25 && .25 <= parts.items[i].high;
			*wide += (parts.items[i].high - parts.items[i].low) / 1000;
		}
		parts_release(&parts);
	}
	return covered;
}

/* An interval is as wide as runs differ: less than drawn samples do where parts take turns, more where runs are unlike. */
static void test_spreads(void **state)
{
	double drawn, steady, unlike, few;

	(void)state;
	assert_in_range(spreads_right(0, 0, 12, &drawn), 870, 930);
	assert_in_range(spreads_right(1, 0, 12, &steady), 870, 1000);
	assert_in_range(spreads_right(0, .1, 12, &unlike), 870, 930);
	assert_true(steady < .6 * drawn && steady > .3 * drawn && unlike > 1.8 * drawn); /* alike by chance, too */
	assert_in_range(spreads_right(0, 0, 3, &few), 870, 960); /* of three runs it is not known whether they are drawn */
	assert_in_range(spreads_right(0, .1, 3, &unlike), 895, 940);
	assert_true(few < 3 * drawn);
}

/* Of few runs, what other classes of the level say counts, too. */
static void test_dispersion(void **state)
{
	static const char text[] =
	    "20 kernel read\n20 kernel futex\n20 kernel stat\n20 kernel mmap\n20 kernel poll\n20 kernel clone\n9 user /a\n";
	struct sampled s = { .n = 0 };
	struct assay_error err;
	double freedom;

	(void)state;
	check(sampled_add(&s, text, "a", NULL, &err), &err);
	assert_true(sampled_dispersion(&s, 0, &freedom) == 1.0 && isinf(freedom));
	for (int i = 0; i < 3; i++)
		check(sampled_add(&s, text, "a", NULL, &err), &err);
	assert_true(fabs(sampled_dispersion(&s, 0, &freedom) - 4.0 / 15) < 1e-12 && freedom == 4 + 8 + 3);
}

/* Where the kernel may not be sampled, samples are of computing alone. */
static void test_kernel_hidden(void **state)
{
	static const struct level_run runs[] = { { "a", 10, 6, 2, 0, 0, 0, 0, 0 }, { "a", 10, 6, 2, 0, 0, 0, 0, 0 } };
	struct sampled s = { .n = 0 };
	struct levels levels;
	struct assay_error err;
	struct parts parts;

	(void)state;
	check(sampled_add(&s, "2000000 period ns\n1500 user /bin/a\n1500 user /x/libc.so.6\n0 kernel not_allowed\n", "a", NULL, &err),
	      &err);
	levels_of(runs, 2, &levels);
	parts_of(&levels, &s, 8.0, &parts);
	assert_int_equal(parts.n, LEVELS + 2);
	assert_true(fabs(parts.items[LEVELS].share - .3) < 1e-12 && parts.left < 1e-12);
	assert_true(parts.items[LEVELS].trusted && parts.n_reasons == 1);
	assert_string_equal(parts.reasons[0].code, "kernel_hidden");
	parts_release(&parts);
}

static void assert_text(const struct levels *levels, const struct sampled *s, const char *expected)
{
	struct parts parts;
	char *text;

	parts_of(levels, s, 5, &parts);
	text = parts_text(&parts);
	assert_string_equal(text, expected);
	free(text);
	parts_release(&parts);
}

/* What doubts a level doubts those below it, and the sentence says so. */
static void test_sentence(void **state)
{
	static const struct level_run runs[] = { { "a", 10, 6, 2, 0, 0, 0, 0, 0 }, { "a", 10, 6, 2, 0, 0, 0, 0, 0 } },
				      busy = { "a", 10, 6, 2, 0, 2, 0, 0, 0 };
	static struct sampled s, none;
	struct levels levels;
	struct assay_error err;

	(void)state;
	check(sampled_add(&s, "2000000 period ns\n1500 user /bin/a\n500 user /x/libcrypto.so.3\n500 kernel read\n", "a", NULL, &err), &err);
	check(sampled_add(&none, "0 forbidden perf_event_open: Permission denied\n", "a", NULL, &err), &err);
	levels_of(runs, 2, &levels);
	assert_text(&levels, &none, "60 % of its time computing, 20 % in the kernel and 20 % waiting; trusted, but not its parts");
	assert_text(
	    &levels, &s,
	    "60 % of its time computing (own code of a 45 %, cryptography 15 %), 20 % in the kernel (file data 20 %) and 20 % waiting; "
	    "trusted");
	levels_of(runs, 1, &levels); /* however many samples it has */
	assert_false(level_trusted(&levels, LEVEL_COMPUTE) || level_trusted(&levels, LEVEL_WAITING));
	assert_text(&levels, &none,
		    "60 % of its time computing, 20 % in the kernel and 20 % waiting; indicative because it is a single run");
	levels_of(&busy, 1, &levels);
	assert_text(
	    &levels, &s,
	    "60 % of its time computing (own code of a 45 %, cryptography 15 %), 20 % in the kernel (file data 20 %) and 20 % waiting; "
	    "indicative because the machine is busy");
}

/* As parts_divide(), of runs that hand nothing over. */
static void divide(struct sampled *s, const uint64_t *user, const uint64_t *kernel, const int64_t *faults, struct level_run *runs, size_t n)
{
	struct parts_run met[8];

	for (size_t i = 0; i < n; i++)
		met[i] = (struct parts_run){ user[i], kernel[i], faults[i], 0 };
	parts_divide(s, met, runs, n);
}

/* By the samples of each run, if they are of nearly all of the time; never to less than nothing. */
static void test_divide(void **state)
{
	static const uint64_t user[] = { 300, 0 }, kernel[] = { 100, 0 }, ten = 10, twenty = 20;
	static const int64_t none[2] = { 0, -1 }, faults[2] = { 600000, 0 };
	const struct level_run ticks[] = { { "a", 1, .8, 0, 0, 0, .1, 0, 0 }, { "a", 1, .02, .02, 0, 0, .1, 0, 0 } };
	struct level_run few = { "a", 1, .02, .02, 0, 0, .1, 0, 0 };
	struct sampled s = { .n = 0 };
	struct assay_error err;

	(void)state;
	check(sampled_add(&s, "2000000 period ns\n12 user /bin/a\n", "a", NULL, &err), &err);
	divide(&s, user, kernel, none, &few, 1);
	assert_true(few.sys == .02 && few.blurred == .1);
	s = (struct sampled){ .n = 0 }; /* thirty divide short processes better than ticks, which do not */
	few = (struct level_run){ "a", 1, .06, 0, 0, 0, .06, 0, 0 };
	check(sampled_add(&s, "2000000 period ns\n10 user /bin/a\n20 kernel read\n1 processes -\n", "a", NULL, &err), &err);
	divide(&s, &ten, &twenty, none, &few, 1);
	assert_true(fabs(few.user - .02) < 1e-12 && fabs(few.sys - .04) < 1e-12 && few.blurred > .008 && few.blurred < .01);
	few = (struct level_run){ "a", 1, .04, .02, 0, 0, 0, 0, 0 }; /* but not one that has met ticks, though few */
	divide(&s, &ten, &twenty, none, &few, 1);
	assert_true(few.user == .04 && few.blurred > .01 && few.blurred < .015);
	few = (struct level_run){ "a", 1, .4, .2, 0, 0, 0, 0, 0 }; /* many are believed */
	divide(&s, &ten, &twenty, none, &few, 1);
	assert_true(few.user == .4 && few.blurred == 0);
	s = (struct sampled){ .n = 0 }; /* half of the time was met: better than ticks, which tell nothing, and so much less certain */
	few = (struct level_run){ "a", 1, .4, .4, 0, 0, .8, 0, 0 };
	check(sampled_add(&s, "2000000 period ns\n150 user /bin/a\n50 kernel read\n1 processes -\n", "a", NULL, &err), &err);
	divide(&s, user + 1, kernel + 1, none, &few, 1);
	assert_true(fabs(few.user - .6) < 1e-12 && fabs(few.sys - .2) < 1e-12 && fabs(few.blurred - .4) < 1e-12);
	s = (struct sampled){ .n = 0 };
	for (int i = 0; i < 4; i++) { /* not sampled, half, all, hidden */
		struct level_run runs[2] = { ticks[0], ticks[1] };

		s.kernel_hidden = i == 3;
		divide(&s, user, kernel, none, runs, 2);
		if (i == 2) {
			assert_true(fabs(runs[0].user - .6) < 1e-12 && fabs(runs[0].sys - .2) < 1e-12 && runs[0].blurred == 0);
			assert_true(fabs(runs[1].user - .03) < 1e-12 && fabs(runs[1].sys - .01) < 1e-12 && runs[1].blurred == 0);
		} else {
			assert_true(runs[0].user == .8 && runs[0].sys == 0 && runs[1].user == .02 && runs[0].blurred == .1);
		}
		assert_true(runs[0].sys >= 0 && runs[1].sys >= 0);
		if (i < 2)
			check(sampled_add(&s, "2000000 period ns\n150 user /bin/a\n50 kernel read\n1 processes -\n", "a", NULL, &err),
			      &err);
	}
	s.kernel_hidden = false; /* the way back from 600,000 faults is the kernel's: 30 samples of the 300 */
	few = ticks[0];
	s.unnamed = 100;
	divide(&s, user, kernel, faults, &few, 1);
	assert_int_equal(s.unnamed, 90);
	assert_true(fabs(few.user - .54) < 1e-12 && fabs(few.sys - .26) < 1e-12 && few.blurred > 0 && few.blurred < .06);
	assert_class(&s, "page faults", true, 30);
	assert_class(&s, "own code of a", false, 270);
	assert_true(s.user == 270 && s.kernel == 130);
	s = (struct sampled){ .user = 1000000, .period_ns = 2000000 };
	for (int i = 1; i < 1000; i++) { /* rounding included */
		struct level_run run = { "a", 1, i / 7.0, 0, 0, 0, 0, 0, 0 };
		const uint64_t computing = (uint64_t)i, nothing = 0;

		divide(&s, &computing, &nothing, none, &run, 1);
		assert_true(run.sys >= 0 && run.user > 0);
	}
}

/* Ways back from page faults may all have been in one of the program's classes: the intervals say so. */
static void test_back_of_one(void **state)
{
	static const char text[] =
	    "2000000 period ns\n9 processes whole\n6000 user /bin/a\n2000 user /lib64/ld-linux-x86-64.so.2\n2000 kernel page_fault\n";
	static const uint64_t user = 8000, kernel = 2000;
	static const int64_t faults = 32000000, none = 0;
	struct assay_error err;

	(void)state;
	for (int any = 0; any < 2; any++) { /* 1600 of the 8000 */
		struct level_run run = { "a", 20, 16, 4, 0, 0, 0, 0, 0 };
		struct sampled s = { .n = 0 };
		struct levels levels;
		struct parts parts;

		check(sampled_add(&s, text, "a", NULL, &err), &err);
		divide(&s, &user, &kernel, any ? &faults : &none, &run, 1);
		levels_of(&run, 1, &levels);
		parts_of(&levels, &s, 20, &parts);
		for (size_t i = 0; i < parts.n; i++) {
			const struct part *p = &parts.items[i];

			if (p->depth == PART_CATEGORY && strcmp(p->name, "dynamic linker") == 0) {
				assert_true(fabs(p->share - (any ? .16 : .2)) < 1e-3);
				assert_true(any ? p->high > .2 && p->low < .05 : p->high < .21 && p->low > .19);
			}
		}
		parts_release(&parts);
	}
}

/* Of what was hardly met little can be missing, so that a class that hands over nearly alone has nearly all of it. */
static void test_unmet_alone(void **state)
{
	static const char text[] =
	    "2000000 period ns\n9 processes whole\n100 user /bin/a\n190 kernel futex\n10 kernel clone\n100 kernel read\n";
	static const uint64_t user = 100, kernel = 300;
	static const int64_t none = 0;
	struct level_run run = { "a", 2, .9, .1, 0, 0, 0, 0, 0 };
	struct sampled s = { .n = 0 };
	struct levels levels;
	struct parts parts;
	struct assay_error err;

	(void)state;
	check(sampled_add(&s, text, "a", NULL, &err), &err);
	divide(&s, &user, &kernel, &none, &run, 1); /* 100 of 500 are missing */
	levels_of(&run, 1, &levels);
	parts_of(&levels, &s, 1.0, &parts);
	for (size_t i = 0; i < parts.n; i++) {
		const struct part *part = &parts.items[i];

		if (strcmp(part->name, "synchronisation") == 0) /* met .19 of the time, and at most .02 of what is missing are another's */
			assert_true(fabs(part->share - .285) < 1e-9 && part->low > .23 && part->high > .29);
		if (strcmp(part->name, "processes and signals") == 0)
			assert_true(fabs(part->share - .015) < 1e-9 && part->low < .01 && part->high > .03 && part->high < .06);
	}
	parts_release(&parts);
	s = (struct sampled){ .n = 0 }; /* nothing hands over: whose it is nobody knows */
	check(sampled_add(&s, "2000000 period ns\n9 processes whole\n100 user /bin/a\n300 kernel read\n", "a", NULL, &err), &err);
	run = (struct level_run){ "a", 2, .9, .1, 0, 0, 0, 0, 0 };
	divide(&s, &user, &kernel, &none, &run, 1);
	levels_of(&run, 1, &levels);
	parts_of(&levels, &s, 1.0, &parts);
	for (size_t i = 0; i < parts.n; i++)
		if (strcmp(parts.items[i].name, "other work") == 0)
			assert_true(fabs(parts.items[i].share - .1) < 1e-9 && parts.items[i].low < .01);
	parts_release(&parts);
}

/* What the clocks of the processors have not met is the kernel's, of what hands a processor over; what it may be besides is in the
 * interval. */
static void test_unmet(void **state)
{
	static const char text[] =
	    "2000000 period ns\n9 processes whole\n100 user /bin/a\n150 kernel futex\n50 kernel clone\n100 kernel read\n";
	static const uint64_t user = 100, kernel = 300, users[] = { 100, 100, 100 }, kernels[] = { 300, 300, 300 },
			      unlike[] = { 250, 300, 350 };
	static const int64_t none = 0, nones[3];
	struct level_run run = { "a", 2, .9, .1, 0, 0, 0, 0, 0 }, runs[] = { run, run, run };
	struct sampled s = { .n = 0 };
	struct levels levels;
	struct parts parts;
	struct assay_error err;

	(void)state;
	check(sampled_add(&s, text, "a", NULL, &err), &err);
	assert_true(!s.apart);
	divide(&s, &user, &kernel, &none, &run, 1); /* 100 of 500 are missing */
	assert_true(fabs(run.user - .2) < 1e-12 && fabs(run.sys - .8) < 1e-12 && fabs(run.blurred - .25 * sqrt(.8 / 400)) < 1e-12);
	assert_class(&s, "synchronisation", true, 225);
	assert_class(&s, "processes and signals", true, 75);
	assert_class(&s, "file data", true, 100);
	assert_true(s.unmet == 100 && s.kernel == 400);
	levels_of(&run, 1, &levels);
	parts_of(&levels, &s, 1.0, &parts);
	assert_true(parts.left == 0);
	for (size_t i = 0; i < parts.n; i++) {
		const struct part *part = &parts.items[i];

		if (strcmp(part->name, "synchronisation") == 0) /* of the whole time: met .15, with all that is missing .25 */
			assert_true(fabs(part->share - .225) < 1e-9 && part->low < .15 && part->high > .25);
		if (strcmp(part->name, "file data") == 0)
			assert_true(fabs(part->share - .1) < 1e-9 && part->low > .07 && part->high < .13);
	}
	parts_release(&parts);
	s = (struct sampled){ .n = 0 }; /* as much in each of three runs: that is no chance */
	for (int i = 0; i < 3; i++)
		check(sampled_add(&s, text, "a", NULL, &err), &err);
	divide(&s, users, kernels, nones, runs, 3);
	assert_true(fabs(runs[0].user - .2) < 1e-12 && runs[0].blurred < 1e-12);
	s = (struct sampled){ .n = 0 };
	for (int i = 0; i < 3; i++) {
		check(sampled_add(&s, text, "a", NULL, &err), &err);
		runs[i] = (struct level_run){ "a", 2, .9, .1, 0, 0, 0, 0, 0 };
	}
	divide(&s, users, unlike, nones, runs, 3);
	assert_true(runs[0].blurred > .02 && runs[0].blurred < .05);
	s = (struct sampled){ .n = 0 }; /* nothing hands over: it is not known what it was */
	check(sampled_add(&s, "2000000 period ns\n1 processes whole\n300 user /bin/a\n100 kernel read\n", "a", NULL, &err), &err);
	run = (struct level_run){ "a", 2, .9, .1, 0, 0, 0, 0, 0 };
	divide(&s, &kernel, &user, &none, &run, 1);
	assert_true(fabs(run.user - .6) < 1e-12);
	assert_class(&s, "other work", true, 100);
	check(sampled_add(&s, "2000000 period ns\n1 processes -\n", "a", NULL, &err), &err);
	assert_true(s.apart);
}

/* Both clocks miss who gives a processor away again and again: ticks say what they have not seen, so that samples divide though they are
 * few, and where they have met all by chance, as much may be missing as runs differ by. */
static void test_handed_over(void **state)
{
	static const char text[] = "4000000 period ns\n1 processes whole\n3 user /bin/a\n7 kernel nanosleep\n";
	struct parts_run met[] = { { 3, 7, 0, 2500 }, { 3, 7, 0, 2500 }, { 3, 7, 0, 2500 } };
	struct level_run runs[3], much = { "a", 2, .9, .1, 0, 0, 0, 0, 0 }, two[3];
	struct sampled s = { .n = 0 };
	struct levels levels;
	struct assay_error err;

	(void)state;
	for (size_t i = 0; i < COUNT(runs); i++) {
		check(sampled_add(&s, text, "a", NULL, &err), &err);
		runs[i] = (struct level_run){ "a", 1, .1, 0, 0, 0, 0, 0, 0 }; /* by ticks, all was computed */
	}
	parts_divide(&s, met, runs, 3); /* 30 of 75 were met */
	assert_true(fabs(runs[0].user - .1 * .3 * .4) < 1e-9);
	levels_of(runs, 3, &levels);
	assert_true(levels.of[LEVEL_COMPUTE].low < .012 && levels.of[LEVEL_COMPUTE].high > .012 && levels.of[LEVEL_COMPUTE].high < .04);
	for (size_t i = 0; i < COUNT(runs); i++) { /* hardly anything given away: the clock was not that */
		met[i].switches = 20;
		runs[i] = (struct level_run){ "a", 1, .1, 0, 0, 0, 0, 0, 0 };
	}
	s = (struct sampled){ .n = 0 };
	for (size_t i = 0; i < COUNT(runs); i++)
		check(sampled_add(&s, text, "a", NULL, &err), &err);
	parts_divide(&s, met, runs, 3);
	assert_true(fabs(runs[0].user - .1) < 1e-9);
	for (int64_t switches = 0; switches <= 2000; switches += 2000) {
		s = (struct sampled){ .n = 0 };
		for (uint64_t i = 0; i < 3; i++) {
			check(sampled_add(&s, "4000000 period ns\n1 processes whole\n240 user /bin/a\n10 kernel nanosleep\n", "a", NULL,
					  &err),
			      &err);
			met[i] = (struct parts_run){ 236 + 4 * i, 10, 0, switches };
			two[i] = much;
		}
		parts_divide(&s, met, two, 3); /* 750 of 750 */
		assert_true(switches ? two[0].blurred > .01 && two[0].blurred < .04 : two[0].blurred < 1e-9);
	}
}

int suite_sampled(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_classes),	    cmocka_unit_test(test_transfers),	cmocka_unit_test(test_refused_and_malformed),
		cmocka_unit_test(test_many),	    cmocka_unit_test(test_shares),	cmocka_unit_test(test_kernel_hidden),
		cmocka_unit_test(test_sentence),    cmocka_unit_test(test_divide),	cmocka_unit_test(test_intervals),
		cmocka_unit_test(test_unmet),	    cmocka_unit_test(test_back_of_one), cmocka_unit_test(test_unmet_alone),
		cmocka_unit_test(test_handed_over), cmocka_unit_test(test_spreads),	cmocka_unit_test(test_dispersion),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
