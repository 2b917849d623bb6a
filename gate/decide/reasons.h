/* Lists of reasons of decisions, and of notes: a stable code for programs and a sentence for users, as the store keeps them. */
#ifndef GATE_DECIDE_REASONS_H
#define GATE_DECIDE_REASONS_H

#include "base/document.h"

struct reason {
	char *code, *text; /* sentence without full stop */
};

struct reasons {
	struct reason *items; /* [n] reasons */
	size_t n, capacity;
};

/* Adds a reason, copying both strings. Does nothing if the list already has it. */
void reasons_add(struct reasons *reasons, const char *code, const char *text);
void reasons_release(struct reasons *reasons); /* accepts zeroed */

/* Returns the text of the first reason with this code (NULL: with any code), or NULL if there is none. Borrowed from the list. */
const char *reasons_find(const struct reasons *reasons, const char *code);

/* Adds the list of all reasons to the document as member `key`. */
void reasons_answer(const struct reasons *reasons, const char *key, struct document *d);

#endif
