/* Tests the levels of inferred profiles: their parts, groups that cannot be distinguished, and machines that differ in few ways. */
#include "base/mem.h"
#include "base/rng.h"
#include "gate/profile/profile.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static const struct profile_options options = { 40, 1, 1 };

/* ---- hosts of one machine with four injected slowdowns ---- */

enum { STILL, DATA, MAPPING, STRINGS, COMPARING, KNOBS };
#define HOSTS	  12
#define STRESSORS 10

/* The parts of a stressor's time on a host without slowdowns. */
static const struct knobbed {
	const char *name;
	double of[KNOBS];
} stressors[STRESSORS] = {
	{ "bsearch", { [STILL] = 1 } },
	{ "cpu", { [STILL] = 1 } },
	{ "crypt", { [STILL] = 1 } },
	{ "hdd", { [STILL] = .2, [DATA] = .8 } },
	{ "mmap", { [STILL] = .2, [MAPPING] = .8 } },
	{ "qsort", { [STILL] = .3, [COMPARING] = .7 } },
	{ "str", { [STILL] = .2, [STRINGS] = .8 } },
	{ "tsearch", { [STILL] = .6, [COMPARING] = .4 } },
	{ "vecmath", { [STILL] = 1 } },
	{ "vm-splice", { [STILL] = .40, [DATA] = .33, [STRINGS] = .27 } },
};

/* Makes rows of hosts where each operation is slowed down up to three times. Every rate is known to 1 %. */
static struct profile_rows knobbed_rows(const double *program, uint64_t seed)
{
	static const char *const names[HOSTS] = { "a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l" };
	struct profile_rows r = { .features = mem_new(STRESSORS, sizeof(char *)),
				  .rates = mat_new(HOSTS, STRESSORS),
				  .cost = mem_new(HOSTS, sizeof(double)),
				  .type = mem_new(HOSTS, sizeof(size_t)),
				  .types = HOSTS,
				  .type_names = mem_new(HOSTS, sizeof(char *)),
				  .noise = .01 };
	struct rng rng;

	rng_seed(&rng, seed);
	memcpy(r.type_names, names, sizeof(names));
	for (size_t t = 0; t < HOSTS; t++) {
		double dear[KNOBS] = { [STILL] = 1.0 };

		r.type[t] = t;
		for (size_t k = DATA; k < KNOBS; k++)
			dear[k] = 1.0 + 2.0 * rng_double(&rng);
		for (size_t j = 0; j < STRESSORS; j++) {
			double time = 0.0;

			r.features[j] = stressors[j].name;
			for (size_t k = 0; k < KNOBS; k++)
				time += stressors[j].of[k] * dear[k];
			mat_set(&r.rates, t, j, exp(.01 * rng_normal(&rng)) / time);
		}
		for (size_t k = 0; k < KNOBS; k++)
			r.cost[t] += program[k] * dear[k];
		r.cost[t] *= exp(.01 * rng_normal(&rng));
	}
	return r;
}

/* Programs: arithmetic, reads, strings, sorting and mappings; and only the first three, which vary as vm-splice does. */
static const double five[KNOBS] = { [STILL] = .3, [DATA] = .27, [STRINGS] = .24, [COMPARING] = .1, [MAPPING] = .09 };
static const double three[KNOBS] = { [STILL] = .38, [DATA] = .34, [STRINGS] = .28 };

static bool stands_in_for(const struct profile *p, const char *name, const char *a, const char *b)
{
	const struct features *f = &p->data.features;
	const struct share_alternatives *s = &p->shares.share_alternatives;

	for (size_t k = 0; k < f->n; k++) {
		for (size_t i = s->first[k]; i < s->first[k + 1]; i++)
			if (strcmp(p->rows->features[f->first[k]], name) == 0 &&
			    strcmp(p->rows->features[f->first[s->items[i].column]], a) == 0 &&
			    strcmp(p->rows->features[f->first[s->items[i].other]], b) == 0)
				return true;
	}
	return false;
}

static void test_never_vm_splice(void **state)
{
	const double *programs[] = { five, three };
	size_t traps = 0;

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		for (uint64_t seed = 1; seed <= 5; seed++) {
			struct profile_rows r = knobbed_rows(programs[i], seed);
			struct profile p;
			bool leads;

			profile_compute(&r, &options, &p);
			leads = strstr(p.groups[0].name, "vm-splice") != NULL;
			traps += leads;
			assert_true(stands_in_for(&p, "vm-splice", "hdd", "str"));
			if (leads) /* without stand-ins the profile would be indicative, at 33 to 93 % */
				assert_int_equal(p.verdict, PROFILE_NOT_IDENTIFIABLE);
			if (p.inferred.trusted[0]) /* more than half of both programs is computing */
				assert_int_equal(inferred_find_largest(&p.inferred, 0)->level, LEVEL_COMPUTE);
			profile_release(&p);
			profile_rows_release(&r);
		}
	}
	assert_true(traps >= 5); /* the trap occurred in at least five cases */
}

/* ---- both views ---- */

static const struct profile_group *group_of(const struct profile *p, const char *name)
{
	for (size_t g = 0; g < p->n_groups; g++)
		for (size_t i = 0; i < p->groups[g].n; i++)
			if (strcmp(p->rows->features[p->groups[g].members[i]], name) == 0)
				return &p->groups[g];
	return NULL;
}

static enum feature_state state_of(const struct profile *p, const char *name)
{
	for (size_t j = 0; j < p->data.features.p; j++)
		if (strcmp(p->rows->features[j], name) == 0)
			return p->data.features.state[j];
	return FEATURE_MISSING;
}

/* The time of `three` by samples: two thirds are computing, the rest reads files. */
static const struct composition seen = { .kind = "", .computing = .66, .kernel = { { "file data", .34 } }, .n = 1 };

/* Checks that vm-splice, which works mostly in the kernel, gets a smaller share if samples of the program are known. */
static void test_signature_decides(void **state)
{
	size_t better = 0;

	(void)state;
	for (uint64_t seed = 1; seed <= 4; seed++) {
		struct profile_rows r = knobbed_rows(three, seed);
		struct profile alone, both;

		profile_compute(&r, &options, &alone);
		r.application_composition = seen;
		profile_compute(&r, &options, &both);
		assert_true(group_of(&both, "vm-splice")->share < .7 * group_of(&alone, "vm-splice")->share);
		assert_true(group_of(&both, "vm-splice")->share < .4);
		assert_int_equal(inferred_find_largest(&both.inferred, 0)->level, LEVEL_COMPUTE);
		assert_true(inferred_find_largest(&both.inferred, 0)->share.first > .9);
		assert_true(!alone.inferred.trusted[0] || alone.inferred.items[0].level == LEVEL_COMPUTE);
		better += both.inferred.trusted[0] && !alone.inferred.trusted[0];
		profile_release(&alone);
		profile_release(&both);
		profile_rows_release(&r);
	}
	assert_true(better >= 2); /* only both views together make the level trusted */
}

/* Checks a program that never reads or maps: stressors that do little else are excluded. Groups that the cost excludes stay excluded. */
static void test_neither_view_alone(void **state)
{
	static const struct composition computes = { .kind = "", .computing = .99, .kernel = { { "page faults", .01 } }, .n = 1 };
	struct profile_rows r = knobbed_rows(three, 2);
	struct profile p;

	(void)state;
	r.application_composition = computes;
	profile_compute(&r, &options, &p);
	assert_int_equal(state_of(&p, "vm-splice"), FEATURE_EXCLUDED);
	assert_int_equal(state_of(&p, "mmap"), FEATURE_EXCLUDED);
	assert_int_equal(state_of(&p, "str"), FEATURE_USED);
	assert_null(group_of(&p, "vm-splice"));
	assert_true(group_of(&p, "qsort")->share < .1); /* the program may sort, but its cost does not follow this group */
	profile_release(&p);
	profile_rows_release(&r);
}

/* Checks that a stressor that varies only by its noise is in no group and explains nothing. */
static void test_still(void **state)
{
	struct profile_rows r = knobbed_rows(five, 3);
	struct profile p;

	(void)state;
	r.rate_noise = mem_new(STRESSORS, sizeof(*r.rate_noise));
	for (size_t j = 0; j < STRESSORS; j++)
		r.rate_noise[j] = .01;
	profile_compute(&r, &options, &p);
	assert_int_equal(state_of(&p, "cpu"), FEATURE_WITHIN_NOISE);
	assert_int_equal(state_of(&p, "vecmath"), FEATURE_WITHIN_NOISE);
	assert_int_equal(state_of(&p, "tsearch"), FEATURE_USED);
	assert_null(group_of(&p, "cpu"));
	assert_int_equal(p.data.features.n, STRESSORS - 4);
	profile_release(&p);
	profile_rows_release(&r);
}

int suite_inferred(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_never_vm_splice),
		cmocka_unit_test(test_signature_decides),
		cmocka_unit_test(test_neither_view_alone),
		cmocka_unit_test(test_still),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
