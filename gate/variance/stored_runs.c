#include "gate/variance/stored_runs.h"

#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

static bool same_run(const struct sample_file *a, const struct sample_file *b)
{
	return strcmp(a->machine, b->machine) == 0 && strcmp(a->input, b->input) == 0 && a->repetition == b->repetition;
}

static const char *latest_plan(const struct stored_runs *runs)
{
	const struct sample_file *latest = NULL;

	for (size_t i = 0; i < runs->n_files; i++)
		if (!runs->files[i].pruned && (!latest || runs->files[i].taken_ms > latest->taken_ms))
			latest = &runs->files[i];
	return latest ? latest->plan : "";
}

/* The files of a plan's run lie side by side. */
static void runs_divide(struct stored_runs *runs)
{
	size_t capacity = 0;

	for (size_t i = 0; i < runs->n_files; i++) {
		const struct sample_file *f = &runs->files[i];
		struct stored_run *last = runs->n ? &runs->items[runs->n - 1] : NULL;

		if (!f->ok || f->pruned || strcmp(f->plan, runs->plan) != 0)
			continue;
		if (last && last->first + last->n == i && same_run(f, &runs->files[last->first])) {
			last->n++;
			continue;
		}
		runs->items = mem_grow(runs->items, runs->n, &capacity, sizeof(*runs->items));
		runs->items[runs->n++] = (struct stored_run){ i, 1 };
	}
}

enum assay_status stored_runs_list(struct lab *lab, const char *application, const char *version, const char *plan, struct stored_runs *out,
				   struct assay_error *err)
{
	enum assay_status st;

	*out = (struct stored_runs){ .files = NULL };
	st = sample_files_list_calls(&lab->store, application, version, &out->files, &out->n_files, err);
	if (!st) {
		out->plan = plan ? plan : latest_plan(out);
		runs_divide(out);
	}
	if (!st && !out->n)
		st = assay_fail(err, ASSAY_E_NODATA,
				"there are no recorded runs of %s@%s: 'variance: yes' in its manifest makes 'assay run' record",
				application, version);
	if (st)
		stored_runs_release(out);
	return st;
}

void stored_runs_release(struct stored_runs *runs)
{
	sample_files_free(runs->files, runs->n_files);
	free(runs->items);
	*runs = (struct stored_runs){ .files = NULL };
}

enum assay_status stored_run_variance(const struct lab *lab, const struct stored_runs *runs, size_t run,
				      const struct variance_options *options, struct variance *out, struct assay_error *err)
{
	const struct stored_run *r = &runs->items[run];
	struct fragments_file *files = mem_new(r->n, sizeof(*files));
	struct buf *bytes = mem_new(r->n, sizeof(*bytes));
	struct fragments fragments = { .n = 0 };
	enum assay_status st = ASSAY_OK;

	for (size_t i = 0; !st && i < r->n; i++) {
		const struct sample_file *f = &runs->files[r->first + i];

		st = sample_files_bytes(lab, f, &bytes[i], err);
		files[i] = (struct fragments_file){ .name = f->hash, .bytes = bytes[i].bytes ? bytes[i].bytes : "", .n = bytes[i].size };
	}
	if (!st)
		st = fragments_parse(files, r->n, NULL, &fragments, err);
	if (!st)
		st = variance_of(&fragments, options, out, err);
	fragments_release(&fragments);
	for (size_t i = 0; i < r->n; i++)
		buf_release(&bytes[i]);
	free(bytes);
	free(files);
	return st;
}

static double lost(const struct variance *v)
{
	double sum = 0;

	for (size_t r = 0; r < v->n_regions; r++)
		sum += v->regions[r].caused_by == VARIANCE_NONE ? v->regions[r].estimated_s : 0;
	return sum;
}

enum assay_status stored_runs_worst(const struct lab *lab, const struct stored_runs *runs, const struct variance_options *options,
				    struct variance *out, size_t *at, struct assay_error *err)
{
	enum assay_status st = stored_run_variance(lab, runs, 0, options, out, err);

	*at = 0;
	for (size_t i = 1; !st && i < runs->n; i++) {
		struct variance other;

		st = stored_run_variance(lab, runs, i, options, &other, err);
		if (!st && lost(&other) > lost(out)) {
			struct variance less = *out;

			*out = other;
			other = less;
			*at = i;
		}
		if (!st)
			variance_release(&other);
		else
			variance_release(out);
	}
	return st;
}
