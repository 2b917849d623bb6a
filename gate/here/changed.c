#include "gate/here/changed.h"

#include "base/mem.h"
#include "base/order.h"
#include "base/text.h"
#include "runs/inside/changes/changes.h"

#include <math.h>
#include <string.h>

enum { A, B, SIDES };

/* ---- objects ---- */

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

/* The name of a file of the tree `directory`, as it was committed, else inside the tree, else as the compiler was told; free() it. */
static char *source_of(const struct source_tree *committed, const char *directory, const char *file)
{
	const char *name = source_file(committed, file);
	size_t n = strlen(directory);

	if (!name)
		name = strncmp(file, directory, n) == 0 && file[n] == '/' ? file + n + 1 : file;
	return mem_string(name);
}

static void part_fill(const struct changed_asked *asked, const struct changes *c, struct measured_part *part)
{
	const struct function *new = function_named(&c->new.functions, part->name),
			      *function = new ? new : function_named(&c->old.functions, part->name);
	const struct change *change;

	if (!function)
		return;
	change = new ? change_of(c, FUNCTIONS_NONE, (size_t)(new - c->new.functions.items))
		     : change_of(c, (size_t)(function - c->old.functions.items), FUNCTIONS_NONE);
	part->change = change_kind_code(change ? change->kind : CHANGE_NONE);
	part->line = function->line;
	if (function->file)
		part->source = source_of(new ? &c->source.new : &c->source.old, asked->directories[new ? B : A], function->file);
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
				part_fill(asked, &changes, wanted[k]);
			wanted[k] = NULL;
		}
		described = described && !(known && changes.new.image.detail != IMAGE_DESCRIBED);
		changes_release(&changes);
	}
	free(wanted);
	return described;
}

char *changed_text(const struct measured *measured, double least, bool slower)
{
	const struct measured_part *first = NULL;

	for (size_t i = 0; i < measured->n; i++) {
		const struct measured_part *part = &measured->parts[i];
		double more = slower ? part->difference : -part->difference;

		if (part->change && more > least && (!first || more > fabs(first->difference)))
			first = part;
	}
	if (!first)
		return mem_string("");
	return first->source ? mem_format("; most in %s (%s:%u, %s)", first->name, first->source, first->line, first->change)
			     : mem_format("; most in %s (%s)", first->name, first->change);
}
