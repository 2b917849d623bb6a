/* Checks that ~/.ssh/config is read as OpenSSH reads it, and which settings result. */
#include "fleet/engine/reach.c"
#include "fleet/engine/ssh_target.c"

#include "tests/scratch.h"

#include <pwd.h>
#include <sys/wait.h>
#include <unistd.h>

/* Returns the output of a shell command, or "" if it fails. The caller frees the text. */
static char *output_of(const char *command)
{
	char *text = mem_new(65536, 1);
	size_t n = 0;
	ssize_t got;
	int ends[2], status;
	pid_t child;

	assert_int_equal(pipe(ends), 0);
	child = fork();
	if (!child) {
		dup2(ends[1], 1);
		close(ends[0]);
		execl("/bin/sh", "sh", "-c", command, (char *)NULL);
		_exit(127);
	}
	close(ends[1]);
	while ((got = read(ends[0], text + n, 65535 - n)) > 0)
		n += (size_t)got;
	close(ends[0]);
	assert_int_equal(waitpid(child, &status, 0), child);
	text[status ? 0 : n] = '\0';
	return text;
}

/* Returns the output of `ssh -G` for a host under this configuration (NULL: no file). The caller frees the text. */
static char *ask(const char *config, const char *host)
{
	char *command, *text;

	if (config)
		scratch_put("config", config);
	command = ssh_config_command(config ? "./config" : NULL, host, 0, NULL);
	text = output_of(command);
	free(command);
	return text;
}

static enum assay_status parse(const char *config, const char *host, struct ssh_settings *out, struct assay_error *err)
{
	char *text = ask(config, host), *defaults = ask(NULL, "any");
	enum assay_status st = ssh_settings_parse(text, defaults, host, "me", "/home/me", out, err);

	free(text);
	free(defaults);
	return st;
}

/* Checks settings that occur twice, which ssh -G never prints: the later value counts, and the sanitizers find no leak. */
static void test_twice(void **state)
{
	static const char once[] = "hostname h\nuser u\nport 22\nproxyjump j\nhostkeyalias a\nidentityfile f\n",
			  again[] = "hostname h2\nuser u2\nport 23\nproxyjump j2\nhostkeyalias none\n";
	char *text = mem_format("%s%s", once, again);
	struct ssh_settings s;
	struct assay_error err;

	(void)state;
	check(ssh_settings_parse(text, once, "host", "me", "/home/me", &s, &err), &err);
	assert_string_equal(s.host_name, "h2");
	assert_string_equal(s.user, "u2");
	assert_string_equal(s.proxy_jump, "j2");
	assert_null(s.host_key_alias);
	assert_int_equal(s.port, 23);
	ssh_settings_release(&s);
	free(text);
}

/* Returns "host_name user port jump alias | identity files | known hosts and marks", '-' for missing values. The caller frees it. */
static char *look_up(const char *config, const char *host)
{
	const char *me = getpwuid(getuid())->pw_name;
	struct ssh_settings s;
	struct assay_error err;
	struct buf out = BUF_INIT;

	check(parse(config, host, &s, &err), &err);
	buf_format(&out, "%s %s %d %s %s |", s.host_name, strcmp(s.user, me) == 0 ? "-" : s.user, s.port, s.proxy_jump ? s.proxy_jump : "-",
		   s.host_key_alias ? s.host_key_alias : "-");
	for (size_t i = 0; s.identities_are_user_given && i < s.n_identity_files; i++)
		buf_format(&out, " %s", s.identity_files[i]);
	buf_text(&out, " |");
	for (size_t i = 0; i < s.n_known_hosts_files; i++) {
		if (!strstr(s.known_hosts_files[i], "ssh/"))
			buf_format(&out, " %s", s.known_hosts_files[i]);
	}
	buf_format(&out, "%s%s", s.identities_only ? " only" : "", s.no_agent ? " no-agent" : "");
	ssh_settings_release(&s);
	return buf_take(&out);
}

static void test_values(void **state)
{
	static const char first[] = "User first\nHost a\n User a\n Port 1\nHost *\n User star\n Port 2\n HostName %h.example.org\n";
	static const char blocks[] = "Host web? !webx *.example.org\n  User w\nHost \"quoted\" other\n\tUser q\nHost !a\n User never\n";
	static const struct {
		const char *text, *host, *expected;
	} rows[] = {
		{ "", "a", "a - 22 - - | |" },
		{ "# comment\n\n   # another\n", "a", "a - 22 - - | |" },
		{ "Host a\n HostName b\n User c\n Port 2222\n ProxyJump me@j:22,k\n IdentityFile /k\n UserKnownHostsFile /h1 /h2\n", "a",
		  "b c 2222 me@j:22,k - | /k | /h1 /h2" },
		{ "Host a\n HostName b\n", "x", "x - 22 - - | |" },
		/* The first value counts, also one before the first Host. Identity files accumulate without duplicates. */
		{ first, "a", "a.example.org first 1 - - | |" },
		{ first, "b", "b.example.org first 2 - - | |" },
		{ "IdentityFile /1\nHost a\nIdentityFile /2\nHost *\nIdentityFile /1\nIdentityFile /3\n", "a", "a - 22 - - | /1 /2 /3 |" },
		{ "UserKnownHostsFile none\nGlobalKnownHostsFile /g\n", "a", "a - 22 - - | | /g" },
		/* A default file that is named counts as a named one. */
		{ "IdentityFile ~/.ssh/id_rsa\n", "a", "a - 22 - - | /home/me/.ssh/id_rsa |" },
		{ "IdentityFile none\n", "a", "a - 22 - - | |" },
		/* Spelling. */
		{ "hOST a\n  USER=x\n  Port = 5\r\n\tproxyjump\t=j\n", "a", "a x 5 j - | |" },
		{ "IdentityFile \"/with blank\" # remark\n", "a", "a - 22 - - | /with blank |" },
		{ "User x", "a", "a x 22 - - | |" },
		/* Patterns, Match and Include. */
		{ blocks, "web1", "web1 w 22 - - | |" },
		{ blocks, "webx", "webx - 22 - - | |" },
		{ blocks, "a.b.example.org", "a.b.example.org w 22 - - | |" },
		{ blocks, "quoted", "quoted q 22 - - | |" },
		{ "Match originalhost a exec \"true\"\n User x\n", "a", "a x 22 - - | |" },
		{ "Match exec \"false\"\n User x\n", "a", "a - 22 - - | |" },
		/* Expansions. */
		{ "Host a\n HostName h\n User u\n IdentityFile ~/.ssh/%h-%r%%\n IdentityFile %d/%n-%p\n", "a",
		  "h u 22 - - | /home/me/.ssh/h-u% /home/me/a-22 |" },
		{ "IdentityFile ${ASSAY_TEST}/k\n", "a", "a - 22 - - | /test/k |" },
		{ "IdentityFile ~\n", "a", "a - 22 - - | /home/me |" },
		/* Jump hosts. */
		{ "Host a\nProxyJump none\nHost *\nProxyJump j\n", "a", "a - 22 - - | |" },
		{ "Host a\nProxyJump j\nHost *\nProxyCommand nc %h %p\n", "a", "a - 22 j - | |" },
		/* Host key alias and keys. */
		{ "HostKeyAlias b\nIdentitiesOnly yes\nIdentityAgent none\n", "a", "a - 22 - b | | only no-agent" },
		/* Settings without effect. */
		{ "ForwardAgent yes\nServerAliveInterval 5\nControlPath ~/%C\nSendEnv LANG LC_*\nStrictHostKeyChecking no\n", "a",
		  "a - 22 - - | |" },
		{ "AddressFamily any\nPubkeyAuthentication yes\nHost b\n ProxyCommand nc\n SetEnv A=1\n", "a", "a - 22 - - | |" },
		{ "IgnoreUnknown UseKeychain,apple*\nUseKeychain yes\nAppleThing a b c\nUser x\n", "a", "a x 22 - - | |" },
	};

	(void)state;
	setenv("ASSAY_TEST", "/test", 1);
	for (size_t i = 0; i < COUNT(rows); i++) {
		char *got = look_up(rows[i].text, rows[i].host);

		if (strcmp(got, rows[i].expected) != 0)
			fail_msg("%s\nfor '%s': %s, not %s", rows[i].text, rows[i].host, got, rows[i].expected);
		free(got);
	}
}

static void test_refused(void **state)
{
	static const struct {
		const char *text, *part; /* for host "a"; host "x" is not affected */
	} rows[] = {
		{ "Host a\n ProxyCommand nc %h %p\n", "'ProxyCommand' changes the connection to 'a', but is not supported: use ProxyJump" },
		{ "Host a\n CertificateFile c\n", "'CertificateFile' changes" },
		{ "Host a\n SetEnv A=1 B=2\n", "use 'env' in lab.yaml" },
		{ "Host a\n KexAlgorithms curve25519-sha256\n", "'KexAlgorithms'" },
		{ "Host a\n Ciphers aes256-ctr\n", "'Ciphers'" },
		{ "Host a\n RevokedHostKeys /r\n", "'RevokedHostKeys'" },
		{ "Host a\n PubkeyAuthentication no\n", "'PubkeyAuthentication'" },
		{ "Host a\n AddressFamily inet6\n", "'AddressFamily'" },
		{ "Host a\n BindAddress 127.0.0.1\n", "'BindAddress'" },
		{ "Host a\n RemoteCommand x\n", "'RemoteCommand'" },
		{ "Host a\n KnownHostsCommand /bin/x\n", "'KnownHostsCommand'" },
		{ "Host a\n IdentityAgent /run/agent\n", "IdentityAgent (set SSH_AUTH_SOCK) in '/run/agent'" },
		{ "Host a\n IdentityFile ~root/k\n", "'~' of another user in '~root/k'" },
		{ "Host a\n IdentityFile ${ASSAY_NONE}/k\n", "a variable that is not set in '${ASSAY_NONE}/k'" },
		{ "Host a\n IdentityFile %C\n", "this '%' in '%C'" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct ssh_settings settings;
		struct assay_error err;

		check_fails(rows[i].text, parse(rows[i].text, "a", &settings, &err), ASSAY_E_FORMAT, &err, rows[i].part);
		assert_null(settings.identity_files);
		check(parse(rows[i].text, "x", &settings, &err), &err);
		ssh_settings_release(&settings);
	}
}

/* Checks empty output: ssh has refused the file, and the session shows ssh's own message. */
static void test_nothing(void **state)
{
	struct ssh_settings settings;
	struct assay_error err;

	(void)state;
	check_fails("refused", parse("Prot 22\n", "a", &settings, &err), ASSAY_E_FORMAT, &err, "gives no host name and port");
}

static void test_command(void **state)
{
	char *command = ssh_config_command("/a b/config", "-x;y", 22, "me");

	(void)state;
	assert_string_equal(command, "exec ssh -T -G -F '/a b/config' -p 22 -l me -- '-x;y'");
	free(command);
}

static void test_owner(void **state)
{
	struct assay_error err;
	bool there = true;

	(void)state;
	check(ssh_config_check("none", &there, &err), &err);
	assert_false(there);
	scratch_put("config", "User x\n");
	check(ssh_config_check("config", &there, &err), &err);
	assert_true(there);
	assert_int_equal(chmod("config", 0666), 0);
	check_fails("anybody's", ssh_config_check("config", &there, &err), ASSAY_E_FORMAT, &err,
		    "'config' belongs to another user or is writable");
}

int suite_ssh_config(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_twice), SCRATCH_TEST(test_values),      SCRATCH_TEST(test_refused),
		SCRATCH_TEST(test_nothing),   cmocka_unit_test(test_command), SCRATCH_TEST(test_owner),
	};

	char *there = output_of("command -v ssh");
	bool none = !*there;

	free(there);
	if (none) {
		puts("skipped: no ssh here (package openssh-client)");
		return 77;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
