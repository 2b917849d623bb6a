/* Tests how the helper runs commands: their input, their output and how they end. */
#include "tests/scratch.h"
#include "tests/fleet/helper_session.h"

#include <inttypes.h>
#include <math.h>
#include <sys/prctl.h>
#include <sys/wait.h>

static void test_streams(void **state)
{
	struct helper_request request;
	struct session s;

	(void)state;
	shell_request(&request, "printf 'a\\000b\\377'; printf 'e\\000' >&2; printf c; exit 3");
	session_run(&s, &request);
	check_spool(&s.answer.out, "a\0b\377c", 5);
	check_spool(&s.answer.err, "e", 2);
	assert_int_equal(s.answer.result.exit_status, 3);
	assert_int_equal(s.answer.result.signal, -1);
	assert_int_equal(s.answer.result.leftovers, 0);
	assert_int_equal(s.answer.result.timed_out, 0);
	session_release(&s);
}

/* Checks that large output arrives completely while the two streams alternate. */
static void test_much_output(void **state)
{
	struct helper_request request;
	struct session s;

	(void)state;
	shell_request(&request, "for i in 1 2 3 4; do head -c 3000000 /dev/zero; head -c 1000001 /dev/zero >&2; done");
	session_run(&s, &request);
	assert_int_equal(s.answer.out.size, 12000000);
	assert_int_equal(s.answer.err.size, 4000004);
	session_release(&s);
}

static void test_signal(void **state)
{
	struct helper_request request;
	struct session s;

	(void)state;
	shell_request(&request, "kill -KILL $$");
	session_run(&s, &request);
	assert_int_equal(s.answer.result.signal, SIGKILL);
	assert_int_equal(s.answer.result.exit_status, -1);
	session_release(&s);
}

static void test_arguments(void **state)
{
	static const char *const words[] = { "a b", "$(touch x)", "`touch x`", "'", "\"", "", "*", ";", "&", "\n", "\\", "\303\251", "-n" };
	struct helper_request request;
	struct buf expected = BUF_INIT;

	(void)state;
	helper_request_init(&request, "run");
	helper_request_text(&request, HELPER_ARGUMENT, "printf"); /* found in PATH */
	helper_request_text(&request, HELPER_ARGUMENT, "[%s]");
	for (size_t i = 0; i < COUNT(words); i++) {
		helper_request_text(&request, HELPER_ARGUMENT, words[i]);
		buf_format(&expected, "[%s]", words[i]);
	}
	check_output(&request, expected.bytes);
	assert_int_equal(access("x", F_OK), -1);
	buf_release(&expected);
}

static void test_surroundings(void **state)
{
	struct helper_request request;

	(void)state;
	assert_int_equal(mkdir("sub dir", 0755), 0);
	setenv("ASSAY_KEPT", "kept", 1);
	shell_request(&request, "echo \"$A|$ASSAY_KEPT|$B|${PWD##*/}\"");
	helper_request_text(&request, HELPER_ENVIRON, "A=x y=$z");
	helper_request_text(&request, HELPER_ENVIRON, "B=");
	helper_request_text(&request, HELPER_DIRECTORY, "sub dir");
	check_output(&request, "x y=$z|kept||sub dir\n");
}

/* Checks joined variables such as LD_PRELOAD: values of a run come before those of the host, and the last one joined comes first. */
static void test_joined(void **state)
{
	struct helper_request request;

	(void)state;
	setenv("ASSAY_HOST", "host", 1);
	setenv("ASSAY_EMPTY", "", 1);
	shell_request(&request, "echo \"$ASSAY_HOST|$ASSAY_EMPTY|$ASSAY_NEW|$ASSAY_CLEARED\"");
	helper_request_text(&request, HELPER_ENVIRON_PREPEND, "ASSAY_HOST=a:b");
	helper_request_text(&request, HELPER_ENVIRON_PREPEND, "ASSAY_HOST=");
	helper_request_text(&request, HELPER_ENVIRON_PREPEND, "ASSAY_HOST=c");
	helper_request_text(&request, HELPER_ENVIRON_PREPEND, "ASSAY_EMPTY=d");
	helper_request_text(&request, HELPER_ENVIRON_PREPEND, "ASSAY_NEW=e");
	helper_request_text(&request, HELPER_ENVIRON_PREPEND, "ASSAY_CLEARED=f");
	helper_request_text(&request, HELPER_ENVIRON, "ASSAY_CLEARED=");
	check_output(&request, "c:a:b:host|d|e|f\n");
	unsetenv("ASSAY_HOST");
	unsetenv("ASSAY_EMPTY");
	shell_request(&request, "echo \"$A|$LD_PRELOAD\"");
	helper_request_variable(&request, "A=LD_PRELOAD=x");
	helper_request_variable(&request, "LD_PRELOAD=libc.so.6");
	helper_request_variable(&request, "LD_PRELOAD=libm.so.6");
	check_output(&request, "LD_PRELOAD=x|libm.so.6:libc.so.6\n");
	shell_request(&request, "echo \"${ASAN_OPTIONS%%:*}\""); /* else programs with the address sanitizer would not start */
	helper_request_variable(&request, "LD_PRELOAD=libc.so.6");
	check_output(&request, "verify_asan_link_order=0\n");
}

/* Checks that the command has its own session, no terminal, three descriptors, and default signals, also with a lock and an input. */
static void test_nothing_inherited(void **state)
{
	struct helper_request request;
	char *lock = mem_format("%s/lock", (char *)*state);

	shell_request(&request, "for i in 3 4 5 6 7 8 9 10 11 12 13 14 15 16; do [ -e /proc/self/fd/$i ] && echo fd $i; done;"
				"read -r _ _ _ _ group session tty _ </proc/self/stat;"
				"[ $group = $$ ] && [ $session = $$ ] && echo own $tty;"
				"grep -E '^Sig(Blk|Ign)' /proc/self/status");
	helper_request_text(&request, HELPER_LOCK, lock);
	helper_request_input(&request, "x", 1);
	signal(SIGUSR1, SIG_IGN);
	check_output(&request, "own 0\nSigBlk:\t0000000000000000\nSigIgn:\t0000000000000000\n");
	signal(SIGUSR1, SIG_DFL);
	free(lock);
}

static void test_input(void **state)
{
	const size_t n = 3 * HELPER_FRAME_BYTES_MAX + 17;
	struct helper_request request;
	char *bytes = mem_new(n, 1);
	struct session s;

	(void)state;
	for (size_t i = 0; i < n; i++)
		bytes[i] = (char)(i * 7 >> 3);
	shell_request(&request, "cat");
	helper_request_input(&request, bytes, n);
	session_run(&s, &request);
	check_spool(&s.answer.out, bytes, n);
	session_release(&s);
	free(bytes);

	shell_request(&request, "cat; readlink /proc/self/fd/0");
	check_output(&request, "/dev/null\n");
}

static void test_limits(void **state)
{
	struct helper_request request;
	struct session s;

	(void)state;
	shell_request(&request, "ulimit -n; ulimit -c; ulimit -v; ulimit -t; ulimit -f");
	helper_request_number(&request, "nofile", 77);
	helper_request_number(&request, "core", 0);
	helper_request_number(&request, "as", 1u << 30);
	helper_request_number(&request, "as", 2u << 30); /* the last value counts */
	helper_request_number(&request, "cpu", 55);
	helper_request_number(&request, "fsize", 1 << 20);
	check_output(&request, "77\n0\n2097152\n55\n2048\n");

	/* The limits are enforced: `head` cannot write more. */
	shell_request(&request, "exec head -c 100000 /dev/zero >big");
	helper_request_number(&request, "fsize", 4096);
	session_run(&s, &request);
	assert_int_equal(s.answer.result.signal, SIGXFSZ);
	session_release(&s);
}

static void test_cannot_start(void **state)
{
	struct helper_request request;
	struct session s;

	(void)state;
	helper_request_init(&request, "run");
	helper_request_text(&request, HELPER_ARGUMENT, "no-such-command");
	helper_request_text(&request, HELPER_ENVIRON, "PATH=/usr/bin:/bin");
	assert_int_equal(session_refused(&s, &request, "cannot execute 'no-such-command': No such file"), HELPER_CODE_EXECUTE);
	helper_request_init(&request, "run");
	helper_request_text(&request, HELPER_ARGUMENT, "/tmp");
	assert_int_equal(session_refused(&s, &request, "cannot execute '/tmp': Permission denied"), HELPER_CODE_PERMISSION);
	shell_request(&request, "true");
	helper_request_text(&request, HELPER_DIRECTORY, "nowhere");
	assert_int_equal(session_refused(&s, &request, "cannot change to the directory 'nowhere': No such file"), HELPER_CODE_FAULT);
}

static void test_measures(void **state)
{
	struct helper_request request;
	struct session s;

	(void)state;
	shell_request(&request, "sh -c 'i=0; while [ $i -lt 60000 ]; do i=$((i+1)); done'; sleep .1");
	session_run(&s, &request);
	assert_in_range(s.answer.result.wall_ns, 100000000, 20000000000);
	assert_in_range(s.answer.result.user_us + s.answer.result.sys_us, 5000, s.answer.result.wall_ns / 1000);
	assert_in_range(s.answer.result.max_rss_bytes, 100000, 100000000);
	assert_in_range(s.answer.result.started_ms / 1000, time(NULL) - 60, time(NULL));
	assert_int_equal(s.answer.result.lock_wait_ns, 0);
	session_release(&s);
}

/* Checks the kernel's resource usage counters of the command, of a child that it waited for, and of an orphan. */
static void test_accounts(void **state)
{
	struct helper_request request;
	const struct helper_result *r;
	struct session s;

	(void)state;
	shell_request(&request, "(dd if=/dev/zero of=/dev/null bs=7 count=3000 2>/dev/null &) ; sleep .3; "
				"dd if=/dev/zero of=/dev/null bs=7 count=2000 2>/dev/null");
	session_run(&s, &request);
	r = &s.answer.result;
	assert_in_range(r->read_calls, 5000, 100000);
	assert_in_range(r->write_calls, 5000, 100000);
	assert_in_range(r->read_bytes, 35000, 100000000);
	assert_in_range(r->write_bytes, 35000, 100000000);
	assert_in_range(r->minor_faults, 50, 1000000);
	assert_in_range(r->voluntary_switches, 1, 1000000);
	assert_true(r->major_faults >= 0 && r->involuntary_switches >= 0 && r->run_delay_ns >= 0);
	assert_int_equal(r->crowded_ns >= 0, access("/proc/pressure/cpu", R_OK) == 0);
	assert_in_range(r->busy_ns, 0, 20 * r->wall_ns * sysconf(_SC_NPROCESSORS_ONLN)); /* includes the start and end of the command */
	assert_int_equal(r->io_stalled_ns >= 0, access("/proc/pressure/io", R_OK) == 0);
	assert_int_equal(r->memory_stalled_ns >= 0, access("/proc/pressure/memory", R_OK) == 0);
	assert_true(r->throttled_ns >= -1);
	assert_in_range(r->processes, 4, 1000000); /* the shell, one that ends, two dd, sleep; a new shell may replace itself */
	assert_in_range(r->tick_ns, 1000000, 10000000);
	session_release(&s);
}

static int put(const char *file, const char *text)
{
	FILE *f = fopen(file, "w");
	int bad = !f || fputs(text, f) < 0;

	return f ? fclose(f) | bad : bad;
}

/* Checks that the result includes the time in which a parent of the helper's cgroup had used up its quota. */
static void test_throttled(void **state)
{
	struct helper_request request;
	char group[64], within[72], file[128], pid[16];
	struct session s;

	(void)state;
	snprintf(group, sizeof(group), "/sys/fs/cgroup/cpu/assay-test-%d", (int)getpid());
	snprintf(within, sizeof(within), "%s/within", group);
	snprintf(pid, sizeof(pid), "%d", (int)getpid());
	if (mkdir(group, 0755) != 0)
		skip(); /* not root, or cgroups of another version */
	assert_int_equal(mkdir(within, 0755), 0);
	snprintf(file, sizeof(file), "%s/cpu.cfs_quota_us", group);
	assert_int_equal(put(file, "5000"), 0);
	snprintf(file, sizeof(file), "%s/tasks", within);
	assert_int_equal(put(file, pid), 0);
	shell_request(&request, "i=0; while [ $i -lt 100000 ]; do i=$((i + 1)); done");
	session_run(&s, &request);
	assert_int_equal(put("/sys/fs/cgroup/cpu/tasks", pid), 0);
	assert_true(rmdir(within) == 0 && rmdir(group) == 0);
	assert_in_range(s.answer.result.throttled_ns, 1000000, INT64_C(1000000000000));
	session_release(&s);
}

/* Checks samples of the command and its children: kernel time by system call; or a reason why there are none. */
static void test_sampled(void **state)
{
	struct helper_request request;
	const char *text;
	struct session s;

	(void)state;
	shell_request(&request, "dd if=/dev/zero of=/dev/null bs=1M count=3000 2>/dev/null; true");
	helper_request_number(&request, HELPER_SAMPLE, 0);
	session_run(&s, &request);
	assert_int_equal(s.answer.n_files, 1);
	assert_string_equal(s.answer.files[0].path, "samples");
	text = s.answer.files[0].bytes;
	if (strncmp(text, "0 refused ", 10) != 0) {
		assert_non_null(strstr(text, " period ns\n"));
		assert_true(strstr(text, " kernel read\n") || strstr(text, "0 kernel not_allowed\n"));
		assert_null(strstr(text, "__x64_sys"));
	}
	session_release(&s);
}

/* Checks the run-queue delay of a thread or child that shares a CPU with the first thread. The script prints this delay in ns. */
static void check_others(const char *beside)
{
	char *script = mem_format("import os, threading, hashlib, time\n"
				  "os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})\n"
				  "data = bytes(1 << 20)\n"
				  "def spin():\n"
				  "    end = time.monotonic() + 1\n"
				  "    while time.monotonic() < end:\n"
				  "        hashlib.sha1(data)\n"
				  "def second():\n"
				  "    spin()\n"
				  "    print(open(\"/proc/thread-self/schedstat\").read().split()[1], flush=True)\n"
				  "%s\n",
				  beside),
	     *waited, *quoted = mem_format("exec python3 -c '%s'", script);
	struct helper_request request;
	struct assay_error err;
	struct session s;
	size_t n;

	shell_request(&request, quoted);
	helper_request_number(&request, HELPER_SAMPLE, 0);
	session_run(&s, &request);
	check(spool_text(&s.answer.out, 100, &waited, &n, &err), &err);
	assert_true(strtod(waited, NULL) > 2e8);
	/* Delay that occurred after the script had printed the value counts, too. */
	assert_true((double)s.answer.result.others_delay_ns > .75 * strtod(waited, NULL));
	assert_true(s.answer.result.others_delay_ns < s.answer.result.wall_ns);
	session_release(&s);
	free(waited);
	free(quoted);
	free(script);
}

static void test_others_wait(void **state)
{
	struct helper_request request;
	struct session s;

	(void)state;
	if (access("/usr/bin/python3", X_OK) != 0)
		skip();
	check_others("t = threading.Thread(target=second); t.start(); spin(); t.join()");
	check_others("p = os.fork() or (second(), os._exit(0)); spin(); os.waitpid(p, 0)");
	shell_request(&request, "true"); /* no sampling was requested */
	session_run(&s, &request);
	assert_int_equal(s.answer.result.others_delay_ns, -1);
	session_release(&s);
}

/* Checks that samples need few bytes and have the requested period. */
static void test_sampled_briefly(void **state)
{
	struct helper_request request;
	struct session s;

	(void)state;
	shell_request(&request, "mkdir -p names; for i in $(seq 300); do n=$(printf '%0200d' $i); ln -f /bin/dd names/$n; "
				"names/$n if=/dev/zero of=/dev/null bs=1M count=20 2>/dev/null; done; rm -rf names");
	helper_request_number(&request, HELPER_SAMPLE, 100000);
	session_run(&s, &request);
	assert_int_equal(s.answer.n_files, 1);
	assert_in_range(s.answer.files[0].n, 1, 8192);
	if (strncmp(s.answer.files[0].bytes, "0 ", 2) != 0) {
		assert_memory_equal(s.answer.files[0].bytes, "100000 period ns\n", 17);
		assert_null(strstr(s.answer.files[0].bytes, " inode "));
	}
	session_release(&s);
	shell_request(&request, "true");
	helper_request_number(&request, HELPER_SAMPLE, 10);
	session_run(&s, &request);
	assert_non_null(strstr(s.answer.refusal, "ns apart"));
	session_release(&s);
}

/* Checks that code addresses are reported only for files in the requested directory. */
static void test_sampled_below(void **state)
{
	char *here = getcwd(NULL, 0),
	     *script = mem_format("mkdir -p own && cp \"$(command -v mawk)\" own/counts && own/counts 'BEGIN { while (i < 4000000) i++ }'; "
				  "dd if=/dev/zero of=/dev/null bs=64 count=100000 2>/dev/null; rm -r own");
	char *asked = mem_format("%s/own", here), *line = mem_format(" user %s/own/counts\n", here), *found;
	struct helper_request request;
	struct session s;
	size_t places = 0;

	(void)state;
	shell_request(&request, script);
	helper_request_number(&request, HELPER_SAMPLE, 1000000);
	helper_request_text(&request, HELPER_SAMPLE_DIRECTORY, asked);
	session_run(&s, &request);
	assert_int_equal(s.answer.n_files, 1);
	assert_in_range(s.answer.files[0].n, 1, 8192 + 7680);
	if (strncmp(s.answer.files[0].bytes, "0 ", 2) != 0) {
		found = strstr(s.answer.files[0].bytes, line);
		assert_non_null(found);
		for (char *at = s.answer.files[0].bytes; (at = strstr(at, " at ")); at++) {
			assert_true(at > found);
			places++;
		}
		assert_true(places > 1);
		found = strstr(found + 1, " user ");
		assert_true(!found || !strstr(found, " at "));
	}
	session_release(&s);
	free(line);
	free(asked);
	free(script);
	free(here);
}

static void test_planned_end(void **state)
{
	struct helper_request request;
	struct session s;

	(void)state;
	shell_request(&request, "trap 'exit 5' INT; while :; do sleep .02; done");
	helper_request_number(&request, HELPER_INTERRUPT, 1000); /* long enough for the shell to read the script */
	session_run(&s, &request);
	assert_int_equal(s.answer.result.exit_status, 5);
	assert_int_equal(s.answer.result.interrupted, 1);
	assert_int_equal(s.answer.result.timed_out, 0);
	assert_true(s.answer.result.wall_ns >= 1000000000);
	none_left(0);
	session_release(&s);

	/* The command ends before the planned interrupt: the result does not report an interrupt. */
	shell_request(&request, "exit 0");
	helper_request_number(&request, HELPER_INTERRUPT, 10000);
	session_run(&s, &request);
	assert_int_equal(s.answer.result.interrupted, 0);
	session_release(&s);
}

static const char tree[] = "trap '' TERM HUP INT;"
			   "(setsid sh -c 'sleep 1000 & sleep 1000' &);" /* double fork, then a new session */
			   "setsid setsid sleep 1000 &"
			   "sh -c 'trap \"\" TERM; sleep 1000; true' &"
			   "while :; do sleep 1000; done";
#define TREE_PROCESSES 7

static void test_timeout(void **state)
{
	struct helper_request request;
	struct session s;

	(void)state;
	shell_request(&request, tree);
	helper_request_number(&request, HELPER_TIMEOUT, 2000); /* plus one second to obey SIGTERM: by then all processes have started */
	session_start(&s, &request);
	wait_marked(TREE_PROCESSES);
	session_end(&s);
	none_left(0); /* before the helper sends the result */
	assert_int_equal(s.answer.result.timed_out, 1);
	assert_int_equal(s.answer.result.signal, SIGKILL);
	assert_int_equal(s.answer.result.survivors, 0);
	assert_true(s.answer.result.wall_ns >= 3000000000);
	session_release(&s);
}

/* Checks that a process that obeys SIGTERM ends at once. Takes the shortest of five runs, because a busy machine may delay the end. */
static void test_timeout_obeyed(void **state)
{
	int64_t shortest = INT64_MAX;

	(void)state;
	for (int i = 0; i < 5; i++) {
		struct helper_request request;
		struct session s;

		shell_request(&request, "kill -STOP $$");
		helper_request_number(&request, HELPER_TIMEOUT, 100);
		session_run(&s, &request);
		assert_int_equal(s.answer.result.signal, SIGTERM);
		assert_int_equal(s.answer.result.timed_out, 1);
		shortest = s.answer.result.wall_ns < shortest ? s.answer.result.wall_ns : shortest;
		session_release(&s);
	}
	assert_in_range(shortest, 50000000, 1099999999); /* the clock of the limit starts shortly before that of the command */
}

/* Checks the limit of the output: exactly so many bytes arrive, the other stream is complete, and all processes of the command are gone. */
static void test_flood(void **state)
{
	static const struct {
		const char *script;
		size_t out, err;
		int64_t flooded;
		const char *limit;
	} rows[] = {
		{ "head -c 100000 /dev/zero", 100000, 0, 0, NULL }, /* exactly the limit */
		{ "head -c 100001 /dev/zero", 100000, 0, 1, NULL },
		{ "yes; exit 0", 100000, 0, 1, NULL },
		{ "trap '' PIPE; echo 'on error' >&2; while :; do printf '%5000s' x; done 2>/dev/null", 100000, 9, 1, NULL },
		{ "echo out; exec yes >&2", 4, 100000, 2, NULL },
		{ "trap '' TERM PIPE; sleep 1000 & setsid yes 2>/dev/null & exec yes 2>/dev/null", 100000, 0, 1, NULL },
		{ "head -c 30000000 /dev/zero; echo end >&2", 100000, 4, 0, "kept" }, /* "kept": the rest is dropped without an error */
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct helper_request request;
		struct session s;

		shell_request(&request, rows[i].script);
		helper_request_number(&request, rows[i].limit ? rows[i].limit : "output", 100000);
		session_run(&s, &request);
		none_left(0);
		if (s.answer.out.size != rows[i].out || s.answer.err.size != rows[i].err || s.answer.result.flooded != rows[i].flooded)
			fail_msg("%s: %" PRIu64 " and %" PRIu64 " bytes, flooded %" PRId64, rows[i].script, s.answer.out.size,
				 s.answer.err.size, s.answer.result.flooded);
		assert_int_equal(s.answer.result.survivors, 0);
		session_release(&s);
	}
}

static void test_leftovers(void **state)
{
	struct helper_request request;
	struct session s;

	(void)state;
	shell_request(&request, "setsid sleep 1000 & (setsid sleep 1000 &); echo out; exit 4");
	session_run(&s, &request);
	none_left(0);
	assert_int_equal(s.answer.result.exit_status, 4);
	assert_int_equal(s.answer.result.leftovers, 2);
	assert_int_equal(s.answer.result.survivors, 0);
	check_spool(&s.answer.out, "out\n", 4);
	session_release(&s);
}

#define HOPPING_MS 10000
#define HOP	   "ASSAY_TEST_HOP" /* environment variable that makes this test program the runaway program */

/* Forks, continues in the child and starts a new session, faster than the helper can follow, for HOPPING_MS. */
static int hop(void)
{
	int64_t end = now_ms() + HOPPING_MS;

	while (now_ms() < end) {
		if (fork() != 0)
			_exit(0);
		setsid();
	}
	return 0;
}

static void test_runaway(void **state)
{
	struct helper_request request;
	char program[4096], *script;
	int64_t begun = now_ms();
	struct session s;
	ssize_t n = readlink("/proc/self/exe", program, sizeof(program) - 1);

	(void)state;
	assert_true(n > 0);
	program[n] = 0;
	script = mem_format(HOP "=1; export " HOP "; '%s' test_helper & '%s' test_helper & sleep .1", program, program);
	shell_request(&request, script);
	session_start(&s, &request);
	while (!s.answer.ended)
		assert_true(session_read(&s));
	assert_true(now_ms() - begun < HOPPING_MS); /* the processes did not end by themselves */
	none_left(0);				    /* all processes are gone when the helper sends the result, before it ends */
	session_end(&s);
	assert_true(s.answer.result.leftovers > 0);
	assert_int_equal(s.answer.result.survivors, 0);
	session_release(&s);
	free(script);
}

/* Checks that another process that holds the command's output open does not delay the result. */
static void test_output_held(void **state)
{
	struct helper_request request;
	char path[64];
	struct session s;
	pid_t command = 0;
	int fd;

	(void)state;
	assert_int_equal(mkfifo("pipe", 0600), 0);
	shell_request(&request, "echo out; read line <pipe; exit 0");
	session_start(&s, &request);
	session_begun(&s);
	while (processes_with("environ", session_mark(), &command) == 0) /* between fork() and exec() there may be none */
		sleep_ms(1);
	snprintf(path, sizeof(path), "/proc/%d/fd/1", (int)command);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	let_go("pipe");
	session_end(&s);
	assert_int_equal(s.answer.result.exit_status, 0);
	check_spool(&s.answer.out, "out\n", 4);
	close(fd);
	session_release(&s);
}

static void test_files(void **state)
{
	struct helper_request request;
	struct stat info;
	struct session s;

	(void)state;
	helper_request_init(&request, "put");
	helper_request_text(&request, HELPER_PATH, "new file");
	helper_request_number(&request, HELPER_MODE, 0640);
	helper_request_input(&request, "one\0two", 7);
	session_run(&s, &request);
	assert_int_equal(s.answer.result.bytes, 7);
	session_release(&s);
	assert_int_equal(stat("new file", &info), 0);
	assert_int_equal(info.st_mode & 07777, 0640);

	helper_request_init(&request, "get");
	helper_request_text(&request, HELPER_PATH, "new file");
	session_run(&s, &request);
	check_spool(&s.answer.out, "one\0two", 7);
	assert_int_equal(s.answer.result.bytes, 7);
	session_release(&s);

	helper_request_init(&request, "read");
	helper_request_text(&request, HELPER_PATH, "new file");
	helper_request_text(&request, HELPER_PATH, "no file");
	helper_request_text(&request, HELPER_PATH, ".");
	helper_request_text(&request, HELPER_PATH, "/dev/zero");
	helper_request_text(&request, HELPER_PATH, "helper");
	session_run(&s, &request);
	assert_int_equal(s.answer.n_files, 5);
	assert_int_equal(s.answer.files[0].n, 7);
	assert_memory_equal(s.answer.files[0].bytes, "one\0two", 8);
	assert_string_equal(s.answer.files[1].fault, "No such file or directory");
	assert_string_equal(s.answer.files[2].fault, "Is a directory");
	assert_string_equal(s.answer.files[3].fault, "Invalid argument");
	assert_string_equal(s.answer.files[3].path, "/dev/zero");
	assert_non_null(s.answer.files[4].bytes);
	assert_int_equal(s.answer.result.files, 5);
	session_release(&s);
}

/* Checks that the helper writes into a process's file how long it was stopped and how much CPU time all of the command used. */
static void test_told(void **state)
{
	static const struct process_monitor_offsets words = { 0, 8, 16, 24, 256 };
	struct helper_request request;
	uint64_t told[4] = { 0 };
	struct session s;
	double used_ns;
	FILE *file;

	(void)state;
	assert_int_equal(mkdir("told", 0755), 0);
	shell_request(&request, "p=$$; for i in 1 2 3 4 5 6 7 8; do printf \"\\\\$(printf %03o $((p & 255)))\"; p=$((p >> 8)); done >new;"
				"head -c 24 /dev/zero >>new; mv new told/1.samples;"
				"(sleep .3; kill -CONT $$) & kill -STOP $$; wait;"
				"sh -c 'i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done'; sleep .3");
	helper_request_monitor(&request, "told", &words);
	session_run(&s, &request);
	assert_int_equal(s.answer.result.exit_status, 0);
	used_ns = 1e3 * (double)(s.answer.result.user_us + s.answer.result.sys_us);
	file = fopen("told/1.samples", "rb");
	assert_non_null(file);
	assert_int_equal(fread(told, sizeof(told), 1, file), 1);
	fclose(file);
	session_release(&s);
	assert_true(told[2] > 150000000 && told[2] < 60000000000);
	assert_true((double)told[3] > .5 * used_ns && (double)told[3] < 1.1 * used_ns + 30e6); /* the kernel's clock ticks every 10 ms */

	shell_request(&request, "true");
	helper_request_text(&request, HELPER_MONITOR, "told");
	helper_request_number(&request, HELPER_MONITOR_PID, 8);
	session_refused(&s, &request, "five offsets");
}

static size_t files_here(void)
{
	DIR *here = opendir(".");
	size_t n = 0;

	assert_non_null(here);
	while (readdir(here))
		n++;
	closedir(here);
	return n;
}

/* Checks that an interrupted or impossible "put" leaves the old file and no other file. */
static void test_put_whole_or_not(void **state)
{
	struct helper_request request;
	size_t before;
	struct session s;
	char *text;

	(void)state;
	scratch_put("file", "old");
	before = files_here();
	helper_request_init(&request, "put");
	helper_request_text(&request, HELPER_PATH, "file");
	helper_request_input(&request, "new", 3);
	session_spawn(&s, 0);
	session_send(&s, &request, HELPER_FRAME_HEAD); /* all frames except the last one ("go") */
	helper_request_release(&request);
	session_close(&s.in);
	session_end(&s);
	assert_non_null(s.answer.refusal);
	session_release(&s);
	assert_int_equal(files_here(), before);
	text = scratch_text("file");
	assert_string_equal(text, "old");
	free(text);

	helper_request_init(&request, "put");
	helper_request_text(&request, HELPER_PATH, ".");
	session_refused(&s, &request, "cannot write '.'");
	assert_int_equal(files_here(), before);
	helper_request_init(&request, "put");
	helper_request_text(&request, HELPER_PATH, "nowhere/file");
	session_refused(&s, &request, "No such file or directory");
	helper_request_init(&request, "get");
	helper_request_text(&request, HELPER_PATH, "nowhere/file");
	session_refused(&s, &request, "No such file or directory");
}

int suite_helper(void)
{
	const struct CMUnitTest tests[] = {
		SESSION_TEST(test_streams),
		SESSION_TEST(test_much_output),
		SESSION_TEST(test_signal),
		SESSION_TEST(test_arguments),
		SESSION_TEST(test_surroundings),
		SESSION_TEST(test_joined),
		SESSION_TEST(test_nothing_inherited),
		SESSION_TEST(test_input),
		SESSION_TEST(test_limits),
		SESSION_TEST(test_cannot_start),
		SESSION_TEST(test_measures),
		SESSION_TEST(test_accounts),
		SESSION_TEST(test_throttled),
		SESSION_TEST(test_sampled),
		SESSION_TEST(test_others_wait),
		SESSION_TEST(test_sampled_briefly),
		SESSION_TEST(test_sampled_below),
		SESSION_TEST(test_planned_end),
		SESSION_TEST(test_flood),
		SESSION_TEST(test_timeout),
		SESSION_TEST(test_timeout_obeyed),
		SESSION_TEST(test_leftovers),
		SESSION_TEST(test_runaway),
		SESSION_TEST(test_output_held),
		SESSION_TEST(test_files),
		SESSION_TEST(test_told),
		SESSION_TEST(test_put_whole_or_not),
	};

	if (getenv(HOP))
		return hop();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
