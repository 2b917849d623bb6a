/* What several pages show. */
#ifndef GATE_PAGE_PARTS_H
#define GATE_PAGE_PARTS_H

#include "base/document.h"
#include "base/text.h"
#include "runs/running/evidence.h"

/* ---- lines ---- */

/* One of a few large numbers, with a few words under it. */
void page_fact(struct document *d, const char *what, const char *value, const char *more);

/* The colours h0 to h10 of a heat map, from -most to most; `note` explains, `gaps`: some cells have none. */
void page_colours(struct document *d, const char *low, const char *high, double most, const char *note, bool gaps);
/* The style of a cell of such a map, and more of it ("" or " in"). */
void page_colour(struct document *d, double value, double most, const char *more);
/* With as many decimals and a sign, which 0 has not. */
struct text_number page_signed(double value, int decimals);

/* ---- what does not count on a page, and why ---- */

struct omission {
	char *what;   /* "3 machines", "2 runs of the candidate" */
	char *why;    /* "the candidate has no result there" */
	char **names; /* [n], which; may be none */
	size_t n, capacity;
};

struct omissions {
	struct omission *items; /* [n], in the order in which they are shown */
	size_t n, capacity;
};

/* All texts are copied. An omission is valid until the next one is added. */
struct omission *omissions_add(struct omissions *list, const char *why, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
void omission_name(struct omission *omission, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* One more of those that are excluded for this reason: "2 runs of a@1" of the noun "run" and the rest " of a@1". */
void omissions_one(struct omissions *list, const char *why, const char *noun, const char *rest, const char *fmt, ...)
    __attribute__((format(printf, 5, 6)));
void omissions_release(struct omissions *list);

/* The section about a list, or that nothing is excluded. */
void omissions_section(struct document *d, const struct omissions *list);

/* ---- fingerprints ---- */

/* The fingerprints that a page is about. */
struct page_machines {
	const struct fingerprint **fingerprints; /* [n], by machine, then time */
	bool *used;				 /* [n], whether the machine counts; NULL: all do */
	size_t n;
};

/* The section about them. */
void page_fingerprints(struct document *d, const struct evidence *evidence, const struct page_machines *machines);

#endif
