/* When processes began, where a clock was set meanwhile, or hosts' clocks differ. */
#include "gate/variance/scale.h"
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

/* All have begun together; real time says that one began when the clock had been set. What is told, and whether it is mended. */
static void clocks(void **state)
{
	static const char *const commands[] = { "a", "b", "c" }, *const one[] = { "aa", "aa", "aa" }, *const three[] = { "aa", "bb", "cc" };
	static const struct {
		struct made_options o;
		const char *told; /* NULL: nothing is */
		double begin_s[3];
	} rows[] = {
		{ { .one_host = true }, NULL, { 0, 0, 0 } },
		{ { .one_host = true, .set = 3, .set_s = 3600 }, "the clock of node0 was set by 3600.0 s forward", { 0, 0, 0 } },
		{ { .one_host = true, .set = 3, .set_s = -3600 }, "the clock of node0 was set by 3600.0 s back", { 0, 0, 0 } },
		{ { .one_host = true, .set = 1, .set_s = -2 }, "the clock of node0 was set", { 0, 0, 0 } },
		{ { .one_host = true, .set = 1, .set_s = 2, .commands = commands }, "the clock of node0 was set", { 0, 0, 0 } },
		{ { .one_host = true, .set = 3, .set_s = .05 }, NULL, { 0, 0, .05 } },
		{ { .boots = one, .set = 2, .set_s = 3600 },
		  "the clock of node0 was set",
		  { 0, 0, 0 } }, /* one kernel, names of their own */
		{ { .one_host = true, .boots = three, .ticks_apart = 7200000000000 }, NULL, { 0, 0, 0 } }, /* three, of one name */
		{ { .set = 2, .set_s = 3600 }, "the clock of node1 is 3600.0 s ahead of that of the first rank", { 0, 0, 0 } },
		{ { .set = 1, .set_s = 3600 }, "the clock of node1 is 3600.0 s behind that of the first rank", { 0, 0, 0 } },
		{ { .set = 2, .set_s = 3600, .commands = commands }, NULL, { 0, 0, 3600 } }, /* not known to have run beside each other */
		{ { .set = 2, .set_s = 1.5 }, NULL, { 0, 1.5, 0 } },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct made_options o = rows[i].o;
		char *directory = mem_format("run%zu", i);
		struct fragments f;
		struct document d;
		struct buf text = BUF_INIT;

		o.ranks = 3;
		o.seconds = 2;
		o.seed = 1;
		read_made(directory, &o, &f);
		assert_int_equal(f.n_processes, 3);
		for (size_t p = 0; p < 3; p++)
			assert_float_equal(f.processes[p].start_s, rows[i].begin_s[p], 1e-6);
		document_init(&d);
		scale_tell(&f, NULL, &d);
		document_human(&d, &(struct doc_style){ .columns = 400 }, &text);
		if (rows[i].told ? !text.size || !strstr(text.bytes, rows[i].told) : text.size > 0)
			fail_msg("row %zu: '%s'", i, text.bytes);
		buf_release(&text);
		document_release(&d);
		fragments_release(&f);
		free(directory);
	}
}

int suite_scale(void)
{
	const struct CMUnitTest tests[] = { SCRATCH_TEST(clocks) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
