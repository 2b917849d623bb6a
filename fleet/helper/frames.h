/* Frames in, frames out (protocol.h), for the helper. Nothing blocks here but frames_send. */
#ifndef FLEET_HELPER_FRAMES_H
#define FLEET_HELPER_FRAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct frame {
	char kind;
	const char *bytes; /* borrowed until the next call */
	size_t size;
};

struct frames_in {
	char *bytes;
	size_t start, end, capacity;
};

enum frames_got { FRAMES_MORE, FRAMES_ONE, FRAMES_TOO_LONG };

void frames_add(struct frames_in *in, const char *bytes, size_t n);
/* read(2) into it. */
ssize_t frames_fill(struct frames_in *in, int fd);
enum frames_got frames_next(struct frames_in *in, struct frame *out);
void frames_release(struct frames_in *in);

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

#endif
