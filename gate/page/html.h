/* Writes HTML safely: markup comes only from format strings in the program, and all inserted text is escaped, because names of machines,
 * applications and conditions come from outside. */
#ifndef GATE_PAGE_HTML_H
#define GATE_PAGE_HTML_H

#include "base/buf.h"

/* Appends text, escaped for use between tags and in double-quoted attributes. Bytes that are no text (invalid UTF-8, control characters,
 * direction marks) become U+FFFD; tabs and line ends become spaces. */
void html_text(struct buf *out, const char *text);

/* Appends a name in a <bdi> element, which isolates its direction of writing. Lines may break after '.', '-', '_', '/' and '@'. */
void html_name(struct buf *out, const char *name);

/* Appends markup with values. Allows only the conversions %s (escaped by html_text()), %u %zu %f %g; precisions have at most two digits. */
void html_format(struct buf *out, const char *markup, ...) __attribute__((format(printf, 2, 3)));

#endif
