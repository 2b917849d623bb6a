/* Tests whether a decision still follows from its raw results: only samples of functions may have come or gone since then. */
#include "gate/commands/cmd_decision.c" /* the static comparison */
#include "tests/scratch.h"

#define KEPT                                                                                                                               \
	"{\"ratio\": 1.2, \"reasons\": [{\"code\": \"slower\", \"text\": \"a\"}, {\"code\": \"latent\", \"text\": \"b\"}], \"runs\": "     \
	"{\"ratio\": 1.2, \"cause\": \"most in walk (src/work.c:4)\", \"functions\": {\"n\": 1}, \"signatures\": [1], \"absent\": [], "    \
	"\"reasons\": [{\"code\": \"not_explained\", \"text\": \"c\"}]}}"

static const struct {
	const char *what, *now, *difference; /* NULL: no difference */
} rows[] = {
	{ "nothing", KEPT, NULL },
	{ "samples are gone",
	  "{\"ratio\": 1.2, \"reasons\": [{\"code\": \"slower\", \"text\": \"a\"}], \"runs\": {\"ratio\": 1.2, \"reasons\": []}}", NULL },
	{ "others have come",
	  "{\"ratio\": 1.2, \"reasons\": [{\"code\": \"slower\", \"text\": \"a\"}, {\"code\": \"not_explained\", \"text\": \"d\"}], "
	  "\"runs\": "
	  "{\"ratio\": 1.2, \"cause\": \"\", \"absent\": [{\"part\": \"functions\"}], \"reasons\": [{\"code\": \"latent\", \"text\": "
	  "\"e\"}]}}",
	  NULL },
	{ "a number",
	  "{\"ratio\": 1.3, \"reasons\": [{\"code\": \"slower\", \"text\": \"a\"}], \"runs\": {\"ratio\": 1.2, \"reasons\": []}}",
	  "ratio" },
	{ "a number of the runs",
	  "{\"ratio\": 1.2, \"reasons\": [{\"code\": \"slower\", \"text\": \"a\"}], \"runs\": {\"ratio\": 1.3, \"reasons\": []}}",
	  "runs.ratio" },
	{ "a reason that rests on no sample", "{\"ratio\": 1.2, \"reasons\": [], \"runs\": {\"ratio\": 1.2, \"reasons\": []}}", "reasons" },
	{ "what functions have decided",
	  "{\"ratio\": 1.2, \"reasons\": [{\"code\": \"slower\", \"text\": \"a\"}, {\"code\": \"function_confirms\", \"text\": \"f\"}], "
	  "\"runs\": "
	  "{\"ratio\": 1.2, \"reasons\": []}}",
	  "reasons" },
};

static void test_samples_come_and_go(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct document d;
		struct buf text = BUF_INIT;
		struct assay_error err;

		document_init(&d);
		check(compare_documents(KEPT, rows[i].now, JUDGE_RULES, &d, &err), &err);
		document_human(&d, &(struct doc_style){ .columns = 400 }, &text);
		if (!rows[i].difference ? d.exit_status != 0 || !strstr(text.bytes, "the decision follows from the raw results")
					: d.exit_status != 1 || !strstr(text.bytes, rows[i].difference))
			fail_msg("%s: status %d, %s", rows[i].what, d.exit_status, text.bytes);
		buf_release(&text);
		document_release(&d);
	}
}

int suite_verify(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_samples_come_and_go) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
