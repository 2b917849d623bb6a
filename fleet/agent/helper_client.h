/* The controller's side of the helper (fleet/helper/): the program itself, how it gets to a host, requests, answers. Pure: bytes in,
 * bytes out; who carries them is the engine's business. */
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

/* The helper's executable for hosts of that architecture (uname -m), built into this program. False: this one has none; *reason (which may
 * be NULL) says why, with the remedy: free() it. */
bool helper_program(const char *architecture, const char **bytes, size_t *n, char **reason);

/* Command lines for any login shell; in them only hashes and sizes vary. "run" becomes the helper for the host's architecture, whose
 * standard streams speak the protocol; where it is missing the exit status is 127 (see helper_there). "deploy" reads the program on
 * standard input and stores it as a whole, in the user's cache or, where nothing can be kept or executed there, in a directory of the
 * user's own below /tmp or /dev/shm. It ends with 0, or says why not on standard error; NULL where there is no program. Borrowed, for
 * ever. */
const char *helper_command_run(void);
const char *helper_command_deploy(const char *architecture);

/* A request. Faults (too long, too many) are kept and told by helper_request_go(). */
struct helper_request {
	struct buf bytes; /* what to send, once helper_request_go() has said ASSAY_OK */
	size_t counted;	  /* of HELPER_REQUEST_BYTES_MAX */
	const char *body; /* [n_body] of helper_request_input() */
	size_t n_body;
	int64_t lock_wait_ms; /* so long may it wait for a lock */
	bool makes, stays;    /* "work": it makes a directory; the helper stays, beyond its answer */
	bool whole;	      /* helper_request_go() was called */
	struct assay_error fault;
};

/* operation: "run", "read", "put", "get", "facts", "work". helper_request_release() it. */
void helper_request_init(struct helper_request *request, const char *operation);
/* name: HELPER_ARGUMENT and so on (protocol.h), in any order. */
void helper_request_text(struct helper_request *request, const char *name, const char *text);
void helper_request_number(struct helper_request *request, const char *name, int64_t value);
/* "NAME=value" for the environment. LD_PRELOAD goes before what the host has there already, such as what slows an emulated host down. */
void helper_request_variable(struct helper_request *request, const char *text);
/* Its processes are told what they cannot see, in files of that directory. */
void helper_request_stops(struct helper_request *request, const char *directory, const struct stops_words *words);
/* The command waits for this lock file, and holds it while it runs; others who wait are told who we are. */
void helper_request_lock(struct helper_request *request, const char *path, int64_t wait_ms);
/* A whole request "work": a directory in `where`, with the label in its name. detached: where there is one channel only. */
void helper_request_work(struct helper_request *request, const char *where, const char *label, bool detached);
/* Not copied: the bytes must live until the request was answered. */
void helper_request_input(struct helper_request *request, const char *bytes, size_t n);
/* May be called again: a request can be sent several times. */
enum assay_status helper_request_go(struct helper_request *request, struct assay_error *err);
void helper_request_release(struct helper_request *request); /* accepts zeroed */

/* All that is to be sent, after helper_request_go(), piece by piece: *bytes[the value returned] from `at` on; `head` is room for a piece.
 */
uint64_t helper_request_size(const struct helper_request *request);
size_t helper_request_piece(const struct helper_request *request, uint64_t at, char head[HELPER_FRAME_HEAD], const char **bytes);

/* What everything that measures on hosts has in common: the box's lock is held on the host around each measurement, in a directory that all
 * users and, on one kernel, all emulated hosts share; commands get the environment that lab.yaml gives the host. */
#define MEASURE_LOCK	     "/dev/shm/assay-box.lock"
#define MEASURE_LOCK_WAIT_MS (30 * 60 * 1000)

/* A request "run" of the words with the host's environment, without core dumps. helper_request_release() it. */
void measure_request(struct helper_request *out, const struct host *host, const char *const *words, size_t n, int64_t timeout_ms);
void measure_request_lock(struct helper_request *request); /* it waits for the box's lock and holds it while it runs */

/* What the kernel counts of a command with all its descendants, for nothing. Member and name; for people, where they are told. */
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

/* What RESULT says; numbers that it does not say are -1. */
struct helper_result {
#define HELPER_ACCOUNT_MEMBER(member, text) int64_t member;
	HELPER_ACCOUNT_ROWS(HELPER_ACCOUNT_MEMBER)
#undef HELPER_ACCOUNT_MEMBER
	int64_t exit_status; /* -1 when a signal ended it */
	int64_t signal;	     /* -1 when it ended by itself */
	int64_t lock_wait_ns, started_ms;
	int64_t timed_out, interrupted; /* 0, 1 */
	int64_t flooded;		/* of its limit "output": 0, 1 standard output, 2 standard error */
	int64_t leftovers, survivors;
	int64_t swept;				      /* processes that a killed helper had left, and that were ended before */
	int64_t cgroup, oom_kills, refused_processes; /* of helper_request_cgroup(): see protocol.h */
	int64_t bytes, files;
};

/* A file of an answer to "read". */
struct helper_file {
	char *path;
	char *bytes; /* [n] and a NUL; NULL when it could not be read */
	size_t n;
	char *fault; /* why not, else NULL */
};

struct helper_answer {
	struct spool out, err;	   /* of the command; "get": the file is in `out` */
	struct helper_file *files; /* [n_files], in the order of the request */
	size_t n_files;
	bool wants_made;     /* set by who asks for it: of "work" */
	bool by_launcher;    /* set by the caller: a launcher may write after the helper's end, which is ignored */
	char *made;	     /* the directory; NULL while there is none */
	bool greeted, begun; /* the helper is there; the command was started */
	bool waiting;	     /* it has waited for its lock, for: */
	char *holder;	     /* "alice@controller, process 4711"; NULL: not known, like -1 in what follows */
	int64_t held_ms;     /* so long ago, when the host said so last, that one got it */
	int64_t limit_ms;    /* so long it may have it */
	bool ended;	     /* with `result` or `refusal` */
	struct helper_result result;
	char *result_text; /* as it came; of "facts" for facts_parse(). NULL while there is none */
	char *refusal;	   /* one line; NULL unless nothing was run */
	char refusal_code; /* HELPER_CODE_...; 0 unless refused */

	/* Private to helper_client.c. */
	struct buf pending; /* noise before the greeting, then the frame that is not whole yet; or the text that is no frame: */
	bool is_text;
	uint64_t streaming; /* bytes of an output frame that are still to come */
	char streaming_kind;
	size_t files_capacity, files_bytes;
	struct assay_error fault;
};

/* limit_bytes: of each stream. helper_answer_release() it. */
void helper_answer_init(struct helper_answer *answer, uint64_t limit_bytes);
/* Takes bytes as they arrive, in pieces of any size. ASSAY_E_FORMAT for what no helper says, ASSAY_E_LIMIT for too much output; the
 * answer stays as it was before the fault, and every further call says the same. */
enum assay_status helper_answer_add(struct helper_answer *answer, const char *bytes, size_t n, struct assay_error *err);
/* The host has closed its end: ASSAY_E_FORMAT when the answer is not whole. */
enum assay_status helper_answer_finish(struct helper_answer *answer, struct assay_error *err);
void helper_answer_release(struct helper_answer *answer); /* after helper_answer_init only */

/* Is there a helper, by how helper_command_run() has ended (-1: by a signal, or nobody knows)? */
enum helper_there { HELPER_THERE, HELPER_MISSING, HELPER_DAMAGED /* it is there, and does not even greet */ };
enum helper_there helper_there(const struct helper_answer *answer, int exit_status);

#endif
