/* Node-set ranges as in cluster tools: "node[01-12,40]", "10.0.[1-2].[10-19]", lists with commas between. */
#ifndef FLEET_NODESET_H
#define FLEET_NODESET_H

#include "base/error.h"

#include <stddef.h>

#define NODESET_NAMES_MAX      100000
#define NODESET_NAME_BYTES_MAX 1024

struct nodeset {
	char **names; /* [n], in the order written; the rightmost range runs fastest */
	size_t n;
};

/* Expands text. Zero padding is kept ("[08-11]" is 08 09 10 11). Errors name the text and the place in it: empty names, unclosed
 * brackets, ranges that run backwards or overflow, different padding at the two ends, control characters, more than
 * NODESET_NAMES_MAX names. Blanks beside commas do not count. *out is overwritten; nodeset_release() it. */
enum assay_status nodeset_expand(const char *text, struct nodeset *out, struct assay_error *err);
void nodeset_release(struct nodeset *set);

/* The other way, for output: names that differ in one number fold to ranges, the rest stays; the order is that of first appearance.
 * nodeset_expand() of the result gives the same names (maybe in another order, each once) when they came out of it. free() it. */
char *nodeset_fold(const char *const *names, size_t n);

/* Names that have a text in common: texts[i] of names[i], NULL for none. Calls show() once for each different text, in order of
 * appearance, with their names folded. */
void nodeset_fold_alike(const char *const *names, char *const *texts, size_t n,
			void (*show)(const char *folded, const char *text, void *to), void *to);

#endif
