/* What the terminal can show. */
#ifndef BASE_TERM_H
#define BASE_TERM_H

#include <stdbool.h>
#include <stdio.h>

bool term_colours(FILE *stream);     /* a terminal that is not dumb, and NO_COLOR is not set */
bool term_utf8(void);		     /* the locale's character set is UTF-8 */
unsigned term_columns(FILE *stream); /* width; COLUMNS, else the terminal's, else 100 */

/* Writes to a terminal what may hold bytes from outside (of hosts, of programs, of files that others wrote), which must not steer it: '?'
 * for every control character but tabs and the ends of lines. With `colours` the sequences that choose one pass, too: they are ours. A
 * character of several bytes must not be cut between two calls. */
void term_put(const char *bytes, size_t n, bool colours, FILE *to);

#endif
