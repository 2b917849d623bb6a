/* Node sets, as in tools for clusters: "node[01-12,40]", "10.0.[1-2].[10-19]", and comma-separated lists of them. */
#ifndef FLEET_NODESET_H
#define FLEET_NODESET_H

#include "base/error.h"

#include <stddef.h>

#define NODESET_NAMES_MAX      100000
#define NODESET_NAME_BYTES_MAX 1024

struct nodeset {
	char **names; /* [n] names in the order of the text; the rightmost range varies fastest */
	size_t n;
};

/* Expands `text` to names. Keeps zero padding ("[08-11]" is 08 09 10 11). Ignores spaces beside commas. These are errors, reported with
 * text and position: empty names, unclosed brackets, decreasing ranges, too long numbers, different padding at the ends of a range, control
 * characters, more than NODESET_NAMES_MAX names. Overwrites *out; call nodeset_release(). */
enum assay_status nodeset_expand(const char *text, struct nodeset *out, struct assay_error *err);
void nodeset_release(struct nodeset *set);

/* Folds names for output: names that differ in one number become a range. Folded and other names keep the order of first appearance. For
 * names from nodeset_expand(), the result expands to the same names, possibly in another order. The caller frees it. */
char *nodeset_fold(const char *const *names, size_t n);

/* Groups names[i] by texts[i]; NULL excludes the name. Calls show() once per text, in order of appearance, with the folded names. */
void nodeset_fold_alike(const char *const *names, char *const *texts, size_t n,
			void (*show)(const char *folded, const char *text, void *to), void *to);

#endif
