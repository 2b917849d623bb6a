#include "base/document.h"

#include "base/error.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/text.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#define BAR_CELLS 12 /* width of a full bar; a line with a number, an interval and a bar then has 80 columns */
#define BAR_PARTS 8  /* number of different lengths of one cell, with Unicode block characters */

void document_init(struct document *d)
{
	*d = (struct document){ .root = { .kind = DOC_OBJECT } };
	d->at = &d->root;
}

static void node_release(struct doc_node *node)
{
	for (struct doc_node *child = node->first, *next; child; child = next) {
		next = child->next;
		node_release(child);
		free(child);
	}
	if (node->value.type == DOC_JSON)
		cJSON_Delete(node->value.json);
	if (node->value.type == DOC_TEXT || node->value.type == DOC_PICTURE)
		free((char *)(uintptr_t)node->value.text);
	mem_free(node->key, node->label, node->human_text, node->style);
}

void document_release(struct document *d)
{
	node_release(&d->root);
	*d = (struct document){ 0 };
}

/* ---- values ---- */

struct doc_value doc_value_text(const char *text)
{
	return text ? (struct doc_value){ .type = DOC_TEXT, .text = text } : DOC_NULL_VALUE;
}

struct doc_value doc_value_real(double real)
{
	return isfinite(real) ? (struct doc_value){ .type = DOC_REAL, .real = real } : DOC_NULL_VALUE;
}

struct doc_value doc_value_integer(int64_t integer)
{
	return (struct doc_value){ .type = DOC_INTEGER, .integer = integer };
}

struct doc_value doc_value_size(size_t n)
{
	return doc_value_integer((int64_t)n);
}

struct doc_value doc_value_bool(bool boolean)
{
	return (struct doc_value){ .type = DOC_BOOL, .boolean = boolean };
}

struct doc_value doc_value_identity(struct doc_value value)
{
	return value;
}

/* ---- nodes ---- */

static struct doc_node *append_node(struct document *d, enum doc_kind kind, const char *key)
{
	struct doc_node *node = mem_new(1, sizeof(*node));

	*node = (struct doc_node){ .kind = kind, .key = key ? mem_string(key) : NULL, .parent = d->at };
	if (d->at->last)
		d->at->last->next = node;
	else
		d->at->first = node;
	d->at->last = node;
	d->newest_node = node;
	return node;
}

void doc_add(struct document *d, const char *key, const char *label, struct doc_value value, const char *fmt, ...)
{
	struct doc_node *node = append_node(d, DOC_VALUE, key);

	if (value.type == DOC_TEXT)
		value.text = mem_string(value.text);
	node->value = value;
	node->label = label ? mem_string(label) : NULL;
	if (fmt && value.type != DOC_NULL)
		mem_format_va(node->human_text, fmt);
}

void doc_set_bool(struct document *d, const char *key, bool boolean)
{
	doc_set(d, key, doc_value_bool(boolean));
}

void doc_set_json(struct document *d, const char *key, cJSON *json)
{
	append_node(d, DOC_VALUE, key)->value = json ? (struct doc_value){ .type = DOC_JSON, .json = json } : DOC_NULL_VALUE;
}

void doc_set_empty(struct document *d, const char *key, const char *text)
{
	doc_set(d, key, text && *text ? text : (const char *)NULL);
}

void doc_bar(struct document *d, const char *label, double part)
{
	struct doc_node *node = append_node(d, DOC_VALUE, NULL);

	node->label = mem_string(label);
	node->value = (struct doc_value){ .type = DOC_BAR, .real = part };
}

static void open_node(struct document *d, enum doc_kind kind, const char *key)
{
	d->at = append_node(d, kind, key);
}

void doc_object(struct document *d, const char *key)
{
	open_node(d, DOC_OBJECT, key);
}

void doc_list(struct document *d, const char *key)
{
	open_node(d, DOC_LIST, key);
}

void doc_table(struct document *d, const char *key)
{
	open_node(d, DOC_TABLE, key);
}

void doc_row(struct document *d)
{
	if (d->at->kind == DOC_ROW)
		d->at = d->at->parent;
	ASSAY_BUG_IF(d->at->kind != DOC_TABLE);
	open_node(d, DOC_ROW, NULL);
}

void doc_end(struct document *d)
{
	if (d->at->kind == DOC_ROW)
		d->at = d->at->parent;
	ASSAY_BUG_IF(d->at == &d->root);
	d->at = d->at->parent;
}

void doc_add_texts(struct document *d, const char *key, const char *const *texts, size_t n)
{
	doc_list(d, key);
	for (size_t i = 0; i < n; i++)
		doc_set(d, NULL, texts[i]);
	doc_end(d);
}

void doc_hide(struct document *d)
{
	d->at->hidden = true;
}

void doc_hide_from_programs(struct document *d)
{
	d->at->hidden_from_programs = true;
}

/* ---- nodes for users ---- */

void doc_answer(struct document *d, enum answer_tone tone, const char *word, const char *fmt, ...)
{
	struct doc_node *node = append_node(d, DOC_ANSWER, NULL);

	node->tone = tone;
	node->label = mem_string(word);
	mem_format_va(node->human_text, fmt);
}

#define DOC_TEXT_FUNCTION(name, kind)                                                                                                      \
	void name(struct document *d, const char *fmt, ...)                                                                                \
	{                                                                                                                                  \
		struct doc_node *node = append_node(d, kind, NULL);                                                                        \
                                                                                                                                           \
		mem_format_va(node->human_text, fmt);                                                                                      \
	}
DOC_TEXT_FUNCTION(doc_heading, DOC_HEADING)
DOC_TEXT_FUNCTION(doc_subheading, DOC_SUBHEADING)
DOC_TEXT_FUNCTION(doc_line, DOC_LINE)
DOC_TEXT_FUNCTION(doc_item, DOC_ITEM)
#undef DOC_TEXT_FUNCTION

void doc_raw(struct document *d, const char *text)
{
	append_node(d, DOC_RAW, NULL)->human_text = mem_string(text);
}

void doc_section(struct document *d, const char *id, const char *link, const char *heading, const char *lead)
{
	struct doc_node *node = append_node(d, DOC_HEADING, id);

	node->label = link ? mem_string(link) : NULL;
	node->human_text = mem_string(heading);
	if (lead)
		doc_styled_line(d, "lead", "%s", lead);
}

void doc_fold(struct document *d, const char *fmt, ...)
{
	open_node(d, DOC_FOLD, NULL);
	mem_format_va(d->at->label, fmt);
}

void doc_entry(struct document *d, const char *label)
{
	open_node(d, DOC_ENTRY, NULL);
	d->at->label = mem_string(label);
}

void doc_picture(struct document *d, const char *label, struct buf *svg, const char *fmt, ...)
{
	struct doc_node *node = append_node(d, DOC_VALUE, NULL);

	node->label = label ? mem_string(label) : NULL;
	node->value = (struct doc_value){ .type = DOC_PICTURE, .text = buf_take(svg) };
	if (fmt)
		mem_format_va(node->human_text, fmt);
}

void doc_set_caption(struct document *d, const char *text)
{
	d->at->label = mem_string(text);
}

void doc_style_column(struct document *d, const char *label, const char *style)
{
	append_node(d, DOC_COLUMN, NULL)->label = mem_string(label);
	doc_style(d, "%s", style);
}

void doc_style(struct document *d, const char *fmt, ...)
{
	free(d->newest_node->style);
	mem_format_va(d->newest_node->style, fmt);
}

void doc_set_id(struct document *d, const char *fmt, ...)
{
	free(d->newest_node->key);
	mem_format_va(d->newest_node->key, fmt);
}

void doc_styled_line(struct document *d, const char *style, const char *fmt, ...)
{
	struct doc_node *node = append_node(d, DOC_LINE, NULL);

	node->style = mem_string(style);
	mem_format_va(node->human_text, fmt);
}

void doc_attribute(struct document *d, const char *name, const char *fmt, ...)
{
	struct doc_node *of = d->newest_node, *open = d->at;

	d->at = of;
	mem_format_va(append_node(d, DOC_ATTRIBUTE, name)->human_text, fmt);
	d->at = open;
	d->newest_node = of;
}

size_t doc_mark_bytes(const char *at)
{
	size_t n;

	if (*at == *DOC_END)
		return 1;
	if (*at != '\1')
		return 0;
	n = 1 + strspn(at + 1, "#./-_ abcdefghijklmnopqrstuvwxyz0123456789");
	return at[n] == '\2' ? n + 1 : 0;
}

void doc_reason(struct document *d, const char *code, const char *text)
{
	doc_object(d, NULL);
	doc_set(d, "code", code);
	doc_set(d, "text", text);
	doc_item(d, "%s", text);
	doc_attribute(d, "code", "%s", code);
	doc_end(d);
}

static char *format_bar(double part, bool utf8)
{
	struct buf bar = BUF_INIT;

	static const char *const parts[BAR_PARTS] = { "", "\u258f", "\u258e", "\u258d", "\u258c", "\u258b", "\u258a", "\u2589" };
	int n = (int)(part * BAR_CELLS * (utf8 ? BAR_PARTS : 1) + .5);

	for (int i = 0; i < (utf8 ? n / BAR_PARTS : n); i++)
		buf_text(&bar, utf8 ? "\u2588" : "#");
	buf_text(&bar, utf8 ? parts[n % BAR_PARTS] : "");
	return buf_take(&bar);
}

char *doc_format_value(const struct doc_node *node, const struct doc_style *style)
{
	if (node->human_text)
		return mem_string(node->human_text);
	switch (node->value.type) {
	case DOC_TEXT:
		return mem_string(node->value.text);
	case DOC_REAL:
		return mem_string(TEXT_DOUBLE(node->value.real));
	case DOC_INTEGER:
		return mem_format("%" PRId64, node->value.integer);
	case DOC_BOOL:
		return mem_string(node->value.boolean ? "yes" : "no");
	case DOC_BAR:
		return format_bar(node->value.real, style->utf8);
	default:
		return mem_string("-");
	}
}

/* ---- rendering as JSON ---- */

/* Reports whether programs see the node: it has a key, or it is in a list or table that programs see. */
static bool doc_is_data(const struct doc_node *node)
{
	const struct doc_node *parent = node->parent;

	if (!parent)
		return true; /* the root is for programs */
	if (node->kind > DOC_VALUE || node->hidden_from_programs || node->value.type == DOC_PICTURE)
		return false;
	return node->key || ((parent->kind == DOC_LIST || parent->kind == DOC_TABLE) && doc_is_data(parent));
}

static bool is_array(const struct doc_node *node)
{
	return node->kind == DOC_LIST || node->kind == DOC_TABLE;
}

static cJSON *build_cjson(const struct doc_node *node)
{
	const struct doc_value *value = &node->value;
	cJSON *json;

	switch (value->type) {
	case DOC_TEXT:
		return cJSON_CreateString(value->text);
	case DOC_REAL:
		return cJSON_CreateNumber(value->real);
	case DOC_INTEGER:
		return cJSON_CreateNumber((double)value->integer);
	case DOC_BOOL:
		return cJSON_CreateBool(value->boolean);
	case DOC_JSON:
		return cJSON_Duplicate(value->json, true);
	default:
		break;
	}
	if (node->kind == DOC_VALUE)
		return cJSON_CreateNull();
	json = is_array(node) ? cJSON_CreateArray() : cJSON_CreateObject();
	for (const struct doc_node *child = node->first; child; child = child->next) {
		if (!doc_is_data(child))
			continue;
		if (cJSON_IsArray(json))
			cJSON_AddItemToArray(json, build_cjson(child));
		else
			cJSON_AddItemToObject(json, child->key, build_cjson(child));
	}
	return json;
}

cJSON *document_cjson(const struct document *d)
{
	return build_cjson(&d->root);
}

void document_json(const struct document *d, const struct doc_style *style, struct buf *out)
{
	(void)style;
	json_append_text(out, document_cjson(d));
}
