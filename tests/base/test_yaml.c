#include "base/yaml.h"

#include "base/buf.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

/* Appends the tree with its lines to `out`, such as "{a@1:1,b@2:[x@3,'y'@3]@2}@1". Quoted scalars are in quotes. */
static void show(const struct yaml_node *node, struct buf *out)
{
	if (node->kind == YAML_SCALAR)
		buf_format(out, node->plain ? "%s" : "'%s'", node->scalar);
	else
		buf_char(out, node->kind == YAML_MAP ? '{' : '[');
	for (size_t i = 0; i < node->n_items; i++) {
		if (i)
			buf_char(out, ',');
		if (node->items[i].key)
			buf_format(out, "%s:", node->items[i].key);
		show(&node->items[i], out);
	}
	if (node->kind != YAML_SCALAR)
		buf_char(out, node->kind == YAML_MAP ? '}' : ']');
	buf_format(out, "@%zu", node->line);
}

static char *read_text(const char *text, size_t n, enum assay_status *status)
{
	struct buf out = BUF_INIT;
	struct yaml_node root;
	struct assay_error err;

	*status = yaml_parse("f.yaml", text, n, &root, &err);
	if (*status) {
		buf_text(&out, err.text);
	} else {
		show(&root, &out);
		yaml_release(&root);
	}
	return buf_take(&out);
}

static void test_parse(void **state)
{
	static const struct {
		const char *what, *text;
		enum assay_status status;
		const char *expected; /* tree, or the start of the error */
	} rows[] = {
		{ "what YAML keeps for itself", "\xc3\xa4: 1\na: [@b]\n", ASSAY_E_FORMAT,
		  "f.yaml:2: YAML needs quotes around a text that starts with '@'" },
		{ "nothing", "", ASSAY_OK, "{}@1" },
		{ "only comments", "# a\n# b\n", ASSAY_OK, "{}@1" },
		{ "an empty document", "---\n", ASSAY_OK, "{}@1" },
		{ "a map", "a: 1\nb: 'x'\n", ASSAY_OK, "{a:1@1,b:'x'@2}@1" },
		{ "lists", "a:\n  - x\n  - [y, \"z\"]\n", ASSAY_OK, "{a:[x@2,[y@3,'z'@3]@3]@1}@1" },
		{ "no value", "a:\nb: ~\n", ASSAY_OK, "{a:@1,b:~@2}@1" },
		{ "empty ones", "a: {}\nb: []\n", ASSAY_OK, "{a:{}@1,b:[]@2}@1" },
		{ "a block of text", "a: |\n  x\n  y\nb: 1", ASSAY_OK, "{a:'x\ny\n'@1,b:1@4}@1" },
		{ "an explicit start", "%YAML 1.1\n---\na: 1\n...\n", ASSAY_OK, "{a:1@3}@3" },
		{ "a list at the root", "- a\n- b: 1\n  c: 2\n", ASSAY_OK, "[a@1,{b:1@2,c:2@3}@2]@1" },
		{ "a byte order mark",
		  "\xef\xbb\xbf"
		  "a: \xc3\xa9\n",
		  ASSAY_OK, "{a:\xc3\xa9@1}@1" },
		{ "duplicate key", "a: 1\nb: 2\na: 3\n", ASSAY_E_FORMAT, "f.yaml:3: key 'a' is repeated (first on line 1)" },
		{ "duplicate in an inner map", "x:\n  - b: 1\n    c: 1\n    \"b\": 2\n", ASSAY_E_FORMAT, "f.yaml:4: key 'b'" },
		{ "the same key elsewhere", "a: {b: 1}\nc: {b: 1}\n", ASSAY_OK, "{a:{b:1@1}@1,c:{b:1@2}@2}@1" },
		{ "anchor", "a: 1\nb: &x 1\n", ASSAY_E_FORMAT, "f.yaml:2: anchors" },
		{ "anchor of a map", "a: &x\n  b: 1\n", ASSAY_E_FORMAT, "f.yaml:1: anchors" },
		{ "anchor of a key", "&x a: 1\n", ASSAY_E_FORMAT, "f.yaml:1: anchors" },
		{ "alias", "a: 1\nb: *x\n", ASSAY_E_FORMAT, "f.yaml:2: aliases" },
		{ "merge", "a: 1\n<<: *x\n", ASSAY_E_FORMAT, "f.yaml:2: aliases" },
		{ "tag", "a: !!str 1\n", ASSAY_E_FORMAT, "f.yaml:1: tags" },
		{ "tag of a list", "a:\n  !x [1]\n", ASSAY_E_FORMAT, "f.yaml:2: tags" },
		{ "second document", "a: 1\n---\nb: 1\n", ASSAY_E_FORMAT, "f.yaml:2: a second document" },
		{ "key that is a list", "a: 1\n? [b]\n: 1\n", ASSAY_E_FORMAT, "f.yaml:2: a key must be" },
		{ "NUL escape", "a: 1\nb: \"x\\0y\"\n", ASSAY_E_FORMAT, "f.yaml:2: NUL" },
		{ "tab", "a:\n\tb: 1\n", ASSAY_E_FORMAT, "f.yaml:2: YAML does not allow tabs" },
		{ "open bracket", "a: 1\nb: [1,\n", ASSAY_E_FORMAT, "f.yaml:3: " },
		{ "open bracket on the last line", "a: 1\nb: [1,", ASSAY_E_FORMAT, "f.yaml:2: " },
		{ "no colon on the last line", "a:\n  - b: 1\nc ", ASSAY_E_FORMAT, "f.yaml:3: " },
		{ "colon inside", "a: 1\nb: c: d\n", ASSAY_E_FORMAT, "f.yaml:2: mapping values are not allowed" },
		{ "not UTF-8", "a: 1\nb: caf\xe9\n", ASSAY_E_FORMAT, "f.yaml:2: not plain UTF-8" },
		{ "control character", "a: 1\nb: 1\nc: \x01\n", ASSAY_E_FORMAT, "f.yaml:3: not plain UTF-8" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		enum assay_status status;
		char *got = read_text(rows[i].text, strlen(rows[i].text), &status);

		if (status != rows[i].status ||
		    (status ? strncmp(got, rows[i].expected, strlen(rows[i].expected)) : strcmp(got, rows[i].expected)))
			fail_msg("%s: status %d, '%s'", rows[i].what, (int)status, got);
		free(got);
	}
}

static void check_status(const struct buf *text, enum assay_status expected)
{
	enum assay_status status;
	char *got = read_text(text->bytes, text->size, &status);

	if (status != expected)
		fail_msg("%zu bytes: status %d, %.100s", text->size, (int)status, got);
	free(got);
}

static void test_limits(void **state)
{
	struct buf text = BUF_INIT;

	(void)state;
	for (int i = 0; i < YAML_DEPTH_MAX; i++)
		buf_char(&text, '[');
	for (int i = 0; i < YAML_DEPTH_MAX; i++)
		buf_char(&text, ']');
	check_status(&text, ASSAY_OK);
	buf_clear(&text);
	for (int i = 0; i < YAML_DEPTH_MAX + 1; i++)
		buf_char(&text, '[');
	for (int i = 0; i < YAML_DEPTH_MAX + 1; i++)
		buf_char(&text, ']');
	check_status(&text, ASSAY_E_LIMIT);
	buf_clear(&text);
	for (int i = 0; i < 100000; i++)
		buf_char(&text, '[');
	check_status(&text, ASSAY_E_LIMIT);
	buf_clear(&text);
	for (int i = 0; i < YAML_NODES_MAX - 1; i++)
		buf_text(&text, "- a\n");
	check_status(&text, ASSAY_OK);
	buf_text(&text, "- a\n");
	check_status(&text, ASSAY_E_LIMIT);
	buf_clear(&text);
	while (text.size < YAML_BYTES_MAX)
		buf_text(&text, "# a row of 16 b\n");
	check_status(&text, ASSAY_OK);
	buf_char(&text, '\n');
	check_status(&text, ASSAY_E_LIMIT);
	buf_release(&text);
}

static void test_many_keys(void **state)
{
	struct buf text = BUF_INIT;

	(void)state;
	for (int i = 0; i < 50000; i++)
		buf_format(&text, "k%d: 1\n", i);
	check_status(&text, ASSAY_OK);
	buf_text(&text, "k77: 2\n");
	check_status(&text, ASSAY_E_FORMAT);
	buf_release(&text);
}

static struct yaml_node parse(const char *text)
{
	struct yaml_node root;
	struct assay_error err;

	if (yaml_parse("lab.yaml", text, strlen(text), &root, &err))
		fail_msg("%s", err.text);
	return root;
}

static void test_keys(void **state)
{
	static const char *const keys[] = { "name", "port", "user" };
	struct yaml_node root = parse("name: a\n\nprot: 1\n"), far = parse("name: x\nbanana: 1\n"), list = parse("- a\n");
	struct assay_error err;

	(void)state;
	assert_int_equal(yaml_check_keys("lab.yaml", &root, "host", keys, 3, &err), ASSAY_E_FORMAT);
	assert_string_equal(err.text, "lab.yaml:3: unknown key 'prot' in host (did you mean 'port'?)");
	assert_int_equal(yaml_check_keys("lab.yaml", &far, "host", keys, 3, &err), ASSAY_E_FORMAT);
	assert_string_equal(err.text, "lab.yaml:2: unknown key 'banana' in host (known: name, port, user)");
	assert_int_equal(yaml_check_keys("lab.yaml", &list, "host", keys, 3, &err), ASSAY_E_FORMAT);
	assert_string_equal(err.text, "lab.yaml:1: host must be a map of keys and values, not a list");
	yaml_release(&root);
	yaml_release(&far);
	root = parse("user: a\nname: b\n");
	assert_int_equal(yaml_check_keys("lab.yaml", &root, "host", keys, 3, &err), ASSAY_OK);
	yaml_release(&root);
	yaml_release(&list);
}

static void test_get(void **state)
{
	struct yaml_node root = parse("a: 1\nb:\nc: ~\nd: null\ne: ''\nf: \"null\"\ng: []\n");

	(void)state;
	assert_string_equal(yaml_get(&root, "a")->scalar, "1");
	assert_null(yaml_get(&root, "b"));
	assert_null(yaml_get(&root, "c"));
	assert_null(yaml_get(&root, "d"));
	assert_string_equal(yaml_get(&root, "e")->scalar, "");
	assert_string_equal(yaml_get(&root, "f")->scalar, "null");
	assert_int_equal(yaml_get(&root, "g")->kind, YAML_LIST);
	assert_null(yaml_get(&root, "h"));
	yaml_release(&root);
	yaml_release(&root); /* accepts a zeroed value */
	yaml_release(NULL);
}

static void test_values(void **state)
{
	struct yaml_node root = parse("port: 70000\nrate: 0.5\nname: m1\nlist: [x,  ]\non: yes\noff: False\n");
	const struct yaml_node *port = yaml_get(&root, "port"), *rate = yaml_get(&root, "rate"), *name = yaml_get(&root, "name"),
			       *list = yaml_get(&root, "list");
	struct assay_error err;
	const char *text = NULL;
	int64_t i = 0;
	double d = 0;
	bool b = false;

	(void)state;
	assert_int_equal(yaml_int("f", port, 0, INT64_MAX, &i, &err), ASSAY_OK);
	assert_int_equal(i, 70000);
	assert_int_equal(yaml_int("f", port, 1, 65535, &i, &err), ASSAY_E_FORMAT);
	assert_string_equal(err.text, "f:1: 'port' must be an integer from 1 to 65535, not '70000'");
	assert_int_equal(yaml_int("f", rate, 1, INT64_MAX, &i, &err), ASSAY_E_FORMAT);
	assert_string_equal(err.text, "f:2: 'rate' must be an integer of at least 1, not '0.5'");
	assert_int_equal(yaml_double("f", rate, 0, 1, &d, &err), ASSAY_OK);
	assert_true(d == .5);
	assert_int_equal(yaml_double("f", rate, 0, .25, &d, &err), ASSAY_E_FORMAT);
	assert_string_equal(err.text, "f:2: 'rate' must be a number from 0 to 0.25, not '0.5'");
	assert_int_equal(yaml_double("f", rate, .75, 1, &d, &err), ASSAY_E_FORMAT);
	assert_true(d == .5);
	assert_int_equal(yaml_double("f", name, -(double)INFINITY, (double)INFINITY, &d, &err), ASSAY_E_FORMAT);
	assert_string_equal(err.text, "f:3: 'name' must be a number, not 'm1'");
	assert_int_equal(yaml_double("f", name, 0, (double)INFINITY, &d, &err), ASSAY_E_FORMAT);
	assert_string_equal(err.text, "f:3: 'name' must be a number of at least 0, not 'm1'");
	assert_int_equal(yaml_string("f", name, &text, &err), ASSAY_OK);
	assert_string_equal(text, "m1");
	assert_int_equal(yaml_string("f", list, &text, &err), ASSAY_E_FORMAT);
	assert_string_equal(err.text, "f:4: 'list' must be a text, not a list");
	assert_int_equal(yaml_require_list("f", list, &err), ASSAY_OK);
	assert_int_equal(list->n_items, 1);
	assert_int_equal(yaml_require_list("f", name, &err), ASSAY_E_FORMAT);
	assert_string_equal(err.text, "f:3: 'name' must be a list, not 'm1'");
	assert_int_equal(yaml_int("f", &list->items[0], 0, 9, &i, &err), ASSAY_E_FORMAT);
	assert_string_equal(err.text, "f:4: the value must be an integer from 0 to 9, not 'x'");
	assert_int_equal(yaml_bool("f", yaml_get(&root, "on"), &b, &err), ASSAY_OK);
	assert_true(b);
	assert_int_equal(yaml_bool("f", yaml_get(&root, "off"), &b, &err), ASSAY_E_FORMAT);
	assert_string_equal(err.text, "f:6: 'off' must be true or false, not 'False'");
	assert_true(b);
	yaml_release(&root);
}

static void test_empty_items(void **state)
{
	struct yaml_node root = parse("-\n- no\n- false\n- true\n");
	struct assay_error err;
	const char *text;
	bool b = true;

	(void)state;
	assert_int_equal(yaml_string("f", &root.items[0], &text, &err), ASSAY_E_FORMAT);
	assert_string_equal(err.text, "f:1: the value must be a text, but it is empty");
	assert_int_equal(yaml_bool("f", &root.items[1], &b, &err), ASSAY_OK);
	assert_false(b);
	b = true;
	assert_int_equal(yaml_bool("f", &root.items[2], &b, &err), ASSAY_OK);
	assert_false(b);
	assert_int_equal(yaml_bool("f", &root.items[3], &b, &err), ASSAY_OK);
	assert_true(b);
	yaml_release(&root);
}

int suite_yaml(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_parse),	    cmocka_unit_test(test_limits), cmocka_unit_test(test_many_keys),
		cmocka_unit_test(test_keys),	    cmocka_unit_test(test_get),	   cmocka_unit_test(test_values),
		cmocka_unit_test(test_empty_items),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
