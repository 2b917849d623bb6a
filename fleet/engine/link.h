/* Internal declarations of fleet/engine. One struct fleet exists per call of fleet_run_on_each_host(), one struct link per host that a
 * thread serves.
 *
 * each.c        threads, locks, cancelling, results of hosts; the keeper, which ends launchers if this program is killed
 * session.c     commands and helper requests over any transport
 * ssh.c         ssh transport: a libssh session on a connected socket;  ssh_login.c: authentication
 * ssh_target.c  settings of a host from lab.yaml and ~/.ssh/config: address, user, jump hosts
 * local.c       two transports: this machine; a launcher command that reaches the host, with its Slurm allocation */
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

/* State of a running command. */
struct link_command {
	const char *text;
	const struct helper_request *request; /* request to send as standard input; NULL if `input` is sent instead */
	const char *input;
	uint64_t sent_bytes, input_bytes, received;
	bool hold_input, input_closed;
	struct helper_answer *answer; /* parser of standard output; NULL if `out` stores the output instead */
	struct spool *out, *err;
	int64_t timeout_ms, silence_ms, began_ms, elapsed_ms;
	int64_t wait_start_ms,
	    next_note_ms;    /* start of the wait for the physical host's lock (0: not waiting); time of the next note about this wait */
	int64_t answered_ms; /* time at which the helper's answer was complete; 0 if it is not complete */
	bool ended, end_is_overdue; /* lingers: the answer was complete, but the command did not end in time */
	int exit_status;	    /* -1 if the command has not ended, or a signal ended it */
	char signal[16];
};

/* Functions of a transport, which runs commands on a host. Only link_wait() waits. A function that returns false has set link->result. */
struct transport {
	bool (*open)(struct link *link); /* connects to the host; fails at link->deadline_ms */
	bool (*start)(struct link *link, const char *text);
	/* Writes as many bytes as is possible without waiting, and returns their number. Fewer than `n` bytes is no error: the caller
	 * writes the rest later. A command that has stopped reading also gives fewer. */
	size_t (*write)(struct link *link, const char *bytes, size_t n);
	void (*end_input)(struct link *link);
	/* Passes new output to link_output(). If the command has ended, sets command->ended, exit_status and signal. */
	bool (*read)(struct link *link);
	size_t (*watch)(struct link *link, bool to_write,
			struct pollfd *fds);	      /* sets fds[] to the descriptors to wait for; returns their number, < LINK_FDS_MAX */
	void (*finish)(struct link *link, bool stop); /* releases a command that has ended; with `stop`, ends a running one */
	bool (*second_channel)(struct link *link,
			       bool *can); /* sets *can to whether a second command can run, too; false: the host failed */
	void (*park)(struct link *link);   /* sets the running command aside until the link closes, so that others can run; once per link */
	void (*close)(struct link *link);
};

extern const struct transport ssh_transport, local_transport, launch_transport;

/* State of the ssh transport. */
struct ssh_link {
	ssh_session session;
	ssh_event event;
	ssh_channel channel, parked;
	struct ssh_channel_callbacks_struct callbacks;
	struct ssh_counter_struct counted, counted_raw; /* counts of bytes on the socket */
	uint64_t in_flushed_bytes;			/* value of counted.in_bytes when the write queue was last empty */
	bool closed;					/* true if the host has closed the channel */
	pid_t jump;					/* process id of `ssh -W`, which connects through jump hosts; 0 if there is none */
	int jump_stderr_fd;				/* standard error of `jump`; -1 if there is none */
	bool jump_login_refused;			/* a jump host refused the connection because of too many simultaneous logins */
	char *address, *user, *jump_hosts;		/* address; login name; jump hosts, NULL for a direct connection */
	int port;
	char **identities; /* [n_identities] paths of private keys, in the order of use */
	size_t n_identities;
	bool identities_are_user_given; /* the user named `identities`: try them before the agent's keys, and report missing files */
	bool identities_only, no_agent; /* use only those keys of the agent that are in `identities`; do not use the agent */
	char *known_hosts_name;		/* name of the host in known_hosts, without a port; NULL for the host's address */
	char **known_hosts_paths;	/* [n_known_files] known_hosts files to use for this host; none: all files that were read */
	size_t n_known_files;
	struct buf notes; /* reasons why keys were not used, for the error message */
};

struct local_link {
	int in, out, err, child; /* pipes of the command and its pidfd; -1 if closed */
	pid_t pid;		 /* id of the command's process and process group; 0 if there is none */
	bool exited;
	int parked_stdin; /* standard input of the parked command */
	pid_t parked;	  /* process id of the parked command; 0 if there is none */
};

/* Additional state for a host with a launcher. The launcher's process is in local_link. */
struct launch_link {
	bool is_used;
	int status;	 /* exit status of the command, from its line on standard error; -1 if not received yet */
	struct buf line; /* incomplete line of standard error */
	struct buf last; /* last complete line of standard error */
	int parked_out, parked_err;
	struct local_link holder; /* process that holds the Slurm allocation */
	char job[24], name[64];	  /* id of the allocation; unique name of the job */
};

struct link {
	struct fleet *fleet;
	const struct host *host;
	struct fleet_result *result;
	const struct transport *transport;
	int64_t deadline_ms;	  /* time limit for opening the session */
	bool open, broken;	  /* broken: the host failed, so it gets no further commands */
	int64_t *last_traffic_ms; /* element of fleet->last_traffic_ms; NULL for a local command that prepares the connection */
	struct session *session;  /* session of the host; NULL for such a local command */
	struct link_command *command;
	char *no_helper_reason;
	char architecture[ARCHITECTURE_BYTES]; /* output of `uname -m`; "" if not known yet */
	union {
		struct ssh_link ssh;
		struct local_link local;
	};
	struct launch_link launch;
};

/* A private key file, read once for all hosts. */
struct key_file {
	char *path;
	ssh_key key;  /* NULL if the file is not usable */
	bool absent;  /* true if the file does not exist */
	char *reason; /* error message with a remedy, without content of the file; NULL if the key is usable */
};

/* Result of an `ssh -G` command, shared by all hosts that need it. */
struct ssh_config_query {
	char *command, *text; /* text: output; NULL if the command failed, for the reason in `outcome` and `why` */
	enum fleet_outcome outcome;
	char *why;
};

/* The keeper: a process that ends those launchers that still run some time after this program has ended. */
struct launcher_guard {
	int fd;
	pid_t pid; /* process id; 0 if the keeper is not running */
};

enum host_state { HOST_PENDING, HOST_STARTED, HOST_ENDED };

struct fleet {
	const struct host *const *hosts;
	size_t n;
	struct fleet_options options; /* options of the caller, with defaults filled in */
	fleet_function function;
	void *context;
	struct fleet_result *results;
	size_t n_done;
	pthread_mutex_t shared_mutex; /* lock of fleet_lock() */
	pthread_mutex_t known_mutex;  /* guards options.known; may be held long, because reading from the home directory may block */
	pthread_mutex_t state_mutex;  /* guards the fields below; held only briefly, because cancelling takes this lock */
	enum host_state *states;      /* [n] states of the hosts */
	int64_t *last_traffic_ms;     /* [n] time of the last traffic with each host; 0 if not started; accessed atomically */
	size_t n_serving_threads;     /* number of threads that serve hosts */
	pthread_cond_t host_ended;    /* signaled when a host has ended */
	struct key_file **keys;	      /* [n_keys] private key files that were read */
	size_t n_keys, keys_capacity;
	char *user, *home;			    /* login name and home directory of the user of this program */
	pthread_mutex_t asked_mutex;		    /* guards asked, n_asked_queries and asked_queries_capacity */
	struct ssh_config_query **ssh_config_query; /* [n_asked_queries] results of `ssh -G` commands */
	size_t n_asked_queries, asked_queries_capacity;
	struct launcher_guard keeper;
	size_t n_agent_keys; /* number of usable keys in the agent; if 0, agent_reason is the cause ("" without an agent) */
	char agent_reason[128];
	int cancel_fd;		       /* eventfd; readable after cancelling */
	int ended_fd;		       /* eventfd; readable after the last thread has ended */
	int written_fd;		       /* standard output after session_write() has written to it; -1 before */
	bool stopped;		       /* true if fleet_stop() was called */
	int64_t next_silent_report_ms; /* time of the next report of silent hosts */
};

/* ---- each.c ---- */

/* Returns a monotonic time in ms. The clock stands still while this process is stopped (Ctrl-Z), so that time limits do not expire then. */
int64_t link_now_ms(void);

/* Waits until one of fds[n] is ready, or until the time until_ms (0: no limit). `fds` must have room for one more element. */
enum link_wait { LINK_READY, LINK_TIMED_OUT, LINK_CANCELLED };
enum link_wait link_wait(const struct link *link, struct pollfd *fds, size_t n, int64_t until_ms);

/* Marks the host as failed, so that it gets no further commands. Replaces unprintable characters in the message. Returns false. */
bool link_fail(struct link *link, enum fleet_outcome outcome, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
bool link_fail_cancelled(struct link *link); /* calls link_fail() with the message FLEET_CANCELLED */
void link_make_printable(char *text);

/* Makes the keeper responsible for a launcher. `process` is a pidfd of the launcher, which leads its process group. */
void keeper_add(const struct launcher_guard *keeper, int process, pid_t pid);

/* Starts a thread with a small stack and blocked signals. Returns 0 or an errno. */
int fleet_start_thread(pthread_t *thread, void *(*work)(void *), void *argument);

/* ---- session.c ---- */

void link_name_signal(int64_t number, char name[16]); /* writes a name such as "KILL", or the number if Linux has no such signal */
void link_start_deadline(struct link *link);	      /* starts the time limit for connecting */
/* Stores output of the running command. If the output exceeds the limit, the host fails. */
void link_output(struct link *link, bool is_err, const char *bytes, size_t n);
/* Returns the last lines of a command's output for an error message: ': "OUT", "ERR"', or "" if there is no output. The caller frees it. */
char *link_output_excerpt(const struct link_command *command);
/* Waits until the running command may have made progress. At the time limit or after cancelling, fails the host and returns false. */
bool link_command_wait(struct link *link);

/* Shows a note to the user at once, by options->note. Takes the lock of fleet_lock(), so the caller must not hold it. */
void link_notef(struct link *link, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Appends the command line with which the user can accept the host's key. */
void link_add_trust_command(const struct link *link, bool replace, struct buf *out);

/* Runs a shell command here, to prepare the connection. Returns false if it failed or did not run (link->broken is set). */
bool link_run_local(struct link *link, const char *text, struct spool *out, struct spool *err);

/* ---- ssh_target.c ---- */

/* Sets link->ssh to the settings of the host from lab.yaml and ~/.ssh/config. */
bool ssh_target_resolve(struct link *link);
/* Returns a shell command that runs ssh through `hops` ("[user@]host[:port],...") to `target`. If `target` is "", the caller appends a
 * command for the last hop. Returns NULL if the host failed. The caller frees it. */
char *ssh_hops_command(struct link *link, const char *hops, const char *target);

/* ---- ssh.c ---- */

/* Waits until libssh can read or write. `what` names the awaited step in messages. Returns false if the host failed: at the time limit or
 * after cancelling. */
bool ssh_wait(struct link *link, const char *what);
bool ssh_is_dead(const struct link *link);
bool ssh_fail(struct link *link, const char *while_what); /* fails the host after an error of libssh */

/* ---- ssh_login.c ---- */

bool ssh_login(struct link *link);
void agent_read_keys(struct fleet *fleet); /* counts the keys of the authentication agent; waits at most one second for the agent */

/* ---- local.c ---- */

/* Starts a program in its own process group, with default signal handling. fds[0..2] become its standard streams. If `path` has no slash,
 * searches PATH. Returns 0 or an errno. */
int child_start(const char *path, const char *const *argv, const int *fds, pid_t *pid);
void child_kill(pid_t pid, int signal); /* sends the signal to the process group, then waits at most two seconds for its leader */

#endif
