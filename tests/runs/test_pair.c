/* Checks which functions of the same name are paired: those whose file paths have the longest common end, each in at most one pair. */
#include "base/rng.h"
#include "runs/inside/changes/pair.c" /* pairs within one name */

#include "tests/scratch.h"

#define MANY 6

static struct functions of_files(const char *const *files, size_t n)
{
	struct functions f = { .items = mem_new(n, sizeof(struct function)), .n = n };

	for (size_t i = 0; i < n; i++)
		f.items[i].file = files[i];
	return f;
}

static void test_common_tails(void **state)
{
	static const struct {
		const char *a, *b;
		size_t components, rest_a, rest_b;
	} rows[] = {
		{ "/x/src/a.c", "/y/z/src/a.c", 2, 3, 5 }, { "/x/a.c", "/x/b.c", 0, 6, 6 }, { "a.c", "/y/a.c", 1, 0, 3 },
		{ "/x/ba.c", "/x/a.c", 0, 7, 6 },	   { "/x/a.c", "/x/a.c", 3, 0, 0 }, { "/p/xx/a.c", "/p/yx/a.c", 1, 6, 6 },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		size_t a, b;

		assert_int_equal(path_common_tail(rows[i].a, rows[i].b, &a, &b), rows[i].components);
		assert_int_equal(a, rows[i].rest_a);
		assert_int_equal(b, rows[i].rest_b);
	}
}

/* Pairs the files and checks that each is in at most one pair and that both sides agree. Returns the number of pairs. */
static size_t pair_up(const char *const *old_files, size_t n, const char *const *new_files, size_t m, size_t *old_to_new)
{
	struct functions f = of_files(old_files, n), g = of_files(new_files, m);
	size_t old[MANY], new[MANY], new_to_old[MANY], pairs = 0, back = 0;

	for (size_t i = 0; i < MANY; i++) {
		old[i] = new[i] = i;
		old_to_new[i] = new_to_old[i] = FUNCTIONS_NONE;
	}
	pair_group(&f, &g, old, n, new, m, old_to_new, new_to_old);
	for (size_t i = 0; i < n; i++) {
		pairs += old_to_new[i] != FUNCTIONS_NONE;
		if (old_to_new[i] != FUNCTIONS_NONE)
			assert_int_equal(new_to_old[old_to_new[i]], i);
	}
	for (size_t j = 0; j < m; j++)
		back += new_to_old[j] != FUNCTIONS_NONE;
	assert_int_equal(pairs, back);
	free(f.items);
	free(g.items);
	return pairs;
}

static void test_within_a_name(void **state)
{
	static const struct {
		const char *what, *old[MANY], *new[MANY];
		size_t n, m, pairs, of[MANY];
	} rows[] = {
		{ "the same paths", { "src/a/f.c", "src/b/f.c" }, { "src/a/f.c", "src/b/f.c" }, 2, 2, 2, { 0, 1 } },
		{ "another order", { "src/a/f.c", "src/b/f.c" }, { "src/b/f.c", "src/a/f.c" }, 2, 2, 2, { 1, 0 } },
		{ "the second best of one that has its best", { "src/a/f.c", "b/f.c" }, { "src/a/f.c", "lib/a/f.c" }, 2, 2, 2, { 0, 1 } },
		{ "the same from the other side", { "src/a/f.c", "lib/a/f.c" }, { "src/a/f.c", "b/f.c" }, 2, 2, 2, { 0, 1 } },
		{ "one is left on each side: it moved", { "a/f.c", "a/g.c" }, { "a/f.c", "a/h.c" }, 2, 2, 2, { 0, 1 } },
		{ "two are left on one side", { "a/f.c", "a/g.c" }, { "a/f.c", "a/h.c", "a/i.c" }, 2, 3, 1, { 0, FUNCTIONS_NONE } },
		{ "no file", { NULL, "a/g.c" }, { "a/g.c", NULL }, 2, 2, 2, { 1, 0 } },
	};
	size_t of[MANY];

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (pair_up(rows[i].old, rows[i].n, rows[i].new, rows[i].m, of) != rows[i].pairs)
			fail_msg("%s: another number of pairs", rows[i].what);
		for (size_t k = 0; k < rows[i].n; k++)
			if (of[k] != rows[i].of[k])
				fail_msg("%s: the pair of %zu is %zu", rows[i].what, k, of[k]);
	}
}

/* Checks random files: no file may be in two pairs. */
static void test_each_once(void **state)
{
	static const char *const files[] = { "a/f.c", "b/a/f.c", "c/b/a/f.c", "b/f.c", "g.c", "a/g.c", NULL };
	struct rng rng;
	size_t of[MANY];

	(void)state;
	rng_seed(&rng, 1);
	for (int i = 0; i < 2000; i++) {
		const char *old[MANY], *new[MANY];
		size_t n = 1 + rng_below(&rng, MANY), m = 1 + rng_below(&rng, MANY);

		for (size_t k = 0; k < MANY; k++) {
			old[k] = files[rng_below(&rng, 7)];
			new[k] = files[rng_below(&rng, 7)];
		}
		pair_up(old, n, new, m, of);
	}
}

int suite_pair(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_common_tails),
		cmocka_unit_test(test_within_a_name),
		cmocka_unit_test(test_each_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
