/* Injects a slowdown, to test whether assay finds it. A wrapper process runs a command and then uses an additional percentage of its CPU
 * time. This module uses only the C library, because the helper (fleet/helper/helper_run.c) also injects slowdowns, if the controller
 * requests them. */
#ifndef FLEET_EMULATE_PLANT_H
#define FLEET_EMULATE_PLANT_H

#include "base/rows.h"

#include <stdbool.h>
#include <stdint.h>

/* Kinds of slowdown. Each row is X(constant, word, use of the injected CPU time). */
#define INJECTION_ROWS(X)                                                                                                                  \
	X(INJECTION_CPU, "cpu", "computing")                                                                                               \
	X(INJECTION_MEMORY, "memory", "memory traffic")                                                                                    \
	X(INJECTION_CALLS, "calls", "system calls")

enum injection_kind { INJECTION_ROWS(ROWS_ENUM) INJECTION_KINDS };

#define INJECTION_PERCENT_MAX 100
#define INJECTION_TEXT_BYTES  16 /* size of the text of an injected slowdown */

struct injection {
	enum injection_kind kind;
	unsigned percent; /* injected CPU time, % of the command's; 0 for no slowdown */
};

/* Parses a text such as "cpu5", 5 % more CPU time, used for computing. If it is invalid, returns false and does not change *out. */
bool injection_parse(const char *text, struct injection *out);
void injection_format(const struct injection *plant, char text[INJECTION_TEXT_BYTES]);
const char *injection_kind_name(enum injection_kind kind);
const char *injection_kind_text(enum injection_kind kind);

/* Forks. Returns 0 in the child, which must become the command, or -1 if the fork failed. Does not return in the parent, which closes
 * close_fd, waits for the child, uses the CPU time and ends as the child did. *delay_ns: run-queue delay of the child. */
int injection_fork(const struct injection *plant, int close_fd, uint64_t *delay_ns);

#endif
