/* Injects a slowdown, to test whether assay finds it. A wrapper runs a command and, after its end, spends a percentage of its CPU time.
 * Uses only the C library: the helper (fleet/helper/helper_run.c) injects it when the controller requests that. */
#ifndef FLEET_EMULATE_PLANT_H
#define FLEET_EMULATE_PLANT_H

#include "base/rows.h"

#include <stdbool.h>
#include <stdint.h>

/* X(constant, word, use of the injected CPU time). */
#define PLANT_ROWS(X)                                                                                                                      \
	X(PLANT_CPU, "cpu", "computing")                                                                                                   \
	X(PLANT_MEMORY, "memory", "memory traffic")                                                                                        \
	X(PLANT_CALLS, "calls", "system calls")

enum plant_kind { PLANT_ROWS(ROWS_ENUM) PLANT_KINDS };

#define PLANT_PERCENT_MAX 100
#define PLANT_BYTES	  16 /* size of the text of an injected slowdown */

struct plantation {
	enum plant_kind kind;
	unsigned percent; /* percentage of the command's CPU time; 0: no slowdown */
};

/* Parses a text such as "cpu5": 5 % more CPU time, by computing. Returns false if the text is invalid; then *out is unchanged. */
bool injection_read(const char *text, struct plantation *out);
void injection_write(const struct plantation *plant, char text[PLANT_BYTES]);
const char *plant_word(enum plant_kind kind);
const char *plant_text(enum plant_kind kind);

/* Forks. Returns 0 in the child, which must become the command; -1 if the fork failed. Does not return in the parent: the parent closes
 * close_fd, waits for the child, spends the CPU time and ends like the child. *delay_ns: run-queue delay of the child. */
int injection_begin(const struct plantation *plant, int close_fd, uint64_t *delay_ns);

#endif
