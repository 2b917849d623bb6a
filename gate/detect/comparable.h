/* What may make two sides incomparable, whatever their functions do, and what of them is excluded. */
#ifndef GATE_DETECT_COMPARABLE_H
#define GATE_DETECT_COMPARABLE_H

#include "gate/detect/side.h"

#define COMPARABLE_REMARKS 14

struct comparable_remark {
	const char *code;
	char *text; /* to be freed */
	bool apart; /* nothing can be concluded from what functions do */
};

/* The first say that nothing can be concluded: most of what a side does has no names; on both sides most of the work lies in several
 * functions that the other side has not, which are most of its functions (`old` after renamed_match()); a number of the arguments is the
 * same in all old runs and another one in most new ones, or one program without such numbers was run on inputs of which none is on both
 * sides; the emulation in the programs of one side counts otherwise than in those of the other. Seeds that differ from run to run are no
 * such thing. Returns how many. O(samples + runs of old * runs of new). */
size_t comparable_remarks(const struct side *old, const struct side *new, struct comparable_remark out[COMPARABLE_REMARKS]);

/* Functions of C++ whose parameters or template arguments have changed: of these the symbol is another one, but what people call it is not,
 * and so they can be compared. Only where each version has one function of that name which the other has not.
 *
 * The old side's take the new side's names. Returns what is to be said of it, to be freed; NULL: there are none. O(samples + names log
 * names). */
char *renamed_match(struct side *old, const struct side *new);

#endif
