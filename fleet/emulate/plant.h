/* A slowdown that is injected on purpose, to learn whether it is found: a command and, once it has ended, so many percent of its CPU
 * time again, spent by a wrapper around it. Plain C with the C library only: the helper plants (fleet/helper/helper_run.c), the controller
 * asks.
 */
#ifndef FLEET_EMULATE_PLANT_H
#define FLEET_EMULATE_PLANT_H

#include "base/rows.h"

#include <stdbool.h>
#include <stdint.h>

/* Constant, word, what the time is spent on. */
#define PLANT_ROWS(X)                                                                                                                      \
	X(PLANT_CPU, "cpu", "computing")                                                                                                   \
	X(PLANT_MEMORY, "memory", "memory traffic")                                                                                        \
	X(PLANT_CALLS, "calls", "system calls")

enum plant_kind { PLANT_ROWS(ROWS_ENUM) PLANT_KINDS };

#define PLANT_PERCENT_MAX 100
#define PLANT_BYTES	  16 /* of its text */

struct plantation {
	enum plant_kind kind;
	unsigned percent; /* 0: nothing is injected */
};

/* "cpu5": 5 % of computing. False: it is no such text, and *out is as it was. */
bool plant_read(const char *text, struct plantation *out);
void plant_write(const struct plantation *plant, char text[PLANT_BYTES]);
const char *plant_word(enum plant_kind kind);
const char *plant_text(enum plant_kind kind);

/* Returns in a child, which is to become the command; this process waits for it, spends the time and ends as it has ended. *delay_ns: how
 * long the command was kept waiting for a CPU. -1: there can be no child. `close_fd` is of the child alone. */
int plant_begin(const struct plantation *plant, int close_fd, uint64_t *delay_ns);

#endif
