/* Programs of tests/apps, built by `assay emulate build` and run; what they counted, as runs/inside/samples/samples.h reads it. All of
 * them, larger and with their costs: tests/evidence/emulation.sh. */
#include "runs/inside/samples/samples.h"

#include "tests/scratch.h"

#include <dirent.h>
#include <math.h>

#define MILLI 1000.0

static const char *environment(const char *name)
{
	const char *value = getenv(name);

	if (!value)
		fail_msg("%s is not set: run this by ctest", name);
	return value;
}

static int shell(const char *command)
{
	pid_t child = fork();
	int status;

	if (!child) {
		execl("/bin/sh", "sh", "-c", command, (char *)NULL);
		_exit(127);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

__attribute__((format(printf, 1, 2))) static void must(const char *fmt, ...)
{
	char command[4096];
	va_list args;

	va_start(args, fmt);
	vsnprintf(command, sizeof(command), fmt, args);
	va_end(args);
	if (shell(command))
		fail_msg("failed: %s", command);
}

/* ./PROGRAM of a file in tests/apps. */
static void build(const char *compiler, const char *flags, const char *source, const char *program)
{
	must("'%s' emulate build -- %s -O2 -D_GNU_SOURCE -w '%s/tests/apps/%s' %s -pthread -o %s", environment("ASSAY"), compiler,
	     environment("ASSAY_SOURCE"), source, flags, program);
}

static int is_file(const struct dirent *entry)
{
	return entry->d_name[0] != '.';
}

/* Before a command of the shell: on the first processor that this process may use, which need not be that with number 0. */
#define ONE_PROCESSOR "taskset -c \"$(taskset -cp $$ | sed 's/.*: \\([0-9]*\\).*/\\1/')\" "

/* All sample files of a run, smallest process id first; returns how many. */
static size_t run(const char *options, const char *command, struct samples *out, size_t n_max)
{
	struct dirent **names;
	struct assay_error err;
	int n;

	must("rm -rf s && '%s' emulate run -o s %s -- %s >emulated", environment("ASSAY"), options, command);
	n = scandir("s", &names, is_file, versionsort);
	assert_true(n > 0 && (size_t)n <= n_max);
	for (int i = 0; i < n; i++) {
		char *path = mem_format("s/%s", names[i]->d_name);

		check(samples_read(path, &out[i], &err), &err);
		free(path);
		free(names[i]);
	}
	free(names);
	return (size_t)n;
}

static double total(const struct samples *samples, const char *counter)
{
	char key[128];
	const char *text;

	snprintf(key, sizeof(key), "total:emulated:%s", counter);
	text = samples_info(samples, key);
	if (!text)
		fail_msg("no %s", key);
	return strtod(text, NULL);
}

/* Of a counter, per thousand accesses and blocks; of potential HITM in thousandths. */
static double rate(const struct samples *samples, const char *counter)
{
	return MILLI * total(samples, counter) / (total(samples, "accesses") + total(samples, "blocks"));
}

static size_t function_of(const struct samples *samples, const char *name)
{
	for (size_t i = 0; i < samples->n_functions; i++) {
		if (strcmp(samples->functions[i].name, name) == 0)
			return i;
	}
	fail_msg("no function %s", name);
	return 0;
}

static void check_near(const char *what, double got, double expected, double tolerance)
{
	if (!(fabs(got - expected) <= tolerance))
		fail_msg("%s: %g, not %g", what, got, expected);
}

/* ---- what is counted ---- */

/* Numbers that follow from the source: see docs/emulation.md for the formula. */
static void test_potential(void **state)
{
	static const struct {
		const char *what, *compiler, *flags, *source, *arguments;
		double hitm_true, hitm_false; /* per thousand accesses and blocks, in the function */
		const char *function;
	} rows[] = {
		{ "apart", "gcc", "", "scalar_sum.c", "4 400000", 0, 0, "sum_part" },
		/* Of 3 steps a turn (read, write, block), 2 accesses; 8 of all on the line, each other thread reads 1 and writes 1. */
		{ "beside each other", "gcc", "-DBAD", "scalar_sum.c", "4 400000", 0, 2 * 3 * (1 / 8.) / (1 - 1 / 8.) / 3 * 1000,
		  "sum_part" },
		{ "two of them", "gcc", "-DBAD", "scalar_sum.c", "2 200000", 0, 2 * 1 * (1 / 4.) / (1 - 1 / 4.) / 3 * 1000, "sum_part" },
		{ "on purpose", "gcc", "-DBAD", "ticket.c", "4 102400", 3 / 4. / 2 * 1000, 0, "draw" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct samples s;
		char *command = mem_format("./program %s", rows[i].arguments);
		double work, sharing[2] = { 0, 0 };
		size_t f;

		build(rows[i].compiler, rows[i].flags, rows[i].source, "program");
		assert_int_equal(run("--full", command, &s, 1), 1);
		f = function_of(&s, rows[i].function);
		work = 0;
		for (size_t k = s.functions[f].first; k < s.functions[f].first + s.functions[f].n; k++) {
			const double *v = s.values + k * s.n_counters;

			work += v[samples_counter(&s, "emulated:accesses")] + v[samples_counter(&s, "emulated:blocks")];
			sharing[0] += v[samples_counter(&s, "emulated:hitm_true_milli")];
			sharing[1] += v[samples_counter(&s, "emulated:hitm_false_milli")];
		}
		check_near(rows[i].what, sharing[0] / work, rows[i].hitm_true, .01 * rows[i].hitm_true + .05);
		check_near(rows[i].what, sharing[1] / work, rows[i].hitm_false, .01 * rows[i].hitm_false + .05);
		assert_true(s.finished && s.back_end == RECORD_EMULATED && s.dropped == 0 && s.unreadable == 0);
		samples_release(&s);
		free(command);
	}
}

/* The same numbers whatever runs beside it, wherever, with more threads than there are cores; sampled windows give what all of them
 * give. */
static void test_determinism(void **state)
{
	static const struct {
		const char *before, *behind;
	} ways[] = { { "", "" },
		     { "", "" },
		     { ONE_PROCESSOR, "" },
		     { "sh -c 'yes >/dev/null & a=$!; yes >/dev/null & b=$!; ", "; s=$?; kill $a $b; exit $s'" } };
	static const struct {
		const char *source, *flags, *arguments;
	} rows[] = { { "histogram.c", "-DBAD", "4 3000000" },
		     { "histogram.c", "-DBAD", "12 900000" },
		     { "scalar_sum.c", "-DBAD", "9 2000000" },
		     { "special/openmp.c", "-fopenmp -DBAD", "" } };
	double first = 0, accesses = 0;
	struct samples s;

	(void)state;
	for (size_t i = COUNT(rows); i-- > 0;) { /* the first one last, for what follows */
		build("gcc", rows[i].flags, rows[i].source, "program");
		must("./program %s >native", rows[i].arguments);
		for (size_t k = 0; k < COUNT(ways); k++) {
			char *command = mem_format("%s./program %s%s", ways[k].before, rows[i].arguments, ways[k].behind);

			run("", command, &s, 1);
			first = k ? first : rate(&s, "hitm_false_milli");
			check_near(command, rate(&s, "hitm_false_milli"), first, .5);
			accesses = total(&s, "accesses");
			assert_string_equal(samples_info(&s, "windows-forced"), "0");
			must("cmp native emulated");
			samples_release(&s);
			free(command);
		}
	}
	run("", "./program 4 3000000", &s, 1);
	assert_true(total(&s, "simulated") < accesses / 2);
	samples_release(&s);
	run("--full", "./program 4 3000000", &s, 1);
	check_near("all windows", rate(&s, "hitm_false_milli"), first, .03 * first);
	check_near("accesses", total(&s, "accesses"), accesses, 0);
	check_near("simulated", total(&s, "simulated"), accesses, 0);
	samples_release(&s);
}

/* Faults that have nothing to do with sharing: the counter that is theirs. */
static void test_others(void **state)
{
	static const struct {
		const char *compiler, *source, *arguments, *counter;
		double good[2], bad[2]; /* from, to: as a total, or, below 1000, per thousand accesses and blocks */
	} rows[] = {
		{ "gcc", "extra_copy.c", "2 500", "copied_bytes", { 0, 300000 }, { 4096000, 4400000 } },
		{ "clang-14", "allocation.c", "1 5000", "allocations", { 0, 0 }, { 5000, 5000 } },
		{ "gcc", "system_call.c", "1 5000", "system_calls", { 6, 6 }, { 5001, 5001 } },
		{ "gcc", "branch.c", "1 20000", "branch_misses", { 0, 1000 }, { 150000, 250000 } },
		{ "gcc", "pointer_chase.c", "1 100000", "tlb_misses", { 10000, 60000 }, { 200000, 1700000 } },
		/* Pages in which two threads' parts meet lie on the node of whoever comes first: at most 3 of them, 32 times. */
		{ "gcc", "numa_init.c", "4 600000", "remote", { 0, 3 * 512 * 33 }, { 300000, 1700000 } },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		for (int bad = 0; bad < 2; bad++) {
			const double *range = bad ? rows[i].bad : rows[i].good;
			char *command = mem_format("./program %s", rows[i].arguments);
			struct samples s;
			double got;

			build(rows[i].compiler, bad ? "-DBAD" : "", rows[i].source, "program");
			run("--full", command, &s, 1);
			got = total(&s, rows[i].counter);
			if (!(got >= range[0] && got <= range[1]))
				fail_msg("%s %s: %s is %g", rows[i].source, bad ? "bad" : "good", rows[i].counter, got);
			assert_true(rate(&s, "hitm_true_milli") < 500 && rate(&s, "hitm_false_milli") < 500);
			samples_release(&s);
			free(command);
		}
	}
}

/* ---- whose it is ---- */

static void check_calls(const struct samples *s, const char *function, size_t samples, uint64_t calls)
{
	size_t f = function_of(s, function);
	uint64_t got = 0;

	for (size_t i = 0; i < s->n_calls; i++)
		got += s->calls[i].function == f ? s->calls[i].calls : 0;
	if (got != calls || s->functions[f].n != samples)
		fail_msg("%s: %llu calls, %zu samples", function, (unsigned long long)got, s->functions[f].n);
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
			assert_int_equal(s.items[k].depth, 2); /* what was jumped over is gone */
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
		   s[1].values[s[1].functions[function_of(&s[1], "work")].first * s[1].n_counters + samples_counter(&s[1], work)], 6000,
		   100);
	assert_true(s[0].finished && s[1].finished && !s[2].finished);
	assert_true(s[2].n > 10); /* it was killed */
	for (size_t i = 0; i < 3; i++)
		samples_release(&s[i]);
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
	char *command = mem_format("'%s' emulate run -o none --functions @clones -- ./program >emulated", environment("ASSAY"));

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
		assert_true(s.values[samples_counter(&s, "emulated:accesses")] >= 5000);
		samples_release(&s);
		free(options);
	}
	assert_int_equal(shell(command), 6); /* nothing was measured */
	free(command);
}

int suite_emulation(void)
{
	static const struct CMUnitTest tests[] = {
		SCRATCH_TEST(test_potential), SCRATCH_TEST(test_determinism), SCRATCH_TEST(test_others), SCRATCH_TEST(test_jumps),
		SCRATCH_TEST(test_forks),     SCRATCH_TEST(test_languages),   SCRATCH_TEST(test_openmp), SCRATCH_TEST(test_library),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
