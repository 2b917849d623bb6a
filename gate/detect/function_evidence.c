#include "gate/detect/function_evidence.h"

#include "base/mem.h"
#include "base/text.h"
#include "runs/inside/samples/sample_files.h"

#include <math.h>
#include <string.h>
#include <unistd.h>

#define SHOWN 5

void function_evidence_release(struct function_evidence *e)
{
	detected_release(&e->detected);
	side_release(&e->sides[0]);
	side_release(&e->sides[1]);
	places_release(&e->places);
	free(e->missing);
	*e = (struct function_evidence){ .has_result = false };
}

/* Stored samples of one version. files[0..n) are of the build whose results count; the others follow up to files[all]. */
struct stored_samples {
	struct sample_file *files;
	size_t n, all;
};

/* Returns the plan whose build gave the results; NULL if unknown. Only samples of this build explain the results. */
static const char *find_build(const struct run_set *set)
{
	return *set->plan ? set->plan : NULL;
}

static void load_stored_samples(struct lab *lab, const struct run_set *set, struct stored_samples *out)
{
	struct assay_error ignored;

	*out = (struct stored_samples){ .files = NULL };
	if (sample_files_list(&lab->store, set->application, set->version, &out->files, &out->all, &ignored))
		*out = (struct stored_samples){ .files = NULL };
	out->n = out->all;
	(void)run_build_keep_samples(&lab->store, find_build(set), out->files, &out->n,
				     &ignored); /* the error appears again, and is reported, when the samples are read */
}

/* Counts the usable files. `type` NULL means any hardware type. */
static size_t count_files(const struct stored_samples *s, enum record_back_end back_end, const char *type)
{
	size_t n = 0;

	for (size_t i = 0; i < s->n; i++)
		n += s->files[i].ok && !s->files[i].pruned && s->files[i].back_end == back_end &&
		     (!type || strcmp(s->files[i].hardware_type, type) == 0);
	return n;
}

/* Returns the hardware type with most samples of both versions; of several, the first by name. Samples of different types are never mixed.
 * Sets *types to the number of types that both have. Returns NULL if there is none, or if counters do not depend on the machine. */
static const char *choose_type(const struct stored_samples sides[2], enum record_back_end back_end, size_t *types)
{
	const char *best = NULL;
	size_t most = 0;

	*types = 0;
	for (size_t i = 0; i < sides[0].n && back_end != RECORD_EMULATED; i++) {
		const char *type = sides[0].files[i].hardware_type;
		size_t old = count_files(&sides[0], back_end, type), new = count_files(&sides[1], back_end, type),
		       least = old < new ? old : new;

		if (!least || side_has_earlier_type(sides[0].files, i))
			continue;
		++*types;
		if (least > most || (least == most && strcmp(type, best) < 0)) {
			best = type;
			most = least;
		}
	}
	return best;
}

/* Judges the samples. Needs both sides and the places. */
static enum assay_status function_evidence_judge(struct function_evidence *e, struct assay_error *err)
{
	struct detect_options options = { .detector = detector_defaults, .observe = observe_defaults };
	long processors = sysconf(_SC_NPROCESSORS_ONLN);

	options.observe.share_min =
	    DETECT_WORK_SHARE_MIN; /* small shares matter, because samples cover only changed functions and their callers */
	options.detector.threads = processors > 0 ? (size_t)processors : 1;
	e->input = (struct detect_input){ .old = &e->sides[0], .new = &e->sides[1], .places = &e->places };
	return detect(&e->input, &options, &e->detected, err);
}

static enum assay_status function_evidence_judge_stored(struct lab *lab, const struct run_set *const sets[2], enum record_back_end back_end,
							const char *type, struct function_evidence *e, struct assay_error *err)
{
	enum assay_status st = ASSAY_OK;

	for (int i = 0; i < 2 && !st; i++) {
		char *selector = mem_format("%s@%s", sets[i]->application, sets[i]->version);

		st = side_load(lab, &(struct side_request){ selector, find_build(sets[i]), type, &back_end }, &e->sides[i], err);
		if (!st && i == 1)
			places_find_in_version(lab->directory, selector, &e->places);
		free(selector);
	}
	return st ? st : function_evidence_judge(e, err);
}

void function_evidence_read(const char *const directories[2], struct function_evidence *out)
{
	struct assay_error err;
	enum assay_status st = ASSAY_OK;

	*out = (struct function_evidence){ .has_result = false };
	for (int i = 0; !st && i < 2; i++)
		st = side_read(directories[i], &out->sides[i], &err);
	st = st ? st : sides_keep_ended(&out->sides[0], &out->sides[1], &err);
	st = st ? st : function_evidence_judge(out, &err);
	out->has_result = !st;
	out->missing = st ? mem_string(err.text) : NULL;
}

/* Back ends, the most informative one first. */
static const enum record_back_end back_ends[] = { RECORD_PAPI, RECORD_EMULATED, RECORD_SOFTWARE, RECORD_TIME };
#define BACK_ENDS (sizeof(back_ends) / sizeof(back_ends[0]))

static bool function_evidence_has_finding(const struct function_evidence *e)
{
	return function_evidence_is_sure(e) && e->detected.n_worse + e->detected.n_improved > 0;
}

static void function_evidence_try(struct lab *lab, const struct run_set *const sets[2], const struct stored_samples stored[2],
				  enum record_back_end back_end, struct function_evidence *out)
{
	struct assay_error err;

	function_evidence_release(out);
	if (function_evidence_judge_stored(lab, sets, back_end, choose_type(stored, back_end, &out->types), out, &err))
		out->missing = mem_string(err.text);
	else
		out->has_result = true;
}

/* Returns a note if both versions have samples, but not of the builds whose results count. The note has a command to take new samples. */
static char *explain_other_builds(const struct run_set *const sets[2], const struct stored_samples stored[2])
{
	const struct sample_file *file = stored[0].files;
	size_t name = strlen(file->application),
	       input = strlen(file->input); /* lengths; `application` ends with the input, which the name in the manifest lacks */
	bool same = strcmp(sets[0]->application, sets[1]->application) == 0;
	char *application, *versions = mem_format("%s,%s", sets[0]->version, sets[1]->version), *command;
	struct buf text = BUF_INIT;

	buf_text(&text, "those of ");
	for (int i = 0; i < 2; i++)
		if (!stored[i].n)
			buf_format(&text, "%s%s@%s", i && !stored[0].n ? " and " : "", sets[i]->application, sets[i]->version);
	application = mem_bytes(file->application, input ? name - input - 1 : name);
	command = text_format_command(same ? (const char *const[]){ "run", application, "--probe", "--versions", versions, NULL }
					   : (const char *const[]){ "run", application, "--probe", NULL });
	buf_format(&text, " are from another build than the results (%s takes new samples)", command);
	mem_free(command, versions, application);
	return buf_take(&text);
}

void function_evidence_load(struct lab *lab, const struct run_set *baseline, const struct run_set *candidate, struct function_evidence *out)
{
	const struct run_set *const sets[2] = { baseline, candidate };
	struct stored_samples stored[2];
	enum record_back_end both[BACK_ENDS];
	size_t n = 0;

	*out = (struct function_evidence){ .has_result = false };
	load_stored_samples(lab, baseline, &stored[0]);
	load_stored_samples(lab, candidate, &stored[1]);
	for (size_t k = 0; k < BACK_ENDS; k++)
		if (count_files(&stored[0], back_ends[k], NULL) && count_files(&stored[1], back_ends[k], NULL))
			both[n++] = back_ends[k];
	for (size_t k = 0; k < n && !function_evidence_has_finding(out); k++)
		function_evidence_try(lab, sets, stored, both[k], out);
	if (n > 1 && !function_evidence_has_finding(out))
		function_evidence_try(lab, sets, stored, both[0], out);
	if (!n && stored[0].all && stored[1].all)
		out->missing = explain_other_builds(sets, stored);
	sample_files_free(stored[0].files, stored[0].all);
	sample_files_free(stored[1].files, stored[1].all);
}

/* The array has the worse functions first, then the improved ones. */
size_t function_evidence_count_leading(const struct function_evidence *e, enum decision decision, size_t *first)
{
	*first = decision == DECISION_IMPROVED ? e->detected.n_worse : 0;
	return !e->has_result ? 0 : decision == DECISION_IMPROVED ? e->detected.n_improved : e->detected.n_worse;
}

bool function_evidence_explains(const struct function_evidence *e, enum decision decision)
{
	size_t first;

	return (decision == DECISION_REGRESSION || decision == DECISION_IMPROVED) &&
	       function_evidence_count_leading(e, decision, &first) > 0;
}

bool function_evidence_is_sure(const struct function_evidence *e)
{
	return e->has_result && e->detected.rate_used <= e->detected.rate_requested;
}

char *function_evidence_latent_text(const struct function_evidence *e)
{
	struct buf names = BUF_INIT;

	for (size_t i = 0; function_evidence_is_sure(e) && i < e->detected.n_worse; i++) {
		const struct detected_function *f = &e->detected.functions[i];

		if (trouble_is_between_threads(f->kind.trouble))
			buf_format(&names, "%s%s (%s)", names.size ? ", " : "", f->name, trouble_code(f->kind.trouble));
	}
	return names.size ? buf_take(&names) : NULL;
}

/* Returns the column of the counter that decided the kind; NULL if there is none. */
static const struct detection_column *reason_column(const struct detected_function *f)
{
	for (size_t i = 0; i < f->found->n_columns; i++)
		if (f->kind.column == SIZE_MAX || f->found->columns[i].column == f->kind.column)
			return &f->found->columns[i];
	return NULL;
}

bool function_evidence_get_reason(const struct function_evidence *e, enum decision decision, size_t i, struct function_reason *out)
{
	size_t first, n = function_evidence_explains(e, decision) ? function_evidence_count_leading(e, decision, &first) : 0;
	const struct detected_function *f = i < n ? &e->detected.functions[first + i] : NULL;
	const struct detection_column *c = f ? reason_column(f) : NULL;

	if (!f)
		return false;
	*out = (struct function_reason){ .name = f->name,
					 .file = f->place ? f->place->file : NULL,
					 .line = f->place ? f->place->line : 0,
					 .kind = trouble_code(f->kind.trouble),
					 .counter = c ? e->detected.seen.columns[c->column] : NULL,
					 .normal = c ? c->normal : (double)NAN,
					 .now = c ? c->now : (double)NAN,
					 .part = f->part };
	return true;
}

static void reason_add(const struct detected *d, const struct detected_function *f, struct buf *text)
{
	const struct detection_column *c = reason_column(f);

	kind_text(&f->kind, "; also ", text);
	if (c) {
		struct counter_info about = counter_info(d->back_end, d->seen.columns[c->column]);

		buf_format(text, "; %s %.3g -> %.3g %s", about.text, c->normal * about.scale, c->now * about.scale, about.unit);
	}
}

char *function_evidence_reason(const struct function_evidence *e, const char *name)
{
	struct buf text = BUF_INIT;

	for (size_t i = 0; e->has_result && i < e->detected.n_worse; i++) {
		if (strcmp(e->detected.functions[i].name, name) == 0) {
			reason_add(&e->detected, &e->detected.functions[i], &text);
			return buf_take(&text);
		}
	}
	return NULL;
}

static void add_function(const struct detected *d, const struct detected_function *f, struct document *out)
{
	struct buf text = BUF_INIT;

	buf_text(&text, f->name);
	if (f->place && f->place->file)
		buf_format(&text, " (%s:%u)", f->place->file, f->place->line);
	buf_text(&text, ": ");
	reason_add(d, f, &text);
	doc_line(out, "  %s, in %zu of %zu runs", text.bytes, f->found->runs_anomalous, f->found->runs);
	buf_release(&text);
}

/* Adds the side effects of worse functions. */
static void add_side_effects(const struct detected *d, struct document *out)
{
	size_t first = d->n_worse + d->n_improved;
	struct buf text = BUF_INIT;

	for (size_t i = first; i < first + d->n_side_effects && i < first + SHOWN; i++)
		buf_format(&text, "%s%s of %s", i > first ? "; " : "  side effects: ", d->functions[i].name,
			   d->functions[i].side_effect_cause);
	if (d->n_side_effects > SHOWN)
		buf_format(&text, "; and %zu more", d->n_side_effects - SHOWN);
	if (text.size)
		doc_line(out, "%s", text.bytes);
	buf_release(&text);
}

static void add_list(const struct function_evidence *e, const char *head, size_t first, size_t n, struct document *out)
{
	if (!n)
		return;
	doc_line(out, "%s", head);
	for (size_t i = 0; i < n && i < SHOWN; i++)
		add_function(&e->detected, &e->detected.functions[first + i], out);
	if (n > SHOWN)
		doc_line(out, "  and %zu more ('assay detect' lists them)", n - SHOWN);
}

static void add_heading(const struct function_evidence *e, struct document *out)
{
	char *type = e->types > 1 ? mem_format(" on hardware type '%s' (of %zu that ran both; 'assay detect --type' selects another)",
					       e->sides[0].hardware_type, e->types)
				  : mem_string("");

	char *heading = mem_format("Functions, by %zu and %zu runs%s with %s counters%s", e->sides[0].n, e->sides[1].n, type,
				   samples_back_end_name(e->detected.back_end),
				   e->detected.rate_used > e->detected.rate_requested ? " (too few to be sure)" : "");

	doc_section(out, "functions", "Functions", heading,
		    "Samples of the functions that changed. Normal behavior was learned from the baseline's runs.");
	mem_free(heading, type);
}

void function_evidence_add_lines(const struct function_evidence *e, enum decision decision, struct document *out)
{
	const struct detected *d = &e->detected;
	bool moved = decision == DECISION_REGRESSION || decision == DECISION_IMPROVED;
	size_t first, n = function_evidence_count_leading(e, decision, &first);

	if (e->missing)
		doc_line(out, "\nSamples of functions cannot be used: %s", e->missing);
	if (!e->has_result)
		return;
	add_heading(e, out);
	if (!d->n)
		doc_line(out, "none could be judged");
	else if (moved && n)
		add_list(e, "the change is explained by", first, n, out);
	else if (moved)
		doc_line(out, "none of %zu measured functions explains the change", d->n);
	else if (!d->n_worse && !d->n_improved)
		doc_line(out, "none of %zu changed behaviour", d->n);
	else
		add_list(e, "anomalous, but this does not change the decision", 0, d->n_worse + d->n_improved, out);
	if (moved && n && decision == DECISION_IMPROVED)
		add_list(e, "although these became worse", 0, d->n_worse, out);
	add_side_effects(d, out);
	for (int i = 0; i < 2; i++)
		if (e->sides[i].others)
			doc_line(out, "  %s: samples of %zu run%s of another build than the results are excluded", e->sides[i].label,
				 e->sides[i].others, text_plural(e->sides[i].others));
}

void function_evidence_describe(const struct function_evidence *e, enum decision decision, struct document *out)
{
	if (!e->has_result && !e->missing) {
		doc_set(out, "functions", DOC_NULL_VALUE);
		return;
	}
	doc_object(out, "functions");
	doc_hide(out);
	if (e->has_result)
		detect_describe(&e->detected, true, out);
	doc_set_empty(out, "hardware_type", e->has_result ? e->sides[0].hardware_type : NULL);
	doc_set(out, "hardware_types", e->types);
	doc_set_bool(out, "explains", function_evidence_explains(e, decision));
	doc_set(out, "missing", e->missing);
	doc_end(out);
	function_evidence_add_lines(e, decision, out);
}
