/* An answer: values with names, tables, lists, sentences. A command fills a document and renders nothing. Rendering for a terminal, as JSON
 * and as HTML is in separate files.
 *
 * A node is for programs if it has a key (or is in a list that has one), and for users if it has a label or a text. Most have both:
 *
 *	doc_answer(d, DOC_GOOD, "pass", "%s is not slower", name);       users: the first line, its word in colour
 *	doc_set(d, "decision", "pass");                                  programs only
 *	doc_show(d, "runs", "runs", n);                                  both; users see "runs  12"
 *	doc_showf(d, "ratio", "ratio of costs", x, "%.3f", x);           both; users see it as the format says
 *	doc_table(d, "machines");
 *	for (...) {
 *		doc_row(d);                                              an object in "machines", a row of the table
 *		doc_show(d, "machine", "machine", m->name);              a member, and a cell in the column "machine"
 *		doc_set(d, "noise", m->noise);                           a member only
 *		doc_showf(d, NULL, "noise", m->noise, "+/- %.1f %%", x); a cell only
 *	}
 *	doc_end(d);
 *	doc_line(d, "(%zu machines excluded)", left_out);                users only
 *
 * Both keep members and rows in the order in which they were added. Keys, labels and texts are copied.
 *
 * Long documents (pages) also have sections, pictures and folded details, and choose styles for style sheets by doc_style(). In texts for
 * users, marks give the role of a part:
 *
 *	doc_line(d, DOC_NAME "%s" DOC_END " costs " DOC_STRONG "%.1f %%" DOC_END " more", name, x); */
#ifndef BASE_DOCUMENT_H
#define BASE_DOCUMENT_H

#include "base/buf.h"

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum doc_kind {
	DOC_OBJECT,
	DOC_LIST,
	DOC_TABLE, /* has DOC_ROWs; for users only without a key */
	DOC_ROW,   /* an object of a table */
	DOC_VALUE,
	/* The following nodes, with all their content, are for users only. */
	DOC_ANSWER,	/* the first line */
	DOC_HEADING,	/* a title, after an empty line; its key is the section's id */
	DOC_SUBHEADING, /* a heading within a section */
	DOC_LINE,
	DOC_ITEM,   /* a list item */
	DOC_RAW,    /* text with its own lines, unchanged */
	DOC_FOLD,   /* details with a summary */
	DOC_ENTRY,  /* a label with lines, items or details */
	DOC_COLUMN, /* heading of a table's column */
	DOC_DATA,   /* attribute of a node for scripts and tests */
};

enum doc_type { DOC_NULL, DOC_TEXT, DOC_REAL, DOC_INTEGER, DOC_BOOL, DOC_BAR, DOC_PICTURE, DOC_JSON };

/* Meaning of an answer's word. */
enum doc_tone { DOC_PLAIN, DOC_GOOD, DOC_DOUBTFUL, DOC_BAD };

struct doc_value {
	enum doc_type type;
	union {
		const char *text; /* DOC_PICTURE: SVG */
		double real;	  /* finite; DOC_BAR: a part of 1 */
		int64_t integer;
		bool truth;
		cJSON *json;
	};
};

struct doc_node {
	enum doc_kind kind;
	enum doc_tone tone;
	bool hidden; /* not for users, with all its content */
	bool aside;  /* not for programs, with all its content */
	char *key, *label;
	char *shown; /* value as users see it; text of a line */
	char *style; /* classes; NULL: none */
	struct doc_value value;
	struct doc_node *parent, *first, *last, *next;
};

struct document {
	struct doc_node root; /* an object */
	struct doc_node *at;  /* the open object, list, table, row, fold or entry */
	struct doc_node *newest;
	int exit_status; /* exit status of the command; 0 at first */
	bool answered;	 /* the command has already streamed its answer */
};

void document_init(struct document *d);
void document_release(struct document *d);

/* ---- values ---- */

/* Makes a value by its type: text (NULL is null), integers, doubles (null unless finite). Use doc_set_bool() for truth values, because a
 * comparison is an int in C. */
#define doc_value_of(x)                                                                                                                    \
	_Generic((x), char *: doc_value_text, const char *: doc_value_text, double: doc_value_real, float: doc_value_real,                   \
		 bool: doc_value_bool, size_t: doc_value_size, unsigned long long: doc_value_size, unsigned: doc_value_integer,              \
		 int: doc_value_integer, int64_t: doc_value_integer, long long: doc_value_integer, struct doc_value: doc_value_same)(x)
struct doc_value doc_value_text(const char *text);
struct doc_value doc_value_real(double real);
struct doc_value doc_value_integer(int64_t integer);
struct doc_value doc_value_size(size_t n);
struct doc_value doc_value_bool(bool truth);
struct doc_value doc_value_same(struct doc_value value);
#define DOC_NOTHING ((struct doc_value){ .type = DOC_NULL })

/* Adds a value for programs; in a list, key is NULL. */
#define doc_set(d, key, value) doc_add(d, key, NULL, doc_value_of(value), NULL)
void doc_set_bool(struct document *d, const char *key, bool truth);
void doc_set_json(struct document *d, const char *key, cJSON *json);	   /* takes it over; NULL is null */
void doc_set_empty(struct document *d, const char *key, const char *text); /* null if the text is empty or NULL */
/* Adds a list of texts[0..n), const or not. */
#define doc_texts(d, key, texts, n) doc_add_texts(d, key, (const char *const *)(texts), n)
void doc_add_texts(struct document *d, const char *key, const char *const *texts, size_t n);
/* Adds a value for programs and users; key NULL: for users only. Its text: itself, the shortest number, yes or no, "-" for null. */
#define doc_show(d, key, label, value) doc_add(d, key, label, doc_value_of(value), NULL)
/* Does the same, with the text in a given format ("-" for null). */
#define doc_showf(d, key, label, value, ...) doc_add(d, key, label, doc_value_of(value), __VA_ARGS__)
/* Adds a bar for users, as long as the part of 1. */
void doc_bar(struct document *d, const char *label, double part);

/* Adds a value, for the macros; fmt NULL: its usual text. */
void doc_add(struct document *d, const char *key, const char *label, struct doc_value value, const char *fmt, ...)
    __attribute__((format(printf, 5, 6)));

/* ---- structure ---- */

/* Close each of these by doc_end(). */
void doc_object(struct document *d, const char *key);
void doc_list(struct document *d, const char *key);
void doc_table(struct document *d, const char *key);
void doc_row(struct document *d); /* ends the previous row */
void doc_end(struct document *d);
void doc_hide(struct document *d);  /* the open object, list, table or row is not for users */
void doc_aside(struct document *d); /* it is for users only: for example, a table's last row that is no element of the array */

/* ---- for users ---- */

/* Adds the first line: a word in the colour of its tone, and a sentence. */
void doc_answer(struct document *d, enum doc_tone tone, const char *word, const char *fmt, ...) __attribute__((format(printf, 4, 5)));
void doc_heading(struct document *d, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void doc_line(struct document *d, const char *fmt, ...) __attribute__((format(printf, 2, 3))); /* "": an empty line */
void doc_styled(struct document *d, const char *style, const char *fmt, ...)
    __attribute__((format(printf, 3, 4))); /* a line with a style */
void doc_item(struct document *d, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void doc_raw(struct document *d, const char *text); /* text with its own lines; renderers remove control characters */

/* Marks in texts for users: DOC_MARK("...") with the classes of a style sheet, "#id" for a link to a section, or "./FILE" for a link to a
 * file of the same folder. */
#define DOC_MARK(classes) "\1" classes "\2"
#define DOC_NAME	  DOC_MARK("name") /* a text from outside, isolated from the rest; lines may break in it */
#define DOC_STRONG	  DOC_MARK("b")
#define DOC_CODE	  DOC_MARK("code")
#define DOC_ASIDE	  DOC_MARK("muted")
#define DOC_END		  "\3"
/* Returns the size of the mark at `at`; 0: there is none. */
size_t doc_mark_bytes(const char *at);

/* Starts a section, which ends at the next one. link: its name in the table of contents (NULL: not listed). lead: its explanation (NULL:
 * none), not shown in a terminal. */
void doc_section(struct document *d, const char *id, const char *link, const char *heading, const char *lead);
void doc_subheading(struct document *d, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Sets the id, unique on its page, of the last subheading added, for links. */
void doc_id(struct document *d, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Close each of these by doc_end(); their content is for users only. */
void doc_fold(struct document *d, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void doc_entry(struct document *d, const char *label);
/* Adds a cell or a figure; takes over the SVG, in which everything is escaped. If pictures cannot be drawn, users see the text (fmt may be
 * NULL). Directly in a table it is the heading of its column. */
void doc_picture(struct document *d, const char *label, struct buf *svg, const char *fmt, ...) __attribute__((format(printf, 4, 5)));
/* Sets a description of the open table, for users of screen readers. */
void doc_caption(struct document *d, const char *text);
/* Sets the style of the column with this label, if it differs from its first cell's. */
void doc_column(struct document *d, const char *label, const char *style);
/* Give the last node added classes, and a named value for scripts and tests. */
void doc_style(struct document *d, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void doc_data(struct document *d, const char *name, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* Adds a reason: for programs {"code", "text"} in the open list, for users an item. */
void doc_reason(struct document *d, const char *code, const char *text);

/* ---- rendering ---- */

struct doc_style {
	bool colours, utf8;
	unsigned columns;
};

/* Appends the rendered document to `out`. */
typedef void doc_renderer(const struct document *d, const struct doc_style *style, struct buf *out);
doc_renderer document_human, document_json;

/* Returns the value as users see it. free() it. */
char *doc_shown(const struct doc_node *node, const struct doc_style *style);
/* Returns the members for programs, as cJSON; cJSON_Delete() it. */
cJSON *document_cjson(const struct document *d);

#endif
