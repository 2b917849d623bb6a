/* Elements that several pages share. */
#ifndef GATE_PAGE_PARTS_H
#define GATE_PAGE_PARTS_H

#include "base/document.h"
#include "base/text.h"
#include "runs/running/evidence.h"

/* Adds a large number (`value`) with the label `what` and a short text (`more`) below. */
void page_add_fact(struct document *d, const char *what, const char *value, const char *more);

/* Adds the legend of a heat map: its colours h0 to h10 for values from -most to most, and the explanation `note`. `gaps` is true if some
 * cells have no value. */
void page_add_legend(struct document *d, const char *low, const char *high, double most, const char *note, bool gaps);
/* Sets the colour of the heat map's current cell. Appends `more` ("" or " in") to the style. */
void page_set_cell_colour(struct document *d, double value, double most, const char *more);
/* Returns the value with a sign and `decimals` decimals. A value that rounds to 0 has no sign. */
struct text_number page_format_signed(double value, int decimals);

struct omission {
	char *items_text; /* number and kind of the excluded items: "3 machines", "2 runs of the candidate" */
	char *reason;	  /* reason for the exclusion: "the candidate has no result there" */
	char **names;	  /* [n] names of the excluded items; n may be 0 */
	size_t n, capacity;
};

struct omissions {
	struct omission *items; /* [n] in display order */
	size_t n, capacity;
};

/* Adds an omission and copies all texts. The result is valid until the next omission is added. */
struct omission *omissions_add(struct omissions *list, const char *why, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
void omission_add_name(struct omission *omission, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Adds an item that is excluded for the reason `why`, and updates the number of these items. With the noun "run" and the rest " of a@1",
 * two items become "2 runs of a@1". The format gives the item's name. */
void omissions_add_name(struct omissions *list, const char *why, const char *noun, const char *rest, const char *fmt, ...)
    __attribute__((format(printf, 5, 6)));
void omissions_release(struct omissions *list);

/* Adds a section that lists all omissions, or states that nothing is excluded. */
void omissions_section(struct document *d, const struct omissions *list);

/* The fingerprints that a page describes. */
struct page_machines {
	const struct fingerprint **fingerprints; /* [n] sorted by machine, then by time */
	bool *used;				 /* [n] whether each fingerprint is used; NULL if all are */
	size_t n;
};

/* Adds the section about fingerprints. */
void page_fingerprints(struct document *d, const struct evidence *evidence, const struct page_machines *machines);

#endif
