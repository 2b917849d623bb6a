/* A document is the answer of a command: named values, tables, lists and sentences. The command fills the document and renders nothing.
 * Separate files render it for a terminal, as JSON and as HTML.
 *
 * A node is for programs if it has a key, or is in a list that has one. It is for users if it has a label or a text. Most nodes have both:
 *
 *	doc_answer(d, DOC_GOOD, "pass", "%s is not slower", name);       users: the first line, its word in colour
 *	doc_set(d, "decision", "pass");                                  programs only
 *	doc_show(d, "runs", "runs", n);                                  both; users see "runs  12"
 *	doc_showf(d, "ratio", "ratio of costs", x, "%.3f", x);           both; users see the formatted text
 *	doc_table(d, "machines");
 *	for (...) {
 *		doc_row(d);                                              an object in "machines", and a row of the table
 *		doc_show(d, "machine", "machine", m->name);              a member, and a cell in the column "machine"
 *		doc_set(d, "noise", m->noise);                           a member only
 *		doc_showf(d, NULL, "noise", m->noise, "+/- %.1f %%", x); a cell only
 *	}
 *	doc_end(d);
 *	doc_line(d, "(%zu machines excluded)", left_out);                users only
 *
 * Members and rows keep the order in which they were added. The document copies keys, labels and texts.
 *
 * Long documents (pages) also have sections, images and folded details. doc_style() gives nodes the classes of a style sheet. In a text for
 * users, marks give the role of a part of the text:
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
	DOC_TABLE, /* contains rows; without a key, only users see the table */
	DOC_ROW,   /* row of a table; in JSON, an object */
	DOC_VALUE,
	/* The following kinds, and the nodes in them, are only for users. */
	DOC_ANSWER,	/* first line: a word and a sentence */
	DOC_HEADING,	/* title of a section, after an empty line; its key is the section's id */
	DOC_SUBHEADING, /* heading within a section */
	DOC_LINE,
	DOC_ITEM,      /* list item */
	DOC_RAW,       /* text with its own line ends, rendered unchanged */
	DOC_FOLD,      /* details that a summary hides until the user opens them */
	DOC_ENTRY,     /* label followed by lines, items or details */
	DOC_COLUMN,    /* heading of a table column */
	DOC_ATTRIBUTE, /* attribute of the parent node, for scripts and tests */
};

enum doc_type { DOC_NULL, DOC_TEXT, DOC_REAL, DOC_INTEGER, DOC_BOOL, DOC_BAR, DOC_PICTURE, DOC_JSON };

/* Meaning of the answer's first word, which determines its colour. */
enum answer_tone { DOC_PLAIN, DOC_GOOD, DOC_DOUBTFUL, DOC_BAD };

struct doc_value {
	enum doc_type type;
	union {
		const char *text; /* text; for a DOC_PICTURE, its SVG */
		double real;	  /* finite; for a DOC_BAR, from 0 to 1 */
		int64_t integer;
		bool boolean;
		cJSON *json;
	};
};

struct doc_node {
	enum doc_kind kind;
	enum answer_tone tone;
	bool hidden;		   /* whether users do not see the node and its content */
	bool hidden_from_programs; /* whether programs do not see the node and its content */
	char *key, *label;
	char *human_text; /* text for users; NULL if it is made from `value` */
	char *style;	  /* classes of a style sheet; NULL if none */
	struct doc_value value;
	struct doc_node *parent, *first, *last, *next;
};

struct document {
	struct doc_node root; /* a DOC_OBJECT that contains all nodes */
	struct doc_node *at;  /* open object, list, table, row, fold or entry, to which new nodes are added */
	struct doc_node *newest_node;
	int exit_status;  /* exit status of the command; initially 0 */
	bool is_streamed; /* whether the command has streamed its answer, so that nothing is rendered */
};

void document_init(struct document *d);
void document_release(struct document *d);

/* ---- values ---- */

/* Makes a doc_value of a text (null if NULL), an integer, or a double (null unless finite). Truth values need doc_set_bool(), because a
 * comparison is an int in C. */
#define doc_value_from(x)                                                                                                                  \
	_Generic((x), char *: doc_value_text, const char *: doc_value_text, double: doc_value_real, float: doc_value_real,                   \
		 bool: doc_value_bool, size_t: doc_value_size, unsigned long long: doc_value_size, unsigned: doc_value_integer,              \
		 int: doc_value_integer, int64_t: doc_value_integer, long long: doc_value_integer, struct doc_value: doc_value_identity)(x)
struct doc_value doc_value_text(const char *text);
struct doc_value doc_value_real(double real);
struct doc_value doc_value_integer(int64_t integer);
struct doc_value doc_value_size(size_t n);
struct doc_value doc_value_bool(bool boolean);
struct doc_value doc_value_identity(struct doc_value value);
#define DOC_NULL_VALUE ((struct doc_value){ .type = DOC_NULL })

/* Adds a value that only programs see. In a list, `key` is NULL. */
#define doc_set(d, key, value) doc_add(d, key, NULL, doc_value_from(value), NULL)
void doc_set_bool(struct document *d, const char *key, bool boolean);
void doc_set_json(struct document *d, const char *key, cJSON *json);	   /* takes ownership of `json`; adds null if `json` is NULL */
void doc_set_empty(struct document *d, const char *key, const char *text); /* adds the text, or null if it is empty or NULL */
/* Adds a list of texts[0..n). The pointers may be const or not. */
#define doc_texts(d, key, texts, n) doc_add_texts(d, key, (const char *const *)(texts), n)
void doc_add_texts(struct document *d, const char *key, const char *const *texts, size_t n);
/* Adds a value that programs and users see. If `key` is NULL, only users see the value. They see a text, the shortest number, yes or no, or
 * "-" for null. */
#define doc_show(d, key, label, value) doc_add(d, key, label, doc_value_from(value), NULL)
/* Adds a value like doc_show(), but users see the text that the last arguments format, or "-" for null. */
#define doc_showf(d, key, label, value, ...) doc_add(d, key, label, doc_value_from(value), __VA_ARGS__)
/* Adds a bar that only users see. `part`, from 0 to 1, is its length as a share of the full length. */
void doc_bar(struct document *d, const char *label, double part);

/* Adds a value; the macros above call this function. If `fmt` is NULL, users see the text that doc_show() describes. */
void doc_add(struct document *d, const char *key, const char *label, struct doc_value value, const char *fmt, ...)
    __attribute__((format(printf, 5, 6)));

/* ---- nodes that contain others ---- */

/* Open a node. doc_end() closes it. */
void doc_object(struct document *d, const char *key);
void doc_list(struct document *d, const char *key);
void doc_table(struct document *d, const char *key);
void doc_row(struct document *d); /* closes the previous row of the table, if any */
void doc_end(struct document *d);
void doc_hide(struct document *d); /* hides the open object, list, table or row from users */
void doc_hide_from_programs(
    struct document *d); /* hides the open node from programs, such as the row "(unexplained)", which is no array element */

/* ---- nodes for users ---- */

/* Adds the first line: `word` in the colour of `tone`, and a sentence. */
void doc_answer(struct document *d, enum answer_tone tone, const char *word, const char *fmt, ...) __attribute__((format(printf, 4, 5)));
void doc_heading(struct document *d, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void doc_line(struct document *d, const char *fmt, ...) __attribute__((format(printf, 2, 3))); /* adds a line; "" adds an empty line */
void doc_styled_line(struct document *d, const char *style, const char *fmt, ...)
    __attribute__((format(printf, 3, 4))); /* adds a line with a style */
void doc_item(struct document *d, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void doc_raw(struct document *d, const char *text); /* adds text with its own line ends */

/* Marks give the role of a part of a text for users. DOC_MARK("...") takes classes of a style sheet, "#id" for a link to a section, or
 * "./FILE" for a link to a file in the same folder. */
#define DOC_MARK(classes) "\1" classes "\2"
#define DOC_NAME	  DOC_MARK("name") /* text from outside, isolated from the rest; lines may break in it */
#define DOC_STRONG	  DOC_MARK("b")
#define DOC_CODE	  DOC_MARK("code")
#define DOC_MUTED	  DOC_MARK("muted")
#define DOC_END		  "\3"
/* Returns the size of the mark at `at` in bytes; 0 if there is none. */
size_t doc_mark_bytes(const char *at);

/* Starts a section, which ends where the next one starts. `link` is its name in the table of contents; NULL if it is not listed. `lead`
 * explains the section, except in a terminal; NULL if none. */
void doc_section(struct document *d, const char *id, const char *link, const char *heading, const char *lead);
void doc_subheading(struct document *d, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Sets the id of the subheading that was just added. Links refer to this id, so it must be unique on its page. */
void doc_set_id(struct document *d, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Open a node that only users see. doc_end() closes it. */
void doc_fold(struct document *d, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void doc_entry(struct document *d, const char *label);
/* Adds an image as a table cell or figure. Takes over `svg`, in which all texts must be escaped. Where images cannot be drawn, users see
 * the formatted text; `fmt` is NULL if there is none. Directly in a table, the image is the heading of the column `label`. */
void doc_picture(struct document *d, const char *label, struct buf *svg, const char *fmt, ...) __attribute__((format(printf, 4, 5)));
/* Sets the description of the open table, for screen readers. */
void doc_set_caption(struct document *d, const char *text);
/* Sets the style of the column `label`. By default, a column has the style of its first cell. */
void doc_style_column(struct document *d, const char *label, const char *style);
/* Add style classes, or a named attribute for scripts and tests, to the newest node. */
void doc_style(struct document *d, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void doc_attribute(struct document *d, const char *name, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* Adds a reason to the open list: {"code", "text"} for programs, a list item for users. */
void doc_reason(struct document *d, const char *code, const char *text);

/* ---- rendering ---- */

struct doc_style {
	bool colours, utf8;
	unsigned columns;
};

/* Appends the rendered document to `out`. */
typedef void doc_renderer(const struct document *d, const struct doc_style *style, struct buf *out);
doc_renderer document_human, document_json;

/* Returns the value's text for users. The caller frees the result. */
char *doc_format_value(const struct doc_node *node, const struct doc_style *style);
/* Returns the part of the document that programs see, as cJSON. Free it with cJSON_Delete(). */
cJSON *document_cjson(const struct document *d);

#endif
