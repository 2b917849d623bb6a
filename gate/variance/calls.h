/* What calls into the outside are for, by their names: one table. */
#ifndef GATE_VARIANCE_CALLS_H
#define GATE_VARIANCE_CALLS_H

#include <stdbool.h>
#include <stdint.h>

/* What a stretch of a run was for. name for programs, text for people. */
#define ACTIVITY_ROWS(X)                                                                                                                   \
	X(ACTIVITY_COMPUTATION, "computation", "computation")                                                                              \
	X(ACTIVITY_COMMUNICATION, "communication", "communication")                                                                        \
	X(ACTIVITY_IO, "io", "input and output")                                                                                           \
	X(ACTIVITY_WAITING, "waiting", "waiting")                                                                                          \
	X(ACTIVITY_OTHER, "other", "other calls")

#define ACTIVITY_ENUM(id, name, text) id,
enum activity { ACTIVITY_ROWS(ACTIVITY_ENUM) ACTIVITIES };
#undef ACTIVITY_ENUM
#define ACTIVITY_MAPS 3 /* the first ones have a map: waiting has no usual length */

const char *activity_name(enum activity activity);
const char *activity_text(enum activity activity);

/* Of a call by its name, to a descriptor of that kind (enum interpose_kind of runs/inside/interpose). *moves: its result is how many bytes
 * it moved, which is the work that it did. */
enum activity call_activity(const char *name, uint64_t kind, bool *moves);

#endif
