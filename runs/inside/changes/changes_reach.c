/* Callers of what cannot be measured itself. */
#include "runs/inside/changes/changes_internal.h"

#include "base/mem.h"

/* Calls of the new build by callee. */
struct callers {
	size_t *first; /* [functions + 1] */
	size_t *hosts; /* functions whose bodies call */
};

static struct callers callers_of(const struct functions *f)
{
	struct callers callers = {mem_new(f->n + 2, sizeof(size_t)), mem_new(f->n_calls, sizeof(size_t))};

	for (size_t i = 0; i < f->n_calls; i++)
		callers.first[f->calls[i].callee + 2]++;
	for (size_t i = 2; i < f->n + 2; i++)
		callers.first[i] += callers.first[i - 1];
	for (size_t i = 0; i < f->n_calls; i++)
		callers.hosts[callers.first[f->calls[i].callee + 1]++] = f->bodies[f->calls[i].body].function;
	return callers;
}

/* Few instructions, one of which leaves the function. */
static bool is_wrapper(struct search *search, size_t function)
{
	const struct functions *g = &search->changes->new.functions;
	const struct function *item = &g->items[function];
	struct code *code = &search->match.new_code;
	size_t instructions = 0;
	bool calls = false;

	for (size_t i = 0; i < item->n_bodies; i++) {
		code_decode(&search->changes->new.image, g, g->body_order[item->first_body + i], code);
		instructions += code->n;
		for (size_t j = 0; j < code->n; j++)
			calls = calls || (code->items[j].n_references && code->items[j].references[0].kind == CODE_BRANCH);
	}
	return calls && instructions <= search->options->wrapper;
}

/* Why a function brings in its callers; 0: it does not. */
static unsigned reason_of(struct search *search, const struct change *change)
{
	if (change->new == FUNCTIONS_NONE)
		return 0;
	if (change->kind == CHANGE_ADDED)
		return CHANGE_CALLS_ADDED;
	if (change->kind != CHANGE_MODIFIED && change->kind != CHANGE_HOST && change->kind != CHANGE_CALLER)
		return 0;
	return is_wrapper(search, change->new) ? CHANGE_CALLS_WRAPPER : 0;
}

/* True for a caller that was not looked at before: it may be a wrapper itself. */
static bool bring_in(struct finding *finding, enum change_reason reason, size_t key)
{
	enum change_kind kind = finding->change.kind;

	if (finding->change.key == key || finding->change.old == FUNCTIONS_NONE)
		return false;
	changes_add_cause(finding, reason, key);
	if (kind != CHANGE_NONE && kind != CHANGE_LINES && kind != CHANGE_SOURCE && kind != CHANGE_RENAMED)
		return false;
	finding->change.kind = CHANGE_CALLER;
	return true;
}

void changes_reach(struct search *search)
{
	const struct functions *g = &search->changes->new.functions;
	struct callers callers = callers_of(g);
	size_t *stack = mem_new(2 * g->n, sizeof(*stack)), n = 0; /* each at first, and once more when it is brought in */

	for (size_t i = 0; i < g->n; i++)
		if (search->findings[i].change.kind != CHANGE_NONE)
			stack[n++] = i;
	while (n) {
		size_t key = stack[--n];
		unsigned reason = reason_of(search, &search->findings[key].change);

		for (size_t i = callers.first[key]; reason && i < callers.first[key + 1]; i++)
			if (bring_in(&search->findings[callers.hosts[i]], (enum change_reason)reason, key))
				stack[n++] = callers.hosts[i];
	}
	free(stack);
	free(callers.first);
	free(callers.hosts);
}
