/* Works on many hosts at once: fleet_each() calls one function per host, each in its own thread. In it, the functions below wait, with a
 * deadline, until the host has answered. A host that dies, hangs, floods its output or lies does not delay others.
 *
 *	static void look_at(struct session *session, void *context)
 *	{
 *		struct look *look = context;
 *		struct helper_answer answer;
 *
 *		if (!session_open(session) || !session_facts(session, &look->facts[session->index]))
 *			return; // session->result says why
 *		...
 *	}
 *
 * Functions that return bool return true on success; otherwise session->result has the outcome and a one-line reason. Host keys are checked
 * strictly. Cost per host: one connection and one thread, about 1 ms of client CPU time and 100 KB. */
#ifndef FLEET_ENGINE_SESSION_H
#define FLEET_ENGINE_SESSION_H

#include "base/rows.h"
#include "fleet/agent/facts.h"
#include "fleet/agent/helper_client.h"
#include "fleet/inventory/inventory.h"
#include "fleet/ssh/known_hosts.h"

#include <signal.h>

/* Outcomes of a host; each host has exactly one. Constant, code. After unreachable (also: no session in time), auth and hostkey, nothing
 * was run there. After failed and timeout, something may have been run. Only commands set excluded. */
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

/* Result of one host. */
struct fleet_result {
	enum fleet_outcome outcome;
	int exit_status;       /* status of the last judged command; -1: none */
	char signal[16];       /* signal that ended it, such as "KILL", else "" */
	struct spool out, err; /* filled by the function, output_bytes_max at most; empty at first */
	int64_t connect_ms, command_ms;
	char message[ASSAY_ERROR_BYTES]; /* reason unless ok: one line, with the remedy if there is one; else "" */
};
void fleet_result_release(struct fleet_result *result);

/* Returns the exit status of commands on many hosts: 0 all ok, 7 some failed, 1 all failed. Excluded hosts do not count. */
int fleet_exit(const struct fleet_result *results, size_t n);

#define FLEET_CANCELLED "cancelled" /* message of hosts that the user has cancelled */

struct fleet_options {
	size_t fanout;		    /* connections at the same time; 0: 32 */
	int64_t connect_timeout_ms; /* until the session is authenticated; 0: 10,000 */
	uint64_t output_bytes_max;  /* limit per stream of each answer; more fails the host; 0: 256 MiB */
	const char *directory;	    /* the laboratory, where relative identity files start */
	struct known_hosts *known;  /* host keys; files that `config` names for a host are added */
	const char *config;	    /* path of ~/.ssh/config; NULL: none */
	const char *home;	    /* directory with .ssh; NULL: the account's home as OpenSSH takes it, whatever HOME is */
	bool one_a_box;		    /* hosts on the same physical host run one after another */
	/* Called when a host has ended with *result (final); n_done of n hosts have. May be NULL. */
	void (*ended)(size_t host, const struct fleet_result *result, size_t n_done, size_t n, void *context);
	/* Shows a note about a host that is no failure, with the fleet locked. May be NULL. */
	void (*note)(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
	/* Called every five minutes while these hosts have been silent for ten seconds or more, with the fleet locked. May be NULL. */
	void (*silent)(const size_t *hosts, size_t n, int64_t since_ms, void *context);
	const volatile sig_atomic_t *cancelled; /* may be NULL; not 0: connections close, other hosts fail with the message "cancelled" */
};

/* A shell command. */
struct fleet_command {
	const char *command;
	const char *input; /* bytes for its standard input */
	size_t input_bytes;
	bool hold_input;    /* keep standard input open until the command ends; a program that ends with its input dies with us */
	int64_t timeout_ms; /* 0: none */
	int64_t silence_ms; /* longest time without traffic in either direction; 0: no limit */
};

/* A host while its function runs. */
struct session {
	const struct host *host;
	size_t index;					       /* in hosts[] and results[] */
	struct fleet_result *result;			       /* ok until an error is set */
	const char *without_helper;			       /* why the helper does not run on this host, once known; else NULL */
	void (*heard)(struct session *session, void *context); /* set by the function or NULL; called when its command has written output */
	void *heard_context;
	struct link *link; /* private */
};

typedef void (*fleet_function)(struct session *session, void *context);

/* Calls function(session, context) for each host, and returns when all have ended. At most options->fanout hosts run at a time; with
 * options->one_a_box, hosts on the same physical host run one after another. Overwrites results[n], in the order of hosts[n];
 * fleet_result_release() each. Closes whatever is still open when a function returns. A status other than ASSAY_OK is a fault of this
 * machine; faults of hosts are in their results. Once *options->cancelled is set, every wait ends, hosts that have not ended fail with the
 * message "cancelled", and no further host starts. */
enum assay_status fleet_each(const struct host *const *hosts, size_t n, const struct fleet_options *options, fleet_function function,
			     void *context, struct fleet_result *results, struct assay_error *err);

/* Lock and unlock the data that hosts share (the store, counters, the terminal): one host at a time. Waiting for it does not count against
 * a host's deadline. options->ended is called with this lock held. */
void fleet_lock(const struct session *session);
void fleet_unlock(const struct session *session);
/* Ends all hosts, as if the user had cancelled, after a fault of the local store. */
void fleet_stop(const struct session *session);

/* Writes to a descriptor of this program, such as standard output. If its reader is slow, only this call waits, until everything is
 * cancelled. Returns 0 or an errno; ECANCELED. */
int session_write(struct session *session, int fd, const char *bytes, size_t n);

/* Connects and logs in. */
bool session_open(struct session *session);

/* Sends the request (without its HELPER_GO) to the helper, which it first installs if missing or damaged, and waits for the answer.
 * timeout_ms: limit, 0: none; waiting for the request's lock is added. Returns true for a complete answer: a result or a refusal.
 * Overwrites *answer; helper_answer_release() it in any case, because a broken connection leaves a part. */
bool session_run(struct session *session, struct helper_request *request, int64_t timeout_ms, struct helper_answer *answer);

/* Judges the command of an answer to "run": returns true for exit status 0. Otherwise, and after a refusal, the host has failed, with exit
 * status or signal in the result. */
bool session_judge(struct session *session, const struct helper_answer *answer);

/* Reads the facts of the host; facts_release() them, after a failure too. */
bool session_facts(struct session *session, struct facts *facts);

/* Returns the host's `uname -m`, which selects the programs to install. Asks once, without the helper. Borrowed; NULL: the host failed. */
const char *session_architecture(struct session *session);

/* Makes a new directory in `where` for this session only, with the label in its name. *path: its path, free() it. A helper stays with it,
 * on its own channel, and removes it when the session closes for any reason. Directories of dead sessions in `where` are removed first.
 * Waits for the physical host's lock. At most once per session. */
bool session_work(struct session *session, const char *where, const char *label, char **path);

/* Writes a file on the host. It gets its name when all of it is on the disk. The bytes are not copied. */
bool session_put(struct session *session, const char *path, unsigned mode, const char *bytes, size_t n, int64_t timeout_ms);

/* Reads a whole file into `out`, which is overwritten; spool_release() it in any case. */
bool session_get(struct session *session, const char *path, int64_t timeout_ms, struct spool *out);

/* Runs a command of the host's login shell (this machine: /bin/sh -c), without the helper. Appends its streams to out and err. */
bool session_shell(struct session *session, const struct fleet_command *command, struct spool *out, struct spool *err);

/* Reads the host's unchecked public key as a line for known_hosts; free() it. Use instead of session_open(). NULL for this machine. */
bool session_host_key(struct session *session, char **line);

/* Reads the jump hosts on the way, "a,b" as in ProxyJump; free() it. Use instead of session_open(). NULL: none. */
bool session_jumps(struct session *session, char **jumps);

/* A jump host; jump_hop_release() it. */
struct jump_hop {
	char *user, *host; /* user NULL, port 0: not given */
	int port;
};
void jump_hop_parse(const char *text, size_t n, struct jump_hop *out);
void jump_hop_release(struct jump_hop *hop);

/* Fails this host for the caller's reason; a lost connection is more precise, and stays. Returns false. */
bool session_fail(struct session *session, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Puts "WHAT: " before the present reason. Returns false. */
bool session_explain(struct session *session, const char *what);

#endif
