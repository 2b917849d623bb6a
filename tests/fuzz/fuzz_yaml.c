/* Checks that a tree from yaml_parse(), written with every text in double quotes, is read as the same tree, and that errors name a line. */
#include "base/buf.h"
#include "base/yaml.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Returns the character at *text, which is UTF-8, and advances *text to the next one. */
static unsigned next_character(const char **text)
{
	const unsigned char *s = (const unsigned char *)*text;
	unsigned length = s[0] < 0x80 ? 1 : s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3 : 4;
	unsigned c = length == 1 ? s[0] : s[0] & (0x7fu >> length);

	for (unsigned i = 1; i < length; i++)
		c = c << 6 | (s[i] & 0x3f);
	*text += length;
	return c;
}

/* Appends a quoted text. Only printable ASCII is not escaped: YAML also ends lines at U+2028, and some characters must be escaped. */
static void add_text(struct buf *out, const char *text)
{
	buf_char(out, '"');
	while (*text) {
		unsigned c = next_character(&text);

		if (c < 0x20 || c >= 0x7f || c == '"' || c == '\\')
			buf_format(out, "\\U%08x", c);
		else
			buf_char(out, (char)c);
	}
	buf_char(out, '"');
}

static void add_node(struct buf *out, const struct yaml_node *node)
{
	if (node->kind == YAML_SCALAR) {
		add_text(out, node->scalar);
		return;
	}
	buf_char(out, node->kind == YAML_MAP ? '{' : '[');
	for (size_t i = 0; i < node->n_items; i++) {
		if (node->kind == YAML_MAP) {
			buf_text(out, "? "); /* without "? ", a key is limited to 1024 characters */
			add_text(out, node->items[i].key);
			buf_text(out, " : ");
		}
		add_node(out, &node->items[i]);
		buf_text(out, ",\n");
	}
	buf_char(out, node->kind == YAML_MAP ? '}' : ']');
}

static bool equal(const struct yaml_node *a, const struct yaml_node *b)
{
	if (a->kind != b->kind || a->n_items != b->n_items || !a->key != !b->key)
		return false;
	if (a->key && strcmp(a->key, b->key) != 0)
		return false;
	if (a->kind == YAML_SCALAR)
		return strcmp(a->scalar, b->scalar) == 0;
	for (size_t i = 0; i < a->n_items; i++)
		if (!equal(&a->items[i], &b->items[i]))
			return false;
	return true;
}

/* Checks that each node's line is in the file, and not before its parent's line. */
static void check_lines(const struct yaml_node *node, size_t low, size_t high)
{
	ASSAY_BUG_IF(node->line < low || node->line > high);
	for (size_t i = 0; i < node->n_items; i++)
		check_lines(&node->items[i], node->line, high);
}

static void check_error(const struct assay_error *err, size_t lines)
{
	unsigned long line;
	char *end;

	ASSAY_BUG_IF(strncmp(err->text, "fuzz:", 5) != 0);
	line = strtoul(err->text + 5, &end, 10);
	ASSAY_BUG_IF(*end != ':' || line < 1 || line > lines);
}

/* Counts lines. libyaml also ends lines at CR, NEL and the separators U+2028 and U+2029. */
static size_t count_lines(const uint8_t *data, size_t size)
{
	size_t lines = 1;

	for (size_t i = 0; i < size; i++)
		lines += data[i] == '\n' || data[i] == '\r' || data[i] == 0x85 || data[i] == 0xa8 || data[i] == 0xa9;
	return lines;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct assay_error err = { .text = "" };
	struct yaml_node root, again;
	struct buf text = BUF_INIT;

	if (yaml_parse("fuzz", (const char *)data, size, &root, &err)) {
		check_error(&err, count_lines(data, size));
		return 0;
	}
	check_lines(&root, 1, count_lines(data, size));
	add_node(&text, &root);
	if (yaml_parse("fuzz", text.bytes, text.size, &again, &err)) {
		fprintf(stderr, "%s\n%s\n", err.text, text.bytes);
		ASSAY_BUG_IF("what was written cannot be read" != NULL);
	}
	ASSAY_BUG_IF(!equal(&root, &again));
	yaml_release(&root);
	yaml_release(&again);
	buf_release(&text);
	return 0;
}
