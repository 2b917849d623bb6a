/* What the controller asks for, taken frame by frame and checked: a request that has a fault is refused before anything runs. */
#ifndef FLEET_HELPER_REQUEST_H
#define FLEET_HELPER_REQUEST_H

#include "fleet/helper/frames.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>

#define REQUEST_REFUSAL_BYTES 512

enum request_operation { REQUEST_NONE, REQUEST_RUN, REQUEST_READ, REQUEST_PUT, REQUEST_GET, REQUEST_FACTS };

/* Texts of one kind. */
struct request_texts {
	char **texts; /* [n] and a NULL */
	size_t n, capacity;
};

/* A resource limit: enum __rlimit_resource, and its value. */
struct request_limit {
	int resource;
	rlim_t value;
};
#define REQUEST_LIMITS 6

/* A control group. */
struct request_group {
	bool wanted;
	uint64_t memory_bytes, processes; /* 0: no limit */
};

struct request {
	enum request_operation operation;
	struct request_texts arguments, variables, joined, paths;
	char *directory, *lock; /* NULL: none */
	int64_t lock_wait_ms;	/* 0: not at all */
	int64_t interrupt_ms;	/* -1: never */
	int64_t timeout_ms;	/* -1: never */
	int nice;
	bool has_nice;
	unsigned mode; /* of a file that is put */
	struct request_limit limits[REQUEST_LIMITS];
	size_t n_limits;
	struct request_group group;

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

void request_init(struct request *request, bool (*input)(struct request *, const char *, size_t));
/* False when the frame cannot be part of a request: then `refusal` says why. */
bool request_take(struct request *request, const struct frame *frame);
/* Keeps the reason; always false. */
bool request_refuse(struct request *request, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Removes the temporary file of the input, and sends HELPER_REFUSED. Always 1, an exit status. */
int request_answer_refusal(struct request *request, struct frames_out *out, int in);
void request_release(struct request *request);

#endif
