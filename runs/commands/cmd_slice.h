/* The pieces of a program that runs can do without: `assay build --for features --slice`. */
#ifndef RUNS_CMD_SLICE_H
#define RUNS_CMD_SLICE_H

#include "base/document.h"
#include "base/error.h"

#include <stdint.h>

struct slice_request {
	const char *commands; /* a file: runs of a program with pieces, a line each, as the shell takes them */
	const char *only;     /* a file of the features that are wanted, one a line; NULL: all */
	const char *output;   /* the file for the pieces that are left out; NULL: none */
	double allowed;	      /* of a slice: what it may count, as a part of what whole runs count */
	int64_t top;	      /* features that users are shown */
};

/* Searches, for some hundred times as long as the commands run; writes request->output, and answers into the document. */
enum assay_status slice_answer(const struct slice_request *request, struct document *d, struct assay_error *err);

#endif
