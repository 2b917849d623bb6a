/* What stored samples of two versions add to the decision of the gate: they explain a change, or show what is anomalous besides; they never
 * change the decision. */
#ifndef GATE_DETECT_FUNCTION_EVIDENCE_H
#define GATE_DETECT_FUNCTION_EVIDENCE_H

#include "fleet/lab/lab.h"
#include "gate/detect/detect.h"
#include "runs/running/run.h"

struct function_evidence {
	bool there;    /* `detected` holds something */
	char *missing; /* there are samples, but nothing could be concluded, and why; NULL otherwise */
	size_t types;  /* hardware types of which both have samples; the one with most is looked at. 0: what counted does not depend on the
			  machine */
	struct side sides[2];
	struct places places;
	struct detect_input input; /* of the others */
	struct detected detected;
};

/* Judges the two versions' stored samples, of several back ends those in which something is found that tell most of the reason; files and
 * lines of functions are known where the candidate's build is still there. *out is overwritten and must not be moved;
 * function_evidence_release() it. Never fails: what goes wrong is `missing`. Cost: that of detect(). */
void function_evidence_of(struct lab *lab, const struct run_set *baseline, const struct run_set *candidate, struct function_evidence *out);
/* The same of two directories of samples, as side_read() takes them; files and lines are not known. */
void function_evidence_read(const char *const directories[2], struct function_evidence *out);
void function_evidence_release(struct function_evidence *evidence); /* accepts zeroed */

/* Does the decision say that performance moved, and do functions say why? */
bool function_evidence_explains(const struct function_evidence *evidence, enum decision decision);
/* Are there enough runs for the rate of false alarms that was asked for? */
bool function_evidence_is_sure(const struct function_evidence *evidence);
/* Those that are worse and have threads in each other's way: "add (false_sharing), sum (remote_memory)"; free() it. NULL: none is. */
char *function_evidence_latent(const struct function_evidence *evidence);

/* What the counters say of a function that is worse, by its name as people write it: "called 30 times as often", "more work at each call;
 * basic blocks 10 -> 100 in a call". free() it. NULL: it was not found worse. */
char *function_evidence_reason(const struct function_evidence *evidence, const char *name);

/* Why a function costs more, or less. All is borrowed. */
struct function_reason {
	const char *name, *file; /* file NULL: not known */
	unsigned line;
	const char *kind, *counter; /* trouble_code(); name of the counter that moved, NULL: none */
	double normal, now;	    /* its means */
	double part;		    /* of the time that all functions take more, or less */
};
/* The i-th of those that explain the decision. False: there are no more. */
bool function_evidence_row(const struct function_evidence *evidence, enum decision decision, size_t i, struct function_reason *out);

/* Those that moved as the decision says, `improved`, or for the worse: detected.functions[*first] and so many from there on. */
size_t function_evidence_leading(const struct function_evidence *evidence, enum decision decision, size_t *first);

/* Adds some lines for users. */
void function_evidence_tell(const struct function_evidence *evidence, enum decision decision, struct document *d);
/* The same, and the member "functions", null without samples. */
void function_evidence_add(const struct function_evidence *evidence, enum decision decision, struct document *d);

#endif
