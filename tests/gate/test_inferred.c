/* The levels of inferred profiles: what they are made of, what cannot be told apart, and a trap of machines that differ in few ways. */
#include "base/mem.h"
#include "base/rng.h"
#include "gate/profile/shaped_rows.h"

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

/* What takes [KNOBS] of its time takes so much where they are dear. */
static double knobbed_time(const double *of, const double *dear)
{
	double time = 0.0;

	for (size_t k = 0; k < KNOBS; k++)
		time += of[k] * dear[k];
	return time;
}

/* Each knob is turned up to threefold; every rate is known to 1 %. `like`: all hosts but the last have these two turned alike. */
static struct profile_rows rows_of_knobs(const double *program, uint64_t seed, bool like)
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
		if (like && t + 1 < HOSTS)
			dear[MAPPING] = dear[DATA];
		for (size_t j = 0; j < STRESSORS; j++) {
			r.features[j] = stressors[j].name;
			mat_set(&r.rates, t, j, exp(.01 * rng_normal(&rng)) / knobbed_time(stressors[j].of, dear));
		}
		r.cost[t] = knobbed_time(program, dear) * exp(.01 * rng_normal(&rng));
	}
	return r;
}

static struct profile_rows knobbed_rows(const double *program, uint64_t seed)
{
	return rows_of_knobs(program, seed, false);
}

/* Arithmetic, reads, strings, sorting and mappings; and the first three alone, which move as vm-splice does. */
static const double five[KNOBS] = { [STILL] = .3, [DATA] = .27, [STRINGS] = .24, [COMPARING] = .1, [MAPPING] = .09 };
static const double three[KNOBS] = { [STILL] = .38, [DATA] = .34, [STRINGS] = .28 };

/* ---- one host under a further condition ---- */

/* Reading and computing. */
static const double reading[KNOBS] = { [STILL] = .5, [DATA] = .5 };

/* On a host where nothing else is dear, `knob` is dear; of what the program takes then is said what it takes where `said` is. */
static void add_shape(struct profile_rows *r, size_t knob, size_t said)
{
	double dear[KNOBS] = { 1, 1, 1, 1, 1 }, claimed[KNOBS] = { 1, 1, 1, 1, 1 };
	struct profile_shaped_rows *to = &r->shaped;
	size_t i = to->rates.rows++;

	dear[knob] = claimed[said] = 4.0;
	for (size_t j = 0; j < STRESSORS; j++)
		mat_set(&to->rates, i, j, 1.0 / knobbed_time(stressors[j].of, dear));
	to->cost[i] = knobbed_time(reading, claimed);
	to->type[i] = 0;
}

static double share_of(const struct profile *p, const char *name)
{
	const struct features *f = &p->data.features;

	for (size_t k = 0; k < f->n; k++)
		if (strcmp(p->rows->features[f->first[k]], name) == 0)
			return p->shares.column[k];
	return 0.0;
}

/* Reading and mapping move alike on all hosts but one, and so that one is predicted badly without it; with reading alone dearer on another,
 * and mapping alone, they are told apart. Such rows are no types, and where what they say is wrong they are none at all. */
static void test_shapes_tell_apart(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 5; seed++) {
		struct profile_rows r = rows_of_knobs(reading, seed, true);
		struct profile without, with, refused;

		profile_of(&r, &options, &without);
		assert_int_equal(without.shaped.rows, 0);
		r.shaped = (struct profile_shaped_rows){ mat_new(2, STRESSORS), mem_new(2, sizeof(double)), mem_new(2, sizeof(size_t)) };
		r.shaped.rates.rows = 0;
		add_shape(&r, DATA, DATA);
		add_shape(&r, MAPPING, MAPPING);
		profile_of(&r, &options, &with);
		assert_int_equal(with.shaped.rows, 2);
		assert_true(with.shaped.kept && with.shaped.with < .95 * with.shaped.without);
		assert_int_equal(with.data.types, HOSTS);
		assert_int_equal(with.data.rows, HOSTS);
		assert_true(with.validation.mape == with.shaped.with && without.validation.mape == with.shaped.without);
		assert_true(share_of(&with, "mmap") < .1 && share_of(&with, "mmap") <= share_of(&without, "mmap") + .01);
		r.shaped.rates.rows = 0;
		add_shape(&r, DATA, MAPPING);
		add_shape(&r, MAPPING, DATA);
		profile_of(&r, &options, &refused);
		assert_true(!refused.shaped.kept && refused.shaped.rows == 2 && refused.validation.mape == without.validation.mape);
		assert_memory_equal(refused.shares.share, without.shares.share, (without.shares.groups + 1) * sizeof(double));
		profile_release(&without);
		profile_release(&with);
		profile_release(&refused);
		profile_rows_release(&r);
	}
}

/* A machine with calls dearer is a row where the battery has all stressors under it, and the number of calls is known. */
static void test_shaped_rows(void **state)
{
	static const char *features[] = { "cpu", "cpu@calls-data", "cpu@calls-time", "hdd", "hdd@calls-data", "hdd@calls-time" };
	static double rates[] = { 10, 9, 10, 5, 4, 3, 20, 19, 20, 8, 0, 7 };
	static char a[] = "a", b[] = "b", third[] = "c", no[] = "no";
	static struct run runs[] = { { .machine = a }, { .machine = b } };
	static const char *plain[] = { "cpu", "hdd" };
	size_t index[] = { 0, 1 };
	double costs[] = { 2, 1 };
	const struct run_set set = { .items = runs, .n = 2 };
	const struct dataset dataset = { .features = features, .X = { 2, 6, rates }, .run = index };
	struct profile_rows rows = {
		.features = plain, .rates = { 2, 2, (double[]){ 10, 5, 20, 8 } }, .cost = costs, .type = index, .types = 2, .from = index
	};
	struct shaped_machine machines[] = { { .machine = a }, { .machine = b }, { .machine = third } };

	(void)state;
	for (size_t m = 0; m < 3; m++) {
		struct counts *c = &machines[m].counts;

		for (size_t s = 0; s < SHAPES; s++)
			c->of[s].refused = s == SHAPE_DATA ? NULL : no;
		c->of[SHAPE_DATA].n = 100000;
		c->doses[SHAPE_FILTER][0] = (struct count_dose){ .n = 1, .is = { .ns = 1000 } };
		c->base_wall_s = .5;
	}
	shaped_rows_of(machines, 3, &set, &dataset, &rows);
	assert_int_equal(rows.shaped.rates.rows, 1); /* hdd was not measured so on b; nothing ran on c; calls-time is not counted */
	assert_true(mat_get(&rows.shaped.rates, 0, 0) == 9 && mat_get(&rows.shaped.rates, 0, 1) == 4 && rows.shaped.type[0] == 0);
	assert_true(fabs(rows.shaped.cost[0] - 2 * 1.2) < 1e-12);
	mat_release(&rows.shaped.rates);
	free(rows.shaped.cost);
	free(rows.shaped.type);
}

/* A row is one more in the mean of its type. */
static void test_sums_add(void **state)
{
	struct profile_rows r = knobbed_rows(reading, 1);
	struct blend_data d;
	double G, h;

	(void)state;
	blend_data_of(&r.rates, r.cost, r.type, r.types, &d);
	G = mat_get(&d.sums.G[3], 1, 2);
	h = mat_get(&d.sums.h, 3, 1);
	for (size_t i = 0; i < 2; i++)
		additive_sums_add(&d.sums, 3, &d.features.logs.at[3 * d.features.n], r.cost[3]);
	assert_true(fabs(mat_get(&d.sums.G[3], 1, 2) / G - 1) < 1e-9 && fabs(mat_get(&d.sums.h, 3, 1) / h - 1) < 1e-9);
	additive_sums_add(&d.sums, 3, &d.features.logs.at[3 * d.features.n], r.cost[3] / 2);
	assert_true(fabs(mat_get(&d.sums.h, 3, 1) / h - 1.25) < 1e-9); /* three times 1, and once 2 */
	blend_data_release(&d);
	profile_rows_release(&r);
}

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
			if (leads) /* without stand-ins it is indicative: 33 to 93 % */
				assert_int_equal(p.verdict, PROFILE_NOT_IDENTIFIABLE);
			if (p.inferred.trusted[0]) /* more than half of both is computing */
				assert_int_equal(inferred_lead(&p.inferred, 0)->of, LEVEL_COMPUTE);
			profile_release(&p);
			profile_rows_release(&r);
		}
	}
	assert_true(traps >= 5); /* the trap is there */
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

/* Where the time of `three` went, as samples say: two thirds of it computing, the rest reading files. */
static const struct made_of seen = { .kind = "", .computing = .66, .kernel = { { "file data", .34 } }, .n = 1 };

/* What vm-splice does is mostly the kernel's: where the time went says that it is not all of it. */
static void test_signature_decides(void **state)
{
	size_t better = 0;

	(void)state;
	for (uint64_t seed = 1; seed <= 4; seed++) {
		struct profile_rows r = knobbed_rows(three, seed);
		struct profile alone, both;

		profile_of(&r, &options, &alone);
		r.own = seen;
		profile_of(&r, &options, &both);
		assert_true(group_of(&both, "vm-splice")->share < .7 * group_of(&alone, "vm-splice")->share);
		assert_true(group_of(&both, "vm-splice")->share < .4);
		assert_int_equal(inferred_lead(&both.inferred, 0)->of, LEVEL_COMPUTE);
		assert_true(inferred_lead(&both.inferred, 0)->share.first > .9);
		assert_true(!alone.inferred.trusted[0] || alone.inferred.items[0].of == LEVEL_COMPUTE);
		better += both.inferred.trusted[0] && !alone.inferred.trusted[0];
		profile_release(&alone);
		profile_release(&both);
		profile_rows_release(&r);
	}
	assert_true(better >= 2); /* the level of the time can be trusted only with both */
}

/* A program that never reads or maps: what does little else is out, whatever the cost says; and what the cost excludes stays out. */
static void test_neither_view_alone(void **state)
{
	static const struct made_of computes = { .kind = "", .computing = .99, .kernel = { { "page faults", .01 } }, .n = 1 };
	struct profile_rows r = knobbed_rows(three, 2);
	struct profile p;

	(void)state;
	r.own = computes;
	profile_of(&r, &options, &p);
	assert_int_equal(state_of(&p, "vm-splice"), FEATURE_EXCLUDED);
	assert_int_equal(state_of(&p, "mmap"), FEATURE_EXCLUDED);
	assert_int_equal(state_of(&p, "str"), FEATURE_USED);
	assert_null(group_of(&p, "vm-splice"));
	assert_true(group_of(&p, "qsort")->share < .1); /* sorts, as well it may; the cost does not follow it */
	profile_release(&p);
	profile_rows_release(&r);
}

/* What moves by its noise alone is grouped with nothing and explains nothing. */
static void test_still(void **state)
{
	struct profile_rows r = knobbed_rows(five, 3);
	struct profile p;

	(void)state;
	r.wobble = mem_new(STRESSORS, sizeof(*r.wobble));
	for (size_t j = 0; j < STRESSORS; j++)
		r.wobble[j] = .01;
	profile_of(&r, &options, &p);
	assert_int_equal(state_of(&p, "cpu"), FEATURE_STILL);
	assert_int_equal(state_of(&p, "vecmath"), FEATURE_STILL);
	assert_int_equal(state_of(&p, "tsearch"), FEATURE_USED);
	assert_null(group_of(&p, "cpu"));
	assert_int_equal(p.data.features.n, STRESSORS - 4);
	profile_release(&p);
	profile_rows_release(&r);
}

int suite_inferred(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_never_vm_splice), cmocka_unit_test(test_signature_decides), cmocka_unit_test(test_neither_view_alone),
		cmocka_unit_test(test_still),		cmocka_unit_test(test_shapes_tell_apart), cmocka_unit_test(test_shaped_rows),
		cmocka_unit_test(test_sums_add),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
