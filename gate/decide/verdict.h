/* The gate's verdict on two versions: decision, reasons, effect, machines, and the kind of change. */
#ifndef GATE_DECIDE_VERDICT_H
#define GATE_DECIDE_VERDICT_H

#include "gate/conditions/disturbed.h"
#include "gate/decide/effect.h"
#include "gate/decide/pairing.h"
#include "gate/decide/rules.h"
#include "runs/running/evidence.h"

/* Times of the runs in addition to the metric, and whether the machines were busy with other work during the runs. */
/* Constant, code, text for users. */
#define TIME_ROWS(X)                                                                                                                       \
	X(TIME_PROCESSOR, "processor", "CPU time")                                                                                         \
	X(TIME_WALL, "wall", "wall-clock time")                                                                                            \
	X(TIME_OWN, "own", "without waiting for a CPU")

enum time { TIME_ROWS(ROWS_ENUM) TIMES };

struct times {
	struct effect of[TIMES];	    /* effect with each time as the metric; its `types` is 0 if that time is not known */
	struct disturbed_machine *machines; /* [n_machines] machines with known waits, by name */
	size_t n_machines;
	bool disturbed;	     /* result of disturbed_on(): the machines were disturbed */
	bool metric_is_wall; /* the metric is the wall-clock time; only then do the rules use the times */
	double share; /* median of the baseline's CPU time per own wall-clock time, at most 1. With a smaller share, CPU time has to grow by
			 more to matter; the minimum detectable effect in `of` takes the share into account */
};

#define VERDICT_REASONS_MAX   32
#define VERDICT_EMULATED      "emulated_hosts" /* code of a reason that the page shows separately */
#define VERDICT_ARCHITECTURES "architectures_apart"

struct verdict_reason {
	const char *code; /* stable code for programs (docs/schema/common.json) */
	char *text;	  /* sentence for users, without full stop; owned */
};

/* The effect on the machines of one architecture. */
struct verdict_within {
	const char *architecture; /* borrowed from the evidence */
	struct effect effect;
	size_t machines;
};

struct verdict {
	const struct run_set *baseline, *candidate; /* borrowed; pointers into `own` if `own` is set */
	double min_effect;
	struct pairing pairing;
	struct effect effect;	   /* `decision` is the verdict's: by a rule, otherwise by the interval; changed if the candidate fails more
				      often, or always */
	enum decision by_interval; /* decision by the interval only */
	struct rule_input input;   /* input of the rules */
	enum rule rule;		   /* the rule that decided; RULES: no rule did, so the interval decided */
	struct times times;
	struct verdict_reason reasons[VERDICT_REASONS_MAX];
	size_t n_reasons;
	enum shape shape;
	/* [n_within] effects per architecture, if results come from several; architectures are never compared with each other. All other
	 * members describe the architecture with the worst decision by decision_place(); one where nothing was measured comes last. If
	 * decisions are equal, the architecture with more machines counts. */
	struct verdict_within *within;
	size_t n_within;
	const char *architecture; /* architecture that decides; NULL: only one architecture, or not known */
	struct run_set *own;	  /* [2] runs of `architecture`; NULL if `architecture` is NULL */
};

/* Decides into *out; verdict_release() it. The arguments must outlive *out. ASSAY_E_USAGE: the run sets do not have the same direction. */
enum assay_status verdict_of(const struct evidence *evidence, const struct lab_config *config, const struct run_set *baseline,
			     const struct run_set *candidate, double min_effect, struct verdict *out, struct assay_error *err);
void verdict_release(struct verdict *verdict);
/* Adds the reasons to a verdict whose decision is made (verdict_explain.c). */
void verdict_explain(struct verdict *verdict);
/* Adds a reason and takes ownership of `text`. `first`: puts the reason in front of the others, because it decided. */
void verdict_add_reason(struct verdict *verdict, bool first, const char *code, char *text);

/* Replaces the decision, and the reason of the rule that made it. Takes ownership of `text`. */
void verdict_overrule(struct verdict *verdict, enum decision decision, const char *code, char *text);
/* Changes a finding to `environment` (to `inconclusive` if the candidate fails more often), with a reason of this code and text. Takes
 * ownership of `text`. Returns false and changes nothing if there is no finding, or if CPU time or own wall-clock time shows the same
 * finding: then the code is the cause. RULE_WAITS_FOR_ITSELF is overruled, because it is only inferred from undisturbed machines. */
bool verdict_excuse(struct verdict *verdict, const char *code, char *text);

/* Decides again between improved and pass, with a reason, if improvements have their own threshold (min_gain > 0). Applies if only the
 * interval decided, or if CPU time decided the improvement. */
void verdict_gain(struct verdict *verdict, double min_gain);

/* Reports whether CPU time decided instead of the metric. verdict_effect() returns the effect of the time that decided. */
bool verdict_by_processor(const struct verdict *verdict);
const struct effect *verdict_effect(const struct verdict *verdict);
/* Reports whether the candidate has no result because all of its runs failed, while the baseline has comparable results. */
bool verdict_always_fails(const struct verdict *verdict);
/* Reports whether a larger share of runs failed for the candidate than for the baseline. */
bool verdict_fails_more(const struct verdict *verdict);
/* Reports whether no run of the candidate could start its program. Then nothing of the candidate was measured, as after a failed build. */
bool verdict_never_starts(const struct verdict *verdict);
/* Reports whether every run of the candidate crashed (by a signal or with a status) or hung, while no run of the baseline failed. A run
 * hangs if it reaches its time limit after at least twice the longest baseline run. Hangs count only if there are at least two runs. */
bool verdict_crashes(const struct verdict *verdict);
/* Returns the decision about cost; DECISION_NOTHING_MEASURED if the candidate always fails. */
enum decision verdict_of_cost(const struct verdict *verdict);

/* Returns the first fingerprint of a used machine; NULL if none has one. A model takes only fingerprints comparable to it. */
const struct fingerprint *verdict_kind(const struct verdict *verdict);

/* verdict_within_text() returns the text of VERDICT_ARCHITECTURES; free() it. verdict_answer_within() adds the table `architectures`. */
char *verdict_within_text(const struct verdict_within *within, size_t n);
void verdict_answer_within(const struct verdict_within *within, size_t n, struct document *d);
/* Adds the decision. `cause`: text about the parts of the difference; "" if the parts are not known. */
void verdict_answer(const struct verdict *verdict, const char *cause, struct document *d);
/* Adds the data behind the decision. Users see all machines or, if there are many, those with the largest and the smallest ratios. */
void verdict_answer_details(const struct verdict *verdict, bool all_machines, bool guesses, struct document *d);
/* Each function adds one part of verdict_answer() or verdict_answer_details(), for pages: the first line; the times and the waits of runs;
 * the kind of change; the used machines (if more than `most`, those with the largest and smallest ratios) and the excluded ones. */
void verdict_answer_first(const struct verdict *verdict, const char *cause, struct document *d);
void verdict_answer_times(const struct times *times, struct document *d);
void verdict_answer_shape(const struct verdict *verdict, bool guesses, struct document *d);
void verdict_answer_machines(const struct verdict *verdict, bool excluded, size_t most, struct document *d);

#endif
