/* Writes HTML safely. Markup comes only from format strings in the program. All inserted text is escaped, because names of machines,
 * applications and conditions come from outside. */
#ifndef GATE_PAGE_HTML_H
#define GATE_PAGE_HTML_H

#include "base/buf.h"

/* Appends text, escaped for use between tags and in double-quoted attributes. Invalid UTF-8, control characters and marks of writing
 * direction become U+FFFD. Tabs and line ends become spaces. */
void html_text(struct buf *out, const char *text);

/* Appends a name in a <bdi> element, which isolates its writing direction. Allows line breaks after '.', '-', '_', '/' and '@'. */
void html_name(struct buf *out, const char *name);

/* Appends markup with values. Supports only %s (escaped by html_text()), %u, %zu, %f, %g and %%, with a precision of at most two digits. */
void html_format(struct buf *out, const char *markup, ...) __attribute__((format(printf, 2, 3)));

#endif
