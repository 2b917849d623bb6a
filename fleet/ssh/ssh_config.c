#include "fleet/ssh/ssh_config.h"

#include "base/buf.h"
#include "base/mem.h"
#include "base/text.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Keys that change what a connection is, and are not honoured unless they have their default value. All others are honoured (below) or
 * matter to interactive sessions only. */
static const struct {
	const char *name, *instead; /* what to do, or NULL */
} refused[] = {
	{ "ProxyCommand", "use ProxyJump" },
	{ "AddressFamily", "write the address into lab.yaml" },
	{ "BindAddress", NULL },
	{ "BindInterface", NULL },
	{ "KnownHostsCommand", NULL },
	{ "RevokedHostKeys", "write @revoked lines into a known_hosts file" },
	{ "RequiredRSASize", NULL },
	{ "CertificateFile", NULL },
	{ "PKCS11Provider", "use an agent" },
	{ "PubkeyAuthentication", NULL },
	{ "PubkeyAcceptedAlgorithms", NULL },
	{ "Ciphers", NULL },
	{ "HostKeyAlgorithms", NULL },
	{ "KexAlgorithms", NULL },
	{ "MACs", NULL },
	{ "RemoteCommand", NULL },
	{ "SessionType", NULL },
	{ "SetEnv", "use 'env' in lab.yaml" },
};

/* What ssh has said of one host, at work. */
struct reading {
	const char *defaults;
	const char *host, *user, *home;
	struct ssh_settings settings;
	size_t n_identity_lines, n_default_identities;
	struct assay_error *err;
};

char *ssh_config_command(const char *config, const char *host, int port, const char *user)
{
	struct buf out = BUF_INIT;

	buf_text(&out, "exec ssh -T -G -F ");
	text_add_shell_word(&out, config ? config : "none");
	if (port)
		buf_format(&out, " -p %d", port);
	if (user) {
		buf_text(&out, " -l ");
		text_add_shell_word(&out, user);
	}
	buf_text(&out, " -- ");
	text_add_shell_word(&out, host);
	return buf_take(&out);
}

/* ---- ~ and % ---- */

static enum assay_status fail_value(const struct reading *r, const char *what, const char *text)
{
	return assay_fail(r->err, ASSAY_E_FORMAT, "~/.ssh/config: %s in '%s' is not honoured here", what, TEXT_SHOWN(text));
}

static bool add_token(const struct reading *r, char letter, struct buf *out)
{
	const struct ssh_settings *s = &r->settings;

	switch (letter) {
	case '%':
		buf_char(out, '%');
		return true;
	case 'd':
		buf_text(out, r->home);
		return true;
	case 'h':
		buf_text(out, s->host_name ? s->host_name : r->host);
		return true;
	case 'k':
		buf_text(out, s->host_key_alias ? s->host_key_alias : r->host);
		return true;
	case 'n':
		buf_text(out, r->host);
		return true;
	case 'p':
		buf_format(out, "%d", s->port);
		return true;
	case 'r':
		buf_text(out, s->user ? s->user : r->user);
		return true;
	case 'u':
		buf_text(out, r->user);
		return true;
	default:
		return false;
	}
}

/* "${NAME}" at *at, which moves to its end. */
static bool add_variable(const char **at, struct buf *out)
{
	const char *start = *at + 2, *end = strchr(start, '}'), *value;
	char *name;

	if (!end)
		return false;
	name = mem_bytes(start, (size_t)(end - start));
	value = getenv(name);
	free(name);
	if (value)
		buf_text(out, value);
	*at = end;
	return value;
}

static enum assay_status expand(const struct reading *r, const char *text, char **out)
{
	struct buf expanded = BUF_INIT;
	const char *s = text, *fault = NULL;

	if (*s == '~' && (s[1] == '/' || !s[1])) {
		buf_text(&expanded, r->home);
		s++;
	} else if (*s == '~') {
		fault = "'~' of another user";
	}
	for (; *s && !fault; s++) {
		if (*s == '$' && s[1] == '{')
			fault = add_variable(&s, &expanded) ? NULL : "a variable that is not set";
		else if (*s != '%')
			buf_char(&expanded, *s);
		else if (!add_token(r, s[1], &expanded))
			fault = "this '%'";
		else
			s++;
	}
	if (fault) {
		buf_release(&expanded);
		return fail_value(r, fault, text);
	}
	*out = buf_take(&expanded);
	return ASSAY_OK;
}

static enum assay_status add_path(const struct reading *r, const char *text, char ***paths, size_t *n)
{
	char *path = NULL;
	enum assay_status st = expand(r, text, &path);

	if (st)
		return st;
	*paths = mem_resize(*paths, *n + 1, sizeof(char *));
	(*paths)[(*n)++] = path;
	return ASSAY_OK;
}

/* ---- lines ---- */

static bool is_default(const struct reading *r, const char *line)
{
	size_t n = strlen(line);

	for (const char *at = r->defaults; at; at = strchr(at, '\n')) {
		at += *at == '\n';
		if (strncmp(at, line, n) == 0 && (at[n] == '\n' || !at[n]))
			return true;
	}
	return false;
}

static enum assay_status refuse_key(const struct reading *r, const char *key, const char *line)
{
	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
		if (strcasecmp(refused[i].name, key) != 0 || is_default(r, line))
			continue;
		return assay_fail(r->err, ASSAY_E_FORMAT,
				  "~/.ssh/config: '%s' changes the connection to '%s', but is not honoured%s%s (docs/formats.md has the "
				  "keys that are not)",
				  refused[i].name, TEXT_SHOWN(r->host), refused[i].instead ? ": " : "",
				  refused[i].instead ? refused[i].instead : "");
	}
	return ASSAY_OK;
}

static void set_text(char **field, const char *value)
{
	free(*field);
	*field = strcasecmp(value, "none") == 0 ? NULL : mem_string(value);
}

/* Those that others are expanded with. */
static enum assay_status first_pass(struct reading *r, const char *key, const char *value)
{
	struct ssh_settings *s = &r->settings;
	int64_t port;

	if (strcmp(key, "hostname") == 0) {
		set_text(&s->host_name, value);
	} else if (strcmp(key, "user") == 0) {
		set_text(&s->user, value);
	} else if (strcmp(key, "hostkeyalias") == 0) {
		set_text(&s->host_key_alias, value);
	} else if (strcmp(key, "proxyjump") == 0) {
		set_text(&s->proxy_jump, value);
	} else if (strcmp(key, "identitiesonly") == 0) {
		s->identities_only = strcmp(value, "yes") == 0;
	} else if (strcmp(key, "identityagent") == 0) {
		s->no_agent = strcasecmp(value, "none") == 0;
		if (!s->no_agent && strcmp(value, "SSH_AUTH_SOCK") != 0)
			return fail_value(r, "IdentityAgent (set SSH_AUTH_SOCK)", value);
	} else if (strcmp(key, "port") == 0) {
		if (!text_int64(value, &port) || port < 1 || port > 65535)
			return fail_value(r, "this port", value);
		s->port = (int)port;
	}
	return ASSAY_OK;
}

static enum assay_status second_pass(struct reading *r, const char *key, const char *value)
{
	struct ssh_settings *s = &r->settings;
	enum assay_status st = ASSAY_OK;
	char *words, *rest, *word;

	if (strcmp(key, "identityfile") == 0 && strcasecmp(value, "none") != 0)
		return add_path(r, value, &s->identity_files, &s->n_identity_files);
	if ((strcmp(key, "userknownhostsfile") != 0 && strcmp(key, "globalknownhostsfile") != 0) || strcasecmp(value, "none") == 0)
		return ASSAY_OK;
	rest = words = mem_string(value);
	while (!st && (word = strsep(&rest, " "))) {
		if (*word)
			st = add_path(r, word, &s->known_hosts_files, &s->n_known_hosts_files);
	}
	free(words);
	return st;
}

char *ssh_settings_value(const char *text, const char *key)
{
	size_t n = strlen(key);

	for (const char *at = text; at; at = strchr(at, '\n')) {
		at += *at == '\n';
		if (strncmp(at, key, n) == 0 && at[n] == ' ')
			return strncmp(at + n, " none\n", 6) == 0 ? NULL : mem_bytes(at + n + 1, strcspn(at + n + 1, "\n"));
	}
	return NULL;
}

static bool is_identity_line(const char *line)
{
	return strncmp(line, "identityfile ", strlen("identityfile ")) == 0;
}

/* Are the identity files those that OpenSSH takes when none is named? */
static void count_identity(struct reading *r, const char *line)
{
	if (!is_identity_line(line))
		return;
	r->n_identity_lines++;
	r->n_default_identities += is_default(r, line);
}

static enum assay_status each_line(struct reading *r, const char *text,
				   enum assay_status (*take)(struct reading *, const char *key, const char *value), bool check)
{
	char *lines = mem_string(text), *rest = lines, *line;
	enum assay_status st = ASSAY_OK;

	while (!st && (line = strsep(&rest, "\n"))) {
		char *whole = mem_string(line), *value = strchr(line, ' ');

		if (value) {
			*value++ = '\0';
			if (check) {
				count_identity(r, whole);
				st = refuse_key(r, line, whole);
			}
			if (!st)
				st = take(r, line, value);
		}
		free(whole);
	}
	free(lines);
	return st;
}

static size_t count_default_identities(const char *defaults)
{
	size_t n = 0;

	for (const char *at = defaults; at; at = strchr(at, '\n')) {
		at += *at == '\n';
		n += is_identity_line(at);
	}
	return n;
}

enum assay_status ssh_settings_parse(const char *text, const char *defaults, const char *host, const char *user, const char *home,
				     struct ssh_settings *out, struct assay_error *err)
{
	struct reading r = { .defaults = defaults, .host = host, .user = user, .home = home, .err = err };
	enum assay_status st = each_line(&r, text, first_pass, true);

	if (!st)
		st = each_line(&r, text, second_pass, false);
	if (!st && (!r.settings.host_name || !r.settings.port))
		st = assay_fail(err, ASSAY_E_FORMAT, "~/.ssh/config: 'ssh -G' gives no host name and port");
	r.settings.identities_named =
	    r.n_default_identities != r.n_identity_lines || r.n_identity_lines != count_default_identities(defaults);
	*out = r.settings;
	if (st)
		ssh_settings_release(out);
	return st;
}

void ssh_settings_release(struct ssh_settings *settings)
{
	mem_free_all(settings->identity_files, settings->n_identity_files);
	mem_free_all(settings->known_hosts_files, settings->n_known_hosts_files);
	mem_free(settings->host_name, settings->user, settings->proxy_jump, settings->host_key_alias);
	*settings = (struct ssh_settings){ 0 };
}

enum assay_status ssh_config_check(const char *path, bool *there, struct assay_error *err)
{
	struct stat info;

	*there = stat(path, &info) == 0;
	if (!*there && errno != ENOENT && errno != ENOTDIR)
		return assay_fail_errno(err, errno, "cannot read '%s'", path);
	if (*there && ((info.st_uid != 0 && info.st_uid != geteuid()) || (info.st_mode & 022)))
		return assay_fail(err, ASSAY_E_FORMAT, "'%s' belongs to another user, or others can write it: chown and chmod 600 it",
				  path);
	return ASSAY_OK;
}
