/* Inside fleet/engine: one struct fleet a call of fleet_each(), one struct link a host that is at work.
 *
 *	each.c        threads, turns, cancelling, how hosts end; the process that ends launchers when this program was killed
 *	session.c     commands and requests to the helper, over any transport
 *	ssh.c         a transport: a session of libssh on a connected socket;  ssh_login.c authentication
 *	ssh_target.c  what is known of a host: where to and as whom, by lab.yaml and ~/.ssh/config; the way through other hosts
 *	local.c       two transports: this machine; a command that leads to the host, with an allocation of Slurm for it */
#ifndef FLEET_ENGINE_LINK_H
#define FLEET_ENGINE_LINK_H

#include "base/buf.h"
#include "base/clock.h"
#include "fleet/engine/session.h"

#include <libssh/callbacks.h>
#include <libssh/libssh.h>
#include <poll.h>
#include <pthread.h>
#include <sys/types.h>

#define LINK_FDS_MAX	   6
#define ARCHITECTURE_BYTES 40

/* A command at work. */
struct link_command {
	const char *text;
	const struct helper_request *request; /* what it reads: this, or the bytes */
	const char *input;
	uint64_t fed, input_bytes, received;
	bool hold_input, input_closed;
	struct helper_answer *answer; /* takes what it says on standard output, or NULL: out does */
	struct spool *out, *err;
	int64_t timeout_ms, silence_ms, began_ms, passed_ms;
	int64_t waits_since_ms, tell_ms; /* for the lock of its box; 0: it does not */
	int64_t answered_ms;		 /* when its helper's answer was whole; 0: it is not */
	bool ended, lingers;		 /* lingers: the answer is whole, and the command does not end */
	int exit_status;		 /* -1: none */
	char signal[16];
};

/* What carries commands to a host. Nothing but link_wait() waits. False: link->result says why. */
struct transport {
	bool (*open)(struct link *link); /* the way to the host, until link->deadline_ms */
	bool (*start)(struct link *link, const char *text);
	/* As much of the input as goes now. Less than n means: later; or never, where the command no longer reads, which is not a failure.
	 */
	size_t (*write)(struct link *link, const char *bytes, size_t n);
	void (*end_input)(struct link *link);
	/* Hands what has come to link_output(), and sees whether the command has ended: command->ended, exit_status, signal. */
	bool (*read)(struct link *link);
	size_t (*watch)(struct link *link, bool to_write, struct pollfd *fds); /* what to wait for: up to LINK_FDS_MAX - 1 */
	void (*finish)(struct link *link, bool stop);			       /* the command is over, or to be stopped */
	bool (*beside)(struct link *link, bool *can); /* can a second command run beside one? False: the host failed */
	void (*park)(struct link *link); /* the command stays beside what comes after it, until the link is closed; one a link */
	void (*close)(struct link *link);
};

extern const struct transport ssh_transport, local_transport, launch_transport;

/* The ssh side of a host. */
struct ssh_link {
	ssh_session session;
	ssh_event event;
	ssh_channel channel, parked;
	struct ssh_channel_callbacks_struct callbacks;
	struct ssh_counter_struct counted, counted_raw; /* bytes on the socket */
	uint64_t in_flushed_bytes;			/* counted.in_bytes when nothing was waiting to be written */
	bool closed;					/* the host has closed the channel */
	pid_t jump;					/* `ssh -W`, 0: none */
	int jump_err;					/* its standard error, -1: none */
	bool jump_full;					/* it ended as where too many connect to a host on the way at once */
	char *address, *user, *jump_through;		/* where to and as whom; jump_through NULL: directly */
	int port;
	char **identities; /* [n_identities] paths of private keys, in the order in which they are tried */
	size_t n_identities;
	bool identities_named;		/* by the user: then they come before the agent, and a missing one is worth a word */
	bool identities_only, no_agent; /* of the agent's keys only those of the files; none of them */
	char *known_as;			/* its name in known_hosts, without a port; NULL: the address */
	char **known_files;		/* [n_known_files] that count for it; none: all that were read */
	size_t n_known_files;
	struct buf notes; /* why keys were not used */
};

struct local_link {
	int in, out, err, child; /* descriptors, -1: closed */
	pid_t pid;		 /* and process group; 0: none */
	bool exited;
	int parked_in; /* standard input of the parked command */
	pid_t parked;  /* 0: none */
};

/* The rest of a host behind a command; what carries one is its local_link. */
struct launch_link {
	bool on;
	int status;	 /* of the command, as its shell has said; -1: it has not */
	struct buf line; /* of standard error, as far as it has come */
	struct buf last; /* the last line of it */
	int parked_out, parked_err;
	struct local_link holder; /* of an allocation */
	char job[24], name[64];	  /* the allocation; its job's name, which no other has */
};

struct link {
	struct fleet *fleet;
	const struct host *host;
	struct fleet_result *result;
	const struct transport *transport;
	int64_t deadline_ms;	 /* until the session stands */
	bool open, broken;	 /* broken: nothing more can be done on this host */
	int64_t *heard_ms;	 /* of fleet->heard_ms; NULL for a command of this machine on the way */
	struct session *session; /* NULL, too */
	struct link_command *command;
	char *without_helper;
	char architecture[ARCHITECTURE_BYTES]; /* uname -m; "": not asked */
	union {
		struct ssh_link ssh;
		struct local_link local;
	};
	struct launch_link launch;
};

/* A private key, read once. */
struct key_file {
	char *path;
	ssh_key key;  /* NULL: cannot be used */
	bool absent;  /* there is no such file */
	char *reason; /* why it cannot be used, with the remedy; never anything of its contents; NULL: it can */
};

/* What `ssh -G` has said, asked once: of what hosts share. */
struct asked {
	char *command, *text; /* NULL: it failed, with */
	enum fleet_outcome outcome;
	char *why;
};

/* Ends launchers that are still there a while after this program. */
struct keeper {
	int fd;
	pid_t pid; /* 0: there is none */
};

enum host_state { HOST_PENDING, HOST_STARTED, HOST_ENDED };

struct fleet {
	const struct host *const *hosts;
	size_t n;
	struct fleet_options options; /* with the defaults filled in */
	fleet_function function;
	void *context;
	struct fleet_result *results;
	size_t n_done;
	pthread_mutex_t turn;	 /* fleet_lock() */
	pthread_mutex_t knowing; /* of options.known; its files may be in a home directory that hangs */
	pthread_mutex_t inner;	 /* of what follows: never held for long, for who cancels needs it */
	enum host_state *states; /* [n] */
	int64_t *heard_ms;	 /* [n] when something passed between us last; touched atomically */
	size_t n_serving;	 /* threads that serve hosts */
	pthread_cond_t freed;	 /* a host has ended */
	struct key_file **keys;	 /* [n_keys] */
	size_t n_keys, keys_capacity;
	char *user, *home;	/* who runs this program */
	pthread_mutex_t asking; /* of what follows */
	struct asked **asked;	/* [n_asked] */
	size_t n_asked, asked_capacity;
	struct keeper keeper;
	size_t n_agent_keys; /* of the authentication agent; 0: it is not used, and agent_reason says why, "" when there is none */
	char agent_reason[128];
	int cancel_fd;	   /* readable once everything is to end */
	int ended_fd;	   /* readable when the last thread has ended */
	int written_fd;	   /* the standard output once session_write() has written to it, else -1 */
	bool stopped;	   /* fleet_stop() */
	int64_t silent_ms; /* when hosts that are silent are to be told */
};

/* ---- each.c ---- */

/* Milliseconds in which this process was not stopped (Ctrl-Z): a host that has answered meanwhile is not late. */
int64_t link_now_ms(void);

/* Waits until one of fds[n] is ready (there must be room for one more), or until_ms (0: for ever) has come. */
enum link_wait { LINK_READY, LINK_LATE, LINK_CANCELLED };
enum link_wait link_wait(const struct link *link, struct pollfd *fds, size_t n, int64_t until_ms);

/* The host has ended: nothing more can be done there. The text is made printable. Returns false. */
bool link_fail(struct link *link, enum fleet_outcome outcome, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
bool link_cancelled(struct link *link); /* link_fail() with the usual words */
void link_make_printable(char *text);

/* Hands a launcher to the process that ends it when this program was killed. process: a pidfd; it leads its group. */
void keeper_add(const struct keeper *keeper, int process, pid_t pid);

/* Starts a thread of small stack. Returns 0 or an errno. */
int fleet_thread(pthread_t *thread, void *(*work)(void *), void *argument);

/* ---- session.c ---- */

void link_name_signal(int64_t number, char name[16]); /* Linux's names; others by number */
void link_begin(struct link *link);		      /* the time for the way to the host starts */
/* Output of the command; too much of it ends the host. */
void link_output(struct link *link, bool is_err, const char *bytes, size_t n);
/* Returns what the host said last where no helper has greeted: ': "OUT", "ERR"', or "". free() it. */
char *link_words(const struct link_command *command);
/* Waits for more of the command. False: late or cancelled, and the host failed. */
bool link_command_wait(struct link *link);

/* For people, at once, by options->note. Not between fleet_lock and fleet_unlock. */
void link_notef(struct link *link, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Adds the command by which the user trusts the host. */
void link_add_trust(const struct link *link, bool replace, struct buf *out);

/* A command of this machine's shell, on the way to the host: false when it failed, or link->broken was set. */
bool link_run_here(struct link *link, const char *text, struct spool *out, struct spool *err);

/* ---- ssh_target.c ---- */

/* What lab.yaml and ~/.ssh/config together say of the host, into link->ssh. */
bool target_describe(struct link *link);
/* Returns a line for sh: ssh through the hops ("[user@]host[:port],...") to `target`; "": a command on the last hop is to follow. free()
 * it. NULL: the host failed. */
char *hops_line(struct link *link, const char *hops, const char *target);

/* ---- ssh.c ---- */

/* libssh's non-blocking calls go on when something has come, or can be sent. False: late or cancelled, and the host failed. */
bool ssh_wait(struct link *link, const char *what);
bool ssh_is_dead(const struct link *link);
bool ssh_broken(struct link *link, const char *while_what); /* fails after an error of the session */

/* ---- ssh_login.c ---- */

bool ssh_login(struct link *link);
void agent_look(struct fleet *fleet); /* which keys has the authentication agent? Waits a second at most */

/* ---- local.c ---- */

/* Starts a program in a process group of its own, with default signals; fds[0..2] become its standard descriptors. `path` is looked
 * up in PATH unless it has a slash. Returns 0 or an errno. */
int child_start(const char *path, const char *const *argv, const int *fds, pid_t *pid);
void child_end(pid_t pid, int signal); /* to the whole group; then waits for it, two seconds at most */

#endif
