/* Inside the engine (engine*.c): one struct engine a run, one struct conn a host that is being served. Private to fleet/.
 *
 *	engine_run.c       before and after: defaults, names, descriptors
 *	engine.c           the loop: starts hosts, waits, hands events and expired deadlines on
 *	engine_result.c    how hosts end
 *	engine_target.c    what lab.yaml and ~/.ssh/config together say of a host
 *	engine_resolve.c   names to addresses, before the loop
 *	engine_keys.c      private keys; engine_agent.c the agent
 *	engine_dial.c      a connected socket; engine_jump.c the same through another host
 *	engine_ssh.c       the session on it: key exchange, host key; engine_login.c authentication
 *	engine_channel.c   a command on that session; engine_local.c a command on this machine */
#ifndef FLEET_ENGINE_INTERNAL_H
#define FLEET_ENGINE_INTERNAL_H

#include "base/buf.h"
#include "fleet/engine/engine.h"
#include "fleet/engine/engine_agent.h"
#include "fleet/engine/engine_keys.h"
#include "fleet/engine/engine_resolve.h"

#include <libssh/callbacks.h>
#include <libssh/libssh.h>
#include <sys/types.h>

/* Everything that is known of a host before it is contacted. */
struct engine_target {
	const char *address;          /* borrowed from host or settings */
	int port;
	const char *user;
	const char *jump;             /* NULL: directly */
	char **identities;            /* [n_identities] paths of private keys, in the order in which they are tried */
	size_t n_identities;
	bool identities_named;        /* by the user: then they come before the agent, and one that is missing is worth a word */
	struct ssh_settings settings; /* of ~/.ssh/config */
	struct engine_resolve_name *resolved;
	char *problem;                /* why it cannot be contacted at all, or NULL */
};

struct engine_targets {
	struct engine_target *items; /* [n] */
	size_t n;
	char *user;           /* who runs this program */
	char *home;
};

/* Reads what the configuration says of every host. Trouble with one host is its target's problem. */
void engine_targets_init(struct engine_targets *targets, const struct host *const *hosts, size_t n,
			 const struct fleet_options *options);
void engine_targets_release(struct engine_targets *targets);

/* A descriptor in the epoll set. */
struct engine_watch {
	struct conn *conn;
	int fd;          /* -1: none */
	uint32_t events; /* as registered */
};

enum conn_state {
	CONN_DIALING,  /* a socket is being connected */
	CONN_GREETING, /* key exchange, then the host key */
	CONN_LOGIN,
	CONN_READY,    /* connected, no command */
	CONN_OPENING,  /* a channel for the command */
	CONN_ASKING,   /* for the command to be run */
	CONN_RUNNING,
	CONN_ENDED,    /* the result is final */
};

/* The ssh side of a host. */
struct conn_ssh {
	struct engine_watch socket;
	const struct addrinfo *at;  /* the address that is being tried */
	int64_t dial_deadline_ms;   /* of that address */
	ssh_session session;
	ssh_event event;
	struct ssh_counter_struct counted, counted_raw; /* bytes on the socket */
	uint64_t in_flushed_bytes;  /* counted.in_bytes when nothing was waiting to be written */
	size_t identity;            /* next of target->identities */
	bool agent_done;
	int agent_fd;               /* the session's; -1: not connected */
	bool tried;                 /* some key was sent */
	struct buf notes;           /* why keys were not used, for the message */
	ssh_channel channel;
	struct ssh_channel_callbacks_struct callbacks;
	bool closed;                /* the host has closed the channel */
	pid_t jump;                 /* `ssh -W`, 0: none */
	int jump_err;               /* its standard error, -1: none */
};

/* A command on this machine. */
struct conn_local {
	struct engine_watch in, out, err, child;
	pid_t pid; /* and process group; 0: none */
	bool exited;
};

struct conn {
	struct engine *engine;
	struct conn *next;
	size_t index; /* into hosts[] and results[] */
	const struct host *host;
	const struct engine_target *target;
	struct fleet_result *result;
	enum conn_state state;
	int64_t started_ms, deadline_ms; /* 0: no deadline */
	struct fleet_command command;
	bool commanded;                  /* there was a first command */
	int64_t command_started_ms, command_timeout_ms;
	int64_t passed_ms;               /* when something of the command last went out or came in */
	size_t fed;                      /* bytes of the input that were handed on */
	bool input_closed;
	bool spool_failed;               /* the result's message says why */
	union {
		struct conn_ssh ssh;
		struct conn_local local; /* when host->local */
	};
};

struct engine {
	const struct host *const *hosts;
	size_t n;
	struct fleet_driver *driver;
	struct fleet_options options; /* with the defaults filled in */
	struct fleet_result *results;
	char **host_keys;             /* fleet_host_keys(), else NULL */
	struct engine_targets targets;
	struct engine_keys keys;
	struct engine_agent agent;
	int epoll;
	struct conn *active;
	size_t n_active, n_done;
	bool *started;                /* [n] */
	size_t first_pending;         /* all before it were started */
};

/* ---- engine.c ---- */


/* Serves all hosts; a status other than ASSAY_OK is this machine's fault. */
enum assay_status engine_loop(struct engine *engine, struct assay_error *err);

/* Registers fd with these events, changes them or forgets the descriptor (fd -1, or no events). False: this machine cannot; the host
 * is settled then. */
bool engine_watch_set(struct engine_watch *watch, int fd, uint32_t events);

/* ---- engine_result.c ---- */

void engine_result_init(struct fleet_result *result, uint64_t limit_bytes);

/* Ends the host; the first call counts. The text is made printable and cut to what the result can hold. */
void conn_settle(struct conn *conn, enum fleet_outcome outcome, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* The connection stands and no command runs: asks the driver, ends the host or goes to CONN_OPENING. */
void conn_ask_driver(struct conn *conn);

/* The command has ended by itself; result->exit_status and ->signal are set. */
void conn_command_ended(struct conn *conn);

/* Output of the command; ends the host when it is too much. */
void conn_add_output(struct conn *conn, bool is_err, const char *bytes, size_t n);

void engine_make_printable(char *text);

/* ---- transports ---- */

/* Each step goes as far as it can without waiting. */
void ssh_conn_start(struct conn *conn);
void ssh_conn_step(struct conn *conn);
void ssh_conn_release(struct conn *conn); /* closes everything */
void ssh_conn_late(struct conn *conn);    /* a deadline has passed before the session stood */

void engine_dial_next(struct conn *conn);   /* the next address, or the end */
void engine_dial_step(struct conn *conn);
void engine_jump_start(struct conn *conn);
void engine_jump_explain(struct conn *conn, const char *text); /* settles a host whose session through a jump host failed */
void engine_jump_release(struct conn *conn);

void engine_session_start(struct conn *conn, int fd); /* takes the descriptor */
bool engine_session_dead(const struct conn *conn);
void engine_session_broken(struct conn *conn, const char *while_what); /* settles after an error of the session */

void engine_login_step(struct conn *conn);

void engine_channel_step(struct conn *conn);
void engine_channel_signal(struct conn *conn); /* asks the host to kill the command, without waiting */

void engine_local_start(struct conn *conn);
void engine_local_step(struct conn *conn);
void engine_local_release(struct conn *conn); /* kills what is left */

/* Starts a program in a process group of its own, with default signals; fds[0..2] become its standard descriptors. `path` is looked
 * up in PATH unless it has a slash. Returns 0 or an errno. */
int engine_child_start(const char *path, const char *const *argv, const int *fds, pid_t *pid);
void engine_child_kill(pid_t pid);                     /* the whole group */
bool engine_child_reap(pid_t pid, int *status);        /* after engine_child_kill or its end: waits for it (two seconds at most) */

#endif
