/* Works on many hosts at the same time: fleet_run_on_each_host() calls a function once per host, each time in its own thread. That function
 * calls the functions below, which wait for the host, up to a time limit. A host that hangs, or sends endless or wrong data, does not delay
 * others.
 *
 * static void inspect(struct session *session, void *context)
 * {
 * 	struct look *look = context;
 * 	struct helper_answer answer;
 *
 * 	if (!session_open(session) || !session_read_facts(session, &look->facts[session->index]))
 * 		return; // session->result has the reason
 * 	...
 * }
 *
 * Functions of type bool return true on success. Otherwise session->result has the outcome and a one-line reason. Host keys are checked
 * strictly. Each host costs one connection, one thread, about 1 ms of CPU time on this machine, and 100 KB. */
#ifndef FLEET_ENGINE_SESSION_H
#define FLEET_ENGINE_SESSION_H

#include "base/rows.h"
#include "fleet/agent/facts.h"
#include "fleet/agent/helper_client.h"
#include "fleet/inventory/inventory.h"
#include "fleet/ssh/known_hosts.h"

#include <signal.h>

/* Outcomes of a host; each host has exactly one. With `unreachable` (which includes a login that took too long), `auth` and `hostkey`, no
 * command was run. With `failed` and `timeout`, a command may have been run. Only commands set `excluded`. */
#define FLEET_OUTCOME_ROWS(X)                                                                                                              \
	X(FLEET_OK, "ok")                                                                                                                  \
	X(FLEET_FAILED, "failed")                                                                                                          \
	X(FLEET_TIMEOUT, "timeout")                                                                                                        \
	X(FLEET_UNREACHABLE, "unreachable")                                                                                                \
	X(FLEET_AUTH, "auth")                                                                                                              \
	X(FLEET_HOSTKEY, "hostkey")                                                                                                        \
	X(FLEET_QUEUED, "queue_limit")                                                                                                     \
	X(FLEET_TIME_LIMIT, "time_limit")                                                                                                  \
	X(FLEET_PREEMPTED, "preempted")                                                                                                    \
	X(FLEET_DRAINED, "drained")                                                                                                        \
	X(FLEET_DOWN, "down")                                                                                                              \
	X(FLEET_EXCLUDED, "excluded")

enum fleet_outcome { FLEET_OUTCOME_ROWS(ROWS_ENUM) FLEET_OUTCOMES };
const char *fleet_outcome_text(enum fleet_outcome outcome);

/* Result of a host. */
struct fleet_result {
	enum fleet_outcome outcome;
	int exit_status;       /* exit status of the last command; -1 if there is none */
	char signal[16];       /* signal that ended the last command, such as "KILL"; "" if there was none */
	struct spool out, err; /* output that the caller's function stores, at most output_bytes_max each; empty at first */
	int64_t connect_ms, command_ms;
	char message[ASSAY_ERROR_BYTES]; /* reason in one line, with a remedy if there is one; "" if ok */
};
void fleet_result_release(struct fleet_result *result);

/* Returns the exit status of a command on many hosts: 0 if all are ok, 7 if some failed, 1 if all failed. Excluded hosts do not count. */
int fleet_exit(const struct fleet_result *results, size_t n);

#define FLEET_CANCELLED "cancelled" /* message of hosts that ended because the user cancelled */

struct fleet_options {
	size_t fanout;		    /* maximum number of hosts at a time; 0 for 32 */
	int64_t connect_timeout_ms; /* time limit for connecting and logging in, ms; 0 for 10,000 */
	uint64_t output_bytes_max;  /* limit per stream and per answer; a host that sends more fails; 0 for 256 MiB */
	const char *directory;	    /* path of the laboratory; relative identity files are below it */
	struct known_hosts *known;  /* known host keys; the engine adds the keys in files that `config` names */
	const char *config;	    /* path of ~/.ssh/config; NULL to use none */
	const char *home;	    /* directory with .ssh; NULL for the home of the account, which OpenSSH uses instead of HOME */
	bool one_per_physical_host; /* true: hosts on the same physical host run one after another */
	/* Called when a host has ended, with its final result. n_done of n hosts have ended so far. May be NULL. */
	void (*on_host_end)(size_t host, const struct fleet_result *result, size_t n_done, size_t n, void *context);
	/* Shows a note about a host to the user. Called with the fleet locked. May be NULL. */
	void (*note)(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
	/* Reports hosts[n], which had no traffic for at least ten seconds. Called every five minutes with the fleet locked. May be NULL. */
	void (*silent)(const size_t *hosts, size_t n, int64_t since_ms, void *context);
	const volatile sig_atomic_t *cancelled; /* flag; if set, connections close and unfinished hosts fail as "cancelled"; may be NULL */
};

/* A command for the login shell of a host. */
struct fleet_command {
	const char *command;
	const char *input; /* [input_bytes] standard input */
	size_t input_bytes;
	bool hold_input;    /* keep standard input open until the command ends, for a command that ends at the end of its input */
	int64_t timeout_ms; /* time limit, ms; 0 for none */
	int64_t silence_ms; /* maximum time without traffic in either direction, ms; 0 for no limit */
};

/* State of a host during the call of the caller's function. */
struct session {
	const struct host *host;
	size_t index;		      /* index of the host in hosts[] and results[] */
	struct fleet_result *result;  /* result of the host; its outcome is FLEET_OK until an error occurs */
	const char *no_helper_reason; /* reason why the helper cannot run on this host; NULL if none is known */
	void (*on_output)(struct session *session, void *context); /* called when the command has written output; may be NULL */
	void *on_output_context;
	struct link *link; /* private state */
};

typedef void (*fleet_function)(struct session *session, void *context);

/* Calls function(session, context) for each host, and returns after all calls have ended. At most options->fanout hosts run at a time. With
 * options->one_per_physical_host, hosts on the same physical host run one after another. Overwrites results[n], in the order of hosts[n];
 * call fleet_result_release() for each. Closes connections that a function has left open. A status other than ASSAY_OK is an error of this
 * machine; errors of hosts are in the results. After *options->cancelled is set, all waits end, no further host starts, and hosts that have
 * not ended fail with the message "cancelled". */
enum assay_status fleet_run_on_each_host(const struct host *const *hosts, size_t n, const struct fleet_options *options,
					 fleet_function function, void *context, struct fleet_result *results, struct assay_error *err);

/* Lock and unlock data that hosts share: the store, counters, the terminal. A wait for the lock does not count for a host's time limit.
 * options->ended is called with the lock held. */
void fleet_lock(const struct session *session);
void fleet_unlock(const struct session *session);
/* Ends all hosts like a cancellation, after an error of the local store. */
void fleet_stop(const struct session *session);

/* Writes to a descriptor of this program, such as standard output. A slow reader delays only this call. Returns 0 or an errno, which is
 * ECANCELED after cancelling. */
int session_write(struct session *session, int fd, const char *bytes, size_t n);

/* Connects to the host and logs in. */
bool session_open(struct session *session);

/* Sends a request to the helper, after completing it with HELPER_GO, and waits for the answer. Installs the helper if it is missing or
 * damaged. timeout_ms is the time limit, to which the wait for the request's lock is added; 0 for none. Returns true if the answer is
 * complete: a result or a refusal. Overwrites *answer. Call helper_answer_release() in any case, because an incomplete answer is kept. */
bool session_run(struct session *session, struct helper_request *request, int64_t timeout_ms, struct helper_answer *answer);

/* Returns true if the command of an answer to "run" had exit status 0. Otherwise, or if the helper refused the request, the host fails; its
 * result has the exit status or signal. */
bool session_check_exit(struct session *session, const struct helper_answer *answer);

/* Reads the facts of the host. Call facts_release() even after a failure. */
bool session_read_facts(struct session *session, struct facts *facts);

/* Returns the host's `uname -m`, which selects the programs to install. Asks once, without the helper. Borrowed; NULL: the host failed. */
const char *session_architecture(struct session *session);

/* Makes a new directory in `where` for this session, with `label` in its name. First removes directories of ended sessions in `where`. Sets
 * *path to the new path; free() it. A helper on a second channel removes the directory when the session ends for any reason. Waits for the
 * physical host's lock. May be called once per session. */
bool session_make_directory(struct session *session, const char *where, const char *label, char **path);

/* Writes a file on the host. The file gets its final name after all bytes are on the disk, so it is never incomplete. Borrows `bytes`. */
bool session_put(struct session *session, const char *path, unsigned mode, const char *bytes, size_t n, int64_t timeout_ms);

/* Reads a whole file of the host into `out`, which is overwritten. Call spool_release() in any case. */
bool session_get(struct session *session, const char *path, int64_t timeout_ms, struct spool *out);

/* Runs a command without the helper: in the host's login shell, or in /bin/sh on this machine. Appends its output to `out` and `err`. */
bool session_run_shell(struct session *session, const struct fleet_command *command, struct spool *out, struct spool *err);

/* Reads the host's public key, unchecked, as a line for known_hosts; free() it. NULL for this machine. Replaces session_open(). */
bool session_read_host_key(struct session *session, char **line);

/* Reads the host's jump hosts in the form of ProxyJump, "a,b"; NULL if there are none; free() it. Call it instead of session_open(). */
bool session_read_jumps(struct session *session, char **jumps);

/* A jump host. Call jump_hop_release(). */
struct jump_hop {
	char *user, *host; /* user: NULL if not given; port: 0 if not given */
	int port;
};
void jump_hop_parse(const char *text, size_t n, struct jump_hop *out);
void jump_hop_release(struct jump_hop *hop);

/* Fails this host with the caller's reason. If the connection was lost before, keeps that reason. Returns false. */
bool session_fail(struct session *session, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Puts "`what`: " before the reason of a failure. Returns false. */
bool session_prefix_reason(struct session *session, const char *what);

#endif
