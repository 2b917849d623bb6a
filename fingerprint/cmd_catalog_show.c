#include "base/mem.h"
#include "base/table.h"
#include "base/text.h"
#include "fingerprint/battery/stressor.h"
#include "fingerprint/catalog/types.h"
#include "fingerprint/cmd.h"
#include "fleet/cmd_lab.h"

#include <inttypes.h>
#include <math.h>

static const char doc[] = "Shows a machine of the catalog: what identifies it, and each of its fingerprints with the median rate of every "
			  "stressor, in bogo-operations per second, and its dispersion (median absolute deviation over the passes)."
			  "\vExample:\n"
			  "  assay catalog show issdm-41";

static error_t parse(int key, char *arg, struct argp_state *state)
{
	return cli_words(key, arg, state, state->input, 1, "MACHINE");
}

static void print_identity(const struct machine_identity *i, struct buf *out)
{
	const struct {
		const char *what, *text;
	} texts[] = { { "machine-id", i->machine_id },     { "board", i->board_name },       { "board serial", i->board_serial },
		      { "board UUID", i->board_uuid },     { "CPU vendor", i->cpu_vendor },  { "CPU model", i->cpu_model } };

	for (size_t k = 0; k < sizeof(texts) / sizeof(texts[0]); k++) {
		if (texts[k].text)
			buf_format(out, "  %-13s %s\n", texts[k].what, texts[k].text);
	}
	if (i->sockets && i->cores_per_socket && i->threads_per_core)
		buf_format(out, "  %-13s %" PRId64 " socket%s x %" PRId64 " core%s x %" PRId64 " thread%s\n", "processors", i->sockets,
			   text_plural((size_t)i->sockets), i->cores_per_socket, text_plural((size_t)i->cores_per_socket),
			   i->threads_per_core, text_plural((size_t)i->threads_per_core));
	if (i->memory_bytes)
		buf_format(out, "  %-13s %.1f GiB\n", "memory", (double)i->memory_bytes / (1 << 30));
}

static void print_marks(const struct machine *machine, struct buf *out)
{
	char date[TEXT_DATE_BYTES];

	if (machine->retired)
		buf_format(out, "  %-13s %s%s%s\n", "retired", text_from_ms(machine->retired_ms, date), machine->retired_reason ? ": " : "",
			   machine->retired_reason ? machine->retired_reason : "");
	for (size_t i = 0; i < machine->n_accepted; i++)
		buf_format(out, "  %-13s %s, fingerprint %s: %s\n", "accepted", text_from_ms(machine->accepted[i].accepted_ms, date),
			   machine->accepted[i].fingerprint, machine->accepted[i].reason);
}

static void print_rates(const struct machine_fingerprint *f, struct buf *out)
{
	static const char *const headings[] = { "  stressor", "median/s", "dispersion", "n", "category" };
	struct table table;

	table_init(&table, "lrrrl", headings);
	for (size_t i = 0; i < f->n_rates; i++) {
		const struct machine_rate *rate = &f->rates[i];

		table_cell(&table, "  %s", rate->stressor);
		if (isnan(rate->median)) {
			table_cell(&table, "not measured");
			table_cell(&table, "-");
		} else {
			table_cell(&table, "%.6g", rate->median);
			table_cell(&table, "%.2f %%", 100 * rate->mad / rate->median);
		}
		table_cell(&table, "%" PRId64, rate->n);
		table_cell(&table, "%s%s%s", category_name(stressor_category(rate->stressor)), rate->reason ? ": " : "",
			   rate->reason ? rate->reason : "");
	}
	table_print(&table, out);
	table_release(&table);
}

static void print_human(const struct machine *machine, const struct types *types, struct buf *out)
{
	buf_format(out, "%s\n", machine->id);
	print_identity(&machine->identity, out);
	if (machine->notes)
		buf_format(out, "  %-13s %s\n", "notes", machine->notes);
	print_marks(machine, out);
	for (size_t i = 0; i < machine->n_fingerprints; i++) {
		const struct machine_fingerprint *f = &machine->fingerprints[i];
		const struct types_type *type = &types->types[types_find(types, f->id)];
		char date[TEXT_DATE_BYTES];

		buf_format(out,
			   "\nfingerprint %s, %s, %s\n  battery %s, stress-ng %s, architecture %s, %" PRId64 " passes\n"
			   "  hardware type %s (%s)\n",
			   f->id, text_from_ms(f->taken_ms, date), f->origin, f->battery, f->stress_ng, f->architecture, f->passes, type->name,
			   type->why);
		if (f->profile)
			buf_format(out, "  emulated host, profile %s\n", f->profile);
		print_rates(f, out);
	}
}

static enum assay_status not_found(const struct catalog *catalog, const char *id, struct assay_error *err)
{
	const char **names = mem_new(catalog->n, sizeof(char *));
	const char *nearest;

	for (size_t i = 0; i < catalog->n; i++)
		names[i] = catalog->machines[i].id;
	nearest = text_nearest(id, names, catalog->n);
	free(names);
	if (nearest)
		return assay_fail(err, ASSAY_E_NOTFOUND, "no machine '%s' in the catalog (did you mean '%s'?)", id, nearest);
	return assay_fail(err, ASSAY_E_NOTFOUND, "no machine '%s' in the catalog ('assay catalog list' shows all)", id);
}

int cmd_catalog_show(int argc, char **argv, const char *directory)
{
	static const struct argp argp = { NULL, parse, "MACHINE", doc, NULL, NULL, NULL };
	const struct machine *machine = NULL;
	struct catalog catalog = { 0 };
	struct types types = { 0 };
	const char *id = NULL;
	struct cmd_lab cmd;
	enum assay_status st = cmd_lab_open(&cmd, &argp, argc, argv, directory, &id, STORE_READ);

	if (!st)
		st = catalog_load(cmd.lab.machines, NULL, &catalog, &cmd.err);
	if (!st && !(machine = catalog_find(&catalog, id)))
		st = not_found(&catalog, id, &cmd.err);
	if (!st && cmd.cli.format == CLI_JSON) {
		char *text = machine_text(machine);

		buf_text(&cmd.out, text);
		free(text);
	} else if (!st) {
		types_of(&catalog, &cmd.lab.config, &types);
		print_human(machine, &types, &cmd.out);
	}
	types_release(&types);
	catalog_release(&catalog);
	return cmd_lab_end(&cmd, st, 0);
}
