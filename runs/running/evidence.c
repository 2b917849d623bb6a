#include "runs/running/evidence.h"

#include "base/mem.h"
#include "base/order.h"
#include "base/text.h"

#include <math.h>

enum assay_status evidence_load_until(struct lab *lab, int64_t until_ms, struct evidence *out, struct assay_error *err)
{
	struct evidence evidence = { 0 };
	enum assay_status st = fingerprint_load(&lab->store, &evidence.fingerprints, err);

	if (!st)
		st = catalog_load(lab->machines, NULL, &evidence.catalog, err);
	for (size_t i = 0; !st && i < evidence.catalog.n; i++)
		machine_restore(&evidence.catalog.machines[i], until_ms);
	if (!st)
		types_compute(&evidence.catalog, &lab->config, &evidence.types);
	*out = evidence;
	if (st)
		evidence_release(out);
	return st;
}

enum assay_status evidence_load(struct lab *lab, struct evidence *out, struct assay_error *err)
{
	return evidence_load_until(lab, INT64_MAX, out, err);
}

void evidence_release(struct evidence *evidence)
{
	types_release(&evidence->types);
	catalog_release(&evidence->catalog);
	fingerprint_set_release(&evidence->fingerprints);
}

enum assay_status evidence_load_runs(struct lab *lab, const char *selector, struct run_set *out, struct assay_error *err)
{
	char *application = NULL, *version = NULL, *resolved = NULL;
	enum assay_status st = run_parse_selector(selector, &application, &version, err);

	if (!st)
		st = run_resolve_version(&lab->store, application, version, &resolved, err);
	if (!st)
		st = run_load(&lab->store, application, resolved, out, err);
	mem_free(application, version, resolved);
	return st;
}

/* ---- architectures of runs ---- */

const char *evidence_architecture(const struct evidence *evidence, const char *machine, const char *recorded, const char *fingerprint)
{
	const struct fingerprint *f = fingerprint_find(&evidence->fingerprints, fingerprint);
	const struct machine *m = f ? NULL : catalog_find(&evidence->catalog, machine);
	const char *name = *recorded		    ? recorded
			   : f			    ? f->architecture
			   : m && m->n_fingerprints ? m->fingerprints[m->n_fingerprints - 1].architecture
						    : FINGERPRINT_UNKNOWN;

	return strcmp(name, FINGERPRINT_UNKNOWN) == 0 ? NULL : name;
}

static const char *find_run_architecture(const struct evidence *evidence, const struct run *run)
{
	return evidence_architecture(evidence, run->machine, run->architecture, run->fingerprint);
}

static const char *find_executed_architecture(const struct evidence *evidence, const struct run_execution_counts *executed_on)
{
	return evidence_architecture(evidence, executed_on->machine, executed_on->architecture, "");
}

static void add_name(const char *name, const char ***names, size_t *n)
{
	for (size_t i = 0; name && i < *n; i++) {
		if (strcmp((*names)[i], name) == 0)
			return;
	}
	if (!name)
		return;
	*names = mem_resize(*names, *n + 1, sizeof(**names));
	(*names)[(*n)++] = name;
}

size_t evidence_architectures(const struct evidence *evidence, const struct run_set *const *sets, size_t n, const char ***out)
{
	size_t found = 0;

	*out = NULL;
	for (size_t i = 0; i < n; i++) {
		for (size_t k = 0; k < sets[i]->n; k++)
			add_name(find_run_architecture(evidence, &sets[i]->items[k]), out, &found);
		for (size_t k = 0; k < sets[i]->n_executed_machines; k++)
			add_name(find_executed_architecture(evidence, &sets[i]->executed_on[k]), out, &found);
	}
	order_sort(*out, found, text_compare);
	return found;
}

static bool is_of_architecture(const char *name, const char *architecture)
{
	return !name || strcmp(name, architecture) == 0;
}

/* Removes and frees the runs of other architectures. Returns the number of runs that are left. */
static size_t keep_runs(const struct evidence *evidence, struct run *runs, size_t n, const char *architecture)
{
	size_t kept = 0;

	for (size_t i = 0; i < n; i++) {
		if (is_of_architecture(find_run_architecture(evidence, &runs[i]), architecture))
			runs[kept++] = runs[i];
		else
			free(runs[i].machine);
	}
	return kept;
}

void evidence_keep_architecture(const struct evidence *evidence, const char *architecture, struct run_set *set)
{
	size_t kept = 0;

	set->n = keep_runs(evidence, set->items, set->n, architecture);
	set->n_others = keep_runs(evidence, set->others, set->n_others, architecture);
	for (size_t i = 0; i < set->n_executed_machines; i++) {
		if (!is_of_architecture(find_executed_architecture(evidence, &set->executed_on[i]), architecture)) {
			free(set->executed_on[i].machine);
			continue;
		}
		set->executed_on[kept++] = set->executed_on[i];
	}
	set->n_executed_machines = kept;
	run_set_sum(set);
}

char *evidence_keep_most_frequent(const struct evidence *evidence, struct run_set *sets, size_t n)
{
	const struct run_set *all[] = { &sets[0], &sets[n - 1] };
	const char **names;
	size_t architectures = evidence_architectures(evidence, all, n, &names), total = 0, most = 0, best = 0;
	char *architecture, *text = NULL;

	for (size_t i = 0; i < architectures; i++) {
		size_t of = 0;

		for (size_t k = 0; k < n; k++) {
			for (size_t r = 0; r < sets[k].n; r++) {
				const char *name = find_run_architecture(evidence, &sets[k].items[r]);

				of += name && strcmp(name, names[i]) == 0;
			}
		}
		total += of;
		best = of > most ? i : best;
		most = of > most ? of : most;
	}
	if (architectures > 1) {
		architecture = mem_string(names[best]); /* a copy, because the names belong to runs that are freed below */
		for (size_t k = 0; k < n; k++)
			evidence_keep_architecture(evidence, architecture, &sets[k]);
		text = mem_format("results of %zu architectures are never combined: the %zu of %s are used, the %zu others excluded",
				  architectures, most, architecture, total - most);
		free(architecture);
	}
	free(names);
	return text;
}

/* ---- matrices of runs and stressors ---- */

ROWS_FUNCTION(excluded_code, enum exclusion_code, EXCLUDED_ROWS, ROWS_CODE)
ROWS_FUNCTION(excluded_text, enum exclusion_code, EXCLUDED_ROWS, ROWS_TEXT)

/* Returns a fingerprint whose battery, stress-ng version and architecture are the most frequent among the runs; NULL if no run has one. */
static const struct fingerprint *dataset_most_common(const struct fingerprint *const *of, size_t n)
{
	const struct fingerprint *best = NULL;
	size_t most = 0;

	for (size_t i = 0; i < n; i++) {
		size_t count = 0;

		if (!of[i] || (best && fingerprint_is_comparable(of[i], best)))
			continue;
		for (size_t j = 0; j < n; j++)
			count += of[j] && fingerprint_is_comparable(of[i], of[j]);
		if (count > most) {
			most = count;
			best = of[i];
		}
	}
	return best;
}

/* Sets columns[] to the stressors that have a rate in some fingerprint comparable to `kind`. Returns their number. */
static size_t dataset_choose_features(const struct fingerprint_set *set, const struct fingerprint *kind, size_t *columns)
{
	size_t n = 0;

	for (size_t j = 0; j < set->n_stressors; j++) {
		bool occurs = false;

		for (size_t i = 0; !occurs && i < set->n; i++) {
			for (size_t pass = 0; !occurs && fingerprint_is_comparable(&set->items[i], kind) && pass < set->items[i].n_passes;
			     pass++)
				occurs = !isnan(fingerprint_rate(set, &set->items[i], pass, j));
		}
		if (occurs)
			columns[n++] = j;
	}
	return n;
}

/* Fills the row of a run with the rates of its pass, or with medians over the fingerprint's passes if the run belongs to no single pass.
 * Returns false if more than `may_lack` stressors have no rate. */
static bool dataset_fill_row(const struct fingerprint_set *set, const struct fingerprint *f, int64_t pass_number, const size_t *columns,
			     size_t n, size_t may_lack, double *row)
{
	size_t pass = 0, lacks = 0;

	while (pass < f->n_passes && f->passes[pass] != pass_number)
		pass++;
	for (size_t j = 0; j < n; j++) {
		if (pass < f->n_passes) {
			row[j] = fingerprint_rate(set, f, pass, columns[j]);
		} else {
			struct fingerprint_summary s = fingerprint_summarise(set, f, columns[j]);

			row[j] = s.measured ? s.median : (s.zero ? 0 : (double)NAN);
		}
		lacks += isnan(row[j]) ? 1 : 0;
	}
	return lacks <= may_lack;
}

static void dataset_count_distinct(struct dataset *d, size_t n_types, const char *machine, const char **last_machine, bool *seen,
				   size_t type)
{
	if (type < n_types && !seen[type]) {
		seen[type] = true;
		d->hardware_types++;
	}
	if (!*last_machine || strcmp(*last_machine, machine) != 0)
		d->machines++; /* counts each machine once, because runs are sorted by machine */
	*last_machine = machine;
}

static void dataset_fill(const struct evidence *evidence, const struct run_set *runs, const struct fingerprint *const *of,
			 const size_t *columns, const struct fingerprint *kind, size_t may_lack, struct dataset *d)
{
	bool *seen = mem_new(evidence->types.n, sizeof(bool));
	const char *last_machine = NULL;
	size_t cols = d->X.cols;

	for (size_t i = 0; i < runs->n; i++) {
		if (!of[i]) {
			d->n_excluded[EXCLUDED_NO_FINGERPRINT]++;
		} else if (!fingerprint_is_comparable(of[i], kind)) {
			d->n_excluded[EXCLUDED_OTHER_BATTERY]++;
		} else if (!dataset_fill_row(&evidence->fingerprints, of[i], runs->items[i].pass, columns, cols, may_lack,
					     &d->X.at[d->X.rows * cols])) {
			d->n_excluded[EXCLUDED_INCOMPLETE]++;
		} else {
			d->y[d->X.rows] = runs->items[i].metric;
			d->run[d->X.rows] = i;
			d->types[d->X.rows] = types_find(&evidence->types, of[i]->id);
			dataset_count_distinct(d, evidence->types.n, runs->items[i].machine, &last_machine, seen, d->types[d->X.rows]);
			d->X.rows++;
		}
	}
	free(seen);
}

void dataset_build(const struct evidence *evidence, const struct run_set *runs, bool sparse, struct dataset *out)
{
	const struct fingerprint_set *set = &evidence->fingerprints;
	const struct fingerprint **of = mem_new(runs->n, sizeof(struct fingerprint *));
	size_t *columns = mem_new(set->n_stressors, sizeof(size_t));
	struct dataset d = { 0 };
	const struct fingerprint *kind;
	size_t n = 0;

	for (size_t i = 0; i < runs->n; i++)
		of[i] = fingerprint_find(set, runs->items[i].fingerprint);
	kind = dataset_most_common(of, runs->n);
	if (kind)
		n = dataset_choose_features(set, kind, columns);
	d.battery = kind ? kind->battery : NULL;
	d.features = mem_new(n, sizeof(char *));
	for (size_t j = 0; j < n; j++)
		d.features[j] = set->stressors[columns[j]];
	d.X = mat_new(runs->n, n);
	d.X.rows = 0; /* number of rows filled so far */
	d.y = mem_new(runs->n, sizeof(double));
	d.types = mem_new(runs->n, sizeof(size_t));
	d.run = mem_new(runs->n, sizeof(size_t));
	dataset_fill(evidence, runs, of, columns, kind, sparse ? n / 2 : 0, &d);
	mem_free(columns, of);
	*out = d;
}

void dataset_release(struct dataset *dataset)
{
	mat_release(&dataset->X);
	mem_free(dataset->features, dataset->y, dataset->types, dataset->run);
	*dataset = (struct dataset){ 0 };
}
