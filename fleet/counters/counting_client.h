/* The controller's side of the counting program (fleet/counting/): which events, how it gets to a host, what it says. Used below the
 * helper: requests are of its kind "run", the report is a file to "read". */
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

/* Events by name. */
struct counting_events {
	char *names[COUNTING_EVENTS_MAX]; /* [n] */
	size_t n;
};

bool counting_is_name(const char *text, size_t n); /* of n bytes; it may exist or not */

/* Names with commas between them. ASSAY_E_USAGE for what is not an event's name, or stands twice. */
enum assay_status counting_events_parse(const char *text, struct counting_events *out, struct assay_error *err);
void counting_events_release(struct counting_events *events); /* accepts zeroed */

/* The program for hosts of that architecture, built into this one; false: there is none. */
bool counting_program(const char *architecture, const char **bytes, size_t *n);

/* The first words of a command that is to be counted; the command follows them, as arguments of the same request. report: path on the
 * host. family: COUNTING_HARDWARE, COUNTING_SOFTWARE. *words[*n]: free() it; what it points to is borrowed. */
void counting_words(const char *report, const char *family, const struct counting_events *events, const char ***words, size_t *n);

/* One run of a plan. */
struct counting_run {
	const char *family; /* COUNTING_HARDWARE, COUNTING_SOFTWARE */
	const char *domain; /* "user", "all": without or with what the kernel does for the program */
	struct counting_events events;
};

struct counting_plan {
	struct counting_run *runs; /* [n] */
	size_t n;
	struct counting_absent {
		char *event, *reason;
	} * absent; /* [n_absent]: excluded */
	size_t n_absent;
	char *none; /* why there are no hardware counters at all; NULL: there are, or none was asked for */
};

/* The runs in which the events can be counted on the host; the program is brought there first where it is missing or damaged. False: the
 * host has ended. *why (free() it): why there is no plan; NULL: there is one. *plan is overwritten; counting_plan_release() it. */
struct session;
bool counting_plan_ask(struct session *session, const struct counting_events *events, struct counting_plan *plan, char **why);

/* What a host says: bytes of another machine. *out is overwritten; counting_plan_release() it. */
enum assay_status counting_plan_parse(const char *text, size_t n, struct counting_plan *out, struct assay_error *err);
void counting_plan_release(struct counting_plan *plan); /* accepts zeroed */

/* A report on these events: values[events->n], or *failed (free() it): why nothing was counted. */
enum assay_status counting_report_parse(const char *text, size_t n, const struct counting_events *events, int64_t *values, char **failed,
					struct assay_error *err);

/* ---- for tests: what counting_plan_ask() is made of ---- */

void counting_request_plan(struct helper_request *out, const struct host *host, const struct counting_events *events);
char *counting_request_deploy(struct helper_request *out, const struct host *host,
			      const char *architecture);      /* why not; NULL: there it is */
bool counting_is_missing(const struct helper_answer *answer); /* or damaged, by the answer to the first */

#endif
