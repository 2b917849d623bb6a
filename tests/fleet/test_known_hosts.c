/* Tests host keys. ssh-keygen of OpenSSH 9.2 made the keys and, with -H, the hashed names. */
#include "fleet/ssh/known_hosts.h"

#include "tests/scratch.h"

#include <openssl/evp.h>
#include <time.h>

#define KEY_ED25519 "AAAAC3NzaC1lZDI1NTE5AAAAIG8Od9na8UBIpNJaRLPZV5TQpZ0stdEW4hSuLtgAty9d"
#define KEY_ECDSA                                                                                                                          \
	"AAAAE2VjZHNhLXNoYTItbmlzdHAyNTYAAAAIbmlzdHAyNTYAAABBBAPPnxjW7agiblekrPAg7QOkI7VuJqh0HFMPup9Kc1w+d/I8"                             \
	"VlLMAu196fDZdYnWPF9/RnqoNoV+gggICKB/n6M="
#define KEY_RSA                                                                                                                            \
	"AAAAB3NzaC1yc2EAAAADAQABAAAAgQC7I8mHFyWGwTnOkg6KH8zTIXFRBxZ3JVrQCz8Ne2c2Jt0BJ0P7h2AuF8kUc+uFxy5ZM3S1"                             \
	"/iEHDNDIq5wlXCPwhKHttQLJjRmMgCQQD9iPUqWgiDZj9KFADthsYsKiS9hMuxGOyc2AESwLPdklSpgYlMlgCnki9DDCMek3fRbW"                             \
	"ww=="
#define KEY_OTHER "AAAAC3NzaC1lZDI1NTE5AAAAIKohInpKrIWwisx5Dsi8FzZoJGI4xXJk3Ztg1drOiWno"
#define KEY_CA	  "AAAAC3NzaC1lZDI1NTE5AAAAIJ/XyHnNkpJmwaIHpdILH2VfwPh4FZBB3xkgGznssrzy"

/* Certificates of the keys above, made by ssh-keygen -s. */
#define CERTIFIED_ED25519                                                                                                                  \
	"ssh-ed25519-cert-v01@openssh.com "                                                                                                \
	"AAAAIHNzaC1lZDI1NTE5LWNlcnQtdjAxQG9wZW5zc2guY29tAAAAIG5NyT4uApJpz1VhLveKEt/ZmZK6rsOC3JXTO+SYpZZQAAAA"                             \
	"IG8Od9na8UBIpNJaRLPZV5TQpZ0stdEW4hSuLtgAty9dAAAAAAAAAAAAAAACAAAAAWgAAAAFAAAAAXgAAAAAAAAAAP//////////"                             \
	"AAAAAAAAAAAAAAAAAAAAMwAAAAtzc2gtZWQyNTUxOQAAACC4WS2q9l4JBGBFsufGtbO4W1BqeVnJ44kudUTildQ0rgAAAFMAAAAL"                             \
	"c3NoLWVkMjU1MTkAAABAfY5EnrjDJo/2IDeO/6r8WVQ6CiZKZOXoW8FUNC61+YzykyeguKkZkGlwO7yh25nzxjpJrUXdN1OPxQ8k"                             \
	"nu5JCQ=="                                                                                                                         \
	"\n"
#define CERTIFIED_ECDSA                                                                                                                    \
	"ecdsa-sha2-nistp256-cert-v01@openssh.com "                                                                                        \
	"AAAAKGVjZHNhLXNoYTItbmlzdHAyNTYtY2VydC12MDFAb3BlbnNzaC5jb20AAAAgbN+f+OVQVTFfktsMSz24jtip7fto/W4uaLY1"                             \
	"OEQ1TlsAAAAIbmlzdHAyNTYAAABBBAPPnxjW7agiblekrPAg7QOkI7VuJqh0HFMPup9Kc1w+d/I8VlLMAu196fDZdYnWPF9/Rnqo"                             \
	"NoV+gggICKB/n6MAAAAAAAAAAAAAAAIAAAABaAAAAAUAAAABeAAAAAAAAAAA//////////8AAAAAAAAAAAAAAAAAAAAzAAAAC3Nz"                             \
	"aC1lZDI1NTE5AAAAILhZLar2XgkEYEWy58a1s7hbUGp5WcnjiS51ROKV1DSuAAAAUwAAAAtzc2gtZWQyNTUxOQAAAEC3mPzftxJW"                             \
	"7UzuolOnGOrDLS8tvpArp2smeRx3H7AsVRfC9p/idsrrHaL4zNEn+affidTAeUTrj8qDXZQWEQIH"                                                     \
	"\n"
#define CERTIFIED_RSA                                                                                                                      \
	"ssh-rsa-cert-v01@openssh.com "                                                                                                    \
	"AAAAHHNzaC1yc2EtY2VydC12MDFAb3BlbnNzaC5jb20AAAAgkIOWBs3hlVWLLa02Z1Dz4BW9+HH+9IJsTsXP4TgSKRsAAAADAQAB"                             \
	"AAAAgQC7I8mHFyWGwTnOkg6KH8zTIXFRBxZ3JVrQCz8Ne2c2Jt0BJ0P7h2AuF8kUc+uFxy5ZM3S1/iEHDNDIq5wlXCPwhKHttQLJ"                             \
	"jRmMgCQQD9iPUqWgiDZj9KFADthsYsKiS9hMuxGOyc2AESwLPdklSpgYlMlgCnki9DDCMek3fRbWwwAAAAAAAAAAAAAAAgAAAAFo"                             \
	"AAAABQAAAAF4AAAAAAAAAAD//////////wAAAAAAAAAAAAAAAAAAADMAAAALc3NoLWVkMjU1MTkAAAAguFktqvZeCQRgRbLnxrWz"                             \
	"uFtQanlZyeOJLnVE4pXUNK4AAABTAAAAC3NzaC1lZDI1NTE5AAAAQHQ47HP9G9MczrUaEQ7J5AigeFcEzmhc5HTTd1QdO5NNtotg"                             \
	"Jn+v4WWnwUldt5FumOTkQyIwKsAtFxvPkT0wsgA="                                                                                         \
	"\n"

/* node01,10.0.0.1 (ed25519 and ecdsa), [node02]:2222 (rsa) and NodE03.Example.ORG (other), hashed by ssh-keygen -H. */
static const char hashed[] = "|1|lcnln/4YaCPDUXTsBi4R/SCzNYo=|nu90KZydWme7GkA/ml6MM/+M9QQ= ssh-ed25519 " KEY_ED25519 "\n"
			     "|1|7+SkeA4dUG6SH0+1Fw8jWJSgC7E=|SnLT4X8Aqx0GxxY+GOYS7a8HZ5E= ssh-ed25519 " KEY_ED25519 "\n"
			     "|1|RcLS6qnA2djtZeVrkF0Kgdd4pU0=|W1n1PrPEkocShzBTli38tXwzSgA= ecdsa-sha2-nistp256 " KEY_ECDSA "\n"
			     "|1|pANnjXoWYeqcTNsyqBG2dyq3LcY=|9pvnm+Z95JGDCOJkY8Br+GdHLkk= ecdsa-sha2-nistp256 " KEY_ECDSA "\n"
			     "|1|wwwNL5CZBQroLKooXuoJlzFz09g=|SvBGGBcltAUNTXT4O9SKD8Ny/10= ssh-rsa " KEY_RSA "\n"
			     "|1|DjMZSSg3zNeNV9OKa6B6yYD2ILo=|Rut8oQipbZnwPEHcOAmC5sG1hbI= ssh-ed25519 " KEY_OTHER "\n";

#define ED25519 "ssh-ed25519 " KEY_ED25519 "\n"
#define OTHER	"ssh-ed25519 " KEY_OTHER "\n"
#define CA	"ssh-ed25519 " KEY_CA "\n"
#define ECDSA	"ecdsa-sha2-nistp256 " KEY_ECDSA "\n"
#define RSA	"ssh-rsa " KEY_RSA "\n"

struct key {
	const char *type, *text;
};

static const struct key ed25519 = { "ssh-ed25519", KEY_ED25519 }, other = { "ssh-ed25519", KEY_OTHER },
			ecdsa = { "ecdsa-sha2-nistp256", KEY_ECDSA }, rsa = { "ssh-rsa", KEY_RSA };

static struct known_hosts *parse(const char *text)
{
	struct known_hosts *known = known_hosts_new();
	struct assay_error err;

	check(known_hosts_parse(known, "f", text, strlen(text), &err), &err);
	return known;
}

static struct hostkey hostkey_of(const struct key *key)
{
	struct hostkey out;

	assert_true(hostkey_from_base64(key->text, &out));
	return out;
}

static enum known_hosts_result ask(const struct known_hosts *known, const char *host, int port, const struct key *key, const char **file,
				   size_t *line)
{
	struct hostkey shown = hostkey_of(key);
	enum known_hosts_result answer =
	    known_hosts_check(known, &(struct known_hosts_query){ .host = host, .port = port }, &shown, file, line);

	hostkey_release(&shown);
	return answer;
}

static const char *const answers[] = { "ok", "unknown", "changed", "revoked", "only authority" };

/* Checks the answer for a host, and the line that decided it. */
static void check_answer(const struct known_hosts *known, const char *host, int port, const struct key *key,
			 enum known_hosts_result expected, size_t expected_line)
{
	size_t line = 77;
	const char *file = "x";
	enum known_hosts_result got = ask(known, host, port, key, &file, &line);

	if (got != expected || line != expected_line)
		fail_msg("%s:%d, %s: %s (line %zu), not %s (line %zu)", host, port, key->text + 20, answers[got], line, answers[expected],
			 expected_line);
	if (line)
		assert_string_equal(file, "f");
	else
		assert_null(file);
}

static void test_answers(void **state)
{
	static const struct {
		const char *text, *host;
		int port;
		const struct key *key;
		enum known_hosts_result answer;
		size_t line;
	} rows[] = {
		{ "", "a", 22, &ed25519, KNOWN_HOSTS_UNKNOWN, 0 },
		{ "# a comment\n\n  \t\na " ED25519, "a", 22, &ed25519, KNOWN_HOSTS_OK, 4 },
		{ "a " ED25519, "b", 22, &ed25519, KNOWN_HOSTS_UNKNOWN, 0 },
		{ "a " ED25519, "a", 22, &other, KNOWN_HOSTS_CHANGED, 1 },
		{ "a " ED25519, "a", 22, &rsa, KNOWN_HOSTS_CHANGED, 1 },	    /* only a key of another type */
		{ "a " RSA "a " ED25519, "a", 22, &other, KNOWN_HOSTS_CHANGED, 2 }, /* the line with the same type decides */
		{ "a " ED25519 "a " OTHER, "a", 22, &other, KNOWN_HOSTS_OK, 2 },
		{ "x,a,y " ED25519, "a", 22, &ed25519, KNOWN_HOSTS_OK, 1 },
		{ "A.Example.ORG " ED25519, "a.example.org", 22, &ed25519, KNOWN_HOSTS_OK, 1 },
		{ "a\tssh-ed25519\t" KEY_ED25519 "\tcomment with blanks\r\n", "a", 22, &ed25519, KNOWN_HOSTS_OK, 1 },
		{ " a " ED25519, "a", 22, &ed25519, KNOWN_HOSTS_OK, 1 },
		{ "a ssh-ed25519 " KEY_ED25519, "a", 22, &ed25519, KNOWN_HOSTS_OK, 1 },	      /* no newline */
		{ "a 1024 65537 1234567\na " ED25519, "a", 22, &ed25519, KNOWN_HOSTS_OK, 2 }, /* a key of SSH protocol 1 is skipped */
		/* Patterns. */
		{ "*.org " ED25519, "a.b.org", 22, &ed25519, KNOWN_HOSTS_OK, 1 },
		{ "*.org,!b.org " ED25519, "b.org", 22, &ed25519, KNOWN_HOSTS_UNKNOWN, 0 },
		{ "!b.org,*.org " ED25519, "a.org", 22, &ed25519, KNOWN_HOSTS_OK, 1 },
		{ "!b.org " ED25519, "a.org", 22, &ed25519, KNOWN_HOSTS_UNKNOWN, 0 },
		{ "node?? " ED25519, "node01", 22, &ed25519, KNOWN_HOSTS_OK, 1 },
		{ "node?? " ED25519, "node1", 22, &ed25519, KNOWN_HOSTS_UNKNOWN, 0 },
		/* Ports. */
		{ "[a]:2222 " ED25519, "a", 2222, &ed25519, KNOWN_HOSTS_OK, 1 },
		{ "[a]:2222 " ED25519, "a", 2222, &other, KNOWN_HOSTS_CHANGED, 1 },
		{ "[a]:2222 " ED25519, "a", 22, &ed25519, KNOWN_HOSTS_UNKNOWN, 0 },
		{ "[a]:2222 " ED25519, "a", 2223, &ed25519, KNOWN_HOSTS_UNKNOWN, 0 },
		{ "[::1]:2222 " ED25519, "::1", 2222, &ed25519, KNOWN_HOSTS_OK, 1 },
		{ "[*.org]:2222 " ED25519, "a.org", 2222, &ed25519, KNOWN_HOSTS_OK, 1 },
		{ "a " ED25519, "a", 2222, &ed25519, KNOWN_HOSTS_OK, 1 },    /* as in OpenSSH, a name without a port matches any port, */
		{ "a " ED25519, "a", 2222, &other, KNOWN_HOSTS_UNKNOWN, 0 }, /* but another key there does not mean a changed key, */
		{ "a " OTHER "[a]:2222 " ED25519, "a", 2222, &other, KNOWN_HOSTS_CHANGED, 2 }, /* and a name with the port counts first */
		/* Markers. */
		{ "@revoked * " ED25519 "a " ED25519, "a", 22, &ed25519, KNOWN_HOSTS_REVOKED, 1 },
		{ "a " ED25519 "@revoked a " ED25519, "a", 22, &ed25519, KNOWN_HOSTS_REVOKED, 2 },
		{ "@revoked b " ED25519 "a " ED25519, "a", 22, &ed25519, KNOWN_HOSTS_OK, 2 },
		{ "@revoked * " OTHER, "a", 22, &ed25519, KNOWN_HOSTS_UNKNOWN, 0 },
		{ "@revoked a " ED25519 "[a]:2222 " ED25519, "a", 2222, &ed25519, KNOWN_HOSTS_REVOKED, 1 },
		/* A revoked certificate revokes its key. */
		{ "@revoked * " CERTIFIED_ED25519 "a " ED25519, "a", 22, &ed25519, KNOWN_HOSTS_REVOKED, 1 },
		{ "a " RSA "@revoked a " CERTIFIED_RSA, "a", 22, &rsa, KNOWN_HOSTS_REVOKED, 2 },
		{ "[a]:2222 " ECDSA "@revoked a " CERTIFIED_ECDSA, "a", 2222, &ecdsa, KNOWN_HOSTS_REVOKED, 2 },
		{ "@revoked b " CERTIFIED_ECDSA "a " ECDSA, "a", 22, &ecdsa, KNOWN_HOSTS_OK, 2 },
		{ "@revoked * " CERTIFIED_ED25519 "a " OTHER, "a", 22, &other, KNOWN_HOSTS_OK, 2 },
		{ "a " CERTIFIED_ED25519, "a", 22, &ed25519, KNOWN_HOSTS_CHANGED, 1 },
		{ "@cert-authority *.org " CA, "a.org", 22, &ed25519, KNOWN_HOSTS_ONLY_AUTHORITY, 1 },
		{ "@cert-authority *.org " CA, "a.net", 22, &ed25519, KNOWN_HOSTS_UNKNOWN, 0 },
		{ "@cert-authority * " CA "a " ED25519, "a", 22, &ed25519, KNOWN_HOSTS_OK, 2 },
		{ "@cert-authority * " ED25519, "a", 22, &ed25519, KNOWN_HOSTS_ONLY_AUTHORITY, 1 }, /* a CA key is not a host key */
		{ "@cert-authority * " CA "a " OTHER, "a", 22, &ed25519, KNOWN_HOSTS_CHANGED, 2 },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct known_hosts *known = parse(rows[i].text);

		check_answer(known, rows[i].host, rows[i].port, rows[i].key, rows[i].answer, rows[i].line);
		known_hosts_free(known);
	}
}

static void test_hashed(void **state)
{
	struct known_hosts *known = parse(hashed);

	(void)state;
	for (int twice = 0; twice < 2; twice++) { /* the second round is answered from the cache */
		check_answer(known, "node01", 22, &ed25519, KNOWN_HOSTS_OK, 1);
		check_answer(known, "10.0.0.1", 22, &ed25519, KNOWN_HOSTS_OK, 2);
		check_answer(known, "node01", 22, &ecdsa, KNOWN_HOSTS_OK, 3);
		check_answer(known, "node01", 22, &other, KNOWN_HOSTS_CHANGED, 1);
		check_answer(known, "node01", 22, &rsa, KNOWN_HOSTS_CHANGED, 1);
		check_answer(known, "node02", 2222, &rsa, KNOWN_HOSTS_OK, 5);
		check_answer(known, "node02", 22, &rsa, KNOWN_HOSTS_UNKNOWN, 0);
		check_answer(known, "node03.example.org", 22, &other, KNOWN_HOSTS_OK, 6);
		check_answer(known, "node04", 22, &other, KNOWN_HOSTS_UNKNOWN, 0);
	}
	known_hosts_free(known);
}

/* Checks that a cached answer does not outlive the addition of a file. */
static void test_several_files(void **state)
{
	static const char *const first[] = { "one" };
	const struct known_hosts_query a_of_one = { "a", 22, first, 1 };
	struct known_hosts *known = known_hosts_new();
	struct hostkey shown = hostkey_of(&ed25519);
	struct assay_error err;
	const char *file;
	size_t line;

	(void)state;
	scratch_put("one", "# nothing\nb " OTHER);
	scratch_put("two", "a " ED25519);
	check(known_hosts_read(known, "none", &err), &err);
	check(known_hosts_read(known, "/dev/null", &err), &err);
	check(known_hosts_read(known, "one", &err), &err);
	assert_int_equal(ask(known, "a", 22, &ed25519, &file, &line), KNOWN_HOSTS_UNKNOWN);
	check(known_hosts_read(known, "two", &err), &err);
	assert_int_equal(ask(known, "a", 22, &ed25519, &file, &line), KNOWN_HOSTS_OK);
	assert_string_equal(file, "two");
	assert_int_equal(line, 1);
	assert_int_equal(ask(known, "b", 22, &ed25519, &file, &line), KNOWN_HOSTS_CHANGED);
	assert_string_equal(file, "one");
	assert_int_equal(line, 2);
	/* A file counts only for hosts that name it, and is read once. */
	assert_int_equal(known_hosts_check(known, &a_of_one, &shown, &file, &line), KNOWN_HOSTS_UNKNOWN);
	scratch_put("two", "a " OTHER);
	check(known_hosts_read(known, "two", &err), &err);
	assert_int_equal(ask(known, "a", 22, &ed25519, &file, &line), KNOWN_HOSTS_OK);
	hostkey_release(&shown);
	check_fails("a directory", known_hosts_read(known, ".", &err), ASSAY_E_IO, &err, "'.'");
	/* A file that cannot be read fails every host that names it, not only the first one. */
	scratch_put("damaged", "c " ED25519 "@revoke c\n@revoked c " ED25519);
	for (int i = 0; i < 2; i++)
		check_fails("damaged", known_hosts_read(known, "damaged", &err), ASSAY_E_FORMAT, &err, "damaged:2: ");
	assert_int_equal(ask(known, "c", 22, &ed25519, &file, &line), KNOWN_HOSTS_UNKNOWN);
	known_hosts_free(known);
}

static void test_malformed(void **state)
{
	static const struct {
		const char *text, *part;
	} rows[] = {
		{ "a\n", "f:1: a name, a type of key and a key are expected" },
		{ "\na ssh-ed25519\n", "f:2: the key is missing" },
		{ "a ssh-ed25519 AAA*\n", "f:1: the key is not base64: 'AAA*'" },
		{ "a ssh-ed25519 AAA\n", "f:1: the key is not base64" },
		{ "a ssh-ed25519 A===\n", "f:1: the key is not base64" },
		{ "a ssh-ed25519 AAAA\n", "f:1: the key is damaged or not of the type that stands before it: 'ssh-ed25519'" },
		{ "a ssh-rsa " KEY_ED25519 "\n", "f:1: the key is damaged or not of the type that stands before it: 'ssh-rsa'" },
		{ "a ssh-ed2551 " KEY_ED25519 "\n", "f:1: the key is damaged or not of the type" },
		{ "@revoke a " ED25519, "f:1: unknown marker '@revoke'" },
		{ "@revoked a ssh-ed25519-cert-v01@openssh.com "
		  "AAAAIHNzaC1lZDI1NTE5LWNlcnQtdjAxQG9wZW5zc2guY29tAAAAIG5NyT4uApJpz1VhLveKEt/ZmZK6rsOC3JXTO+SYpZZQAAA=\n",
		  "f:1: the certificate is damaged" },
		{ "@revoked a ssh-ed25519-cert-v01@openssh.com AAAAIHNzaC1lZDI1NTE5LWNlcnQtdjAxQG9wZW5zc2guY29t\n",
		  "f:1: the certificate is damaged" },
		{ "@revoked a ssh-ed25519-cert-v01@openssh.com "
		  "AAAAIHNzaC1lZDI1NTE5LWNlcnQtdjAxQG9wZW5zc2guY29tAAAAIG5NyT4uApJpz1VhLveKEt/"
		  "ZmZK6rsOC3JXTO+SYpZZQAAAAIG8Od9na8UBIpNJaRLPZV5TQpZ0stdEW4hSuLtgAty8=\n",
		  "f:1: the certificate is damaged" },
		{ "@revoked a\n", "f:1: a name, a type of key and a key are expected" },
		{ "@revoked\n", "f:1: a name" },
		{ "a,,b " ED25519, "f:1: an empty name in 'a,,b'" },
		{ "a, " ED25519, "f:1: an empty name in 'a,'" },
		{ "! " ED25519, "f:1: an empty name in '!'" },
		{ "|2|lcnln/4YaCPDUXTsBi4R/SCzNYo=|nu90KZydWme7GkA/ml6MM/+M9QQ= " ED25519,
		  "f:1: this hash of a name is of an unknown kind: '|2|" },
		{ "|1|lcnln/4YaCPDUXTsBi4R/SCzNYo= " ED25519, "f:1: the hashed name is damaged" },
		{ "|1||nu90KZydWme7GkA/ml6MM/+M9QQ= " ED25519, "f:1: the hashed name is damaged" },
		{ "|1|lcnln/4YaCPDUXTsBi4R/SCzNYo=|nu90KZydWme7GkA/ml6MM/+M " ED25519, "f:1: the hashed name is damaged" },
		{ "|1|lcnln/4YaCPDUXTsBi4R/SCzNYo=|nu90KZydWme7GkA/ml6MM/+M9QQ=,b " ED25519, "f:1: the hashed name is damaged" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct known_hosts *known = known_hosts_new();
		struct assay_error err;

		check_fails(rows[i].text, known_hosts_parse(known, "f", rows[i].text, strlen(rows[i].text), &err), ASSAY_E_FORMAT, &err,
			    rows[i].part);
		known_hosts_free(known);
	}
}

static void test_algorithms(void **state)
{
#define OFFERED "ssh-ed25519,ecdsa-sha2-nistp256,rsa-sha2-512,rsa-sha2-256"
	static const struct {
		const char *text;
		int port;
		const char *algorithms;
	} rows[] = {
		{ "", 22, OFFERED },
		{ "b " RSA, 22, OFFERED },
		{ "a " ED25519, 22, OFFERED },
		{ "a " RSA, 22, "rsa-sha2-512,rsa-sha2-256,ssh-ed25519,ecdsa-sha2-nistp256" },
		{ "a " ECDSA "a " RSA, 22, "ecdsa-sha2-nistp256,rsa-sha2-512,rsa-sha2-256,ssh-ed25519" },
		{ "@revoked a " RSA, 22, OFFERED },
		{ "@cert-authority a " RSA, 22, OFFERED },
		{ "[a]:2222 " ECDSA "a " RSA, 2222, "ecdsa-sha2-nistp256,ssh-ed25519,rsa-sha2-512,rsa-sha2-256" },
		{ "a " RSA, 2222, "rsa-sha2-512,rsa-sha2-256,ssh-ed25519,ecdsa-sha2-nistp256" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct known_hosts *known = parse(rows[i].text);
		char *got = known_hosts_algorithms(known, &(struct known_hosts_query){ .host = "a", .port = rows[i].port }, OFFERED);

		assert_string_equal(got, rows[i].algorithms);
		free(got);
		known_hosts_free(known);
	}
}

/* Checks that a written line is read back with the same host and key. */
static void test_line(void **state)
{
	static const struct {
		const char *host;
		int port;
		const struct key *key;
		const char *start;
	} rows[] = {
		{ "a", 22, &ed25519, "a ssh-ed25519 AAAA" },
		{ "Node.Example", 22, &rsa, "node.example ssh-rsa AAAA" },
		{ "10.0.0.1", 2222, &ecdsa, "[10.0.0.1]:2222 ecdsa-sha2-nistp256 AAAA" },
		{ "fe80::1", 2222, &other, "[fe80::1]:2222 ssh-ed25519 AAAA" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct hostkey key = hostkey_of(rows[i].key);
		char *line = known_hosts_line(rows[i].host, rows[i].port, &key);
		struct known_hosts *known = parse(line);

		assert_int_equal(strncmp(line, rows[i].start, strlen(rows[i].start)), 0);
		assert_string_equal(strrchr(line, ' ') + 1, rows[i].key->text);
		check_answer(known, rows[i].host, rows[i].port, rows[i].key, KNOWN_HOSTS_OK, 1);
		hostkey_release(&key);
		known_hosts_free(known);
		free(line);
	}
}

#define MANY 60

static double cpu_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

/* Returns the CPU time in ms of looking up MANY hosts in 5,200 hashed lines. libssh, which reads the file
 * again for each host, takes 84 times as long. */
static double ask_many(const struct known_hosts *known)
{
	double start = cpu_ms();

	for (int i = 0; i < MANY; i++) {
		char *host = mem_format("host%03d", i * 37 % MANY);
		char *algorithms = known_hosts_algorithms(known, &(struct known_hosts_query){ .host = host, .port = 22 }, OFFERED);

		check_answer(known, host, 22, &ed25519, KNOWN_HOSTS_UNKNOWN, 0);
		free(algorithms);
		free(host);
	}
	return (cpu_ms() - start) / MANY;
}

static void test_many(void **state)
{
	struct known_hosts *known;
	struct buf text = BUF_INIT;
	double start, first, second;

	(void)state;
	for (int i = 0; i < 5200; i++) {
		unsigned char bytes[40];
		char salt[32], hash[32];

		for (int k = 0; k < 40; k++)
			bytes[k] = (unsigned char)(i * 31 + k * 7 + (i >> 8));
		EVP_EncodeBlock((unsigned char *)salt, bytes, 20);
		EVP_EncodeBlock((unsigned char *)hash, bytes + 20, 20);
		buf_format(&text, "|1|%s|%s ssh-ed25519 " KEY_OTHER "\n", salt, hash);
	}
	buf_text(&text, hashed);
	start = cpu_ms();
	known = parse(text.bytes);
	print_message("%.1f ms to read 5,206 lines\n", cpu_ms() - start);
	first = ask_many(known);
	second = ask_many(known);
	check_answer(known, "node01", 22, &ed25519, KNOWN_HOSTS_OK, 5201);
	print_message("%.2f ms a host, %.4f when asked again\n", first, second);
	assert_true(second < first / 10); /* the second lookup uses the cache */
	known_hosts_free(known);
	buf_release(&text);
}

int suite_known_hosts(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_answers),	  cmocka_unit_test(test_hashed),     SCRATCH_TEST(test_several_files),
		cmocka_unit_test(test_malformed), cmocka_unit_test(test_algorithms), cmocka_unit_test(test_line),
		cmocka_unit_test(test_many),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
