/* Where in the application's own sources the time of an input's runs went, as it was sampled (runs/running/sampled_lines.h). */
#ifndef RUNS_RUNNING_COST_PLACES_H
#define RUNS_RUNNING_COST_PLACES_H

#include "base/error.h"

#include <stddef.h>

struct cost_place {
	char *function, *file; /* file: without its directory; "-": not known */
	unsigned line;	       /* 0: not known */
	unsigned begins;       /* the line of the function's name; 0: not known */
	double seconds;	       /* of a processor, a run on average */
};

struct cost_places {
	struct cost_place *items; /* [n], by function, file and line */
	size_t n, capacity;
	size_t runs;   /* that have samples; 0: none */
	double sample; /* seconds of `seconds` that one is */
};

/* Adds those of a run from its signature (fleet/agent/signature.h). */
enum assay_status cost_places_add(struct cost_places *places, const char *signature, struct assay_error *err);
/* After the last: sorted, and of a run. */
void cost_places_end(struct cost_places *places);
void cost_places_release(struct cost_places *places); /* accepts zeroed */

#endif
