/* The runs of labelled pairs: each side once, however many pairs it is in. */
#include "base/mem.h"
#include "gate/evaluate/evaluate.h"

/* One side of one pair, under the text that says what it is. */
struct named_side {
	char *text;
	size_t pair;
	int side;
};

static int compare_sides(const void *a, const void *b)
{
	const struct named_side *x = a, *y = b;
	int order = strcmp(x->text, y->text);

	if (order)
		return order;
	return x->pair != y->pair ? (x->pair > y->pair) - (x->pair < y->pair) : x->side - y->side;
}

static bool list_allows(const struct evaluate_list *list, int64_t value)
{
	for (size_t i = 0; i < list->n; i++) {
		if (list->items[i] == value)
			return true;
	}
	return list->n == 0;
}

/* Times are another way to say which runs are meant: those of a nightly build of long ago, for one. */
static void restrict_runs(const struct evaluate_side *side, struct run_set *set)
{
	size_t n = 0;

	if (side->timestamps.n)
		run_set_join(set);
	for (size_t i = 0; i < set->n; i++) {
		if (list_allows(&side->repetitions, set->items[i].repetition) && list_allows(&side->timestamps, set->items[i].taken_ms))
			set->items[n++] = set->items[i];
		else
			free(set->items[i].machine);
	}
	set->n = n;
}

/* A version that is named is looked up directly; run_resolve() goes through all that there is, and says what is missing. */
static enum assay_status load_version(struct lab *lab, const struct evaluate_side *side, struct run_set *out, struct assay_error *err)
{
	char *version = NULL;
	enum assay_status st = ASSAY_OK;

	if (side->version) {
		st = run_load(&lab->store, side->application, side->version, out, err);
		if (st || out->n || out->n_others)
			return st;
		run_set_release(out);
	}
	st = run_resolve(&lab->store, side->application, side->version, &version, err);
	if (!st)
		st = run_load(&lab->store, side->application, version, out, err);
	free(version);
	return st;
}

static enum assay_status load_side(struct lab *lab, const struct evaluate_side *side, struct run_set *out, struct assay_error *err)
{
	enum assay_status st = load_version(lab, side, out, err);
	bool none, others_only;

	if (st)
		return st;
	none = out->n + out->n_others == 0;
	others_only = !out->n && !side->timestamps.n;
	restrict_runs(side, out);
	if (out->n)
		return ASSAY_OK;
	st = assay_fail(err, none || others_only ? ASSAY_E_NODATA : ASSAY_E_NOTFOUND, none        ? "'%s@%s' has no result" :
			                       others_only ? "'%s@%s' has no result of its latest build ('timestamps' choose those of others)" :
			                                     "no result of '%s@%s' is of these repetitions and time stamps",
			out->application, out->version);
	run_set_release(out);
	return st;
}

static struct named_side *name_sides(const struct evaluate_pairs *pairs)
{
	struct named_side *sides = mem_new(2 * pairs->n, sizeof(*sides));

	for (size_t i = 0; i < 2 * pairs->n; i++)
		sides[i] = (struct named_side){ evaluate_side_text(&pairs->items[i / 2].sides[i % 2]), i / 2, (int)(i % 2) };
	qsort(sides, 2 * pairs->n, sizeof(*sides), compare_sides);
	return sides;
}

/* Those of a side that has no result are known by now: they go behind the others. */
static enum assay_status leave_out(struct evaluate_pairs *pairs, struct evaluate_runs *runs, struct assay_error *err)
{
	struct evaluate_pair *all = mem_new(pairs->n, sizeof(*all));
	size_t n = pairs->n, kept = 0, left_out = 0;

	memcpy(all, pairs->items, n * sizeof(*all));
	for (size_t i = 0; i < n; i++) {
		if (all[i].left_out)
			continue;
		memmove(runs->of[kept], runs->of[i], sizeof(*runs->of));
		pairs->items[kept++] = all[i];
	}
	for (size_t i = 0; i < n; i++) {
		if (all[i].left_out)
			pairs->items[kept + left_out++] = all[i];
	}
	free(all);
	pairs->n = kept;
	pairs->n_left_out = left_out;
	return kept ? ASSAY_OK : assay_fail(err, ASSAY_E_NODATA, "no pair can be judged: pair %zu: %s", pairs->items[0].number, pairs->items[0].left_out);
}

/* The side of which sides[0..n) are all; without a result, its pairs are left out. */
static enum assay_status load_named(struct lab *lab, struct evaluate_pairs *pairs, const struct named_side *sides, size_t n, struct evaluate_runs *runs,
				    struct assay_error *err)
{
	enum assay_status st = load_side(lab, &pairs->items[sides->pair].sides[sides->side], &runs->sets[runs->n], err);

	if (st && st != ASSAY_E_NODATA)
		return assay_context(err, "pair %zu, %s", sides->pair + 1, sides->side ? "candidate" : "baseline");
	for (size_t i = 0; i < n; i++) {
		struct evaluate_pair *pair = &pairs->items[sides[i].pair];

		runs->of[sides[i].pair][sides[i].side] = runs->n;
		if (st && !pair->left_out)
			pair->left_out = mem_string(err->text);
	}
	runs->n += !st;
	return ASSAY_OK;
}

enum assay_status evaluate_load(struct lab *lab, struct evaluate_pairs *pairs, struct evaluate_runs *out, struct assay_error *err)
{
	size_t n = 2 * pairs->n;
	struct evaluate_runs runs = { .sets = mem_new(n, sizeof(struct run_set)), .of = mem_new(pairs->n, sizeof(*runs.of)) };
	struct named_side *sides = name_sides(pairs);
	enum assay_status st = ASSAY_OK;

	for (size_t i = 0, same; !st && i < n; i += same) {
		same = 1;
		while (i + same < n && strcmp(sides[i].text, sides[i + same].text) == 0)
			same++;
		st = load_named(lab, pairs, &sides[i], same, &runs, err);
	}
	for (size_t i = 0; i < n; i++)
		free(sides[i].text);
	free(sides);
	if (!st)
		st = leave_out(pairs, &runs, err);
	*out = runs;
	if (st)
		evaluate_runs_release(out);
	return st;
}

void evaluate_runs_release(struct evaluate_runs *runs)
{
	for (size_t i = 0; i < runs->n; i++)
		run_set_release(&runs->sets[i]);
	free(runs->sets);
	free(runs->of);
	*runs = (struct evaluate_runs){ 0 };
}
