#include "base/order.h"
#include "base/yaml.h"

#include "base/mem.h"
#include "base/text.h"

#include <yaml.h>

struct reader {
	yaml_parser_t parser;
	const char *name, *text;
	size_t n;
	size_t n_nodes;
	struct assay_error *err;
};

/* Returns the line number, from 1, of the byte at `offset`. */
static size_t line_at(const struct reader *r, size_t offset)
{
	const char *at = r->text, *end = r->text + (offset < r->n ? offset : r->n);
	size_t line = 1;

	while (at < end && (at = memchr(at, '\n', (size_t)(end - at)))) {
		at++;
		line++;
	}
	return line;
}

static bool tab_indents(const struct reader *r, size_t line)
{
	const char *at = r->text, *end = r->text + r->n;

	while (--line && at && (at = memchr(at, '\n', (size_t)(end - at))))
		at++;
	while (at && at < end && (*at == ' ' || *at == '-'))
		at++;
	return at && at < end && *at == '\t';
}

/* Reports whether the error is at '@' or '`', which YAML reserves. A text that starts with one of them needs quotes. */
static bool is_reserved(const struct reader *r)
{
	size_t at = r->parser.problem_mark.index; /* number of characters (not bytes) before the error */

	for (size_t i = 0; i < r->n; i++) {
		if (((unsigned char)r->text[i] & 0xc0) == 0x80)
			continue;
		if (at-- == 0)
			return r->text[i] == '@' || r->text[i] == '`';
	}
	return false;
}

/* Fails with libyaml's error. An encoding error has an offset; other errors have a mark. If the last line has no newline, the mark's line
 * may be one too high. */
static enum assay_status fail_parser(const struct reader *r)
{
	const yaml_parser_t *p = &r->parser;
	size_t line = p->problem_mark.line + 1, last = line_at(r, r->n);

	if (p->error == YAML_READER_ERROR)
		return assay_fail(r->err, ASSAY_E_FORMAT, "%s:%zu: not plain UTF-8 text: %s", r->name, line_at(r, p->problem_offset),
				  p->problem);
	if (line > last)
		line = last;
	if (tab_indents(r, line))
		return assay_fail(r->err, ASSAY_E_FORMAT, "%s:%zu: YAML does not allow tabs for indentation (use spaces)", r->name, line);
	if (p->error == YAML_SCANNER_ERROR && is_reserved(r))
		return assay_fail(r->err, ASSAY_E_FORMAT,
				  "%s:%zu: YAML needs quotes around a text that starts with '@' or '`' (groups have no '@' here)", r->name,
				  line);
	return assay_fail(r->err, ASSAY_E_FORMAT, "%s:%zu: %s%s%s", r->name, line, p->problem ? p->problem : "cannot be read",
			  p->context ? " " : "", p->context ? p->context : "");
}

static enum assay_status next_event(struct reader *r, yaml_event_t *event)
{
	return yaml_parser_parse(&r->parser, event) ? ASSAY_OK : fail_parser(r);
}

static enum assay_status refuse(const struct reader *r, const yaml_event_t *event, const char *why)
{
	return assay_fail(r->err, ASSAY_E_FORMAT, "%s:%zu: %s", r->name, event->start_mark.line + 1, why);
}

/* Refuses anchors, aliases and tags. `event` starts a node. */
static enum assay_status refuse_unsupported(const struct reader *r, const yaml_event_t *event)
{
	const yaml_char_t *anchor = NULL, *tag = NULL;

	if (event->type == YAML_ALIAS_EVENT)
		return refuse(r, event, "aliases (*name) are not supported: write the value again");
	if (event->type == YAML_SCALAR_EVENT) {
		anchor = event->data.scalar.anchor;
		tag = event->data.scalar.tag;
	} else if (event->type == YAML_SEQUENCE_START_EVENT) {
		anchor = event->data.sequence_start.anchor;
		tag = event->data.sequence_start.tag;
	} else if (event->type == YAML_MAPPING_START_EVENT) {
		anchor = event->data.mapping_start.anchor;
		tag = event->data.mapping_start.tag;
	}
	if (anchor)
		return refuse(r, event, "anchors (&name) are not supported: remove it");
	if (tag)
		return refuse(r, event, "tags (!name) are not supported: remove it");
	return ASSAY_OK;
}

static enum assay_status read_scalar(const struct reader *r, const yaml_event_t *event, char **out)
{
	const char *bytes = (const char *)event->data.scalar.value;
	size_t n = event->data.scalar.length;

	if (memchr(bytes, '\0', n))
		return refuse(r, event, "NUL character in a string");
	*out = mem_bytes(bytes, n);
	return ASSAY_OK;
}

ORDER_POINTERS_BY(compare_keys, struct yaml_node, BY_TEXT(key) BY_ADDRESS)

static enum assay_status refuse_duplicates(const struct reader *r, const struct yaml_node *map)
{
	const struct yaml_node **sorted = mem_new(map->n_items, sizeof(*sorted)), *first = NULL, *again = NULL;

	for (size_t i = 0; i < map->n_items; i++)
		sorted[i] = &map->items[i];
	qsort(sorted, map->n_items, sizeof(*sorted), compare_keys);
	for (size_t i = 1; i < map->n_items; i++) {
		if (!strcmp(sorted[i - 1]->key, sorted[i]->key) && (!again || sorted[i] < again)) {
			first = sorted[i - 1];
			again = sorted[i];
		}
	}
	free(sorted);
	if (!again)
		return ASSAY_OK;
	return assay_fail(r->err, ASSAY_E_FORMAT, "%s:%zu: key '%s' is repeated (first on line %zu)", r->name, again->line,
			  TEXT_SANITIZED(again->key), first->line);
}

static enum assay_status read_node(struct reader *r, const yaml_event_t *event, size_t depth, struct yaml_node *out);

/* Reads one item of a list, or a key and value of a map. Sets *end if none is left. Even after a failure, *out owns its memory. */
static enum assay_status read_item(struct reader *r, bool map, size_t depth, struct yaml_node *out, bool *end)
{
	yaml_event_t event;
	enum assay_status st = next_event(r, &event);

	if (st)
		return st;
	*end = event.type == YAML_SEQUENCE_END_EVENT || event.type == YAML_MAPPING_END_EVENT;
	if (*end)
		goto out;
	if (map) {
		st = refuse_unsupported(r, &event);
		if (!st && event.type != YAML_SCALAR_EVENT)
			st = refuse(r, &event, "a key must be a text, not a list or a map");
		if (!st)
			st = read_scalar(r, &event, &out->key);
		out->line = event.start_mark.line + 1;
		yaml_event_delete(&event);
		if (!st)
			st = next_event(r, &event);
		if (st)
			return st;
	}
	st = read_node(r, &event, depth, out);
out:
	yaml_event_delete(&event);
	return st;
}

static enum assay_status read_items(struct reader *r, size_t depth, struct yaml_node *out)
{
	enum assay_status st = ASSAY_OK;
	size_t capacity = 0;
	bool end = false;

	while (!st && !end) {
		struct yaml_node item = { .kind = YAML_SCALAR };

		st = read_item(r, out->kind == YAML_MAP, depth + 1, &item, &end);
		if (st || end) {
			yaml_release(&item);
			break;
		}
		mem_append(out->items, out->n_items, &capacity, item);
	}
	if (out->n_items) /* frees spare memory, because there may be many small lists */
		out->items = mem_resize(out->items, out->n_items, sizeof(*out->items));
	return !st && out->kind == YAML_MAP ? refuse_duplicates(r, out) : st;
}

/* Reads the node that starts with `event`, which the caller deletes. `depth` is the number of lists and maps around the node. */
static enum assay_status read_node(struct reader *r, const yaml_event_t *event, size_t depth, struct yaml_node *out)
{
	enum assay_status st = refuse_unsupported(r, event);
	size_t line = event->start_mark.line + 1;

	if (st)
		return st;
	if (r->n_nodes++ == YAML_NODES_MAX)
		return assay_fail(r->err, ASSAY_E_LIMIT, "%s:%zu: more than %d values", r->name, line, YAML_NODES_MAX);
	if (!out->key)
		out->line = line;
	if (event->type == YAML_SCALAR_EVENT) {
		out->kind = YAML_SCALAR;
		out->plain = event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
		return read_scalar(r, event, &out->scalar);
	}
	if (depth == YAML_DEPTH_MAX)
		return assay_fail(r->err, ASSAY_E_LIMIT, "%s:%zu: nested deeper than %d levels", r->name, line, YAML_DEPTH_MAX);
	out->kind = event->type == YAML_MAPPING_START_EVENT ? YAML_MAP : YAML_LIST;
	return read_items(r, depth, out);
}

/* Reports whether the document has no value, or the value "~" or "null". */
static bool is_empty_document(const struct yaml_node *node)
{
	return node->kind == YAML_SCALAR && node->plain && (!*node->scalar || !strcmp(node->scalar, "~") || !strcmp(node->scalar, "null"));
}

/* Reads all events of the stream. A document consists of a start, one node and an end. Refuses a second document. */
static enum assay_status read_stream(struct reader *r, struct yaml_node *out)
{
	enum assay_status st = ASSAY_OK;
	size_t documents = 0;
	bool end = false;

	while (!st && !end) {
		yaml_event_t event;

		st = next_event(r, &event);
		if (st)
			return st;
		end = event.type == YAML_STREAM_END_EVENT;
		if (event.type == YAML_DOCUMENT_START_EVENT && documents++)
			st = refuse(r, &event, "a second document starts here: only one per file is supported");
		else if (event.type != YAML_STREAM_START_EVENT && event.type != YAML_DOCUMENT_START_EVENT &&
			 event.type != YAML_DOCUMENT_END_EVENT && !end)
			st = read_node(r, &event, 0, out);
		yaml_event_delete(&event);
	}
	if (!st && (!documents || is_empty_document(out))) {
		yaml_release(out);
		*out = (struct yaml_node){ .kind = YAML_MAP, .line = 1 };
	}
	return st;
}

enum assay_status yaml_parse(const char *name, const char *text, size_t n, struct yaml_node *out, struct assay_error *err)
{
	struct reader r = { .name = name, .text = text, .n = n, .err = err };
	struct yaml_node root = { .kind = YAML_SCALAR };
	enum assay_status st;

	if (n > YAML_BYTES_MAX)
		return assay_fail(err, ASSAY_E_LIMIT, "%s:1: %zu bytes; at most %u are read", name, n, YAML_BYTES_MAX);
	if (!yaml_parser_initialize(&r.parser))
		return assay_fail(err, ASSAY_E_IO, "%s:1: out of memory", name);
	yaml_parser_set_encoding(&r.parser, YAML_UTF8_ENCODING);
	yaml_parser_set_input_string(&r.parser, (const unsigned char *)(text ? text : ""), n);
	st = read_stream(&r, &root);
	yaml_parser_delete(&r.parser);
	if (st)
		yaml_release(&root);
	else
		*out = root;
	return st;
}

void yaml_release(struct yaml_node *node)
{
	if (!node)
		return;
	mem_release_all(node->items, node->n_items, yaml_release);
	mem_free(node->scalar, node->key);
	*node = (struct yaml_node){ .kind = YAML_SCALAR };
}
