/* Names of functions, sorted, each once, without the suffixes of compilers (".constprop.0"). */
#ifndef GATE_DETECT_STEMS_H
#define GATE_DETECT_STEMS_H

#include "gate/detect/side.h"

struct stems {
	char **items; /* [n], owned */
	size_t n, capacity;
};

void stems_add(struct stems *stems, const char *symbol); /* then stems_sort(), before anything is looked for */
void stems_sort(struct stems *stems);
void stems_of(const struct side *side, struct stems *out);	  /* functions that a side has samples of */
size_t stems_find(const struct stems *stems, const char *symbol); /* SIZE_MAX: not there */
void stems_release(struct stems *stems);			  /* accepts zeroed */

#endif
