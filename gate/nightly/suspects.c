#include "gate/nightly/suspects.h"

#include "base/mem.h"
#include "base/text.h"
#include "runs/inside/changes/changes.h"
#include "runs/inside/changes/reachable.h"
#include "runs/running/version.h"

#include <stdlib.h>
#include <string.h>

/* A file of both versions, function by function. */
static enum assay_status compare_files(const char *old, const char *new, struct changes *out)
{
	static const struct changes_options options = { .wrapper = CHANGES_WRAPPER };
	struct build builds[2] = { { .referred = NULL }, { .referred = NULL } };
	struct assay_error ignored;
	enum assay_status st = build_open(old, IMAGE_EXPORTED, &builds[0], &ignored);

	*out = (struct changes){ .items = NULL };
	if (!st)
		st = build_open(new, IMAGE_EXPORTED, &builds[1], &ignored);
	if (!st)
		st = builds[0].image.detail == builds[1].image.detail ? changes_find(&builds[0], &builds[1], &options, out, &ignored)
								      : ASSAY_E_NODATA;
	build_release(&builds[0]);
	build_release(&builds[1]);
	return st;
}

/* Can the program, all[0], come to a function that changed, of its own or of a library, all[1..n)? One that was removed was come to before.
 */
static bool reaches_change(const struct changes *all, size_t n)
{
	const struct build **builds = mem_new(n, sizeof(*builds));
	bool found = false;

	for (int side = 0; side < 2 && !found; side++) {
		struct reachable reach;

		for (size_t i = 0; i < n; i++)
			builds[i] = side ? &all[i].new : &all[i].old;
		reachable_of(builds, n, &reach);
		for (size_t i = 0; i < n; i++) {
			for (size_t k = 0; k < all[i].n; k++) {
				const struct change *change = &all[i].items[k];
				size_t function = side ? change->new : change->old;

				found = found || (change->kind != CHANGE_LINES && change->kind != CHANGE_SOURCE &&
						  function != FUNCTIONS_NONE && reach.functions[i][function]);
			}
		}
		reachable_release(&reach);
	}
	free(builds);
	return found;
}

/* The library of that name, whatever its number: "libz.so.1.2" for "libz.so.1.3". */
static const char *library_like(const struct version_object *object, const char *path)
{
	const char *name = strrchr(path, '/') + 1;
	size_t n = (size_t)(strstr(name, ".so") + strlen(".so") - name);

	for (size_t i = 0; i < object->n_libraries; i++)
		if (strncmp(strrchr(object->libraries[i], '/') + 1, name, n) == 0)
			return object->libraries[i];
	return NULL;
}

/* What commands start, with the libraries that the versions bring along. */
static enum suspect compare_programs(const struct version_object *old, const struct version_object *new)
{
	struct changes *all = mem_new(1 + new->n_libraries, sizeof(*all));
	enum suspect suspect = old->n_libraries == new->n_libraries ? SUSPECT_UNCHANGED : SUSPECT_CHANGED;
	size_t n = 0;
	enum assay_status st = compare_files(old->path, new->path, &all[n++]);

	for (size_t i = 0; !st && i < new->n_libraries; i++) {
		const char *before = library_like(old, new->libraries[i]);

		if (before)
			st = compare_files(before, new->libraries[i], &all[n++]);
		else
			suspect = SUSPECT_CHANGED;
	}
	if (st)
		suspect = SUSPECT_UNKNOWN;
	else if (suspect == SUSPECT_UNCHANGED && reaches_change(all, n))
		suspect = SUSPECT_CHANGED;
	mem_release_all(all, n, changes_release);
	return suspect;
}

static enum suspect suspect_of(const struct nightly *n, const struct night_comparison *c)
{
	const char *versions[] = { c->baseline, c->candidate };
	struct version_object objects[2] = { { .path = NULL }, { .path = NULL } };
	struct assay_error ignored;
	enum suspect suspect = SUSPECT_UNKNOWN;
	bool found = *c->baseline;

	for (int i = 0; found && i < 2; i++) {
		char *selector = mem_format("%s@%s", c->manifest, versions[i]);

		found = version_find(n->options->directory, selector, NULL, n->options->cancelled, &objects[i], &ignored) == ASSAY_OK;
		free(selector);
	}
	if (found)
		suspect = compare_programs(&objects[0], &objects[1]);
	version_object_release(&objects[0]);
	version_object_release(&objects[1]);
	return suspect;
}

/* Inputs of one application have their program in common. */
static bool same_programs(const struct night_comparison *a, const struct night_comparison *b)
{
	return strcmp(a->manifest, b->manifest) == 0 && strcmp(a->baseline, b->baseline) == 0 && strcmp(a->candidate, b->candidate) == 0;
}

void suspects_find(const struct nightly *n, struct suspects *out)
{
	const struct night_comparisons *all = &n->comparisons;
	size_t k = 0;

	*out = (struct suspects){ mem_new(all->n, sizeof(*out->of)), mem_new(all->n, sizeof(*out->order)), all->n };
	for (size_t i = 0; i < all->n; i++) {
		size_t same = 0;

		while (!same_programs(&all->items[same], &all->items[i]))
			same++;
		out->of[i] = same < i ? out->of[same] : nightly_is_over(n) ? SUSPECT_UNKNOWN : suspect_of(n, &all->items[i]);
	}
	for (int suspect = SUSPECT_CHANGED; suspect <= SUSPECT_UNCHANGED; suspect++) {
		for (size_t i = 0; i < all->n; i++) {
			if (out->of[i] == (enum suspect)suspect)
				out->order[k++] = i;
		}
	}
}

void suspects_release(struct suspects *suspects)
{
	mem_free(suspects->of, suspects->order);
	*suspects = (struct suspects){ NULL, NULL, 0 };
}

void suspects_note(struct nightly *n, const struct suspects *s, const struct night_decisions *decisions)
{
	size_t count[SUSPECT_UNCHANGED + 1] = { 0 }, findings = 0, missed = 0;

	for (size_t i = 0; i < s->n; i++)
		count[s->of[i]]++;
	for (size_t i = 0; i < decisions->n; i++) {
		if (decisions->items[i].decision != DECISION_REGRESSION)
			continue;
		findings++;
		for (size_t k = 0; k < s->n; k++)
			missed += n->comparisons.items[k].number == decisions->items[i].number && s->of[k] == SUSPECT_UNCHANGED;
	}
	if (count[SUSPECT_UNCHANGED] && count[SUSPECT_UNCHANGED] < s->n) /* else nothing was put off */
		nightly_note(
		    n, "suspects",
		    "of %zu comparisons %zu have programs that cannot reach a changed function, and were measured last; without them the "
		    "night would have missed %zu of %zu finding%s",
		    s->n, count[SUSPECT_UNCHANGED], missed, findings, text_plural(findings));
}
