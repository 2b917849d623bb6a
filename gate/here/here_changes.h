/* What the difference between two commands is made of, in seconds a run. */
#ifndef GATE_HERE_HERE_CHANGES_H
#define GATE_HERE_HERE_CHANGES_H

#include "gate/here/here.h"

#include <stdbool.h>
#include <stddef.h>

enum { HERE_A, HERE_B, HERE_SIDES };

/* The interval of a difference, 90 %: NaN where there is none. */
struct change {
	const struct part *part;  /* that of A, or of B where A has none */
	const struct part *other; /* that of B where it has another name, else NULL */
	double of[HERE_SIDES], difference, low, high;
	bool trusted;
};

struct changes {
	struct change *items; /* [n], level by level, the largest first; free() them */
	size_t n;
};

/* The program that a command is, is the same one to both, whatever its file's name: its own code, and functions in it by their names. */
void changes_of(struct here *const sides[HERE_SIDES], struct changes *out);

/* ": string functions +0.123 s, waiting -0.010 s": what is certain, and large beside the difference of their times, or, `instead`, beside
 * the time itself, where both more and less of something is; else "". free() it. */
char *changes_text(const struct changes *changes, double difference);
char *changes_instead_text(const struct changes *changes, double time);

#endif
