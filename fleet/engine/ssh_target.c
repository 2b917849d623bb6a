/* Determines address, user, keys and jump hosts of a host from lab.yaml and ~/.ssh/config. */
#include "fleet/engine/link.h"

#include "base/buf.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/text.h"

#include <ctype.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#define SETTINGS_BYTES_MAX (1u << 20)

/* Settings of ~/.ssh/config for one host. OpenSSH itself reads the file (`ssh -G`), so Include, Match, patterns and tokens have their usual
 * meaning. An unsupported setting is an error that names the setting. */

struct ssh_settings {
	char *host_name, *user;
	int port;
	char *proxy_jump, *host_key_alias; /* NULL if not set */
	char **identity_files;		   /* [n_identity_files] paths, expanded */
	size_t n_identity_files;
	bool identities_are_user_given; /* true if the user named identity_files; false if they are OpenSSH's defaults */
	bool identities_only;		/* use only those keys of the agent that are in identity_files */
	bool no_agent;
	char **known_hosts_files; /* [n_known_hosts_files] paths of the user's and the system's files */
	size_t n_known_hosts_files;
};

/* Settings that change the connection and are not supported, unless they have the default value. All other settings are supported or only
 * concern interactive sessions. */
static const struct {
	const char *name, *alternative; /* remedy; NULL if there is none */
} refused_settings[] = {
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

/* State while the output of `ssh -G` for one host is parsed. */
struct reading {
	const char *defaults;
	const char *host, *user, *home;
	struct ssh_settings settings;
	size_t n_identity_lines, n_default_identities;
	struct assay_error *err;
};

/* Returns the shell command that prints the settings of a host. If `config` is NULL, they are OpenSSH's defaults. port 0 and user NULL: not
 * given in lab.yaml. The caller frees it. */
static char *ssh_config_command(const char *config, const char *host, int port, const char *user)
{
	struct buf out = BUF_INIT;

	buf_text(&out, "exec ssh -T -G -F ");
	text_add_shell_argument(&out, config ? config : "none");
	if (port)
		buf_format(&out, " -p %d", port);
	if (user) {
		buf_text(&out, " -l ");
		text_add_shell_argument(&out, user);
	}
	buf_text(&out, " -- ");
	text_add_shell_argument(&out, host);
	return buf_take(&out);
}

/* ---- expanding ~ and % ---- */

static enum assay_status fail_value(const struct reading *r, const char *what, const char *text)
{
	return assay_fail(r->err, ASSAY_E_FORMAT, "~/.ssh/config: %s in '%s' is not supported here", what, TEXT_SANITIZED(text));
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

/* Appends the value of the variable "${NAME}" at *at, and moves *at to the '}'. Returns false if the variable is not set. */
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

/* ---- lines of `ssh -G` ---- */

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
	for (size_t i = 0; i < sizeof(refused_settings) / sizeof(refused_settings[0]); i++) {
		if (strcasecmp(refused_settings[i].name, key) != 0 || is_default(r, line))
			continue;
		return assay_fail(r->err, ASSAY_E_FORMAT,
				  "~/.ssh/config: '%s' changes the connection to '%s', but is not supported%s%s (docs/hosts.md has the "
				  "keys that are not)",
				  refused_settings[i].name, TEXT_SANITIZED(r->host), refused_settings[i].alternative ? ": " : "",
				  refused_settings[i].alternative ? refused_settings[i].alternative : "");
	}
	return ASSAY_OK;
}

static void set_text(char **field, const char *value)
{
	free(*field);
	*field = strcasecmp(value, "none") == 0 ? NULL : mem_string(value);
}

/* Reads the settings to which tokens in other settings refer. */
static enum assay_status read_connection_setting(struct reading *r, const char *key, const char *value)
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
		if (!text_parse_int64(value, &port) || port < 1 || port > 65535)
			return fail_value(r, "this port", value);
		s->port = (int)port;
	}
	return ASSAY_OK;
}

static enum assay_status read_other_setting(struct reading *r, const char *key, const char *value)
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

/* Returns the unexpanded value of `key` in the output of `ssh -G`; NULL if it is not set. The caller frees it. */
static char *ssh_settings_value(const char *text, const char *key)
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

/* Counts all identity files, and those that are OpenSSH's defaults. */
static void count_identity(struct reading *r, const char *line)
{
	if (!is_identity_line(line))
		return;
	r->n_identity_lines++;
	r->n_default_identities += is_default(r, line);
}

static enum assay_status for_each_line(struct reading *r, const char *text,
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

static void ssh_settings_release(struct ssh_settings *settings)
{
	mem_free_all(settings->identity_files, settings->n_identity_files);
	mem_free_all(settings->known_hosts_files, settings->n_known_hosts_files);
	mem_free(settings->host_name, settings->user, settings->proxy_jump, settings->host_key_alias);
	*settings = (struct ssh_settings){ 0 };
}

/* Parses the output of `ssh -G`. `defaults` is the output without a config. `host` is the address in lab.yaml. `user` and `home` are those
 * of the user of this program. Overwrites *out; call ssh_settings_release(). ASSAY_E_FORMAT: the message names an unsupported setting. */
static enum assay_status ssh_settings_parse(const char *text, const char *defaults, const char *host, const char *user, const char *home,
					    struct ssh_settings *out, struct assay_error *err)
{
	struct reading r = { .defaults = defaults, .host = host, .user = user, .home = home, .err = err };
	enum assay_status st = for_each_line(&r, text, read_connection_setting, true);

	if (!st)
		st = for_each_line(&r, text, read_other_setting, false);
	if (!st && (!r.settings.host_name || !r.settings.port))
		st = assay_fail(err, ASSAY_E_FORMAT, "~/.ssh/config: 'ssh -G' gives no host name and port");
	r.settings.identities_are_user_given =
	    r.n_default_identities != r.n_identity_lines || r.n_identity_lines != count_default_identities(defaults);
	*out = r.settings;
	if (st)
		ssh_settings_release(out);
	return st;
}

/* ---- running `ssh -G` ---- */

/* Returns a shell command that sets HOME and runs ssh. Most of ssh uses the account's home, but parts of it use HOME. free() it. */
static char *expand_home(const struct fleet *fleet, const char *line)
{
	struct buf out = BUF_INIT;

	buf_text(&out, "HOME=");
	text_add_shell_argument(&out, fleet->home);
	buf_format(&out, "; export HOME; %s", line);
	return buf_take(&out);
}

/* Returns the output of `ssh -G`, which the caller frees; NULL if the host failed. */
static char *ask_ssh(struct link *link, const char *command)
{
	char *at_home = expand_home(link->fleet, command);
	struct spool out, said;
	struct assay_error err;
	char *text = NULL;
	size_t n;
	bool ok;

	spool_init(&out, SETTINGS_BYTES_MAX);
	spool_init(&said, SETTINGS_BYTES_MAX);
	ok = link_run_local(link, at_home, &out, &said) && !spool_text(&out, SETTINGS_BYTES_MAX, &text, &n, &err);
	if (!ok && !link->broken) {
		char *line = spool_first_line(&said);

		link_fail(link, FLEET_UNREACHABLE, "~/.ssh/config cannot be read by 'ssh -G' (package openssh-client): %s", line);
		free(line);
	}
	spool_release(&out);
	spool_release(&said);
	free(at_home);
	return text;
}

/* Returns the output of `ssh -G` for a host, borrowed; NULL if the host failed. A command runs only once; other hosts share its output. */
static const char *ask_ssh_once(struct link *link, const char *config, const char *host, int port, const char *user)
{
	struct fleet *fleet = link->fleet;
	char *command = ssh_config_command(config, host, port, user);
	struct ssh_config_query *ssh_config_query = NULL;

	pthread_mutex_lock(&fleet->asked_mutex);
	for (size_t i = 0; i < fleet->n_asked_queries && !ssh_config_query; i++)
		ssh_config_query = strcmp(fleet->ssh_config_query[i]->command, command) == 0 ? fleet->ssh_config_query[i] : NULL;
	if (ssh_config_query) {
		free(command);
		if (!ssh_config_query->text)
			link_fail(link, ssh_config_query->outcome, "%s", ssh_config_query->why);
	} else {
		fleet->ssh_config_query = mem_grow(fleet->ssh_config_query, fleet->n_asked_queries, &fleet->asked_queries_capacity,
						   sizeof(*fleet->ssh_config_query));
		fleet->ssh_config_query[fleet->n_asked_queries++] = ssh_config_query = mem_new(1, sizeof(*ssh_config_query));
		ssh_config_query->command = command;
		ssh_config_query->text = ask_ssh(link, command);
		ssh_config_query->outcome = link->result->outcome;
		if (!ssh_config_query->text)
			ssh_config_query->why = mem_string(link->result->message);
	}
	pthread_mutex_unlock(&fleet->asked_mutex);
	return ssh_config_query->text;
}

/* ---- jump hosts ---- */

/* For ProxyJump, OpenSSH's client connects to each hop, checks its key strictly and forwards the bytes (`ssh -W`). Its option -J is not
 * used, because it checks all hops but the last only as the configuration says. The laboratory's known_hosts is used for hops, too. */

#define HOPS_MAX 8

/* Appends a text to an option in which '%' starts a token. */
static void add_escaped(struct buf *out, const char *text)
{
	for (; *text; text++)
		buf_text(out, *text == '%' ? "%%" : (const char[]){ *text, '\0' });
}

/* ---- parsing "[user@]host[:port]", with or without ssh:// ---- */

void jump_hop_parse(const char *text, size_t n, struct jump_hop *out)
{
	char *all = mem_bytes(text, n), *user = strncmp(all, "ssh://", 6) == 0 ? all + 6 : all, *at = strrchr(user, '@');
	char *host = at ? at + 1 : user, *colon = strrchr(host, ':');
	bool brackets = *host == '[', port = colon && (brackets ? colon[-1] == ']' : strchr(host, ':') == colon);
	int64_t number = 0;

	if (port && (!text_parse_int64(colon + 1, &number) || number < 1 || number > 65535))
		number = 0;
	host += brackets;
	*out = (struct jump_hop){ .user = at ? mem_bytes(user, (size_t)(at - user)) : NULL,
				  .host = mem_bytes(host, port ? (size_t)(colon - host) - brackets : strcspn(host, "]")),
				  .port = (int)number };
	free(all);
}

void jump_hop_release(struct jump_hop *hop)
{
	mem_free(hop->user, hop->host);
}

/* Returns the output of `ssh -G` for a hop; NULL if the host failed. */
static const char *hop_settings(struct link *link, const struct jump_hop *hop)
{
	return ask_ssh_once(link, link->fleet->options.config, hop->host, hop->port, hop->user);
}

/* Finds all hops. If ~/.ssh/config puts more hops before the first one, adds them to the list, because ssh itself might not check their
 * keys. */
static bool find_jump_route(struct link *link, const char *jumps)
{
	char **way = &link->ssh.jump_hosts;

	*way = jumps ? mem_string(jumps) : NULL;
	for (int i = 0; *way && !link->host->jump; i++) {
		struct jump_hop hop;
		const char *text;
		char *own, *whole;

		jump_hop_parse(*way, strcspn(*way, ","), &hop);
		text = hop_settings(link, &hop);
		own = text ? ssh_settings_value(text, "proxyjump") : NULL;
		jump_hop_release(&hop);
		if (!own)
			return text;
		whole = mem_format("%s,%s", own, *way);
		mem_free(own, *way);
		*way = whole;
		if (i == HOPS_MAX)
			return link_fail(link, FLEET_UNREACHABLE, "its jump hosts lead through %s: more than %d, or a circle", *way,
					 HOPS_MAX);
	}
	return true;
}

/* ---- the ssh command ---- */

/* Appends the known_hosts files for a hop: the laboratory's file and those of the configuration. */
static void add_known_hosts(struct buf *line, const struct link *link, const char *settings)
{
	struct buf option = BUF_INIT;
	char *files = ssh_settings_value(settings, "userknownhostsfile");

	buf_text(&option, "UserKnownHostsFile=\"");
	add_escaped(&option, link->fleet->options.directory);
	buf_format(&option, "/known_hosts\"%s%s", files ? " " : "", files ? files : "");
	buf_text(line, " -o ");
	text_add_shell_argument(line, option.bytes);
	buf_release(&option);
	free(files);
}

/* Appends the arguments for a hop. ssh accepts the port only as an option. */
static void add_hop(struct buf *out, const struct jump_hop *hop)
{
	if (hop->port)
		buf_format(out, " -p %d", hop->port);
	if (hop->user) {
		buf_text(out, " -l ");
		text_add_shell_argument(out, hop->user);
	}
	buf_text(out, " -- ");
	text_add_shell_argument(out, hop->host);
}

/* Returns a shell command that reaches `target` through all hops; NULL if the host failed. If `target` is NULL, the command is for use as a
 * ProxyCommand. If it is "", the caller appends a command for the last hop. The caller frees it. */
static char *jump_line(struct link *link, const char *hops, const char *target)
{
	const char *last = strrchr(hops, ','), *settings;
	struct buf line = BUF_INIT, option = BUF_INIT;
	char *before, *through = NULL;
	struct jump_hop hop;

	if (last) {
		before = mem_bytes(hops, (size_t)(last - hops));
		through = jump_line(link, before, NULL);
		free(before);
	}
	jump_hop_parse(last ? last + 1 : hops, strlen(last ? last + 1 : hops), &hop);
	settings = last && !through ? NULL : hop_settings(link, &hop);
	if (settings) {
		/* ssh itself puts "exec" before a ProxyCommand. */
		buf_format(&line, "%sssh -a -x -T -F ", target ? "exec " : "");
		text_add_shell_argument(&line, link->fleet->options.config ? link->fleet->options.config : "none");
		buf_text(&line, " -o BatchMode=yes -o StrictHostKeyChecking=yes -o ControlMaster=no -o ControlPath=none");
		add_known_hosts(&line, link, settings);
		if (through) {
			buf_text(&option, "ProxyCommand=");
			if (target)
				buf_text(&option, through);
			else
				add_escaped(&option, through);
			buf_text(&line, " -o ");
			text_add_shell_argument(&line, option.bytes);
		}
		if (!target || *target) {
			buf_text(&line, " -W ");
			text_add_shell_argument(&line, target ? target : "[%h]:%p"); /* tokens, which the next hop's ssh replaces */
		}
		add_hop(&line, &hop);
	}
	jump_hop_release(&hop);
	buf_release(&option);
	free(through);
	return settings ? buf_take(&line) : NULL;
}

char *ssh_hops_command(struct link *link, const char *hops, const char *target)
{
	char *line = jump_line(link, hops, target), *at_home = line ? expand_home(link->fleet, line) : NULL;

	free(line);
	return at_home;
}

/* ---- address and user: lab.yaml first, then ~/.ssh/config, then OpenSSH's defaults ---- */

static const char *const default_keys[] = { "id_ed25519", "id_ecdsa", "id_rsa" };

static char *expand_path(const struct fleet *fleet, const char *path)
{
	const char *directory = fleet->options.directory;

	if (strncmp(path, "~/", 2) == 0)
		return mem_format("%s%s", fleet->home, path + 1);
	if (path[0] == '/' || !directory || strcmp(directory, ".") == 0)
		return mem_string(path);
	return mem_format("%s/%s", directory, path);
}

/* Takes the identity files from lab.yaml, else from the settings, else the default files. */
static void find_identities(struct link *link, struct ssh_settings *settings)
{
	size_t n_defaults = sizeof(default_keys) / sizeof(default_keys[0]);
	const char *own = link->host->identity_file;
	struct ssh_link *ssh = &link->ssh;

	ssh->identities_are_user_given = own || settings->identities_are_user_given;
	ssh->identities_only = settings->identities_only;
	if (!own && settings->identities_are_user_given) {
		ssh->identities = settings->identity_files;
		ssh->n_identities = settings->n_identity_files;
		settings->identity_files = NULL; /* the link owns them now */
		settings->n_identity_files = 0;
		return;
	}
	ssh->n_identities = own ? 1 : n_defaults;
	ssh->identities = mem_new(ssh->n_identities, sizeof(char *));
	for (size_t i = 0; i < ssh->n_identities; i++)
		ssh->identities[i] = own ? expand_path(link->fleet, own) : mem_format("%s/.ssh/%s", link->fleet->home, default_keys[i]);
}

static bool ask_settings(struct link *link, struct ssh_settings *settings)
{
	const struct fleet *fleet = link->fleet;
	const struct host *host = link->host;
	const char *defaults;
	struct assay_error err;
	char *command, *text;
	bool ok;

	if (!fleet->options.config)
		return true;
	defaults = ask_ssh_once(link, NULL, "host", 0, NULL);
	if (!defaults)
		return false;
	command = ssh_config_command(fleet->options.config, host->address, host->port, host->user);
	text = ask_ssh(link, command);
	ok = text && (!ssh_settings_parse(text, defaults, host->address, fleet->user, fleet->home, settings, &err) ||
		      link_fail(link, FLEET_UNREACHABLE, "%s", err.text));
	mem_free(command, text);
	return ok;
}

/* Reads the known_hosts files for this host: the laboratory's file and those of ~/.ssh/config. */
static bool read_known_hosts(struct link *link, struct ssh_settings *settings)
{
	struct fleet *fleet = link->fleet;
	struct ssh_link *ssh = &link->ssh;
	enum assay_status st = ASSAY_OK;
	struct assay_error err;

	if (!settings->n_known_hosts_files)
		return true;
	ssh->known_hosts_paths = mem_new(settings->n_known_hosts_files + 1, sizeof(char *));
	ssh->known_hosts_paths[ssh->n_known_files++] = mem_format("%s/known_hosts", fleet->options.directory);
	pthread_mutex_lock(&fleet->known_mutex);
	for (size_t i = 0; !st && i < settings->n_known_hosts_files; i++) {
		st = known_hosts_read(fleet->options.known, settings->known_hosts_files[i], &err);
		ssh->known_hosts_paths[ssh->n_known_files++] = mem_string(settings->known_hosts_files[i]);
	}
	pthread_mutex_unlock(&fleet->known_mutex);
	return !st || link_fail(link, FLEET_HOSTKEY, "%s", err.text);
}

bool ssh_target_resolve(struct link *link)
{
	const struct host *host = link->host;
	struct ssh_settings settings = { 0 };
	struct ssh_link *ssh = &link->ssh;
	bool ok = ask_settings(link, &settings);

	if (ok) {
		ssh->address = mem_string(settings.host_name ? settings.host_name : host->address);
		ssh->port = host->port ? host->port : settings.port ? settings.port : 22;
		ssh->user = mem_string(host->user ? host->user : settings.user ? settings.user : link->fleet->user);
		ssh->known_hosts_name = settings.host_key_alias ? mem_string(settings.host_key_alias) : NULL;
		ssh->no_agent = settings.no_agent;
		find_identities(link, &settings);
		ok = read_known_hosts(link, &settings) && find_jump_route(link, host->jump ? host->jump : settings.proxy_jump);
	}
	ssh_settings_release(&settings);
	return ok;
}
