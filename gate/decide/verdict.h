/* The gate's verdict on two versions: decision, reasons, effect, machines, and the kind of change. */
#ifndef GATE_DECIDE_VERDICT_H
#define GATE_DECIDE_VERDICT_H

#include "gate/conditions/disturbed.h"
#include "gate/decide/effect.h"
#include "gate/decide/pairing.h"
#include "gate/decide/rules.h"
#include "runs/running/evidence.h"

/* The times of the runs in addition to the metric, and whether other work on the machines disturbed the runs. */
/* Constant, code in answers, text for users. */
#define TIME_ROWS(X)                                                                                                                       \
	X(TIME_PROCESSOR, "processor", "CPU time")                                                                                         \
	X(TIME_WALL, "wall", "wall-clock time")                                                                                            \
	X(TIME_OWN, "own", "without waiting for a CPU")

enum time { TIME_ROWS(ROWS_ENUM) TIMES };

struct times {
	struct effect effects[TIMES];	    /* effect if this time were the metric; `types` is 0 if this time is not known */
	struct disturbed_machine *machines; /* [n_machines] machines with known run-queue delay, sorted by name */
	size_t n_machines;
	bool disturbed;		  /* result of disturbed_is_baseline_busy(): other work disturbed the runs */
	bool is_metric_wall_time; /* true if the metric is the wall-clock time; only then do the rules use `effects` */
	double share; /* median of the baseline's CPU time / (wall-clock time without run-queue delay), at most 1. If it is smaller, CPU
			 time must grow by more to matter. The minimum detectable effect in `effects` takes it into account. */
};

#define VERDICT_REASONS_MAX   32
#define VERDICT_EMULATED      "emulated_hosts" /* code of a reason that the page shows in a separate place */
#define VERDICT_ARCHITECTURES "architectures_apart"

struct verdict_reason {
	const char *code; /* stable code for programs (docs/schema/common.json) */
	char *text;	  /* sentence for users, without full stop; owned */
};

/* The effect on the machines of one architecture. */
struct verdict_architecture {
	const char *architecture; /* the evidence owns the string */
	struct effect effect;
	size_t machines;
};

struct verdict {
	const struct run_set *baseline, *candidate; /* borrowed; they point into `architecture_runs` unless `architecture_runs` is NULL */
	double min_effect;
	struct pairing pairing;
	struct effect effect; /* effect on the metric; its member `decision` is the verdict's decision: by a rule, otherwise by the
				 interval, unless the candidate fails more often */
	enum decision interval_decision; /* decision by the interval only */
	struct rule_input input;	 /* input of the rules */
	enum rule rule;			 /* rule that decided; RULES if no rule applied and the interval decided */
	struct times times;
	struct verdict_reason reasons[VERDICT_REASONS_MAX];
	size_t n_reasons;
	enum effect_pattern effect_pattern;
	/* [n_architectures] effect per architecture if the runs come from several; runs of different architectures are never compared. All
	 * other members describe only the architecture with the worst decision (decision_rank(); "nothing measured" is last). If decisions
	 * are equal, it is the architecture with more machines. */
	struct verdict_architecture *within;
	size_t n_architectures;
	const char *architecture;	   /* architecture that decides; NULL if there is only one, or if it is not known */
	struct run_set *architecture_runs; /* [2] runs of `architecture`; NULL if `architecture` is NULL */
};

/* Computes the verdict and sets *out; the caller calls verdict_release(). The arguments must outlive *out. Returns ASSAY_E_USAGE if higher
 * is better for only one of the two run sets. */
enum assay_status verdict_compute(const struct evidence *evidence, const struct lab_config *config, const struct run_set *baseline,
				  const struct run_set *candidate, double min_effect, struct verdict *out, struct assay_error *err);
void verdict_release(struct verdict *verdict);
/* Adds the reasons to a verdict that has its decision (verdict_explain.c). */
void verdict_explain(struct verdict *verdict);
/* Adds a reason and takes ownership of `text`. If `first` is true, the reason is put before the others, because it decided. */
void verdict_add_reason(struct verdict *verdict, bool first, const char *code, char *text);

/* Replaces the decision and the reason of the rule that decided. Takes ownership of `text`. */
void verdict_replace_decision(struct verdict *verdict, enum decision decision, const char *code, char *text);
/* Changes a finding to `environment`, or to `inconclusive` if the candidate fails more often, and adds a reason. Takes ownership of `text`.
 * Returns false and changes nothing if there is no finding, or if CPU time or own wall-clock time shows the same finding, because the code
 * is then the cause. RULE_WAITS_FOR_ITSELF does not prevent the change; it only infers its result from undisturbed machines. */
bool verdict_blame_environment(struct verdict *verdict, const char *code, char *text);

/* Applies a separate threshold for improvements, min_gain > 0: decides again between improved and pass, and adds a reason. Does so only if
 * the interval decided, or if CPU time decided that the candidate is improved. */
void verdict_apply_min_gain(struct verdict *verdict, double min_gain);

/* verdict_is_by_cpu_time() reports whether CPU time decided instead of the metric. verdict_effect() returns the effect that decided. */
bool verdict_is_by_cpu_time(const struct verdict *verdict);
const struct effect *verdict_effect(const struct verdict *verdict);
/* Reports whether the candidate has no result because all its runs failed, while the baseline has comparable results. */
bool verdict_always_fails(const struct verdict *verdict);
/* Reports whether the share of failed runs is larger for the candidate than for the baseline. */
bool verdict_fails_more(const struct verdict *verdict);
/* Reports whether no run of the candidate could start its program, for example after a failed build. Nothing was measured then. */
bool verdict_never_starts(const struct verdict *verdict);
/* Reports whether every run of the candidate crashed (signal or exit status) or hung, while no run of the baseline failed. A run hangs if
 * it reaches its time limit, and this limit is at least twice the longest baseline run. Hangs count only if there are at least two runs. */
bool verdict_crashes(const struct verdict *verdict);
/* Returns the decision about the cost. Returns DECISION_NOTHING_MEASURED if the candidate always fails. */
enum decision verdict_cost_decision(const struct verdict *verdict);

/* Returns the first fingerprint of a used machine; NULL if there is none. A model can use only fingerprints comparable with this one. */
const struct fingerprint *verdict_first_fingerprint(const struct verdict *verdict);

/* verdict_architectures_text() returns the text of VERDICT_ARCHITECTURES; free() it. verdict_describe_architectures() adds the table
 * `architectures`. */
char *verdict_architectures_text(const struct verdict_architecture *within, size_t n);
void verdict_describe_architectures(const struct verdict_architecture *within, size_t n, struct document *d);
/* Adds the decision to the document. `cause` describes the parts of the difference; it is "" if they are not known. */
void verdict_describe(const struct verdict *verdict, const char *cause, struct document *d);
/* Adds the data that led to the decision. Users see all machines if all_machines is true, otherwise those with extreme ratios. */
void verdict_describe_details(const struct verdict *verdict, bool all_machines, bool guesses, struct document *d);
/* Each function adds one part of verdict_describe() or verdict_describe_details(), for pages: the first line; the times and delays of runs;
 * the kind of change; the used machines (of more than `most`, those with extreme ratios) and the excluded machines. */
void verdict_describe_decision(const struct verdict *verdict, const char *cause, struct document *d);
void verdict_describe_times(const struct times *times, struct document *d);
void verdict_describe_pattern(const struct verdict *verdict, bool guesses, struct document *d);
void verdict_describe_machines(const struct verdict *verdict, bool excluded, size_t most, struct document *d);

#endif
