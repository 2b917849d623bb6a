/* What commands that are measured here read: our standard input, each run all of it. */
#ifndef GATE_HERE_HERE_INPUT_H
#define GATE_HERE_HERE_INPUT_H

#include "base/error.h"

#include <stdbool.h>

struct here_input {
	int fd;	       /* of what was kept of a pipe; -1: nothing */
	char path[48]; /* opens it at its beginning; "": there is no input */
};

/* A file is read where it is, what comes otherwise is kept in memory: ASSAY_E_LIMIT when that is too much. From a terminal nothing is
 * taken. here_input_release() it. */
enum assay_status here_input_take(bool progress, struct here_input *out, struct assay_error *err);
void here_input_release(struct here_input *input);

#endif
