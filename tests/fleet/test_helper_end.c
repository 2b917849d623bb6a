/* Checks that no process of a command outlives the helper, however the helper ends, and that the lock of a box is released then. */
#include "tests/scratch.h"
#include "tests/fleet/helper_session.h"

#include <inttypes.h>
#include <pwd.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>

#define KILLS	20
#define GONE_MS SESSION_PATIENCE_MS /* limit for processes to disappear; none of them ends by itself */

static const char tree[] = "trap '' TERM HUP INT QUIT;"
			   "(setsid sh -c 'trap \"\" TERM HUP; sleep 1000 & sleep 1000; true' &);"
			   "setsid setsid sleep 1000 &"
			   "setsid sh -c 'kill -STOP $$' &"
			   "while :; do sleep 1000; done";
#define TREE_PROCESSES 7

static void start_script(struct session *s, const char *script, size_t processes)
{
	struct helper_request request;

	shell_request(&request, script);
	session_start(s, &request);
	wait_marked(processes);
}

/* Waits until the helper has ended, and stores its wait status. */
static void wait_helper(struct session *s)
{
	int64_t end = now_ms() + GONE_MS;
	pid_t gone;

	while ((gone = waitpid(s->helper, &s->status, WNOHANG)) == 0) {
		if (now_ms() > end)
			fail_msg("the helper is there after %d ms", GONE_MS);
		sleep_ms(2);
	}
	assert_int_equal(gone, s->helper);
}

static void test_hang_up(void **state)
{
	static const struct {
		const char *what, *script;
		size_t processes;
	} rows[] = {
		{ "a tree that ignores signals", tree, TREE_PROCESSES },
		{ "output that nobody reads", "trap '' TERM PIPE; (setsid yes &); yes >&2", 2 },
		{ "it has ended, its output is not read", "head -c 300000 /dev/zero", 0 },
		{ "stopped", "sleep 1000 & kill -STOP $$", 2 },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct session s;

		start_script(&s, rows[i].script, rows[i].processes);
		sleep_ms(100);
		session_close(&s.in);
		none_left(GONE_MS);
		wait_helper(&s);
		if (WEXITSTATUS(s.status) != 1)
			fail_msg("%s: status %d", rows[i].what, s.status);
		while (session_read(&s))
			;
		assert_false(s.answer.ended);
		session_release(&s);
	}
}

/* Checks that the command ends if the controller closes only the end from which it reads. */
static void test_reader_gone(void **state)
{
	struct session s;

	(void)state;
	start_script(&s, "trap '' TERM; sleep 1000 & sleep 1000; true", 3);
	session_begun(&s);
	session_close(&s.out);
	none_left(GONE_MS);
	wait_helper(&s);
	session_release(&s);
}

static void test_signals_of_the_helper(void **state)
{
	static const int signals[] = { SIGTERM, SIGHUP, SIGINT, SIGQUIT, SIGKILL, SIGUSR1 };

	(void)state;
	for (size_t i = 0; i < COUNT(signals); i++) {
		struct session s;

		start_script(&s, tree, TREE_PROCESSES);
		assert_int_equal(kill(s.helper, signals[i]), 0);
		none_left(GONE_MS);
		wait_helper(&s);
		session_release(&s);
	}
}

/* Checks that killing the helper's second process, the worker, leaves no process of the command. */
static void test_worker_killed(void **state)
{
	struct session s;

	(void)state;
	start_script(&s, tree, TREE_PROCESSES);
	assert_int_equal(kill(child_of(s.helper), SIGKILL), 0);
	none_left(GONE_MS);
	wait_helper(&s);
	assert_int_equal(WEXITSTATUS(s.status), 1);
	session_release(&s);
}

/* Checks that a worker that hangs (here: is stopped) holds up neither the end of the command nor the lock. */
static void test_worker_hangs(void **state)
{
	(void)state;
	for (int i = 0; i < 2; i++) {
		struct session s;

		start_script(&s, tree, TREE_PROCESSES);
		kill(child_of(s.helper), SIGSTOP);
		if (i)
			kill(s.helper, SIGTERM);
		else
			session_close(&s.in);
		none_left(GONE_MS);
		wait_helper(&s);
		assert_int_equal(WEXITSTATUS(s.status), 1);
		session_release(&s);
	}
}

/* Kills the helper and its worker at once. The command's first process must end, and so must processes that use its pipes. */
static void test_both_killed(void **state)
{
	struct session s;
	pid_t worker;

	(void)state;
	start_script(&s, "trap '' TERM; while :; do sleep .05; done", 1);
	worker = child_of(s.helper);
	kill(s.helper, SIGSTOP); /* so that the helper cannot clean up before it is killed */
	kill(worker, SIGKILL);
	kill(s.helper, SIGKILL);
	none_left(GONE_MS);
	wait_helper(&s);
	session_release(&s);
}

static void lock_request(struct helper_request *request, const char *script, const char *lock, int64_t wait_ms)
{
	char *path = lock[0] == '/' ? mem_string(lock) : mem_format("%s/%s", session_mark() + 11, lock);

	shell_request(request, script);
	helper_request_text(request, HELPER_LOCK, path);
	helper_request_number(request, HELPER_LOCK_WAIT, wait_ms);
	free(path);
}

/* Returns the number of processes `sleep 1000` in the test's directory. Some have no environment, so that the mark does not find them. */
static size_t sleeping(void)
{
	const char *here = session_mark() + 11;
	DIR *proc = opendir("/proc");
	struct dirent *entry;
	size_t n = 0;

	assert_non_null(proc);
	while ((entry = readdir(proc))) {
		char path[300], directory[4096] = "", words[64] = "";
		int fd;

		snprintf(path, sizeof(path), "/proc/%.12s/cwd", entry->d_name);
		if (readlink(path, directory, sizeof(directory) - 1) < 0 || strcmp(directory, here) != 0)
			continue;
		snprintf(path, sizeof(path), "/proc/%.12s/cmdline", entry->d_name);
		fd = open(path, O_RDONLY | O_CLOEXEC);
		n += fd >= 0 && read(fd, words, sizeof(words)) == 11 && memcmp(words, "sleep\0001000", 11) == 0;
		if (fd >= 0)
			close(fd);
	}
	closedir(proc);
	return n;
}

static void wait_sleeping(size_t n)
{
	int64_t end = now_ms() + SESSION_PATIENCE_MS;

	while (sleeping() != n) {
		if (now_ms() > end)
			fail_msg("%zu processes sleep, not %zu", sleeping(), n);
		sleep_ms(5);
	}
}

struct killed_row {
	const char *what, *script;
	bool holds; /* whether the children hold the lock as long as they live */
};

/* Kills a process that is not a child of the test, and waits until it has closed its files. kill() itself does not wait. */
static void kill_whole(pid_t process)
{
	struct pollfd ended = { .fd = pidfd_open(process, 0), .events = POLLIN };

	assert_true(ended.fd >= 0);
	assert_int_equal(kill(process, SIGKILL), 0);
	assert_int_equal(poll(&ended, 1, SESSION_PATIENCE_MS), 1);
	close(ended.fd);
}

/* Reports whether a helper of `owner` (NULL: this test) sweeps no processes, because their helper is alive or has another owner. */
static bool ends_nothing(const char *owner)
{
	struct helper_request request;
	struct session s;
	bool nothing;

	session_owner = owner;
	shell_request(&request, "true");
	session_owner = NULL;
	session_run(&s, &request);
	assert_null(s.answer.refusal);
	nothing = s.answer.result.swept == 0 && sleeping() == 2;
	session_release(&s);
	return nothing;
}

/* Returns false if another helper has ended the processes. It may be one of an older build that runs as root, as this test does. */
static bool kill_both(const struct killed_row *row)
{
	struct helper_request request;
	struct session first, second;
	bool held, there;
	pid_t worker;
	int fd;

	lock_request(&request, row->script, "lock", 0);
	session_start(&first, &request);
	wait_sleeping(2);
	there = ends_nothing(NULL); /* the first helper is alive */
	worker = child_of(first.helper);
	kill(first.helper, SIGSTOP);
	kill_whole(worker); /* the worker holds the lock, too */
	kill(first.helper, SIGKILL);
	wait_helper(&first);
	there = ends_nothing("another laboratory") && there;
	fd = open(".", O_RDONLY | O_CLOEXEC);
	held = flock(fd, LOCK_EX | LOCK_NB) != 0;
	close(fd);
	if (there && held != row->holds)
		fail_msg("%s: the lock is%s held", row->what, held ? "" : " not");
	lock_request(&request, "true", "lock", 100000);
	session_run(&second, &request);
	assert_null(second.answer.refusal);
	assert_int_equal(sleeping(), 0);
	none_left(0);
	there = there && second.answer.result.swept >= 2;
	if (there && !strstr(second.answer.result_text, "\nswept_names sleep (") && !strstr(second.answer.result_text, ", sleep ("))
		fail_msg("%s: not named in '%s'", row->what, second.answer.result_text);
	session_release(&first);
	session_release(&second);
	return there;
}

/* Kills the helper and its worker at once; their children do not use its pipes. The next session must end them before it gets the lock. */
static void test_both_killed_with_children(void **state)
{
	static const struct killed_row rows[] = {
		{ "grandchildren", "(sleep 1000 & sleep 1000 & wait) & while :; do sleep 1; done", true },
		{ "in sessions of their own", "(setsid sleep 1000 & setsid setsid sleep 1000 &) ; while :; do sleep 1; done", true },
		{ "that close everything",
		  "exec bash -c 'for f in /proc/$$/fd/*; do n=${f##*/}; [ $n -gt 2 ] && eval \"exec $n>&-\"; done; "
		  "(sleep 1000 & sleep 1000 & wait) & while :; do sleep 1; done'",
		  false },
		{ "without an environment", "(env -i setsid sleep 1000 & env -i sleep 1000 &); while :; do sleep 1; done", true },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		int tries = 0;

		while (!kill_both(&rows[i])) {
			if (++tries == KILLS)
				fail_msg("%s: others ended them, or it is not said that they were ended", rows[i].what);
		}
	}
}

/* Checks that unread output stays in the command's pipe and does not make the helper grow. */
static void test_back_pressure(void **state)
{
	struct session s;
	char path[64], *status, *at;
	pid_t worker;

	(void)state;
	start_script(&s, "exec yes", 1);
	worker = child_of(s.helper);
	sleep_ms(300);
	snprintf(path, sizeof(path), "/proc/%d/status", (int)worker);
	status = scratch_text(path);
	at = strstr(status, "VmHWM:");
	assert_non_null(at);
	assert_in_range(strtol(at + 6, NULL, 10), 1, 4096); /* the limit is 4 MiB, in KiB */
	free(status);
	session_close(&s.in);
	none_left(GONE_MS);
	wait_helper(&s);
	session_release(&s);
}

/* Returns the number of processes in the kernel's queue for the lock of this file. */
static size_t queued(const char *lock)
{
	FILE *file = fopen("/proc/locks", "re");
	char line[200], inode[40];
	struct stat info;
	size_t n = 0;

	assert_non_null(file);
	assert_int_equal(stat(lock, &info), 0);
	snprintf(inode, sizeof(inode), ":%llu 0 EOF", (unsigned long long)info.st_ino);
	while (fgets(line, sizeof(line), file))
		n += strstr(line, "-> FLOCK") && strstr(line, inode);
	fclose(file);
	return n;
}

/* Waits until `n` processes are in the kernel's queue. Processes that only poll for the lock are not in the queue. */
static void wait_queued(const char *lock, size_t n)
{
	int64_t end = now_ms() + SESSION_PATIENCE_MS;

	while (queued(lock) != n) {
		if (now_ms() > end)
			fail_msg("%zu wait for the lock, not %zu", queued(lock), n);
		sleep_ms(2);
	}
}

/* Waits until the helper has written `bytes` bytes, and does not read them. */
static void wait_said(const struct session *s, size_t bytes)
{
	int64_t end = now_ms() + SESSION_PATIENCE_MS;
	int there = 0;

	while (ioctl(s->out, FIONREAD, &there) == 0 && (size_t)there < bytes) {
		if (now_ms() > end)
			fail_msg("the helper said %d bytes, not %zu", there, bytes);
		sleep_ms(5);
	}
}

static void test_lock_excludes(void **state)
{
	struct helper_request request;
	struct session first, second, third;

	(void)state;
	assert_int_equal(mkfifo("pipe", 0600), 0);
	lock_request(&request, "read line <pipe; exit 0", "lock", 0);
	session_start(&first, &request);
	session_begun(&first);
	lock_request(&request, "touch ran", "lock", 100);
	assert_int_equal(session_refused(&second, &request, "busy: "), HELPER_CODE_BUSY);
	assert_int_equal(access("ran", F_OK), -1);
	lock_request(&request, "touch ran", "lock", 100000);
	session_start(&third, &request);
	wait_queued(".", 1);
	wait_said(&third, HELPER_MAGIC_BYTES + HELPER_FRAME_HEAD); /* the frame that says that it waits */
	sleep_ms(60);
	assert_int_equal(access("ran", F_OK), -1);
	let_go("pipe");
	session_end(&third);
	assert_int_equal(access("ran", F_OK), 0);
	assert_true(third.answer.result.lock_wait_ns >= 50000000);
	session_end(&first);
	assert_int_equal(first.answer.result.exit_status, 0);
	session_release(&first);
	session_release(&third);
}

/* Checks a helper that waits for the lock: if the controller hangs up or the helper is killed, it ends without running the command. */
static void test_lock_hang_up(void **state)
{
	struct helper_request request;
	struct session first, second, third;

	(void)state;
	lock_request(&request, "sleep 1000", "lock", 0);
	session_start(&first, &request);
	session_begun(&first);
	lock_request(&request, "touch ran", "lock", 100000);
	session_start(&second, &request);
	lock_request(&request, "touch ran", "lock", 100000);
	session_start(&third, &request);
	wait_queued(".", 2);
	session_close(&second.in);
	wait_helper(&second);
	wait_queued(".", 1);
	kill(third.helper, SIGKILL);
	wait_helper(&third);
	wait_queued(".", 0);
	session_close(&first.in);
	wait_helper(&first);
	none_left(0);
	assert_int_equal(access("ran", F_OK), -1);
	session_release(&first);
	session_release(&second);
	session_release(&third);
}

/* Checks that the lock becomes free exactly when all processes of the command are gone, whichever process is killed. */
static void test_lock_dies(void **state)
{
	(void)state;
	for (int worker = 0; worker < 2; worker++) {
		struct helper_request request;
		struct session first, second;

		lock_request(&request, tree, "lock", 0);
		helper_request_text(&request, HELPER_ENVIRON, "FIRST=1");
		session_start(&first, &request);
		wait_marked(TREE_PROCESSES);
		assert_int_equal(kill(worker ? child_of(first.helper) : first.helper, SIGKILL), 0);
		lock_request(&request, "grep -lz '^FIRST=1$' /proc/[0-9]*/environ 2>/dev/null | wc -l", "lock", 5000);
		session_run(&second, &request);
		assert_null(second.answer.refusal);
		check_spool(&second.answer.out, "0\n", 2); /* the number of first processes when the second helper got the lock */
		wait_helper(&first);
		session_release(&first);
		session_release(&second);
	}
}

/* Checks that the box is free after the command's end even if its output is unread: more than pipes hold, less than the helper buffers. */
static void test_lock_is_early_free(void **state)
{
	int64_t end = now_ms() + SESSION_PATIENCE_MS;
	struct helper_request request;
	struct session s;
	int fd;

	(void)state;
	lock_request(&request, "head -c 1000000 /dev/zero; touch ran", "lock", 0);
	session_start(&s, &request);
	while (access("ran", F_OK) && now_ms() < end)
		sleep_ms(2);
	fd = open("lock", O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	while (flock(fd, LOCK_EX | LOCK_NB)) {
		if (now_ms() > end)
			fail_msg("the lock is held as long as the output is not read");
		sleep_ms(2);
	}
	close(fd);
	session_end(&s);
	assert_int_equal(s.answer.out.size, 1000000);
	session_release(&s);
}

/* Checks that the lock stays held if its file is removed (as by logind's RemoveIPC) or replaced, for waiting and for later helpers. */
static void test_lock_removed(void **state)
{
	static const char *const others[] = { "true", "rm -f lock", "rm -f lock; touch lock", "mv lock old; ln -s old lock",
					      "mkdir -p lock" };
	struct helper_request request;
	struct session first, second, third;

	(void)state;
	assert_int_equal(mkfifo("pipe", 0600), 0);
	lock_request(&request, "touch running; read line <pipe; rm running", "lock", 0);
	session_start(&first, &request);
	while (access("running", F_OK))
		sleep_ms(2);
	lock_request(&request, "[ -e running ] && echo overlap", "lock", 100000);
	session_start(&second, &request);
	wait_queued(".", 1);
	for (size_t i = 0; i < COUNT(others); i++) {
		struct helper_request other;

		shell_request(&other, others[i]);
		session_run(&third, &other);
		session_release(&third);
		lock_request(&other, "[ -e running ] && echo overlap", "lock", 0);
		assert_int_equal(session_refused(&third, &other, "busy"), HELPER_CODE_BUSY);
	}
	let_go("pipe");
	session_end(&first);
	session_end(&second);
	assert_int_equal(second.answer.result.exit_status, 1); /* the first command had ended */
	assert_int_equal(second.answer.out.size, 0);
	session_release(&first);
	session_release(&second);
}

/* Checks that a program that locks only the file excludes helpers, and that helpers exclude it. */
static void test_lock_of_file(void **state)
{
	struct helper_request request;
	struct session s;
	int fd;

	(void)state;
	fd = open("lock", O_RDONLY | O_CREAT | O_CLOEXEC, 0666);
	assert_int_equal(flock(fd, LOCK_EX | LOCK_NB), 0);
	lock_request(&request, "touch ran", "lock", 0);
	assert_int_equal(session_refused(&s, &request, "busy"), HELPER_CODE_BUSY);
	assert_int_equal(flock(fd, LOCK_UN), 0);
	lock_request(&request, "sleep 1000", "lock", 0);
	session_start(&s, &request);
	session_begun(&s);
	assert_int_equal(flock(fd, LOCK_EX | LOCK_NB), -1);
	session_close(&s.in);
	wait_helper(&s);
	session_release(&s);
	close(fd);
}

/* Checks that the command runs whatever other users put in the place of the lock file, and that their files do not change. */
static void test_lock_file(void **state)
{
	static const char *const there[] = { "true",	       "ln -s victim lock",	   "mkfifo lock", "mkdir lock",
					     "ln victim lock", "touch lock; chmod 0 lock", "yes >lock &" };
	struct helper_request request;
	struct session s;
	struct stat info;

	(void)state;
	scratch_put("victim", "precious");
	for (size_t i = 0; i < COUNT(there); i++) {
		char *script = mem_format("rm -rf lock; %s", there[i]), *text;

		shell_request(&request, script);
		session_run(&s, &request);
		session_release(&s);
		lock_request(&request, "true", "lock", 0);
		umask(077);
		session_run(&s, &request);
		umask(022);
		if (s.answer.refusal)
			fail_msg("%s: %s", there[i], s.answer.refusal);
		session_release(&s);
		if (i == 0) {
			assert_int_equal(stat("lock", &info), 0);
			assert_int_equal(info.st_mode & 07777, 0666);
		}
		text = scratch_text("victim");
		assert_string_equal(text, "precious");
		free(text);
		free(script);
	}
	lock_request(&request, "true", "nowhere/lock", 0);
	session_refused(&s, &request, "No such file or directory");
	shell_request(&request, "true");
	helper_request_text(&request, HELPER_LOCK, "lock");
	session_refused(&s, &request, "not absolute");
}

/* Checks that a waiting helper reports the holder of the lock, since when it has held the lock, and its time limit. */
static void test_lock_says_who(void **state)
{
	struct helper_request request;
	struct session first, second;
	char *lock = mem_format("%s/lock", session_mark() + 11), *text;

	(void)state;
	assert_int_equal(mkfifo("pipe", 0600), 0);
	shell_request(&request, "read line <pipe; exit 0");
	helper_request_lock(&request, lock, 0);
	helper_request_number(&request, HELPER_TIMEOUT, 600000);
	session_start(&first, &request);
	session_begun(&first);
	lock_request(&request, "true", "lock", 100000);
	session_start(&second, &request);
	while (!second.answer.waiting)
		assert_true(session_read(&second));
	text = mem_format(", process %d", (int)getpid());
	assert_non_null(second.answer.holder);
	assert_non_null(strstr(second.answer.holder, text));
	assert_in_range(second.answer.held_ms, 0, SESSION_PATIENCE_MS);
	assert_in_range(second.answer.limit_ms, 600000, 700000);
	free(text);
	lock_request(&request, "true", "lock", 0);
	assert_non_null(strstr(second.answer.holder, " (process "));
	text = mem_format("%s holds the lock", second.answer.holder);
	session_close(&second.in);
	wait_helper(&second);
	session_release(&second);
	session_refused(&second, &request, text);
	let_go("pipe");
	session_end(&first);
	session_release(&first);
	free(text);
	text = scratch_text("lock");
	assert_non_null(strstr(text, "\nlimit_ms 610000\n")); /* the text stays until the next holder writes its own */
	free(text);
	free(lock);
}

/* Checks that a helper gives up waiting if a stopped helper has exceeded its limit. The lock file here says that it started at boot. */
static void test_lock_of_a_stopped_helper(void **state)
{
	struct helper_request request;
	struct session first, second;
	pid_t worker;

	(void)state;
	lock_request(&request, "sleep 1000", "lock", 0);
	helper_request_number(&request, HELPER_TIMEOUT, 100);
	session_start(&first, &request);
	session_begun(&first);
	worker = child_of(first.helper);
	kill(first.helper, SIGSTOP);
	kill(worker, SIGSTOP);
	scratch_put("lock", "since_ms 0\nlimit_ms 10100\nholder alice@ctl, process 1\n");
	if (now_ms() < 71000)
		print_message("this machine has been up for a minute only: not tested\n");
	else {
		lock_request(&request, "true", "lock", 100000);
		assert_int_equal(session_refused(&second, &request, "alice@ctl, process 1 (process "), HELPER_CODE_BUSY);
	}
	kill(worker, SIGCONT);
	kill(first.helper, SIGCONT);
	session_end(&first);
	assert_int_equal(first.answer.result.timed_out, 1);
	session_release(&first);
	none_left(0);
}

/* Starts a stopped process that holds flock(2) on this file, as another user if possible. */
static pid_t start_stopped(const char *file)
{
	pid_t child = fork();
	int status;

	if (child == 0) {
		int fd = open(file, O_RDONLY);

		if (fd < 0 || flock(fd, LOCK_EX) || (geteuid() == 0 && setuid(65534)) || prctl(PR_SET_PDEATHSIG, SIGKILL))
			_exit(99);
		execl("/bin/sh", "sh", "-c", "kill -STOP $$; exit", "that of\nthe \033[31mtest", (char *)NULL);
		_exit(98);
	}
	assert_int_equal(waitpid(child, &status, WUNTRACED), child);
	assert_true(WIFSTOPPED(status));
	return child;
}

/* Checks that a stopped process that holds the lock, without an entry in the file, is reported: its id, user and command, and commands
 * that help. The helper does not wait long for it. */
static void test_lock_of_a_stopped_process(void **state)
{
	const struct passwd *user = getpwuid(geteuid() == 0 ? 65534 : geteuid());
	struct helper_request request;
	struct session second;
	pid_t holder;
	char *text;

	(void)state;
	for (int i = 0; i < 2; i++) {
		scratch_put("lock", i ? "since_ms 0\nlimit_ms -1\nholder alice@ctl, process 1\n" : "");
		holder = start_stopped(i ? "lock" : ".");
		text = mem_format("%s (process %d there, of user %u (%s): 'sh -c kill -STOP $$; exit that of the ?[31mtest', stopped: "
				  "'kill -CONT %d' continues it, 'kill -KILL %d' ends it) holds the lock of this physical host",
				  i ? "alice@ctl, process 1" : "another program", (int)holder,
				  geteuid() == 0 ? 65534u : (unsigned)geteuid(), user ? user->pw_name : "?", (int)holder, (int)holder);
		lock_request(&request, "true", "lock", 0);
		assert_int_equal(session_refused(&second, &request, text), HELPER_CODE_BUSY);
		lock_request(&request, "true", "lock", 600000); /* longer than this test may take */
		session_start(&second, &request);
		while (!second.answer.waiting)
			assert_true(session_read(&second));
		assert_non_null(strstr(second.answer.holder, "stopped: 'kill -CONT "));
		assert_true(second.answer.held_ms >= 0);
		if (i) { /* the holder continues */
			kill(holder, SIGCONT);
			session_end(&second);
			assert_int_equal(second.answer.result.exit_status, 0);
		} else {
			session_end(&second);
			assert_non_null(second.answer.refusal);
			assert_non_null(strstr(second.answer.refusal, text));
			kill(holder, SIGKILL);
		}
		waitpid(holder, NULL, 0);
		session_release(&second);
		free(text);
	}
}

/* Checks that a holder that had to wait for the lock is named, too: the kernel records the process that requested the lock. */
static void test_lock_after_waiting(void **state)
{
	struct helper_request request;
	struct session first, second;
	char *text;
	int fd;

	(void)state;
	fd = open(".", O_RDONLY | O_CLOEXEC);
	assert_int_equal(flock(fd, LOCK_EX), 0);
	lock_request(&request, "sleep 1000", "lock", 100000);
	session_start(&first, &request);
	while (!first.answer.waiting)
		assert_true(session_read(&first));
	close(fd);
	session_begun(&first);
	text = mem_format("(process %d there, of user ", (int)first.helper);
	lock_request(&request, "true", "lock", 0);
	session_refused(&second, &request, text);
	session_close(&first.in);
	wait_helper(&first);
	session_release(&first);
	free(text);
}

/* Checks that entries of any user in the lock file are limited: a time limit above one hour counts as one hour. */
static void test_lock_of_a_liar(void **state)
{
	struct helper_request request;
	struct session second;
	int fd;

	(void)state;
	fd = open(".", O_RDONLY | O_CLOEXEC);
	assert_int_equal(flock(fd, LOCK_EX), 0);
	for (int i = 0; i < 2; i++) {
		char *text = mem_format("since_ms %lld\nlimit_ms 86400000\nholder bob@ctl, process 2\n", i ? 0LL : (long long)now_ms());

		if (i && now_ms() < 3671000) {
			print_message("this machine has been up for an hour only: not tested\n");
			free(text);
			break;
		}
		scratch_put("lock", text);
		free(text);
		lock_request(&request, "true", "lock", 100000);
		if (i) {
			assert_int_equal(session_refused(&second, &request, "for longer than allowed"), HELPER_CODE_BUSY);
			continue;
		}
		session_start(&second, &request);
		while (!second.answer.waiting)
			assert_true(session_read(&second));
		assert_int_equal(second.answer.limit_ms, 3600000);
		session_close(&second.in);
		wait_helper(&second);
		session_release(&second);
	}
	close(fd);
}

/* Checks that an old entry of a previous holder does not end the wait: the current holder will write its own entry soon. */
static void test_lock_of_a_new_helper(void **state)
{
	struct helper_request request;
	struct session first, second;

	(void)state;
	assert_int_equal(mkfifo("pipe", 0600), 0);
	lock_request(&request, "read line <pipe; exit 0", "lock", 0);
	session_start(&first, &request);
	session_begun(&first);
	scratch_put("lock", "since_ms 0\nlimit_ms 10100\nholder alice@ctl, process 1\n");
	lock_request(&request, "true", "lock", 100000);
	session_start(&second, &request);
	while (!second.answer.waiting)
		assert_true(session_read(&second));
	scratch_put("lock", "since_ms 1\nlimit_ms 999999999\nholder bob@ctl, process 2\n");
	while (!second.answer.ended && !(second.answer.holder && strstr(second.answer.holder, "bob")))
		assert_true(session_read(&second));
	assert_null(second.answer.refusal);
	let_go("pipe");
	session_end(&first);
	session_end(&second);
	assert_int_equal(second.answer.result.exit_status, 0);
	session_release(&first);
	session_release(&second);
}

/* Checks that two users share the lock of a box, whichever of them comes first. */
static void test_lock_of_another_user(void **state)
{
	static const uid_t users[] = { 65534, 65533 };
	struct helper_request request;
	struct session first, second;

	(void)state;
	if (geteuid() != 0) {
		print_message("not root: only one user is tested\n");
		return;
	}
	assert_int_equal(chmod(".", 01777), 0);
	for (int i = 0; i < 2; i++) {
		unlink("lock");
		lock_request(&request, "sleep 1000", "lock", 0);
		session_start_as(&first, &request, users[i]);
		session_begun(&first);
		lock_request(&request, "true", "lock", 50);
		session_start_as(&second, &request, users[1 - i]);
		session_end(&second);
		assert_non_null(second.answer.refusal);
		assert_non_null(strstr(second.answer.refusal, "busy"));
		session_release(&second);
		session_close(&first.in);
		none_left(GONE_MS);
		wait_helper(&first);
		session_release(&first);
		lock_request(&request, "id -u", "lock", 0);
		session_start_as(&second, &request, users[1 - i]);
		session_end(&second);
		check_spool(&second.answer.out, i ? "65534\n" : "65533\n", 6);
		session_release(&second);
	}
}

/* Checks that a lock file of another user excludes, too, readable or not. Control characters in it are replaced. */
static void test_lock_file_of_another_user(void **state)
{
	static const uid_t users[] = { 65534, 65533 };
	struct helper_request request;
	struct session first, second;
	struct stat info;

	(void)state;
	if (geteuid() != 0) {
		print_message("not root: only one user is tested\n");
		return;
	}
	assert_int_equal(chmod(".", 01777), 0);
	for (int i = 0; i < 2; i++) {
		unlink("lock");
		scratch_put("lock", "since_ms 0\nlimit_ms 999999999\nholder \033[31mmallory\n");
		assert_int_equal(chown("lock", users[1], users[1]) | chmod("lock", i == 0 ? 0600 : 0644), 0);
		lock_request(&request, "sleep 1000", "lock", 0);
		session_start_as(&first, &request, users[0]);
		session_begun(&first);
		lock_request(&request, "true", "lock", 0);
		session_start_as(&second, &request, users[i]);
		session_end(&second);
		assert_non_null(second.answer.refusal);
		assert_non_null(strstr(second.answer.refusal, i == 0 ? "another program (process " : "?[31mmallory (process "));
		session_release(&second);
		session_close(&first.in);
		wait_helper(&first);
		session_release(&first);
		assert_int_equal(stat("lock", &info), 0);
		assert_int_equal(info.st_uid, users[1]);
	}
}

/* Frames as string literals: kind, length, payload. */
#define HELLO "H\0\0\0\0011"
#define RUN   "s\0\0\0\015operation run"
#define TOUCH                                                                                                                              \
	"s\0\0\0\016argument touch"                                                                                                        \
	"s\0\0\0\014argument ran"
#define GO "G\0\0\0\0"
#define ROW(what, bytes, part)                                                                                                             \
	{                                                                                                                                  \
		what, bytes, sizeof(bytes) - 1, part                                                                                       \
	}

static void test_malformed(void **state)
{
	static const struct {
		const char *what, *bytes;
		size_t n;
		const char *part;
	} rows[] = {
		ROW("nothing", "", "ends in the middle"),
		ROW("no end", HELLO RUN TOUCH, "ends in the middle"),
		ROW("cut in a frame", HELLO RUN TOUCH "G\0\0", "ends in the middle"),
		ROW("no greeting", RUN TOUCH GO, "protocol's version"),
		ROW("another version", "H\0\0\0\0012" RUN TOUCH GO, "version 1"),
		ROW("too long a frame", HELLO RUN TOUCH "a\0\020\0\1", "more than"),
		ROW("four gigabytes", HELLO RUN TOUCH "a\377\377\377\377", "more than"),
		ROW("unknown operation", HELLO "s\0\0\0\016operation boom" TOUCH GO, "unknown operation"),
		ROW("two operations", HELLO RUN RUN TOUCH GO, "two operations"),
		ROW("no operation", HELLO TOUCH GO, "no operation"),
		ROW("no command", HELLO RUN GO, "no command"),
		ROW("empty command", HELLO RUN "s\0\0\0\011argument " GO, "no command"),
		ROW("unknown frame", HELLO RUN TOUCH "?\0\0\0\0" GO, "unknown frame"),
		ROW("NUL in an argument", HELLO RUN TOUCH "s\0\0\0\013argument x\0" GO, "NUL"),
		ROW("variable without a name", HELLO RUN TOUCH "s\0\0\0\012environ =x" GO, "NAME=value"),
		ROW("variable without a value", HELLO RUN TOUCH "s\0\0\0\011environ x" GO, "NAME=value"),
		ROW("time with a sign", HELLO RUN TOUCH "s\0\0\0\012timeout -1" GO, "must be a number"),
		ROW("time too large", HELLO RUN TOUCH "s\0\0\0\034timeout 99999999999999999999" GO, "must be a number"),
		ROW("empty time", HELLO RUN TOUCH "s\0\0\0\012interrupt " GO, "must be a number"),
		ROW("unknown limit", HELLO RUN TOUCH "s\0\0\0\005foo 1" GO, "unknown setting 'foo'"),
		ROW("limit without a number", HELLO RUN TOUCH "s\0\0\0\003as " GO, "must be a number"),
		ROW("a setting without a value", HELLO RUN TOUCH "s\0\0\0\006cgroup" GO, "unknown setting 'cgroup'"),
		ROW("a flag that is none", HELLO RUN TOUCH "s\0\0\0\010cgroup 0" GO,
		    "'cgroup' of the request must be a number from 1 to 1"),
		ROW("limit of a group of nothing", HELLO RUN TOUCH "s\0\0\0\006pids 0" GO, "must be a number"),
		ROW("limit of a group without a number", HELLO RUN TOUCH "s\0\0\0\007memory " GO, "must be a number"),
		ROW("text after the input", HELLO RUN "i\0\0\0\1x" TOUCH GO, "may follow its input"),
		ROW("input of nothing", HELLO "i\0\0\0\1x" RUN TOUCH GO, "input comes after"),
		ROW("put nowhere", HELLO "s\0\0\0\015operation put" GO, "one path"),
		ROW("input of get",
		    HELLO "s\0\0\0\015operation get"
			  "s\0\0\0\010path ran"
			  "i\0\0\0\1x" GO,
		    "input comes after"),
		ROW("mode",
		    HELLO "s\0\0\0\015operation put"
			  "s\0\0\0\010path ran"
			  "s\0\0\0\011mode 4096" GO,
		    "must be a number from 0 to 4095"),
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct assay_error err;
		struct session s;

		session_spawn(&s, 0);
		session_write(&s, rows[i].bytes, rows[i].n);
		session_close(&s.in);
		session_end(&s);
		if (helper_answer_finish(&s.answer, &err))
			fail_msg("%s: %s", rows[i].what, err.text);
		if (!s.answer.refusal || !strstr(s.answer.refusal, rows[i].part))
			fail_msg("%s: '%s' is not in '%s'", rows[i].what, rows[i].part, s.answer.refusal ? s.answer.refusal : "-");
		assert_int_equal(WEXITSTATUS(s.status), 1);
		assert_int_equal(access("ran", F_OK), -1);
		session_release(&s);
	}
}

/* Checks a request that is too large as a whole, although each of its frames has a valid size. */
static void test_oversized(void **state)
{
	const size_t piece = HELPER_FRAME_BYTES_MAX;
	char *bytes = mem_new(piece + HELPER_FRAME_HEAD, 1);
	struct session s;

	(void)state;
	memset(bytes, 'x', piece + HELPER_FRAME_HEAD);
	memcpy(bytes, "s\0\020\0\0argument ", HELPER_FRAME_HEAD + strlen("argument "));
	session_spawn(&s, 0);
	session_write(&s, HELLO RUN TOUCH, sizeof(HELLO RUN TOUCH) - 1);
	for (int i = 0; i < 9; i++)
		session_write(&s, bytes, piece + HELPER_FRAME_HEAD);
	session_end(&s);
	assert_non_null(s.answer.refusal);
	assert_non_null(strstr(s.answer.refusal, "bytes"));
	session_release(&s);
	free(bytes);
}

int suite_helper_end(void)
{
	const struct CMUnitTest tests[] = {
		SESSION_TEST(test_hang_up),
		SESSION_TEST(test_reader_gone),
		SESSION_TEST(test_signals_of_the_helper),
		SESSION_TEST(test_worker_killed),
		SESSION_TEST(test_worker_hangs),
		SESSION_TEST(test_both_killed),
		SESSION_TEST(test_both_killed_with_children),
		SESSION_TEST(test_back_pressure),
		SESSION_TEST(test_lock_excludes),
		SESSION_TEST(test_lock_hang_up),
		SESSION_TEST(test_lock_dies),
		SESSION_TEST(test_lock_is_early_free),
		SESSION_TEST(test_lock_removed),
		SESSION_TEST(test_lock_of_file),
		SESSION_TEST(test_lock_file),
		SESSION_TEST(test_lock_says_who),
		SESSION_TEST(test_lock_of_a_stopped_helper),
		SESSION_TEST(test_lock_of_a_stopped_process),
		SESSION_TEST(test_lock_after_waiting),
		SESSION_TEST(test_lock_of_a_liar),
		SESSION_TEST(test_lock_of_a_new_helper),
		SESSION_TEST(test_lock_of_another_user),
		SESSION_TEST(test_lock_file_of_another_user),
		SESSION_TEST(test_malformed),
		SESSION_TEST(test_oversized),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
