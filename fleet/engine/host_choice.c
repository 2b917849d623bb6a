#include "fleet/engine/host_choice.h"

#include "base/command.h"
#include "base/mem.h"
#include "base/text.h"
#include "fleet/engine/local_command.h"
#include "fleet/engine/session.h"
#include "fleet/inventory/nodeset.h"

#define SINFO_MS (60 * 1000)

static void append(char **list, const char *more)
{
	char *both = *list ? mem_format("%s,%s", *list, more) : mem_string(more);

	free(*list);
	*list = both;
}

enum assay_status host_choice_parse(const char *text, void *to, struct assay_error *err)
{
	if (!text[strspn(text, " ,")])
		return assay_fail(err, ASSAY_E_USAGE, "must name hosts, not '%s'", text);
	append(to, text);
	return ASSAY_OK;
}

enum assay_status host_choice_sinfo(const char *partition, const char *login, struct slurm_nodes *out, struct assay_error *err)
{
	const char *words[9] = { "sinfo", "-h", "-N", "-o", SLURM_NODES_FORMAT, partition ? "-p" : NULL, partition };
	char *line = text_shell_line(words),
	     *known = mem_format("UserKnownHostsFile=\"%s/known_hosts\" ~/.ssh/known_hosts", cli_directory());
	const char *by_ssh[18] = { "ssh", "-a", "-x", "-T", "-o", "BatchMode=yes", "-o", "StrictHostKeyChecking=yes", "-o", known };
	const struct local_command here = { .words = words, .n = partition ? 7 : 5, .timeout_ms = SINFO_MS };
	struct local_command there = { .words = by_ssh, .n = 10, .timeout_ms = SINFO_MS };
	struct jump_hop hop = { .port = 0 };
	char port[16];
	struct local_said said;
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
		st = assay_fail(err, ASSAY_E_IO, "sinfo: %s: %s", said.fault, local_said_line(&said, LOCAL_LAST_LINE, shown));
	if (!st)
		st = slurm_nodes_parse(said.out, out, err);
	if (!st && out->n == 0)
		st = assay_fail(err, ASSAY_E_NODATA, "sinfo lists no node%s%s", partition ? " of partition " : "",
				partition ? partition : "");
	local_said_release(&said);
	return st;
}

/* ---- which of several that would do ---- */

#define RANK_LAST    2 /* neither idle nor busy, or not listed */
#define RANK_UNKNOWN 3 /* sinfo failed */

/* Idle nodes first, then those that run jobs, in sinfo's short and long words. Whatever else Slurm says comes last: a node that is off,
 * planned, blocked, not in service, or in a state that sinfo(1) does not have yet. A mark behind the word is such a state, too ("idle~" is
 * powered off), but '+': jobs of it are ending. */
static int rank_of(const struct slurm_node *node)
{
	static const char *const states[][4] = { { "idle" }, { "mix", "mixed", "alloc", "allocated" } };
	const size_t n = strcspn(node->state, "+");

	for (int rank = 0; rank < 2; rank++)
		for (size_t i = 0; i < 4 && states[rank][i] && strlen(node->state) <= n + 1; i++)
			if (strlen(states[rank][i]) == n && strncmp(node->state, states[rank][i], n) == 0)
				return rank;
	return RANK_LAST;
}

static bool is_behind(const struct host *host, const char *login)
{
	const char *own = host->launcher.login;

	return host->launcher.slurm && (login ? own && strcmp(own, login) == 0 : !own);
}

static void rank_nodes(const struct inventory *inventory, const char *login, int *rank, struct assay_error *err)
{
	struct slurm_nodes nodes = { 0 };
	enum assay_status st = host_choice_sinfo(NULL, login, &nodes, err);

	for (size_t i = 0; i < inventory->n; i++) {
		if (!is_behind(&inventory->hosts[i], login))
			continue;
		rank[i] = st ? RANK_UNKNOWN : RANK_LAST;
		for (size_t k = 0; k < nodes.n; k++) {
			if (strcmp(inventory->hosts[i].address, nodes.nodes[k].name) == 0)
				rank[i] = rank_of(&nodes.nodes[k]);
		}
	}
	slurm_nodes_release(&nodes);
}

/* Each cluster is asked once. *err: why a rank is RANK_UNKNOWN. */
static void rank_hosts(const struct inventory *inventory, int *rank, struct assay_error *err)
{
	for (size_t i = 0; i < inventory->n; i++)
		rank[i] = 0;
	for (size_t i = 0; i < inventory->n; i++) {
		const struct host *host = &inventory->hosts[i];
		bool asked = !host->launcher.slurm;

		for (size_t k = 0; k < i && !asked; k++)
			asked = is_behind(&inventory->hosts[k], host->launcher.login);
		if (!asked)
			rank_nodes(inventory, host->launcher.login, rank, err);
	}
}

static void add_aside(const char *hosts, const char *why, void *text)
{
	buf_format(text, "%s%s (%s)", ((struct buf *)text)->size ? ", " : "not measured: ", hosts, why);
}

void host_choice_add_aside(const struct inventory *inventory, const bool *selected, struct buf *text)
{
	const char **names = mem_new(inventory->n, sizeof(*names));
	char **why = mem_new(inventory->n, sizeof(*why)); /* borrowed */

	for (size_t i = 0; i < inventory->n; i++) {
		names[i] = inventory->hosts[i].name;
		why[i] = selected[i] ? inventory->hosts[i].aside : NULL;
	}
	nodeset_fold_alike(names, why, inventory->n, add_aside, text);
	mem_free(names, why);
}

enum assay_status host_choice_hosts(const struct inventory *inventory, const struct host_choice *choice, const struct host ***out,
				    size_t *n, struct buf *aside, struct assay_error *err)
{
	bool *selected = mem_new(inventory->n, sizeof(*selected));
	const struct host **hosts = mem_new(inventory->n, sizeof(*hosts));
	int *rank = mem_new(inventory->n, sizeof(*rank));
	enum assay_status st = ASSAY_OK;
	struct assay_error unknown;
	size_t found = 0;

	if (inventory->n == 0)
		st = assay_fail(err, ASSAY_E_USAGE,
				"lab.yaml has no hosts yet: write them into it, as in its example: the lines "
				"from '# hosts:' on count without their '# '");
	if (!st && inventory_has_any(choice->hosts))
		rank_hosts(inventory, rank, &unknown);
	if (!st)
		st = inventory_select(inventory, choice->hosts, choice->exclude, rank, selected, err);
	if (!st && aside) {
		host_choice_add_aside(inventory, selected, aside);
		for (size_t i = 0; i < inventory->n; i++)
			rank[i] = inventory->hosts[i].aside ? -1 : rank[i];
		st = inventory_select(inventory, choice->hosts, choice->exclude, rank, selected, err);
	}
	for (size_t i = 0; !st && i < inventory->n; i++) {
		if (selected[i] && rank[i] == RANK_UNKNOWN)
			st = assay_fail(err, ASSAY_E_IO, "the states of Slurm's nodes are not known, so none is chosen by 'any': %s",
					unknown.text);
		else if (selected[i])
			hosts[found++] = &inventory->hosts[i];
	}
	if (!st && found == 0)
		st = assay_fail(err, ASSAY_E_USAGE, "%s'%s' leaves no host", choice->exclude ? "-x " : "",
				choice->exclude ? choice->exclude
				: choice->hosts ? choice->hosts
						: "lab.yaml");
	if (st && aside && aside->size) {
		char *text = mem_string(err->text);

		assay_fail(err, st, "%s; %s", text, aside->bytes);
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
