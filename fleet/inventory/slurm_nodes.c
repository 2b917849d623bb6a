#include "fleet/inventory/slurm_nodes.h"

#include "base/mem.h"
#include "base/order.h"
#include "base/text.h"
#include "fleet/inventory/inventory.h"

#define FIELDS	     4
#define FEATURES_MAX 32
#define NAME_BYTES   64

static bool is_plain(const char *text)
{
	static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.";

	return *text && *text != '-' && *text != '.' && strlen(text) <= NAME_BYTES && text[strspn(text, letters)] == '\0';
}

static char *printable(const char *text)
{
	return mem_string(TEXT_SHOWN(text));
}

/* "rome,nvme": (null) is none; what could not be a group, or has YAML's meaning, is left out. */
static void take_features(struct slurm_node *node, char *text)
{
	node->features = mem_new(FEATURES_MAX, sizeof(char *));
	while (text && node->n_features < FEATURES_MAX) {
		char *feature = strsep(&text, ",");

		if (is_plain(feature) && strcmp(feature, "all") != 0)
			node->features[node->n_features++] = mem_string(feature);
	}
}

static void node_release(struct slurm_node *node)
{
	mem_free_all(node->features, node->n_features);
	mem_free(node->name, node->state, node->reason);
}

void slurm_nodes_release(struct slurm_nodes *nodes)
{
	mem_release_all(nodes->nodes, nodes->n, node_release);
	free(nodes->why);
	*nodes = (struct slurm_nodes){ 0 };
}

static enum assay_status take_line(char *line, size_t number, struct slurm_node *out, struct assay_error *err)
{
	char *fields[FIELDS];
	size_t n = 0;

	for (char *rest = line; n < FIELDS - 1 && rest; n++) /* the last one may have bars of its own */
		fields[n] = strsep(&rest, "|"), fields[n + 1] = rest;
	if (n < FIELDS - 1 || !fields[FIELDS - 1])
		return assay_fail(err, ASSAY_E_FORMAT, "sinfo's line %zu has not the fields NODE|FEATURES|STATE|REASON", number);
	if (!is_plain(fields[0]))
		return assay_fail(err, ASSAY_E_FORMAT, "sinfo's line %zu: '%s' cannot be the name of a host", number,
				  TEXT_SHOWN(fields[0]));
	*out = (struct slurm_node){ .name = mem_string(fields[0]), .state = printable(fields[2]), .reason = printable(fields[3]) };
	take_features(out, fields[1]);
	return ASSAY_OK;
}

/* By name; and each once, the first of the list. */
struct place {
	const char *name;
	size_t at;
};

ORDER_BY(compare_places, struct place, BY_TEXT(name) BY_UP(at))

static void keep_each_once(struct slurm_nodes *nodes)
{
	struct place *places = mem_new(nodes->n, sizeof(*places));
	bool *again = mem_new(nodes->n, sizeof(*again));
	size_t kept = 0;

	for (size_t i = 0; i < nodes->n; i++)
		places[i] = (struct place){ nodes->nodes[i].name, i };
	qsort(places, nodes->n, sizeof(*places), compare_places);
	for (size_t i = 1; i < nodes->n; i++)
		again[places[i].at] = strcmp(places[i].name, places[i - 1].name) == 0;
	for (size_t i = 0; i < nodes->n; i++) {
		if (again[i])
			node_release(&nodes->nodes[i]);
		else
			nodes->nodes[kept++] = nodes->nodes[i];
	}
	nodes->n = kept;
	mem_free(again, places);
}

enum assay_status slurm_nodes_parse(char *text, struct slurm_nodes *out, struct assay_error *err)
{
	enum assay_status st = ASSAY_OK;
	size_t capacity = 0, number = 0;
	struct assay_error bad;

	*out = (struct slurm_nodes){ 0 };
	while (!st && text && *text) {
		char *line = strsep(&text, "\n");

		number++;
		if (!*line)
			continue;
		if (out->n == 4 * (size_t)INVENTORY_HOSTS_MAX) {
			st = assay_fail(err, ASSAY_E_LIMIT, "sinfo lists more than %d nodes", 4 * INVENTORY_HOSTS_MAX);
			break;
		}
		out->nodes = mem_grow(out->nodes, out->n, &capacity, sizeof(*out->nodes));
		if (take_line(line, number, &out->nodes[out->n], &bad)) {
			out->why = out->why ? out->why : mem_string(bad.text);
			out->excluded++;
		} else {
			out->n++;
		}
	}
	if (!st && !out->n && out->why)
		st = assay_fail(err, ASSAY_E_FORMAT, "%s", out->why);
	if (!st)
		keep_each_once(out);
	else
		slurm_nodes_release(out);
	return st;
}
