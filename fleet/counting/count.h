/* The two ways to count, with one interface: by PAPI (hardware) and by the kernel (software). One run never has events of both. */
#ifndef FLEET_COUNTING_COUNT_H
#define FLEET_COUNTING_COUNT_H

#include "fleet/counting/counting.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct count_way {
	const char *family;
	/* Called once. False: no event of this family can be counted here; why[COUNTING_REASON_BYTES]: the reason. */
	bool (*init)(char *why);
	/* knows: whether it is an event of this family. find: whether such an event can be counted: *handle, else why. */
	bool (*knows)(const char *name);
	bool (*find)(const char *name, int *handle, char *why);
	bool (*fits)(const int *handles, size_t n);
	const char *(*domain)(void);
	/* Counts a process that waits for its start, and its descendants. */
	bool (*start)(const int *handles, size_t n, pid_t process, char *why);
	bool (*stop)(long long *values, size_t n, char *why);
};

extern const struct count_way count_hardware, count_software;

#endif
