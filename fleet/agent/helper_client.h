/* The controller's side of the helper (fleet/helper/): its executable and installation, requests and answers. This module only encodes and
 * decodes bytes. The engine (fleet/engine/) transfers them. */
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

#define HELPER_FILES_BYTES_MAX (64u << 20) /* maximum size of all files in one answer to "read" */

/* Finds the helper's executable for hosts of `architecture` (as in `uname -m`). This program contains the executables. Returns false if
 * there is none; *reason is then the cause and a remedy, which the caller frees. `reason` may be NULL. */
bool helper_find_program(const char *architecture, const char **bytes, size_t *n, char **reason);

/* Return static command lines that any login shell accepts. helper_command_run() starts the helper that fits the host. The helper speaks
 * the protocol on its standard streams. Exit status 127 means that it is not installed; see helper_installation(). helper_command_deploy()
 * stores the helper, read from standard input, in the user's cache directory. If no file can be kept or executed there, it uses a directory
 * below /tmp or /dev/shm. It writes errors to standard error. Returns NULL for an unknown architecture. */
const char *helper_command_run(void);
const char *helper_command_deploy(const char *architecture);

/* A request to the helper. If a setting is too long or there are too many, the error is kept until helper_request_complete() returns it. */
struct helper_request {
	struct buf bytes; /* bytes to send; complete after helper_request_complete() has returned ASSAY_OK */
	size_t counted;	  /* size of the frames so far, limited by HELPER_REQUEST_BYTES_MAX */
	const char *body; /* [n_body] input, borrowed; see helper_request_input() */
	size_t n_body;
	int64_t lock_wait_ms; /* maximum wait for the lock; 0 if the request takes no lock */
	bool makes_directory,
	    stays_running; /* only for "work": the answer contains a new directory; the helper keeps running after its answer */
	bool whole;	   /* true after helper_request_complete() */
	struct assay_error fault;
};

/* Starts a request. `operation` is "run", "read", "put", "get", "facts" or "work". The caller calls helper_request_release(). */
void helper_request_init(struct helper_request *request, const char *operation);
/* Add a setting. Settings may be added in any order. `name` is HELPER_ARGUMENT or another name from protocol.h. */
void helper_request_text(struct helper_request *request, const char *name, const char *text);
void helper_request_number(struct helper_request *request, const char *name, int64_t value);
/* Adds "NAME=value" to the environment. Puts LD_PRELOAD before the host's value, which an emulated host needs for its slowdowns. */
void helper_request_variable(struct helper_request *request, const char *text);
/* Makes the helper report to the command's processes, by files in `directory`, how long they were stopped (fleet/cgroup/stops.h). */
void helper_request_monitor(struct helper_request *request, const char *directory, const struct process_monitor_offsets *words);
/* Makes the helper hold this lock file while the command runs. The helper tells waiting helpers the name of this user and this process. */
void helper_request_lock(struct helper_request *request, const char *path, int64_t wait_ms);
/* Makes a request "work": creates a directory in `where` with `label` in its name. `detached`: the host allows only one channel. */
void helper_request_directory(struct helper_request *request, const char *where, const char *label, bool detached);
/* Sets the input. The bytes are borrowed until the request is answered. */
void helper_request_input(struct helper_request *request, const char *bytes, size_t n);
/* Completes the request, or returns the error that was kept. May be called again, so that the request can be sent several times. */
enum assay_status helper_request_complete(struct helper_request *request, struct assay_error *err);
void helper_request_release(struct helper_request *request); /* accepts a zeroed struct */

/* Return the bytes to send, after helper_request_complete(). helper_request_size() returns their number. helper_request_piece() sets *bytes
 * to the bytes at offset `at` and returns their number. `head` is a buffer to which *bytes may point. */
uint64_t helper_request_size(const struct helper_request *request);
size_t helper_request_piece(const struct helper_request *request, uint64_t at, char head[HELPER_FRAME_HEAD], const char **bytes);

/* Settings that all measurements on hosts share. A measurement holds the lock of its physical host. The lock file's directory is common to
 * all users and all emulated hosts of one kernel. Commands get the environment that lab.yaml gives for the host. */
#define MEASURE_LOCK	     "/dev/shm/assay-box.lock"
#define MEASURE_LOCK_WAIT_MS (30 * 60 * 1000)

/* Makes a request to run `words` with the host's environment and without core dumps. The caller calls helper_request_release(). */
void measure_request(struct helper_request *out, const struct host *host, const char *const *words, size_t n, int64_t timeout_ms);
void measure_request_lock(struct helper_request *request); /* makes the helper hold the physical host's lock while the command runs */

/* Resource usage of a command and its descendants, counted by the kernel at no cost. X(member, human-readable name or "" if not shown). */
#define HELPER_USAGE_ROWS(X)                                                                                                               \
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

/* Numbers of HELPER_RESULT (protocol.h); -1 if not reported. */
struct helper_result {
#define HELPER_USAGE_MEMBER(member, text) int64_t member;
	HELPER_USAGE_ROWS(HELPER_USAGE_MEMBER)
#undef HELPER_USAGE_MEMBER
	int64_t exit_status; /* -1 if a signal ended the command */
	int64_t signal;	     /* -1 if no signal ended the command */
	int64_t lock_wait_ns, started_ms;
	int64_t timed_out, interrupted; /* 0 or 1 */
	int64_t flooded;		/* 0 if no stream exceeded its limit, 1 for standard output, 2 for standard error */
	int64_t leftovers, survivors;
	int64_t swept;				      /* number of processes left by a killed helper and ended before the start */
	int64_t cgroup, oom_kills, refused_processes; /* results of HELPER_CGROUP (protocol.h) */
	int64_t bytes, files;
};

/* A file in an answer to "read". */
struct helper_file {
	char *path;
	char *bytes; /* [n], then a NUL; NULL if the file could not be read */
	size_t n;
	char *fault; /* reason why the file could not be read; NULL if it was read */
};

struct helper_answer {
	struct spool out, err;	   /* output of the command; for "get", `out` contains the file */
	struct helper_file *files; /* [n_files] in the order of the request */
	size_t n_files;
	bool expects_directory; /* true if the request is "work"; set by the caller */
	bool is_via_launcher;	/* true if a launcher may print after the answer, which is then ignored; set by the caller */
	char *directory_path;	/* path of the new directory; NULL until it is received */
	bool greeting_received, command_started; /* the helper's greeting has arrived; the command has started */
	bool waiting;	  /* the helper has waited for its lock; `holder`, held_ms, limit_ms: the last known holder */
	char *holder;	  /* user and process that hold the lock, such as "alice@controller, process 4711"; NULL if unknown */
	int64_t held_ms;  /* time for which the holder had held the lock at the helper's last report; -1 if unknown */
	int64_t limit_ms; /* maximum of that time; -1 if unknown */
	bool ended;	  /* true if `result`, `refusal` or `directory_path` is set */
	struct helper_result result;
	char *result_text; /* result as received, for facts_parse(); NULL if not received */
	char *refusal;	   /* reason of a refusal, one line; NULL if the helper did not refuse */
	char refusal_code; /* HELPER_CODE_...; 0 if the helper did not refuse */

	/* Private to helper_client.c: */
	struct buf pending; /* text before the greeting; after it an incomplete frame or, if is_text is set, text in place of a frame */
	bool is_text;
	uint64_t streaming; /* number of bytes of an output frame that have not arrived yet */
	char streaming_kind;
	size_t files_capacity, files_bytes;
	struct assay_error fault;
};

/* Initializes an answer with at most limit_bytes of output per stream. The caller calls helper_answer_release(). */
void helper_answer_init(struct helper_answer *answer, uint64_t limit_bytes);
/* Handles the next `n` bytes of the answer, in pieces of any size. ASSAY_E_FORMAT: a helper did not send these bytes. ASSAY_E_LIMIT: a
 * stream exceeds its limit. After an error the answer stays unchanged, and further calls return the same error. */
enum assay_status helper_answer_add(struct helper_answer *answer, const char *bytes, size_t n, struct assay_error *err);
/* Ends the answer after the host has closed the stream. ASSAY_E_FORMAT: the answer is incomplete. */
enum assay_status helper_answer_finish(struct helper_answer *answer, struct assay_error *err);
void helper_answer_release(struct helper_answer *answer); /* call it only after helper_answer_init() */

/* Reports from the end of helper_command_run() whether a helper is installed. exit_status: -1 if unknown or after a signal. */
enum helper_installation { HELPER_INSTALLED, HELPER_MISSING, HELPER_DAMAGED /* installed, but it does not send its greeting */ };
enum helper_installation helper_installation(const struct helper_answer *answer, int exit_status);

#endif
