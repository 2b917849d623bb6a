/* Functions of C++ whose parameters or template arguments have changed: of these the symbol is another one, but what people call it is not,
 * and so they can be compared. Only where each version has one function of that name which the other has not. */
#ifndef GATE_DETECT_RENAMED_H
#define GATE_DETECT_RENAMED_H

#include "gate/detect/stems.h"

/* The old side's take the new side's names. Returns what is to be said of it, to be freed; NULL: there are none. O(samples + names log
 * names). */
char *renamed_match(struct side *old, const struct side *new);

#endif
