/* Parses manifests from YAML: commands with placeholders, measured functions, versions, inputs. */
#include "runs/running/manifest_parse.h"

#include "base/buf.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/secret.h"
#include "base/text.h"
#include "fleet/agent/program.h"
#include "fleet/counters/counting_client.h"
#include "runs/running/run.h"

#include <inttypes.h>
#include <stdarg.h>

#define SECONDS_MIN	       .1
#define SECONDS_MAX	       604800. /* one week */
#define WORD_BYTES_MAX	       65536   /* limit before expansion; Linux allows 128 KiB per argument */
#define BUDGET		       .03
#define MANIFEST_VERSIONS_HINT "a map with at least one version, such as {old: {directory: build-old}, new: {directory: build-new}}"

static const char *const back_ends[] = { [MANIFEST_PROBED] = "probe", [MANIFEST_EMULATED] = "emulated" };

/* Placeholders that a text may contain. */
enum manifest_braces {
	MANIFEST_LITERAL,   /* none; for paths and build commands */
	MANIFEST_EXPANDED,  /* all except {arguments} */
	MANIFEST_ARGUMENTS, /* all; {arguments} must be a whole argument */
};

enum assay_status manifest_fail(const struct manifest_reader *r, enum assay_status status, size_t line, const char *fmt, ...)
{
	char text[ASSAY_ERROR_BYTES];
	va_list args;

	va_start(args, fmt);
	text_vformat_elided(text, sizeof(text), fmt, args);
	va_end(args);
	return assay_fail(r->err, status, "%s:%zu: %s", r->file, line, text);
}

/* Checks keys like yaml_check_keys(), and also that each key has a value. A default in place of an empty value might surprise the user. */
static enum assay_status manifest_check_keys(const struct manifest_reader *r, const struct yaml_node *map, const char *what,
					     const char *const *keys, size_t n)
{
	enum assay_status st = yaml_check_keys(r->file, map, what, keys, n, r->err);

	for (size_t i = 0; !st && i < map->n_items; i++)
		if (!yaml_get(map, map->items[i].key))
			st = manifest_fail(r, ASSAY_E_FORMAT, map->items[i].line, "'%s' has no value: %s", map->items[i].key,
					   strcmp(map->items[i].key, "versions") ? "set a value, or remove the key"
										 : MANIFEST_VERSIONS_HINT);
	return st;
}

/* Reports whether a text is not empty and has no control characters. */
static bool manifest_is_line(const char *text)
{
	bool ok = *text != '\0';

	for (; *text; text++)
		ok = ok && (unsigned char)*text >= ' ' && *text != 0x7f;
	return ok;
}

/* Reports whether a path has a component "..". */
static bool manifest_is_outside_path(const char *path)
{
	for (const char *at = path; at; at = strchr(at, '/')) {
		at += *at == '/';
		if (strncmp(at, "..", 2) == 0 && (at[2] == '/' || !at[2]))
			return true;
	}
	return false;
}

static const char *const names[PLACEHOLDERS] = { "{files}", "{build}", "{work}", "{input}", "{version}", "{arguments}" };

static enum placeholder_kind arguments_find_placeholder(const char *at, size_t *n)
{
	const char *end = strchr(at, '}');

	for (int i = 0; i < PLACEHOLDERS; i++) {
		*n = strlen(names[i]);
		if (strncmp(at, names[i], *n) == 0)
			return (enum placeholder_kind)i;
	}
	*n = end ? (size_t)(end - at) + 1 : strlen(at);
	return PLACEHOLDER_UNKNOWN;
}

bool manifest_next_piece(const char **at, struct argument_piece *out)
{
	out->place = PLACEHOLDER_NONE;
	out->text = *at;
	if ((*at)[0] == '{' && (*at)[1] == '{') {
		out->n = 1;
		*at += 2;
		return true;
	}
	if (**at == '{')
		out->place = arguments_find_placeholder(*at, &out->n);
	else
		out->n = strcspn(*at, "{");
	*at += out->n;
	return out->n > 0;
}

static enum assay_status arguments_check(const struct manifest_reader *r, size_t line, const char *word, enum manifest_braces braces)
{
	const char *at = word;
	struct argument_piece piece;

	while (braces != MANIFEST_LITERAL && manifest_next_piece(&at, &piece)) {
		if (piece.place == PLACEHOLDER_UNKNOWN) {
			char shown[TEXT_SANITIZED_BYTES], *text = mem_bytes(piece.text, piece.n);
			const char *nearest = text_nearest(text, names, PLACEHOLDERS);
			enum assay_status st = manifest_fail(
			    r, ASSAY_E_FORMAT, line, "'%s' is not a placeholder%s%s%s; write a brace as '{{'", text_sanitize(text, shown),
			    nearest ? " (did you mean '" : "", nearest ? nearest : "", nearest ? "'?)" : "");

			free(text);
			return st;
		}
		if (piece.place == PLACEHOLDER_ARGUMENTS &&
		    (braces != MANIFEST_ARGUMENTS || strcmp(word, names[PLACEHOLDER_ARGUMENTS]) != 0))
			return manifest_fail(r, ASSAY_E_FORMAT, line, "'{arguments}' must be a separate argument of a command");
	}
	return ASSAY_OK;
}

static enum assay_status arguments_check_length(const struct manifest_reader *r, const struct yaml_node *node, const char *text)
{
	if (strlen(text) <= WORD_BYTES_MAX)
		return ASSAY_OK;
	return manifest_fail(r, ASSAY_E_LIMIT, node->line, "an argument of more than %d bytes", WORD_BYTES_MAX);
}

/* Fails because a value is a map instead of a text. YAML reads {work} without quotes as a map. */
static enum assay_status arguments_fail_map(const struct manifest_reader *r, const struct yaml_node *node)
{
	if (node->n_items == 1 && node->items[0].kind == YAML_SCALAR && !*node->items[0].scalar)
		return manifest_fail(r, ASSAY_E_FORMAT, node->line, "a string with braces needs quotes: '{%s}'",
				     TEXT_SANITIZED(node->items[0].key));
	return manifest_fail(r, ASSAY_E_FORMAT, node->line, "expected a string, not a map (a string with braces or ': ' needs quotes)");
}

static enum assay_status arguments_parse_one(const struct manifest_reader *r, const struct yaml_node *node, enum manifest_braces braces,
					     struct manifest_arguments *out)
{
	const char *text = NULL;
	enum assay_status st = node->kind == YAML_MAP ? arguments_fail_map(r, node) : yaml_string(r->file, node, &text, r->err);

	if (!st)
		st = arguments_check_length(r, node, text);
	if (!st)
		st = arguments_check(r, node->line, text, braces);
	if (!st)
		manifest_arguments_add(out, text);
	return st;
}

/* Reports whether word[0..n) needs no quotes in a YAML list. */
static bool argument_is_plain(const char *word, size_t n)
{
	static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_./=+-";

	return strspn(word, letters) >= n && !(n == 1 && *word == '-');
}

/* Appends the words of a text as a YAML list. */
static void arguments_suggest_list(const char *text, struct buf *out)
{
	const char *separator = "[";
	size_t n;

	for (text += strspn(text, " \t\n"); *text; text += strspn(text, " \t\n")) {
		bool plain;

		n = strcspn(text, " \t\n");
		plain = argument_is_plain(text, n);
		buf_format(out, "%s%s%.*s%s", separator, plain ? "" : "'", (int)n, text, plain ? "" : "'");
		separator = ", ";
		text += n;
	}
	buf_char(out, ']');
}

/* Fails because a value is a text instead of a list. The message suggests the list. */
static enum assay_status arguments_fail_text(const struct manifest_reader *r, const struct yaml_node *node)
{
	const char *key = node->key ? node->key : "the value";
	struct buf list = BUF_INIT;
	enum assay_status st;

	if (strpbrk(node->scalar, "|&;<>()$`\"'\\*?#~!\n") || strlen(node->scalar) > 200)
		buf_text(&list, "[sh, -c, '...'] if it needs a shell, else one item per argument");
	else if (node->scalar[strspn(node->scalar, " \t")] == '\0')
		buf_text(&list, "[PROGRAM, ARGUMENT]");
	else
		arguments_suggest_list(node->scalar, &list);
	st = manifest_fail(r, ASSAY_E_FORMAT, node->line, "'%s' is a list of arguments, run without a shell: write %s", key, list.bytes);
	buf_release(&list);
	return st;
}

/* Parses a list of texts into *out, which must be empty. The caller frees *out, also after a failure. */
static enum assay_status manifest_arguments_parse(const struct manifest_reader *r, const struct yaml_node *node,
						  enum manifest_braces braces, struct manifest_arguments *out)
{
	enum assay_status st = ASSAY_OK;

	if (node->kind == YAML_SCALAR)
		return arguments_fail_text(r, node);
	st = yaml_require_list(r->file, node, r->err);
	if (!st && node->n_items > MANIFEST_ARGUMENTS_MAX)
		st = manifest_fail(r, ASSAY_E_LIMIT, node->line, "'%s' has more than %d arguments", node->key, MANIFEST_ARGUMENTS_MAX);
	for (size_t i = 0; !st && i < node->n_items; i++)
		st = arguments_parse_one(r, &node->items[i], braces, out);
	return st;
}

/* Parses a command, which must have at least one word. */
static enum assay_status manifest_command_parse(const struct manifest_reader *r, const struct yaml_node *node, enum manifest_braces braces,
						struct manifest_arguments *out)
{
	enum assay_status st = manifest_arguments_parse(r, node, braces, out);

	if (st)
		return st;
	if (out->n == 0 || !*out->items[0])
		return manifest_fail(r, ASSAY_E_FORMAT, node->line, "'%s' names no program", node->key);
	if (braces == MANIFEST_ARGUMENTS && strcmp(out->items[0], "{arguments}") == 0)
		return manifest_fail(r, ASSAY_E_FORMAT, node->line, "'{arguments}' cannot be the program");
	if (strchr(out->items[0], '='))
		return manifest_fail(
		    r, ASSAY_E_FORMAT, node->line,
		    "'%s' cannot be a program: put a variable into 'environment', or after env, as in [env, NAME=value, PROGRAM]",
		    TEXT_SANITIZED(out->items[0]));
	return ASSAY_OK;
}

static bool argument_is_variable(const char *name)
{
	static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789";

	return *name && !(*name >= '0' && *name <= '9') && name[strspn(name, letters)] == '\0';
}

/* Parses an environment, which is a map of names and values, into texts "NAME=value". */
static enum assay_status manifest_environment_parse(const struct manifest_reader *r, const struct yaml_node *node,
						    struct manifest_arguments *out)
{
	char *word;

	if (node->kind != YAML_MAP)
		return manifest_fail(r, ASSAY_E_FORMAT, node->line, "'environment' is a map of names and values, such as {LANG: C}");
	if (node->n_items > MANIFEST_ARGUMENTS_MAX)
		return manifest_fail(r, ASSAY_E_LIMIT, node->line, "'environment' has more than %d variables", MANIFEST_ARGUMENTS_MAX);
	for (size_t i = 0; i < node->n_items; i++) {
		const struct yaml_node *item = &node->items[i];
		const char *value = NULL;
		enum assay_status st;

		if (!argument_is_variable(item->key)) {
			char *name = secret_mask_assignment(item->key);

			st = manifest_fail(r, ASSAY_E_FORMAT, item->line, "'%s' cannot be the name of an environment variable",
					   TEXT_SANITIZED(name));
			free(name);
			return st;
		}
		st = item->kind == YAML_MAP ? arguments_fail_map(r, item) : yaml_string(r->file, item, &value, r->err);
		if (!st)
			st = arguments_check_length(r, item, value);
		if (!st)
			st = arguments_check(r, item->line, value, MANIFEST_EXPANDED);
		if (st == ASSAY_E_FORMAT && value && secret_is_name(item->key))
			st = manifest_fail(r, ASSAY_E_FORMAT, item->line,
					   "the value of '%s' has a '{' that starts no placeholder; write a brace as '{{'", item->key);
		if (st)
			return st;
		word = mem_format("%s=%s", item->key, value);
		manifest_arguments_add(out, word);
		free(word);
	}
	return ASSAY_OK;
}

/* Returns the placeholders in a list as a set of bits. */
static unsigned arguments_placeholders(const struct manifest_arguments *words)
{
	struct argument_piece piece;
	unsigned mask = 0;

	for (size_t i = 0; i < words->n; i++) {
		const char *at = words->items[i];

		while (manifest_next_piece(&at, &piece)) {
			if (piece.place < PLACEHOLDERS)
				mask |= 1u << piece.place;
		}
	}
	return mask;
}

/* Checks that each placeholder has a value in each version that uses it. */
static enum assay_status manifest_check_places(const struct manifest_reader *r, const struct manifest *manifest)
{
	unsigned common = arguments_placeholders(&manifest->environment) | arguments_placeholders(&manifest->features);

	for (size_t i = 0; i < manifest->n_inputs; i++)
		common |= arguments_placeholders(&manifest->inputs[i].arguments) | arguments_placeholders(&manifest->inputs[i].environment);
	for (size_t i = 0; i < manifest->n_versions; i++) {
		const struct manifest_version *version = &manifest->versions[i];
		unsigned mask = common | arguments_placeholders(manifest_find_command(manifest, version)) |
				arguments_placeholders(&version->environment);

		if (mask & 1u << PLACEHOLDER_BUILD && version->kind == MANIFEST_NO_FILES)
			return manifest_fail(
			    r, ASSAY_E_FORMAT, version->line,
			    "'{build}' has no value in the version '%s': it has neither 'directory' nor 'git' nor 'sources'",
			    version->name);
		if (mask & 1u << PLACEHOLDER_FILES && manifest->files.n == 0 && !manifest->inputs_directory)
			return manifest_fail(r, ASSAY_E_FORMAT, version->line,
					     "'{files}' has no value in the version '%s': the manifest has no 'files'", version->name);
		if (mask & 1u << PLACEHOLDER_INPUT && !*manifest->inputs[0].name && !manifest->inputs_directory)
			return manifest_fail(r, ASSAY_E_FORMAT, version->line,
					     "'{input}' has no value in the version '%s': the manifest has no 'inputs'", version->name);
	}
	return ASSAY_OK;
}

/* Reports whether the line has a placeholder without quotes, which YAML reads as a map. */
static bool manifest_has_bare_placeholder(const char *line, size_t n)
{
	char quote = '\0';

	for (size_t i = 0; i < n && !(line[i] == '#' && !quote); i++) {
		if (quote && line[i] == quote)
			quote = '\0';
		else if (!quote && (line[i] == '"' || line[i] == '\''))
			quote = line[i];
		for (int k = 0; !quote && k < PLACEHOLDERS; k++) {
			if (n - i >= strlen(names[k]) && strncmp(line + i, names[k], strlen(names[k])) == 0)
				return true;
		}
	}
	return false;
}

/* ---- measured functions ---- */

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
				  "unknown back end '%s': use probe (CPU counters, almost no overhead) or emulated (built by 'assay build "
				  "--for counters')",
				  TEXT_SANITIZED(text));
}

/* Parses the word `only`, such as "changed", or a list of names into *out. Sets *word if it is this word. */
static enum assay_status manifest_probe_parse_names(const struct manifest_reader *r, const struct yaml_node *node, const char *only,
						    bool *word, struct manifest_arguments *out)
{
	*word = node->kind == YAML_SCALAR && strcmp(node->scalar, only) == 0;
	if (node->kind == YAML_SCALAR && !*word) {
		return manifest_fail(r, ASSAY_E_FORMAT, node->line, "'%s' is %s, or a list of names: write [%s]", node->key, only,
				     TEXT_SANITIZED(node->scalar));
	}
	return *word ? ASSAY_OK : manifest_arguments_parse(r, node, MANIFEST_LITERAL, out);
}

static enum assay_status manifest_probe_parse_functions(const struct manifest_reader *r, const struct yaml_node *node,
							struct manifest_probe *out)
{
	enum assay_status st = manifest_probe_parse_names(r, node, "changed", &out->changed, &out->functions);

	if (!st && !out->changed && out->functions.n == 0)
		st = manifest_fail(r, ASSAY_E_FORMAT, node->line, "'functions' is empty: write changed, or [NAME, NAME]");
	for (size_t i = 0; !st && i < out->functions.n; i++) {
		const char *name = out->functions.items[i];

		if (!*name || *name == '@' || strchr(name, '\n') || strchr(name, '\t'))
			st = manifest_fail(r, ASSAY_E_FORMAT, node->line,
					   "'%s' is not a valid function name: write symbols, or C++ names such as 'ns::f(int)'",
					   TEXT_SANITIZED(name));
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
					   TEXT_SANITIZED(name));
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

	if (!st && (!manifest_is_line(text) || *text == '/' || manifest_is_outside_path(text)))
		st = manifest_fail(
		    r, ASSAY_E_FORMAT, node->line,
		    "'module' is a deployed file of the version, such as libmy.so or lib/libmy.so, without leading '/' and '..'");
	if (!st)
		out->module = mem_string(text);
	return st;
}

/* Refuses keys that are only valid for the other back end. */
static enum assay_status manifest_probe_check(const struct manifest_reader *r, const struct yaml_node *node,
					      const struct manifest_probe *probe)
{
	static const char *const probed[] = { "counters", "budget" };
	const struct yaml_node *wrong = NULL;

	for (size_t i = 0; probe->back_end == MANIFEST_EMULATED && !wrong && i < 2; i++)
		wrong = yaml_get(node, probed[i]);
	if (wrong)
		return manifest_fail(r, ASSAY_E_FORMAT, wrong->line,
				     "'%s' is only for back_end: probe; the emulation counts all its counters: remove it", wrong->key);
	wrong = probe->back_end == MANIFEST_PROBED ? yaml_get(node, "full") : NULL;
	if (wrong)
		return manifest_fail(r, ASSAY_E_FORMAT, wrong->line,
				     "'full' is only for back_end: emulated (all windows are simulated): remove it");
	return ASSAY_OK;
}

/* Parses the key `probe`. *out must contain the default values. */
static enum assay_status manifest_probe_parse(const struct manifest_reader *r, const struct yaml_node *node, struct manifest_probe *out)
{
	static const char *const keys[] = { "back_end", "functions", "counters", "budget", "module", "full" };
	enum assay_status st = yaml_check_keys(r->file, node, "probe", keys, sizeof(keys) / sizeof(keys[0]), r->err);
	const struct yaml_node *value;

	if (!st && (value = yaml_get(node, "back_end")))
		st = manifest_probe_parse_back_end(r, value, &out->back_end);
	out->named = !st && yaml_get(node, "back_end");
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

static void manifest_probe_add_names(cJSON *object, const char *key, const char *only, bool word, const struct manifest_arguments *words)
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

enum assay_status manifest_check_name(const struct manifest_reader *r, size_t line, const char *what, const char *name)
{
	if (!run_name_fault(name) && !strpbrk(name, "/,") && *name != '-' && *name != ' ' && name[strlen(name) - 1] != ' ')
		return ASSAY_OK;
	return manifest_fail(
	    r, ASSAY_E_FORMAT, line,
	    "'%s' cannot be the name of %s: 1 to %d bytes of text, without @ / and comma, without leading - and surrounding spaces",
	    TEXT_SANITIZED(name), what, RUN_NAME_BYTES_MAX);
}

/* Parses a text that must be one non-empty line. */
static enum assay_status manifest_parse_text(const struct manifest_reader *r, const struct yaml_node *node, const char *key, char **out)
{
	const char *text = NULL;
	enum assay_status st = yaml_string(r->file, node, &text, r->err);

	if (st)
		return st;
	if (!manifest_is_line(text))
		return manifest_fail(r, ASSAY_E_FORMAT, node->line, "'%s' must be one line of text", key);
	free(*out);
	*out = mem_string(text);
	return ASSAY_OK;
}

/* Parses the one-line text of `key` into *out. Leaves *out if there is no such key. */
static enum assay_status manifest_parse_line(const struct manifest_reader *r, const struct yaml_node *map, const char *key, char **out)
{
	const struct yaml_node *node = yaml_get(map, key);

	return node ? manifest_parse_text(r, node, key, out) : ASSAY_OK;
}

/* Adds an entry to the version for each architecture in the map, in the order of program_architectures. */
static enum assay_status manifest_parse_architectures(const struct manifest_reader *r, const struct yaml_node *map, const char *key,
						      struct manifest_version *v)
{
	if (map->n_items == 0 || map->n_items > PROGRAM_ARCHITECTURES)
		return manifest_fail(r, ASSAY_E_FORMAT, map->line, "'%s' as a map has an item for each architecture, such as x86_64", key);
	for (size_t i = 0; i < PROGRAM_ARCHITECTURES; i++)
		for (size_t k = 0; k < map->n_items; k++)
			if (strcmp(map->items[k].key, program_architectures[i]) == 0)
				v->own[v->n_own_files++].architecture = mem_string(program_architectures[i]);
	return v->n_own_files == map->n_items
		   ? ASSAY_OK
		   : manifest_fail(r, ASSAY_E_FORMAT, map->line, "'%s' is a map of architectures as 'uname -m' names them: %s, %s", key,
				   program_architectures[0], program_architectures[1]);
}

/* Finds the value for one architecture: an item of `node` if `node` is a map, else `node` itself. `node` may be NULL. */
static enum assay_status manifest_find_item(const struct manifest_reader *r, const struct yaml_node *node, const char *key,
					    const char *architecture, const struct yaml_node **out)
{
	*out = node;
	if (!node || node->kind != YAML_MAP)
		return ASSAY_OK;
	*out = yaml_get(node, architecture);
	return *out ? ASSAY_OK : manifest_fail(r, ASSAY_E_FORMAT, node->line, "'%s' has no value for %s", key, architecture);
}

/* Parses a version's `directory` and `build`. Each may be a map of architectures; if both are, they must have the same architectures. */
static enum assay_status manifest_parse_own_files(const struct manifest_reader *r, const struct yaml_node *node, struct manifest_version *v)
{
	const struct yaml_node *directory = yaml_get(node, "directory"), *build = yaml_get(node, "build"), *item;
	const struct yaml_node *map = build && build->kind == YAML_MAP ? build : directory;
	bool apart = map && map->kind == YAML_MAP;
	enum assay_status st = ASSAY_OK;

	v->own = mem_new(PROGRAM_ARCHITECTURES, sizeof(*v->own));
	if (apart)
		st = manifest_parse_architectures(r, map, map == build ? "build" : "directory", v);
	else
		v->n_own_files = 1;
	if (!st && apart && directory && directory != map && directory->kind == YAML_MAP && directory->n_items != v->n_own_files)
		st = manifest_fail(r, ASSAY_E_FORMAT, directory->line, "'directory' and 'build' are of different architectures");
	for (size_t i = 0; !st && i < v->n_own_files; i++) {
		struct manifest_own_files *own = &v->own[i];

		st = manifest_find_item(r, directory, "directory", own->architecture, &item);
		if (!st && item)
			st = manifest_parse_text(r, item, "directory", &own->directory);
		if (!st)
			st = manifest_find_item(r, build, "build", own->architecture, &item);
		if (!st && item)
			st = manifest_command_parse(r, item, MANIFEST_LITERAL, &own->build);
	}
	return st;
}

static enum assay_status manifest_check_below(const struct manifest_reader *r, const struct yaml_node *node,
					      const struct manifest_version *v)
{
	for (size_t i = 0; i < v->n_own_files; i++) {
		const char *directory = v->own[i].directory;

		if (directory && (*directory == '/' || manifest_is_outside_path(directory)))
			return manifest_fail(r, ASSAY_E_FORMAT, node->line,
					     "the directory of '%s' must be inside the work tree, without leading '/' and '..'",
					     v->kind == MANIFEST_GIT ? "git" : "sources");
	}
	return ASSAY_OK;
}

static enum assay_status manifest_check_git(const struct manifest_reader *r, const struct yaml_node *node, const struct manifest_version *v)
{
	const char *colon = strchr(v->repository, ':'), *slash = strchr(v->repository, '/');

	if (colon && (!slash || colon < slash))
		return manifest_fail(r, ASSAY_E_FORMAT, node->line,
				     "the repository must be a directory of this machine: clone it first, and name the clone");
	if (!v->reference)
		return manifest_fail(r, ASSAY_E_FORMAT, node->line, "'git' has no 'reference': a tag, branch or commit");
	if (*v->reference == '-')
		return manifest_fail(r, ASSAY_E_FORMAT, node->line, "a reference does not start with '-'");
	return manifest_check_below(r, node, v);
}

static enum assay_status manifest_parse_git(const struct manifest_reader *r, const struct yaml_node *node, struct manifest_version *v)
{
	static const char *const keys[] = { "repository", "reference", "build", "directory" };
	enum assay_status st = manifest_check_keys(r, node, "git", keys, sizeof(keys) / sizeof(keys[0]));

	v->kind = MANIFEST_GIT;
	if (st)
		return st;
	v->repository = mem_string(".");
	st = manifest_parse_line(r, node, "repository", &v->repository);
	if (!st)
		st = manifest_parse_line(r, node, "reference", &v->reference);
	if (!st)
		st = manifest_parse_own_files(r, node, v);
	return st ? st : manifest_check_git(r, node, v);
}

static enum assay_status manifest_parse_version(const struct manifest_reader *r, const struct yaml_node *map, const struct yaml_node *node,
						struct manifest_version *v)
{
	static const char *const keys[] = { "directory", "git", "sources", "build", "command", "environment" };
	enum assay_status st = manifest_check_name(r, node->line, "a version", node->key);
	const struct yaml_node *value, *sources;

	v->name = mem_string(node->key);
	v->line = node->line;
	if (st || !yaml_get(map, node->key))
		return st; /* a version without own files */
	st = manifest_check_keys(r, node, "a version", keys, sizeof(keys) / sizeof(keys[0]));
	sources = st ? NULL : yaml_get(node, "sources");
	if (!st && yaml_get(node, "git") && (sources || yaml_get(node, "directory")))
		st = manifest_fail(r, ASSAY_E_FORMAT, node->line, "the version '%s' has both '%s' and 'git': remove one of them", v->name,
				   sources ? "sources" : "directory");
	if (!st && yaml_get(node, "build") && !sources)
		st = manifest_fail(r, ASSAY_E_FORMAT, node->line,
				   "'build' needs 'sources', the directory to build, or must be inside 'git'");
	if (!st && (sources || yaml_get(node, "directory"))) {
		v->kind = sources ? MANIFEST_SOURCES : MANIFEST_DIR;
		st = manifest_parse_own_files(r, node, v);
	}
	if (!st && sources)
		st = manifest_parse_text(r, sources, "sources", &v->repository);
	if (!st && sources)
		st = manifest_check_below(r, node, v);
	if (!st && (value = yaml_get(node, "git")))
		st = manifest_parse_git(r, value, v);
	if (!st && (value = yaml_get(node, "command")))
		st = manifest_command_parse(r, value, MANIFEST_ARGUMENTS, &v->command);
	if (!st && (value = yaml_get(node, "environment")))
		st = manifest_environment_parse(r, value, &v->environment);
	return st;
}

static enum assay_status manifest_parse_versions(const struct manifest_reader *r, const struct yaml_node *map, struct manifest *m)
{
	enum assay_status st = ASSAY_OK;

	if (map->kind != YAML_MAP || map->n_items == 0)
		return manifest_fail(r, ASSAY_E_FORMAT, map->line, "'versions' is " MANIFEST_VERSIONS_HINT);
	if (map->n_items > MANIFEST_VERSIONS_MAX)
		return manifest_fail(r, ASSAY_E_LIMIT, map->line, "more than %d versions", MANIFEST_VERSIONS_MAX);
	m->versions = mem_new(map->n_items, sizeof(*m->versions));
	for (size_t i = 0; !st && i < map->n_items; i++) {
		struct manifest_version *v = &m->versions[m->n_versions++];

		st = manifest_parse_version(r, map, &map->items[i], v);
		if (!st && m->command.n == 0 && v->command.n == 0)
			st = manifest_fail(
			    r, ASSAY_E_FORMAT, v->line,
			    "neither the version '%s' nor the manifest has a command: write 'command: [PROGRAM, ARGUMENT]' here or there",
			    v->name);
	}
	return st;
}

static enum assay_status manifest_parse_input(const struct manifest_reader *r, const struct yaml_node *node, const char *const *keys,
					      size_t n_keys, struct manifest_input *in)
{
	enum assay_status st = yaml_check_keys(r->file, node, "an input", keys, n_keys, r->err);
	const struct yaml_node *value;

	in->line = node->line;
	if (!st && (value = yaml_get(node, "arguments")))
		st = manifest_arguments_parse(r, value, MANIFEST_EXPANDED, &in->arguments);
	if (!st && (value = yaml_get(node, "environment")))
		st = manifest_environment_parse(r, value, &in->environment);
	return st;
}

/* Parses an input: an item of a map, or an item of a list that has a name. */
static enum assay_status manifest_parse_named_input(const struct manifest_reader *r, const struct yaml_node *all,
						    const struct yaml_node *node, struct manifest_input *in)
{
	static const char *const keys[] = { "arguments", "environment", "name" };
	enum assay_status st = ASSAY_OK;

	if (all->kind == YAML_MAP) {
		in->name = mem_string(node->key);
		in->line = node->line;
		if (yaml_get(all, node->key))
			st = manifest_parse_input(r, node, keys, 2, in);
	} else {
		st = manifest_parse_input(r, node, keys, 3, in);
		if (!st)
			st = manifest_parse_line(r, node, "name", &in->name);
		if (!st && !in->name)
			st = manifest_fail(r, ASSAY_E_FORMAT, node->line, "this input has no 'name'");
	}
	return st ? st : manifest_check_name(r, node->line, "an input", in->name);
}

static enum assay_status manifest_parse_inputs(const struct manifest_reader *r, const struct yaml_node *all, struct manifest *m)
{
	enum assay_status st = ASSAY_OK;

	if (all->kind == YAML_SCALAR || all->n_items == 0)
		return manifest_fail(r, ASSAY_E_FORMAT, all->line,
				     "'inputs' is a map with at least one input, such as {small: {arguments: [10]}, large: "
				     "{arguments: [1000]}}, or is excluded");
	if (all->n_items > MANIFEST_INPUTS_MAX)
		return manifest_fail(r, ASSAY_E_LIMIT, all->line, "more than %d inputs", MANIFEST_INPUTS_MAX);
	m->inputs = mem_new(all->n_items, sizeof(*m->inputs));
	for (size_t i = 0; !st && i < all->n_items; i++) {
		struct manifest_input *in = &m->inputs[m->n_inputs++];

		st = manifest_parse_named_input(r, all, &all->items[i], in);
		for (size_t k = 0; !st && k < i; k++)
			if (strcmp(m->inputs[k].name, in->name) == 0)
				st = manifest_fail(r, ASSAY_E_FORMAT, in->line, "the input '%s' appears twice (first on line %zu)",
						   in->name, m->inputs[k].line);
		if (!st && strlen(m->application) + 1 + strlen(in->name) > RUN_NAME_BYTES_MAX)
			st = manifest_fail(r, ASSAY_E_FORMAT, in->line,
					   "the names of application and input are together longer than %d bytes", RUN_NAME_BYTES_MAX - 1);
	}
	return st;
}

static void manifest_add_default_input(struct manifest *m)
{
	m->inputs = mem_new(1, sizeof(*m->inputs));
	m->inputs[0].name = mem_string("");
	m->inputs[0].line = 1;
	m->n_inputs = 1;
}

static char *manifest_file_stem(const char *file)
{
	const char *name = text_file_name(file);
	size_t n = strlen(name);

	return mem_bytes(name, n > 5 && strcmp(name + n - 5, ".yaml") == 0 ? n - 5 : n);
}

static char *manifest_file_directory(const char *file)
{
	const char *slash = strrchr(file, '/');

	return !slash ? mem_string(".") : slash == file ? mem_string("/") : mem_bytes(file, (size_t)(slash - file));
}

static enum assay_status manifest_parse_numbers(const struct manifest_reader *r, const struct yaml_node *root, struct manifest *m)
{
	const struct yaml_node *node;
	enum assay_status st = ASSAY_OK;
	double seconds = 600;

	m->repetitions = 5;
	m->warm_ups = 1;
	m->probe = (struct manifest_probe){ .changed = true, .default_counters = true, .budget = BUDGET };
	if ((node = yaml_get(root, "time_limit")) &&
	    (node->kind != YAML_SCALAR || !text_parse_duration(node->scalar, &seconds) || seconds < SECONDS_MIN || seconds > SECONDS_MAX))
		st = manifest_fail(r, ASSAY_E_FORMAT, node->line,
				   "'time_limit' must be a time from %g s to a week, such as 90s, 20m or 8h (a number is seconds)",
				   SECONDS_MIN);
	m->time_limit_ms = (int64_t)(seconds * 1000 + .5);
	if (!st && (node = yaml_get(root, "repetitions")))
		st = yaml_int(r->file, node, 1, MANIFEST_REPETITIONS_MAX, &m->repetitions, r->err);
	m->sampling = true;
	if (!st && (node = yaml_get(root, "sampling")))
		st = yaml_bool(r->file, node, &m->sampling, r->err);
	if (!st && (node = yaml_get(root, "variance")))
		st = yaml_bool(r->file, node, &m->variance, r->err);
	if (!st && (node = yaml_get(root, "warm_ups")))
		st = yaml_int(r->file, node, 0, MANIFEST_REPETITIONS_MAX, &m->warm_ups, r->err);
	return st;
}

/* Parses the application's name, the description, the directory on the hosts, and the files to deploy. */
static enum assay_status manifest_parse_texts(const struct manifest_reader *r, const struct yaml_node *root, struct manifest *m)
{
	const struct yaml_node *node = yaml_get(root, "application");
	const char *text = NULL;
	enum assay_status st;

	m->application = manifest_file_stem(r->file);
	m->work = mem_string(MANIFEST_DIRECTORY);
	st = manifest_parse_line(r, root, "application", &m->application);
	if (!st)
		st = manifest_check_name(r, node ? node->line : 1, "an application", m->application);
	if (!st && (node = yaml_get(root, "description")))
		st = yaml_string(r->file, node, &text, r->err);
	if (!st && node)
		m->description = mem_string(text);
	if (!st)
		st = manifest_parse_line(r, root, "work", &m->work);
	if (!st && (*m->work != '/' || manifest_is_outside_path(m->work)))
		st = manifest_fail(r, ASSAY_E_FORMAT, yaml_get(root, "work")->line,
				   "'work' is a directory of the hosts: an absolute path without '..', such as " MANIFEST_DIRECTORY);
	if (!st && (node = yaml_get(root, "files")))
		st = manifest_arguments_parse(r, node, MANIFEST_LITERAL, &m->files);
	m->files_lines = mem_new(m->files.n, sizeof(*m->files_lines));
	for (size_t i = 0; !st && i < m->files.n; i++) {
		m->files_lines[i] = node->n_items == m->files.n ? node->items[i].line : node->line;
		if (!manifest_is_line(m->files.items[i]))
			st = manifest_fail(r, ASSAY_E_FORMAT, node->line, "an item of 'files' is not one line of text");
	}
	return st;
}

static enum assay_status manifest_parse_root(const struct manifest_reader *r, const struct yaml_node *root, struct manifest *m)
{
	static const char *const keys[] = { "application", "description", "files",     "command",     "environment", "inputs",
					    "versions",	   "time_limit",  "metric",    "repetitions", "warm_ups",    "work",
					    "probe",	   "sampling",	  "inputs_of", "features",    "variance" };
	enum assay_status st = manifest_check_keys(r, root, "a manifest", keys, sizeof(keys) / sizeof(keys[0]));
	const struct yaml_node *node;

	if (!st)
		st = manifest_parse_texts(r, root, m);
	if (!st && (node = yaml_get(root, "command")))
		st = manifest_command_parse(r, node, MANIFEST_ARGUMENTS, &m->command);
	if (!st && (node = yaml_get(root, "environment")))
		st = manifest_environment_parse(r, node, &m->environment);
	if (!st && !yaml_get(root, "versions"))
		st = manifest_fail(r, ASSAY_E_FORMAT, root->line, "the manifest has no 'versions': " MANIFEST_VERSIONS_HINT);
	if (!st)
		st = manifest_parse_versions(r, yaml_get(root, "versions"), m);
	if (!st && yaml_get(root, "inputs") && (node = yaml_get(root, "inputs_of")))
		st = manifest_fail(r, ASSAY_E_FORMAT, node->line, "use either 'inputs' or 'inputs_of'");
	if (!st)
		st = manifest_parse_line(r, root, "inputs_of", &m->inputs_directory);
	if (!st && (node = yaml_get(root, "inputs")))
		st = manifest_parse_inputs(r, node, m);
	else if (!st)
		manifest_add_default_input(m);
	if (!st && (node = yaml_get(root, "inputs_of")))
		m->inputs[0].line = node->line;
	if (!st && (node = yaml_get(root, "features")))
		st = manifest_command_parse(r, node, MANIFEST_ARGUMENTS, &m->features);
	if (!st)
		st = manifest_parse_numbers(r, root, m);
	if (!st && (node = yaml_get(root, "metric")))
		st = metric_parse(r, node, &m->metric);
	else if (!st)
		m->metric.unit = mem_string("s"); /* unit of the default metric, wall */
	if (!st && (node = yaml_get(root, "probe")))
		st = manifest_probe_parse(r, node, &m->probe);
	return st ? st : manifest_check_places(r, m);
}

/* Adds a hint to libyaml's message if its line has a placeholder without quotes. */
static void manifest_explain_braces(const struct manifest_reader *r, const char *text, size_t n)
{
	char said[ASSAY_ERROR_BYTES];
	const char *at = text, *end = text + n, *next;
	unsigned long line = strtoul(r->err->text + strlen(r->file) + 1, NULL, 10);

	while (at && line-- > 1)
		at = (at = memchr(at, '\n', (size_t)(end - at))) ? at + 1 : NULL;
	next = at ? memchr(at, '\n', (size_t)(end - at)) : NULL;
	if (!at || !manifest_has_bare_placeholder(at, (size_t)((next ? next : end) - at)))
		return;
	snprintf(said, sizeof(said), "%s", r->err->text);
	assay_fail(r->err, r->err->status, "%s (a string with braces needs quotes: '{work}/x')", said);
}

enum assay_status manifest_parse(const char *file, const char *text, size_t n, struct manifest *out, struct assay_error *err)
{
	struct assay_error local;
	const struct manifest_reader r = { file, err ? err : &local };
	struct manifest m = { .file = mem_string(file),
			      .directory = manifest_file_directory(file),
			      .text = mem_bytes(text ? text : "", n),
			      .text_bytes = n };
	struct yaml_node root = { .kind = YAML_SCALAR };
	enum assay_status st = yaml_parse(file, text, n, &root, r.err);

	if (st)
		manifest_explain_braces(&r, m.text, n);
	else
		st = manifest_parse_root(&r, &root, &m);
	if (!st)
		manifest_hash_all(&m);
	yaml_release(&root);
	*out = m;
	if (st)
		manifest_release(out);
	return st;
}
