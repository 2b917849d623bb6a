#include "fleet/inventory/inventory.h"

#include "base/mem.h"
#include "fleet/inventory/inventory_entry.h"

static int compare_names(const void *a, const void *b)
{
	const struct host *x = *(const struct host *const *)a, *y = *(const struct host *const *)b;
	int order = strcmp(x->name, y->name);

	return order ? order : (x > y) - (x < y);
}

static int compare_ids(const void *a, const void *b)
{
	const struct host *x = *(const struct host *const *)a, *y = *(const struct host *const *)b;
	int order = strcmp(x->id, y->id);

	return order ? order : (x > y) - (x < y);
}

/* Name or id: the first host in the file that repeats an earlier one's. */
static enum assay_status check_unique(const char *file, const struct inventory *inventory, bool ids, struct assay_error *err)
{
	const struct host **sorted = mem_new(inventory->n, sizeof(*sorted)), *again = NULL, *before = NULL;
	enum assay_status st = ASSAY_OK;

	for (size_t i = 0; i < inventory->n; i++)
		sorted[i] = &inventory->hosts[i];
	qsort(sorted, inventory->n, sizeof(*sorted), ids ? compare_ids : compare_names);
	for (size_t i = 1; i < inventory->n; i++) {
		const struct host *x = sorted[i - 1], *y = sorted[i];

		if (strcmp(ids ? x->id : x->name, ids ? y->id : y->name) == 0 && (!again || y < again)) {
			again = y;
			before = x;
		}
	}
	if (again)
		st = assay_fail(err, ASSAY_E_FORMAT, "%s:%zu: %s '%s' stands twice (first in line %zu)", file, again->line,
				ids ? "host id" : "host", ids ? again->id : again->name, before->line);
	free(sorted);
	return st;
}

/* Hosts without ssh are all this machine: nothing else keeps them from measuring at the same time. */
static enum assay_status check_local(const char *file, const struct inventory *inventory, struct assay_error *err)
{
	const struct host *first = NULL;

	for (size_t i = 0; i < inventory->n; i++) {
		const struct host *host = &inventory->hosts[i];

		if (!host->local)
			continue;
		if (first && strcmp(first->box, host->box) != 0)
			return assay_fail(err, ASSAY_E_FORMAT, "%s:%zu: '%s' and '%s' are both this machine ('transport: local'): "
					  "give them the same box with 'on'", file, host->line, first->name, host->name);
		first = host;
	}
	return ASSAY_OK;
}

enum assay_status inventory_parse(const char *file, const struct yaml_node *hosts, struct inventory *out, struct assay_error *err)
{
	struct inventory inventory = { 0 };
	size_t capacity = 0;
	enum assay_status st = ASSAY_OK;

	if (hosts->kind != YAML_LIST)
		st = assay_fail(err, ASSAY_E_FORMAT, "%s:%zu: 'hosts' must be a list, each item of which begins with '- name: '", file, hosts->line);
	if (!st && hosts->n_items > INVENTORY_HOSTS_MAX)
		st = assay_fail(err, ASSAY_E_LIMIT, "%s:%zu: more than %d hosts", file, hosts->line, INVENTORY_HOSTS_MAX);
	for (size_t i = 0; !st && i < hosts->n_items; i++)
		st = inventory_add_entry(file, &hosts->items[i], &inventory, &capacity, err);
	if (!st)
		st = check_unique(file, &inventory, false, err);
	if (!st)
		st = check_unique(file, &inventory, true, err);
	if (!st)
		st = check_local(file, &inventory, err);
	*out = inventory;
	if (st)
		inventory_release(out);
	return st;
}

void inventory_release(struct inventory *inventory)
{
	for (size_t i = 0; i < inventory->n; i++)
		host_release(&inventory->hosts[i]);
	free(inventory->hosts);
	*inventory = (struct inventory){ 0 };
}

const struct host *inventory_find(const struct inventory *inventory, const char *id)
{
	for (size_t i = 0; i < inventory->n; i++) {
		if (strcmp(inventory->hosts[i].id, id) == 0)
			return &inventory->hosts[i];
	}
	return NULL;
}
