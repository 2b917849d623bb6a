/* What the terminal can show. */
#ifndef BASE_TERM_H
#define BASE_TERM_H

#include <stdbool.h>
#include <stdio.h>

bool term_colours(FILE *stream);  /* a terminal that is not dumb, and NO_COLOR is not set */
bool term_utf8(void);             /* the locale's character set is UTF-8 */
unsigned term_columns(FILE *stream); /* width; COLUMNS, else the terminal's, else 100 */

#endif
