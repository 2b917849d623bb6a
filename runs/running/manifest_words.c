/* Lists of words, commands and environments from YAML. */
#include "runs/running/manifest_internal.h"

#include "base/buf.h"
#include "base/mem.h"
#include "base/text.h"

#define WORD_BYTES_MAX 65536 /* before anything is replaced; Linux itself takes 128 KiB a word */

void manifest_add_word(struct manifest_words *words, const char *word)
{
	words->items = mem_resize(words->items, words->n + 1, sizeof(char *));
	words->items[words->n++] = mem_string(word);
}

static enum assay_status check_length(const struct manifest_reader *r, const struct yaml_node *node, const char *text)
{
	if (strlen(text) <= WORD_BYTES_MAX)
		return ASSAY_OK;
	return manifest_fail(r, ASSAY_E_LIMIT, node->line, "a word of more than %d bytes", WORD_BYTES_MAX);
}

/* {work} without quotes is a map to YAML. */
static enum assay_status fail_map(const struct manifest_reader *r, const struct yaml_node *node)
{
	char shown[TEXT_SHOWN_BYTES];

	if (node->n_items == 1 && node->items[0].kind == YAML_SCALAR && !*node->items[0].scalar)
		return manifest_fail(r, ASSAY_E_FORMAT, node->line, "a word with braces needs quotes: '{%s}'",
		                     text_shown(node->items[0].key, shown));
	return manifest_fail(r, ASSAY_E_FORMAT, node->line,
	                     "here a word is expected, not a map (a word with braces or ': ' needs quotes)");
}

static enum assay_status take_word(const struct manifest_reader *r, const struct yaml_node *node, enum manifest_braces braces,
                                   struct manifest_words *out)
{
	const char *text = NULL;
	enum assay_status st = node->kind == YAML_MAP ? fail_map(r, node) : yaml_string(r->file, node, &text, r->err);

	if (!st)
		st = check_length(r, node, text);
	if (!st)
		st = manifest_check_word(r, node->line, text, braces);
	if (!st)
		manifest_add_word(out, text);
	return st;
}

/* Can YAML read the word without quotes, inside [ ]? */
static bool is_plain(const char *word, size_t n)
{
	static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_./=+-";

	return strspn(word, letters) >= n && !(n == 1 && *word == '-');
}

/* The text cut at blanks, as a list. */
static void suggest(const char *text, struct buf *out)
{
	const char *separator = "[";
	size_t n;

	for (text += strspn(text, " \t\n"); *text; text += strspn(text, " \t\n")) {
		bool plain;

		n = strcspn(text, " \t\n");
		plain = is_plain(text, n);
		buf_format(out, "%s%s%.*s%s", separator, plain ? "" : "'", (int)n, text, plain ? "" : "'");
		separator = ", ";
		text += n;
	}
	buf_char(out, ']');
}

/* A plain text where a list of words is needed: the remedy is the list. */
static enum assay_status fail_text(const struct manifest_reader *r, const struct yaml_node *node)
{
	const char *key = node->key ? node->key : "the value";
	struct buf list = BUF_INIT;
	enum assay_status st;

	if (strpbrk(node->scalar, "|&;<>()$`\"'\\*?#~!\n") || strlen(node->scalar) > 200)
		buf_text(&list, "[sh, -c, '...'] where it needs a shell, else one item a word");
	else if (node->scalar[strspn(node->scalar, " \t")] == '\0')
		buf_text(&list, "[PROGRAM, ARGUMENT]");
	else
		suggest(node->scalar, &list);
	st = manifest_fail(r, ASSAY_E_FORMAT, node->line, "'%s' is a list of words, no shell looks at them: write %s", key,
	                   list.bytes);
	buf_release(&list);
	return st;
}

enum assay_status manifest_take_words(const struct manifest_reader *r, const struct yaml_node *node, enum manifest_braces braces,
                                      struct manifest_words *out)
{
	enum assay_status st = ASSAY_OK;

	if (node->kind == YAML_SCALAR)
		return fail_text(r, node);
	st = yaml_list(r->file, node, r->err);
	if (!st && node->n_items > MANIFEST_WORDS_MAX)
		st = manifest_fail(r, ASSAY_E_LIMIT, node->line, "'%s' has more than %d words", node->key, MANIFEST_WORDS_MAX);
	for (size_t i = 0; !st && i < node->n_items; i++)
		st = take_word(r, &node->items[i], braces, out);
	return st;
}

enum assay_status manifest_take_command(const struct manifest_reader *r, const struct yaml_node *node,
                                        enum manifest_braces braces, struct manifest_words *out)
{
	enum assay_status st = manifest_take_words(r, node, braces, out);
	char shown[TEXT_SHOWN_BYTES];

	if (st)
		return st;
	if (out->n == 0 || !*out->items[0])
		return manifest_fail(r, ASSAY_E_FORMAT, node->line, "'%s' names no program", node->key);
	if (braces == MANIFEST_ARGUMENTS && strcmp(out->items[0], "{arguments}") == 0)
		return manifest_fail(r, ASSAY_E_FORMAT, node->line, "'{arguments}' cannot be the program");
	if (strchr(out->items[0], '='))
		return manifest_fail(r, ASSAY_E_FORMAT, node->line,
		                     "'%s' cannot be a program: a variable goes into 'environment', or behind env, "
		                     "as in [env, NAME=value, PROGRAM]",
		                     text_shown(out->items[0], shown));
	return ASSAY_OK;
}

static bool is_variable(const char *name)
{
	static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789";

	return *name && !(*name >= '0' && *name <= '9') && name[strspn(name, letters)] == '\0';
}

enum assay_status manifest_take_environment(const struct manifest_reader *r, const struct yaml_node *node,
                                            struct manifest_words *out)
{
	char shown[TEXT_SHOWN_BYTES], *word;

	if (node->kind != YAML_MAP)
		return manifest_fail(r, ASSAY_E_FORMAT, node->line,
		                     "'environment' is a map of names and values, such as {LANG: C}");
	if (node->n_items > MANIFEST_WORDS_MAX)
		return manifest_fail(r, ASSAY_E_LIMIT, node->line, "'environment' has more than %d variables",
		                     MANIFEST_WORDS_MAX);
	for (size_t i = 0; i < node->n_items; i++) {
		const struct yaml_node *item = &node->items[i];
		const char *value = NULL;
		enum assay_status st;

		if (!is_variable(item->key))
			return manifest_fail(r, ASSAY_E_FORMAT, item->line, "'%s' cannot be the name of an environment variable",
			                     text_shown(item->key, shown));
		st = item->kind == YAML_MAP ? fail_map(r, item) : yaml_string(r->file, item, &value, r->err);
		if (!st)
			st = check_length(r, item, value);
		if (!st)
			st = manifest_check_word(r, item->line, value, MANIFEST_EXPANDED);
		if (st)
			return st;
		word = mem_format("%s=%s", item->key, value);
		manifest_add_word(out, word);
		free(word);
	}
	return ASSAY_OK;
}
