/* What ~/.ssh/config says of one host. */
#include "fleet/ssh/ssh_config.h"

#include "base/buf.h"
#include "base/mem.h"
#include "base/text.h"
#include "fleet/ssh/host_pattern.h"
#include "fleet/ssh/ssh_config_parse.h"

#include <pwd.h>
#include <strings.h>
#include <unistd.h>

struct look_up {
	const struct ssh_config *config;
	const char *host;
	bool *matches;         /* [blocks] */
	bool *decided;         /* [keys]: a refused key whose first value was harmless */
	bool jump_decided;     /* by ProxyJump or ProxyCommand, "none" too */
	bool known_hosts_decided;
	struct ssh_settings settings; /* not expanded */
	struct assay_error *err;
};

/* ---- ~ and %h ---- */

static const char *local_user(void)
{
	const struct passwd *entry = getpwuid(getuid());
	const char *name = entry ? entry->pw_name : getenv("USER");

	return name ? name : "";
}

static const char *home_directory(void)
{
	const struct passwd *entry;
	const char *home = getenv("HOME");

	if (home && *home)
		return home;
	entry = getpwuid(getuid());
	return entry ? entry->pw_dir : "";
}

/* What %LETTER stands for, out of `letters`; NULL when it is not one of them. */
static const char *token(const struct look_up *l, char letter, const char *letters)
{
	if (!letter || !strchr(letters, letter))
		return NULL;
	switch (letter) {
	case '%':
		return "%";
	case 'd':
		return home_directory();
	case 'u':
		return local_user();
	case 'h':
		return l->settings.host_name ? l->settings.host_name : l->host;
	default: /* r */
		return l->settings.user ? l->settings.user : local_user();
	}
}

static enum assay_status fail_value(const struct look_up *l, const struct ssh_config_value *value, const char *what,
				    const char *text)
{
	char shown[TEXT_SHOWN_BYTES];

	return assay_fail(l->err, ASSAY_E_FORMAT, "%s:%zu: %s in '%s' is not honoured here", l->config->name, value->line, what,
			  text_shown(text, shown));
}

static enum assay_status expand(const struct look_up *l, const struct ssh_config_value *value, const char *text, const char *letters,
				char **out)
{
	struct buf expanded = BUF_INIT;
	const char *s = text;

	if (strcmp(letters, "%h") != 0 && *s == '~') {
		if (s[1] && s[1] != '/')
			return fail_value(l, value, "'~' of another user", text);
		buf_text(&expanded, home_directory());
		s++;
	}
	for (; *s; s++) {
		const char *meaning = *s == '%' ? token(l, s[1], letters) : NULL;

		if (meaning) {
			buf_text(&expanded, meaning);
			s++;
		} else if (*s == '%' || (*s == '$' && s[1] == '{')) {
			buf_release(&expanded);
			return fail_value(l, value, *s == '%' ? "this '%'" : "'${'", text);
		} else {
			buf_char(&expanded, *s);
		}
	}
	*out = buf_take(&expanded);
	return ASSAY_OK;
}

/* ---- values ---- */

static enum assay_status refuse(const struct look_up *l, const struct ssh_config_value *value)
{
	const struct ssh_config_key *key = value->key;
	char shown[TEXT_SHOWN_BYTES];

	return assay_fail(l->err, ASSAY_E_FORMAT, "%s:%zu: '%s' changes the connection to '%s', but is not honoured%s%s "
			  "(docs/formats.md has the keys that are)", l->config->name, value->line, key->name, text_shown(l->host, shown),
			  key->instead ? ": " : "", key->instead ? key->instead : "");
}

static enum assay_status take_refused(struct look_up *l, const struct ssh_config_value *value)
{
	bool *decided = &l->decided[value->key - ssh_config_keys];

	if (*decided)
		return ASSAY_OK;
	if (!value->key->harmless || value->n_words > 1 || strcasecmp(value->words[0], value->key->harmless) != 0)
		return refuse(l, value);
	*decided = true;
	return ASSAY_OK;
}

static void take_jump(struct look_up *l, const char *text)
{
	if (!l->jump_decided && strcasecmp(text, "none") != 0)
		l->settings.proxy_jump = mem_string(text);
	l->jump_decided = true;
}

static enum assay_status take_identity(struct look_up *l, const struct ssh_config_value *value)
{
	struct ssh_settings *settings = &l->settings;
	char *path;
	enum assay_status st;

	if (strcasecmp(value->words[0], "none") == 0)
		return assay_fail(l->err, ASSAY_E_FORMAT, "%s:%zu: 'IdentityFile none' is not honoured", l->config->name,
				  value->line);
	st = expand(l, value, value->words[0], "%duhr", &path);
	if (st)
		return st;
	for (size_t i = 0; i < settings->n_identity_files; i++) {
		if (strcmp(settings->identity_files[i], path) == 0) {
			free(path);
			return ASSAY_OK;
		}
	}
	settings->identity_files = mem_resize(settings->identity_files, settings->n_identity_files + 1, sizeof(char *));
	settings->identity_files[settings->n_identity_files++] = path;
	return ASSAY_OK;
}

static enum assay_status take_known_hosts(struct look_up *l, const struct ssh_config_value *value)
{
	struct ssh_settings *settings = &l->settings;
	enum assay_status st = ASSAY_OK;

	settings->known_hosts_files = mem_new(value->n_words, sizeof(char *));
	for (size_t i = 0; !st && i < value->n_words; i++) {
		const char *path = strcasecmp(value->words[i], "none") == 0 ? "/dev/null" : value->words[i];

		st = expand(l, value, path, "%duhr", &settings->known_hosts_files[i]);
		if (!st)
			settings->n_known_hosts_files++;
	}
	return st;
}

/* Those that others are expanded with come first. */
static enum assay_status take_first(struct look_up *l, const struct ssh_config_value *value)
{
	struct ssh_settings *settings = &l->settings;

	switch (value->key->kind) {
	case SSH_CONFIG_HOST_NAME:
		return settings->host_name ? ASSAY_OK : expand(l, value, value->words[0], "%h", &settings->host_name);
	case SSH_CONFIG_USER:
		if (!settings->user)
			settings->user = mem_string(value->words[0]);
		return ASSAY_OK;
	case SSH_CONFIG_PORT:
		if (!settings->port)
			settings->port = (int)strtol(value->words[0], NULL, 10);
		return ASSAY_OK;
	case SSH_CONFIG_PROXY_JUMP:
		take_jump(l, value->words[0]);
		return ASSAY_OK;
	case SSH_CONFIG_PROXY_COMMAND:
		if (!l->jump_decided && (value->n_words > 1 || strcasecmp(value->words[0], "none") != 0))
			return refuse(l, value);
		l->jump_decided = true;
		return ASSAY_OK;
	case SSH_CONFIG_REFUSED:
		return take_refused(l, value);
	default:
		return ASSAY_OK;
	}
}

static enum assay_status take_second(struct look_up *l, const struct ssh_config_value *value)
{
	if (value->key->kind == SSH_CONFIG_IDENTITY_FILE)
		return take_identity(l, value);
	if (value->key->kind == SSH_CONFIG_KNOWN_HOSTS && !l->known_hosts_decided) {
		l->known_hosts_decided = true;
		return take_known_hosts(l, value);
	}
	return ASSAY_OK;
}

/* ---- blocks ---- */

/* A Match whose lines change nothing may stay; what it asks for is not looked at. */
static enum assay_status refuse_match(const struct look_up *l, const struct ssh_config_value *value)
{
	char shown[TEXT_SHOWN_BYTES];

	return assay_fail(l->err, ASSAY_E_FORMAT, "%s:%zu: 'Match' is not honoured, and '%s' below it (line %zu) may change the "
			  "connection to '%s': use 'Host'", l->config->name, l->config->blocks[value->block].line, value->key->name, value->line,
			  text_shown(l->host, shown));
}

static enum assay_status take_all(struct look_up *l, enum assay_status (*take)(struct look_up *, const struct ssh_config_value *))
{
	enum assay_status st = ASSAY_OK;

	for (size_t i = 0; !st && i < l->config->n_values; i++) {
		const struct ssh_config_value *value = &l->config->values[i];
		const struct ssh_config_block *block = &l->config->blocks[value->block];

		if (block->key && block->key->kind == SSH_CONFIG_MATCH)
			st = value->key->kind == SSH_CONFIG_IGNORE_UNKNOWN ? ASSAY_OK : refuse_match(l, value);
		else if (l->matches[value->block])
			st = take(l, value);
	}
	return st;
}

static void find_matches(struct look_up *l)
{
	for (size_t i = 0; i < l->config->n_blocks; i++) {
		const struct ssh_config_block *block = &l->config->blocks[i];
		const char *const *patterns = (const char *const *)block->patterns;

		l->matches[i] = !block->key || (block->key->kind == SSH_CONFIG_HOST &&
						host_patterns_match(patterns, block->n_patterns, l->host));
	}
}

enum assay_status ssh_config_look_up(const struct ssh_config *config, const char *host, struct ssh_settings *out,
				     struct assay_error *err)
{
	struct look_up l = { .config = config, .host = host, .matches = mem_new(config->n_blocks, sizeof(bool)),
			     .decided = mem_new(ssh_config_keys_n, sizeof(bool)), .err = err };
	enum assay_status st;

	find_matches(&l);
	st = take_all(&l, take_first);
	if (!st)
		st = take_all(&l, take_second);
	free(l.matches);
	free(l.decided);
	*out = l.settings;
	if (st)
		ssh_settings_release(out);
	return st;
}

void ssh_settings_release(struct ssh_settings *settings)
{
	for (size_t i = 0; i < settings->n_identity_files; i++)
		free(settings->identity_files[i]);
	for (size_t i = 0; i < settings->n_known_hosts_files; i++)
		free(settings->known_hosts_files[i]);
	free(settings->identity_files);
	free(settings->known_hosts_files);
	free(settings->host_name);
	free(settings->user);
	free(settings->proxy_jump);
	*settings = (struct ssh_settings){ 0 };
}
