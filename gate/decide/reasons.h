/* Lists of reasons for a decision, or of notes. Each has a stable code for programs and a sentence for users; the store keeps both. */
#ifndef GATE_DECIDE_REASONS_H
#define GATE_DECIDE_REASONS_H

#include "base/document.h"

struct reason {
	char *code, *text; /* both owned; `text` is a sentence without full stop */
};

struct reasons {
	struct reason *items; /* [n] */
	size_t n, capacity;
};

/* Copies both strings and adds them as a reason. Does nothing if the list already contains this reason. */
void reasons_add(struct reasons *reasons, const char *code, const char *text);
void reasons_release(struct reasons *reasons); /* accepts a zeroed struct */

/* Returns the text of the first reason with this code (with any code if `code` is NULL); NULL if there is none. The list owns it. */
const char *reasons_find(const struct reasons *reasons, const char *code);

/* Adds the list of all reasons to the document as member `key`. */
void reasons_add_member(const struct reasons *reasons, const char *key, struct document *d);

#endif
