#include "gate/detect/places.h"

#include "base/file.h"
#include "base/json_reader.h"
#include "base/mem.h"
#include "base/order.h"
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
		   (struct place){ mem_bytes(symbol, functions_stem(symbol)), file ? mem_string(file) : NULL, line, last_line, changed,
				   NULL, NULL });
}

void places_of_changes(const struct changes *changes, struct places *out)
{
	struct places places = { .know_change = true };

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

void places_of_build(const struct build *build, struct places *out)
{
	struct places places = { .know_change = false };

	for (size_t i = 0; i < build->functions.n; i++) {
		const struct function *f = &build->functions.items[i];

		if (f->present && f->file)
			places_add(&places, f->symbol, f->file, f->line, f->last_line, false);
	}
	order_sort(places.items, places.n, by_symbol);
	*out = places;
}

/* "APP/INPUT@VERSION" is how results are stored; manifests know "APP@VERSION". NULL: there is no input in it. free() it. */
static char *without_input(const char *selector)
{
	const char *at = strrchr(selector, '@'), *slash = at ? memrchr(selector, '/', (size_t)(at - selector)) : NULL;

	return slash ? mem_format("%.*s%s", (int)(slash - selector), selector, at) : NULL;
}

/* A build from git was made in a directory that no longer exists: its files have their names in the repository. */
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
		const char *file = place->file ? source_file(&source.new, place->file) : NULL;

		if (!file)
			continue;
		free(place->file);
		place->file = mem_string(file);
		place->repository = places->repository;
		place->commit = places->commit;
	}
	source_release(&source);
}

void places_of_version(const char *laboratory, const char *selector, struct places *out)
{
	struct version_object object = { .path = NULL };
	struct build build = { .referred = NULL };
	char *shorter = without_input(selector);
	struct assay_error ignored;
	enum assay_status st;

	*out = (struct places){ .items = NULL };
	st = version_find(laboratory, selector, NULL, NULL, &object, &ignored);
	if (st && shorter)
		st = version_find(laboratory, shorter, NULL, NULL, &object, &ignored);
	if (!st && !build_open(object.path, IMAGE_DESCRIBED, &build, &ignored)) {
		functions_extents(&build.image, &build.functions);
		places_of_build(&build, out);
		if (object.repository)
			name_as_committed(object.repository, object.commit, out);
	}
	build_release(&build);
	version_object_release(&object);
	free(shorter);
}

/* ---- from JSON ---- */

static bool code_is_listed(const char *code)
{
	for (int kind = 0; kind < CHANGE_KINDS; kind++)
		if (strcmp(change_kind_code((enum change_kind)kind), code) == 0)
			return change_kind_is_listed((enum change_kind)kind);
	return false;
}

static void places_add_json(struct json_reader *r, const cJSON *item, struct places *places)
{
	const char *change = json_reader_text(r, item, "change"), *symbol, *file = NULL;
	const cJSON *new;
	int64_t line = 0;

	if (!json_reader_has(r, item, "old") || !json_reader_has(r, item, "new") || !json_reader_object(r, item, "old"))
		return;
	new = json_reader_object(r, item, "new");
	symbol = json_reader_text(r, new, "symbol");
	if (json_reader_has(r, new, "file"))
		file = json_reader_text(r, new, "file");
	if (json_reader_has(r, new, "line"))
		line = json_reader_integer(r, new, "line", 0, INT32_MAX);
	if (!r->st)
		places_add(places, symbol, file, (unsigned)line, 0, code_is_listed(change));
}

enum assay_status places_parse(const char *name, const char *text, size_t n, struct places *out, struct assay_error *err)
{
	struct places places = { .know_change = true };
	struct json_reader r = { name, err, ASSAY_OK };
	const cJSON *list, *item;
	cJSON *root = NULL;

	r.st = json_parse(name, text, n, &root, err);
	list = json_reader_array(&r, root, "functions", 0, SIZE_MAX);
	for (item = list ? list->child : NULL; item && !r.st; item = item->next)
		places_add_json(&r, item, &places);
	if (!r.st) {
		order_sort(places.items, places.n, by_symbol);
		*out = places;
		places = (struct places){ .items = NULL };
	}
	places_release(&places);
	cJSON_Delete(root);
	return r.st;
}

enum assay_status places_read(const char *path, struct places *out, struct assay_error *err)
{
	struct buf text = BUF_INIT;
	enum assay_status st = file_read(path, JSON_BYTES_MAX, &text, err);

	if (!st)
		st = places_parse(path, text.bytes ? text.bytes : "", text.size, out, err);
	if (st)
		assay_context(err, "--changes takes what 'assay changes --format json' writes");
	buf_release(&text);
	return st;
}

const struct place *places_find(const struct places *places, const char *symbol)
{
	struct place key = { .symbol = mem_bytes(symbol, functions_stem(symbol)) };
	const struct place *found = places->n ? bsearch(&key, places->items, places->n, sizeof(places->items[0]), by_symbol) : NULL;

	free(key.symbol);
	return found;
}

/* ---- the text of a source that debug information names ---- */

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

static bool may_be_read(const char *path)
{
	struct stat info;

	return path[0] == '/' && stat(path, &info) == 0 && S_ISREG(info.st_mode) && (info.st_uid == geteuid() || info.st_uid == 0);
}

bool place_text(const struct place *place, struct buf *text)
{
	struct assay_error ignored;

	if (!place->file || !is_source(place->file))
		return false;
	if (place->repository)
		return source_content(place->repository, place->commit, place->file, text, &ignored) == ASSAY_OK;
	return may_be_read(place->file) && file_read(place->file, SOURCE_BYTES, text, &ignored) == ASSAY_OK;
}
