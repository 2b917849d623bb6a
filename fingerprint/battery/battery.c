#include "fingerprint/battery/battery.h"

#include "base/buf.h"
#include "base/digest.h"
#include "base/embed.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/order.h"
#include "base/text.h"
#include "base/yaml.h"
#include "fingerprint/battery/stressor.h"

#include <inttypes.h>

#define NAME_BYTES_MAX	   64
#define ARGUMENTS_MAX	   64
#define ARGUMENT_BYTES_MAX 200
#define SECONDS_MAX	   600.0

static void entry_release(struct battery_entry *entry)
{
	mem_free_all(entry->arguments, entry->n_arguments);
	mem_free_all(entry->categories, entry->n_categories);
	mem_free(entry->name, entry->stressor);
	*entry = (struct battery_entry){ 0 };
}

void battery_release(struct battery *battery)
{
	mem_release_all(battery->entries, battery->n, entry_release);
	free(battery->name);
	*battery = (struct battery){ 0 };
}

/* Appends `word` after its length, so that different lists of words give different bytes. */
static void add_word(struct buf *text, const char *word)
{
	buf_format(text, "%zu:%s\n", strlen(word), word);
}

/* Computes the hash. The order of entries in the file does not matter, because entries are sorted by name. */
static void battery_update_hash(struct battery *battery, bool with_dangerous)
{
	struct buf text = BUF_INIT;

	buf_format(&text, "battery 1\npasses %" PRId64 "\n", battery->passes);
	for (size_t i = 0; i < battery->n; i++) {
		const struct battery_entry *entry = &battery->entries[i];

		if (entry->dangerous && !with_dangerous)
			continue;
		add_word(&text, entry->name);
		add_word(&text, entry->stressor);
		buf_format(&text, "%" PRId64 " ms %zu\n", entry->milliseconds, entry->n_arguments);
		for (size_t k = 0; k < entry->n_arguments; k++)
			add_word(&text, entry->arguments[k]);
	}
	digest_id(text.bytes, text.size, battery->hash);
	buf_release(&text);
}

enum assay_status battery_select(struct battery *battery, const char *const *named, size_t n, struct assay_error *err)
{
	size_t kept = 0;

	for (size_t i = 0; i < n; i++) {
		bool there = false;

		for (size_t k = 0; k < battery->n && !there; k++)
			there = battery->entries[k].dangerous && strcmp(battery->entries[k].name, named[i]) == 0;
		if (!there)
			return assay_fail(err, ASSAY_E_USAGE, "the battery '%s' has no dangerous stressor '%s'", battery->name, named[i]);
	}
	for (size_t i = 0; i < battery->n; i++) {
		if (battery->entries[i].dangerous && !text_is_among(named, n, battery->entries[i].name))
			entry_release(&battery->entries[i]);
		else
			battery->entries[kept++] = battery->entries[i];
	}
	battery->n = kept;
	if (kept == 0)
		return assay_fail(err, ASSAY_E_USAGE,
				  "the battery '%s' has only dangerous stressors: name the ones to run with --dangerous", battery->name);
	battery_update_hash(battery, true);
	return ASSAY_OK;
}

/* ---- parsing YAML ---- */

/* Parses a name. Only few characters are allowed, because names are used as features, file names and arguments. */
static enum assay_status parse_name(const char *file, const struct yaml_node *node, const char *what, char **out, struct assay_error *err)
{
	const char *text = NULL;
	enum assay_status st = yaml_string(file, node, &text, err);

	if (st)
		return st;
	if (!*text || *text == '-' || strlen(text) > NAME_BYTES_MAX ||
	    strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.+") != strlen(text))
		return assay_fail(err, ASSAY_E_FORMAT,
				  "%s:%zu: %s is made of 1 to %d letters, digits and -_.+, and does not start with '-'", file, node->line,
				  what, NAME_BYTES_MAX);
	*out = mem_string(text);
	return ASSAY_OK;
}

/* Reports whether a battery must not set this option of stress-ng, because assay itself sets output files, duration and stressors.
 * Abbreviations are forbidden, too, because stress-ng accepts abbreviated options. */
static bool is_forbidden(const char *argument)
{
	static const char *const names[] = { "--temp-path",  "--yaml",	       "--timeout", "--log-file", "--class",
					     "--sequential", "--all",	       "--job",	    "--random",	  "--stressors",
					     "--exclude",    "--pathological", "--vmstat" };
	size_t length = strcspn(argument, "=");

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (length > 2 && strncmp(argument, names[i], length) == 0)
			return true;
	}
	return argument[0] == '-' && argument[1] != '-' && !(argument[1] >= '0' && argument[1] <= '9');
}

static enum assay_status parse_arguments(const char *file, const struct yaml_node *list, struct battery_entry *entry,
					 struct assay_error *err)
{
	enum assay_status st = yaml_require_list(file, list, err);

	if (!st && list->n_items > ARGUMENTS_MAX)
		st = assay_fail(err, ASSAY_E_LIMIT, "%s:%zu: more than %d arguments", file, list->line, ARGUMENTS_MAX);
	if (st)
		return st;
	entry->arguments = mem_new(list->n_items, sizeof(char *));
	for (size_t i = 0; i < list->n_items; i++) {
		const char *text = NULL;

		st = yaml_string(file, &list->items[i], &text, err);
		if (!st && (!*text || strlen(text) > ARGUMENT_BYTES_MAX))
			st = assay_fail(err, ASSAY_E_FORMAT, "%s:%zu: an argument must have 1 to %d bytes", file, list->items[i].line,
					ARGUMENT_BYTES_MAX);
		if (!st && is_forbidden(text))
			st = assay_fail(err, ASSAY_E_FORMAT,
					"%s:%zu: the argument '%s' is not allowed in a battery: assay sets time, directory and output",
					file, list->items[i].line, TEXT_SANITIZED(text));
		if (st)
			return st;
		entry->arguments[entry->n_arguments++] = mem_string(text);
	}
	return ASSAY_OK;
}

static void default_categories(struct battery_entry *entry)
{
	const struct stressor *stressor = stressor_find(entry->stressor);

	entry->categories = mem_new(STRESSOR_CATEGORIES_MAX, sizeof(char *));
	for (size_t i = 0; stressor && i < stressor->n_categories; i++)
		entry->categories[entry->n_categories++] = mem_string(category_name(stressor->categories[i]));
}

static enum assay_status parse_categories(const char *file, const struct yaml_node *list, struct battery_entry *entry,
					  struct assay_error *err)
{
	const char *known[CATEGORY_COUNT];
	enum assay_status st = yaml_require_list(file, list, err);

	for (int c = 0; c < CATEGORY_COUNT; c++)
		known[c] = category_name((enum category)c);
	if (!st && list->n_items > CATEGORY_COUNT)
		st = assay_fail(err, ASSAY_E_LIMIT, "%s:%zu: more categories than there are", file, list->line);
	if (st)
		return st;
	entry->categories = mem_new(list->n_items, sizeof(char *));
	for (size_t i = 0; i < list->n_items; i++) {
		const char *text = NULL, *nearest;
		bool there = false;

		st = yaml_string(file, &list->items[i], &text, err);
		for (int c = 0; !st && c < CATEGORY_COUNT; c++)
			there = there || strcmp(known[c], text) == 0;
		if (!st && !there) {
			nearest = text_nearest(text, known, CATEGORY_COUNT);
			st = assay_fail(err, ASSAY_E_FORMAT, "%s:%zu: unknown category '%s'%s%s%s", file, list->items[i].line,
					TEXT_SANITIZED(text), nearest ? " (did you mean '" : "", nearest ? nearest : "",
					nearest ? "'?)" : "");
		}
		if (st)
			return st;
		entry->categories[entry->n_categories++] = mem_string(text);
	}
	return ASSAY_OK;
}

static enum assay_status parse_seconds(const char *file, const struct yaml_node *node, int64_t *milliseconds, struct assay_error *err)
{
	double seconds = 0;
	enum assay_status st = yaml_double(file, node, .05, SECONDS_MAX, &seconds, err);

	if (!st)
		*milliseconds = (int64_t)(seconds * 1000 + .5);
	return st;
}

static enum assay_status parse_entry(const char *file, const struct yaml_node *node, struct battery_entry *entry, struct assay_error *err)
{
	static const char *const keys[] = { "name", "stressor", "arguments", "categories", "seconds", "dangerous" };
	const struct yaml_node *value;
	enum assay_status st = yaml_check_keys(file, node, "a stressor", keys, sizeof(keys) / sizeof(keys[0]), err);

	if (!st && !(value = yaml_get(node, "stressor")))
		st = assay_fail(err, ASSAY_E_FORMAT, "%s:%zu: this entry names no stressor", file, node->line);
	if (!st)
		st = parse_name(file, yaml_get(node, "stressor"), "a stressor", &entry->stressor, err);
	if (!st && (value = yaml_get(node, "name")))
		st = parse_name(file, value, "a name", &entry->name, err);
	if (!st && !entry->name)
		entry->name = mem_string(entry->stressor);
	if (!st && (value = yaml_get(node, "arguments")))
		st = parse_arguments(file, value, entry, err);
	if (!st && (value = yaml_get(node, "categories")))
		st = parse_categories(file, value, entry, err);
	if (!st && !entry->categories)
		default_categories(entry);
	if (!st)
		qsort(entry->categories, entry->n_categories, sizeof(char *), text_compare);
	if (!st && (value = yaml_get(node, "seconds")))
		st = parse_seconds(file, value, &entry->milliseconds, err);
	if (!st && (value = yaml_get(node, "dangerous")))
		st = yaml_bool(file, value, &entry->dangerous, err);
	return st;
}

ORDER_BY(compare_entries, struct battery_entry, BY_TEXT(name))

static enum assay_status parse_entries(const char *file, const struct yaml_node *list, int64_t milliseconds, struct battery *battery,
				       struct assay_error *err)
{
	enum assay_status st = yaml_require_list(file, list, err);

	if (!st && (list->n_items == 0 || list->n_items > BATTERY_ENTRIES_MAX))
		st = assay_fail(err, ASSAY_E_LIMIT, "%s:%zu: a battery has 1 to %d stressors", file, list->line, BATTERY_ENTRIES_MAX);
	if (st)
		return st;
	battery->entries = mem_new(list->n_items, sizeof(*battery->entries));
	for (size_t i = 0; !st && i < list->n_items; i++) {
		battery->n++;
		battery->entries[i].milliseconds = milliseconds;
		st = parse_entry(file, &list->items[i], &battery->entries[i], err);
		for (size_t k = 0; !st && k < i; k++) {
			if (strcmp(battery->entries[k].name, battery->entries[i].name) == 0)
				st = assay_fail(err, ASSAY_E_FORMAT, "%s:%zu: '%s' is listed twice (first in line %zu): rename one of them",
						file, list->items[i].line, battery->entries[i].name, list->items[k].line);
		}
	}
	if (!st)
		qsort(battery->entries, battery->n, sizeof(*battery->entries), compare_entries);
	return st;
}

static enum assay_status parse_limits(const char *file, const struct yaml_node *node, struct battery_limits *limits,
				      struct assay_error *err)
{
	static const char *const keys[] = { "memory_bytes", "file_bytes", "open_files", "processes" };
	int64_t *const values[] = { &limits->memory_bytes, &limits->file_bytes, &limits->open_files, &limits->processes };
	enum assay_status st = yaml_check_keys(file, node, "limits", keys, sizeof(keys) / sizeof(keys[0]), err);

	for (size_t i = 0; !st && i < sizeof(keys) / sizeof(keys[0]); i++) {
		const struct yaml_node *value = yaml_get(node, keys[i]);

		if (value)
			st = yaml_int(file, value, 16, INT64_C(1) << 50, values[i], err);
	}
	return st;
}

static enum assay_status parse_root(const char *file, const struct yaml_node *root, struct battery *battery, struct assay_error *err)
{
	static const char *const keys[] = { "name", "passes", "seconds", "limits", "stressors" };
	const struct yaml_node *value;
	int64_t milliseconds = 200;
	enum assay_status st = yaml_check_keys(file, root, "a battery", keys, sizeof(keys) / sizeof(keys[0]), err);

	battery->passes = 3;
	if (!st && !(value = yaml_get(root, "name")))
		st = assay_fail(err, ASSAY_E_FORMAT, "%s: the battery has no name", file);
	if (!st)
		st = parse_name(file, yaml_get(root, "name"), "a battery's name", &battery->name, err);
	if (!st && (value = yaml_get(root, "passes")))
		st = yaml_int(file, value, 1, BATTERY_PASSES_MAX, &battery->passes, err);
	if (!st && (value = yaml_get(root, "seconds")))
		st = parse_seconds(file, value, &milliseconds, err);
	if (!st && (value = yaml_get(root, "limits")))
		st = parse_limits(file, value, &battery->limits, err);
	if (!st && !yaml_get(root, "stressors"))
		st = assay_fail(err, ASSAY_E_FORMAT, "%s: the battery has no stressors", file);
	if (!st)
		st = parse_entries(file, yaml_get(root, "stressors"), milliseconds, battery, err);
	if (!st)
		battery_update_hash(battery, false);
	return st;
}

enum assay_status battery_parse(const char *file, const char *text, size_t n, struct battery *out, struct assay_error *err)
{
	struct yaml_node root = { 0 };
	struct battery battery = { 0 };
	enum assay_status st = yaml_parse(file, text, n, &root, err);

	if (!st)
		st = parse_root(file, &root, &battery, err);
	yaml_release(&root);
	*out = battery;
	if (st)
		battery_release(out);
	return st;
}

/* ---- built-in batteries and files ---- */

EMBED_FILE(battery_paper, ASSAY_SOURCE_DIRECTORY "/fingerprint/battery/paper.yaml");
EMBED_FILE(battery_quick, ASSAY_SOURCE_DIRECTORY "/fingerprint/battery/quick.yaml");

static const struct {
	const char *name, *file, *begin, *end;
} built_in[] = {
	{ "paper", "battery paper", battery_paper, battery_paper_end },
	{ "quick", "battery quick", battery_quick, battery_quick_end },
};

static bool is_file(const char *name)
{
	size_t n = strlen(name);

	return strchr(name, '/') || (n > 5 && strcmp(name + n - 5, ".yaml") == 0);
}

static enum assay_status open_file(const char *path, struct battery *out, struct assay_error *err)
{
	struct buf text = BUF_INIT;
	enum assay_status st = file_read_cached(path, YAML_BYTES_MAX, &text, err);

	if (!st)
		st = battery_parse(path, text.bytes ? text.bytes : "", text.size, out, err);
	buf_release(&text);
	return st;
}

enum assay_status battery_open(const char *name, struct battery *out, struct assay_error *err)
{
	const char *names[sizeof(built_in) / sizeof(built_in[0])];

	*out = (struct battery){ 0 };
	if (is_file(name))
		return open_file(name, out, err);
	for (size_t i = 0; i < sizeof(built_in) / sizeof(built_in[0]); i++) {
		names[i] = built_in[i].name;
		if (strcmp(built_in[i].name, name) == 0)
			return battery_parse(built_in[i].file, built_in[i].begin, (size_t)(built_in[i].end - built_in[i].begin), out, err);
	}
	return assay_fail(err, ASSAY_E_USAGE, "no battery '%s': there are quick and paper, and files (with a '/' or ending with .yaml)%s%s",
			  name, text_nearest(name, names, 2) ? "; did you mean " : "",
			  text_nearest(name, names, 2) ? text_nearest(name, names, 2) : "");
}
