#include "gate/variance/record_files.h"

#include "base/file.h"
#include "base/mem.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define SUFFIX ".samples"

struct paths {
	char **items; /* [n] */
	size_t n, capacity;
};

static void paths_add(struct paths *paths, char *path)
{
	paths->items = mem_grow(paths->items, paths->n, &paths->capacity, sizeof(*paths->items));
	paths->items[paths->n++] = path;
}

static enum assay_status directory_add(struct paths *paths, const char *directory, struct assay_error *err)
{
	char **names = NULL;
	size_t n = 0;
	enum assay_status st = file_names(directory, SUFFIX, &names, &n, err);

	for (size_t i = 0; !st && i < n; i++)
		paths_add(paths, mem_format("%s/%s", directory, names[i]));
	file_names_free(names, n);
	return st;
}

enum assay_status record_files_list(const char *const *names, size_t n_names, char ***out, size_t *n, struct assay_error *err)
{
	struct paths paths = { .n = 0 };
	enum assay_status st = ASSAY_OK;

	for (size_t i = 0; !st && i < n_names; i++) {
		struct stat info;

		if (stat(names[i], &info) != 0)
			st = assay_fail(err, ASSAY_E_NOTFOUND, "cannot read '%s': %s", names[i], strerror(errno));
		else if (S_ISDIR(info.st_mode))
			st = directory_add(&paths, names[i], err);
		else
			paths_add(&paths, mem_string(names[i]));
	}
	*out = paths.items;
	*n = paths.n;
	return st;
}

enum assay_status record_files_read(const char *const *names, size_t n, struct fragments *out, struct assay_error *err)
{
	char **paths;
	size_t n_paths;
	enum assay_status st = record_files_list(names, n, &paths, &n_paths, err);

	if (!st && !n_paths)
		st = assay_fail(err, ASSAY_E_NODATA, "%s: no *%s in it ('assay variance record' writes them)", names[0], SUFFIX);
	if (!st)
		st = fragments_read((const char *const *)paths, n_paths, out, err);
	file_names_free(paths, n_paths);
	return st;
}
