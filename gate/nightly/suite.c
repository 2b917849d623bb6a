#include "gate/nightly/suite.h"

#include "base/file.h"
#include "base/mem.h"
#include "base/text.h"
#include "base/yaml.h"
#include "gate/nightly/why.h"

#include <time.h>

#define BUDGET_S     1200. /* default budget per comparison, s */
#define WAIT_S	     600.
#define MACHINES_MAX 10000
#define EFFECT_LEAST 1e-6
#define DAYS_MAX     36500

struct suite_reader {
	const char *name;
	struct assay_error *err;
};

static enum assay_status read_text(const struct suite_reader *r, const struct yaml_node *node, char **out)
{
	const char *text = NULL;
	enum assay_status st = yaml_string(r->name, node, &text, r->err);

	if (st)
		return st;
	if (!*text)
		return assay_fail(r->err, ASSAY_E_FORMAT, "%s:%zu: '%s' is empty", r->name, node->line, node->key ? node->key : "it");
	free(*out);
	*out = mem_string(text);
	return ASSAY_OK;
}

static enum assay_status read_span(const struct suite_reader *r, const struct yaml_node *node, double *out)
{
	const char *text = NULL;
	enum assay_status st = yaml_string(r->name, node, &text, r->err);

	if (!st && !text_parse_duration(text, out))
		st =
		    assay_fail(r->err, ASSAY_E_FORMAT, "%s:%zu: '%s' must be a time such as 90s, 20m or 8h (a number is seconds), not '%s'",
			       r->name, node->line, node->key, TEXT_SANITIZED(text));
	return st;
}

/* Reads one name or a list of names. */
static enum assay_status read_names(const struct suite_reader *r, const struct yaml_node *node, struct manifest_arguments *out)
{
	bool list = node->kind == YAML_LIST;
	enum assay_status st = ASSAY_OK;

	if (list && (node->n_items == 0 || node->n_items > MANIFEST_ARGUMENTS_MAX))
		return assay_fail(r->err, ASSAY_E_FORMAT, "%s:%zu: '%s' must name 1 to %d", r->name, node->line, node->key,
				  MANIFEST_ARGUMENTS_MAX);
	for (size_t i = 0; !st && i < (list ? node->n_items : 1); i++) {
		char *text = NULL;

		st = read_text(r, list ? &node->items[i] : node, &text);
		if (!st)
			manifest_arguments_add(out, text);
		free(text);
	}
	return st;
}

/* Reads one name or a list of distinct names. */
static enum assay_status read_different(const struct suite_reader *r, const struct yaml_node *node, struct manifest_arguments *out)
{
	enum assay_status st = read_names(r, node, out);

	for (size_t i = 1; !st && i < out->n; i++) {
		for (size_t k = 0; !st && k < i; k++) {
			if (strcmp(out->items[k], out->items[i]) == 0)
				st = assay_fail(r->err, ASSAY_E_FORMAT, "%s:%zu: '%s' is twice in '%s'", r->name, node->items[i].line,
						TEXT_SANITIZED(out->items[i]), node->key);
		}
	}
	return st;
}

/* Reads a deadline: a time of day such as "06:30", or a duration after the start of the night. */
static enum assay_status read_deadline(const struct suite_reader *r, const struct yaml_node *node, struct suite *out)
{
	const char *text = NULL;
	enum assay_status st = yaml_string(r->name, node, &text, r->err);
	int64_t hour = -1, minute = -1;
	const char *colon;

	if (st)
		return st;
	colon = strchr(text, ':');
	if (!colon && text_parse_duration(text, &out->deadline_s))
		return ASSAY_OK;
	if (colon && colon > text && colon - text <= 2 && strlen(colon) == 3) {
		char *hours = mem_bytes(text, (size_t)(colon - text));
		bool ok = text_parse_int64(hours, &hour) && text_parse_int64(colon + 1, &minute) && hour >= 0 && hour < 24 && minute >= 0 &&
			  minute < 60;

		free(hours);
		out->deadline_minute = ok ? (int)(60 * hour + minute) : -1;
		if (ok)
			return ASSAY_OK;
	}
	return assay_fail(r->err, ASSAY_E_FORMAT,
			  "%s:%zu: 'deadline' must be a time of the day such as 06:30, or a time such as 8h (a number is seconds), at most "
			  "a year, not '%s'",
			  r->name, node->line, TEXT_SANITIZED(text));
}

/* Reads the smallest effect: one number, or a map with one number per direction (slower, faster). */
static enum assay_status read_min_effect(const struct suite_reader *r, const struct yaml_node *node, struct suite_entry *e)
{
	static const char *const keys[] = { "slower", "faster" };
	double *const to[] = { &e->min_effect, &e->min_gain };
	enum assay_status st = ASSAY_OK;

	if (node->kind != YAML_MAP)
		return yaml_double(r->name, node, EFFECT_LEAST, 1, &e->min_effect, r->err);
	st = yaml_check_keys(r->name, node, "'min_effect'", keys, 2, r->err);
	for (int i = 0; !st && i < 2; i++) {
		const struct yaml_node *given = yaml_get(node, keys[i]);

		if (given)
			st = yaml_double(r->name, given, EFFECT_LEAST, 1, to[i], r->err);
	}
	return st;
}

static enum assay_status read_entry(const struct suite_reader *r, const struct yaml_node *map, double budget_s, struct suite_entry *e)
{
	static const char *const keys[] = { "application", "candidates", "against", "inputs", "hosts", "min_effect", "budget" };
	const struct yaml_node *node;
	enum assay_status st = yaml_check_keys(r->name, map, "a comparison", keys, sizeof(keys) / sizeof(keys[0]), r->err);

	*e = (struct suite_entry){ .line = map->line, .budget_s = budget_s };
	if (!st && !(node = yaml_get(map, "application")))
		st = assay_fail(r->err, ASSAY_E_FORMAT, "%s:%zu: a comparison needs 'application', a name of apps/ or a pattern", r->name,
				map->line);
	else if (!st)
		st = read_text(r, node, &e->application);
	if (!st && (node = yaml_get(map, "candidates")))
		st = read_different(r, node, &e->candidates);
	if (!st && (node = yaml_get(map, "against")))
		st = read_different(r, node, &e->baseline_kind);
	else if (!st) {
		manifest_arguments_add(&e->baseline_kind, SUITE_ACCEPTED);
		manifest_arguments_add(&e->baseline_kind, SUITE_PREVIOUS);
	}
	if (!st && (node = yaml_get(map, "inputs")))
		st = read_different(r, node, &e->inputs);
	if (!st && (node = yaml_get(map, "hosts")))
		st = read_text(r, node, &e->hosts);
	if (!st && (node = yaml_get(map, "min_effect")))
		st = read_min_effect(r, node, e);
	if (!st && (node = yaml_get(map, "budget")))
		st = read_span(r, node, &e->budget_s);
	return st;
}

static enum assay_status read_entries(const struct suite_reader *r, const struct yaml_node *root, double budget_s, struct suite *out)
{
	const struct yaml_node *list = yaml_get(root, "comparisons");
	const char *wrong = !list				? "is missing"
			    : list->kind != YAML_LIST		? "is not a list"
			    : list->n_items == 0		? "is empty, so that nothing would be compared"
			    : list->n_items > SUITE_ENTRIES_MAX ? "is too long"
								: NULL;
	enum assay_status st = ASSAY_OK;

	if (wrong)
		return assay_fail(r->err, ASSAY_E_FORMAT,
				  "%s:%zu: 'comparisons' %s: list 1 to %d comparisons for every night, such as [{application: '*', "
				  "against: [accepted, previous]}]",
				  r->name, list ? list->line : root->line, wrong, SUITE_ENTRIES_MAX);
	out->entries = mem_new(list->n_items, sizeof(*out->entries));
	while (!st && out->n < list->n_items) {
		st = read_entry(r, &list->items[out->n], budget_s, &out->entries[out->n]);
		out->n++;
	}
	return st;
}

static enum assay_status read_fingerprints(const struct suite_reader *r, const struct yaml_node *map, struct suite *out)
{
	static const char *const keys[] = { "battery", "max_age_days" };
	const struct yaml_node *node;
	enum assay_status st = yaml_check_keys(r->name, map, "'fingerprints'", keys, sizeof(keys) / sizeof(keys[0]), r->err);

	if (!st && (node = yaml_get(map, "battery"))) {
		out->battery_line = node->line;
		st = read_text(r, node, &out->battery);
	}
	if (!st && (node = yaml_get(map, "max_age_days")))
		st = yaml_double(r->name, node, 1e-3, DAYS_MAX, &out->max_age_days, r->err);
	return st;
}

static enum assay_status read_confirm(const struct suite_reader *r, const struct yaml_node *map, struct suite *out)
{
	static const char *const keys[] = { "fresh_runs", "machines", "control" };
	const struct yaml_node *node;
	enum assay_status st = yaml_check_keys(r->name, map, "'confirm'", keys, sizeof(keys) / sizeof(keys[0]), r->err);

	if (!st && (node = yaml_get(map, "fresh_runs")))
		st = yaml_bool(r->name, node, &out->confirm, r->err);
	if (!st && (node = yaml_get(map, "machines")))
		st = yaml_int(r->name, node, 1, MACHINES_MAX, &out->machines, r->err);
	if (!st && (node = yaml_get(map, "control")))
		st = yaml_bool(r->name, node, &out->control, r->err);
	return st;
}

/* Reads the time limit for measuring functions. "off" gives 0. */
static enum assay_status read_explain_time(const struct suite_reader *r, const struct yaml_node *node, double *seconds)
{
	const char *text = NULL;
	enum assay_status st = yaml_string(r->name, node, &text, r->err);

	if (!st && strcmp(text, "off") != 0)
		return read_span(r, node, seconds);
	*seconds = 0;
	return st;
}

static enum assay_status read_suite(const struct suite_reader *r, const struct yaml_node *root, struct suite *out)
{
	static const char *const keys[] = { "comparisons", "releases", "budget", "deadline", "fingerprints",
					    "wait",	   "confirm",  "hook",	 "pages",    "why" };
	const struct yaml_node *node;
	double budget_s = BUDGET_S;
	enum assay_status st = yaml_check_keys(r->name, root, "a suite", keys, sizeof(keys) / sizeof(keys[0]), r->err);

	if (!st && (node = yaml_get(root, "releases")))
		st = read_text(r, node, &out->releases);
	if (!st && (node = yaml_get(root, "budget")))
		st = read_span(r, node, &budget_s);
	if (!st && (node = yaml_get(root, "deadline")))
		st = read_deadline(r, node, out);
	if (!st && (node = yaml_get(root, "fingerprints")))
		st = read_fingerprints(r, node, out);
	if (!st && (node = yaml_get(root, "wait")))
		st = read_span(r, node, &out->wait_s);
	if (!st && (node = yaml_get(root, "why")))
		st = read_explain_time(r, node, &out->explanation_s);
	if (!st && (node = yaml_get(root, "confirm")))
		st = read_confirm(r, node, out);
	if (!st && (node = yaml_get(root, "hook")))
		st = read_names(r, node, &out->hook);
	if (!st && (node = yaml_get(root, "pages")))
		st = read_text(r, node, &out->pages);
	return st ? st : read_entries(r, root, budget_s, out);
}

enum assay_status suite_parse(const char *name, const char *text, size_t n, struct suite *out, struct assay_error *err)
{
	const struct suite_reader r = { name, err };
	struct suite suite = { .releases = mem_string("v*"),
			       .battery = mem_string("quick"),
			       .deadline_minute = -1,
			       .wait_s = WAIT_S,
			       .explanation_s = EXPLANATION_BUDGET_S,
			       .confirm = true,
			       .machines = 1 };
	struct yaml_node root = { 0 };
	enum assay_status st = yaml_parse(name, text, n, &root, err);

	if (!st)
		st = read_suite(&r, &root, &suite);
	yaml_release(&root);
	*out = suite;
	if (st)
		suite_release(out);
	return st;
}

enum assay_status suite_read(const char *laboratory, struct suite *out, char **text, struct assay_error *err)
{
	char *path = mem_format("%s/" SUITE_FILE, laboratory);
	struct buf bytes = BUF_INIT;
	enum assay_status st = file_read_cached(path, YAML_BYTES_MAX, &bytes, err);

	*out = (struct suite){ .entries = NULL };
	if (st == ASSAY_E_NOTFOUND)
		st = assay_fail(
		    err, ASSAY_E_NOTFOUND,
		    "'%s' does not exist: it lists the comparisons of every night, at least \"comparisons: [{application: '*'}]\"", path);
	*text = mem_bytes(bytes.bytes ? bytes.bytes : "", bytes.size);
	if (!st)
		st = suite_parse(path, *text, bytes.size, out, err);
	buf_release(&bytes);
	free(path);
	return st;
}

void suite_release(struct suite *suite)
{
	for (size_t i = 0; i < suite->n; i++) {
		struct suite_entry *e = &suite->entries[i];

		mem_free(e->application, e->hosts);
		manifest_arguments_release(&e->candidates);
		manifest_arguments_release(&e->baseline_kind);
		manifest_arguments_release(&e->inputs);
	}
	free(suite->entries);
	manifest_arguments_release(&suite->hook);
	mem_free(suite->pages, suite->releases, suite->battery);
	*suite = (struct suite){ .entries = NULL };
}

int64_t suite_deadline_ms(const struct suite *suite, int64_t now_ms)
{
	time_t now = (time_t)(now_ms / 1000);
	struct tm day;
	time_t at;

	if (suite->deadline_s > 0)
		return now_ms + (int64_t)(suite->deadline_s * 1000);
	if (suite->deadline_minute < 0 || !localtime_r(&now, &day))
		return 0;
	day.tm_hour = suite->deadline_minute / 60;
	day.tm_min = suite->deadline_minute % 60;
	day.tm_sec = 0;
	day.tm_isdst = -1;
	at = mktime(&day);
	if (at <= now) {
		day.tm_mday++; /* mktime() handles the end of the month and daylight saving time */
		day.tm_isdst = -1;
		at = mktime(&day);
	}
	return (int64_t)at * 1000;
}
