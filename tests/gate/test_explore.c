/* Tests the page about a catalog on laboratories in memory: its numbers, the contents of the page and what it omits, and its HTML. */
#include "gate/commands/cmd_host_page.c" /* the static functions that compute the numbers */
#include "tests/gate/made_up_evidence.h"

#include <math.h>

#define EVIL "</script><b onload=\"x\">&lt;'"
#define DAY  (INT64_C(86400) * 1000)

struct world {
	const char *prefix; /* prefix of every text */
	struct evidence evidence;
	struct lab_config config;
	struct explore explore;
};

static void world_init(struct world *w, const char *prefix, size_t stressors)
{
	*w = (struct world){ .prefix = prefix };
	made_stressors(&w->evidence, prefix, stressors);
}

/* Adds a fingerprint; rates [passes x stressors]. Call this in the order of machines, then of days. */
static struct fingerprint *add(struct world *w, const char *machine, const char *type, int day, const char *battery, size_t passes,
			       const double *rates)
{
	struct fingerprint *f =
	    made_fingerprint(&w->evidence, w->prefix, machine, battery, INT64_C(1500000000000) + day * DAY, passes, rates);

	made_type(&w->evidence, f, w->prefix, type);
	return f;
}

static void explore(struct world *w)
{
	types_compute(&w->evidence.catalog, &w->config, &w->evidence.types);
	explore_compute(&w->evidence, &w->explore);
}

static char *page_of(struct world *w)
{
	struct buf out = BUF_INIT;
	char *lab = mem_format("%slab", w->prefix);

	explore_page(&w->explore, lab, &out);
	free(lab);
	return buf_take(&out);
}

static void world_release(struct world *w)
{
	explore_release(&w->explore);
	evidence_release(&w->evidence);
}

static const char *const sections[] = { "catalog", "variability", "correlation", "components", "left-out", NULL };

static void assert_near(double a, double b)
{
	if (!(fabs(a - b) <= 1e-9 * fmax(1, fabs(b))))
		fail_msg("%.15g is not %.15g", a, b);
}

static bool omitted(const struct omissions *list, const char *what, const char *why, const char *name)
{
	for (size_t i = 0; i < list->n; i++) {
		const struct omission *o = &list->items[i];

		if (strcmp(o->items_text, what) != 0 || !strstr(o->reason, why))
			continue;
		for (size_t k = 0; k < o->n; k++) {
			if (name && strstr(o->names[k], name))
				return true;
		}
		if (!name)
			return true;
	}
	return false;
}

/* ---- the numbers ---- */

/* Checks three machines of type p (rates 1, 1, 8: geometric mean 2), one of q (4) and one of r (6): each type counts once. */
static void test_variability(void **state)
{
	static const double rates[5][2] = { { .9, 1.1 }, { .9, 1.1 }, { 8, 8 }, { 2, 6 }, { 6, 6 } };
	static const char *const machines[] = { "a", "b", "c", "d", "e" }, *const types[] = { "p", "p", "p", "q", "r" };
	struct world w;
	const struct explore_stressor *s;

	(void)state;
	world_init(&w, "", 1);
	for (size_t i = 0; i < 5; i++)
		add(&w, machines[i], types[i], 0, "b", 2, rates[i]);
	explore(&w);
	assert_int_equal(w.explore.machines, 5);
	assert_int_equal(w.explore.n_types, 3);
	assert_int_equal(w.explore.n_stressors, 1);
	s = &w.explore.stressors[0];
	assert_int_equal(s->machines, 5);
	assert_near(s->type_rate[0], 2);
	assert_near(s->type_rate[1], 4);
	assert_near(s->type_rate[2], 6);
	assert_near(s->middle, 4);
	assert_near(s->cv, .5); /* standard deviation 2, mean 4 */
	/* Variation between passes: sqrt(2)/10 twice and 0 in p, sqrt(8)/4 in q, 0 in r. */
	assert_near(s->within, sqrt(2) / 10);
	world_release(&w);
}

#define MACHINES 6

/* Adds six machines. Stressor 1 follows stressor 0, 2 is opposite to it, 3 is 7 times stressor 0, 4 is independent, 5 is constant, 6 is
 * missing on the first machine. */
static void add_six(struct world *w, const char *const types[MACHINES])
{
	static const double own[MACHINES] = { 3, 1, 6, 2, 5, 4 };

	for (size_t i = 0; i < MACHINES; i++) {
		double x = (double)i + 1, rates[7] = { x, x * x, 100 - x, 7 * x, own[i], 3, i ? x : (double)NAN };
		char *name = mem_format("m%zu", i);

		add(w, name, types[i], 0, "b", 1, rates);
		free(name);
	}
}

static const char *const own_types[MACHINES] = { "t0", "t1", "t2", "t3", "t4", "t5" };

static void test_together(void **state)
{
	struct world w;
	const struct explore *e = &w.explore;
	size_t place = 0;

	(void)state;
	world_init(&w, "", 7);
	add_six(&w, own_types);
	explore(&w);
	assert_int_equal(e->features.n, 4); /* cpu, s01, s02, s04 */
	assert_int_equal(e->features.groups, 2);
	assert_near(mat_get(&e->features.correlation, 0, 1), 1);
	assert_near(mat_get(&e->features.correlation, 0, 2), -1);
	assert_near(mat_get(&e->features.correlation, 3, 0), 1 - 6. * 22 / (6 * 35)); /* Spearman: 1 - 6 sum d^2 / (n (n^2 - 1)) */
	for (size_t k = 0; k < 4; k++)
		place = e->order[k] == 3 ? k : place;
	assert_true(place == 0 || place == 3); /* the other three are adjacent */
	assert_true(omitted(&e->omissions, "3 stressors", "only in the table of variability", "s03 (on 6 of 6)"));
	assert_true(omitted(&e->omissions, "3 stressors", "only in the table of variability", "s05 (on 6 of 6)"));
	assert_true(omitted(&e->omissions, "3 stressors", "only in the table of variability", "s06 (on 5 of 6)"));
	assert_true(e->features.effective_rank > 1.2 && e->features.effective_rank < 2.2);
	world_release(&w);
}

/* ---- choice of fingerprints ---- */

static void test_choice(void **state)
{
	static const double rates[3] = { 1, 2, 3 }, few[3] = { 1, (double)NAN, (double)NAN };
	struct world w;
	const struct omissions *o = &w.explore.omissions;

	(void)state;
	world_init(&w, "", 3);
	add(&w, "a", "t", 0, "b", 1, rates);
	add(&w, "a", "t", 5, "b", 1, rates);	 /* the latest fingerprint of a */
	add(&w, "a", "other", 2, "b", 1, rates); /* the machine had other hardware at that time */
	add(&w, "b", "t", 1, "b", 1, rates);
	for (int day = 0; day < 6; day++)
		add(&w, "c", "t", day, "quick", 1, rates); /* many fingerprints of one machine */
	add(&w, "d", "t", 0, "b", 1, rates);
	add(&w, "e", "t", 0, "b", 1, few);
	machine_retire(catalog_ensure_machine(&w.evidence.catalog, "d"), true, 0, "sold");
	explore(&w);
	assert_int_equal(w.explore.machines, 2);
	assert_int_equal(w.explore.n, 3);
	assert_string_equal(w.explore.fingerprints[0]->id, "0000000000000003"); /* types in the order of names */
	assert_string_equal(w.explore.fingerprints[1]->id, "0000000000000002");
	assert_string_equal(w.explore.fingerprints[2]->id, "0000000000000004");
	assert_true(omitted(o, "1 retired machine", "no longer", "d"));
	assert_true(omitted(o, "1 fingerprint", "another battery", "c (0000000000000010, quick, stress-ng 1, x)"));
	assert_true(omitted(o, "1 fingerprint", "more than half", "e (0000000000000012, b, stress-ng 1, x)"));
	assert_true(omitted(o, "6 earlier fingerprints", "latest", NULL));
	assert_int_equal(o->n, 5); /* the fifth omission: the stressors, which are equal on all machines */
	world_release(&w);
}

/* ---- the page ---- */

static void test_page(void **state)
{
	static const char *const parts[] = {
		"6 machines that differ in about", "Effective rank", "Effective rank", "cpu", "s04", "component 1", "m5: t5", "lab", NULL
	};
	struct world w;
	char *page, *again;

	(void)state;
	world_init(&w, "", 7);
	add_six(&w, own_types);
	explore(&w);
	page = page_of(&w);
	check_page("six", page, sections, parts);
	again = page_of(&w);
	assert_string_equal(page, again);
	free(page);
	free(again);
	world_release(&w);
}

static void test_hostile_names(void **state)
{
	static const char *const parts[] = { EVIL "m0", EVIL "t0", EVIL "s01", EVIL "b", EVIL "1", EVIL "lab", NULL };
	struct world w;
	char *page;

	(void)state;
	world_init(&w, EVIL, 7);
	add_six(&w, own_types);
	explore(&w);
	page = page_of(&w);
	check_page("hostile", page, sections, parts);
	assert_null(strstr(page, "<b onload"));
	free(page);
	world_release(&w);
}

/* Checks that a page with little data states which data it would need. */
static void test_little(void **state)
{
	static const double rates[3][2] = { { 1, 2 }, { 2, 3 }, { 2, 3 } };
	static const struct {
		size_t machines;
		const char *types[3];
		const char *parts[6];
	} rows[] = {
		{ 0,
		  { NULL },
		  { "No machine of this catalog has a fingerprint", "This needs at least three hardware types",
		    "This needs at least two hardware types" } },
		{ 1, { "t" }, { "One machine: there is no other machine to compare it with", "This needs at least two hardware types" } },
		{ 3, { "t", "t", "t" }, { "3 machines that are all alike" } },
		{ 3,
		  { "t", "u", "u" },
		  { "3 machines that differ in about 1 thing", "This needs at least three hardware types",
		    "Only one component exists, so there is no vertical axis." } },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		static const char *const names[] = { "a", "b", "c" };
		struct world w;
		char *page;

		world_init(&w, "", 2);
		for (size_t m = 0; m < rows[i].machines; m++)
			add(&w, names[m], rows[i].types[m], 0, "b", 1, rates[m]);
		explore(&w);
		page = page_of(&w);
		check_page("little", page, sections, rows[i].parts);
		free(page);
		world_release(&w);
	}
}

int suite_explore(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_variability),	  cmocka_unit_test(test_together),
					    cmocka_unit_test(test_choice),	  cmocka_unit_test(test_page),
					    cmocka_unit_test(test_hostile_names), cmocka_unit_test(test_little) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
