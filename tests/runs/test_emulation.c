/* Builds programs of tests/apps with `assay build --for counters`, runs them and checks their counts. test_emulation_calls.c checks which
 * functions get them. tests/evidence/emulation.sh runs all programs with larger inputs and measures the cost. */
#include "tests/runs/emulated_programs.h"

/* Checks rates that follow from the source code. docs/emulation.md has the formula. */
static void test_potential(void **state)
{
	static const struct {
		const char *what, *compiler, *flags, *source, *arguments;
		double hitm_true, hitm_false; /* per thousand accesses and blocks, in the function */
		const char *function;
	} rows[] = {
		{ "apart", "gcc", "", "scalar_sum.c", "4 400000", 0, 0, "sum_part" },
		/* 2 of the 3 steps per turn (read, write, block) are accesses; of the line's 8, each other thread reads 1 and writes 1. */
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

		if (i == 0 || strcmp(rows[i].flags, rows[i - 1].flags) != 0 || strcmp(rows[i].source, rows[i - 1].source) != 0)
			build(rows[i].compiler, rows[i].flags, rows[i].source, "program");
		assert_int_equal(run("--full", command, &s, 1), 1);
		f = function_of(&s, rows[i].function);
		work = 0;
		for (size_t k = s.functions[f].first; k < s.functions[f].first + s.functions[f].n; k++) {
			const double *v = s.values + k * s.n_counters;

			work += v[samples_find_counter(&s, "emulated:accesses")] + v[samples_find_counter(&s, "emulated:blocks")];
			sharing[0] += v[samples_find_counter(&s, "emulated:hitm_true_milli")];
			sharing[1] += v[samples_find_counter(&s, "emulated:hitm_false_milli")];
		}
		check_near(rows[i].what, sharing[0] / work, rows[i].hitm_true, .01 * rows[i].hitm_true + .05);
		check_near(rows[i].what, sharing[1] / work, rows[i].hitm_false, .01 * rows[i].hitm_false + .05);
		assert_true(s.finished && s.back_end == RECORD_EMULATED && s.dropped == 0 && s.unreadable == 0);
		samples_release(&s);
		free(command);
	}
}

/* Checks that counts do not change with other programs, one CPU or many threads, and that sampled windows agree with all windows. */
static void test_determinism(void **state)
{
	static const struct {
		const char *before, *behind;
	} ways[] = { { "", "" },
		     { ONE_PROCESSOR, "" },
		     { "sh -c 'yes >/dev/null & a=$!; yes >/dev/null & b=$!; ", "; s=$?; kill $a $b; exit $s'" } };
	static const struct {
		const char *source, *flags, *arguments;
	} rows[] = { { "histogram.c", "-DBAD", "4 3000000" },
		     { "histogram.c", "-DBAD", "12 900000" },
		     { "scalar_sum.c", "-DBAD", "9 2000000" },
		     { "special/openmp.c", "-fopenmp -DBAD", "" } };
	double first = 0, accesses;
	struct samples s;

	(void)state;
	for (size_t i = COUNT(rows); i-- > 0;) { /* the first row last, for the runs after the loop */
		build("gcc", rows[i].flags, rows[i].source, "program");
		must("./program %s >native", rows[i].arguments);
		for (size_t k = 0; k < COUNT(ways); k++) {
			char *command = mem_format("%s./program %s%s", ways[k].before, rows[i].arguments, ways[k].behind);

			run("", command, &s, 1);
			first = k ? first : total(&s, "hitm_false_milli"); /* a reduction that retries takes some more blocks */
			check_near(command, total(&s, "hitm_false_milli"), first, 0);
			assert_string_equal(samples_info(&s, "windows-forced"), "0");
			must("cmp native emulated");
			samples_release(&s);
			free(command);
		}
	}
	run("", "./program 4 12000000", &s, 1); /* long enough that windows are skipped */
	first = rate(&s, "hitm_false_milli");
	accesses = total(&s, "accesses");
	assert_true(total(&s, "simulated") < accesses / 2);
	samples_release(&s);
	run("--full", "./program 4 12000000", &s, 1);
	check_near("all windows", rate(&s, "hitm_false_milli"), first, .03 * first);
	check_near("accesses", total(&s, "accesses"), accesses, 0);
	check_near("simulated", total(&s, "simulated"), accesses, 0);
	samples_release(&s);
}

/* Checks that accesses before memory was freed, or before a thread ended, are not shared with its next user.
 * Accesses to memory that stays in use are shared. */
static void test_reused(void **state)
{
	static const struct {
		const char *what;
		double least, most; /* potential HITM per thousand accesses and blocks, true and false sharing */
	} rows[] = {
		{ "malloc", 0, 1 }, { "realloc", 0, 1 }, { "aligned", 0, 1 }, { "large", 0, 1 },      { "new", 0, 1 },
		{ "mmap", 0, 1 },   { "stack", 0, 1 },	 { "local", 0, 1 },   { "shared", 200, 500 }, { "kept", 200, 500 },
	};

	(void)state;
	build("g++", "-std=c++17", "special/reused.cc", "program");
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct samples s;
		char *command = mem_format("./program %s", rows[i].what);
		double both, seen;

		run("", command, &s, 1);
		both = (rate(&s, "hitm_true_milli") + rate(&s, "hitm_false_milli")) / MILLI;
		seen = total(&s, "hitm_seen");
		if (!(both >= rows[i].least && both <= rows[i].most) || (rows[i].most <= 1 && seen > 16))
			fail_msg("%s: %g, seen %g", command, both, seen);
		samples_release(&s);
		free(command);
	}
}

/* Checks data that another thread has written: every line is a miss although both arrays fit into the cache. There is no potential
 * HITM, because barriers order the accesses. */
static void test_exchange(void **state)
{
	const double lines = 2000 * sizeof(long) / 64.0, phases = 400;

	(void)state;
	for (int bad = 0; bad < 2; bad++) {
		struct samples s;

		build("gcc", bad ? "-DBAD" : "", "special/exchange.c", "program");
		run("--full", "./program", &s, 1);
		check_near("misses", total(&s, "l1_misses"), 2 * lines * (bad ? phases : 1), .05 * 2 * lines * phases);
		check_near("potential", rate(&s, "hitm_true_milli") + rate(&s, "hitm_false_milli"), 0, MILLI / 10);
		samples_release(&s);
	}
}

/* Checks accesses in random order, where several in a row cost one transfer. A lock on its own line costs less than one beside others,
 * whose cost is false sharing. */
static void test_padding(void **state)
{
	double found[2][2];

	(void)state;
	for (int apart = 0; apart < 2; apart++) {
		struct samples s;

		build("gcc", apart ? "-DAPART" : "", "special/pool.c", "program");
		run("", "./program 4 50000", &s, 1);
		found[apart][0] = rate(&s, "hitm_true_milli") / MILLI;
		found[apart][1] = rate(&s, "hitm_false_milli") / MILLI;
		samples_release(&s);
	}
	if (!(found[0][0] + found[0][1] > 1.3 * (found[1][0] + found[1][1]) && found[0][1] > 2 * found[0][0] && found[1][1] < .5 &&
	      found[1][0] > 50))
		fail_msg("together %g true, %g false; apart %g and %g", found[0][0], found[0][1], found[1][0], found[1][1]);
}

/* Checks other defects than sharing, each by its own counter. */
static void test_others(void **state)
{
	static const struct {
		const char *compiler, *source, *arguments, *counter;
		double good[2], bad[2]; /* range of the total, or, below 1000, of the rate per thousand accesses and blocks */
	} rows[] = {
		{ "gcc", "extra_copy.c", "2 500", "copied_bytes", { 0, 300000 }, { 4096000, 4400000 } },
		{ "clang-14", "allocation.c", "1 5000", "allocations", { 0, 0 }, { 5000, 5000 } },
		{ "gcc", "system_call.c", "1 5000", "system_calls", { 6, 6 }, { 5001, 5001 } },
		{ "gcc", "branch.c", "1 20000", "branch_misses", { 0, 1000 }, { 150000, 250000 } },
		{ "gcc", "pointer_chase.c", "1 100000", "tlb_misses", { 10000, 60000 }, { 200000, 1700000 } },
		/* A page on the border of two threads' parts belongs to the first one that writes to it: at most 3 pages, 32 times. */
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

/* Checks that the place of a function in the program does not change its counts: other objects before it, another order, or other places
 * inside it (parts 4 to 9). Cache misses and sharing depend on the addresses of data and are excluded. */
static void test_places(void **state)
{
	static const char *const orders[] = { "0.o 1.o 2.o", "3.o 0.o 1.o 2.o", "2.o 3.o 1.o 0.o", "-shared-libgcc 1.o 0.o 2.o 3.o",
					      "0.o 4.o 5.o", "0.o 6.o 7.o",	"0.o 8.o 9.o" };
	static const char *const functions[] = { "main", "sift", "merge" };
	static const char *const counters[] = { "emulated:accesses",	 "emulated:blocks",	  "emulated:system_calls",
						"emulated:allocations",	 "emulated:copied_bytes", "emulated:simulated",
						"emulated:branch_misses" };
	double first[COUNT(functions)][COUNT(counters)] = { { 0 } };

	(void)state;
	must("for i in 0 1 2 3; do '%s' build --for counters -- gcc -O2 -w -DPART=$i -c '%s/tests/apps/special/places.c' -o $i.o || exit "
	     "1; done",
	     environment("ASSAY"), environment("ASSAY_SOURCE"));
	must("i=4; for skip in 3 64 1000; do for part in 1 2; do '%s' build --for counters -- gcc -O2 -w -DPART=$part -DSKIP=$skip -c "
	     "'%s/tests/apps/special/places.c' -o $i.o || exit 1; i=$((i + 1)); done; done",
	     environment("ASSAY"), environment("ASSAY_SOURCE"));
	for (size_t i = 0; i < COUNT(orders); i++) {
		struct samples s;

		must("'%s' build --for counters -- gcc %s -o program", environment("ASSAY"), orders[i]);
		run("--full", "./program", &s, 1);
		for (size_t f = 0; f < COUNT(functions); f++) {
			for (size_t c = 0; c < COUNT(counters); c++) {
				double got = samples_sum(&s, functions[f], counters[c]);

				first[f][c] = i ? first[f][c] : got;
				if (got != first[f][c])
					fail_msg("%s, %s, %s: %.0f, not %.0f", orders[i], functions[f], counters[c], got, first[f][c]);
			}
		}
		samples_release(&s);
	}
}

int suite_emulation(void)
{
	static const struct CMUnitTest tests[] = {
		SCRATCH_TEST(test_potential), SCRATCH_TEST(test_determinism), SCRATCH_TEST(test_reused),   SCRATCH_TEST(test_padding),
		SCRATCH_TEST(test_places),    SCRATCH_TEST(test_others),      SCRATCH_TEST(test_exchange),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
