/* A temporary directory for each test, and functions for files, laboratories and child processes. Include this header after those of
 * the product. It includes <cmocka.h>. */
#ifndef TESTS_SCRATCH_H
#define TESTS_SCRATCH_H

#include "base/buf.h"
#include "base/error.h"
#include "base/file.h"
#include "base/mem.h"
#include "fleet/lab/lab.h"
#include "fleet/lab/store.h"

#include <ftw.h>
#include <signal.h>
#include <setjmp.h>
#include <stdarg.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define SCRATCH_TEST(name) cmocka_unit_test_setup_teardown(name, scratch_enter, scratch_leave)
#define COUNT(rows)	   (sizeof(rows) / sizeof((rows)[0]))

static inline int scratch_enter(void **state)
{
	const char *parent = getenv("TMPDIR");

	umask(022); /* other users must be able to read some files of the tests */
	*state = mem_format("%s/assay-test-XXXXXX", parent ? parent : "/tmp");
	return !mkdtemp(*state) || chmod(*state, 0755) || chdir(*state);
}

static inline int scratch_remove(const char *path, const struct stat *info, int kind, struct FTW *walk)
{
	(void)info, (void)kind, (void)walk;
	return remove(path);
}

static inline int scratch_leave(void **state)
{
	int failed = chdir("/") || nftw(*state, scratch_remove, 16, FTW_DEPTH | FTW_PHYS);

	free(*state);
	return failed;
}

/* Returns the name of a status, such as "ASSAY_OK". check() and check_fails() print it. */
static inline const char *status_name(enum assay_status st)
{
	static const char *const names[] = {
#define ROW(name, exit_status) [name] = #name,
		ASSAY_STATUS_ROWS(ROW)
#undef ROW
	};

	return names[st];
}

static inline void check(enum assay_status st, const struct assay_error *err)
{
	if (st)
		fail_msg("%s: %s", status_name(st), err->text);
}

/* Checks that a call returned the status `expected` and, if that is an error, that its message contains `part`. */
static inline void check_fails(const char *what, enum assay_status got, enum assay_status expected, const struct assay_error *err,
			       const char *part)
{
	if (got != expected)
		fail_msg("%s: %s, not %s (%s)", what, status_name(got), status_name(expected), got ? err->text : "");
	if (got && !strstr(err->text, part))
		fail_msg("%s: '%s' is not in '%s'", what, part, err->text);
}

static inline void scratch_put(const char *path, const char *text)
{
	struct assay_error err;

	check(file_replace(path, text, strlen(text), 0644, &err), &err);
}

static inline char *scratch_text(const char *path)
{
	struct buf bytes = BUF_INIT;
	struct assay_error err;

	check(file_read(path, 256u << 20, &bytes, &err), &err);
	return buf_take(&bytes);
}

/* Creates a laboratory in ./NAME and returns it, open for writing. */
static inline struct lab scratch_lab(const char *name)
{
	struct assay_error err;
	struct lab lab;

	check(lab_create(name, &err), &err);
	check(lab_open(name, STORE_WRITE, &lab, &err), &err);
	return lab;
}

/* Returns the rows of an SQL statement as text: '|' between columns, a newline after each row. The caller frees the text. */
static inline char *scratch_select(struct store *store, const char *sql)
{
	struct buf out = BUF_INIT;
	sqlite3_stmt *stmt = NULL;
	struct assay_error err;
	bool row = true;

	check(store_prepare(store, sql, &stmt, &err), &err);
	for (;;) {
		check(store_step(store, stmt, &row, &err), &err);
		if (!row)
			break;
		for (int i = 0; i < sqlite3_column_count(stmt); i++)
			buf_format(&out, "%s%s", i ? "|" : "", store_text(stmt, i));
		buf_char(&out, '\n');
	}
	sqlite3_finalize(stmt);
	return buf_take(&out);
}

static inline void check_select(struct store *store, const char *sql, const char *expected)
{
	char *got = scratch_select(store, sql);

	assert_string_equal(got, expected);
	free(got);
}

/* Runs `work` in a child process. Returns its exit status, or 128 + the signal that ended it. The child must not use cmocka. */
static inline int scratch_child(int (*work)(void))
{
	pid_t child = fork();
	int status;

	if (!child)
		_exit(work());
	assert_int_equal(waitpid(child, &status, 0), child);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* Starts a child process that runs `work` until it is killed. Returns as soon as `work` has written one byte to the descriptor `ready`. */
static inline pid_t scratch_start(void (*work)(int ready))
{
	int ends[2];
	pid_t child;
	char byte;

	assert_int_equal(pipe(ends), 0);
	child = fork();
	if (!child) {
		close(ends[0]);
		work(ends[1]);
		_exit(1);
	}
	close(ends[1]);
	assert_int_equal(read(ends[0], &byte, 1), 1); /* 0 bytes: the child ended before it was ready */
	close(ends[0]);
	return child;
}

static inline void scratch_kill(pid_t child)
{
	int status;

	assert_int_equal(kill(child, SIGKILL), 0);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFSIGNALED(status));
}

#endif
