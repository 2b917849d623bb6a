#include "fingerprint/catalog/catalog.h"

#include "base/file.h"
#include "base/mem.h"

#include <dirent.h>
#include <errno.h>
#include <stdarg.h>

void catalog_problem(struct catalog_problems *problems, const char *fmt, ...)
{
	va_list args;
	char *text = NULL;

	va_start(args, fmt);
	ASSAY_BUG_IF(vasprintf(&text, fmt, args) < 0);
	va_end(args);
	problems->texts = mem_grow(problems->texts, problems->n, &problems->capacity, sizeof(*problems->texts));
	problems->texts[problems->n++] = text;
}

void catalog_problems_release(struct catalog_problems *problems)
{
	for (size_t i = 0; i < problems->n; i++)
		free(problems->texts[i]);
	free(problems->texts);
	*problems = (struct catalog_problems){ 0 };
}

static enum assay_status load_file(const char *directory, const char *file, struct machine *out, struct assay_error *err)
{
	char *path = mem_format("%s/%s", directory, file);
	struct buf text = BUF_INIT;
	char *expected = NULL;
	enum assay_status st = file_read(path, CATALOG_FILE_BYTES_MAX, &text, err);

	if (!st)
		st = machine_parse(path, text.bytes ? text.bytes : "", text.size, out, err);
	if (!st) {
		expected = machine_file_name(out->id);
		if (strcmp(expected, file) != 0) {
			st = assay_fail(err, ASSAY_E_FORMAT, "%s: this is the machine '%s', its file must be called %s", path, out->id, expected);
			machine_release(out);
		}
	}
	free(expected);
	buf_release(&text);
	free(path);
	return st;
}

static int is_machine_file(const struct dirent *entry)
{
	size_t n = strlen(entry->d_name);

	return n > 5 && entry->d_name[0] != '.' && strcmp(entry->d_name + n - 5, ".json") == 0;
}

static int compare_entries(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name); /* not by locale */
}

static int compare_id(const void *a, const void *b)
{
	return strcmp(((const struct machine *)a)->id, ((const struct machine *)b)->id);
}

enum assay_status catalog_load(const char *directory, struct catalog_problems *problems, struct catalog *out, struct assay_error *err)
{
	struct catalog catalog = { .directory = mem_string(directory) };
	struct dirent **entries = NULL;
	int n = scandir(directory, &entries, is_machine_file, compare_entries);
	enum assay_status st = ASSAY_OK;

	if (n < 0 && errno != ENOENT)
		st = assay_fail_errno(err, errno, "cannot read the directory '%s'", directory);
	catalog.machines = mem_new(n < 0 ? 0 : (size_t)n, sizeof(struct machine));
	for (int i = 0; i < n; i++) {
		struct assay_error problem;

		if (!st && load_file(directory, entries[i]->d_name, &catalog.machines[catalog.n], &problem)) {
			if (problems)
				catalog_problem(problems, "%s", problem.text);
			else
				st = assay_fail(err, problem.status, "%s", problem.text);
		} else if (!st) {
			catalog.n++;
		}
		free(entries[i]);
	}
	free(entries);
	qsort(catalog.machines, catalog.n, sizeof(struct machine), compare_id);
	*out = catalog;
	if (st)
		catalog_release(out);
	return st;
}

void catalog_release(struct catalog *catalog)
{
	for (size_t i = 0; i < catalog->n; i++)
		machine_release(&catalog->machines[i]);
	free(catalog->machines);
	free(catalog->directory);
	*catalog = (struct catalog){ 0 };
}

const struct machine *catalog_find(const struct catalog *catalog, const char *id)
{
	struct machine key = { 0 };

	key.id = mem_string(id);
	const struct machine *found = bsearch(&key, catalog->machines, catalog->n, sizeof(key), compare_id);
	free(key.id);
	return found;
}

struct machine *catalog_machine(struct catalog *catalog, const char *id)
{
	size_t i = 0;

	while (i < catalog->n && strcmp(catalog->machines[i].id, id) < 0)
		i++;
	if (i < catalog->n && strcmp(catalog->machines[i].id, id) == 0)
		return &catalog->machines[i];
	catalog->machines = mem_resize(catalog->machines, catalog->n + 1, sizeof(struct machine));
	memmove(&catalog->machines[i + 1], &catalog->machines[i], (catalog->n - i) * sizeof(struct machine));
	catalog->n++;
	catalog->machines[i] = (struct machine){ .id = mem_string(id) };
	return &catalog->machines[i];
}

void catalog_put(struct catalog *catalog, const struct fingerprint_set *set)
{
	for (size_t i = 0; i < set->n; i++)
		machine_put(catalog_machine(catalog, set->items[i].machine), set, &set->items[i]);
}

static enum assay_status save_machine(const char *directory, const struct machine *machine, bool *written, struct assay_error *err)
{
	char *file = machine_file_name(machine->id);
	char *path = mem_format("%s/%s", directory, file);
	char *text = machine_text(machine);
	struct buf old = BUF_INIT;
	enum assay_status st = file_read(path, CATALOG_FILE_BYTES_MAX, &old, err);

	*written = st || old.size != strlen(text) || memcmp(old.bytes, text, old.size) != 0;
	st = ASSAY_OK;
	if (*written)
		st = file_replace(path, text, strlen(text), 0644, err);
	buf_release(&old);
	free(text);
	free(path);
	free(file);
	return st;
}

enum assay_status catalog_save(const struct catalog *catalog, size_t *written, struct assay_error *err)
{
	enum assay_status st = ASSAY_OK;

	*written = 0;
	for (size_t i = 0; !st && i < catalog->n; i++) {
		bool changed = false;

		st = save_machine(catalog->directory, &catalog->machines[i], &changed, err);
		*written += changed;
	}
	return st;
}
