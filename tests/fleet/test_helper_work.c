/* Checks that a session's directory on a host is removed with the session, however it ends, and that directories of others stay. */
#include "tests/scratch.h"
#include "tests/fleet/helper_session.h"

#include <sys/stat.h>

static char *here(void)
{
	return mem_string(session_mark() + 11);
}

static void work_request(struct helper_request *request)
{
	char *where = here(), *lock = mem_format("%s/lock", where);

	helper_request_directory(request, where, "label", false);
	helper_request_lock(request, lock, 100000);
	free(lock);
	free(where);
}

/* Starts a helper that creates a directory, and puts a file into it. */
static void work_start(struct session *s)
{
	struct helper_request request;
	char *path;

	work_request(&request);
	session_start(s, &request);
	s->answer.expects_directory = true;
	while (!s->answer.directory_path)
		assert_true(session_read(s));
	assert_null(s->answer.refusal);
	path = mem_format("%s/deep", s->answer.directory_path);
	assert_int_equal(mkdir(path, 0700), 0);
	free(path);
	path = mem_format("%s/deep/file", s->answer.directory_path);
	scratch_put(path, "x");
	free(path);
}

static void wait_helper(struct session *s)
{
	assert_int_equal(waitpid(s->helper, &s->status, 0), s->helper);
}

static void test_own_directory(void **state)
{
	struct session first, second;
	struct stat info;
	char *start = mem_format("%s/assay-session-%u-label-", session_mark() + 11, (unsigned)geteuid());

	(void)state;
	work_start(&first);
	work_start(&second);
	assert_string_not_equal(first.answer.directory_path, second.answer.directory_path);
	assert_int_equal(strlen(first.answer.directory_path),
			 strlen(second.answer.directory_path)); /* the length of a path can change a program's speed */
	assert_int_equal(strncmp(first.answer.directory_path, start, strlen(start)), 0);
	assert_int_equal(stat(first.answer.directory_path, &info), 0);
	assert_int_equal(info.st_mode & 07777, 0700);
	session_close(&first.in);
	wait_helper(&first);
	assert_int_equal(access(first.answer.directory_path, F_OK), -1);
	assert_int_equal(access(second.answer.directory_path, F_OK), 0);
	session_close(&second.in);
	wait_helper(&second);
	assert_int_equal(access(second.answer.directory_path, F_OK), -1);
	session_release(&first);
	session_release(&second);
	free(start);
}

static void test_every_end(void **state)
{
	static const int signals[] = { SIGTERM, SIGHUP, SIGINT, SIGQUIT, 0 /* 0: the test closes the read end, then the write end */ };

	(void)state;
	for (size_t i = 0; i < COUNT(signals); i++) {
		struct session s;

		work_start(&s);
		if (signals[i])
			kill(s.helper, signals[i]);
		session_close(&s.out);
		if (!signals[i])
			session_close(&s.in);
		wait_helper(&s);
		assert_int_equal(access(s.answer.directory_path, F_OK), -1);
		session_release(&s);
	}
}

/* Checks that the next session removes the directory of a killed helper, and no others. */
static void test_killed(void **state)
{
	struct session killed, alive, next;

	(void)state;
	work_start(&killed);
	work_start(&alive);
	kill(killed.helper, SIGKILL);
	wait_helper(&killed);
	assert_int_equal(access(killed.answer.directory_path, F_OK), 0);
	work_start(&next);
	assert_int_equal(access(killed.answer.directory_path, F_OK), -1);
	assert_int_equal(access(alive.answer.directory_path, F_OK), 0);
	session_close(&alive.in);
	wait_helper(&alive);
	session_close(&next.in);
	wait_helper(&next);
	session_release(&killed);
	session_release(&alive);
	session_release(&next);
}

/* Checks that a directory that the controller removed needs no cleanup, even if another directory has its name now. */
static void test_removed(void **state)
{
	struct helper_request request;
	struct session s, other;
	char *script;

	(void)state;
	work_start(&s);
	script = mem_format("rm -rf '%s' && mkdir '%s'", s.answer.directory_path, s.answer.directory_path);
	shell_request(&request, script);
	session_run(&other, &request);
	assert_int_equal(other.answer.result.exit_status, 0);
	session_close(&s.in);
	wait_helper(&s);
	assert_int_equal(access(s.answer.directory_path, F_OK), 0);
	session_release(&s);
	session_release(&other);
	free(script);
}

/* Checks that commands of the session end before their directory is removed. They hold the lock of the box. */
static void test_not_under_a_command(void **state)
{
	struct helper_request request;
	struct session work, command;
	char *lock = mem_format("%s/lock", session_mark() + 11);

	(void)state;
	assert_int_equal(mkfifo("pipe", 0600), 0);
	work_start(&work);
	shell_request(&request, "read line <pipe; exit 0");
	helper_request_lock(&request, lock, 0);
	session_start(&command, &request);
	session_begun(&command);
	session_close(&work.in);
	sleep_ms(100);
	assert_int_equal(access(work.answer.directory_path, F_OK), 0);
	let_go("pipe");
	session_end(&command);
	wait_helper(&work);
	assert_int_equal(access(work.answer.directory_path, F_OK), -1);
	session_release(&work);
	session_release(&command);
	free(lock);
}

/* Checks names that look like session directories but are not: a link to a foreign directory, a file, a directory of another user. */
static void test_of_others(void **state)
{
	char *name = mem_format("assay-session-%u-label-", (unsigned)geteuid()), *path;
	struct session s;

	(void)state;
	assert_int_equal(mkdir("victim", 0700), 0);
	scratch_put("victim/file", "precious");
	path = mem_format("%slink", name);
	assert_int_equal(symlink("victim", path), 0);
	free(path);
	path = mem_format("%sfile", name);
	scratch_put(path, "x");
	free(path);
	path = mem_format("%sother", name);
	assert_int_equal(mkdir(path, 0777), 0);
	if (geteuid() == 0)
		assert_int_equal(chown(path, 65534, 65534), 0);
	work_start(&s);
	assert_int_equal(access("victim/file", F_OK), 0);
	assert_int_equal(access(path, F_OK), geteuid() == 0 ? 0 : -1); /* without root, it belongs to the same user */
	session_close(&s.in);
	wait_helper(&s);
	assert_int_equal(access("victim/file", F_OK), 0);
	session_release(&s);
	free(path);
	free(name);
}

#define FAR_50 "/a-department-with-a-long-name/and-groups-and-years"
#define FAR    FAR_50 FAR_50 FAR_50 FAR_50 FAR_50 FAR_50

static void test_refused(void **state)
{
	static const struct {
		const char *where, *label, *part;
	} rows[] = {
		{ "/nowhere/at/all", "label", "cannot make a directory in '/nowhere/at/all': No such file or directory" },
		{ "/nowhere" FAR, "label", "cannot make a directory in '/nowhere" FAR "': No such file or directory" },
		{ "relative", "label", "absolute path" },
		{ "/tmp", "../label", "a label" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct helper_request request;
		struct session s;

		helper_request_directory(&request, rows[i].where, rows[i].label, false);
		session_refused(&s, &request, rows[i].part);
	}
}

int suite_helper_work(void)
{
	const struct CMUnitTest tests[] = {
		SESSION_TEST(test_own_directory), SESSION_TEST(test_every_end),		  SESSION_TEST(test_killed),
		SESSION_TEST(test_removed),	  SESSION_TEST(test_not_under_a_command), SESSION_TEST(test_of_others),
		SESSION_TEST(test_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
