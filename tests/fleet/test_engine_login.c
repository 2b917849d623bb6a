/* Tests host keys and users: successful logins, refusals, and the messages of refusals. */
#include "base/clock.h"
#include "tests/fleet/engine_fixture.h"

#include <pwd.h>
#include <sys/mount.h>
#include <sys/time.h>
#include <sys/un.h>

static struct known_hosts *known_with(const char *marker, int port, const char *key)
{
	struct known_hosts *some = known_hosts_new();

	if (key)
		know(some, marker, port, key);
	return some;
}

/* Checks that nothing is sent to a host with a wrong host key: its log has no login attempt. */
static void test_host_keys(void **state)
{
	struct {
		const char *marker, *key;
		enum fleet_outcome outcome;
		const char *message;
	} rows[] = {
		{ "", server.key, FLEET_OK, "" },
		{ "", NULL, FLEET_HOSTKEY, "is not known: verify it, then 'assay host trust -w one'" },
		{ "", "user", FLEET_HOSTKEY, "is not that of known_hosts:1: find out why" },
		{ "@revoked ", server.key, FLEET_HOSTKEY, "is revoked (known_hosts:1)" },
		{ "@cert-authority ", "user", FLEET_HOSTKEY, "only a certificate authority is known (known_hosts:1)" },
	};
	struct host host = host_at(server.port);

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct known_hosts *some = known_with(rows[i].marker, server.port, rows[i].key);
		struct fleet_options options = fleet_defaults();

		options.known = some;
		expect_outcome(&host, "true", &options, rows[i].outcome, rows[i].message);
		known_hosts_free(some);
	}
	assert_int_equal(sshd_logged(&server, "Accepted publickey"), 1);
	assert_int_equal(sshd_logged(&server, "authenticating user"), 0);
}

/* Checks that a host is asked for the type of host key that is known, even if the host prefers another type. */
static void test_kind_of_host_key(void **state)
{
	struct known_hosts *some;
	struct sshd two;
	struct fleet_options options = fleet_defaults();
	struct host host;
	char *more;

	(void)state;
	sshd_keygen("second.key", "ecdsa", "");
	more = mem_format("HostKey %s/second.key", directory);
	two = sshd_start("two", more);
	some = known_with("", two.port, "second.key");
	options.known = some;
	host = host_at(two.port);
	expect_outcome(&host, "true", &options, FLEET_OK, "");
	known_hosts_free(some);
	sshd_stop(&two);
	free(more);
}

static void ask_for_key(struct session *session, void *context)
{
	session_read_host_key(session, &((char **)context)[session->index]);
}

static void test_ask_for_host_keys(void **state)
{
	struct host good = host_at(server.port), bad = host_at(1), here = host_here();
	const struct host *hosts[] = { &good, &bad, &here };
	struct fleet_options options = fleet_defaults();
	struct fleet_result results[3];
	char *keys[3], *public = sshd_public(server.key), *line = mem_format("[127.0.0.1]:%d %s", server.port, public);
	struct assay_error err;

	(void)state;
	check(fleet_run_on_each_host(hosts, 3, &options, ask_for_key, keys, results, &err), &err);
	assert_string_equal(keys[0], line);
	assert_null(keys[1]);
	expect(&results[1], FLEET_UNREACHABLE, "Connection refused");
	assert_null(keys[2]);
	for (size_t i = 0; i < 3; i++) {
		free(keys[i]);
		fleet_result_release(&results[i]);
	}
	free(public);
	free(line);
}

static void test_users(void **state)
{
	static char other[] = "other", locked[] = "locked", open_to_all[] = "open", nothing[] = "nothing", garbage[] = "garbage";
	static char user[] = "user", public[] = "user.pub", folder[] = "folder", nobody[] = "no-such-user-here";
	static char far[302] = "", whole[340]; /* a key file with a long path, and the complete remedy for it */
	struct {
		char *identity, *user;
		enum fleet_outcome outcome;
		const char *message;
	} rows[] = {
		{ user, NULL, FLEET_OK, "" },
		{ other, NULL, FLEET_AUTH, "none of the keys is accepted for user" },
		{ user, nobody, FLEET_AUTH, "none of the keys is accepted for user 'no-such-user-here'" },
		{ locked, NULL, FLEET_AUTH, "locked' has a passphrase: start an agent and 'ssh-add" },
		{ open_to_all, NULL, FLEET_AUTH, "can be read by others: 'chmod 600" },
		{ far, NULL, FLEET_AUTH, whole },
		{ nothing, NULL, FLEET_AUTH, "nothing': No such file or directory" },
		{ garbage, NULL, FLEET_AUTH, "is not a private key that can be read" },
		{ public, NULL, FLEET_AUTH, "user.pub' is a public key: name the file with the private key" },
		{ folder, NULL, FLEET_AUTH, "folder' is a directory: name the file with the private key" },
		{ NULL, NULL, FLEET_AUTH, "no key for user" }, /* this home directory has no default keys */
	};
	struct fleet_options options = fleet_defaults();

	(void)state;
	sshd_keygen("other", "ed25519", "");
	sshd_keygen("locked", "ed25519", "secret words");
	sshd_keygen("open", "ed25519", "");
	assert_int_equal(chmod("open", 0644), 0);
	assert_int_equal(mkdir("folder", 0755), 0);
	scratch_put("garbage", "-----BEGIN OPENSSH PRIVATE KEY-----\nc2VjcmV0IHdvcmRz\n-----END OPENSSH PRIVATE KEY-----\n");
	assert_int_equal(chmod("garbage", 0600), 0);
	for (size_t i = 0; i < 140; i++)
		memcpy(far + 2 * i, "./", 2);
	memcpy(far + 280, open_to_all, strlen(open_to_all) + 1);
	snprintf(whole, sizeof(whole), "%s' can be read by others: 'chmod 600 /", far);
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct host host = host_at(server.port);

		host.identity_file = rows[i].identity;
		host.user = rows[i].user;
		expect_outcome(&host, "true", &options, rows[i].outcome, rows[i].message);
	}
}

/* Checks that all types of default keys in ~/.ssh are used, as OpenSSH does. */
static void test_default_keys(void **state)
{
	static const struct {
		const char *file, *type;
	} rows[] = { { "id_rsa", "rsa" }, { "id_ecdsa", "ecdsa" }, { "id_ed25519", "ed25519" } };
	struct fleet_options options = fleet_defaults();
	struct host host = host_at(server.port);

	(void)state;
	host.identity_file = NULL;
	assert_int_equal(mkdir(".ssh", 0700), 0);
	for (size_t i = 0; i < COUNT(rows); i++) {
		char *path = mem_format(".ssh/%s", rows[i].file);

		sshd_keygen(path, rows[i].type, "");
		expect_outcome(&host, "true", &options, FLEET_AUTH, "none of the keys is accepted");
		sshd_authorize(path);
		expect_outcome(&host, "true", &options, FLEET_OK, "");
		unlink(path);
		free(path);
	}
}

/* Checks a host that requires a password in addition to a key. */
static void test_more_than_a_key(void **state)
{
	struct sshd two = sshd_start("both", "AuthenticationMethods publickey,password");
	struct fleet_options options = fleet_defaults();
	struct host host = host_at(two.port);

	(void)state;
	know(known, "", two.port, two.key);
	expect_outcome(&host, "true", &options, FLEET_AUTH, "but also needs a password or another method");
	sshd_stop(&two);
}

/* ---- agents ---- */

static void add_key(const char *key)
{
	pid_t child = fork();
	int status;

	if (!child) {
		execlp("ssh-add", "ssh-add", "-q", key, (char *)NULL);
		_exit(127);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

static pid_t agent_child;
static FILE *agent_pipe;
static int agent_hold = -1;

/* Starts ssh-agent with a command. ssh-agent ends with that command, which ends when the test closes its standard input. */
static void start_agent(void)
{
	int hold[2];
	pid_t child;
	int answer[2], agent;

	assert_int_equal(pipe2(hold, O_CLOEXEC) + pipe2(answer, O_CLOEXEC), 0);
	child = fork();
	if (!child) {
		dup2(hold[0], 0);
		dup2(answer[1], 1);
		execlp("ssh-agent", "ssh-agent", "-a", "agent", "sh", "-c", "echo $SSH_AGENT_PID; read line; kill $SSH_AGENT_PID",
		       (char *)NULL);
		_exit(127);
	}
	close(hold[0]);
	close(answer[1]);
	agent_hold = hold[1];
	agent_pipe = fdopen(answer[0], "r");
	assert_int_equal(fscanf(agent_pipe, "%d", &agent), 1);
	agent_child = child;
	setenv("SSH_AUTH_SOCK", "agent", 1);
}

/* Ends the agent. Also runs after a failed test. */
static int agent_leave(void **state)
{
	if (agent_hold >= 0) {
		close(agent_hold);
		fclose(agent_pipe);
		agent_hold = -1;
	}
	if (agent_child > 0) {
		kill(agent_child, SIGTERM);
		waitpid(agent_child, NULL, 0);
	}
	agent_child = 0;
	unsetenv("SSH_AUTH_SOCK");
	unlink("agent");
	return fds_leave(state);
}

static void test_agent(void **state)
{
	static char locked[] = "with-passphrase";
	struct fleet_options options = fleet_defaults();
	struct host host = host_at(server.port);

	(void)state;
	start_agent();
	/* The key is added to the agent before its file gets a passphrase, because ssh-add would ask for the passphrase. */
	sshd_keygen(locked, "ed25519", "");
	sshd_authorize(locked);
	host.identity_file = NULL;
	expect_outcome(&host, "true", &options, FLEET_AUTH, "no key for user");
	host.identity_file = locked;
	sshd_keygen("unknown", "ed25519", "");
	add_key("unknown");
	add_key(locked);
	unlink(locked);
	expect_outcome(&host, "true", &options, FLEET_OK, ""); /* first the named file, then the agent's second key */
	host.identity_file = NULL;
	expect_outcome(&host, "true", &options, FLEET_OK, "");
}

/* Checks an agent with more keys than the host accepts attempts (MaxAuthTries 6). */
static void test_too_many_keys(void **state)
{
	struct fleet_options options = fleet_defaults();
	struct host host = host_at(server.port);

	(void)state;
	start_agent();
	for (int i = 0; i < 8; i++) {
		char *key = mem_format("many%d", i);

		sshd_keygen(key, "ed25519", "");
		add_key(key);
		free(key);
	}
	host.identity_file = NULL;
	expect_outcome(&host, "true", &options, FLEET_AUTH, "too many keys");
}

/* Starts a false agent that sends `answer` to each client and then nothing. */
static void start_fake_agent(const char *answer, size_t n)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX, .sun_path = "agent" };
	int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_int_equal(bind(listener, (struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(listen(listener, 8), 0);
	agent_child = fork();
	if (!agent_child) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;) {
			int fd = accept(listener, NULL, NULL);

			if (write(fd, answer, n) < 0)
				_exit(1);
		}
	}
	close(listener);
	setenv("SSH_AUTH_SOCK", "agent", 1);
}

/* Checks that an agent that stops answering or sends a wrong answer is noticed soon and reported with `message`. */
static void agent_says(const char *answer, size_t n, const char *message)
{
	struct fleet_options options = fleet_defaults();
	struct host host = host_at(server.port);

	options.connect_timeout_ms = 600;
	start_fake_agent(answer, n);
	if (n)							       /* a silent agent only takes longer */
		expect_outcome(&host, "true", &options, FLEET_OK, ""); /* the named file is sufficient */
	host.identity_file = NULL;
	expect_outcome(&host, "true", &options, FLEET_AUTH, message);
	agent_leave(NULL);
}

static void test_bad_agents(void **state)
{
	static const char half[] = "\0\0\0\x55\x0c\0\0\0\x01";
	static const char one_key[] = "\0\0\0\x05\x0c\0\0\0\x01";

	(void)state;
	agent_says("", 0, "does not answer");
	agent_says("\0\0\0\x05\x05\0\0\0\0", 9, "does not answer");
	agent_says(one_key, sizeof(one_key) - 1, "none of the keys"); /* and then no signature by that key */
	agent_says(half, sizeof(half) - 1, "has stopped answering");
}

static volatile sig_atomic_t cancelled;

static void on_alarm(int number)
{
	cancelled = number;
}

/* Checks that the user can cancel while an agent does not answer. */
static void test_cancel_at_agent(void **state)
{
	static const char half[] = "\0\0\0\x55\x0c\0\0\0\x01";
	const struct itimerval soon = { .it_value = { .tv_usec = 500000 } };
	struct fleet_options options = fleet_defaults();
	struct host host = host_at(server.port);

	(void)state;
	start_fake_agent(half, sizeof(half) - 1);
	host.identity_file = NULL;
	options.cancelled = &cancelled;
	signal(SIGALRM, on_alarm);
	setitimer(ITIMER_REAL, &soon, NULL);
	expect_outcome(&host, "true", &options, FLEET_FAILED, "cancelled");
	signal(SIGALRM, SIG_DFL);
}

/* ---- through another host ---- */

/* Writes a configuration with the jump hosts `way` for the target. `lines` configure the jump hosts. */
static void configure_way(const char *way, const char *lines)
{
	char *text = mem_format("Host 127.0.0.1\n\tProxyJump %s\n\tUserKnownHostsFile known_hosts\n%s", way, lines);

	scratch_put("config", text);
	free(text);
}

/* Returns lines of ~/.ssh/config for a jump host. The caller frees the text. */
static char *jump_lines(const char *name, int port, const char *known_file, const char *identity)
{
	return mem_format(
	    "Host %s\n\tHostName 127.0.0.1\n\tPort %d\n\tUserKnownHostsFile %s/%s\n\tIdentityFile %s/%s\n\tIdentitiesOnly yes\n"
	    "\tStrictHostKeyChecking no\n", /* assay ignores this option */
	    name, port, directory, known_file, directory, identity);
}

static void expect_way(const struct host *host, const char *way, const char *lines, enum fleet_outcome outcome, const char *part)
{
	struct fleet_options options = fleet_defaults();

	options.config = "config";
	configure_way(way, lines);
	expect_outcome(host, "echo through", &options, outcome, part);
}

static void test_jump(void **state)
{
	static const struct {
		const char *known, *identity;
		enum fleet_outcome outcome;
		const char *message;
	} rows[] = {
		{ "jump.known", "user", FLEET_OK, "" },
		{ "jump.unknown", "user", FLEET_HOSTKEY,
		  "through jumper: the key of this jump host is not known: verify it, then 'assay host trust -w one'" },
		{ "jump.changed", "user", FLEET_HOSTKEY,
		  "through jumper: the key of this jump host has changed: find out why, then 'assay host trust --replace -w one'" },
		{ "jump.known", "stranger", FLEET_AUTH, "Permission denied" },
	};
	struct sshd jump = sshd_start("jump", "");
	struct host host = host_at(server.port);
	char *public = sshd_public(jump.key), *text = mem_format("[127.0.0.1]:%d %s\n", jump.port, public), *lines;
	char *changed = sshd_public(server.key), *other = mem_format("[127.0.0.1]:%d %s\n", jump.port, changed);

	(void)state;
	sshd_keygen("stranger", "ed25519", "");
	scratch_put("jump.known", text);
	scratch_put("jump.changed", other);
	for (size_t i = 0; i < COUNT(rows); i++) {
		lines = jump_lines("jumper", jump.port, rows[i].known, rows[i].identity);
		expect_way(&host, "jumper", lines, rows[i].outcome, rows[i].message);
		free(lines);
	}
	assert_true(sshd_logged(&jump, "Accepted publickey") == 1);
	scratch_put("known_hosts", text); /* known_hosts of the laboratory */
	lines = jump_lines("jumper", jump.port, "jump.unknown", "user");
	expect_way(&host, "jumper", lines, FLEET_OK, "");
	assert_true(sshd_logged(&jump, "Accepted publickey") == 2);
	host.port = 1;
	expect_way(&host, "jumper", lines, FLEET_UNREACHABLE, "Connection refused");
	expect_way(&host, "nowhere.invalid", lines, FLEET_UNREACHABLE, "jump hosts must be names of ~/.ssh/config, not of lab.yaml");
	unlink("known_hosts");
	sshd_stop(&jump);
	free(lines);
	free(public);
	free(text);
	free(changed);
	free(other);
}

static void ask_for_jumps(struct session *session, void *context)
{
	session_read_jumps(session, context);
}

static void expect_jumps(const char *way, const char *lines, const char *expected)
{
	struct fleet_options options = fleet_defaults();
	struct host host = host_at(server.port);
	const struct host *hosts[] = { &host };
	struct fleet_result result;
	struct assay_error err;
	char *jumps;

	options.config = "config";
	configure_way(way, lines);
	check(fleet_run_on_each_host(hosts, 1, &options, ask_for_jumps, &jumps, &result, &err), &err);
	assert_string_equal(jumps ? jumps : result.message, expected);
	free(jumps);
	fleet_result_release(&result);
}

/* Checks a connection through two jump hosts. Each host key is checked, whether the target names both or the second names the first. */
static void test_two_jumps(void **state)
{
	struct sshd first = sshd_start("first", ""), second = sshd_start("second", "");
	struct host host = host_at(server.port);
	char *one = sshd_public(first.key), *two = sshd_public(second.key);
	char *text = mem_format("[127.0.0.1]:%d %s\n[127.0.0.1]:%d %s\n", second.port, two, first.port, one);
	char *lines1 = jump_lines("first", first.port, "jumps.known", "user"),
	     *lines2 = jump_lines("second", second.port, "jumps.known", "user");
	char *lines = mem_format("%s%s", lines1, lines2), *chained = mem_format("%s%s\tProxyJump first\n", lines1, lines2);

	(void)state;
	scratch_put("jumps.known", text);
	expect_way(&host, "first,second", lines, FLEET_OK, "");
	expect_way(&host, "second", chained, FLEET_OK, "");
	assert_int_equal(sshd_logged(&first, "Accepted publickey"), 2);
	assert_int_equal(sshd_logged(&second, "Accepted publickey"), 2);
	expect_jumps("first,second", lines, "first,second");
	expect_jumps("second", chained, "first,second");
	expect_jumps("u@[::1]:7,second", "", "u@[::1]:7,second");
	expect_jumps("all", "Host *\n\tProxyJump all\n", /* ssh prints this word itself */
		     "~/.ssh/config cannot be read by 'ssh -G' (package openssh-client): jumphost loop via all");
	expect_jumps("a", "Host a\n\tProxyJump b\nHost b\n\tProxyJump a\n",
		     "its jump hosts lead through b,a,b,a,b,a,b,a,b,a: more than 8, or a circle");
	*strchr(text, '\n') = '\0'; /* only the second host is known */
	scratch_put("jumps.known", text);
	expect_way(&host, "first,second", lines, FLEET_HOSTKEY, "is not known: verify it");
	expect_way(&host, "second", chained, FLEET_HOSTKEY, "is not known: verify it");
	assert_int_equal(sshd_logged(&first, "Accepted publickey"), 2);
	sshd_stop(&first);
	sshd_stop(&second);
	free(one);
	free(two);
	free(text);
	free(lines1);
	free(lines2);
	free(lines);
	free(chained);
}

/* Checks that settings of ~/.ssh/config are used, and that an unsupported setting fails only the host that it concerns. */
static void test_config(void **state)
{
	static char alias[] = "alias", odd[] = "odd", wrong[] = "wrong";
	struct host plain = host_at(0), strange = host_at(0), stranger = host_at(0);
	const struct host *hosts[] = { &plain, &strange, &stranger };
	struct once what = once("true");
	struct fleet_options options = fleet_defaults();
	struct fleet_result results[3];
	char *text = mem_format("Include %s/more\nHost odd\n\tProxyCommand nc\nHost wrong\n\tHostName 127.0.0.1\n\tPort %d\n"
				"\tIdentityFile %s/user\n\tUserKnownHostsFile %s/others\n",
				directory, server.port, directory, directory);
	char *more = mem_format("Match originalhost alias exec \"true\"\n\tHostName 127.0.0.1\n\tPort %d\n\tIdentityFile %s/%%r-key\n"
				"\tHostKeyAlias the-server\n\tUserKnownHostsFile %s/aliases\n",
				server.port, directory, directory);
	char *public = sshd_public(server.key), *line = mem_format("the-server %s\n", public);
	char *key = mem_format("%s-key", getpwuid(geteuid())->pw_name);

	(void)state;
	scratch_put("config", text);
	scratch_put("more", more);
	scratch_put("aliases", line);
	scratch_put("others", "");
	assert_int_equal(symlink("user", key), 0);
	plain.address = alias;
	strange.address = odd;
	stranger.address = wrong;
	plain.identity_file = stranger.identity_file = NULL;
	options.config = "config";
	run_hosts(hosts, 3, &what, &options, results);
	expect(&results[0], FLEET_OK, "");
	expect(&results[1], FLEET_UNREACHABLE, "ProxyCommand");
	expect(&results[2], FLEET_HOSTKEY, "is not known"); /* the host is known, but only in a file that does not apply to it */
	for (size_t i = 0; i < 3; i++)
		fleet_result_release(&results[i]);
	unlink(key);
	free(key);
	free(public);
	free(line);
	free(text);
	free(more);
}

/* Checks IdentitiesOnly: of the agent's many keys, only the named one is offered. */
static void test_identities_only(void **state)
{
	struct fleet_options options = fleet_defaults();
	struct host host = host_at(server.port);
	static char chosen[] = "chosen";
	char *text = mem_format("Host *\n\tIdentitiesOnly yes\n\tIdentityFile %s/chosen\n\tUserKnownHostsFile known_hosts\n", directory);

	(void)state;
	start_agent();
	for (int i = 0; i < 8; i++) {
		char *key = mem_format("other%d", i);

		sshd_keygen(key, "ed25519", "");
		add_key(key);
		free(key);
	}
	sshd_keygen("chosen", "ed25519", "");
	sshd_authorize("chosen");
	add_key("chosen");
	unlink("chosen"); /* chosen.pub stays, as for a key with a passphrase */
	scratch_put("config", text);
	options.config = "config";
	host.identity_file = NULL;
	expect_outcome(&host, "true", &options, FLEET_OK, "");
	host.identity_file = chosen; /* the file of lab.yaml replaces the configured file; IdentitiesOnly still applies */
	expect_outcome(&host, "true", &options, FLEET_OK, "");
	host.identity_file = NULL;
	unlink("chosen.pub");
	expect_outcome(&host, "true", &options, FLEET_AUTH, "chosen': No such file");
	free(text);
}

static int hung_fd = -1;

static void end_hanging(void)
{
	if (hung_fd >= 0)
		close(hung_fd);
	hung_fd = -1;
}

static void on_late(int number)
{
	(void)number;
	end_hanging();
}

/* Mounts a file system whose server does not answer, so that every access waits. */
static bool make_hanging(const char *where)
{
	char *data;
	bool ok;

	assert_int_equal(mkdir(where, 0755), 0);
	hung_fd = open("/dev/fuse", O_RDWR | O_CLOEXEC);
	data = mem_format("fd=%d,rootmode=40000,user_id=0,group_id=0", hung_fd);
	ok = hung_fd >= 0 && mount("hung", where, "fuse", 0, data) == 0;
	free(data);
	if (!ok)
		end_hanging();
	return ok;
}

struct hung {
	const struct host *well;
	bool ended; /* before the host that hangs */
};

static void well_or_hung(struct session *session, void *context)
{
	struct hung *hung = context;
	const struct fleet_command command = { .command = "sleep 60" };

	if (session->host == hung->well) {
		usleep(1000000);	 /* the other host has reached its key by then */
		kill(getpid(), SIGUSR1); /* the user cancels */
	}
	if (session_open(session))
		session_run_shell(session, &command, &session->result->out, &session->result->err);
	if (session->host == hung->well) {
		hung->ended = hung_fd >= 0;
		end_hanging();
	}
}

/* Checks that a home directory that hangs delays only the hosts that need it, and that the others can be cancelled. */
static void test_hung_keys(void **state)
{
	static char file[] = "hung/key";
	struct fleet_options options = fleet_defaults();
	struct host stuck = host_at(server.port), well = host_at(server.port);
	const struct host *hosts[] = { &stuck, &well };
	const struct itimerval late = { .it_value = { .tv_sec = 15 } };
	struct hung hung = { .well = &well };
	struct fleet_result results[2];
	struct assay_error err;

	(void)state;
	if (!make_hanging("hung"))
		skip();
	stuck.identity_file = file;
	cancelled = 0;
	options.cancelled = &cancelled;
	signal(SIGUSR1, on_alarm);
	signal(SIGALRM, on_late); /* a failure would hang */
	setitimer(ITIMER_REAL, &late, NULL);
	check(fleet_run_on_each_host(hosts, 2, &options, well_or_hung, &hung, results, &err), &err);
	setitimer(ITIMER_REAL, &(struct itimerval){ 0 }, NULL);
	assert_true(hung.ended);
	expect(&results[1], FLEET_FAILED, "cancelled");
	for (size_t i = 0; i < 2; i++)
		fleet_result_release(&results[i]);
	umount2("hung", MNT_DETACH);
	rmdir("hung");
	signal(SIGALRM, SIG_DFL);
	signal(SIGUSR1, SIG_DFL);
}

#define AGENT_TEST(name) cmocka_unit_test_setup_teardown(name, fds_enter, agent_leave)

int suite_engine_login(void)
{
	const struct CMUnitTest tests[] = {
		ENGINE_TEST(test_host_keys),	  ENGINE_TEST(test_kind_of_host_key), ENGINE_TEST(test_ask_for_host_keys),
		ENGINE_TEST(test_users),	  ENGINE_TEST(test_default_keys),     ENGINE_TEST(test_more_than_a_key),
		AGENT_TEST(test_agent),		  AGENT_TEST(test_too_many_keys),     AGENT_TEST(test_bad_agents),
		AGENT_TEST(test_cancel_at_agent), AGENT_TEST(test_identities_only),   ENGINE_TEST(test_jump),
		ENGINE_TEST(test_hung_keys),	  ENGINE_TEST(test_two_jumps),	      ENGINE_TEST(test_config),
	};

	if (!sshd_available()) {
		puts("skipped: no sshd here (package openssh-server)");
		return 77;
	}
	return cmocka_run_group_tests(tests, engine_enter, engine_leave);
}
