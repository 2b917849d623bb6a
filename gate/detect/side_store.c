/* Stored samples of a version, as `assay run --probe` left them. */
#include "gate/detect/side.h"

#include "base/buf.h"
#include "base/mem.h"
#include "runs/running/run.h"
#include "runs/running/run_build.h"
#include "runs/inside/samples/sample_files.h"

#include <string.h>

#define TYPES_SHOWN 5

struct listing {
	struct sample_file *files; /* [n], behind them those of other builds up to [all] */
	size_t n, all;
};

/* Of the same execution? They stand together. */
static bool same_execution(const struct sample_file *a, const struct sample_file *b)
{
	return a->repetition == b->repetition && strcmp(a->plan, b->plan) == 0 && strcmp(a->machine, b->machine) == 0 &&
	       strcmp(a->input, b->input) == 0 && strcmp(a->version, b->version) == 0;
}

static bool of_type(const struct sample_file *file, const char *type)
{
	return !type || strcmp(file->hardware_type, type) == 0;
}

static bool type_seen(const struct listing *list, size_t before)
{
	for (size_t i = 0; i < before; i++)
		if (strcmp(list->files[i].hardware_type, list->files[before].hardware_type) == 0)
			return true;
	return false;
}

/* One hardware type, unless machines are alike to what counted. */
static enum assay_status check_types(const struct side *side, const struct listing *list, const char *type,
                                     struct assay_error *err)
{
	struct buf names = BUF_INIT;
	enum assay_status st = ASSAY_OK;
	size_t types = 0;

	for (size_t i = 0; i < list->n && !type; i++) {
		if (list->files[i].back_end == RECORD_EMULATED || type_seen(list, i))
			continue;
		if (types++ < TYPES_SHOWN)
			buf_format(&names, "%s'%s'", types > 1 ? ", " : "", list->files[i].hardware_type);
	}
	if (types > 1)
		st = assay_fail(
		        err, ASSAY_E_USAGE,
		        "%s: its samples are from machines of %zu hardware types, which are never looked at together: choose one "
		        "of %s%s with --type",
		        side->what, types, names.bytes, types > TYPES_SHOWN ? "..." : "");
	buf_release(&names);
	return st;
}

static void begin_run(struct side *side, const struct sample_file *file)
{
	char *name = mem_format("%s/%s/%lld", file->machine, file->input, (long long)file->repetition);

	for (size_t r = 0; r < side->n; r++) {
		if (strcmp(side->runs[r].name, name) != 0)
			continue;
		free(name);
		name = mem_format("%s/%s/%lld of plan %s", file->machine, file->input, (long long)file->repetition, file->plan);
		break;
	}
	side_add_run(side, name, file->input, file->machine);
	free(name);
}

static enum assay_status add_execution(struct lab *lab, struct side *side, const struct sample_file *files, size_t n,
                                       struct assay_error *err)
{
	enum assay_status st = ASSAY_OK;

	for (size_t i = 0; i < n; i++)
		if (files[i].pruned) {
			side->pruned++;
			return ASSAY_OK;
		}
	if (!files[0].ok) {
		side->failed++;
		return ASSAY_OK;
	}
	begin_run(side, &files[0]);
	for (size_t i = 0; i < n && !st; i++) {
		struct samples samples;

		st = sample_files_read(lab, &files[i], &samples, err);
		if (!st)
			side_add_samples(side, files[i].hash, &samples);
	}
	return st;
}

static enum assay_status add_all(struct lab *lab, struct side *side, const struct listing *list, const char *type,
                                 struct assay_error *err)
{
	enum assay_status st = ASSAY_OK;

	for (size_t i = 0, n; i < list->n && !st; i += n) {
		n = 1;
		while (i + n < list->n && same_execution(&list->files[i], &list->files[i + n]))
			n++;
		if (!of_type(&list->files[i], type))
			continue;
		if (!*side->hardware_type) {
			free(side->hardware_type);
			side->hardware_type = mem_string(list->files[i].hardware_type);
		}
		st = add_execution(lab, side, &list->files[i], n, err);
	}
	return st;
}

/* What another build did is not what this version does; executions that are left out are counted. */
static enum assay_status keep_build(struct lab *lab, const char *plan, struct side *side, struct listing *list, struct assay_error *err)
{
	enum assay_status st = run_build_keep_samples(&lab->store, plan, list->files, &list->n, err);

	for (size_t i = list->n; i < list->all; i++)
		side->others += i == list->n || !same_execution(&list->files[i - 1], &list->files[i]);
	return st;
}

static enum assay_status compare_with_results(struct lab *lab, struct side *side, const struct listing *list, struct assay_error *err)
{
	bool *stale = NULL;
	enum assay_status st = run_build_stale_samples(&lab->store, list->files, list->n, &stale, err);

	for (size_t i = 0; !st && i < list->n; i++)
		side->stale = side->stale || stale[i];
	free(stale);
	return st;
}

/* Without a version: the only one of which there are samples. */
static enum assay_status check_versions(const char *selector, const struct listing *list, const char *version,
                                        struct assay_error *err)
{
	for (size_t i = 1; i < list->n && !version; i++)
		if (strcmp(list->files[i].version, list->files[0].version) != 0)
			return assay_fail(
			        err, ASSAY_E_USAGE,
			        "'%s' has samples of several versions, '%s' and '%s' among them: say which, as APP@VERSION",
			        selector, list->files[0].version, list->files[i].version);
	return ASSAY_OK;
}

static enum assay_status nothing_there(const struct side *side, const char *type, struct assay_error *err)
{
	if (side->pruned)
		return assay_fail(err, ASSAY_E_NODATA, "%s: its samples were removed by 'assay samples prune': measure again",
		                  side->what);
	if (side->failed)
		return assay_fail(err, ASSAY_E_NODATA, "%s: %zu executions have samples, but none of them ended well", side->what,
		                  side->failed);
	return assay_fail(err, ASSAY_E_NODATA, "%s: there are no samples of it%s%s ('assay run --probe' makes them)", side->what,
	                  type ? " on machines of type " : "", type ? type : "");
}

enum assay_status side_of_store(struct lab *lab, const char *selector, const char *plan, const char *hardware_type, struct side *out,
                                struct assay_error *err)
{
	struct side side = { .what = mem_string(selector), .hardware_type = mem_string("") };
	struct listing list = { .files = NULL };
	char *application = NULL, *version = NULL;
	enum assay_status st = run_selector(selector, &application, &version, err);

	if (!st)
		st = sample_files_list(&lab->store, application, version, &list.files, &list.all, err);
	list.n = list.all;
	if (!st)
		st = check_versions(selector, &list, version, err);
	if (!st)
		st = keep_build(lab, plan, &side, &list, err);
	if (!st && !plan)
		st = compare_with_results(lab, &side, &list, err);
	if (!st)
		st = check_types(&side, &list, hardware_type, err);
	if (!st)
		st = add_all(lab, &side, &list, hardware_type, err);
	if (!st && !side.n)
		st = nothing_there(&side, hardware_type, err);
	if (!st)
		st = side_check(&side, err);
	if (!st) {
		*out = side;
		side = (struct side){ .runs = NULL };
	}
	side_release(&side);
	sample_files_free(list.files, list.all);
	free(application);
	free(version);
	return st;
}
