/* An answer: values with names, tables, lists, sentences. A command fills a document and renders nothing; how it looks to people, as JSON,
 * as HTML is each a file of its own.
 *
 * A node is for programs when it has a key (or stands in a list that has one), and for people when it has a label or a text; most have
 *both:
 *
 *	doc_answer(d, DOC_GOOD, "pass", "%s is not slower", name);       people: the first line, its word in colour
 *	doc_set(d, "decision", "pass");                                  programs only
 *	doc_show(d, "runs", "runs", n);                                  both; people see "runs  12"
 *	doc_showf(d, "ratio", "ratio of costs", x, "%.3f", x);           both; people see it as the format says
 *	doc_table(d, "machines");
 *	for (...) {
 *		doc_row(d);                                              an object in "machines", a row of the table
 *		doc_show(d, "machine", "machine", m->name);              a member, and a cell in the column "machine"
 *		doc_set(d, "noise", m->noise);                           a member only
 *		doc_showf(d, NULL, "noise", m->noise, "+/- %.1f %%", x); a cell only
 *	}
 *	doc_end(d);
 *	doc_line(d, "(%zu machines excluded)", left_out);                people only
 *
 * Members and rows stand in the order in which they were added, for both. Keys, labels and texts are copied.
 *
 * Long documents, which are pages, have sections, pictures and folded details as well, and say by doc_style() how a node looks where
 * there are style sheets. Inside of texts for people, marks say how a piece is meant:
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
	DOC_TABLE, /* of DOC_ROWs; without a key for people only */
	DOC_ROW,   /* an object of a table */
	DOC_VALUE,
	/* The others are for people only, with all that is in them. */
	DOC_ANSWER,	/* the first line */
	DOC_HEADING,	/* a title, after an empty line; its key is the section's id */
	DOC_SUBHEADING, /* the same inside of a section */
	DOC_LINE,
	DOC_ITEM,   /* a line of a list */
	DOC_RAW,    /* text that has its own lines, as it is */
	DOC_FOLD,   /* details with a summary */
	DOC_ENTRY,  /* a label with lines, items or details */
	DOC_COLUMN, /* in a table, how a column is headed */
	DOC_DATA,   /* in any node, what scripts and tests find it by */
};

enum doc_type { DOC_NULL, DOC_TEXT, DOC_REAL, DOC_INTEGER, DOC_BOOL, DOC_BAR, DOC_PICTURE, DOC_JSON };

/* How an answer's word is meant. */
enum doc_tone { DOC_PLAIN, DOC_GOOD, DOC_DOUBTFUL, DOC_BAD };

struct doc_value {
	enum doc_type type;
	union {
		const char *text; /* of DOC_PICTURE, SVG */
		double real;	  /* finite; of DOC_BAR a part of 1 */
		int64_t integer;
		bool truth;
		cJSON *json;
	};
};

struct doc_node {
	enum doc_kind kind;
	enum doc_tone tone;
	bool hidden; /* not for people, with all that is in it */
	bool aside;  /* not for programs, with all that is in it */
	char *key, *label;
	char *shown; /* how people see a value; the text of a line */
	char *style; /* classes, or NULL */
	struct doc_value value;
	struct doc_node *parent, *first, *last, *next;
};

struct document {
	struct doc_node root; /* an object */
	struct doc_node *at;  /* the open object, list, table, row, fold or entry */
	struct doc_node *newest;
	int exit_status; /* of the command that answers; 0 at first */
	bool answered;	 /* the command has written its answer itself, bit by bit */
};

void document_init(struct document *d);
void document_release(struct document *d);

/* ---- values ---- */

/* A value, by its type: text (NULL is null), integers, doubles (null where not finite). What is true or false is doc_set_bool()'s: a
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

/* For programs; in a list, key is NULL. */
#define doc_set(d, key, value) doc_add(d, key, NULL, doc_value_of(value), NULL)
void doc_set_bool(struct document *d, const char *key, bool truth);
void doc_set_json(struct document *d, const char *key, cJSON *json);	   /* takes it over; NULL is null */
void doc_set_empty(struct document *d, const char *key, const char *text); /* null where the text is empty or NULL */
/* A list of texts[0..n), whether these may be changed or not. */
#define doc_texts(d, key, texts, n) doc_add_texts(d, key, (const char *const *)(texts), n)
void doc_add_texts(struct document *d, const char *key, const char *const *texts, size_t n);
/* For both, and for people only where key is NULL. As text: itself, a number as short as it can be, yes or no, "-" for null. */
#define doc_show(d, key, label, value) doc_add(d, key, label, doc_value_of(value), NULL)
/* The same, shown as the format says ("-" for null). */
#define doc_showf(d, key, label, value, ...) doc_add(d, key, label, doc_value_of(value), __VA_ARGS__)
/* For people: a bar as long as the part of 1. */
void doc_bar(struct document *d, const char *label, double part);

/* What the macros call: fmt NULL shows the value as it is. */
void doc_add(struct document *d, const char *key, const char *label, struct doc_value value, const char *fmt, ...)
    __attribute__((format(printf, 5, 6)));

/* ---- structure ---- */

/* Each is closed by doc_end(). */
void doc_object(struct document *d, const char *key);
void doc_list(struct document *d, const char *key);
void doc_table(struct document *d, const char *key);
void doc_row(struct document *d); /* ends the row before it */
void doc_end(struct document *d);
void doc_hide(struct document *d);  /* the open object, list, table or row is not for people */
void doc_aside(struct document *d); /* it is for people only: the last row of a table that is no element of the array */

/* ---- people ---- */

/* The first line: a word in the colour of its tone, and a sentence. */
void doc_answer(struct document *d, enum doc_tone tone, const char *word, const char *fmt, ...) __attribute__((format(printf, 4, 5)));
void doc_heading(struct document *d, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void doc_line(struct document *d, const char *fmt, ...) __attribute__((format(printf, 2, 3))); /* "" is an empty line */
void doc_styled(struct document *d, const char *style, const char *fmt, ...)
    __attribute__((format(printf, 3, 4))); /* a line with its style */
void doc_item(struct document *d, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void doc_raw(struct document *d, const char *text); /* text with its own lines; what a terminal must not get is taken out later */

/* Marks in texts for people: DOC_MARK("...") with the classes of a style sheet, "#id" for a link to a section, or "./FILE"
 * for one to a file of the same folder. */
#define DOC_MARK(classes) "\1" classes "\2"
#define DOC_NAME	  DOC_MARK("name") /* from outside: keeps to itself, and lines may break in it */
#define DOC_STRONG	  DOC_MARK("b")
#define DOC_CODE	  DOC_MARK("code")
#define DOC_ASIDE	  DOC_MARK("muted")
#define DOC_END		  "\3"
/* Bytes of the mark that starts here; 0 when none does. */
size_t doc_mark_bytes(const char *at);

/* A section until the next one: `link` names it in the table of contents (NULL: it is not in it), `lead` explains it (or
 * NULL; not to people at a terminal). */
void doc_section(struct document *d, const char *id, const char *link, const char *heading, const char *lead);
void doc_subheading(struct document *d, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* What links lead to: the id, unique on its page, of the subheading that was added last. */
void doc_id(struct document *d, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Each is closed by doc_end(); what is in it is for people only. */
void doc_fold(struct document *d, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void doc_entry(struct document *d, const char *label);
/* A cell or a figure; takes the SVG over, in which everything is escaped. Where nothing can be drawn people see the text (fmt may be NULL).
 * In a table itself it heads its column. */
void doc_picture(struct document *d, const char *label, struct buf *svg, const char *fmt, ...) __attribute__((format(printf, 4, 5)));
/* What the open table shows, for who cannot see it. */
void doc_caption(struct document *d, const char *text);
/* How the column with this label is headed, where it is not as its first cell. */
void doc_column(struct document *d, const char *label, const char *style);
/* Give the node that was added last classes, and a name with a value for scripts and tests. */
void doc_style(struct document *d, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void doc_data(struct document *d, const char *name, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* A reason: for programs {"code", "text"} in the open list, for people an item. */
void doc_reason(struct document *d, const char *code, const char *text);

/* ---- rendering ---- */

struct doc_style {
	bool colours, utf8;
	unsigned columns;
};

/* Adds the document, rendered, to `out`. */
typedef void doc_renderer(const struct document *d, const struct doc_style *style, struct buf *out);
doc_renderer document_human, document_json;

/* The value as people see it. free() it. */
char *doc_shown(const struct doc_node *node, const struct doc_style *style);
/* The members for programs, as cJSON; cJSON_Delete() it. */
cJSON *document_cjson(const struct document *d);

#endif
