/* What is known of a host's key. */
#include "fleet/ssh/known_hosts.h"

#include "base/buf.h"
#include "base/mem.h"
#include "fleet/ssh/known_hosts_lines.h"

#include <ctype.h>
#include <openssl/evp.h>

#define PORT_DEFAULT 22

/* As it stands in the files: port 22 is not written. free() it. */
static char *name_of(const char *host, int port)
{
	char *name = port == PORT_DEFAULT ? mem_string(host) : mem_format("[%s]:%d", host, port);

	for (char *s = name; *s; s++)
		*s = (char)tolower((unsigned char)*s);
	return name;
}

/* ---- answers ---- */

struct key {
	const char *type;
	const unsigned char *blob;
	size_t n;
};

/* What the lines about one name say of a key, and which of them. */
struct finding {
	enum known_hosts_answer answer;
	const struct known_hosts_entry *entry; /* NULL when nothing is known */
};

static bool is_key(const struct known_hosts_entry *entry, const struct key *key)
{
	return entry->n_blob == key->n && memcmp(entry->blob, key->blob, key->n) == 0;
}

/* Of two lines with other keys, one of the same kind says more. */
static const struct known_hosts_entry *better_contradiction(const struct known_hosts_entry *old, const struct known_hosts_entry *entry,
							    const struct key *key)
{
	bool old_same = old && strcmp(old->type, key->type) == 0;

	return !old || (!old_same && strcmp(entry->type, key->type) == 0) ? entry : old;
}

static struct finding find_key(const struct known_hosts *known, const char *name, const struct key *key)
{
	const struct known_hosts_matches *matches = known_hosts_match(known, name);
	const struct known_hosts_entry *same = NULL, *other = NULL, *authority = NULL;

	for (size_t i = 0; i < matches->n; i++) {
		const struct known_hosts_entry *entry = matches->entries[i];

		if (entry->marker == KNOWN_HOSTS_REVOKED_MARK) {
			if (is_key(entry, key))
				return (struct finding){ KNOWN_HOSTS_REVOKED, entry };
		} else if (entry->marker == KNOWN_HOSTS_AUTHORITY_MARK) {
			authority = authority ? authority : entry;
		} else if (is_key(entry, key)) {
			same = same ? same : entry;
		} else {
			other = better_contradiction(other, entry, key);
		}
	}
	if (same)
		return (struct finding){ KNOWN_HOSTS_OK, same };
	if (other)
		return (struct finding){ KNOWN_HOSTS_CHANGED, other };
	if (authority)
		return (struct finding){ KNOWN_HOSTS_ONLY_AUTHORITY, authority };
	return (struct finding){ KNOWN_HOSTS_UNKNOWN, NULL };
}

/* OpenSSH looks a host of another port up without the port when nothing is known with it, and a key that differs there says
 * nothing. What is revoked is so on every port. */
static struct finding find_host(const struct known_hosts *known, const char *host, int port, const struct key *key)
{
	char *name = name_of(host, port), *plain = name_of(host, PORT_DEFAULT);
	struct finding finding = find_key(known, name, key);

	if (port != PORT_DEFAULT) {
		struct finding without = find_key(known, plain, key);

		if (without.answer == KNOWN_HOSTS_REVOKED ||
		    (finding.answer == KNOWN_HOSTS_UNKNOWN && without.answer != KNOWN_HOSTS_CHANGED))
			finding = without;
	}
	free(name);
	free(plain);
	return finding;
}

enum known_hosts_answer known_hosts_ask(const struct known_hosts *known, const char *host, int port, const char *type,
					const unsigned char *blob, size_t n, const char **file, size_t *line)
{
	const struct key key = { type, blob, n };
	struct finding finding = find_host(known, host, port, &key);

	*file = finding.entry ? finding.entry->file : NULL;
	*line = finding.entry ? finding.entry->line : 0;
	return finding.answer;
}

/* ---- algorithms ---- */

/* An RSA key signs in several ways; all others in one, named like the key. */
static bool signs_with(const char *type, const char *algorithm)
{
	if (strcmp(algorithm, "rsa-sha2-512") == 0 || strcmp(algorithm, "rsa-sha2-256") == 0)
		return strcmp(type, "ssh-rsa") == 0;
	return strcmp(type, algorithm) == 0;
}

static bool is_known(const struct known_hosts_matches *matches, const char *algorithm)
{
	for (size_t i = 0; i < matches->n; i++) {
		if (matches->entries[i]->marker == KNOWN_HOSTS_PLAIN && signs_with(matches->entries[i]->type, algorithm))
			return true;
	}
	return false;
}

static bool has_plain(const struct known_hosts_matches *matches)
{
	for (size_t i = 0; i < matches->n; i++) {
		if (matches->entries[i]->marker == KNOWN_HOSTS_PLAIN)
			return true;
	}
	return false;
}

/* Those of `offered` that are known, or those that are not. */
static void add_algorithms(struct buf *out, const struct known_hosts_matches *matches, const char *offered, bool wanted)
{
	char *copy = mem_string(offered), *rest = copy, *algorithm;

	while ((algorithm = strsep(&rest, ","))) {
		if (*algorithm && is_known(matches, algorithm) == wanted)
			buf_format(out, "%s%s", out->size ? "," : "", algorithm);
	}
	free(copy);
}

char *known_hosts_algorithms(const struct known_hosts *known, const char *host, int port, const char *offered)
{
	char *name = name_of(host, port), *plain = name_of(host, PORT_DEFAULT);
	const struct known_hosts_matches *matches = known_hosts_match(known, name);
	struct buf out = BUF_INIT;

	if (!has_plain(matches))
		matches = known_hosts_match(known, plain);
	add_algorithms(&out, matches, offered, true);
	add_algorithms(&out, matches, offered, false);
	free(name);
	free(plain);
	return buf_take(&out);
}

/* ---- writing ---- */

char *known_hosts_line(const char *host, int port, const char *type, const unsigned char *blob, size_t n)
{
	char *name = name_of(host, port), *line;
	unsigned char *text = mem_new((n + 2) / 3 * 4 + 1, 1);

	EVP_EncodeBlock(text, blob, (int)n);
	line = mem_format("%s %s %s", name, type, (const char *)text);
	free(text);
	free(name);
	return line;
}
