/* What a cost can be predicted from for little: each feature has a price, which is what must be spent to know it before the run, as a part
 * of the run's cost. Free: what is known of the input. The command `features` of the manifest: its time, once for all that it prints. By
 * early exit: a counting build that ends where a function is entered (`assay features build --until`) has run the inputs, and what it has
 * counted by then is what was counted in whole runs, of every input; its time, once. By a slice: a build without most of the program
 * (`assay features build --without`), the same way. All else is known after the run alone: its price is the run. The most expensive source
 * is rejected and the model fitted again, until the predictor costs no more than is allowed. After Chun et al., "Mantis" (USENIX ATC 2013),
 * section 4. */
#ifndef GATE_COST_COST_CHEAP_H
#define GATE_COST_COST_CHEAP_H

#include "base/document.h"
#include "gate/cost/cost_model.h"

#define COST_CHEAP_INPUTS_MIN 5 /* that both versions have run */

/* Constant, code, words. */
#define COST_SOURCE_ROWS(X)                                                                                                                \
	X(COST_FREE, "free", "known of the input, for nothing")                                                                            \
	X(COST_COMMAND, "command", "printed by the manifest's 'features'")                                                                 \
	X(COST_EARLY, "early_exit", "counted by then where a run that counts ends early")                                                  \
	X(COST_SLICE, "slice", "counted by a slice, of which most of the program was left out")                                            \
	X(COST_RUN, "run", "known after the run alone")

enum cost_source { COST_SOURCE_ROWS(ROWS_ENUM) COST_SOURCES };

/* A version whose runs have counted for less than whole runs. */
struct cost_cheap_version {
	size_t inputs;	    /* that it and the model have; 0: there is no such version */
	size_t same, other; /* counts that are the same in all of them, or not: these are refused */
	bool *refused;	    /* [costs.p]; NULL: there is no such version */
};

struct cost_cheap_asked {
	const char *early, *slice; /* versions; NULL: there is none */
	double allowed;		   /* part of the run's cost */
};

struct cost_cheap {
	double allowed, price;	     /* parts of the run's cost */
	double prices[COST_SOURCES]; /* NaN: there is none */
	enum cost_source *source;    /* [costs.p] */
	struct cost_fit fit;	     /* n == 0: nothing that is cheap enough tells the inputs apart */
	size_t rejected;	     /* sources */
	struct cost_cheap_version early, slice;
};

/* ASSAY_E_NODATA: too few inputs of a cheap version are the model's; else as costs_load(). *out is overwritten; cost_cheap_release() it. */
enum assay_status cost_cheap_of(struct store *store, const struct cost_model *model, const struct cost_asked *asked,
				const struct cost_cheap_asked *cheap, struct cost_cheap *out, struct assay_error *err);
void cost_cheap_release(struct cost_cheap *cheap); /* accepts zeroed */

/* A section and the member `cheap`. */
void cost_cheap_answer(const struct cost_model *model, const struct cost_cheap *cheap, struct document *d);

#endif
