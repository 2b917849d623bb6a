/* Runs commands on real sshd processes: streams, ends of commands, several commands per connection, several hosts. */
#include "tests/fleet/engine_fixture.h"

#define MEBIBYTE (1u << 20)

static char *random_bytes(size_t n)
{
	char *bytes = mem_new(n, 1);
	int fd = open("/dev/urandom", O_RDONLY);

	for (size_t got = 0; got < n;) {
		ssize_t more = read(fd, bytes + got, n - got);

		assert_true(more > 0);
		got += (size_t)more;
	}
	close(fd);
	return bytes;
}

static void test_ok(void **state)
{
	struct host host = host_at(server.port);
	struct fleet_options options = fleet_defaults();
	struct once what = once("echo out; echo err >&2");
	struct fleet_result result = run_one(&host, &what, &options);

	(void)state;
	expect(&result, FLEET_OK, "");
	assert_int_equal(result.exit_status, 0);
	assert_string_equal(result.signal, "");
	expect_text(&result.out, "out\n");
	expect_text(&result.err, "err\n");
	fleet_result_release(&result);
}

/* Checks that 1 MiB of random bytes comes back unchanged on both standard output and standard error. */
static void both_ways(const struct host *host)
{
	struct fleet_options options = fleet_defaults();
	struct once what = once("tee /dev/stderr");
	char *bytes = random_bytes(MEBIBYTE), *out, *err;
	struct fleet_result result;

	what.command.input = bytes;
	what.command.input_bytes = MEBIBYTE;
	result = run_one(host, &what, &options);
	expect(&result, FLEET_OK, "");
	assert_int_equal(result.out.size, MEBIBYTE);
	assert_int_equal(result.err.size, MEBIBYTE);
	out = text_of(&result.out);
	err = text_of(&result.err);
	assert_memory_equal(out, bytes, MEBIBYTE);
	assert_memory_equal(err, bytes, MEBIBYTE);
	free(out);
	free(err);
	free(bytes);
	fleet_result_release(&result);
}

static void test_both_ways(void **state)
{
	struct host there = host_at(server.port), here = host_here();

	(void)state;
	both_ways(&there);
	both_ways(&here);
}

static void test_ends(void **state)
{
	static const struct {
		const char *command, *signal;
		enum fleet_outcome outcome;
		int exit_status;
		const char *message;
	} rows[] = {
		{ "exit 0", "", FLEET_OK, 0, "" },
		{ "exit 3", "", FLEET_FAILED, 3, "exit status 3" },
		{ "exit 255", "", FLEET_FAILED, 255, "exit status 255" },
		{ "kill -KILL $$", "KILL", FLEET_FAILED, -1, "signal KILL" },
		{ "kill -TERM $$", "TERM", FLEET_FAILED, -1, "signal TERM" },
		{ "no-such-command-anywhere", "", FLEET_FAILED, 127, "exit status 127" },
	};
	struct host hosts[] = { host_at(server.port), host_here() };
	struct fleet_options options = fleet_defaults();

	(void)state;
	for (size_t h = 0; h < 2; h++) {
		for (size_t i = 0; i < COUNT(rows); i++) {
			struct once what = once(rows[i].command);
			struct fleet_result result = run_one(&hosts[h], &what, &options);

			expect(&result, rows[i].outcome, rows[i].message);
			assert_int_equal(result.exit_status, rows[i].exit_status);
			assert_string_equal(result.signal, rows[i].signal);
			fleet_result_release(&result);
		}
	}
}

/* Checks signals that have a number but no name. */
static void test_unnamed_signal(void **state)
{
	struct host host = host_here();
	struct fleet_options options = fleet_defaults();

	(void)state;
	expect_outcome(&host, "kill -40 $$", &options, FLEET_FAILED, "ended by signal 40");
}

/* Checks that a command ends normally if it does not read its input. */
static void test_input_unread(void **state)
{
	struct host hosts[] = { host_at(server.port), host_here() };
	struct fleet_options options = fleet_defaults();
	char *bytes = mem_new(8 * MEBIBYTE, 1);

	(void)state;
	for (size_t h = 0; h < 2; h++) {
		struct once what = once("exec 0<&-; echo done");
		struct fleet_result result;

		what.command.input = bytes;
		what.command.input_bytes = 8 * MEBIBYTE;
		result = run_one(&hosts[h], &what, &options);
		expect(&result, FLEET_OK, "");
		expect_text(&result.out, "done\n");
		fleet_result_release(&result);
	}
	free(bytes);
}

/* Checks that a command with held input sees no end of file. Otherwise it does, even if it gets no input. */
static void test_hold_input(void **state)
{
	struct host hosts[] = { host_at(server.port), host_here() };
	struct fleet_options options = fleet_defaults();

	(void)state;
	for (size_t h = 0; h < 2; h++) {
		struct once held = once("read line; echo got $line"), open_end = once("cat"), closed = once("cat");
		struct fleet_result result;

		held.command.input = "this\n";
		held.command.input_bytes = 5;
		held.command.hold_input = true;
		result = run_one(&hosts[h], &held, &options);
		expect(&result, FLEET_OK, "");
		expect_text(&result.out, "got this\n");
		fleet_result_release(&result);
		open_end.command.hold_input = true;
		open_end.command.timeout_ms = 300;
		result = run_one(&hosts[h], &open_end, &options);
		expect(&result, FLEET_TIMEOUT, "within 0.3 s");
		fleet_result_release(&result);
		result = run_one(&hosts[h], &closed, &options);
		expect(&result, FLEET_OK, "");
		fleet_result_release(&result);
	}
}

static bool alive(const char *marker)
{
	char *command = mem_format("exec 2>/dev/null; for p in /proc/[0-9]*; do tr '\\0' ' ' <$p/cmdline | grep -qx '%s ' && exit 7; "
				   "done; exit 0",
				   marker);
	pid_t child = fork();
	int status;

	if (!child) {
		execl("/bin/sh", "sh", "-c", command, (char *)NULL);
		_exit(1);
	}
	waitpid(child, &status, 0);
	free(command);
	return WEXITSTATUS(status) == 7;
}

static void expect_timeout(const struct host *host, const char *command, const struct fleet_options *options, const char *part)
{
	struct once what = once(command);
	struct fleet_result result;

	what.command.timeout_ms = 300;
	result = run_one(host, &what, options);
	expect(&result, FLEET_TIMEOUT, part);
	fleet_result_release(&result);
}

static void test_timeout(void **state)
{
	char *marker = mem_format("sleep 3%d", getpid()), *nested = mem_format("(%s & %s) & %s; wait", marker, marker, marker);
	struct host here = host_here(), there = host_at(server.port);
	struct fleet_options options = fleet_defaults();

	(void)state;
	expect_timeout(&there, "echo before; sleep 10", &options, "may still run");
	expect_timeout(&here, nested, &options, "within 0.3 s");
	assert_false(alive(marker)); /* on this machine, the whole process group is gone */
	free(nested);
	free(marker);
}

static void test_flood(void **state)
{
	struct host hosts[] = { host_at(server.port), host_here() };
	struct fleet_options options = fleet_defaults();

	(void)state;
	options.output_bytes_max = 3 * MEBIBYTE / 2;
	for (size_t h = 0; h < 2; h++) {
		static const char *const commands[] = { "yes", "yes >&2" };

		for (size_t i = 0; i < 2; i++) {
			struct once what = once(commands[i]);
			struct fleet_result result = run_one(&hosts[h], &what, &options);

			expect(&result, FLEET_FAILED, i ? "more than 1.5 MiB of standard error" : "more than 1.5 MiB of standard output");
			assert_int_equal(i ? result.err.size : result.out.size, options.output_bytes_max);
			fleet_result_release(&result);
		}
	}
}

/* ---- several commands on one connection ---- */

struct script {
	size_t n, asked;
	bool hold;
};

/* Runs commands that print their numbers. Those with odd numbers fail. */
static void script_run(struct session *session, void *context)
{
	struct script *script = context;

	if (!session_open(session))
		return;
	for (; script->asked < script->n; script->asked++) {
		char text[64], said[32];
		const struct fleet_command command = { .command = text, .hold_input = script->hold };
		struct spool out, err;
		bool ok;

		spool_init(&out, 100);
		spool_init(&err, 100);
		snprintf(text, sizeof(text), "echo %zu; exit %zu", script->asked, script->asked % 2);
		snprintf(said, sizeof(said), "%zu\n", script->asked);
		ok = session_run_shell(session, &command, &out, &err);
		assert_int_equal(ok, script->asked % 2 == 0);
		expect_text(&out, said);
		spool_release(&out);
		spool_release(&err);
	}
}

static void test_several_commands(void **state)
{
	struct host host = host_at(server.port);
	const struct host *hosts[] = { &host };
	struct fleet_options options = fleet_defaults();
	size_t before = sshd_logged(&server, "Accepted publickey");

	(void)state;
	for (int hold = 0; hold < 2; hold++) {
		struct script script = { .n = hold ? 3 : 12, .hold = hold }; /* more commands than MaxSessions, which is 10 */
		struct fleet_result result;
		struct assay_error err;

		check(fleet_run_on_each_host(hosts, 1, &options, script_run, &script, &result, &err), &err);
		assert_int_equal(script.asked, script.n);
		expect(&result, hold ? FLEET_OK : FLEET_FAILED, hold ? "" : "exit status 1");
		fleet_result_release(&result);
	}
	assert_int_equal(sshd_logged(&server, "Accepted publickey") - before, 2);
}

static void nothing_run(struct session *session, void *context)
{
	assert_null(context);
	assert_true(session_open(session));
}

static void test_no_command(void **state)
{
	struct host there = host_at(server.port), here = host_here();
	const struct host *hosts[] = { &there, &here };
	struct fleet_options options = fleet_defaults();
	struct fleet_result results[2];
	struct assay_error err;

	(void)state;
	check(fleet_run_on_each_host(hosts, 2, &options, nothing_run, NULL, results, &err), &err);
	for (size_t i = 0; i < 2; i++) {
		expect(&results[i], FLEET_OK, "");
		assert_int_equal(results[i].exit_status, -1);
		fleet_result_release(&results[i]);
	}
	check(fleet_run_on_each_host(hosts, 0, &options, nothing_run, NULL, NULL, &err), &err); /* no hosts: nothing to do */
}

/* ---- several hosts ---- */

#define MANY 20

struct crowd {
	size_t running, most, done;
	bool cancels; /* whether to cancel when the first host has ended */
	sig_atomic_t cancelled;
	const char *command;
};

static void crowd_run(struct session *session, void *context)
{
	struct crowd *crowd = context;
	const struct fleet_command command = { .command = crowd->command };

	fleet_lock(session);
	crowd->running++;
	crowd->most = crowd->running > crowd->most ? crowd->running : crowd->most;
	fleet_unlock(session);
	if (session_open(session))
		session_run_shell(session, &command, &session->result->out, &session->result->err);
	fleet_lock(session);
	crowd->running--;
	fleet_unlock(session);
}

static void crowd_ended(size_t host, const struct fleet_result *result, size_t n_done, size_t n, void *context)
{
	struct crowd *crowd = context;

	(void)host, (void)result;
	assert_int_equal(n, MANY);
	assert_int_equal(n_done, ++crowd->done);
	__atomic_store_n(&crowd->cancelled, crowd->cancels, __ATOMIC_RELAXED);
}

static void run_crowd(struct crowd *crowd, const struct host *host, struct fleet_options *options, struct fleet_result *results)
{
	const struct host *hosts[MANY];
	struct assay_error err;

	for (size_t i = 0; i < MANY; i++)
		hosts[i] = host;
	options->on_host_end = crowd_ended;
	check(fleet_run_on_each_host(hosts, MANY, options, crowd_run, crowd, results, &err), &err);
	assert_int_equal(crowd->done, MANY);
}

/* Checks that hosts run in parallel: each command waits until a second one has started. */
static void test_fanout(void **state)
{
	struct crowd crowd = { .done = 0 };
	struct host host = host_at(server.port);
	struct fleet_options options = fleet_defaults();
	struct fleet_result results[MANY];
	char *command =
	    mem_format("cd '%s' && mkdir crowd.$$ && while set -- crowd.*; [ $# -lt 2 ]; do sleep .01; done; echo $$", directory);

	(void)state;
	crowd.command = command;
	options.fanout = 5;
	run_crowd(&crowd, &host, &options, results);
	free(command);
	assert_in_range(crowd.most, 2, 5);
	for (size_t i = 0; i < MANY; i++) {
		expect(&results[i], FLEET_OK, "");
		assert_true(results[i].out.size > 1);
		fleet_result_release(&results[i]);
	}
}

/* Checks that hosts of one box run one after another, even if more could run in parallel. */
static void test_one_a_box(void **state)
{
	struct crowd crowd = { .command = "true" };
	struct host here = host_here();
	struct fleet_options options = fleet_defaults();
	struct fleet_result results[MANY];

	(void)state;
	options.one_per_physical_host = true;
	run_crowd(&crowd, &here, &options, results);
	assert_int_equal(crowd.most, 1);
	for (size_t i = 0; i < MANY; i++) {
		expect(&results[i], FLEET_OK, "");
		fleet_result_release(&results[i]);
	}
}

/* Stops the fleet from one session, as an error of the controller does. Hosts that have not started must end, too. */
static void stop_run(struct session *session, void *context)
{
	const struct fleet_command command = { .command = "sleep 60" };

	if (session->index == 0)
		fleet_stop(session);
	else if (session_open(session))
		session_run_shell(session, &command, &session->result->out, &session->result->err);
	(void)context;
}

static void test_stop(void **state)
{
	struct host here = host_here();
	struct fleet_options options = fleet_defaults();
	struct fleet_result results[MANY];
	const struct host *hosts[MANY];
	struct assay_error err;

	(void)state;
	for (size_t i = 0; i < MANY; i++)
		hosts[i] = &here;
	options.fanout = 4;
	check(fleet_run_on_each_host(hosts, MANY, &options, stop_run, NULL, results, &err), &err);
	for (size_t i = 0; i < MANY; i++) {
		expect(&results[i], i ? FLEET_FAILED : FLEET_OK, i ? "cancelled" : "");
		fleet_result_release(&results[i]);
	}
}

static int64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Checks that a cancellation ends all running and waiting hosts at once, with a message, after one host has ended. */
static void test_cancel(void **state)
{
	struct host hosts[] = { host_at(server.port), host_here() };
	struct fleet_options options = fleet_defaults();
	struct fleet_result results[MANY];

	(void)state;
	options.fanout = 8;
	for (size_t h = 0; h < 2; h++) {
		struct crowd crowd = { .cancels = true };
		int64_t started = now_ms();
		size_t cancelled = 0;

		/* Over ssh, the shell starts in another directory, so that the path must be absolute. Each transport has its own name,
		 * because a shell that was cancelled may run its command late. */
		char *first = mem_format("%s/first%zu", directory, h);
		char *command = mem_format("mkdir %s 2>/dev/null || sleep 60", first);

		crowd.command = command;
		options.cancelled = &crowd.cancelled;
		run_crowd(&crowd, &hosts[h], &options, results);
		assert_true(now_ms() - started < 30000);
		for (size_t i = 0; i < MANY; i++) {
			cancelled += strcmp(results[i].message, "cancelled") == 0 && results[i].outcome == FLEET_FAILED;
			fleet_result_release(&results[i]);
		}
		assert_int_equal(cancelled, MANY - 1);
		assert_int_equal(rmdir(first), 0);
		free(command);
		free(first);
	}
}

/* Checks that hosts with different failures do not affect a good host. */
static void test_bad_neighbours(void **state)
{
	struct host well = host_at(server.port), refused = host_at(1), nameless = host_at(22);
	const struct host *hosts[] = { &refused, &nameless, &well };
	static char nowhere[] = "no-such-host.invalid", slow[] = "slow";
	struct once what = once("true");
	struct fleet_options options = fleet_defaults();
	struct fleet_result results[3];

	(void)state;
	nameless.address = nowhere;
	refused.profile = slow;
	options.connect_timeout_ms = 1500;
	run_hosts(hosts, 3, &what, &options, results);
	expect(&results[0], FLEET_UNREACHABLE,
	       "cannot connect to 127.0.0.1 port 1: Connection refused (an emulated host: lab.yaml starts with the command");
	expect(&results[1], FLEET_UNREACHABLE, "no address for 'no-such-host.invalid'");
	expect(&results[2], FLEET_OK, "");
	assert_int_equal(fleet_exit(results, 3), 7);
	assert_int_equal(fleet_exit(results, 2), 1);
	assert_int_equal(fleet_exit(results + 2, 1), 0);
	for (size_t i = 0; i < 3; i++)
		fleet_result_release(&results[i]);
}

/* Kills the session's own process while the command runs. */
static void test_connection_lost(void **state)
{
	struct host host = host_at(server.port);
	struct fleet_options options = fleet_defaults();

	(void)state;
	expect_outcome(&host, "echo before; kill -KILL $PPID; sleep 1", &options, FLEET_FAILED,
		       "the connection was lost while the command"); /* "ran", or "was started" if all answers arrive at once */
}

/* ---- commands that take seconds, all at the same time ---- */

static const struct patient {
	const char *command;
	int64_t silence_ms, timeout_ms;
	enum fleet_outcome outcome;
	const char *message, *out;
	int64_t command_ms_min;
} patients[] = {
	/* No output for 5 s ends the command long before its time limit. */
	{ "echo before; sleep 30", 5000, 600000, FLEET_TIMEOUT, "no data from the command for 5 s", "before\n", 5000 },
	/* A command that prints from time to time may take longer. */
	{ "for i in 1 2 3 4 5 6; do echo $i; sleep 1; done", 5000, 600000, FLEET_OK, "", "1\n2\n3\n4\n5\n6\n", 6000 },
	/* Output before a timeout is kept. On a busy machine 6 s are enough to start a shell and print a word. */
	{ "echo before; sleep 30", 0, 6000, FLEET_TIMEOUT, "within 6 s", "before\n", 6000 },
};

#define PATIENTS (sizeof(patients) / sizeof(patients[0]))

/* Runs a command under the lock of `box`. Waits for the lock for at most one minute. */
static void run_locked(struct session *session, const char *command)
{
	char *lock = mem_format("%s/box/lock", directory);
	struct helper_request request;
	struct helper_answer answer;

	helper_request_init(&request, "run");
	helper_request_text(&request, HELPER_ARGUMENT, "sh");
	helper_request_text(&request, HELPER_ARGUMENT, "-c");
	helper_request_text(&request, HELPER_ARGUMENT, command);
	helper_request_number(&request, HELPER_TIMEOUT, 60000);
	helper_request_lock(&request, lock, 60000);
	if (session_run(session, &request, 70000, &answer))
		session_check_exit(session, &answer);
	helper_request_release(&request);
	helper_answer_release(&answer);
	free(lock);
}

/* Runs `patients` on the first hosts. The last two hosts share a box: one holds its lock until the other is reported to wait. */
static void patient_run(struct session *session, void *context)
{
	char *holds = mem_format("cd '%s' && : >held && until [ -e noted ]; do sleep .05; done", directory);
	const struct timespec pause = { 0, 10000000 };
	bool opened = session_open(session);

	(void)context;
	if (opened && session->index < 2 * PATIENTS) {
		const struct patient *patient = &patients[session->index / 2];
		const struct fleet_command command = { .command = patient->command,
						       .silence_ms = patient->silence_ms,
						       .timeout_ms = patient->timeout_ms };

		session_run_shell(session, &command, &session->result->out, &session->result->err);
	} else if (opened && session->index == 2 * PATIENTS) {
		run_locked(session, holds);
	} else if (opened) {
		for (int i = 0; i < 6000 && access("held", F_OK); i++)
			nanosleep(&pause, NULL);
		run_locked(session, "true");
	}
	free(holds);
}

static char noted[512]; /* text of the last note about a wait */
static size_t n_noted;

/* Keeps the last note about a wait. Other notes may be about processes that other tests left. */
__attribute__((format(printf, 1, 2))) static void keep_note(const char *fmt, ...)
{
	char text[sizeof(noted)];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	if (!strstr(text, "has waited since"))
		return;
	memcpy(noted, text, sizeof(noted));
	n_noted++;
	scratch_put("noted", "");
}

/* Checks the note of a session that waits for a box: the process that holds the box, since when, and until when at most. */
static void check_note(void)
{
	char *who = mem_format(", process %d (process ", (int)getpid());

	assert_int_equal(n_noted, 1);
	if (strncmp(noted, "note: here: has waited since 20", 31) != 0 || !strstr(noted, who) ||
	    !strstr(noted, "), which is measuring there since 20") || !strstr(noted, " and may until 20"))
		fail_msg("not of %s: %s", who, noted);
	free(who);
}

static void test_patience(void **state)
{
	struct host there = host_at(server.port), here = host_here();
	const struct host *hosts[2 * PATIENTS + 2];
	struct fleet_result results[2 * PATIENTS + 2];
	struct fleet_options options = fleet_defaults();
	struct assay_error err;

	(void)state;
	for (size_t i = 0; i < 2 * PATIENTS; i++)
		hosts[i] = i % 2 ? &here : &there;
	hosts[2 * PATIENTS] = hosts[2 * PATIENTS + 1] = &here;
	options.note = keep_note;
	assert_int_equal(mkdir("box", 0755), 0);
	check(fleet_run_on_each_host(hosts, 2 * PATIENTS + 2, &options, patient_run, NULL, results, &err), &err);
	for (size_t i = 0; i < 2 * PATIENTS; i++) {
		expect(&results[i], patients[i / 2].outcome, patients[i / 2].message);
		expect_text(&results[i].out, patients[i / 2].out);
		assert_in_range(results[i].command_ms, patients[i / 2].command_ms_min, 300000);
	}
	expect(&results[2 * PATIENTS], FLEET_OK, "");
	expect(&results[2 * PATIENTS + 1], FLEET_OK, "");
	for (size_t i = 0; i < 2 * PATIENTS + 2; i++)
		fleet_result_release(&results[i]);
	check_note();
}

static void test_exit_rule(void **state)
{
	struct fleet_result results[3] = { { .outcome = FLEET_EXCLUDED }, { .outcome = FLEET_EXCLUDED }, { .outcome = FLEET_EXCLUDED } };

	(void)state;
	assert_int_equal(fleet_exit(results, 3), 0);
	results[0].outcome = FLEET_AUTH;
	assert_int_equal(fleet_exit(results, 3), 1);
	results[1].outcome = FLEET_OK;
	assert_int_equal(fleet_exit(results, 3), 7);
	results[0].outcome = FLEET_OK;
	assert_int_equal(fleet_exit(results, 3), 0);
	assert_string_equal(fleet_outcome_text(FLEET_UNREACHABLE), "unreachable");
}

int suite_engine(void)
{
	const struct CMUnitTest tests[] = {
		ENGINE_TEST(test_ok),
		ENGINE_TEST(test_both_ways),
		ENGINE_TEST(test_ends),
		ENGINE_TEST(test_unnamed_signal),
		ENGINE_TEST(test_input_unread),
		ENGINE_TEST(test_hold_input),
		ENGINE_TEST(test_timeout),
		ENGINE_TEST(test_flood),
		ENGINE_TEST(test_several_commands),
		ENGINE_TEST(test_no_command),
		ENGINE_TEST(test_fanout),
		ENGINE_TEST(test_one_a_box),
		ENGINE_TEST(test_stop),
		ENGINE_TEST(test_cancel),
		ENGINE_TEST(test_bad_neighbours),
		ENGINE_TEST(test_connection_lost),
		ENGINE_TEST(test_patience),
		ENGINE_TEST(test_exit_rule),
	};

	if (!sshd_available()) {
		puts("skipped: no sshd here (package openssh-server)");
		return 77;
	}
	return cmocka_run_group_tests(tests, engine_enter, engine_leave);
}
