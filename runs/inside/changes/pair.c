/* Pairs the functions of two builds. */
#include "runs/inside/changes/match.h"

#include "base/mem.h"
#include "base/order.h"
#include "runs/inside/changes/demangle.h"

#define GROUP_MAX  2000 /* maximum number of functions with one name that are compared pair by pair */
#define ROUNDS_MAX 20	/* maximum number of rounds of renames; a renamed function may call another one */
#define FILES_READ 16	/* maximum number of compared bytes, as a multiple of the size of both files */

/* Returns the number of whole components that are equal at the ends of two paths. *rest_a, *rest_b: bytes before them, unless NULL. */
static size_t path_common_tail(const char *a, const char *b, size_t *rest_a, size_t *rest_b)
{
	size_t i = strlen(a), j = strlen(b), components = 0, cut_a = i, cut_b = j;

	for (;;) {
		bool end_a = !i || a[i - 1] == '/', end_b = !j || b[j - 1] == '/';

		if (end_a && end_b && i < cut_a) {
			components++;
			cut_a = i;
			cut_b = j;
		}
		if (!i || !j || a[i - 1] != b[j - 1])
			break;
		i--;
		j--;
	}
	if (rest_a)
		*rest_a = cut_a;
	if (rest_b)
		*rest_b = cut_b;
	return components;
}

/* ---- pairs by name ---- */

struct candidate {
	size_t old, new, likeness;
};

ORDER_BY(compare_candidates, struct candidate, BY_DESC(likeness) BY_ASC(old) BY_ASC(new))

static size_t file_likeness(const struct function *a, const struct function *b)
{
	if (!a->file || !b->file)
		return !a->file && !b->file;
	return path_common_tail(a->file, b->file, NULL, NULL);
}

/* Pairs functions of the same name, old[n] and new[m], whose files have equal names; the most similar paths come first. If then only one
 * function is left on each side, pairs these two, because the function has moved to another file. */
static void pair_group(const struct functions *f, const struct functions *g, const size_t *old, size_t n, const size_t *new, size_t m,
		       size_t *old_to_new, size_t *new_to_old)
{
	struct candidate *candidates = mem_new(n * m, sizeof(*candidates));
	size_t left = n < m ? n : m, left_old = n, left_new = m;

	for (size_t i = 0; i < n; i++)
		for (size_t j = 0; j < m; j++)
			candidates[i * m + j] = (struct candidate){ old[i], new[j], file_likeness(&f->items[old[i]], &g->items[new[j]]) };
	qsort(candidates, n * m, sizeof(*candidates), compare_candidates);
	for (size_t i = 0; i < n * m && left; i++) {
		const struct candidate *c = &candidates[i];

		if (old_to_new[c->old] != FUNCTIONS_NONE || new_to_old[c->new] != FUNCTIONS_NONE)
			continue;
		if (!c->likeness && (left_old != 1 || left_new != 1))
			continue;
		old_to_new[c->old] = c->new;
		new_to_old[c->new] = c->old;
		left--;
		left_old--;
		left_new--;
	}
	free(candidates);
}

/* Property that the two functions of a pair have in common. */
enum likeness {
	LIKE_SYMBOL,
	LIKE_NAME,  /* symbol in one build; the other build always inlines the function */
	LIKE_RUST,  /* Rust name without crate hashes, which differ between builds, and the function's name */
	LIKE_START, /* start of a file; such functions are named after one of the file's variables */
};

/* Returns the property as text, which the caller frees; NULL if the function does not have it. */
static char *likeness_key(const struct function *function, enum likeness like)
{
	char *rust, *key = NULL;

	switch (like) {
	case LIKE_SYMBOL:
		return mem_string(function->symbol);
	case LIKE_NAME:
		return function->nameless ? mem_string(function->name) : NULL;
	case LIKE_RUST:
		rust = demangle_without_hash(function->symbol);
		if (rust)
			key = mem_format("%s\n%s", rust, function->name);
		free(rust);
		return key;
	default:
		return functions_classify_init(function->symbol) == FUNCTIONS_INIT_CALLS ? mem_format("%.14s", function->symbol) : NULL;
	}
}

/* Links present functions without a pair into chains by the property. `first` maps interned texts to functions; `next` is by function. */
static void chain_functions(const struct functions *f, const size_t *pairs, enum likeness like, struct intern *names, struct map *first,
			    size_t *next)
{
	for (size_t i = f->n; i-- > 0;) {
		char *key = f->items[i].present && pairs[i] == FUNCTIONS_NONE ? likeness_key(&f->items[i], like) : NULL;

		next[i] = FUNCTIONS_NONE;
		if (key) {
			uintptr_t name = (uintptr_t)intern_text(names, key);

			map_get(first, name, &next[i]);
			map_set(first, name, i);
		}
		free(key);
	}
}

static size_t list_chain(const size_t *next, size_t first, size_t *out)
{
	size_t n = 0;

	for (size_t i = first; i != FUNCTIONS_NONE && n < GROUP_MAX; i = next[i])
		out[n++] = i;
	return n;
}

static void pair_chains(const struct functions *old, const struct functions *new, enum likeness like, size_t *old_to_new,
			size_t *new_to_old)
{
	size_t *next_old = mem_new(old->n, sizeof(*next_old)), *next_new = mem_new(new->n, sizeof(*next_new));
	size_t *group_old = mem_new(GROUP_MAX, sizeof(*group_old)), *group_new = mem_new(GROUP_MAX, sizeof(*group_new));
	struct map first_old = { .slots = NULL }, first_new = { .slots = NULL };
	struct intern names = { .texts = NULL };

	chain_functions(old, old_to_new, like, &names, &first_old, next_old);
	chain_functions(new, new_to_old, like, &names, &first_new, next_new);
	for (size_t i = 0; i < names.n; i++) {
		size_t a = FUNCTIONS_NONE, b = FUNCTIONS_NONE;

		if (!map_get(&first_old, (uintptr_t)names.texts[i], &a) || !map_get(&first_new, (uintptr_t)names.texts[i], &b))
			continue;
		pair_group(old, new, group_old, list_chain(next_old, a, group_old), group_new, list_chain(next_new, b, group_new),
			   old_to_new, new_to_old);
	}
	map_release(&first_old);
	map_release(&first_new);
	intern_release(&names);
	mem_free(next_old, next_new, group_old, group_new);
}

/* ---- pairs by code ---- */

/* Returns a number that is equal for equal code, whatever targets the code refers to. Sets *instructions to the number of instructions. */
static uint64_t effect_pattern_classify(const struct build *build, size_t function, struct code *code, size_t *instructions)
{
	const struct functions *f = &build->functions;
	const struct function *item = &f->items[function];
	uint64_t shape = 0;

	*instructions = 0;
	for (size_t i = 0; i < item->n_bodies; i++) {
		code_decode(&build->image, f, f->body_order[item->first_body + i], code);
		for (size_t j = 0; j < code->n; j++) {
			const struct instruction *one = &code->items[j];

			shape = map_combine(shape, (uint64_t)one->mnemonic << 32 | (one->local ? one->local_target : one->n_references));
		}
		*instructions += code->n;
	}
	return shape;
}

static bool is_rename_candidate(const struct functions *f, size_t i, const size_t *pairs)
{
	return f->items[i].present && f->items[i].n_bodies && pairs[i] == FUNCTIONS_NONE;
}

/* Links new functions without a pair into chains by the result of effect_pattern_classify(). */
static void chain_by_code_hash(struct match *match, struct map *first, size_t *next)
{
	const struct functions *g = &match->new->functions;
	size_t instructions;

	for (size_t i = g->n; i-- > 0;) {
		uint64_t shape;

		next[i] = FUNCTIONS_NONE;
		if (!is_rename_candidate(g, i, match->new_to_old))
			continue;
		shape = effect_pattern_classify(match->new, i, &match->new_code, &instructions);
		map_get(first, shape, &next[i]);
		map_set(first, shape, i);
	}
}

/* Returns the chain's new function that has the same code, in the file with the most similar path; FUNCTIONS_NONE if there is none. */
static size_t find_renamed(struct match *match, size_t old, size_t chain, const size_t *next, bool small)
{
	const struct functions *f = &match->old->functions, *g = &match->new->functions;
	size_t best = FUNCTIONS_NONE, best_likeness = 0;

	for (size_t i = chain; i != FUNCTIONS_NONE; i = next[i]) {
		size_t like = file_likeness(&f->items[old], &g->items[i]);

		if (!is_rename_candidate(g, i, match->new_to_old) || (small && !like) || (best != FUNCTIONS_NONE && like <= best_likeness))
			continue;
		if (!match_has_same_clones(match, old, i) || match_compare_functions(match, old, i) > MATCH_LINES)
			continue;
		best = i;
		best_likeness = like;
	}
	return best;
}

static bool rename_round(struct match *match, size_t few, bool *renamed)
{
	const struct functions *f = &match->old->functions;
	size_t *next = mem_new(match->new->functions.n, sizeof(*next)), chain, instructions;
	struct map first = { .slots = NULL };
	bool found = false;

	chain_by_code_hash(match, &first, next);
	for (size_t i = 0; first.n && i < f->n; i++) {
		size_t new = FUNCTIONS_NONE;

		if (!is_rename_candidate(f, i, match->old_to_new))
			continue;
		if (map_get(&first, effect_pattern_classify(match->old, i, &match->old_code, &instructions), &chain))
			new = find_renamed(match, i, chain, next, instructions < few);
		if (new == FUNCTIONS_NONE)
			continue;
		match->old_to_new[i] = new;
		match->new_to_old[new] = i;
		renamed[i] = found = true;
	}
	map_release(&first);
	free(next);
	return found;
}

/* ---- all pairs ---- */

/* Adds the directories before the common end of two paths, including the '/', as a root. */
static void add_root(struct match *match, const char *old, const char *new)
{
	size_t i = 0, old_bytes, new_bytes;

	if (!strcmp(old, new) || !path_common_tail(old, new, &old_bytes, &new_bytes) || !old_bytes || !new_bytes)
		return;
	while (i < match->n_roots &&
	       (match->roots[i].old_bytes != old_bytes || match->roots[i].new_bytes != new_bytes ||
		strncmp(match->roots[i].old, old, old_bytes) != 0 || strncmp(match->roots[i].new, new, new_bytes) != 0))
		i++;
	if (i == match->n_roots && i < MATCH_ROOTS_MAX)
		match->roots[match->n_roots++] = (struct match_root){ old, new, old_bytes, new_bytes };
}

/* Finds the roots from the functions that are paired so far. */
static void match_find_roots(struct match *match)
{
	const struct functions *f = &match->old->functions, *g = &match->new->functions;

	for (size_t i = 0; i < f->n; i++) {
		const struct function *a = &f->items[i];
		const struct function *b = match->old_to_new[i] == FUNCTIONS_NONE ? NULL : &g->items[match->old_to_new[i]];

		if (b && a->file && b->file)
			add_root(match, a->file, b->file);
	}
}

static void match_drop_results(struct match *match)
{
	map_release(&match->contents);
}

/* Reports whether functions and data that other files cannot see have no names. */
static bool is_nameless(const struct image *image)
{
	return image->detail == IMAGE_EXPORTED || !image->n_symbols;
}

void pair_functions(struct match *match, const struct build *of_old, const struct build *of_new, size_t few, bool *renamed)
{
	const struct functions *old = &of_old->functions, *new = &of_new->functions;

	*match = (struct match){ .old = of_old,
				 .new = of_new,
				 .old_to_new = mem_new(old->n, sizeof(size_t)),
				 .new_to_old = mem_new(new->n, sizeof(size_t)),
				 .nameless = is_nameless(&of_old->image) && is_nameless(&of_new->image),
				 .old_function = FUNCTIONS_NONE,
				 .new_function = FUNCTIONS_NONE,
				 .bytes_remaining = FILES_READ *(of_old->image.size + of_new->image.size) };
	for (size_t i = 0; i < old->n; i++)
		match->old_to_new[i] = FUNCTIONS_NONE;
	for (size_t i = 0; i < new->n; i++)
		match->new_to_old[i] = FUNCTIONS_NONE;
	for (int like = LIKE_SYMBOL; like <= LIKE_START; like++)
		pair_chains(old, new, (enum likeness)like, match->old_to_new, match->new_to_old);
	match_find_roots(match);
	for (int i = 0; i < ROUNDS_MAX && rename_round(match, few, renamed); i++)
		match_drop_results(match);
}
