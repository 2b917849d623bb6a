#include "fleet/engine/host_choice.h"

#include "base/command.h"
#include "base/mem.h"
#include "base/order.h"
#include "base/text.h"
#include "fleet/engine/local_command.h"
#include "fleet/engine/session.h"
#include "fleet/inventory/nodeset.h"

#define SINFO_MS	   (60 * 1000)
#define SLURM_NODES_FORMAT "%N|%f|%T|%E" /* fields that `sinfo -h -N -o` prints: node, features, state, reason */
#define FIELDS		   4
#define FEATURES_MAX	   32
#define NAME_BYTES	   64

static void append_list(char **list, const char *more)
{
	char *both = *list ? mem_format("%s,%s", *list, more) : mem_string(more);

	free(*list);
	*list = both;
}

enum assay_status host_choice_parse(const char *text, void *to, struct assay_error *err)
{
	if (!text[strspn(text, " ,")])
		return assay_fail(err, ASSAY_E_USAGE, "must name hosts, not '%s'", text);
	append_list(to, text);
	return ASSAY_OK;
}

/* ---- nodes of a cluster, as sinfo lists them ---- */

static bool is_plain(const char *text)
{
	static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.";

	return *text && *text != '-' && *text != '.' && strlen(text) <= NAME_BYTES && text[strspn(text, letters)] == '\0';
}

static char *printable(const char *text)
{
	return mem_string(TEXT_SANITIZED(text));
}

/* Splits features such as "rome,nvme". Skips "all", "(null)" and other features that cannot be names of groups. */
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
	free(nodes->error_text);
	*nodes = (struct slurm_nodes){ 0 };
}

static enum assay_status take_line(char *line, size_t number, struct slurm_node *out, struct assay_error *err)
{
	char *fields[FIELDS];
	size_t n = 0;

	for (char *rest = line; n < FIELDS - 1 && rest; n++) /* the last field may contain '|' */
		fields[n] = strsep(&rest, "|"), fields[n + 1] = rest;
	if (n < FIELDS - 1 || !fields[FIELDS - 1])
		return assay_fail(err, ASSAY_E_FORMAT, "sinfo's line %zu has not the fields NODE|FEATURES|STATE|REASON", number);
	if (!is_plain(fields[0]))
		return assay_fail(err, ASSAY_E_FORMAT, "sinfo's line %zu: '%s' cannot be the name of a host", number,
				  TEXT_SANITIZED(fields[0]));
	*out = (struct slurm_node){ .name = mem_string(fields[0]), .state = printable(fields[2]), .reason = printable(fields[3]) };
	take_features(out, fields[1]);
	return ASSAY_OK;
}

/* One node in the list. To keep one entry per node, the list is sorted by name, and repeated names except the first are dropped. */
struct place {
	const char *name;
	size_t at;
};

ORDER_BY(compare_places, struct place, BY_TEXT(name) BY_ASC(at))

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

/* Parses sinfo's output. Skips lines without four fields or without a valid host name. Fails if no line remains or there are too many.
 * Overwrites *out; call slurm_nodes_release(). Changes `text`. */
static enum assay_status slurm_nodes_parse(char *text, struct slurm_nodes *out, struct assay_error *err)
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
			out->error_text = out->error_text ? out->error_text : mem_string(bad.text);
			out->excluded++;
		} else {
			out->n++;
		}
	}
	if (!st && !out->n && out->error_text)
		st = assay_fail(err, ASSAY_E_FORMAT, "%s", out->error_text);
	if (!st)
		keep_each_once(out);
	else
		slurm_nodes_release(out);
	return st;
}

enum assay_status host_choice_list_slurm_nodes(const char *partition, const char *login, struct slurm_nodes *out, struct assay_error *err)
{
	const char *words[9] = { "sinfo", "-h", "-N", "-o", SLURM_NODES_FORMAT, partition ? "-p" : NULL, partition };
	char *line = text_shell_line(words),
	     *known = mem_format("UserKnownHostsFile=\"%s/known_hosts\" ~/.ssh/known_hosts", cli_directory());
	const char *by_ssh[18] = { "ssh", "-a", "-x", "-T", "-o", "BatchMode=yes", "-o", "StrictHostKeyChecking=yes", "-o", known };
	const struct local_command here = { .words = words, .n = partition ? 7 : 5, .timeout_ms = SINFO_MS };
	struct local_command there = { .words = by_ssh, .n = 10, .timeout_ms = SINFO_MS };
	struct jump_hop hop = { .port = 0 };
	char port[16];
	struct local_report said;
	char shown[LOCAL_LINE_BYTES];
	enum assay_status st;

	if (login)
		jump_hop_parse(login, strlen(login), &hop);
	snprintf(port, sizeof(port), "%d", hop.port);
	if (hop.port) {
		by_ssh[there.n++] = "-p";
		by_ssh[there.n++] = port;
	}
	if (hop.user) {
		by_ssh[there.n++] = "-l";
		by_ssh[there.n++] = hop.user;
	}
	by_ssh[there.n++] = "--";
	by_ssh[there.n++] = hop.host;
	by_ssh[there.n++] = line;
	st = local_command_run(login ? &there : &here, &said, err);
	jump_hop_release(&hop);
	mem_free(line, known);
	if (st)
		return st;
	if (!said.ok)
		st = assay_fail(err, ASSAY_E_IO, "sinfo: %s: %s", said.fault, local_report_line(&said, LOCAL_LAST_LINE, shown));
	if (!st)
		st = slurm_nodes_parse(said.out, out, err);
	if (!st && out->n == 0)
		st = assay_fail(err, ASSAY_E_NODATA, "sinfo lists no node%s%s", partition ? " of partition " : "",
				partition ? partition : "");
	local_report_release(&said);
	return st;
}

/* ---- ranks of hosts for "any N of" ---- */

#define RANK_LAST    2 /* neither idle nor busy, or not listed by sinfo */
#define RANK_UNKNOWN 3 /* sinfo failed */

/* Ranks idle nodes first, then nodes that run jobs, by sinfo's short and long words. Other states rank last: off, planned, out of service
 * or unknown. A mark after the word also means such a state ("idle~" is powered off), except '+': jobs are ending. */
static int node_rank(const struct slurm_node *node)
{
	static const char *const states[][4] = { { "idle" }, { "mix", "mixed", "alloc", "allocated" } };
	const size_t n = strcspn(node->state, "+");

	for (int rank = 0; rank < 2; rank++)
		for (size_t i = 0; i < 4 && states[rank][i] && strlen(node->state) <= n + 1; i++)
			if (strlen(states[rank][i]) == n && strncmp(node->state, states[rank][i], n) == 0)
				return rank;
	return RANK_LAST;
}

static bool is_reached_through(const struct host *host, const char *login)
{
	const char *own = host->launcher.login;

	return host->launcher.slurm && (login ? own && strcmp(own, login) == 0 : !own);
}

static void rank_nodes(const struct inventory *inventory, const char *login, int *rank, struct assay_error *err)
{
	struct slurm_nodes nodes = { 0 };
	enum assay_status st = host_choice_list_slurm_nodes(NULL, login, &nodes, err);

	for (size_t i = 0; i < inventory->n; i++) {
		if (!is_reached_through(&inventory->hosts[i], login))
			continue;
		rank[i] = st ? RANK_UNKNOWN : RANK_LAST;
		for (size_t k = 0; k < nodes.n; k++) {
			if (strcmp(inventory->hosts[i].address, nodes.nodes[k].name) == 0)
				rank[i] = node_rank(&nodes.nodes[k]);
		}
	}
	slurm_nodes_release(&nodes);
}

/* Ranks all hosts. Runs sinfo once per cluster. If a host gets RANK_UNKNOWN, *err has the reason. */
static void rank_hosts(const struct inventory *inventory, int *rank, struct assay_error *err)
{
	for (size_t i = 0; i < inventory->n; i++)
		rank[i] = 0;
	for (size_t i = 0; i < inventory->n; i++) {
		const struct host *host = &inventory->hosts[i];
		bool asked = !host->launcher.slurm;

		for (size_t k = 0; k < i && !asked; k++)
			asked = is_reached_through(&inventory->hosts[k], host->launcher.login);
		if (!asked)
			rank_nodes(inventory, host->launcher.login, rank, err);
	}
}

static void add_excluded(const char *hosts, const char *why, void *text)
{
	buf_format(text, "%s%s (%s)", ((struct buf *)text)->size ? ", " : "not measured: ", hosts, why);
}

void host_choice_add_aside(const struct inventory *inventory, const bool *selected, struct buf *text)
{
	const char **names = mem_new(inventory->n, sizeof(*names));
	char **why = mem_new(inventory->n, sizeof(*why)); /* borrowed texts */

	for (size_t i = 0; i < inventory->n; i++) {
		names[i] = inventory->hosts[i].name;
		why[i] = selected[i] ? inventory->hosts[i].exclusion_reason : NULL;
	}
	nodeset_fold_alike(names, why, inventory->n, add_excluded, text);
	mem_free(names, why);
}

enum assay_status host_choice_hosts(const struct inventory *inventory, const struct host_choice *choice, const struct host ***out,
				    size_t *n, struct buf *exclusion_reason, struct assay_error *err)
{
	bool *selected = mem_new(inventory->n, sizeof(*selected));
	const struct host **hosts = mem_new(inventory->n, sizeof(*hosts));
	int *rank = mem_new(inventory->n, sizeof(*rank));
	enum assay_status st = ASSAY_OK;
	struct assay_error unknown;
	size_t found = 0;

	if (inventory->n == 0)
		st = assay_fail(err, ASSAY_E_USAGE,
				"lab.yaml has no hosts yet: uncomment its example, the lines from '# hosts:' on, and adapt it");
	if (!st && inventory_has_any(choice->hosts))
		rank_hosts(inventory, rank, &unknown);
	if (!st)
		st = inventory_select(inventory, choice->hosts, choice->exclude, rank, selected, err);
	if (!st && exclusion_reason) {
		host_choice_add_aside(inventory, selected, exclusion_reason);
		for (size_t i = 0; i < inventory->n; i++)
			rank[i] = inventory->hosts[i].exclusion_reason ? -1 : rank[i];
		st = inventory_select(inventory, choice->hosts, choice->exclude, rank, selected, err);
	}
	for (size_t i = 0; !st && i < inventory->n; i++) {
		if (selected[i] && rank[i] == RANK_UNKNOWN)
			st = assay_fail(err, ASSAY_E_IO, "the states of Slurm's nodes are not known, so 'any' cannot choose a node: %s",
					unknown.text);
		else if (selected[i])
			hosts[found++] = &inventory->hosts[i];
	}
	if (!st && found == 0)
		st = assay_fail(err, ASSAY_E_USAGE, "no host is left by %s'%s'", choice->exclude ? "-x " : "",
				choice->exclude ? choice->exclude
				: choice->hosts ? choice->hosts
						: "lab.yaml");
	if (st && exclusion_reason && exclusion_reason->size) {
		char *text = mem_string(err->text);

		assay_fail(err, st, "%s; %s", text, exclusion_reason->bytes);
		free(text);
	}
	mem_free(selected, rank);
	if (st)
		free(hosts);
	*out = st ? NULL : hosts;
	*n = found;
	return st;
}

char *host_choice_fold(const struct host *const *hosts, size_t n)
{
	const char **names = mem_new(n, sizeof(*names));
	char *text;

	for (size_t i = 0; i < n; i++)
		names[i] = hosts[i]->name;
	text = nodeset_fold(names, n);
	free(names);
	return text;
}
