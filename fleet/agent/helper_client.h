/* The controller's side of the helper (fleet/helper/): its program, installation, requests, answers. Handles bytes; the engine sends
 * them. */
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

#define HELPER_FILES_BYTES_MAX (64u << 20) /* all files of one answer to "read" */

/* Finds the helper's executable for hosts of an architecture (uname -m), built into this program. False: there is none. *reason (may be
 * NULL): why, with the remedy; free() it. */
bool helper_program(const char *architecture, const char **bytes, size_t *n, char **reason);

/* Return command lines for any login shell; only hashes and sizes vary. "run" becomes the helper for the host's architecture, which speaks
 * the protocol on its standard streams. Its exit status is 127 if the helper is missing (see helper_there). "deploy" reads the program on
 * standard input and stores all of it in the user's cache. If nothing can be kept or executed there, it uses a directory of the user's own
 * below /tmp or /dev/shm. It exits with 0, or writes the reason to standard error. NULL: there is no program. The texts are static. */
const char *helper_command_run(void);
const char *helper_command_deploy(const char *architecture);

/* A request. Keeps faults (too long, too many) until helper_request_go() returns them. */
struct helper_request {
	struct buf bytes; /* bytes to send, after helper_request_go() has returned ASSAY_OK */
	size_t counted;	  /* bytes counted against HELPER_REQUEST_BYTES_MAX */
	const char *body; /* [n_body] input, see helper_request_input() */
	size_t n_body;
	int64_t lock_wait_ms; /* longest wait for a lock */
	bool makes, stays;    /* "work": it makes a directory; the helper stays after its answer */
	bool whole;	      /* helper_request_go() was called */
	struct assay_error fault;
};

/* Starts a request. operation: "run", "read", "put", "get", "facts", "work". helper_request_release() it. */
void helper_request_init(struct helper_request *request, const char *operation);
/* Add a setting. name: HELPER_ARGUMENT etc. (protocol.h), in any order. */
void helper_request_text(struct helper_request *request, const char *name, const char *text);
void helper_request_number(struct helper_request *request, const char *name, int64_t value);
/* Adds "NAME=value" to the environment. LD_PRELOAD is put before the host's own value, such as an emulated host's slowdowns. */
void helper_request_variable(struct helper_request *request, const char *text);
/* Passes its processes, in files of that directory, data that they cannot observe themselves (fleet/cgroup/stops.h). */
void helper_request_stops(struct helper_request *request, const char *directory, const struct stops_words *words);
/* Makes the command wait for this lock file and hold it while it runs. The lock file names this user and process to others who wait. */
void helper_request_lock(struct helper_request *request, const char *path, int64_t wait_ms);
/* Makes a complete request "work": a directory in `where`, with the label in its name. detached: for hosts that allow one channel only. */
void helper_request_work(struct helper_request *request, const char *where, const char *label, bool detached);
/* Sets the input. The bytes are not copied: they must live until the request is answered. */
void helper_request_input(struct helper_request *request, const char *bytes, size_t n);
/* Completes the request, or returns its fault. May be called again, to send a request several times. */
enum assay_status helper_request_go(struct helper_request *request, struct assay_error *err);
void helper_request_release(struct helper_request *request); /* accepts zeroed */

/* Give the bytes to send after helper_request_go(), in pieces: the piece at `at` is *bytes[returned size]; `head` is a buffer for it. */
uint64_t helper_request_size(const struct helper_request *request);
size_t helper_request_piece(const struct helper_request *request, uint64_t at, char head[HELPER_FRAME_HEAD], const char **bytes);

/* Common to everything that measures on hosts. The physical host's lock is held on the host around each measurement. Its directory is
 * shared by all users and by all emulated hosts of one kernel. Commands get the host's environment from lab.yaml. */
#define MEASURE_LOCK	     "/dev/shm/assay-box.lock"
#define MEASURE_LOCK_WAIT_MS (30 * 60 * 1000)

/* Makes a request "run" of the words with the host's environment, without core dumps. helper_request_release() it. */
void measure_request(struct helper_request *out, const struct host *host, const char *const *words, size_t n, int64_t timeout_ms);
void measure_request_lock(struct helper_request *request); /* makes it wait for the physical host's lock, and hold that while it runs */

/* The kernel's counts for a command with all its descendants, which cost nothing. Member, human-readable name ("": not shown). */
#define HELPER_ACCOUNT_ROWS(X)                                                                                                             \
	X(wall_ns, "")                                                                                                                     \
	X(user_us, "")                                                                                                                     \
	X(sys_us, "")                                                                                                                      \
	X(max_rss_bytes, "bytes of memory at most")                                                                                        \
	X(minor_faults, "page faults without input or output")                                                                             \
	X(major_faults, "page faults that waited for a disk")                                                                              \
	X(voluntary_switches, "times it gave the CPU away, to wait")                                                                       \
	X(involuntary_switches, "times the CPU was taken from it")                                                                         \
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
	X(cycles, "cycles that they took")                                                                                                 \
	X(tick_ns, "")

/* The numbers of HELPER_RESULT; -1: not reported. */
struct helper_result {
#define HELPER_ACCOUNT_MEMBER(member, text) int64_t member;
	HELPER_ACCOUNT_ROWS(HELPER_ACCOUNT_MEMBER)
#undef HELPER_ACCOUNT_MEMBER
	int64_t exit_status; /* -1: a signal ended it */
	int64_t signal;	     /* -1: it ended by itself */
	int64_t lock_wait_ns, started_ms;
	int64_t timed_out, interrupted; /* 0, 1 */
	int64_t flooded;		/* stream that exceeded the limit "output": 0 none, 1 standard output, 2 standard error */
	int64_t leftovers, survivors;
	int64_t swept;				      /* processes that a killed helper had left; they were ended before the command */
	int64_t cgroup, oom_kills, refused_processes; /* see HELPER_CGROUP in protocol.h */
	int64_t bytes, files;
};

/* A file of an answer to "read". */
struct helper_file {
	char *path;
	char *bytes; /* [n] and a NUL; NULL: it could not be read */
	size_t n;
	char *fault; /* reason why it could not be read; else NULL */
};

struct helper_answer {
	struct spool out, err;	   /* output of the command; "get": the file is in `out` */
	struct helper_file *files; /* [n_files], in the order of the request */
	size_t n_files;
	bool wants_made;     /* set by the caller of a request "work" */
	bool by_launcher;    /* set by the caller: a launcher may write after the helper's end; that output is ignored */
	char *made;	     /* the new directory; NULL: none yet */
	bool greeted, begun; /* the helper has sent its greeting; the command has started */
	bool waiting;	     /* it has waited for its lock; the next three describe the holder */
	char *holder;	     /* such as "alice@controller, process 4711"; NULL: unknown. -1 below: unknown */
	int64_t held_ms;     /* how long the holder had the lock at the host's last message */
	int64_t limit_ms;    /* how long the holder may have it */
	bool ended;	     /* `result` or `refusal` is set */
	struct helper_result result;
	char *result_text; /* unparsed text of the result; for "facts", input of facts_parse(). NULL: none yet */
	char *refusal;	   /* one line; NULL unless the request was refused */
	char refusal_code; /* HELPER_CODE_...; 0 unless refused */

	/* Private to helper_client.c. */
	struct buf pending; /* noise before the greeting, then an incomplete frame; or, with is_text, text instead of frames */
	bool is_text;
	uint64_t streaming; /* bytes of an output frame still to come */
	char streaming_kind;
	size_t files_capacity, files_bytes;
	struct assay_error fault;
};

/* Starts an answer. limit_bytes: per stream. helper_answer_release() it. */
void helper_answer_init(struct helper_answer *answer, uint64_t limit_bytes);
/* Takes bytes as they arrive, in pieces of any size. ASSAY_E_FORMAT: no helper writes such bytes. ASSAY_E_LIMIT: too much output. After a
 * fault the answer does not change, and every further call returns the same. */
enum assay_status helper_answer_add(struct helper_answer *answer, const char *bytes, size_t n, struct assay_error *err);
/* Ends the answer when the host has closed its end. ASSAY_E_FORMAT: the answer is incomplete. */
enum assay_status helper_answer_finish(struct helper_answer *answer, struct assay_error *err);
void helper_answer_release(struct helper_answer *answer); /* after helper_answer_init only */

/* Determines from the end of helper_command_run() whether there is a helper. exit_status -1: ended by a signal, or unknown. */
enum helper_there { HELPER_THERE, HELPER_MISSING, HELPER_DAMAGED /* it is there, but does not even greet */ };
enum helper_there helper_there(const struct helper_answer *answer, int exit_status);

#endif
