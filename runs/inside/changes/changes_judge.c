/* What a function's change is, from what was found out about it. */
#include "runs/inside/changes/changes_internal.h"

#include "base/mem.h"

/* ---- comparing ---- */

/* Bodies with the same labels, in their order: where do they differ? */
static void blame_function(struct search *search, size_t old, size_t new)
{
	const struct functions *f = &search->changes->old.functions, *g = &search->changes->new.functions;
	const struct function *a = &f->items[old], *b = &g->items[new];

	for (size_t i = 0; i < a->n_bodies; i++) {
		size_t x = f->body_order[a->first_body + i], y;

		if (i >= b->n_bodies)
			break;
		y = g->body_order[b->first_body + i];
		if (!strcmp(f->bodies[x].label, g->bodies[y].label) && match_bodies(&search->match, x, y) != MATCH_EQUAL)
			changes_blame(search, x, y);
	}
}

/* What is inlined into code that is equal is equal itself. */
static void absolve(struct search *search, size_t new)
{
	const struct functions *g = &search->changes->new.functions;
	const struct function *function = &g->items[new];

	for (size_t i = 0; i < function->n_bodies; i++) {
		const struct body *body = &g->bodies[g->body_order[function->first_body + i]];

		for (size_t j = 0; j < body->n_inlined; j++)
			search->findings[g->inlines[body->first_inlined + j].function].same_somewhere = true;
	}
}

void changes_compare(struct search *search)
{
	struct changes *c = search->changes;

	for (size_t i = 0; i < c->new.functions.n; i++) {
		struct finding *finding = &search->findings[i];
		struct change *change = &finding->change;

		if (change->old == FUNCTIONS_NONE || change->new == FUNCTIONS_NONE)
			continue;
		if (!c->old.functions.items[change->old].n_bodies || !c->new.functions.items[change->new].n_bodies)
			continue;
		finding->compared = true;
		finding->result = match_functions(&search->match, change->old, change->new);
		change->constant = search->match.constant;
		finding->other_clones = !match_same_clones(&search->match, change->old, change->new);
		if (finding->result == MATCH_DIFFERENT)
			blame_function(search, change->old, change->new);
		else
			absolve(search, i);
	}
}

/* ---- judging ---- */

/* Functions of the system's headers are the same in both builds: where they seem to differ, they were called with other
 * constants. */
static bool is_of_system(const struct search *search, const struct finding *finding)
{
	const struct functions *f = &search->changes->old.functions, *g = &search->changes->new.functions;
	const char *old = f->items[finding->change.old].file, *new = g->items[finding->change.new].file;

	return old && new && !strncmp(old, "/usr/", 5) && !strcmp(old, new);
}

/* A function that cannot be compared as such, being inlined: did it change where it is inlined? */
static bool differs_inlined(const struct search *search, const struct finding *finding)
{
	return !is_of_system(search, finding) && finding->hosts && finding->hosts_differ == finding->hosts &&
	       !finding->same_somewhere && (finding->hosts_alone || finding->hosts > 1);
}

static void judge_inlined(const struct search *search, struct finding *finding)
{
	const struct changes *c = search->changes;
	struct change *change = &finding->change;
	bool before = c->old.functions.items[change->old].n_bodies, now = c->new.functions.items[change->new].n_bodies;
	bool changed = c->has_source ? finding->touched && (!finding->same_somewhere || finding->hosts_differ)
	                             : differs_inlined(search, finding);

	if (before)
		change->reasons |= CHANGE_NOW_INLINED;
	if (now)
		change->reasons |= CHANGE_NOW_CALLED;
	if (finding->touched)
		change->reasons |= CHANGE_IN_SOURCE;
	if (changed && differs_inlined(search, finding))
		change->reasons |= CHANGE_INLINED_CODE;
	if (changed)
		change->kind = CHANGE_MODIFIED;
	else if (finding->touched)
		change->kind = CHANGE_SOURCE;
	else if (before || now)
		change->kind = CHANGE_RECOMPILED;
}

static void judge_compared(const struct search *search, struct finding *finding)
{
	static const enum change_kind kinds[] = {CHANGE_NONE, CHANGE_LINES, CHANGE_MODIFIED, CHANGE_MODIFIED};
	struct change *change = &finding->change;

	change->kind = kinds[finding->result];
	if (finding->touched)
		change->reasons |= CHANGE_IN_SOURCE;
	if (finding->other_clones)
		change->reasons |= CHANGE_CLONES;
	if (finding->result == MATCH_DIFFERENT)
		change->reasons |= CHANGE_CODE;
	if (finding->result == MATCH_CONSTANTS)
		change->reasons |= CHANGE_CONSTANT;
	if (finding->result != MATCH_CONSTANTS)
		change->constant = NULL;
	if (finding->result == MATCH_DIFFERENT && search->changes->has_source && !finding->touched)
		change->kind = CHANGE_RECOMPILED;
	if (finding->result <= MATCH_LINES && finding->other_clones)
		change->kind = finding->touched ? CHANGE_MODIFIED : CHANGE_RECOMPILED;
	if (finding->result == MATCH_EQUAL && finding->touched && !finding->other_clones)
		change->kind = CHANGE_SOURCE;
	if (finding->renamed && change->kind != CHANGE_MODIFIED)
		change->kind = CHANGE_RENAMED;
}

static void judge(const struct search *search, struct finding *finding)
{
	struct change *change = &finding->change;

	if (change->old == FUNCTIONS_NONE && change->new == FUNCTIONS_NONE)
		return; /* only declared */
	if (change->old == FUNCTIONS_NONE)
		change->kind = CHANGE_ADDED;
	else if (change->new == FUNCTIONS_NONE)
		change->kind = CHANGE_REMOVED;
	else if (finding->compared)
		judge_compared(search, finding);
	else
		judge_inlined(search, finding);
}

/* ---- hosts ---- */

/* What body `i` of the function inlines that changed itself. */
static void find_causes(struct search *search, struct finding *finding, const struct functions *f, size_t function, bool of_old)
{
	for (size_t i = 0; i < f->items[function].n_bodies; i++) {
		const struct body *body = &f->bodies[f->body_order[f->items[function].first_body + i]];

		for (size_t j = 0; j < body->n_inlined; j++) {
			size_t inlined = f->inlines[body->first_inlined + j].function;
			size_t key = of_old ? changes_key_of_old(search->changes, inlined) : inlined;
			enum change_kind kind = search->findings[key].change.kind;

			if (key == finding->change.key)
				continue;
			if (kind == CHANGE_MODIFIED || kind == CHANGE_ADDED || kind == CHANGE_REMOVED)
				changes_add_cause(finding, CHANGE_INLINES, key);
		}
	}
}

/* A host did not change itself where its own code is the same, or its own source if that is known. */
static bool acquit(const struct search *search, const struct finding *finding)
{
	if (!finding->compared || !(finding->change.reasons & CHANGE_INLINES) || finding->result != MATCH_DIFFERENT)
		return false;
	return search->changes->has_source ? !finding->touched : !finding->own_differs;
}

/* A host that is inlined itself is no cause: what it inlines is one of the next host, too. */
static void drop_hosts(const struct search *search, struct change *change)
{
	size_t n = 0;

	for (size_t i = 0; i < change->n_causes; i++)
		if (search->findings[change->causes[i].key].change.kind != CHANGE_HOST)
			change->causes[n++] = change->causes[i];
	change->n_causes = n;
	if (!n)
		change->reasons &= ~(unsigned)CHANGE_INLINES;
}

void changes_judge(struct search *search)
{
	struct changes *c = search->changes;

	for (size_t i = 0; i < search->n; i++)
		judge(search, &search->findings[i]);
	for (size_t i = 0; i < c->new.functions.n; i++) {
		struct finding *finding = &search->findings[i];
		struct change *change = &finding->change;

		if (!finding->compared || finding->result != MATCH_DIFFERENT)
			continue;
		find_causes(search, finding, &c->old.functions, change->old, true);
		find_causes(search, finding, &c->new.functions, change->new, false);
	}
	for (size_t i = 0; i < c->new.functions.n; i++)
		if (acquit(search, &search->findings[i]))
			search->findings[i].change.kind = CHANGE_HOST;
	for (size_t i = 0; i < c->new.functions.n; i++)
		drop_hosts(search, &search->findings[i].change);
}
