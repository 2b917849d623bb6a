#include "runs/running/metric_rule.h"

#include "base/mem.h"

#include <fnmatch.h>

static const char *const built_in[] = { "stream/*", "fio/*" };

static void append(struct metric_rules *rules, const char *glob, bool higher_is_better)
{
	rules->items = mem_grow(rules->items, rules->n, &rules->capacity, sizeof(*rules->items));
	rules->items[rules->n++] = (struct metric_rule){ mem_string(glob), higher_is_better };
}

enum assay_status metric_rules_load(struct store *store, struct metric_rules *out, struct assay_error *err)
{
	struct metric_rules rules = { 0 };
	sqlite3_stmt *stmt = NULL;
	bool row = true;
	enum assay_status st = store_prepare(store, "SELECT glob, higher_is_better FROM metric_rule ORDER BY id", &stmt, err);

	for (size_t i = 0; i < sizeof(built_in) / sizeof(built_in[0]); i++)
		append(&rules, built_in[i], true);
	while (!st) {
		st = store_step(store, stmt, &row, err);
		if (st || !row)
			break;
		append(&rules, store_text(stmt, 0), sqlite3_column_int(stmt, 1) != 0);
	}
	sqlite3_finalize(stmt);
	*out = rules;
	if (st)
		metric_rules_release(out);
	return st;
}

void metric_rules_release(struct metric_rules *rules)
{
	for (size_t i = 0; i < rules->n; i++)
		free(rules->items[i].glob);
	free(rules->items);
	*rules = (struct metric_rules){ 0 };
}

bool metric_rules_higher_is_better(const struct metric_rules *rules, const char *application)
{
	for (size_t i = rules->n; i > 0; i--) {
		if (fnmatch(rules->items[i - 1].glob, application, 0) == 0)
			return rules->items[i - 1].higher_is_better;
	}
	return false;
}

bool metric_rules_granted(const char *application)
{
	bool higher = false;

	for (size_t i = 0; i < sizeof(built_in) / sizeof(built_in[0]); i++)
		higher = higher || fnmatch(built_in[i], application, 0) == 0;
	return higher;
}

enum assay_status metric_rule_put(struct store *store, const char *glob, bool higher_is_better, struct assay_error *err)
{
	static const char *const statements[] = {
		"DELETE FROM metric_rule WHERE glob = ?",
		"INSERT INTO metric_rule (glob, higher_is_better) VALUES (?, ?)",
	};
	enum assay_status st = ASSAY_OK;

	for (int i = 0; !st && i < 2; i++) {
		sqlite3_stmt *stmt = NULL;
		bool row;

		st = store_prepare(store, statements[i], &stmt, err);
		if (!st) {
			store_bind(stmt, i ? "ti" : "t", glob, (int64_t)higher_is_better);
			st = store_step(store, stmt, &row, err);
		}
		sqlite3_finalize(stmt);
	}
	return st;
}

/* A name as a pattern that only it matches. */
static char *exact_glob(const char *name)
{
	char *glob = mem_new(2 * strlen(name) + 1, 1), *to = glob;

	for (; *name; name++) {
		if (strchr("*?[]\\", *name))
			*to++ = '\\';
		*to++ = *name;
	}
	return glob;
}

enum assay_status metric_rule_put_name(struct store *store, const char *application, bool higher_is_better, struct assay_error *err)
{
	struct metric_rules rules = { 0 };
	char *glob = exact_glob(application);
	enum assay_status st = metric_rules_load(store, &rules, err);

	if (!st && metric_rules_higher_is_better(&rules, application) != higher_is_better)
		st = metric_rule_put(store, glob, higher_is_better, err);
	metric_rules_release(&rules);
	free(glob);
	return st;
}
