#include "fleet/helper/frames.h"
#include "fleet/helper/protocol.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FILL_BYTES 65536

/* Room for n more bytes after *end; what was taken already is dropped first. */
static void make_room(char **bytes, size_t *start, size_t *end, size_t *capacity, size_t n)
{
	if (*start == *end)
		*start = *end = 0;
	if (*capacity - *end >= n)
		return;
	if (*start > 0) {
		memmove(*bytes, *bytes + *start, *end - *start);
		*end -= *start;
		*start = 0;
	}
	if (*capacity - *end >= n)
		return;
	*capacity = 2 * *capacity > *end + n ? 2 * *capacity : *end + n;
	*bytes = realloc(*bytes, *capacity);
	if (!*bytes)
		abort(); /* the guard ends whatever runs */
}

static ssize_t read_again(int fd, char *bytes, size_t n)
{
	ssize_t got;

	do
		got = read(fd, bytes, n);
	while (got < 0 && errno == EINTR);
	return got;
}

void frames_add(struct frames_in *in, const char *bytes, size_t n)
{
	if (n == 0)
		return;
	make_room(&in->bytes, &in->start, &in->end, &in->capacity, n);
	memcpy(in->bytes + in->end, bytes, n);
	in->end += n;
}

ssize_t frames_fill(struct frames_in *in, int fd)
{
	ssize_t got;

	make_room(&in->bytes, &in->start, &in->end, &in->capacity, FILL_BYTES);
	got = read_again(fd, in->bytes + in->end, FILL_BYTES);
	if (got > 0)
		in->end += (size_t)got;
	return got;
}

enum frames_got frames_next(struct frames_in *in, struct frame *out)
{
	size_t here = in->end - in->start, size;
	const unsigned char *head;

	if (here < HELPER_FRAME_HEAD)
		return FRAMES_MORE;
	head = (const unsigned char *)in->bytes + in->start;
	size = (size_t)head[1] << 24 | (size_t)head[2] << 16 | (size_t)head[3] << 8 | head[4];
	if (size > HELPER_FRAME_BYTES_MAX)
		return FRAMES_TOO_LONG;
	if (here - HELPER_FRAME_HEAD < size)
		return FRAMES_MORE;
	*out = (struct frame){ (char)head[0], in->bytes + in->start + HELPER_FRAME_HEAD, size };
	in->start += HELPER_FRAME_HEAD + size;
	return FRAMES_ONE;
}

void frames_release(struct frames_in *in)
{
	free(in->bytes);
	*in = (struct frames_in){ NULL, 0, 0, 0 };
}

size_t frames_pending(const struct frames_out *out)
{
	return out->end - out->start;
}

void frames_raw(struct frames_out *out, const char *bytes, size_t n)
{
	if (n == 0)
		return;
	make_room(&out->bytes, &out->start, &out->end, &out->capacity, n);
	memcpy(out->bytes + out->end, bytes, n);
	out->end += n;
}

char *frames_reserve(struct frames_out *out, size_t n)
{
	make_room(&out->bytes, &out->start, &out->end, &out->capacity, HELPER_FRAME_HEAD + n);
	return out->bytes + out->end + HELPER_FRAME_HEAD;
}

void frames_commit(struct frames_out *out, char kind, size_t n)
{
	char *head = out->bytes + out->end;

	head[0] = kind;
	for (int i = 0; i < 4; i++)
		head[1 + i] = (char)(n >> (24 - 8 * i) & 255);
	out->end += HELPER_FRAME_HEAD + n;
}

void frames_put(struct frames_out *out, char kind, const char *first, size_t n_first, const char *second, size_t n_second)
{
	char *place = frames_reserve(out, n_first + n_second);

	memcpy(place, first, n_first);
	if (n_second > 0)
		memcpy(place + n_first, second, n_second);
	frames_commit(out, kind, n_first + n_second);
}

void frames_text(struct frames_out *out, char kind, const char *text)
{
	frames_put(out, kind, text, strlen(text), NULL, 0);
}

bool frames_flush(struct frames_out *out)
{
	while (out->start < out->end) {
		ssize_t n = write(out->fd, out->bytes + out->start, out->end - out->start);

		if (n > 0)
			out->start += (size_t)n;
		else if (n < 0 && errno == EAGAIN)
			return true;
		else if (n == 0 || errno != EINTR)
			return false;
	}
	return true;
}

bool frames_still_there(int in)
{
	char ignored[4096];
	ssize_t n;

	do
		n = read_again(in, ignored, sizeof(ignored));
	while (n > 0);
	return n < 0 && errno == EAGAIN;
}

bool frames_send(struct frames_out *out, int in)
{
	while (frames_flush(out)) {
		struct pollfd wait[2] = { { out->fd, POLLOUT, 0 }, { in, POLLIN, 0 } };

		if (frames_pending(out) == 0)
			return true;
		poll(wait, 2, -1);
		if (wait[1].revents && !frames_still_there(in))
			return false;
	}
	return false;
}
