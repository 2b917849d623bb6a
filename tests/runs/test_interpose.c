/* Tests the library that records outside calls: programs print the same with it as without it, and its files are readable. */
#include "runs/inside/interpose/interpose.h"
#include "runs/inside/samples/samples.h"
#include "tests/scratch.h"

#include <dirent.h>
#include <math.h>
#include <string.h>

static void run(const char *command)
{
	pid_t child = fork();
	int status = 0;

	if (child == 0) {
		execl("/bin/sh", "sh", "-c", command, (char *)NULL);
		_exit(127);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	if (status != 0)
		fail_msg("%s", command);
}

/* Reads the files of ./records. Returns their number, and in *most the file with the most samples. */
static size_t files_read(struct samples *most)
{
	DIR *all = opendir("records");
	size_t n = 0;

	assert_non_null(all);
	for (struct dirent *e; (e = readdir(all));) {
		struct samples one;
		struct assay_error err;
		char *path = mem_format("records/%s", e->d_name);

		if (e->d_name[0] != '.') {
			if (samples_read(path, &one, &err))
				fail_msg("%s", err.text);
			assert_int_equal(one.unreadable, 0);
			if (!n++ || one.n > most->n) {
				if (n > 1)
					samples_release(most);
				*most = one;
			} else
				samples_release(&one);
		}
		free(path);
	}
	closedir(all);
	return n;
}

static const char record[] = "mkdir records && ASSAY_INTERPOSE_DIRECTORY=records LD_PRELOAD=\"$ASSAY_INTERPOSE\" ";

static void recorded(const char *words)
{
	char *command = mem_format("%s%s", record, words);

	run(command);
	free(command);
}

static double counter(const struct samples *s, size_t item, const char *name)
{
	return s->values[item * s->n_counters + samples_find_counter(s, name)];
}

static void test_same_output(void **state)
{
	struct samples s;

	(void)state;
	run("\"$ASSAY_INTERPOSED\" >plain; test $? -eq 5");
	recorded("\"$ASSAY_INTERPOSED\" >under; test $? -eq 5");
	run("cmp plain under");
	/* The program, its three children, and the program that it executed at the end. */
	assert_int_equal(files_read(&s), 5);
	samples_release(&s);
}

/* Checks that the kernel's usage counters of a thread never decrease. */
static void accounts_grow(const struct samples *s)
{
	size_t known[1000], n = 0;

	for (size_t i = 0; i < s->n && n < COUNT(known); i++)
		if (counter(s, i, "cpu_ns") == counter(s, i, "cpu_ns"))
			known[n++] = i;
	assert_true(n > 5);
	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < n; k++) {
			const struct sample *a = &s->items[known[i]], *b = &s->items[known[k]];

			if (a->thread == b->thread && a->start_s < b->start_s) {
				assert_true(counter(s, known[i], "cpu_ns") <= counter(s, known[k], "cpu_ns"));
				assert_true(counter(s, known[i], "voluntary") <= counter(s, known[k], "voluntary"));
				assert_false(counter(s, known[i], "throttled_ns") > counter(s, known[k], "throttled_ns"));
				assert_false(counter(s, known[i], "steal_ns") > counter(s, known[k], "steal_ns"));
				assert_false(counter(s, known[i], "io_pressure_ns") > counter(s, known[k], "io_pressure_ns"));
				assert_false(isnan(counter(s, known[k], "steal_ns")) && !isnan(counter(s, known[i], "steal_ns")));
			}
		}
}

static void test_what_is_recorded(void **state)
{
	struct samples s;
	size_t sent = 0, failed = 0, often = 0, waited = 0, busiest = 0, children = 0, locks = 0;
	size_t futexes = 0, numbered = 0;

	(void)state;
	recorded("ASSAY_INTERPOSE_BYTES_PER_S=0 \"$ASSAY_INTERPOSED\" >under; test $? -eq 5"); /* every timed call is recorded */
	files_read(&s);
	for (size_t i = 0; i < s.n; i++) {
		const struct sample *item = &s.items[i];
		const char *name = s.functions[item->function].name;

		if (strcmp(name, "send") == 0) {
			assert_float_equal(counter(&s, i, "size"), 60, 0);
			assert_float_equal(counter(&s, i, "result"), 60, 0);
			assert_float_equal(counter(&s, i, "kind"), INTERPOSE_SOCKET, 0);
			sent++;
		}
		failed +=
		    (strcmp(name, "readv") == 0 || strcmp(name, "preadv2") == 0) && counter(&s, i, "result") != counter(&s, i, "result");
		often += item->weight > 1;
		children += strcmp(name, "wait") == 0 && counter(&s, i, "result") > 1;
		locks += strcmp(name, "sem_wait") == 0 || strcmp(name, "pthread_rwlock_wrlock") == 0;
		futexes += strcmp(name, "futex") == 0 && item->ns >= 20e6;
		numbered += (strcmp(name, "write") == 0 && counter(&s, i, "size") == 6 && counter(&s, i, "result") == 6) ||
			    (strcmp(name, "read") == 0 && counter(&s, i, "size") == 16 && counter(&s, i, "result") == 6);
		waited += strcmp(name, "usleep") == 0 && item->ns >= 20e6 && counter(&s, i, "size") == 20e6;
	}
	assert_int_equal(sent, 1);
	assert_int_equal(failed, 2);
	assert_int_equal(waited, 1);
	assert_int_equal(children, 3);
	assert_int_equal(locks, 2);
	assert_int_equal(futexes, 1);
	assert_int_equal(numbered, 2);
	assert_true(often > 0);
	/* 100,000 writes from one place give far fewer samples. Edges lead from them to reads. */
	for (size_t f = 0; f < s.n_functions; f++) {
		double passages = 0, ordinal = 0;
		size_t edges = 0;

		for (size_t i = s.functions[f].first; i < s.functions[f].first + s.functions[f].n; i++) {
			double from = counter(&s, i, "from"), weight = counter(&s, i, "from_weight");

			ordinal = (double)s.items[i].ordinal > ordinal ? (double)s.items[i].ordinal : ordinal;
			if (weight > 0 && from == from && strcmp(s.functions[(size_t)from].name, "write") == 0) {
				assert_true(counter(&s, i, "since") >= 0);
				passages += weight;
				edges++;
			}
		}
		if (ordinal > 50000 && strcmp(s.functions[f].name, "read") == 0) {
			assert_in_range(edges, 100, 50000);
			assert_true(passages > 70000 && passages < 130000);
			busiest++;
		}
		if (ordinal > 50000)
			assert_true(s.functions[f].n < 50000);
	}
	assert_int_equal(busiest, 1);
	accounts_grow(&s);
	samples_release(&s);
}

/* Checks that only coarse counters are recorded until finer ones are requested. */
static void test_levels(void **state)
{
	static const char *const finer[] = { "minor_faults", "throttled_ns", "steal_ns", "busy_ns", "loop_ticks", "io_pressure_ns" };
	size_t pressure[2] = { 0, 0 }, known[2] = { 0, 0 };

	(void)state;
	for (int progressive = 0; progressive < 2; progressive++) {
		struct samples s;

		recorded(progressive ? "ASSAY_INTERPOSE_PROGRESSIVE=1 \"$ASSAY_INTERPOSED\" >under; test $? -eq 5"
				     : "\"$ASSAY_INTERPOSED\" >under; test $? -eq 5");
		files_read(&s);
		for (size_t i = 0; i < s.n; i++) {
			known[progressive] += !isnan(counter(&s, i, "cpu_ns")) && !isnan(counter(&s, i, "run_delay_ns"));
			pressure[progressive] += !isnan(counter(&s, i, "io_pressure_ns")) && !isnan(counter(&s, i, "memory_pressure_ns"));
			for (size_t k = 0; progressive && k < COUNT(finer); k++)
				assert_true(isnan(counter(&s, i, finer[k])));
		}
		samples_release(&s);
		run("rm -r records");
	}
	assert_true(known[0] > 5 && known[1] > 5);
	assert_int_equal(pressure[0] > 0, access("/proc/pressure/io", R_OK) == 0);
}

static void test_killed(void **state)
{
	struct samples s;

	(void)state;
	run("mkdir records; ASSAY_INTERPOSE_DIRECTORY=records LD_PRELOAD=\"$ASSAY_INTERPOSE\" \"$ASSAY_INTERPOSED\" forever >ticks & "
	    "i=0; until [ \"$(grep -c tick ticks)\" -ge 20 ] || [ $i -ge 3000 ]; do sleep .01; i=$((i + 1)); done; "
	    "kill -9 $!; wait $!; test $? -eq 137");
	assert_int_equal(files_read(&s), 1);
	assert_false(s.finished);
	assert_true(s.n >= 10); /* five sleeps and five writes; one may be delayed */
	samples_release(&s);
}

static void test_nothing_without_a_directory(void **state)
{
	(void)state;
	run("LD_PRELOAD=\"$ASSAY_INTERPOSE\" \"$ASSAY_INTERPOSED\" child >said; test $? -eq 5; test \"$(cat said)\" = executed; "
	    "test \"$(ls)\" = said");
	run("ASSAY_INTERPOSE_DIRECTORY=/nowhere LD_PRELOAD=\"$ASSAY_INTERPOSE\" \"$ASSAY_INTERPOSED\" child >said; test $? -eq 5");
}

int suite_interpose(void)
{
	const struct CMUnitTest tests[] = {
		SCRATCH_TEST(test_same_output),
		SCRATCH_TEST(test_what_is_recorded),
		SCRATCH_TEST(test_levels),
		SCRATCH_TEST(test_killed),
		SCRATCH_TEST(test_nothing_without_a_directory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
