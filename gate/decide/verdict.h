/* The verdict of the gate about two versions: decision, reasons, effect, machines, and the kind of change. */
#ifndef GATE_DECIDE_VERDICT_H
#define GATE_DECIDE_VERDICT_H

#include "gate/conditions/disturbed.h"
#include "gate/decide/effect.h"
#include "gate/decide/pairing.h"
#include "gate/decide/rules.h"
#include "runs/running/evidence.h"

/* Times of the runs beside the metric: CPU and wall-clock time, and whether machines were busy with something else during the runs. */
/* Constant, code, text for users. */
#define TIME_ROWS(X)                                                                                                                       \
	X(TIME_PROCESSOR, "processor", "CPU time")                                                                                         \
	X(TIME_WALL, "wall", "wall-clock time")                                                                                            \
	X(TIME_OWN, "own", "without waiting for a CPU")

enum time { TIME_ROWS(ROWS_ENUM) TIMES };

struct times {
	struct effect of[TIMES];	    /* effect with each time as the metric; `types` is 0 if that time is unknown */
	struct disturbed_machine *machines; /* [n_machines], those with known waits, by name */
	size_t n_machines;
	bool disturbed;	     /* the machines were disturbed: disturbed_on() */
	bool metric_is_wall; /* the metric is the wall-clock time: only then rules use the times */
	double share;	     /* CPU time per own wall-clock time of the baseline, at most 1. With a smaller share, CPU time has to grow
			      * by more to matter; the minimum detectable effect in `of` includes that */
};

#define VERDICT_REASONS_MAX   32
#define VERDICT_EMULATED      "emulated_hosts" /* code of the reason that the page shows separately */
#define VERDICT_ARCHITECTURES "architectures_apart"

struct verdict_reason {
	const char *code; /* stable, for programs (docs/schema/common.json) */
	char *text;	  /* sentence for users, without full stop */
};

/* The decision on the machines of one architecture. */
struct verdict_within {
	const char *architecture; /* borrowed from the evidence */
	struct effect effect;
	size_t machines;
};

struct verdict {
	const struct run_set *baseline, *candidate; /* borrowed; those in `own` if that is set */
	double min_effect;
	struct pairing pairing;
	struct effect effect; /* its decision is the verdict's: by a rule, else by the interval, unless the candidate fails more often, or
			       * always */
	enum decision by_interval; /* decision by the interval only */
	struct rule_input input;   /* input of the rules */
	enum rule rule;		   /* rule that decided; RULES: none, the interval did */
	struct times times;
	struct verdict_reason reasons[VERDICT_REASONS_MAX];
	size_t n_reasons;
	enum shape shape;
	/* [n_within], if results come from several architectures, which are never compared with each other. All other members are of the
	 * architecture that decides: the worst by decision_place(), except one where nothing was measured; if decisions are equal, the one
	 * with more machines. */
	struct verdict_within *within;
	size_t n_within;
	const char *architecture; /* architecture that decides; NULL: there is only one, or it is not known */
	struct run_set *own;	  /* [2], runs of that architecture; NULL as above */
};

/* Decides into *out, which the arguments must outlive; verdict_release() it. ASSAY_E_USAGE: the run sets do not have the same direction. */
enum assay_status verdict_of(const struct evidence *evidence, const struct lab_config *config, const struct run_set *baseline,
			     const struct run_set *candidate, double min_effect, struct verdict *out, struct assay_error *err);
void verdict_release(struct verdict *verdict);
/* Adds the reasons, after the decision is made (verdict_explain.c). */
void verdict_explain(struct verdict *verdict);
/* Adds a reason; `first`: in front of the others, since it decided. Takes ownership of the text. */
void verdict_add_reason(struct verdict *verdict, bool first, const char *code, char *text);

/* Replaces the decision, and the reason of the rule that made it. Takes ownership of the text. */
void verdict_overrule(struct verdict *verdict, enum decision decision, const char *code, char *text);
/* Changes a finding to `environment` (to `inconclusive` if the candidate fails more often), with `text` as a reason of this code. Takes
 * ownership of the text. Returns false, changing nothing, if there is no finding, or if CPU time or own wall-clock time shows it too: then
 * the code is the cause. RULE_WAITS_FOR_ITSELF is only an inference from undisturbed machines, so it is overruled. */
bool verdict_excuse(struct verdict *verdict, const char *code, char *text);

/* Decides again between improved and pass, with a reason, if improvements count from another size (min_gain > 0) on than slowdowns. Applies
 * if only the interval decided, or if the improvement was decided by CPU time. */
void verdict_gain(struct verdict *verdict, double min_gain);

/* Reports whether CPU time decided, and not the metric. verdict_effect() returns the effect of the one that decided. */
bool verdict_by_processor(const struct verdict *verdict);
const struct effect *verdict_effect(const struct verdict *verdict);
/* Reports whether the candidate has no result because all of its runs failed, while the baseline has results that could be compared. */
bool verdict_always_fails(const struct verdict *verdict);
/* Reports whether a larger share of runs failed for the candidate than for the baseline. */
bool verdict_fails_more(const struct verdict *verdict);
/* Reports whether no run of the candidate could start its program. Then nothing of it was measured, as if a build failed. */
bool verdict_never_starts(const struct verdict *verdict);
/* Reports whether every run of the candidate crashed (by a signal or with a status) or hung, while no run of the baseline failed. A run
 * hangs if it reaches its time limit after at least twice the longest baseline run; hangs count only if there are at least two runs. */
bool verdict_crashes(const struct verdict *verdict);
/* Returns the decision about cost; DECISION_NOTHING_MEASURED if the candidate always fails. */
enum decision verdict_of_cost(const struct verdict *verdict);

/* Returns the first fingerprint of a machine in use (NULL: none has one); a model takes only fingerprints comparable to it. */
const struct fingerprint *verdict_kind(const struct verdict *verdict);

/* verdict_within_text() returns the text of the reason VERDICT_ARCHITECTURES; free() it. The other adds the table `architectures`. */
char *verdict_within_text(const struct verdict_within *within, size_t n);
void verdict_answer_within(const struct verdict_within *within, size_t n, struct document *d);
/* Adds the decision; `cause`: parts of the difference, "" if they are not known. */
void verdict_answer(const struct verdict *verdict, const char *cause, struct document *d);
/* Adds the data of the decision. Users see all machines or, if there are many, those with the largest and the smallest ratios. */
void verdict_answer_details(const struct verdict *verdict, bool all_machines, bool guesses, struct document *d);
/* Each adds one part of the two above, for pages: the first line; the times, and the waits of runs; the kind of change; the machines in use
 * (of more than `most`, those with the largest and smallest ratios), and the excluded ones. */
void verdict_answer_first(const struct verdict *verdict, const char *cause, struct document *d);
void verdict_answer_times(const struct times *times, struct document *d);
void verdict_answer_shape(const struct verdict *verdict, bool guesses, struct document *d);
void verdict_answer_machines(const struct verdict *verdict, bool excluded, size_t most, struct document *d);

#endif
