#include "gate/detect/places.h"

#include "base/file.h"
#include "base/mem.h"
#include "base/order.h"
#include "runs/inside/changes/build.h"
#include "runs/inside/changes/changes.h"
#include "runs/inside/changes/source.h"
#include "runs/running/version.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SOURCE_BYTES (4u << 20)

void places_release(struct places *places)
{
	for (size_t i = 0; i < places->n; i++)
		mem_free(places->items[i].symbol, places->items[i].file);
	mem_free(places->items, places->repository, places->commit);
	*places = (struct places){ .items = NULL };
}

ORDER_BY(by_symbol, struct place, BY_TEXT(symbol))

static void places_add(struct places *places, const char *symbol, const char *file, unsigned line, unsigned last_line, bool changed)
{
	mem_append(places->items, places->n, &places->capacity,
		   (struct place){ mem_bytes(symbol, functions_stem_length(symbol)), file ? mem_string(file) : NULL, line, last_line,
				   changed, NULL, NULL });
}

static void places_add_changes(const struct changes *changes, struct places *out)
{
	struct places places = { .has_changes = true };

	for (size_t i = 0; i < changes->n; i++) {
		const struct change *c = &changes->items[i];
		const struct function *f;

		if (c->new == FUNCTIONS_NONE || c->old == FUNCTIONS_NONE)
			continue;
		f = &changes->new.functions.items[c->new];
		places_add(&places, f->symbol, f->file, f->line, f->last_line, change_kind_is_listed(c->kind));
	}
	order_sort(places.items, places.n, by_symbol);
	*out = places;
}

/* Fills in only files and lines. */
static void places_add_build(const struct build *build, struct places *out)
{
	struct places places = { .has_changes = false };

	for (size_t i = 0; i < build->functions.n; i++) {
		const struct function *f = &build->functions.items[i];

		if (f->present && f->file)
			places_add(&places, f->symbol, f->file, f->line, f->last_line, false);
	}
	order_sort(places.items, places.n, by_symbol);
	*out = places;
}

enum assay_status places_find_in_builds(const char *old_file, const char *new_file, struct places *out, struct assay_error *err)
{
	struct changes_options choices = { .wrapper = CHANGES_WRAPPER_MAX };
	struct build old = { .referenced_addresses = NULL }, new = { .referenced_addresses = NULL };
	struct changes changes = { .old = { .referenced_addresses = NULL } };
	enum assay_status st = build_open(new_file, IMAGE_DEBUG_INFO, &new, err);

	if (!st)
		functions_set_last_lines(&new.image, &new.functions);
	if (!st && !old_file)
		places_add_build(&new, out);
	if (!st && old_file) {
		st = build_open(old_file, IMAGE_DEBUG_INFO, &old, err);
		if (!st)
			st = changes_find(&old, &new, &choices, &changes, err);
		if (!st)
			places_add_changes(&changes, out);
	}
	changes_release(&changes);
	build_release(&old);
	build_release(&new);
	return st;
}

/* Returns the selector without input, "APP@VERSION" for "APP/INPUT@VERSION"; NULL if it has no input. The caller frees it. */
static char *remove_input_name(const char *selector)
{
	const char *at = strrchr(selector, '@'), *slash = at ? memrchr(selector, '/', (size_t)(at - selector)) : NULL;

	return slash ? mem_format("%.*s%s", (int)(slash - selector), selector, at) : NULL;
}

/* Replaces paths by names in the repository, because the directory of a build from git no longer exists. */
static void name_as_committed(const char *repository, const char *commit, struct places *places)
{
	struct source source;
	struct assay_error ignored;

	if (source_read_tree(repository, commit, &source, &ignored))
		return;
	places->repository = mem_string(repository);
	places->commit = mem_string(commit);
	for (size_t i = 0; i < places->n; i++) {
		struct place *place = &places->items[i];
		const char *file = place->file ? source_find_file(&source.new, place->file) : NULL;

		if (!file)
			continue;
		free(place->file);
		place->file = mem_string(file);
		place->repository = places->repository;
		place->commit = places->commit;
	}
	source_release(&source);
}

void places_find_in_version(const char *laboratory, const char *selector, struct places *out)
{
	struct version_object object = { .path = NULL };
	struct build build = { .referenced_addresses = NULL };
	char *shorter = remove_input_name(selector);
	struct assay_error ignored;
	enum assay_status st;

	*out = (struct places){ .items = NULL };
	st = version_find(laboratory, selector, NULL, NULL, &object, &ignored);
	if (st && shorter)
		st = version_find(laboratory, shorter, NULL, NULL, &object, &ignored);
	if (!st && !build_open(object.path, IMAGE_DEBUG_INFO, &build, &ignored)) {
		functions_set_last_lines(&build.image, &build.functions);
		places_add_build(&build, out);
		if (object.repository)
			name_as_committed(object.repository, object.commit, out);
	}
	build_release(&build);
	version_object_release(&object);
	free(shorter);
}

const struct place *places_find(const struct places *places, const char *symbol)
{
	struct place key = { .symbol = mem_bytes(symbol, functions_stem_length(symbol)) };
	const struct place *found = places->n ? bsearch(&key, places->items, places->n, sizeof(places->items[0]), by_symbol) : NULL;

	free(key.symbol);
	return found;
}

static bool is_source(const char *path)
{
	static const char *const suffixes[] = {
		".c", ".h", ".cc", ".hh", ".cpp", ".hpp", ".cxx", ".hxx", ".inc", ".rs", ".go", ".f90", ".S"
	};
	const char *dot = strrchr(path, '.');
	bool known = false;

	for (size_t i = 0; dot && i < sizeof(suffixes) / sizeof(suffixes[0]); i++)
		known = known || strcmp(dot, suffixes[i]) == 0;
	return known;
}

static bool is_readable_source(const char *path)
{
	struct stat info;

	return path[0] == '/' && stat(path, &info) == 0 && S_ISREG(info.st_mode) && (info.st_uid == geteuid() || info.st_uid == 0);
}

bool place_read_source(const struct place *place, struct buf *text)
{
	struct assay_error ignored;

	if (!place->file || !is_source(place->file))
		return false;
	if (place->repository)
		return source_read_content(place->repository, place->commit, place->file, text, &ignored) == ASSAY_OK;
	return is_readable_source(place->file) && file_read(place->file, SOURCE_BYTES, text, &ignored) == ASSAY_OK;
}
