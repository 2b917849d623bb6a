/* What `assay run` says at its end. */
#include "base/mem.h"
#include "base/table.h"
#include "base/text.h"
#include "runs/cmd_run.h"

#include <inttypes.h>
#include <math.h>

static void print_hosts(const struct cmd_run_view *view, struct buf *out)
{
	static const char *const headings[] = { "host", "outcome", "ok", "failed", "missing", "seconds", "", "" };
	struct table table;

	table_init(&table, "llrrrrll", headings);
	for (size_t i = 0; i < view->n; i++) {
		const struct execute_result *r = &view->results[i];
		struct cmd_run_tally t = cmd_run_tally(view, view->hosts[i]->id, NULL, NULL);

		table_cell(&table, "%s", view->hosts[i]->name);
		table_cell(&table, "%s", fleet_outcome_text(r->fleet.outcome));
		table_cell(&table, "%zu", t.ok);
		table_cell(&table, "%zu", t.failed);
		table_cell(&table, "%zu", cmd_run_each(view) - t.ok - t.failed);
		table_cell(&table, "%.1f", r->seconds);
		table_cell(&table, "%s", view->hosts[i]->profile ? "emulated" : "");
		table_cell(&table, "%s", r->fleet.message);
	}
	table_print(&table, out);
	table_release(&table);
}

static void print_median(const struct cmd_run_view *view, const char *version, const char *input, struct table *table)
{
	double noise, median = cmd_run_median(view, version, input, &noise);
	const char *unit = view->manifest->metric.unit;
	char number[TEXT_DOUBLE_BYTES];

	if (isnan(median))
		table_cell(table, "-");
	else
		table_cell(table, "%s", text_from_measured(median, noise, number));
	table_cell(table, "%s", isnan(median) || !unit ? "" : unit);
}

/* The time of an instrumented run is nobody's business. */
static void print_samples(const struct cmd_run_view *view, const char *version, const char *input, struct table *table)
{
	struct cmd_run_samples s = cmd_run_samples(view, version, input);

	table_cell(table, "%zu", s.files);
	table_cell(table, "%.1f", s.bytes / (1 << 20));
}

static void print_versions(const struct cmd_run_view *view, struct buf *out)
{
	static const char *const headings[2][6] = { { "application", "version", "ok", "failed", "median", "" },
						    { "application", "version", "ok", "failed", "files of samples", "MiB" } };
	bool probe = view->plan->probe != NULL;
	struct table table;

	table_init(&table, probe ? "llrrrr" : "llrrrl", headings[probe]);
	for (size_t k = 0; k < view->plan->n_inputs; k++) {
		char *name = cmd_run_stored_name(view, view->plan->inputs[k]);

		for (size_t v = 0; v < view->plan->n_versions; v++) {
			struct cmd_run_tally t = cmd_run_tally(view, NULL, view->plan->versions[v], view->plan->inputs[k]);

			table_cell(&table, "%s", name);
			table_cell(&table, "%s", view->plan->versions[v]);
			table_cell(&table, "%zu", t.ok);
			table_cell(&table, "%zu", t.failed);
			(probe ? print_samples : print_median)(view, view->plan->versions[v], view->plan->inputs[k], &table);
		}
		free(name);
	}
	buf_char(out, '\n');
	table_print(&table, out);
	table_release(&table);
}

/* The first failure (or warning) of each kind, and how many are like it. */
static void print_failures(const struct cmd_run_view *view, struct buf *out)
{
	bool *told = mem_new(view->n_rows, sizeof(*told));
	const char *before = "\n";

	for (size_t i = 0; i < view->n_rows; i++) {
		const struct execution_row *row = &view->rows[i];
		size_t same = 0;

		if (!*row->detail || told[i])
			continue;
		for (size_t k = i; k < view->n_rows; k++) {
			const struct execution_row *other = &view->rows[k];

			if (other->outcome != row->outcome || strcmp(other->version, row->version) != 0 || strcmp(other->input, row->input) != 0 ||
			    strcmp(other->detail, row->detail) != 0)
				continue;
			told[k] = true;
			same++;
		}
		buf_format(out, "%sversion '%s'%s%s%s: %s (%zu run%s, the first on machine %s): %s\n", before, row->version,
			   *row->input ? ", input '" : "", row->input, *row->input ? "'" : "", execution_outcome_code(row->outcome), same,
			   text_plural(same), row->machine, row->detail);
		before = "";
	}
	free(told);
}

static void print_stacks(const struct cmd_run_view *view, struct buf *out)
{
	size_t expected = view->n * view->plan->n_versions;
	const char *before = "\n";

	for (size_t i = 0; i < view->stacks->n; i++) {
		const struct stack_row *row = &view->stacks->items[i], *first = cmd_run_first_stack(view->stacks, i);
		char *difference;

		if (strcmp(row->hash, first->hash) == 0)
			continue;
		difference = stack_difference(first->text, row->text);
		buf_format(out, "%sMixed software: version '%s' does not load the same on %s as on %s (%s)\n", before, row->version, row->machine,
			   first->machine, difference);
		free(difference);
		before = "";
	}
	if (view->n_rows && view->stacks->n < expected)
		buf_format(out, "%sWhat the versions load is known in %zu of %zu cases (versions times hosts).\n", before, view->stacks->n, expected);
}

static void add_word(struct buf *out, const char *word)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+.,/:@%";

	if (*word && strspn(word, plain) == strlen(word))
		buf_format(out, " %s", word);
	else
		buf_format(out, " \"%s\"", word);
}

static void begin_command(const struct cmd_run_view *view, struct buf *out)
{
	buf_text(out, "  assay");
	if (strcmp(view->directory, ".") != 0) {
		buf_text(out, " -C");
		add_word(out, view->directory);
	}
}

static void add_selector(struct buf *out, const char *name, const char *version)
{
	char *selector = mem_format("%s@%s", name, version);

	add_word(out, selector);
	free(selector);
}

/* The first two versions that have results of the first input, or the only one. */
static void print_look(const struct cmd_run_view *view, const char *name, struct buf *out)
{
	const struct plan *plan = view->plan;
	const char *found[2] = { NULL, NULL };
	size_t n = 0;

	for (size_t v = 0; v < plan->n_versions && n < 2; v++) {
		if (cmd_run_tally(view, NULL, plan->versions[v], plan->inputs[0]).ok)
			found[n++] = plan->versions[v];
	}
	if (n == 0)
		return;
	for (size_t i = 0; plan->probe && i < n; i++) {
		begin_command(view, out);
		buf_text(out, " samples");
		add_selector(out, plan->application, found[i]);
		buf_char(out, '\n');
	}
	if (plan->probe && n < 2)
		return;
	begin_command(view, out);
	buf_text(out, plan->probe ? " detect" : n == 2 ? " gate" : " runs show");
	for (size_t i = 0; i < n; i++)
		add_selector(out, plan->probe ? plan->application : name, found[i]);
	buf_char(out, '\n');
}

static void print_next(const struct cmd_run_view *view, struct buf *out)
{
	const struct plan *plan = view->plan;
	struct cmd_run_tally all = cmd_run_tally(view, NULL, NULL, NULL);
	char *name = cmd_run_stored_name(view, plan->inputs[0]);

	buf_text(out, "\nNext:\n");
	if (!plan->complete) {
		begin_command(view, out);
		buf_text(out, " run");
		add_word(out, view->selector);
		buf_format(out, "%s --resume\n", plan->probe ? " --probe" : "");
	}
	if (all.failed) {
		begin_command(view, out);
		buf_text(out, " runs show");
		add_word(out, name);
		buf_text(out, " --failed --output\n");
	}
	if (view->without_fingerprint) {
		begin_command(view, out);
		buf_format(out, " fingerprint run     (%zu result%s no fingerprint of the machine: profiles need one, taken before the runs)\n",
			   view->without_fingerprint, view->without_fingerprint == 1 ? " has" : "s have");
	}
	print_look(view, name, out);
	free(name);
}

void cmd_run_print(const struct cmd_run_view *view, struct buf *out)
{
	size_t wanted = view->n * cmd_run_each(view);
	struct cmd_run_tally t = cmd_run_tally(view, NULL, NULL, NULL);

	print_hosts(view, out);
	print_versions(view, out);
	print_failures(view, out);
	print_stacks(view, out);
	buf_format(out, "\n%zu of %zu run%s measured", t.ok, wanted, text_plural(wanted));
	if (t.failed)
		buf_format(out, ", %zu failed", t.failed);
	if (t.ok + t.failed < wanted)
		buf_format(out, ", %zu missing (what was measured is kept)", wanted - t.ok - t.failed);
	buf_format(out, "; order by seed %" PRIu64 "\n", view->plan->seed);
	print_next(view, out);
}
