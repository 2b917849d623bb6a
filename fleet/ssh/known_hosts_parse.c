#include "fleet/ssh/known_hosts_lines.h"

#include "base/file.h"
#include "base/mem.h"
#include "base/text.h"

#include <ctype.h>
#include <openssl/evp.h>

#define BLANKS " \t\r"

/* The line at work. */
struct line {
	const char *name; /* of the file */
	size_t number;
	char *rest;       /* what of it has not been read; it is cut into words */
	struct assay_error *err;
};

static enum assay_status fail_line(const struct line *line, const char *what, const char *text)
{
	char shown[TEXT_SHOWN_BYTES];

	return assay_fail(line->err, ASSAY_E_FORMAT, "%s:%zu: %s%s%s%s", line->name, line->number, what, *text ? " '" : "",
			  text_shown(text, shown), *text ? "'" : "");
}

/* "" at the end of the line. */
static char *next_word(struct line *line)
{
	char *word = line->rest + strspn(line->rest, BLANKS), *end = word + strcspn(word, BLANKS);

	line->rest = *end ? end + 1 : end;
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

/* NULL when the text is not base64. libcrypto itself takes blanks around it, and counts the padding. */
static unsigned char *decode(const char *text, size_t *n)
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

static bool decode_hash(const char *text, unsigned char out[KNOWN_HOSTS_HASH_BYTES])
{
	size_t n = 0;
	unsigned char *bytes = decode(text, &n);
	bool good = bytes && n == KNOWN_HOSTS_HASH_BYTES;

	if (good)
		memcpy(out, bytes, n);
	free(bytes);
	return good;
}

/* "|1|SALT|HASH" */
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
		entry->patterns = mem_grow(entry->patterns, entry->n_patterns, &capacity, sizeof(*entry->patterns));
		entry->patterns[entry->n_patterns++] = pattern;
	}
	entry->literal = entry->n_patterns == 1 && !strpbrk(entry->hosts, "*?!");
	return ASSAY_OK;
}

/* ---- keys ---- */

/* The blob begins with the type: four bytes of length, big-endian, then the text. */
static bool is_of_type(const unsigned char *blob, size_t n, const char *type)
{
	size_t length = strlen(type);

	return n >= 4 + length && blob[0] == 0 && blob[1] == 0 && blob[2] == length >> 8 && blob[3] == (length & 0xff) &&
	       memcmp(blob + 4, type, length) == 0;
}

static enum assay_status parse_key(struct line *line, const char *type, struct known_hosts_entry *entry)
{
	const char *text = next_word(line);

	if (!*text)
		return fail_line(line, "the key is missing", "");
	entry->blob = decode(text, &entry->n_blob);
	if (!entry->blob)
		return fail_line(line, "the key is not base64:", text);
	if (!is_of_type(entry->blob, entry->n_blob, type))
		return fail_line(line, "the key is damaged or not of the type that stands before it:", type);
	entry->type = mem_string(type);
	return ASSAY_OK;
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

/* entry->type stays NULL when there is nothing to keep: a comment, or a key of protocol 1 (numbers), which no host has any more. */
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
	return st ? st : parse_key(line, type, entry);
}

static void entry_release(struct known_hosts_entry *entry)
{
	free(entry->hosts);
	free(entry->patterns);
	free(entry->type);
	free(entry->blob);
}

static enum assay_status add_line(struct known_hosts *known, struct line *line)
{
	struct known_hosts_entry entry = { .file = known->files[known->n_files - 1], .line = line->number };
	enum assay_status st = parse_line(line, &entry);

	if (st || !entry.type) {
		entry_release(&entry);
		return st;
	}
	known->entries = mem_grow(known->entries, known->n, &known->capacity, sizeof(*known->entries));
	known->entries[known->n++] = entry;
	return ASSAY_OK;
}

enum assay_status known_hosts_parse(struct known_hosts *known, const char *name, const char *text, size_t n, struct assay_error *err)
{
	char *bytes, *rest, *line;
	enum assay_status st = ASSAY_OK;

	known_hosts_forget_matches(known); /* they point into entries[] */
	if (n > KNOWN_HOSTS_BYTES_MAX)
		return assay_fail(err, ASSAY_E_LIMIT, "%s:1: more than %u bytes", name, KNOWN_HOSTS_BYTES_MAX);
	if (memchr(text, '\0', n))
		return assay_fail(err, ASSAY_E_FORMAT, "%s:1: a NUL byte: this is not a text", name);
	known->files = mem_grow(known->files, known->n_files, &known->files_capacity, sizeof(*known->files));
	known->files[known->n_files++] = mem_string(name);
	rest = bytes = mem_bytes(text, n);
	for (size_t number = 1; !st && (line = strsep(&rest, "\n")); number++)
		st = add_line(known, &(struct line){ name, number, line, err });
	free(bytes);
	return st;
}

enum assay_status known_hosts_read(struct known_hosts *known, const char *path, struct assay_error *err)
{
	struct buf text = BUF_INIT;
	enum assay_status st;

	if (strcmp(path, "/dev/null") == 0) /* how ssh is told that there is none */
		return ASSAY_OK;
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
	known_hosts_forget_matches(known);
	for (size_t i = 0; i < known->n; i++)
		entry_release(&known->entries[i]);
	for (size_t i = 0; i < known->n_files; i++)
		free(known->files[i]);
	free(known->entries);
	free(known->files);
	free(known->cache->names);
	free(known->cache);
	free(known);
}
