#include "fleet/cmd_fleet.h"

#include "base/mem.h"
#include "fleet/inventory/nodeset.h"

static void append(char **list, const char *more)
{
	char *both = *list ? mem_format("%s,%s", *list, more) : mem_string(more);

	free(*list);
	*list = both;
}

enum assay_status cmd_fleet_parse_hosts(const char *text, void *to, struct assay_error *err)
{
	if (!text[strspn(text, " ,")])
		return assay_fail(err, ASSAY_E_USAGE, "must name hosts, not '%s'", text);
	append(to, text);
	return ASSAY_OK;
}

enum assay_status cmd_fleet_hosts(const struct inventory *inventory, const struct cmd_fleet_choice *choice, const struct host ***out,
				  size_t *n, struct assay_error *err)
{
	bool *selected = mem_new(inventory->n, sizeof(*selected));
	const struct host **hosts = mem_new(inventory->n, sizeof(*hosts));
	enum assay_status st = ASSAY_OK;
	size_t found = 0;

	if (inventory->n == 0)
		st = assay_fail(err, ASSAY_E_USAGE,
				"lab.yaml has no hosts yet: write them into it, as in its example: the lines "
				"from '# hosts:' on count without their '# '");
	if (!st)
		st = inventory_select(inventory, choice->hosts, choice->exclude, selected, err);
	for (size_t i = 0; !st && i < inventory->n; i++) {
		if (selected[i])
			hosts[found++] = &inventory->hosts[i];
	}
	if (!st && found == 0)
		st = assay_fail(err, ASSAY_E_USAGE, "-x '%s' leaves no host", choice->exclude);
	free(selected);
	if (st)
		free(hosts);
	*out = st ? NULL : hosts;
	*n = found;
	return st;
}

char *cmd_fleet_fold(const struct host *const *hosts, size_t n)
{
	const char **names = mem_new(n, sizeof(*names));
	char *text;

	for (size_t i = 0; i < n; i++)
		names[i] = hosts[i]->name;
	text = nodeset_fold(names, n);
	free(names);
	return text;
}
