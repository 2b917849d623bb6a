/* From the evidence of a comparison to its decision. The request says what the decision rests on, and is kept with it: the same request
 * over the same raw results gives the same document, byte by byte. */
#ifndef GATE_NIGHTLY_JUDGE_H
#define GATE_NIGHTLY_JUDGE_H

#include "fleet/lab/lab.h"
#include "gate/decide/verdict.h"
#include "gate/nightly/decision.h"
#include "gate/nightly/disturbed.h"
#include "gate/nightly/night.h"
#include "gate/variance/weigh.h"
#include "runs/running/evidence.h"

/* Goes up with every change by which the same results may be decided otherwise, or told in other words, in base, runs or gate, so that a
 * decision that was made before is not said to have been tampered with. */
#define JUDGE_RULES 7

/* Nothing of it is looked up anew when a decision is recomputed. */
struct judge_request {
	int64_t rules; /* JUDGE_RULES of the assay that made it; 1: from before they were counted; 0: it is being made, and
			* judge_request_text() sets it */
	char *application, *baseline, *candidate;
	char plan[DIGEST_ID_BYTES];	  /* "": nothing was run, and `why` says it */
	char fresh_plan[DIGEST_ID_BYTES]; /* of the runs that confirm a finding, with the baseline once more; "": none */
	double min_effect, min_gain;	  /* min_gain 0: the same */
	bool confirm;			  /* a finding needs fresh runs */
	bool control;			  /* the baseline was run beside itself in the plan, too */
	int64_t machines;		  /* on so many of which it must be seen, or on all */
	bool chance, alike;		  /* what the other comparisons of the night say (gate/nightly/decision.h) */
	char *why;			  /* "", or why there is nothing to look at */
	char *calibration;		  /* what it quotes (gate/nightly/calibration.h); "": nothing. NULL is "" */
	char *accepted; /* of a baseline that people accepted, when and why (baselines_text()); "": it is none. NULL is "" */
};
/* JSON; free() it. And back; *out is overwritten, judge_request_release() it. Errors begin with "decision". */
char *judge_request_text(const struct judge_request *request);
enum assay_status judge_request_parse(const char *text, struct judge_request *out, struct assay_error *err);
void judge_request_release(struct judge_request *request); /* accepts zeroed */

/* The results of two versions from one plan, without those of disturbed runs, and what they say alone. */
struct judge_compared {
	struct run_set sides[2];
	struct disturbed disturbed;
	struct verdict verdict;
	struct variance_weighed weighed; /* once judge_weigh() has been asked: of a regression */
};

/* Baseline and candidate, on machines of one architecture (NULL: of all). judge_compared_release() *out, whatever is returned. */
enum assay_status judge_compare(struct lab *lab, const struct evidence *evidence, const struct judge_request *q, const char *plan,
				const char *const versions[2], const char *architecture, struct judge_compared *out,
				struct assay_error *err);
/* Looks at the records of these runs, where they say regression: true, what others took explains it, and it has become `environment`. */
bool judge_weigh(struct lab *lab, const struct judge_request *q, struct judge_compared *compared);
void judge_compared_release(struct judge_compared *compared); /* accepts zeroed */

struct judgement {
	struct decision_input input;
	enum decision_rule rule; /* DECISION_RULES: the verdict stands */
	enum decision decision;
	bool by_processor;		/* the ratio is that of processor time, which decided */
	double ratio, low, high, level; /* NaN where there is none */
	double p;			/* two-sided, of the finding, with what looks have spent; NaN: there is no interval */
	char *machine;			/* without which the finding would not stand; NULL: none */
	char *fresh_why;		/* what others took from fresh runs; NULL: they do not explain it */
	char *document;			/* JSON text */
};

/* *out is overwritten; judgement_release() it. */
enum assay_status judge(struct lab *lab, const struct evidence *evidence, const struct judge_request *request, struct judgement *out,
			struct assay_error *err);
void judgement_release(struct judgement *judgement); /* accepts zeroed */

/* Is there nothing left to measure? A regression is settled before the last look when its interval lies above the smallest slowdown that
 * matters: one of less would else be called as often as chance takes an early estimate beyond it. */
bool judge_settled(const struct verdict *verdict);

/* Do fresh runs show a finding once more, on so many machines, or on all? */
bool judge_seen_again(const struct verdict *fresh, bool by_processor, size_t machines);

#endif
