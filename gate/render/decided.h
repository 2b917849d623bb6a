/* Collects the decisions of an answer for renderers of other programs' formats, including comparisons that a night did not reach. All
 * values are from members that --format json also has, so that all formats have the same values. */
#ifndef GATE_RENDER_DECIDED_H
#define GATE_RENDER_DECIDED_H

#include "base/document.h"
#include "gate/decide/effect.h"
#include "gate/decide/reasons.h"

#include <stdbool.h>

/* A decision. The document owns the texts, except the last three. Texts are never NULL. */
struct decision_record {
	const char *application, *baseline, *candidate; /* application and versions; "" if unknown */
	enum decision decision;
	double ratio, low, high;   /* cost of candidate / cost of baseline, with its interval; NaN if unknown */
	double level;		   /* confidence level of the interval; NaN if unknown */
	bool by_processor;	   /* the decision, ratio and interval are based on CPU time */
	const char *cause;	   /* parts of the difference; "" if unknown */
	struct reasons reasons;	   /* owned by this struct */
	const char *baseline_kind; /* kind of baseline in a night, such as "previous"; otherwise "" */
	size_t number;		   /* index in the answer */
	int severity_rank;	   /* decision_rank(): rank, 0 is the worst */
	/* Names without commits, the same in each night with this comparison. The key is unique in the answer (decisions_collect()). */
	char *candidate_name, *baseline_name, *key;
};

struct decisions {
	const char *command;		/* name of the command, such as "gate" or "nightly show"; not owned */
	struct decision_record *items;	/* [n], worst first */
	size_t n;			/* number of decisions; 0 if the answer has none */
	struct reasons notes;		/* notes of a night */
	bool night;			/* the answer describes a night */
	double started_ms, finished_ms; /* ms since 1970; NaN if unknown */
};

/* Collects the decisions in the current command's answer `d`. Overwrites *out; the caller calls decisions_release() before it releases the
 * document. Keys have the form "APPLICATION@CANDIDATE (against BASELINE)". For a branch, a key omits the commit. A baseline that a night
 * chose is "accepted", "previous" or "release". Equal keys get full versions instead, and a number if they are still equal. */
void decisions_collect(const struct document *d, struct decisions *out);
void decisions_release(struct decisions *decisions);

/* Returns a sentence such as "1.1 costs 1.031 times as much as 1.0 (99.69 % interval 1.012 to 1.050): CAUSE", after the text of
 * decision_first_reason(). If CPU time decided, it is "1.1 takes 1.031 times as much CPU time ...". If there is no ratio, it is the reason.
 * The caller frees it. */
char *decided_text(const struct decision_record *decided);
/* Reports whether a decision has a reason with this code. */
bool decided_has_reason(const struct decision_record *decided, const char *code);

/* Appends the texts of the reasons, each between `before` (such as "- ") and `after`. */
void decided_add_reasons(const struct decision_record *decided, const char *before, const char *after, struct buf *out);

#endif
