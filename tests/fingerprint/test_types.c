/* Tests hardware types: the rules and their order, clusters that do not depend on any order, and files of types. */
#include "fingerprint/catalog/types.h"

#include "base/rng.h"
#include "tests/scratch.h"

#include <math.h>

#define STEADY 5

/* Adds a fingerprint of `machine`: steady CPU stressors at `speed`, and a stressor that depends on no type. */
static struct machine_fingerprint *add(struct catalog *catalog, const char *machine, int64_t taken_ms, const char *hash, double speed)
{
	static const char *const names[] = { "cpu", "crypt", "matrix", "qsort", "vecmath", "vm" };
	struct machine *m = catalog_ensure_machine(catalog, machine);
	struct machine_fingerprint *f;

	m->fingerprints = mem_resize(m->fingerprints, m->n_fingerprints + 1, sizeof(*f));
	f = &m->fingerprints[m->n_fingerprints++];
	*f = (struct machine_fingerprint){ .id = mem_format("%s %d", machine, (int)taken_ms),
					   .taken_ms = taken_ms,
					   .battery = mem_string("b"),
					   .battery_hash = mem_string(hash),
					   .stress_ng = mem_string("unknown"),
					   .architecture = mem_string("unknown"),
					   .origin = mem_string("imported"),
					   .passes = 1 };
	f->rates = mem_new(STEADY + 1, sizeof(*f->rates));
	for (; speed > 0 && f->n_rates <= STEADY; f->n_rates++)
		f->rates[f->n_rates] = (struct machine_rate){ .stressor = mem_string(names[f->n_rates]),
							      .n = 1,
							      .median = (double)(f->n_rates + 1) * speed,
							      .real_median = (double)NAN };
	return f;
}

static void give(struct machine_fingerprint *f, const char *type, const char *by)
{
	f->type = mem_string(type);
	f->type_given_by = mem_string(by);
}

static void describe(struct catalog *catalog, const char *machine, const char *model, int64_t memory_bytes)
{
	struct machine_identity *identity = &catalog_ensure_machine(catalog, machine)->identity;

	identity->cpu_model = mem_string(model);
	identity->sockets = 2;
	identity->cores_per_socket = 8;
	identity->threads_per_core = 1;
	identity->memory_bytes = memory_bytes;
}

static const char *type_of(const struct types *types, const char *fingerprint)
{
	size_t type = types_find(types, fingerprint);

	assert_true(type < types->n);
	return types->types[type].name;
}

static const char *why_of(const struct types *types, const char *fingerprint)
{
	return types->types[types_find(types, fingerprint)].reason;
}

/* Checks the order of rules: each machine also satisfies all later rules, so only the order decides. */
static void test_order_of_rules(void **state)
{
	static char given[] = "rule2", host1[] = "m1", host2[] = "m2", host5[] = "m5";
	struct host hosts[] = { { .id = host1, .type = given }, { .id = host2, .type = given }, { .id = host5 } };
	const struct lab_config config = { .min_effect = LAB_MIN_EFFECT, .inventory = { hosts, COUNT(hosts) } };
	struct catalog catalog = { 0 };
	struct types types;

	(void)state;
	give(add(&catalog, "m1", 1, "h", 1), "rule1", "types.csv");
	add(&catalog, "m1", 2, "h", 1); /* this fingerprint has no given type */
	describe(&catalog, "m1", "CPU", 1 << 30);
	add(&catalog, "m2", 1, "h", 1);
	describe(&catalog, "m2", "CPU", 1 << 30);
	add(&catalog, "m3", 1, "h", 1);
	describe(&catalog, "m3", "CPU", INT64_C(3) << 30);
	add(&catalog, "m4", 1, "h", 1);
	describe(&catalog, "m4", "CPU", 0); /* memory size unknown */
	add(&catalog, "m5", 1, "h", 1);	    /* in lab.yaml without a type */
	add(&catalog, "m6", 1, "h", 1)->profile = mem_string("vm+str");
	describe(&catalog, "m6", "CPU", 1 << 30);
	types_compute(&catalog, &config, &types);

	assert_string_equal(type_of(&types, "m1 1"), "rule1");
	assert_string_equal(type_of(&types, "m6 1"), "vm+str");
	assert_string_equal(why_of(&types, "m6 1"), "profile of an emulated host");
	assert_string_equal(why_of(&types, "m1 1"), "given by types.csv");
	assert_string_equal(type_of(&types, "m1 2"), "rule2");
	assert_string_equal(type_of(&types, "m2 1"), "rule2");
	assert_string_equal(why_of(&types, "m2 1"), "given in lab.yaml");
	assert_string_equal(type_of(&types, "m3 1"), "CPU 2x8x1 3GiB");
	assert_non_null(strstr(why_of(&types, "m3 1"), "same CPU model"));
	assert_string_equal(type_of(&types, "m4 1"), "auto-01");
	assert_string_equal(type_of(&types, "m5 1"), "auto-01");
	assert_non_null(strstr(why_of(&types, "m5 1"), "alike in 5 steady CPU stressors"));
	assert_int_equal(types.n, 5);
	assert_int_equal(types.n_members, 7);
	for (size_t i = 1; i < types.n; i++)
		assert_true(strcmp(types.types[i - 1].name, types.types[i].name) < 0);
	assert_int_equal(types_find(&types, "m9 1"), SIZE_MAX);
	types_release(&types);
	catalog_release(&catalog);
}

static size_t type_index(const struct types *types, const char *machine)
{
	char *id = mem_format("%s 1", machine);
	size_t type = types_find(types, id);

	free(id);
	return type;
}

/* Checks 24 machines of 4 speeds with 5 % of noise. The distance between adjacent speeds is log(1.5) * sqrt(5) = .9. */
static void test_clusters_without_order(void **state)
{
	const struct lab_config config = { 0 };
	size_t reference[24] = { 0 }, names[24];
	double speeds[24];
	struct rng rng;

	(void)state;
	rng_seed(&rng, 7);
	for (size_t i = 0; i < 24; i++) {
		speeds[i] = pow(1.5, (double)(i % 4)) * (1 + .05 * (rng_double(&rng) - .5));
		names[i] = i;
	}
	for (int round = 0; round < 20; round++) {
		struct catalog catalog = { 0 };
		struct types types;
		size_t of[24];

		/* The catalog sorts by name, so other names give another order. */
		for (size_t i = 0; i < 24; i++) {
			char *name = mem_format("m%02zu", names[i]);

			add(&catalog, name, 1, "h", speeds[i]);
			free(name);
		}
		types_compute(&catalog, &config, &types);
		assert_int_equal(types.n, 4);
		for (size_t i = 0; i < 24; i++) {
			char *name = mem_format("m%02zu", names[i]);

			of[i] = type_index(&types, name);
			free(name);
		}
		for (size_t i = 0; i < 24; i++) {
			assert_true((of[i] == of[i % 4]));
			for (size_t j = 0; j < i; j++)
				assert_int_equal(of[i] == of[j], round ? reference[i] == reference[j] : i % 4 == j % 4);
		}
		if (!round)
			memcpy(reference, of, sizeof(of));
		types_release(&types);
		catalog_release(&catalog);
		rng_shuffle(&rng, names, 24);
	}
}

/* Checks that fingerprints of different batteries, versions or architectures are not compared. */
static void test_not_comparable(void **state)
{
	const struct lab_config config = { 0 };
	struct catalog catalog = { 0 };
	struct types types;
	struct machine_fingerprint *f;

	(void)state;
	add(&catalog, "a", 1, "h", 1);
	add(&catalog, "b", 1, "other", 1);
	f = add(&catalog, "c", 1, "h", 1);
	free(f->stress_ng);
	f->stress_ng = mem_string("0.15.06");
	f = add(&catalog, "d", 1, "h", 1);
	free(f->architecture);
	f->architecture = mem_string("arm64");
	add(&catalog, "e", 1, "h", 1.01);
	types_compute(&catalog, &config, &types);
	assert_int_equal(types.n, 4);
	assert_string_equal(type_of(&types, "a 1"), "auto-01");
	assert_string_equal(type_of(&types, "e 1"), "auto-01");
	assert_string_equal(type_of(&types, "d 1"), "auto-04");
	types_release(&types);
	catalog_release(&catalog);
}

/* Checks that without steady stressors each machine is a type of its own, whatever the number of its fingerprints. */
static void test_nothing_steady(void **state)
{
	const struct lab_config config = { 0 };
	struct catalog catalog = { 0 };
	struct types types;

	(void)state;
	add(&catalog, "a", 1, "h", 0);
	add(&catalog, "a", 2, "h", 0);
	add(&catalog, "b", 1, "h", 0);
	types_compute(&catalog, &config, &types);
	assert_int_equal(types.n, 2);
	assert_string_equal(type_of(&types, "a 2"), type_of(&types, "a 1"));
	assert_string_not_equal(type_of(&types, "b 1"), type_of(&types, "a 1"));
	assert_non_null(strstr(why_of(&types, "b 1"), "no steady CPU stressor"));
	types_release(&types);
	catalog_release(&catalog);
}

/* Checks that a stressor that one member did not measure is ignored for all. */
static void test_common_stressors(void **state)
{
	const struct lab_config config = { 0 };
	struct catalog catalog = { 0 };
	struct machine_fingerprint *f;
	struct types types;

	(void)state;
	add(&catalog, "a", 1, "h", 1);
	f = add(&catalog, "b", 1, "h", 1);
	f->rates[0].median = (double)NAN; /* rate of cpu: recorded 0 */
	f = add(&catalog, "c", 1, "h", 1);
	f->rates[0].median = 1000;
	types_compute(&catalog, &config, &types);
	assert_int_equal(types.n, 1);
	assert_non_null(strstr(types.types[0].reason, "alike in 4 steady CPU stressors"));
	types_release(&types);
	catalog_release(&catalog);
}

/* Checks the type of a host today: from lab.yaml, else from its profile, else from its facts, else unknown. */
static void test_of_host(void **state)
{
	static char type[] = "given", profile[] = "slow", model[] = "Fast CPU";
	struct facts facts = {
		.cpu_model = model, .sockets = 2, .cores_per_socket = 8, .threads_per_core = 2, .memory_bytes = 64.0 * (1 << 30)
	};
	struct host host = { .type = type, .profile = profile };
	char *text;

	(void)state;
	text = types_find_host_type(&host, &facts);
	assert_string_equal(text, "given");
	free(text);
	host.type = NULL;
	text = types_find_host_type(&host, &facts);
	assert_string_equal(text, "slow");
	free(text);
	host.profile = NULL;
	text = types_find_host_type(&host, &facts);
	assert_string_equal(text, "Fast CPU 2x8x2 64GiB");
	free(text);
	facts.sockets = (double)NAN;
	assert_null(types_find_host_type(&host, &facts));
}

/* Checks that a name that a user gave is not used for a cluster as well, since that would merge different machines. */
static void test_names_taken(void **state)
{
	const struct lab_config config = { 0 };
	struct catalog catalog = { 0 };
	struct types types;

	(void)state;
	add(&catalog, "a", 1, "h", 1);
	add(&catalog, "b", 1, "h", 9);
	give(add(&catalog, "c", 1, "h", 100), "auto-02", "hand");
	types_compute(&catalog, &config, &types);
	assert_int_equal(types.n, 3);
	assert_string_equal(type_of(&types, "a 1"), "auto-01");
	assert_string_equal(type_of(&types, "c 1"), "auto-02");
	assert_string_equal(type_of(&types, "b 1"), "auto-03");
	types_release(&types);
	catalog_release(&catalog);
}

static void test_empty(void **state)
{
	const struct lab_config config = { 0 };
	struct catalog catalog = { 0 };
	struct types types;

	(void)state;
	types_compute(&catalog, &config, &types);
	assert_int_equal(types.n, 0);
	assert_int_equal(types_find(&types, "x"), SIZE_MAX);
	types_release(&types);
}

int suite_types(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_order_of_rules), cmocka_unit_test(test_clusters_without_order),
		cmocka_unit_test(test_not_comparable), cmocka_unit_test(test_of_host),
		cmocka_unit_test(test_nothing_steady), cmocka_unit_test(test_common_stressors),
		cmocka_unit_test(test_names_taken),    cmocka_unit_test(test_empty),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
