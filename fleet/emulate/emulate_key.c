#include "fleet/emulate/emulate_key.h"

#include "base/buf.h"
#include "base/file.h"
#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <openssl/evp.h>
#include <sys/stat.h>
#include <unistd.h>

#define KEY_TYPE        "ssh-ed25519"
#define KEY_BYTES       32
#define LINE_CHARACTERS 70

struct key {
	unsigned char secret[KEY_BYTES], public[KEY_BYTES];
};

enum assay_status emulate_write(const char *path, const char *bytes, size_t n, unsigned mode, struct assay_error *err)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, mode);
	int failed = fd < 0 || fchmod(fd, mode) || write(fd, bytes, n) != (ssize_t)n, errnum = errno;

	if (fd >= 0)
		close(fd);
	return failed ? assay_fail_errno(err, errnum, "cannot write '%s'", path) : ASSAY_OK;
}

/* ---- the format ---- */

static void add_u32(struct buf *b, size_t value)
{
	for (int shift = 24; shift >= 0; shift -= 8)
		buf_char(b, (char)(value >> shift & 0xff));
}

static void add_string(struct buf *b, const void *bytes, size_t n)
{
	add_u32(b, n);
	buf_add(b, bytes, n);
}

static void add_public(struct buf *b, const struct key *key)
{
	add_string(b, KEY_TYPE, strlen(KEY_TYPE));
	add_string(b, key->public, KEY_BYTES);
}

/* The part that would be encrypted if there were a passphrase, filled up to whole blocks of 8. */
static void add_secret(struct buf *b, const struct key *key, const char *comment)
{
	unsigned char both[2 * KEY_BYTES];

	memcpy(both, key->secret, KEY_BYTES);
	memcpy(both + KEY_BYTES, key->public, KEY_BYTES);
	buf_add(b, (const char *)key->public, 4); /* two equal numbers show that decryption went well */
	buf_add(b, (const char *)key->public, 4);
	add_public(b, key);
	add_string(b, both, sizeof(both));
	add_string(b, comment, strlen(comment));
	for (char i = 1; b->size % 8; i++)
		buf_char(b, i);
}

static char *base64(const struct buf *b)
{
	char *text = mem_new(b->size / 3 + 2, 4);

	EVP_EncodeBlock((unsigned char *)text, (const unsigned char *)b->bytes, (int)b->size);
	return text;
}

static void private_file(const struct key *key, const char *comment, struct buf *out)
{
	static const char magic[] = "openssh-key-v1"; /* with its NUL */
	struct buf whole = BUF_INIT, part = BUF_INIT;
	char *text;

	buf_add(&whole, magic, sizeof(magic));
	add_string(&whole, "none", 4); /* cipher */
	add_string(&whole, "none", 4); /* key derivation and its options */
	add_string(&whole, "", 0);
	add_u32(&whole, 1);
	add_public(&part, key);
	add_string(&whole, part.bytes, part.size);
	buf_clear(&part);
	add_secret(&part, key, comment);
	add_string(&whole, part.bytes, part.size);
	text = base64(&whole);
	buf_text(out, "-----BEGIN OPENSSH PRIVATE KEY-----\n");
	for (size_t at = 0, n = strlen(text); at < n; at += LINE_CHARACTERS)
		buf_format(out, "%.*s\n", LINE_CHARACTERS, text + at);
	buf_text(out, "-----END OPENSSH PRIVATE KEY-----\n");
	free(text);
	buf_release(&whole);
	buf_release(&part);
}

static char *public_line(const struct key *key)
{
	struct buf blob = BUF_INIT;
	char *text, *line;

	add_public(&blob, key);
	text = base64(&blob);
	line = mem_format(KEY_TYPE " %s", text);
	free(text);
	buf_release(&blob);
	return line;
}

/* ---- making and keeping ---- */

static enum assay_status generate(struct key *key, struct assay_error *err)
{
	EVP_PKEY *pair = EVP_PKEY_Q_keygen(NULL, NULL, "ED25519");
	size_t n_secret = KEY_BYTES, n_public = KEY_BYTES;
	int ok = pair && EVP_PKEY_get_raw_private_key(pair, key->secret, &n_secret) == 1 &&
		 EVP_PKEY_get_raw_public_key(pair, key->public, &n_public) == 1 && n_secret == KEY_BYTES && n_public == KEY_BYTES;

	EVP_PKEY_free(pair);
	return ok ? ASSAY_OK : assay_fail(err, ASSAY_E_IO, "libcrypto cannot make an ed25519 key");
}

/* The line of an existing pair, or NULL. */
static char *kept_line(const char *path, const char *public_path)
{
	struct buf text = BUF_INIT;
	struct assay_error ignored;
	char *line = NULL;

	if (access(path, R_OK) == 0 && !file_read(public_path, 4096, &text, &ignored) &&
	    strncmp(text.bytes ? text.bytes : "", KEY_TYPE " ", strlen(KEY_TYPE) + 1) == 0) {
		size_t type = strlen(KEY_TYPE) + 1;

		line = mem_bytes(text.bytes, type + strcspn(text.bytes + type, " \n"));
	}
	buf_release(&text);
	return line;
}

enum assay_status emulate_key_make(const char *path, const char *comment, char **line, struct assay_error *err)
{
	char *public_path = mem_format("%s.pub", path);
	struct buf text = BUF_INIT;
	struct key key;
	enum assay_status st;

	*line = kept_line(path, public_path);
	st = *line ? ASSAY_OK : generate(&key, err);
	if (st || *line)
		goto out;
	private_file(&key, comment, &text);
	st = emulate_write(path, text.bytes, text.size, 0600, err);
	buf_clear(&text);
	*line = public_line(&key);
	buf_format(&text, "%s %s\n", *line, comment);
	if (!st) /* last: where it is, the pair is whole */
		st = emulate_write(public_path, text.bytes, text.size, 0644, err);
out:
	OPENSSL_cleanse(&key, sizeof(key));
	buf_release(&text);
	free(public_path);
	if (st) {
		free(*line);
		*line = NULL;
	}
	return st;
}
