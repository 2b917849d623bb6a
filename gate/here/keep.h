/* The runs of a comparison on this machine in a laboratory of their own, in which other commands find them. */
#ifndef GATE_HERE_KEEP_H
#define GATE_HERE_KEEP_H

#include "base/error.h"
#include "fleet/agent/helper_client.h"

#define KEEP_APPLICATION "diff"
#define KEEP_MACHINE	 "local"

/* A command and its runs; all is borrowed. */
struct keep_side {
	const char *name;	  /* of the version; NULL or no such name: "a" and "b" */
	const char *const *words; /* [n_words], as they were executed */
	size_t n_words;
	const char *build; /* says which program was run, and how: equal texts, equal programs */
	const struct helper_result *results;
	char *const *samples; /* NULL: a run has none */
	size_t n;	      /* runs of each side, in pairs */
};

/* Stores all runs in the laboratory, of one plan; level: of intervals, where they were looked at while they grew, else 0. */
enum assay_status keep_runs(const char *directory, const struct keep_side sides[2], double level, struct assay_error *err);

#endif
