#include "gate/here/changed.h"

#include "base/mem.h"
#include "base/order.h"
#include "base/text.h"
#include "runs/inside/changes/changes.h"

#include <math.h>
#include <string.h>

enum { A, B, SIDES };

/* Its path inside the trees: that of one of its files that was met. NULL: none was. */
static const char *path_inside(const struct code *code, const struct changed_asked *asked, const char *file)
{
	for (int side = 0; side < SIDES; side++) {
		const char *path = code_path(code, file, asked->directories[side]);

		if (path)
			return path + strlen(asked->directories[side]) + 1;
	}
	return NULL;
}

/* Compares both builds of a file. False: they cannot be compared. changes_release(*out). */
static bool object_open(const struct code *code, const struct changed_asked *asked, const char *file, struct changes *out)
{
	const struct changes_options options = { asked->repository, asked->commits[A], asked->commits[B], CHANGES_WRAPPER };
	struct build builds[SIDES] = { { .referred = NULL }, { .referred = NULL } };
	const char *inside = path_inside(code, asked, file);
	struct assay_error ignored;
	bool known = inside;

	for (int side = 0; known && side < SIDES; side++) {
		char *path = mem_format("%s/%s", asked->directories[side], inside);

		known = !build_open(path, IMAGE_EXPORTED, &builds[side], &ignored);
		free(path);
	}
	known = known && builds[A].image.detail == builds[B].image.detail && !changes_find(&builds[A], &builds[B], &options, out, &ignored);
	for (int side = 0; side < SIDES; side++)
		build_release(&builds[side]);
	return known;
}

/* ---- functions ---- */

static const struct function *function_named(const struct functions *functions, const char *name)
{
	char shown[CODE_NAME_BYTES];

	for (size_t i = 0; i < functions->n; i++) {
		if (!functions->items[i].present)
			continue;
		code_function_name(functions->items[i].symbol, shown);
		if (strcmp(shown, name) == 0)
			return &functions->items[i];
	}
	return NULL;
}

/* What was changed in a function of both builds, or of one; NULL: nothing. */
static const struct change *change_of(const struct changes *c, size_t old, size_t new)
{
	for (size_t i = 0; i < c->n; i++)
		if (new != FUNCTIONS_NONE ? c->items[i].new == new : c->items[i].old == old)
			return &c->items[i];
	return NULL;
}

/* ---- lines ---- */

struct line_met {
	const char *file; /* kept by the image */
	unsigned line;
	unsigned long long count;
};

struct lines_met {
	struct line_met *items; /* [n] */
	size_t n, capacity;
};

/* Adds the samples of one run that lie in the function, in the file `path`; the lines are fleet/helper/sampler.h's. */
static void lines_met_add(const struct build *build, size_t function, const char *path, const char *samples, struct lines_met *met)
{
	char *text = mem_string(samples ? samples : ""), *rest = text, *line, *where;
	bool inside = false;

	while ((line = strsep(&rest, "\n"))) {
		unsigned long long count = strtoull(line, &where, 10);
		struct functions_place place;
		uint64_t address;
		size_t body, i = 0;

		if (strncmp(where, " user ", 6) == 0)
			inside = strcmp(where + 6, path) == 0;
		if (!inside || strncmp(where, " at ", 4) != 0 || !image_address_of(&build->image, strtoull(where + 4, NULL, 16), &address))
			continue;
		body = functions_body_at(&build->functions, address);
		if (body == SIZE_MAX || build->functions.bodies[body].function != function ||
		    !functions_place_of(&build->image, &build->functions, address, &place) || !place.file)
			continue;
		while (i < met->n && (met->items[i].line != place.line || strcmp(met->items[i].file, place.file) != 0))
			i++;
		if (i == met->n)
			mem_append(met->items, met->n, &met->capacity, (struct line_met){ .file = place.file, .line = place.line });
		met->items[i].count += count;
	}
	free(text);
}

/* ---- what is known of a function ---- */

/* The name of a file of the tree `directory`, as it was committed, else inside the tree, else as the compiler was told; free() it. */
static char *source_of(const struct source_tree *committed, const char *directory, const char *file)
{
	const char *name = source_file(committed, file);
	size_t n = strlen(directory);

	if (!name)
		name = strncmp(file, directory, n) == 0 && file[n] == '/' ? file + n + 1 : file;
	return mem_string(name);
}

/* Of the candidate's function, the line that its samples met most often. */
static char *hottest_of(const struct changed_asked *asked, const struct changes *c, const struct code *code, const char *file,
			const struct function *function)
{
	const char *path = code_path(code, file, asked->directories[B]);
	struct lines_met met = { .items = NULL };
	const struct line_met *best = NULL;
	char *name = NULL, *text;

	for (size_t r = 0; path && r < asked->candidate->n; r++)
		lines_met_add(&c->new, (size_t)(function - c->new.functions.items), path, asked->candidate->runs[r].samples, &met);
	for (size_t i = 0; i < met.n; i++)
		best = !best || met.items[i].count > best->count ? &met.items[i] : best;
	if (best)
		name = source_of(&c->source.new, asked->directories[B], best->file);
	text = best ? mem_format("%s:%u", name, best->line) : NULL;
	mem_free(met.items, name);
	return text;
}

/* Of a renamed function: the difference of the part that has its other name. */
static double renamed_of(const struct measured *measured, const struct measured_part *of, const struct function *other)
{
	char shown[CODE_NAME_BYTES];

	code_function_name(other->symbol, shown);
	for (size_t i = 0; i < measured->n; i++)
		if (measured->parts[i].depth == of->depth && measured->parts[i].of == of->of && strcmp(measured->parts[i].name, shown) == 0)
			return measured->parts[i].difference;
	return 0;
}

static void part_fill(const struct changed_asked *asked, const struct changes *c, const struct code *code, const struct measured *measured,
		      struct measured_part *part)
{
	const struct function *new = function_named(&c->new.functions, part->name),
			      *function = new ? new : function_named(&c->old.functions, part->name);
	const struct change *change;

	if (!function)
		return;
	change = new ? change_of(c, FUNCTIONS_NONE, (size_t)(new - c->new.functions.items))
		     : change_of(c, (size_t)(function - c->old.functions.items), FUNCTIONS_NONE);
	part->change = change_kind_code(change ? change->kind : CHANGE_NONE);
	if (change && change->kind == CHANGE_RENAMED)
		part->renamed =
		    renamed_of(measured, part, new ? c->old.functions.items + change->old : c->new.functions.items + change->new);
	part->line = function->line;
	if (function->file)
		part->source = source_of(new ? &c->source.new : &c->source.old, asked->directories[new ? B : A], function->file);
	if (new && function->file)
		part->hottest = hottest_of(asked, c, code, part->file, new);
}

bool changed_fill(struct measured *measured, const struct code *code, const struct changed_asked *asked, double least)
{
	struct measured_part **wanted = mem_new(measured->n, sizeof(*wanted)); /* NULL: done */
	bool described = true;
	size_t n = 0;

	for (size_t i = 0; i < measured->n; i++) {
		struct measured_part *part = &measured->parts[i];

		if (part->depth == PART_FUNCTION && part->certain && fabs(part->difference) > least)
			wanted[n++] = part;
	}
	for (size_t i = 0; i < n; i++) { /* a file at a time */
		const char *file = wanted[i] ? wanted[i]->file : NULL;
		struct changes changes = { .items = NULL };
		bool known = file && object_open(code, asked, file, &changes);

		for (size_t k = i; file && k < n; k++) {
			if (!wanted[k] || strcmp(wanted[k]->file, file) != 0)
				continue;
			if (known)
				part_fill(asked, &changes, code, measured, wanted[k]);
			wanted[k] = NULL;
		}
		described = described && !(known && changes.new.image.detail != IMAGE_DESCRIBED);
		changes_release(&changes);
	}
	free(wanted);
	return described;
}

const struct measured_part *changed_first(const struct measured *measured, double least, bool slower)
{
	const struct measured_part *first = NULL;
	double most = 0;

	for (size_t i = 0; i < measured->n; i++) {
		const struct measured_part *part = &measured->parts[i];
		double more = (slower ? 1 : -1) * (part->difference + part->renamed),
		       surely = slower ? part->low + part->renamed : -part->high - part->renamed;

		if (part->change && more > least && (!first || surely > most)) {
			first = part;
			most = surely;
		}
	}
	return first;
}

char *changed_text(const struct measured_part *part)
{
	struct buf text = BUF_INIT;

	buf_format(&text, "%s (", part->name);
	if (part->source)
		buf_format(&text, "%s:%u, ", part->source, part->line);
	buf_format(&text, "%s%s%s)", part->change, part->hottest ? ", mostly at " : "", part->hottest ? part->hottest : "");
	return buf_take(&text);
}
