/* Reasons of decisions, and notes: codes for programs with sentences for users, as they are stored. */
#ifndef GATE_DECIDE_REASONS_H
#define GATE_DECIDE_REASONS_H

#include "base/document.h"

struct reason {
	char *code, *text; /* the text has no full stop */
};

struct reasons {
	struct reason *items; /* [n] */
	size_t n, capacity;
};

/* Adds a reason, copying both texts. Does nothing if the list already has it. */
void reasons_add(struct reasons *reasons, const char *code, const char *text);
void reasons_release(struct reasons *reasons); /* accepts zeroed */

/* Returns the text of the first reason with this code (NULL: of the first one), NULL if there is none. Borrowed. */
const char *reasons_find(const struct reasons *reasons, const char *code);

/* Adds the list of all reasons to the document, as member `key`. */
void reasons_answer(const struct reasons *reasons, const char *key, struct document *d);

#endif
