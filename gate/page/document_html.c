/* Renders a document as a page with sections, lists of labelled values, and tables of typed cells. */
#include "gate/page/document_html.h"

#include "base/command.h"
#include "base/digest.h"
#include "base/embed.h"
#include "base/mem.h"
#include "gate/page/html.h"

#include <ctype.h>
#include <string.h>

EMBED_FILE(html_style, ASSAY_SOURCE_DIRECTORY "/gate/page/style.css");
EMBED_FILE(html_script, ASSAY_SOURCE_DIRECTORY "/gate/page/script.js");

struct writer {
	struct buf *out;
	const char *list;  /* element of the open list, "ul" or "dl"; NULL if no list is open */
	const char *style; /* style of the open DOC_LIST; NULL if there is none */
	size_t sections;   /* number of sections after the first */
	bool in_entry;	   /* true inside a list entry, where lines are not paragraphs */
};

/* Opens the HTML element for the mark at `at`, which has n bytes. Returns the end tag. Sets *name to whether the mark starts a name. */
static const char *write_mark(const char *at, size_t n, bool *name, struct buf *out)
{
	char *classes = mem_bytes(at + 1, n > 1 ? n - 2 : 0);
	const char *close = "";

	*name = strcmp(classes, "name") == 0;
	if (strcmp(classes, "b") == 0 || strcmp(classes, "code") == 0) {
		html_format(out, "<%s>", classes);
		close = *classes == 'b' ? "</b>" : "</code>";
	} else if (*classes == '#' || strncmp(classes, "./", 2) == 0) {
		html_format(out, "<a href=\"%s\">", classes);
		close = "</a>";
	} else if (*classes && !*name) {
		html_format(out, "<span class=\"%s\">", classes);
		close = "</span>";
	}
	free(classes);
	return close;
}

/* Appends a number. Replaces hyphens before digits by typographic minus signs. */
static void write_number(const char *text, struct buf *out)
{
	struct buf set = BUF_INIT;

	for (const char *at = text; *at; at++) {
		if (*at == '-' && isdigit((unsigned char)at[1]) && (at == text || !isalnum((unsigned char)at[-1])))
			buf_text(&set, "\u2212");
		else
			buf_char(&set, *at);
	}
	html_text(out, set.bytes);
	buf_release(&set);
}

static void write_piece(const char *text, size_t n, bool name, bool number, struct buf *out)
{
	char *piece = mem_bytes(text, n);

	if (name)
		html_name(out, piece);
	else if (number)
		write_number(piece, out);
	else
		html_text(out, piece);
	free(piece);
}

/* Appends text for display, which may contain marks. */
static void write_text(const char *text, bool number, struct buf *out)
{
	const char *close = "";
	bool name = false;

	while (*text) {
		size_t n = doc_mark_bytes(text);

		if (n) {
			buf_text(out, close);
			close = write_mark(text, n, &name, out);
		} else {
			while (text[n] && !doc_mark_bytes(text + n))
				n++;
			write_piece(text, n, name, number, out);
		}
		text += n;
	}
	buf_text(out, close);
}

static bool has_word(const char *words, const char *word)
{
	size_t n = strlen(word);

	for (const char *at = words; at && *at; at += strspn(at, " ")) {
		size_t length = strcspn(at, " ");

		if (length == n && strncmp(at, word, n) == 0)
			return true;
		at += length;
	}
	return false;
}

/* Appends a class attribute from `class` and `style` (each may be NULL), the node's data attributes, and the closing '>'. */
static void write_attributes(const char *class, const char *style, const struct doc_node *node, struct buf *out)
{
	if (class || style)
		html_format(out, " class=\"%s%s%s\"", class ? class : "", class && style ? " " : "", style ? style : "");
	for (const struct doc_node *child = node ? node->first : NULL; child; child = child->next) {
		if (child->kind == DOC_ATTRIBUTE)
			html_format(out, " data-%s=\"%s\"", child->key, child->human_text);
	}
	buf_char(out, '>');
}

static void list_close(struct writer *w)
{
	if (w->list)
		html_format(w->out, "</%s>", w->list);
	w->list = NULL;
}

/* Opens a list element for the next item, unless the same list is open. */
static void list_open(struct writer *w, const char *list, const char *style)
{
	if (w->list && strcmp(w->list, list) == 0)
		return;
	list_close(w);
	html_format(w->out, "<%s", list);
	write_attributes(style, NULL, NULL, w->out);
	w->list = list;
}

static bool is_number(const struct doc_node *node)
{
	return node->value.type == DOC_REAL || node->value.type == DOC_INTEGER;
}

static void write_bar(const struct doc_node *node, struct buf *out)
{
	html_format(out,
		    "<svg width=\"100%%\" height=\"20\" aria-hidden=\"true\"><rect class=\"part\" x=\"0\" y=\"3\" width=\"%.2f%%\" "
		    "height=\"14\" rx=\"2\"/></svg><span class=\"vh\">%.0f %%</span>",
		    100 * node->value.real, 100 * node->value.real);
}

static void write_value(const struct doc_node *node, struct buf *out)
{
	static const struct doc_style style = { .utf8 = true };
	char *human_text;

	if (node->value.type == DOC_PICTURE) {
		html_format(out, node->human_text ? "<div>" : "");
		buf_text(out, node->value.text);
		if (!node->human_text)
			return;
		buf_text(out, "<span class=\"beside\">");
		write_text(node->human_text, true, out);
		buf_text(out, "</span></div>");
	} else if (node->value.type == DOC_BAR) {
		write_bar(node, out);
	} else if (node->value.type == DOC_NULL && !node->human_text) {
		buf_text(out, "\u2013");
	} else if (node->value.type == DOC_TEXT && !node->human_text) {
		html_name(out, node->value.text);
	} else {
		human_text = doc_format_value(node, &style);
		write_text(human_text, is_number(node), out);
		free(human_text);
	}
}

struct column {
	const char *label, *style;
	const struct doc_node *heading; /* picture in the heading of the column; NULL if there is none */
	bool text;			/* true if a cell is not a number */
};

struct columns {
	struct column *items;
	size_t n, capacity;
};

static bool is_cell(const struct doc_node *node)
{
	return node->kind == DOC_VALUE && node->label;
}

/* Returns the classes of a cell; "plot" if the cell contains only a picture. */
static const char *cell_style(const struct doc_node *cell)
{
	if (cell && !cell->style && cell->value.type == DOC_PICTURE && !cell->human_text)
		return "plot";
	return cell ? cell->style : NULL;
}

static bool is_row(const struct doc_node *node)
{
	return node->kind == DOC_ROW && !node->hidden;
}

static struct column *column_find(const struct columns *columns, const char *label)
{
	for (size_t i = 0; i < columns->n; i++) {
		if (strcmp(columns->items[i].label, label) == 0)
			return &columns->items[i];
	}
	return NULL;
}

static void column_add_cell(struct columns *columns, const struct doc_node *cell)
{
	struct column *column = column_find(columns, cell->label);

	if (!column) {
		column = mem_append_slot(columns->items, columns->n, &columns->capacity);
		*column = (struct column){ .label = cell->label, .style = cell_style(cell) };
	}
	column->text |= !is_number(cell) && cell->value.type != DOC_NULL;
}

/* Returns the columns of a table, in the order of their first use in the rows. */
static struct columns columns_find_dependent(const struct doc_node *table)
{
	struct columns columns = { 0 };

	for (const struct doc_node *row = table->first; row; row = row->next) {
		for (const struct doc_node *cell = is_row(row) ? row->first : NULL; cell; cell = cell->next) {
			if (is_cell(cell))
				column_add_cell(&columns, cell);
		}
	}
	for (const struct doc_node *child = table->first; child; child = child->next) {
		struct column *column = is_row(child) || !child->label ? NULL : column_find(&columns, child->label);

		if (column && child->kind == DOC_COLUMN)
			column->style = child->style;
		else if (column && child->kind == DOC_VALUE)
			column->heading = child;
	}
	return columns;
}

static void write_head(const struct columns *columns, struct buf *out)
{
	buf_text(out, "<thead role=\"rowgroup\"><tr role=\"row\">");
	for (size_t j = 0; j < columns->n; j++) {
		const struct column *column = &columns->items[j];
		bool plot = has_word(column->style, "plot");

		buf_text(out, "<th role=\"columnheader\" scope=\"col\"");
		write_attributes(column->text ? NULL : "num", column->style, NULL, out);
		buf_text(out, plot ? "<span class=\"vh\">" : "<span>");
		write_text(column->label, false, out);
		buf_text(out, "</span>");
		if (column->heading)
			buf_text(out, column->heading->value.text);
		buf_text(out, "</th>");
	}
	buf_text(out, "</tr></thead>");
}

/* Returns the CSS class for the depth of a name in a tree, which its leading spaces show; NULL at the top level. */
static const char *depth_class(const struct doc_node *cell)
{
	static const char *const classes[] = { NULL, "in1", "in2" };
	size_t depth = cell && cell->value.type == DOC_TEXT ? strspn(cell->value.text, " ") / 2 : 0;

	return classes[depth < 2 ? depth : 2];
}

/* Appends a row. In a `wide` table the style may truncate the name, so its cell has a tooltip with the full name. */
static void write_row(const struct columns *columns, const struct doc_node *row, bool wide, struct buf *out)
{
	buf_text(out, "<tr role=\"row\"");
	write_attributes(row->style, NULL, row, out);
	for (size_t j = 0; j < columns->n; j++) {
		const struct column *column = &columns->items[j];
		const struct doc_node *cell = row->first;

		while (cell && !(is_cell(cell) && strcmp(cell->label, column->label) == 0))
			cell = cell->next;
		buf_text(out, j ? "<td role=\"cell\"" : "<th role=\"rowheader\" scope=\"row\"");
		if (j == 0 && wide && cell && cell->value.type == DOC_TEXT && !cell->human_text)
			html_format(out, " title=\"%s\"", cell->value.text);
		write_attributes(!column->text ? "num" : j ? NULL : depth_class(cell), cell_style(cell), cell, out);
		if (cell)
			write_value(cell, out);
		buf_text(out, j ? "</td>" : "</th>");
	}
	buf_text(out, "</tr>\n");
}

/* Opens a table. Wide tables scroll horizontally, and so do tables without a layout for small screens. */
static void write_table_begin(const struct doc_node *table, struct buf *out)
{
	if (has_word(table->style, "wide"))
		html_format(out, "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"%s, scrolls sideways\">", table->label);
	else if (!table->style || has_word(table->style, "scroll"))
		buf_text(out, "<div class=\"scroll\">");
	else
		buf_text(out, "<div>");
	buf_text(out, "<table role=\"table\"");
	write_attributes(table->style ? table->style : "sortable", NULL, table, out);
	if (table->label)
		html_format(out, "<caption class=\"vh\">%s</caption>", table->label);
}

static void write_table(const struct doc_node *table, struct buf *out)
{
	struct columns columns = columns_find_dependent(table);

	if (columns.n) {
		write_table_begin(table, out);
		write_head(&columns, out);
		buf_text(out, "<tbody role=\"rowgroup\">\n");
		for (const struct doc_node *row = table->first; row; row = row->next) {
			if (is_row(row))
				write_row(&columns, row, has_word(table->style, "wide"), out);
		}
		buf_text(out, "</tbody></table></div>");
		if (has_word(table->style, "heat"))
			buf_text(out, "<p class=\"readout\" id=\"readout\" aria-live=\"polite\"></p>");
	}
	free(columns.items);
}

/* Returns the SVG path of the symbol that shows a decision without colour. The symbol depends on the node's style, or else on its tone. */
static const char *answer_icon_path(const struct doc_node *node)
{
	static const struct {
		const char *style;
		enum answer_tone tone;
		const char *path;
	} rows[] = {
		{ "environment", DOC_PLAIN, "M10 3l8 14H2zM10 8v4M10 14.2v.3" },
		{ "improved", DOC_PLAIN, "M10 4v12M4.5 10.5l5.5 5.5 5.5-5.5" },
		{ "pass", DOC_GOOD, "M4 10.5l4 4 8-9" },
		{ "regression", DOC_BAD, "M10 16V4M4.5 9.5L10 4l5.5 5.5" },
		{ "inconclusive", DOC_DOUBTFUL, "M3 8c2.5-3 4.5-3 7 0s4.5 3 7 0M3 14c2.5-3 4.5-3 7 0s4.5 3 7 0" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (node->style ? strcmp(node->style, rows[i].style) == 0 : rows[i].tone && node->tone == rows[i].tone)
			return rows[i].path;
	}
	return "M4 10h12";
}

#define HEADLINE_BYTES                                                                                                                     \
	120 /* maximum length of a headline: a longer answer is split at its first semicolon; a longer headline has smaller letters */

/* Appends the answer. `subject` is its subject line; NULL if there is none. */
static void write_answer(const struct doc_node *node, const struct doc_node *subject, struct buf *out)
{
	const char *rest = strlen(node->human_text) > HEADLINE_BYTES ? strstr(node->human_text, "; ") : NULL;
	char *headline;

	buf_text(out, "<div class=\"what\">");
	if (*node->label) {
		html_format(out, "<p class=\"badge\" data-decision=\"%s\">", node->style ? node->style : node->label);
		html_format(out, "<svg width=\"20\" height=\"20\" viewBox=\"0 0 20 20\" aria-hidden=\"true\"><path d=\"%s\"/></svg>%s</p>",
			    answer_icon_path(node), node->label);
	}
	if (subject) {
		buf_text(out, "<p class=\"subject\">");
		write_text(subject->human_text, false, out);
		buf_text(out, "</p>");
	}
	headline = mem_bytes(node->human_text, rest ? (size_t)(rest - node->human_text) : strlen(node->human_text));
	buf_text(out, "<h1");
	write_attributes(strlen(headline) > HEADLINE_BYTES ? "long" : NULL, NULL, NULL, out);
	write_text(headline, false, out);
	buf_text(out, "</h1></div>");
	if (rest) {
		buf_text(out, "<p class=\"finding\">");
		write_text(rest + 2, false, out);
		buf_text(out, "</p>");
	}
	free(headline);
}

static void write_element(const char *element, const char *style, const struct doc_node *node, struct buf *out)
{
	html_format(out, "<%s", element);
	if (node->kind == DOC_SUBHEADING && node->key)
		html_format(out, " id=\"%s\"", node->key);
	write_attributes(style ? style : node->style, NULL, node, out);
	write_text(node->human_text, false, out);
	html_format(out, "</%s>\n", element);
}

static void write_heading(struct writer *w, const struct doc_node *node)
{
	char *id = node->key ? mem_string(node->key) : mem_format("section-%zu", w->sections + 1);

	w->sections++;
	html_format(w->out, "</section>\n<section id=\"%s\" aria-labelledby=\"%s-h\"><h2 id=\"%s-h\">", id, id, id);
	write_text(node->human_text, false, w->out);
	buf_text(w->out, "</h2>");
	free(id);
}

/* Appends preformatted text. */
static void write_raw(const struct doc_node *node, struct buf *out)
{
	const char *line = node->human_text;

	buf_text(out, "<pre tabindex=\"0\"");
	write_attributes(node->style, NULL, node, out);
	while (*line) {
		size_t n = strcspn(line, "\n");
		char *one = mem_bytes(line, n);

		write_text(one, false, out);
		free(one);
		line += n + (line[n] != '\0');
		buf_text(out, *line ? "\n" : "");
	}
	buf_text(out, "</pre>\n");
}

static void write_figure(const struct doc_node *node, struct buf *out)
{
	buf_text(out, "<figure");
	write_attributes(node->style, NULL, node, out);
	buf_text(out, node->value.text);
	if (node->human_text) {
		buf_text(out, "<figcaption>");
		write_text(node->human_text, false, out);
		buf_text(out, "</figcaption>");
	}
	buf_text(out, "</figure>\n");
}

static void write_children(struct writer *w, const struct doc_node *node);

/* Appends the children of a node inside an element of this name. */
static void write_element_content(const struct writer *w, const char *element, const struct doc_node *node)
{
	struct writer inner = { .out = w->out, .sections = w->sections, .in_entry = node->kind == DOC_ENTRY };

	html_format(w->out, "<%s", element);
	write_attributes(node->kind == DOC_OBJECT ? node->style : NULL, NULL, node, w->out);
	if (node->kind == DOC_FOLD)
		html_format(w->out, "<summary>%s</summary>", node->label);
	write_children(&inner, node);
	list_close(&inner);
	html_format(w->out, "</%s>", element);
}

/* Appends a node as an entry in a list of labelled values. */
static void write_labelled(struct writer *w, const struct doc_node *node)
{
	list_open(w, "dl", node->style ? node->style : "values");
	buf_text(w->out, "<div><dt>");
	write_text(node->label, false, w->out);
	buf_text(w->out, "</dt>");
	if (node->kind == DOC_ENTRY) {
		write_element_content(w, "dd", node);
	} else {
		buf_text(w->out, "<dd>");
		write_value(node, w->out);
		buf_text(w->out, "</dd>");
	}
	buf_text(w->out, "</div>\n");
}

/* Appends a node as a separate element, outside lists. */
static void write_block(struct writer *w, const struct doc_node *node)
{
	list_close(w);
	switch (node->kind) {
	case DOC_TABLE:
		write_table(node, w->out);
		break;
	case DOC_HEADING:
		write_heading(w, node);
		break;
	case DOC_SUBHEADING:
		write_element(w->sections ? "h3" : "h2", w->sections ? NULL : "small", node, w->out);
		break;
	case DOC_RAW:
		write_raw(node, w->out);
		break;
	case DOC_FOLD:
		write_element_content(w, "details", node);
		break;
	case DOC_VALUE:
		write_figure(node, w->out);
		break;
	case DOC_OBJECT:
		write_element_content(w, "div", node);
		break;
	default:
		write_element("p", NULL, node, w->out);
	}
}

static void write_list(struct writer *w, const struct doc_node *node)
{
	const char *style = w->style;

	list_close(w);
	w->style = node->style;
	write_children(w, node);
	list_close(w);
	w->style = style;
}

static void write_node(struct writer *w, const struct doc_node *node)
{
	if (node->kind == DOC_ENTRY || (node->kind == DOC_VALUE && node->label)) {
		write_labelled(w, node);
	} else if (node->kind == DOC_ITEM) {
		list_open(w, "ul", w->style);
		write_element("li", NULL, node, w->out);
	} else if (node->kind == DOC_LIST) {
		write_list(w, node);
	} else if (node->kind == DOC_OBJECT && !node->style) {
		write_children(w, node);
	} else if (node->kind == DOC_LINE && w->in_entry && !node->style) {
		write_text(node->human_text, false, w->out);
	} else if (node->kind == DOC_VALUE ? node->value.type == DOC_PICTURE : node->kind != DOC_ATTRIBUTE) {
		write_block(w, node);
	}
}

static void write_children(struct writer *w, const struct doc_node *node)
{
	for (const struct doc_node *child = node->first; child; child = child->next) {
		if (child->hidden || (child->kind == DOC_LINE && !*child->human_text))
			continue;
		if (child->kind == DOC_ANSWER) {
			const struct doc_node *next = child->next;
			bool about = next && next->style && strcmp(next->style, "subject") == 0;

			list_close(w);
			write_answer(child, about ? next : NULL, w->out);
			child = about ? next : child;
		} else {
			write_node(w, child);
		}
	}
}

static void write_page_head(const struct html_page *page, struct buf *out)
{
	size_t style = (size_t)(html_style_end - html_style), script = (size_t)(html_script_end - html_script);
	char style_hash[DIGEST_BASE64_BYTES], script_hash[DIGEST_BASE64_BYTES];

	digest_sha256_base64(html_style, style, style_hash);
	digest_sha256_base64(html_script, script, script_hash);
	html_format(out,
		    "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
		    "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'sha256-%s'; script-src "
		    "'sha256-%s'; base-uri 'none'; form-action 'none'\">\n"
		    "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
		    "<meta name=\"color-scheme\" content=\"light dark\">\n<meta name=\"referrer\" content=\"no-referrer\">\n"
		    "<meta name=\"generator\" content=\"assay %s\">\n<title>%s</title>\n",
		    style_hash, script_hash, ASSAY_VERSION, page->title);
	buf_text(out, "<style>");
	buf_add(out, html_style, style);
	buf_text(out, "</style>\n</head>\n");
}

static void write_page_top(const struct html_page *page, const struct document *d, struct buf *out)
{
	html_format(out, "<header class=\"top\"><p class=\"brand\"><b>assay</b> %s", page->kind);
	if (page->lab)
		html_format(out, " <span class=\"lab\"><bdi>%s</bdi></span>", page->lab);
	buf_text(out, "</p><nav aria-label=\"Sections\"><ul>");
	for (const struct html_link *link = page->top_links; link && link->file; link++)
		html_format(out, "<li><a href=\"./%s\">%s</a></li>", link->file, link->text);
	for (const struct doc_node *node = d->root.first; node; node = node->next) {
		if (node->kind == DOC_HEADING && node->key && node->label)
			html_format(out, "<li><a href=\"#%s\">%s</a></li>", node->key, node->label);
	}
	buf_text(out, "</ul></nav>\n</header>\n");
}

static const struct doc_node *find_answer(const struct document *d)
{
	const struct doc_node *node = d->root.first;

	while (node && node->kind != DOC_ANSWER)
		node = node->next;
	return node;
}

void html_page(const struct html_page *page, const struct document *d, struct buf *out)
{
	struct writer w = { .out = out };

	write_page_head(page, out);
	html_format(out, "<body class=\"%s\">\n<a class=\"skip\" href=\"#main\">Skip to the %s</a>\n", page->class, page->first);
	write_page_top(page, d, out);
	html_format(out, "<main id=\"main\">\n<section class=\"decision\" id=\"%s\" aria-label=\"%s\">", page->first, page->about);
	if (!find_answer(d))
		html_format(out, "<h1>%s</h1>", page->title);
	write_children(&w, &d->root);
	list_close(&w);
	html_format(out,
		    "<footer><p class=\"muted\">Made by assay %s. This page needs no network, and loads nothing.</p></footer></section>\n"
		    "</main>\n<script>",
		    ASSAY_VERSION);
	buf_add(out, html_script, (size_t)(html_script_end - html_script));
	buf_text(out, "</script>\n</body>\n</html>\n");
}

void document_html(const struct document *d, const struct doc_style *style, struct buf *out)
{
	static const char *const classes[] = {
		[DOC_PLAIN] = "d-explore", [DOC_GOOD] = "d-pass", [DOC_DOUBTFUL] = "d-inconclusive", [DOC_BAD] = "d-regression"
	};
	const struct doc_node *answer = find_answer(d);
	const char *name = cli_command_name();
	struct html_page page = { .title = name,
				  .kind = name + (strncmp(name, "assay ", 6) == 0 ? 6 : 0),
				  .class = classes[answer ? answer->tone : DOC_PLAIN],
				  .first = "answer",
				  .about = "Answer" };

	(void)style;
	html_page(&page, d, out);
}
