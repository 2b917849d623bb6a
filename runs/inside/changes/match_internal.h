/* Shared by match*.c. */
#ifndef RUNS_CHANGES_MATCH_INTERNAL_H
#define RUNS_CHANGES_MATCH_INTERNAL_H

#include "runs/inside/changes/match.h"

/* Do two references mean the same? */
bool match_references(struct match *match, const struct code_reference *a, const struct code_reference *b);

/* Texts at two addresses: 1 the same, 0 not, -1 when one of them is none. */
int match_texts(const struct match *match, uint64_t a, uint64_t b);

/* Tables of a switch, entries relative to their own beginning: 1 the same, 0 not, -1 when they are none. */
int match_tables(struct match *match, uint64_t a, uint64_t b);

#endif
