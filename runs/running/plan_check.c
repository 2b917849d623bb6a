/* What has changed since a plan began. */
#include "base/buf.h"
#include "base/mem.h"
#include "runs/running/plan.h"

static bool same_words(const struct manifest_words *a, const struct manifest_words *b)
{
	bool same = a->n == b->n;

	for (size_t i = 0; same && i < a->n; i++)
		same = strcmp(a->items[i], b->items[i]) == 0;
	return same;
}

static bool same_text(const char *a, const char *b)
{
	return a == b || (a && b && strcmp(a, b) == 0);
}

static bool same_version(const struct manifest_version *a, const struct manifest_version *b)
{
	return a->kind == b->kind && same_text(a->directory, b->directory) && same_text(a->repository, b->repository) &&
	       same_text(a->reference, b->reference) && same_words(&a->build, &b->build) && same_words(&a->command, &b->command) &&
	       same_words(&a->environment, &b->environment);
}

static bool same_metric(const struct metric *a, const struct metric *b)
{
	return a->source == b->source && same_text(a->pattern, b->pattern) && same_text(a->name, b->name) && a->cpu_time == b->cpu_time &&
	       a->higher_is_better == b->higher_is_better;
}

static void add(struct buf *list, bool same, const char *what, const char *name)
{
	if (!same)
		buf_format(list, "%s%s%s%s%s", list->size ? ", " : "", what, *name ? " '" : "", name, *name ? "'" : "");
}

/* Of results nobody wants to know what their probe would be. */
static bool same_probe(const struct plan *plan, const struct manifest *now)
{
	char *text = plan->probe && now->probe.given ? manifest_probe_text(&now->probe) : NULL;
	bool same = !plan->probe || same_text(plan->probe, text);

	free(text);
	return same;
}

/* Of what the plan is about. */
static void compare(const struct plan *plan, const struct manifest *before, const struct manifest *now, struct buf *list)
{
	add(list, same_words(&before->command, &now->command), "the command", "");
	add(list, same_words(&before->environment, &now->environment), "the environment", "");
	add(list, same_words(&before->files, &now->files), "the list of files", "");
	add(list, same_metric(&before->metric, &now->metric), "the metric", "");
	add(list, before->time_limit_ms == now->time_limit_ms, "the time limit", "");
	add(list, same_text(before->work, now->work), "the directory on the hosts", "");
	add(list, same_probe(plan, now), "the probe", "");
	for (size_t i = 0; i < plan->n_versions; i++) {
		size_t a = manifest_find_version(before, plan->versions[i]), b = manifest_find_version(now, plan->versions[i]);

		add(list, a != SIZE_MAX && b != SIZE_MAX && same_version(&before->versions[a], &now->versions[b]), "version", plan->versions[i]);
	}
	for (size_t i = 0; i < plan->n_inputs; i++) {
		size_t a = manifest_find_input(before, plan->inputs[i]), b = manifest_find_input(now, plan->inputs[i]);

		add(list, a != SIZE_MAX && b != SIZE_MAX && same_words(&before->inputs[a].arguments, &now->inputs[b].arguments) &&
		    same_words(&before->inputs[a].environment, &now->inputs[b].environment),
		    *plan->inputs[i] ? "input" : "the inputs", plan->inputs[i]);
	}
}

static enum assay_status load_text(struct store *store, const struct plan *plan, char **out, struct assay_error *err)
{
	sqlite3_stmt *stmt = NULL;
	bool row = false;
	enum assay_status st = store_prepare(store, "SELECT manifest FROM plan WHERE id = ?", &stmt, err);

	if (!st) {
		store_bind(stmt, "t", plan->id);
		st = store_step(store, stmt, &row, err);
	}
	if (!st)
		*out = mem_string(row ? store_text(stmt, 0) : "");
	sqlite3_finalize(stmt);
	return st;
}

enum assay_status plan_check(struct store *store, const struct plan *plan, const struct manifest *manifest, struct assay_error *err)
{
	struct manifest before = { .file = NULL };
	struct buf list = BUF_INIT;
	char *text = NULL;
	enum assay_status st;

	if (strcmp(plan->manifest_hash, manifest->hash) == 0 && same_probe(plan, manifest))
		return ASSAY_OK;
	st = load_text(store, plan, &text, err);
	if (!st && manifest_parse(manifest->file, text, strlen(text), &before, err) == ASSAY_OK)
		compare(plan, &before, manifest, &list);
	if (!st)
		st = assay_fail(err, ASSAY_E_CONFLICT, "'%s' has changed since these runs began (%s): restore it, or begin anew without --resume",
				manifest->file, list.size ? list.bytes : "versions or inputs that are not among these runs");
	manifest_release(&before);
	buf_release(&list);
	free(text);
	return st;
}

enum assay_status plan_check_artefacts(const struct plan *plan, char *const *artefacts, struct assay_error *err)
{
	struct buf list = BUF_INIT;
	enum assay_status st = ASSAY_OK;

	for (size_t i = 0; i < plan->n_versions; i++)
		add(&list, strcmp(plan->artefacts[i], artefacts[i]) == 0, "version", plan->versions[i]);
	if (list.size)
		st = assay_fail(err, ASSAY_E_CONFLICT, "the files that are deployed have changed since these runs began (%s): restore them, or begin "
				"anew without --resume", list.bytes);
	buf_release(&list);
	return st;
}
