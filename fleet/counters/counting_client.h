/* The controller's side of the counting program (fleet/counting/): names of events, installation on hosts, plans and reports. The program
 * is started by a request "run" to the helper, and its report is fetched by a request "read". */
#ifndef FLEET_COUNTING_CLIENT_H
#define FLEET_COUNTING_CLIENT_H

#include "base/error.h"
#include "fleet/agent/helper_client.h"
#include "fleet/counting/counting.h"
#include "fleet/inventory/inventory.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define COUNTING_PLAN_BYTES_MAX 65536

/* A list of names of events. */
struct counting_events {
	char *names[COUNTING_EVENTS_MAX]; /* [n] names */
	size_t n;
};

bool counting_is_name(const char *text, size_t n); /* reports whether the `n` bytes can be the name of an event */

/* Parses names that are separated by commas. ASSAY_E_USAGE: a name is invalid or repeated. */
enum assay_status counting_events_parse(const char *text, struct counting_events *out, struct assay_error *err);
void counting_events_release(struct counting_events *events); /* accepts a zeroed struct */

/* Finds the counting program for hosts of an architecture. This program contains it. Returns false if there is none. */
bool counting_find_program(const char *architecture, const char **bytes, size_t *n);

/* Returns the arguments to put before a command that is to be counted. `report` is a path on the host. `family` is COUNTING_HARDWARE or
 * COUNTING_SOFTWARE. The caller frees *words, but not its texts, which are borrowed. */
void counting_arguments(const char *report, const char *family, const struct counting_events *events, const char ***words, size_t *n);

/* One run of a plan: events that the host can count at the same time. */
struct counting_run {
	const char *family; /* COUNTING_HARDWARE or COUNTING_SOFTWARE */
	const char *domain; /* "user", or "all" to include the kernel */
	struct counting_events events;
};

struct counting_plan {
	struct counting_run *runs; /* [n] runs */
	size_t n;
	struct counting_absent {
		char *event, *reason;
	} * absent; /* [n_absent] events that the host cannot count */
	size_t n_absent;
	char *none; /* reason why the host has no hardware counters; NULL if it has some, or none were requested */
};

/* Asks the host for a plan: which events it can count, in which runs. Installs the program if it is missing or damaged. Returns false if
 * the host failed. *why is the reason if there is no plan, else NULL; free() it. Overwrites *plan; call counting_plan_release(). */
struct session;
bool counting_plan_query(struct session *session, const struct counting_events *events, struct counting_plan *plan, char **why);

/* Parses a plan from a host, which is not trusted. Overwrites *out; call counting_plan_release(). */
enum assay_status counting_plan_parse(const char *text, size_t n, struct counting_plan *out, struct assay_error *err);
void counting_plan_release(struct counting_plan *plan); /* accepts a zeroed struct */

/* Parses a report on these events into values[events->n]. If nothing was counted, *failed is the reason, which the caller frees. */
enum assay_status counting_report_parse(const char *text, size_t n, const struct counting_events *events, int64_t *values, char **failed,
					struct assay_error *err);

/* ---- parts of counting_plan_query(), public only for tests ---- */

void counting_request_plan(struct helper_request *out, const struct host *host, const struct counting_events *events);
char *counting_request_deploy(struct helper_request *out, const struct host *host,
			      const char *architecture);      /* returns the reason if it cannot be installed, else NULL */
bool counting_is_missing(const struct helper_answer *answer); /* reports whether the program is missing or damaged, from the first answer */

#endif
