/* The decisions of an answer, for renderers of other programs' formats. They include the comparisons that a night did not reach. All values
 * come from the members that --format json has, so every format contains the same. */
#ifndef GATE_RENDER_DECIDED_H
#define GATE_RENDER_DECIDED_H

#include "base/document.h"
#include "gate/decide/effect.h"
#include "gate/decide/reasons.h"

#include <stdbool.h>

/* One decision. All texts but the last three are borrowed from the document, and never NULL. */
struct decided {
	const char *application, *baseline, *candidate; /* baseline, candidate: versions; "": not known */
	enum decision decision;
	double ratio, low, high; /* ratio of costs, candidate / baseline; NaN: not known */
	double level;		 /* confidence level of the interval; NaN: not known */
	bool by_processor;	 /* CPU time decided; ratio and interval are those of CPU time */
	const char *cause;	 /* parts of the difference; "": not known */
	struct reasons reasons;	 /* owned by struct decisions */
	const char *against;	 /* in a night, why this baseline; else "" */
	size_t number;		 /* index in the answer */
	int worse;		 /* decision_place() */
	/* Names without commits, equal in every night that compares the same. The key is unique in the answer (decisions_of()). */
	char *candidate_name, *baseline_name, *key;
};

struct decisions {
	const char *command;		/* "gate", "nightly show": borrowed */
	struct decided *items;		/* [n], the worst first */
	size_t n;			/* 0: the answer decides nothing */
	struct reasons notes;		/* notes of a night */
	bool night;			/* the answer is that of a night */
	double started_ms, finished_ms; /* since 1970; NaN: not known */
};

/* Collects the decisions of d, the answer of the current command. *out is overwritten; decisions_release() it before the document. Keys are
 * "APPLICATION@CANDIDATE (against BASELINE)". A branch has only its name there, without its commit; a baseline that a night chose is
 * "accepted", "previous" or "release". Keys that would be equal get full versions, and a number if that is not enough. */
void decisions_of(const struct document *d, struct decisions *out);
void decisions_release(struct decisions *decisions);

/* Returns "1.1 costs 1.031 times as much as 1.0 (99.69 % interval 1.012 to 1.050): CAUSE" or "1.1 takes 1.031 times as much CPU time as
 * ...", after the text of decision_why(). Without a ratio, returns why nothing can be compared. free() it. */
char *decided_text(const struct decided *decided);
/* Reports whether a decision has a reason with this code. */
bool decided_has(const struct decided *decided, const char *code);

/* Appends the texts of the reasons, each between `before` ("- ") and `after`. */
void decided_reasons(const struct decided *decided, const char *before, const char *after, struct buf *out);

#endif
