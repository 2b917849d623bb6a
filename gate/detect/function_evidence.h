/* Explains a decision of the gate by stored samples of functions, which can also show other anomalies but never change the decision. */
#ifndef GATE_DETECT_FUNCTION_EVIDENCE_H
#define GATE_DETECT_FUNCTION_EVIDENCE_H

#include "fleet/lab/lab.h"
#include "gate/detect/detect.h"
#include "runs/running/run.h"

struct function_evidence {
	bool has_result; /* `detected` is valid */
	char *missing;	 /* reason why samples gave no result; NULL if there are no samples or if there is a result */
	size_t types;	 /* number of hardware types with samples of both; the type with most is judged; 0 if irrelevant */
	struct side sides[2];
	struct places places;
	struct detect_input input; /* borrows the members above */
	struct detected detected;
};

/* Judges the stored samples of two versions. If both have samples from several back ends, tries the most informative one first, until one
 * finds a change. Source locations are known only if the candidate's build still exists. Overwrites *out, which must not be moved; the
 * caller calls function_evidence_release(). Reports errors in `missing`. Costs as much as detect(). */
void function_evidence_load(struct lab *lab, const struct run_set *baseline, const struct run_set *candidate,
			    struct function_evidence *out);
/* Judges two directories of samples, which side_read() reads. Source locations are unknown. */
void function_evidence_read(const char *const directories[2], struct function_evidence *out);
void function_evidence_release(struct function_evidence *evidence); /* Accepts a zeroed struct. */

/* Reports whether `decision` is a change of performance that functions explain. */
bool function_evidence_explains(const struct function_evidence *evidence, enum decision decision);
/* Reports whether there are enough runs for the requested rate of false alarms. */
bool function_evidence_is_sure(const struct function_evidence *evidence);
/* Returns the worse functions in which threads obstruct each other, such as "add (false_sharing)"; NULL if there are none. The caller frees
 * it. */
char *function_evidence_latent_text(const struct function_evidence *evidence);

/* Returns the reason, from its counters, why a function became worse, such as "called 30 times as often". `name` is the demangled name.
 * Returns NULL if the function did not become worse. The caller frees the text. */
char *function_evidence_reason(const struct function_evidence *evidence, const char *name);

/* Reason why a function costs more or less. All strings are borrowed. */
struct function_reason {
	const char *name, *file; /* demangled name of the function; its source file, NULL if unknown */
	unsigned line;
	const char *kind, *counter; /* trouble_code(); name of the counter that changed, NULL if there is none */
	double normal, now;	    /* means of the counter in normal runs and in new runs */
	double part;		    /* fraction of the added or saved time of all functions */
};
/* Fills *out with the i-th function that explains the decision. Returns false if there are at most i. */
bool function_evidence_get_reason(const struct function_evidence *evidence, enum decision decision, size_t i, struct function_reason *out);

/* Returns the number of functions that changed as decided: improved ones if the decision is improved, otherwise worse ones. Sets *first to
 * the index of the first of them in detected.functions. */
size_t function_evidence_count_leading(const struct function_evidence *evidence, enum decision decision, size_t *first);

/* Adds lines for users. */
void function_evidence_add_lines(const struct function_evidence *evidence, enum decision decision, struct document *d);
/* Adds the same lines and the member "functions", which is null if there are no samples. */
void function_evidence_describe(const struct function_evidence *evidence, enum decision decision, struct document *d);

#endif
