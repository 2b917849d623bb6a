#include "fleet/inventory/inventory.h"

#include "base/mem.h"
#include "base/order.h"
#include "base/secret.h"
#include "base/text.h"
#include "fleet/inventory/nodeset.h"

#define NAME_BYTES_MAX	      200
#define PATH_BYTES_MAX	      NODESET_NAME_BYTES_MAX
#define GROUPS_MAX	      32
#define ENVIRONMENT_BYTES_MAX 16384 /* limit per host, bytes */
#define WORD_BYTES_MAX	      4096
#define TIME_LIMIT_S	      (2 * 3600.)
#define QUEUE_LIMIT_S	      (4 * 3600.)
#define LIMIT_MIN_S	      60. /* Slurm's limits are in minutes */
#define LIMIT_MAX_S	      (365 * 86400.)

/* ---- hosts with a launcher ---- */

/* Arguments of srun. With -Q and -u, srun prints no messages of its own and does not buffer output. With the other options, a step shares
 * the node with the step that holds the allocation, uses all memory of the node, and gets the environment of a login. */
static const char *const slurm_words[] = { "srun",	  "-Q",	 "-u",	"--overlap", ("--jobid=" LAUNCHER_JOB), "-w",
					   LAUNCHER_HOST, "-N1", "-n1", "--mem=0",   "--export=HOME,PATH" };

static const char *const launcher_keys[] = { "launcher", "login", "options", "time_limit", "queue_limit" };

/* Returns the first key of a launcher that the host has; NULL if it has none. */
static const char *launcher_key(const struct yaml_node *host)
{
	for (size_t i = 0; i < sizeof(launcher_keys) / sizeof(launcher_keys[0]); i++) {
		if (yaml_get(host, launcher_keys[i]))
			return launcher_keys[i];
	}
	return NULL;
}

/* Reports whether the argument has the form {letters} but is not a known placeholder. */
static bool has_misspelt_placeholder(const char *text)
{
	size_t n = strlen(text);

	return n > 2 && text[0] == '{' && strspn(text + 1, "abcdefghijklmnopqrstuvwxyz_") == n - 2 && text[n - 1] == '}' &&
	       strcmp(text, LAUNCHER_HOST) != 0 && strcmp(text, LAUNCHER_JOB) != 0;
}

static enum assay_status parse_argument(const char *file, const struct yaml_node *node, bool job, char **out, struct assay_error *err)
{
	const char *text;
	enum assay_status st = yaml_string(file, node, &text, err);

	if (st)
		return st;
	if (!*text || strlen(text) > WORD_BYTES_MAX)
		return assay_fail(err, ASSAY_E_FORMAT, "%s:%zu: an argument must have 1 to %d bytes", file, node->line, WORD_BYTES_MAX);
	for (const char *p = text; *p; p++) {
		if ((unsigned char)*p < 0x20 || *p == 0x7f)
			return assay_fail(err, ASSAY_E_FORMAT, "%s:%zu: a control character in an argument", file, node->line);
	}
	if (!job && has_misspelt_placeholder(text))
		return assay_fail(err, ASSAY_E_FORMAT, "%s:%zu: '%s': available placeholders: " LAUNCHER_HOST ", the host's address", file,
				  node->line, text);
	if (!job && strstr(text, LAUNCHER_JOB))
		return assay_fail(err, ASSAY_E_FORMAT, "%s:%zu: " LAUNCHER_JOB " is known only with 'transport: slurm'", file, node->line);
	*out = mem_string(text);
	return ASSAY_OK;
}

static enum assay_status parse_words(const char *file, const struct yaml_node *node, char ***out, size_t *n, struct assay_error *err)
{
	enum assay_status st = yaml_require_list(file, node, err);

	if (st)
		return st;
	if (node->n_items > LAUNCHER_WORDS_MAX)
		return assay_fail(err, ASSAY_E_LIMIT, "%s:%zu: more than %d arguments", file, node->line, LAUNCHER_WORDS_MAX);
	*out = mem_new(node->n_items, sizeof(char *));
	for (; !st && *n < node->n_items; *n += !st)
		st = parse_argument(file, &node->items[*n], false, &(*out)[*n], err);
	return st;
}

static enum assay_status parse_limit(const char *file, const struct yaml_node *host, const char *key, double *seconds,
				     struct assay_error *err)
{
	const struct yaml_node *node = yaml_get(host, key);
	const char *text;
	enum assay_status st = node ? yaml_string(file, node, &text, err) : ASSAY_OK;

	if (!node || st)
		return st;
	if (!text_parse_duration(text, seconds) || *seconds < LIMIT_MIN_S || *seconds > LIMIT_MAX_S)
		return assay_fail(err, ASSAY_E_FORMAT, "%s:%zu: '%s' must be a time of at least a minute, such as 30m or 4h, not '%s'",
				  file, node->line, key, TEXT_SANITIZED(text));
	return ASSAY_OK;
}

/* Reports whether the text is [user@]host[:port] and cannot be taken for an option of ssh. */
static bool is_single_login(const char *text)
{
	const char *at = strrchr(text, '@'), *host = at ? at + 1 : text, *colon = strrchr(host, ':');
	char *end = NULL;
	long port = colon && colon == strchr(host, ':') ? strtol(colon + 1, &end, 10) : 1; /* an IPv6 address has several colons */

	return *text != '-' && at != text && *host && *host != ':' && *host != '-' && !strpbrk(text, " ,'\"") && port > 0 && port < 65536 &&
	       (!end || (!*end && end != colon + 1));
}

static enum assay_status parse_login(const char *file, const struct yaml_node *host, char **out, struct assay_error *err)
{
	const struct yaml_node *node = yaml_get(host, "login");
	enum assay_status st = node ? parse_argument(file, node, false, out, err) : ASSAY_OK;

	if (node && !st && !is_single_login(*out))
		st = assay_fail(err, ASSAY_E_FORMAT, "%s:%zu: 'login' must be [user@]host[:port]", file, node->line);
	return st;
}

/* Refuses keys that this transport does not use. */
static enum assay_status refuse_unused_keys(const char *file, const struct yaml_node *host, bool slurm, struct assay_error *err)
{
	static const struct {
		const char *key;
		bool slurm;
	} only[] = { { "launcher", false }, { "options", true }, { "time_limit", true }, { "queue_limit", true } };

	for (size_t i = 0; i < sizeof(only) / sizeof(only[0]); i++) {
		if (only[i].slurm != slurm && yaml_get(host, only[i].key))
			return assay_fail(err, ASSAY_E_FORMAT, "%s:%zu: '%s' has no effect on a host with 'transport: %s'", file,
					  yaml_get(host, only[i].key)->line, only[i].key, slurm ? "slurm" : "command");
	}
	return ASSAY_OK;
}

static enum assay_status parse_command(const char *file, const struct yaml_node *host, struct launcher *out, struct assay_error *err)
{
	const struct yaml_node *node = yaml_get(host, "launcher");
	enum assay_status st;

	if (!node || (node->kind == YAML_LIST && node->n_items == 0))
		return assay_fail(err, ASSAY_E_FORMAT,
				  "%s:%zu: 'transport: command' needs the command that reaches the host: launcher: [rsh, '" LAUNCHER_HOST
				  "']",
				  file, host->line);
	st = parse_words(file, node, &out->words, &out->n, err);
	if (!st && *out->words[0] == '-')
		st = assay_fail(err, ASSAY_E_FORMAT, "%s:%zu: the first argument of 'launcher' must be a program", file, node->line);
	return st;
}

static void launcher_release(struct launcher *launcher)
{
	mem_free_all(launcher->words, launcher->n);
	mem_free_all(launcher->options, launcher->n_options);
	free(launcher->login);
	*launcher = (struct launcher){ 0 };
}

/* Parses the keys launcher, login, options, time_limit and queue_limit of a host. Overwrites *out; call launcher_release(). */
static enum assay_status launcher_parse(const char *file, const struct yaml_node *host, bool slurm, struct launcher *out,
					struct assay_error *err)
{
	struct launcher launcher = { .slurm = slurm, .time_limit_s = TIME_LIMIT_S, .queue_limit_s = QUEUE_LIMIT_S };
	enum assay_status st = refuse_unused_keys(file, host, slurm, err);

	if (!st && slurm) {
		launcher.n = sizeof(slurm_words) / sizeof(slurm_words[0]);
		launcher.words = mem_new(launcher.n, sizeof(char *));
		for (size_t i = 0; i < launcher.n; i++)
			launcher.words[i] = mem_string(slurm_words[i]);
	}
	if (!st && !slurm)
		st = parse_command(file, host, &launcher, err);
	if (!st && yaml_get(host, "options"))
		st = parse_words(file, yaml_get(host, "options"), &launcher.options, &launcher.n_options, err);
	if (!st)
		st = parse_login(file, host, &launcher.login, err);
	if (!st)
		st = parse_limit(file, host, "time_limit", &launcher.time_limit_s, err);
	if (!st)
		st = parse_limit(file, host, "queue_limit", &launcher.queue_limit_s, err);
	*out = launcher;
	if (st)
		launcher_release(out);
	return st;
}

static char **copy_texts(char *const *texts, size_t n)
{
	char **copy = mem_new(n, sizeof(char *));

	for (size_t i = 0; i < n; i++)
		copy[i] = mem_string(texts[i]);
	return copy;
}

static struct launcher launcher_copy(const struct launcher *launcher)
{
	struct launcher copy = *launcher;

	copy.words = copy_texts(launcher->words, launcher->n);
	copy.options = copy_texts(launcher->options, launcher->n_options);
	copy.login = launcher->login ? mem_string(launcher->login) : NULL;
	return copy;
}

/* ---- one item of `hosts:` in lab.yaml ---- */

/* Keys whose value may be a range, with one value per host. */
enum ranged { NAME, ID, ADDRESS, PORT, IDENTITY_FILE, BOX, TYPE, RANGED };

static const struct {
	const char *key;
	bool is_name;	   /* characters are restricted, because the value appears in -w, file names and terminals */
	bool is_list;	   /* commas separate values even without brackets */
	bool only_for_ssh; /* only ssh uses the key, so it is refused for local hosts */
	size_t bytes_max;
} ranged[RANGED] = {
	[NAME] = { "name", true, true, false, NAME_BYTES_MAX },
	[ID] = { "id", false, true, false, NAME_BYTES_MAX },
	[ADDRESS] = { "address", true, true, true, NAME_BYTES_MAX },
	[PORT] = { "port", false, true, true, NAME_BYTES_MAX },
	[IDENTITY_FILE] = { "identity_file", false, false, true, PATH_BYTES_MAX },
	[BOX] = { "on", true, true, false, NAME_BYTES_MAX },
	[TYPE] = { "type", false, false, false, NAME_BYTES_MAX },
};

/* An item of `hosts:`. If its name is a range, the item describes several hosts. */
struct entry {
	const char *file;
	const struct yaml_node *node;
	struct nodeset
	    values[RANGED];   /* values per key; n: 0 if the key is missing, 1 if all hosts share the value, else number of hosts */
	size_t n;	      /* number of hosts */
	struct host unranged; /* values that all hosts of the item share; fields of ranged keys are NULL */
	struct assay_error *err;
};

static bool is_name(const char *text)
{
	return *text && *text != '-' && strcmp(text, ".") != 0 && strcmp(text, "..") != 0 && !strpbrk(text, " /\\@,![]'\"");
}

static enum assay_status check_name(const struct entry *e, const struct yaml_node *node, const char *what, const char *text)
{
	if (is_name(text))
		return ASSAY_OK;
	return assay_fail(e->err, ASSAY_E_FORMAT, "%s:%zu: '%s' cannot be %s: no spaces, none of / \\ @ , ! [ ] and quotes, no leading '-'",
			  e->file, node->line, TEXT_SANITIZED(text), what);
}

/* Checks that a text has 1 to `max` bytes and no control characters. */
static enum assay_status check_text(const struct entry *e, const struct yaml_node *node, const char *what, const char *text, size_t max)
{
	if (!*text || strlen(text) > max)
		return assay_fail(e->err, ASSAY_E_FORMAT, "%s:%zu: %s must have 1 to %zu bytes", e->file, node->line, what, max);
	for (; *text; text++) {
		if ((unsigned char)*text < 0x20 || *text == 0x7f)
			return assay_fail(e->err, ASSAY_E_FORMAT, "%s:%zu: %s has a control character", e->file, node->line, what);
	}
	return ASSAY_OK;
}

/* Sets *out to a copy of the value of `key`. Does not change *out if the key is missing. */
static enum assay_status parse_name(const struct entry *e, const char *key, char **out)
{
	const struct yaml_node *node = yaml_get(e->node, key);
	const char *text;
	enum assay_status st;

	if (!node)
		return ASSAY_OK;
	st = yaml_string(e->file, node, &text, e->err);
	if (!st)
		st = check_text(e, node, key, text, NAME_BYTES_MAX);
	if (!st && strchr(text, ' '))
		st = assay_fail(e->err, ASSAY_E_FORMAT, "%s:%zu: '%s' has a space", e->file, node->line, key);
	if (!st)
		*out = mem_string(text);
	return st;
}

static enum assay_status check_value(const struct entry *e, enum ranged which, const struct yaml_node *node, const char *value)
{
	enum assay_status st = check_text(e, node, ranged[which].key, value, ranged[which].bytes_max);
	char *what;
	int64_t port;

	if (!st && which == PORT && (!text_parse_int64(value, &port) || port < 1 || port > 65535))
		return assay_fail(e->err, ASSAY_E_FORMAT, "%s:%zu: 'port' must be an integer from 1 to 65535, not '%s'", e->file,
				  node->line, TEXT_SANITIZED(value));
	if (st || !ranged[which].is_name)
		return st;
	what = mem_format("the %s of a host", which == BOX ? "physical host ('on')" : ranged[which].key);
	st = check_name(e, node, what, value);
	free(what);
	return st;
}

static enum assay_status expand_range(const struct entry *e, const struct yaml_node *node, const char *text, struct nodeset *out)
{
	enum assay_status st = nodeset_expand(text, out, e->err);

	if (st && e->err)
		assay_add_context(e->err, "%s:%zu: %s", e->file, node->line, node->key);
	return st;
}

static enum assay_status parse_ranged(struct entry *e, enum ranged which)
{
	const struct yaml_node *node = yaml_get(e->node, ranged[which].key);
	struct nodeset *values = &e->values[which];
	const char *text;
	enum assay_status st;

	if (!node)
		return ASSAY_OK;
	if (node->kind == YAML_LIST)
		return assay_fail(e->err, ASSAY_E_FORMAT, "%s:%zu: '%s' is a list in YAML: put a range that starts with '[' in quotes",
				  e->file, node->line, ranged[which].key);
	st = yaml_string(e->file, node, &text, e->err);
	if (!st && !*text)
		st = check_text(e, node, ranged[which].key, text, ranged[which].bytes_max);
	if (st)
		return st;
	if (ranged[which].is_list || strchr(text, '[')) {
		st = expand_range(e, node, text, values);
	} else {
		*values = (struct nodeset){ mem_new(1, sizeof(char *)), 1 };
		values->names[0] = mem_string(text);
	}
	for (size_t i = 0; !st && i < values->n; i++)
		st = check_value(e, which, node, values->names[i]);
	return st;
}

static const char *ranged_value(const struct entry *e, enum ranged which, size_t i)
{
	const struct nodeset *values = &e->values[which];

	return values->n == 0 ? NULL : values->names[values->n == 1 ? 0 : i];
}

static enum assay_status check_counts(const struct entry *e)
{
	for (enum ranged which = NAME; which < RANGED; which++) {
		size_t n = e->values[which].n;

		if (n == 0 || n == e->n || (n == 1 && which != ID))
			continue;
		return assay_fail(e->err, ASSAY_E_FORMAT, "%s:%zu: the range of '%s' has the length %zu, but the number of hosts is %zu",
				  e->file, yaml_get(e->node, ranged[which].key)->line, ranged[which].key, n, e->n);
	}
	return ASSAY_OK;
}

/* Refuses keys that only ssh uses. A host with a launcher may have an address, because the launcher can use it. */
static enum assay_status refuse_keys_of_ssh(const struct entry *e, const char *transport)
{
	const char *key = e->unranged.user ? "user" : NULL;

	for (enum ranged which = NAME; which < RANGED; which++) {
		if (ranged[which].only_for_ssh && e->values[which].n && (e->unranged.local || which != ADDRESS))
			key = ranged[which].key;
	}
	if (!key)
		return ASSAY_OK;
	return assay_fail(e->err, ASSAY_E_FORMAT, "%s:%zu: '%s' has no effect on a host with 'transport: %s'", e->file,
			  yaml_get(e->node, key)->line, key, transport);
}

static enum assay_status parse_transport(struct entry *e)
{
	const struct yaml_node *node = yaml_get(e->node, "transport");
	const char *text = "ssh", *key = launcher_key(e->node);
	enum assay_status st = node ? yaml_string(e->file, node, &text, e->err) : ASSAY_OK;
	bool ssh = strcmp(text, "ssh") == 0, command = strcmp(text, "command") == 0, slurm = strcmp(text, "slurm") == 0;

	if (st)
		return st;
	e->unranged.local = strcmp(text, "local") == 0;
	if (!e->unranged.local && !ssh && !command && !slurm)
		return assay_fail(e->err, ASSAY_E_FORMAT, "%s:%zu: 'transport' must be ssh, local, command or slurm, not '%s'", e->file,
				  node->line, TEXT_SANITIZED(text));
	if (!ssh)
		st = refuse_keys_of_ssh(e, text);
	if (!st && (command || slurm))
		return launcher_parse(e->file, e->node, slurm, &e->unranged.launcher, e->err);
	if (!st && key)
		st = assay_fail(e->err, ASSAY_E_FORMAT, "%s:%zu: '%s' needs %s", e->file, yaml_get(e->node, key)->line, key,
				strcmp(key, "launcher") == 0 ? "'transport: command'"
				: strcmp(key, "login") == 0  ? "'transport: command' or 'transport: slurm'"
							     : "'transport: slurm'");
	return st;
}

static enum assay_status parse_group(struct entry *e, const struct yaml_node *node)
{
	const char *text;
	enum assay_status st = yaml_string(e->file, node, &text, e->err);

	if (!st)
		st = check_text(e, node, "the name of a group", text, NAME_BYTES_MAX);
	if (!st && *text == '@')
		return assay_fail(e->err, ASSAY_E_FORMAT, "%s:%zu: write groups without '@': [%s]; '@' is only for -w", e->file, node->line,
				  TEXT_SANITIZED(text + 1));
	if (!st)
		st = check_name(e, node, "the name of a group", text);
	if (!st && strcmp(text, "all") == 0)
		st = assay_fail(e->err, ASSAY_E_FORMAT, "%s:%zu: '@all' is every host already", e->file, node->line);
	if (!st)
		e->unranged.groups[e->unranged.n_groups++] = mem_string(text);
	return st;
}

static enum assay_status parse_groups(struct entry *e)
{
	const struct yaml_node *node = yaml_get(e->node, "groups");
	enum assay_status st = node ? yaml_require_list(e->file, node, e->err) : ASSAY_OK;

	if (!node || st)
		return st;
	if (node->n_items > GROUPS_MAX)
		return assay_fail(e->err, ASSAY_E_LIMIT, "%s:%zu: more than %d groups", e->file, node->line, GROUPS_MAX);
	e->unranged.groups = mem_new(node->n_items, sizeof(char *));
	for (size_t i = 0; !st && i < node->n_items; i++)
		st = parse_group(e, &node->items[i]);
	return st;
}

static bool is_variable(const char *name)
{
	static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789";

	return *name && !(*name >= '0' && *name <= '9') && name[strspn(name, letters)] == '\0';
}

static enum assay_status parse_environment(struct entry *e)
{
	const struct yaml_node *node = yaml_get(e->node, "env");
	size_t bytes = 0;

	if (!node)
		return ASSAY_OK;
	if (node->kind != YAML_MAP)
		return assay_fail(e->err, ASSAY_E_FORMAT, "%s:%zu: 'env' must be a map of names and values", e->file, node->line);
	e->unranged.environment = mem_new(node->n_items, sizeof(char *));
	for (size_t i = 0; i < node->n_items; i++) {
		const struct yaml_node *item = &node->items[i];
		const char *value;
		enum assay_status st;

		if (!is_variable(item->key)) {
			char *name = secret_mask_assignment(item->key);

			st = assay_fail(e->err, ASSAY_E_FORMAT, "%s:%zu: '%s' cannot be the name of an environment variable", e->file,
					item->line, TEXT_SANITIZED(name));
			free(name);
			return st;
		}
		st = yaml_string(e->file, item, &value, e->err);
		if (st)
			return st;
		bytes += strlen(item->key) + strlen(value) + sizeof(char *);
		if (bytes > ENVIRONMENT_BYTES_MAX)
			return assay_fail(e->err, ASSAY_E_LIMIT, "%s:%zu: 'env' has more than %d bytes", e->file, item->line,
					  ENVIRONMENT_BYTES_MAX);
		e->unranged.environment[e->unranged.n_environment++] = mem_format("%s=%s", item->key, value);
	}
	return ASSAY_OK;
}

static enum assay_status parse_entry(struct entry *e)
{
	static const char *const keys[] = { "name",	"id",	 "address", "port",	  "identity_file", "on",
					    "type",	"user",	 "groups",  "env",	  "transport",	   "profile",
					    "launcher", "login", "options", "time_limit", "queue_limit" };
	enum assay_status st;

	if (e->node->kind != YAML_MAP)
		return assay_fail(e->err, ASSAY_E_FORMAT, "%s:%zu: a host starts with its name: '- name: node01', not '- node01'", e->file,
				  e->node->line);
	st = yaml_check_keys(e->file, e->node, "host", keys, sizeof(keys) / sizeof(keys[0]), e->err);

	for (enum ranged which = NAME; !st && which < RANGED; which++)
		st = parse_ranged(e, which);
	if (st)
		return st;
	e->n = e->values[e->values[NAME].n ? NAME : ID].n;
	if (e->n == 0)
		return assay_fail(e->err, ASSAY_E_FORMAT, "%s:%zu: this host has neither name nor id", e->file, e->node->line);
	for (size_t i = 0; !st && !e->values[NAME].n && i < e->n; i++)
		st = check_name(e, yaml_get(e->node, "id"), "the name of a host (give it a 'name' beside the id)", e->values[ID].names[i]);
	if (!st)
		st = check_counts(e);
	if (!st)
		st = parse_name(e, "user", &e->unranged.user);
	if (!st)
		st = parse_name(e, "profile", &e->unranged.profile);
	if (!st && e->unranged.profile)
		st = check_name(e, yaml_get(e->node, "profile"), "the name of a profile", e->unranged.profile);
	if (!st)
		st = parse_transport(e);
	if (!st)
		st = parse_groups(e);
	return st ? st : parse_environment(e);
}

static char *copy_text(const char *text)
{
	return text ? mem_string(text) : NULL;
}

static struct host make_host(const struct entry *e, size_t i)
{
	const char *name = ranged_value(e, e->values[NAME].n ? NAME : ID, i), *id = ranged_value(e, ID, i);
	const char *address = ranged_value(e, ADDRESS, i), *port = ranged_value(e, PORT, i), *box = ranged_value(e, BOX, i),
		   *type = ranged_value(e, TYPE, i);

	return (struct host){
		.name = mem_string(name),
		.id = mem_string(id ? id : name),
		.address = mem_string(address ? address : name),
		.port = port ? (int)strtol(port, NULL, 10) : 0,
		.user = copy_text(e->unranged.user),
		.identity_file = copy_text(ranged_value(e, IDENTITY_FILE, i)),
		.groups = copy_texts(e->unranged.groups, e->unranged.n_groups),
		.n_groups = e->unranged.n_groups,
		.type = copy_text(type ? type : e->unranged.profile),
		.environment = copy_texts(e->unranged.environment, e->unranged.n_environment),
		.n_environment = e->unranged.n_environment,
		.box = mem_string(box ? box : name),
		.profile = copy_text(e->unranged.profile),
		.local = e->unranged.local,
		.launcher = launcher_copy(&e->unranged.launcher),
		.line = e->node->line,
	};
}

static void host_release(struct host *host)
{
	mem_free_all(host->groups, host->n_groups);
	mem_free_all(host->environment, host->n_environment);
	mem_free(host->name, host->id, host->address, host->user, host->identity_file, host->type, host->box, host->profile,
		 host->exclusion_reason);
	launcher_release(&host->launcher);
}

static void add_hosts(const struct entry *e, struct inventory *inventory, size_t *capacity)
{
	for (size_t i = 0; i < e->n; i++)
		mem_append(inventory->hosts, inventory->n, capacity, make_host(e, i));
}

/* Appends the hosts of one item. Does not check whether names and ids are unique. */
static enum assay_status add_entry(const char *file, const struct yaml_node *node, struct inventory *inventory, size_t *capacity,
				   struct assay_error *err)
{
	struct entry e = { .file = file, .node = node, .err = err };
	enum assay_status st = parse_entry(&e);

	if (!st && e.n > INVENTORY_HOSTS_MAX - inventory->n)
		st = assay_fail(err, ASSAY_E_LIMIT, "%s:%zu: more than %d hosts", file, node->line, INVENTORY_HOSTS_MAX);
	if (!st)
		add_hosts(&e, inventory, capacity);
	for (enum ranged which = NAME; which < RANGED; which++)
		nodeset_release(&e.values[which]);
	host_release(&e.unranged);
	return st;
}

/* ---- the list of hosts ---- */

ORDER_POINTERS_BY(compare_names, struct host, BY_TEXT(name) BY_ADDRESS)

ORDER_POINTERS_BY(compare_ids, struct host, BY_TEXT(id) BY_ADDRESS)

/* Reports an error for the first host whose name or, with `ids`, id an earlier host has. */
static enum assay_status check_unique(const char *file, const struct inventory *inventory, bool ids, struct assay_error *err)
{
	const struct host **sorted = mem_new(inventory->n, sizeof(*sorted)), *again = NULL, *before = NULL;
	enum assay_status st = ASSAY_OK;

	for (size_t i = 0; i < inventory->n; i++)
		sorted[i] = &inventory->hosts[i];
	qsort(sorted, inventory->n, sizeof(*sorted), ids ? compare_ids : compare_names);
	for (size_t i = 1; i < inventory->n; i++) {
		const struct host *x = sorted[i - 1], *y = sorted[i];

		if (strcmp(ids ? x->id : x->name, ids ? y->id : y->name) == 0 && (!again || y < again)) {
			again = y;
			before = x;
		}
	}
	if (again)
		st = assay_fail(err, ASSAY_E_FORMAT, "%s:%zu: %s '%s' is listed twice (first in line %zu)", file, again->line,
				ids ? "host id" : "host", ids ? again->id : again->name, before->line);
	free(sorted);
	return st;
}

/* Checks that all local hosts have the same `box`. They are all this machine, so they must not measure at the same time. */
static enum assay_status check_local(const char *file, const struct inventory *inventory, struct assay_error *err)
{
	const struct host *first = NULL;

	for (size_t i = 0; i < inventory->n; i++) {
		const struct host *host = &inventory->hosts[i];

		if (!host->local)
			continue;
		if (first && strcmp(first->box, host->box) != 0)
			return assay_fail(
			    err, ASSAY_E_FORMAT,
			    "%s:%zu: '%s' and '%s' are both this machine ('transport: local'): give them the same physical host with 'on'",
			    file, host->line, first->name, host->name);
		first = host;
	}
	return ASSAY_OK;
}

enum assay_status inventory_parse(const char *file, const struct yaml_node *hosts, struct inventory *out, struct assay_error *err)
{
	struct inventory inventory = { 0 };
	size_t capacity = 0;
	enum assay_status st = ASSAY_OK;

	if (hosts->kind != YAML_LIST)
		st = assay_fail(err, ASSAY_E_FORMAT, "%s:%zu: 'hosts' must be a list, each item of which starts with '- name: '", file,
				hosts->line);
	if (!st && hosts->n_items > INVENTORY_HOSTS_MAX)
		st = assay_fail(err, ASSAY_E_LIMIT, "%s:%zu: more than %d hosts", file, hosts->line, INVENTORY_HOSTS_MAX);
	for (size_t i = 0; !st && i < hosts->n_items; i++)
		st = add_entry(file, &hosts->items[i], &inventory, &capacity, err);
	if (!st)
		st = check_unique(file, &inventory, false, err);
	if (!st)
		st = check_unique(file, &inventory, true, err);
	if (!st)
		st = check_local(file, &inventory, err);
	*out = inventory;
	if (st)
		inventory_release(out);
	return st;
}

void inventory_release(struct inventory *inventory)
{
	mem_release_all(inventory->hosts, inventory->n, host_release);
	*inventory = (struct inventory){ 0 };
}

const struct host *inventory_find(const struct inventory *inventory, const char *id)
{
	for (size_t i = 0; i < inventory->n; i++) {
		if (strcmp(inventory->hosts[i].id, id) == 0)
			return &inventory->hosts[i];
	}
	return NULL;
}
