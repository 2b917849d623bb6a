#include "fleet/helper/request.h"

#include "fleet/helper/protocol.h"

#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FILL_BYTES    65536
#define SAMPLE_NS_MIN 100000
#define SAMPLE_NS_MAX 1000000000
#define MS_MAX	      (INT64_C(1000) * 3600 * 24 * 365)

/* ---- frames ---- */

/* What arrives, until it is taken frame by frame. */
struct frames_in {
	char *bytes;
	size_t start, end, capacity;
};

struct frame {
	char kind;
	const char *bytes; /* borrowed until the next call */
	size_t size;
};

enum frames_got { FRAMES_MORE, FRAMES_ONE, FRAMES_TOO_LONG };

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

/* read(2) into it. */
static ssize_t frames_fill(struct frames_in *in, int fd)
{
	ssize_t got;

	make_room(&in->bytes, &in->start, &in->end, &in->capacity, FILL_BYTES);
	got = read_again(fd, in->bytes + in->end, FILL_BYTES);
	if (got > 0)
		in->end += (size_t)got;
	return got;
}

static enum frames_got frames_next(struct frames_in *in, struct frame *out)
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

static void frames_release(struct frames_in *in)
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

/* ---- the request that they make ---- */

static void request_init(struct request *request, bool (*input)(struct request *, const char *, size_t))
{
	*request = (struct request){ .interrupt_ms = -1,
				     .timeout_ms = -1,
				     .output_max = UINT64_MAX,
				     .mode = 0644,
				     .input = input,
				     .input_fd = -1,
				     .refusal_code = HELPER_CODE_FAULT };
}

bool request_refuse(struct request *request, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vsnprintf(request->refusal, sizeof(request->refusal), fmt, args);
	va_end(args);
	return false;
}

int request_answer_refusal(struct request *request, struct frames_out *out, int in)
{
	if (request->input_path)
		unlink(request->input_path);
	free(request->input_path);
	request->input_path = NULL;
	frames_put(out, HELPER_REFUSED, &request->refusal_code, 1, request->refusal, strlen(request->refusal));
	frames_send(out, in);
	return 1;
}

/* The payload as a text of its own. */
static bool parse_text(struct request *request, const struct frame *frame, char **out)
{
	char *text;

	if (memchr(frame->bytes, 0, frame->size))
		return request_refuse(request, "frame '%c' of the request has a NUL byte in it", frame->kind);
	text = malloc(frame->size + 1);
	if (!text)
		return request_refuse(request, "out of memory");
	memcpy(text, frame->bytes, frame->size);
	text[frame->size] = 0;
	free(*out);
	*out = text;
	return true;
}

static bool add_text(struct request *request, const struct frame *frame, struct request_texts *list)
{
	char *text = NULL;

	if (list->n >= HELPER_TEXTS_MAX)
		return request_refuse(request, "more than %u frames '%c' in the request", HELPER_TEXTS_MAX, frame->kind);
	if (!parse_text(request, frame, &text))
		return false;
	if (list->n + 2 > list->capacity) {
		size_t capacity = list->capacity ? 2 * list->capacity : 16;
		char **more = realloc(list->texts, capacity * sizeof(*more));

		if (!more) {
			free(text);
			return request_refuse(request, "out of memory");
		}
		list->texts = more;
		list->capacity = capacity;
	}
	list->texts[list->n++] = text;
	list->texts[list->n] = NULL;
	return true;
}

/* Digits of `base` only, whole text, at most max. */
static bool whole_number(const char *text, size_t n, unsigned base, uint64_t max, uint64_t *out)
{
	uint64_t value = 0;

	if (n == 0)
		return false;
	for (size_t i = 0; i < n; i++) {
		unsigned digit = (unsigned)(text[i] - '0');

		if (text[i] < '0' || digit >= base || value > (max - digit) / base)
			return false;
		value = value * base + digit;
	}
	*out = value;
	return true;
}

static bool parse_ms(struct request *request, const struct frame *frame, int64_t *out)
{
	uint64_t value;

	if (!whole_number(frame->bytes, frame->size, 10, MS_MAX, &value))
		return request_refuse(request, "frame '%c' of the request has no number of milliseconds in it", frame->kind);
	*out = (int64_t)value;
	return true;
}

/* "", "places", or how far apart, and perhaps below which directory places are wanted. */
static bool parse_sample(struct request *request, const struct frame *frame)
{
	const char *blank = memchr(frame->bytes, ' ', frame->size);
	size_t number = blank ? (size_t)(blank - frame->bytes) : frame->size;

	request->sample = true;
	request->sample_places = frame->size == 6 && memcmp(frame->bytes, "places", 6) == 0;
	if (frame->size == 0 || request->sample_places)
		return true;
	if (!whole_number(frame->bytes, number, 10, SAMPLE_NS_MAX, &request->sample_ns) || request->sample_ns < SAMPLE_NS_MIN)
		return request_refuse(request, "samples are %d to %d ns apart", SAMPLE_NS_MIN, SAMPLE_NS_MAX);
	return !blank || parse_text(request, &(struct frame){ frame->kind, blank + 1, frame->size - number - 1 }, &request->sample_below);
}

/* Four places, and the directory. */
static bool parse_stops(struct request *request, const struct frame *frame)
{
	unsigned *const at[] = { &request->stops.pid, &request->stops.finished, &request->stops.stopped_ns, &request->stops.run_ns };
	const char *text = frame->bytes, *end = frame->bytes + frame->size;

	for (size_t i = 0; i < sizeof(at) / sizeof(at[0]); i++) {
		const char *blank = memchr(text, ' ', (size_t)(end - text));
		uint64_t value;

		if (!blank || !whole_number(text, (size_t)(blank - text), 10, STOPS_WORD_MAX, &value))
			return request_refuse(request, "four places and a directory say where processes are told");
		*at[i] = (unsigned)value;
		text = blank + 1;
	}
	return parse_text(request, &(struct frame){ frame->kind, text, (size_t)(end - text) }, &request->stops_below);
}

static bool parse_mode(struct request *request, const struct frame *frame)
{
	uint64_t value;

	if (!whole_number(frame->bytes, frame->size, 8, 07777, &value))
		return request_refuse(request, "the mode of a file is an octal number up to 7777");
	request->mode = (unsigned)value;
	return true;
}

static bool parse_limit(struct request *request, const struct frame *frame)
{
	static const struct {
		const char *name; /* with its "=" */
		int resource;
	} rows[REQUEST_LIMITS] = {
		{ "as=", RLIMIT_AS },	    { "fsize=", RLIMIT_FSIZE }, { "nofile=", RLIMIT_NOFILE },
		{ "nproc=", RLIMIT_NPROC }, { "core=", RLIMIT_CORE },	{ "cpu=", RLIMIT_CPU },
	};
	static const char *const output[] = { "output=", "kept=" };

	for (int kept = 0; kept < 2; kept++) {
		size_t n = strlen(output[kept]);

		if (frame->size > n && memcmp(frame->bytes, output[kept], n) == 0 &&
		    whole_number(frame->bytes + n, frame->size - n, 10, INT64_MAX, &request->output_max)) {
			request->output_dropped = kept;
			return true;
		}
	}
	for (size_t i = 0; i < REQUEST_LIMITS; i++) {
		size_t n = strlen(rows[i].name), j = 0;
		uint64_t value;

		if (frame->size <= n || memcmp(frame->bytes, rows[i].name, n) != 0)
			continue;
		if (!whole_number(frame->bytes + n, frame->size - n, 10, INT64_MAX, &value))
			break;
		while (j < request->n_limits && request->limits[j].resource != rows[i].resource)
			j++;
		request->limits[j] = (struct request_limit){ rows[i].resource, (rlim_t)value };
		request->n_limits += j == request->n_limits;
		return true;
	}
	return request_refuse(request, "a limit is as=, fsize=, nofile=, nproc=, core=, cpu= or output= and a number");
}

static bool parse_group(struct request *request, const struct frame *frame)
{
	const struct {
		const char *name; /* with its "=" */
		uint64_t *value;
	} rows[] = { { "memory=", &request->group.memory_bytes }, { "pids=", &request->group.processes } };

	request->group.wanted = true;
	if (frame->size == 0)
		return true;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		size_t n = strlen(rows[i].name);

		if (frame->size > n && memcmp(frame->bytes, rows[i].name, n) == 0 &&
		    whole_number(frame->bytes + n, frame->size - n, 10, INT64_MAX, rows[i].value) && *rows[i].value > 0)
			return true;
	}
	return request_refuse(request, "a limit of a control group is memory= or pids= and a number above 0");
}

static bool parse_plant(struct request *request, const struct frame *frame)
{
	char *text = NULL;
	bool ok = parse_text(request, frame, &text) && plant_read(text, &request->plant);

	free(text);
	return ok || request_refuse(request, "what is planted is cpu, memory or calls and a percentage up to %d", PLANT_PERCENT_MAX);
}

static bool parse_operation(struct request *request, const struct frame *frame)
{
	static const char *const names[] = { "", "run", "read", "put", "get", "facts", "work" };

	if (request->operation != REQUEST_NONE)
		return request_refuse(request, "two operations in one request");
	for (size_t i = 1; i < sizeof(names) / sizeof(names[0]); i++) {
		if (frame->size == strlen(names[i]) && memcmp(frame->bytes, names[i], frame->size) == 0)
			request->operation = (enum request_operation)i;
	}
	if (request->operation == REQUEST_NONE)
		return request_refuse(request, "unknown operation");
	return true;
}

static bool parse_hello(struct request *request, const struct frame *frame)
{
	uint64_t version;

	if (!whole_number(frame->bytes, frame->size, 10, 1000000, &version) || version != HELPER_VERSION)
		return request_refuse(request, "this helper speaks version %d of the protocol, not the one asked for", HELPER_VERSION);
	return request->greeted = true;
}

static bool parse_variable(struct request *request, const struct frame *frame, struct request_texts *list)
{
	if (frame->size == 0 || frame->bytes[0] == '=' || !memchr(frame->bytes, '=', frame->size))
		return request_refuse(request, "a variable of the environment is NAME=value");
	return add_text(request, frame, list);
}

static bool parse_input(struct request *request, const struct frame *frame)
{
	if (request->operation == REQUEST_PUT ? request->paths.n != 1 : request->operation != REQUEST_RUN)
		return request_refuse(request, "input comes after the operation (run, or put and its path)");
	request->has_input = true;
	request->input_bytes += frame->size;
	return request->input(request, frame->bytes, frame->size);
}

/* Is it whole? */
static bool parse_go(struct request *request)
{
	switch (request->operation) {
	case REQUEST_NONE:
		return request_refuse(request, "the request has no operation");
	case REQUEST_RUN:
		if (request->arguments.n == 0 || !*request->arguments.texts[0])
			return request_refuse(request, "no command to run");
		break;
	case REQUEST_READ:
		break;
	case REQUEST_PUT:
	case REQUEST_GET:
		if (request->paths.n != 1 || !*request->paths.texts[0])
			return request_refuse(request, "put and get take one path");
		break;
	case REQUEST_FACTS:
		break;
	case REQUEST_WORK:
		if (request->paths.n != 2 || request->paths.texts[0][0] != '/' || strchr(request->paths.texts[1], '/'))
			return request_refuse(request, "work takes an absolute path and a label");
		break;
	}
	if (request->lock && request->lock[0] != '/')
		return request_refuse(request, "the path of the lock file is not absolute");
	return request->go = true;
}

/* False when the frame cannot be part of a request: then `refusal` says why. */
static bool request_take(struct request *request, const struct frame *frame)
{
	if (frame->kind != HELPER_INPUT) {
		request->bytes += HELPER_FRAME_HEAD + frame->size;
		if (request->has_input && frame->kind != HELPER_GO)
			return request_refuse(request, "only the end of the request may follow its input");
	}
	if (request->bytes > HELPER_REQUEST_BYTES_MAX)
		return request_refuse(request, "the request has more than %u bytes", HELPER_REQUEST_BYTES_MAX);
	if (!request->greeted && frame->kind != HELPER_HELLO)
		return request_refuse(request, "the request does not start with the protocol's version");
	switch (frame->kind) {
	case HELPER_HELLO:
		return parse_hello(request, frame);
	case HELPER_OPERATION:
		return parse_operation(request, frame);
	case HELPER_ARGUMENT:
		return add_text(request, frame, &request->arguments);
	case HELPER_ENVIRON:
		return parse_variable(request, frame, &request->variables);
	case HELPER_JOIN:
		return parse_variable(request, frame, &request->joined);
	case HELPER_DIRECTORY:
		return parse_text(request, frame, &request->directory);
	case HELPER_INPUT:
		return parse_input(request, frame);
	case HELPER_INPUT_OF:
		return parse_text(request, frame, &request->input_of);
	case HELPER_PATH:
		return add_text(request, frame, &request->paths);
	case HELPER_MODE:
		return parse_mode(request, frame);
	case HELPER_LOCK:
		return parse_text(request, frame, &request->lock);
	case HELPER_DETACH:
		return request->detach = true;
	case HELPER_HOLDER:
		return parse_text(request, frame, &request->holder);
	case HELPER_LOCK_WAIT:
		return parse_ms(request, frame, &request->lock_wait_ms);
	case HELPER_LIMIT:
		return parse_limit(request, frame);
	case HELPER_CGROUP:
		return parse_group(request, frame);
	case HELPER_SAMPLE:
		return parse_sample(request, frame);
	case HELPER_STOPS:
		return parse_stops(request, frame);
	case HELPER_PLANT:
		return parse_plant(request, frame);
	case HELPER_INTERRUPT:
		return parse_ms(request, frame, &request->interrupt_ms);
	case HELPER_TIMEOUT:
		return parse_ms(request, frame, &request->timeout_ms);
	case HELPER_GO:
		return parse_go(request);
	default:
		return request_refuse(request, "unknown frame (kind %u) in the request", (unsigned)(unsigned char)frame->kind);
	}
}

/* The next frame that comes on `in`. False: there is none, and the refusal says why. */
static bool next_frame(struct request *request, struct frames_in *frames, int in, struct frame *frame)
{
	struct pollfd wait = { in, POLLIN, 0 };
	enum frames_got got;

	while ((got = frames_next(frames, frame)) == FRAMES_MORE) {
		ssize_t n = frames_fill(frames, in);

		if (n == 0)
			return request_refuse(request, "the request ends in the middle");
		if (n < 0 && errno != EAGAIN)
			return request_refuse(request, "cannot read the request: %s", strerror(errno));
		if (n < 0)
			poll(&wait, 1, -1);
	}
	return got == FRAMES_ONE || request_refuse(request, "a frame of the request has more than %u bytes", HELPER_FRAME_BYTES_MAX);
}

bool request_receive(struct request *request, bool (*input)(struct request *, const char *, size_t), int in)
{
	struct frames_in frames = { .bytes = NULL };
	struct frame frame;
	bool good = true;

	request_init(request, input);
	while (good && !request->go)
		good = next_frame(request, &frames, in, &frame) && request_take(request, &frame);
	frames_release(&frames);
	return good;
}
