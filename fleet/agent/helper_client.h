/* The controller's side of the helper (fleet/helper/): the helper's program, its installation, requests and answers. Handles bytes only;
 * the engine transfers them. */
#ifndef FLEET_HELPER_CLIENT_H
#define FLEET_HELPER_CLIENT_H

#include "fleet/inventory/inventory.h"
#include "base/buf.h"
#include "base/error.h"
#include "fleet/cgroup/stops.h"
#include "fleet/helper/protocol.h"
#include "fleet/agent/spool.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HELPER_FILES_BYTES_MAX (64u << 20) /* limit of all files in an answer to "read" */

/* Finds the helper's executable for hosts of this architecture (uname -m). The executables are built into this program. Returns false if
 * there is none; *reason (`reason` may be NULL; free() it) has the cause and the remedy. */
bool helper_program(const char *architecture, const char **bytes, size_t *n, char **reason);

/* Return static command lines for any login shell; only hashes and sizes vary. "run" executes the helper for the host's architecture,
 * which speaks the protocol on its standard streams. Exit status 127: the helper is missing (see helper_there()). "deploy" reads the
 * program from standard input and stores it in the user's cache directory or, if files cannot be kept or executed there, in a directory
 * of the user below /tmp or /dev/shm. It exits with 0, or writes the reason to standard error. NULL: no program for the architecture. */
const char *helper_command_run(void);
const char *helper_command_deploy(const char *architecture);

/* A request to the helper. Stores errors (too long, too many) until helper_request_go() returns them. */
struct helper_request {
	struct buf bytes; /* bytes to send; complete after helper_request_go() has returned ASSAY_OK */
	size_t counted;	  /* size so far, limited by HELPER_REQUEST_BYTES_MAX */
	const char *body; /* [n_body] borrowed input, see helper_request_input() */
	size_t n_body;
	int64_t lock_wait_ms; /* maximum wait for the lock; 0: none */
	bool makes, stays;    /* "work" only: makes: the answer has a new directory; stays: the helper continues after its answer */
	bool whole;	      /* helper_request_go() was called */
	struct assay_error fault;
};

/* Starts a request. `operation` is "run", "read", "put", "get", "facts" or "work". helper_request_release() it. */
void helper_request_init(struct helper_request *request, const char *operation);
/* Add a setting in any order. `name` is HELPER_ARGUMENT etc. (protocol.h). */
void helper_request_text(struct helper_request *request, const char *name, const char *text);
void helper_request_number(struct helper_request *request, const char *name, int64_t value);
/* Adds "NAME=value" to the environment. LD_PRELOAD is put before the host's value, which an emulated host needs for its slowdowns. */
void helper_request_variable(struct helper_request *request, const char *text);
/* Makes the helper write data that processes cannot observe themselves to files in this directory (fleet/cgroup/stops.h). */
void helper_request_stops(struct helper_request *request, const char *directory, const struct stops_words *words);
/* Makes the command wait for this lock file and hold it while it runs. The helper reports this user and process to waiting helpers. */
void helper_request_lock(struct helper_request *request, const char *path, int64_t wait_ms);
/* Makes a request "work", for a directory in `where` with `label` in its name. `detached`: the host allows only one channel. */
void helper_request_work(struct helper_request *request, const char *where, const char *label, bool detached);
/* Sets the input. Borrows the bytes until the request is answered. */
void helper_request_input(struct helper_request *request, const char *bytes, size_t n);
/* Completes the request, or returns its error. May be called again, to send the request several times. */
enum assay_status helper_request_go(struct helper_request *request, struct assay_error *err);
void helper_request_release(struct helper_request *request); /* accepts a zeroed struct */

/* Return the bytes to send after helper_request_go(): total size; piece at offset `at` (size, bytes in *bytes, with `head` as buffer). */
uint64_t helper_request_size(const struct helper_request *request);
size_t helper_request_piece(const struct helper_request *request, uint64_t at, char head[HELPER_FRAME_HEAD], const char **bytes);

/* Settings of all measurements on hosts. Each measurement holds the physical host's lock. The directory of the lock file is common to
 * all users and all emulated hosts of one kernel. Commands get the host's environment from lab.yaml. */
#define MEASURE_LOCK	     "/dev/shm/assay-box.lock"
#define MEASURE_LOCK_WAIT_MS (30 * 60 * 1000)

/* Makes a request to run `words` with the host's environment and without core dumps. helper_request_release() it. */
void measure_request(struct helper_request *out, const struct host *host, const char *const *words, size_t n, int64_t timeout_ms);
void measure_request_lock(struct helper_request *request); /* makes the command hold the physical host's lock while it runs */

/* The kernel's counters of a command with all its descendants, which cost nothing. X(member, human-readable name; "": not shown). */
#define HELPER_ACCOUNT_ROWS(X)                                                                                                             \
	X(wall_ns, "")                                                                                                                     \
	X(user_us, "")                                                                                                                     \
	X(sys_us, "")                                                                                                                      \
	X(max_rss_bytes, "bytes of memory at most")                                                                                        \
	X(minor_faults, "page faults without input and output")                                                                            \
	X(major_faults, "page faults that waited for a disk")                                                                              \
	X(voluntary_switches, "voluntary context switches")                                                                                \
	X(involuntary_switches, "involuntary context switches")                                                                            \
	X(read_calls, "system calls that read")                                                                                            \
	X(read_bytes, "bytes that they read")                                                                                              \
	X(write_calls, "system calls that wrote")                                                                                          \
	X(write_bytes, "bytes that they wrote")                                                                                            \
	X(run_delay_ns, "")                                                                                                                \
	X(others_delay_ns, "")                                                                                                             \
	X(crowded_ns, "")                                                                                                                  \
	X(io_stalled_ns, "")                                                                                                               \
	X(memory_stalled_ns, "")                                                                                                           \
	X(throttled_ns, "")                                                                                                                \
	X(busy_ns, "")                                                                                                                     \
	X(steal_ns, "")                                                                                                                    \
	X(frequency_khz, "")                                                                                                               \
	X(temperature_mc, "")                                                                                                              \
	X(processes, "")                                                                                                                   \
	X(instructions, "instructions in user space")                                                                                      \
	X(cycles, "cycles of these instructions")                                                                                          \
	X(tick_ns, "")

/* Numbers of HELPER_RESULT; -1: not reported. */
struct helper_result {
#define HELPER_ACCOUNT_MEMBER(member, text) int64_t member;
	HELPER_ACCOUNT_ROWS(HELPER_ACCOUNT_MEMBER)
#undef HELPER_ACCOUNT_MEMBER
	int64_t exit_status; /* -1: a signal ended the command */
	int64_t signal;	     /* -1: no signal ended the command */
	int64_t lock_wait_ns, started_ms;
	int64_t timed_out, interrupted; /* 0 or 1 */
	int64_t flooded;		/* stream that exceeded its limit: 0 none, 1 standard output, 2 standard error */
	int64_t leftovers, survivors;
	int64_t swept;				      /* processes that a killed helper had left; they were ended before the start */
	int64_t cgroup, oom_kills, refused_processes; /* results of HELPER_CGROUP (protocol.h) */
	int64_t bytes, files;
};

/* A file in an answer to "read". */
struct helper_file {
	char *path;
	char *bytes; /* [n], NUL-terminated; NULL: the file could not be read */
	size_t n;
	char *fault; /* reason why the file could not be read; NULL: it was read */
};

struct helper_answer {
	struct spool out, err;	   /* output of the command; for "get", `out` has the file */
	struct helper_file *files; /* [n_files] in the order of the request */
	size_t n_files;
	bool wants_made;     /* set by the caller for a request "work" */
	bool by_launcher;    /* set by the caller: output after the answer is the launcher's, and is ignored */
	char *made;	     /* path of the new directory; NULL: not received */
	bool greeted, begun; /* the helper's greeting has arrived; the command has started */
	bool waiting;	     /* the helper has waited for its lock; then `holder`, held_ms and limit_ms describe the last known holder */
	char *holder;	     /* such as "alice@controller, process 4711"; NULL: unknown */
	int64_t held_ms;     /* time for which the holder had the lock at the host's last message; -1: unknown */
	int64_t limit_ms;    /* limit of that time; -1: unknown */
	bool ended;	     /* `result` or `refusal` is set */
	struct helper_result result;
	char *result_text; /* unparsed result, for facts_parse(); NULL: not received */
	char *refusal;	   /* one-line reason; NULL: not refused */
	char refusal_code; /* HELPER_CODE_...; 0: not refused */

	/* Private to helper_client.c: */
	struct buf pending; /* text before the greeting; later an incomplete frame or, with is_text, text in place of frames */
	bool is_text;
	uint64_t streaming; /* number of missing bytes of an output frame */
	char streaming_kind;
	size_t files_capacity, files_bytes;
	struct assay_error fault;
};

/* Starts an answer. limit_bytes is the limit per stream. helper_answer_release() it. */
void helper_answer_init(struct helper_answer *answer, uint64_t limit_bytes);
/* Handles bytes as they arrive, in pieces of any size. ASSAY_E_FORMAT: the bytes are not a helper's. ASSAY_E_LIMIT: too much output.
 * After an error the answer does not change, and further calls return the same error. */
enum assay_status helper_answer_add(struct helper_answer *answer, const char *bytes, size_t n, struct assay_error *err);
/* Ends the answer after the host has closed its end. ASSAY_E_FORMAT: the answer is incomplete. */
enum assay_status helper_answer_finish(struct helper_answer *answer, struct assay_error *err);
void helper_answer_release(struct helper_answer *answer); /* only after helper_answer_init() */

/* Determines from the end of helper_command_run() whether a helper is installed. exit_status -1: unknown, or ended by a signal. */
enum helper_there { HELPER_THERE, HELPER_MISSING, HELPER_DAMAGED /* installed, but sends no greeting */ };
enum helper_there helper_there(const struct helper_answer *answer, int exit_status);

#endif
