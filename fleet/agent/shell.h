/* Words for a shell on another machine. */
#ifndef FLEET_SHELL_H
#define FLEET_SHELL_H

#include "base/buf.h"

/* Appends the word so that sh takes it as it is, whatever is in it. */
void shell_add_word(struct buf *out, const char *word);

#endif
