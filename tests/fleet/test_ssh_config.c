/* The honoured subset of ~/.ssh/config. */
#include "fleet/ssh/ssh_config.h"

#include "fleet/ssh/host_pattern.h"
#include "tests/scratch.h"

#include <pwd.h>

static struct ssh_config *parse(const char *text)
{
	struct ssh_config *config;
	struct assay_error err;

	check(ssh_config_parse("f", text, strlen(text), &config, &err), &err);
	return config;
}

/* "host_name user port jump | identity files | known hosts", '-' for what is not said. free() it. */
static char *look_up(const struct ssh_config *config, const char *host)
{
	struct ssh_settings s;
	struct assay_error err;
	struct buf out = BUF_INIT;

	check(ssh_config_look_up(config, host, &s, &err), &err);
	buf_format(&out, "%s %s %d %s |", s.host_name ? s.host_name : "-", s.user ? s.user : "-", s.port, s.proxy_jump ? s.proxy_jump : "-");
	for (size_t i = 0; i < s.n_identity_files; i++)
		buf_format(&out, " %s", s.identity_files[i]);
	buf_text(&out, " |");
	for (size_t i = 0; i < s.n_known_hosts_files; i++)
		buf_format(&out, " %s", s.known_hosts_files[i]);
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
		{ "", "a", "- - 0 - | |" },
		{ "# comment\n\n   # another\n", "a", "- - 0 - | |" },
		{ "Host a\n HostName b\n User c\n Port 2222\n ProxyJump me@j:22,k\n IdentityFile /k\n UserKnownHostsFile /h1 /h2\n", "a",
		  "b c 2222 me@j:22,k | /k | /h1 /h2" },
		{ "Host a\n HostName b\n", "x", "- - 0 - | |" },
		/* The first value counts, also above the first Host; identity files add up, each once. */
		{ first, "a", "a.example.org first 1 - | |" },
		{ first, "b", "b.example.org first 2 - | |" },
		{ "Host a\nHostName b\nHost *\nHostName c\n", "a", "b - 0 - | |" },
		{ "IdentityFile /1\nHost a\nIdentityFile /2\nHost *\nIdentityFile /1\nIdentityFile /3\n", "a", "- - 0 - | /1 /2 /3 |" },
		{ "Host a\nUserKnownHostsFile /1\nHost *\nUserKnownHostsFile /2\n", "a", "- - 0 - | | /1" },
		{ "UserKnownHostsFile none\n", "a", "- - 0 - | | /dev/null" },
		/* Spelling. */
		{ "hOST a\n  USER=x\n  Port = 5\r\n\tproxyjump\t=j\n", "a", "- x 5 j | |" },
		{ "User \"a b\"\nIdentityFile \"/with blank\" # remark\n", "a", "- a b 0 - | /with blank |" },
		{ "User 'a \"b'\nIdentityFile /with\\ blank\\\\\n", "a", "- a \"b 0 - | /with blank\\ |" },
		{ "User x#y\n", "a", "- x#y 0 - | |" },
		{ "User x", "a", "- x 0 - | |" },
		/* Patterns. */
		{ blocks, "web1", "- w 0 - | |" },
		{ blocks, "web", "- - 0 - | |" },
		{ blocks, "webx", "- - 0 - | |" },
		{ blocks, "a.b.example.org", "- w 0 - | |" },
		{ blocks, "quoted", "- q 0 - | |" },
		{ blocks, "b", "- - 0 - | |" },
		{ blocks, "WEB1", "- - 0 - | |" },
		/* What is expanded. */
		{ "Host a\n HostName h\n User u\n IdentityFile ~/.ssh/%h-%r%%\n IdentityFile %d/k\n", "a", "h u 0 - | /home/me/.ssh/h-u% /home/me/k |" },
		{ "IdentityFile ~/%h\nHostName later\n", "a", "later - 0 - | /home/me/later |" },
		{ "UserKnownHostsFile ~/known /etc/%h\n", "a", "- - 0 - | | /home/me/known /etc/a" },
		{ "IdentityFile ~\n", "a", "- - 0 - | /home/me |" },
		/* Jumps. */
		{ "Host a\nProxyJump none\nHost *\nProxyJump j\n", "a", "- - 0 - | |" },
		{ "Host a\nProxyCommand none\nHost *\nProxyJump j\n", "a", "- - 0 - | |" },
		{ "Host a\nProxyJump j\nHost *\nProxyCommand nc %h %p\n", "a", "- - 0 j | |" },
		/* What changes nothing. */
		{ "ForwardAgent yes\nServerAliveInterval 5\nControlPath ~/%C\nSendEnv LANG LC_*\nLocalForward 80 \"b\n", "a", "- - 0 - | |" },
		{ "StrictHostKeyChecking no\nIdentitiesOnly yes\nGSSAPITrustDns no\nProtocol 2\n", "a", "- - 0 - | |" },
		{ "CanonicalizeHostname NO\nAddressFamily any\nRemoteCommand none\nPubkeyAuthentication yes\n", "a", "- - 0 - | |" },
		{ "Host b\n ProxyCommand nc\n Include x\n SetEnv A=1\n", "a", "- - 0 - | |" },
		{ "Host a\n PubkeyAuthentication yes\nHost *\n PubkeyAuthentication no\n", "a", "- - 0 - | |" },
		{ "Match host b exec \"test x\"\n ForwardAgent yes\nHost a\n User x\n", "a", "- x 0 - | |" },
		{ "IgnoreUnknown UseKeychain,apple*\nUseKeychain yes\nAppleThing a b c\nUser x\n", "a", "- x 0 - | |" },
	};

	(void)state;
	setenv("HOME", "/home/me", 1);
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct ssh_config *config = parse(rows[i].text);
		char *got = look_up(config, rows[i].host);

		if (strcmp(got, rows[i].expected) != 0)
			fail_msg("%s\nfor '%s': %s, not %s", rows[i].text, rows[i].host, got, rows[i].expected);
		free(got);
		ssh_config_free(config);
	}
}

static void test_local_user(void **state)
{
	struct ssh_config *config = parse("IdentityFile /%u/%r\n");
	const struct passwd *entry = getpwuid(getuid());
	char *got = look_up(config, "a"), *expected;

	(void)state;
	expected = mem_format("- - 0 - | /%s/%s |", entry->pw_name, entry->pw_name);
	assert_string_equal(got, expected);
	free(got);
	free(expected);
	ssh_config_free(config);
}

static void test_malformed(void **state)
{
	static const struct {
		const char *text, *part;
	} rows[] = {
		{ "Prot 22\n", "f:1: unknown key 'Prot' (did you mean 'Port'?)" },
		{ "\n\nUseKeychain yes\n", "f:3: unknown key 'UseKeychain' (an 'IgnoreUnknown' above it would skip it)" },
		{ "UseKeychain yes\nIgnoreUnknown UseKeychain\n", "f:1: unknown key 'UseKeychain'" },
		{ "Host b\n Prot 22\n", "f:2: unknown key" }, /* whatever the host */
		{ "Host\n", "f:1: nothing behind 'Host'" },
		{ "User # x\n", "f:1: nothing behind 'User'" },
		{ "User \"\"\n", "f:1: an empty text behind 'User'" },
		{ "User a b\n", "f:1: 'User' takes one value, 'b' is too much" },
		{ "Port 0\n", "f:1: 'Port' must be an integer from 1 to 65535, not '0'" },
		{ "Port 65536\n", "not '65536'" },
		{ "Port ssh\n", "not 'ssh'" },
		{ "User \"a\n", "f:1: a quote is not closed" },
		{ "User 'a\n", "f:1: a quote is not closed" },
		{ "User a\001\n", "f:1: a control character" },
		{ "= x\n", "f:1: unknown key ''" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct ssh_config *config;
		struct assay_error err;

		check_fails(rows[i].text, ssh_config_parse("f", rows[i].text, strlen(rows[i].text), &config, &err), ASSAY_E_FORMAT, &err,
			    rows[i].part);
		assert_null(config);
	}
}

static void test_nul(void **state)
{
	struct ssh_config *config;
	struct assay_error err;

	(void)state;
	check_fails("NUL", ssh_config_parse("f", "User a\0b\n", 9, &config, &err), ASSAY_E_FORMAT, &err, "f:1: a NUL byte");
}

static void test_refused(void **state)
{
	static const struct {
		const char *text, *part; /* for host "a"; "x" is never concerned */
	} rows[] = {
		{ "Host a\n ProxyCommand nc %h %p\n", "f:2: 'ProxyCommand' changes the connection to 'a', but is not honoured: use ProxyJump" },
		{ "Host a\n ProxyCommand none x\n", "f:2: 'ProxyCommand'" },
		{ "Host a\n Include more\n", "f:2: 'Include'" },
		{ "Host a\n HostKeyAlias b\n", "f:2: 'HostKeyAlias' changes the connection to 'a', but is not honoured: record the key" },
		{ "Host a\n CertificateFile c\n", "f:2: 'CertificateFile' changes" },
		{ "Host a\n SetEnv A=1 B=2\n", "use 'env' in lab.yaml" },
		{ "Host a\n KexAlgorithms +old\n", "f:2: 'KexAlgorithms'" },
		{ "Host a\n RevokedHostKeys /r\n", "f:2: 'RevokedHostKeys'" },
		{ "Host a\n PubkeyAuthentication no\n", "f:2: 'PubkeyAuthentication'" },
		{ "Host a\n AddressFamily inet6\n", "f:2: 'AddressFamily'" },
		{ "Host a\n GlobalKnownHostsFile /etc/x\n", "f:2: 'GlobalKnownHostsFile'" },
		{ "Host a\n IdentityFile none\n", "f:2: 'IdentityFile none' is not honoured" },
		{ "Host a\n IdentityFile ~root/k\n", "f:2: '~' of another user in '~root/k'" },
		{ "Host a\n IdentityFile ${HOME}/k\n", "f:2: '${' in '${HOME}/k'" },
		{ "Host a\n IdentityFile %n\n", "f:2: this '%' in '%n'" },
		{ "Host a\n IdentityFile x%\n", "f:2: this '%' in 'x%'" },
		{ "Host a\n HostName %d\n", "f:2: this '%' in '%d'" },
		{ "Host a\n UserKnownHostsFile %C\n", "f:2: this '%' in '%C'" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct ssh_config *config = parse(rows[i].text);
		struct ssh_settings settings;
		struct assay_error err;

		check_fails(rows[i].text, ssh_config_look_up(config, "a", &settings, &err), ASSAY_E_FORMAT, &err, rows[i].part);
		assert_null(settings.identity_files);
		check(ssh_config_look_up(config, "x", &settings, &err), &err);
		ssh_settings_release(&settings);
		ssh_config_free(config);
	}
}

/* What a Match asks for is not looked at: it may concern any host. */
static void test_match(void **state)
{
	struct ssh_config *config = parse("Host a\n User x\nMatch host b\n ForwardAgent yes\n Port 5\n");
	struct ssh_settings settings;
	struct assay_error err;

	(void)state;
	check_fails("Match", ssh_config_look_up(config, "x", &settings, &err), ASSAY_E_FORMAT, &err,
		    "f:3: 'Match' is not honoured, and 'Port' below it (line 5) may change the connection to 'x'");
	ssh_config_free(config);
}

static void test_files(void **state)
{
	struct ssh_config *config;
	struct assay_error err;
	char *got;

	(void)state;
	check(ssh_config_read("none", &config, &err), &err);
	got = look_up(config, "a");
	assert_string_equal(got, "- - 0 - | |");
	free(got);
	ssh_config_free(config);

	scratch_put("config", "User x\n");
	check(ssh_config_read("config", &config, &err), &err);
	got = look_up(config, "a");
	assert_string_equal(got, "- x 0 - | |");
	free(got);
	ssh_config_free(config);

	assert_int_equal(chmod("config", 0666), 0);
	check_fails("anybody's", ssh_config_read("config", &config, &err), ASSAY_E_FORMAT, &err, "'config' belongs to, or can be written by");
	assert_null(config);
	scratch_put("broken", "User x\nFoo y\n");
	check_fails("broken", ssh_config_read("broken", &config, &err), ASSAY_E_FORMAT, &err, "broken:2: unknown key 'Foo'");
}

static void test_patterns(void **state)
{
	static const struct {
		const char *pattern, *text;
		bool matches;
	} rows[] = {
		{ "", "", true },      { "", "a", false },     { "*", "", true },          { "*", "abc", true },       { "?", "", false },
		{ "?", "a", true },    { "a*", "a", true },    { "a*c", "abbc", true },    { "a*c", "abcb", false },   { "*a*b", "xaxbab", true },
		{ "a?c", "abc", true }, { "a?c", "ac", false }, { "*.*.org", "a.org", false }, { "**a", "bba", true }, { "[a]", "a", false },
		{ "a**", "a", true },  { "ab", "a", false },   { "a", "ab", false },       { "*ab*ab", "abab", true }, { "?*", "", false },
	};
	char *pattern = mem_new(2001, 1), *text = mem_new(20001, 1);

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		if (host_pattern_matches(rows[i].pattern, rows[i].text) != rows[i].matches)
			fail_msg("'%s' and '%s'", rows[i].pattern, rows[i].text);
	}
	/* Ends, although there are more ways to try than atoms. */
	for (size_t i = 0; i < 2000; i += 2)
		memcpy(pattern + i, "*a", 2);
	memset(text, 'a', 20000);
	text[19999] = 'b';
	assert_false(host_pattern_matches(pattern, text));
	free(pattern);
	free(text);
}

int suite_ssh_config(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_values),  cmocka_unit_test(test_local_user), cmocka_unit_test(test_malformed),
		cmocka_unit_test(test_nul),     cmocka_unit_test(test_refused),    cmocka_unit_test(test_match),
		SCRATCH_TEST(test_files),       cmocka_unit_test(test_patterns),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
