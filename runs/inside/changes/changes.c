/* From two builds to the list of changes. */
#include "runs/inside/changes/changes_internal.h"
#include "runs/inside/changes/pair.h"

#include "base/mem.h"

ROWS_FUNCTION(change_kind_code, enum change_kind, CHANGE_KIND_ROWS, ROWS_CODE)
ROWS_FUNCTION(change_kind_heading, enum change_kind, CHANGE_KIND_ROWS, ROWS_TEXT)
ROWS_FUNCTION(change_reason_code, unsigned, CHANGE_REASON_ROWS, ROWS_CODE)
ROWS_FUNCTION(change_reason_text, unsigned, CHANGE_REASON_ROWS, ROWS_TEXT)

size_t changes_key_of_old(const struct changes *changes, size_t old)
{
	size_t new = changes->new_of_old[old];

	return new == FUNCTIONS_NONE ? changes->new.functions.n + old : new;
}

const struct function *changes_function(const struct changes *changes, size_t key, const struct build **build)
{
	bool gone = key >= changes->new.functions.n;

	*build = gone ? &changes->old : &changes->new;
	return &(*build)->functions.items[gone ? key - changes->new.functions.n : key];
}

void changes_add_cause(struct finding *finding, enum change_reason reason, size_t key)
{
	struct change *change = &finding->change;

	change->reasons |= reason;
	for (size_t i = 0; i < change->n_causes; i++)
		if (change->causes[i].key == key && change->causes[i].reason == (unsigned)reason)
			return;
	change->causes = mem_grow(change->causes, change->n_causes, &change->causes_capacity, sizeof(*change->causes));
	change->causes[change->n_causes++] = (struct change_cause){(unsigned)reason, key};
}

/* ---- steps ---- */

static void begin(struct search *search, struct changes *c)
{
	bool *renamed = mem_new(c->old.functions.n, sizeof(*renamed));

	c->new_of_old = mem_new(c->old.functions.n, sizeof(*c->new_of_old));
	c->old_of_new = mem_new(c->new.functions.n, sizeof(*c->old_of_new));
	search->changes = c;
	match_init(&search->match, &c->old, &c->new, c->new_of_old, c->old_of_new);
	pair_by_name(&c->old.functions, &c->new.functions, c->new_of_old, c->old_of_new);
	match_find_roots(&search->match);
	pair_renamed(&search->match, CHANGES_FEW, renamed);
	search->n = c->new.functions.n + c->old.functions.n;
	search->findings = mem_new(search->n, sizeof(*search->findings));
	for (size_t i = 0; i < search->n; i++)
		search->findings[i].change = (struct change){.key = i, .old = FUNCTIONS_NONE, .new = FUNCTIONS_NONE};
	for (size_t i = 0; i < c->new.functions.n; i++)
		if (c->new.functions.items[i].present)
			search->findings[i].change.new = i;
	for (size_t i = 0; i < c->old.functions.n; i++) {
		struct finding *finding = &search->findings[changes_key_of_old(c, i)];

		finding->renamed = renamed[i];
		if (c->old.functions.items[i].present)
			finding->change.old = i;
	}
	free(renamed);
}

/* Sets `touched`, and how many hunks are in no function. */
static enum assay_status read_source(struct search *search, struct assay_error *err)
{
	const struct changes_options *options = search->options;
	struct changes *c = search->changes;
	enum assay_status st = source_read(options->repository, options->old_reference, options->new_reference, &c->source, err);
	bool *old = mem_new(c->old.functions.n, sizeof(*old)), *new = mem_new(c->new.functions.n, sizeof(*new));
	bool *in_function = mem_new(c->source.n_hunks, sizeof(*in_function));

	c->has_source = true;
	if (!st) {
		functions_extents(&c->old.image, &c->old.functions);
		functions_extents(&c->new.image, &c->new.functions);
		st = source_touched(&c->source, &c->old.functions, true, old, in_function, err);
	}
	if (!st)
		st = source_touched(&c->source, &c->new.functions, false, new, in_function, err);
	for (size_t i = 0; i < c->source.n_hunks; i++)
		c->source.outside += !in_function[i];
	for (size_t i = 0; !st && i < search->n; i++) {
		const struct change *change = &search->findings[i].change;

		search->findings[i].touched =
		    (change->old != FUNCTIONS_NONE && old[change->old]) || (change->new != FUNCTIONS_NONE &&new[change->new]);
	}
	free(old);
	free(new);
	free(in_function);
	return st;
}

/* ---- the list ---- */

static int compare_keys(const void *a, const void *b)
{
	size_t x = *(const size_t *)a, y = *(const size_t *)b;

	return x < y ? -1 : x > y;
}

/* Hosts in the new build; of what is gone, in the old one. */
static void find_hosts(const struct changes *c, struct change *change)
{
	bool gone = change->new == FUNCTIONS_NONE;
	const struct functions *f = gone ? &c->old.functions : &c->new.functions;
	const struct function *function = &f->items[gone ? change->old : change->new];
	size_t *keys = mem_new(function->n_inlines, sizeof(*keys)), n = 0;

	for (size_t i = 0; i < function->n_inlines; i++) {
		size_t host = f->bodies[f->inlines[f->inline_order[function->first_inline + i]].body].function;

		if (gone)
			host = changes_key_of_old(c, host);
		if (host != change->key) /* a part that was split off and inlined again */
			keys[n++] = host;
	}
	qsort(keys, n, sizeof(*keys), compare_keys);
	change->inlined_into = keys;
	for (size_t i = 0; i < n; i++)
		if (!i || keys[i] != keys[i - 1])
			keys[change->n_inlined_into++] = keys[i];
}

static int compare_changes(const void *a, const void *b, void *context)
{
	const struct change *x = a, *y = b;
	const struct changes *c = context;
	const struct build *ignored;
	const struct function *f = changes_function(c, x->key, &ignored), *g = changes_function(c, y->key, &ignored);
	int order;

	if (x->kind != y->kind)
		return (int)x->kind - (int)y->kind;
	order = strcmp(f->file ? f->file : "", g->file ? g->file : "");
	if (order)
		return order;
	if (f->line != g->line)
		return f->line < g->line ? -1 : 1;
	order = strcmp(f->symbol, g->symbol);
	return order ? order : compare_keys(&x->key, &y->key);
}

static void collect(struct search *search, struct changes *c)
{
	for (size_t i = 0; i < search->n; i++) {
		struct change *change = &search->findings[i].change;

		c->n_old += change->old != FUNCTIONS_NONE;
		c->n_new += change->new != FUNCTIONS_NONE;
		c->compared += change->old != FUNCTIONS_NONE && change->new != FUNCTIONS_NONE;
		c->count[change->kind] += change->old != FUNCTIONS_NONE || change->new != FUNCTIONS_NONE;
		c->n += change->kind != CHANGE_NONE;
	}
	c->items = mem_new(c->n, sizeof(*c->items));
	c->n = 0;
	for (size_t i = 0; i < search->n; i++)
		if (search->findings[i].change.kind != CHANGE_NONE) {
			c->items[c->n] = search->findings[i].change;
			search->findings[i].change.causes = NULL; /* now the list's */
			find_hosts(c, &c->items[c->n++]);
		}
	if (c->n)
		qsort_r(c->items, c->n, sizeof(*c->items), compare_changes, c);
}

static bool same_producers(const struct functions *f, const struct functions *g)
{
	if (f->n_producers != g->n_producers)
		return false;
	for (size_t i = 0; i < f->n_producers; i++)
		if (strcmp(f->producers[i], g->producers[i]) != 0)
			return false;
	return true;
}

enum assay_status changes_find(struct build *old, struct build *new, const struct changes_options *options, struct changes *out,
                               struct assay_error *err)
{
	struct changes changes = {.old = *old, .new = *new};
	struct search search = {.options = options};
	enum assay_status st = ASSAY_OK;

	*old = *new = (struct build){.referred = NULL};
	begin(&search, &changes);
	if (options->repository)
		st = read_source(&search, err);
	if (!st) {
		changes_compare(&search);
		changes_judge(&search);
		changes_reach(&search);
		collect(&search, &changes);
		changes.other_compiler = !same_producers(&changes.old.functions, &changes.new.functions);
		changes.many_differ =
		    2 * (changes.count[CHANGE_MODIFIED] + changes.count[CHANGE_RECOMPILED]) > changes.compared &&
		    changes.compared > 10;
	}
	for (size_t i = 0; i < search.n; i++)
		free(search.findings[i].change.causes);
	free(search.findings);
	match_release(&search.match);
	if (st)
		changes_release(&changes);
	*out = changes;
	return st;
}

void changes_release(struct changes *changes)
{
	for (size_t i = 0; i < changes->n; i++) {
		free(changes->items[i].inlined_into);
		free(changes->items[i].causes);
	}
	free(changes->items);
	free(changes->new_of_old);
	free(changes->old_of_new);
	source_release(&changes->source);
	build_release(&changes->old);
	build_release(&changes->new);
	*changes = (struct changes){.items = NULL};
}
