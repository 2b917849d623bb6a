/* Tests the start times of processes if a clock was set in the meantime, or if the hosts' clocks differ. */
#include "gate/variance/stored_runs.h"
#include "tests/gate/made_run.h"
#include "tests/scratch.h"

static void read_made(const char *directory, const struct made_options *o, struct fragments *f)
{
	struct assay_error err;

	assert_int_equal(mkdir(directory, 0755), 0);
	assert_int_equal(made_run(directory, o), 0);
	check(record_files_read(&directory, 1, f, &err), &err);
}

/* Checks processes that started together. By real time one started after the clock had been set; ticks of the same kernel correct this. */
static void clocks(void **state)
{
	static const char *const commands[] = { "a", "b", "c" }, *const one[] = { "aa", "aa", "aa" }, *const three[] = { "aa", "bb", "cc" };
	static const struct {
		struct made_options o;
		double begin_s[3];
	} rows[] = {
		{ { .is_one_host = true }, { 0, 0, 0 } },
		{ { .is_one_host = true, .set = 3, .set_s = 3600 }, { 0, 0, 0 } },
		{ { .is_one_host = true, .set = 3, .set_s = -3600 }, { 0, 0, 0 } },
		{ { .is_one_host = true, .set = 1, .set_s = -2 }, { 0, 0, 0 } },
		{ { .is_one_host = true, .set = 1, .set_s = 2, .commands = commands }, { 0, 0, 0 } },
		{ { .is_one_host = true, .set = 3, .set_s = .05 }, { 0, 0, .05 } },
		{ { .boots = one, .set = 2, .set_s = 3600 }, { 0, 0, 0 } }, /* one kernel, different host names */
		{ { .is_one_host = true, .boots = three, .ticks_apart = 7200000000000 }, { 0, 0, 0 } }, /* three kernels, one host name */
		{ { .set = 2, .set_s = 1.5 }, { 0, 1.5, 0 } },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct made_options o = rows[i].o;
		char *directory = mem_format("run%zu", i);
		struct fragments f;

		o.ranks = 3;
		o.seconds = 2;
		o.seed = 1;
		read_made(directory, &o, &f);
		assert_int_equal(f.n_processes, 3);
		for (size_t p = 0; p < 3; p++)
			assert_float_equal(f.processes[p].start_s, rows[i].begin_s[p], 1e-6);
		fragments_release(&f);
		free(directory);
	}
}

int suite_scale(void)
{
	const struct CMUnitTest tests[] = { SCRATCH_TEST(clocks) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
