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

/* ---- frames to the controller (protocol.h); of these functions, only frames_send() blocks ---- */

/* Bytes that are to be written to `fd`. */
struct frames_out {
	int fd;
	char *bytes;
	size_t start, end, capacity;
};

size_t frames_pending(const struct frames_out *out);
void frames_put_raw(struct frames_out *out, const char *bytes, size_t n);
/* Appends a frame whose content is `first` followed by `second`, which may be empty. */
void frames_put(struct frames_out *out, char kind, const char *first, size_t n_first, const char *second, size_t n_second);
void frames_put_text(struct frames_out *out, char kind, const char *text);
/* Returns a buffer for up to `n` bytes of a frame. After filling it, call frames_commit() with the actual number of bytes. */
char *frames_reserve(struct frames_out *out, size_t n);
void frames_commit(struct frames_out *out, char kind, size_t n);
/* Writes as many bytes as possible without blocking. Returns false if the controller is gone. */
bool frames_flush(struct frames_out *out);
/* Writes all bytes and watches `in` meanwhile. Returns false if the controller is gone or has closed `in`. */
bool frames_send(struct frames_out *out, int in);

/* Reads and drops bytes that arrive on `in` after the request. Returns false if `in` is closed. */
bool frames_discard_input(int in);

/* ---- the request ---- */

#define REQUEST_REFUSAL_BYTES 8192

enum request_operation { REQUEST_NONE, REQUEST_RUN, REQUEST_READ, REQUEST_PUT, REQUEST_GET, REQUEST_FACTS, REQUEST_WORK_DIRECTORY };

/* Values of a setting that may be repeated. */
struct request_texts {
	char **texts; /* [n], then NULL */
	size_t n, capacity;
};

#define REQUEST_LIMITS 6 /* number of kinds of resource limits */

struct request {
	enum request_operation operation;
	struct request_texts arguments, variables, prepended, paths;
	char *directory, *lock, *holder; /* NULL if not set */
	char *input_file_path;		 /* path of the file to open as standard input, unless the request has input; NULL for none */
	int64_t owner;			 /* number of the owner, see HELPER_OWNER */
	int64_t lock_wait_ms;		 /* maximum wait for the lock, ms; 0 for no wait */
	int64_t interrupt_ms;		 /* time until SIGINT; -1 for never */
	int64_t timeout_ms;		 /* time until the command is ended; -1 for never */
	int64_t detach;			 /* flag */
	int64_t mode;			 /* mode of the file to put */
	int64_t limits[REQUEST_LIMITS];	 /* as, fsize, nofile, nproc, core, cpu; -1 for no limit */
	int64_t output_max, kept_max;	 /* bytes per stream: above output_max the command is ended; above kept_max output is dropped */
	int64_t cgroup;			 /* flag */
	int64_t memory_bytes, processes; /* limits of the cgroup; 0 for no limit */
	int64_t sample_ns;		 /* sampling period; -1 for no sampling; 0 for the default period */
	int64_t sample_addresses;	 /* flag */
	char *sample_directory;		 /* directory of HELPER_SAMPLE_DIRECTORY; NULL if not set */
	char *attach;			 /* process ids of HELPER_ATTACH; NULL: not given */
	char *monitor_directory;	 /* directory of HELPER_MONITOR; NULL if not set */
	struct process_monitor_offsets process_monitor;
	char *injection_text; /* value of HELPER_INJECTION, parsed when the request is complete; NULL if not set */
	struct injection injection;

	/* Receives the next piece of the input. Returns false after calling request_refuse(). */
	bool (*input)(struct request *request, const char *bytes, size_t n);
	int input_fd;	  /* for the input function; -1 for none */
	char *input_path; /* for the input function: path of a temporary file, to be renamed or removed */
	uint64_t input_bytes;

	bool greeting_received, has_input, go;
	size_t bytes;	   /* size of all frames except HELPER_INPUT */
	char refusal_code; /* code of the refusal; HELPER_CODE_FAULT unless another was set */
	char refusal[REQUEST_REFUSAL_BYTES];
};

/* Reads a request from the non-blocking descriptor `in`. Overwrites *request. Returns false if it is invalid; see `refusal`. */
bool request_receive(struct request *request, bool (*input)(struct request *, const char *, size_t), int in);
/* Sets the reason of a refusal. Always returns false. */
bool request_refuse(struct request *request, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Removes the temporary file of the input and sends HELPER_REFUSED. Always returns 1, which is an exit status. */
int request_send_refusal(struct request *request, struct frames_out *out, int in);

/* ---- operations of helper_run.c and survey.c ---- */

/* Runs a command and answers the request with BEGUN, the output and RESULT, or with REFUSED. If the controller closes `in`, ends all
 * processes of the command. Returns 0 if the command ran to its end. */
int helper_run(struct request *request, struct frames_out *out, int in);

/* Sends the facts of this machine: conditions of a fingerprint, and obstacles to measuring. RESULT has a line "name value" per fact
 * (fleet/agent/facts.h). Facts that cannot be read are omitted. Returns 0, or 1 if the controller closed `in`. */
int survey_facts(struct frames_out *out, int in);

#endif
