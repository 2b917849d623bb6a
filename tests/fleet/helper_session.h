/* Starts the real helper and talks to it through pipes. Each command gets a mark in its environment, which all of its descendants inherit.
 * Tests use the mark to find processes that the command left behind. Include this header after scratch.h. */
#ifndef TESTS_HELPER_SESSION_H
#define TESTS_HELPER_SESSION_H

#include "base/digest.h"
#include "fleet/agent/helper_client.h"
#include "fleet/agent/program.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#define SESSION_PATIENCE_MS 120000     /* on an emulated CPU a command of the tests may take half a minute */
#define SESSION_PROGRAM	    "./helper" /* relative to the test's directory */

struct session {
	pid_t helper;
	int in, out; /* the test's ends of the helper's standard input and output; -1 if closed */
	int status;  /* wait status of the helper, from waitpid() */
	struct helper_answer answer;
};

static inline int64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static inline void sleep_ms(int ms)
{
	nanosleep(&(struct timespec){ ms / 1000, ms % 1000 * 1000000 }, NULL);
}

/* Returns the environment variable that marks commands of this test. It contains the test's directory, which no other test uses. */
static inline const char *session_mark(void)
{
	static char mark[4096 + 16];

	memcpy(mark, "ASSAY_MARK=", 11);
	assert_non_null(getcwd(mark + 11, sizeof(mark) - 11));
	return mark;
}

/* Counts processes whose file /proc/PID/FILE ("environ" or "stat") contains `text`. *last gets the id of the last one if not NULL. */
static inline size_t processes_with(const char *file, const char *text, pid_t *last)
{
	DIR *proc = opendir("/proc");
	struct dirent *entry;
	size_t found = 0;

	assert_non_null(proc);
	while ((entry = readdir(proc))) {
		static char bytes[65536];
		char path[300];
		ssize_t n;
		int fd;

		if (entry->d_name[0] < '1' || entry->d_name[0] > '9')
			continue;
		snprintf(path, sizeof(path), "/proc/%s/%s", entry->d_name, file);
		fd = open(path, O_RDONLY);
		n = fd < 0 ? -1 : read(fd, bytes, sizeof(bytes));
		if (fd >= 0)
			close(fd);
		if (n <= 0 || !memmem(bytes, (size_t)n, text, strlen(text)))
			continue;
		found++;
		if (last)
			*last = (pid_t)strtol(entry->d_name, NULL, 10);
	}
	closedir(proc);
	return found;
}

static inline size_t marked(void)
{
	return processes_with("environ", session_mark(), NULL);
}

static inline void wait_marked(size_t at_least)
{
	int64_t end = now_ms() + SESSION_PATIENCE_MS;

	while (marked() < at_least) {
		if (now_ms() > end)
			fail_msg("only %zu of %zu processes of the command came", marked(), at_least);
		sleep_ms(5);
	}
}

/* Checks that no process of the command is alive after `within_ms` milliseconds. */
static inline void none_left(int within_ms)
{
	int64_t end = now_ms() + within_ms;

	while (marked() > 0) {
		if (now_ms() > end)
			fail_msg("%zu processes of the command are left after %d ms", marked(), within_ms);
		sleep_ms(5);
	}
}

/* Waits until `parent` has a child, and returns the id of that child. */
static inline pid_t child_of(pid_t parent)
{
	int64_t end = now_ms() + SESSION_PATIENCE_MS;
	char text[64];
	pid_t child = 0;

	snprintf(text, sizeof(text), ") S %d ", (int)parent); /* state S: the child sleeps in poll(2) */
	while (processes_with("stat", text, &child) == 0) {
		if (now_ms() > end)
			fail_msg("process %d has no child", (int)parent);
		sleep_ms(1);
	}
	return child;
}

/* Releases a command that waits in `read line <NAME`, where NAME is a named pipe. */
static inline void let_go(const char *name)
{
	int64_t end = now_ms() + SESSION_PATIENCE_MS;
	int fd;

	while ((fd = open(name, O_WRONLY | O_NONBLOCK | O_CLOEXEC)) < 0) { /* the command has not opened the pipe yet */
		if (now_ms() > end)
			fail_msg("no command has come to the pipe '%s'", name);
		sleep_ms(2);
	}
	close(fd);
}

static const char *session_owner; /* owner of the requests; NULL: this test */

/* Prepares a request "run" for the command sh -c SCRIPT. */
static inline void shell_request(struct helper_request *request, const char *script)
{
	helper_request_init(request, "run");
	helper_request_text(request, HELPER_ARGUMENT, "/bin/sh");
	helper_request_text(request, HELPER_ARGUMENT, "-c");
	helper_request_text(request, HELPER_ARGUMENT, script);
	helper_request_text(request, HELPER_ENVIRON, session_mark());
	helper_request_number(request, HELPER_OWNER, (int64_t)digest_seed(session_owner ? session_owner : session_mark()));
}

static inline void session_spawn(struct session *s, uid_t user)
{
	int in[2], out[2];

	*s = (struct session){ .in = -1, .out = -1 };
	helper_answer_init(&s->answer, 256u << 20);
	assert_int_equal(pipe2(in, O_CLOEXEC), 0);
	assert_int_equal(pipe2(out, O_CLOEXEC), 0);
	s->helper = fork();
	if (!s->helper) {
		if (dup2(in[0], 0) < 0 || dup2(out[1], 1) < 0 || (user && setuid(user)))
			_exit(99);
		execl(SESSION_PROGRAM, SESSION_PROGRAM, (char *)NULL);
		_exit(98);
	}
	close(in[0]);
	close(out[1]);
	s->in = in[1];
	s->out = out[0];
}

static inline void session_write(struct session *s, const char *bytes, size_t n)
{
	while (n > 0) {
		ssize_t done = write(s->in, bytes, n);

		if (done < 0) {
			assert_int_equal(errno, EPIPE); /* the helper has refused the request already */
			return;
		}
		bytes += done;
		n -= (size_t)done;
	}
}

/* Sends the request except for its last `without` bytes. */
static inline void session_send(struct session *s, struct helper_request *request, size_t without)
{
	struct assay_error err;

	check(helper_request_complete(request, &err), &err);
	for (uint64_t at = 0, end = helper_request_size(request) - without; at < end;) {
		char head[HELPER_FRAME_HEAD];
		const char *bytes;
		size_t n = helper_request_piece(request, at, head, &bytes);

		session_write(s, bytes, n);
		at += n;
	}
}

/* Starts a helper as `user`, sends the request and releases it. The helper's standard input stays open. */
static inline void session_start_as(struct session *s, struct helper_request *request, uid_t user)
{
	session_spawn(s, user);
	session_send(s, request, 0);
	helper_request_release(request);
}

static inline void session_start(struct session *s, struct helper_request *request)
{
	session_start_as(s, request, 0);
}

static inline void session_close(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

/* Reads one piece of the answer. Returns false at the end of the helper's output. */
static inline bool session_read(struct session *s)
{
	struct pollfd wait = { s->out, POLLIN, 0 };
	static char piece[65536];
	struct assay_error err;
	ssize_t n;

	if (poll(&wait, 1, SESSION_PATIENCE_MS) != 1)
		fail_msg("the helper said nothing for %d ms", SESSION_PATIENCE_MS);
	n = read(s->out, piece, sizeof(piece));
	assert_true(n >= 0);
	check(helper_answer_add(&s->answer, piece, (size_t)n, &err), &err);
	return n > 0;
}

static inline void session_begun(struct session *s)
{
	while (!s->answer.command_started)
		assert_true(session_read(s));
}

/* Reads the rest of the answer and waits for the end of the helper. */
static inline void session_end(struct session *s)
{
	while (session_read(s))
		;
	session_close(&s->in);
	session_close(&s->out);
	assert_int_equal(waitpid(s->helper, &s->status, 0), s->helper);
}

static inline void session_release(struct session *s)
{
	session_close(&s->in);
	session_close(&s->out);
	helper_answer_release(&s->answer);
}

/* Sends the request, reads the whole answer and checks the helper's exit status. */
static inline void session_run(struct session *s, struct helper_request *request)
{
	struct assay_error err;

	session_start(s, request);
	session_end(s);
	check(helper_answer_finish(&s->answer, &err), &err);
	if (s->answer.refusal)
		assert_int_equal(WEXITSTATUS(s->status), 1);
	else
		assert_int_equal(s->status, 0);
}

/* Checks that the helper refuses the request with a text that contains `part`. Returns the refusal code. */
static inline char session_refused(struct session *s, struct helper_request *request, const char *part)
{
	char code;

	session_run(s, request);
	if (!s->answer.refusal || !strstr(s->answer.refusal, part))
		fail_msg("'%s' is not in '%s'", part, s->answer.refusal ? s->answer.refusal : "(not refused)");
	code = s->answer.refusal_code;
	session_release(s);
	return code;
}

/* Checks that the output of a command is exactly these `n` bytes, which may be binary. */
static inline void check_spool(const struct spool *spool, const char *expected, size_t n)
{
	struct assay_error err;
	char *text = NULL;
	size_t got = 0;

	check(spool_text(spool, 256u << 20, &text, &got, &err), &err);
	if (got != n || memcmp(text, expected, n) != 0)
		fail_msg("%zu bytes '%s', not %zu '%s'", got, text, n, expected);
	free(text);
}

/* Runs the request and checks that the command's standard output is `expected`. */
static inline void check_output(struct helper_request *request, const char *expected)
{
	struct session s;

	session_run(&s, request);
	if (s.answer.refusal)
		fail_msg("refused: %s", s.answer.refusal);
	check_spool(&s.answer.out, expected, strlen(expected));
	session_release(&s);
}

/* Enters a scratch directory and writes the embedded helper program to it. */
static inline int session_enter(void **state)
{
	struct assay_error err;
	const char *bytes;
	size_t n;

	signal(SIGPIPE, SIG_IGN);
	helper_find_program(PROGRAM_ARCHITECTURE, &bytes, &n, NULL);
	return scratch_enter(state) || file_replace(SESSION_PROGRAM, bytes, n, 0755, &err);
}

#define SESSION_TEST(name) cmocka_unit_test_setup_teardown(name, session_enter, scratch_leave)

#endif
