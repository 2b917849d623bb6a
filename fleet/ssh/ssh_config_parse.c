#include "fleet/ssh/ssh_config_parse.h"

#include "base/file.h"
#include "base/mem.h"
#include "base/text.h"
#include "fleet/ssh/host_pattern.h"

#include <ctype.h>
#include <sys/stat.h>
#include <unistd.h>

#define BLANKS " \t\r"

/* The line at work. */
struct line {
	struct ssh_config *config;
	const char *at;
	size_t number;
	char *keyword;
	char **words; /* [n_words] behind the keyword */
	size_t n_words, capacity;
	struct assay_error *err;
};

static enum assay_status fail_line(const struct line *line, const char *what)
{
	return assay_fail(line->err, ASSAY_E_FORMAT, "%s:%zu: %s", line->config->name, line->number, what);
}

static void words_free(char **words, size_t n)
{
	for (size_t i = 0; i < n; i++)
		free(words[i]);
	free(words);
}

/* ---- words ---- */

/* Up to the next blank outside of quotes; a backslash takes a quote, another backslash, and outside of quotes a blank, as it is. */
static enum assay_status parse_word(struct line *line, struct buf *word)
{
	char quote = '\0';

	for (; *line->at; line->at++) {
		char c = *line->at, next = line->at[1];

		if (c == '\\' && (next == '\\' || next == '"' || next == '\'' || (!quote && next == ' ')))
			buf_char(word, *++line->at);
		else if (quote ? c == quote : c == '"' || c == '\'')
			quote = quote ? '\0' : c;
		else if (!quote && strchr(BLANKS, c))
			break;
		else
			buf_char(word, c);
	}
	return quote ? fail_line(line, "a quote is not closed") : ASSAY_OK;
}

static enum assay_status parse_words(struct line *line)
{
	enum assay_status st = ASSAY_OK;

	while (!st && *(line->at += strspn(line->at, BLANKS)) && *line->at != '#') {
		struct buf word = BUF_INIT;

		st = parse_word(line, &word);
		line->words = mem_grow(line->words, line->n_words, &line->capacity, sizeof(*line->words));
		line->words[line->n_words++] = buf_take(&word);
	}
	return st;
}

/* "Key value" or "Key = value". */
static void parse_keyword(struct line *line)
{
	size_t n = strcspn(line->at, BLANKS "=");

	line->keyword = mem_bytes(line->at, n);
	line->at += n;
	line->at += strspn(line->at, BLANKS);
	if (*line->at == '=')
		line->at++;
}

/* ---- keys ---- */

static char *lower_text(const char *text)
{
	char *lower = mem_string(text);

	for (char *s = lower; *s; s++)
		*s = (char)tolower((unsigned char)*s);
	return lower;
}

/* `patterns` have commas between them. */
static bool is_ignored(const char *patterns, const char *keyword)
{
	char *lower = lower_text(patterns), *rest = lower, *word = lower_text(keyword), *pattern;
	bool found = false;

	while (!found && (pattern = strsep(&rest, ",")))
		found = host_pattern_matches(pattern, word);
	free(lower);
	free(word);
	return found;
}

static bool may_be_unknown(const struct ssh_config *config, const char *keyword)
{
	for (size_t i = 0; i < config->n_values; i++) {
		if (config->values[i].key->kind == SSH_CONFIG_IGNORE_UNKNOWN && is_ignored(config->values[i].words[0], keyword))
			return true;
	}
	return false;
}

static enum assay_status fail_unknown(const struct line *line)
{
	const char *nearest = ssh_config_key_nearest(line->keyword);
	char shown[TEXT_SHOWN_BYTES];

	text_shown(line->keyword, shown);
	if (nearest)
		return assay_fail(line->err, ASSAY_E_FORMAT, "%s:%zu: unknown key '%s' (did you mean '%s'?)", line->config->name,
				  line->number, shown, nearest);
	return assay_fail(line->err, ASSAY_E_FORMAT, "%s:%zu: unknown key '%s' (an 'IgnoreUnknown' above it would skip it)",
			  line->config->name, line->number, shown);
}

static enum assay_status check_words(const struct line *line, const struct ssh_config_key *key)
{
	bool one = key->kind != SSH_CONFIG_HOST && key->kind != SSH_CONFIG_MATCH && key->kind != SSH_CONFIG_KNOWN_HOSTS &&
		   key->kind != SSH_CONFIG_REFUSED && key->kind != SSH_CONFIG_PROXY_COMMAND;
	char shown[TEXT_SHOWN_BYTES];
	int64_t port;

	if (line->n_words == 0)
		return assay_fail(line->err, ASSAY_E_FORMAT, "%s:%zu: nothing behind '%s'", line->config->name, line->number,
				  key->name);
	for (size_t i = 0; i < line->n_words; i++) {
		if (!*line->words[i])
			return assay_fail(line->err, ASSAY_E_FORMAT, "%s:%zu: an empty text behind '%s'", line->config->name,
					  line->number, key->name);
	}
	if (one && line->n_words > 1)
		return assay_fail(line->err, ASSAY_E_FORMAT, "%s:%zu: '%s' takes one value, '%s' is too much", line->config->name,
				  line->number, key->name, text_shown(line->words[1], shown));
	if (key->kind == SSH_CONFIG_PORT && (!text_int64(line->words[0], &port) || port < 1 || port > 65535))
		return assay_fail(line->err, ASSAY_E_FORMAT, "%s:%zu: 'Port' must be an integer from 1 to 65535, not '%s'",
				  line->config->name, line->number, text_shown(line->words[0], shown));
	return ASSAY_OK;
}

/* ---- lines ---- */

static void add_block(struct ssh_config *config, const struct ssh_config_key *key, struct line *line)
{
	config->blocks = mem_grow(config->blocks, config->n_blocks, &config->blocks_capacity, sizeof(*config->blocks));
	config->blocks[config->n_blocks++] = (struct ssh_config_block){ key, line->words, line->n_words, line->number };
	line->words = NULL; /* the block's now */
	line->n_words = 0;
}

static void add_value(struct ssh_config *config, const struct ssh_config_key *key, struct line *line)
{
	config->values = mem_grow(config->values, config->n_values, &config->values_capacity, sizeof(*config->values));
	config->values[config->n_values++] =
	    (struct ssh_config_value){ key, line->words, line->n_words, line->number, config->n_blocks - 1 };
	line->words = NULL; /* the value's now */
	line->n_words = 0;
}

static enum assay_status take_line(struct ssh_config *config, struct line *line)
{
	const struct ssh_config_key *key = ssh_config_key_find(line->keyword);
	enum assay_status st;

	if (!key)
		return may_be_unknown(config, line->keyword) ? ASSAY_OK : fail_unknown(line);
	if (key->kind == SSH_CONFIG_SKIPPED)
		return ASSAY_OK;
	st = parse_words(line);
	if (!st)
		st = check_words(line, key);
	if (st)
		return st;
	if (key->kind == SSH_CONFIG_HOST || key->kind == SSH_CONFIG_MATCH)
		add_block(config, key, line);
	else
		add_value(config, key, line);
	return ASSAY_OK;
}

static enum assay_status parse_line(struct ssh_config *config, const char *text, size_t number, struct assay_error *err)
{
	struct line line = { .config = config, .at = text + strspn(text, BLANKS), .number = number, .err = err };
	enum assay_status st;

	if (!*line.at || *line.at == '#')
		return ASSAY_OK;
	for (const char *s = line.at; *s; s++) {
		if (((unsigned char)*s < 0x20 && !strchr(BLANKS, *s)) || *s == 0x7f)
			return fail_line(&line, "a control character");
	}
	parse_keyword(&line);
	st = take_line(config, &line);
	free(line.keyword);
	words_free(line.words, line.n_words);
	return st;
}

enum assay_status ssh_config_parse(const char *name, const char *text, size_t n, struct ssh_config **out, struct assay_error *err)
{
	struct ssh_config *config = mem_new(1, sizeof(*config));
	struct line above = { 0 };
	char *bytes = mem_bytes(text, n), *rest = bytes, *line;
	enum assay_status st = ASSAY_OK;

	config->name = mem_string(name);
	add_block(config, NULL, &above);
	if (n > SSH_CONFIG_BYTES_MAX)
		st = assay_fail(err, ASSAY_E_LIMIT, "%s:1: more than %u bytes", name, SSH_CONFIG_BYTES_MAX);
	else if (memchr(text, '\0', n))
		st = assay_fail(err, ASSAY_E_FORMAT, "%s:1: a NUL byte: this is not a text", name);
	for (size_t number = 1; !st && (line = strsep(&rest, "\n")); number++)
		st = parse_line(config, line, number, err);
	free(bytes);
	*out = config;
	if (st) {
		ssh_config_free(config);
		*out = NULL;
	}
	return st;
}

/* As OpenSSH: who may write this file decides where connections go. */
static enum assay_status check_owner(const char *path, struct assay_error *err)
{
	struct stat info;

	if (stat(path, &info)) /* then reading tells */
		return ASSAY_OK;
	if ((info.st_uid != 0 && info.st_uid != geteuid()) || (info.st_mode & 022))
		return assay_fail(err, ASSAY_E_FORMAT, "'%s' belongs to, or can be written by, somebody else: chown and chmod 600 it",
				  path);
	return ASSAY_OK;
}

enum assay_status ssh_config_read(const char *path, struct ssh_config **out, struct assay_error *err)
{
	struct buf text = BUF_INIT;
	enum assay_status st = check_owner(path, err);

	*out = NULL;
	if (!st)
		st = file_read(path, SSH_CONFIG_BYTES_MAX, &text, err);
	if (st == ASSAY_E_NOTFOUND || !st)
		st = ssh_config_parse(path, text.size ? text.bytes : "", text.size, out, err);
	buf_release(&text);
	return st;
}

void ssh_config_free(struct ssh_config *config)
{
	if (!config)
		return;
	for (size_t i = 0; i < config->n_blocks; i++)
		words_free(config->blocks[i].patterns, config->blocks[i].n_patterns);
	for (size_t i = 0; i < config->n_values; i++)
		words_free(config->values[i].words, config->values[i].n_words);
	free(config->blocks);
	free(config->values);
	free(config->name);
	free(config);
}
