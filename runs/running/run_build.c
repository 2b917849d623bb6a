#include "runs/running/run_build.h"

#include "base/digest.h"
#include "base/mem.h"
#include "base/order.h"
#include "runs/running/manifest.h"
#include "runs/running/stack.h"

enum { PLAN, HASH, ARTEFACT, INPUT, STARTED, PLANNED, TEXT, LEVEL };

static const char select_plans[] =
    "SELECT p.id, p.manifest_hash, v.artefact, i.name, p.started_ms, p.repetitions * (SELECT count(*) FROM plan_item AS m WHERE m.plan = "
    "p.id AND m.kind = 'machine'), p.manifest, p.level FROM plan AS p JOIN plan_item AS v ON v.plan = p.id AND v.kind = 'version' AND "
    "v.name = ?2 JOIN plan_item AS i ON i.plan = p.id AND i.kind = 'input' WHERE p.probe IS NULL AND p.application || CASE i.name WHEN '' "
    "THEN '' ELSE '/' || i.name END = ?1 ORDER BY p.started_ms, p.id";

/* What the manifest that is kept with a plan says of one of its versions: a hash. terms: may be NULL; with it the hash is with
 * the metric. Where this program cannot read the manifest any more, both stay as they are. */
static void run_hash_manifest(const char *text, const char *version, const char *input, struct manifest_terms *terms,
			      char hex[DIGEST_HEX_BYTES])
{
	struct manifest manifest = { .file = NULL };
	size_t v = SIZE_MAX, i = SIZE_MAX;
	struct assay_error ignored;

	if (manifest_parse("plan", text, strlen(text), &manifest, &ignored) == ASSAY_OK) {
		manifest_derive(&manifest, version);
		v = manifest_find_version(&manifest, version);
		i = manifest_find_input(&manifest, input);
	}
	if (v != SIZE_MAX && i != SIZE_MAX) {
		manifest_hash_run(&manifest, v, i, terms != NULL, hex);
		if (terms)
			manifest_terms_of(&manifest, v, i, terms);
	}
	manifest_release(&manifest);
}

static void run_identify(sqlite3_stmt *stmt, const char *run_hash, struct run_build *out)
{
	char *all = mem_format("%s\n%s\n", store_text(stmt, ARTEFACT), run_hash);
	char hex[DIGEST_HEX_BYTES];

	digest_sha256(all, strlen(all), hex);
	snprintf(out->id, sizeof(out->id), "%.*s", DIGEST_ID_BYTES - 1, hex);
	free(all);
}

ORDER_BY(run_compare_plans, struct run_build, BY_TEXT(plan))

enum assay_status run_builds_load(struct store *store, const char *application, const char *version, struct run_builds *out,
				  struct assay_error *err)
{
	struct run_builds builds = { NULL, 0 };
	struct manifest_terms terms = { .metric = "" };
	char manifest[DIGEST_HEX_BYTES] = "", run_hash[DIGEST_HEX_BYTES] = "";
	sqlite3_stmt *stmt = NULL;
	size_t capacity = 0;
	enum assay_status st = store_ask(store, &stmt, err, select_plans, "tt", application, version);

	while (store_next(store, stmt, &st, err)) {
		struct run_build *build;

		if (strcmp(manifest, store_text(stmt, HASH)) != 0) {
			snprintf(manifest, sizeof(manifest), "%s", store_text(stmt, HASH));
			snprintf(run_hash, sizeof(run_hash), "%s", manifest); /* where nothing better is known */
			terms = (struct manifest_terms){ .metric = "" };
			run_hash_manifest(store_text(stmt, TEXT), version, store_text(stmt, INPUT), &terms, run_hash);
		}
		build = mem_next(builds.items, builds.n, &capacity);
		*build = (struct run_build){ .last_ms = sqlite3_column_int64(stmt, STARTED),
					     .planned = (size_t)sqlite3_column_int64(stmt, PLANNED),
					     .level = store_double(stmt, LEVEL),
					     .terms = terms };
		snprintf(build->plan, sizeof(build->plan), "%s", store_text(stmt, PLAN));
		run_identify(stmt, run_hash, build);
	}
	sqlite3_finalize(stmt);
	order_sort(builds.items, builds.n, run_compare_plans);
	*out = builds;
	if (st)
		run_builds_release(out);
	return st;
}

void run_builds_release(struct run_builds *builds)
{
	free(builds->items);
	*builds = (struct run_builds){ NULL, 0 };
}

struct run_build *run_builds_find(const struct run_builds *builds, const char *plan)
{
	struct run_build key;

	snprintf(key.plan, sizeof(key.plan), "%s", plan);
	return builds->n ? bsearch(&key, builds->items, builds->n, sizeof(*builds->items), run_compare_plans) : NULL;
}

const struct run_build *run_builds_latest(const struct run_builds *builds)
{
	const struct run_build *latest = NULL;

	for (size_t i = 0; i < builds->n; i++) {
		if (!latest || builds->items[i].last_ms > latest->last_ms)
			latest = &builds->items[i];
	}
	return latest;
}

/* ---- plans that need not be of results ---- */

/* What is known of a run of the version: what was deployed for it, and how it was run; "" where that is not known. */
struct ran {
	char *deployed;
	char hash[DIGEST_HEX_BYTES];
};

static enum assay_status ran_load(struct store *store, const char *plan, const char *version, const char *input, struct ran *out,
				  struct assay_error *err)
{
	sqlite3_stmt *stmt = NULL;
	enum assay_status st = store_ask(store, &stmt, err, "SELECT manifest FROM plan WHERE id = ?", "t", plan);

	*out = (struct ran){ .deployed = NULL };
	if (store_next(store, stmt, &st, err))
		run_hash_manifest(store_text(stmt, 0), version, input, NULL, out->hash);
	sqlite3_finalize(stmt);
	return st ? st : stack_deployed(store, plan, version, &out->deployed, err);
}

/* For two plans, with a probe or without: is it known that they ran something different for the version with this input (other programs
 * or libraries deployed, another command, environment or arguments)? What is not known does not count as a difference. */
static enum assay_status run_plans_differ(struct store *store, const char *const plans[2], const char *version, const char *input,
					  bool *out, struct assay_error *err)
{
	struct ran ran[2] = { { .deployed = NULL }, { .deployed = NULL } };
	enum assay_status st = ASSAY_OK;

	*out = false;
	if (strcmp(plans[0], plans[1]) == 0)
		return ASSAY_OK;
	for (int i = 0; i < 2 && !st; i++)
		st = ran_load(store, plans[i], version, input, &ran[i], err);
	if (!st)
		*out = (*ran[0].deployed && *ran[1].deployed && strcmp(ran[0].deployed, ran[1].deployed) != 0) ||
		       (*ran[0].hash && *ran[1].hash && strcmp(ran[0].hash, ran[1].hash) != 0);
	mem_free(ran[0].deployed, ran[1].deployed);
	return st;
}

/* ---- sample files ---- */

static bool build_same_plan(const struct sample_file *a, const struct sample_file *b)
{
	return strcmp(a->plan, b->plan) == 0 && strcmp(a->input, b->input) == 0 && strcmp(a->version, b->version) == 0;
}

/* *out: is it known to differ from what the latest plan with results ran? */
static enum assay_status build_differs_from_results(struct store *store, const struct sample_file *file, bool *out, struct assay_error *err)
{
	struct run_builds builds;
	const struct run_build *latest;
	enum assay_status st = run_builds_load(store, file->application, file->version, &builds, err);

	if (st)
		return st;
	latest = run_builds_latest(&builds);
	if (latest) {
		const char *const plans[2] = { latest->plan, file->plan };

		st = run_plans_differ(store, plans, file->version, file->input, out, err);
	}
	run_builds_release(&builds);
	return st;
}

/* Which differ from the plan; NULL: from the latest one that gives results. Each plan with an input is looked at once. */
static enum assay_status build_find_others(struct store *store, const char *plan, const struct sample_file *files, size_t n, bool *other,
					   struct assay_error *err)
{
	enum assay_status st = ASSAY_OK;

	for (size_t i = 0; i < n && !st; i++) {
		const char *const plans[2] = { plan, files[i].plan };
		size_t k = i;

		while (k > 0 && !build_same_plan(&files[k - 1], &files[i]))
			k--;
		if (k > 0)
			other[i] = other[k - 1];
		else if (!plan)
			st = build_differs_from_results(store, &files[i], &other[i], err);
		else
			st = run_plans_differ(store, plans, files[i].version, files[i].input, &other[i], err);
	}
	return st;
}

enum assay_status run_build_keep_samples(struct store *store, const char *plan, struct sample_file *files, size_t *n,
					 struct assay_error *err)
{
	struct sample_file *all = mem_new(*n, sizeof(*all));
	bool *other = mem_new(*n, sizeof(*other));
	size_t latest = 0, kept = 0, at;
	enum assay_status st = ASSAY_OK;

	for (size_t i = 0; i < *n; i++) {
		all[i] = files[i];
		if (files[i].taken_ms > files[latest].taken_ms)
			latest = i;
	}
	if (*n)
		st = build_find_others(store, plan ? plan : files[latest].plan, files, *n, other, err);
	for (size_t i = 0; i < *n; i++)
		kept += st || !other[i];
	at = kept;
	for (size_t i = *n, k = kept; i-- > 0;)
		files[st || !other[i] ? --k : at++] = all[i];
	*n = kept;
	mem_free(other, all);
	return st;
}

enum assay_status run_build_stale_samples(struct store *store, const struct sample_file *files, size_t n, bool **out,
					  struct assay_error *err)
{
	enum assay_status st;

	*out = mem_new(n, sizeof(**out));
	st = build_find_others(store, NULL, files, n, *out, err);
	if (st) {
		free(*out);
		*out = NULL;
	}
	return st;
}
