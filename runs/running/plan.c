#include "runs/running/plan.h"

#include "base/buf.h"
#include "base/clock.h"
#include "base/digest.h"
#include "base/mem.h"
#include "base/rng.h"
#include "base/text.h"

#include <inttypes.h>
#include <time.h>

/* Seeded by the plan and the machine's name, so that other machines do not change its order. */
static struct rng plan_rng_of(const struct plan *plan, size_t machine)
{
	char *text = mem_format("%" PRIu64 "\n%s", plan->seed, plan->machines[machine]);
	char hex[DIGEST_HEX_BYTES];
	struct rng rng;

	digest_sha256(text, strlen(text), hex);
	hex[16] = '\0';
	rng_seed(&rng, strtoull(hex, NULL, 16));
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

/* Repetitions 1 and 2 in one order and its mirror, 3 and 4 in another, ... A machine that becomes steadily slower slows all
 * versions alike in each whole block. */
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
	struct rng rng = plan_rng_of(plan, machine);

	*n = plan->n_inputs * rounds * plan->n_versions;
	*out = to = cells = mem_new(*n, sizeof(*cells));
	for (size_t i = 0; i < plan->n_versions; i++)
		order[i] = i;
	for (size_t input = 0; input < plan->n_inputs; input++)
		to = plan_add_input(plan, input, &rng, order, to);
	ASSAY_BUG_IF(to != cells + *n);
	free(order);
}

/* The lists of a plan, as rows of plan_item. */
struct plan_list {
	const char *kind;
	char ***names;
	size_t *n;
	char ***artefacts; /* NULL: has none */
};

#define LISTS 3

static void plan_lists_of(struct plan *plan, struct plan_list lists[LISTS])
{
	lists[0] = (struct plan_list){ "version", &plan->versions, &plan->n_versions, &plan->artefacts };
	lists[1] = (struct plan_list){ "input", &plan->inputs, &plan->n_inputs, NULL };
	lists[2] = (struct plan_list){ "machine", &plan->machines, &plan->n_machines, NULL };
}

/* ---- a new one ---- */

/* Now; after all that the application has, even if a clock was wrong at that time: the latest plan says what counts (run.h). */
static enum assay_status plan_find_start(struct store *store, struct plan *plan, struct assay_error *err)
{
	sqlite3_stmt *stmt = NULL;
	enum assay_status st = store_ask(store, &stmt, err,
					 "SELECT max(p.started_ms, coalesce((SELECT max(e.taken_ms) FROM execution AS e WHERE e.plan = "
					 "p.id), 0)) AS last FROM plan AS p WHERE p.application = ? ORDER BY last DESC LIMIT 1",
					 "t", plan->application);

	plan->started_ms = clock_real_ms();
	if (store_next(store, stmt, &st, err) && sqlite3_column_int64(stmt, 0) >= plan->started_ms)
		plan->started_ms = sqlite3_column_int64(stmt, 0) + 1;
	return store_finish(stmt, st);
}

/* Two plans of one millisecond, in two laboratories, must not have one id: it names a directory on hosts. */
static void plan_identify(struct plan *plan)
{
	struct buf text = BUF_INIT;
	struct plan_list lists[LISTS];
	char hex[DIGEST_HEX_BYTES];
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	buf_format(&text, "%s\n%s\n%" PRId64 "\n%" PRId64 "\n%" PRIu64 "\n%" PRId64 ".%09ld\n", plan->application, plan->manifest_hash,
		   plan->repetitions, plan->warm_ups, plan->seed, (int64_t)now.tv_sec, now.tv_nsec);
	plan_lists_of(plan, lists);
	for (int k = 0; k < LISTS; k++) {
		for (size_t i = 0; i < *lists[k].n; i++)
			buf_format(&text, "%s\n%s\n%s\n", lists[k].kind, (*lists[k].names)[i],
				   lists[k].artefacts ? (*lists[k].artefacts)[i] : "");
	}
	if (plan->probe)
		buf_text(&text, plan->probe);
	digest_sha256(text.bytes, text.size, hex);
	memcpy(plan->id, hex, DIGEST_ID_BYTES - 1);
	plan->id[DIGEST_ID_BYTES - 1] = '\0';
	buf_release(&text);
}

static enum assay_status plan_insert_plan(struct store *store, const struct manifest *manifest, const struct plan *plan,
					  struct assay_error *err)
{
	return store_do(store, err,
			"INSERT INTO plan (id, application, manifest, manifest_hash, repetitions, warm_ups, seed, started_ms, probe) "
			"VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
			"ttttiiiit", plan->id, plan->application, manifest->text, plan->manifest_hash, plan->repetitions, plan->warm_ups,
			(int64_t)plan->seed, plan->started_ms, plan->probe);
}

static enum assay_status plan_insert_list(struct store *store, const struct plan *plan, const struct plan_list *list,
					  struct assay_error *err)
{
	enum assay_status st = ASSAY_OK;

	for (size_t i = 0; !st && i < *list->n; i++)
		st = store_do(store, err, "INSERT INTO plan_item (plan, kind, ordinal, name, artefact) VALUES (?, ?, ?, ?, ?)", "ttitt",
			      plan->id, list->kind, (int64_t)i, (*list->names)[i], list->artefacts ? (*list->artefacts)[i] : NULL);
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
	plan_lists_of(plan, lists);
	if (!st)
		st = plan_insert_plan(store, manifest, plan, err);
	for (int k = 0; !st && k < LISTS; k++)
		st = plan_insert_list(store, plan, &lists[k], err);
	return store_end(store, st, err);
}

/* ---- one that is there ---- */

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
	    store_ask(store, &stmt, err, "SELECT name, artefact FROM plan_item WHERE plan = ? AND kind = ? ORDER BY ordinal", "tt",
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
	plan->probe = sqlite3_column_type(stmt, 6) == SQLITE_NULL ? NULL : mem_string(store_text(stmt, 6));
}

#define PLAN_COLUMNS "SELECT id, manifest_hash, repetitions, warm_ups, seed, started_ms, probe, level FROM plan "

/* The first row of a question about plans; ASSAY_E_NOTFOUND with `missing`. */
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
	plan_lists_of(&plan, lists);
	for (int k = 0; !st && k < LISTS; k++)
		st = plan_load_list(store, &plan, &lists[k], err);
	*out = plan;
	if (st)
		plan_release(out);
	return st;
}

enum assay_status plan_latest_incomplete(struct store *store, const char *application, bool probe, struct plan *out,
					 struct assay_error *err)
{
	char *missing =
	    mem_format("no %srun of '%s' was interrupted: there is nothing to resume", probe ? "instrumented " : "", application);
	sqlite3_stmt *stmt = NULL;
	enum assay_status st = store_ask(
	    store, &stmt, err,
	    PLAN_COLUMNS "WHERE application = ? AND (probe IS NOT NULL) = ? AND complete = 0 ORDER BY started_ms DESC, id LIMIT 1", "ti",
	    application, (int64_t)probe);

	st = plan_load_first(store, stmt, st, application, missing, out, err);
	free(missing);
	return st;
}

enum assay_status plan_of_seed(struct store *store, const char *application, uint64_t seed, struct plan *out, struct assay_error *err)
{
	sqlite3_stmt *stmt = NULL;
	enum assay_status st = store_ask(
	    store, &stmt, err, PLAN_COLUMNS "WHERE application = ? AND probe IS NULL AND seed = ? ORDER BY started_ms DESC, id LIMIT 1",
	    "ti", application, (int64_t)seed);

	return plan_load_first(store, stmt, st, application, "no runs have this seed", out, err);
}

enum assay_status plan_complete(struct store *store, const struct plan *plan, struct assay_error *err)
{
	return store_do(store, err, "UPDATE plan SET complete = 1 WHERE id = ?", "t", plan->id);
}

enum assay_status plan_grow(struct store *store, const char *id, int64_t repetitions, double level, struct assay_error *err)
{
	return store_do(
	    store, err,
	    "UPDATE plan SET complete = complete AND repetitions >= ?1, repetitions = max(repetitions, ?1), level = ?2 WHERE id = ?3",
	    "idt", repetitions, level, id);
}

void plan_release(struct plan *plan)
{
	struct plan_list lists[LISTS];

	plan_lists_of(plan, lists);
	for (int k = 0; k < LISTS; k++) {
		for (size_t i = 0; i < *lists[k].n; i++) {
			free((*lists[k].names)[i]);
			if (lists[k].artefacts)
				free((*lists[k].artefacts)[i]);
		}
		free(*lists[k].names);
	}
	mem_free(plan->artefacts, plan->application, plan->probe);
	*plan = (struct plan){ .application = NULL };
}

static enum assay_status plan_fail_unknown(const struct manifest *manifest, const char *kind, const char *name, const char *const *all,
					   size_t n, struct assay_error *err)
{
	const char *nearest = n && *all[0] ? text_nearest(name, all, n) : NULL; /* one without a name is all there is */
	struct buf list = BUF_INIT;
	char shown[TEXT_SHOWN_BYTES];
	enum assay_status st;

	text_shown(name, shown);
	for (size_t i = 0; i < n && i < 20; i++)
		buf_format(&list, "%s%s", i ? ", " : "", all[i]);
	if (nearest)
		st = assay_fail(err, ASSAY_E_USAGE, "'%s' has no %s '%s' (did you mean '%s'?)", manifest->file, kind, shown, nearest);
	else
		st = assay_fail(err, ASSAY_E_USAGE, "'%s' has no %s '%s': it has %s", manifest->file, kind, shown,
				n && *all[0] ? list.bytes : "none with a name");
	buf_release(&list);
	return st;
}

/* The names asked for (none: all) among those of the manifest. */
static enum assay_status plan_choose_list(const struct manifest *manifest, const char *kind, const struct manifest_words *asked,
					  const char *const *all, size_t n_all, char ***out, size_t *n, struct assay_error *err)
{
	size_t n_asked = asked->n ? asked->n : n_all;

	*out = mem_new(n_asked, sizeof(char *));
	*n = 0;
	for (size_t i = 0; i < n_asked; i++) {
		const char *name = asked->n ? asked->items[i] : all[i];
		size_t k = 0;

		while (k < n_all && strcmp(all[k], name) != 0)
			k++;
		if (k == n_all)
			return plan_fail_unknown(manifest, kind, name, all, n_all, err);
		if (text_among(*out, *n, name))
			return assay_fail(err, ASSAY_E_USAGE, "%s '%s' is named twice", kind, name);
		(*out)[(*n)++] = mem_string(name);
	}
	return ASSAY_OK;
}

static uint64_t plan_draw_seed(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec * 1000003 + (uint64_t)now.tv_nsec % 1000003; /* short enough to be typed */
}

static enum assay_status plan_choose_names(const struct manifest *manifest, const struct plan_choice *choice, struct plan *plan,
					   struct assay_error *err)
{
	const char **versions = mem_new(manifest->n_versions, sizeof(*versions)), **inputs = mem_new(manifest->n_inputs, sizeof(*inputs));
	enum assay_status st;

	for (size_t i = 0; i < manifest->n_versions; i++)
		versions[i] = manifest->versions[i].name;
	for (size_t i = 0; i < manifest->n_inputs; i++)
		inputs[i] = manifest->inputs[i].name;
	st = plan_choose_list(manifest, "version", &choice->versions, versions, manifest->n_versions, &plan->versions, &plan->n_versions,
			      err);
	if (!st)
		st = plan_choose_list(manifest, "input", &choice->inputs, inputs, manifest->n_inputs, &plan->inputs, &plan->n_inputs, err);
	mem_free(versions, inputs);
	return st;
}

/* What the emulation counts does not depend on what ran before. */
static enum assay_status plan_choose_probe(const struct manifest *manifest, struct plan *plan, struct assay_error *err)
{
	if (!manifest->probe.given)
		return assay_fail(err, ASSAY_E_USAGE,
				  "'%s' does not say how functions are measured: add 'probe: {functions: changed}' for programs built with "
				  "-fpatchable-function-entry=5, or 'probe: {back_end: emulated}' for those of 'assay emulate build'",
				  manifest->file);
	plan->probe = manifest_probe_text(&manifest->probe);
	if (manifest->probe.back_end == MANIFEST_EMULATED)
		plan->warm_ups = 0;
	return ASSAY_OK;
}

enum assay_status plan_choose(const struct manifest *manifest, const struct plan_choice *choice, const struct host *const *hosts, size_t n,
			      struct plan *out, struct assay_error *err)
{
	struct plan plan = { .application = mem_string(manifest->application),
			     .repetitions = choice->repetitions ? choice->repetitions : manifest->repetitions,
			     .warm_ups = manifest->warm_ups,
			     .seed = choice->has_seed ? choice->seed : plan_draw_seed() };
	enum assay_status st = plan_choose_names(manifest, choice, &plan, err);

	memcpy(plan.manifest_hash, manifest->hash, sizeof(plan.manifest_hash));
	plan.artefacts = mem_new(plan.n_versions, sizeof(char *));
	for (size_t i = 0; i < plan.n_versions; i++)
		plan.artefacts[i] = mem_string("");
	plan.machines = mem_new(n, sizeof(char *));
	for (size_t i = 0; i < n; i++)
		plan.machines[plan.n_machines++] = mem_string(hosts[i]->id);
	if (!st && choice->probe)
		st = plan_choose_probe(manifest, &plan, err);
	if (!st && plan.n_versions * plan.n_inputs > PLAN_CELLS_MAX / (size_t)(plan.repetitions + plan.warm_ups))
		st = assay_fail(err, ASSAY_E_USAGE,
				"more than %d runs on each machine: name fewer versions or inputs, or repeat them less often",
				PLAN_CELLS_MAX);
	*out = plan;
	if (st)
		plan_release(out);
	return st;
}

/* ---- a plan that is there ---- */

/* The same names, in any order? Yes when none were asked for. */
static bool plan_agrees(const struct manifest_words *asked, char *const *names, size_t n)
{
	bool same = asked->n == 0 || asked->n == n;

	for (size_t i = 0; same && i < asked->n; i++)
		same = text_among(names, n, asked->items[i]);
	return same;
}

static enum assay_status plan_fail_contradiction(const char *option, char *const *names, size_t n, struct assay_error *err)
{
	struct buf list = BUF_INIT;
	enum assay_status st;

	for (size_t i = 0; i < n; i++)
		buf_format(&list, "%s%s", i ? "," : "", names[i]);
	st = assay_fail(err, ASSAY_E_USAGE,
			"%s contradicts the runs that are to be resumed (%s): leave it out, or begin anew without --resume", option,
			list.size ? list.bytes : "none");
	buf_release(&list);
	return st;
}

enum assay_status plan_check_choice(const struct plan *plan, const struct plan_choice *choice, const struct host *const *hosts, size_t n,
				    struct assay_error *err)
{
	bool same_hosts = !hosts || n == plan->n_machines;

	for (size_t i = 0; hosts && same_hosts && i < n; i++)
		same_hosts = text_among(plan->machines, plan->n_machines, hosts[i]->id);
	if (!plan_agrees(&choice->versions, plan->versions, plan->n_versions))
		return plan_fail_contradiction("--versions", plan->versions, plan->n_versions, err);
	if (!plan_agrees(&choice->inputs, plan->inputs, plan->n_inputs))
		return plan_fail_contradiction("--inputs", plan->inputs, plan->n_inputs, err);
	if (!same_hosts)
		return plan_fail_contradiction("the choice of hosts", plan->machines, plan->n_machines, err);
	if (choice->repetitions && choice->repetitions != plan->repetitions)
		return assay_fail(err, ASSAY_E_USAGE, "--repetitions contradicts the runs that are to be resumed (%" PRId64 ")",
				  plan->repetitions);
	if (choice->has_seed && choice->seed != plan->seed)
		return assay_fail(err, ASSAY_E_USAGE, "--seed contradicts the runs that are to be resumed (%" PRIu64 ")", plan->seed);
	return ASSAY_OK;
}

enum assay_status plan_hosts(const struct plan *plan, const struct inventory *inventory, const struct host ***out, struct assay_error *err)
{
	const struct host **hosts = mem_new(plan->n_machines, sizeof(*hosts));

	*out = NULL;
	for (size_t i = 0; i < plan->n_machines; i++) {
		hosts[i] = inventory_find(inventory, plan->machines[i]);
		if (!hosts[i]) {
			free(hosts);
			return assay_fail(
			    err, ASSAY_E_NOTFOUND,
			    "the machine '%s' of these runs is no longer in lab.yaml: put it back, or begin anew without --resume",
			    plan->machines[i]);
		}
	}
	*out = hosts;
	return ASSAY_OK;
}

/* What has changed since a plan began. */

static bool plan_same_words(const struct manifest_words *a, const struct manifest_words *b)
{
	bool same = a->n == b->n;

	for (size_t i = 0; same && i < a->n; i++)
		same = strcmp(a->items[i], b->items[i]) == 0;
	return same;
}

static bool plan_same_text(const char *a, const char *b)
{
	return a == b || (a && b && strcmp(a, b) == 0);
}

static bool plan_same_own(const struct manifest_version *a, const struct manifest_version *b)
{
	for (size_t i = 0; a->n_own == b->n_own && i < a->n_own; i++) {
		const struct manifest_own *x = &a->own[i], *y = &b->own[i];

		if (!plan_same_text(x->architecture, y->architecture) || !plan_same_text(x->directory, y->directory) ||
		    !plan_same_words(&x->build, &y->build))
			return false;
	}
	return a->n_own == b->n_own;
}

static bool plan_same_version(const struct manifest_version *a, const struct manifest_version *b)
{
	return a->kind == b->kind && plan_same_own(a, b) && plan_same_text(a->repository, b->repository) &&
	       plan_same_text(a->reference, b->reference) && plan_same_words(&a->command, &b->command) &&
	       plan_same_words(&a->environment, &b->environment);
}

static bool plan_same_metric(const struct metric *a, const struct metric *b)
{
	return a->source == b->source && plan_same_text(a->pattern, b->pattern) && plan_same_text(a->name, b->name) &&
	       a->cpu_time == b->cpu_time && a->higher_is_better == b->higher_is_better;
}

static void plan_add_difference(struct buf *list, bool same, const char *what, const char *name)
{
	if (!same)
		buf_format(list, "%s%s%s%s%s", list->size ? ", " : "", what, *name ? " '" : "", name, *name ? "'" : "");
}

/* For results the probe does not matter. */
static bool plan_same_probe(const struct plan *plan, const struct manifest *now)
{
	char *text = plan->probe && now->probe.given ? manifest_probe_text(&now->probe) : NULL;
	bool same = !plan->probe || plan_same_text(plan->probe, text);

	free(text);
	return same;
}

/* Only of versions and inputs that the plan has. */
static void plan_compare_manifests(const struct plan *plan, const struct manifest *before, const struct manifest *now, struct buf *list)
{
	plan_add_difference(list, plan_same_words(&before->command, &now->command), "the command", "");
	plan_add_difference(list, plan_same_words(&before->environment, &now->environment), "the environment", "");
	plan_add_difference(list, plan_same_words(&before->files, &now->files), "the list of files", "");
	plan_add_difference(list, plan_same_metric(&before->metric, &now->metric), "the metric", "");
	plan_add_difference(list, before->time_limit_ms == now->time_limit_ms, "the time limit", "");
	plan_add_difference(list, plan_same_text(before->work, now->work), "the directory on the hosts", "");
	plan_add_difference(list, plan_same_probe(plan, now), "the probe", "");
	for (size_t i = 0; i < plan->n_versions; i++) {
		size_t a = manifest_find_version(before, plan->versions[i]), b = manifest_find_version(now, plan->versions[i]);

		plan_add_difference(list, a != SIZE_MAX && b != SIZE_MAX && plan_same_version(&before->versions[a], &now->versions[b]),
				    "version", plan->versions[i]);
	}
	for (size_t i = 0; i < plan->n_inputs; i++) {
		size_t a = manifest_find_input(before, plan->inputs[i]), b = manifest_find_input(now, plan->inputs[i]);

		plan_add_difference(list,
				    a != SIZE_MAX && b != SIZE_MAX &&
					plan_same_words(&before->inputs[a].arguments, &now->inputs[b].arguments) &&
					plan_same_words(&before->inputs[a].environment, &now->inputs[b].environment),
				    *plan->inputs[i] ? "input" : "the inputs", plan->inputs[i]);
	}
}

static enum assay_status plan_load_text(struct store *store, const struct plan *plan, char **out, struct assay_error *err)
{
	sqlite3_stmt *stmt = NULL;
	enum assay_status st = store_ask(store, &stmt, err, "SELECT manifest FROM plan WHERE id = ?", "t", plan->id);

	*out = mem_string(store_next(store, stmt, &st, err) ? store_text(stmt, 0) : "");
	return store_finish(stmt, st);
}

enum assay_status plan_check(struct store *store, const struct plan *plan, const struct manifest *manifest, struct assay_error *err)
{
	struct manifest before = { .file = NULL };
	struct buf list = BUF_INIT;
	char *text = NULL;
	enum assay_status st;

	if (strcmp(plan->manifest_hash, manifest->hash) == 0 && plan_same_probe(plan, manifest))
		return ASSAY_OK;
	st = plan_load_text(store, plan, &text, err);
	if (!st && manifest_parse(manifest->file, text, strlen(text), &before, err) == ASSAY_OK) {
		for (size_t i = 0; i < plan->n_versions; i++)
			manifest_derive(&before, plan->versions[i]);
		plan_compare_manifests(plan, &before, manifest, &list);
	}
	if (!st)
		st = assay_fail(err, ASSAY_E_CONFLICT,
				"'%s' has changed since these runs began (%s): restore it, or begin anew without --resume", manifest->file,
				list.size ? list.bytes : "versions or inputs that are not among these runs");
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
		plan_add_difference(&list, strcmp(plan->artefacts[i], artefacts[i]) == 0, "version", plan->versions[i]);
	if (list.size)
		st = assay_fail(
		    err, ASSAY_E_CONFLICT,
		    "the files that are deployed have changed since these runs began (%s): restore them, or begin anew without --resume",
		    list.bytes);
	buf_release(&list);
	return st;
}
