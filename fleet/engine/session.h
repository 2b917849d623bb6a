/* Many hosts at once, each a straight line: fleet_each() calls one function a host in a thread of its own, and in it the functions
 * below wait, with a deadline, until the host has answered. A host that dies, hangs, floods its output or lies delays no other.
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
 * What returns bool is true when it went well; otherwise session->result says how the host has ended, in one line. Host keys are
 * strict. Cost: one connection and one thread a host, about 1 ms of client CPU and 100 KB. */
#ifndef FLEET_ENGINE_SESSION_H
#define FLEET_ENGINE_SESSION_H

#include "base/rows.h"
#include "fleet/agent/facts.h"
#include "fleet/agent/helper_client.h"
#include "fleet/inventory/inventory.h"
#include "fleet/ssh/known_hosts.h"

#include <signal.h>

/* How a host ends: exactly one of these. Constant, code. Unreachable (also: no session in time), auth and hostkey say that nothing was
 * run there; failed, timeout: something may have been. Excluded is the commands' word. */
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

/* How a host has ended. */
struct fleet_result {
	enum fleet_outcome outcome;
	int exit_status;       /* of the last command that was judged; -1 when there is none */
	char signal[16];       /* "KILL" when a signal ended it, else "" */
	struct spool out, err; /* for the function to fill, output_bytes_max at most; start empty */
	int64_t connect_ms, command_ms;
	char message[ASSAY_ERROR_BYTES]; /* why it is not ok: one line with the remedy where there is one; "" when ok */
};
void fleet_result_release(struct fleet_result *result);

/* Exit status of commands that act on many hosts: 0 all ok, 7 some failed, 1 all failed (excluded ones do not count). */
int fleet_exit(const struct fleet_result *results, size_t n);

#define FLEET_CANCELLED "cancelled" /* the message of hosts that the user has ended */

struct fleet_options {
	size_t fanout;		    /* connections at a time; 0: 32 */
	int64_t connect_timeout_ms; /* until the session is authenticated; 0: 10,000 */
	uint64_t output_bytes_max;  /* of each stream of each answer; 0: 256 MiB; more ends the host as failed */
	const char *directory;	    /* of the laboratory: relative identity files start here */
	struct known_hosts *known;  /* keys of hosts; files that the config names for a host are added */
	const char *config;	    /* ~/.ssh/config; NULL: there is none */
	const char *home;	    /* in which .ssh is: the account's, as OpenSSH takes it, whatever HOME says; NULL: that */
	bool one_a_box;		    /* hosts of one box one after another */
	/* May be NULL. A host has ended with *result (final); n_done of n hosts have. */
	void (*ended)(size_t host, const struct fleet_result *result, size_t n_done, size_t n, void *context);
	/* May be NULL. Says what happens on a host meanwhile and is no failure: "remark: HOST: ...", with the fleet locked. */
	void (*note)(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
	/* May be NULL. Of these hosts nothing was heard for ten seconds and more; said every five minutes. With the fleet locked. */
	void (*silent)(const size_t *hosts, size_t n, int64_t since_ms, void *context);
	const volatile sig_atomic_t *cancelled; /* may be NULL; not 0: every connection is closed, hosts that had not ended are failed with
						 * the message "cancelled" */
};

/* One command of a shell. */
struct fleet_command {
	const char *command;
	const char *input; /* fed to its standard input */
	size_t input_bytes;
	bool hold_input;    /* leave standard input open after the input until the command ends: a program that ends when it is closed
			     * cannot outlive us */
	int64_t timeout_ms; /* 0: none */
	int64_t silence_ms; /* so long may nothing pass in either direction; 0: any time */
};

/* A host while its function runs. */
struct session {
	const struct host *host;
	size_t index;		     /* of hosts[] and results[] */
	struct fleet_result *result; /* ok until something says otherwise */
	const char *without_helper;  /* why the helper cannot be had on this host, once that is known; else NULL */
	void (*heard)(struct session *session, void *context); /* set by the function, or NULL: output of its command has come */
	void *heard_context;
	struct link *link; /* private */
};

typedef void (*fleet_function)(struct session *session, void *context);

/* Calls function(session, context) for each host, and returns when all have ended; results[n] are overwritten, in the order of hosts[n],
 * fleet_result_release() each. At most options->fanout hosts at a time; with options->one_a_box, hosts of one box one after another.
 * Whatever is still open when a function returns is closed. A status other than ASSAY_OK is a fault of this machine; what happens to
 * hosts is in their results. Once *options->cancelled is set, every wait ends, hosts that have not ended are failed with the message
 * "cancelled", and no further host is begun. */
enum assay_status fleet_each(const struct host *const *hosts, size_t n, const struct fleet_options *options, fleet_function function,
			     void *context, struct fleet_result *results, struct assay_error *err);

/* What hosts share (the store, counters, the terminal) is touched between these two: one host at a time. Our own work does not count
 * against anybody's deadline. options->ended is called so, too. */
void fleet_lock(const struct session *session);
void fleet_unlock(const struct session *session);
/* Ends all hosts, as if the user had cancelled: for a fault of our own store. */
void fleet_stop(const struct session *session);

/* Writes to a descriptor of this program, such as standard output: one that nobody reads holds nothing up but this, until everything is
 * cancelled. 0, or an errno; ECANCELED. */
int session_write(struct session *session, int fd, const char *bytes, size_t n);

/* Connects and logs in. */
bool session_open(struct session *session);

/* Brings the helper there if it is missing or damaged, sends the request (without its go) and waits for the answer, timeout_ms at most (0:
 * any time); what a request with a lock waits for the lock comes on top. True when there is a whole answer: a result or a refusal. *answer
 * is overwritten; helper_answer_release() it in any case (a host that was cut off leaves a part). */
bool session_run(struct session *session, struct helper_request *request, int64_t timeout_ms, struct helper_answer *answer);

/* How the command of an answer to "run" has ended: true for exit status 0. Otherwise, and after a refusal, the host has failed, with exit
 * status or signal in the result. */
bool session_judge(struct session *session, const struct helper_answer *answer);

/* Facts of the host; facts_release() them, after a failure too. */
bool session_facts(struct session *session, struct facts *facts);

/* What `uname -m` says there, asked once, without the helper: which of our programs run there. Borrowed, while the session lasts; NULL: the
 * host has failed. */
const char *session_architecture(struct session *session);

/* A new directory in `where` for this session alone, with the label in its name: *path, free() it. A helper stays there with it, on a
 * channel of its own, and removes it when the session is closed, however that happens; what dead sessions have left in `where` is removed
 * before. Waits for the box's lock. At most once a session. */
bool session_work(struct session *session, const char *where, const char *label, char **path);

/* Writes a file there: it takes its name when all of it is on the disk. The bytes are not copied. */
bool session_put(struct session *session, const char *path, unsigned mode, const char *bytes, size_t n, int64_t timeout_ms);

/* Reads a whole file into `out`, which is overwritten; spool_release() it in any case. */
bool session_get(struct session *session, const char *path, int64_t timeout_ms, struct spool *out);

/* A command of the host's login shell (here: /bin/sh -c), without the helper. Its streams are added to out and err. */
bool session_shell(struct session *session, const struct fleet_command *command, struct spool *out, struct spool *err);

/* The host's public key, not checked, as a line for known_hosts; free() it. Instead of session_open(). NULL for this machine. */
bool session_host_key(struct session *session, char **line);

/* The jump hosts on the way there, "a,b" as in ProxyJump; free() it. Instead of session_open(). NULL: none. */
bool session_jumps(struct session *session, char **jumps);

/* One of them. jump_hop_release() it. */
struct jump_hop {
	char *user, *host; /* user NULL, port 0: not said */
	int port;
};
void jump_hop_parse(const char *text, size_t n, struct jump_hop *out);
void jump_hop_release(struct jump_hop *hop);

/* This host has failed for a reason of the caller's; a lost connection says more, and stays. Returns false. */
bool session_fail(struct session *session, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* The same, "WHAT: " before the reason that is there already. */
bool session_explain(struct session *session, const char *what);

#endif
