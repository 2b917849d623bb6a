/* Selects hosts by lists of names, ranges, groups, hardware types, and "any N of" these. */
#include "fleet/inventory/inventory.h"

#include "base/mem.h"
#include "base/order.h"
#include "base/text.h"
#include "fleet/inventory/nodeset.h"

#include <inttypes.h>

#define ANY  "any "
#define TYPE "type:"

struct selection {
	const struct inventory *inventory;
	const struct host **sorted; /* [n] hosts, sorted by name */
	const bool *excluded;	    /* [n] true for excluded hosts; NULL while the list of excluded hosts is parsed */
	const int *rank;	    /* [n] ranks of the hosts, lowest first; NULL if all ranks are equal */
	struct assay_error *err;
};

ORDER_POINTERS_BY(compare_names, struct host, BY_TEXT(name))

static int compare_key(const void *key, const void *host)
{
	return strcmp(key, (*(const struct host *const *)host)->name);
}

/* ---- names, groups, types ---- */

/* Appends all names of one kind that the host has. `at` is the prefix of the kind: "@" for groups, "type:" for types, "" for hosts. */
static void add_words(const struct host *host, const char *at, const char ***words, size_t *n, size_t *capacity)
{
	bool groups = *at == '@', types = *at && !groups;
	size_t count = groups ? host->n_groups : types ? host->type != NULL : 1;

	for (size_t k = 0; k < count; k++)
		mem_append(*words, *n, capacity, groups ? host->groups[k] : types ? host->type : host->name);
}

/* Fails because lab.yaml does not have this name, group or type. `at` is the prefix of the kind. */
static enum assay_status fail_unknown(const struct selection *c, const char *what, const char *at, const char *name)
{
	const char **words = NULL, *nearest;
	size_t n = 0, capacity = 0;
	char shown[TEXT_SANITIZED_BYTES];
	enum assay_status st;

	for (size_t i = 0; i < c->inventory->n; i++)
		add_words(&c->inventory->hosts[i], at, &words, &n, &capacity);
	nearest = text_nearest(name, words, n);
	text_sanitize(name, shown);
	if (nearest)
		st = assay_fail(c->err, ASSAY_E_USAGE, "no %s '%s%s' in lab.yaml (did you mean '%s%s'?)", what, at, shown, at, nearest);
	else
		st = assay_fail(c->err, ASSAY_E_USAGE, "no %s '%s%s' in lab.yaml ('assay host list' shows all)", what, at, shown);
	free(words);
	return st;
}

static bool is_in_group(const struct host *host, const char *group)
{
	return strcmp(group, "all") == 0 || text_is_among(host->groups, host->n_groups, group);
}

static bool is_of_type(const struct host *host, const char *type)
{
	return host->type && strcmp(host->type, type) == 0;
}

static enum assay_status mark_similar(const struct selection *c, bool (*is)(const struct host *, const char *), const char *what,
				      const char *at, const char *name, bool *marks)
{
	bool found = *at == '@' && strcmp(name, "all") == 0;

	for (size_t i = 0; i < c->inventory->n; i++) {
		if (is(&c->inventory->hosts[i], name))
			marks[i] = found = true;
	}
	return found ? ASSAY_OK : fail_unknown(c, what, at, name);
}

static enum assay_status mark_name(const struct selection *c, const char *name, bool *marks)
{
	const struct host *const *host;

	if (name[0] == '@')
		return mark_similar(c, is_in_group, "group", "@", name + 1, marks);
	if (strncmp(name, TYPE, strlen(TYPE)) == 0)
		return mark_similar(c, is_of_type, "hardware type", TYPE, name + strlen(TYPE), marks);
	host = bsearch(name, c->sorted, c->inventory->n, sizeof(*c->sorted), compare_key);
	if (!host)
		return fail_unknown(c, "host", "", name);
	marks[*host - c->inventory->hosts] = true;
	return ASSAY_OK;
}

static enum assay_status mark_set(const struct selection *c, const char *text, bool *marks)
{
	struct nodeset set;
	enum assay_status st = nodeset_expand(text, &set, c->err);

	if (st) { /* `text` is from the command line: report wrong usage instead of a malformed file */
		c->err->status = ASSAY_E_USAGE;
		return ASSAY_E_USAGE;
	}
	for (size_t i = 0; !st && i < set.n; i++)
		st = mark_name(c, set.names[i], marks);
	nodeset_release(&set);
	return st;
}

/* ---- any N of a set ---- */

/* Marks the candidate with the lowest rank, and removes it from `candidates`. Returns false if there is none. */
static bool take_best(const struct selection *c, bool *candidates, bool *marks)
{
	size_t best = c->inventory->n;

	for (size_t i = 0; i < c->inventory->n; i++) {
		if (candidates[i] && (best == c->inventory->n || (c->rank && c->rank[i] < c->rank[best])))
			best = i;
	}
	if (best == c->inventory->n)
		return false;
	candidates[best] = false;
	marks[best] = true;
	return true;
}

/* Marks the hosts of "any N of ITEM". `text` is the part after "any ". */
static enum assay_status mark_any(const struct selection *c, const char *text, bool *marks)
{
	static const char of[] = "of ";
	size_t digits = strspn(text, "0123456789"), there = 0;
	const char *set = text + digits + strspn(text + digits, " ");
	int64_t wanted = 0;
	char *number = mem_bytes(text, digits), shown[TEXT_SANITIZED_BYTES];
	bool good =
	    digits && text[digits] == ' ' && strncmp(set, of, sizeof(of) - 1) == 0 && text_parse_int64(number, &wanted) && wanted > 0;
	bool *candidates = mem_new(c->inventory->n, sizeof(*candidates));
	enum assay_status st = ASSAY_OK;

	set += sizeof(of) - 1;
	if (!good)
		st = assay_fail(c->err, ASSAY_E_USAGE, "'any %s' is not a choice such as 'any 3 of type:rome'", text_sanitize(text, shown));
	else if (!c->excluded)
		st = assay_fail(c->err, ASSAY_E_USAGE, "'any' selects hosts and cannot exclude them");
	if (!st)
		st = mark_set(c, set, candidates);
	for (size_t i = 0; !st && i < c->inventory->n; i++) {
		candidates[i] = candidates[i] && !c->excluded[i];
		there += candidates[i];
	}
	if (!st && (int64_t)there < wanted)
		st = assay_fail(c->err, ASSAY_E_USAGE,
				"any %" PRId64 " of '%s' are requested, but lab.yaml has only %zu that are not excluded", wanted,
				text_sanitize(set, shown), there);
	for (int64_t i = 0; !st && i < wanted; i++)
		take_best(c, candidates, marks);
	mem_free(candidates, number);
	return st;
}

/* ---- lists ---- */

/* Returns the length of the text before the next comma or "!" that is not in brackets. */
static size_t item_length(const char *text)
{
	size_t n = 0;

	for (bool within = false; text[n] && (within || (text[n] != ',' && text[n] != '!')); n++)
		within = text[n] == '[' || (within && text[n] != ']');
	return n;
}

static enum assay_status mark_item(const struct selection *c, const char *text, size_t n, bool *marks)
{
	char *item = mem_bytes(text, n);
	enum assay_status st;

	for (; n && item[n - 1] == ' '; n--)
		item[n - 1] = '\0';
	st = strncmp(item, ANY, strlen(ANY)) == 0 ? mark_any(c, item + strlen(ANY) + strspn(item + strlen(ANY), " "), marks)
						  : mark_set(c, item, marks);
	free(item);
	return st;
}

/* Marks the hosts of a list. Passes a list without "any" and "!" on as a whole, because errors of nodeset_expand() have a position. */
static enum assay_status mark_list(const struct selection *c, const char *text, bool *marks)
{
	struct selection rest = *c;
	bool *without, found = false;
	enum assay_status st = ASSAY_OK;

	if (!inventory_has_any(text) && !strchr(text, '!'))
		return mark_set(c, text, marks);
	without = mem_new(c->inventory->n, sizeof(*without));
	rest.excluded = NULL;
	for (int named = 0; !st && named < 2; named++) { /* items after "!" come first */
		size_t n;

		for (const char *at = text; !st && at; at = at[n] ? at + n + (at[n] == ',') : NULL) {
			bool negated;

			at += strspn(at, " ");
			negated = *at == '!';
			at += negated ? 1 + strspn(at + 1, " ") : 0;
			n = item_length(at);
			found = found || !negated;
			if (negated != named)
				st = mark_item(&rest, at, n, named ? marks : without);
		}
		for (size_t i = 0; c->excluded && i < c->inventory->n; i++)
			without[i] = without[i] || c->excluded[i];
		rest.excluded = c->excluded ? without : NULL;
	}
	for (size_t i = 0; i < c->inventory->n; i++)
		marks[i] = (marks[i] || !found) && !without[i];
	free(without);
	return st;
}

bool inventory_has_any(const char *which)
{
	for (const char *at = which; at && *at; at += at[0] == ',' || at[0] == '!') {
		at += strspn(at, " ");
		if (strncmp(at, ANY, strlen(ANY)) == 0)
			return true;
		at += item_length(at);
	}
	return false;
}

enum assay_status inventory_select(const struct inventory *inventory, const char *which, const char *excluded, const int *rank,
				   bool *selected, struct assay_error *err)
{
	struct selection c = { .inventory = inventory, .sorted = mem_new(inventory->n, sizeof(*c.sorted)), .rank = rank, .err = err };
	bool *without = mem_new(inventory->n, sizeof(*without));
	enum assay_status st = ASSAY_OK;

	for (size_t i = 0; i < inventory->n; i++) {
		c.sorted[i] = &inventory->hosts[i];
		selected[i] = !which;
	}
	qsort(c.sorted, inventory->n, sizeof(*c.sorted), compare_names);
	if (excluded)
		st = mark_list(&c, excluded, without);
	for (size_t i = 0; i < inventory->n; i++)
		without[i] = without[i] || (rank && rank[i] < 0);
	c.excluded = without;
	if (!st && which)
		st = mark_list(&c, which, selected);
	for (size_t i = 0; i < inventory->n; i++)
		selected[i] = selected[i] && !without[i];
	mem_free(without, c.sorted);
	return st;
}
