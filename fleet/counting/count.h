/* Two ways to count with one interface: PAPI (hardware events) and the kernel (software events). A run has events of one family only. */
#ifndef FLEET_COUNTING_COUNT_H
#define FLEET_COUNTING_COUNT_H

#include "fleet/counting/counting.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct count_way {
	const char *family;
	/* Initializes; called once. Returns false if no event of this family can be counted; why[COUNTING_REASON_BYTES] has the reason. */
	bool (*init)(char *why);
	/* knows: reports whether the event belongs to this family. find: sets *handle if the event can be counted, else `why`. */
	bool (*knows)(const char *name);
	bool (*find)(const char *name, int *handle, char *why);
	bool (*fits)(const int *handles, size_t n);
	const char *(*domain)(void);
	/* Counts a process that has not started its program yet, and its descendants. */
	bool (*start)(const int *handles, size_t n, pid_t process, char *why);
	bool (*stop)(long long *values, size_t n, char *why);
};

extern const struct count_way count_hardware, count_software;

#endif
