/* Tests hosts behind a launcher, here a script. Only the helper's result counts, whatever the launcher prints or returns. */
#include "tests/fleet/engine_fixture.h"

#include "fleet/agent/helper_client.h"
#include "fleet/engine/local.c"

#include <sys/prctl.h>

#define LOST_CONTACT                                                                                                                       \
	"srun: error: node far.of-a-department-with-a-long-name.and-its-group.example.org: lost contact with the daemon of the node, "     \
	"which "                                                                                                                           \
	"may have been restarted: ask those who run it (mail to operators@far.example.org)"

static const char stub[] = "#!/bin/sh\n"
			   "mode=$1; shift 2\n"
			   "case $mode in\n"
			   "plain) exec \"$@\" ;;\n"
			   "noise) echo 'Welcome to the cluster'; echo 'be kind' >&2; exec \"$@\" ;;\n"
			   "wrong) \"$@\"; exit 9 ;;\n"
			   "zero) \"$@\"; exit 0 ;;\n"
			   "loud) \"$@\"; echo 'job step done'; exit 1 ;;\n"
			   "lingers) \"$@\"; sleep 600 ;;\n"
			   "dies) echo 'srun: error: no such node' >&2; exit 0 ;;\n"
			   "killed) timeout -s KILL 1 \"$@\"; echo '" LOST_CONTACT "' >&2; exit 0 ;;\n"
			   "lost) exec 3<&0; \"$@\" <&3 & sleep .3; kill -9 $!; exit 0 ;;\n"
			   "hangs) sleep 600 ;;\n"
			   "closed) echo 'Welcome'; echo; echo 'This account is closed.'; exit 1 ;;\n"
			   "closed_well) echo 'This account is closed.' ;;\n"
			   "loud_end) yes 'be kind' | head -c 1000000; echo closed ;;\n"
			   "menu) echo '1) status'; printf 'choose: '; sleep 600 ;;\n"
			   "asks) while :; do printf 'choose: '; read -r x || exit; echo no; done ;;\n"
			   "echoes) exec cat ;;\n"
			   "restricted) echo 'rbash: exec: restricted' >&2; exit 1 ;;\n"
			   "crlf) \"$@\" | sed -u 's/$/\\r/' ;;\n"
			   "mail) (while sleep .1; do echo 'New mail has come'; done) & t=$!; \"$@\"; kill $t ;;\n"
			   "asked) (while sleep .1; do printf 'Really? '; done) & t=$!; \"$@\"; kill $t ;;\n"
			   "deaf) trap '' HUP INT TERM; head -c 1 >said; echo $$ >new; mv new deaf; while :; do sleep 60; done ;;\n"
			   "esac\n";

struct launched {
	const char *command;
	int64_t timeout_ms;
	char out[64], err[64];
	bool ok, work;
};

static void launched_run(struct session *session, void *context)
{
	struct launched *run = context;
	const char *const words[] = { "sh", "-c", run->command };
	struct helper_request request;
	struct helper_answer answer;
	struct assay_error err;
	char *path = NULL;
	size_t n = 0, m = 0;

	if (!session_open(session) || (run->work && !session_make_directory(session, directory, "test", &path)))
		return;
	measure_request(&request, session->host, words, 3, run->timeout_ms);
	run->ok = session_run(session, &request, run->timeout_ms, &answer) && session_check_exit(session, &answer);
	check(spool_read(&answer.out, 0, run->out, sizeof(run->out) - 1, &n, &err), &err);
	check(spool_read(&answer.err, 0, run->err, sizeof(run->err) - 1, &m, &err), &err);
	run->out[n] = run->err[m] = '\0';
	if (path)
		assert_int_equal(access(path, F_OK), 0);
	free(path);
	helper_request_release(&request);
	helper_answer_release(&answer);
}

static struct fleet_result launched_through(char *login, const char *mode, struct launched *run)
{
	static char name[] = "far", script[] = "./stub", at[] = "{host}", word[16];
	char *words[] = { script, word, at };
	struct host host = {
		.name = name, .id = name, .address = name, .box = name, .launcher = { .words = words, .n = 3, .login = login }
	};
	const struct host *const hosts[] = { &host };
	struct fleet_options options = fleet_defaults();
	struct fleet_result result;
	struct assay_error err;

	snprintf(word, sizeof(word), "%s", mode);
	setenv("XDG_CACHE_HOME", directory, 1);
	check(fleet_run_on_each_host(hosts, 1, &options, launched_run, run, &result, &err), &err);
	return result;
}

static struct fleet_result launched_by(const char *mode, struct launched *run)
{
	return launched_through(NULL, mode, run);
}

static void test_statuses(void **state)
{
	static const char *const modes[] = { "plain", "noise", "wrong", "zero", "loud", "lingers" };

	(void)state;
	for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
		struct launched good = { .command = "echo out; echo err >&2", .timeout_ms = 60000 };
		struct launched bad = { .command = "exit 3", .timeout_ms = 60000 };
		struct fleet_result result = launched_by(modes[i], &good);

		assert_string_equal(result.message, "");
		assert_true(good.ok);
		assert_string_equal(good.out, "out\n");
		assert_string_equal(good.err, "err\n");
		fleet_result_release(&result);
		result = launched_by(modes[i], &bad);
		assert_false(bad.ok);
		assert_int_equal(result.exit_status, 3);
		assert_int_equal(result.outcome, FLEET_FAILED);
		fleet_result_release(&result);
	}
}

static void test_ends(void **state)
{
	static const struct {
		const char *mode;
		int64_t timeout_ms;
		enum fleet_outcome outcome;
		const char *says;
	} rows[] = {
		{ "dies", 60000, FLEET_UNREACHABLE,
		  "'./stub' ended with status 0 before the host answered: \"srun: error: no such node\"" },
		{ "killed", 60000, FLEET_FAILED, "before the host reported the end of the command: " LOST_CONTACT },
		{ "hangs", 1000, FLEET_TIMEOUT, "no helper answered within 1 s, and the host sent nothing" },
		/* Output of an account that starts no helper. */
		{ "closed", 60000, FLEET_UNREACHABLE,
		  "'./stub' ended with status 1 before the host answered: \"Welcome / This account is closed.\"" },
		{ "closed_well", 60000, FLEET_UNREACHABLE, "before the host answered: \"This account is closed.\"" },
		{ "loud_end", 60000, FLEET_FAILED, "no answer of the helper: more than 64 KiB of other output arrived: \"" },
		{ "menu", 1000, FLEET_TIMEOUT, "no helper answered within 1 s: \"1) status / choose:\"" },
		{ "asks", 1000, FLEET_TIMEOUT, "choose:" },
		{ "echoes", 1000, FLEET_TIMEOUT, "no helper answered within 1 s: \"H" },
		{ "restricted", 60000, FLEET_UNREACHABLE, "before the host answered: \"rbash: exec: restricted\"" },
		/* Changes of the helper's answer on its way. */
		{ "crlf", 60000, FLEET_FAILED, "line ends are changed to CR LF between the helper and assay" },
		{ "mail", 60000, FLEET_FAILED, "something else on the host also writes to standard output: \"New mail has come\"" },
		{ "asked", 60000, FLEET_FAILED, "something else on the host also writes to standard output: \"Really? Really? " },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct launched run = { .command = "sleep 100", .timeout_ms = rows[i].timeout_ms };
		struct fleet_result result = launched_by(rows[i].mode, &run);

		assert_false(run.ok);
		assert_int_equal(result.outcome, rows[i].outcome);
		if (!strstr(result.message, rows[i].says))
			fail_msg("%s: %s", rows[i].mode, result.message);
		fleet_result_release(&result);
	}
}

static void test_login_unknown(void **state)
{
	struct launched run = { .command = "true", .timeout_ms = 60000 };
	char *login = mem_format("127.0.0.1:%d", server.port);
	struct fleet_result result = launched_through(login, "plain", &run);

	(void)state;
	assert_false(run.ok);
	assert_int_equal(result.outcome, FLEET_HOSTKEY);
	assert_non_null(strstr(result.message, "is not known or has changed: verify it, then 'assay host trust -w far'"));
	fleet_result_release(&result);
	free(login);
}

/* Checks that the helper's result counts if the launcher and its shell have ended but the stream is still open. */
static void test_lost(void **state)
{
	struct launched run = { .command = "sleep 1; echo out", .timeout_ms = 60000 };
	struct fleet_result result = launched_by("lost", &run);

	(void)state;
	assert_string_equal(result.message, "");
	assert_true(run.ok);
	assert_string_equal(run.out, "out\n");
	fleet_result_release(&result);
}

/* Process id of a launcher that reads no more and ignores signals. Two tests check that it does not outlive a killed controller: it becomes
 * a child of the test program and has ten seconds to end by itself, while other tests run. */
static pid_t deaf_launcher;

static void test_controller_killed(void **state)
{
	struct launched run = { .command = "true", .timeout_ms = 600000 };
	pid_t controller;
	char *text;

	(void)state;
	assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0), 0);
	controller = fork();
	if (controller == 0) {
		launched_by("deaf", &run);
		_exit(0);
	}
	for (int i = 0; i < 6000 && access("deaf", F_OK); i++)
		usleep(10000);
	text = scratch_text("deaf");
	deaf_launcher = (pid_t)strtol(text, NULL, 10);
	free(text);
	kill(controller, SIGKILL);
	assert_int_equal(waitpid(controller, NULL, 0), controller);
}

static void test_its_launcher_ends(void **state)
{
	int status = 0;

	(void)state;
	alarm(120);
	assert_int_equal(waitpid(deaf_launcher, &status, 0), deaf_launcher);
	alarm(0);
	assert_true(WIFSIGNALED(status));
	assert_int_equal(WTERMSIG(status), SIGKILL);
	assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0), 0);
}

static void test_word(void **state)
{
	char *word = launcher_argument("{host}-x{job}{host}{", "a{job}", "12");

	(void)state;
	assert_string_equal(word, "a{job}-x12a{job}{");
	free(word);
}

static void put_program(const char *name, const char *text)
{
	scratch_put(name, text);
	assert_int_equal(chmod(name, 0755), 0);
}

/* Runs a command under a simulated batch system. `holds` is the script of srun that holds an allocation, `said` is the output of squeue. */
static struct fleet_result slurm_run(const char *holds, const char *said, struct launched *run)
{
	static char name[] = "node1", program[] = "srun", step[] = "--jobid={job}";
	char *words[] = { program, step };
	struct host host = { .name = name,
			     .id = name,
			     .address = name,
			     .box = name,
			     .launcher = { .words = words, .n = 2, .slurm = true, .time_limit_s = 60, .queue_limit_s = 30 } };
	const struct host *const hosts[] = { &host };
	struct fleet_options options = fleet_defaults();
	struct fleet_result result;
	struct assay_error err;
	char *path = mem_string(getenv("PATH")), *ours = mem_format("%s:%s", directory, path);
	char *srun = mem_format("#!/bin/sh\ncase $1 in --jobid=*) echo 'srun: error: job completing' >&2; exit 1 ;; esac\n%s\n", holds);
	char *squeue = mem_format("#!/bin/sh\necho '%s'\n", said);

	put_program("srun", srun);
	put_program("squeue", squeue);
	put_program("sinfo", "#!/bin/sh\necho 'node|idle|none'\n");
	put_program("scancel", "#!/bin/sh\n");
	setenv("PATH", ours, 1);
	setenv("XDG_CACHE_HOME", directory, 1);
	check(fleet_run_on_each_host(hosts, 1, &options, launched_run, run, &result, &err), &err);
	setenv("PATH", path, 1);
	free(path);
	free(ours);
	free(srun);
	free(squeue);
	return result;
}

/* Checks that a state that waiting cannot change ends the run at once, with Slurm's reason. */
static void test_slurm_ends(void **state)
{
	static const struct {
		const char *holds, *said, *expected;
		enum fleet_outcome outcome;
	} rows[] = {
		{ "echo 'srun: error: invalid partition' >&2; exit 1", "", "Slurm gave no allocation: srun: error: invalid partition",
		  FLEET_UNREACHABLE },
		{ "exec sleep 20", "7|PENDING|PartitionTimeLimit",
		  "Slurm will never start job 7 (PartitionTimeLimit): set a shorter time_limit in lab.yaml", FLEET_UNREACHABLE },
		{ "echo '" SLURM_HELD "7'; exec cat", "7|COMPLETING|TimeLimit",
		  "the allocation's time_limit of 1 minute was reached (job 7)", FLEET_TIME_LIMIT },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct launched run = { .command = "true", .timeout_ms = 60000 };
		struct fleet_result result = slurm_run(rows[i].holds, rows[i].said, &run);

		assert_string_equal(result.message, rows[i].expected);
		assert_int_equal(result.outcome, rows[i].outcome);
		fleet_result_release(&result);
	}
}

/* Checks that the process that keeps the work directory runs next to the commands and removes the directory. */
static void test_beside(void **state)
{
	struct launched run = { .command = "echo out", .timeout_ms = 60000, .work = true };
	struct fleet_result result = launched_by("plain", &run);
	DIR *left = opendir(directory);

	(void)state;
	assert_string_equal(result.message, "");
	assert_true(run.ok);
	fleet_result_release(&result);
	for (const struct dirent *entry = readdir(left); entry; entry = readdir(left))
		assert_null(strstr(entry->d_name, "session"));
	closedir(left);
}

static void test_said(void **state)
{
	static const struct {
		const char *line;
		size_t before;
		int status; /* -1: no exit status found */
	} rows[] = {
		{ LAUNCH_ENDED_PREFIX "0", 0, 0 },
		{ LAUNCH_ENDED_PREFIX "255", 0, 255 },
		{ "no end of line" LAUNCH_ENDED_PREFIX "7", 14, 7 },
		{ LAUNCH_ENDED_PREFIX "7\r", 0, 7 },
		{ LAUNCH_ENDED_PREFIX "256", 0, -1 },
		{ LAUNCH_ENDED_PREFIX, 0, -1 },
		{ LAUNCH_ENDED_PREFIX "7 more", 0, -1 },
		{ "srun: error", 0, -1 },
		{ "", 0, -1 },
	};
	struct slurm_job_state said;
	char job[24];

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		size_t before = 0;
		int status = -1;

		assert_int_equal(parse_end_line(rows[i].line, strlen(rows[i].line), &before, &status), rows[i].status >= 0);
		assert_int_equal(status, rows[i].status);
		assert_int_equal(before, rows[i].before);
	}
	assert_true(parse_allocation("motd\n" SLURM_HELD "12\n", 5 + sizeof(SLURM_HELD) + 2, job));
	assert_string_equal(job, "12");
	assert_false(parse_allocation(SLURM_HELD "12", sizeof(SLURM_HELD) + 1, job)); /* more digits may follow */
	slurm_parse("motd\n11|COMPLETED|None\n12|PENDING|Resources\nnode|drained*|bad | disk\n", &said);
	assert_string_equal(said.job, "12");
	assert_string_equal(said.state, "PENDING");
	assert_string_equal(said.reason, "Resources");
	assert_string_equal(said.node_state, "drained");
	assert_string_equal(said.node_reason, "bad | disk");
	assert_true(said.silent);
}

static int launch_enter(void **state)
{
	FILE *file;

	if (engine_enter(state))
		return 1;
	file = fopen("stub", "w");
	return !file || fputs(stub, file) < 0 || fclose(file) || chmod("stub", 0755);
}

int suite_launch(void)
{
	const struct CMUnitTest tests[] = {
		ENGINE_TEST(test_controller_killed),
		ENGINE_TEST(test_statuses),
		ENGINE_TEST(test_ends),
		ENGINE_TEST(test_beside),
		cmocka_unit_test(test_word),
		cmocka_unit_test(test_said),
		ENGINE_TEST(test_lost),
		ENGINE_TEST(test_login_unknown),
		ENGINE_TEST(test_slurm_ends),
		ENGINE_TEST(test_its_launcher_ends),
	};

	if (!sshd_available()) { /* needed by the fixture */
		puts("skipped: no sshd here (package openssh-server)");
		return 77;
	}
	return cmocka_run_group_tests(tests, launch_enter, engine_leave);
}
