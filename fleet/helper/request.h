/* What the controller asks for, taken frame by frame and checked: a request that has a fault is refused before anything runs. */
#ifndef FLEET_HELPER_REQUEST_H
#define FLEET_HELPER_REQUEST_H

#include "fleet/cgroup/stops.h"
#include "fleet/emulate/plant.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>

/* ---- frames to the controller (protocol.h); nothing blocks but frames_send() ---- */

/* What waits to be written to fd. */
struct frames_out {
	int fd;
	char *bytes;
	size_t start, end, capacity;
};

size_t frames_pending(const struct frames_out *out);
void frames_raw(struct frames_out *out, const char *bytes, size_t n);
/* A frame of two parts; the second may be empty. */
void frames_put(struct frames_out *out, char kind, const char *first, size_t n_first, const char *second, size_t n_second);
void frames_text(struct frames_out *out, char kind, const char *text);
/* Room for n bytes of a frame, written by the caller; then frames_commit() with as many as there are. */
char *frames_reserve(struct frames_out *out, size_t n);
void frames_commit(struct frames_out *out, char kind, size_t n);
/* Writes what goes without blocking. False: the other side is gone. */
bool frames_flush(struct frames_out *out);
/* Writes all of it, and watches `in` while it does. False: the other side is gone, or has closed `in`. */
bool frames_send(struct frames_out *out, int in);

/* Reads and drops what comes on `in` after the request. False: it was closed. */
bool frames_still_there(int in);

/* ---- the request ---- */

#define REQUEST_REFUSAL_BYTES 8192

enum request_operation { REQUEST_NONE, REQUEST_RUN, REQUEST_READ, REQUEST_PUT, REQUEST_GET, REQUEST_FACTS, REQUEST_WORK };

/* Texts of one kind. */
struct request_texts {
	char **texts; /* [n] and a NULL */
	size_t n, capacity;
};

#define REQUEST_LIMITS 6 /* of resources */

struct request {
	enum request_operation operation;
	struct request_texts arguments, variables, joined, paths;
	char *directory, *lock, *holder; /* NULL: none */
	char *input_of;			 /* likewise: the file that is the input, unless there are bytes */
	int64_t lock_wait_ms;		 /* 0: not at all */
	int64_t interrupt_ms;		 /* -1: never */
	int64_t timeout_ms;		 /* -1: never */
	int64_t detach;			 /* a flag */
	int64_t mode;			 /* of a file that is put */
	int64_t limits[REQUEST_LIMITS];	 /* as, fsize, nofile, nproc, core, cpu; -1: none */
	int64_t output_max, kept_max;	 /* bytes of each stream; what is more ends the command, or is dropped */
	int64_t cgroup;			 /* a flag */
	int64_t memory_bytes, processes; /* of its cgroup; 0: no limit */
	int64_t sample_ns;		 /* -1: it is not sampled; 0: as usual */
	int64_t sample_places;		 /* a flag */
	char *sample_below;		 /* NULL: not said */
	char *stops_below;		 /* NULL: nobody is told anything */
	struct stops_words stops;
	char *planted; /* NULL: nothing; as `plant` once the request is whole */
	struct plantation plant;

	/* Where the input goes, piece by piece; false with request_refuse() done. */
	bool (*input)(struct request *request, const char *bytes, size_t n);
	int input_fd;	  /* the input function's; -1 while there is none */
	char *input_path; /* the input function's: temporary file to rename or remove */
	uint64_t input_bytes;

	bool greeted, has_input, go;
	size_t bytes;	   /* of all frames but the input's */
	char refusal_code; /* HELPER_CODE_FAULT, unless it was set */
	char refusal[REQUEST_REFUSAL_BYTES];
};

/* Takes it frame by frame from the descriptor `in`, which does not block; *request is overwritten. True when it is whole; else `refusal`
 * says why. */
bool request_receive(struct request *request, bool (*input)(struct request *, const char *, size_t), int in);
/* Keeps the reason; always false. */
bool request_refuse(struct request *request, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Removes the temporary file of the input, and sends HELPER_REFUSED. Always 1, an exit status. */
int request_answer_refusal(struct request *request, struct frames_out *out, int in);

/* ---- helper_run.c, survey.c: operations ---- */

/* Runs a command, and answers the request: BEGUN, the output and RESULT, or REFUSED. When the controller closes `in`, everything ends. 0
 * when the command was run to its end. */
int helper_run(struct request *request, struct frames_out *out, int in);

/* Sends facts of this machine: what a fingerprint was taken under, and what could stand in its way. RESULT has a line "name value" a fact
 * (fleet/agent/facts.h); what cannot be read is excluded. 0, or 1 when the controller on `in` is gone. */
int survey_facts(struct frames_out *out, int in);

#endif
