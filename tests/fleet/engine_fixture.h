/* Shared by the tests of the engine: an sshd with a user key, hosts that point to it, and functions that run one command. */
#ifndef TESTS_ENGINE_FIXTURE_H
#define TESTS_ENGINE_FIXTURE_H

#include "fleet/engine/session.h"
#include "tests/scratch.h"
#include "tests/fleet/sshd.h"

#include <dirent.h>

static struct sshd server;
static struct known_hosts *known;
static char *directory; /* working directory of this test program, which contains all of its files */

static inline size_t count_fds(void)
{
	DIR *fds = opendir("/proc/self/fd");
	size_t n = 0;

	while (readdir(fds))
		n++;
	closedir(fds);
	return n;
}

static inline void know(struct known_hosts *where, const char *marker, int port, const char *key)
{
	char *public = sshd_public(key), *line = mem_format("%s[127.0.0.1]:%d %s\n", marker, port, public);
	struct assay_error err;

	check(known_hosts_parse(where, "known_hosts", line, strlen(line), &err), &err);
	free(line);
	free(public);
}

static inline int engine_enter(void **state)
{
	directory = mem_string("/tmp/assay-engine-XXXXXX");
	(void)state;
	if (!mkdtemp(directory) || chdir(directory))
		return 1;
	unsetenv("SSH_AUTH_SOCK");
	sshd_keygen("user", "ed25519", "");
	sshd_authorize("user");
	server = sshd_start("server", "");
	known = known_hosts_new();
	know(known, "", server.port, server.key);
	return 0;
}

static inline int engine_leave(void **state)
{
	(void)state;
	known_hosts_free(known);
	sshd_stop(&server);
	if (chdir("/") || nftw(directory, scratch_remove, 16, FTW_DEPTH | FTW_PHYS))
		return 1;
	free(directory);
	return 0;
}

/* Number of open descriptors before the test. Each test checks that it leaves none open. */
static size_t fds_before;

static inline int fds_enter(void **state)
{
	(void)state;
	fds_before = count_fds();
	return 0;
}

static inline int fds_leave(void **state)
{
	(void)state;
	return count_fds() != fds_before;
}

#define ENGINE_TEST(name) cmocka_unit_test_setup_teardown(name, fds_enter, fds_leave)

/* Returns the host "one": the sshd on this port of 127.0.0.1. */
static inline struct host host_at(int port)
{
	static char name[] = "one", address[] = "127.0.0.1", identity[] = "user";

	return (struct host){ .name = name, .id = name, .address = address, .port = port, .identity_file = identity, .box = name };
}

/* Returns the host "here": this machine, without ssh. */
static inline struct host host_here(void)
{
	static char name[] = "here";

	return (struct host){ .name = name, .id = name, .address = name, .box = name, .local = true };
}

static inline struct fleet_options fleet_defaults(void)
{
	return (struct fleet_options){ .directory = directory, .home = directory, .known = known, .connect_timeout_ms = 5000 };
}

/* One command that each host runs once. */
struct once {
	struct fleet_command command;
	size_t done;
};

static inline void once_run(struct session *session, void *context)
{
	const struct once *once = context;

	if (session_open(session))
		session_run_shell(session, &once->command, &session->result->out, &session->result->err);
}

static inline void once_ended(size_t host, const struct fleet_result *result, size_t n_done, size_t n, void *context)
{
	struct once *once = context;

	(void)host, (void)result;
	assert_int_equal(n_done, ++once->done);
	assert_true(n_done <= n);
}

static inline struct once once(const char *command)
{
	return (struct once){ .command = { .command = command, .timeout_ms = 10000 } };
}

static inline void run_hosts(const struct host *const *hosts, size_t n, struct once *what, const struct fleet_options *options,
			     struct fleet_result *results)
{
	struct fleet_options with_end = *options;
	struct assay_error err;

	with_end.on_host_end = once_ended;
	check(fleet_run_on_each_host(hosts, n, &with_end, once_run, what, results, &err), &err);
	assert_int_equal(what->done, n);
	what->done = 0;
}

static inline struct fleet_result run_one(const struct host *host, struct once *what, const struct fleet_options *options)
{
	const struct host *hosts[] = { host };
	struct fleet_result result;

	run_hosts(hosts, 1, what, options, &result);
	return result;
}

static inline void expect(const struct fleet_result *result, enum fleet_outcome outcome, const char *part)
{
	if (result->outcome != outcome)
		fail_msg("%s (%s), not %s", fleet_outcome_text(result->outcome), result->message, fleet_outcome_text(outcome));
	if (!strstr(result->message, part))
		fail_msg("'%s' is not in '%s'", part, result->message);
	if (outcome == FLEET_OK)
		assert_string_equal(result->message, "");
}

static inline char *text_of(const struct spool *spool)
{
	struct assay_error err;
	char *text;
	size_t n;

	check(spool_text(spool, 64u << 20, &text, &n, &err), &err);
	return text;
}

static inline void expect_text(const struct spool *spool, const char *expected)
{
	char *text = text_of(spool);

	assert_string_equal(text, expected);
	free(text);
}

/* Runs a command on the server, checks its outcome and part of its message, and releases the result. */
static inline void expect_outcome(const struct host *host, const char *command, const struct fleet_options *options,
				  enum fleet_outcome outcome, const char *part)
{
	struct once what = once(command);
	struct fleet_result result = run_one(host, &what, options);

	expect(&result, outcome, part);
	fleet_result_release(&result);
}

#endif
