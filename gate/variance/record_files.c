#include "gate/variance/record_files.h"

#include "base/file.h"
#include "base/mem.h"

#include <stdlib.h>
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
	if (!st && !n)
		st = assay_fail(err, ASSAY_E_NODATA, "%s: no *%s in it ('assay variance record' writes them)", directory, SUFFIX);
	file_names_free(names, n);
	return st;
}

enum assay_status record_files_read(const char *const *names, size_t n, struct fragments *out, struct assay_error *err)
{
	struct paths paths = { .n = 0 };
	enum assay_status st = ASSAY_OK;

	for (size_t i = 0; !st && i < n; i++) {
		struct stat info;

		if (stat(names[i], &info) == 0 && S_ISDIR(info.st_mode))
			st = directory_add(&paths, names[i], err);
		else
			paths_add(&paths, mem_string(names[i]));
	}
	if (!st)
		st = fragments_read((const char *const *)paths.items, paths.n, out, err);
	for (size_t i = 0; i < paths.n; i++)
		free(paths.items[i]);
	free(paths.items);
	return st;
}
