#include "base/json.h"

#include "base/mem.h"
#include "base/order.h"
#include "base/text.h"

#include <ctype.h>
#include <math.h>

#define DEPTH_MAX	 200 /* maximum depth; assay's documents are at most 10 deep, and cJSON's own limit is 1000 */
#define NUMBER_BYTES_MAX 63  /* maximum length of a number; cJSON truncates longer ones */

/* State of the scanner, which checks a text before cJSON parses it: cJSON accepts more than RFC 8259 and reports no line numbers. The
 * scanner also records the line of each key, in the order of the text. */
struct scan {
	const char *name, *at, *end;
	char *loose; /* the scanned text, writable, to replace invalid parts; NULL if invalid parts are errors */
	size_t line;
	size_t depth;
	size_t *key_lines, n_keys, capacity;
	struct assay_error *err;
};

static enum assay_status scan_value(struct scan *s);

static enum assay_status fail_scan(const struct scan *s, const char *what)
{
	return assay_fail(s->err, ASSAY_E_FORMAT, "%s:%zu: %s", s->name, s->line, what);
}

static enum assay_status fail_expected(const struct scan *s, const char *what)
{
	unsigned char c;

	if (s->at == s->end)
		return assay_fail(s->err, ASSAY_E_FORMAT, "%s:%zu: expected %s, found the end: the file is truncated", s->name, s->line,
				  what);
	c = (unsigned char)*s->at;
	if (c > 0x20 && c < 0x7f)
		return assay_fail(s->err, ASSAY_E_FORMAT, "%s:%zu: expected %s, found '%c'", s->name, s->line, what, c);
	return assay_fail(s->err, ASSAY_E_FORMAT, "%s:%zu: expected %s, found byte 0x%02x", s->name, s->line, what, c);
}

static void skip_blanks(struct scan *s)
{
	for (; s->at < s->end && (*s->at == ' ' || *s->at == '\t' || *s->at == '\n' || *s->at == '\r'); s->at++)
		s->line += *s->at == '\n';
}

static bool skip_char(struct scan *s, char c)
{
	if (s->at == s->end || *s->at != c)
		return false;
	s->at++;
	return true;
}

/* Reads the four hexadecimal digits after "\u". Returns their value, or -1 if they are invalid. */
static int scan_hex(struct scan *s)
{
	int value = 0;

	if (s->end - s->at < 4)
		return -1;
	for (int i = 0; i < 4; i++) {
		int c = (unsigned char)*s->at++;

		if (!isxdigit(c))
			return -1;
		value = 16 * value + (c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10);
	}
	return value;
}

static enum assay_status scan_escape(struct scan *s)
{
	int unit;

	if (s->at < s->end && *s->at && strchr("\"\\/bfnrt", *s->at)) {
		s->at++;
		return ASSAY_OK;
	}
	if (!skip_char(s, 'u'))
		return fail_scan(s, "unknown escape in a string (write a backslash twice)");
	unit = scan_hex(s);
	if (unit < 0)
		return fail_scan(s, "\\u needs four hexadecimal digits");
	if (unit == 0)
		return fail_scan(s, "NUL character (\\u0000) in a string");
	if (unit >= 0xd800 && unit <= 0xdbff) {
		int low = skip_char(s, '\\') && skip_char(s, 'u') ? scan_hex(s) : -1;

		if (low < 0xdc00 || low > 0xdfff)
			return fail_scan(s, "half of a surrogate pair in a string");
	} else if (unit >= 0xdc00 && unit <= 0xdfff) {
		return fail_scan(s, "half of a surrogate pair in a string");
	}
	return ASSAY_OK;
}

/* Scans one character or one escape sequence of a string. */
static enum assay_status scan_character(struct scan *s)
{
	if ((unsigned char)*s->at < 0x20)
		return fail_scan(s, *s->at == '\n' ? "a string does not end on its line" : "control character in a string");
	return *s->at++ == '\\' ? scan_escape(s) : ASSAY_OK;
}

static enum assay_status scan_string(struct scan *s)
{
	const char *start = ++s->at;

	while (s->at < s->end && *s->at != '"') {
		const char *from = s->at;
		enum assay_status st = scan_character(s);

		if (st && (!s->loose || *from == '\n' || !*from))
			return st;
		if (st)
			s->at = from + 1;
		if (st)
			s->loose[from - s->loose] = JSON_UNREADABLE;
	}
	if (s->at == s->end)
		return fail_expected(s, "the end of a string");
	if (!text_is_utf8(start, (size_t)(s->at - start))) {
		if (!s->loose)
			return fail_scan(s, "a string is not UTF-8");
		for (const char *c = start; c < s->at; c++)
			s->loose[c - s->loose] = (unsigned char)*c < 0x80 ? *c : JSON_UNREADABLE;
	}
	s->at++;
	return ASSAY_OK;
}

static bool skip_digits(struct scan *s)
{
	const char *start = s->at;

	while (s->at < s->end && *s->at >= '0' && *s->at <= '9')
		s->at++;
	return s->at > start;
}

/* Replaces the n bytes before s->at by an empty string and spaces. */
static enum assay_status replace_by_empty_string(struct scan *s, size_t n)
{
	char *from = s->loose + (s->at - s->loose) - n;

	memset(from, ' ', n);
	memset(from, '"', 2);
	return ASSAY_OK;
}

/* Returns the size of the number at s->at if it is NaN, infinite or too large for a double; else 0. */
static size_t nonfinite_bytes(const struct scan *s)
{
	char *end;

	return isfinite(strtod(s->at, &end)) ? 0 : (size_t)(end - s->at);
}

static enum assay_status scan_number(struct scan *s)
{
	char copy[NUMBER_BYTES_MAX + 1];
	const char *start = s->at;
	size_t n;
	double value;

	skip_char(s, '-');
	if (!skip_char(s, '0') && !skip_digits(s))
		return fail_expected(s, "a digit");
	if (skip_char(s, '.') && !skip_digits(s))
		return fail_expected(s, "a digit");
	if (skip_char(s, 'e') || skip_char(s, 'E')) {
		if (!skip_char(s, '-'))
			skip_char(s, '+');
		if (!skip_digits(s))
			return fail_expected(s, "a digit");
	}
	n = (size_t)(s->at - start);
	if (n > NUMBER_BYTES_MAX)
		return s->loose ? replace_by_empty_string(s, n) : fail_scan(s, "a number of more than 63 characters");
	memcpy(copy, start, n);
	copy[n] = '\0';
	if (!text_parse_double(copy, &value))
		return fail_scan(s, "a number too large for a double");
	return ASSAY_OK;
}

static enum assay_status scan_word(struct scan *s)
{
	static const char *const words[] = { "true", "false", "null" };

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		size_t n = strlen(words[i]);

		if ((size_t)(s->end - s->at) >= n && !memcmp(s->at, words[i], n)) {
			s->at += n;
			return ASSAY_OK;
		}
	}
	return fail_expected(s, "a value");
}

static enum assay_status scan_key(struct scan *s)
{
	enum assay_status st;

	skip_blanks(s);
	if (s->at == s->end || *s->at != '"')
		return fail_expected(s, "a key in double quotes");
	mem_append(s->key_lines, s->n_keys, &s->capacity, s->line);
	st = scan_string(s);
	if (st)
		return st;
	skip_blanks(s);
	return skip_char(s, ':') ? ASSAY_OK : fail_expected(s, "':'");
}

/* Scans the items of an object or array. s->at is after its opening bracket. */
static enum assay_status scan_items(struct scan *s, char close, const char *separators)
{
	enum assay_status st = ASSAY_OK;

	if (s->depth++ == DEPTH_MAX)
		return assay_fail(s->err, ASSAY_E_LIMIT, "%s:%zu: nested deeper than %d levels", s->name, s->line, DEPTH_MAX);
	skip_blanks(s);
	if (skip_char(s, close))
		goto out;
	do {
		if (close == '}')
			st = scan_key(s);
		if (!st)
			st = scan_value(s);
		if (st)
			return st;
	} while (skip_char(s, ','));
	if (!skip_char(s, close))
		return fail_expected(s, separators);
out:
	s->depth--;
	return ASSAY_OK;
}

/* Scans a value and the whitespace around it. */
static enum assay_status scan_value(struct scan *s)
{
	enum assay_status st;
	size_t n;

	skip_blanks(s);
	n = s->loose && s->at < s->end ? nonfinite_bytes(s) : 0;
	s->at += n;
	if (n)
		st = replace_by_empty_string(s, n);
	else if (s->at == s->end)
		st = fail_expected(s, "a value");
	else if (*s->at == '"')
		st = scan_string(s);
	else if (*s->at == '-' || (*s->at >= '0' && *s->at <= '9'))
		st = scan_number(s);
	else if (skip_char(s, '{'))
		st = scan_items(s, '}', "',' or '}'");
	else if (skip_char(s, '['))
		st = scan_items(s, ']', "',' or ']'");
	else
		st = scan_word(s);
	if (!st)
		skip_blanks(s);
	return st;
}

struct json_member_position {
	const char *key;
	size_t line;
};

ORDER_BY(compare_named, struct json_member_position, BY_TEXT(key) BY_ASC(line))

static enum assay_status refuse_twice(const struct scan *s, struct json_member_position *names, size_t n)
{
	const struct json_member_position *again = NULL;

	qsort(names, n, sizeof(*names), compare_named);
	for (size_t i = 1; i < n; i++)
		if (!strcmp(names[i - 1].key, names[i].key) && (!again || names[i].line < again->line))
			again = &names[i];
	if (!again)
		return ASSAY_OK;
	return assay_fail(s->err, ASSAY_E_FORMAT, "%s:%zu: key '%s' is repeated (first on line %zu)", s->name, again->line,
			  TEXT_SANITIZED(again->key), again[-1].line);
}

/* Refuses duplicate keys; in loose mode, only in the outermost object. Visits keys in the order of the text: *key is an index of
 * key_lines. */
static enum assay_status check_duplicates(const struct scan *s, const cJSON *node, size_t *key)
{
	struct json_member_position *names = NULL;
	bool outer = *key == 0;
	size_t n = 0, capacity = 0;
	enum assay_status st = ASSAY_OK;
	const cJSON *child;

	cJSON_ArrayForEach(child, node)
	{
		if (cJSON_IsObject(node)) {
			ASSAY_BUG_IF(*key >= s->n_keys);
			mem_append(names, n, &capacity, (struct json_member_position){ child->string, s->key_lines[(*key)++] });
		}
		if (!st)
			st = check_duplicates(s, child, key);
	}
	if (!st && n > 1 && (outer || !s->loose))
		st = refuse_twice(s, names, n);
	free(names);
	return st;
}

static enum assay_status scan_document(struct scan *s)
{
	enum assay_status st;

	if (s->end - s->at >= 3 && !memcmp(s->at, "\xef\xbb\xbf", 3))
		return fail_scan(s, "starts with a byte order mark, which JSON does not allow: remove it");
	st = scan_value(s);
	if (!st && s->at < s->end)
		st = fail_expected(s, "nothing after the value");
	return st;
}

static enum assay_status parse(const char *name, const char *text, size_t n, char *loose, cJSON **out, struct assay_error *err)
{
	struct scan s = { .name = name, .at = text, .end = text + n, .loose = loose, .line = 1, .err = err };
	cJSON *root = NULL;
	size_t key = 0;
	enum assay_status st;

	if (n > JSON_BYTES_MAX)
		return assay_fail(err, ASSAY_E_LIMIT, "%s:1: %zu bytes; at most %u are read", name, n, JSON_BYTES_MAX);
	st = scan_document(&s);
	if (st)
		goto out;
	root = cJSON_ParseWithLength(text, n);
	if (!root) {
		st = assay_fail(err, ASSAY_E_FORMAT, "%s:1: cJSON cannot read it", name);
		goto out;
	}
	st = check_duplicates(&s, root, &key);
	if (st)
		goto out;
	*out = root;
	root = NULL; /* the caller owns it now, so it is not deleted below */
out:
	cJSON_Delete(root);
	free(s.key_lines);
	return st;
}

enum assay_status json_parse(const char *name, const char *text, size_t n, cJSON **out, struct assay_error *err)
{
	return parse(name, text, n, NULL, out, err);
}

enum assay_status json_parse_lenient(const char *name, char *text, size_t n, cJSON **out, struct assay_error *err)
{
	return parse(name, text, n, text, out, err);
}
