/* What recorded calls are for, by their names. */
#ifndef GATE_VARIANCE_CALLS_H
#define GATE_VARIANCE_CALLS_H

#include "base/rows.h"

#include <stdbool.h>
#include <stdint.h>

/* The activities of a run. name for programs, text for people. */
#define ACTIVITY_ROWS(X)                                                                                                                   \
	X(ACTIVITY_COMPUTATION, "computation", "computation")                                                                              \
	X(ACTIVITY_COMMUNICATION, "communication", "communication")                                                                        \
	X(ACTIVITY_IO, "io", "input and output")                                                                                           \
	X(ACTIVITY_WAITING, "waiting", "waiting")                                                                                          \
	X(ACTIVITY_OTHER, "other", "other calls")

enum activity { ACTIVITY_ROWS(ROWS_ENUM) ACTIVITIES };
#define ACTIVITY_MAPS 3 /* the first ones have a map: waiting has no usual length */

const char *activity_name(enum activity activity);
const char *activity_text(enum activity activity);

/* The activity of a call, by its name and the kind of its descriptor (enum interpose_kind of runs/inside/interpose). *moves: its result is
 * the number of bytes that it moved, which is its work. */
enum activity call_activity(const char *name, uint64_t kind, bool *moves);
/* It waits for any of several descriptors, and does nothing with them. */
bool call_polls(const char *name);

#endif
