#include "fleet/inventory/launcher.h"

#include "base/buf.h"
#include "base/mem.h"
#include "base/text.h"

#define WORD_BYTES_MAX 4096
#define TIME_LIMIT_S   (2 * 3600.)
#define QUEUE_LIMIT_S  (4 * 3600.)
#define LIMIT_LEAST_S  60. /* Slurm's limits are minutes */
#define LIMIT_MOST_S   (365 * 86400.)

/* -Q and -u: nothing of srun's own among the bytes, and none of them kept back. A step shares the node with the one that holds it, has all
 * its memory, and of the environment what a login would have. */
static const char *const slurm_words[] = { "srun",	  "-Q",	 "-u",	"--overlap", ("--jobid=" LAUNCHER_JOB), "-w",
					   LAUNCHER_HOST, "-N1", "-n1", "--mem=0",   "--export=HOME,PATH" };

static const char *const keys[] = { "launcher", "login", "options", "time_limit", "queue_limit" };

const char *launcher_key(const struct yaml_node *host)
{
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		if (yaml_get(host, keys[i]))
			return keys[i];
	}
	return NULL;
}

/* A word that is nothing but {letters}, which no program wants as it stands. */
static bool misspelt(const char *text)
{
	size_t n = strlen(text);

	return n > 2 && text[0] == '{' && strspn(text + 1, "abcdefghijklmnopqrstuvwxyz_") == n - 2 && text[n - 1] == '}' &&
	       strcmp(text, LAUNCHER_HOST) != 0 && strcmp(text, LAUNCHER_JOB) != 0;
}

static enum assay_status parse_word(const char *file, const struct yaml_node *node, bool job, char **out, struct assay_error *err)
{
	const char *text;
	enum assay_status st = yaml_string(file, node, &text, err);

	if (st)
		return st;
	if (!*text || strlen(text) > WORD_BYTES_MAX)
		return assay_fail(err, ASSAY_E_FORMAT, "%s:%zu: a word must have 1 to %d bytes", file, node->line, WORD_BYTES_MAX);
	for (const char *p = text; *p; p++) {
		if ((unsigned char)*p < 0x20 || *p == 0x7f)
			return assay_fail(err, ASSAY_E_FORMAT, "%s:%zu: a control character in a word", file, node->line);
	}
	if (!job && misspelt(text))
		return assay_fail(err, ASSAY_E_FORMAT, "%s:%zu: '%.80s': what is put in is " LAUNCHER_HOST ", the host's address", file,
				  node->line, text);
	if (!job && strstr(text, LAUNCHER_JOB))
		return assay_fail(err, ASSAY_E_FORMAT, "%s:%zu: " LAUNCHER_JOB " is known only with 'transport: slurm'", file, node->line);
	*out = mem_string(text);
	return ASSAY_OK;
}

static enum assay_status parse_words(const char *file, const struct yaml_node *node, char ***out, size_t *n, struct assay_error *err)
{
	enum assay_status st = yaml_list(file, node, err);

	if (st)
		return st;
	if (node->n_items > LAUNCHER_WORDS_MAX)
		return assay_fail(err, ASSAY_E_LIMIT, "%s:%zu: more than %d words", file, node->line, LAUNCHER_WORDS_MAX);
	*out = mem_new(node->n_items, sizeof(char *));
	for (; !st && *n < node->n_items; *n += !st)
		st = parse_word(file, &node->items[*n], false, &(*out)[*n], err);
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
	if (!text_span(text, seconds) || *seconds < LIMIT_LEAST_S || *seconds > LIMIT_MOST_S)
		return assay_fail(err, ASSAY_E_FORMAT, "%s:%zu: '%s' must be a time of at least a minute, such as 30m or 4h, not '%s'",
				  file, node->line, key, TEXT_SHOWN(text));
	return ASSAY_OK;
}

/* [user@]host[:port], which may not look like an option of ssh. */
static bool login_is_one(const char *text)
{
	const char *at = strrchr(text, '@'), *host = at ? at + 1 : text, *colon = strrchr(host, ':');
	char *end = NULL;
	long port = colon && colon == strchr(host, ':') ? strtol(colon + 1, &end, 10) : 1; /* more colons: an address of IPv6 */

	return *text != '-' && at != text && *host && *host != ':' && *host != '-' && !strpbrk(text, " ,'\"") && port > 0 && port < 65536 &&
	       (!end || (!*end && end != colon + 1));
}

static enum assay_status parse_login(const char *file, const struct yaml_node *host, char **out, struct assay_error *err)
{
	const struct yaml_node *node = yaml_get(host, "login");
	enum assay_status st = node ? parse_word(file, node, false, out, err) : ASSAY_OK;

	if (node && !st && !login_is_one(*out))
		st = assay_fail(err, ASSAY_E_FORMAT, "%s:%zu: 'login' must be [user@]host[:port]", file, node->line);
	return st;
}

/* What means something only to the other transport. */
static enum assay_status refuse_others(const char *file, const struct yaml_node *host, bool slurm, struct assay_error *err)
{
	static const struct {
		const char *key;
		bool slurm;
	} only[] = { { "launcher", false }, { "options", true }, { "time_limit", true }, { "queue_limit", true } };

	for (size_t i = 0; i < sizeof(only) / sizeof(only[0]); i++) {
		if (only[i].slurm != slurm && yaml_get(host, only[i].key))
			return assay_fail(err, ASSAY_E_FORMAT, "%s:%zu: '%s' means nothing to a host with 'transport: %s'", file,
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
				  "%s:%zu: 'transport: command' needs the words that lead to the host: launcher: [rsh, '" LAUNCHER_HOST
				  "']",
				  file, host->line);
	st = parse_words(file, node, &out->words, &out->n, err);
	if (!st && *out->words[0] == '-')
		st = assay_fail(err, ASSAY_E_FORMAT, "%s:%zu: the first word of 'launcher' is a program", file, node->line);
	return st;
}

enum assay_status launcher_parse(const char *file, const struct yaml_node *host, bool slurm, struct launcher *out, struct assay_error *err)
{
	struct launcher launcher = { .slurm = slurm, .time_limit_s = TIME_LIMIT_S, .queue_limit_s = QUEUE_LIMIT_S };
	enum assay_status st = refuse_others(file, host, slurm, err);

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

static char **copy_words(char *const *words, size_t n)
{
	char **copy = mem_new(n, sizeof(char *));

	for (size_t i = 0; i < n; i++)
		copy[i] = mem_string(words[i]);
	return copy;
}

struct launcher launcher_copy(const struct launcher *launcher)
{
	struct launcher copy = *launcher;

	copy.words = copy_words(launcher->words, launcher->n);
	copy.options = copy_words(launcher->options, launcher->n_options);
	copy.login = launcher->login ? mem_string(launcher->login) : NULL;
	return copy;
}

void launcher_release(struct launcher *launcher)
{
	mem_free_all(launcher->words, launcher->n);
	mem_free_all(launcher->options, launcher->n_options);
	free(launcher->login);
	*launcher = (struct launcher){ 0 };
}

static size_t replaced(const char *at, const char *place, const char *text, struct buf *out)
{
	size_t n = strlen(place);

	if (!text || strncmp(at, place, n) != 0)
		return 0;
	buf_text(out, text);
	return n;
}

char *launcher_word(const char *word, const char *host, const char *job)
{
	struct buf out = BUF_INIT;

	buf_text(&out, "");
	while (*word) {
		size_t n = replaced(word, LAUNCHER_HOST, host, &out);

		if (!n)
			n = replaced(word, LAUNCHER_JOB, job, &out);
		if (!n)
			buf_char(&out, *word++);
		word += n;
	}
	return buf_take(&out);
}
