#include "gate/nightly/baselines.h"

#include "base/file.h"
#include "base/mem.h"
#include "base/text.h"
#include "base/yaml.h"
#include "runs/running/run.h"

#include <stdlib.h>
#include <string.h>

static enum assay_status read_string(const char *name, const struct yaml_node *map, const char *key, char **out, struct assay_error *err)
{
	const struct yaml_node *node = yaml_get(map, key);
	const char *text;
	enum assay_status st;

	if (!node)
		return assay_fail(err, ASSAY_E_FORMAT, "%s:%zu: the baseline has no '%s'", name, map->line, key);
	st = yaml_string(name, node, &text, err);
	if (!st)
		*out = mem_string(text);
	return st;
}

static enum assay_status read_day(const char *name, const struct yaml_node *map, const char *key, int64_t *ms, struct assay_error *err)
{
	const struct yaml_node *node = yaml_get(map, key);
	const char *text;
	struct assay_error why;
	enum assay_status st = node ? yaml_string(name, node, &text, err) : ASSAY_OK;

	if (!st && node && text_parse_day(text, ms, &why))
		return assay_fail(err, ASSAY_E_FORMAT, "%s:%zu: %s", name, node->line, why.text);
	return st;
}

static enum assay_status baseline_read(const char *name, const struct yaml_node *map, struct baseline *out, struct assay_error *err)
{
	static const char *const keys[] = { "application", "version", "accepted", "until", "reason" };
	int64_t until = INT64_MAX;
	enum assay_status st = yaml_check_keys(name, map, "baseline", keys, sizeof(keys) / sizeof(keys[0]), err);

	out->line = map->line;
	if (!st)
		st = read_string(name, map, "application", &out->application, err);
	if (!st)
		st = read_string(name, map, "version", &out->version, err);
	if (!st)
		st = read_string(name, map, "reason", &out->reason, err);
	if (!st && (run_name_fault(out->application) || run_name_fault(out->version)))
		st = assay_fail(err, ASSAY_E_FORMAT, "%s:%zu: not a valid name of an application or version", name, map->line);
	if (!st)
		st = read_day(name, map, "accepted", &out->accepted_ms, err);
	if (!st)
		st = read_day(name, map, "until", &until, err);
	out->until_ms = until < INT64_MAX ? until + BASELINES_DAY_MS : until;
	return st;
}

enum assay_status baselines_parse(const char *name, const char *text, size_t n, struct baselines *out, struct assay_error *err)
{
	static const char *const keys[] = { "baselines" };
	struct yaml_node root = { 0 };
	const struct yaml_node *list = NULL;
	enum assay_status st = yaml_parse(name, text, n, &root, err);

	*out = (struct baselines){ 0 };
	if (!st)
		st = yaml_check_keys(name, &root, "file", keys, 1, err);
	if (!st)
		list = yaml_get(&root, "baselines");
	if (list)
		st = yaml_require_list(name, list, err);
	if (!st && list)
		out->items = mem_new(list->n_items + 1, sizeof(*out->items));
	for (size_t i = 0; !st && list && i < list->n_items; i++) {
		out->n++;
		st = baseline_read(name, &list->items[i], &out->items[i], err);
	}
	yaml_release(&root);
	if (st)
		baselines_release(out);
	return st;
}

enum assay_status baselines_read(const char *laboratory, struct baselines *out, struct assay_error *err)
{
	char *path = mem_format("%s/" BASELINES_FILE, laboratory);
	struct buf text = BUF_INIT;
	enum assay_status st = file_read_cached(path, YAML_BYTES_MAX, &text, err);

	*out = (struct baselines){ 0 };
	if (!st)
		st = baselines_parse(path, text.bytes ? text.bytes : "", text.size, out, err);
	else if (st == ASSAY_E_NOTFOUND)
		st = ASSAY_OK;
	buf_release(&text);
	free(path);
	return st;
}

void baselines_release(struct baselines *baselines)
{
	for (size_t i = 0; i < baselines->n; i++)
		mem_free(baselines->items[i].application, baselines->items[i].version, baselines->items[i].reason);
	free(baselines->items);
	*baselines = (struct baselines){ 0 };
}

const struct baseline *baselines_find(const struct baselines *baselines, const char *application, int64_t now_ms)
{
	const struct baseline *of_all = NULL;
	size_t stem = strcspn(application, "/");

	for (size_t i = baselines->n; i > 0; i--) {
		const struct baseline *b = &baselines->items[i - 1];

		if (now_ms >= b->until_ms)
			continue;
		if (strcmp(b->application, application) == 0)
			return b;
		if (!of_all && strlen(b->application) == stem && strncmp(b->application, application, stem) == 0)
			of_all = b;
	}
	return of_all;
}

const struct baseline *baselines_find_expired(const struct baselines *baselines, const char *application, int64_t now_ms)
{
	const struct baseline *latest = baselines_find(baselines, application, INT64_MIN);
	const struct baseline *counts = baselines_find(baselines, application, now_ms);

	return latest && (!counts || latest > counts) ? latest : NULL; /* both pointers point into the same array */
}

char *baselines_expired_text(const struct baseline *b)
{
	return mem_format("'%s' expired on %.10s", b->version, TEXT_DATE(b->until_ms - BASELINES_DAY_MS));
}

char *baselines_text(const struct baseline *b, const struct baseline *expired)
{
	char *later = expired ? baselines_expired_text(expired) : NULL;
	char *text = mem_format("accepted on %.10s%s%.10s: %s%s%s", TEXT_DATE(b->accepted_ms), b->until_ms < INT64_MAX ? ", until " : "",
				b->until_ms < INT64_MAX ? TEXT_DATE(b->until_ms - BASELINES_DAY_MS) : "", b->reason,
				later ? "; accepted later, " : "", later ? later : "");

	free(later);
	return text;
}
