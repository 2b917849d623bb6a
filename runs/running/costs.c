#include "runs/running/costs.h"

#include "base/buf.h"
#include "base/mem.h"
#include "base/order.h"
#include "base/stats.h"
#include "base/text.h"
#include "fleet/agent/signature.h"
#include "runs/running/input_features.h"
#include "runs/running/sampled_lines.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define EQUAL_VALUES_TOLERANCE		      1e-9 /* largest relative difference at which two values of a feature count as equal */
#define COST_TEXT(constant, word, unit, text) text,

/* ---- sampled source lines ---- */

/* Adds the sampled lines of a run. `run_usage` is the run's resource usage as text (fleet/agent/signature.h). */
static enum assay_status cost_places_add(struct cost_source_lines *places, const char *run_usage, struct assay_error *err)
{
	struct run_usage of;
	enum assay_status st = run_usage_parse(run_usage, &of, err);
	double period = 0.0;

	if (st)
		return st;
	if (of.samples) /* "PERIOD period ns, ..."; NULL if there are no samples */
		period = 1e-9 * strtod(of.samples, NULL);
	if (period > 0.0) {
		const char *text = of.samples;
		struct sampled_line line;

		places->runs++;
		places->sample = period;
		while (sampled_lines_next(&text, &line)) {
			mem_append(places->items, places->n, &places->capacity,
				   (struct cost_source_line){ .function = mem_bytes(line.function, line.function_bytes),
							      .file = mem_bytes(line.file, line.file_bytes),
							      .line = line.line,
							      .function_line = line.function_line,
							      .seconds = period * (double)line.count });
		}
	}
	run_usage_release(&of);
	return ASSAY_OK;
}

ORDER_BY(compare_places, struct cost_source_line, BY_TEXT(function) BY_TEXT(file) BY_ASC(line))

static void place_release(struct cost_source_line *place)
{
	mem_free(place->function, place->file);
}

/* Ends the collection: sorts the lines, merges equal ones, and divides times by the number of runs. */
static void cost_places_end(struct cost_source_lines *places)
{
	size_t kept = 0;

	order_sort(places->items, places->n, compare_places);
	for (size_t i = 0; i < places->n; i++) {
		struct cost_source_line *last = kept ? &places->items[kept - 1] : NULL;

		places->items[i].seconds /= (double)places->runs;
		if (last && compare_places(last, &places->items[i]) == 0) {
			last->seconds += places->items[i].seconds;
			place_release(&places->items[i]);
		} else {
			places->items[kept++] = places->items[i];
		}
	}
	places->n = kept;
	places->sample /= (double)(places->runs ? places->runs : 1);
}

/* Frees the lines. Accepts a zeroed struct. */
static void cost_places_release(struct cost_source_lines *places)
{
	mem_release_all(places->items, places->n, place_release);
	*places = (struct cost_source_lines){ .items = NULL };
}

ROWS_FUNCTION(cost_kind_text, enum cost_kind, COST_ROWS, COST_TEXT)
ROWS_FUNCTION(cost_origin_code, enum cost_origin, COST_ORIGIN_ROWS, ROWS_CODE)

/* A run of the application, loaded from the store. */
struct costs_run {
	char *machine, *architecture, *input, *hash, *run_usage, *fingerprint;
	int64_t taken_ms;
	size_t session;
	double cost;
	const struct run_features *counted; /* counts of this run, or of another version's run of the same input; not owned */
	struct execution_features features;
};

struct costs_runs {
	struct costs_run *items;
	size_t n, capacity;
};

void costs_release(struct costs *costs)
{
	for (size_t i = 0; i < costs->n; i++) {
		mem_free(costs->inputs[i].name, costs->inputs[i].hash, costs->inputs[i].cost, costs->inputs[i].session);
		mem_free_all(costs->inputs[i].aliases, costs->inputs[i].n_aliases);
		cost_places_release(&costs->inputs[i].places);
	}
	mem_free(costs->inputs, costs->application, costs->version, costs->machine, costs->architecture, costs->fingerprint);
	mat_release(&costs->X);
	mem_free_all(costs->names, costs->p);
	free(costs->origin);
	mem_free_all(costs->unstable, costs->n_unstable);
	mem_free_all(costs->unknown, costs->n_unknown);
	mem_free_all(costs->machines, costs->n_machines);
	*costs = (struct costs){ .application = NULL };
}

static void run_release(struct costs_run *run)
{
	mem_free(run->machine, run->architecture, run->input, run->hash, run->run_usage, run->fingerprint);
	execution_features_release(&run->features);
}

static void runs_release(struct costs_runs *runs)
{
	mem_release_all(runs->items, runs->n, run_release);
}

static enum assay_status fail_nothing(struct store *store, const char *application, const char *version, struct assay_error *err)
{
	struct buf there = BUF_INIT;
	sqlite3_stmt *stmt = NULL;
	char *name = mem_bytes(application, strcspn(application, "/")), *command = NULL;
	enum assay_status st = store_query(store, &stmt, err,
					   "SELECT DISTINCT v.name FROM plan AS p JOIN plan_item AS v ON v.plan = p.id AND v.kind = "
					   "'version' WHERE p.application = ? AND p.probe IS NULL ORDER BY v.name LIMIT 20",
					   "t", application);

	while (store_next(store, stmt, &st, err))
		buf_format(&there, "%s%s@%s", there.size ? ", " : "", application, store_text(stmt, 0));
	sqlite3_finalize(stmt);
	if (!st && there.size)
		st = assay_fail(err, version ? ASSAY_E_NOTFOUND : ASSAY_E_USAGE,
				version ? "version '%s' was not run: there are %s" : "say which version%s: %s", version ? version : "",
				there.bytes);
	else if (!st && strchr(application, '/'))
		st = assay_fail(err, ASSAY_E_NOTFOUND, "application '%s' was not run: name it without an input, as '%s'",
				TEXT_SANITIZED(application), TEXT_SANITIZED(name));
	else if (!st) {
		command = text_format_command((const char *const[]){ "run", application, NULL });
		st = assay_fail(err, ASSAY_E_NOTFOUND, "application '%s' was not run (%s does)", TEXT_SANITIZED(application), command);
	}
	mem_free(command, name);
	buf_release(&there);
	return st;
}

/* Finds the requested version, or the only one if `version` is NULL, and the build that its latest plan deployed. */
static enum assay_status find_build(struct store *store, const char *application, const char *version, char **name_out, char **artefact,
				    struct assay_error *err)
{
	sqlite3_stmt *stmt = NULL;
	size_t versions = 0;
	enum assay_status st = store_query(store, &stmt, err,
					   "SELECT v.name, v.artefact FROM plan AS p JOIN plan_item AS v ON v.plan = p.id AND v.kind = "
					   "'version' WHERE p.application = ? AND p.probe IS NULL ORDER BY p.started_ms, p.id",
					   "t", application);

	while (store_next(store, stmt, &st, err)) {
		const char *name = store_text(stmt, 0);

		if (version && strcmp(name, version) != 0)
			continue;
		versions += !*name_out || strcmp(*name_out, name) != 0;
		mem_free(*name_out, *artefact);
		*name_out = mem_string(name);
		*artefact = mem_string(store_text(stmt, 1));
	}
	sqlite3_finalize(stmt);
	return st || versions == 1 ? st : fail_nothing(store, application, version, err);
}

enum { MACHINE, INPUT, METRIC, WALL, USER, SYS, FEATURES, ARTEFACT, ARCHITECTURE, SIGNATURE, TAKEN, SESSION, FINGERPRINT };

static double read_cost(sqlite3_stmt *stmt, enum cost_kind of)
{
	switch (of) {
	case COST_CPU:
		return sqlite3_column_type(stmt, USER) == SQLITE_NULL ? -1.0 : 1e-6 * (store_double(stmt, USER) + store_double(stmt, SYS));
	case COST_WALL:
		return sqlite3_column_type(stmt, WALL) == SQLITE_NULL ? -1.0 : 1e-9 * store_double(stmt, WALL);
	case COST_METRIC:
	case COSTS:
		break;
	}
	return store_double(stmt, METRIC);
}

/* Loads the runs of a version. If `paired_version` is not NULL, loads only runs of plans that also contain that version. */
static enum assay_status load_runs(struct store *store, struct costs *costs, const char *version, const char *artefact,
				   const char *paired_version, struct costs_runs *out, struct assay_error *err)
{
	sqlite3_stmt *stmt = NULL;
	enum assay_status st = store_query(
	    store, &stmt, err,
	    "SELECT e.machine, e.input, e.metric, e.wall_ns, e.user_us, e.sys_us, e.features, v.artefact, e.architecture, e.signature, "
	    "e.taken_ms, p.rowid, (SELECT r.fingerprint FROM run AS r WHERE r.application = "
	    "e.application AND r.version = ?2 AND r.machine = "
	    "e.machine AND r.taken_ms = e.taken_ms AND r.repetition = e.repetition LIMIT 1) FROM plan AS p JOIN plan_item AS v ON v.plan = "
	    "p.id AND v.kind = 'version' AND v.name = ?2 JOIN execution AS e ON e.plan = p.id AND e.version = ?2 WHERE p.application = ?1 "
	    "AND p.probe IS NULL AND e.outcome = 'ok' AND (?3 IS NULL OR EXISTS (SELECT 1 FROM plan_item AS b WHERE b.plan = p.id AND "
	    "b.kind = 'version' AND b.name = ?3)) ORDER BY e.machine, e.input, p.started_ms, p.id, e.repetition",
	    "ttt", costs->application, version, paired_version);

	while (store_next(store, stmt, &st, err)) {
		size_t n = (size_t)sqlite3_column_bytes(stmt, FEATURES);
		bool other = strcmp(store_text(stmt, ARTEFACT), artefact) != 0;
		double cost = read_cost(stmt, costs->kind);
		struct costs_run *run;

		costs->n_other_builds += other;
		costs->n_without_features += !other && !n;
		if (other || !n || !(cost > 0.0))
			continue;
		run = mem_append_slot(out->items, out->n, &out->capacity);
		*run = (struct costs_run){ .machine = mem_string(store_text(stmt, MACHINE)),
					   .architecture = mem_string(store_text(stmt, ARCHITECTURE)),
					   .input = mem_string(store_text(stmt, INPUT)),
					   .run_usage = mem_string(store_text(stmt, SIGNATURE)),
					   .fingerprint = mem_string(store_text(stmt, FINGERPRINT)),
					   .taken_ms = sqlite3_column_int64(stmt, TAKEN),
					   .session = (size_t)sqlite3_column_int64(stmt, SESSION),
					   .cost = cost };
		st = execution_features_unpack(sqlite3_column_blob(stmt, FEATURES), n, &run->features, err);
		run->hash = mem_string(*run->features.input ? run->features.input : run->input);
		if (st)
			break;
	}
	return store_finalize(stmt, st);
}

/* ---- rows of one machine ---- */

ORDER_BY(compare_runs, struct costs_run, BY_TEXT(machine) BY_TEXT(hash) BY_ASC(cost))

static bool same_input(const struct costs_run *a, const struct costs_run *b)
{
	return strcmp(a->machine, b->machine) == 0 && strcmp(a->hash, b->hash) == 0;
}

struct machine_inputs {
	char *machine;
	size_t inputs;
};

ORDER_BY(compare_machines, struct machine_inputs, BY_DESC(inputs) BY_TEXT(machine))

/* Lists the machines by number of inputs, in descending order. The runs must be sorted. */
static void list_machines(const struct costs_runs *runs, struct costs *costs)
{
	struct machine_inputs *list = NULL;
	size_t n = 0, capacity = 0;

	for (size_t i = 0; i < runs->n; i++) {
		if (!i || strcmp(runs->items[i - 1].machine, runs->items[i].machine) != 0)
			mem_append(list, n, &capacity, (struct machine_inputs){ mem_string(runs->items[i].machine), 0 });
		list[n - 1].inputs += !i || !same_input(&runs->items[i - 1], &runs->items[i]);
	}
	order_sort(list, n, compare_machines);
	costs->machines = mem_new(n, sizeof(char *));
	for (size_t i = 0; i < n; i++)
		costs->machines[costs->n_machines++] = list[i].machine;
	free(list);
}

static enum assay_status choose_machine(struct costs *costs, const char *machine, struct assay_error *err)
{
	size_t i = 0;

	if (!costs->n_machines && costs->n_without_features)
		return assay_fail(err, ASSAY_E_NODATA, "the %zu runs of %s@%s have no features: run it again", costs->n_without_features,
				  costs->application, costs->version);
	if (!costs->n_machines && costs->n_without_counting_run)
		return assay_fail(err, ASSAY_E_NODATA, "of the %zu runs of %s@%s none has a counted input", costs->n_without_counting_run,
				  costs->application, costs->version);
	if (!costs->n_machines)
		return assay_fail(err, ASSAY_E_NODATA, "no run of %s@%s has given a result yet", costs->application, costs->version);
	while (machine && i < costs->n_machines && strcmp(costs->machines[i], machine) != 0)
		i++;
	if (i == costs->n_machines)
		return assay_fail(err, ASSAY_E_NOTFOUND, "%s@%s was not run on '%s' (most of its inputs were on '%s')", costs->application,
				  costs->version, machine, costs->machines[0]);
	costs->machine = mem_string(costs->machines[i]);
	return ASSAY_OK;
}

/* Sorts names and removes duplicates. */
static void sort_names(char **names, size_t *n)
{
	size_t kept = 0;

	order_sort(names, *n, text_compare);
	for (size_t i = 0; i < *n; i++) {
		if (kept && strcmp(names[kept - 1], names[i]) == 0)
			free(names[i]);
		else
			names[kept++] = names[i];
	}
	*n = kept;
}

struct names {
	char **items;
	size_t n, capacity;
};

static void names_add(struct names *names, const char *name)
{
	mem_append(names->items, names->n, &names->capacity, mem_string(name));
}

/* Collects the names of an input. The first in byte order becomes its name; the others go to `aliases`. */
static void name_input(const struct costs_run *runs, size_t n, struct cost_input *in)
{
	struct names names = { 0 };

	for (size_t i = 0; i < n; i++)
		names_add(&names, runs[i].input);
	sort_names(names.items, &names.n);
	in->name = names.items[0];
	in->n_aliases = names.n - 1;
	in->aliases = mem_new(in->n_aliases, sizeof(char *));
	for (size_t i = 0; i < in->n_aliases; i++)
		in->aliases[i] = names.items[i + 1];
	free(names.items);
}

/* Adds an input with its n runs, which must be sorted by cost. */
static enum assay_status add_input(const struct costs_run *runs, size_t n, struct costs *costs, struct assay_error *err)
{
	struct cost_input *in = &costs->inputs[costs->n++];
	enum assay_status st = ASSAY_OK;

	*in = (struct cost_input){ .hash = mem_string(runs[0].hash), .runs = n, .features_command_s = runs[0].features.features_command_s };
	name_input(runs, n, in);
	in->cost = mem_new(n, sizeof(*in->cost));
	in->session = mem_new(n, sizeof(*in->session));
	for (size_t i = 0; i < n; i++) {
		in->cost[i] = runs[i].cost;
		in->session[i] = runs[i].session;
	}
	in->median = stats_median(in->cost, n);
	for (size_t i = 0; i < n && !st; i++)
		st = cost_places_add(&in->places, runs[i].run_usage, err);
	cost_places_end(&in->places);
	return st;
}

static bool is_any_of_names(char *const *names, size_t n, const char *name)
{
	return n && bsearch(&name, names, n, sizeof(char *), text_compare);
}

/* Adds the features whose values differ between two runs of an input to `out`. A missing count is 0. Other features that only one run has
 * are ignored, because a command may print other names than before. Both lists must be sorted. */
static void add_unstable_names(const struct run_features *a, const struct run_features *b, bool counts, struct names *out)
{
	for (size_t i = 0, k = 0; i < a->n || k < b->n;) {
		int order = i == a->n ? 1 : k == b->n ? -1 : strcmp(a->items[i].name, b->items[k].name);
		double x = order <= 0 ? a->items[i].value : 0.0, y = order >= 0 ? b->items[k].value : 0.0;

		if ((counts || order == 0) && fabs(x - y) > EQUAL_VALUES_TOLERANCE * fmax(fabs(x), fabs(y)))
			names_add(out, order <= 0 ? a->items[i].name : b->items[k].name);
		i += order <= 0;
		k += order >= 0;
	}
}

static void add_names(const struct run_features *before, const struct run_features *f, struct names *out)
{
	for (size_t i = 0; i < f->n; i++) {
		if (!before || !run_features_find(before, f->items[i].name))
			names_add(out, f->items[i].name);
	}
}

/* Returns a feature of a run, and sets *origin. Returns NULL if the run lacks the feature. */
static const struct run_feature *find_feature(const struct execution_features *f, const struct run_features *counted, const char *name,
					      enum cost_origin *origin)
{
	const struct run_features *lists[] = { [COST_STATIC] = &f->known, [COST_PRINTED] = &f->printed, [COST_COUNTED] = counted };

	for (int i = 0; i < COST_ORIGINS; i++) {
		const struct run_feature *found = run_features_find(lists[i], name);

		if (found) {
			*origin = (enum cost_origin)i;
			return found;
		}
	}
	return NULL;
}

/* Reports whether runs lack this feature if its value is 0. */
static bool is_zero_if_absent(const struct run_feature *feature, enum cost_origin origin)
{
	return (origin == COST_COUNTED && feature->kind == FEATURE_COUNT) ||
	       (origin == COST_STATIC && input_feature_is_text(feature->name));
}

/* Collects the names of all features in runs[0..n) of one machine, and the names of those that differ between runs of the same input. */
static void read_features_of_runs(const struct costs_run *runs, size_t n, struct names *names, struct names *unstable)
{
	for (size_t i = 0; i < n; i++) {
		const struct costs_run *run = &runs[i], *before = i ? &runs[i - 1] : NULL;

		add_names(before ? &before->features.known : NULL, &run->features.known, names);
		add_names(before ? &before->features.printed : NULL, &run->features.printed, names);
		add_names(before ? before->counted : NULL, run->counted, names);
		if (before && strcmp(before->hash, run->hash) == 0) {
			add_unstable_names(&before->features.known, &run->features.known, false, unstable);
			add_unstable_names(&before->features.printed, &run->features.printed, false, unstable);
			add_unstable_names(before->counted, run->counted, true, unstable);
		}
	}
	sort_names(names->items, &names->n);
	sort_names(unstable->items, &unstable->n);
}

/* Reports whether the value of a feature is known for every run: each run has it, or may lack it because it is 0. */
static bool is_known(const struct costs_run *runs, size_t n, const char *name, enum cost_origin *origin)
{
	size_t have = 0;
	bool zero = false;

	for (size_t i = 0; i < n; i++) {
		const struct run_feature *f = find_feature(&runs[i].features, runs[i].counted, name, origin);

		have += f != NULL;
		zero = zero || (f && is_zero_if_absent(f, *origin));
	}
	return zero || have == n;
}

static void make_columns(const struct costs_run *runs, size_t n, struct names *unstable, struct costs *costs)
{
	struct names names = { 0 }, unknown = { 0 };

	read_features_of_runs(runs, n, &names, unstable);
	costs->names = mem_new(names.n, sizeof(char *));
	costs->origin = mem_new(names.n, sizeof(*costs->origin));
	for (size_t i = 0; i < names.n; i++) {
		enum cost_origin origin = COST_STATIC;

		if (is_any_of_names(unstable->items, unstable->n, names.items[i]))
			continue;
		if (!is_known(runs, n, names.items[i], &origin)) {
			names_add(&unknown, names.items[i]);
			continue;
		}
		costs->origin[costs->p] = origin;
		costs->names[costs->p++] = mem_string(names.items[i]);
	}
	mem_free_all(names.items, names.n);
	costs->unstable = unstable->items;
	costs->n_unstable = unstable->n;
	costs->unknown = unknown.items;
	costs->n_unknown = unknown.n;
}

/* Fills row[p] with the values of a run's features. NaN if a value is unknown. */
static void fill_row(const struct costs *costs, const struct execution_features *f, const struct run_features *counted, double *row)
{
	for (size_t j = 0; j < costs->p; j++) {
		enum cost_origin origin;
		const struct run_feature *found = find_feature(f, counted, costs->names[j], &origin);
		bool zero = costs->origin[j] == COST_COUNTED ? counted->n > 0 : input_feature_is_text(costs->names[j]);

		row[j] = found ? found->value : zero ? 0.0 : (double)NAN;
	}
}

void costs_fill_row(const struct costs *costs, const struct execution_features *features, double *row)
{
	fill_row(costs, features, &features->counted, row);
}

double costs_sum_unreached(const struct costs *costs, const struct run_features *counted)
{
	double sum = 0.0;

	for (size_t i = 0; i < counted->n; i++) {
		if (counted->items[i].kind == FEATURE_COUNT && costs_is_new(costs, counted->items[i].name))
			sum += counted->items[i].value;
	}
	return sum;
}

static void make_rows(const struct costs_run *runs, size_t n, struct names *unstable, struct costs *costs)
{
	size_t row = 0;

	make_columns(runs, n, unstable, costs);
	costs->X = mat_new(costs->n, costs->p);
	for (size_t i = 0; i < n; i++) {
		if (!i || strcmp(runs[i - 1].hash, runs[i].hash) != 0)
			fill_row(costs, &runs[i].features, runs[i].counted, costs->X.at + row++ * costs->p);
	}
}

static const char *latest_fingerprint(const struct costs_run *runs, size_t n)
{
	const struct costs_run *latest = NULL;

	for (size_t i = 0; i < n; i++) {
		if (*runs[i].fingerprint && (!latest || runs[i].taken_ms > latest->taken_ms))
			latest = &runs[i];
	}
	return latest ? latest->fingerprint : "";
}

static enum assay_status make_costs(const struct costs_runs *runs, struct names *unstable, struct costs *costs, struct assay_error *err)
{
	size_t first = 0, n = 0;
	enum assay_status st = ASSAY_OK;

	while (strcmp(runs->items[first].machine, costs->machine) != 0)
		first++;
	while (first + n < runs->n && strcmp(runs->items[first + n].machine, costs->machine) == 0)
		n++;
	costs->architecture = mem_string(runs->items[first].architecture);
	costs->fingerprint = mem_string(latest_fingerprint(&runs->items[first], n));
	costs->inputs = mem_new(n, sizeof(*costs->inputs));
	for (size_t i = first, same; i < first + n && !st; i += same) {
		for (same = 1; i + same < first + n && same_input(&runs->items[i], &runs->items[i + same]);)
			same++;
		st = add_input(&runs->items[i], same, costs, err);
	}
	if (!st)
		make_rows(&runs->items[first], n, unstable, costs);
	else
		mem_free_all(unstable->items, unstable->n);
	return st;
}

/* ---- counts from another version ---- */

static int compare_hash(const void *key, const void *item)
{
	return strcmp(key, ((const struct costs_run *)item)->hash);
}

ORDER_BY(compare_hashes, struct costs_run, BY_TEXT(hash))

/* Gives each run the counts of its input. Removes runs whose input was not counted. */
static void join_counts(struct costs_runs *runs, struct costs_runs *counts, struct names *unstable, struct costs *costs)
{
	size_t kept = 0;

	order_sort(counts->items, counts->n, compare_hashes);
	for (size_t i = 1; i < counts->n; i++) {
		if (strcmp(counts->items[i - 1].hash, counts->items[i].hash) == 0)
			add_unstable_names(&counts->items[i - 1].features.counted, &counts->items[i].features.counted, true, unstable);
	}
	for (size_t i = 0; i < runs->n; i++) {
		struct costs_run run = runs->items[i];
		const struct costs_run *counted =
		    counts->n ? bsearch(run.hash, counts->items, counts->n, sizeof(*counts->items), compare_hash) : NULL;

		while (counted && counted > counts->items && strcmp(counted[-1].hash, run.hash) == 0)
			counted--;
		costs->n_without_counting_run += !counted;
		runs->items[i] = runs->items[kept];
		runs->items[kept] = run;
		if (counted)
			runs->items[kept++].counted = &counted->features.counted;
	}
	for (size_t i = kept; i < runs->n; i++)
		run_release(&runs->items[i]);
	runs->n = kept;
}

static enum assay_status load_counts(struct store *store, const char *version, struct costs *costs, struct costs_runs *out,
				     struct assay_error *err)
{
	char *artefact = NULL, *name = NULL;
	struct costs ignored = { .application = costs->application, .kind = COST_CPU };
	enum assay_status st = find_build(store, costs->application, version, &name, &artefact, err);

	if (!st)
		st = load_runs(store, &ignored, version, artefact, NULL, out, err);
	mem_free(name, artefact);
	return st;
}

static enum assay_status load_all(struct store *store, const struct costs_request *asked, struct costs *costs, struct costs_runs *runs,
				  struct costs_runs *counts, struct names *unstable, struct assay_error *err)
{
	char *artefact = NULL;
	enum assay_status st = find_build(store, asked->application, asked->version, &costs->version, &artefact, err);

	if (!st)
		st = load_runs(store, costs, costs->version, artefact, asked->paired_version, runs, err);
	if (!st && asked->counts)
		st = load_counts(store, asked->counts, costs, counts, err);
	for (size_t i = 0; i < runs->n; i++)
		runs->items[i].counted = &runs->items[i].features.counted;
	if (!st && asked->counts)
		join_counts(runs, counts, unstable, costs);
	if (!st && runs->n)
		qsort(runs->items, runs->n, sizeof(*runs->items), compare_runs);
	for (size_t i = 0; i < runs->n && !asked->counts; i++) /* sorting has moved the runs, so their pointers to themselves are stale */
		runs->items[i].counted = &runs->items[i].features.counted;
	free(artefact);
	return st;
}

enum assay_status costs_load(struct store *store, const struct costs_request *asked, struct costs *out, struct assay_error *err)
{
	struct costs costs = { .application = mem_string(asked->application), .kind = asked->kind };
	struct costs_runs runs = { NULL, 0, 0 }, counts = { NULL, 0, 0 };
	struct names unstable = { 0 };
	enum assay_status st = load_all(store, asked, &costs, &runs, &counts, &unstable, err);

	if (!st) {
		list_machines(&runs, &costs);
		st = choose_machine(&costs, asked->machine, err);
	}
	if (!st)
		st = make_costs(&runs, &unstable, &costs, err);
	else
		mem_free_all(unstable.items, unstable.n);
	runs_release(&runs);
	runs_release(&counts);
	*out = costs;
	if (st)
		costs_release(out);
	return st;
}

/* ---- runs for the prediction of one input ---- */

/* Finds the latest run of an input that has suitable features. A NULL `version` or `artefact` means any. Sets *found to the run's
 * version. */
static enum assay_status find_run(struct store *store, const char *application, const char *version, const char *artefact,
				  const char *input, const char *hash, struct execution_features *out, char **found,
				  struct assay_error *err)
{
	sqlite3_stmt *stmt = NULL;
	enum assay_status st = store_query(
	    store, &stmt, err,
	    "SELECT v.name, e.features FROM plan AS p JOIN plan_item AS v ON v.plan = p.id AND v.kind = 'version' AND (?2 IS NULL OR "
	    "v.name "
	    "= ?2) AND (?3 IS NULL OR v.artefact = ?3) JOIN execution AS e ON e.plan = p.id AND e.version = v.name AND e.input = ?4 WHERE "
	    "p.application = ?1 AND p.probe IS NULL AND e.outcome = 'ok' ORDER BY p.started_ms DESC, p.id DESC, v.name",
	    "tttt", application, version, artefact, input);

	while (!*found && store_next(store, stmt, &st, err)) {
		st = execution_features_unpack(sqlite3_column_blob(stmt, 1), (size_t)sqlite3_column_bytes(stmt, 1), out, err);
		if (st)
			break;
		if ((out->counted.n || (!version && out->printed.n)) && (!*hash || strcmp(out->input, hash) == 0))
			*found = mem_string(store_text(stmt, 0));
		else
			execution_features_release(out);
	}
	return store_finalize(stmt, st);
}

enum assay_status costs_find_other_run(struct store *store, const struct costs_request *asked, const char *input, const char *hash,
				       struct costs_other_version *out, struct assay_error *err)
{
	char *artefact = NULL, *name = NULL;
	enum assay_status st = find_build(store, asked->application, asked->counts ? asked->counts : asked->version, &name, &artefact, err);

	*out = (struct costs_other_version){ .version = NULL };
	if (!st)
		st = find_run(store, asked->application, name, artefact, input, hash, &out->features, &out->version, err);
	out->counts = out->version != NULL;
	if (!st && !out->version)
		st = find_run(store, asked->application, NULL, NULL, input, hash, &out->features, &out->version, err);
	mem_free(artefact, name);
	return st;
}

void costs_other_version_release(struct costs_other_version *other)
{
	execution_features_release(&other->features);
	free(other->version);
}

size_t costs_find_column(const struct costs *costs, const char *name)
{
	char **found = costs->p ? bsearch(&name, costs->names, costs->p, sizeof(char *), text_compare) : NULL;

	return found ? (size_t)(found - costs->names) : SIZE_MAX;
}

bool costs_is_count(const struct costs *costs, size_t column)
{
	return costs->origin[column] == COST_COUNTED && feature_find_kind(costs->names[column]) == FEATURE_COUNT;
}

bool costs_is_new(const struct costs *costs, const char *name)
{
	bool counts = false;

	for (size_t j = 0; j < costs->p && !counts; j++)
		counts = costs_is_count(costs, j);
	return counts && costs_find_column(costs, name) == SIZE_MAX && !is_any_of_names(costs->unstable, costs->n_unstable, name) &&
	       !is_any_of_names(costs->unknown, costs->n_unknown, name);
}

size_t costs_find_input_by_hash(const struct costs *costs, const char *hash)
{
	for (size_t i = 0; i < costs->n; i++) {
		if (strcmp(costs->inputs[i].hash, hash) == 0)
			return i;
	}
	return SIZE_MAX;
}

size_t costs_find_input(const struct costs *costs, const char *name)
{
	for (size_t i = 0; i < costs->n; i++) {
		bool is = strcmp(costs->inputs[i].name, name) == 0;

		if (is || is_any_of_names(costs->inputs[i].aliases, costs->inputs[i].n_aliases, name))
			return i;
	}
	return SIZE_MAX;
}
