/* The levels of inferred profiles: what they are made of, what cannot be told apart, and a trap of machines that differ in few ways. */
#include "base/mem.h"
#include "base/rng.h"
#include "gate/profile/profile.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static const struct profile_options options = { 40, 1, 1 };

/* ---- hosts of one machine, on which four things are made dearer ---- */

enum { STILL, DATA, MAPPING, STRINGS, COMPARING, KNOBS };
#define HOSTS	  12
#define STRESSORS 10

/* In parts of its time on a host where nothing is dear. */
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

/* Each knob is turned up to threefold; every rate is known to 1 %. */
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

/* Arithmetic, reads, strings, sorting and mappings; and the first three alone, which move as vm-splice does. */
static const double five[KNOBS] = { [STILL] = .3, [DATA] = .27, [STRINGS] = .24, [COMPARING] = .1, [MAPPING] = .09 };
static const double three[KNOBS] = { [STILL] = .38, [DATA] = .34, [STRINGS] = .28 };

static bool stands_in_for(const struct profile *p, const char *name, const char *a, const char *b)
{
	const struct features *f = &p->data.features;
	const struct stand_ins *s = &p->shares.stand_ins;

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

			profile_of(&r, &options, &p);
			leads = strstr(p.groups[0].name, "vm-splice") != NULL;
			traps += leads;
			assert_true(stands_in_for(&p, "vm-splice", "hdd", "str"));
			if (leads)
				assert_int_not_equal(p.verdict, PROFILE_TRUSTED);
			if (p.inferred.trusted[0]) /* more than half of both is computing */
				assert_int_equal(inferred_lead(&p.inferred, 0)->of, LEVEL_COMPUTE);
			profile_release(&p);
			profile_rows_release(&r);
		}
	}
	assert_true(traps >= 5); /* the trap is there */
}

int suite_inferred(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_never_vm_splice),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
