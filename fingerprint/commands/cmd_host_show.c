/* Command 'assay host show'. */
#include "base/mem.h"
#include "base/text.h"
#include "fingerprint/battery/stressor.h"
#include "fingerprint/catalog/catalog.h"
#include "fingerprint/catalog/types.h"
#include "fingerprint/commands/fingerprint_commands.h"
#include "fingerprint/compare/compare.h"
#include "fleet/lab/lab.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

struct arguments {
	const char *which[2];
	bool passes;
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
		doc_showf(d, NULL, "retired", machine->retired_ms, "%s%s%s", TEXT_DATE(machine->retired_ms), reason ? ": " : "",
			  reason ? reason : "");
	for (size_t i = 0; i < machine->n_accepted; i++) {
		const struct machine_acceptance *accepted = &machine->accepted[i];

		doc_showf(d, NULL, "accepted", accepted->accepted_ms, "%s, fingerprint %s: %s", TEXT_DATE(accepted->accepted_ms),
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

static void add_fingerprint(const struct machine_fingerprint *f, const struct hardware_type_entry *type, struct document *d)
{
	doc_heading(d, "fingerprint %s, %s, %s", f->id, TEXT_DATE(f->taken_ms), f->origin);
	doc_showf(d, NULL, "battery", f->battery, "%s, stress-ng %s, architecture %s, %" PRId64 " passes", f->battery, f->stress_ng,
		  f->architecture, f->passes);
	doc_showf(d, NULL, "hardware type", type->name, "%s (%s)", type->name, type->reason);
	if (f->profile)
		doc_show(d, NULL, "emulated host, profile", f->profile);
	add_rates(f, d);
}

/* Adds the members of the machine's file to the JSON output. */
static void set_file(const struct machine *machine, struct document *d)
{
	char *text = machine_to_json(machine);
	cJSON *root = cJSON_Parse(text);

	while (root->child) {
		cJSON *item = cJSON_DetachItemViaPointer(root, root->child);

		doc_set_json(d, item->string, item);
	}
	cJSON_Delete(root);
	free(text);
}

static enum assay_status machine_show(struct lab *lab, const char *name, struct document *d, struct assay_error *err)
{
	struct machine *machine = NULL;
	struct catalog catalog = { 0 };
	struct types types = { 0 };
	enum assay_status st = catalog_load(lab->machines, NULL, &catalog, err);

	if (!st)
		st = choose_machine(&catalog, name, &machine, err);
	if (!st) {
		types_compute(&catalog, &lab->config, &types);
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

/* ---- difference between two fingerprints ---- */

/* Adds a line about the other stressors: those that do not differ, cannot be compared, or were not measured in both fingerprints. */
static void compare_add_summary(const struct compare *compare, struct document *d)
{
	size_t rest = compare->compared - (compare->n_differing - compare->rows[compare->n].differs), missing = 0;
	struct buf text = BUF_INIT;

	if (!compare->has_noise)
		buf_format(&text, "%zu stressor%s cannot be compared: the noise of a single pass is not known", rest, text_plural(rest));
	else if (rest == 0)
		buf_text(&text, compare->compared ? "All stressors differ" : "No stressor was measured in both");
	else
		buf_format(&text,
			   "%zu of %zu stressors do not differ beyond the noise between sessions, estimated from that of their passes",
			   rest, compare->compared);
	for (size_t i = 0; i < compare->n; i++) {
		if (isnan(compare->rows[i].ratio))
			buf_format(&text, "%s%s", missing++ ? ", " : "; not measured in both: ", compare->rows[i].stressor);
	}
	doc_line(d, "%s", text.bytes);
	buf_release(&text);
}

static void add_side(const struct fingerprint *f, const char *key, struct document *d)
{
	doc_object(d, key);
	doc_set(d, "id", f->id);
	doc_set(d, "machine", f->machine);
	doc_set(d, "taken_ms", f->taken_ms);
	doc_set(d, "origin", f->origin);
	if (f->profile)
		doc_set(d, "profile", f->profile);
	doc_set(d, "passes", f->n_passes);
	doc_end(d);
}

static void add_comparison(const struct fingerprint *const both[2], const struct compare *compare, struct document *d)
{
	compare_add_summary(compare, d);
	doc_line(d, "%s", "");
	for (int i = 0; i < 2; i++)
		doc_line(d, "%s %s  %s, %s, %s%s%s", i ? "after " : "before", both[i]->id, both[i]->machine, TEXT_DATE(both[i]->taken_ms),
			 both[i]->origin, both[i]->profile ? ", profile " : "", both[i]->profile ? both[i]->profile : "");
	if (compare->n_differing)
		doc_line(d, "%s", "");
	compare_add_largest(compare, SIZE_MAX, d);
	add_side(both[0], "before", d);
	add_side(both[1], "after", d);
	doc_set(d, "battery", both[0]->battery);
	doc_set(d, "battery_hash", both[0]->battery_hash);
	doc_set(d, "stress_ng", both[0]->stress_ng);
	doc_set(d, "architecture", both[0]->architecture);
	doc_set(d, "level", COMPARE_SIGNIFICANCE);
	doc_set(d, "compared", compare->compared);
	doc_set(d, "differing", compare->n_differing);
	compare_set_rows(compare, d);
}

static enum assay_status fingerprint_difference_show(struct lab *lab, const char *const which[2], struct document *d,
						     struct assay_error *err)
{
	const struct fingerprint *both[2] = { NULL, NULL };
	struct fingerprint_set set = { 0 };
	struct compare compare = { 0 };
	enum assay_status st = fingerprint_load(&lab->store, &set, err);

	for (int i = 0; !st && i < 2; i++)
		st = choose_fingerprint(&set, which[i], &both[i], err);
	if (!st)
		st = compare_fingerprints(&set, both[0], both[1], &compare, err);
	if (!st)
		add_comparison(both, &compare, d);
	free(compare.rows);
	fingerprint_set_release(&set);
	return st;
}

/* ---- command ---- */

static enum assay_status host_show_run(struct lab *lab, void *input, struct document *d, struct assay_error *err)
{
	const struct arguments *a = input;

	if (a->which[1])
		return fingerprint_difference_show(lab, a->which, d, err);
	return (a->passes ? fingerprint_passes_show : machine_show)(lab, a->which[0], d, err);
}

static enum assay_status host_show_check(void *input, struct assay_error *err)
{
	const struct arguments *a = input;

	return a->which[1] && a->passes ? assay_fail(err, ASSAY_E_USAGE, "--passes shows one fingerprint, not two") : ASSAY_OK;
}

static const struct cli_option words[] = { CLI_ARGUMENT("A", struct arguments, which[0]),
					   CLI_OPTIONAL_ARGUMENT("B", struct arguments, which[1]), CLI_END };
static const struct cli_option options[] = {
	CLI_FLAG("passes", struct arguments, passes, "Show one fingerprint with its conditions, all passes and its counters"),
	CLI_END,
};

const struct command host_show_command = {
	.name = "host show",
	.summary = "show a machine or a fingerprint, or the difference of two",
	.about = "Shows the machine A of the catalog: its identity, and each of its fingerprints with the median rate of every stressor, "
		 "in bogo-operations per second, and its dispersion (median absolute deviation over the passes).\n\nWith B: shows the "
		 "stressors in which two fingerprints differ beyond the noise between sessions, with ratio (B / A) and interval, corrected "
		 "for multiple comparisons. Fingerprints of different batteries, versions of stress-ng or architectures are never "
		 "compared.\n\nWith --passes or B, A and B are each a machine (its latest complete fingerprint), the id of a fingerprint, "
		 "or MACHINE@DATE with the start of its time.",
	.examples = "  assay host show issdm-41\n"
		    "  assay host show --passes node07@2026-11-01 --format json\n"
		    "  assay host show node07@2026-11-01 node07\n"
		    "  assay host show node07 node08 --format json | jq '.stressors[] | select(.differs)'\n",
	.exit_status = "0 shown; 2 not found, or they cannot be compared.",
	.words = words,
	.options = options,
	.check = host_show_check,
	CLI_RUN(struct arguments, CLI_LAB_READ, host_show_run),
};
