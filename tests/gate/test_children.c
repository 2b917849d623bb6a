/* Processes that others began, and that left no records. */
#include "gate/variance/answer.h"
#include "gate/variance/stored_runs.h"
#include "gate/variance/versus.h"
#include "tests/gate/made_run.h"
#include "tests/scratch.h"

/* A run of one process, so many of whose children left no records. */
static void read_made(const char *directory, size_t steps, size_t children, struct variance *v)
{
	static const char *const command[] = { "" };
	static const struct variance_options options = { .threshold = VARIANCE_THRESHOLD, .least_s = (double)NAN };
	const struct made_options o = { .ranks = 1, .steps = steps, .noise = .01, .seed = 1, .counted = true, .commands = command };
	struct fragment_process *p;
	struct fragments f;
	struct assay_error err;

	assert_int_equal(mkdir(directory, 0755), 0);
	assert_int_equal(made_run(directory, &o), 0);
	check(record_files_read(&directory, 1, &f, &err), &err);
	p = &f.processes[0];
	p->children = mem_new(children + 1, sizeof(*p->children));
	for (; p->n_children < children; p->n_children++)
		p->children[p->n_children] = 5000 + p->n_children;
	p->children[p->n_children++] = p->pid; /* one that has left some */
	check(variance_of(&f, &options, v, &err), &err);
}

static void compared(void **state)
{
	static const struct {
		size_t old_steps, new_steps, old_children, new_children;
		enum versus_reason reason;
	} rows[] = {
		{ 1000, 800, 0, 0, VERSUS_LESS_WORK },	   { 1000, 800, 0, 1, VERSUS_NOT_WHOLE }, { 1000, 800, 1, 0, VERSUS_LESS_WORK },
		{ 800, 1000, 1, 0, VERSUS_NOT_WHOLE },	   { 800, 1000, 0, 1, VERSUS_MORE_WORK }, { 1000, 800, 3, 4, VERSUS_NOT_WHOLE },
		{ 1000, 800, 100, 140, VERSUS_NOT_WHOLE }, { 1000, 1000, 0, 1, VERSUS_SAME },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		char *old_name = mem_format("old%zu", i), *new_name = mem_format("new%zu", i);
		struct variance old, new;
		struct versus versus;

		read_made(old_name, rows[i].old_steps, rows[i].old_children, &old);
		read_made(new_name, rows[i].new_steps, rows[i].new_children, &new);
		versus_of(&old, &new, 1, NULL, 0, &versus);
		if (versus.reason != rows[i].reason)
			fail_msg("row %zu: %d", i, (int)versus.reason);
		versus_release(&versus);
		variance_release(&old);
		variance_release(&new);
		mem_free(old_name, new_name);
	}
}

int suite_children(void)
{
	const struct CMUnitTest tests[] = { SCRATCH_TEST(compared) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
