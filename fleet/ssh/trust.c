#include "fleet/ssh/trust.h"

#include "base/mem.h"
#include "base/text.h"

#define FILE_SHOWN_BYTES 80

bool trust_parse(const char *line, char **host, int *port, struct hostkey *key)
{
	size_t n = strcspn(line, " ");
	const char *type = line + n, *text;
	const char *close = line[0] == '[' ? memchr(line, ']', n) : NULL;
	int64_t number = 22;
	char *digits;

	type += strspn(type, " ");
	text = strchr(type, ' ');
	if (n == 0 || !text || !hostkey_from_base64(text + 1, key))
		return false;
	if (close && close[1] == ':') {
		digits = mem_bytes(close + 2, n - (size_t)(close + 2 - line));
		if (!text_int64(digits, &number))
			number = 0;
		free(digits);
	}
	*port = (int)number;
	*host = close ? mem_bytes(line + 1, (size_t)(close - line - 1)) : mem_bytes(line, n);
	return number >= 1 && number <= 65535;
}

/* Is the line about this host, and only about it? Asked of the same code that reads the whole file. */
enum line_about { ABOUT_OTHERS, ABOUT_HOST, ABOUT_SEVERAL };

static enum line_about line_about(const char *line, size_t n, const char *host, int port, const struct hostkey *key)
{
	struct known_hosts *alone = known_hosts_new();
	enum line_about about = ABOUT_OTHERS;
	enum known_hosts_answer answer;
	struct assay_error err;
	const char *file;
	size_t at;

	if (n && line[0] != '@' && !known_hosts_parse(alone, "line", line, n, &err)) {
		answer = known_hosts_ask(alone, &(struct known_hosts_who){ .host = host, .port = port }, key, &file, &at);
		if (answer != KNOWN_HOSTS_UNKNOWN)
			about = strcspn(line, ",*?!") < strcspn(line, " \t") ? ABOUT_SEVERAL : ABOUT_HOST;
	}
	known_hosts_free(alone);
	return about;
}

static enum assay_status take_out(struct buf *text, const char *own, const char *host, int port, const struct hostkey *key,
				  struct assay_error *err)
{
	struct buf kept = BUF_INIT;
	enum assay_status st = ASSAY_OK;
	size_t line = 1;

	for (size_t at = 0, n; !st && at < text->size; at += n, line++) {
		const char *end = memchr(text->bytes + at, '\n', text->size - at);

		n = end ? (size_t)(end + 1 - text->bytes) - at : text->size - at;
		switch (line_about(text->bytes + at, n, host, port, key)) {
		case ABOUT_OTHERS:
			buf_add(&kept, text->bytes + at, n);
			break;
		case ABOUT_SEVERAL:
			st = assay_fail(err, ASSAY_E_CONFLICT, "%s:%zu is about %s and other hosts: change that line yourself", own, line,
					host);
			break;
		case ABOUT_HOST:
			break;
		}
	}
	if (st) {
		buf_release(&kept);
		return st;
	}
	buf_release(text);
	*text = kept;
	return ASSAY_OK;
}

static bool has_line(const struct buf *text, const char *line)
{
	const char *at = text->size ? text->bytes : NULL;
	size_t n = strlen(line);

	while (at && (strncmp(at, line, n) != 0 || at[n] != '\n')) {
		at = strchr(at, '\n');
		at = at ? at + 1 : NULL;
	}
	return at;
}

/* Once, also when several hosts of this run have one address. */
static void add_line(struct buf *text, const char *line)
{
	if (has_line(text, line))
		return;
	if (text->size && text->bytes[text->size - 1] != '\n')
		buf_char(text, '\n');
	buf_text(text, line);
	buf_char(text, '\n');
}

/* "BEFORE FILE:LINE AFTER" */
static void say(struct trust_step *step, enum trust_action action, const char *before, const char *file, size_t line, const char *after)
{
	step->action = action;
	snprintf(step->message, sizeof(step->message), "%s%s:%zu%s", before, text_path_end(file ? file : "known_hosts", FILE_SHOWN_BYTES),
		 line, after);
}

enum assay_status trust_key(struct buf *text, const char *own, const struct known_hosts *known, const char *line, bool replace,
			    struct trust_step *out, struct assay_error *err)
{
	struct hostkey key = { 0 };
	const char *file = NULL;
	enum assay_status st = ASSAY_OK;
	char *host = NULL;
	size_t at = 0;
	int port;

	*out = (struct trust_step){ .action = TRUST_RECORDED };
	if (!trust_parse(line, &host, &port, &key)) {
		st = assay_fail(err, ASSAY_E_FORMAT, "the host has shown a key that cannot be read");
		goto out;
	}
	switch (known_hosts_ask(known, &(struct known_hosts_who){ .host = host, .port = port }, &key, &file, &at)) {
	case KNOWN_HOSTS_OK:
		say(out, TRUST_KNOWN, "known already, by ", file, at, "");
		break;
	case KNOWN_HOSTS_REVOKED:
		say(out, TRUST_REFUSED, "this key is revoked (", file, at, "): the host needs a new one");
		break;
	case KNOWN_HOSTS_CHANGED:
		if (!replace) {
			say(out, TRUST_REFUSED, "", file, at,
			    " has another key of this host: find out why it has changed (installed "
			    "anew? another machine?), then --replace");
			break;
		}
		out->action = TRUST_REPLACED;
		if (file && strcmp(file, own) != 0)
			say(out, TRUST_REPLACED, "", file, at,
			    " still has the old key, which stays good: take it out with 'ssh-keygen -R'");
		st = take_out(text, own, host, port, &key, err);
		if (!st)
			add_line(text, line);
		break;
	case KNOWN_HOSTS_UNKNOWN:
	case KNOWN_HOSTS_ONLY_AUTHORITY:
		add_line(text, line);
		break;
	}
out:
	hostkey_release(&key);
	free(host);
	return st;
}
