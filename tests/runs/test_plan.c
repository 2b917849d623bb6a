/* Tests plans: the order that makes versions comparable, storing and loading, and refused contradictions. */
#include "runs/running/launch.c" /* for the choice of runs and the check before a plan is resumed */

#include "tests/scratch.h"

#define MANIFEST                                                                                                                           \
	"command: [run, '{version}']\ninputs:\n  x: { arguments: [1] }\n  y: {}\n"                                                         \
	"versions:\n  a:\n  b:\n  c: { command: [other] }\nrepetitions: 4\nwarm_ups: 1\ntime_limit: 9\n"

static struct manifest manifest_of(const char *text)
{
	struct manifest manifest;
	struct assay_error err;

	check(manifest_parse("app.yaml", text, strlen(text), &manifest, &err), &err);
	return manifest;
}

static char texts[][3] = { "a", "b", "c", "d", "e", "x", "y", "m1", "m2", "m3", "m4", "m5", "m6", "m7", "m8" };
static char app[] = "app";
static char *names[] = { texts[0], texts[1], texts[2], texts[3], texts[4] };
static char *inputs[] = { texts[5], texts[6] };
static char *machines[] = { texts[7], texts[8], texts[9], texts[10], texts[11], texts[12], texts[13], texts[14] };

static struct plan plan_of(size_t versions, size_t n_inputs, int64_t repetitions, int64_t warm_ups, uint64_t seed)
{
	return (struct plan){ .application = app,
			      .versions = names,
			      .n_versions = versions,
			      .artefacts = names,
			      .inputs = inputs,
			      .n_inputs = n_inputs,
			      .machines = machines,
			      .n_machines = 8,
			      .repetitions = repetitions,
			      .warm_ups = warm_ups,
			      .seed = seed };
}

/* ---- the order ---- */

static size_t count(const struct plan_cell *cells, size_t n, size_t input, size_t version, int64_t repetition)
{
	size_t found = 0;

	for (size_t i = 0; i < n; i++)
		found += cells[i].input == input && cells[i].version == version && cells[i].repetition == repetition;
	return found;
}

/* Checks that each run occurs once, warm-ups come first, inputs follow one another, and each second round mirrors the one before. */
static void check_order(const struct plan *plan, size_t machine)
{
	struct plan_cell *cells;
	size_t n, k = plan->n_versions, round = 0;

	plan_order(plan, machine, &cells, &n);
	assert_int_equal(n, plan->n_inputs * k * (size_t)(plan->repetitions + plan->warm_ups));
	for (size_t input = 0; input < plan->n_inputs; input++) {
		for (int64_t r = 1 - plan->warm_ups; r <= plan->repetitions; r++) {
			for (size_t v = 0; v < k; v++)
				assert_int_equal(count(cells, n, input, v, r), 1);
		}
		for (int64_t w = 0; w < plan->warm_ups; w++, round++) {
			for (size_t i = 0; i < k; i++) {
				assert_int_equal(cells[round * k + i].input, input);
				assert_int_equal(cells[round * k + i].repetition, -w);
			}
		}
		for (int64_t r = 1; r <= plan->repetitions; r++, round++) {
			for (size_t i = 0; i < k; i++) {
				const struct plan_cell *cell = &cells[round * k + i];

				assert_int_equal(cell->input, input);
				assert_int_equal(cell->repetition, r);
				if (r % 2 == 0)
					assert_int_equal(cell->version, cells[round * k - 1 - i].version);
			}
		}
	}
	free(cells);
}

static void test_order(void **state)
{
	static const struct {
		size_t versions, inputs;
		int64_t repetitions, warm_ups;
	} rows[] = { { 1, 1, 1, 0 }, { 2, 1, 4, 1 }, { 2, 2, 5, 0 }, { 3, 2, 6, 2 }, { 5, 1, 7, 1 }, { 4, 2, 1, 3 } };

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		for (uint64_t seed = 0; seed < 4; seed++) {
			struct plan plan = plan_of(rows[i].versions, rows[i].inputs, rows[i].repetitions, rows[i].warm_ups, seed);

			for (size_t m = 0; m < 3; m++)
				check_order(&plan, m);
		}
	}
}

static bool same_order(const struct plan *a, size_t machine_a, const struct plan *b, size_t machine_b)
{
	struct plan_cell *x, *y;
	size_t n, m;
	bool same;

	plan_order(a, machine_a, &x, &n);
	plan_order(b, machine_b, &y, &m);
	same = n == m && memcmp(x, y, n * sizeof(*x)) == 0;
	free(x);
	free(y);
	return same;
}

/* Checks that the order depends on the seed and the machine, not on the other machines of the plan. */
static void test_order_depends(void **state)
{
	struct plan a = plan_of(3, 1, 10, 1, 7), b = plan_of(3, 1, 10, 1, 7), c = plan_of(3, 1, 10, 1, 8);

	(void)state;
	b.machines = machines + 3;
	b.n_machines = 2;
	assert_true(same_order(&a, 0, &a, 0));
	assert_true(same_order(&a, 3, &b, 0));
	assert_true(same_order(&a, 4, &b, 1));
	assert_false(same_order(&a, 0, &a, 1));
	assert_false(same_order(&a, 0, &c, 0));
}

/* Checks that each version is first in about half of the blocks. The seeds are fixed. Random ones would fail with probability < 1e-9. */
static void test_order_balanced(void **state)
{
	size_t first = 0, blocks = 0;

	(void)state;
	for (uint64_t seed = 0; seed < 10; seed++) {
		struct plan plan = plan_of(2, 1, 20, 0, seed);

		for (size_t m = 0; m < 8; m++) {
			struct plan_cell *cells;
			size_t n;

			plan_order(&plan, m, &cells, &n);
			for (size_t i = 0; i < n; i += 4, blocks++)
				first += cells[i].version == 0;
			free(cells);
		}
	}
	assert_int_equal(blocks, 800);
	assert_in_range(first, 310, 490);
}

/* ---- the store ---- */

/* Chooses a plan with the first `versions` versions; 0: all. */
static struct plan choose(const struct manifest *manifest, size_t versions, int64_t repetitions)
{
	const struct host hosts[] = { { .name = machines[0], .id = machines[0] }, { .name = machines[1], .id = machines[1] } };
	const struct host *both[] = { &hosts[0], &hosts[1] };
	struct plan_choice choice = { .versions = { names, versions }, .repetitions = repetitions, .has_seed = true, .seed = UINT64_MAX };
	struct assay_error err;
	struct plan plan;

	check(plan_choose(manifest, &choice, both, 2, &plan, &err), &err);
	return plan;
}

static void test_round_trip(void **state)
{
	struct lab lab = scratch_lab("lab");
	struct manifest manifest = manifest_of(MANIFEST);
	struct plan plan = choose(&manifest, 0, 0), back;
	struct assay_error err;

	(void)state;
	check_fails("nothing there", plan_find(&lab.store, "app", false, NULL, &back, &err), ASSAY_E_NOTFOUND, &err, "nothing to resume");
	free(plan.artefacts[1]);
	plan.artefacts[1] = mem_string("1234");
	check(plan_new(&lab.store, &manifest, &plan, &err), &err);
	assert_int_equal(strspn(plan.id, "0123456789abcdef"), 16);
	check(plan_find(&lab.store, "app", false, NULL, &back, &err), &err);
	assert_string_equal(back.id, plan.id);
	assert_string_equal(back.manifest_hash, manifest.hash);
	assert_int_equal(back.n_versions, 3);
	assert_string_equal(back.versions[2], "c");
	assert_string_equal(back.artefacts[0], "");
	assert_string_equal(back.artefacts[1], "1234");
	assert_int_equal(back.n_inputs, 2);
	assert_string_equal(back.inputs[1], "y");
	assert_int_equal(back.n_machines, 2);
	assert_string_equal(back.machines[0], "m1");
	assert_int_equal(back.repetitions, 4);
	assert_int_equal(back.warm_ups, 1);
	assert_true(back.seed == UINT64_MAX);
	assert_true(back.started_ms == plan.started_ms);
	assert_false(back.complete);
	plan_release(&back);
	check(plan_mark_complete(&lab.store, &plan, &err), &err);
	check_fails("complete", plan_find(&lab.store, "app", false, NULL, &back, &err), ASSAY_E_NOTFOUND, &err, "nothing to resume");
	plan_release(&plan);
	plan_release(&plan);
	manifest_release(&manifest);
	lab_close(&lab);
}

/* Checks that the latest interrupted plan of the application is found. */
static void test_latest(void **state)
{
	struct lab lab = scratch_lab("lab");
	struct manifest manifest = manifest_of(MANIFEST);
	struct plan first = choose(&manifest, 1, 1), second = choose(&manifest, 1, 1), back;
	struct assay_error err;

	(void)state;
	check(plan_new(&lab.store, &manifest, &first, &err), &err);
	check(plan_new(&lab.store, &manifest, &second, &err), &err);
	assert_string_not_equal(first.id, second.id); /* they differ only in time */
	check_select(&lab.store, "UPDATE plan SET started_ms = 1000 + (id = (SELECT max(id) FROM plan))", "");
	check(plan_find(&lab.store, "app", false, NULL, &back, &err), &err);
	assert_string_equal(back.id, strcmp(first.id, second.id) > 0 ? first.id : second.id);
	plan_release(&back);
	check_fails("another application", plan_find(&lab.store, "ap", false, NULL, &back, &err), ASSAY_E_NOTFOUND, &err, "'ap'");
	plan_release(&first);
	plan_release(&second);
	manifest_release(&manifest);
	lab_close(&lab);
}

static void test_changed_manifest(void **state)
{
	static const struct {
		const char *what, *text, *part;
	} rows[] = {
		{ "same", MANIFEST, NULL },
		{ "only how often",
		  "command: [run, '{version}']\ninputs:\n  x: { arguments: [1] }\n  y: {}\n# a comment\n"
		  "versions: { a: , b: , c: { command: [other] } }\nrepetitions: 7\nwarm_ups: 0\ntime_limit: 9\n",
		  NULL },
		{ "command",
		  "command: [run, '{version}', -x]\ninputs:\n  x: { arguments: [1] }\n  y: {}\nversions: { a: , b: , c: { command: [other] "
		  "} }\n"
		  "time_limit: 9\n",
		  "(the command)" },
		{ "limit and version",
		  "command: [run, '{version}']\ninputs:\n  x: { arguments: [1] }\n  y: {}\n"
		  "versions: { a: , b: { environment: { X: 1 } }, c: { command: [other] } }\ntime_limit: 10\n",
		  "(the time limit, version 'b')" },
		{ "input gone",
		  "command: [run, '{version}']\ninputs:\n  x: { arguments: [2] }\n"
		  "versions: { a: , b: , c: { command: [other] } }\ntime_limit: 9\n",
		  "(input 'x', input 'y')" },
		{ "a version that was not run",
		  "command: [run, '{version}']\ninputs:\n  x: { arguments: [1] }\n  y: {}\n"
		  "versions: { a: , b: , c: { command: [other] }, d: }\ntime_limit: 9\n",
		  "than those of these runs" },
	};
	struct lab lab = scratch_lab("lab");
	struct manifest manifest = manifest_of(MANIFEST);
	struct plan plan = choose(&manifest, 0, 0);
	struct assay_error err;

	(void)state;
	check(plan_new(&lab.store, &manifest, &plan, &err), &err);
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct manifest now = manifest_of(rows[i].text);

		if (rows[i].part)
			check_fails(rows[i].what, plan_check(&lab.store, &plan, &now, &err), ASSAY_E_CONFLICT, &err, rows[i].part);
		else
			check(plan_check(&lab.store, &plan, &now, &err), &err);
		manifest_release(&now);
	}
	plan_release(&plan);
	manifest_release(&manifest);
	lab_close(&lab);
}

/* Checks that a changed probe prevents resuming only for instrumented runs. */
static void test_changed_probe(void **state)
{
	static const char *const manifests[] = { MANIFEST "probe: {budget: 0}\n", MANIFEST "probe: {budget: 0.5}\n", MANIFEST };
	struct lab lab = scratch_lab("lab");
	struct manifest manifest = manifest_of(manifests[0]);
	struct assay_error err;

	(void)state;
	for (int probe = 0; probe < 2; probe++) {
		struct plan plan = choose(&manifest, 0, 0);

		plan.probe = probe ? manifest_probe_text(&manifest.probe) : NULL;
		check(plan_new(&lab.store, &manifest, &plan, &err), &err);
		for (size_t i = 0; i < COUNT(manifests); i++) {
			struct manifest now = manifest_of(manifests[i]);

			if (probe && i > 0)
				check_fails(manifests[i], plan_check(&lab.store, &plan, &now, &err), ASSAY_E_CONFLICT, &err, "(the probe)");
			else
				check(plan_check(&lab.store, &plan, &now, &err), &err);
			manifest_release(&now);
		}
		plan_release(&plan);
	}
	manifest_release(&manifest);
	lab_close(&lab);
}

static void test_changed_artefacts(void **state)
{
	struct plan plan = plan_of(3, 1, 1, 0, 0);
	char *now[] = { texts[0], texts[5], texts[6] };
	struct assay_error err;

	(void)state;
	check(plan_check_artefacts(&plan, names, &err), &err);
	check_fails("two", plan_check_artefacts(&plan, now, &err), ASSAY_E_CONFLICT, &err, "(version 'b', version 'c')");
}

/* ---- choosing ---- */

static void test_choose(void **state)
{
	static const struct {
		const char *what, *versions[3], *inputs[2], *part;
	} rows[] = {
		{ "nearest", { "aa" }, { NULL }, "has no version 'aa' (did you mean 'a'?)" },
		{ "none is near", { "something" }, { NULL }, "it has a, b, c" },
		{ "twice", { "a", "b", "a" }, { NULL }, "version 'a' is named twice" },
		{ "input", { NULL }, { "zzzz" }, "has no input 'zzzz': it has x, y" },
		{ "a control character", { "a\nb" }, { NULL }, "'a?b'" },
	};
	struct manifest manifest = manifest_of(MANIFEST);
	struct host host = { .name = machines[0], .id = machines[0] };
	const struct host *hosts[] = { &host };
	struct assay_error err;
	struct plan plan;

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct plan_choice choice = { .repetitions = 0 };
		char *versions[3], *chosen_inputs[2];

		for (size_t k = 0; k < 3 && rows[i].versions[k]; k++)
			versions[choice.versions.n++] = mem_string(rows[i].versions[k]);
		for (size_t k = 0; k < 2 && rows[i].inputs[k]; k++)
			chosen_inputs[choice.inputs.n++] = mem_string(rows[i].inputs[k]);
		choice.versions.items = versions;
		choice.inputs.items = chosen_inputs;
		check_fails(rows[i].what, plan_choose(&manifest, &choice, hosts, 1, &plan, &err), ASSAY_E_USAGE, &err, rows[i].part);
		for (size_t k = 0; k < choice.versions.n; k++)
			free(versions[k]);
		for (size_t k = 0; k < choice.inputs.n; k++)
			free(chosen_inputs[k]);
	}
	manifest.repetitions = MANIFEST_REPETITIONS_MAX;
	manifest.warm_ups = PLAN_CELLS_MAX;
	check_fails("too many", plan_choose(&manifest, &(struct plan_choice){ .repetitions = 0 }, hosts, 1, &plan, &err), ASSAY_E_USAGE,
		    &err, "more than 1000000 runs");
	manifest_release(&manifest);
}

static void test_contradictions(void **state)
{
	const struct host known[] = { { .id = machines[0] }, { .id = machines[1] }, { .id = machines[5] } };
	const struct host *both[] = { &known[1], &known[0] }, *other[] = { &known[0], &known[2] };
	char *ba[] = { texts[1], texts[0] }, *ac[] = { texts[0], texts[2] };
	struct plan plan = plan_of(2, 2, 3, 1, 7);
	struct plan_choice choice = { .repetitions = 3, .has_seed = true, .seed = 7, .versions = { ba, 2 } };
	struct assay_error err;

	(void)state;
	plan.n_machines = 2;
	check(plan_check_choice(&plan, &(struct plan_choice){ .repetitions = 0 }, NULL, 0, &err), &err);
	check(plan_check_choice(&plan, &choice, both, 2, &err), &err);
	check_fails("hosts", plan_check_choice(&plan, &choice, other, 2, &err), ASSAY_E_USAGE, &err, "hosts contradicts the runs");
	check_fails("fewer hosts", plan_check_choice(&plan, &choice, both, 1, &err), ASSAY_E_USAGE, &err, "(m1,m2)");
	choice.versions.items = ac;
	check_fails("versions", plan_check_choice(&plan, &choice, NULL, 0, &err), ASSAY_E_USAGE, &err,
		    "--versions contradicts the runs to resume (a,b)");
	choice.versions.n = 0;
	choice.inputs = (struct manifest_arguments){ ba, 1 };
	check_fails("inputs", plan_check_choice(&plan, &choice, NULL, 0, &err), ASSAY_E_USAGE, &err, "--inputs");
	choice.inputs.n = 0;
	choice.repetitions = 4;
	check_fails("repetitions", plan_check_choice(&plan, &choice, NULL, 0, &err), ASSAY_E_USAGE, &err, "--repetitions");
	choice.repetitions = 3;
	choice.seed = 8;
	check_fails("seed", plan_check_choice(&plan, &choice, NULL, 0, &err), ASSAY_E_USAGE, &err,
		    "--seed contradicts the runs to resume (7)");
}

int suite_plan(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_order),
		cmocka_unit_test(test_order_depends),
		cmocka_unit_test(test_order_balanced),
		SCRATCH_TEST(test_round_trip),
		SCRATCH_TEST(test_latest),
		SCRATCH_TEST(test_changed_probe),
		SCRATCH_TEST(test_changed_manifest),
		cmocka_unit_test(test_changed_artefacts),
		cmocka_unit_test(test_choose),
		cmocka_unit_test(test_contradictions),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
