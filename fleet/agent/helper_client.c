#include "base/mem.h"
#include "fleet/agent/helper_client.h"

#include <pthread.h>
#include <pwd.h>
#include <unistd.h>

#define FRAME_BYTES ((uint64_t)HELPER_FRAME_HEAD + HELPER_FRAME_BYTES_MAX) /* of a whole frame of input */

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

static void add_frame(struct helper_request *request, char kind, const char *bytes, size_t n)
{
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
	buf_add(&request->bytes, bytes, n);
}

void helper_request_init(struct helper_request *request, const char *operation)
{
	*request = (struct helper_request){ .bytes = BUF_INIT };
	helper_request_number(request, HELPER_HELLO, HELPER_VERSION);
	helper_request_text(request, HELPER_OPERATION, operation);
}

void helper_request_text(struct helper_request *request, char kind, const char *text)
{
	add_frame(request, kind, text, strlen(text));
}

void helper_request_variable(struct helper_request *request, const char *text)
{
	static const char preload[] = "LD_PRELOAD=";

	helper_request_text(request, strncmp(text, preload, sizeof(preload) - 1) == 0 ? HELPER_JOIN : HELPER_ENVIRON, text);
}

void helper_request_number(struct helper_request *request, char kind, int64_t value)
{
	char text[32];

	snprintf(text, sizeof(text), "%lld", (long long)value);
	helper_request_text(request, kind, text);
}

void helper_request_mode(struct helper_request *request, unsigned mode)
{
	char text[32];

	snprintf(text, sizeof(text), "%o", mode & 07777);
	helper_request_text(request, HELPER_MODE, text);
}

void helper_request_limit(struct helper_request *request, const char *name, uint64_t value)
{
	char *text = mem_format("%s=%llu", name, (unsigned long long)value);

	helper_request_text(request, HELPER_LIMIT, text);
	free(text);
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

void helper_request_work(struct helper_request *request, const char *where, const char *label, bool detached)
{
	helper_request_init(request, "work");
	helper_request_text(request, HELPER_PATH, where);
	helper_request_text(request, HELPER_PATH, label);
	if (detached)
		helper_request_text(request, HELPER_DETACH, "");
	request->makes = true;
	request->stays = !detached;
}

void helper_request_cgroup(struct helper_request *request, uint64_t memory_bytes, uint64_t processes)
{
	char text[64];

	helper_request_text(request, HELPER_CGROUP, "");
	snprintf(text, sizeof(text), "memory=%llu", (unsigned long long)memory_bytes);
	if (memory_bytes)
		helper_request_text(request, HELPER_CGROUP, text);
	snprintf(text, sizeof(text), "pids=%llu", (unsigned long long)processes);
	if (processes)
		helper_request_text(request, HELPER_CGROUP, text);
}

void helper_request_input(struct helper_request *request, const char *bytes, size_t n)
{
	request->body = bytes;
	request->n_body = n;
}

enum assay_status helper_request_go(struct helper_request *request, struct assay_error *err)
{
	if (!request->whole)
		add_frame(request, HELPER_GO, "", 0);
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

/* ---- what is sent: the frames, those of the borrowed input, and the go, which is the last one of bytes ---- */

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
