/* The decisions of an answer, one or many, what a night did not come to among them, as what renders them for other programs needs them.
 * They are the members that --format json has, so that every rendering says the same. */
#ifndef GATE_RENDER_DECIDED_H
#define GATE_RENDER_DECIDED_H

#include "base/document.h"
#include "gate/decide/effect.h"
#include "gate/decide/reasons.h"

#include <stdbool.h>

/* All texts but the last are borrowed from the document, and never NULL. */
struct decided {
	const char *application, *baseline, *candidate; /* versions; "" where one is not known */
	enum decision decision;
	double ratio, low, high; /* of costs, candidate / baseline; NaN: not known */
	double level;		 /* of the interval; NaN: not known */
	bool by_processor;	 /* ratio and interval are those of CPU time, which decided */
	const char *cause;	 /* what the difference is made of; "" where that is not known */
	struct reasons reasons;	 /* of decisions_of() */
	const char *against;	 /* of a night: why this baseline; else "" */
	size_t number;		 /* its place in the answer */
	int worse;		 /* decision_place() */
	/* The same in every night that compares the same, without commits; no other of the answer has all three (decisions_of()). */
	char *candidate_name, *baseline_name, *key;
};

struct decisions {
	const char *command;		/* "gate", "nightly show": borrowed */
	struct decided *items;		/* the worst first */
	size_t n;			/* 0: the answer decides nothing */
	struct reasons notes;		/* of a night */
	bool night;			/* it is the answer of a night */
	double started_ms, finished_ms; /* since 1970; NaN: not known */
};

/* d is the answer of the command at work. *out is overwritten; decisions_release() it before the document. Keys are "APPLICATION@CANDIDATE
 * (against BASELINE)", where a branch has its name alone, without the commit at which it was, and a baseline that a night chose is
 * "accepted", "previous" or "release". Two that would be the same have the commits and versions, too. */
void decisions_of(const struct document *d, struct decisions *out);
void decisions_release(struct decisions *decisions);

/* "1.1 costs 1.031 times as much as 1.0 (99.69 % interval 1.012 to 1.050): CAUSE", "1.1 takes 1.031 times as much CPU time as ...",
 * after decision_why(); or why nothing can be compared. free() it. */
char *decided_text(const struct decided *decided);
/* Has it a reason with this code? */
bool decided_has(const struct decided *decided, const char *code);

/* The reasons' texts in one, each after `before` ("- ") and followed by `after`. */
void decided_reasons(const struct decided *decided, const char *before, const char *after, struct buf *out);

#endif
