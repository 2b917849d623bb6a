#include "runs/running/manifest_words.h"

#include "base/buf.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/secret.h"
#include "base/text.h"
#include "fleet/counters/counting_client.h"
#include "runs/running/manifest.h"

#include <stdarg.h>

/* Lists of words, commands and environments from YAML. */

#define WORD_BYTES_MAX 65536 /* before anything is replaced; Linux itself takes 128 KiB a word */

void manifest_words_release(struct manifest_words *words)
{
	mem_free_all(words->items, words->n);
	*words = (struct manifest_words){ NULL, 0 };
}

void manifest_words_add(struct manifest_words *words, const char *word)
{
	words->items = mem_resize(words->items, words->n + 1, sizeof(char *));
	words->items[words->n++] = mem_string(word);
}

enum assay_status manifest_fail(const struct manifest_reader *r, enum assay_status status, size_t line, const char *fmt, ...)
{
	char text[ASSAY_ERROR_BYTES];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	return assay_fail(r->err, status, "%s:%zu: %s", r->file, line, text);
}

enum assay_status manifest_keys(const struct manifest_reader *r, const struct yaml_node *map, const char *what, const char *const *keys,
				size_t n)
{
	enum assay_status st = yaml_keys(r->file, map, what, keys, n, r->err);

	for (size_t i = 0; !st && i < map->n_items; i++)
		if (!yaml_get(map, map->items[i].key))
			st = manifest_fail(r, ASSAY_E_FORMAT, map->items[i].line, "'%s' has no value: %s", map->items[i].key,
					   strcmp(map->items[i].key, "versions") ? "give it one, or leave it out" : MANIFEST_VERSIONS_HINT);
	return st;
}

bool manifest_is_line(const char *text)
{
	bool ok = *text != '\0';

	for (; *text; text++)
		ok = ok && (unsigned char)*text >= ' ' && *text != 0x7f;
	return ok;
}

bool manifest_leads_up(const char *path)
{
	for (const char *at = path; at; at = strchr(at, '/')) {
		at += *at == '/';
		if (strncmp(at, "..", 2) == 0 && (at[2] == '/' || !at[2]))
			return true;
	}
	return false;
}

/* ---- placeholders ---- */

enum words_place { PLACE_FILES, PLACE_BUILD, PLACE_WORK, PLACE_INPUT, PLACE_VERSION, PLACE_ARGUMENTS, PLACES, PLACE_UNKNOWN, PLACE_NONE };

static const char *const names[PLACES] = { "{files}", "{build}", "{work}", "{input}", "{version}", "{arguments}" };

/* A piece of a word: a placeholder, or text as it is. */
struct words_piece {
	enum words_place place;
	const char *text;
	size_t n;
};

static enum words_place words_find_place(const char *at, size_t *n)
{
	const char *end = strchr(at, '}');

	for (int i = 0; i < PLACES; i++) {
		*n = strlen(names[i]);
		if (strncmp(at, names[i], *n) == 0)
			return (enum words_place)i;
	}
	*n = end ? (size_t)(end - at) + 1 : strlen(at);
	return PLACE_UNKNOWN;
}

/* Moves *at past the next piece; false at the end. */
static bool words_next_piece(const char **at, struct words_piece *out)
{
	out->place = PLACE_NONE;
	out->text = *at;
	if ((*at)[0] == '{' && (*at)[1] == '{') {
		out->n = 1;
		*at += 2;
		return true;
	}
	if (**at == '{')
		out->place = words_find_place(*at, &out->n);
	else
		out->n = strcspn(*at, "{");
	*at += out->n;
	return out->n > 0;
}

static enum assay_status words_check_word(const struct manifest_reader *r, size_t line, const char *word, enum manifest_braces braces)
{
	const char *at = word;
	struct words_piece piece;

	while (braces != MANIFEST_LITERAL && words_next_piece(&at, &piece)) {
		if (piece.place == PLACE_UNKNOWN) {
			char shown[TEXT_SHOWN_BYTES], *text = mem_bytes(piece.text, piece.n);
			const char *nearest = text_nearest(text, names, PLACES);
			enum assay_status st = manifest_fail(
			    r, ASSAY_E_FORMAT, line, "'%s' is not a placeholder%s%s%s; a brace itself is written '{{'",
			    text_shown(text, shown), nearest ? " (did you mean '" : "", nearest ? nearest : "", nearest ? "'?)" : "");

			free(text);
			return st;
		}
		if (piece.place == PLACE_ARGUMENTS && (braces != MANIFEST_ARGUMENTS || strcmp(word, names[PLACE_ARGUMENTS]) != 0))
			return manifest_fail(r, ASSAY_E_FORMAT, line, "'{arguments}' is a word of its own in a command");
	}
	return ASSAY_OK;
}

/* ---- from YAML ---- */

static enum assay_status words_check_length(const struct manifest_reader *r, const struct yaml_node *node, const char *text)
{
	if (strlen(text) <= WORD_BYTES_MAX)
		return ASSAY_OK;
	return manifest_fail(r, ASSAY_E_LIMIT, node->line, "a word of more than %d bytes", WORD_BYTES_MAX);
}

/* {work} without quotes is a map to YAML. */
static enum assay_status words_fail_map(const struct manifest_reader *r, const struct yaml_node *node)
{
	if (node->n_items == 1 && node->items[0].kind == YAML_SCALAR && !*node->items[0].scalar)
		return manifest_fail(r, ASSAY_E_FORMAT, node->line, "a word with braces needs quotes: '{%s}'",
				     TEXT_SHOWN(node->items[0].key));
	return manifest_fail(r, ASSAY_E_FORMAT, node->line, "here a word is expected, not a map (a word with braces or ': ' needs quotes)");
}

static enum assay_status words_parse_word(const struct manifest_reader *r, const struct yaml_node *node, enum manifest_braces braces,
					  struct manifest_words *out)
{
	const char *text = NULL;
	enum assay_status st = node->kind == YAML_MAP ? words_fail_map(r, node) : yaml_string(r->file, node, &text, r->err);

	if (!st)
		st = words_check_length(r, node, text);
	if (!st)
		st = words_check_word(r, node->line, text, braces);
	if (!st)
		manifest_words_add(out, text);
	return st;
}

/* Can YAML read the word without quotes, inside [ ]? */
static bool words_is_plain(const char *word, size_t n)
{
	static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_./=+-";

	return strspn(word, letters) >= n && !(n == 1 && *word == '-');
}

/* The text cut at blanks, as a list. */
static void words_suggest_list(const char *text, struct buf *out)
{
	const char *separator = "[";
	size_t n;

	for (text += strspn(text, " \t\n"); *text; text += strspn(text, " \t\n")) {
		bool plain;

		n = strcspn(text, " \t\n");
		plain = words_is_plain(text, n);
		buf_format(out, "%s%s%.*s%s", separator, plain ? "" : "'", (int)n, text, plain ? "" : "'");
		separator = ", ";
		text += n;
	}
	buf_char(out, ']');
}

/* A plain text where a list of words is needed: the remedy is the list. */
static enum assay_status words_fail_text(const struct manifest_reader *r, const struct yaml_node *node)
{
	const char *key = node->key ? node->key : "the value";
	struct buf list = BUF_INIT;
	enum assay_status st;

	if (strpbrk(node->scalar, "|&;<>()$`\"'\\*?#~!\n") || strlen(node->scalar) > 200)
		buf_text(&list, "[sh, -c, '...'] where it needs a shell, else one item a word");
	else if (node->scalar[strspn(node->scalar, " \t")] == '\0')
		buf_text(&list, "[PROGRAM, ARGUMENT]");
	else
		words_suggest_list(node->scalar, &list);
	st = manifest_fail(r, ASSAY_E_FORMAT, node->line, "'%s' is a list of words, no shell looks at them: write %s", key, list.bytes);
	buf_release(&list);
	return st;
}

enum assay_status manifest_words_parse(const struct manifest_reader *r, const struct yaml_node *node, enum manifest_braces braces,
				       struct manifest_words *out)
{
	enum assay_status st = ASSAY_OK;

	if (node->kind == YAML_SCALAR)
		return words_fail_text(r, node);
	st = yaml_list(r->file, node, r->err);
	if (!st && node->n_items > MANIFEST_WORDS_MAX)
		st = manifest_fail(r, ASSAY_E_LIMIT, node->line, "'%s' has more than %d words", node->key, MANIFEST_WORDS_MAX);
	for (size_t i = 0; !st && i < node->n_items; i++)
		st = words_parse_word(r, &node->items[i], braces, out);
	return st;
}

enum assay_status manifest_command_parse(const struct manifest_reader *r, const struct yaml_node *node, enum manifest_braces braces,
					 struct manifest_words *out)
{
	enum assay_status st = manifest_words_parse(r, node, braces, out);

	if (st)
		return st;
	if (out->n == 0 || !*out->items[0])
		return manifest_fail(r, ASSAY_E_FORMAT, node->line, "'%s' names no program", node->key);
	if (braces == MANIFEST_ARGUMENTS && strcmp(out->items[0], "{arguments}") == 0)
		return manifest_fail(r, ASSAY_E_FORMAT, node->line, "'{arguments}' cannot be the program");
	if (strchr(out->items[0], '='))
		return manifest_fail(
		    r, ASSAY_E_FORMAT, node->line,
		    "'%s' cannot be a program: a variable goes into 'environment', or after env, as in [env, NAME=value, PROGRAM]",
		    TEXT_SHOWN(out->items[0]));
	return ASSAY_OK;
}

static bool words_is_variable(const char *name)
{
	static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789";

	return *name && !(*name >= '0' && *name <= '9') && name[strspn(name, letters)] == '\0';
}

enum assay_status manifest_environment_parse(const struct manifest_reader *r, const struct yaml_node *node, struct manifest_words *out)
{
	char *word;

	if (node->kind != YAML_MAP)
		return manifest_fail(r, ASSAY_E_FORMAT, node->line, "'environment' is a map of names and values, such as {LANG: C}");
	if (node->n_items > MANIFEST_WORDS_MAX)
		return manifest_fail(r, ASSAY_E_LIMIT, node->line, "'environment' has more than %d variables", MANIFEST_WORDS_MAX);
	for (size_t i = 0; i < node->n_items; i++) {
		const struct yaml_node *item = &node->items[i];
		const char *value = NULL;
		enum assay_status st;

		if (!words_is_variable(item->key)) {
			char *name = secret_assignment(item->key);

			st = manifest_fail(r, ASSAY_E_FORMAT, item->line, "'%s' cannot be the name of an environment variable",
					   TEXT_SHOWN(name));
			free(name);
			return st;
		}
		st = item->kind == YAML_MAP ? words_fail_map(r, item) : yaml_string(r->file, item, &value, r->err);
		if (!st)
			st = words_check_length(r, item, value);
		if (!st)
			st = words_check_word(r, item->line, value, MANIFEST_EXPANDED);
		if (st)
			return st;
		word = mem_format("%s=%s", item->key, value);
		manifest_words_add(out, word);
		free(word);
	}
	return ASSAY_OK;
}

/* ---- do they stand for something? ---- */

/* The placeholders of all words, as bits. */
static unsigned words_places_of(const struct manifest_words *words)
{
	struct words_piece piece;
	unsigned mask = 0;

	for (size_t i = 0; i < words->n; i++) {
		const char *at = words->items[i];

		while (words_next_piece(&at, &piece)) {
			if (piece.place < PLACES)
				mask |= 1u << piece.place;
		}
	}
	return mask;
}

static const struct manifest_words *words_command_of(const struct manifest *manifest, const struct manifest_version *version)
{
	return version->command.n ? &version->command : &manifest->command;
}

enum assay_status manifest_check_places(const struct manifest_reader *r, const struct manifest *manifest)
{
	unsigned common = words_places_of(&manifest->environment) | words_places_of(&manifest->features);

	for (size_t i = 0; i < manifest->n_inputs; i++)
		common |= words_places_of(&manifest->inputs[i].arguments) | words_places_of(&manifest->inputs[i].environment);
	for (size_t i = 0; i < manifest->n_versions; i++) {
		const struct manifest_version *version = &manifest->versions[i];
		unsigned mask = common | words_places_of(words_command_of(manifest, version)) | words_places_of(&version->environment);

		if (mask & 1u << PLACE_BUILD && version->kind == MANIFEST_SAME)
			return manifest_fail(r, ASSAY_E_FORMAT, version->line,
					     "'{build}' stands for nothing in the version '%s': it has neither 'directory' nor 'git'",
					     version->name);
		if (mask & 1u << PLACE_FILES && manifest->files.n == 0 && !manifest->inputs_of)
			return manifest_fail(r, ASSAY_E_FORMAT, version->line,
					     "'{files}' stands for nothing in the version '%s': the manifest has no 'files'",
					     version->name);
		if (mask & 1u << PLACE_INPUT && !*manifest->inputs[0].name && !manifest->inputs_of)
			return manifest_fail(r, ASSAY_E_FORMAT, version->line,
					     "'{input}' stands for nothing in the version '%s': the manifest has no 'inputs'",
					     version->name);
	}
	return ASSAY_OK;
}

bool manifest_has_bare_placeholder(const char *line, size_t n)
{
	char quote = '\0';

	for (size_t i = 0; i < n && !(line[i] == '#' && !quote); i++) {
		if (quote && line[i] == quote)
			quote = '\0';
		else if (!quote && (line[i] == '"' || line[i] == '\''))
			quote = line[i];
		for (int k = 0; !quote && k < PLACES; k++) {
			if (n - i >= strlen(names[k]) && strncmp(line + i, names[k], strlen(names[k])) == 0)
				return true;
		}
	}
	return false;
}

/* ---- on a host ---- */

struct words_expansion {
	const char *values[PLACES];
};

static char *words_expand(const struct words_expansion *e, const char *word)
{
	struct buf out = BUF_INIT;
	struct words_piece piece;

	while (words_next_piece(&word, &piece)) {
		ASSAY_BUG_IF(piece.place == PLACE_UNKNOWN || (piece.place < PLACES && !e->values[piece.place]));
		if (piece.place == PLACE_NONE)
			buf_add(&out, piece.text, piece.n);
		else
			buf_text(&out, e->values[piece.place]);
	}
	return buf_take(&out);
}

static void words_add_expanded(const struct words_expansion *e, const struct manifest_words *words, struct manifest_words *out)
{
	for (size_t i = 0; i < words->n; i++) {
		char *word = words_expand(e, words->items[i]);

		manifest_words_add(out, word);
		free(word);
	}
}

/* A variable that exists already gets the new value. */
static void words_add_variables(const struct words_expansion *e, const struct manifest_words *words, struct manifest_words *out)
{
	for (size_t i = 0; i < words->n; i++) {
		char *word = words_expand(e, words->items[i]);
		size_t name = strcspn(word, "=") + 1, k = 0;

		while (k < out->n && strncmp(out->items[k], word, name) != 0)
			k++;
		if (k == out->n) {
			manifest_words_add(out, word);
			free(word);
		} else {
			free(out->items[k]);
			out->items[k] = word;
		}
	}
}

static void words_add_command(const struct words_expansion *e, const struct manifest_words *words, const struct manifest_input *input,
			      struct manifest_words *out)
{
	bool placed = false;

	for (size_t i = 0; i < words->n; i++) {
		const struct manifest_words one = { &words->items[i], 1 };
		bool is_arguments = strcmp(words->items[i], names[PLACE_ARGUMENTS]) == 0;

		words_add_expanded(e, is_arguments ? &input->arguments : &one, out);
		placed = placed || is_arguments;
	}
	if (!placed)
		words_add_expanded(e, &input->arguments, out);
}

static void words_expand_all(const struct manifest *manifest, const struct manifest_words *words, size_t version, size_t input,
			     const struct manifest_places *places, struct manifest_words *command, struct manifest_words *environment)
{
	const struct manifest_version *v = &manifest->versions[version];
	const struct manifest_input *in = &manifest->inputs[input];
	const struct words_expansion e = { { places->files, places->build, places->work, in->name, v->stem ? v->stem : v->name, NULL } };

	*command = *environment = (struct manifest_words){ NULL, 0 };
	words_add_command(&e, words, in, command);
	words_add_variables(&e, &manifest->environment, environment);
	words_add_variables(&e, &v->environment, environment);
	words_add_variables(&e, &in->environment, environment);
}

void manifest_command(const struct manifest *manifest, size_t version, size_t input, const struct manifest_places *places,
		      struct manifest_words *command, struct manifest_words *environment)
{
	words_expand_all(manifest, words_command_of(manifest, &manifest->versions[version]), version, input, places, command, environment);
}

void manifest_features_command(const struct manifest *manifest, size_t version, size_t input, const struct manifest_places *places,
			       struct manifest_words *command, struct manifest_words *environment)
{
	words_expand_all(manifest, &manifest->features, version, input, places, command, environment);
}

void manifest_input_words(const struct manifest *manifest, size_t input, struct manifest_words *arguments,
			  struct manifest_words *environment)
{
	const struct manifest_input *in = &manifest->inputs[input];
	const struct words_expansion e = { { "{files}", "{build}", "{work}", in->name, "{version}", NULL } };

	*arguments = *environment = (struct manifest_words){ NULL, 0 };
	words_add_expanded(&e, &in->arguments, arguments);
	words_add_variables(&e, &in->environment, environment);
}

/* ---- probe ---- */

#define BUDGET .03

static const char *const back_ends[] = { [MANIFEST_PROBED] = "probe", [MANIFEST_EMULATED] = "emulated" };

void manifest_probe_release(struct manifest_probe *probe)
{
	manifest_words_release(&probe->functions);
	manifest_words_release(&probe->counters);
	free(probe->module);
	*probe = (struct manifest_probe){ .module = NULL };
}

static enum assay_status manifest_probe_parse_back_end(const struct manifest_reader *r, const struct yaml_node *node,
						       enum manifest_back_end *out)
{
	const char *text = NULL;
	enum assay_status st = yaml_string(r->file, node, &text, r->err);

	for (size_t i = 0; !st && i < sizeof(back_ends) / sizeof(back_ends[0]); i++) {
		if (strcmp(back_ends[i], text) == 0) {
			*out = (enum manifest_back_end)i;
			return ASSAY_OK;
		}
	}
	return st ? st
		  : manifest_fail(r, ASSAY_E_FORMAT, node->line,
				  "no back end '%s': there are probe (counters of the processor, next to no overhead) and emulated (built "
				  "by 'assay emulate build')",
				  TEXT_SHOWN(text));
}

/* A word alone ("changed", "default") or a list of names. *word becomes whether it was the word. */
static enum assay_status manifest_probe_parse_names(const struct manifest_reader *r, const struct yaml_node *node, const char *only,
						    bool *word, struct manifest_words *out)
{
	*word = node->kind == YAML_SCALAR && strcmp(node->scalar, only) == 0;
	if (node->kind == YAML_SCALAR && !*word) {
		return manifest_fail(r, ASSAY_E_FORMAT, node->line, "'%s' is %s, or a list of names: write [%s]", node->key, only,
				     TEXT_SHOWN(node->scalar));
	}
	return *word ? ASSAY_OK : manifest_words_parse(r, node, MANIFEST_LITERAL, out);
}

static enum assay_status manifest_probe_parse_functions(const struct manifest_reader *r, const struct yaml_node *node,
							struct manifest_probe *out)
{
	enum assay_status st = manifest_probe_parse_names(r, node, "changed", &out->changed, &out->functions);

	if (!st && !out->changed && out->functions.n == 0)
		st = manifest_fail(r, ASSAY_E_FORMAT, node->line, "'functions' names none: write changed, or [NAME, NAME]");
	for (size_t i = 0; !st && i < out->functions.n; i++) {
		const char *name = out->functions.items[i];

		if (!*name || *name == '@' || strchr(name, '\n') || strchr(name, '\t'))
			st = manifest_fail(r, ASSAY_E_FORMAT, node->line,
					   "'%s' cannot be the name of a function: write symbols, or names of C++ such as 'ns::f(int)'",
					   TEXT_SHOWN(name));
	}
	return st;
}

static enum assay_status manifest_probe_parse_counters(const struct manifest_reader *r, const struct yaml_node *node,
						       struct manifest_probe *out)
{
	enum assay_status st = manifest_probe_parse_names(r, node, "default", &out->default_counters, &out->counters);

	if (!st && out->counters.n > COUNTING_EVENTS_MAX)
		st = manifest_fail(r, ASSAY_E_LIMIT, node->line, "more than %d counters", COUNTING_EVENTS_MAX);
	for (size_t i = 0; !st && i < out->counters.n; i++) {
		const char *name = out->counters.items[i];

		if (!counting_is_name(name, strlen(name)))
			st = manifest_fail(r, ASSAY_E_FORMAT, node->line,
					   "'%s' is not the name of an event such as PAPI_TOT_INS ('assay counters' lists them)",
					   TEXT_SHOWN(name));
		for (size_t k = 0; !st && k < i; k++)
			if (strcmp(out->counters.items[k], name) == 0)
				st = manifest_fail(r, ASSAY_E_FORMAT, node->line, "the event '%s' appears twice", name);
	}
	return st;
}

static enum assay_status manifest_probe_parse_module(const struct manifest_reader *r, const struct yaml_node *node,
						     struct manifest_probe *out)
{
	const char *text = NULL;
	enum assay_status st = yaml_string(r->file, node, &text, r->err);

	if (!st && (!manifest_is_line(text) || *text == '/' || manifest_leads_up(text)))
		st = manifest_fail(
		    r, ASSAY_E_FORMAT, node->line,
		    "'module' is a file of the version as it is deployed, such as libmy.so or lib/libmy.so: no '/' in front, no '..'");
	if (!st)
		out->module = mem_string(text);
	return st;
}

/* What one back end knows and the other does not. */
static enum assay_status manifest_probe_check(const struct manifest_reader *r, const struct yaml_node *node,
					      const struct manifest_probe *probe)
{
	static const char *const probed[] = { "counters", "budget" };
	const struct yaml_node *wrong = NULL;

	for (size_t i = 0; probe->back_end == MANIFEST_EMULATED && !wrong && i < 2; i++)
		wrong = yaml_get(node, probed[i]);
	if (wrong)
		return manifest_fail(r, ASSAY_E_FORMAT, wrong->line,
				     "'%s' belongs to back_end: probe; the emulation counts all that it can: leave it out", wrong->key);
	wrong = probe->back_end == MANIFEST_PROBED ? yaml_get(node, "full") : NULL;
	if (wrong)
		return manifest_fail(r, ASSAY_E_FORMAT, wrong->line,
				     "'full' belongs to back_end: emulated (all windows are simulated): leave it out");
	return ASSAY_OK;
}

enum assay_status manifest_probe_parse(const struct manifest_reader *r, const struct yaml_node *node, struct manifest_probe *out)
{
	static const char *const keys[] = { "back_end", "functions", "counters", "budget", "module", "full" };
	enum assay_status st = yaml_keys(r->file, node, "probe", keys, sizeof(keys) / sizeof(keys[0]), r->err);
	const struct yaml_node *value;

	*out = (struct manifest_probe){ .given = true, .changed = true, .default_counters = true, .budget = BUDGET };
	if (!st && (value = yaml_get(node, "back_end")))
		st = manifest_probe_parse_back_end(r, value, &out->back_end);
	if (!st && (value = yaml_get(node, "functions")))
		st = manifest_probe_parse_functions(r, value, out);
	if (!st && (value = yaml_get(node, "counters")))
		st = manifest_probe_parse_counters(r, value, out);
	if (!st && (value = yaml_get(node, "budget")))
		st = yaml_double(r->file, value, 0, 1, &out->budget, r->err);
	if (!st && (value = yaml_get(node, "module")))
		st = manifest_probe_parse_module(r, value, out);
	if (!st && (value = yaml_get(node, "full")))
		st = yaml_bool(r->file, value, &out->full, r->err);
	return st ? st : manifest_probe_check(r, node, out);
}

/* ---- as it is kept with a plan ---- */

static void manifest_probe_add_names(cJSON *object, const char *key, const char *only, bool word, const struct manifest_words *words)
{
	cJSON *list = word ? NULL : cJSON_AddArrayToObject(object, key);

	if (word)
		cJSON_AddStringToObject(object, key, only);
	for (size_t i = 0; !word && i < words->n; i++)
		cJSON_AddItemToArray(list, cJSON_CreateString(words->items[i]));
}

char *manifest_probe_text(const struct manifest_probe *probe)
{
	cJSON *object = cJSON_CreateObject();
	char *text;

	ASSAY_BUG_IF(!probe->given);
	cJSON_AddStringToObject(object, "back_end", back_ends[probe->back_end]);
	manifest_probe_add_names(object, "functions", "changed", probe->changed, &probe->functions);
	if (probe->module)
		cJSON_AddStringToObject(object, "module", probe->module);
	if (probe->back_end == MANIFEST_EMULATED) {
		cJSON_AddBoolToObject(object, "full", probe->full);
	} else {
		manifest_probe_add_names(object, "counters", "default", probe->default_counters, &probe->counters);
		cJSON_AddNumberToObject(object, "budget", probe->budget);
	}
	text = json_text(object);
	cJSON_Delete(object);
	return text;
}
