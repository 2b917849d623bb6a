/* Common parts of commands that work on many hosts at the same time: options, connections, progress display, summary. */
#ifndef FLEET_CMD_FLEET_JOB_H
#define FLEET_CMD_FLEET_JOB_H

#include "base/document.h"
#include "fleet/commands/cmd_fleet.h"
#include "fleet/engine/session.h"
#include "fleet/lab/lab.h"
#include "fleet/engine/reach.h"

/* Rows for a command's table of options. `member` is a struct cmd_fleet_options in `arguments`. */
#define CMD_FLEET_JOB_OPTIONS(arguments, member)                                                                                           \
	CMD_FLEET_HOSTS(arguments, member.choice),                                                                                         \
	    CLI_INTEGER("fanout", "N", arguments, member.fanout, 1, LAB_FANOUT_MAX,                                                        \
			"Number of hosts at a time (default: that of lab.yaml, or 32)"),                                                   \
	    CLI_PARSED("timeout", "SECONDS", arguments, member.timeout_ms, cmd_fleet_parse_seconds,                                        \
		       "Longest time for a host after the login"),                                                                         \
	    CLI_PARSED("connect-timeout", "SECONDS", arguments, member.connect_timeout_ms, cmd_fleet_parse_seconds,                        \
		       "Longest time for the login to a host (default: 10)")

/* Values of these options; 0 if an option is not given. */
struct cmd_fleet_options {
	struct host_choice choice;
	int64_t fanout, timeout_ms, connect_timeout_ms;
};

/* Parses a time in seconds. Sets the int64_t at `to` to the time in milliseconds. */
enum assay_status cmd_fleet_parse_seconds(const char *text, void *to, struct assay_error *err);

/* State of a running command. */
struct cmd_fleet_job {
	struct reach reach;
	const struct host **hosts; /* [n] selected hosts */
	size_t n;
	struct fleet_options options;
	struct fleet_result *results; /* [n] results, set by cmd_fleet_job_run() */
	bool progress;		      /* true if standard error is a terminal, which then shows the progress */
	fleet_function function;      /* function and context of the caller; private */
	void *context;
};

/* Selects the hosts, and reads the files that are needed to reach them. Overwrites *job. Call cmd_fleet_job_release(), even on failure. */
enum assay_status cmd_fleet_job_open(struct cmd_fleet_job *job, const struct lab *lab, const struct cmd_fleet_options *options,
				     struct assay_error *err);
void cmd_fleet_job_release(struct cmd_fleet_job *job);

/* Calls the function for each host, and returns after all calls have ended. Shows "k/n hosts" on a terminal. The first Ctrl-C closes all
 * connections in order, and a second one ends this program. */
enum assay_status cmd_fleet_job_run(struct cmd_fleet_job *job, fleet_function function, void *context, struct assay_error *err);

/* Clears the progress line. Call it before printing, between fleet_lock() and fleet_unlock(). */
void cmd_fleet_job_clear_progress(const struct cmd_fleet_job *job);

/* Prints the outcomes of the hosts on standard error. Hosts with the same outcome and message share a line. */
void cmd_fleet_job_summary(const struct cmd_fleet_job *job);

/* Calls nodeset_fold_alike() for the hosts. texts[i] is the text of host i; NULL excludes the host. */
void cmd_fleet_job_fold(const struct cmd_fleet_job *job, char *const *texts, void (*show)(const char *folded, const char *text, void *to));

/* Adds an object to the open list, with the members that all these commands have: host, emulated, outcome, message, connect_ms, command_ms.
 * The object stays open, so that the caller can add more members. */
void cmd_fleet_job_object(const struct cmd_fleet_job *job, size_t host, struct document *d);

#endif
