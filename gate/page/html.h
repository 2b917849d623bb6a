/* HTML that is safe by construction: markup stands in the program's own format strings, and all text that is put into them is
 * escaped. Names of machines, applications and conditions are outside bytes. */
#ifndef GATE_PAGE_HTML_H
#define GATE_PAGE_HTML_H

#include "base/buf.h"

/* Appends text so that it is text wherever it stands: between tags, or inside an attribute's double quotes. What is not a character of
 * a text (bad UTF-8, control characters, marks that turn the direction) becomes U+FFFD; tabs and line ends become blanks. */
void html_text(struct buf *out, const char *text);

/* Appends a name in an element of its own (so that letters of another direction do not disturb what stands around it), with places
 * where a line may break after '.', '-', '_', '/' and '@'. */
void html_name(struct buf *out, const char *name);

/* Appends markup with values: %s is escaped by html_text(), numbers are %u %zu %f %g, with a precision of up to two digits. No others. */
void html_format(struct buf *out, const char *markup, ...) __attribute__((format(printf, 2, 3)));

#endif
