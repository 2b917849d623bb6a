/* A slowdown injected on purpose, to test whether it is found. A wrapper runs a command and, after its end, spends a percentage of its CPU
 * time again. Plain C with the C library only: the helper injects it (fleet/helper/helper_run.c), at the controller's request. */
#ifndef FLEET_EMULATE_PLANT_H
#define FLEET_EMULATE_PLANT_H

#include "base/rows.h"

#include <stdbool.h>
#include <stdint.h>

/* Constant, word, use of the time. */
#define PLANT_ROWS(X)                                                                                                                      \
	X(PLANT_CPU, "cpu", "computing")                                                                                                   \
	X(PLANT_MEMORY, "memory", "memory traffic")                                                                                        \
	X(PLANT_CALLS, "calls", "system calls")

enum plant_kind { PLANT_ROWS(ROWS_ENUM) PLANT_KINDS };

#define PLANT_PERCENT_MAX 100
#define PLANT_BYTES	  16 /* size of its text */

struct plantation {
	enum plant_kind kind;
	unsigned percent; /* 0: nothing is injected */
};

/* Parses a text such as "cpu5": 5 % of computing. False: invalid, and *out is unchanged. */
bool plant_read(const char *text, struct plantation *out);
void plant_write(const struct plantation *plant, char text[PLANT_BYTES]);
const char *plant_word(enum plant_kind kind);
const char *plant_text(enum plant_kind kind);

/* Forks. Returns 0 in the child, which is to become the command. The parent never returns: it waits for the child, spends the time and ends
 * as the child did. *delay_ns: the child's run-queue delay. -1: the fork failed. The parent closes `close_fd`. */
int plant_begin(const struct plantation *plant, int close_fd, uint64_t *delay_ns);

#endif
