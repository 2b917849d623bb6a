/* Bodies and functions, instruction by instruction. */
#include "runs/inside/changes/match_internal.h"

#include "base/mem.h"

#include <stdlib.h>

#define LINE_REACH     200   /* lines of one statement, from the row of its instruction to what __LINE__ says */
#define FUNCTION_LINES 10000 /* of one function, at most, for what cannot be told by its statement */
#define COPIES_MAX     256   /* bodies of one function that are compared with each other */

void match_init(struct match *match, const struct build *old, const struct build *new, size_t *new_of_old, size_t *old_of_new)
{
	*match = (struct match){.old = old,
	                        .new = new,
	                        .new_of_old = new_of_old,
	                        .old_of_new = old_of_new,
	                        .old_function = FUNCTIONS_NONE,
	                        .new_function = FUNCTIONS_NONE};
}

void match_forget(struct match *match)
{
	map_release(&match->contents);
}

void match_release(struct match *match)
{
	code_release(&match->old_code);
	code_release(&match->new_code);
	map_release(&match->contents);
}

/* ---- instructions ---- */

/* Bytes outside of what refers to an address. */
static bool same_bytes(const struct instruction *a, const struct instruction *b)
{
	size_t at = 0;

	if (a->length != b->length)
		return false;
	for (size_t i = 0; i < a->n_references; i++) {
		const struct code_reference *r = &a->references[i], *s = &b->references[i];

		if (r->at != s->at || r->bytes != s->bytes || r->kind != s->kind || r->at < at)
			return false;
		if (memcmp(a->bytes + at, b->bytes + at, r->at - at) != 0)
			return false;
		at = (size_t)r->at + r->bytes;
	}
	return at <= a->length && !memcmp(a->bytes + at, b->bytes + at, a->length - at);
}

static bool same_instruction(struct match *match, const struct instruction *a, const struct instruction *b)
{
	if (a->mnemonic != b->mnemonic || a->local != b->local || a->n_references != b->n_references)
		return false;
	if (a->local) /* short and near branches are the same */
		return a->local_target == b->local_target;
	if (!(a->n_references && a->references[0].kind == CODE_BRANCH) && !same_bytes(a, b))
		return false;
	for (size_t i = 0; i < a->n_references; i++)
		if (!match_references(match, &a->references[i], &b->references[i]))
			return false;
	return true;
}

int64_t match_line_distance(const struct build *build, size_t body, uint64_t address, int64_t value)
{
	unsigned lines[FUNCTIONS_LINES_MAX];
	size_t n = functions_lines(&build->image, &build->functions, body, address, lines);
	int64_t nearest = INT64_MAX;

	for (size_t i = 0; i < n; i++)
		if (lines[i] && llabs(value - (int64_t)lines[i]) <= LINE_REACH &&
		    llabs(value - (int64_t)lines[i]) < llabs(nearest))
			nearest = value - (int64_t)lines[i];
	return nearest;
}

/* Code that was moved out of its statement: has the value moved as one of the functions has that stand in the body? */
static bool moved_with_function(const struct match *match, int64_t value, int64_t moved)
{
	const struct functions *f = &match->old->functions, *g = &match->new->functions;
	const struct body *body = &f->bodies[match->old_body];

	for (size_t i = 0; i <= body->n_inlined; i++) {
		size_t old = i ? f->inlines[body->first_inlined + i - 1].function : body->function;
		size_t new = i ? match->new_of_old[old] : match->new_function;
		int64_t line = f->items[old].line;

		if (new != FUNCTIONS_NONE &&
		    line &&value >= line &&value < line + FUNCTION_LINES &&moved == g->items[new].line - line)
			return true;
	}
	return false;
}

static bool is_line(const struct match *match, const struct instruction *a, const struct instruction *b)
{
	int64_t value_a = 0, value_b = 0, distance;

	if (a->n_references || b->n_references || !code_immediate_differs(a, b, &value_a, &value_b))
		return false;
	distance = match_line_distance(match->old, match->old_body, a->address, value_a);
	if (distance != INT64_MAX && distance == match_line_distance(match->new, match->new_body, b->address, value_b))
		return true;
	return moved_with_function(match, value_a, value_b - value_a);
}

enum match_result match_instructions(struct match *match, const struct instruction *a, const struct instruction *b)
{
	match->constant = NULL;
	if (same_instruction(match, a, b))
		return MATCH_EQUAL;
	return match->constant ? MATCH_CONSTANTS : is_line(match, a, b) ? MATCH_LINES : MATCH_DIFFERENT;
}

enum match_result match_bodies(struct match *match, size_t old_body, size_t new_body)
{
	const struct functions *f = &match->old->functions, *g = &match->new->functions;
	enum match_result result = MATCH_EQUAL;
	const char *constant = match->constant;

	match->old_body = old_body;
	match->new_body = new_body;
	match->old_function = f->bodies[old_body].function;
	match->new_function = g->bodies[new_body].function;
	code_decode(&match->old->image, f, old_body, &match->old_code);
	code_decode(&match->new->image, g, new_body, &match->new_code);
	if (match->old_code.n != match->new_code.n)
		return MATCH_DIFFERENT;
	for (size_t i = 0; i < match->old_code.n; i++) {
		enum match_result one = match_instructions(match, &match->old_code.items[i], &match->new_code.items[i]);

		if (one == MATCH_CONSTANTS && !constant)
			constant = match->constant;
		if (one > result)
			result = one;
		if (result == MATCH_DIFFERENT)
			break;
	}
	match->constant = constant;
	return result;
}

/* ---- functions ---- */

static bool same_label(const struct match *match, size_t a, size_t b)
{
	return !strcmp(match->old->functions.bodies[a].label, match->new->functions.bodies[b].label);
}

/* The best that any body with this label is to one: `bodies` are of the other build. False when none has the label. */
static bool best_match(struct match *match, size_t body, bool is_old, const size_t *bodies, size_t n, enum match_result *best)
{
	bool found = false;

	*best = MATCH_DIFFERENT;
	for (size_t i = 0; i < n && i < COPIES_MAX && *best != MATCH_EQUAL; i++) {
		size_t old = is_old ? body : bodies[i], new = is_old ? bodies[i] : body;
		enum match_result one;

		if (!same_label(match, old, new))
			continue;
		found = true;
		one = match_bodies(match, old, new);
		if (one < *best)
			*best = one;
	}
	return found;
}

/* Does each label of bodies[n] stand among those of others[m]? */
static bool all_have_match(const struct functions *f, const size_t *bodies, size_t n, const struct functions *g,
                           const size_t *others, size_t m)
{
	for (size_t i = 0; i < n; i++) {
		size_t j = 0;

		while (j < m && strcmp(f->bodies[bodies[i]].label, g->bodies[others[j]].label) != 0)
			j++;
		if (j == m)
			return false;
	}
	return true;
}

bool match_same_clones(const struct match *match, size_t old_function, size_t new_function)
{
	const struct functions *f = &match->old->functions, *g = &match->new->functions;
	const struct function *a = &f->items[old_function], *b = &g->items[new_function];
	const size_t *old = f->body_order + a->first_body, *new = g->body_order + b->first_body;

	return all_have_match(f, old, a->n_bodies, g, new, b->n_bodies) &&
	       all_have_match(g, new, b->n_bodies, f, old, a->n_bodies);
}

enum match_result match_functions(struct match *match, size_t old_function, size_t new_function)
{
	const struct functions *f = &match->old->functions, *g = &match->new->functions;
	const struct function *a = &f->items[old_function], *b = &g->items[new_function];
	const size_t *old = f->body_order + a->first_body, *new = g->body_order + b->first_body;
	enum match_result worst = MATCH_EQUAL, one;
	size_t matched = 0;

	ASSAY_BUG_IF(!a->n_bodies || !b->n_bodies);
	match->constant = NULL;
	for (size_t i = 0; i < a->n_bodies && worst != MATCH_DIFFERENT; i++)
		if (best_match(match, old[i], true, new, b->n_bodies, &one)) {
			worst = one > worst ? one : worst;
			matched++;
		}
	for (size_t i = 0; i < b->n_bodies && b->n_bodies + a->n_bodies > 2 && worst != MATCH_DIFFERENT; i++)
		if (best_match(match, new[i], false, old, a->n_bodies, &one))
			worst = one > worst ? one : worst;
	return matched ? worst : MATCH_DIFFERENT;
}
