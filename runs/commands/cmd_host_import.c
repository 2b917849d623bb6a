/* The command 'assay host import': imports recorded machines, or the nodes of a Slurm cluster. */
#include "base/file.h"
#include "base/mem.h"
#include "base/text.h"
#include "fleet/commands/cmd_fleet.h"
#include "fleet/inventory/nodeset.h"
#include "fleet/lab/lab.h"
#include "runs/commands/runs_commands.h"

struct arguments {
	const char *from;
	const char *partition, *login, *types;
	bool dry_run;
};

/* ---- entries of lab.yaml ---- */

static const struct host *find_host_of_node(const struct inventory *inventory, const char *node)
{
	for (size_t i = 0; i < inventory->n; i++) {
		const struct host *host = &inventory->hosts[i];

		if (strcmp(host->name, node) == 0 || (host->launcher.slurm && strcmp(host->address, node) == 0))
			return host;
	}
	return NULL;
}

/* Returns the first hardware type in --types that is a feature of the node; NULL if there is none. */
static const char *node_type(const struct arguments *arguments, const struct slurm_node *node)
{
	for (const char *type = arguments->types; type && *type; type += strcspn(type, ",") + (type[strcspn(type, ",")] == ',')) {
		for (size_t i = 0; i < node->n_features; i++) {
			if (strlen(node->features[i]) == strcspn(type, ",") &&
			    strncmp(node->features[i], type, strlen(node->features[i])) == 0)
				return node->features[i];
		}
	}
	return NULL;
}

/* Returns a node's entry without its name, so that equal entries can be merged. Quotes features, which may look like numbers. The caller
 * frees it. */
static char *format_entry(const struct arguments *arguments, const struct slurm_node *node)
{
	const char *type = node_type(arguments, node);
	struct buf text = BUF_INIT;

	buf_text(&text, "    transport: slurm\n");
	if (arguments->login)
		buf_format(&text, "    login: '%s'\n", arguments->login);
	if (arguments->partition)
		buf_format(&text, "    options: [-p, '%s']\n", arguments->partition);
	if (type)
		buf_format(&text, "    type: '%s'\n", type);
	for (size_t i = 0; i < node->n_features; i++)
		buf_format(&text, "%s'%s'", i ? ", " : "    groups: [", node->features[i]);
	if (node->n_features)
		buf_text(&text, "]\n");
	return buf_take(&text);
}

static void add_entry(const char *folded, const char *entry, void *to)
{
	buf_format(to, "  - name: '%s'\n%s", folded, entry);
}

/* Appends the new hosts as YAML. Returns their number. */
static size_t make_entries(const struct arguments *arguments, const struct inventory *inventory, const struct slurm_nodes *nodes,
			   struct buf *out)
{
	const char **names = mem_new(nodes->n, sizeof(*names));
	char **entries = mem_new(nodes->n, sizeof(*entries));
	size_t n = 0;

	for (size_t i = 0; i < nodes->n; i++) {
		if (find_host_of_node(inventory, nodes->nodes[i].name))
			continue;
		names[n] = nodes->nodes[i].name;
		entries[n++] = format_entry(arguments, &nodes->nodes[i]);
	}
	nodeset_fold_alike(names, entries, n, add_entry, out);
	mem_free_all(entries, n);
	free(names);
	return n;
}

static enum assay_status fail_cannot_add(const char *path, const char *reason, struct assay_error *err)
{
	char *why = mem_string(reason); /* a copy, because `reason` may be the text of *err */
	enum assay_status st = assay_fail(err, ASSAY_E_FORMAT,
					  "cannot append the new hosts to %s: 'hosts' must be the last key, with one host per line as in "
					  "'assay init'%s%s; --dry-run shows them",
					  path, *why ? ": " : "", why);

	free(why);
	return st;
}

/* Appends the entries to lab.yaml. Checks the new text before it replaces the file. */
static enum assay_status write_entries(const struct inventory *inventory, const struct buf *entries, size_t n, struct assay_error *err)
{
	char *path = mem_format("%s/lab.yaml", cli_directory());
	struct buf text = BUF_INIT;
	size_t hosts;
	enum assay_status st = file_read(path, YAML_BYTES_MAX, &text, err);

	if (!st && text.size && text.bytes[text.size - 1] != '\n')
		buf_char(&text, '\n');
	if (!st && !inventory->n)
		buf_text(&text, "\nhosts:\n");
	if (!st) {
		buf_text(&text, entries->bytes);
		st = lab_config_check(path, text.bytes, text.size, &hosts, err);
		if (st || hosts != inventory->n + n)
			st = fail_cannot_add(path, st ? err->text : "", err);
	}
	if (!st)
		st = file_replace(path, text.bytes, text.size, 0644, err);
	buf_release(&text);
	free(path);
	return st;
}

/* ---- command ---- */

static void add_nodes(const struct arguments *arguments, const struct inventory *inventory, const struct slurm_nodes *nodes,
		      struct document *d)
{
	doc_table(d, "nodes");
	for (size_t i = 0; i < nodes->n; i++) {
		const struct slurm_node *node = &nodes->nodes[i];
		bool reason = strcmp(node->reason, "none") != 0;
		struct buf features = BUF_INIT;

		doc_row(d);
		doc_show(d, "node", "node", node->name);
		doc_show(d, "state", "state", node->state);
		doc_showf(d, "reason", "reason", reason ? node->reason : NULL, "%s", reason ? node->reason : "-");
		doc_list(d, "features");
		doc_hide(d);
		for (size_t k = 0; k < node->n_features; k++) {
			doc_set(d, NULL, node->features[k]);
			buf_format(&features, "%s%s", k ? "," : "", node->features[k]);
		}
		doc_end(d);
		doc_show(d, NULL, "features", features.size ? features.bytes : "-");
		doc_show(d, "type", "type", node_type(arguments, node));
		doc_showf(d, "new", "lab.yaml", doc_value_bool(!find_host_of_node(inventory, node->name)), "%s",
			  find_host_of_node(inventory, node->name) ? "there already" : "new");
		buf_release(&features);
	}
	doc_end(d);
}

/* Lists hosts of lab.yaml that are no longer nodes of the cluster. */
static void add_removed_nodes(const struct inventory *inventory, const struct slurm_nodes *nodes, struct document *d)
{
	struct buf names = BUF_INIT;

	doc_list(d, "gone");
	doc_hide(d);
	for (size_t i = 0; i < inventory->n; i++) {
		bool found = !inventory->hosts[i].launcher.slurm;

		for (size_t k = 0; k < nodes->n && !found; k++)
			found = strcmp(inventory->hosts[i].address, nodes->nodes[k].name) == 0;
		if (found)
			continue;
		doc_set(d, NULL, inventory->hosts[i].name);
		buf_format(&names, "%s%s", names.size ? ", " : "", inventory->hosts[i].name);
	}
	doc_end(d);
	if (names.size)
		doc_line(d, "\nIn lab.yaml, but not among the listed nodes: %s", names.bytes);
	buf_release(&names);
}

static bool is_slurm(const struct arguments *arguments)
{
	return strcmp(arguments->from, "slurm") == 0;
}

static enum assay_status host_import_check(void *input, struct assay_error *err)
{
	const struct arguments *arguments = input;
	const char *texts[] = { arguments->login, arguments->partition };

	if (!is_slurm(arguments) && (arguments->partition || arguments->login || arguments->types || arguments->dry_run))
		return assay_fail(err, ASSAY_E_USAGE, "--partition, --login, --types and --dry-run are for 'host import slurm'");
	for (size_t i = 0; i < 2; i++) {
		if (texts[i] && (*texts[i] == '-' || !*texts[i] || strpbrk(texts[i], " '\"\n")))
			return assay_fail(err, ASSAY_E_USAGE, "'%s' cannot be a login node or a partition", texts[i]);
	}
	return ASSAY_OK;
}

static enum assay_status import_nodes(struct lab *lab, const struct arguments *arguments, struct document *d, struct assay_error *err)
{
	const struct inventory *inventory = &lab->config.inventory;
	struct slurm_nodes nodes = { 0 };
	struct buf entries = BUF_INIT;
	enum assay_status st = host_choice_list_slurm_nodes(arguments->partition, arguments->login, &nodes, err);
	size_t n = 0;

	if (!st)
		n = make_entries(arguments, inventory, &nodes, &entries);
	if (!st && n && !arguments->dry_run)
		st = write_entries(inventory, &entries, n, err);
	if (!st) {
		doc_line(d, "%zu of %zu node%s %s to lab.yaml\n", n, nodes.n, text_plural(nodes.n),
			 arguments->dry_run ? "would be added" : "added");
		add_nodes(arguments, inventory, &nodes, d);
		add_removed_nodes(inventory, &nodes, d);
		if (nodes.excluded)
			doc_line(d, "%zu line%s of sinfo excluded: %s\n", nodes.excluded, text_plural(nodes.excluded), nodes.error_text);
		doc_set(d, "excluded", nodes.excluded);
		doc_set(d, "added", n);
		doc_set(d, "yaml", n ? entries.bytes : "");
		if (n && arguments->dry_run)
			doc_line(d, "\nhosts:\n%s", entries.bytes);
	}
	buf_release(&entries);
	slurm_nodes_release(&nodes);
	return st;
}

static enum assay_status host_import_run(struct lab *lab, void *input, struct document *d, struct assay_error *err)
{
	const struct arguments *arguments = input;

	return is_slurm(arguments) ? import_nodes(lab, arguments, d, err) : import_machines(lab, arguments->from, d, err);
}

static const struct cli_option words[] = { CLI_ARGUMENT("FILE|slurm", struct arguments, from), CLI_END };

static const struct cli_option options[] = {
	CLI_TEXT("partition", "NAME", struct arguments, partition, "Import only nodes of partition NAME, and request allocations in it"),
	CLI_TEXT("login", "HOST", struct arguments, login, "Run Slurm's commands on this login node by ssh: [user@]host[:port]"),
	CLI_TEXT("types", "FEATURE,...", struct arguments, types,
		 "Node features that are hardware types: a node with one of them gets it as its type"),
	CLI_FLAG("dry-run", struct arguments, dry_run, "Show the lines to add to lab.yaml; write nothing"), CLI_END
};

const struct command host_import_command = {
	.name = "host import",
	.summary = "import recorded machines, or the nodes of a batch system",
	.about = "FILE is a CSV file of fingerprints recorded elsewhere, one row per rate; they are added to the store and the catalog. "
		 "Columns: machine, time, stressor, rate (operations per second), and optionally repetition (the pass, from 1), type (the "
		 "hardware type), battery, battery_hash, stress_ng and architecture. Other columns are refused, because they may "
		 "distinguish rates. A result of 'result import' with the same machine, time and repetition belongs to that fingerprint. "
		 "'result export' writes both kinds of file. Importing the same file again changes nothing; rates that contradict stored "
		 "ones are refused.\n\nslurm reads the nodes of Slurm (sinfo) and appends those missing in lab.yaml as hosts with "
		 "'transport: slurm'. Their features become groups: -w @FEATURE. Existing lines of lab.yaml are not changed. Drained and "
		 "down nodes are added, too: the state of a node is read again whenever it is needed.",
	.examples = "  assay host import machines.csv\n"
		    "  assay host import slurm --dry-run\n"
		    "  assay host import slurm --partition lab --types rome,milan\n",
	.words = words,
	.options = options,
	.check = host_import_check,
	CLI_RUN(struct arguments, CLI_LAB_WRITE, host_import_run),
};
