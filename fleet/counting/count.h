/* Interface of the two ways to count: PAPI (hardware events) and the kernel (software events). The events of a run are of one family. */
#ifndef FLEET_COUNTING_COUNT_H
#define FLEET_COUNTING_COUNT_H

#include "fleet/counting/counting.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct count_backend {
	const char *family;
	/* Initializes this way; called once. Returns false if it can count no event; why[COUNTING_REASON_BYTES] is then the reason. */
	bool (*init)(char *why);
	/* knows: reports whether the event is of this family. find: sets *handle if the event can be counted, else sets `why`. */
	bool (*knows)(const char *name);
	bool (*find)(const char *name, int *handle, char *why);
	bool (*fits)(const int *handles, size_t n);
	const char *(*domain)(void);
	/* Starts counting a process, which has not yet executed its program, and its descendants. */
	bool (*start)(const int *handles, size_t n, pid_t process, char *why);
	bool (*stop)(long long *values, size_t n, char *why);
};

extern const struct count_backend count_hardware, count_software;

#endif
