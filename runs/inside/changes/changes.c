#include "runs/inside/changes/changes.h"

#include "base/mem.h"
#include "base/text.h"
#include "runs/inside/changes/demangle.h"

#define NAMES_SHOWN 6

/* Facts about a function from which its change is judged. Findings are indexed by key. */
struct finding {
	struct change change;
	enum match_result result; /* result of comparing the function's bodies; valid only if `compared` */
	bool compared;
	bool other_clones;
	bool renamed;
	bool touched;				   /* true if a hunk of the source difference touches the function */
	bool own_code_differs;			   /* true if the function's code differs outside of inlined functions */
	bool has_equal_copy;			   /* true if the function is inlined into some host with the same code */
	size_t hosts, hosts_differ, only_in_hosts; /* hosts in both builds; those where it differs; those where only it differs */
};

struct search {
	struct changes *changes;
	struct match match;
	struct finding *findings; /* [n] findings by key */
	size_t n;
	const struct changes_options *options;
};

ROWS_FUNCTION(change_kind_code, enum change_kind, CHANGE_KIND_ROWS, ROWS_CODE)
/* clang-format off */
static ROWS_FUNCTION(change_kind_heading, enum change_kind, CHANGE_KIND_ROWS, ROWS_TEXT)
static ROWS_FUNCTION(change_reason_code, enum change_reason, CHANGE_REASON_ROWS, ROWS_CODE)
static ROWS_FUNCTION(change_reason_text, enum change_reason, CHANGE_REASON_ROWS, ROWS_TEXT)
/* clang-format on */

/* ---- functions touched by the source difference ---- */

static const struct hunk_side *hunk_side(const struct source *source, size_t i, bool is_old)
{
	return is_old ? &source->hunks[i].old : &source->hunks[i].new;
}

/* Returns a map from the address of a file's interned name to the file's first hunk, on one side. */
static struct map map_first_hunks(const struct source *source, bool is_old)
{
	struct map first = { .slots = NULL };

	for (size_t i = source->n_hunks; i-- > 0;)
		map_set(&first, (uintptr_t)hunk_side(source, i, is_old)->file, i);
	return first;
}

/* Reports whether hunks of the function's file touch the function, and marks these hunks in in_hunk. `i` is the file's first hunk. */
static bool mark_touched_function(const struct source *source, const struct function *function, size_t i, bool is_old, bool *in_hunk)
{
	const char *file = hunk_side(source, i, is_old)->file;
	bool touched = false;

	for (; i < source->n_hunks && hunk_side(source, i, is_old)->file == file; i++) {
		const struct hunk_side *side = hunk_side(source, i, is_old);

		if (side->lines && function->line < side->line + side->lines && function->last_line >= side->line)
			in_hunk[i] = touched = true;
	}
	return touched;
}

static enum assay_status mark_touched_side(const struct source *source, const struct functions *functions, bool is_old, bool *touched,
					   bool *in_hunk, struct assay_error *err)
{
	const struct source_tree *tree = is_old ? &source->old : &source->new;
	struct map first = map_first_hunks(source, is_old);
	const char *last = NULL, *file = NULL;
	bool any = false;
	size_t hunk;

	for (size_t i = 0; i < functions->n; i++) {
		const struct function *function = &functions->items[i];

		if (!function->present || !function->file || !function->line)
			continue;
		if (function->file != last) {
			last = function->file;
			file = source_find_file(tree, last);
		}
		any = any || file;
		if (file && map_get(&first, (uintptr_t)file, &hunk))
			touched[i] = mark_touched_function(source, function, hunk, is_old, in_hunk);
	}
	map_release(&first);
	if (!any)
		return assay_fail(err, ASSAY_E_NODATA,
				  "no source file of the %s build is in commit %.12s: check that the build is from this repository",
				  is_old ? "old" : "new", tree->commit);
	return ASSAY_OK;
}

/* Sets touched_old[old->n] and touched_new[new->n] for functions with a hunk between their first and last line. Also sets source->outside.
 * Requires functions_set_last_lines(). Returns ASSAY_E_NODATA if no file of a build's functions is in its tree. */
static enum assay_status mark_touched_functions(struct source *source, const struct functions *old, const struct functions *new,
						bool *touched_old, bool *touched_new, struct assay_error *err)
{
	bool *in_function = mem_new(source->n_hunks, sizeof(*in_function));
	enum assay_status st = mark_touched_side(source, old, true, touched_old, in_function, err);

	if (!st)
		st = mark_touched_side(source, new, false, touched_new, in_function, err);
	for (size_t i = 0; i < source->n_hunks; i++)
		source->n_hunks_outside += !in_function[i];
	free(in_function);
	return st;
}

static size_t find_key_of_old(const struct changes *changes, size_t old)
{
	size_t new = changes->old_to_new[old];

	return new == FUNCTIONS_NONE ? changes->new.functions.n + old : new;
}

/* Returns the function with this key. */
static const struct function *changes_function(const struct changes *changes, size_t key)
{
	size_t n = changes->new.functions.n;

	return key < n ? &changes->new.functions.items[key] : &changes->old.functions.items[key - n];
}

static void add_reason(struct change *change, enum change_reason reason)
{
	change->reasons |= 1u << reason;
}

static void add_cause(struct finding *finding, enum change_reason reason, size_t key)
{
	struct change *change = &finding->change;

	add_reason(change, reason);
	for (size_t i = 0; i < change->n_causes; i++)
		if (change->causes[i].key == key && change->causes[i].reason == reason)
			return;
	mem_append(change->causes, change->n_causes, &change->causes_capacity, (struct change_cause){ reason, key });
}

/* ---- preparation ---- */

static void search_init(struct search *search, struct changes *c)
{
	bool *renamed = mem_new(c->old.functions.n, sizeof(*renamed));

	search->changes = c;
	pair_functions(&search->match, &c->old, &c->new, CHANGES_RENAMED_MIN, renamed);
	c->old_to_new = search->match.old_to_new;
	c->new_to_old = search->match.new_to_old;
	search->n = c->new.functions.n + c->old.functions.n;
	search->findings = mem_new(search->n, sizeof(*search->findings));
	for (size_t i = 0; i < search->n; i++)
		search->findings[i].change = (struct change){ .key = i, .old = FUNCTIONS_NONE, .new = FUNCTIONS_NONE };
	for (size_t i = 0; i < c->new.functions.n; i++)
		if (c->new.functions.items[i].present)
			search->findings[i].change.new = i;
	for (size_t i = 0; i < c->old.functions.n; i++) {
		struct finding *finding = &search->findings[find_key_of_old(c, i)];

		finding->renamed = renamed[i];
		if (c->old.functions.items[i].present)
			finding->change.old = i;
	}
	free(renamed);
}

/* Reads the source difference and sets `touched` of all findings. */
static enum assay_status read_source(struct search *search, struct assay_error *err)
{
	const struct changes_options *options = search->options;
	struct changes *c = search->changes;
	enum assay_status st = source_read(options->repository, options->old_reference, options->new_reference, &c->source, err);
	bool *old = mem_new(c->old.functions.n, sizeof(*old)), *new = mem_new(c->new.functions.n, sizeof(*new));

	c->has_source = true;
	if (!st) {
		functions_set_last_lines(&c->old.image, &c->old.functions);
		functions_set_last_lines(&c->new.image, &c->new.functions);
		st = mark_touched_functions(&c->source, &c->old.functions, &c->new.functions, old, new, err);
	}
	for (size_t i = 0; !st && i < search->n; i++) {
		const struct change *change = &search->findings[i].change;

		search->findings[i].touched =
		    (change->old != FUNCTIONS_NONE && old[change->old]) || (change->new != FUNCTIONS_NONE &&new[change->new]);
	}
	mem_free(old, new);
	return st;
}

/* ---- comparison of code ---- */

/* Records whether a part of the code of two bodies differs. Called by match_report_parts(). */
static void record_part(void *context, const struct match_part *part)
{
	struct search *search = context;
	struct finding *finding = &search->findings[part->key];

	if (part->key == part->host) {
		finding->own_code_differs = finding->own_code_differs || part->differs;
		return;
	}
	finding->hosts++;
	finding->hosts_differ += part->differs;
	finding->only_in_hosts += part->differs && !part->host_differs;
	finding->has_equal_copy = finding->has_equal_copy || !part->differs;
}

/* Marks the functions that are inlined into a function with equal code, because their code is then equal, too. */
static void mark_equal_inlined(struct search *search, size_t new)
{
	const struct functions *g = &search->changes->new.functions;
	const struct function *function = &g->items[new];

	for (size_t i = 0; i < function->n_bodies; i++) {
		const struct body *body = &g->bodies[g->body_order[function->first_body + i]];

		for (size_t j = 0; j < body->n_inlined; j++)
			search->findings[g->inlines[body->first_inlined + j].function].has_equal_copy = true;
	}
}

static void compare_pairs(struct search *search)
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
		finding->result = match_compare_functions(&search->match, change->old, change->new);
		change->constant = search->match.constant;
		finding->other_clones = !match_has_same_clones(&search->match, change->old, change->new);
		if (finding->result == MATCH_DIFFERENT)
			match_report_parts(&search->match, change->old, change->new, record_part, search);
		else
			mark_equal_inlined(search, i);
	}
}

/* ---- judgment ---- */

/* Reports whether the function is from a system header that both builds share. Its code can then differ only by constant arguments. */
static bool is_in_system_header(const struct search *search, const struct finding *finding)
{
	const struct functions *f = &search->changes->old.functions, *g = &search->changes->new.functions;
	const char *old = f->items[finding->change.old].file, *new = g->items[finding->change.new].file;

	return old && new && !strncmp(old, "/usr/", 5) && !strcmp(old, new);
}

/* Reports whether a function that one of the builds always inlines differs where it is inlined. */
static bool is_inlined_code_different(const struct search *search, const struct finding *finding)
{
	return !is_in_system_header(search, finding) && finding->hosts && finding->hosts_differ == finding->hosts &&
	       !finding->has_equal_copy && (finding->only_in_hosts || finding->hosts > 1);
}

static void judge_inlined(const struct search *search, struct finding *finding)
{
	const struct changes *c = search->changes;
	struct change *change = &finding->change;
	bool before = c->old.functions.items[change->old].n_bodies, now = c->new.functions.items[change->new].n_bodies;
	bool changed = c->has_source ? finding->touched && (!finding->has_equal_copy || finding->hosts_differ)
				     : is_inlined_code_different(search, finding);

	if (before)
		add_reason(change, CHANGE_NOW_INLINED);
	if (now)
		add_reason(change, CHANGE_NOW_CALLED);
	if (finding->touched)
		add_reason(change, CHANGE_IN_SOURCE);
	if (changed && is_inlined_code_different(search, finding))
		add_reason(change, CHANGE_INLINED_CODE);
	if (changed)
		change->kind = CHANGE_MODIFIED;
	else if (finding->touched)
		change->kind = CHANGE_SOURCE;
	else if (before || now)
		change->kind = CHANGE_RECOMPILED;
}

static void judge_compared(const struct search *search, struct finding *finding)
{
	static const enum change_kind kinds[] = { CHANGE_NONE, CHANGE_LINES, CHANGE_MODIFIED, CHANGE_MODIFIED };
	struct change *change = &finding->change;

	change->kind = kinds[finding->result];
	if (finding->touched)
		add_reason(change, CHANGE_IN_SOURCE);
	if (finding->other_clones)
		add_reason(change, CHANGE_CLONES);
	if (finding->result == MATCH_DIFFERENT)
		add_reason(change, CHANGE_CODE);
	if (finding->result == MATCH_CONSTANTS)
		add_reason(change, CHANGE_CONSTANT);
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

static void judge_finding(const struct search *search, struct finding *finding)
{
	struct change *change = &finding->change;

	if (change->old == FUNCTIONS_NONE && change->new == FUNCTIONS_NONE)
		return; /* the function is only declared */
	if (change->old == FUNCTIONS_NONE)
		change->kind = CHANGE_ADDED;
	else if (change->new == FUNCTIONS_NONE)
		change->kind = CHANGE_REMOVED;
	else if (finding->compared)
		judge_compared(search, finding);
	else
		judge_inlined(search, finding);
}

/* ---- functions that inline others ---- */

/* Adds changed functions that this function inlines as causes of its change. */
static void find_causes(struct search *search, struct finding *finding, const struct functions *f, size_t function, bool of_old)
{
	for (size_t i = 0; i < f->items[function].n_bodies; i++) {
		const struct body *body = &f->bodies[f->body_order[f->items[function].first_body + i]];

		for (size_t j = 0; j < body->n_inlined; j++) {
			size_t inlined = f->inlines[body->first_inlined + j].function;
			size_t key = of_old ? find_key_of_old(search->changes, inlined) : inlined;
			enum change_kind kind = search->findings[key].change.kind;

			if (key == finding->change.key)
				continue;
			if (kind == CHANGE_MODIFIED || kind == CHANGE_ADDED || kind == CHANGE_REMOVED)
				add_cause(finding, CHANGE_INLINES, key);
		}
	}
}

/* Reports whether only inlined functions differ. The function's own source, or its own code if sources are unknown, is then the same. */
static bool is_host_only(const struct search *search, const struct finding *finding)
{
	if (!finding->compared || !(finding->change.reasons & 1u << CHANGE_INLINES) || finding->result != MATCH_DIFFERENT)
		return false;
	return search->changes->has_source ? !finding->touched : !finding->own_code_differs;
}

/* Removes causes that are hosts themselves, because the functions that these hosts inline are also causes. */
static void drop_inline_hosts(const struct search *search, struct change *change)
{
	size_t n = 0;

	for (size_t i = 0; i < change->n_causes; i++)
		if (search->findings[change->causes[i].key].change.kind != CHANGE_INLINE_HOST)
			change->causes[n++] = change->causes[i];
	change->n_causes = n;
	if (!n)
		change->reasons &= ~(1u << CHANGE_INLINES);
}

static void judge_all(struct search *search)
{
	struct changes *c = search->changes;

	for (size_t i = 0; i < search->n; i++)
		judge_finding(search, &search->findings[i]);
	for (size_t i = 0; i < c->new.functions.n; i++) {
		struct finding *finding = &search->findings[i];
		struct change *change = &finding->change;

		if (!finding->compared || finding->result != MATCH_DIFFERENT)
			continue;
		find_causes(search, finding, &c->old.functions, change->old, true);
		find_causes(search, finding, &c->new.functions, change->new, false);
	}
	for (size_t i = 0; i < c->new.functions.n; i++)
		if (is_host_only(search, &search->findings[i]))
			search->findings[i].change.kind = CHANGE_INLINE_HOST;
	for (size_t i = 0; i < c->new.functions.n; i++)
		drop_inline_hosts(search, &search->findings[i].change);
}

/* ---- callers of functions that cannot be measured on their own ---- */

/* Calls in the new build, grouped by callee. */
struct callers {
	size_t *first; /* [functions + 1] index in `hosts` of the first call of each callee */
	size_t *hosts; /* functions that make the calls */
};

static struct callers callers_collect(const struct functions *f)
{
	struct callers callers = { mem_new(f->n + 2, sizeof(size_t)), mem_new(f->n_calls, sizeof(size_t)) };

	for (size_t i = 0; i < f->n_calls; i++)
		callers.first[f->calls[i].callee + 2]++;
	for (size_t i = 2; i < f->n + 2; i++)
		callers.first[i] += callers.first[i - 1];
	for (size_t i = 0; i < f->n_calls; i++)
		callers.hosts[callers.first[f->calls[i].callee + 1]++] = f->bodies[f->calls[i].body].function;
	return callers;
}

/* Reports whether the function is a small wrapper: it has few instructions, and at least one of them jumps or calls out of it. */
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

/* Returns the reason for which the callers of a changed function are measured; CHANGE_REASONS if they are not. */
static enum change_reason choose_reason(struct search *search, const struct change *change)
{
	if (change->new == FUNCTIONS_NONE)
		return CHANGE_REASONS;
	if (change->kind == CHANGE_ADDED)
		return CHANGE_CALLS_ADDED;
	if (change->kind != CHANGE_MODIFIED && change->kind != CHANGE_INLINE_HOST && change->kind != CHANGE_CALLER)
		return CHANGE_REASONS;
	return is_wrapper(search, change->new) ? CHANGE_CALLS_WRAPPER : CHANGE_REASONS;
}

/* Adds a cause to a caller. Returns true if the caller was not listed before. It may be a wrapper, whose callers must then be added. */
static bool add_caller(struct finding *finding, enum change_reason reason, size_t key)
{
	enum change_kind kind = finding->change.kind;

	if (finding->change.key == key || finding->change.old == FUNCTIONS_NONE)
		return false;
	add_cause(finding, reason, key);
	if (kind != CHANGE_NONE && kind != CHANGE_LINES && kind != CHANGE_SOURCE && kind != CHANGE_RENAMED)
		return false;
	finding->change.kind = CHANGE_CALLER;
	return true;
}

static void add_callers(struct search *search)
{
	const struct functions *g = &search->changes->new.functions;
	struct callers callers = callers_collect(g);
	size_t *stack = mem_new(2 * g->n, sizeof(*stack)), n = 0; /* each function at the start, and again if added as a caller */

	for (size_t i = 0; i < g->n; i++)
		if (search->findings[i].change.kind != CHANGE_NONE)
			stack[n++] = i;
	while (n) {
		size_t key = stack[--n];
		enum change_reason reason = choose_reason(search, &search->findings[key].change);

		for (size_t i = callers.first[key]; reason != CHANGE_REASONS && i < callers.first[key + 1]; i++)
			if (add_caller(&search->findings[callers.hosts[i]], reason, key))
				stack[n++] = callers.hosts[i];
	}
	mem_free(stack, callers.first, callers.hosts);
}

/* ---- list of changes ---- */

/* Sets inlined_into to the function's hosts in the new build, or in the old build if the function was removed. */
static void find_hosts(const struct changes *c, struct change *change)
{
	bool gone = change->new == FUNCTIONS_NONE;
	const struct functions *f = gone ? &c->old.functions : &c->new.functions;
	const struct function *function = &f->items[gone ? change->old : change->new];
	size_t *keys = mem_new(function->n_inlines, sizeof(*keys)), n = 0;

	for (size_t i = 0; i < function->n_inlines; i++) {
		size_t host = f->bodies[f->inlines[f->inline_order[function->first_inline + i]].body].function;

		if (gone)
			host = find_key_of_old(c, host);
		if (host != change->key) /* otherwise `host` is a part of the function itself that was split off and inlined again */
			keys[n++] = host;
	}
	map_sort(keys, n, sizeof(*keys));
	change->inlined_into = keys;
	for (size_t i = 0; i < n; i++)
		if (!i || keys[i] != keys[i - 1])
			keys[change->n_inlined_into++] = keys[i];
}

static int compare_changes(const void *a, const void *b, void *context)
{
	const struct change *x = a, *y = b;
	const struct changes *c = context;
	const struct function *f = changes_function(c, x->key), *g = changes_function(c, y->key);
	int order;

	if (x->kind != y->kind)
		return (int)x->kind - (int)y->kind;
	order = strcmp(f->file ? f->file : "", g->file ? g->file : "");
	if (order)
		return order;
	if (f->line != g->line)
		return f->line < g->line ? -1 : 1;
	order = strcmp(f->symbol, g->symbol);
	return order ? order : x->key < y->key ? -1 : x->key > y->key;
}

/* Reports whether the compiler added the function to start a file, and it is redundant. Its source, if known, is listed separately. */
static bool is_redundant_start(const struct changes *c, const struct change *change)
{
	const struct function *function = changes_function(c, change->key);
	enum functions_init_kind start = functions_classify_init(function->symbol);

	if (start == FUNCTIONS_INIT_CALLS)
		return function->file && change->kind != CHANGE_MODIFIED;
	return start == FUNCTIONS_INIT_REGISTERS;
}

static void collect_changes(struct search *search, struct changes *c)
{
	for (size_t i = 0; i < search->n; i++) {
		struct change *change = &search->findings[i].change;

		if (is_redundant_start(c, change))
			change->kind = CHANGE_NONE;
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
			search->findings[i].change.causes = NULL; /* `causes` now belongs to the list */
			find_hosts(c, &c->items[c->n++]);
		}
	if (c->n)
		qsort_r(c->items, c->n, sizeof(*c->items), compare_changes, c);
}

static bool is_same_producers(const struct functions *f, const struct functions *g)
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
	struct changes changes = { .old = *old, .new = *new };
	struct search search = { .options = options };
	enum assay_status st = ASSAY_OK;

	*old = *new = (struct build){ .referenced_addresses = NULL };
	search_init(&search, &changes);
	if (options->repository)
		st = read_source(&search, err);
	if (!st) {
		compare_pairs(&search);
		judge_all(&search);
		add_callers(&search);
		collect_changes(&search, &changes);
		changes.other_compiler = !is_same_producers(&changes.old.functions, &changes.new.functions);
		changes.many_differ =
		    2 * (changes.count[CHANGE_MODIFIED] + changes.count[CHANGE_RECOMPILED]) > changes.compared && changes.compared > 10;
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
	for (size_t i = 0; i < changes->n; i++)
		mem_free(changes->items[i].inlined_into, changes->items[i].causes);
	mem_free(changes->items, changes->old_to_new, changes->new_to_old);
	source_release(&changes->source);
	build_release(&changes->old);
	build_release(&changes->new);
	*changes = (struct changes){ .items = NULL };
}

/* ---- files and lines ---- */

/* Returns a file's name in the repository or, if unknown, a name as short as possible; NULL if the file itself is unknown. */
static const char *function_file(const struct changes *c, bool of_old, const struct function *function)
{
	const char *file = function->file, *found = NULL;
	size_t n = function->directory ? strlen(function->directory) : 0;

	if (file && c->has_source)
		found = source_find_file(of_old ? &c->source.old : &c->source.new, file);
	if (found || !file)
		return found;
	return n && !strncmp(file, function->directory, n) && file[n] == '/' ? file + n + 1 : file;
}

/* Returns "a.c:12", or "" if the build lacks the function. The caller frees the text. */
static char *format_place(const struct changes *c, bool of_old, size_t index)
{
	const struct function *function;
	const char *file;

	if (index == FUNCTIONS_NONE)
		return mem_string("");
	function = &(of_old ? &c->old : &c->new)->functions.items[index];
	file = function_file(c, of_old, function);
	if (file && function->line)
		return mem_format("%s:%u", file, function->line);
	return mem_string(file ? file : "?");
}

static uint64_t body_entry(const struct functions *f, const struct function *function, size_t body)
{
	return f->bodies[f->body_order[function->first_body + body]].entry;
}

/* ---- one change as text for users ---- */

/* Writes "NAME a.c:12 -> a.c:14", or only one place if both are the same. */
static void add_line(const struct changes *c, const struct change *change, struct document *d)
{
	char *name = demangle(changes_function(c, change->key)->symbol);
	char *before = change->kind == CHANGE_RENAMED ? demangle(c->old.functions.items[change->old].symbol) : NULL;
	char *place = format_place(c, true, change->old), *place_now = format_place(c, false, change->new);
	bool both = *place && *place_now && strcmp(place, place_now) != 0;

	doc_line(d, "  %s%s%s  %s%s%s", before ? before : "", before ? " -> " : "", name, both || !*place_now ? place : "",
		 both ? " -> " : "", place_now);
	mem_free(name, before, place, place_now);
}

static void add_names_line(const struct changes *c, const char *what, const size_t *keys, size_t n, struct document *d)
{
	struct buf line = BUF_INIT;

	for (size_t i = 0; i < n && i < NAMES_SHOWN; i++) {
		char *name = demangle(changes_function(c, keys[i])->symbol);

		buf_format(&line, "%s%s", i ? ", " : "", name);
		free(name);
	}
	if (n > NAMES_SHOWN)
		buf_format(&line, " and %zu more", n - NAMES_SHOWN);
	if (n)
		doc_line(d, "      %s %s", what, line.bytes);
	buf_release(&line);
}

/* Writes the reasons that do not follow from the heading. */
static void add_reasons_line(const struct changes *c, const struct change *change, struct document *d)
{
	unsigned shown = 1u << CHANGE_CLONES | 1u << CHANGE_NOW_INLINED | 1u << CHANGE_NOW_CALLED | 1u << CHANGE_CONSTANT;
	struct buf line = BUF_INIT;

	if (change->kind == CHANGE_MODIFIED && c->has_source)
		shown |= 1u << CHANGE_IN_SOURCE | 1u << CHANGE_CODE;
	for (int reason = 0; reason < CHANGE_REASONS; reason++) {
		if (!(change->reasons & shown & 1u << reason))
			continue;
		buf_format(&line, "%s%s", line.size ? ", " : "", change_reason_text((enum change_reason)reason));
		if (reason == CHANGE_CONSTANT && change->constant)
			buf_format(&line, " (%s)", change->constant);
	}
	if (line.size)
		doc_line(d, "      %s", line.bytes);
	buf_release(&line);
}

static void add_change_text(const struct changes *c, const struct change *change, struct document *d)
{
	size_t *keys = mem_new(change->n_causes, sizeof(*keys));

	add_line(c, change, d);
	add_reasons_line(c, change, d);
	for (int reason = 0; reason < CHANGE_REASONS; reason++) {
		size_t n = 0;

		for (size_t i = 0; i < change->n_causes; i++)
			if ((int)change->causes[i].reason == reason)
				keys[n++] = change->causes[i].key;
		add_names_line(c, change_reason_text((enum change_reason)reason), keys, n, d);
	}
	add_names_line(c, change->new == FUNCTIONS_NONE ? "was inlined into" : "inlined into", change->inlined_into, change->n_inlined_into,
		       d);
	free(keys);
}

/* ---- one change as data ---- */

static void set_name(const struct changes *c, size_t key, struct document *d)
{
	const struct function *function = changes_function(c, key);
	char *name = demangle(function->symbol);

	doc_set(d, "name", name);
	doc_set(d, "symbol", function->symbol);
	free(name);
}

static void set_side(const struct changes *c, bool of_old, size_t index, struct document *d)
{
	const struct functions *f = of_old ? &c->old.functions : &c->new.functions;
	const char *key = of_old ? "old" : "new";
	const struct function *function;

	if (index == FUNCTIONS_NONE) {
		doc_set(d, key, DOC_NULL_VALUE);
		return;
	}
	function = &f->items[index];
	doc_object(d, key);
	doc_set(d, "symbol", function->symbol);
	doc_set(d, "file", function_file(c, of_old, function));
	doc_set(d, "line", function->line ? doc_value_integer(function->line) : DOC_NULL_VALUE);
	doc_list(d, "bodies");
	for (size_t i = 0; i < function->n_bodies; i++) {
		char *address = mem_format("0x%llx", (unsigned long long)body_entry(f, function, i));

		doc_object(d, NULL);
		doc_set(d, "symbol", f->bodies[f->body_order[function->first_body + i]].symbol);
		doc_set(d, "address", address);
		doc_end(d);
		free(address);
	}
	doc_end(d);
	doc_end(d);
}

static void set_members(const struct changes *c, const struct change *change, struct document *d)
{
	set_name(c, change->key, d);
	doc_set(d, "change", change_kind_code(change->kind));
	doc_list(d, "reasons");
	for (int reason = 0; reason < CHANGE_REASONS; reason++)
		if (change->reasons & 1u << reason)
			doc_set(d, NULL, change_reason_code((enum change_reason)reason));
	doc_end(d);
	doc_set(d, "constant", change->constant);
	doc_list(d, "because_of");
	for (size_t i = 0; i < change->n_causes; i++) {
		doc_object(d, NULL);
		set_name(c, change->causes[i].key, d);
		doc_set(d, "reason", change_reason_code(change->causes[i].reason));
		doc_end(d);
	}
	doc_end(d);
	doc_list(d, "inlined_into");
	for (size_t i = 0; i < change->n_inlined_into; i++) {
		doc_object(d, NULL);
		set_name(c, change->inlined_into[i], d);
		doc_end(d);
	}
	doc_end(d);
	set_side(c, true, change->old, d);
	set_side(c, false, change->new, d);
}

/* ---- all changes ---- */

static void add_answer(const struct changes *c, struct document *d)
{
	size_t changed = c->count[CHANGE_MODIFIED] + c->count[CHANGE_ADDED] + c->count[CHANGE_REMOVED] + c->count[CHANGE_RENAMED];
	size_t all = c->n_new + c->count[CHANGE_REMOVED], brought_in = c->count[CHANGE_INLINE_HOST] + c->count[CHANGE_CALLER];

	if (!c->n)
		doc_line(d, "%s", c->new.image.detail == IMAGE_EXPORTED ? "No exported function changed." : "Nothing changed.");
	else if (!brought_in)
		doc_line(d, "%zu of %zu function%s changed.", changed, all, text_plural(all));
	else
		doc_line(d, "%zu of %zu functions changed, %zu more inline or call changed ones.", changed, all, brought_in);
}

static void add_build(const char *key, const struct build *build, size_t n, struct document *d)
{
	const char *id = build->image.build_id;

	doc_object(d, key);
	doc_set(d, "file", build->image.path);
	doc_set_empty(d, "build_id", id);
	doc_set(d, "functions", n);
	doc_texts(d, "compilers", build->functions.producers, build->functions.n_producers);
	doc_line(d, "%s  %s  %zu function%s%s%.12s", key, build->image.path, n, text_plural(n), *id ? ", build-id " : "", id);
	doc_end(d);
}

/* Texts by enum image_detail: the information that is missing, and the remedy. */
static const struct {
	const char *code, *text;
} details[] = {
	{ "debug_information", NULL },
	{ "symbols", "The builds have no debug information: files, lines and inlined functions are unknown. A function that inlines a "
		     "changed function seems to have changed itself. Build both with -g." },
	{ "exported_symbols",
	  "The builds are stripped: only exported functions are compared; changes in other functions and in variables are not visible. "
	  "Compare the files before 'strip', or put the files with their debug information next to them or under /usr/lib/debug." },
};

static void add_source(const struct changes *c, struct document *d)
{
	const struct source *source = &c->source;

	if (!c->has_source) {
		doc_set(d, "source", DOC_NULL_VALUE);
		return;
	}
	doc_object(d, "source");
	doc_set(d, "old_commit", source->old.commit);
	doc_set(d, "new_commit", source->new.commit);
	doc_set(d, "hunks", source->n_hunks);
	doc_set(d, "hunks_in_no_function", source->n_hunks_outside);
	doc_line(d, "source  %.12s..%.12s, %zu hunk%s, %zu of them outside functions of the builds", source->old.commit, source->new.commit,
		 source->n_hunks, text_plural(source->n_hunks), source->n_hunks_outside);
	doc_end(d);
}

static void add_changes(const struct changes *c, bool all, struct document *d)
{
	doc_list(d, "functions");
	for (size_t i = 0; i < c->n; i++) {
		const struct change *change = &c->items[i];
		bool apart = !all && (change->kind == CHANGE_LINES || change->kind == CHANGE_SOURCE);

		if (!i || change->kind != change[-1].kind)
			doc_heading(d, "%s%s: %zu%s", change_kind_heading(change->kind),
				    change->kind == CHANGE_RECOMPILED && c->has_source ? ", although their own source is the same" : "",
				    c->count[change->kind], apart ? " (--all lists them)" : "");
		doc_object(d, NULL);
		set_members(c, change, d);
		if (!apart)
			add_change_text(c, change, d);
		doc_end(d);
	}
	doc_end(d);
}

void changes_describe(const struct changes *c, bool all, struct document *d)
{
	add_answer(c, d);
	add_build("old", &c->old, c->n_old, d);
	add_build("new", &c->new, c->n_new, d);
	add_source(c, d);
	doc_set(d, "known_from", details[c->new.image.detail].code);
	if (details[c->new.image.detail].text)
		doc_line(d, "%s", details[c->new.image.detail].text);
	doc_set(d, "compared", c->compared);
	doc_set_bool(d, "other_compiler", c->other_compiler);
	doc_set_bool(d, "many_differ", c->many_differ);
	if (c->other_compiler)
		doc_line(
		    d, "The builds were made by different compilers or with different options, which may explain many of the differences.");
	else if (c->many_differ)
		doc_line(d, "More than half of the functions differ: check that both were built with the same compiler and options.");
	doc_object(d, "counts");
	for (int kind = CHANGE_NONE; kind < CHANGE_KINDS; kind++)
		doc_set(d, change_kind_code((enum change_kind)kind), c->count[kind]);
	doc_end(d);
	add_changes(c, all, d);
}

/* ---- list for the probe ---- */

/* Appends a field, with '?' for control characters, which would end the field or the line. */
static void add_field(struct buf *out, const char *text)
{
	for (; *text; text++)
		buf_char(out, (unsigned char)*text < 0x20 || *text == 0x7f ? '?' : *text);
}

size_t changes_list_entries(const struct changes *c, bool of_old, struct buf *out)
{
	const struct build *build = of_old ? &c->old : &c->new;
	const struct functions *f = &build->functions;
	size_t listed = 0;

	buf_format(out, "# assay functions 1\n# build-id %s\n", build->image.build_id[0] ? build->image.build_id : "-");
	for (size_t i = 0; i < c->n; i++) {
		const struct change *change = &c->items[i];
		bool both = change->old != FUNCTIONS_NONE && change->new != FUNCTIONS_NONE;
		const struct function *function = both ? &f->items[of_old ? change->old : change->new] : NULL;
		const char *file = both ? function_file(c, of_old, function) : NULL;

		for (size_t j = 0; both && change_kind_is_listed(change->kind) && j < function->n_bodies; j++) {
			add_field(out, function->symbol);
			buf_format(out, "\t0x%llx\t", (unsigned long long)body_entry(f, function, j));
			add_field(out, file ? file : "?");
			buf_format(out, "\t%u\n", function->line);
			listed++;
		}
	}
	return listed;
}
