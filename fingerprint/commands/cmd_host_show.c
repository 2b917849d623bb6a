/* assay host show */
#include "base/text.h"
#include "fingerprint/battery/stressor.h"
#include "fingerprint/catalog/types.h"
#include "fingerprint/commands/fingerprint_commands.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

struct arguments {
	const char *machine;
};

static void add_identity(const struct machine_identity *i, struct document *d)
{
	const struct {
		const char *what, *text;
	} texts[] = { { "machine-id", i->machine_id }, { "board", i->board_name },	{ "board serial", i->board_serial },
		      { "board UUID", i->board_uuid }, { "CPU vendor", i->cpu_vendor }, { "CPU model", i->cpu_model } };

	for (size_t k = 0; k < sizeof(texts) / sizeof(texts[0]); k++) {
		if (texts[k].text)
			doc_show(d, NULL, texts[k].what, texts[k].text);
	}
	if (i->sockets && i->cores_per_socket && i->threads_per_core)
		doc_showf(d, NULL, "processors", i->sockets, "%" PRId64 " socket%s x %" PRId64 " core%s x %" PRId64 " thread%s", i->sockets,
			  text_plural((size_t)i->sockets), i->cores_per_socket, text_plural((size_t)i->cores_per_socket),
			  i->threads_per_core, text_plural((size_t)i->threads_per_core));
	if (i->memory_bytes)
		doc_showf(d, NULL, "memory", i->memory_bytes, "%.1f GiB", (double)i->memory_bytes / (1 << 30));
}

static void add_marks(const struct machine *machine, struct document *d)
{
	const char *reason = machine->retired_reason;

	if (machine->notes)
		doc_show(d, NULL, "notes", machine->notes);
	if (machine->retired)
		doc_showf(d, NULL, "retired", machine->retired_ms, "%s%s%s", TEXT_MS(machine->retired_ms), reason ? ": " : "",
			  reason ? reason : "");
	for (size_t i = 0; i < machine->n_accepted; i++) {
		const struct machine_acceptance *accepted = &machine->accepted[i];

		doc_showf(d, NULL, "accepted", accepted->accepted_ms, "%s, fingerprint %s: %s", TEXT_MS(accepted->accepted_ms),
			  accepted->fingerprint, accepted->reason);
	}
}

static void add_rates(const struct machine_fingerprint *f, struct document *d)
{
	doc_table(d, NULL);
	for (size_t i = 0; i < f->n_rates; i++) {
		const struct machine_rate *rate = &f->rates[i];
		const char *category = category_name(stressor_category(rate->stressor));

		doc_row(d);
		doc_show(d, NULL, "stressor", rate->stressor);
		doc_showf(d, NULL, "median/s", rate->median, "%.6g", rate->median);
		doc_showf(d, NULL, "dispersion", rate->median, "%.2f %%", 100 * rate->mad / rate->median);
		doc_show(d, NULL, "n", rate->n);
		doc_showf(d, NULL, "category", category, "%s%s%s", category, rate->reason ? ", not measured: " : "",
			  rate->reason ? rate->reason : "");
	}
	doc_end(d);
}

static void add_fingerprint(const struct machine_fingerprint *f, const struct types_type *type, struct document *d)
{
	doc_heading(d, "fingerprint %s, %s, %s", f->id, TEXT_MS(f->taken_ms), f->origin);
	doc_showf(d, NULL, "battery", f->battery, "%s, stress-ng %s, architecture %s, %" PRId64 " passes", f->battery, f->stress_ng,
		  f->architecture, f->passes);
	doc_showf(d, NULL, "hardware type", type->name, "%s (%s)", type->name, type->why);
	if (f->profile)
		doc_show(d, NULL, "emulated host, profile", f->profile);
	add_rates(f, d);
}

/* Programs get what the machine's file holds. */
static void set_file(const struct machine *machine, struct document *d)
{
	char *text = machine_text(machine);
	cJSON *root = cJSON_Parse(text);

	while (root->child) {
		cJSON *item = cJSON_DetachItemViaPointer(root, root->child);

		doc_set_json(d, item->string, item);
	}
	cJSON_Delete(root);
	free(text);
}

static enum assay_status host_show_run(struct lab *lab, void *input, struct document *d, struct assay_error *err)
{
	const struct arguments *arguments = input;
	struct machine *machine = NULL;
	struct catalog catalog = { 0 };
	struct types types = { 0 };
	enum assay_status st = catalog_load(lab->machines, NULL, &catalog, err);

	if (!st)
		st = choose_machine(&catalog, arguments->machine, &machine, err);
	if (!st) {
		types_of(&catalog, &lab->config, &types);
		doc_line(d, "%s%s", machine->id, machine->retired ? " is retired" : "");
		add_identity(&machine->identity, d);
		add_marks(machine, d);
		for (size_t i = 0; i < machine->n_fingerprints; i++)
			add_fingerprint(&machine->fingerprints[i], &types.types[types_find(&types, machine->fingerprints[i].id)], d);
		set_file(machine, d);
	}
	types_release(&types);
	catalog_release(&catalog);
	return st;
}

static const struct cli_option words[] = { CLI_WORD("MACHINE", struct arguments, machine), CLI_END };

const struct command host_show_command = {
	.name = "host show",
	.summary = "show one machine: identity, conditions, rates",
	.about = "Shows a machine of the catalog: what identifies it, and each of its fingerprints with the median rate of every stressor, "
		 "in bogo-operations per second, and its dispersion (median absolute deviation over the passes).",
	.examples = "  assay host show issdm-41\n",
	.words = words,
	CLI_RUN(struct arguments, CLI_LAB_READ, host_show_run),
};
