/* Adds a key after any accepted lines. Checks that this key is known, that a line that revokes it has effect, that the list of algorithms
 * is a permutation of those offered, and that errors name a line. */
#include "base/buf.h"
#include "base/mem.h"
#include "fleet/ssh/known_hosts.h"

#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define TYPE	"ssh-fuzz"
#define OFFERED "ssh-ed25519,ecdsa-sha2-nistp256,rsa-sha2-512,rsa-sha2-256"

/* a key that no input will contain */
static unsigned char blob[] = { 0, 0, 0, 8, 's', 's', 'h', '-', 'f', 'u', 'z', 'z', 0x9d, 0x17, 0xe3, 0x5c, 0x71, 0x2a, 0xb8, 0x44 };

static void check_error(const struct assay_error *err, const char *text, size_t size)
{
	unsigned long line, lines = 1;
	char *end;

	for (size_t i = 0; i < size; i++)
		lines += text[i] == '\n';
	ASSAY_BUG_IF(strncmp(err->text, "fuzz:", 5) != 0 || strchr(err->text, '\n'));
	line = strtoul(err->text + 5, &end, 10);
	ASSAY_BUG_IF(*end != ':' || line < 1 || line > lines);
}

static enum known_hosts_result ask(const struct known_hosts *known, const char *host, int port, size_t lines)
{
	const char *file;
	size_t line;
	const struct known_hosts_query who = { .host = host, .port = port };
	const struct hostkey key = { .blob = blob, .n = sizeof(blob), .type = TYPE };
	enum known_hosts_result answer = known_hosts_check(known, &who, &key, &file, &line);

	ASSAY_BUG_IF((answer == KNOWN_HOSTS_UNKNOWN) != (file == NULL) || (line == 0) != (file == NULL) || line > lines);
	return answer;
}

/* Checks that the list of algorithms has the same length as the offered one, and contains each algorithm whole. */
static void check_algorithms(const struct known_hosts *known, const char *host, int port)
{
	static const char *const each[] = { "ssh-ed25519", "ecdsa-sha2-nistp256", "rsa-sha2-512", "rsa-sha2-256" };
	char *list = known_hosts_algorithms(known, &(struct known_hosts_query){ .host = host, .port = port }, OFFERED),
	     *framed = mem_format(",%s,", list);

	ASSAY_BUG_IF(strlen(list) != strlen(OFFERED));
	for (size_t i = 0; i < 4; i++) {
		char *wanted = mem_format(",%s,", each[i]);

		ASSAY_BUG_IF(!strstr(framed, wanted));
		free(wanted);
	}
	free(framed);
	free(list);
}

static void add(struct known_hosts *known, const char *marker, const char *line)
{
	struct buf text = BUF_INIT;
	struct assay_error err;

	buf_format(&text, "%s%s\n", marker, line);
	ASSAY_BUG_IF(known_hosts_parse(known, "added", text.bytes, text.size, &err));
	buf_release(&text);
}

static void check_host(const char *text, size_t size, const char *host, int port)
{
	struct known_hosts *known = known_hosts_new();
	struct assay_error err = { .text = "" };
	const struct hostkey key = { .blob = blob, .n = sizeof(blob), .type = TYPE };
	char *line = known_hosts_line(host, port, &key);

	if (known_hosts_parse(known, "fuzz", text, size, &err)) {
		check_error(&err, text, size);
	} else {
		ASSAY_BUG_IF(ask(known, host, port, size + 1) == KNOWN_HOSTS_OK);
		check_algorithms(known, host, port);
		add(known, "", line);
		ASSAY_BUG_IF(ask(known, host, port, size + 1) != KNOWN_HOSTS_OK);
		add(known, "@revoked ", line);
		ASSAY_BUG_IF(ask(known, host, port, size + 1) != KNOWN_HOSTS_REVOKED);
	}
	known_hosts_free(known);
	free(line);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = mem_bytes((const char *)data, size);

	check_host(text, size, "node01", 22);
	check_host(text, size, "node02", 2222);
	free(text);
	return 0;
}
