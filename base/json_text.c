/* Prints JSON for json.h. cJSON_Print is unsuitable: it has its own format of numbers, and puts all numbers of an array on one line,
 * however long. Users read and compare these texts, so they need short lines. */
#include "base/json.h"

#include "base/buf.h"
#include "base/text.h"

#include <math.h>

#define COLUMNS_MAX	 120
#define REPLACEMENT_BYTE "\xef\xbf\xbd" /* U+FFFD, the replacement character */

static void add_value(struct buf *out, const cJSON *node, size_t indent);

static void add_line(struct buf *out, size_t indent)
{
	buf_char(out, '\n');
	for (size_t i = 0; i < indent; i++)
		buf_text(out, "  ");
}

static void add_escaped(struct buf *out, char c)
{
	static const char plain[] = "\"\\\b\f\n\r\t", letters[] = "\"\\bfnrt";
	const char *found = strchr(plain, c);

	if (found)
		buf_format(out, "\\%c", letters[found - plain]);
	else
		buf_format(out, "\\u%04x", (unsigned)(unsigned char)c);
}

static bool is_plain(char c)
{
	return (unsigned char)c >= 0x20 && c != '"' && c != '\\' && c != 0x7f;
}

static size_t utf8_length(const char *text, size_t n)
{
	for (size_t length = 1; length <= n && length <= 4; length++)
		if (text_is_utf8(text, length))
			return length;
	return 0;
}

/* Appends text that may be invalid UTF-8, such as a file name. U+FFFD replaces each invalid byte, so that the JSON is valid. */
static void add_repaired_text(struct buf *out, const char *text)
{
	size_t n = strlen(text);

	while (n) {
		size_t length = utf8_length(text, n);

		if (length == 1 && !is_plain(*text))
			add_escaped(out, *text);
		else if (length)
			buf_add(out, text, length);
		else
			buf_text(out, REPLACEMENT_BYTE);
		text += length ? length : 1;
		n -= length ? length : 1;
	}
}

static void add_string(struct buf *out, const char *text)
{
	ASSAY_BUG_IF(!text);
	buf_char(out, '"');
	if (text_is_utf8(text, strlen(text))) {
		while (*text) {
			const char *start = text;

			while (*text && is_plain(*text))
				text++;
			buf_add(out, start, (size_t)(text - start));
			if (*text)
				add_escaped(out, *text++);
		}
	} else {
		add_repaired_text(out, text);
	}
	buf_char(out, '"');
}

static void add_number(struct buf *out, double value)
{
	buf_text(out, TEXT_DOUBLE(value)); /* aborts if `value` is not finite, which is a bug of the caller */
}

/* Returns the number of characters from offset `line_start` to the end. */
static size_t column_position(const struct buf *out, size_t line_start)
{
	size_t columns = 0;

	for (size_t i = line_start; i < out->size; i++)
		columns += ((unsigned char)out->bytes[i] & 0xc0) != 0x80;
	return columns;
}

static size_t find_last_line(const struct buf *out)
{
	const char *newline = out->size ? memrchr(out->bytes, '\n', out->size) : NULL;

	return newline ? (size_t)(newline - out->bytes) + 1 : 0;
}

/* Appends the array as "[1, 2]" and returns true if it has only scalars and fits on the line with a comma. Else appends nothing. */
static bool add_on_one_line(struct buf *out, const cJSON *array)
{
	size_t start = out->size, line_start = find_last_line(out);
	const cJSON *item;

	buf_char(out, '[');
	cJSON_ArrayForEach(item, array)
	{
		if (cJSON_IsArray(item) || cJSON_IsObject(item))
			goto undo;
		if (item != array->child)
			buf_text(out, ", ");
		add_value(out, item, 0);
		/* Counting bytes is a fast first check: no text has more characters than bytes. */
		if (out->size - line_start > COLUMNS_MAX - 2 && column_position(out, line_start) > COLUMNS_MAX - 2)
			goto undo;
	}
	buf_char(out, ']');
	return true;
undo:
	out->size = start;
	out->bytes[start] = '\0';
	return false;
}

static void add_items(struct buf *out, const cJSON *node, size_t indent)
{
	bool object = cJSON_IsObject(node);
	const cJSON *child;

	buf_char(out, object ? '{' : '[');
	cJSON_ArrayForEach(child, node)
	{
		if (child != node->child)
			buf_char(out, ',');
		add_line(out, indent + 1);
		if (object) {
			add_string(out, child->string);
			buf_text(out, ": ");
		}
		add_value(out, child, indent + 1);
	}
	if (node->child)
		add_line(out, indent);
	buf_char(out, object ? '}' : ']');
}

static void add_array(struct buf *out, const cJSON *node, size_t indent)
{
	ASSAY_BUG_IF(!cJSON_IsArray(node));
	if (!add_on_one_line(out, node))
		add_items(out, node, indent);
}

static void add_value(struct buf *out, const cJSON *node, size_t indent)
{
	if (cJSON_IsString(node))
		add_string(out, node->valuestring);
	else if (cJSON_IsNumber(node))
		add_number(out, node->valuedouble);
	else if (cJSON_IsBool(node))
		buf_text(out, cJSON_IsTrue(node) ? "true" : "false");
	else if (cJSON_IsNull(node))
		buf_text(out, "null");
	else if (cJSON_IsObject(node))
		add_items(out, node, indent);
	else
		add_array(out, node, indent);
}

static void add_document(struct buf *out, const cJSON *root)
{
	ASSAY_BUG_IF(!root);
	add_value(out, root, 0);
	buf_char(out, '\n');
}

cJSON *json_get(const cJSON *object, const char *key)
{
	return cJSON_GetObjectItemCaseSensitive(object, key);
}

const char *json_get_text(const cJSON *object, const char *key)
{
	const char *text = cJSON_GetStringValue(json_get(object, key));

	return text ? text : "";
}

double json_get_number(const cJSON *object, const char *key)
{
	const cJSON *number = json_get(object, key);

	return cJSON_IsNumber(number) ? number->valuedouble : (double)NAN;
}

size_t json_get_count(const cJSON *object, const char *key)
{
	double number = json_get_number(object, key);

	return number > 0 ? (size_t)number : 0;
}

void json_add_number(cJSON *object, const char *key, double value)
{
	cJSON_AddItemToObject(object, key, isfinite(value) ? cJSON_CreateNumber(value) : cJSON_CreateNull());
}

char *json_text(const cJSON *root)
{
	struct buf out = BUF_INIT;

	add_document(&out, root);
	return buf_take(&out);
}

char *json_line(const cJSON *root)
{
	char *text = cJSON_PrintUnformatted(root);
	struct buf out = BUF_INIT;

	ASSAY_BUG_IF(!text);
	for (size_t n = strlen(text), at = 0, length; at < n; at += length ? length : 1) {
		length = utf8_length(text + at, n - at);
		if (length)
			buf_add(&out, text + at, length);
		else
			buf_text(&out, REPLACEMENT_BYTE);
	}
	buf_char(&out, '\n');
	cJSON_free(text);
	return buf_take(&out);
}

void json_append_text(struct buf *out, cJSON *root)
{
	add_document(out, root);
	cJSON_Delete(root);
}
