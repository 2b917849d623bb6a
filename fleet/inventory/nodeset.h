/* Node-set ranges as in cluster tools: "node[01-12,40]", "10.0.[1-2].[10-19]", lists with commas between them. */
#ifndef FLEET_NODESET_H
#define FLEET_NODESET_H

#include "base/error.h"

#include <stddef.h>

#define NODESET_NAMES_MAX      100000
#define NODESET_NAME_BYTES_MAX 1024

struct nodeset {
	char **names; /* [n], in written order; the rightmost range varies fastest */
	size_t n;
};

/* Expands text. Keeps zero padding ("[08-11]" is 08 09 10 11) and ignores spaces beside commas. Errors name the text and the place in it:
 * empty names, unclosed brackets, ranges that run backwards or overflow, different padding at the two ends, control characters, more than
 * NODESET_NAMES_MAX names. Overwrites *out; nodeset_release() it. */
enum assay_status nodeset_expand(const char *text, struct nodeset *out, struct assay_error *err);
void nodeset_release(struct nodeset *set);

/* Folds names for output: names that differ in one number become ranges, the others stay, in the order of first appearance.
 * nodeset_expand() of the result gives the same names, each once, perhaps in another order, if they came from it. free() it. */
char *nodeset_fold(const char *const *names, size_t n);

/* Groups names by text: texts[i] of names[i], NULL: none. Calls show() once per text, in order of appearance, with its names folded. */
void nodeset_fold_alike(const char *const *names, char *const *texts, size_t n,
			void (*show)(const char *folded, const char *text, void *to), void *to);

#endif
