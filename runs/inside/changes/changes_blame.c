/* Where code was inlined, whose is the difference? For each function that stands in a host, a sum over its instructions, without
 * registers and places on the stack (the compiler gives those out anew) and in any order: of the function that changed it
 * differs. */
#include "runs/inside/changes/changes_internal.h"

#include "base/mem.h"

#define LINE_MIN 16 /* smaller numbers are rarely lines of a statement */

struct share {
	size_t key;
	uint64_t old_sum, new_sum;
	size_t old_n, new_n; /* instructions */
};

struct shares {
	struct share *items;
	size_t n, capacity;
	struct map by_key;
};

static struct share *share_of(struct shares *shares, size_t key)
{
	size_t index;

	if (!map_get(&shares->by_key, key, &index)) {
		index = shares->n;
		shares->items = mem_grow(shares->items, shares->n, &shares->capacity, sizeof(*shares->items));
		shares->items[shares->n++] = (struct share){.key = key};
		map_set(&shares->by_key, key, index);
	}
	return &shares->items[index];
}

/* ---- what an instruction refers to, in words that both builds have ---- */

static uint64_t hash_text(const char *text, size_t n)
{
	uint64_t hash = 0xcbf29ce484222325u;

	for (size_t i = 0; i < n; i++)
		hash = (hash ^ (unsigned char)text[i]) * 0x100000001b3u;
	return hash;
}

static uint64_t meaning_of_code(const struct search *search, bool of_old, uint64_t target)
{
	const struct changes *c = search->changes;
	const struct build *build = of_old ? &c->old : &c->new;
	size_t callee = build_callee(build, target);
	const char *import = image_import_at(&build->image, target);

	if (callee != FUNCTIONS_NONE)
		return map_mix(1, of_old ? changes_key_of_old(c, callee) : callee);
	return import ? hash_text(import, strlen(import)) : 2;
}

static uint64_t meaning_of_data(const struct build *build, uint64_t target)
{
	size_t n = match_text_at(&build->image, target), symbol = image_symbol_before(&build->image, target);
	uint64_t room;

	if (n) {
		const char *text = (const char *)image_at(&build->image, target, &room), *slash = memrchr(text, '/', n);

		return slash ? hash_text(slash, n - (size_t)(slash - text)) : hash_text(text, n);
	}
	if (symbol == SIZE_MAX || target - build->image.symbols[symbol].address >= build->image.symbols[symbol].size)
		return 3;
	n = strcspn(build->image.symbols[symbol].name, ".");
	return map_mix(hash_text(build->image.symbols[symbol].name, n), target - build->image.symbols[symbol].address);
}

/* What may be the number of a line counts from the line where it stands. */
static uint64_t meaning(const struct search *search, bool of_old, size_t body, const struct instruction *one)
{
	const struct build *build = of_old ? &search->changes->old : &search->changes->new;
	int64_t immediate, distance = INT64_MAX;
	uint64_t value = code_meaning(one, &immediate);

	if (immediate > LINE_MIN)
		distance = match_line_distance(build, body, one->address, immediate);
	value = map_mix(value, (uint64_t)(distance == INT64_MAX ? immediate : distance));
	for (size_t i = 0; i < one->n_references; i++) {
		const struct code_reference *r = &one->references[i];
		const struct image_section *section = image_section_at(&build->image, r->target);

		if (r->kind == CODE_BRANCH || (section && image_is_code(section)))
			value = map_mix(value, meaning_of_code(search, of_old, r->target));
		else if (r->kind != CODE_THREAD)
			value = map_mix(value, meaning_of_data(build, r->target));
	}
	return value;
}

/* ---- a host ---- */

/* same[n]: instructions that are the same in both, NULL: not known. */
static void add_side(const struct search *search, bool of_old, size_t body, const struct code *code, const bool *same,
                     struct shares *shares)
{
	const struct changes *c = search->changes;
	const struct functions *f = of_old ? &c->old.functions : &c->new.functions;
	uint64_t *addresses = mem_new(code->n, sizeof(*addresses));
	size_t *owners = mem_new(code->n, sizeof(*owners));

	for (size_t i = 0; i < code->n; i++)
		addresses[i] = code->items[i].address;
	functions_paint(f, body, addresses, code->n, owners);
	for (size_t i = 0; i < code->n; i++) {
		struct share *share = share_of(shares, of_old ? changes_key_of_old(c, owners[i]) : owners[i]);

		*(of_old ? &share->old_n : &share->new_n) += 1;
		if (!same || !same[i])
			*(of_old ? &share->old_sum : &share->new_sum) += meaning(search, of_old, body, &code->items[i]);
	}
	free(addresses);
	free(owners);
}

/* Where nothing was added or taken away, one instruction stands for the other. */
static bool *find_same(struct search *search)
{
	const struct code *old = &search->match.old_code, *new = &search->match.new_code;
	bool *same;

	if (old->n != new->n)
		return NULL;
	same = mem_new(old->n, sizeof(*same));
	for (size_t i = 0; i < old->n; i++)
		same[i] = match_instructions(&search->match, &old->items[i], &new->items[i]) != MATCH_DIFFERENT;
	return same;
}

static bool differs(const struct share *share)
{
	return share->old_sum != share->new_sum || share->old_n != share->new_n;
}

/* The code of both bodies is in search->match. */
void changes_blame(struct search *search, size_t old_body, size_t new_body)
{
	size_t host = search->changes->new.functions.bodies[new_body].function;
	struct shares shares = {.items = NULL};
	bool own, *same = find_same(search);

	add_side(search, true, old_body, &search->match.old_code, same, &shares);
	add_side(search, false, new_body, &search->match.new_code, same, &shares);
	free(same);
	own = differs(share_of(&shares, host));
	if (own)
		search->findings[host].own_differs = true;
	for (size_t i = 0; i < shares.n; i++) {
		const struct share *share = &shares.items[i];
		struct finding *finding = &search->findings[share->key];

		if (share->key == host || !share->old_n || !share->new_n)
			continue;
		finding->hosts++;
		finding->hosts_differ += differs(share);
		finding->hosts_alone += differs(share) && !own;
		finding->same_somewhere = finding->same_somewhere || !differs(share);
	}
	free(shares.items);
	map_release(&shares.by_key);
}
