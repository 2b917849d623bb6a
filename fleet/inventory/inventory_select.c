#include "fleet/inventory/inventory.h"

#include "base/mem.h"
#include "base/text.h"
#include "fleet/inventory/nodeset.h"

static int compare_hosts(const void *a, const void *b)
{
	return strcmp((*(const struct host *const *)a)->name, (*(const struct host *const *)b)->name);
}

static int compare_key(const void *key, const void *host)
{
	return strcmp(key, (*(const struct host *const *)host)->name);
}

/* ---- what does not exist ---- */

static void add_word(const char ***words, size_t *n, size_t *capacity, const char *word)
{
	*words = mem_grow(*words, *n, capacity, sizeof(**words));
	(*words)[(*n)++] = word;
}

static enum assay_status fail_host(const struct inventory *inventory, const char *name, struct assay_error *err)
{
	const char **words = NULL, *nearest;
	size_t n = 0, capacity = 0;
	char shown[TEXT_SHOWN_BYTES];
	enum assay_status st;

	for (size_t i = 0; i < inventory->n; i++)
		add_word(&words, &n, &capacity, inventory->hosts[i].name);
	nearest = text_nearest(name, words, n);
	text_shown(name, shown);
	if (nearest)
		st = assay_fail(err, ASSAY_E_USAGE, "no host '%s' in lab.yaml (did you mean '%s'?)", shown, nearest);
	else
		st = assay_fail(err, ASSAY_E_USAGE, "no host '%s' in lab.yaml ('assay fleet list' shows all)", shown);
	free(words);
	return st;
}

static enum assay_status fail_group(const struct inventory *inventory, const char *name, struct assay_error *err)
{
	const char **words = NULL, *nearest;
	size_t n = 0, capacity = 0;
	char shown[TEXT_SHOWN_BYTES];
	enum assay_status st;

	for (size_t i = 0; i < inventory->n; i++)
		for (size_t k = 0; k < inventory->hosts[i].n_groups; k++)
			add_word(&words, &n, &capacity, inventory->hosts[i].groups[k]);
	nearest = text_nearest(name, words, n);
	text_shown(name, shown);
	if (nearest)
		st = assay_fail(err, ASSAY_E_USAGE, "no group '@%s' in lab.yaml (did you mean '@%s'?)", shown, nearest);
	else
		st = assay_fail(err, ASSAY_E_USAGE, "no group '@%s' in lab.yaml ('assay fleet list' shows all)", shown);
	free(words);
	return st;
}

/* ---- what does ---- */

static bool is_in_group(const struct host *host, const char *group)
{
	if (strcmp(group, "all") == 0)
		return true;
	for (size_t i = 0; i < host->n_groups; i++) {
		if (strcmp(host->groups[i], group) == 0)
			return true;
	}
	return false;
}

static enum assay_status mark_group(const struct inventory *inventory, const char *group, bool *marks, bool value,
				    struct assay_error *err)
{
	bool found = strcmp(group, "all") == 0;

	for (size_t i = 0; i < inventory->n; i++) {
		if (is_in_group(&inventory->hosts[i], group)) {
			marks[i] = value;
			found = true;
		}
	}
	return found ? ASSAY_OK : fail_group(inventory, group, err);
}

/* A malformed -w is wrong usage, not a malformed file. */
static enum assay_status wrong_usage(struct assay_error *err)
{
	if (err)
		err->status = ASSAY_E_USAGE;
	return ASSAY_E_USAGE;
}

/* Sets the marks of the hosts that the text names. `sorted` has all hosts by name. */
static enum assay_status mark(const struct inventory *inventory, const struct host *const *sorted, const char *text, bool *marks,
			      bool value, struct assay_error *err)
{
	struct nodeset set;
	enum assay_status st = nodeset_expand(text, &set, err);

	if (st)
		return wrong_usage(err);
	for (size_t i = 0; !st && i < set.n; i++) {
		const struct host *const *host;

		if (set.names[i][0] == '@') {
			st = mark_group(inventory, set.names[i] + 1, marks, value, err);
			continue;
		}
		host = bsearch(set.names[i], sorted, inventory->n, sizeof(*sorted), compare_key);
		if (host)
			marks[*host - inventory->hosts] = value;
		else
			st = fail_host(inventory, set.names[i], err);
	}
	nodeset_release(&set);
	return st;
}

enum assay_status inventory_select(const struct inventory *inventory, const char *which, const char *excluded, bool *selected,
				   struct assay_error *err)
{
	const struct host **sorted = mem_new(inventory->n, sizeof(*sorted));
	enum assay_status st = ASSAY_OK;

	for (size_t i = 0; i < inventory->n; i++) {
		sorted[i] = &inventory->hosts[i];
		selected[i] = !which;
	}
	qsort(sorted, inventory->n, sizeof(*sorted), compare_hosts);
	if (which)
		st = mark(inventory, sorted, which, selected, true, err);
	if (!st && excluded)
		st = mark(inventory, sorted, excluded, selected, false, err);
	free(sorted);
	return st;
}
