/* What a whole machine does slower for one command: its processors' highest frequency (cpufreq), memory bandwidth and ways of the last
 * cache of resctrl's default group, what one of its network interfaces sends. What stood in the kernel's files is kept in a journal below
 * /run before they are written, and given back when the command has ended: by its helper, when that is killed by a process that stays for
 * nothing else, and when that is killed too by the next run on the machine. Plain C with the C library only. */
#ifndef FLEET_HELPER_MACHINE_H
#define FLEET_HELPER_MACHINE_H

#include "fleet/shape/shape.h"

#include <stddef.h>

#define SHAPE_WHY_BYTES 320

/* Where the kernel's files are: "" on a machine; tests play one below a directory that ASSAY_MACHINE_ROOT names. */
const char *machine_root(void);

struct machine {
	char *journal; /* its path; NULL: nothing was written */
	int file;      /* that is it: whoever has it open owes what stands in it */
	int alive;     /* while it is open here or in a child, the keeper waits */
};

/* Those of shaped[n] that are of a machine. false, nothing changed and `why` filled in: it cannot be, or not be given back. */
bool machine_take(const char *root, const struct shaped *shaped, size_t n, struct machine *out, char why[SHAPE_WHY_BYTES]);
/* By whoever comes first; then it is as it was. */
void machine_give_back(struct machine *machine);

/* Gives back what processes that are dead have left. */
void machine_sweep(const char *root);

#endif
