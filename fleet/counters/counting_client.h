/* The controller's side of the counting program (fleet/counting/): events, installation on a host, plans and reports. The helper carries
 * it: requests are of kind "run", the report is a file to "read". */
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

/* Names of events. */
struct counting_events {
	char *names[COUNTING_EVENTS_MAX]; /* [n] */
	size_t n;
};

bool counting_is_name(const char *text, size_t n); /* n bytes have the form of an event's name; the event need not exist */

/* Parses names with commas between them. ASSAY_E_USAGE: an invalid or repeated name. */
enum assay_status counting_events_parse(const char *text, struct counting_events *out, struct assay_error *err);
void counting_events_release(struct counting_events *events); /* accepts zeroed */

/* Finds the program for hosts of an architecture, built into this one. False: there is none. */
bool counting_program(const char *architecture, const char **bytes, size_t *n);

/* Returns the first arguments of a command to be counted; the command itself follows in the same request. report: path on the host. family:
 * COUNTING_HARDWARE, COUNTING_SOFTWARE. *words[*n]: free() it; its texts are borrowed. */
void counting_words(const char *report, const char *family, const struct counting_events *events, const char ***words, size_t *n);

/* One run of a plan. */
struct counting_run {
	const char *family; /* COUNTING_HARDWARE, COUNTING_SOFTWARE */
	const char *domain; /* "user", or "all": with the kernel's part */
	struct counting_events events;
};

struct counting_plan {
	struct counting_run *runs; /* [n] */
	size_t n;
	struct counting_absent {
		char *event, *reason;
	} * absent; /* [n_absent]: excluded events */
	size_t n_absent;
	char *none; /* why there are no hardware counters at all; NULL: there are, or none was requested */
};

/* Asks the host in which runs it can count the events; first installs the program if it is missing or damaged. False: the host has failed.
 * *why (free() it): why there is no plan; NULL: there is one. Overwrites *plan; counting_plan_release() it. */
struct session;
bool counting_plan_ask(struct session *session, const struct counting_events *events, struct counting_plan *plan, char **why);

/* Parses a plan from a host, which is not trusted. Overwrites *out; counting_plan_release() it. */
enum assay_status counting_plan_parse(const char *text, size_t n, struct counting_plan *out, struct assay_error *err);
void counting_plan_release(struct counting_plan *plan); /* accepts zeroed */

/* Parses a report on these events into values[events->n], or *failed (free() it): why nothing was counted. */
enum assay_status counting_report_parse(const char *text, size_t n, const struct counting_events *events, int64_t *values, char **failed,
					struct assay_error *err);

/* ---- for tests: parts of counting_plan_ask() ---- */

void counting_request_plan(struct helper_request *out, const struct host *host, const struct counting_events *events);
char *counting_request_deploy(struct helper_request *out, const struct host *host,
			      const char *architecture);      /* returns why it cannot be installed; NULL: it can */
bool counting_is_missing(const struct helper_answer *answer); /* whether it is missing or damaged, by the answer to the first request */

#endif
