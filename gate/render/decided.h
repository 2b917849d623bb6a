/* Decisions of an answer, for renderers of other programs' formats; includes comparisons that a night did not reach. All values come from
 * members that --format json also has, so every format contains the same. */
#ifndef GATE_RENDER_DECIDED_H
#define GATE_RENDER_DECIDED_H

#include "base/document.h"
#include "gate/decide/effect.h"
#include "gate/decide/reasons.h"

#include <stdbool.h>

/* A decision. The document owns the texts, except the last three. Texts are never NULL. */
struct decided {
	const char *application, *baseline, *candidate; /* versions; "": not known */
	enum decision decision;
	double ratio, low, high; /* cost of candidate / cost of baseline, with its interval; NaN: not known */
	double level;		 /* confidence level of the interval; NaN: not known */
	bool by_processor;	 /* CPU time decided; ratio and interval are of CPU time */
	const char *cause;	 /* parts of the difference; "": not known */
	struct reasons reasons;	 /* owned by this struct */
	const char *against;	 /* kind of baseline in a night ("previous"); else "" */
	size_t number;		 /* index in the answer */
	int worse;		 /* decision_place(): rank, 0 is the worst */
	/* Names without commits, the same in every night that makes this comparison. The key is unique in the answer (decisions_of()). */
	char *candidate_name, *baseline_name, *key;
};

struct decisions {
	const char *command;		/* "gate", "nightly show"; not owned */
	struct decided *items;		/* [n], worst first */
	size_t n;			/* number of decisions; 0: the answer contains no decision */
	struct reasons notes;		/* notes of a night */
	bool night;			/* the answer describes a night */
	double started_ms, finished_ms; /* ms since 1970; NaN: not known */
};

/* Collects the decisions in the current command's answer d. Overwrites *out; decisions_release() it before the document. Keys are
 * "APPLICATION@CANDIDATE (against BASELINE)". For a branch, a key omits the commit; a baseline that a night chose is "accepted", "previous"
 * or "release". Equal keys get full versions, and a number if still equal. */
void decisions_of(const struct document *d, struct decisions *out);
void decisions_release(struct decisions *decisions);

/* Returns "1.1 costs 1.031 times as much as 1.0 (99.69 % interval 1.012 to 1.050): CAUSE", after the text of decision_why(), or the reason
 * why nothing can be compared. If CPU time decided: "1.1 takes 1.031 times as much CPU time". free() it. */
char *decided_text(const struct decided *decided);
/* Reports whether a decision has a reason with this code. */
bool decided_has(const struct decided *decided, const char *code);

/* Appends the texts of the reasons, each between `before` (such as "- ") and `after`. */
void decided_reasons(const struct decided *decided, const char *before, const char *after, struct buf *out);

#endif
