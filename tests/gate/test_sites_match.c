/* Call sites of one build found again in another. */
#include "base/mem.h"
#include "gate/variance/versus.h"
#include "tests/scratch.h"

#define NEW_ONE FRAGMENT_NO_SITE

struct made_site {
	const char *module;
	uint64_t address;
	const char *name;
};

static struct fragments made(const struct made_site *sites, size_t n)
{
	struct fragments f = { .sites = mem_new(n, sizeof(*f.sites)), .n_sites = n };

	for (size_t i = 0; i < n; i++)
		f.sites[i] = (struct fragment_site){ .module = mem_string(sites[i].module),
						     .name = mem_string(sites[i].name),
						     .address = sites[i].address };
	return f;
}

static void check_match(const struct made_site *before, size_t n, const struct made_site *after, size_t m, const uint32_t *expected)
{
	struct fragments old = made(before, n), new = made(after, m);
	uint32_t *match = sites_match(&old, &new);

	for (size_t i = 0; i < m; i++)
		assert_int_equal(match[i], expected[i]);
	free(match);
	fragments_release(&old);
	fragments_release(&new);
}

/* The new build has one call more and one less, at other addresses; the library is the same file. */
static void test_builds(void **state)
{
	static const struct made_site before[] = { { "11", 0x10, "open" },  { "11", 0x20, "read" }, { "11", 0x30, "write" },
						   { "11", 0x40, "fsync" }, { "77", 0x5, "poll" },  { "77", 0x9, "read" } };
	static const struct made_site after[] = { { "22", 0x12, "open" },  { "22", 0x20, "lseek" }, { "22", 0x31, "read" },
						  { "22", 0x44, "write" }, { "77", 0x9, "read" },   { "77", 0xb, "poll" } };
	static const uint32_t expected[] = { 0, NEW_ONE, 1, 2, 5, NEW_ONE };

	(void)state;
	check_match(before, COUNT(before), after, COUNT(after), expected);
}

/* Two modules that are new: each goes to the one that it is most like, whatever their order. */
static void test_modules(void **state)
{
	static const struct made_site before[] = {
		{ "1", 1, "read" }, { "1", 2, "write" }, { "2", 1, "poll" }, { "2", 2, "recv" }, { "2", 3, "send" }
	};
	static const struct made_site after[] = {
		{ "3", 1, "poll" }, { "3", 2, "recv" }, { "3", 3, "send" }, { "4", 1, "read" }, { "4", 2, "write" }
	};
	static const uint32_t expected[] = { 2, 3, 4, 0, 1 };

	(void)state;
	check_match(before, COUNT(before), after, COUNT(after), expected);
}

static void test_nothing_in_common(void **state)
{
	static const struct made_site before[] = { { "1", 1, "read" } }, after[] = { { "2", 1, "poll" } };
	static const uint32_t expected[] = { NEW_ONE };

	(void)state;
	check_match(before, 1, after, 1, expected);
}

int suite_sites_match(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_builds), cmocka_unit_test(test_modules),
					    cmocka_unit_test(test_nothing_in_common) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
