/* Tests how the controller parses answers, whatever the host sends, and how it deploys the helper to a host. */
#include "tests/scratch.h"
#include "tests/fleet/helper_session.h"
#include "base/digest.h"

#include <spawn.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <sys/stat.h>

#define M "\0assay helper 1\n"
#define B "B\0\0\0\0"
#define R "R\0\0\0\007exit 0\n"
#define ROW(what, bytes, part)                                                                                                             \
	{                                                                                                                                  \
		what, bytes, sizeof(bytes) - 1, part                                                                                       \
	}

/* Feeds an answer in pieces of `piece` bytes. The size of the pieces must not change the result. */
static enum assay_status feed(struct helper_answer *answer, const char *bytes, size_t n, size_t piece, struct assay_error *err)
{
	enum assay_status st = ASSAY_OK;

	helper_answer_init(answer, 1000);
	for (size_t at = 0; !st && at < n; at += piece)
		st = helper_answer_add(answer, bytes + at, n - at < piece ? n - at : piece, err);
	return st ? st : helper_answer_finish(answer, err);
}

static void test_answers(void **state)
{
	static const struct {
		const char *what, *bytes;
		size_t n;
		const char *fault; /* NULL: a valid answer */
	} rows[] = {
		ROW("smallest", M B R, NULL),
		ROW("noise before it", "Welcome to\nnode01\n" M B R, NULL),
		ROW("noise with the start of a greeting", "\0assay \0assay helper" M B R, NULL),
		ROW("output",
		    M B "O\0\0\0\2ab"
			"E\0\0\0\0"
			"E\0\0\0\1c" R,
		    NULL),
		ROW("facts", M "R\0\0\0\011kernel 6\n", NULL),
		ROW("no facts", M "R\0\0\0\0", NULL),
		ROW("files",
		    M "F\0\0\0\5a\0b\0c"
		      "N\0\0\0\4b\0no"
		      "R\0\0\0\010files 2\n",
		    NULL),
		ROW("waited for the lock",
		    M "W\0\0\0\0"
		      "W\0\0\0\0" B R,
		    NULL),
		ROW("waits for what has started", M B "W\0\0\0\0" R, "waiting for the started command"),
		ROW("waits for somebody", M "W\0\0\0\023held_ms 1\nholder a\n" B R, NULL),
		ROW("waits for what is no line", M "W\0\0\0\1x" B R, "an invalid wait"),
		ROW("waits for ever", M "W\0\0\0\013held_ms -1\n" B R, "an invalid wait"),
		ROW("refused", M "X\0\0\0\5bbusy", NULL),
		ROW("refused without a code", M "X\0\0\0\0", "a refusal without a code"),
		ROW("refused with an unknown code", M "X\0\0\0\3?no", "a refusal without a code"),
		ROW("nothing", "", "no answer of the helper: nothing at all"),
		ROW("only noise", "bash: line 1:\033[31m\n", "it does not start like a helper's answer: \"bash: line 1:?[31m?\""),
		ROW("greeting of another version", "\0assay helper 2\n" B R, "it does not start like a helper's answer"),
		ROW("line ends changed", "hello\r\n\0assay helper 1\r\nB\0\0\0\0", "line ends are changed to CR LF"),
		ROW("line ends changed of a later greeting", M B R "\0assay helper 1\r\n", "or changes it on the way: an unknown frame"),
		ROW("NULs left out", "assay helper 1\nBR\007exit 0\n", "bytes are missing or changed between"),
		ROW("text in the answer", M "You have new mail\n" B R,
		    "something else on the host also writes to standard output: \"You have new mail\""),
		ROW("text that starts as a frame", M B "Error: no disk\r\n" R, "standard output: \"Error: no disk\""),
		ROW("blank lines before text", M "\r\n\n\nlate\n" B R, "output: \"late\""),
		ROW("text shorter than a head", M B "hi\n" R, "output: \"hi\""),
		ROW("text without an end", M B "choose: ", "output: \"choose: \""),
		ROW("less than a head", M B "hi", "ends in the middle"),
		ROW("coloured text", M B "\033[1mDisk full\033[0m\n" R, "output: \"?[1mDisk full?[0m\""),
		/* Text inside a frame shifts the bytes. The error shows at the frame's end, and the message quotes the preceding bytes. */
		ROW("text in output", M B "O\0\0\0\020abYou have new mail\ncdefghijklmnop" R,
		    "something else on the host also writes to standard output: \"ail\", after \"abYou have new m\""),
		ROW("text in output of bytes", M B "O\0\0\0\030\1\2\nYou have new mail\n\3\4\5\6\1\0\0\0\0\0\0\0" R,
		    "something else on the host also writes to standard output, or changes it on the way: an unknown frame: \"?????\", "
		    "after \"?? / You have new mail / ???\""),
		ROW("text in errors", M B "E\0\0\0\6abLost!\n\1\2\3\4" R, "output: \"!\", after \"abLost\""),
		ROW("text in a head", M B "O\0\0Lo!\n\0\5hello" R,
		    "ends in the middle: it was killed, the connection was lost, or something else on the host also writes to standard "
		    "output, after \"! / ??helloR"),
		ROW("text in the head of a result", M B "R\0\0Lo!\n\0\7exit 0\n", "output, after \"!???exit 0?\""),
		ROW("text in a result", M B "R\0\0\0\7exiLost\nt 0\n", "or changes it on the way: an invalid result: \"exiLost\""),
		ROW("text after the end", M B R "logout\n", "output: \"logout\""),
		ROW("no end", M B, "ends in the middle"),
		ROW("cut in a frame", M B "R\0\0\0\007exit", "ends in the middle"),
		ROW("cut in output", M B "O\0\0\0\7x", "ends in the middle"),
		ROW("unknown frame", M "Z\0\0\0\0", "an unknown frame"),
		ROW("too long", M B "R\0\020\0\1", "too long"),
		ROW("endless", M B "O\377\377\377\377", "too long"),
		ROW("started twice", M B B R, "started twice"),
		ROW("begun with bytes", M "B\0\0\0\1x", "started twice"),
		ROW("more behind the end", M B R B, "more after its end"),
		ROW("refused and more", M "X\0\0\0\2fx" R, "more after its end"),
		ROW("refused what was started", M B "X\0\0\0\1x", "a refusal of what was started"),
		ROW("a status without a command", M R, "an invalid"),
		ROW("a command without a status", M B "R\0\0\0\013timed_out 0\n", "an invalid"),
		ROW("status and signal", M B "R\0\0\0\020exit 0\nsignal 9\n", "an invalid"),
		ROW("status out of range", M B "R\0\0\0\011exit 256\n", "an invalid"),
		ROW("a time that no clock shows", M B "R\0\0\0\046started_ms 9223372036854775807\nexit 0\n", "an invalid"),
		ROW("negative", M B "R\0\0\0\010exit -1\n", "an invalid"),
		ROW("twice", M B "R\0\0\0\016exit 1\nexit 1\n", "an invalid"),
		ROW("no number", M B "R\0\0\0\007exit x\n", "an invalid"),
		ROW("no value", M B "R\0\0\0\005exit\n", "an invalid"),
		ROW("line without an end", M B "R\0\0\0\006exit 0", "an invalid"),
		ROW("NUL in the result", M B "R\0\0\0\010exit 0\0\n", "an invalid"),
		ROW("a version of control groups that is none", M B "R\0\0\0\030exit 0\ncgroup_version 3\n", "an invalid"),
		ROW("a directory that nobody has asked for", M "D\0\0\0\2/x", "an invalid directory"),
		ROW("file without a name", M "F\0\0\0\1a", "a file without a name"),
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		for (size_t piece = 1; piece <= 64; piece = piece * 3 + 1) {
			struct assay_error err = { .text = "" };
			struct helper_answer answer;
			enum assay_status st = feed(&answer, rows[i].bytes, rows[i].n, piece, &err);

			check_fails(rows[i].what, st, rows[i].fault ? ASSAY_E_FORMAT : ASSAY_OK, &err, rows[i].fault ? rows[i].fault : "");
			helper_answer_release(&answer);
		}
	}
}

/* Checks that a launcher may write text after the helper's end, in the same read or in a later one. */
static void test_by_launcher(void **state)
{
	static const char answered[] = M B R "job step done\n";

	(void)state;
	for (size_t piece = 1; piece <= sizeof(answered); piece++) {
		struct assay_error err = { .text = "" };
		struct helper_answer answer;
		enum assay_status st = ASSAY_OK;

		helper_answer_init(&answer, 1 << 20);
		answer.is_via_launcher = true;
		for (size_t at = 0; !st && at < sizeof(answered) - 1; at += piece)
			st = helper_answer_add(&answer, answered + at, at + piece < sizeof(answered) ? piece : sizeof(answered) - 1 - at,
					       &err);
		if (!st)
			st = helper_answer_finish(&answer, &err);
		check(st, &err);
		assert_true(answer.ended && answer.result.exit_status == 0);
		helper_answer_release(&answer);
	}
}

/* Checks that "waiting" frames may follow the answer. A helper that keeps a directory sends them until the controller hangs up. */
static void test_made_and_kept(void **state)
{
	static const char kept[] = M "D\0\0\0\2/x"
				     "W\0\0\0\0"
				     "W\0\0\0\0";

	(void)state;
	for (size_t piece = 1; piece <= sizeof(kept); piece++) {
		struct helper_answer answer;
		struct assay_error err;

		helper_answer_init(&answer, 1000);
		answer.expects_directory = true;
		for (size_t at = 0; at < sizeof(kept) - 1; at += piece)
			check(helper_answer_add(&answer, kept + at, sizeof(kept) - 1 - at < piece ? sizeof(kept) - 1 - at : piece, &err),
			      &err);
		check(helper_answer_finish(&answer, &err), &err);
		assert_string_equal(answer.directory_path, "/x");
		helper_answer_release(&answer);
	}
}

static void test_what_an_answer_holds(void **state)
{
	static const char bytes[] = "noise" M B "O\0\0\0\3a\0b"
				    "E\0\0\0\1c"
				    "O\0\0\0\1d"
				    "R\0\0\0\075signal 9\nwall_ns 5000000000\nuser_us 7\nnew_name x\ntimed_out 1\n";
	static const char group[] = M B "R\0\0\0\071exit 0\ncgroup_version 2\noom_kills 1\nrefused_processes 12\n";
	static const char wait[] = M "W\0\0\0\055held_ms 7\nlimit_ms 9\nnew x\nholder alice\033@ctl\n" B R;
	static const char files[] = M "F\0\0\0\5a\0b\0c"
				      "N\0\0\0\005b\0no\n"
				      "R\0\0\0\010files 2\n";
	struct helper_answer answer;
	struct assay_error err;

	(void)state;
	check(feed(&answer, bytes, sizeof(bytes) - 1, 9, &err), &err);
	check_spool(&answer.out, "a\0bd", 4);
	check_spool(&answer.err, "c", 1);
	assert_true(answer.command_started && answer.ended);
	assert_int_equal(answer.result.signal, 9);
	assert_int_equal(answer.result.exit_status, -1);
	assert_int_equal(answer.result.wall_ns, 5000000000);
	assert_int_equal(answer.result.user_us, 7);
	assert_int_equal(answer.result.sys_us, -1);
	assert_int_equal(answer.result.timed_out, 1);
	assert_int_equal(answer.result.cgroup, -1);
	helper_answer_release(&answer);

	check(feed(&answer, group, sizeof(group) - 1, 9, &err), &err);
	assert_int_equal(answer.result.cgroup, 2);
	assert_int_equal(answer.result.oom_kills, 1);
	assert_int_equal(answer.result.refused_processes, 12);
	helper_answer_release(&answer);

	check(feed(&answer, wait, sizeof(wait) - 1, 9, &err), &err);
	assert_true(answer.waiting);
	assert_string_equal(answer.holder, "alice?@ctl");
	assert_int_equal(answer.held_ms, 7);
	assert_int_equal(answer.limit_ms, 9);
	helper_answer_release(&answer);

	check(feed(&answer, files, sizeof(files) - 1, 4, &err), &err);
	assert_int_equal(answer.n_files, 2);
	assert_string_equal(answer.files[0].path, "a");
	assert_int_equal(answer.files[0].n, 3);
	assert_memory_equal(answer.files[0].bytes, "b\0c", 4);
	assert_null(answer.files[1].bytes);
	assert_string_equal(answer.files[1].fault, "no?");
	helper_answer_release(&answer);

	check(feed(&answer, M "X\0\0\0\7xa\033[b\nc", 28, 4, &err), &err);
	assert_string_equal(answer.refusal, "a?[b?c");
	assert_int_equal(answer.refusal_code, HELPER_CODE_EXECUTE);
	helper_answer_release(&answer);
}

/* Checks the limits of noise, output and files. */
static void test_flood(void **state)
{
	static const size_t n = 1 << 20;
	char *bytes = mem_new(n + HELPER_FRAME_HEAD, 1);
	struct helper_answer answer;
	enum assay_status st = ASSAY_OK;
	struct assay_error err;

	(void)state;
	memset(bytes, 'x', n);
	assert_int_equal(feed(&answer, bytes, n, 7, &err), ASSAY_E_FORMAT);
	assert_true(answer.pending.size < 70000);
	assert_int_equal(helper_answer_add(&answer, M B R, 16 + 5 + 12, &err), ASSAY_E_FORMAT); /* too late: the answer is complete */
	helper_answer_release(&answer);

	assert_int_equal(feed(&answer, M B "O\0\0\4\0", 26, 26, &err), ASSAY_E_FORMAT);
	helper_answer_release(&answer);
	helper_answer_init(&answer, 1000);
	check(helper_answer_add(&answer, M B "O\0\0\4\0", 26, &err), &err);
	check(helper_answer_add(&answer, bytes, 1000, &err), &err);
	check_fails("flood", helper_answer_add(&answer, bytes, 24, &err), ASSAY_E_LIMIT, &err, "");
	helper_answer_release(&answer);

	memcpy(bytes, "F\0\020\0\0y", 7);
	helper_answer_init(&answer, 1000);
	check(helper_answer_add(&answer, M, 16, &err), &err);
	for (int i = 0; !st && i < 100; i++)
		st = helper_answer_add(&answer, bytes, n + HELPER_FRAME_HEAD, &err);
	check_fails("files", st, ASSAY_E_LIMIT, &err, "the host's files have more than");
	assert_int_equal(answer.n_files, 64);
	helper_answer_release(&answer);
	free(bytes);
}

static void test_missing(void **state)
{
	struct helper_answer answer;
	struct assay_error err;

	(void)state;
	feed(&answer, "noise", 5, 5, &err);
	assert_int_equal(helper_installation(&answer, 127), HELPER_MISSING);
	assert_int_equal(helper_installation(&answer, 126), HELPER_DAMAGED);
	assert_int_equal(helper_installation(&answer, 139), HELPER_DAMAGED);
	assert_int_equal(helper_installation(&answer, 1), HELPER_INSTALLED);
	helper_answer_release(&answer);
	feed(&answer, M, 16, 5, &err);
	assert_int_equal(helper_installation(&answer, 127), HELPER_INSTALLED);
	helper_answer_release(&answer);
}

static void test_request_limits(void **state)
{
	char *text = mem_new(HELPER_FRAME_BYTES_MAX + 1, 1);
	struct helper_request request;
	struct assay_error err;
	uint64_t once;

	(void)state;
	memset(text, 'x', HELPER_FRAME_BYTES_MAX);
	helper_request_init(&request, "run");
	helper_request_text(&request, HELPER_ARGUMENT, text);
	helper_request_text(&request, HELPER_ARGUMENT, "x");
	check_fails("one", helper_request_complete(&request, &err), ASSAY_E_LIMIT, &err, "too long");
	helper_request_release(&request);

	text[HELPER_FRAME_BYTES_MAX - strlen(HELPER_ARGUMENT " ")] = 0;
	helper_request_init(&request, "run");
	for (int i = 0; i < 7; i++)
		helper_request_text(&request, HELPER_ARGUMENT, text);
	check(helper_request_complete(&request, &err), &err);
	once = helper_request_size(&request);
	check(helper_request_complete(&request, &err), &err);
	assert_int_equal(helper_request_size(&request), once); /* the request is sent again without changes */
	helper_request_release(&request);
	helper_request_init(&request, "run");
	for (int i = 0; i < 8; i++)
		helper_request_text(&request, HELPER_ARGUMENT, text);
	check_fails("all", helper_request_complete(&request, &err), ASSAY_E_LIMIT, &err, "too long");
	helper_request_release(&request);
	free(text);
}

static const char *const shells[] = { "dash", "bash", "busybox sh", "tcsh", "fish", "zsh" };

/* Runs SHELL -c COMMAND as sshd does, after start-up noise. Sends `bytes` to its standard input; `keep_open` leaves that open. */
static int shell_run(const char *shell, const char *command, const char *bytes, size_t n, bool keep_open, struct buf *out)
{
	int in[2], answer[2], status;
	char piece[4096];
	ssize_t got;
	pid_t child;

	assert_int_equal(pipe2(in, O_CLOEXEC) || pipe2(answer, O_CLOEXEC), 0);
	child = fork();
	if (!child) {
		const char *blank = strchr(shell, ' ');

		if (dup2(in[0], 0) < 0 || dup2(answer[1], 1) < 0 || dup2(answer[1], 2) < 0 || write(1, "noise\n", 6) != 6)
			_exit(99);
		if (blank)
			execlp("busybox", "busybox", blank + 1, "-c", command, (char *)NULL);
		else
			execlp(shell, shell, "-c", command, (char *)NULL);
		_exit(77);
	}
	close(in[0]);
	close(answer[1]);
	while (n > 0 && (got = write(in[1], bytes, n)) > 0) {
		bytes += got;
		n -= (size_t)got;
	}
	if (!keep_open)
		close(in[1]);
	while ((got = read(answer[0], piece, sizeof(piece))) > 0)
		buf_add(out, piece, (size_t)got);
	close(answer[0]);
	if (keep_open)
		close(in[1]);
	assert_int_equal(waitpid(child, &status, 0), child);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* Asks the host for facts. Returns the exit status of helper_command_run(). */
static int ask(const char *shell, struct helper_answer *answer, struct assay_error *err)
{
	struct helper_request request;
	struct buf out = BUF_INIT;
	int status;

	helper_request_init(&request, "facts");
	check(helper_request_complete(&request, err), err);
	status = shell_run(shell, helper_command_run(), request.bytes.bytes, request.bytes.size, true, &out);
	helper_answer_init(answer, 1000);
	err->status = helper_answer_add(answer, out.bytes, out.size, err);
	helper_request_release(&request);
	buf_release(&out);
	return status;
}

static size_t entries(const char *directory)
{
	DIR *dir = opendir(directory);
	size_t n = 0;

	while (dir && readdir(dir))
		n++;
	if (dir)
		closedir(dir);
	return n;
}

static void test_deploy(void **state)
{
	struct helper_answer answer;
	struct assay_error err;
	const char *program;
	size_t n, tried = 0;

	helper_find_program(PROGRAM_ARCHITECTURE, &program, &n, NULL);
	setenv("HOME", *state, 1); /* a home directory without start-up files */
	for (size_t i = 0; i < COUNT(shells); i++) {
		char *cache = mem_format("%s/cache of %zu", (char *)*state, i), *place = mem_format("%s/assay", cache);
		struct buf out = BUF_INIT;

		setenv("XDG_CACHE_HOME", cache, 1);
		if (shell_run(shells[i], "exit 3", "", 0, false, &out) == 3) {
			tried++;
			assert_int_equal(helper_installation(&answer, ask(shells[i], &answer, &err)), HELPER_MISSING);
			helper_answer_release(&answer);
			buf_clear(&out);
			/* Half of the program is refused and leaves no file. */
			assert_int_equal(shell_run(shells[i], helper_command_deploy(PROGRAM_ARCHITECTURE), program, n / 2, false, &out), 1);
			assert_non_null(memmem(out.bytes, out.size, "bytes of the helper arrived", 27));
			assert_int_equal(entries(place), 2);
			buf_clear(&out);
			if (shell_run(shells[i], helper_command_deploy(PROGRAM_ARCHITECTURE), program, n, i % 2 == 0, &out) != 0)
				fail_msg("%s: %.*s", shells[i], (int)out.size, out.bytes);
			assert_int_equal(entries(place), 3);
			assert_int_equal(ask(shells[i], &answer, &err), 0);
			check(helper_answer_finish(&answer, &err), &err);
			assert_non_null(strstr(answer.result_text, "kernel "));
			helper_answer_release(&answer);
			/* The program is deployed again over the existing one. */
			assert_int_equal(shell_run(shells[i], helper_command_deploy(PROGRAM_ARCHITECTURE), program, n, false, &out), 0);
			assert_int_equal(entries(place), 3);
		} else {
			print_message("%s is not installed\n", shells[i]);
		}
		buf_release(&out);
		free(cache);
		free(place);
	}
	assert_true(tried >= 2);
	unsetenv("XDG_CACHE_HOME");
}

/* Checks that a relative path in XDG_CACHE_HOME is ignored, as its specification requires. */
static void test_places(void **state)
{
	struct helper_answer answer;
	struct assay_error err;
	struct buf out = BUF_INIT;
	const char *program;
	size_t n;
	char hex[DIGEST_HEX_BYTES], *path;

	helper_find_program(PROGRAM_ARCHITECTURE, &program, &n, NULL);
	digest_sha256(program, n, hex);
	path = mem_format("%s/.cache/assay/helper-%s", (char *)*state, hex);
	setenv("HOME", *state, 1);
	setenv("XDG_CACHE_HOME", "relative", 1);
	assert_int_equal(helper_installation(&answer, ask("sh", &answer, &err)), HELPER_MISSING);
	helper_answer_release(&answer);
	assert_int_equal(shell_run("sh", helper_command_deploy(PROGRAM_ARCHITECTURE), program, n, false, &out), 0);
	assert_int_equal(access(path, X_OK), 0);
	assert_int_equal(access("relative", F_OK), -1);
	assert_int_equal(ask("sh", &answer, &err), 0);
	helper_answer_release(&answer);
	unsetenv("XDG_CACHE_HOME");
	buf_release(&out);
	free(path);
}

/* Checks that a damaged program is not run but deployed again: truncated, zeroed, with one wrong bit, or replaced by a script's text. */
static void test_damaged(void **state)
{
	static const char script[] = "touch pwned\nexit 0\n";
	struct helper_answer answer;
	struct assay_error err;
	const char *program;
	size_t n;
	char hex[DIGEST_HEX_BYTES], *path, *bytes, *cache;

	(void)state;
	helper_find_program(PROGRAM_ARCHITECTURE, &program, &n, NULL);
	digest_sha256(program, n, hex);
	path = mem_format("%s/cache/assay/helper-%s", (char *)*state, hex);
	assert_int_equal(mkdir("cache", 0700) | mkdir("cache/assay", 0700), 0);
	cache = mem_format("%s/cache", (char *)*state);
	setenv("XDG_CACHE_HOME", cache, 1);
	for (size_t i = 0; i < 24; i++) {
		size_t size = i == 0 ? 0 : i == 1 ? n / 2 : i == 2 ? n - 1 : i == 3 ? 4096 : i == 4 ? sizeof(script) - 1 : n;
		const char *shell = shells[i % 2];
		struct buf out = BUF_INIT;

		bytes = mem_bytes(program, n);
		if (i == 4)
			memcpy(bytes, script, size);
		else if (i == 5)
			memset(bytes, 0, n);
		else if (i == 6)
			memset(bytes + n / 2, 0, n - n / 2);
		else if (i > 6)
			bytes[(i - 7) * n / 17] ^= (char)(1 << i % 8);
		check(file_replace(path, bytes, size, 0700, &err), &err);
		free(bytes);
		if (helper_installation(&answer, ask(shell, &answer, &err)) != HELPER_DAMAGED)
			fail_msg("damage %zu is not seen", i);
		helper_answer_release(&answer);
		assert_int_equal(access("pwned", F_OK), -1);
		assert_int_equal(shell_run(shell, helper_command_deploy(PROGRAM_ARCHITECTURE), program, n, false, &out), 0);
		assert_int_equal(ask(shell, &answer, &err), 0);
		check(helper_answer_finish(&answer, &err), &err);
		helper_answer_release(&answer);
		buf_release(&out);
	}
	unsetenv("XDG_CACHE_HOME");
	free(path);
	free(cache);
}

/* Checks that changed bytes of the right number are not installed, and that files of old attempts are removed. */
static void test_deploy_changed(void **state)
{
	const struct timespec long_ago[2] = { { 1000000000, 0 }, { 1000000000, 0 } };
	struct buf out = BUF_INIT;
	const char *program;
	char *bytes;
	size_t n;

	(void)state;
	helper_find_program(PROGRAM_ARCHITECTURE, &program, &n, NULL);
	bytes = mem_bytes(program, n);
	bytes[n / 2] ^= 1;
	setenv("XDG_CACHE_HOME", *state, 1);
	assert_int_equal(shell_run("sh", helper_command_deploy(PROGRAM_ARCHITECTURE), bytes, n, false, &out), 1);
	assert_non_null(memmem(out.bytes, out.size, "is not what was sent", 20));
	assert_int_equal(entries("assay"), 2);
	scratch_put("assay/new-abcdef", "left");
	scratch_put("assay/new-ghijkl", "of now");
	assert_int_equal(utimensat(AT_FDCWD, "assay/new-abcdef", long_ago, 0), 0);
	assert_int_equal(shell_run("sh", helper_command_deploy(PROGRAM_ARCHITECTURE), program, n, false, &out), 0);
	assert_int_equal(entries("assay"), 4);
	assert_int_equal(access("assay/new-abcdef", F_OK), -1);
	unsetenv("XDG_CACHE_HOME");
	buf_release(&out);
	free(bytes);
}

/* Checks that a lost connection leaves no file. Half of the bytes have arrived, and the shell's output has no reader. */
static void test_deploy_cut_off(void **state)
{
	int in[2], said[2], status;
	const char *program;
	pid_t child;
	size_t n;

	helper_find_program(PROGRAM_ARCHITECTURE, &program, &n, NULL);
	setenv("XDG_CACHE_HOME", *state, 1);
	assert_int_equal(pipe2(in, O_CLOEXEC) | pipe2(said, O_CLOEXEC), 0);
	child = fork();
	if (!child) {
		close(said[0]);
		signal(SIGPIPE, SIG_DFL);
		if (dup2(in[0], 0) < 0 || dup2(said[1], 1) < 0 || dup2(said[1], 2) < 0)
			_exit(99);
		execlp("sh", "sh", "-c", helper_command_deploy(PROGRAM_ARCHITECTURE), (char *)NULL);
		_exit(77);
	}
	close(in[0]);
	close(said[0]);
	close(said[1]);
	assert_int_equal(write(in[1], program, 1000), 1000);
	close(in[1]);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_false(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	assert_int_equal(entries("assay"), 2);
	unsetenv("XDG_CACHE_HOME");
}

/* Creates a file as an attempt to deploy by process `pid` leaves it. The caller frees the path. */
static char *left_by(const char *host, pid_t pid)
{
	char *path = mem_format("assay/new-%s-%d-abcdef", host, (int)pid);

	scratch_put(path, "left");
	return path;
}

/* Starts a shell with the arguments of a deploying one. It ends when *input, a new descriptor, is closed, also if the test fails. */
static pid_t deploying_shell(int *input)
{
	char *words[] = { (char[]){ "sh" }, (char[]){ "-c" }, (char[]){ "e=new-; read line; exit 3" }, NULL };
	posix_spawn_file_actions_t actions;
	int ends[2];
	pid_t child;

	assert_int_equal(pipe2(ends, O_CLOEXEC) | posix_spawn_file_actions_init(&actions), 0);
	assert_int_equal(posix_spawn_file_actions_adddup2(&actions, ends[0], 0), 0);
	assert_int_equal(posix_spawnp(&child, "sh", &actions, NULL, words, environ), 0);
	posix_spawn_file_actions_destroy(&actions);
	close(ends[0]);
	*input = ends[1];
	return child;
}

/* Checks that the next deployment and the next start of the helper remove files of killed attempts. Files of a running attempt and of
 * another machine stay. Another program may have reused a process id. */
static void test_deploy_sweeps(void **state)
{
	char *gone, *reused, *working, *elsewhere;
	pid_t child = fork(), shell;
	struct helper_answer answer;
	struct buf out = BUF_INIT;
	struct assay_error err;
	struct utsname name;
	const char *program;
	int input, status;
	size_t n;

	if (!child)
		_exit(0);
	assert_int_equal(waitpid(child, NULL, 0), child);
	assert_int_equal(uname(&name), 0);
	helper_find_program(PROGRAM_ARCHITECTURE, &program, &n, NULL);
	setenv("XDG_CACHE_HOME", *state, 1);
	assert_int_equal(mkdir("assay", 0700), 0);
	shell = deploying_shell(&input);
	for (int deployed = 0; deployed < 2; deployed++) {
		gone = left_by(name.nodename, child);
		reused = left_by(name.nodename, getpid());
		working = left_by(name.nodename, shell);
		elsewhere = left_by("other.host", child);
		if (deployed) {
			assert_int_equal(ask("sh", &answer, &err), 0);
			helper_answer_release(&answer);
		} else {
			assert_int_equal(shell_run("sh", helper_command_deploy(PROGRAM_ARCHITECTURE), program, n, false, &out), 0);
		}
		assert_int_equal(access(gone, F_OK), -1);
		assert_int_equal(access(reused, F_OK), -1);
		assert_int_equal(access(working, F_OK) | access(elsewhere, F_OK), 0);
		assert_int_equal(entries("assay"), 5);
		free(gone);
		free(reused);
		free(working);
		free(elsewhere);
	}
	close(input);
	assert_int_equal(waitpid(shell, &status, 0), shell);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 3);
	unsetenv("XDG_CACHE_HOME");
	buf_release(&out);
}

/* Checks that the message for a directory in the helper's place gives the reason before the path, which may be long. */
static void test_deploy_directory(void **state)
{
	char hex[DIGEST_HEX_BYTES], *path;
	struct buf out = BUF_INIT;
	const char *program;
	size_t n;

	helper_find_program(PROGRAM_ARCHITECTURE, &program, &n, NULL);
	digest_sha256(program, n, hex);
	path = mem_format("assay/helper-%s", hex);
	setenv("XDG_CACHE_HOME", *state, 1);
	assert_int_equal(mkdir("assay", 0700) | mkdir(path, 0700), 0);
	assert_int_equal(shell_run("sh", helper_command_deploy(PROGRAM_ARCHITECTURE), program, n, false, &out), 1);
	assert_non_null(memmem(out.bytes, out.size, "assay: Is a directory: ", 23));
	assert_non_null(memmem(out.bytes, out.size, path, strlen(path)));
	assert_int_equal(entries("assay"), 3);
	unsetenv("XDG_CACHE_HOME");
	buf_release(&out);
	free(path);
}

/* Checks that a full disk is reported and that no file stays. */
static void test_deploy_cannot_write(void **state)
{
	struct rlimit old, small;
	struct buf out = BUF_INIT;
	const char *program;
	size_t n;
	int status;

	(void)state;
	helper_find_program(PROGRAM_ARCHITECTURE, &program, &n, NULL);
	setenv("XDG_CACHE_HOME", *state, 1);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
	small = (struct rlimit){ n / 2, old.rlim_max };
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
	status = shell_run("sh", helper_command_deploy(PROGRAM_ARCHITECTURE), program, n, false, &out);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
	unsetenv("XDG_CACHE_HOME");
	assert_int_equal(status, 1);
	assert_non_null(memmem(out.bytes, out.size, "is the disk full?", 17));
	assert_int_equal(entries("assay"), 2);
	buf_release(&out);
}

/* an unused user id, different for each run of this test */
static uid_t nobody;

static char *place_of_nobody(const char *parent)
{
	return mem_format("%s/assay-%u", parent, (unsigned)nobody);
}

/* Deploys for a user whose home is not writable. The helper goes below /tmp, but never into a directory that others created. Needs root. */
static int deploy_elsewhere(void)
{
	struct buf out = BUF_INIT;
	struct stat info;
	const char *program;
	char *place, *home = getcwd(NULL, 0);
	size_t n;
	int status;

	helper_find_program(PROGRAM_ARCHITECTURE, &program, &n, NULL);
	setenv("HOME", home, 1);
	free(home);
	unsetenv("XDG_CACHE_HOME");
	if (setuid(nobody))
		return 10;
	status = shell_run("sh", helper_command_deploy(PROGRAM_ARCHITECTURE), program, n, false, &out);
	if (status)
		return 11;
	/* The directory below /tmp belongs to another user (see the test). */
	place = place_of_nobody("/dev/shm");
	if (stat(place, &info) || info.st_uid != nobody || (info.st_mode & 07777) != 0700)
		return 12;
	free(place);
	buf_clear(&out);
	status = shell_run("sh", helper_command_run(), "", 0, false, &out); /* the helper refuses the empty request */
	if (status != 1 || !memmem(out.bytes, out.size, "ends in the middle", 18))
		return 13;
	buf_release(&out);
	return 0;
}

static void test_deploy_elsewhere(void **state)
{
	char *taken, *own;
	int status;

	(void)state;
	if (geteuid() != 0) {
		print_message("not root: not tested\n");
		return;
	}
	nobody = 100000 + (uid_t)getpid();
	taken = place_of_nobody("/tmp");
	own = place_of_nobody("/dev/shm");
	/* Another user (here: root) has created the directory before, as a trap. */
	assert_int_equal(mkdir(taken, 0755), 0);
	assert_int_equal(chmod(taken, 0777), 0);
	status = scratch_child(deploy_elsewhere);
	nftw(own, scratch_remove, 16, FTW_DEPTH | FTW_PHYS);
	assert_int_equal(rmdir(taken), 0); /* the directory is still empty */
	assert_int_equal(status, 0);
	free(taken);
	free(own);
}

static void test_program(void **state)
{
	char hex[DIGEST_HEX_BYTES];
	const char *bytes;
	size_t n;

	(void)state;
	helper_find_program(PROGRAM_ARCHITECTURE, &bytes, &n, NULL);
	assert_in_range(n, 10000, 2 << 20);
	assert_memory_equal(bytes, "\177ELF", 4);
	digest_sha256(bytes, n, hex);
	assert_non_null(strstr(helper_command_run(), hex));
	assert_non_null(strstr(helper_command_deploy(PROGRAM_ARCHITECTURE), hex));
	assert_null(strchr(helper_command_deploy(PROGRAM_ARCHITECTURE), '\n'));
	assert_string_equal(strrchr(helper_command_deploy(PROGRAM_ARCHITECTURE), ';'), "; exit 1'");
}

int suite_helper_client(void)
{
	const struct CMUnitTest tests[] = {
		SESSION_TEST(test_answers),
		SESSION_TEST(test_what_an_answer_holds),
		SESSION_TEST(test_by_launcher),
		SESSION_TEST(test_made_and_kept),
		SESSION_TEST(test_flood),
		SESSION_TEST(test_missing),
		SESSION_TEST(test_request_limits),
		SESSION_TEST(test_program),
		SESSION_TEST(test_places),
		SESSION_TEST(test_damaged),
		SESSION_TEST(test_deploy_changed),
		SESSION_TEST(test_deploy),
		SESSION_TEST(test_deploy_cut_off),
		SESSION_TEST(test_deploy_sweeps),
		SESSION_TEST(test_deploy_directory),
		SESSION_TEST(test_deploy_cannot_write),
		SESSION_TEST(test_deploy_elsewhere),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
