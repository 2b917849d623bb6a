/* What the commands share that talk to many hosts at once: options, the way there, progress, how hosts have ended. */
#ifndef FLEET_CMD_FLEET_JOB_H
#define FLEET_CMD_FLEET_JOB_H

#include "base/cli.h"
#include "base/json.h"
#include "fleet/cmd_fleet.h"
#include "fleet/engine/session.h"
#include "fleet/lab/lab.h"
#include "fleet/ssh/reach.h"

/* Rows for the table of options. */
#define CMD_FLEET_JOB_OPTIONS                                                                                                    \
	CMD_FLEET_OPTIONS, {"fanout", CMD_FLEET_FANOUT, "N", 0, "Connections at a time (default: 32)", 21},                      \
	    {"timeout", CMD_FLEET_TIMEOUT, "SECONDS", 0, "The longest that a host may take once it has let us in", 21},          \
	{                                                                                                                        \
		"connect-timeout", CMD_FLEET_CONNECT, "SECONDS", 0, "The longest until a host has let us in (default: 10)", 21   \
	}

enum { CMD_FLEET_FANOUT = 1000, CMD_FLEET_TIMEOUT, CMD_FLEET_CONNECT };

/* What those options said; 0 where they said nothing. Begins zeroed. */
struct cmd_fleet_options {
	struct cmd_fleet_choice choice;
	int64_t fanout, timeout_ms, connect_timeout_ms;
};

/* As cmd_fleet_parse(), for all of CMD_FLEET_JOB_OPTIONS. */
error_t cmd_fleet_job_parse(int key, char *arg, struct argp_state *state, struct cmd_fleet_options *options);

/* One command at work. */
struct cmd_fleet_job {
	const struct cli *cli;
	struct lab lab;
	struct reach reach;
	const struct host **hosts; /* [n] */
	size_t n;
	struct fleet_options options;
	struct fleet_result *results; /* [n], after cmd_fleet_job_run() */
	bool progress;                /* standard error is a terminal */
	fleet_function function;      /* private */
	void *context;
};

/* Opens the laboratory, chooses the hosts, reads what is needed to reach them. *job is overwritten; cmd_fleet_job_release() it, after
 * a failure too. */
enum assay_status cmd_fleet_job_open(struct cmd_fleet_job *job, const struct cli *cli, const struct cmd_fleet_options *options,
                                     struct assay_error *err);
void cmd_fleet_job_release(struct cmd_fleet_job *job);

/* A path on the hosts, where no shell looks at it: ASSAY_E_USAGE for "~/..." and for "". */
enum assay_status cmd_fleet_job_remote(const char *path, struct assay_error *err);

/* Calls the function for each host until all have ended, "k/n hosts" on a terminal meanwhile. The first Ctrl-C closes all connections
 * in order, a second one ends this program as usual. */
enum assay_status cmd_fleet_job_run(struct cmd_fleet_job *job, fleet_function function, void *context, struct assay_error *err);

/* In a function, between fleet_lock() and fleet_unlock(), before it prints something: takes the progress off the terminal. */
void cmd_fleet_job_clear(const struct cmd_fleet_job *job);

/* How hosts have ended, on standard error: those with the same end share a line. */
void cmd_fleet_job_summary(const struct cmd_fleet_job *job);

/* Hosts that have a text in common, as "node[01-12]": (*texts)[i] of each host, NULL for none. Calls show() once for each
 * different text, in order of appearance. */
void cmd_fleet_job_fold(const struct cmd_fleet_job *job, char *const *texts,
                        void (*show)(const struct cmd_fleet_job *job, const char *folded, const char *text, void *to), void *to);

/* A new object with what the JSON of all these commands says of a host: host, emulated, outcome, message, connect_ms, command_ms.
 * It is added to the list. */
cJSON *cmd_fleet_job_json(const struct cmd_fleet_job *job, size_t host, cJSON *list);

#endif
