/* Words for a shell: on another machine, or of whoever reads what we advise. */
#ifndef FLEET_SHELL_H
#define FLEET_SHELL_H

#include "base/buf.h"

/* Appends the word so that sh takes it as it is, whatever is in it. */
void shell_add_word(struct buf *out, const char *word);

/* The words, NULL behind the last one, as one line for sh. free() it. */
char *shell_line(const char *const *words);

#endif
