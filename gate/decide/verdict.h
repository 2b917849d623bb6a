/* All that the gate says about two versions: decision, reasons, effect, machines, and the kind of change. */
#ifndef GATE_DECIDE_VERDICT_H
#define GATE_DECIDE_VERDICT_H

#include "gate/conditions/disturbed.h"
#include "gate/decide/effect.h"
#include "gate/decide/pairing.h"
#include "gate/decide/rules.h"
#include "runs/running/evidence.h"

/* What stands beside the metric of two versions: CPU and wall-clock time of the same runs, and whether machines were busy with
 * something else while they ran. */
/* Constant, code, for people. */
#define TIME_ROWS(X)                                                                                                                       \
	X(TIME_PROCESSOR, "processor", "CPU time")                                                                                         \
	X(TIME_WALL, "wall", "wall-clock time")                                                                                            \
	X(TIME_OWN, "own", "without waiting for a CPU")

enum time { TIME_ROWS(ROWS_ENUM) TIMES };

struct times {
	struct effect of[TIMES];	    /* as if each were the metric; 0 types where it is not known */
	struct disturbed_machine *machines; /* [n_machines], of which it is known, by name */
	size_t n_machines;
	bool disturbed;	     /* the machines were: disturbed_on() */
	bool metric_is_wall; /* then rules look at the times */
	double share;	     /* of the baseline's own wall-clock time that it had a CPU, at most 1: the less, the more of CPU
			      * time it takes to matter, which the minimum detectable effect in `of` knows */
};

#define VERDICT_REASONS_MAX   32
#define VERDICT_EMULATED      "emulated_hosts" /* code of the reason that the page shows apart */
#define VERDICT_ARCHITECTURES "architectures_apart"

struct verdict_reason {
	const char *code; /* stable, for programs (docs/schema/common.json) */
	char *text;	  /* a sentence, for people, without its full stop */
};

/* What is decided on machines of one architecture. */
struct verdict_within {
	const char *architecture; /* borrowed from the evidence */
	struct effect effect;
	size_t machines;
};

struct verdict {
	const struct run_set *baseline, *candidate; /* borrowed; of one architecture its own */
	double min_effect;
	struct pairing pairing;
	struct effect effect; /* its decision is the verdict's: by a rule, else by the interval, unless the candidate fails more often, or
			       * always */
	enum decision by_interval; /* what the interval alone says */
	struct rule_input input;   /* of the rules */
	enum rule rule;		   /* that decided; RULES: none, the interval did */
	struct times times;
	struct verdict_reason reasons[VERDICT_REASONS_MAX];
	size_t n_reasons;
	enum shape shape;
	/* [n_within], where results are of several architectures: these are never compared with each other. All else here is of the one
	 * that decides: the worst one, as decision_place() has it, but where nothing was measured; at equal decisions the one with more
	 * machines. */
	struct verdict_within *within;
	size_t n_within;
	const char *architecture; /* that decides; NULL: there is one, or it is not known */
	struct run_set *own;	  /* [2], its runs; NULL as above */
};

/* Both run sets must have the same direction, else ASSAY_E_USAGE. The arguments must outlive *out; verdict_release() it. */
enum assay_status verdict_of(const struct evidence *evidence, const struct lab_config *config, const struct run_set *baseline,
			     const struct run_set *candidate, double min_effect, struct verdict *out, struct assay_error *err);
void verdict_release(struct verdict *verdict);
/* Adds the reasons, when all is decided (verdict_explain.c). */
void verdict_explain(struct verdict *verdict);
/* Adds a reason, `first` where it has decided. Takes the text. */
void verdict_add_reason(struct verdict *verdict, bool first, const char *code, char *text);

/* Replaces the decision, and the reason of the rule that made it. Takes the text. */
void verdict_overrule(struct verdict *verdict, enum decision decision, const char *code, char *text);
/* A finding that what is known besides puts down to the environment becomes that, with `text` (taken over) as a reason of this code; not
 * where CPU time, or waiting for something else than a CPU, has shown that it is the code's: then false. That the candidate
 * waits for itself is only concluded from machines that did not keep the baseline waiting, and gives way to who has seen more. */
bool verdict_excuse(struct verdict *verdict, const char *code, char *text);

/* Improvements count from another size on than slowdowns: decides again between improved and pass, with a reason, where the interval alone
 * has decided, and of what improved by CPU time. min_gain > 0. */
void verdict_gain(struct verdict *verdict, double min_gain);

/* Has CPU time decided, and not the metric? The effect of the one that has. */
bool verdict_by_processor(const struct verdict *verdict);
const struct effect *verdict_effect(const struct verdict *verdict);
/* Has the candidate no result because all of its runs failed, while the baseline has some that could be compared? */
bool verdict_always_fails(const struct verdict *verdict);
/* Does a larger part of the candidate's runs fail? */
bool verdict_fails_more(const struct verdict *verdict);
/* Is there no program of the candidate that could be executed? Then nothing of it was measured, as where a build fails. */
bool verdict_never_starts(const struct verdict *verdict);
/* Has each of these runs crashed, by a signal or with a status, or hung until its time limit (two at least, for twice as long as any of the
 * baseline), while none of the baseline failed? */
bool verdict_crashes(const struct verdict *verdict);
/* What was decided about cost: nothing was measured where the candidate always fails. */
enum decision verdict_of_cost(const struct verdict *verdict);

/* A model takes fingerprints that are comparable to that of the first machine in use (NULL: it has none); whether a machine is in use and
 * has such a fingerprint. */
const struct fingerprint *verdict_kind(const struct verdict *verdict);
bool verdict_usable(const struct pairing_machine *machine, const struct fingerprint *kind);

/* The reason VERDICT_ARCHITECTURES, free() it; the table `architectures`. */
char *verdict_within_text(const struct verdict_within *within, size_t n);
void verdict_answer_within(const struct verdict_within *within, size_t n, struct document *d);
/* Adds the decision; `cause`: what the difference is made of, "" where that is not known. */
void verdict_answer(const struct verdict *verdict, const char *cause, struct document *d);
/* Adds what it rests on. Users see all machines or, where they are many, those with the largest and the smallest ratios. */
void verdict_answer_details(const struct verdict *verdict, bool all_machines, bool guesses, struct document *d);
/* Pieces of both, for pages: the first line; the times, and how long runs were kept waiting; the kind of change; the machines in use, of
 * more than `most` the outermost, and those that are excluded. */
void verdict_answer_first(const struct verdict *verdict, const char *cause, struct document *d);
void verdict_answer_times(const struct times *times, struct document *d);
void verdict_answer_shape(const struct verdict *verdict, bool guesses, struct document *d);
void verdict_answer_machines(const struct verdict *verdict, bool excluded, size_t most, struct document *d);

#endif
