/* A command of several programs, such as a pipeline or a server with its clients: what each of them was spent on, as it was sampled.
 * Programs are told apart by their names: what exec() has made of a process, and what that forks. Ranks of a parallel program are told
 * apart, too. */
#ifndef GATE_PROFILE_PROGRAMS_H
#define GATE_PROFILE_PROGRAMS_H

#include "base/document.h"
#include "gate/profile/sampled.h"

/* Member `programs` of a program's share of the processor's time, empty where there is but one; for people a table where there are several.
 */
void programs_answer(const struct sampled *sampled, struct document *d);

/* Into the open row: member `categories`, and for people "spent on", of a stretch or a part whose shares of sampled->sliced are of[]: those
 * that matter, the largest first. */
void programs_spent(const struct sampled *sampled, const double *of, struct document *d);

#endif
