/* Tests node sets: expansion, error messages, and folding. */
#include "fleet/inventory/nodeset.h"

#include "base/rng.h"
#include "tests/scratch.h"

/* Returns the names, separated by spaces. The caller frees the text. */
static char *joined(const struct nodeset *set)
{
	struct buf out = BUF_INIT;

	for (size_t i = 0; i < set->n; i++)
		buf_format(&out, "%s%s", i ? " " : "", set->names[i]);
	return buf_take(&out);
}

static void test_expand(void **state)
{
	static const struct {
		const char *text, *names;
	} rows[] = {
		{ "node", "node" },
		{ "node[01-03]", "node01 node02 node03" },
		{ "node[08-11]", "node08 node09 node10 node11" },
		{ "node[8-11]", "node8 node9 node10 node11" },
		{ "node[0-2]", "node0 node1 node2" },
		{ "node[9-10]", "node9 node10" },
		{ "node[098-101]", "node098 node099 node100 node101" },
		{ "node[3,1,7-8]", "node3 node1 node7 node8" },
		{ "node[5]x", "node5x" },
		{ "r[1-2]n[1-2]", "r1n1 r1n2 r2n1 r2n2" }, /* the rightmost range varies fastest */
		{ "10.0.[1-2].[10,12]", "10.0.1.10 10.0.1.12 10.0.2.10 10.0.2.12" },
		{ "[1-2]", "1 2" },
		{ "[1-2][3-4]", "13 14 23 24" },
		{ "b,a,c[1-2]", "b a c1 c2" },
		{ " a , b[ 1 , 2 ] ,c ", "a b1 b2 c" },
		{ "fe80::1", "fe80::1" },
		{ "@big,@rack[1-2]", "@big @rack1 @rack2" },
		{ "a,a", "a a" },
		{ "n[999999999999999998-999999999999999999]", "n999999999999999998 n999999999999999999" },
		{ "\xc3\xa9[1-2]", "\xc3\xa9"
				   "1 \xc3\xa9"
				   "2" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct assay_error err;
		struct nodeset set;
		char *names;

		check(nodeset_expand(rows[i].text, &set, &err), &err);
		names = joined(&set);
		assert_string_equal(names, rows[i].names);
		free(names);
		nodeset_release(&set);
	}
}

static void test_errors(void **state)
{
	static const struct {
		const char *text;
		enum assay_status status;
		const char *part;
	} rows[] = {
		{ "", ASSAY_E_FORMAT, "'', character 1: a name is missing" },
		{ "  ", ASSAY_E_FORMAT, "a name is missing" },
		{ ",", ASSAY_E_FORMAT, "a name is missing" },
		{ "a,", ASSAY_E_FORMAT, "'a,', character 3: a name is missing" },
		{ "a,,b", ASSAY_E_FORMAT, "character 3: a name is missing" },
		{ "a[", ASSAY_E_FORMAT, "character 3: ']' is missing" },
		{ "a[1", ASSAY_E_FORMAT, "character 2: the ']' to this '[' is missing" },
		{ "a[1-", ASSAY_E_FORMAT, "character 5: ']' is missing" },
		{ "a[1,", ASSAY_E_FORMAT, "character 5: ']' is missing" },
		{ "a[]", ASSAY_E_FORMAT, "character 3: a number is expected" },
		{ "a[1,]", ASSAY_E_FORMAT, "character 5: a number is expected" },
		{ "a[x]", ASSAY_E_FORMAT, "character 3: a number is expected" },
		{ "a[-3]", ASSAY_E_FORMAT, "character 3: a number is expected" },
		{ "a[1-2-3]", ASSAY_E_FORMAT, "character 6: ',', '-' or ']' is expected" },
		{ "a[1-4/2]", ASSAY_E_FORMAT, "character 6: ',', '-' or ']' is expected" },
		{ "a[1[2]]", ASSAY_E_FORMAT, "character 4: ',', '-' or ']' is expected" },
		{ "a]", ASSAY_E_FORMAT, "character 2: unmatched ']'" },
		{ "a[1]]", ASSAY_E_FORMAT, "character 5: unmatched ']'" },
		{ "a[12-11]", ASSAY_E_FORMAT, "character 3: the range ends before it starts" },
		{ "a[01-1]", ASSAY_E_FORMAT, "same number of digits" },
		{ "a[1-010]", ASSAY_E_FORMAT, "same number of digits" },
		{ "a[00-9]", ASSAY_E_FORMAT, "same number of digits" },
		{ "a[01-100]", ASSAY_E_FORMAT, "same number of digits" },
		{ "a\tb", ASSAY_E_FORMAT, "character 2: a control character" },
		{ "a[1]\x7f", ASSAY_E_FORMAT, "character 5: a control character" },
		{ "a[1-100001]", ASSAY_E_LIMIT, "too many names" },
		{ "a[1-1000][1-101]", ASSAY_E_LIMIT, "too many names" },
		{ "b,a[1-100000]", ASSAY_E_LIMIT, "character 3: there are too many names" },
		{ "a[0-999999999999999999]", ASSAY_E_LIMIT, "too many names" },
		{ "a[0-999999999999999999][0-999999999999999999]", ASSAY_E_LIMIT, "too many names" },
		{ "a[1-1000000000000000000]", ASSAY_E_LIMIT, "character 5: this number is too long" },
		{ "a[18446744073709551617]", ASSAY_E_LIMIT, "this number is too long" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct assay_error err;
		struct nodeset set;

		check_fails(rows[i].text, nodeset_expand(rows[i].text, &set, &err), rows[i].status, &err, rows[i].part);
		assert_null(set.names);
		assert_int_equal(set.n, 0);
	}
}

static void test_long_names(void **state)
{
	struct buf text = BUF_INIT;
	struct assay_error err;
	struct nodeset set;

	(void)state;
	for (int i = 0; i < NODESET_NAME_BYTES_MAX; i++)
		buf_char(&text, 'x');
	check(nodeset_expand(text.bytes, &set, &err), &err);
	nodeset_release(&set);
	buf_text(&text, "[1-100000]");
	check_fails("a digit too much", nodeset_expand(text.bytes, &set, &err), ASSAY_E_LIMIT, &err, "this name is too long");
	buf_release(&text);
}

static void test_largest(void **state)
{
	struct assay_error err;
	struct nodeset set;
	char *folded;

	(void)state;
	check(nodeset_expand("n[00001-99999],last", &set, &err), &err);
	assert_int_equal(set.n, NODESET_NAMES_MAX);
	assert_string_equal(set.names[99998], "n99999");
	folded = nodeset_fold((const char *const *)set.names, set.n);
	assert_string_equal(folded, "n[00001-99999],last");
	free(folded);
	nodeset_release(&set);
}

static void test_fold(void **state)
{
	static const struct {
		const char *names, *folded;
	} rows[] = {
		{ "a", "a" },
		{ "a b", "a,b" },
		{ "n1", "n1" },
		{ "n1 n1", "n1" },
		{ "a b a", "a,b" },
		{ "n1 n2", "n[1-2]" },
		{ "n3 n1 n2", "n[1-3]" },
		{ "n08 n09 n10 n11", "n[08-11]" },
		{ "n8 n9 n10 n11", "n[8-11]" },
		{ "n1 n3 n4 n9", "n[1,3-4,9]" },
		{ "n01 n1 n02", "n[1,01-02]" },
		{ "n9 n10 n09", "n[9,09-10]" }, /* 10 fits both widths; both give the same name */
		{ "x n1 y n2", "x,n[1-2],y" },
		{ "n1-ib0 n2-ib0 n3-ib0", "n[1-3]-ib0" },
		{ "10.0.1.10 10.0.1.11 10.0.2.10", "10.0.1.[10-11],10.0.2.10" },
		{ "r1n1 r1n2 r2n1 r2n2", "r1n[1-2],r2n[1-2]" },
		{ "a1b1 a2b1 a3b1 a1b2", "a[1-3]b1,a1b2" },
		{ "a1b1 a1b2 a1b3 a2b3 a3b3 a2b4", "a1b[1-3],a2b[3-4],a3b3" }, /* names that are already folded do not count */
		{ "1 2 3", "[1-3]" },
		{ "n n1", "n,n1" }, /* an empty suffix is not a number */
		{ "v1234567890123456789 v1234567890123456790", "v1234567890123456789,v1234567890123456790" },
		{ "n0 n00 n000", "n[0,00,000]" },
	};
	char *nothing;

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		char *copy = mem_string(rows[i].names), *rest = copy, *name, *folded;
		const char *names[32];
		size_t n = 0;

		while ((name = strsep(&rest, " ")))
			names[n++] = name;
		folded = nodeset_fold(names, n);
		assert_string_equal(folded, rows[i].folded);
		free(folded);
		free(copy);
	}
	nothing = nodeset_fold(NULL, 0);
	assert_string_equal(nothing, "");
	free(nothing);
}

static int compare(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Sorts the names and removes duplicates. */
static void tidy(struct nodeset *set)
{
	size_t kept = 0;

	qsort(set->names, set->n, sizeof(char *), compare);
	for (size_t i = 0; i < set->n; i++) {
		if (kept && strcmp(set->names[kept - 1], set->names[i]) == 0)
			free(set->names[i]);
		else
			set->names[kept++] = set->names[i];
	}
	set->n = kept;
}

/* Checks with random names of few letters and digits that folding and expanding gives the same names. */
static void test_fold_is_inverse(void **state)
{
	static const char letters[] = "0019ab";
	struct rng rng;

	(void)state;
	rng_seed(&rng, 7);
	for (int round = 0; round < 300; round++) {
		struct nodeset set = { mem_new(60, sizeof(char *)), 0 }, again;
		struct assay_error err;
		char *folded, *left, *right;

		while (set.n < 60) {
			char name[8] = "";
			size_t length = 1 + rng_below(&rng, 5);

			for (size_t k = 0; k < length; k++)
				name[k] = letters[rng_below(&rng, sizeof(letters) - 1)];
			set.names[set.n++] = mem_string(name);
		}
		folded = nodeset_fold((const char *const *)set.names, set.n);
		check(nodeset_expand(folded, &again, &err), &err);
		tidy(&set);
		assert_int_equal(again.n, set.n); /* no name twice */
		tidy(&again);
		left = joined(&set);
		right = joined(&again);
		assert_string_equal(left, right);
		free(left);
		free(right);
		free(folded);
		nodeset_release(&set);
		nodeset_release(&again);
	}
}

int suite_nodeset(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_expand),	cmocka_unit_test(test_errors), cmocka_unit_test(test_long_names),
		cmocka_unit_test(test_largest), cmocka_unit_test(test_fold),   cmocka_unit_test(test_fold_is_inverse),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
