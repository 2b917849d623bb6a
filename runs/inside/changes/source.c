/* Which functions a difference touches. */
#include "runs/inside/changes/source_internal.h"

#include "base/mem.h"

/* ---- files of a tree ---- */

static int compare_reversed(const char *a, size_t n, const char *b, size_t m)
{
	while (n && m) {
		unsigned char x = (unsigned char)a[--n], y = (unsigned char)b[--m];

		if (x != y)
			return x < y ? -1 : 1;
	}
	return n ? 1 : m ? -1 : 0;
}

static int compare_files(const void *a, const void *b)
{
	const char *x = *(const char *const *)a, *y = *(const char *const *)b;

	return compare_reversed(x, strlen(x), y, strlen(y));
}

void source_tree_fill(struct source_tree *tree, struct intern *names, const char *text, size_t n)
{
	size_t capacity = 0;

	for (size_t at = 0; at < n; at += strlen(text + at) + 1) {
		tree->files = mem_grow(tree->files, tree->n_files, &capacity, sizeof(*tree->files));
		tree->files[tree->n_files++] = intern_text(names, text + at);
	}
	if (tree->n_files)
		qsort(tree->files, tree->n_files, sizeof(*tree->files), compare_files);
}

static const char *find_file(const struct source_tree *tree, const char *path)
{
	size_t low = 0, high = tree->n_files, n = strlen(path);

	while (low < high) {
		size_t middle = (low + high) / 2;
		int order = compare_reversed(tree->files[middle], strlen(tree->files[middle]), path, n);

		if (!order)
			return tree->files[middle];
		if (order < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return NULL;
}

const char *source_file(const struct source_tree *tree, const char *path)
{
	while (path) {
		const char *found;

		path += path[0] == '/';
		found = find_file(tree, path);
		if (found)
			return found;
		path = strchr(path, '/');
	}
	return NULL;
}

/* ---- functions ---- */

struct interval {
	const char *file; /* of the tree, kept by source->names */
	unsigned first, last;
	size_t function;
};

static int compare_intervals(const void *a, const void *b)
{
	const struct interval *x = a, *y = b;

	if (x->file != y->file)
		return (uintptr_t)x->file < (uintptr_t)y->file ? -1 : 1;
	if (x->first != y->first)
		return x->first < y->first ? -1 : 1;
	return x->function < y->function ? -1 : x->function > y->function;
}

/* The functions whose files are in the tree, by file and first line. */
static struct interval *intervals_of(const struct source_tree *tree, const struct functions *f, size_t *n)
{
	struct interval *intervals = mem_new(f->n, sizeof(*intervals));
	const char *last = NULL, *file = NULL;

	*n = 0;
	for (size_t i = 0; i < f->n; i++) {
		const struct function *function = &f->items[i];

		if (!function->present || !function->file || !function->line)
			continue;
		if (function->file != last) {
			last = function->file;
			file = source_file(tree, last);
		}
		if (file)
			intervals[(*n)++] = (struct interval){file, function->line, function->last_line, i};
	}
	if (*n)
		qsort(intervals, *n, sizeof(*intervals), compare_intervals);
	return intervals;
}

/* The first interval of the file. */
static size_t first_of(const struct interval *intervals, size_t n, const char *file)
{
	size_t low = 0, high = n;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if ((uintptr_t)intervals[middle].file < (uintptr_t)file)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static bool touch(const struct interval *intervals, size_t n, const char *file, unsigned line, unsigned lines, bool *touched)
{
	bool any = false;

	for (size_t i = first_of(intervals, n, file); i < n && intervals[i].file == file && intervals[i].first < line + lines;
	     i++)
		if (intervals[i].last >= line)
			touched[intervals[i].function] = any = true;
	return any;
}

enum assay_status source_touched(struct source *source, const struct functions *functions, bool is_old, bool *touched,
                                 bool *in_hunk, struct assay_error *err)
{
	const struct source_tree *tree = is_old ? &source->old : &source->new;
	size_t n;
	struct interval *intervals = intervals_of(tree, functions, &n);

	for (size_t i = 0; i < source->n_hunks; i++) {
		const struct hunk *hunk = &source->hunks[i];
		const char *file = is_old ? hunk->old_file : hunk->new_file;
		unsigned lines = is_old ? hunk->old_lines : hunk->new_lines;

		if (file && lines && touch(intervals, n, file, is_old ? hunk->old_line : hunk->new_line, lines, touched))
			in_hunk[i] = true;
	}
	free(intervals);
	if (!n)
		return assay_fail(
		    err, ASSAY_E_NODATA,
		    "not one source file of the %s build is in commit %.12s: is it the repository that it was built from?",
		    is_old ? "old" : "new", tree->commit);
	return ASSAY_OK;
}

void source_release(struct source *source)
{
	free(source->hunks);
	free(source->old.files);
	free(source->new.files);
	intern_release(&source->names);
	*source = (struct source){.hunks = NULL};
}
