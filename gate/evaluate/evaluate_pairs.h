/* Labelled pairs of versions, as people write them (PAIRS.json, docs/formats.md): what is compared, and whether it changed. */
#ifndef GATE_EVALUATE_EVALUATE_PAIRS_H
#define GATE_EVALUATE_EVALUATE_PAIRS_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define EVALUATE_PAIRS_MAX 20000
#define EVALUATE_LIST_MAX  1000 /* repetitions or time stamps of one side */

/* A list without elements does not restrict. */
struct evaluate_list {
	int64_t *items; /* [n], ascending, none twice */
	size_t n;
};

struct evaluate_side {
	char *application, *version;      /* version NULL: the only one */
	struct evaluate_list repetitions;
	struct evaluate_list timestamps;  /* milliseconds since 1970 */
};

struct evaluate_pair {
	struct evaluate_side sides[2]; /* baseline, candidate */
	bool changed;                  /* the truth */
	char *label;                   /* what kind of pair it is, for tables by kind; NULL when not given */
	char *cluster;                 /* pairs of one name are not independent; NULL: by their applications alone */
	size_t number;                 /* in the file, from 1 */
	char *left_out;                /* why it cannot be judged (evaluate_load()); NULL: it can */
};

struct evaluate_pairs {
	struct evaluate_pair *items; /* [n], behind them n_left_out others */
	size_t n, n_left_out;
};

/* PAIRS.json from its text. *out is overwritten; evaluate_pairs_release() it. At least one pair. */
enum assay_status evaluate_pairs_parse(const char *name, const char *text, size_t n, struct evaluate_pairs *out,
				       struct assay_error *err);
enum assay_status evaluate_pairs_read(const char *path, struct evaluate_pairs *out, struct assay_error *err);
void evaluate_pairs_release(struct evaluate_pairs *pairs);

/* APP[@VERSION], then the restrictions: the same text for the same side. free() it. */
char *evaluate_side_text(const struct evaluate_side *side);

#endif
