/* Reads the laboratory's file of host keys. Checks that after --replace the key that a host presented is known or refused, that the file
 * can still be read, that lines of other hosts remain, and that invalid keys are detected. */
#include "base/mem.h"
#include "fingerprint/commands/cmd_host_trust.c"

#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define SHOWN "[127.0.0.1]:2201 ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIHypUkFrYFXfKQBArhtO2V+yGqHPgwPkGhBCDBp90l3y"
#define OTHER "other.host ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ7PYzZpCfrFfL1LlWDZxsFTkhkuXUTmbnhm0PUuKNdG"

static void check_key(const char *text)
{
	struct hostkey key;

	if (!hostkey_from_base64(text, &key))
		return;
	ASSAY_BUG_IF(key.n < 5 || strlen(key.type) == 0 || strlen(key.type) > key.n - 4);
	ASSAY_BUG_IF(memcmp(key.blob + 4, key.type, strlen(key.type)) != 0);
	ASSAY_BUG_IF(strncmp(key.fingerprint_text, "SHA256:", 7) != 0 || strlen(key.fingerprint_text) != 7 + 43);
	hostkey_release(&key);
}

static struct known_hosts *read_text(const struct buf *text)
{
	struct known_hosts *known = known_hosts_new();
	struct assay_error err;

	if (known_hosts_parse(known, "own", text->bytes, text->size, &err)) {
		known_hosts_free(known);
		return NULL;
	}
	return known;
}

static enum known_hosts_result ask(const struct known_hosts *known)
{
	enum known_hosts_result answer;
	const char *file;
	struct hostkey key;
	char *host;
	size_t line;
	int port;

	ASSAY_BUG_IF(!trust_parse(SHOWN, &host, &port, &key) || port != 2201 || strcmp(host, "127.0.0.1") != 0);
	answer = known_hosts_check(known, &(struct known_hosts_query){ .host = host, .port = port }, &key, &file, &line);
	hostkey_release(&key);
	free(host);
	return answer;
}

static void check_trust(const char *bytes, size_t size, bool replace)
{
	struct buf text = BUF_INIT;
	struct known_hosts *before, *after = NULL;
	struct trust_step step = { .message = NULL };
	struct assay_error err;

	buf_text(&text, OTHER "\n");
	buf_add(&text, bytes, size);
	before = read_text(&text);
	if (before && !trust_key(&text, "own", before, SHOWN, replace, &step, &err)) {
		after = read_text(&text);
		ASSAY_BUG_IF(!after);
		ASSAY_BUG_IF((ask(after) == KNOWN_HOSTS_OK) != (step.action != TRUST_REFUSED));
		ASSAY_BUG_IF(!strstr(text.bytes, OTHER));
		ASSAY_BUG_IF(replace && step.action == TRUST_REFUSED && ask(before) != KNOWN_HOSTS_REVOKED);
	}
	free(step.message);
	known_hosts_free(before);
	known_hosts_free(after);
	buf_release(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = mem_bytes((const char *)data, size), *host = NULL;
	struct hostkey key = { 0 };
	int port;

	check_key(text);
	trust_parse(text, &host, &port, &key);
	free(host);
	hostkey_release(&key);
	check_trust(text, size, false);
	check_trust(text, size, true);
	free(text);
	return 0;
}
