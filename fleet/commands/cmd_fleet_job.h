/* What the commands share that talk to many hosts at once: options, the way there, progress, how hosts have ended. */
#ifndef FLEET_CMD_FLEET_JOB_H
#define FLEET_CMD_FLEET_JOB_H

#include "base/document.h"
#include "fleet/commands/cmd_fleet.h"
#include "fleet/engine/session.h"
#include "fleet/lab/lab.h"
#include "fleet/engine/reach.h"

/* Rows for the table of options; the member is a struct cmd_fleet_options. */
#define CMD_FLEET_JOB_OPTIONS(arguments, member)                                                                                           \
	CMD_FLEET_HOSTS(arguments, member.choice),                                                                                         \
	    CLI_INTEGER("fanout", "N", arguments, member.fanout, 1, LAB_FANOUT_MAX, "Hosts at a time (default: that of lab.yaml, or 32)"), \
	    CLI_PARSED("timeout", "SECONDS", arguments, member.timeout_ms, cmd_fleet_parse_seconds,                                        \
		       "The longest that a host may take once it has let us in"),                                                          \
	    CLI_PARSED("connect-timeout", "SECONDS", arguments, member.connect_timeout_ms, cmd_fleet_parse_seconds,                        \
		       "The longest until a host has let us in (default: 10)")

/* What those options said; 0 where they said nothing. */
struct cmd_fleet_options {
	struct host_choice choice;
	int64_t fanout, timeout_ms, connect_timeout_ms;
};

/* Seconds to milliseconds (int64_t). */
enum assay_status cmd_fleet_parse_seconds(const char *text, void *to, struct assay_error *err);

/* One command at work. */
struct cmd_fleet_job {
	struct reach reach;
	const struct host **hosts; /* [n] */
	size_t n;
	struct fleet_options options;
	struct fleet_result *results; /* [n], after cmd_fleet_job_run() */
	bool progress;		      /* standard error is a terminal */
	fleet_function function;      /* private */
	void *context;
};

/* Chooses the hosts, reads what is needed to reach them. *job is overwritten; cmd_fleet_job_release() it, after a failure too. */
enum assay_status cmd_fleet_job_open(struct cmd_fleet_job *job, const struct lab *lab, const struct cmd_fleet_options *options,
				     struct assay_error *err);
void cmd_fleet_job_release(struct cmd_fleet_job *job);

/* Calls the function for each host until all have ended, "k/n hosts" on a terminal meanwhile. The first Ctrl-C closes all connections
 * in order, a second one ends this program as usual. */
enum assay_status cmd_fleet_job_run(struct cmd_fleet_job *job, fleet_function function, void *context, struct assay_error *err);

/* Takes the progress off the terminal: in a function, between fleet_lock() and fleet_unlock(), before it prints something. */
void cmd_fleet_job_clear(const struct cmd_fleet_job *job);

/* How hosts have ended, on standard error: those with the same end share a line. */
void cmd_fleet_job_summary(const struct cmd_fleet_job *job);

/* nodeset_fold_alike() of the hosts: texts[i] of each, NULL for none. */
void cmd_fleet_job_fold(const struct cmd_fleet_job *job, char *const *texts, void (*show)(const char *folded, const char *text, void *to));

/* An object of the open list, left open, with what all these commands say of a host: host, emulated, outcome, message, connect_ms,
 * command_ms. */
void cmd_fleet_job_object(const struct cmd_fleet_job *job, size_t host, struct document *d);

#endif
