/* Reads the controller's request frame by frame and checks it. An invalid request is refused before any command runs. */
#ifndef FLEET_HELPER_REQUEST_H
#define FLEET_HELPER_REQUEST_H

#include "fleet/cgroup/stops.h"
#include "fleet/emulate/plant.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>

/* ---- frames to the controller (protocol.h); only frames_send() blocks ---- */

/* Buffer of bytes to be written to `fd`. */
struct frames_out {
	int fd;
	char *bytes;
	size_t start, end, capacity;
};

size_t frames_pending(const struct frames_out *out);
void frames_raw(struct frames_out *out, const char *bytes, size_t n);
/* Appends a frame with two pieces of content, one after the other; the second may be empty. */
void frames_put(struct frames_out *out, char kind, const char *first, size_t n_first, const char *second, size_t n_second);
void frames_text(struct frames_out *out, char kind, const char *text);
/* Returns a buffer for `n` bytes of a frame. After filling it, call frames_commit() with the actual number of bytes. */
char *frames_reserve(struct frames_out *out, size_t n);
void frames_commit(struct frames_out *out, char kind, size_t n);
/* Writes as many bytes as possible without blocking. Returns false if the controller is gone. */
bool frames_flush(struct frames_out *out);
/* Writes all bytes while it watches `in`. Returns false if the controller is gone or has closed `in`. */
bool frames_send(struct frames_out *out, int in);

/* Reads and drops bytes that arrive on `in` after the request. Returns false if `in` was closed. */
bool frames_still_there(int in);

/* ---- the request ---- */

#define REQUEST_REFUSAL_BYTES 8192

enum request_operation { REQUEST_NONE, REQUEST_RUN, REQUEST_READ, REQUEST_PUT, REQUEST_GET, REQUEST_FACTS, REQUEST_WORK };

/* Texts of one setting that a request may repeat. */
struct request_texts {
	char **texts; /* [n], followed by NULL */
	size_t n, capacity;
};

#define REQUEST_LIMITS 6 /* number of kinds of resource limits */

struct request {
	enum request_operation operation;
	struct request_texts arguments, variables, joined, paths;
	char *directory, *lock, *holder; /* NULL: not given */
	char *input_of;			 /* path of the file to open as standard input; NULL: none; unused if the request has input bytes */
	int64_t owner;			 /* number of the owner, see HELPER_OWNER */
	int64_t lock_wait_ms;		 /* maximum time to wait for the lock, ms; 0: do not wait */
	int64_t interrupt_ms;		 /* time until SIGINT; -1: never */
	int64_t timeout_ms;		 /* time until the command is ended; -1: never */
	int64_t detach;			 /* flag */
	int64_t mode;			 /* mode of the file to put */
	int64_t limits[REQUEST_LIMITS];	 /* as, fsize, nofile, nproc, core, cpu; -1: no limit */
	int64_t output_max, kept_max;	 /* limits per stream, bytes; above output_max the command ends, above kept_max output is dropped */
	int64_t cgroup;			 /* flag */
	int64_t memory_bytes, processes; /* limits of the cgroup; 0: no limit */
	int64_t sample_ns;		 /* sampling period; -1: no sampling; 0: the default period */
	int64_t sample_places;		 /* flag */
	char *sample_below;		 /* directory of HELPER_SAMPLE_BELOW; NULL: not given */
	char *attach;			 /* process ids of HELPER_ATTACH; NULL: not given */
	char *stops_below;		 /* directory of HELPER_STOPS; NULL: not given */
	struct stops_words stops;
	char *planted; /* text of HELPER_PLANT, parsed when the request is complete; NULL: none */
	struct plantation plant;

	/* Receives the input piece by piece. Returns false after request_refuse(). */
	bool (*input)(struct request *request, const char *bytes, size_t n);
	int input_fd;	  /* used by the input function; -1: none */
	char *input_path; /* used by the input function: temporary file, to be renamed or removed */
	uint64_t input_bytes;

	bool greeted, has_input, go;
	size_t bytes;	   /* size of all frames except input */
	char refusal_code; /* code of a refusal; HELPER_CODE_FAULT unless another was set */
	char refusal[REQUEST_REFUSAL_BYTES];
};

/* Reads a request from the non-blocking descriptor `in`. Overwrites *request. Returns false if it is invalid; `refusal` has the reason. */
bool request_receive(struct request *request, bool (*input)(struct request *, const char *, size_t), int in);
/* Sets the reason of a refusal. Always returns false. */
bool request_refuse(struct request *request, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Removes the temporary file of the input and sends HELPER_REFUSED. Always returns 1, an exit status. */
int request_answer_refusal(struct request *request, struct frames_out *out, int in);

/* ---- helper_run.c, survey.c: operations ---- */

/* Runs a command and answers the request: BEGUN, the output and RESULT, or REFUSED. Ends all processes of the command when the
 * controller closes `in`. Returns 0 if the command ran to its end. */
int helper_run(struct request *request, struct frames_out *out, int in);

/* Sends the facts of this machine: conditions of a fingerprint, and obstacles to measuring. RESULT has a line "name value" per fact
 * (fleet/agent/facts.h). Omits facts that it cannot read. Returns 0, or 1 if the controller closed `in`. */
int survey_facts(struct frames_out *out, int in);

#endif
