#include "fleet/agent/helper_client.h"

#include "base/mem.h"
#include "base/secret.h"
#include "base/text.h"
#include "fleet/counting/whole.h"
#include "fleet/inventory/inventory.h"

#include <pthread.h>
#include <pwd.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#define FRAME_BYTES ((uint64_t)HELPER_FRAME_HEAD + HELPER_FRAME_BYTES_MAX) /* maximum size of an input frame */

static void write_head(char head[HELPER_FRAME_HEAD], char kind, size_t n)
{
	head[0] = kind;
	for (int i = 0; i < 4; i++)
		head[1 + i] = (char)(n >> (24 - 8 * i) & 255);
}

static void add_head(struct buf *out, char kind, size_t n)
{
	char head[HELPER_FRAME_HEAD];

	write_head(head, kind, n);
	buf_add(out, head, sizeof(head));
}

/* Appends a frame of this kind that contains `name` followed by `text`. */
static void add_frame(struct helper_request *request, char kind, const char *name, const char *text)
{
	size_t n_name = strlen(name), n = n_name + strlen(text);

	if (request->fault.status)
		return;
	request->counted += HELPER_FRAME_HEAD + n;
	if (n > HELPER_FRAME_BYTES_MAX || request->counted > HELPER_REQUEST_BYTES_MAX - 2 * HELPER_FRAME_HEAD) {
		assay_fail(&request->fault, ASSAY_E_LIMIT,
			   "the command with its environment is too long for one request (%u bytes, %u a piece)", HELPER_REQUEST_BYTES_MAX,
			   HELPER_FRAME_BYTES_MAX);
		return;
	}
	add_head(&request->bytes, kind, n);
	buf_add(&request->bytes, name, n_name);
	buf_add(&request->bytes, text, n - n_name);
}

void helper_request_init(struct helper_request *request, const char *operation)
{
	char version[16];

	*request = (struct helper_request){ .bytes = BUF_INIT };
	snprintf(version, sizeof(version), "%d", HELPER_VERSION);
	add_frame(request, HELPER_HELLO, "", version);
	helper_request_text(request, HELPER_OPERATION, operation);
}

void helper_request_text(struct helper_request *request, const char *name, const char *text)
{
	char *named = mem_format("%s ", name);

	add_frame(request, HELPER_SET, named, text);
	free(named);
}

void helper_request_variable(struct helper_request *request, const char *text)
{
	static const char preload[] = "LD_PRELOAD=";
	bool is_preload = strncmp(text, preload, sizeof(preload) - 1) == 0;

	helper_request_text(request, is_preload ? HELPER_ENVIRON_PREPEND : HELPER_ENVIRON, text);
	if (is_preload) /* The address sanitizer demands that its library is loaded first. Disable this check. */
		helper_request_text(request, HELPER_ENVIRON_PREPEND, "ASAN_OPTIONS=verify_asan_link_order=0");
}

void helper_request_number(struct helper_request *request, const char *name, int64_t value)
{
	char text[32];

	snprintf(text, sizeof(text), "%lld", (long long)value);
	helper_request_text(request, name, text);
}

void helper_request_monitor(struct helper_request *request, const char *directory, const struct process_monitor_offsets *words)
{
	helper_request_text(request, HELPER_MONITOR, directory);
	helper_request_number(request, HELPER_MONITOR_PID, words->pid);
	helper_request_number(request, HELPER_MONITOR_FINISHED, words->finished);
	helper_request_number(request, HELPER_MONITOR_STOPPED, words->stopped_ns);
	helper_request_number(request, HELPER_MONITOR_RUN, words->run_ns);
	helper_request_number(request, HELPER_MONITOR_READINGS, words->readings);
}

static char self[160];

static void describe_self(void)
{
	const struct passwd *user = getpwuid(geteuid());
	char host[65] = "";

	if (gethostname(host, sizeof(host) - 1))
		host[0] = '\0';
	snprintf(self, sizeof(self), "%.64s@%s, process %d", user ? user->pw_name : "?", *host ? host : "?", (int)getpid());
}

void helper_request_lock(struct helper_request *request, const char *path, int64_t wait_ms)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, describe_self);
	helper_request_text(request, HELPER_LOCK, path);
	helper_request_text(request, HELPER_HOLDER, self);
	helper_request_number(request, HELPER_LOCK_WAIT, wait_ms);
	request->lock_wait_ms = wait_ms;
}

void helper_request_directory(struct helper_request *request, const char *where, const char *label, bool detached)
{
	helper_request_init(request, "work");
	helper_request_text(request, HELPER_PATH, where);
	helper_request_text(request, HELPER_PATH, label);
	if (detached)
		helper_request_number(request, HELPER_DETACH, 1);
	request->makes_directory = true;
	request->stays_running = !detached;
}

void helper_request_input(struct helper_request *request, const char *bytes, size_t n)
{
	request->body = bytes;
	request->n_body = n;
}

enum assay_status helper_request_complete(struct helper_request *request, struct assay_error *err)
{
	if (!request->whole)
		add_frame(request, HELPER_GO, "", "");
	request->whole = true;
	if (request->fault.status)
		return assay_fail(err, request->fault.status, "%s", request->fault.text);
	return ASSAY_OK;
}

void helper_request_release(struct helper_request *request)
{
	buf_release(&request->bytes);
	request->bytes = (struct buf)BUF_INIT;
}

/* ---- bytes to send: all frames before HELPER_GO, the borrowed input as frames, HELPER_GO ---- */

static uint64_t body_size(const struct helper_request *request)
{
	uint64_t frames = ((uint64_t)request->n_body + HELPER_FRAME_BYTES_MAX - 1) / HELPER_FRAME_BYTES_MAX;

	return request->n_body + frames * HELPER_FRAME_HEAD;
}

uint64_t helper_request_size(const struct helper_request *request)
{
	return request->bytes.size + body_size(request);
}

size_t helper_request_piece(const struct helper_request *request, uint64_t at, char head[HELPER_FRAME_HEAD], const char **bytes)
{
	size_t before = request->bytes.size - HELPER_FRAME_HEAD, start, within, size;
	uint64_t body = body_size(request);

	if (at < before || at >= before + body) {
		size = (size_t)(at < before ? at : at - body);
		*bytes = request->bytes.bytes + size;
		return (at < before ? before : request->bytes.size) - size;
	}
	start = (size_t)((at - before) / FRAME_BYTES) * HELPER_FRAME_BYTES_MAX;
	within = (size_t)((at - before) % FRAME_BYTES);
	size = request->n_body - start < HELPER_FRAME_BYTES_MAX ? request->n_body - start : HELPER_FRAME_BYTES_MAX;
	if (within < HELPER_FRAME_HEAD) {
		write_head(head, HELPER_INPUT, size);
		*bytes = head + within;
		return HELPER_FRAME_HEAD - within;
	}
	within -= HELPER_FRAME_HEAD;
	*bytes = request->body + start + within;
	return size - within;
}

/* ---- requests that all measurements use ---- */

void measure_request(struct helper_request *out, const struct host *host, const char *const *words, size_t n, int64_t timeout_ms)
{
	helper_request_init(out, "run");
	for (size_t i = 0; i < n; i++)
		helper_request_text(out, HELPER_ARGUMENT, words[i]);
	for (size_t i = 0; i < host->n_environment; i++)
		helper_request_variable(out, host->environment[i]);
	helper_request_number(out, "core", 0);
	helper_request_number(out, HELPER_TIMEOUT, timeout_ms);
}

void measure_request_lock(struct helper_request *request)
{
	helper_request_lock(request, MEASURE_LOCK, MEASURE_LOCK_WAIT_MS);
}

/* ---- answers; the host that sends them is not trusted ---- */

#define NOISE_BYTES_MAX	  65536
#define MAGIC_CRLF	  "\0assay helper 1\r" /* HELPER_MAGIC after a terminal has changed LF to CR LF */
#define REFUSAL_BYTES_MAX 8192
#define FILES_MAX	  HELPER_TEXTS_MAX
#define EXCERPT_BYTES	  100
#define MIXED		  "something else on the host also writes to standard output"
#define MADE_BYTES_MAX	  4000			    /* maximum length of a directory's path */
#define STARTED_MS_MAX	  INT64_C(1000000000000000) /* same limit as of clock_ms in facts.h, so that their difference fits in 64 bits */

void helper_answer_init(struct helper_answer *answer, uint64_t limit_bytes)
{
	*answer = (struct helper_answer){ .held_ms = -1, .limit_ms = -1, .pending = BUF_INIT };
	memset(&answer->result, 0xff, sizeof(answer->result)); /* sets every number to -1 */
	spool_init(&answer->out, limit_bytes);
	spool_init(&answer->err, limit_bytes);
}

void helper_answer_release(struct helper_answer *answer)
{
	for (size_t i = 0; i < answer->n_files; i++)
		mem_free(answer->files[i].path, answer->files[i].bytes, answer->files[i].fault);
	mem_free(answer->files, answer->result_text, answer->refusal, answer->holder, answer->directory_path);
	buf_release(&answer->pending);
	spool_release(&answer->out);
	spool_release(&answer->err);
}

/* Exit status 126: a shell cannot execute the helper. Above 128: a shell reports a signal. 1 to 124: only the login was refused. */
enum helper_installation helper_installation(const struct helper_answer *answer, int exit_status)
{
	if (answer->greeting_received)
		return HELPER_INSTALLED;
	if (exit_status == 127)
		return HELPER_MISSING;
	return exit_status <= 0 || exit_status >= SELF_CHECK_DAMAGED ? HELPER_DAMAGED : HELPER_INSTALLED;
}

/* Copies bytes from a host as one line of at most `most` bytes, without control characters and secrets. Use it for all texts to keep. */
static char *copy_printable(const char *bytes, size_t n, size_t most)
{
	char *said = mem_bytes(bytes, n), *text;

	for (char *at = said; at < said + n; at++)
		*at = *at ? *at : '?';
	text = secrets_copy_masked(said);
	free(said);
	text[strnlen(text, most)] = '\0';
	for (char *at = text; *at; at++) {
		if (*at < ' ' || *at > '~')
			*at = '?';
	}
	return text;
}

/* Returns the text before a fault. If in_frame, returns the incomplete frame, into which another program may have written. free() it. */
static char *copy_text_before_fault(const struct helper_answer *answer, bool in_frame)
{
	struct buf lines = BUF_INIT;
	char *shown, *text;

	if (in_frame && answer->pending.size > HELPER_FRAME_HEAD)
		buf_add(&lines, answer->pending.bytes + HELPER_FRAME_HEAD, answer->pending.size - HELPER_FRAME_HEAD);
	else if (!in_frame || answer->streaming > 0)
		spool_last_lines(answer->streaming_kind == HELPER_STDERR ? &answer->err : &answer->out, &lines);
	shown = copy_printable(lines.size ? lines.bytes : "", lines.size, EXCERPT_BYTES);
	text = mem_format("%s%s%s", lines.size ? ", after \"" : "", shown, lines.size ? "\"" : "");
	buf_release(&lines);
	free(shown);
	return text;
}

/* Records that a helper did not send these bytes. `what` describes the fault of a frame; NULL if the bytes are text instead of a frame. */
static enum assay_status fail_no_answer(struct helper_answer *answer, const char *what, const char *bytes, size_t n)
{
	const char *cause = !answer->greeting_received ? "" : what ? MIXED ", or changes it on the way: " : MIXED;
	char *excerpt = copy_printable(bytes, n, EXCERPT_BYTES), *before = copy_text_before_fault(answer, false);

	assay_fail(&answer->fault, ASSAY_E_FORMAT, "the host sent no answer of the helper: %s%s%s%s%s%s%s", cause, what ? what : "",
		   n ? ": \"" : "", excerpt, n ? "\"" : "", n > EXCERPT_BYTES ? "..." : "", before);
	mem_free(excerpt, before);
	return answer->fault.status;
}

/* Stores the number of a line "name value". Ignores unknown names, such as facts. Returns false if the number is invalid or repeated. */
static bool take_number(void *to, const char *name, const char *value)
{
	struct helper_result *result = to;
	const struct {
		const char *name;
		int64_t *number;
		int64_t max;
	} rows[] = {
#define ACCOUNT_ROW(member, text) { #member, &result->member, INT64_MAX },
		HELPER_USAGE_ROWS(ACCOUNT_ROW)
#undef ACCOUNT_ROW
		    { "exit", &result->exit_status, 255 },
		{ "signal", &result->signal, 127 },
		{ "lock_wait_ns", &result->lock_wait_ns, INT64_MAX },
		{ "started_ms", &result->started_ms, STARTED_MS_MAX },
		{ "timed_out", &result->timed_out, 1 },
		{ "interrupted", &result->interrupted, 1 },
		{ "flooded", &result->flooded, 2 },
		{ "leftovers", &result->leftovers, INT64_MAX },
		{ "swept", &result->swept, INT64_MAX },
		{ "survivors", &result->survivors, INT64_MAX },
		{ "cgroup_version", &result->cgroup, 2 },
		{ "oom_kills", &result->oom_kills, INT64_MAX },
		{ "refused_processes", &result->refused_processes, INT64_MAX },
		{ "bytes", &result->bytes, INT64_MAX },
		{ "files", &result->files, INT64_MAX },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		int64_t number;

		if (strcmp(name, rows[i].name) != 0)
			continue;
		if (*rows[i].number != -1 || !text_parse_int64(value, &number) || number < 0 || number > rows[i].max)
			return false;
		*rows[i].number = number;
	}
	return true;
}

/* Calls take() for each line "name value\n". Returns false if the bytes have another form or take() returns false. */
static bool take_lines(const char *bytes, size_t n, bool (*take)(void *to, const char *name, const char *value), void *to)
{
	bool good = !memchr(bytes, 0, n) && (n == 0 || bytes[n - 1] == '\n');
	char *lines = mem_bytes(bytes, n), *end;

	for (char *line = lines; good && *line; line = end + 1) {
		char *value = strchr(line, ' ');

		end = strchr(line, '\n');
		good = end && value && value > line && value + 1 < end;
		if (!good)
			break;
		*value = *end = 0;
		good = take(to, line, value + 1);
	}
	free(lines);
	return good;
}

static bool parse_holder_line(void *to, const char *name, const char *value)
{
	struct helper_answer *answer = to;
	int64_t *number = strcmp(name, "held_ms") == 0 ? &answer->held_ms : strcmp(name, "limit_ms") == 0 ? &answer->limit_ms : NULL;

	if (number)
		return text_parse_int64(value, number) && *number >= 0 && *number <= STARTED_MS_MAX;
	if (strcmp(name, "holder") == 0) {
		free(answer->holder);
		answer->holder = copy_printable(value, strlen(value), REFUSAL_BYTES_MAX);
	}
	return true;
}

static enum assay_status take_waiting(struct helper_answer *answer, const char *bytes, size_t n)
{
	free(answer->holder);
	answer->holder = NULL;
	answer->held_ms = answer->limit_ms = -1;
	answer->waiting = true;
	if (answer->command_started || !take_lines(bytes, n, parse_holder_line, answer))
		return fail_no_answer(answer, answer->command_started ? "waiting for the started command" : "an invalid wait", bytes, n);
	return ASSAY_OK;
}

static enum assay_status parse_result(struct helper_answer *answer, const char *bytes, size_t n)
{
	struct helper_result result = answer->result;
	bool good = take_lines(bytes, n, take_number, &result);

	/* A started command has either an exit status or a signal. */
	if (!good || (result.exit_status != -1 && result.signal != -1) ||
	    answer->command_started != (result.exit_status != -1 || result.signal != -1))
		return fail_no_answer(answer, "an invalid result", bytes, n);
	answer->result = result;
	answer->result_text = mem_bytes(bytes, n);
	answer->ended = true;
	return ASSAY_OK;
}

static enum assay_status take_refusal(struct helper_answer *answer, const char *bytes, size_t n)
{
	if (answer->command_started)
		return fail_no_answer(answer, "a refusal of what was started", bytes, n);
	if (n == 0 || !memchr(HELPER_CODES, bytes[0], sizeof(HELPER_CODES) - 1))
		return fail_no_answer(answer, "a refusal without a code", bytes, n);
	answer->refusal_code = bytes[0];
	answer->refusal = copy_printable(bytes + 1, n - 1, REFUSAL_BYTES_MAX);
	answer->ended = true;
	return ASSAY_OK;
}

static enum assay_status take_file(struct helper_answer *answer, char kind, const char *bytes, size_t n)
{
	const char *end = memchr(bytes, 0, n);
	struct helper_file *file;
	size_t rest;

	if (!end)
		return fail_no_answer(answer, "a file without a name", bytes, n);
	rest = n - (size_t)(end + 1 - bytes);
	answer->files_bytes += n;
	if (answer->n_files >= FILES_MAX || answer->files_bytes > HELPER_FILES_BYTES_MAX)
		return assay_fail(&answer->fault, ASSAY_E_LIMIT, "the host's files have more than %u bytes, or are more than %u",
				  HELPER_FILES_BYTES_MAX, FILES_MAX);
	file = mem_append_slot(answer->files, answer->n_files, &answer->files_capacity);
	*file = (struct helper_file){ .path = mem_string(bytes), .n = kind == HELPER_FILE ? rest : 0 };
	if (kind == HELPER_FILE)
		file->bytes = mem_bytes(end + 1, rest);
	else
		file->fault = copy_printable(end + 1, rest, REFUSAL_BYTES_MAX);
	return ASSAY_OK;
}

static enum assay_status take_directory(struct helper_answer *answer, const char *bytes, size_t n)
{
	char *path = copy_printable(bytes, n, MADE_BYTES_MAX);

	if (!answer->expects_directory || answer->command_started || n == 0 || n > MADE_BYTES_MAX || bytes[0] != '/' ||
	    memcmp(path, bytes, n) != 0) {
		free(path);
		return fail_no_answer(answer, "an invalid directory", bytes, n);
	}
	answer->directory_path = path;
	answer->ended = true;
	return ASSAY_OK;
}

static enum assay_status take_frame(struct helper_answer *answer, char kind, const char *bytes, size_t n)
{
	switch (kind) {
	case HELPER_WAITING:
		return answer->directory_path ? ASSAY_OK : take_waiting(answer, bytes, n);
	case HELPER_STARTED:
		if (n > 0 || answer->command_started)
			return fail_no_answer(answer, "started twice", bytes, n);
		answer->command_started = true;
		return ASSAY_OK;
	case HELPER_FILE:
	case HELPER_ABSENT:
		return take_file(answer, kind, bytes, n);
	case HELPER_DIRECTORY_MADE:
		return take_directory(answer, bytes, n);
	case HELPER_RESULT:
		return parse_result(answer, bytes, n);
	case HELPER_REFUSED:
		return take_refusal(answer, bytes, n);
	default:
		ASSAY_BUG_IF(1); /* take_head() accepts no other kinds */
	}
	return ASSAY_E_FORMAT;
}

/* Moves the bytes that have arrived for an output frame to the spool of its stream. */
static enum assay_status take_output(struct helper_answer *answer, const char **bytes, size_t *n)
{
	size_t piece = *n < answer->streaming ? *n : (size_t)answer->streaming;
	struct spool *spool = answer->streaming_kind == HELPER_STDOUT ? &answer->out : &answer->err;

	answer->streaming -= piece;
	*bytes += piece;
	*n -= piece;
	return spool_add(spool, *bytes - piece, piece, &answer->fault);
}

/* Moves bytes to `pending` until it has n_wanted bytes. Returns true when it has that many. */
static bool gather_pending(struct helper_answer *answer, size_t n_wanted, const char **bytes, size_t *n)
{
	size_t missing = n_wanted - answer->pending.size, piece = *n < missing ? *n : missing;

	buf_add(&answer->pending, *bytes, piece);
	*bytes += piece;
	*n -= piece;
	return piece == missing;
}

/* Collects a line of text that is not a frame, for the error message. `last` is true if no more bytes will arrive. */
static enum assay_status take_text(struct helper_answer *answer, const char **bytes, size_t *n, bool last)
{
	struct buf *text = &answer->pending;

	for (;; --*n) {
		size_t blank = strspn(text->bytes, "\r\n\a "), end = blank + strcspn(text->bytes + blank, "\r\n");

		if (last || end < text->size || end >= EXCERPT_BYTES)
			return fail_no_answer(answer, NULL, text->bytes + blank, end - blank);
		if (*n == 0)
			return ASSAY_OK;
		buf_char(text, *(*bytes)++);
	}
}

static enum assay_status take_head(struct helper_answer *answer, size_t *size)
{
	const unsigned char *head = (const unsigned char *)answer->pending.bytes;
	static const char kinds[] = { HELPER_WAITING, HELPER_STARTED,	     HELPER_STDOUT, HELPER_STDERR, HELPER_FILE,
				      HELPER_ABSENT,  HELPER_DIRECTORY_MADE, HELPER_RESULT, HELPER_REFUSED };
	char kind = (char)head[0];

	/* A frame is shorter than 2^24 bytes, so byte 1 of its head is 0. If byte 1 is printable or UTF-8, the bytes are text. */
	answer->is_text = head[0] && ((head[1] >= ' ' && head[1] < 0xf8) || memchr("\t\n\r\a\033", head[1], 5));
	if (answer->is_text)
		return ASSAY_OK;
	*size = (size_t)head[1] << 24 | (size_t)head[2] << 16 | (size_t)head[3] << 8 | head[4];
	if (!memchr(kinds, kind, sizeof(kinds)))
		return fail_no_answer(answer, "an unknown frame", answer->pending.bytes, HELPER_FRAME_HEAD);
	if (*size > HELPER_FRAME_BYTES_MAX)
		return fail_no_answer(answer, "a frame that is too long", answer->pending.bytes, HELPER_FRAME_HEAD);
	if (answer->ended && !(answer->directory_path && kind == HELPER_WAITING)) /* a helper that keeps a directory sends HELPER_WAITING */
		return fail_no_answer(answer, "more after its end", answer->pending.bytes, HELPER_FRAME_HEAD);
	if (kind == HELPER_STDOUT || kind == HELPER_STDERR) {
		answer->streaming = *size;
		answer->streaming_kind = kind;
		buf_clear(&answer->pending);
	}
	return ASSAY_OK;
}

/* Handles at least one of the bytes, and moves *bytes and *n past the handled bytes. */
static enum assay_status take_bytes(struct helper_answer *answer, const char **bytes, size_t *n)
{
	struct buf *pending = &answer->pending;
	enum assay_status st;
	size_t size = 0;

	if (answer->is_text)
		return take_text(answer, bytes, n, false);
	if (answer->streaming > 0)
		return take_output(answer, bytes, n);
	if (pending->size < HELPER_FRAME_HEAD && !gather_pending(answer, HELPER_FRAME_HEAD, bytes, n))
		return ASSAY_OK;
	st = take_head(answer, &size);
	if (st || answer->is_text || pending->size == 0 || !gather_pending(answer, HELPER_FRAME_HEAD + size, bytes, n))
		return st;
	st = take_frame(answer, pending->bytes[0], pending->bytes + HELPER_FRAME_HEAD, size);
	buf_clear(pending);
	return st;
}

/* Records the error that the helper's greeting has arrived in a changed form. `how` describes the change. */
static enum assay_status fail_greeting(struct helper_answer *answer, const char *how)
{
	answer->greeting_received = true;
	return assay_fail(
	    &answer->fault, ASSAY_E_FORMAT,
	    "%s between the helper and assay: launchers and login shells must pass bytes unchanged, without a terminal (ssh -t)", how);
}

/* Skips bytes up to the end of the helper's greeting. Start-up files of the login shell may have printed text before the greeting. */
static enum assay_status skip_login_output(struct helper_answer *answer, const char **bytes, size_t *n)
{
	struct buf *noise = &answer->pending;
	size_t before = noise->size, from = before < HELPER_MAGIC_BYTES ? 0 : before - HELPER_MAGIC_BYTES + 1;
	size_t room = NOISE_BYTES_MAX + HELPER_MAGIC_BYTES - before, piece = *n < room ? *n : room;
	const char *magic, *changed;

	buf_add(noise, *bytes, piece);
	magic = memmem(noise->bytes + from, noise->size - from, HELPER_MAGIC, HELPER_MAGIC_BYTES);
	changed = memmem(noise->bytes + from, noise->size - from, MAGIC_CRLF, HELPER_MAGIC_BYTES);
	if (changed && (!magic || changed < magic))
		return fail_greeting(answer, "line ends are changed to CR LF");
	if (magic)
		piece = (size_t)(magic - noise->bytes) + HELPER_MAGIC_BYTES - before;
	*bytes += piece;
	*n -= piece;
	if (!magic)
		return *n > 0 ? fail_no_answer(answer, "more than 64 KiB of other output arrived",
					       noise->bytes + noise->size - EXCERPT_BYTES, EXCERPT_BYTES)
			      : ASSAY_OK;
	answer->greeting_received = true;
	buf_clear(noise);
	return ASSAY_OK;
}

static enum assay_status output_error(const struct helper_answer *answer, struct assay_error *err)
{
	return assay_fail(err, answer->fault.status, "%s", answer->fault.text);
}

enum assay_status helper_answer_add(struct helper_answer *answer, const char *bytes, size_t n, struct assay_error *err)
{
	enum assay_status st = answer->fault.status;

	while (!st && n > 0 && !(answer->is_via_launcher && answer->ended && !answer->directory_path))
		st = answer->greeting_received ? take_bytes(answer, &bytes, &n) : skip_login_output(answer, &bytes, &n);
	return st ? output_error(answer, err) : ASSAY_OK;
}

enum assay_status helper_answer_finish(struct helper_answer *answer, struct assay_error *err)
{
	if (answer->fault.status)
		return output_error(answer, err);
	if (answer->is_text)
		take_text(answer, NULL, NULL, true);
	else if (!answer->greeting_received && answer->pending.size == 0)
		fail_no_answer(answer, "nothing at all", "", 0);
	else if (!answer->greeting_received &&
		 memmem(answer->pending.bytes, answer->pending.size, &HELPER_MAGIC[1], HELPER_MAGIC_BYTES - 2))
		fail_greeting(answer, "bytes are missing or changed");
	else if (!answer->greeting_received)
		fail_no_answer(answer, "it does not start like a helper's answer", answer->pending.bytes, answer->pending.size);
	else if (!answer->ended) {
		char *before = copy_text_before_fault(answer, true);

		assay_fail(&answer->fault, ASSAY_E_FORMAT,
			   "the helper's answer ends in the middle: it was killed, the connection was lost, or " MIXED "%s", before);
		free(before);
	}
	return answer->fault.status ? output_error(answer, err) : ASSAY_OK;
}
