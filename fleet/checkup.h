/* Are hosts fit to be measured? From what they said to a list of problems, and of remarks on what is not a problem but good to know.
 */
#ifndef FLEET_CHECKUP_H
#define FLEET_CHECKUP_H

#include "fleet/engine/session.h"
#include "fleet/agent/facts.h"

#include <stdbool.h>
#include <stddef.h>

#define CHECKUP_SHM_BYTES_MIN	 (128.0 * 1024 * 1024) /* stressors work in files there */
#define CHECKUP_DISK_BYTES_MIN	 (1024.0 * 1024 * 1024)
#define CHECKUP_MEMORY_BYTES_MIN (1024.0 * 1024 * 1024)
#define CHECKUP_CLOCK_MS_MAX	 2000.0
#define CHECKUP_VERSION_BYTES	 32

/* What is known of one host. */
struct checkup_host {
	const struct host *host;
	const struct fleet_result *result; /* how it ended; facts and stress-ng count only when it is ok */
	struct facts facts;
	char stress_ng[CHECKUP_VERSION_BYTES]; /* its version; "" when there is none */
	const char *stress_ng_fault;	       /* why there is none */
	double clock_offset_ms;		       /* of its clock to ours, in the middle between question and answer */
	double round_trip_ms;
};

struct checkup_problem {
	size_t host;
	bool remark;
	const char *code; /* constant */
	char *text;
};

struct checkup {
	struct checkup_problem *problems; /* [n], by host */
	size_t n, capacity;
};

/* "stress-ng, version 0.15.06 (gcc ...)" to "0.15.06"; false when it is something else. */
bool checkup_version(const char *said, char version[CHECKUP_VERSION_BYTES]);

/* *out is overwritten; checkup_release() it. O(n^2) for n hosts. */
void checkup_find(const struct checkup_host *hosts, size_t n, struct checkup *out);
size_t checkup_problems(const struct checkup *checkup, size_t host); /* of one host, without remarks */
void checkup_release(struct checkup *checkup);

#endif
