/* Adds evidence from stored samples of two versions to a decision of the gate: the evidence explains a change, or shows other anomalies. It
 * never changes the decision. */
#ifndef GATE_DETECT_FUNCTION_EVIDENCE_H
#define GATE_DETECT_FUNCTION_EVIDENCE_H

#include "fleet/lab/lab.h"
#include "gate/detect/detect.h"
#include "runs/running/run.h"

struct function_evidence {
	bool there;    /* `detected` is filled */
	char *missing; /* why samples gave no result; NULL: there are no samples, or there is a result */
	size_t types;  /* number of hardware types with samples of both; the type with most is judged. 0: counters do not depend on it */
	struct side sides[2];
	struct places places;
	struct detect_input input; /* borrows the members above */
	struct detected detected;
};

/* Judges the stored samples of two versions. With several back ends, takes the most informative one that finds something. Files and lines
 * of functions are known if the candidate's build still exists. *out is overwritten and must not be moved; function_evidence_release() it.
 * Never fails: problems are in `missing`. Cost: that of detect(). */
void function_evidence_of(struct lab *lab, const struct run_set *baseline, const struct run_set *candidate, struct function_evidence *out);
/* Does the same for two directories of samples, which side_read() reads; files and lines are not known. */
void function_evidence_read(const char *const directories[2], struct function_evidence *out);
void function_evidence_release(struct function_evidence *evidence); /* accepts zeroed */

/* Reports whether `decision` is a change of performance that functions explain. */
bool function_evidence_explains(const struct function_evidence *evidence, enum decision decision);
/* Reports whether there are enough runs for the requested rate of false alarms. */
bool function_evidence_is_sure(const struct function_evidence *evidence);
/* Returns the worse functions in which threads obstruct each other: "add (false_sharing), sum (remote_memory)"; free() it. NULL: none. */
char *function_evidence_latent(const struct function_evidence *evidence);

/* Returns the reason why a function is worse, from its counters: "called 30 times as often", "more work at each call; basic blocks 10 ->
 * 100 in a call"; free() it. `name` is as users write it. NULL: the function was not found worse. */
char *function_evidence_reason(const struct function_evidence *evidence, const char *name);

/* The reason why a function costs more, or less. All strings are borrowed. */
struct function_reason {
	const char *name, *file; /* name of the function; its file, NULL: not known */
	unsigned line;
	const char *kind, *counter; /* trouble_code(); name of the counter that changed, NULL: none */
	double normal, now;	    /* means of the counter in normal and in new runs */
	double part;		    /* part of the added or saved time of all functions */
};
/* Fills *out with the i-th function that explains the decision. Returns false if there are no more. */
bool function_evidence_row(const struct function_evidence *evidence, enum decision decision, size_t i, struct function_reason *out);

/* Returns the number of functions that changed as decided (`improved`, else worse): detected.functions[*first] and those after it. */
size_t function_evidence_leading(const struct function_evidence *evidence, enum decision decision, size_t *first);

/* Adds some lines for users. */
void function_evidence_report(const struct function_evidence *evidence, enum decision decision, struct document *d);
/* Adds the same, and the member "functions", which is null without samples. */
void function_evidence_add(const struct function_evidence *evidence, enum decision decision, struct document *d);

#endif
