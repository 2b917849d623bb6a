/* Builds programs of tests/apps with `assay build --for counters`, runs them, and checks which calls of which functions get the counts. */
#include "tests/runs/emulated_programs.h"

/* Checks that the C library's work belongs to its callers: a known range of blocks per call, with and without simulated windows. */
static void test_library_work(void **state)
{
	static const char *const options[] = { "", "--full" };
	static const struct {
		const char *function;
		double least, most;
	} rows[] = { { "powers", 16 * 1000, 20 * 1000 }, { "texts", 64 * 1000, 68 * 1000 }, { "sorted", 2 * 9 * 1000, 30 * 1000 } };
	double sums[COUNT(rows)];

	(void)state;
	build("gcc", "-lm", "special/mathematics.c", "program");
	must("gcc -O2 -w '%s/tests/apps/special/mathematics.c' -lm -o native && ./native >expected", environment("ASSAY_SOURCE"));
	for (size_t o = 0; o < COUNT(options); o++) {
		struct samples s;

		assert_int_equal(run(options[o], "./program", &s, 1), 1);
		must("cmp expected emulated");
		for (size_t i = 0; i < COUNT(rows); i++) {
			double sum = samples_sum(&s, rows[i].function, "emulated:blocks");

			if (!(sum >= rows[i].least && sum <= rows[i].most))
				fail_msg("%s: %g blocks", rows[i].function, sum);
			assert_true(!o || sum == sums[i]);
			sums[i] = sum;
		}
		samples_release(&s);
	}
}

static double calls_of(const struct samples *s, const char *function)
{
	size_t f = function_of(s, function);
	double n = 0;

	for (size_t i = 0; i < s->n_calls; i++)
		n += s->calls[i].function == f ? (double)s->calls[i].calls : 0;
	return n;
}

static void check_calls(const struct samples *s, const char *function, size_t samples, uint64_t calls)
{
	double got = calls_of(s, function);
	size_t n = s->functions[function_of(s, function)].n;

	if (got != (double)calls || n != samples)
		fail_msg("%s: %.0f calls, %zu samples", function, got, n);
}

/* Returns the sum of a counter over all calls of a function. */
static double all_of(const struct samples *s, const char *function, const char *counter)
{
	size_t f = function_of(s, function), c = samples_find_counter(s, counter);
	double sum = 0;

	for (size_t i = 0; i < s->n_calls; i++)
		sum += s->calls[i].function == f ? s->calls[i].sums[c] : 0;
	return sum;
}

/* Returns the second number that the program has printed. */
static double signals_said(void)
{
	FILE *file = fopen("emulated", "r");
	double sum = 0, n = 0;

	if (!file || fscanf(file, "%lf %lf", &sum, &n) != 2)
		fail_msg("two numbers are missing");
	if (file)
		fclose(file);
	return n;
}

/* Checks that polling for another thread is no work. Work between calls of sched_yield() and in signal handlers does count. */
static void test_waits(void **state)
{
	static const char *const ways[] = { "./program", ONE_PROCESSOR "./program",
					    "sh -c 'yes >/dev/null & a=$!; yes >/dev/null & b=$!; ./program; s=$?; kill $a $b; exit $s'" };
	const double boxes = 100, at_first = 10; /* accesses until the first two polls have failed */

	(void)state;
	for (size_t i = 0; i < 2 * COUNT(ways); i++) {
		bool signals = i >= COUNT(ways);
		struct samples s;

		if (i % COUNT(ways) == 0)
			build("gcc", signals ? "-DSIGNALS" : "", "special/waits.c", "program");
		run("", ways[i % COUNT(ways)], &s, 1);
		check_near("calls", calls_of(&s, "put"), boxes, 0);
		check_near("calls", calls_of(&s, "get"), boxes, 0);
		if (signals) {
			check_near("handlers", calls_of(&s, "on_signal"), signals_said(), 0);
			check_near("handlers", all_of(&s, "on_signal", "emulated:accesses"), 8 * signals_said(), 0);
		}
		check_near("put", all_of(&s, "put", "emulated:accesses"), 3 * boxes, at_first);
		check_near("put", all_of(&s, "put", "emulated:blocks"), 3 * boxes, 3 * at_first);
		check_near("get", all_of(&s, "get", "emulated:accesses"), 5 * boxes, at_first);
		check_near("get", all_of(&s, "get", "emulated:atomics"), 2 * boxes, at_first);
		check_near("reads", all_of(&s, "reads", "emulated:accesses"), 1000, 0);
		check_near("computes", all_of(&s, "computes", "emulated:blocks"), 2e5, 200);
		check_calls(&s, "computes", 1, 1);
		assert_true(total(&s, "waited") > 0);
		samples_release(&s);
	}
}

/* Checks the same for loops that contain only atomic operations. A check of a stop flag counts as work. */
static void test_polls(void **state)
{
	static const char *const compilers[] = { "gcc", "clang-14" };
	const double boxes = 100;

	(void)state;
	for (size_t i = 0; i < 2 * COUNT(compilers); i++) {
		struct samples s;

		if (i % 2 == 0)
			build(compilers[i / 2], "", "special/polls.c", "program");
		run("", i % 2 ? ONE_PROCESSOR "./program" : "./program", &s, 1);
		check_near("get", all_of(&s, "get", "emulated:accesses"), 4 * boxes, boxes);
		check_near("put", all_of(&s, "put", "emulated:accesses"), 4.5 * boxes, 1.5 * boxes);
		check_near("locks", all_of(&s, "locks", "emulated:atomics"), 2 * 2.5 * boxes, boxes);
		check_near("computes", all_of(&s, "computes", "emulated:accesses"), 2e4, 0);
		check_near("adds", all_of(&s, "adds", "emulated:atomics"), 2e4, 0);
		assert_true(total(&s, "waited") > 0);
		samples_release(&s);
	}
}

/* Interrupts the hooks after each n-th instruction, for many n, so that handlers run nearly everywhere. A handler after every instruction
 * would leave no time. Handlers inside the hooks do not count. */
static void test_steps(void **state)
{
	static const char *const functions[] = { "main", "put", "changes", "adds" };
	static const char *const counters[] = { "emulated:accesses", "emulated:blocks", "emulated:atomics" };
	double undisturbed[COUNT(functions)][COUNT(counters)];
#ifdef __SANITIZE_ADDRESS__
	int steps = 60, runs = 6; /* hooks with sanitizers take more instructions and restart if a handler has interrupted them */
#else
	int steps = 24, runs = 7;
#endif

	(void)state;
	build("gcc", "", "special/steps.c", "program");
	for (int i = 0; i < runs; i++) {
		char *command = mem_format("./program %d", i ? steps + 7 * i : 1000000);
		struct samples s;

		run("", command, &s, 1);
		for (size_t f = 0; f < COUNT(functions); f++) {
			for (size_t c = 0; c < COUNT(counters); c++) {
				double sum = all_of(&s, functions[f], counters[c]);

				undisturbed[f][c] = i == 0 ? sum : undisturbed[f][c];
				check_near(command, sum, undisturbed[f][c], 0);
			}
		}
		if (i > 0)
			check_near(command, all_of(&s, "on_signal", "emulated:accesses"), 8 * calls_of(&s, "on_signal"), 0);
		samples_release(&s);
		free(command);
	}
}

static void test_jumps(void **state)
{
	static const char *const compilers[] = { "gcc", "clang-14" };

	(void)state;
	for (size_t i = 0; i < COUNT(compilers); i++) {
		struct samples s;
		size_t f, unwound = 0;

		build(compilers[i], "", "special/jumps.c", "program");
		must("./program >native");
		run("", "./program", &s, 1);
		must("cmp native emulated");
		check_calls(&s, "main", 1, 1);
		check_calls(&s, "jump", 40, 40);
		check_calls(&s, "descend", 155, 155);
		check_calls(&s, "rest", 40, 40);
		check_calls(&s, "on_signal", 40, 40);
		check_calls(&s, "leave", 1, 1);
		f = function_of(&s, "descend");
		for (size_t k = s.functions[f].first; k < s.functions[f].first + s.functions[f].n; k++)
			unwound += s.items[k].unwound;
		assert_int_equal(unwound, 155);
		f = function_of(&s, "rest");
		for (size_t k = s.functions[f].first; k < s.functions[f].first + s.functions[f].n; k++)
			assert_int_equal(s.items[k].depth, 2); /* the frames that were jumped over are gone */
		f = function_of(&s, "jump");
		for (size_t k = s.functions[f].first; k < s.functions[f].first + s.functions[f].n; k++)
			assert_true(!s.items[k].unwound && s.items[k].depth == 1);
		samples_release(&s);
	}
}

static void test_forks(void **state)
{
	struct samples s[4];
	const char *work = "emulated:accesses";

	(void)state;
	build("gcc", "", "special/forks.c", "program");
	assert_int_equal(run("", "./program", s, 4), 3);
	check_calls(&s[0], "work", 2, 2);
	check_calls(&s[1], "work", 1, 1);
	check_near("the parent's", total(&s[0], "accesses"), 6005, 100);
	check_near("the child's own", total(&s[1], "accesses"), 6000, 100);
	check_near("its sample",
		   s[1].values[s[1].functions[function_of(&s[1], "work")].first * s[1].n_counters + samples_find_counter(&s[1], work)],
		   6000, 100);
	assert_true(s[0].finished && s[1].finished && !s[2].finished);
	assert_true(s[2].n > 10); /* the process was killed */
	for (size_t i = 0; i < 3; i++)
		samples_release(&s[i]);
}

/* Checks that the result reports that other processes are not simulated. */
static void test_shares(void **state)
{
	struct samples s;

	(void)state;
	build("gcc", "", "special/shares.c", "program");
	for (int own = 0; own < 2; own++) {
		run("", own ? "./program -" : "./program", &s, 1);
		assert_int_equal(samples_info_number(&s, SAMPLES_SHARED_BYTES), own ? 0 : 12288);
		samples_release(&s);
		must("'%s' record --for counters -o t%d -- ./program %s 2>said; grep -c 'sharing between processes is not simulated' said "
		     ">n; "
		     "test \"$(cat n)\" = %d",
		     environment("ASSAY"), own, own ? "-" : "", !own);
	}
}

static void test_languages(void **state)
{
	static const struct {
		const char *compiler, *flags, *source;
	} rows[] = {
		{ "g++", "-std=c++17", "special/objects.cc" },
		{ "clang++-14", "-std=c++17", "special/objects.cc" },
		{ "gcc", "-mcx16", "special/wide.c" },
		{ "clang-14", "-mcx16", "special/wide.c" },
	};
	struct samples s;

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		build(rows[i].compiler, rows[i].flags, rows[i].source, "program");
		must("./program >native");
		run("", "./program", &s, 1);
		must("cmp native emulated");
		check_calls(&s, "main", 1, 1);
		assert_true(total(&s, "atomics") > 50);
		assert_string_equal(samples_info(&s, "threads-running"), "0");
		samples_release(&s);
	}
}

/* Checks that allocations by strings inside libstdc++ belong to the caller, and that a program's own operator new counts once. */
static void test_strings(void **state)
{
	static const struct {
		const char *compiler, *flags;
	} rows[] = {
		{ "g++", "-std=c++17" },       { "g++", "-std=c++20" },	       { "g++", "-std=c++17 -static-libstdc++" },
		{ "g++", "-std=c++17 -DOWN" }, { "clang++-14", "-std=c++17" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct samples s;

		build(rows[i].compiler, rows[i].flags, "special/strings.cc", "program");
		run("", "./program", &s, 1);
		check_near(rows[i].flags, total(&s, "allocations"), 1001, 1); /* including a buffer for exceptions */
		samples_release(&s);
	}
}

/* Returns the mean of a counter per call of the function whose symbol contains `part`. */
static double a_call(const struct samples *s, const char *part, const char *counter)
{
	struct samples_total all = { 0 };
	size_t f = 0;
	double n;

	while (f < s->n_functions && !(s->functions[f].n && strstr(s->functions[f].name, part)))
		f++;
	if (f == s->n_functions)
		fail_msg("no samples of %s", part);
	samples_total_find(s, f, &all);
	assert_true(all.complete);
	n = all.sums[samples_find_counter(s, counter)] / (double)all.calls;
	samples_total_release(&all);
	return n;
}

/* Checks that work in functions of the C++ library belongs exactly to the callers. */
static void test_done_for_callers(void **state)
{
	static const struct {
		const char *function;
		double allocations;
	} rows[] = { { "short_copy", 0 }, { "long_copy", 1 }, { "in_reserve", 0 }, { "step_by_step", 7 } };
	static const char *const compilers[] = { "g++", "clang++-14" }, *const levels[] = { "-O0", "-O2" };

	(void)state;
	for (size_t i = 0; i < COUNT(compilers) * COUNT(levels); i++) {
		struct samples s;

		build(compilers[i / 2], levels[i % 2], "special/callers.cc", "program");
		run("", "./program", &s, 1);
		for (size_t k = 0; k < COUNT(rows); k++)
			check_near(rows[k].function, a_call(&s, rows[k].function, "emulated:allocations"), rows[k].allocations, 0);
		for (size_t k = 0; k < s.n; k++)
			assert_true(!record_is_library(s.functions[s.items[k].function].name) || s.items[k].caller == RECORD_NO_CALLER);
		samples_release(&s);
	}
}

/* Checks that a copy of up to 16 bytes counts as one access. */
static void test_in_place(void **state)
{
	static const struct {
		const char *function;
		double accesses;
	} rows[] = { { "four", 2 },    { "sixteen", 2 }, { "sixty_four", 8 }, { "ordered", 2 },
		     { "old_way", 2 }, { "word", 2 },	 { "beginning", 2 },  { "loaded", 1 } };
	static const char *const compilers[] = { "gcc", "clang-14" };

	(void)state;
	for (size_t i = 0; i < COUNT(compilers); i++) {
		struct samples s;

		build(compilers[i], "", "special/compares.c", "program");
		run("", "./program", &s, 1);
		must("test \"$(cat emulated)\" = 8000");
		for (size_t k = 0; k < COUNT(rows); k++)
			check_near(rows[k].function, a_call(&s, rows[k].function, "emulated:accesses"), rows[k].accesses, 0);
		samples_release(&s);
	}
}

static void test_openmp(void **state)
{
	static const char *const compilers[] = { "gcc", "clang-14" };

	(void)state;
	for (size_t i = 0; i < COUNT(compilers); i++) {
		struct samples s;
		double first;

		build(compilers[i], "-fopenmp", "special/openmp.c", "program");
		run("", "./program", &s, 1);
		assert_true(rate(&s, "hitm_false_milli") < 500);
		samples_release(&s);
		build(compilers[i], "-fopenmp -DBAD", "special/openmp.c", "program");
		run("", "./program", &s, 1);
		first = rate(&s, "hitm_false_milli");
		assert_true(first > 100000);
		samples_release(&s);
		run("", ONE_PROCESSOR "./program", &s, 1);
		check_near(compilers[i], rate(&s, "hitm_false_milli"), first, 20); /* clang's reductions may retry */
		samples_release(&s);
	}
}

static void test_library(void **state)
{
	static const char *const lists[] = { "nothing,library_count", "@list", "library_count.part.1" };
	struct samples s;
	char *command = mem_format("'%s' record --for counters -o none --functions @clones -- ./program >emulated", environment("ASSAY"));

	(void)state;
	build("gcc", "-fPIC -shared", "special/library.c", "liblibrary.so");
	build("gcc", "-L. -llibrary -Wl,-rpath,$PWD", "special/uses_library.c", "program");
	scratch_put("list", "# of all, these\nf 12ab - library_count\nf 34 - nothing\n");
	scratch_put("clones", "f 0 - work.constprop.0\nlibrary\n");
	for (size_t i = 0; i < COUNT(lists); i++) {
		char *options = mem_format("--functions %s", lists[i]);

		run(options, "./program", &s, 1);
		assert_int_equal(s.n_functions, 1);
		check_calls(&s, "library_count", 1, 1);
		assert_true(s.values[samples_find_counter(&s, "emulated:accesses")] >= 5000);
		samples_release(&s);
		free(options);
	}
	assert_int_equal(shell(command), 6); /* exit status 6: no measurement */
	free(command);
}

int suite_emulation_calls(void)
{
	static const struct CMUnitTest tests[] = {
		SCRATCH_TEST(test_jumps),
		SCRATCH_TEST(test_forks),
		SCRATCH_TEST(test_languages),
		SCRATCH_TEST(test_openmp),
		SCRATCH_TEST(test_library),
		SCRATCH_TEST(test_shares),
		SCRATCH_TEST(test_waits),
		SCRATCH_TEST(test_polls),
		SCRATCH_TEST(test_steps),
		SCRATCH_TEST(test_library_work),
		SCRATCH_TEST(test_strings),
		SCRATCH_TEST(test_in_place),
		SCRATCH_TEST(test_done_for_callers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
