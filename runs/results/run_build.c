#include "runs/results/run_build.h"

#include "base/digest.h"
#include "base/mem.h"
#include "runs/application/manifest.h"

enum { PLAN, HASH, ARTEFACT, INPUT, STARTED, PLANNED, TEXT };

static const char select_plans[] =
    "SELECT p.id, p.manifest_hash, v.artefact, i.name, p.started_ms, "
    "p.repetitions * (SELECT count(*) FROM plan_item AS m WHERE m.plan = p.id AND m.kind = 'machine'), p.manifest "
    "FROM plan AS p JOIN plan_item AS v ON v.plan = p.id AND v.kind = 'version' AND v.name = ?2 "
    "JOIN plan_item AS i ON i.plan = p.id AND i.kind = 'input' "
    "WHERE p.probe IS NULL AND p.application || CASE i.name WHEN '' THEN '' ELSE '/' || i.name END = ?1 ORDER BY p.started_ms, p.id";

/* What the manifest that is kept with a plan says of one of its versions: a hash. Where this program cannot read it any more, that of
 * the whole manifest. */
static void hash_manifest(sqlite3_stmt *stmt, const char *version, char hex[DIGEST_HEX_BYTES])
{
	struct manifest manifest = { .file = NULL };
	const char *text = store_text(stmt, TEXT);
	size_t v = SIZE_MAX, i = SIZE_MAX;
	struct assay_error ignored;

	snprintf(hex, DIGEST_HEX_BYTES, "%s", store_text(stmt, HASH));
	if (manifest_parse("plan", text, strlen(text), &manifest, &ignored) == ASSAY_OK) {
		v = manifest_find_version(&manifest, version);
		i = manifest_find_input(&manifest, store_text(stmt, INPUT));
	}
	if (v != SIZE_MAX && i != SIZE_MAX)
		manifest_hash_run(&manifest, v, i, hex);
	manifest_release(&manifest);
}

static void identify(sqlite3_stmt *stmt, const char *run_hash, struct run_build *out)
{
	char *all = mem_format("%s\n%s\n", store_text(stmt, ARTEFACT), run_hash);
	char hex[DIGEST_HEX_BYTES];

	digest_sha256(all, strlen(all), hex);
	snprintf(out->id, sizeof(out->id), "%.*s", RUN_BUILD_BYTES - 1, hex);
	free(all);
}

static int compare_plans(const void *a, const void *b)
{
	return strcmp(((const struct run_build *)a)->plan, ((const struct run_build *)b)->plan);
}

enum assay_status run_builds_load(struct store *store, const char *application, const char *version, struct run_builds *out,
				  struct assay_error *err)
{
	struct run_builds builds = { NULL, 0 };
	char manifest[DIGEST_HEX_BYTES] = "", run_hash[DIGEST_HEX_BYTES] = "";
	sqlite3_stmt *stmt = NULL;
	size_t capacity = 0;
	bool row = true;
	enum assay_status st = store_prepare(store, select_plans, &stmt, err);

	if (!st)
		store_bind(stmt, "tt", application, version);
	while (!st) {
		struct run_build *build;

		st = store_step(store, stmt, &row, err);
		if (st || !row)
			break;
		if (strcmp(manifest, store_text(stmt, HASH)) != 0)
			hash_manifest(stmt, version, run_hash);
		snprintf(manifest, sizeof(manifest), "%s", store_text(stmt, HASH));
		builds.items = mem_grow(builds.items, builds.n, &capacity, sizeof(*builds.items));
		build = &builds.items[builds.n++];
		*build = (struct run_build){ .last_ms = sqlite3_column_int64(stmt, STARTED),
					     .planned = (size_t)sqlite3_column_int64(stmt, PLANNED) };
		snprintf(build->plan, sizeof(build->plan), "%s", store_text(stmt, PLAN));
		identify(stmt, run_hash, build);
	}
	sqlite3_finalize(stmt);
	if (builds.n)
		qsort(builds.items, builds.n, sizeof(*builds.items), compare_plans);
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
	return builds->n ? bsearch(&key, builds->items, builds->n, sizeof(*builds->items), compare_plans) : NULL;
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
