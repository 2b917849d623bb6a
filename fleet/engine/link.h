/* Private to fleet/engine: one struct fleet per call of fleet_each(), one struct link per active host.
 *
 *	each.c        threads, turns, cancelling, how hosts end; the process that ends launchers if this program is killed
 *	session.c     commands and requests to the helper, over any transport
 *	ssh.c         a transport: a session of libssh on a connected socket;  ssh_login.c authentication
 *	ssh_target.c  description of a host by lab.yaml and ~/.ssh/config: address, user, jump hosts
 *	local.c       two transports: this machine; a launcher command that leads to the host, with its Slurm allocation */
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

/* A running command. */
struct link_command {
	const char *text;
	const struct helper_request *request; /* its standard input: this, or `input` */
	const char *input;
	uint64_t fed, input_bytes, received;
	bool hold_input, input_closed;
	struct helper_answer *answer; /* receives standard output; NULL: `out` does */
	struct spool *out, *err;
	int64_t timeout_ms, silence_ms, began_ms, passed_ms;
	int64_t waits_since_ms,
	    tell_ms;	     /* start of its wait for the lock of its physical host (0: not waiting); time of the next note about it */
	int64_t answered_ms; /* when the helper's answer was complete; 0: not yet */
	bool ended, lingers; /* lingers: the answer is complete, but the command has not ended */
	int exit_status;     /* -1: none */
	char signal[16];
};

/* Carries commands to a host. Only link_wait() waits. Functions that return false have set link->result. */
struct transport {
	bool (*open)(struct link *link); /* connects to the host, until link->deadline_ms */
	bool (*start)(struct link *link, const char *text);
	/* Writes as much of the input as possible now. Less than n: call it again later, or the command reads no more, which is no
	 * failure. */
	size_t (*write)(struct link *link, const char *bytes, size_t n);
	void (*end_input)(struct link *link);
	/* Passes new output to link_output(). If the command has ended, sets command->ended, exit_status and signal. */
	bool (*read)(struct link *link);
	size_t (*watch)(struct link *link, bool to_write,
			struct pollfd *fds);	      /* fills in the descriptors to wait for: up to LINK_FDS_MAX - 1 */
	void (*finish)(struct link *link, bool stop); /* releases the ended command, or stops it */
	bool (*beside)(struct link *link, bool *can); /* *can: whether a second command can run at the same time. False: the host failed */
	void (*park)(struct link *link); /* keeps the command running beside later ones until the link is closed; one per link */
	void (*close)(struct link *link);
};

extern const struct transport ssh_transport, local_transport, launch_transport;

/* The ssh part of a link. */
struct ssh_link {
	ssh_session session;
	ssh_event event;
	ssh_channel channel, parked;
	struct ssh_channel_callbacks_struct callbacks;
	struct ssh_counter_struct counted, counted_raw; /* bytes on the socket */
	uint64_t in_flushed_bytes;			/* counted.in_bytes when nothing was queued for writing */
	bool closed;					/* the host has closed the channel */
	pid_t jump;					/* process of `ssh -W`; 0: none */
	int jump_err;					/* its standard error, -1: none */
	bool jump_full;					/* the jump host refused because of too many connections at once */
	char *address, *user, *jump_through;		/* address and login; jump_through NULL: direct connection */
	int port;
	char **identities; /* [n_identities] paths of private keys, in the order of trial */
	size_t n_identities;
	bool identities_named;		/* the user named them: they are tried before the agent's keys, and a missing file is reported */
	bool identities_only, no_agent; /* use only the agent's keys that are in the files; do not use the agent */
	char *known_as;			/* the host's name in known_hosts, without a port; NULL: the address */
	char **known_files;		/* [n_known_files] files that count for this host; none: all files read */
	size_t n_known_files;
	struct buf notes; /* reasons why keys were not used */
};

struct local_link {
	int in, out, err, child; /* descriptors, -1: closed */
	pid_t pid;		 /* also its process group; 0: none */
	bool exited;
	int parked_in; /* standard input of the parked command */
	pid_t parked;  /* 0: none */
};

/* Further state of a host behind a launcher command; the command itself is in local_link. */
struct launch_link {
	bool on;
	int status;	 /* exit status of the command as its shell reported it; -1: not yet */
	struct buf line; /* unfinished line of standard error */
	struct buf last; /* last complete line of standard error */
	int parked_out, parked_err;
	struct local_link holder; /* the process that holds an allocation */
	char job[24], name[64];	  /* id of the allocation; unique name of its job */
};

struct link {
	struct fleet *fleet;
	const struct host *host;
	struct fleet_result *result;
	const struct transport *transport;
	int64_t deadline_ms;	 /* for opening the session */
	bool open, broken;	 /* broken: nothing more can be done on this host */
	int64_t *heard_ms;	 /* into fleet->heard_ms; NULL for a local command on the way to the host */
	struct session *session; /* also NULL for such a command */
	struct link_command *command;
	char *without_helper;
	char architecture[ARCHITECTURE_BYTES]; /* uname -m; "": not asked yet */
	union {
		struct ssh_link ssh;
		struct local_link local;
	};
	struct launch_link launch;
};

/* A private key, read once. */
struct key_file {
	char *path;
	ssh_key key;  /* NULL: not usable */
	bool absent;  /* the file does not exist */
	char *reason; /* why it is not usable, with the remedy, without any of its contents; NULL: it is usable */
};

/* Output of one `ssh -G` command, run once and shared by hosts. */
struct asked {
	char *command, *text; /* text NULL: it failed, with the outcome below */
	enum fleet_outcome outcome;
	char *why;
};

/* A process that ends launchers still running a while after this program has ended. */
struct keeper {
	int fd;
	pid_t pid; /* 0: none */
};

enum host_state { HOST_PENDING, HOST_STARTED, HOST_ENDED };

struct fleet {
	const struct host *const *hosts;
	size_t n;
	struct fleet_options options; /* defaults are filled in */
	fleet_function function;
	void *context;
	struct fleet_result *results;
	size_t n_done;
	pthread_mutex_t turn;	 /* fleet_lock() */
	pthread_mutex_t knowing; /* guards options.known; reading its files may hang with the home directory */
	pthread_mutex_t inner;	 /* guards the fields below; held briefly only, because cancelling needs it */
	enum host_state *states; /* [n] */
	int64_t *heard_ms;	 /* [n] time of the last traffic with each host; accessed atomically */
	size_t n_serving;	 /* threads that serve hosts */
	pthread_cond_t freed;	 /* signaled when a host has ended */
	struct key_file **keys;	 /* [n_keys] */
	size_t n_keys, keys_capacity;
	char *user, *home;	/* the user of this program */
	pthread_mutex_t asking; /* guards the three fields below */
	struct asked **asked;	/* [n_asked] */
	size_t n_asked, asked_capacity;
	struct keeper keeper;
	size_t n_agent_keys; /* keys in the authentication agent; 0: it is not used; why not: agent_reason, "" if there is no agent */
	char agent_reason[128];
	int cancel_fd;	   /* readable once everything must end */
	int ended_fd;	   /* readable once the last thread has ended */
	int written_fd;	   /* standard output, after session_write() has written to it; else -1 */
	bool stopped;	   /* fleet_stop() */
	int64_t silent_ms; /* when to report silent hosts next */
};

/* ---- each.c ---- */

/* Returns milliseconds in which this process was not stopped (Ctrl-Z): stopping it does not make a host late. */
int64_t link_now_ms(void);

/* Waits until one of fds[n] is ready or until_ms has come (0: without limit). fds must have room for one more. */
enum link_wait { LINK_READY, LINK_LATE, LINK_CANCELLED };
enum link_wait link_wait(const struct link *link, struct pollfd *fds, size_t n, int64_t until_ms);

/* Ends the host as failed: nothing more can be done there. Makes the text printable. Returns false. */
bool link_fail(struct link *link, enum fleet_outcome outcome, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
bool link_cancelled(struct link *link); /* calls link_fail() with the text for cancelled hosts */
void link_make_printable(char *text);

/* Passes a launcher to the keeper, which ends it if this program is killed. process: a pidfd of the leader of its group. */
void keeper_add(const struct keeper *keeper, int process, pid_t pid);

/* Starts a thread with a small stack. Returns 0 or an errno. */
int fleet_thread(pthread_t *thread, void *(*work)(void *), void *argument);

/* ---- session.c ---- */

void link_name_signal(int64_t number, char name[16]); /* Linux's names; others as numbers */
void link_begin(struct link *link);		      /* starts the time limit for connecting */
/* Stores output of the command; too much output fails the host. */
void link_output(struct link *link, bool is_err, const char *bytes, size_t n);
/* Returns the last output of a host without a helper's greeting: ': "OUT", "ERR"', or "". free() it. */
char *link_words(const struct link_command *command);
/* Waits for more of the command. False: late or cancelled; the host has failed. */
bool link_command_wait(struct link *link);

/* Shows a note to the user at once, by options->note. Not between fleet_lock and fleet_unlock. */
void link_notef(struct link *link, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Appends the command with which the user can trust the host. */
void link_add_trust(const struct link *link, bool replace, struct buf *out);

/* Runs a command of this machine's shell, for the way to the host. False: it failed, or link->broken was set. */
bool link_run_here(struct link *link, const char *text, struct spool *out, struct spool *err);

/* ---- ssh_target.c ---- */

/* Reads into link->ssh the description of the host by lab.yaml and ~/.ssh/config. */
bool target_describe(struct link *link);
/* Returns a line for sh: ssh through the hops ("[user@]host[:port],...") to `target`. target "": a command on the last hop follows. free()
 * it. NULL: the host failed. */
char *hops_line(struct link *link, const char *hops, const char *target);

/* ---- ssh.c ---- */

/* Waits until libssh's non-blocking calls can go on: input has come, or output can be sent. False: late or cancelled; the host failed. */
bool ssh_wait(struct link *link, const char *what);
bool ssh_is_dead(const struct link *link);
bool ssh_broken(struct link *link, const char *while_what); /* fails the host after an error of the session */

/* ---- ssh_login.c ---- */

bool ssh_login(struct link *link);
void agent_look(struct fleet *fleet); /* counts the keys of the authentication agent; waits a second at most */

/* ---- local.c ---- */

/* Starts a program in its own process group, with default signals; fds[0..2] become its standard descriptors. Looks `path` up in PATH
 * unless it has a slash. Returns 0 or an errno. */
int child_start(const char *path, const char *const *argv, const int *fds, pid_t *pid);
void child_end(pid_t pid, int signal); /* sends it to the whole group, then waits two seconds at most */

#endif
