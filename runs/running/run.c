#include "runs/running/run.h"

#include "base/buf.h"
#include "base/digest.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/order.h"
#include "base/text.h"
#include "runs/running/manifest.h"
#include "runs/running/plan.h"

#include <math.h>

#define SESSION_PREFIX "  {session}/" /* start of a path in the session's directory, in the column stack.text */
#define HEX_SIZE       (DIGEST_HEX_BYTES - 1)
#define MEASURED_SQL   "(SELECT id FROM plan WHERE probe IS NULL)" /* plans without a probe; plans with one give no results */

const char *run_name_fault(const char *name)
{
	size_t n = strlen(name);

	if (!n)
		return "is empty";
	if (strchr(name, '@'))
		return "has an '@', which separates the version";
	if (!text_is_utf8(name, n))
		return "is not UTF-8";
	if (strchr(name, JSON_UNREADABLE))
		return "has characters that cannot be read (is the file UTF-8?)";
	for (const char *c = name; *c; c++) {
		if (text_control_char_bytes(c))
			return "has a line break or another control character";
	}
	return n > RUN_NAME_BYTES_MAX ? "is longer than 200 bytes" : NULL;
}

enum assay_status run_imported_direction(struct store *store, const char *application, bool *higher_is_better, struct assay_error *err)
{
	sqlite3_stmt *stmt = NULL;
	enum assay_status st =
	    store_query(store, &stmt, err, "SELECT higher_is_better FROM metric_direction WHERE application = ?", "t", application);

	*higher_is_better = store_next(store, stmt, &st, err) && sqlite3_column_int(stmt, 0);
	return store_finalize(stmt, st);
}

/* ---- builds of a version ---- */

/* A plan without a probe that contains the version. */
struct run_build {
	char plan[DIGEST_ID_BYTES];
	char id[DIGEST_ID_BYTES]; /* hash over artefact, command, environment, arguments, directory, metric; equal for plans of one build */
	int64_t last_ms;	  /* start of the plan; or the time of the version's last run if it is later (run_load()) */
	size_t planned;		  /* number of the version's runs in the plan */
	double level;		  /* confidence level of the plan; NaN without interim analyses */
	struct manifest_hashes terms; /* terms from the plan's manifest */
};

struct run_builds {
	struct run_build *items; /* [n], sorted by plan */
	size_t n;
};

enum { PLAN, HASH, ARTEFACT, INPUT, STARTED, PLANNED, TEXT, LEVEL };

static const char select_plans[] =
    "SELECT p.id, p.manifest_hash, v.artefact, i.name, p.started_ms, p.repetitions * (SELECT count(*) FROM plan_item AS m WHERE m.plan = "
    "p.id AND m.kind = 'machine'), p.manifest, p.level FROM plan AS p JOIN plan_item AS v ON v.plan = p.id AND v.kind = 'version' AND "
    "v.name = ?2 JOIN plan_item AS i ON i.plan = p.id AND i.kind = 'input' WHERE p.probe IS NULL AND p.application || CASE i.name WHEN '' "
    "THEN '' ELSE '/' || i.name END = ?1 ORDER BY p.started_ms, p.id";

/* Computes the hash of a version's run from a stored manifest. If `terms` is not NULL, sets *terms, and includes the metric in the hash. If
 * the manifest cannot be read, leaves *terms and `hex`. */
static void run_hash_manifest(const char *text, const char *version, const char *input, struct manifest_hashes *terms,
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
			manifest_hash_terms(&manifest, v, i, terms);
	}
	manifest_release(&manifest);
}

static void run_identify(sqlite3_stmt *stmt, const char *run_hash, struct run_build *out)
{
	char *all = mem_format("%s\n%s\n", store_text(stmt, ARTEFACT), run_hash);

	digest_id(all, strlen(all), out->id);
	free(all);
}

ORDER_BY(run_compare_plans, struct run_build, BY_TEXT(plan))

static void run_builds_release(struct run_builds *builds)
{
	free(builds->items);
	*builds = (struct run_builds){ NULL, 0 };
}

/* Loads the builds of a version. Overwrites *out; run_builds_release() frees it. Parses each manifest that differs from the previous
 * plan's. */
static enum assay_status run_builds_load(struct store *store, const char *application, const char *version, struct run_builds *out,
					 struct assay_error *err)
{
	struct run_builds builds = { NULL, 0 };
	struct manifest_hashes terms = { .metric = "" };
	char manifest[DIGEST_HEX_BYTES] = "", run_hash[DIGEST_HEX_BYTES] = "";
	sqlite3_stmt *stmt = NULL;
	size_t capacity = 0;
	enum assay_status st = store_query(store, &stmt, err, select_plans, "tt", application, version);

	while (store_next(store, stmt, &st, err)) {
		struct run_build *build;

		if (strcmp(manifest, store_text(stmt, HASH)) != 0) {
			snprintf(manifest, sizeof(manifest), "%s", store_text(stmt, HASH));
			snprintf(run_hash, sizeof(run_hash), "%s", manifest); /* used if the manifest cannot be read */
			terms = (struct manifest_hashes){ .metric = "" };
			run_hash_manifest(store_text(stmt, TEXT), version, store_text(stmt, INPUT), &terms, run_hash);
		}
		build = mem_append_slot(builds.items, builds.n, &capacity);
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

/* Returns the build of a plan; NULL if there is none, as for imported runs. */
static struct run_build *run_builds_find(const struct run_builds *builds, const char *plan)
{
	struct run_build key;

	snprintf(key.plan, sizeof(key.plan), "%s", plan);
	return builds->n ? bsearch(&key, builds->items, builds->n, sizeof(*builds->items), run_compare_plans) : NULL;
}

/* Returns the build with the largest last_ms; NULL if there is none. */
static const struct run_build *run_builds_latest(const struct run_builds *builds)
{
	const struct run_build *latest = NULL;

	for (size_t i = 0; i < builds->n; i++) {
		if (!latest || builds->items[i].last_ms > latest->last_ms)
			latest = &builds->items[i];
	}
	return latest;
}

enum assay_status run_latest_build(struct store *store, const char *application, const char *version, char id[DIGEST_ID_BYTES],
				   struct assay_error *err)
{
	struct run_builds builds;
	enum assay_status st = run_builds_load(store, application, version, &builds, err);
	const struct run_build *latest = st ? NULL : run_builds_latest(&builds);

	snprintf(id, DIGEST_ID_BYTES, "%s", latest ? latest->id : "");
	if (!st)
		run_builds_release(&builds);
	return st;
}

/* ---- comparison of builds ---- */

/* Appends the line of a deployed file, without "{session}/files/" or "{session}/b003/", where 3 is the version's index in its plan. */
static void add_deployed(const char *line, size_t n, struct buf *out)
{
	const char *path = line + HEX_SIZE + strlen(SESSION_PREFIX), *end = line + n;

	if (n <= HEX_SIZE + strlen(SESSION_PREFIX) || strncmp(line + HEX_SIZE, SESSION_PREFIX, strlen(SESSION_PREFIX)) != 0)
		return;
	path = memchr(path, '/', (size_t)(end - path));
	if (path)
		buf_format(out, "%.*s  %.*s\n", (int)HEX_SIZE, line, (int)(end - path - 1), path + 1);
}

/* Finds the deployed files in the stored stack of a version, as lines "SHA256 PATH". PATH is relative to the directory of the common files
 * or of the version's own files, so that equal deployments give equal text. Sets *out to "" if they are unknown. The caller frees *out. */
static enum assay_status deployed_load(struct store *store, const char *plan, const char *version, char **out, struct assay_error *err)
{
	struct buf lines = BUF_INIT;
	sqlite3_stmt *stmt = NULL;
	enum assay_status st =
	    store_query(store, &stmt, err,
			"SELECT text FROM plan_stack JOIN stack ON hash = stack WHERE plan = ? AND version = ? ORDER BY machine LIMIT 1",
			"tt", plan, version);

	if (store_next(store, stmt, &st, err)) {
		for (const char *line = store_text(stmt, 0), *end; *line; line = *end ? end + 1 : end) {
			end = line + strcspn(line, "\n");
			add_deployed(line, (size_t)(end - line), &lines);
		}
	}
	sqlite3_finalize(stmt);
	*out = buf_take(&lines);
	return st;
}

/* Deployed files of a version, and hashes of the way in which they were run; "" if unknown. */
struct executed_build {
	char *deployed;
	char build[DIGEST_HEX_BYTES]; /* hash of all deployed files; for a variant, hash of the plain build */
	bool is_variant;
	char hash[DIGEST_HEX_BYTES];
};

static enum assay_status executed_build_load(struct store *store, const char *plan, const char *version, const char *input,
					     struct executed_build *out, struct assay_error *err)
{
	sqlite3_stmt *stmt = NULL;
	enum assay_status st = store_query(store, &stmt, err, "SELECT manifest FROM plan WHERE id = ?", "t", plan);

	*out = (struct executed_build){ .deployed = NULL };
	if (store_next(store, stmt, &st, err))
		run_hash_manifest(store_text(stmt, 0), version, input, NULL, out->hash);
	sqlite3_finalize(stmt);
	stmt = NULL;
	if (!st)
		st = store_query(
		    store, &stmt, err,
		    "SELECT coalesce(plain, artefact), plain IS NOT NULL FROM plan_item WHERE plan = ? AND kind = 'version' AND name = ?",
		    "tt", plan, version);
	if (store_next(store, stmt, &st, err)) {
		snprintf(out->build, sizeof(out->build), "%s", store_text(stmt, 0));
		out->is_variant = sqlite3_column_int(stmt, 1);
	}
	sqlite3_finalize(stmt);
	return st ? st : deployed_load(store, plan, version, &out->deployed, err);
}

/* Sets *out if two plans are known to have run different things for a version and input: deployed programs or libraries, command,
 * environment or arguments. Unknown facts count as equal. If only the probe differs, *out is false. */
static enum assay_status run_plans_differ(struct store *store, const char *const plans[2], const char *version, const char *input,
					  bool *out, struct assay_error *err)
{
	struct executed_build executed_build[2] = { { .deployed = NULL }, { .deployed = NULL } };
	enum assay_status st = ASSAY_OK;

	*out = false;
	if (strcmp(plans[0], plans[1]) == 0)
		return ASSAY_OK;
	for (int i = 0; i < 2 && !st; i++)
		st = executed_build_load(store, plans[i], version, input, &executed_build[i], err);
	if (!st)
		*out = (executed_build[0].is_variant || executed_build[1].is_variant
			    ? strcmp(executed_build[0].build, executed_build[1].build) != 0
			    : *executed_build[0].deployed && *executed_build[1].deployed &&
				  strcmp(executed_build[0].deployed, executed_build[1].deployed) != 0) ||
		       (*executed_build[0].hash && *executed_build[1].hash && strcmp(executed_build[0].hash, executed_build[1].hash) != 0);
	mem_free(executed_build[0].deployed, executed_build[1].deployed);
	return st;
}

/* ---- builds of sample files ---- */

static bool is_same_plan(const struct sample_file *a, const struct sample_file *b)
{
	return strcmp(a->plan, b->plan) == 0 && strcmp(a->input, b->input) == 0 && strcmp(a->version, b->version) == 0;
}

/* Sets *out if the file's build is known to differ from that of the latest plan with results. */
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

/* Marks files of other builds than that of `plan` (NULL: the latest plan with results). Compares each pair of plan and input once. */
static enum assay_status build_find_others(struct store *store, const char *plan, const struct sample_file *files, size_t n, bool *other,
					   struct assay_error *err)
{
	enum assay_status st = ASSAY_OK;

	for (size_t i = 0; i < n && !st; i++) {
		const char *const plans[2] = { plan, files[i].plan };
		size_t k = i;

		while (k > 0 && !is_same_plan(&files[k - 1], &files[i]))
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

/* ---- results of a version ---- */

static void run_set_forget_executions(struct run_set *set)
{
	for (size_t i = 0; i < set->n_executed_machines; i++)
		free(set->executed_on[i].machine);
	free(set->executed_on);
	set->executed_on = NULL;
	set->n_executed_machines = 0;
	run_set_sum(set);
}

/* Counts imported runs by machine into set->on, but only if some failed. Counts rows, because a file may repeat repetition numbers. Sets
 * *last_ms to the time of the last run; -1 if there is none. */
static enum assay_status run_set_count_imported(struct store *store, struct run_set *set, int64_t *last_ms, struct assay_error *err)
{
	size_t capacity = 0;
	sqlite3_stmt *stmt = NULL;
	enum assay_status st = store_query(
	    store, &stmt, err,
	    "SELECT machine, count(*), sum(failed), sum(crashed), max(taken_ms) FROM (SELECT machine, taken_ms, 0 AS failed, 0 "
	    "AS crashed FROM run WHERE application = ?1 AND version = ?2 AND plan IS NULL UNION ALL SELECT "
	    "machine, taken_ms, 1, outcome IN ('failed', 'killed', 'timeout') FROM failure WHERE application = ?1 AND version = "
	    "?2) GROUP BY machine ORDER BY machine",
	    "tt", set->application, set->version);

	*last_ms = -1;
	while (store_next(store, stmt, &st, err)) {
		struct run_execution_counts *executed_on = mem_append_slot(set->executed_on, set->n_executed_machines, &capacity);
		int64_t taken_ms = sqlite3_column_int64(stmt, 4);

		*executed_on = (struct run_execution_counts){ .machine = mem_string(store_text(stmt, 0)),
							      .n_executed = (size_t)sqlite3_column_int64(stmt, 1),
							      .failed = (size_t)sqlite3_column_int64(stmt, 2),
							      .n_crashed = (size_t)sqlite3_column_int64(stmt, 3) };
		*last_ms = taken_ms > *last_ms ? taken_ms : *last_ms;
	}
	run_set_sum(set);
	if (!set->failed)
		run_set_forget_executions(set);
	return store_finalize(stmt, st);
}

/* Counts executions per machine, in the build's latest plan on it. When a build runs again, its earlier failures no longer count. */
static enum assay_status run_set_count_executions(struct store *store, const struct run_builds *builds, const struct run_build *latest,
						  struct run_set *set, struct assay_error *err)
{
	const struct run_build *last = NULL; /* build of the row of the current machine */
	struct run_execution_counts *at = NULL;
	size_t of_latest = 0, capacity = 0;
	sqlite3_stmt *stmt = NULL;
	enum assay_status st = store_query(store, &stmt, err,
					   "SELECT machine, plan, count(*), sum(outcome <> 'ok'), max(architecture), sum(outcome IN "
					   "('failed', 'killed', 'timeout')), sum(outcome = 'not_started'), ifnull(min(CASE outcome WHEN "
					   "'timeout' THEN wall_ns END), 0) FROM execution WHERE application = ? AND version = ? GROUP BY "
					   "machine, plan ORDER BY machine",
					   "tt", set->application, set->version);

	while (store_next(store, stmt, &st, err)) {
		const struct run_build *build = run_builds_find(builds, store_text(stmt, 1));

		if (!build || strcmp(build->id, latest->id) != 0)
			continue;
		if (!at || strcmp(at->machine, store_text(stmt, 0)) != 0) {
			at = mem_append_slot(set->executed_on, set->n_executed_machines, &capacity);
			*at = (struct run_execution_counts){ .machine = mem_string(store_text(stmt, 0)) };
		} else if (last->last_ms > build->last_ms) {
			continue;
		}
		last = build;
		snprintf(at->plan, sizeof(at->plan), "%s", build->plan);
		at->n_executed = (size_t)sqlite3_column_int64(stmt, 2);
		at->failed = (size_t)sqlite3_column_int64(stmt, 3);
		snprintf(at->architecture, sizeof(at->architecture), "%s", store_text(stmt, 4));
		at->n_crashed = (size_t)sqlite3_column_int64(stmt, 5);
		at->not_started = (size_t)sqlite3_column_int64(stmt, 6);
		at->hung_ns = sqlite3_column_int64(stmt, 7);
		of_latest += build == latest ? at->n_executed : 0;
	}
	run_set_sum(set);
	set->planned = latest->planned;
	set->missing = latest->planned > of_latest ? latest->planned - of_latest : 0;
	return store_finalize(stmt, st);
}

void run_set_sum(struct run_set *set)
{
	set->n_executed = set->failed = set->n_crashed = set->not_started = 0;
	set->hung_ns = 0;
	for (size_t i = 0; i < set->n_executed_machines; i++) {
		set->n_executed += set->executed_on[i].n_executed;
		set->failed += set->executed_on[i].failed;
		set->n_crashed += set->executed_on[i].n_crashed;
		set->not_started += set->executed_on[i].not_started;
		if (set->executed_on[i].hung_ns && (!set->hung_ns || set->executed_on[i].hung_ns < set->hung_ns))
			set->hung_ns = set->executed_on[i].hung_ns;
	}
}

/* Keeps only the results of the latest build, or only imported results if these are later. Returns false for imported results. */
static bool run_set_keep_latest_build(struct run_set *set, const struct run_build *latest, int64_t imported_ms)
{
	struct run *all = set->items;
	size_t n = set->n;
	const char *build = latest && imported_ms <= latest->last_ms ? latest->id : "";

	set->others = mem_new(n, sizeof(*set->others));
	set->n = 0;
	for (size_t i = 0; i < n; i++) {
		if (strcmp(all[i].build, build) == 0)
			set->items[set->n++] = all[i];
		else
			set->others[set->n_others++] = all[i];
	}
	return *build;
}

/* ---- causes that keep a run from running ---- */

#define FOREIGN_TICK_NS 10000000 /* length of a clock tick in /proc, 1 / USER_HZ, ns */

double run_withheld_share(int64_t ns, int64_t wall_ns)
{
	return wall_ns > 0 && ns >= 0 ? (double)ns / (double)wall_ns : (double)NAN;
}

/* Returns the run-queue delay of a run, ns; -1 if unknown. `first_ns` is a sum over processes that may wait at the same time, so it is
 * limited by the mean over them. Other threads and processes wait independently. */
static int64_t run_queue_delay_ns(const struct metric_usage *usage, int64_t first_ns, int64_t others_ns)
{
	double wall = (double)usage->wall_ns, cpu = 1e3 * ((double)usage->user_us + (double)usage->sys_us), first = (double)first_ns;
	double others = fmin(fmax((double)others_ns, 0) / wall, 1);

	if (usage->wall_ns <= 0 || first_ns < 0)
		return -1;
	return llround(wall * (1 - (1 - first / fmax(wall, cpu + first)) * (1 - others)));
}

void run_set_withheld(struct run *run, const struct helper_result *r)
{
	int64_t throttled_ns = r->throttled_ns > 0 ? r->throttled_ns : 0; /* the run-queue delay contains this time */
	int64_t queued = run_queue_delay_ns(&run->usage, r->run_delay_ns, r->others_delay_ns), waited = queued - throttled_ns;
	int64_t foreign = r->busy_ns - 1000 * (run->usage.user_us + run->usage.sys_us) + FOREIGN_TICK_NS; /* CPU time of other processes */

	run->queued_ns = queued;
	if (r->busy_ns >= 0 && waited > foreign)
		waited = foreign;
	run->withheld_ns[RUN_WAITED] = queued < 0 ? -1 : waited < 0 ? 0 : waited;
	run->withheld_ns[RUN_THROTTLED] = r->throttled_ns;
	run->withheld_ns[RUN_IO_STALLED] = r->io_stalled_ns;
	run->withheld_ns[RUN_MEMORY_STALLED] = r->memory_stalled_ns;
	run->withheld_ns[RUN_STOLEN] = r->steal_ns;
}

/* ---- loading results ---- */

/* Finds the build of each run, and selects the build whose results count. */
static enum assay_status run_set_find_builds(struct store *store, const char *plan, struct run_set *set, struct assay_error *err)
{
	struct run_builds builds;
	struct run_build *build = NULL;
	const struct run_build *latest;
	int64_t imported_ms = -1;
	enum assay_status st = run_builds_load(store, set->application, set->version, &builds, err);

	if (!st && !plan)
		st = run_set_count_imported(store, set, &imported_ms, err);
	if (st)
		goto out;
	for (size_t i = plan ? builds.n : 0; i-- > 0;) {
		if (strcmp(builds.items[i].plan, plan) != 0)
			builds.items[i] = builds.items[--builds.n]; /* the order does not matter, because at most one item remains */
	}
	for (size_t i = 0; i < set->n; i++) {
		struct run *run = &set->items[i];

		if (i == 0 || strcmp(run->plan, run[-1].plan) != 0)
			build = run_builds_find(&builds, run->plan);
		snprintf(run->build, sizeof(run->build), "%s", build ? build->id : "");
		if (build && run->taken_ms > build->last_ms)
			build->last_ms = run->taken_ms;
	}
	latest = run_builds_latest(&builds);
	if (run_set_keep_latest_build(set, latest, imported_ms)) {
		run_set_forget_executions(set);
		snprintf(set->plan, sizeof(set->plan), "%s", latest->plan);
		set->terms = latest->terms;
		set->level = isnan(latest->level) ? 0 : latest->level;
		if (*latest->terms.metric)
			set->higher_is_better = latest->terms.higher_is_better;
		st = run_set_count_executions(store, &builds, latest, set, err);
	}
out:
	run_builds_release(&builds);
	return st;
}

/* Resource usage counters that run_set_withheld() reads. */
#define RUN_COUNTER_ROWS(X)                                                                                                                \
	X(run_delay_ns)                                                                                                                    \
	X(others_delay_ns) X(busy_ns) X(throttled_ns) X(io_stalled_ns) X(memory_stalled_ns) X(steal_ns)

/* Adds a row of the store: another value of the last run, or a new run. The values of one run are adjacent. */
static void run_set_add_row(struct run_set *set, size_t *capacity, sqlite3_stmt *stmt)
{
	struct run *last = set->n ? &set->items[set->n - 1] : NULL;
	int64_t repetition = sqlite3_column_int64(stmt, 1), taken_ms = sqlite3_column_int64(stmt, 2);
	struct helper_result counters = { .wall_ns = -1 };
	int column = 10;

	if (!last || strcmp(last->machine, store_text(stmt, 0)) != 0 || last->repetition != repetition || last->taken_ms != taken_ms) {
		last = mem_append_slot(set->items, set->n, capacity);
		*last = (struct run){ .machine = mem_string(store_text(stmt, 0)),
				      .taken_ms = taken_ms,
				      .repetition = repetition,
				      .pass = sqlite3_column_int64(stmt, 5),
				      .usage = { sqlite3_column_int64(stmt, 7), sqlite3_column_int64(stmt, 8),
						 sqlite3_column_int64(stmt, 9) } }; /* NULL is read as 0 */
#define COUNTER_READ(member) counters.member = sqlite3_column_int64(stmt, column++);
		RUN_COUNTER_ROWS(COUNTER_READ)
		run_set_withheld(last, &counters);
		snprintf(last->fingerprint, sizeof(last->fingerprint), "%s", store_text(stmt, 4));
		snprintf(last->plan, sizeof(last->plan), "%s", store_text(stmt, 6));
		snprintf(last->architecture, sizeof(last->architecture), "%s", store_text(stmt, column));
		last->order_source = (enum run_order_source)sqlite3_column_int(stmt, column + 1);
	}
	last->metric += store_double(stmt, 3); /* sum of the values, which run_load_plan() divides by their number */
	last->recorded++;
}

ORDER_BY(run_compare_runs, struct run, BY_TEXT(machine) BY_ASC(repetition) BY_ASC(taken_ms))

/* Sorts by machine, repetition and time. Rows come by machine and time, mostly the same order. Sorting in SQLite would copy all rows. */
static void run_set_order(struct run_set *set)
{
	for (size_t i = 1; i < set->n; i++) {
		if (run_compare_runs(&set->items[i - 1], &set->items[i]) > 0) {
			qsort(set->items, set->n, sizeof(*set->items), run_compare_runs);
			return;
		}
	}
}

enum assay_status run_load(struct store *store, const char *application, const char *version, struct run_set *out, struct assay_error *err)
{
	return run_load_plan(store, application, version, NULL, out, err);
}

#define COUNTER_COLUMN(member)                                                                                                             \
	", CASE WHEN signature IS NULL THEN -1 WHEN json_valid(signature) THEN ifnull(json_extract(signature, '$." #member "'), -1) "      \
	"ELSE -1 END"

enum assay_status run_load_plan(struct store *store, const char *application, const char *version, const char *plan, struct run_set *out,
				struct assay_error *err)
{
	struct run_set set = { .application = mem_string(application), .version = mem_string(version) };
	sqlite3_stmt *stmt = NULL;
	size_t capacity = 0;
	enum assay_status st = store_query(
	    store, &stmt, err,
	    "SELECT machine, repetition, taken_ms, run.metric, fingerprint, pass, plan, wall_ns, user_us, sys_us" RUN_COUNTER_ROWS(
		COUNTER_COLUMN) ", architecture, turns FROM run LEFT JOIN (SELECT * FROM execution WHERE input = " RUN_INPUT_SQL
				") USING (plan, machine, version, repetition, application, taken_ms) WHERE application = ?1 AND "
				"version = ?2 AND (?3 IS NULL OR plan = ?3) ORDER BY machine, taken_ms, repetition, ordinal",
	    "ttt", application, version, plan);

	while (store_next(store, stmt, &st, err))
		run_set_add_row(&set, &capacity, stmt);
	sqlite3_finalize(stmt);
	for (size_t i = 0; i < set.n; i++)
		set.items[i].metric /= (double)set.items[i].recorded;
	run_set_order(&set);
	if (!st)
		st = run_imported_direction(store, application, &set.higher_is_better, err);
	if (!st)
		st = run_set_find_builds(store, plan, &set, err);
	*out = set;
	if (st)
		run_set_release(out);
	return st;
}

static struct run *copy_runs(const struct run *runs, size_t n)
{
	struct run *copy = mem_new(n, sizeof(*copy));

	for (size_t i = 0; i < n; i++) {
		copy[i] = runs[i];
		copy[i].machine = mem_string(runs[i].machine);
	}
	return copy;
}

void run_set_copy(const struct run_set *set, struct run_set *out)
{
	*out = *set;
	out->application = mem_string(set->application);
	out->version = mem_string(set->version);
	out->items = copy_runs(set->items, set->n);
	out->others = copy_runs(set->others, set->n_others);
	out->executed_on = mem_new(set->n_executed_machines, sizeof(*out->executed_on));
	for (size_t i = 0; i < set->n_executed_machines; i++) {
		out->executed_on[i] = set->executed_on[i];
		out->executed_on[i].machine = mem_string(set->executed_on[i].machine);
	}
}

void run_set_release(struct run_set *set)
{
	for (size_t i = 0; i < set->n; i++)
		free(set->items[i].machine);
	for (size_t i = 0; i < set->n_others; i++)
		free(set->others[i].machine);
	run_set_forget_executions(set);
	mem_free(set->items, set->others, set->application, set->version);
	*set = (struct run_set){ 0 };
}

void run_set_add_others(struct run_set *set)
{
	if (!set->n_others)
		return;
	set->terms = (struct manifest_hashes){ .metric = "" };
	set->items = mem_resize(set->items, set->n + set->n_others, sizeof(*set->items));
	memcpy(set->items + set->n, set->others, set->n_others * sizeof(*set->others));
	set->n += set->n_others;
	set->n_others = 0;
	qsort(set->items, set->n, sizeof(*set->items), run_compare_runs);
}

static enum assay_status run_list_rows(struct store *store, struct run_listing **list, size_t *n, struct assay_error *err)
{
	sqlite3_stmt *stmt = NULL;
	size_t capacity = 0;
	enum assay_status st = store_prepare(
	    store,
	    "SELECT application, version, sum(result), count(DISTINCT machine), sum(known), sum(failed), min(taken_ms), "
	    "max(taken_ms) FROM (SELECT application, version, machine, taken_ms, ordinal = 0 AS result, ordinal = 0 AND "
	    "fingerprint IS NOT NULL AS known, 0 AS failed FROM run UNION ALL SELECT application, version, machine, taken_ms, 0, "
	    "0, 1 FROM failed_run WHERE NOT probed) GROUP BY application, version",
	    &stmt, err);

	while (store_next(store, stmt, &st, err)) {
		struct run_listing *item;

		item = mem_append_slot(*list, *n, &capacity);
		*item = (struct run_listing){ .application = mem_string(store_text(stmt, 0)),
					      .version = mem_string(store_text(stmt, 1)),
					      .runs = sqlite3_column_int64(stmt, 2),
					      .machines = sqlite3_column_int64(stmt, 3),
					      .with_fingerprint = sqlite3_column_int64(stmt, 4),
					      .failed = sqlite3_column_int64(stmt, 5),
					      .first_ms = sqlite3_column_int64(stmt, 6),
					      .last_ms = sqlite3_column_int64(stmt, 7) };
		st = run_imported_direction(store, item->application, &item->higher_is_better, err);
	}
	sqlite3_finalize(stmt);
	return st;
}

static int run_compare_listings(const void *a, const void *b)
{
	const struct run_listing *x = a, *y = b;
	int order = strverscmp(x->application, y->application);

	return order ? order : strverscmp(x->version, y->version);
}

/* Sets the direction of each measured version from its latest plan. */
static enum assay_status run_list_directions(struct store *store, struct run_listing *list, size_t n, struct assay_error *err)
{
	struct plan_metrics metrics = { NULL, 0 };
	sqlite3_stmt *stmt = NULL;
	enum assay_status st = plan_metrics_load(store, &metrics, err);

	if (!st)
		st = store_prepare(store,
				   "SELECT application, version, plan, max(taken_ms) FROM execution WHERE plan IN " MEASURED_SQL
				   " GROUP BY application, version",
				   &stmt, err);
	while (n && store_next(store, stmt, &st, err)) {
		const struct plan_metric *metric;
		struct run_listing *item, key = { 0 };

		metric = plan_metrics_find(&metrics, store_text(stmt, 2));
		key.application = mem_string(store_text(stmt, 0));
		key.version = mem_string(store_text(stmt, 1));
		item = bsearch(&key, list, n, sizeof(*list), run_compare_listings);
		if (metric && item)
			item->higher_is_better = metric->higher_is_better;
		mem_free(key.application, key.version);
	}
	sqlite3_finalize(stmt);
	plan_metrics_release(&metrics);
	return st;
}

enum assay_status run_list(struct store *store, struct run_listing **out, size_t *n, struct assay_error *err)
{
	struct run_listing *list = NULL;
	enum assay_status st;

	*out = NULL;
	*n = 0;
	st = run_list_rows(store, &list, n, err);
	if (!st && *n)
		qsort(list, *n, sizeof(*list), run_compare_listings);
	if (!st)
		st = run_list_directions(store, list, *n, err);
	if (st) {
		run_list_free(list, *n);
		*n = 0;
		return st;
	}
	*out = list;
	return ASSAY_OK;
}

void run_list_free(struct run_listing *list, size_t n)
{
	for (size_t i = 0; i < n; i++)
		mem_free(list[i].application, list[i].version);
	free(list);
}

/* ---- selectors of versions ---- */

#define NAMES_SHOWN 20

enum assay_status run_parse_selector(const char *text, char **application, char **version, struct assay_error *err)
{
	const char *at = strrchr(text, '@');
	char *name = mem_bytes(text, at ? (size_t)(at - text) : strlen(text));

	if (run_name_fault(name) || (at && run_name_fault(at + 1))) {
		free(name);
		return assay_fail(err, ASSAY_E_USAGE, "'%s' is not APP or APP@VERSION", TEXT_SANITIZED(text));
	}
	*application = name;
	*version = at ? mem_string(at + 1) : NULL;
	return ASSAY_OK;
}

/* Returns a list such as "a, b and 3 more"; "" if it is empty. It has the application's versions, or, if `inputs`, the stored names that
 * start with the application's name, such as NAME/INPUT or NAME (SIZE=4). The caller frees the result. */
static char *run_join_names(const struct run_listing *list, size_t n, const char *application, bool inputs)
{
	struct buf text = BUF_INIT;
	size_t length = strlen(application), found = 0;

	for (size_t i = 0; i < n; i++) {
		const char *name = list[i].application;
		bool begins = strncmp(name, application, length) == 0, again = i && strcmp(list[i - 1].application, name) == 0;

		if (!begins || !(inputs ? strchr("/ ", name[length]) && !again : !name[length]))
			continue;
		if (found++ < NAMES_SHOWN)
			buf_format(&text, "%s%s", found > 1 ? ", " : "", inputs ? name : list[i].version);
	}
	if (found > NAMES_SHOWN)
		buf_format(&text, " and %zu more", found - NAMES_SHOWN);
	return buf_take(&text);
}

static enum assay_status run_fail_no_application(const struct run_listing *list, size_t n, const char *application, struct assay_error *err)
{
	char *inputs = run_join_names(list, n, application, true);
	const char **names = mem_new(n, sizeof(char *));
	enum assay_status st = ASSAY_OK;
	const char *nearest;

	for (size_t i = 0; i < n; i++)
		names[i] = list[i].application;
	nearest = text_nearest(application, names, n);
	free(names);
	if (*inputs)
		st = assay_fail(err, ASSAY_E_NOTFOUND, "'%s' has results by input, name one: ' %s", application, inputs);
	free(inputs);
	if (st)
		return st;
	if (n == 0)
		return assay_fail(err, ASSAY_E_NOTFOUND,
				  "no application '%s': the laboratory has no runs yet ('assay run APP' makes runs, 'assay result import "
				  "FILE' imports results)",
				  application);
	if (nearest)
		return assay_fail(err, ASSAY_E_NOTFOUND, "no application '%s' (did you mean '%s'? 'assay result list' shows all)",
				  application, nearest);
	return assay_fail(err, ASSAY_E_NOTFOUND, "no application '%s' ('assay result list' shows all)", application);
}

static enum assay_status run_resolve_in_list(const struct run_listing *list, size_t n, const char *application, const char *version,
					     char **out, struct assay_error *err)
{
	const struct run_listing *found = NULL;
	size_t versions = 0;
	enum assay_status st;
	char *all;

	for (size_t i = 0; i < n; i++) {
		if (strcmp(list[i].application, application) != 0)
			continue;
		versions++;
		if (!version || strcmp(list[i].version, version) == 0)
			found = &list[i];
	}
	if (versions == 0)
		return run_fail_no_application(list, n, application, err);
	if (found && (version || versions == 1)) {
		*out = mem_string(found->version);
		return ASSAY_OK;
	}
	all = run_join_names(list, n, application, false);
	if (version)
		st = assay_fail(err, ASSAY_E_NOTFOUND, "'%s' has no version '%s': it has %s", application, version, all);
	else
		st = assay_fail(err, ASSAY_E_USAGE, "'%s' has several versions, name one as %s@VERSION: %s", application, application, all);
	free(all);
	return st;
}

/* Finds the version, or the only one if `version` is NULL. *out becomes NULL if none or several match. O(results of the application). */
static enum assay_status run_resolve_directly(struct store *store, const char *application, const char *version, char **out,
					      struct assay_error *err)
{
	static const char sql[] =
	    "SELECT version FROM run WHERE application = ?1 AND version = coalesce(?2, version) UNION SELECT version FROM failed_run WHERE "
	    "application = ?1 AND version = coalesce(?2, version) AND NOT probed LIMIT 2";
	sqlite3_stmt *stmt = NULL;
	size_t n = 0;
	enum assay_status st = store_query(store, &stmt, err, sql, "tt", application, version);

	*out = NULL;
	while (store_next(store, stmt, &st, err)) {
		if (n++ == 0)
			*out = mem_string(store_text(stmt, 0));
	}
	sqlite3_finalize(stmt);
	if (st || n > 1) {
		free(*out);
		*out = NULL;
	}
	return st;
}

enum assay_status run_resolve_version(struct store *store, const char *application, const char *version, char **out,
				      struct assay_error *err)
{
	struct run_listing *list = NULL;
	size_t n = 0;
	enum assay_status st = run_resolve_directly(store, application, version, out, err);

	if (st || *out)
		return st;
	st = run_list(store, &list, &n, err);
	if (!st)
		st = run_resolve_in_list(list, n, application, version, out, err);
	run_list_free(list, n);
	return st;
}

#define MACHINES_SHOWN 8

static bool run_others_is_first_of_machine(const struct run_set *set, size_t i)
{
	return i == 0 || strcmp(set->others[i - 1].machine, set->others[i].machine) != 0;
}

static bool run_machine_is_used(const struct run_set *set, const char *machine)
{
	for (size_t i = 0; i < set->n; i++) {
		if (strcmp(set->items[i].machine, machine) == 0)
			return true;
	}
	return false;
}

char *run_others_text(const struct run_set *set)
{
	struct buf text = BUF_INIT;
	size_t without = 0;

	if (!set->n_others)
		return NULL;
	buf_format(&text, "%zu result%s of %s@%s %s from another build than its latest runs and %s not count", set->n_others,
		   text_plural(set->n_others), set->application, set->version, set->n_others > 1 ? "are" : "is",
		   set->n_others > 1 ? "do" : "does");
	for (size_t i = 0; i < set->n_others; i++) {
		if (!run_others_is_first_of_machine(set, i) || run_machine_is_used(set, set->others[i].machine))
			continue;
		if (without < MACHINES_SHOWN)
			buf_format(&text, "%s%s", without ? ", " : "; its latest build has no result on ", set->others[i].machine);
		without++;
	}
	if (without > MACHINES_SHOWN)
		buf_format(&text, " and %zu more", without - MACHINES_SHOWN);
	return buf_take(&text);
}

cJSON *run_others_json(const struct run_set *set)
{
	cJSON *root = cJSON_CreateObject(), *machines;

	cJSON_AddNumberToObject(root, "results", (double)set->n_others);
	machines = cJSON_AddArrayToObject(root, "machines");
	for (size_t i = 0; i < set->n_others; i++) {
		if (run_others_is_first_of_machine(set, i))
			cJSON_AddItemToArray(machines, cJSON_CreateString(set->others[i].machine));
	}
	return root;
}
