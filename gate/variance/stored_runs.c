#include "gate/variance/stored_runs.h"

#include "base/file.h"
#include "base/mem.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define SUFFIX ".samples"

struct paths {
	char **items;  /* array of n elements */
	uint32_t *run; /* [n], index of each file's run */
	size_t n, capacity, runs_capacity;
	uint32_t adding; /* index of the run that the next paths belong to */
};

static void paths_add(struct paths *paths, char *path)
{
	paths->run = mem_grow(paths->run, paths->n, &paths->runs_capacity, sizeof(*paths->run));
	paths->run[paths->n] = paths->adding;
	mem_append(paths->items, paths->n, &paths->capacity, path);
}

static enum assay_status directory_add(struct paths *paths, const char *directory, struct assay_error *err)
{
	char **names = NULL;
	size_t n = 0;
	enum assay_status st = file_list_names(directory, SUFFIX, &names, &n, err);

	for (size_t i = 0; !st && i < n; i++)
		paths_add(paths, mem_format("%s/%s", directory, names[i]));
	file_names_free(names, n);
	return st;
}

static enum assay_status names_add(struct paths *paths, const char *const *names, size_t n, struct assay_error *err)
{
	enum assay_status st = ASSAY_OK;

	for (size_t i = 0; !st && i < n; i++) {
		struct stat info;

		if (stat(names[i], &info) != 0)
			st = assay_fail(err, ASSAY_E_NOTFOUND, "cannot read '%s': %s", names[i], strerror(errno));
		else if (S_ISDIR(info.st_mode))
			st = directory_add(paths, names[i], err);
		else
			paths_add(paths, mem_string(names[i]));
	}
	return st;
}

enum assay_status record_files_list(const char *const *names, size_t n_names, char ***out, size_t *n, struct assay_error *err)
{
	struct paths paths = { .n = 0 };
	enum assay_status st = names_add(&paths, names, n_names, err);

	*out = paths.items;
	*n = paths.n;
	free(paths.run);
	return st;
}

static size_t directories_count(const char *const *names, size_t n)
{
	size_t directories = 0;

	for (size_t i = 0; i < n; i++) {
		struct stat info;

		directories += stat(names[i], &info) == 0 && S_ISDIR(info.st_mode);
	}
	return directories;
}

/* Sets the names of the runs, and appends them to the names of their processes. */
static void runs_name(struct fragments *f, const char *const *names, size_t n)
{
	f->runs = mem_new(n, sizeof(*f->runs));
	for (f->n_runs = 0; f->n_runs < n; f->n_runs++)
		f->runs[f->n_runs] = mem_string(names[f->n_runs]);
	for (size_t p = 0; p < f->n_processes; p++) {
		char *alone = f->processes[p].name;

		f->processes[p].name = mem_format("%s of %s", alone, f->runs[f->processes[p].run]);
		free(alone);
	}
}

/* Reports whether at least one file of the run can be read and has a call. */
static bool has_run(const struct fragments *f, size_t run)
{
	size_t p = 0;

	while (p < f->n_processes && f->processes[p].run != run)
		p++;
	return p < f->n_processes;
}

enum assay_status record_files_read(const char *const *names, size_t n, struct fragments *out, struct assay_error *err)
{
	size_t directories = directories_count(names, n), runs = directories < 2 ? 1 : n, each = runs == 1 ? n : 1;
	struct paths all = { .n = 0 };
	enum assay_status st = ASSAY_OK;

	if (runs > 1 && directories < n)
		return assay_fail(err, ASSAY_E_USAGE, "name the directories of several runs, or the files of one run, not both");
	for (size_t i = 0, before = 0; !st && i < runs; i++, before = all.n) {
		all.adding = (uint32_t)i;
		st = names_add(&all, names + i, each, err);
		if (!st && all.n == before)
			st = assay_fail(err, ASSAY_E_NODATA,
					"%s: there are no record files (*" SUFFIX ") in it; 'assay record' writes them", names[i]);
	}
	if (!st)
		st = fragments_read((const char *const *)all.items, all.run, all.n, out, err);
	for (size_t i = 0; !st && i < runs; i++)
		if (!has_run(out, i))
			st = assay_fail(err, ASSAY_E_NODATA, "%s: it has no readable record file with calls", names[i]);
	if (!st && runs > 1)
		runs_name(out, names, n);
	free(all.run);
	file_names_free(all.items, all.n);
	return st;
}

static bool is_same_run(const struct sample_file *a, const struct sample_file *b)
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

/* Groups the files by run. The files of a run are adjacent. */
static void runs_divide(struct stored_runs *runs)
{
	size_t capacity = 0;

	for (size_t i = 0; i < runs->n_files; i++) {
		const struct sample_file *f = &runs->files[i];
		struct stored_run *last = runs->n ? &runs->items[runs->n - 1] : NULL;

		if (!f->ok || strcmp(f->plan, runs->plan) != 0)
			continue;
		if (last && last->first + last->n == i && is_same_run(f, &runs->files[last->first])) {
			last->n++;
			continue;
		}
		mem_append(runs->items, runs->n, &capacity, (struct stored_run){ i, 1 });
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
				"there are no recorded runs of %s@%s: with 'variance: yes' in the manifest, 'assay run' records programs "
				"that are not linked statically",
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
	enum assay_status st;

	for (size_t i = 0; i < r->n; i++) {
		const struct sample_file *f = &runs->files[r->first + i];

		files[i].name = f->hash;
		files[i].st = sample_files_read_bytes(lab, f, &bytes[i], err);
		files[i].reason = files[i].st ? mem_string(err->text) : NULL;
		files[i].bytes = bytes[i].bytes ? bytes[i].bytes : "";
		files[i].n = bytes[i].size;
	}
	st = fragments_parse(files, r->n, NULL, &fragments, err);
	if (!st)
		st = variance_analyse(&fragments, options, out, err);
	fragments_release(&fragments);
	for (size_t i = 0; i < r->n; i++)
		free(files[i].reason);
	mem_release_all(bytes, r->n, buf_release);
	free(files);
	return st;
}
