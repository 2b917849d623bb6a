#include "gate/nightly/suspects.h"

#include "base/mem.h"
#include "base/text.h"
#include "runs/inside/changes/changes.h"
#include "runs/running/version.h"

/* What commands start, function by function. */
static enum suspect compare_programs(const char *const paths[2])
{
	static const struct changes_options options = { .wrapper = CHANGES_WRAPPER };
	struct build builds[2] = { { .referred = NULL }, { .referred = NULL } };
	struct changes changes = { .items = NULL };
	struct assay_error ignored;
	enum suspect suspect = SUSPECT_UNKNOWN;
	bool any = false;
	enum assay_status st = ASSAY_OK;

	for (int i = 0; !st && i < 2; i++)
		st = build_open(paths[i], IMAGE_EXPORTED, &builds[i], &ignored);
	if (!st && builds[0].image.detail == builds[1].image.detail)
		st = changes_find(&builds[0], &builds[1], &options, &changes, &ignored);
	else
		st = ASSAY_E_NODATA;
	for (size_t i = 0; !st && i < changes.n; i++)
		any = any || (changes.items[i].kind != CHANGE_LINES && changes.items[i].kind != CHANGE_SOURCE);
	if (!st)
		suspect = any ? SUSPECT_CHANGED : SUSPECT_UNCHANGED;
	changes_release(&changes);
	build_release(&builds[0]);
	build_release(&builds[1]);
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
		suspect = compare_programs((const char *const[]){ objects[0].path, objects[1].path });
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
	free(suspects->of);
	free(suspects->order);
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
	if (count[SUSPECT_UNCHANGED])
		nightly_note(
		    n, "suspects",
		    "of %zu comparisons %zu have programs without a changed function, and were measured last; without them the night "
		    "would have missed %zu of %zu finding%s",
		    s->n, count[SUSPECT_UNCHANGED], missed, findings, text_plural(findings));
}
