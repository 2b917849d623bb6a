/* Tests the resource usage that is stored with a run: numbers as the host sent them, samples only in the helper's format. */
#include "fleet/agent/signature.h"

#include "base/mem.h"
#include "tests/scratch.h"

static void answered(struct helper_answer *answer)
{
	helper_answer_init(answer, 1000);
	answer->ended = true;
	answer->result.wall_ns = 5000000;
	answer->result.user_us = 0;
	answer->result.run_delay_ns = INT64_C(1) << 60; /* not exact in JSON */
}

static void add_file(struct helper_answer *answer, const char *bytes, size_t n)
{
	answer->files = mem_new(1, sizeof(*answer->files));
	answer->files[0] = (struct helper_file){ .path = mem_string("samples"), .bytes = mem_bytes(bytes, n), .n = n };
	answer->n_files = 1;
}

static void expect_text(struct helper_answer *answer, const char *expected)
{
	char *text = run_usage_to_json(answer);

	if (expected)
		assert_string_equal(text, expected);
	else
		assert_null(text);
	free(text);
	helper_answer_release(answer);
}

static void test_text(void **state)
{
	struct helper_answer answer;
	char *large = mem_format("%*d user /x\n", (int)RUN_USAGE_SAMPLES_BYTES_MAX, 1);

	(void)state;
	answered(&answer);
	expect_text(&answer, "{\"wall_ns\":5000000,\"user_us\":0}");
	answered(&answer);
	add_file(&answer, "3 user /\xff\n\0x", 12);
	expect_text(&answer, "{\"wall_ns\":5000000,\"user_us\":0,\"samples\":\"3 user /?\\n\"}");
	answered(&answer);
	add_file(&answer, large, strlen(large));
	expect_text(&answer, "{\"wall_ns\":5000000,\"user_us\":0}");
	answered(&answer);
	answer.refusal = mem_string("no");
	expect_text(&answer, NULL);
	free(large);
}

static void test_parse(void **state)
{
	static const struct {
		const char *what, *text, *fault;
	} rows[] = {
		{ "not JSON", "{", "signature" },
		{ "a list", "[]", "object" },
		{ "negative", "{\"wall_ns\":-1}", "wall_ns" },
		{ "a fraction", "{\"sys_us\":.5}", "signature" },
		{ "samples", "{\"samples\":1}", "samples" },
	};
	struct run_usage run_usage;
	struct assay_error err;

	(void)state;
	check(run_usage_parse("{\"wall_ns\":7,\"new\":[1],\"samples\":\"1 lost -\\n\"}", &run_usage, &err), &err);
	assert_true(run_usage.counters.wall_ns == 7 && run_usage.counters.user_us == -1);
	assert_string_equal(run_usage.samples, "1 lost -\n");
	run_usage_release(&run_usage);
	check(run_usage_parse("", &run_usage, &err), &err);
	assert_true(run_usage.counters.wall_ns == -1 && !run_usage.samples);
	for (size_t i = 0; i < COUNT(rows); i++)
		check_fails(rows[i].what, run_usage_parse(rows[i].text, &run_usage, &err), ASSAY_E_FORMAT, &err, rows[i].fault);
}

/* Returns the text that users see under this label, or NULL if there is none. */
static const char *shown_in(const struct doc_node *node, const char *label)
{
	const char *found = node->label && strcmp(node->label, label) == 0 ? node->human_text : NULL;

	for (const struct doc_node *in = node->first; in && !found; in = in->next)
		found = shown_in(in, label);
	return found;
}

/* Checks the counts of three runs, two of which have PMU counts. */
static void test_pmu_counts(void **state)
{
	struct helper_result runs[3];
	const struct helper_result *all[] = { &runs[0], &runs[1], &runs[2] };
	struct document d;

	(void)state;
	memset(runs, 0xff, sizeof(runs));
	document_init(&d);
	run_usage_add_medians(&d, "counts", all, 3);
	assert_null(shown_in(&d.root, "instructions per cycle"));
	document_release(&d);
	for (size_t i = 0; i < 2; i++) {
		runs[i].instructions = 2600;
		runs[i].cycles = 2000;
	}
	document_init(&d);
	run_usage_add_medians(&d, "counts", all, 3);
	assert_string_equal(shown_in(&d.root, "instructions per cycle"), "1.30");
	document_release(&d);
}

int suite_signature(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_text), cmocka_unit_test(test_parse), cmocka_unit_test(test_pmu_counts) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
