/* Writes HTML that is safe by construction: markup comes only from the program's own format strings, and all text inserted into them is
 * escaped. Names of machines, applications and conditions come from outside. */
#ifndef GATE_PAGE_HTML_H
#define GATE_PAGE_HTML_H

#include "base/buf.h"

/* Appends text, escaped for use between tags and inside an attribute's double quotes. Bytes that are no text (bad UTF-8, control
 * characters, direction marks) become U+FFFD; tabs and line ends become spaces. */
void html_text(struct buf *out, const char *text);

/* Appends a name in an element of its own (so that letters of another direction do not affect the text around it). Lines may break
 * after '.', '-', '_', '/' and '@'. */
void html_name(struct buf *out, const char *name);

/* Appends markup with values. Conversions are only %s, escaped by html_text(), and %u %zu %f %g, with at most two digits of precision. */
void html_format(struct buf *out, const char *markup, ...) __attribute__((format(printf, 2, 3)));

#endif
