/* Parts that several pages have. */
#ifndef GATE_PAGE_PARTS_H
#define GATE_PAGE_PARTS_H

#include "base/document.h"
#include "base/text.h"
#include "runs/running/evidence.h"

/* ---- lines ---- */

/* Adds one of a few large numbers, with a few words under it. */
void page_fact(struct document *d, const char *what, const char *value, const char *more);

/* Adds the legend of a heat map's colours h0 to h10, from -most to most, with an explanation `note`. `gaps`: some cells have no value. */
void page_colours(struct document *d, const char *low, const char *high, double most, const char *note, bool gaps);
/* Sets the style of a cell of such a map; `more` is appended to it ("" or " in"). */
void page_colour(struct document *d, double value, double most, const char *more);
/* Returns the value with so many decimals and a sign; a value that rounds to 0 has no sign. */
struct text_number page_signed(double value, int decimals);

/* ---- data excluded from a page, with reasons ---- */

struct omission {
	char *what;   /* "3 machines", "2 runs of the candidate" */
	char *why;    /* "the candidate has no result there" */
	char **names; /* [n], names of the excluded ones; may be none */
	size_t n, capacity;
};

struct omissions {
	struct omission *items; /* [n], in the order in which they are shown */
	size_t n, capacity;
};

/* Adds an omission. All texts are copied. The result is valid until the next omission is added. */
struct omission *omissions_add(struct omissions *list, const char *why, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
void omission_name(struct omission *omission, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Adds one name to the omission with this reason, and counts it: "2 runs of a@1" from the noun "run" and the rest " of a@1". */
void omissions_one(struct omissions *list, const char *why, const char *noun, const char *rest, const char *fmt, ...)
    __attribute__((format(printf, 5, 6)));
void omissions_release(struct omissions *list);

/* Adds a section listing the omissions; if there are none, a sentence that nothing is excluded. */
void omissions_section(struct document *d, const struct omissions *list);

/* ---- fingerprints ---- */

/* The fingerprints that a page is about. */
struct page_machines {
	const struct fingerprint **fingerprints; /* [n], by machine, then time */
	bool *used;				 /* [n], whether the machine counts; NULL: all do */
	size_t n;
};

/* Adds the section about these fingerprints. */
void page_fingerprints(struct document *d, const struct evidence *evidence, const struct page_machines *machines);

#endif
