#include "runs/running/plan.h"

#include "base/buf.h"
#include "base/clock.h"
#include "base/digest.h"
#include "base/mem.h"
#include "base/order.h"
#include "base/rng.h"
#include "base/text.h"

#include <inttypes.h>
#include <time.h>

/* Returns a random number generator seeded by the plan and the machine's id, so that other machines do not affect the order. */
static struct rng plan_machine_rng(const struct plan *plan, size_t machine)
{
	char *text = mem_format("%" PRIu64 "\n%s", plan->seed, plan->machines[machine]);
	char id[DIGEST_ID_BYTES];
	struct rng rng;

	digest_id(text, strlen(text), id);
	rng_seed(&rng, strtoull(id, NULL, 16));
	free(text);
	return rng;
}

static struct plan_cell *plan_add_round(const struct plan *plan, size_t input, const size_t *order, bool mirrored, int64_t repetition,
					struct plan_cell *to)
{
	size_t n = plan->n_versions;

	for (size_t i = 0; i < n; i++)
		*to++ = (struct plan_cell){ input, order[mirrored ? n - 1 - i : i], repetition };
	return to;
}

/* Adds the runs of one input. Repetitions 1 and 2 have one order and its reverse, 3 and 4 another order and its reverse, and so on. In each
 * complete block, a machine that slows down steadily affects all versions alike. */
static struct plan_cell *plan_add_input(const struct plan *plan, size_t input, struct rng *rng, size_t *order, struct plan_cell *to)
{
	rng_shuffle(rng, order, plan->n_versions);
	for (int64_t i = 0; i < plan->warm_ups; i++)
		to = plan_add_round(plan, input, order, false, -i, to);
	for (int64_t repetition = 1; repetition <= plan->repetitions; repetition++) {
		if (repetition % 2)
			rng_shuffle(rng, order, plan->n_versions);
		to = plan_add_round(plan, input, order, repetition % 2 == 0, repetition, to);
	}
	return to;
}

void plan_order(const struct plan *plan, size_t machine, struct plan_cell **out, size_t *n)
{
	size_t rounds = (size_t)(plan->warm_ups + plan->repetitions);
	struct plan_cell *cells, *to;
	size_t *order = mem_new(plan->n_versions, sizeof(*order));
	struct rng rng = plan_machine_rng(plan, machine);

	*n = plan->n_inputs * rounds * plan->n_versions;
	*out = to = cells = mem_new(*n, sizeof(*cells));
	for (size_t i = 0; i < plan->n_versions; i++)
		order[i] = i;
	for (size_t input = 0; input < plan->n_inputs; input++)
		to = plan_add_input(plan, input, &rng, order, to);
	ASSAY_BUG_IF(to != cells + *n);
	free(order);
}

/* A list of names that belongs to a plan, stored as rows of plan_item. */
struct plan_list {
	const char *kind;
	char ***names;
	size_t *n;
	char ***artefacts;   /* artefact of each name; NULL if the list has none */
	char **plain_builds; /* plain build of each name; NULL if the list has none */
};

#define LISTS 3

static void plan_get_lists(struct plan *plan, struct plan_list lists[LISTS])
{
	lists[0] = (struct plan_list){ "version", &plan->versions, &plan->n_versions, &plan->artefacts, plan->plain_builds };
	lists[1] = (struct plan_list){ "input", &plan->inputs, &plan->n_inputs, NULL, NULL };
	lists[2] = (struct plan_list){ "machine", &plan->machines, &plan->n_machines, NULL, NULL };
}

/* ---- storing a new plan ---- */

/* Sets the start to now. If a clock was wrong, sets it after all runs of the application, because the latest plan decides (run.h). */
static enum assay_status plan_find_start(struct store *store, struct plan *plan, struct assay_error *err)
{
	sqlite3_stmt *stmt = NULL;
	enum assay_status st = store_query(store, &stmt, err,
					   "SELECT max(p.started_ms, coalesce((SELECT max(e.taken_ms) FROM execution AS e WHERE e.plan = "
					   "p.id), 0)) AS last FROM plan AS p WHERE p.application = ? ORDER BY last DESC LIMIT 1",
					   "t", plan->application);

	plan->started_ms = clock_real_ms();
	if (store_next(store, stmt, &st, err) && sqlite3_column_int64(stmt, 0) >= plan->started_ms)
		plan->started_ms = sqlite3_column_int64(stmt, 0) + 1;
	return store_finalize(stmt, st);
}

/* Computes the plan's id. Includes nanoseconds: the id names a directory on hosts, and plans of two laboratories must differ in it. */
static void plan_identify(struct plan *plan)
{
	struct buf text = BUF_INIT;
	struct plan_list lists[LISTS];
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	buf_format(&text, "%s\n%s\n%" PRId64 "\n%" PRId64 "\n%" PRIu64 "\n%" PRId64 ".%09ld\n", plan->application, plan->manifest_hash,
		   plan->repetitions, plan->warm_ups, plan->seed, (int64_t)now.tv_sec, now.tv_nsec);
	plan_get_lists(plan, lists);
	for (int k = 0; k < LISTS; k++) {
		for (size_t i = 0; i < *lists[k].n; i++)
			buf_format(&text, "%s\n%s\n%s\n", lists[k].kind, (*lists[k].names)[i],
				   lists[k].artefacts ? (*lists[k].artefacts)[i] : "");
	}
	if (plan->probe)
		buf_text(&text, plan->probe);
	digest_id(text.bytes, text.size, plan->id);
	buf_release(&text);
}

static enum assay_status plan_insert_plan(struct store *store, const struct manifest *manifest, const struct plan *plan,
					  struct assay_error *err)
{
	return store_execute(store, err,
			     "INSERT INTO plan (id, application, manifest, manifest_hash, repetitions, warm_ups, seed, started_ms, probe) "
			     "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
			     "ttttiiiit", plan->id, plan->application, manifest->text, plan->manifest_hash, plan->repetitions,
			     plan->warm_ups, (int64_t)plan->seed, plan->started_ms, plan->probe);
}

static enum assay_status plan_insert_list(struct store *store, const struct plan *plan, const struct plan_list *list,
					  struct assay_error *err)
{
	enum assay_status st = ASSAY_OK;

	for (size_t i = 0; !st && i < *list->n; i++)
		st = store_execute(store, err,
				   "INSERT INTO plan_item (plan, kind, ordinal, name, artefact, plain) VALUES (?, ?, ?, ?, ?, ?)", "ttittt",
				   plan->id, list->kind, (int64_t)i, (*list->names)[i], list->artefacts ? (*list->artefacts)[i] : NULL,
				   list->plain_builds ? list->plain_builds[i] : NULL);
	return st;
}

enum assay_status plan_new(struct store *store, const struct manifest *manifest, struct plan *plan, struct assay_error *err)
{
	struct plan_list lists[LISTS];
	enum assay_status st;

	ASSAY_BUG_IF(!plan->n_versions || !plan->n_inputs || !plan->n_machines || plan->repetitions < 1 || plan->warm_ups < 0);
	memcpy(plan->manifest_hash, manifest->hash, sizeof(plan->manifest_hash));
	plan->complete = false;
	st = store_begin(store, err);
	if (!st)
		st = plan_find_start(store, plan, err);
	plan_identify(plan);
	plan_get_lists(plan, lists);
	if (!st)
		st = plan_insert_plan(store, manifest, plan, err);
	for (int k = 0; !st && k < LISTS; k++)
		st = plan_insert_list(store, plan, &lists[k], err);
	return store_end(store, st, err);
}

static void plan_add_item(struct plan_list *list, size_t *capacity, sqlite3_stmt *stmt)
{
	size_t had = *capacity;

	*list->names = mem_grow(*list->names, *list->n, capacity, sizeof(char *));
	if (list->artefacts && *capacity != had)
		*list->artefacts = mem_resize(*list->artefacts, *capacity, sizeof(char *));
	if (list->artefacts)
		(*list->artefacts)[*list->n] = mem_string(store_text(stmt, 1));
	(*list->names)[(*list->n)++] = mem_string(store_text(stmt, 0));
}

static enum assay_status plan_load_list(struct store *store, const struct plan *plan, struct plan_list *list, struct assay_error *err)
{
	sqlite3_stmt *stmt = NULL;
	size_t capacity = 0;
	enum assay_status st =
	    store_query(store, &stmt, err, "SELECT name, artefact FROM plan_item WHERE plan = ? AND kind = ? ORDER BY ordinal", "tt",
			plan->id, list->kind);

	while (store_next(store, stmt, &st, err)) {
		plan_add_item(list, &capacity, stmt);
	}
	sqlite3_finalize(stmt);
	if (!st && *list->n == 0)
		st = assay_fail(err, ASSAY_E_CORRUPT, "'%s' has a plan without a %s", store->path, list->kind);
	return st;
}

static void plan_load_row(sqlite3_stmt *stmt, const char *application, struct plan *plan)
{
	plan->application = mem_string(application);
	snprintf(plan->id, sizeof(plan->id), "%s", store_text(stmt, 0));
	snprintf(plan->manifest_hash, sizeof(plan->manifest_hash), "%s", store_text(stmt, 1));
	plan->repetitions = sqlite3_column_int64(stmt, 2);
	plan->warm_ups = sqlite3_column_int64(stmt, 3);
	plan->seed = (uint64_t)sqlite3_column_int64(stmt, 4);
	plan->started_ms = sqlite3_column_int64(stmt, 5);
	plan->level = store_double(stmt, 7);
	plan->complete = sqlite3_column_int(stmt, 8);
	plan->probe = sqlite3_column_type(stmt, 6) == SQLITE_NULL ? NULL : mem_string(store_text(stmt, 6));
}

#define PLAN_COLUMNS "SELECT id, manifest_hash, repetitions, warm_ups, seed, started_ms, probe, level, complete FROM plan "

/* Loads the plan from the first row of a query. If there is no row, fails with ASSAY_E_NOTFOUND and the text `missing`. */
static enum assay_status plan_load_first(struct store *store, sqlite3_stmt *stmt, enum assay_status st, const char *application,
					 const char *missing, struct plan *out, struct assay_error *err)
{
	struct plan plan = { .complete = false };
	struct plan_list lists[LISTS];

	if (store_next(store, stmt, &st, err))
		plan_load_row(stmt, application, &plan);
	else if (!st)
		st = assay_fail(err, ASSAY_E_NOTFOUND, "%s", missing);
	sqlite3_finalize(stmt);
	plan_get_lists(&plan, lists);
	for (int k = 0; !st && k < LISTS; k++)
		st = plan_load_list(store, &plan, &lists[k], err);
	*out = plan;
	if (st)
		plan_release(out);
	return st;
}

enum assay_status plan_find(struct store *store, const char *application, bool probe, const uint64_t *seed, struct plan *out,
			    struct assay_error *err)
{
	char *missing =
	    seed ? mem_string("no runs have this seed")
		 : mem_format("no %srun of '%s' was interrupted: there is nothing to resume", probe ? "instrumented " : "", application);
	sqlite3_stmt *stmt = NULL;
	enum assay_status st =
	    store_query(store, &stmt, err,
			PLAN_COLUMNS "WHERE application = ? AND (probe IS NOT NULL) = ? AND CASE WHEN ? THEN seed = ? ELSE "
				     "complete = 0 END ORDER BY started_ms DESC, id LIMIT 1",
			"tiii", application, (int64_t)probe, (int64_t)(seed != NULL), seed ? (int64_t)*seed : 0);

	st = plan_load_first(store, stmt, st, application, missing, out, err);
	free(missing);
	return st;
}

enum assay_status plan_mark_complete(struct store *store, const struct plan *plan, struct assay_error *err)
{
	return store_execute(store, err, "UPDATE plan SET complete = 1 WHERE id = ?", "t", plan->id);
}

enum assay_status plan_add_repetitions(struct store *store, const char *id, int64_t repetitions, double level, struct assay_error *err)
{
	return store_execute(
	    store, err,
	    "UPDATE plan SET complete = complete AND repetitions >= ?1, repetitions = max(repetitions, ?1), level = ?2 WHERE id = ?3",
	    "idt", repetitions, level, id);
}

void plan_release(struct plan *plan)
{
	struct plan_list lists[LISTS];

	plan_get_lists(plan, lists);
	for (int k = 0; k < LISTS; k++) {
		for (size_t i = 0; i < *lists[k].n; i++) {
			free((*lists[k].names)[i]);
			if (lists[k].artefacts)
				free((*lists[k].artefacts)[i]);
		}
		free(*lists[k].names);
	}
	mem_free_all(plan->plain_builds, plan->plain_builds ? plan->n_versions : 0);
	mem_free(plan->artefacts, plan->application, plan->probe);
	*plan = (struct plan){ .application = NULL };
}

/* Reads the metric from a stored manifest. All versions of a manifest have the same metric. */
static void direction_read_manifest(const char *text, struct plan_metric *out)
{
	struct manifest manifest = { .file = NULL };
	struct manifest_hashes terms;
	struct assay_error ignored;

	*out->hash = '\0';
	if (manifest_parse("plan", text, strlen(text), &manifest, &ignored) == ASSAY_OK) {
		manifest_hash_terms(&manifest, 0, 0, &terms);
		memcpy(out->hash, terms.metric, sizeof(out->hash));
		out->higher_is_better = terms.higher_is_better;
	}
	manifest_release(&manifest);
}

ORDER_BY(direction_compare_plans, struct plan_metric, BY_TEXT(plan))

enum assay_status plan_metrics_load(struct store *store, struct plan_metrics *out, struct assay_error *err)
{
	struct plan_metrics metrics = { NULL, 0 };
	char manifest_hash[DIGEST_HEX_BYTES] = "";
	sqlite3_stmt *stmt = NULL;
	size_t capacity = 0;
	enum assay_status st = store_prepare(
	    store, "SELECT id, started_ms, manifest_hash, manifest FROM plan WHERE probe IS NULL ORDER BY application, started_ms, id",
	    &stmt, err);

	while (store_next(store, stmt, &st, err)) {
		struct plan_metric *metric;

		metric = mem_append_slot(metrics.items, metrics.n, &capacity);
		*metric = metrics.n > 1 ? metrics.items[metrics.n - 2] : (struct plan_metric){ .plan = "" };
		if (strcmp(manifest_hash, store_text(stmt, 2)) != 0)
			direction_read_manifest(store_text(stmt, 3), metric);
		snprintf(manifest_hash, sizeof(manifest_hash), "%s", store_text(stmt, 2));
		snprintf(metric->plan, sizeof(metric->plan), "%s", store_text(stmt, 0));
		metric->started_ms = sqlite3_column_int64(stmt, 1);
	}
	sqlite3_finalize(stmt);
	order_sort(metrics.items, metrics.n, direction_compare_plans);
	*out = metrics;
	if (st)
		plan_metrics_release(out);
	return st;
}

void plan_metrics_release(struct plan_metrics *metrics)
{
	free(metrics->items);
	*metrics = (struct plan_metrics){ NULL, 0 };
}

const struct plan_metric *plan_metrics_find(const struct plan_metrics *metrics, const char *plan)
{
	const struct plan_metric *found;
	struct plan_metric key;

	snprintf(key.plan, sizeof(key.plan), "%s", plan);
	found = metrics->n ? bsearch(&key, metrics->items, metrics->n, sizeof(*metrics->items), direction_compare_plans) : NULL;
	return found && *found->hash ? found : NULL;
}
