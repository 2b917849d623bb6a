/* Which machine, on which a version has not run, would sharpen its profile most. */
#ifndef GATE_PROFILE_SUGGEST_H
#define GATE_PROFILE_SUGGEST_H

#include "base/document.h"
#include "runs/running/evidence.h"

/* Machines in use (not retired) whose latest fingerprint is of the kind that the results have, the `shown` most useful ones for people; and
 * the kinds of machines that would help, if there were one. */
void suggest_answer(const struct evidence *evidence, const struct run_set *runs, size_t shown, struct document *d);

#endif
