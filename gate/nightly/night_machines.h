/* The machines of a night, and whether they were as usual: by their runs' accounts, and by the age of their latest fingerprints. */
#ifndef GATE_NIGHTLY_NIGHT_MACHINES_H
#define GATE_NIGHTLY_NIGHT_MACHINES_H

#include "base/document.h"
#include "base/rows.h"
#include "gate/nightly/disturbed.h"
#include "gate/nightly/night_answer.h"
#include "runs/running/evidence.h"

#include <stdint.h>

/* Constant, code, for people; the first that holds is said. */
#define NIGHT_HEALTH_ROWS(X)                                                                                                               \
	X(NIGHT_DISTURBED, "disturbed", "disturbed")                                                                                       \
	X(NIGHT_OLD, "old", "fingerprint is old")                                                                                          \
	X(NIGHT_UNKNOWN, "unknown", "no fingerprint")                                                                                      \
	X(NIGHT_WELL, "well", "as usual")

enum night_health { NIGHT_HEALTH_ROWS(ROWS_ENUM) NIGHT_HEALTHS };

struct night_machine {
	const char *name; /* borrowed from a decision */
	size_t comparisons, runs, disturbed, left_out;
	size_t causes[DISTURBED_CAUSES];
	int64_t taken_ms; /* of its latest fingerprint; 0: none */
	enum night_health health;
};

struct night_machines {
	struct night_machine *items; /* [n], by name */
	size_t n, capacity;
};

/* *out is overwritten; night_machines_release() it, before the answers. O(runs + fingerprints). */
void night_machines_of(const struct night *night, const struct night_answers *answers, const struct evidence *evidence, double max_age_days,
		       struct night_machines *out);
void night_machines_release(struct night_machines *machines); /* accepts zeroed */

/* A section of a page. */
void night_machines_show(const struct night_machines *machines, struct document *d);

#endif
