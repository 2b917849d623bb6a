/* Command 'assay host measure'. */
#include "base/cancel.h"
#include "base/progress.h"
#include "base/mem.h"
#include "base/text.h"
#include "fingerprint/commands/fingerprint_commands.h"
#include "fingerprint/compare/compare.h"
#include "fingerprint/take/take.h"
#include "fleet/counters/countable.h"
#include "fleet/commands/cmd_fleet.h"
#include "fleet/engine/reach.h"
#include "fleet/inventory/nodeset.h"

#include <math.h>

struct arguments {
	struct host_choice choice;
	const char *battery, *counters;
	struct cli_list dangerous;
	bool resume;
};

static volatile sig_atomic_t cancelled;

static struct progress progress;

static void show_progress(const struct host *host, size_t done, size_t total)
{
	progress_show(&progress, progress_now(), done == total, "%zu of %zu measurements, last on %s", done, total, host->name);
}

/* Results of all hosts. */
struct outcome {
	const struct arguments *arguments;
	const struct battery *battery;
	const struct catalog *catalog;
	const struct host *const *hosts;   /* [n] */
	const struct take_result *results; /* [n] */
	size_t n;
};

/* Returns the summary of the host's fingerprint from the catalog; NULL if the fingerprint is incomplete. */
static const struct machine_fingerprint *find_summary(const struct outcome *o, size_t i)
{
	const struct machine *machine = o->results[i].complete ? catalog_find(o->catalog, o->hosts[i]->id) : NULL;

	return machine_find_fingerprint(machine, o->results[i].fingerprint);
}

/* Appends the command that continues the measurement on hosts[0..n). Appends nothing if n is 0. */
static void add_command(const struct outcome *o, const struct host *const *hosts, size_t n, bool resume, struct buf *text)
{
	const struct arguments *a = o->arguments;
	char *folded = n ? host_choice_fold(hosts, n) : NULL, *counters = a->counters ? mem_format("--counters=%s", a->counters) : NULL,
	     *command;
	const char **words = mem_new(10 + 2 * a->dangerous.n, sizeof(*words));
	size_t k = 0;

	words[k++] = "host";
	words[k++] = "measure";
	words[k++] = "--battery";
	words[k++] = a->battery;
	for (size_t i = 0; i < a->dangerous.n; i++) {
		words[k++] = "--dangerous";
		words[k++] = a->dangerous.items[i];
	}
	if (counters)
		words[k++] = counters;
	if (resume)
		words[k++] = "--resume";
	words[k++] = "-w";
	words[k++] = folded;
	command = text_format_command(words);
	if (n)
		buf_format(text, "; %s %s", command, resume ? "continues (finished measurements are kept)" : "measures the rest");
	mem_free(command, words, counters, folded);
}

/* Adds the first line, with the commands that continue the measurement, and sets the exit status. The command for hosts without a started
 * fingerprint has no --resume, which would skip hosts with a complete fingerprint of the last day. */
static void add_answer(const struct outcome *o, struct document *d)
{
	const struct host **begun = mem_new(o->n, sizeof(*begun)), **rest = mem_new(o->n, sizeof(*rest));
	size_t complete = 0, before = 0, n_begun = 0, n_rest = 0;
	struct buf text = BUF_INIT;

	for (size_t i = 0; i < o->n; i++) {
		const struct take_result *r = &o->results[i];

		complete += r->complete;
		before += r->was_complete;
		if (!r->complete && *r->fingerprint)
			begun[n_begun++] = o->hosts[i];
		else if (!r->complete)
			rest[n_rest++] = o->hosts[i];
	}
	buf_format(&text, "%zu of %zu fingerprint%s complete", complete, o->n, text_plural(o->n));
	add_command(o, begun, n_begun, true, &text);
	add_command(o, rest, n_rest, false, &text);
	if (before == o->n)
		buf_text(&text, " already: there is nothing to resume");
	doc_line(d, "%s", text.bytes);
	d->exit_status = complete == o->n ? 0 : complete ? 7 : 1;
	buf_release(&text);
	mem_free(begun, rest);
}

static void add_host(const struct outcome *o, size_t i, struct document *d)
{
	const struct machine_fingerprint *f = find_summary(o, i);
	const struct take_result *r = &o->results[i];
	const struct host *host = o->hosts[i];
	const char *note = r->was_complete ? "it was already complete" : "";

	doc_row(d);
	doc_show(d, "host", "host", host->name);
	doc_show(d, "machine", "machine", host->id);
	doc_showf(d, "outcome", "outcome", fleet_outcome_text(r->fleet.outcome), "%s",
		  r->complete ? "complete" : fleet_outcome_text(r->fleet.outcome));
	doc_set(d, "message", r->fleet.message);
	doc_set_bool(d, "complete", r->complete);
	doc_set_bool(d, "was_complete", r->was_complete);
	doc_set_bool(d, "emulated", host->profile != NULL);
	doc_show(d, "measured", "measured", r->measured);
	doc_show(d, "missing", "missing", r->missing);
	doc_list(d, "without_rate");
	for (size_t j = 0; f && j < f->n_rates; j++) {
		if (isnan(f->rates[j].median))
			doc_set(d, NULL, f->rates[j].stressor);
	}
	doc_end(d);
	doc_showf(d, "seconds", "seconds", r->seconds, "%.1f", r->seconds);
	doc_set(d, "counted", r->counted);
	doc_set(d, "not_counted", r->not_counted);
	doc_set(d, "without_counters", r->without_counters);
	doc_set(d, "busy", r->busy);
	doc_set(d, "stress_ng_before", f ? drift_previous_version(catalog_find(o->catalog, host->id), f) : NULL);
	doc_show(d, "fingerprint", "fingerprint", *r->fingerprint ? r->fingerprint : NULL);
	doc_showf(d, NULL, "note", note, "%s%s%s", host->profile ? "emulated" : "", host->profile && *note ? "; " : "", note);
}

/* ---- messages above and below the table; hosts with the same message share a line ---- */

static char *failed_text(const struct outcome *o, size_t i)
{
	return o->results[i].complete || !*o->results[i].fleet.message ? NULL : mem_string(o->results[i].fleet.message);
}

static char *version_text(const struct outcome *o, size_t i)
{
	const struct machine_fingerprint *f = find_summary(o, i);
	const char *before = f ? drift_previous_version(catalog_find(o->catalog, o->hosts[i]->id), f) : NULL;

	return before ? mem_format("stress-ng was %s and is %s: this fingerprint is compared only with those of %s", before, f->stress_ng,
				   f->stress_ng)
		      : NULL;
}

static char *missing_counters_text(const struct outcome *o, size_t i)
{
	const struct machine_fingerprint *f = find_summary(o, i);
	struct buf without = BUF_INIT;

	for (size_t j = 0; f && j < f->n_rates; j++) {
		if (isnan(f->rates[j].median))
			buf_format(&without, "%s%s", without.size ? ", " : "no rate of ", f->rates[j].stressor);
	}
	if (!without.size)
		return NULL;
	buf_text(&without, " ('assay host show --passes MACHINE' says why)");
	return buf_take(&without);
}

static char *busy_text(const struct outcome *o, size_t i)
{
	const char *busy = o->results[i].busy;

	return busy ? mem_format("its rates may be too low: it was measured with %s", busy) : NULL;
}

static char *counters_text(const struct outcome *o, size_t i)
{
	const struct take_result *r = &o->results[i];

	return r->without_counters ? mem_format("no hardware counters: %s", r->without_counters) : NULL;
}

static char *counted_text(const struct outcome *o, size_t i)
{
	const struct take_result *r = &o->results[i];

	return r->counted || r->not_counted
		   ? mem_format("under counters %zu run%s counted, %zu not", r->counted, text_plural(r->counted), r->not_counted)
		   : NULL;
}

static void show_similar(const char *folded, const char *text, void *to)
{
	doc_line(to, "%s: %s", folded, text);
}

static void add_equal(const struct outcome *o, char *(*text_of)(const struct outcome *, size_t), struct document *d)
{
	const char **names = mem_new(o->n, sizeof(*names));
	char **texts = mem_new(o->n, sizeof(*texts));

	for (size_t i = 0; i < o->n; i++) {
		names[i] = o->hosts[i]->name;
		texts[i] = text_of(o, i);
	}
	nodeset_fold_alike(names, texts, o->n, show_similar, d);
	mem_free_all(texts, o->n);
	free(names);
}

static void add_outcome(const struct outcome *o, struct document *d)
{
	add_answer(o, d);
	add_equal(o, failed_text, d);
	doc_line(d, "%s", "");
	doc_set(d, "battery", o->battery->name);
	doc_set(d, "battery_hash", o->battery->hash);
	doc_table(d, "hosts");
	for (size_t i = 0; i < o->n; i++)
		add_host(o, i, d);
	doc_end(d);
	add_equal(o, version_text, d);
	add_equal(o, missing_counters_text, d);
	add_equal(o, busy_text, d);
	add_equal(o, counters_text, d);
	add_equal(o, counted_text, d);
}

#define DEFAULT_EVENTS "default"

static enum assay_status open_events(const struct arguments *a, struct counting_events *out, struct assay_error *err)
{
	if (a->counters && strcmp(a->counters, DEFAULT_EVENTS) != 0)
		return counting_events_parse(a->counters, out, err);
	if (a->counters)
		countable_stressor_defaults(out);
	return ASSAY_OK;
}

/* Connects to hosts[0..n), takes their fingerprints, and adds the results to the document. */
static enum assay_status take_all(struct lab *lab, const struct arguments *a, struct catalog *catalog, const struct host *const *hosts,
				  size_t n, struct take_options *options, struct document *d, struct assay_error *err)
{
	struct take_result *results = mem_new(n, sizeof(*results));
	const struct outcome outcome = { a, options->battery, catalog, hosts, results, n };
	struct fleet_options fleet;
	struct reach reach = { 0 };
	enum assay_status st = reach_init(lab, &reach, err);

	if (!st) {
		fleet = reach_fleet_options(&reach);
		fleet.cancelled = &cancelled;
		options->fleet = &fleet;
		progress = progress_begin(stderr, progress_now());
		st = take_fingerprints(lab, catalog, hosts, n, options, results, err);
		progress_end(&progress);
	}
	if (!st)
		add_outcome(&outcome, d);
	take_results_release(results, n);
	free(results);
	reach_release(&reach);
	return st;
}

static enum assay_status host_measure_run(struct lab *lab, void *input, struct document *d, struct assay_error *err)
{
	const struct arguments *a = input;
	struct catalog catalog = { 0 };
	struct battery battery = { 0 };
	struct counting_events events = { .n = 0 };
	const struct host **hosts = NULL;
	struct take_options options = {
		.battery = &battery, .resume = a->resume, .events = a->counters ? &events : NULL, .progress = show_progress
	};
	struct buf aside = BUF_INIT;
	size_t n = 0;
	enum assay_status st = battery_open(a->battery, &battery, err);

	cancel_on_signals(&cancelled);
	if (!st)
		st = battery_select(&battery, (const char *const *)a->dangerous.items, a->dangerous.n, err);
	if (!st)
		st = open_events(a, &events, err);
	if (!st)
		st = catalog_exclude_retired(lab, err);
	if (!st)
		st = host_choice_hosts(&lab->config.inventory, &a->choice, &hosts, &n, &aside, err);
	if (!st && aside.size)
		cli_note("%s", aside.bytes);
	if (!st)
		st = catalog_load(lab->machines, NULL, &catalog, err);
	if (!st)
		st = take_all(lab, a, &catalog, hosts, n, &options, d, err);
	free(hosts);
	buf_release(&aside);
	catalog_release(&catalog);
	battery_release(&battery);
	counting_events_release(&events);
	return st;
}

static const struct arguments defaults = { .battery = "quick" };

static const struct cli_option options[] = {
	CMD_FLEET_HOSTS(struct arguments, choice),
	CLI_TEXT("battery", "NAME|FILE", struct arguments, battery, "quick (default), paper, or a YAML file"),
	CLI_FLAG(
	    "resume", struct arguments, resume,
	    "Continue fingerprints interrupted within the last day; skip hosts with a complete one of that day, start the others again"),
	CLI_LIST("dangerous", "STRESSOR", struct arguments, dangerous, "Also run this dangerous stressor of the battery (repeatable)"),
	CLI_OPTION(TEXT, "counters", "EVENTS", struct arguments, counters,
		   "Also count these events for each stressor (default: PAPI's presets)", .implied = DEFAULT_EVENTS),
	CLI_END
};

const struct command host_measure_command = {
	.name = "host measure",
	.summary = "measure machines with a battery of stressors",
	.about = "Takes fingerprints of machines: runs the stressors of a battery in short passes, and stores median and dispersion of "
		 "every rate with the conditions of the measurement. Machines work in parallel, those of one physical host in turn. Every "
		 "pass is stored at once; --resume continues after an interruption.\n\nBuilt-in batteries: quick (about ten seconds per "
		 "machine) and paper (all harmless stressors of the quiho paper). Stressors marked as dangerous run only if named with "
		 "--dangerous.\n\n--counters counts instructions, cycles, misses of caches and TLB, branches and stalls with PAPI, in "
		 "separate runs after those that give the rates: as many as the CPU's counters need. For a host without hardware counters "
		 "the answer reports this, and its rates are measured as usual. The kernel's own events are perf::TASK-CLOCK, PAGE-FAULTS, "
		 "MINOR-FAULTS, MAJOR-FAULTS, ALIGNMENT-FAULTS, CONTEXT-SWITCHES and CPU-MIGRATIONS.",
	.examples = "  assay host measure\n"
		    "  assay host measure -w node[01-04] --battery paper\n"
		    "  assay host measure --battery my-battery.yaml --resume\n"
		    "  assay host measure --counters\n"
		    "  assay host measure --counters=PAPI_TOT_INS,PAPI_L1_DCM,perf::PAGE-FAULTS\n",
	.exit_status = "0 all fingerprints complete, 7 some, 1 none.",
	.options = options,
	.defaults = &defaults,
	.flags = CLI_PROGRESS,
	CLI_RUN(struct arguments, CLI_LAB_WRITE, host_measure_run),
};
