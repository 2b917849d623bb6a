#include "fleet/helper/request.h"

#include "fleet/helper/protocol.h"

#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FILL_BYTES    65536
#define SAMPLE_NS_MIN 100000
#define SAMPLE_NS_MAX 1000000000
#define MS_MAX	      (INT64_C(1000) * 3600 * 24 * 365)

/* ---- frames ---- */

/* Received bytes that do not form a complete frame yet. */
struct frames_in {
	char *bytes;
	size_t start, end, capacity;
};

struct frame {
	char kind;
	const char *bytes; /* borrowed until the next call of frames_next() */
	size_t size;
};

enum frames_got { FRAMES_MORE, FRAMES_ONE, FRAMES_TOO_LONG };

/* Makes room for `n` more bytes after *end. Drops the bytes before *start. */
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
		abort(); /* the guard process then ends the command */
}

static ssize_t read_retrying(int fd, char *bytes, size_t n)
{
	ssize_t got;

	do
		got = read(fd, bytes, n);
	while (got < 0 && errno == EINTR);
	return got;
}

/* Reads more bytes. Returns the result of read(2). */
static ssize_t frames_fill(struct frames_in *in, int fd)
{
	ssize_t got;

	make_room(&in->bytes, &in->start, &in->end, &in->capacity, FILL_BYTES);
	got = read_retrying(fd, in->bytes + in->end, FILL_BYTES);
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

void frames_put_raw(struct frames_out *out, const char *bytes, size_t n)
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

void frames_put_text(struct frames_out *out, char kind, const char *text)
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

bool frames_discard_input(int in)
{
	char ignored[4096];
	ssize_t n;

	do
		n = read_retrying(in, ignored, sizeof(ignored));
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
		if (wait[1].revents && !frames_discard_input(in))
			return false;
	}
	return false;
}

/* ---- the request ---- */

static void request_init(struct request *request, bool (*input)(struct request *, const char *, size_t))
{
	*request = (struct request){ .interrupt_ms = -1,
				     .timeout_ms = -1,
				     .limits = { -1, -1, -1, -1, -1, -1 },
				     .output_max = INT64_MAX,
				     .kept_max = INT64_MAX,
				     .sample_ns = -1,
				     .process_monitor = { -1, -1, -1, -1, -1 },
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

int request_send_refusal(struct request *request, struct frames_out *out, int in)
{
	if (request->input_path)
		unlink(request->input_path);
	free(request->input_path);
	request->input_path = NULL;
	frames_put(out, HELPER_REFUSED, &request->refusal_code, 1, request->refusal, strlen(request->refusal));
	frames_send(out, in);
	return 1;
}

/* Kinds of settings: the operation; a text, the last of which is used; repeated texts; repeated texts "NAME=value"; a number. */
enum setting_kind { SETTING_OPERATION, SETTING_TEXT, SETTING_TEXTS, SETTING_VARIABLES, SETTING_NUMBER };

struct setting {
	const char *name;
	enum setting_kind kind;
	size_t at; /* offset in struct request */
	int64_t least, most;
};

#define SETTING_MEMBER(kind, member) SETTING_##kind, offsetof(struct request, member)
#define MS(member)		     SETTING_MEMBER(NUMBER, member), 0, MS_MAX
#define BYTES(member)		     SETTING_MEMBER(NUMBER, member), 0, INT64_MAX

static const struct setting settings[] = {
	{ HELPER_ARGUMENT, SETTING_MEMBER(TEXTS, arguments), 0, 0 },
	{ HELPER_ENVIRON, SETTING_MEMBER(VARIABLES, variables), 0, 0 },
	{ HELPER_ENVIRON_PREPEND, SETTING_MEMBER(VARIABLES, prepended), 0, 0 },
	{ HELPER_PATH, SETTING_MEMBER(TEXTS, paths), 0, 0 },
	{ HELPER_OPERATION, SETTING_MEMBER(OPERATION, operation), 0, 0 },
	{ HELPER_DIRECTORY, SETTING_MEMBER(TEXT, directory), 0, 0 },
	{ HELPER_INPUT_PATH, SETTING_MEMBER(TEXT, input_file_path), 0, 0 },
	{ HELPER_LOCK, SETTING_MEMBER(TEXT, lock), 0, 0 },
	{ HELPER_HOLDER, SETTING_MEMBER(TEXT, holder), 0, 0 },
	{ HELPER_OWNER, BYTES(owner) },
	{ HELPER_SAMPLE_DIRECTORY, SETTING_MEMBER(TEXT, sample_directory), 0, 0 },
	{ HELPER_ATTACH, SETTING_MEMBER(TEXT, attach), 0, 0 },
	{ HELPER_MONITOR, SETTING_MEMBER(TEXT, monitor_directory), 0, 0 },
	{ HELPER_INJECTION, SETTING_MEMBER(TEXT, injection_text), 0, 0 },
	{ HELPER_MODE, SETTING_MEMBER(NUMBER, mode), 0, 07777 },
	{ HELPER_DETACH, SETTING_MEMBER(NUMBER, detach), 1, 1 },
	{ HELPER_LOCK_WAIT, MS(lock_wait_ms) },
	{ HELPER_INTERRUPT, MS(interrupt_ms) },
	{ HELPER_TIMEOUT, MS(timeout_ms) },
	{ "as", BYTES(limits[0]) },
	{ "fsize", BYTES(limits[1]) },
	{ "nofile", BYTES(limits[2]) },
	{ "nproc", BYTES(limits[3]) },
	{ "core", BYTES(limits[4]) },
	{ "cpu", BYTES(limits[5]) },
	{ HELPER_OUTPUT, BYTES(output_max) },
	{ HELPER_OUTPUT_KEPT, BYTES(kept_max) },
	{ HELPER_CGROUP, SETTING_MEMBER(NUMBER, cgroup), 1, 1 },
	{ HELPER_MEMORY, SETTING_MEMBER(NUMBER, memory_bytes), 1, INT64_MAX },
	{ HELPER_PIDS, SETTING_MEMBER(NUMBER, processes), 1, INT64_MAX },
	{ HELPER_SAMPLE, SETTING_MEMBER(NUMBER, sample_ns), 0, SAMPLE_NS_MAX },
	{ HELPER_SAMPLE_ADDRESSES, SETTING_MEMBER(NUMBER, sample_addresses), 1, 1 },
	{ HELPER_MONITOR_PID, SETTING_MEMBER(NUMBER, process_monitor.pid), 0, MONITOR_OFFSET_MAX },
	{ HELPER_MONITOR_FINISHED, SETTING_MEMBER(NUMBER, process_monitor.finished), 0, MONITOR_OFFSET_MAX },
	{ HELPER_MONITOR_STOPPED, SETTING_MEMBER(NUMBER, process_monitor.stopped_ns), 0, MONITOR_OFFSET_MAX },
	{ HELPER_MONITOR_RUN, SETTING_MEMBER(NUMBER, process_monitor.run_ns), 0, MONITOR_OFFSET_MAX },
	{ HELPER_MONITOR_READINGS, SETTING_MEMBER(NUMBER, process_monitor.readings), 0, MONITOR_READINGS_OFFSET_MAX },
};

/* Copies a value to *out. */
static bool take_text(struct request *request, const struct setting *setting, const char *value, size_t n, char **out)
{
	char *text;

	if (memchr(value, 0, n))
		return request_refuse(request, "'%s' of the request has a NUL byte in it", setting->name);
	text = malloc(n + 1);
	if (!text)
		return request_refuse(request, "out of memory");
	memcpy(text, value, n);
	text[n] = 0;
	free(*out);
	*out = text;
	return true;
}

static bool add_text(struct request *request, const struct setting *setting, const char *value, size_t n, struct request_texts *list)
{
	char *text = NULL;

	if (list->n >= HELPER_TEXTS_MAX)
		return request_refuse(request, "more than %u times '%s' in the request", HELPER_TEXTS_MAX, setting->name);
	if (setting->kind == SETTING_VARIABLES && (n == 0 || *value == '=' || !memchr(value, '=', n)))
		return request_refuse(request, "a variable of the environment is NAME=value");
	if (!take_text(request, setting, value, n, &text))
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

/* Parses a number that consists only of digits. */
static bool whole_number(const char *text, size_t n, int64_t least, int64_t most, int64_t *out)
{
	int64_t value = 0;

	if (n == 0)
		return false;
	for (size_t i = 0; i < n; i++) {
		int digit = text[i] - '0';

		if (digit < 0 || digit > 9 || value > (most - digit) / 10)
			return false;
		value = value * 10 + digit;
	}
	*out = value;
	return value >= least;
}

static bool take_operation(struct request *request, const char *value, size_t n)
{
	static const char *const names[] = { "", "run", "read", "put", "get", "facts", "work" };

	if (request->operation != REQUEST_NONE)
		return request_refuse(request, "two operations in one request");
	for (size_t i = 1; i < sizeof(names) / sizeof(names[0]); i++)
		if (strlen(names[i]) == n && memcmp(value, names[i], n) == 0)
			request->operation = (enum request_operation)i;
	return request->operation != REQUEST_NONE || request_refuse(request, "unknown operation");
}

static bool take_setting(struct request *request, const char *bytes, size_t size)
{
	const char *blank = memchr(bytes, ' ', size);
	size_t name = blank ? (size_t)(blank - bytes) : size, n = blank ? size - name - 1 : 0;
	const struct setting *setting = settings, *end = settings + sizeof(settings) / sizeof(settings[0]);
	void *to;

	while (setting < end && (strlen(setting->name) != name || memcmp(setting->name, bytes, name) != 0))
		setting++;
	if (!blank || setting == end)
		return request_refuse(request, "unknown setting '%.*s' of the request", name < 40 ? (int)name : 40, bytes);
	to = (char *)request + setting->at;
	switch (setting->kind) {
	case SETTING_OPERATION:
		return take_operation(request, blank + 1, n);
	case SETTING_TEXT:
		return take_text(request, setting, blank + 1, n, to);
	case SETTING_TEXTS:
	case SETTING_VARIABLES:
		return add_text(request, setting, blank + 1, n, to);
	case SETTING_NUMBER:
		break;
	}
	return whole_number(blank + 1, n, setting->least, setting->most, to) ||
	       request_refuse(request, "'%s' of the request must be a number from %lld to %lld", setting->name, (long long)setting->least,
			      (long long)setting->most);
}

static bool take_hello(struct request *request, const struct frame *frame)
{
	int64_t version;

	if (!whole_number(frame->bytes, frame->size, 0, 1000000, &version) || version != HELPER_VERSION)
		return request_refuse(request, "this helper speaks version %d of the protocol, not the one asked for", HELPER_VERSION);
	return request->greeting_received = true;
}

static bool take_input(struct request *request, const struct frame *frame)
{
	if (request->operation == REQUEST_PUT ? request->paths.n != 1 : request->operation != REQUEST_RUN)
		return request_refuse(request, "input comes after the operation (run, or put and its path)");
	request->has_input = true;
	request->input_bytes += frame->size;
	return request->input(request, frame->bytes, frame->size);
}

/* Checks that a request to run a command is complete, and its settings for stops, too. */
static bool check_run(struct request *request)
{
	const struct process_monitor_offsets *at = &request->process_monitor;

	if (request->arguments.n == 0 || !*request->arguments.texts[0])
		return request_refuse(request, "no command to run");
	if (request->sample_ns > 0 && request->sample_ns < SAMPLE_NS_MIN)
		return request_refuse(request, "samples are %d to %d ns apart", SAMPLE_NS_MIN, SAMPLE_NS_MAX);
	if (request->monitor_directory && (at->pid < 0 || at->finished < 0 || at->stopped_ns < 0 || at->run_ns < 0 || at->readings < 0))
		return request_refuse(request, "stops need a directory and five offsets");
	if (request->injection_text && !injection_parse(request->injection_text, &request->injection))
		return request_refuse(request, "what is injected is cpu, memory or calls and a percentage up to %d", INJECTION_PERCENT_MAX);
	return true;
}

/* Checks that the request is complete. */
static bool take_go(struct request *request)
{
	switch (request->operation) {
	case REQUEST_NONE:
		return request_refuse(request, "the request has no operation");
	case REQUEST_RUN:
		if (!check_run(request))
			return false;
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
	case REQUEST_WORK_DIRECTORY:
		if (request->paths.n != 2 || request->paths.texts[0][0] != '/' || strchr(request->paths.texts[1], '/'))
			return request_refuse(request, "work takes an absolute path and a label");
		break;
	}
	if (request->lock && request->lock[0] != '/')
		return request_refuse(request, "the path of the lock file is not absolute");
	return request->go = true;
}

/* Handles a frame. Returns false if it is invalid, with the reason in `refusal`. */
static bool request_take(struct request *request, const struct frame *frame)
{
	if (frame->kind != HELPER_INPUT) {
		request->bytes += HELPER_FRAME_HEAD + frame->size;
		if (request->has_input && frame->kind != HELPER_GO)
			return request_refuse(request, "only the end of the request may follow its input");
	}
	if (request->bytes > HELPER_REQUEST_BYTES_MAX)
		return request_refuse(request, "the request has more than %u bytes", HELPER_REQUEST_BYTES_MAX);
	if (!request->greeting_received && frame->kind != HELPER_HELLO)
		return request_refuse(request, "the request does not start with the protocol's version");
	switch (frame->kind) {
	case HELPER_HELLO:
		return take_hello(request, frame);
	case HELPER_SET:
		return take_setting(request, frame->bytes, frame->size);
	case HELPER_INPUT:
		return take_input(request, frame);
	case HELPER_GO:
		return take_go(request);
	default:
		return request_refuse(request, "unknown frame (kind %u) in the request", (unsigned)(unsigned char)frame->kind);
	}
}

/* Waits for the next frame on `in`. Returns false if there is none, with the reason in `refusal`. */
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
	struct frame frame = { .kind = 0 };
	bool good = true;

	request_init(request, input);
	while (good && !request->go)
		good = next_frame(request, &frames, in, &frame) && request_take(request, &frame);
	frames_release(&frames);
	return good;
}
