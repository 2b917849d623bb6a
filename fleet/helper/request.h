/* The controller's request, read frame by frame and checked: an invalid request is refused before anything runs. */
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

/* Bytes to be written to fd. */
struct frames_out {
	int fd;
	char *bytes;
	size_t start, end, capacity;
};

size_t frames_pending(const struct frames_out *out);
void frames_raw(struct frames_out *out, const char *bytes, size_t n);
/* Appends a frame of two parts; the second may be empty. */
void frames_put(struct frames_out *out, char kind, const char *first, size_t n_first, const char *second, size_t n_second);
void frames_text(struct frames_out *out, char kind, const char *text);
/* Returns room for n bytes of a frame, written by the caller; then frames_commit() with their actual number. */
char *frames_reserve(struct frames_out *out, size_t n);
void frames_commit(struct frames_out *out, char kind, size_t n);
/* Writes as much as possible without blocking. False: the other side is gone. */
bool frames_flush(struct frames_out *out);
/* Writes all of it, and watches `in` meanwhile. False: the other side is gone, or has closed `in`. */
bool frames_send(struct frames_out *out, int in);

/* Reads and drops bytes on `in` after the request. False: it was closed. */
bool frames_still_there(int in);

/* ---- the request ---- */

#define REQUEST_REFUSAL_BYTES 8192

enum request_operation { REQUEST_NONE, REQUEST_RUN, REQUEST_READ, REQUEST_PUT, REQUEST_GET, REQUEST_FACTS, REQUEST_WORK };

/* Texts of one setting. */
struct request_texts {
	char **texts; /* [n] and a NULL */
	size_t n, capacity;
};

#define REQUEST_LIMITS 6 /* kinds of resource limits */

struct request {
	enum request_operation operation;
	struct request_texts arguments, variables, joined, paths;
	char *directory, *lock, *holder; /* NULL: none */
	char *input_of;			 /* likewise: file opened as input, unless the request has input bytes */
	int64_t owner;			 /* see HELPER_OWNER */
	int64_t lock_wait_ms;		 /* 0: do not wait */
	int64_t interrupt_ms;		 /* -1: never */
	int64_t timeout_ms;		 /* -1: never */
	int64_t detach;			 /* a flag */
	int64_t mode;			 /* mode of the file of a put */
	int64_t limits[REQUEST_LIMITS];	 /* as, fsize, nofile, nproc, core, cpu; -1: none */
	int64_t output_max, kept_max;	 /* bytes per stream; more ends the command, or is dropped */
	int64_t cgroup;			 /* a flag */
	int64_t memory_bytes, processes; /* limits of its cgroup; 0: none */
	int64_t sample_ns;		 /* -1: no sampling; 0: the default period */
	int64_t sample_places;		 /* a flag */
	char *sample_below;		 /* NULL: not given */
	char *stops_below;		 /* directory of HELPER_STOPS; NULL: none */
	struct stops_words stops;
	char *planted; /* text of `plant`, parsed once the request is complete; NULL: none */
	struct plantation plant;

	/* Takes the input, piece by piece; false after request_refuse(). */
	bool (*input)(struct request *request, const char *bytes, size_t n);
	int input_fd;	  /* for the input function; -1: none */
	char *input_path; /* for the input function: temporary file to rename or remove */
	uint64_t input_bytes;

	bool greeted, has_input, go;
	size_t bytes;	   /* size of all frames except input */
	char refusal_code; /* HELPER_CODE_FAULT unless set before */
	char refusal[REQUEST_REFUSAL_BYTES];
};

/* Reads a request frame by frame from the non-blocking descriptor `in`; overwrites *request. False: `refusal` has the reason. */
bool request_receive(struct request *request, bool (*input)(struct request *, const char *, size_t), int in);
/* Keeps the reason; always returns false. */
bool request_refuse(struct request *request, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Removes the temporary file of the input, and sends HELPER_REFUSED. Always returns 1, an exit status. */
int request_answer_refusal(struct request *request, struct frames_out *out, int in);

/* ---- helper_run.c, survey.c: operations ---- */

/* Runs a command and answers the request: BEGUN, the output and RESULT, or REFUSED. When the controller closes `in`, everything ends.
 * Returns 0 if the command ran to its end. */
int helper_run(struct request *request, struct frames_out *out, int in);

/* Sends facts of this machine: conditions of a fingerprint, and possible obstacles. RESULT has a line "name value" per fact
 * (fleet/agent/facts.h); unreadable facts are excluded. Returns 0, or 1 if the controller on `in` is gone. */
int survey_facts(struct frames_out *out, int in);

#endif
