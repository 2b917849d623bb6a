/* Parses known_hosts files, finds the lines that apply to a host, and judges a key by them. */
#include "fleet/ssh/known_hosts.h"

#include "base/buf.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/order.h"
#include "base/text.h"

#include <ctype.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#define HASH_BYTES 20 /* size of a SHA-1 hash and of its salt */

enum known_hosts_marker { KNOWN_HOSTS_PLAIN, KNOWN_HOSTS_REVOKED_MARK, KNOWN_HOSTS_AUTHORITY_MARK };

struct known_hosts_entry {
	enum known_hosts_marker marker;
	char *hosts;	       /* text of the host patterns, in lower case; owned */
	const char **patterns; /* [n_patterns] borrowed from `hosts`; NULL if the name is hashed */
	size_t n_patterns;
	bool literal; /* true if `patterns` is one name without wildcards */
	unsigned char salt[HASH_BYTES], hash[HASH_BYTES];
	char *type;	     /* type of the key */
	unsigned char *blob; /* [n_blob] key in wire format; owned */
	size_t n_blob;
	const char *file; /* name of the file, borrowed from known_hosts.files */
	size_t line;
};

/* The lines that apply to one name. They are cached, because comparing hashed lines is slow. */
struct known_hosts_matches {
	char *name;
	const struct known_hosts_entry **entries; /* [n] matching lines in the order of the files, borrowed */
	size_t n;
};

struct known_hosts_cache {
	struct known_hosts_matches *names; /* [n] sorted by name */
	size_t n, capacity;
};

struct known_hosts {
	struct known_hosts_entry *entries; /* [n] lines of all files */
	size_t n, capacity;
	char **files; /* [n_files] names of the files */
	size_t n_files, files_capacity;
	struct known_hosts_cache *cache;
};

static void drop_matches(struct known_hosts *known)
{
	for (size_t i = 0; i < known->cache->n; i++)
		mem_free(known->cache->names[i].name, known->cache->names[i].entries);
	known->cache->n = 0;
}

/* ---- reading lines ---- */

#define BLANKS " \t\r"

/* A line while it is parsed. */
struct line {
	const char *name; /* name of the file */
	size_t number;
	char *unread; /* unread part of the line; next_word() writes NUL bytes into it */
	struct assay_error *err;
};

static enum assay_status fail_line(const struct line *line, const char *what, const char *text)
{
	return assay_fail(line->err, ASSAY_E_FORMAT, "%s:%zu: %s%s%s%s", line->name, line->number, what, *text ? " '" : "",
			  TEXT_SANITIZED(text), *text ? "'" : "");
}

/* Returns the next word of the line; "" at its end. */
static char *next_word(struct line *line)
{
	char *word = line->unread + strspn(line->unread, BLANKS), *end = word + strcspn(word, BLANKS);

	line->unread = *end ? end + 1 : end;
	*end = '\0';
	return word;
}

/* ---- base64 ---- */

static bool is_base64(const char *text, size_t n)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	size_t used = strspn(text, digits), padding = strspn(text + used, "=");

	return n > 0 && n % 4 == 0 && used + padding == n && padding <= 2;
}

/* Decodes base64. Returns NULL if the text is invalid. EVP_DecodeBlock() itself would accept spaces, and counts padding as bytes. */
static unsigned char *decode_base64(const char *text, size_t *n)
{
	size_t length = strlen(text);
	unsigned char *bytes;
	int decoded;

	if (!is_base64(text, length))
		return NULL;
	bytes = mem_new(length / 4 * 3, 1);
	decoded = EVP_DecodeBlock(bytes, (const unsigned char *)text, (int)length);
	ASSAY_BUG_IF(decoded < 0 || (size_t)decoded != length / 4 * 3);
	*n = (size_t)decoded - (text[length - 1] == '=') - (text[length - 2] == '=');
	return bytes;
}

/* ---- names ---- */

static bool decode_hash(const char *text, unsigned char out[HASH_BYTES])
{
	size_t n = 0;
	unsigned char *bytes = decode_base64(text, &n);
	bool good = bytes && n == HASH_BYTES;

	if (good)
		memcpy(out, bytes, n);
	free(bytes);
	return good;
}

/* Parses a hashed name, "|1|SALT|HASH". */
static enum assay_status parse_hashed(struct line *line, char *text, struct known_hosts_entry *entry)
{
	char *salt, *hash;

	if (strncmp(text, "|1|", 3) != 0)
		return fail_line(line, "this hash of a name is of an unknown kind:", text);
	salt = text + 3;
	hash = strchr(salt, '|');
	if (hash)
		*hash++ = '\0';
	if (!hash || !decode_hash(salt, entry->salt) || !decode_hash(hash, entry->hash))
		return fail_line(line, "the hashed name is damaged", "");
	return ASSAY_OK;
}

static enum assay_status parse_patterns(struct line *line, const char *text, struct known_hosts_entry *entry)
{
	char *rest, *pattern;
	size_t capacity = 0;

	entry->hosts = mem_string(text);
	for (char *s = entry->hosts; *s; s++)
		*s = (char)tolower((unsigned char)*s);
	rest = entry->hosts;
	while ((pattern = strsep(&rest, ","))) {
		if (!*pattern || strcmp(pattern, "!") == 0)
			return fail_line(line, "an empty name in", text);
		mem_append(entry->patterns, entry->n_patterns, &capacity, pattern);
	}
	entry->literal = entry->n_patterns == 1 && !strpbrk(entry->hosts, "*?!");
	return ASSAY_OK;
}

/* ---- keys in lines ---- */

/* Returns the size of the field at offset `at`: a big-endian 32-bit length and that number of bytes. 0 if the blob ends before. */
static size_t field_bytes(const unsigned char *blob, size_t n, size_t at)
{
	size_t length;

	if (n - at < 4)
		return 0;
	length = (size_t)blob[at] << 24 | (size_t)blob[at + 1] << 16 | (size_t)blob[at + 2] << 8 | blob[at + 3];
	return length <= n - at - 4 ? 4 + length : 0;
}

/* Reports whether the first field of the blob is the text `type`. */
static bool is_of_type(const unsigned char *blob, size_t n, const char *type)
{
	size_t length = strlen(type);

	return field_bytes(blob, n, 0) == 4 + length && memcmp(blob + 4, type, length) == 0;
}

static enum assay_status parse_key(struct line *line, const char *type, struct known_hosts_entry *entry)
{
	const char *text = next_word(line);

	if (!*text)
		return fail_line(line, "the key is missing", "");
	entry->blob = decode_base64(text, &entry->n_blob);
	if (!entry->blob)
		return fail_line(line, "the key is not base64:", text);
	if (!is_of_type(entry->blob, entry->n_blob, type))
		return fail_line(line, "the key is damaged or not of the type that stands before it:", type);
	entry->type = mem_string(type);
	return ASSAY_OK;
}

/* Replaces a certificate by its key, as OpenSSH does: a revoked certificate revokes its key, even if the host sends the plain key. A
 * certificate contains its type, a nonce, the fields of the key, and more (PROTOCOL.certkeys of OpenSSH). */
static enum assay_status take_certified_key(struct line *line, struct known_hosts_entry *entry)
{
	static const struct {
		const char *certificate, *key;
		size_t fields;
	} types[] = {
		{ "ssh-ed25519-cert-v01@openssh.com", "ssh-ed25519", 1 },
		{ "ssh-rsa-cert-v01@openssh.com", "ssh-rsa", 2 },
		{ "ecdsa-sha2-nistp256-cert-v01@openssh.com", "ecdsa-sha2-nistp256", 2 },
		{ "ecdsa-sha2-nistp384-cert-v01@openssh.com", "ecdsa-sha2-nistp384", 2 },
		{ "ecdsa-sha2-nistp521-cert-v01@openssh.com", "ecdsa-sha2-nistp521", 2 },
		{ "ssh-dss-cert-v01@openssh.com", "ssh-dss", 4 },
		{ "sk-ssh-ed25519-cert-v01@openssh.com", "sk-ssh-ed25519@openssh.com", 2 },
		{ "sk-ecdsa-sha2-nistp256-cert-v01@openssh.com", "sk-ecdsa-sha2-nistp256@openssh.com", 3 },
	};
	size_t i = 0, at, field, length;
	unsigned char *key;

	while (i < sizeof(types) / sizeof(*types) && strcmp(entry->type, types[i].certificate) != 0)
		i++;
	if (i == sizeof(types) / sizeof(*types))
		return ASSAY_OK;
	at = field_bytes(entry->blob, entry->n_blob, 0);
	field = field_bytes(entry->blob, entry->n_blob, at); /* field of the nonce */
	length = strlen(types[i].key);
	key = mem_new(entry->n_blob, 1);
	key[3] = (unsigned char)length;
	memcpy(key + 4, types[i].key, length);
	length += 4;
	for (size_t k = 0; field && k < types[i].fields; k++) {
		at += field;
		field = field_bytes(entry->blob, entry->n_blob, at);
		memcpy(key + length, entry->blob + at, field);
		length += field;
	}
	mem_free(entry->blob, entry->type);
	entry->blob = key;
	entry->n_blob = length;
	entry->type = mem_string(types[i].key);
	return field ? ASSAY_OK : fail_line(line, "the certificate is damaged:", types[i].certificate);
}

/* ---- lines ---- */

static enum assay_status parse_marker(struct line *line, const char *word, enum known_hosts_marker *marker)
{
	if (strcmp(word, "@revoked") == 0)
		*marker = KNOWN_HOSTS_REVOKED_MARK;
	else if (strcmp(word, "@cert-authority") == 0)
		*marker = KNOWN_HOSTS_AUTHORITY_MARK;
	else
		return fail_line(line, "unknown marker", word);
	return ASSAY_OK;
}

/* Parses a line. If it is to be ignored, entry->type stays NULL: a comment, or a key of the old protocol 1, whose fields are numbers. */
static enum assay_status parse_line(struct line *line, struct known_hosts_entry *entry)
{
	char *word = next_word(line), *type;
	enum assay_status st = ASSAY_OK;

	if (!*word || *word == '#')
		return ASSAY_OK;
	if (*word == '@') {
		st = parse_marker(line, word, &entry->marker);
		word = next_word(line);
	}
	type = next_word(line);
	if (st)
		return st;
	if (!*type)
		return fail_line(line, "a name, a type of key and a key are expected", "");
	if (type[strspn(type, "0123456789")] == '\0')
		return ASSAY_OK;
	st = *word == '|' ? parse_hashed(line, word, entry) : parse_patterns(line, word, entry);
	if (!st)
		st = parse_key(line, type, entry);
	return st || entry->marker != KNOWN_HOSTS_REVOKED_MARK ? st : take_certified_key(line, entry);
}

static void entry_release(struct known_hosts_entry *entry)
{
	mem_free(entry->hosts, entry->patterns, entry->type, entry->blob);
}

static enum assay_status add_line(struct known_hosts *known, struct line *line)
{
	struct known_hosts_entry entry = { .file = known->files[known->n_files - 1], .line = line->number };
	enum assay_status st = parse_line(line, &entry);

	if (st || !entry.type) {
		entry_release(&entry);
		return st;
	}
	mem_append(known->entries, known->n, &known->capacity, entry);
	return ASSAY_OK;
}

/* Removes the last file, of which only a part was read, so that a second attempt to read it also fails. */
static void drop_last_file(struct known_hosts *known, size_t n_before)
{
	while (known->n > n_before)
		entry_release(&known->entries[--known->n]);
	free(known->files[--known->n_files]);
}

enum assay_status known_hosts_parse(struct known_hosts *known, const char *name, const char *text, size_t n, struct assay_error *err)
{
	char *bytes, *rest, *line;
	size_t n_before = known->n;
	enum assay_status st = ASSAY_OK;

	drop_matches(known); /* the matches point into entries[] */
	if (n > KNOWN_HOSTS_BYTES_MAX)
		return assay_fail(err, ASSAY_E_LIMIT, "%s:1: more than %u bytes", name, KNOWN_HOSTS_BYTES_MAX);
	if (memchr(text, '\0', n))
		return assay_fail(err, ASSAY_E_FORMAT, "%s:1: a NUL byte: this is not a text", name);
	mem_append(known->files, known->n_files, &known->files_capacity, mem_string(name));
	rest = bytes = mem_bytes(text, n);
	for (size_t number = 1; !st && (line = strsep(&rest, "\n")); number++)
		st = add_line(known, &(struct line){ name, number, line, err });
	free(bytes);
	if (st)
		drop_last_file(known, n_before);
	return st;
}

enum assay_status known_hosts_read(struct known_hosts *known, const char *path, struct assay_error *err)
{
	struct buf text = BUF_INIT;
	enum assay_status st;

	if (strcmp(path, "/dev/null") == 0) /* ssh treats this path as "no file" */
		return ASSAY_OK;
	for (size_t i = 0; i < known->n_files; i++) {
		if (strcmp(known->files[i], path) == 0)
			return ASSAY_OK;
	}
	st = file_read(path, KNOWN_HOSTS_BYTES_MAX, &text, err);
	if (!st && text.size)
		st = known_hosts_parse(known, path, text.bytes, text.size, err);
	buf_release(&text);
	return st == ASSAY_E_NOTFOUND ? ASSAY_OK : st;
}

struct known_hosts *known_hosts_new(void)
{
	struct known_hosts *known = mem_new(1, sizeof(*known));

	known->cache = mem_new(1, sizeof(*known->cache));
	return known;
}

void known_hosts_free(struct known_hosts *known)
{
	if (!known)
		return;
	drop_matches(known);
	for (size_t i = 0; i < known->n; i++)
		entry_release(&known->entries[i]);
	mem_free_all(known->files, known->n_files);
	mem_free(known->entries, known->cache->names, known->cache, known);
}

/* ---- patterns ---- */

/* Matches wildcards. At a mismatch, extends only the last '*', because extending an earlier '*' cannot find more matches. */
static bool host_pattern_matches(const char *pattern, const char *text)
{
	const char *star = NULL, *resume = text;

	while (*text) {
		if (*pattern == '*') {
			star = pattern++;
			resume = text;
		} else if (*pattern == '?' || *pattern == *text) {
			pattern++;
			text++;
		} else if (star) {
			pattern = star + 1;
			text = ++resume;
		} else {
			return false;
		}
	}
	while (*pattern == '*')
		pattern++;
	return !*pattern;
}

static bool host_patterns_match(const char *const *patterns, size_t n, const char *text)
{
	bool found = false;

	for (size_t i = 0; i < n; i++) {
		if (patterns[i][0] != '!')
			found = found || host_pattern_matches(patterns[i], text);
		else if (host_pattern_matches(patterns[i] + 1, text))
			return false;
	}
	return found;
}

/* ---- looking up one name ---- */

static bool matches_host(const struct known_hosts_entry *entry, const char *name, size_t n)
{
	unsigned char hash[HASH_BYTES];

	if (entry->literal)
		return strcmp(entry->patterns[0], name) == 0;
	if (entry->patterns)
		return host_patterns_match(entry->patterns, entry->n_patterns, name);
	ASSAY_BUG_IF(!HMAC(EVP_sha1(), entry->salt, HASH_BYTES, (const unsigned char *)name, n, hash, NULL));
	return memcmp(hash, entry->hash, sizeof(hash)) == 0;
}

static struct known_hosts_matches find_matches(const struct known_hosts *known, const char *name)
{
	struct known_hosts_matches matches = { .name = mem_string(name) };
	size_t capacity = 0, n = strlen(name);

	for (size_t i = 0; i < known->n; i++) {
		if (!matches_host(&known->entries[i], name, n))
			continue;
		mem_append(matches.entries, matches.n, &capacity, &known->entries[i]);
	}
	return matches;
}

/* Returns the index of the name in the sorted cache, or the index at which to insert it. */
ORDER_LOWER_BOUND(matches_at, struct known_hosts_matches, strcmp(x->name, name) < 0, const char *name)

static const struct known_hosts_matches *known_hosts_match(const struct known_hosts *known, const char *name)
{
	struct known_hosts_cache *cache = known->cache;
	size_t at = matches_at(cache->names, cache->n, name);

	if (at < cache->n && strcmp(cache->names[at].name, name) == 0)
		return &cache->names[at];
	cache->names = mem_grow(cache->names, cache->n, &cache->capacity, sizeof(*cache->names));
	memmove(cache->names + at + 1, cache->names + at, (cache->n - at) * sizeof(*cache->names));
	cache->names[at] = find_matches(known, name);
	cache->n++;
	return &cache->names[at];
}

/* ---- verdict on a key ---- */

#define PORT_DEFAULT 22

/* Returns the host's name as in known_hosts files, which omit port 22. The caller frees it. */
static char *format_host_name(const char *host, int port)
{
	char *name = port == PORT_DEFAULT ? mem_string(host) : mem_format("[%s]:%d", host, port);

	for (char *s = name; *s; s++)
		*s = (char)tolower((unsigned char)*s);
	return name;
}

/* A verdict on a key, and the line that decided it. */
struct finding {
	enum known_hosts_result answer;
	const struct known_hosts_entry *entry; /* deciding line; NULL if no line applies */
};

/* Reports whether the entry is from a file in who->files. */
static bool is_entry_used(const struct known_hosts_entry *entry, const struct known_hosts_query *who)
{
	bool found = !who->files;

	for (size_t i = 0; i < who->n_files && !found; i++)
		found = strcmp(entry->file, who->files[i]) == 0;
	return found;
}

static bool is_key(const struct known_hosts_entry *entry, const struct hostkey *key)
{
	return entry->n_blob == key->n && memcmp(entry->blob, key->blob, key->n) == 0;
}

/* Returns the more informative of two lines that contradict the key, which is the line whose key has the same type. */
static const struct known_hosts_entry *choose_contradiction(const struct known_hosts_entry *old, const struct known_hosts_entry *entry,
							    const struct hostkey *key)
{
	bool old_same = old && strcmp(old->type, key->type) == 0;

	return !old || (!old_same && strcmp(entry->type, key->type) == 0) ? entry : old;
}

static struct finding find_key(const struct known_hosts *known, const struct known_hosts_query *who, const char *name,
			       const struct hostkey *key)
{
	const struct known_hosts_matches *matches = known_hosts_match(known, name);
	const struct known_hosts_entry *same = NULL, *other = NULL, *authority = NULL;

	for (size_t i = 0; i < matches->n; i++) {
		const struct known_hosts_entry *entry = matches->entries[i];

		if (!is_entry_used(entry, who))
			continue;
		if (entry->marker == KNOWN_HOSTS_REVOKED_MARK) {
			if (is_key(entry, key))
				return (struct finding){ KNOWN_HOSTS_REVOKED, entry };
		} else if (entry->marker == KNOWN_HOSTS_AUTHORITY_MARK) {
			authority = authority ? authority : entry;
		} else if (is_key(entry, key)) {
			same = same ? same : entry;
		} else {
			other = choose_contradiction(other, entry, key);
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

/* Looks up a host. As in OpenSSH, an unknown host with a port other than 22 is also looked up without the port; a different key that is
 * found in this way is ignored. A revoked key is revoked on every port. */
static struct finding find_host(const struct known_hosts *known, const struct known_hosts_query *who, const struct hostkey *key)
{
	char *name = format_host_name(who->host, who->port), *plain = format_host_name(who->host, PORT_DEFAULT);
	struct finding finding = find_key(known, who, name, key);

	if (who->port != PORT_DEFAULT) {
		struct finding without = find_key(known, who, plain, key);

		if (without.answer == KNOWN_HOSTS_REVOKED ||
		    (finding.answer == KNOWN_HOSTS_UNKNOWN && without.answer != KNOWN_HOSTS_CHANGED))
			finding = without;
	}
	mem_free(name, plain);
	return finding;
}

enum known_hosts_result known_hosts_check(const struct known_hosts *known, const struct known_hosts_query *who, const struct hostkey *key,
					  const char **file, size_t *line)
{
	struct finding finding = find_host(known, who, key);

	*file = finding.entry ? finding.entry->file : NULL;
	*line = finding.entry ? finding.entry->line : 0;
	return finding.answer;
}

/* ---- algorithms ---- */

/* Reports whether keys of this type sign with this algorithm. RSA keys have several algorithms. Other keys have one, named as the type. */
static bool is_signature_algorithm(const char *type, const char *algorithm)
{
	if (strcmp(algorithm, "rsa-sha2-512") == 0 || strcmp(algorithm, "rsa-sha2-256") == 0)
		return strcmp(type, "ssh-rsa") == 0;
	return strcmp(type, algorithm) == 0;
}

/* Reports whether a key for this algorithm is known. If `algorithm` is NULL, reports whether any key is known. */
static bool is_known(const struct known_hosts_matches *matches, const struct known_hosts_query *who, const char *algorithm)
{
	for (size_t i = 0; i < matches->n; i++) {
		const struct known_hosts_entry *entry = matches->entries[i];

		if (entry->marker == KNOWN_HOSTS_PLAIN && is_entry_used(entry, who) &&
		    (!algorithm || is_signature_algorithm(entry->type, algorithm)))
			return true;
	}
	return false;
}

char *known_hosts_algorithms(const struct known_hosts *known, const struct known_hosts_query *who, const char *offered)
{
	char *name = format_host_name(who->host, who->port), *plain = format_host_name(who->host, PORT_DEFAULT);
	const struct known_hosts_matches *matches = known_hosts_match(known, name);
	struct buf out = BUF_INIT;

	if (!is_known(matches, who, NULL))
		matches = known_hosts_match(known, plain);
	for (int first = 1; first >= 0; first--) { /* known algorithms in the first round, unknown ones in the second */
		char *copy = mem_string(offered), *rest = copy, *algorithm;

		while ((algorithm = strsep(&rest, ","))) {
			if (*algorithm && is_known(matches, who, algorithm) == first)
				buf_format(&out, "%s%s", out.size ? "," : "", algorithm);
		}
		free(copy);
	}
	mem_free(name, plain);
	return buf_take(&out);
}

/* ---- writing lines ---- */

char *known_hosts_line(const char *host, int port, const struct hostkey *key)
{
	char *name = format_host_name(host, port), *line;
	unsigned char *text = mem_new((key->n + 2) / 3 * 4 + 1, 1);

	EVP_EncodeBlock(text, key->blob, (int)key->n);
	line = mem_format("%s %s %s", name, key->type, (const char *)text);
	mem_free(text, name);
	return line;
}

/* ---- keys ---- */

#define KEY_TEXT_BYTES_MAX 65536
#define SHA256_BYTES	   32

/* Reads the type from the first field of the blob. */
static bool hostkey_read_type(struct hostkey *key)
{
	size_t n = field_bytes(key->blob, key->n, 0);

	n -= n ? 4 : 0;
	if (n == 0 || n >= sizeof(key->type))
		return false;
	for (size_t i = 0; i < n; i++) {
		if (key->blob[4 + i] <= 0x20 || key->blob[4 + i] >= 0x7f)
			return false;
		key->type[i] = (char)key->blob[4 + i];
	}
	key->type[n] = '\0';
	return true;
}

static bool hostkey_show(struct hostkey *key)
{
	unsigned char digest[SHA256_BYTES], text[4 * ((SHA256_BYTES + 2) / 3) + 1];
	size_t size = 0;

	if (!EVP_Q_digest(NULL, "SHA256", NULL, key->blob, key->n, digest, &size) || size != sizeof(digest))
		return false;
	EVP_EncodeBlock(text, digest, sizeof(digest));
	snprintf(key->fingerprint_text, sizeof(key->fingerprint_text), "SHA256:%.*s", (int)strcspn((const char *)text, "="),
		 (const char *)text);
	return true;
}

bool hostkey_from_base64(const char *text, struct hostkey *out)
{
	size_t n = strcspn(text, " \t\r\n");
	struct hostkey key = { 0 };
	char *word;

	*out = key;
	if (n > KEY_TEXT_BYTES_MAX)
		return false;
	word = mem_bytes(text, n);
	key.blob = decode_base64(word, &key.n);
	free(word);
	if (!key.blob || !hostkey_read_type(&key) || !hostkey_show(&key)) {
		hostkey_release(&key);
		return false;
	}
	*out = key;
	return true;
}

void hostkey_release(struct hostkey *key)
{
	free(key->blob);
	*key = (struct hostkey){ 0 };
}
