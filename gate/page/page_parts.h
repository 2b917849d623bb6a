/* Parts that several pages share. */
#ifndef GATE_PAGE_PARTS_H
#define GATE_PAGE_PARTS_H

#include "base/document.h"
#include "base/text.h"
#include "runs/running/evidence.h"

/* ---- lines ---- */

/* Adds a large number (`value`) labelled `what`, with a short text (`more`) below. */
void page_fact(struct document *d, const char *what, const char *value, const char *more);

/* Adds the legend of a heat map's colours h0 to h10, from -most to most, with the explanation `note`. gaps: some cells have no value. */
void page_colours(struct document *d, const char *low, const char *high, double most, const char *note, bool gaps);
/* Sets the style of a heat map's cell; `more` ("" or " in") is appended to the style. */
void page_colour(struct document *d, double value, double most, const char *more);
/* Returns the value with a sign and `decimals` decimals; no sign if it rounds to 0. */
struct text_number page_signed(double value, int decimals);

/* ---- data excluded from a page, with reasons ---- */

struct omission {
	char *what;   /* number and kind of excluded items: "3 machines", "2 runs of the candidate" */
	char *why;    /* reason: "the candidate has no result there" */
	char **names; /* [n], names of the excluded items; n may be 0 */
	size_t n, capacity;
};

struct omissions {
	struct omission *items; /* [n], in display order */
	size_t n, capacity;
};

/* Adds an omission; copies all texts. The result is valid until the next omission is added. */
struct omission *omissions_add(struct omissions *list, const char *why, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
void omission_name(struct omission *omission, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Adds a name to the list omitted for this reason, and counts it. Noun "run" and rest " of a@1" give "2 runs of a@1". */
void omissions_one(struct omissions *list, const char *why, const char *noun, const char *rest, const char *fmt, ...)
    __attribute__((format(printf, 5, 6)));
void omissions_release(struct omissions *list);

/* Adds a section that lists the omissions, or states that nothing is excluded. */
void omissions_section(struct document *d, const struct omissions *list);

/* ---- fingerprints ---- */

/* Fingerprints described on a page. */
struct page_machines {
	const struct fingerprint **fingerprints; /* [n], sorted by machine, then time */
	bool *used;				 /* [n], whether the fingerprint is used; NULL: all are */
	size_t n;
};

/* Adds the section on fingerprints. */
void page_fingerprints(struct document *d, const struct evidence *evidence, const struct page_machines *machines);

#endif
