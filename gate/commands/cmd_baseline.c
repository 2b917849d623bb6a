/* The commands assay baseline accept and assay baseline list. */
#include "base/buf.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/text.h"
#include "base/yaml.h"
#include "fingerprint/catalog/machine.h"
#include "fleet/lab/lab.h"
#include "gate/commands/gate_commands.h"
#include "gate/nightly/baselines.h"
#include "gate/nightly/nightly.h"
#include "runs/running/run.h"

#include <string.h>

struct accept_arguments {
	const char *selector, *reason;
	int64_t until_ms; /* end of the last valid day, ms since 1970; 0 for no end */
};

static bool is_application_of(const char *application, const char *name)
{
	size_t n = strlen(name);

	return strncmp(application, name, n) == 0 && (application[n] == '\0' || application[n] == '/');
}

#define VERSIONS_SHOWN 20

/* Returns the versions of an application that have results: "v1, v2". free() it. If `version` is not NULL, sets *found if it is one of
 * these versions, and adds its number of failed runs to *failed. */
static char *list_versions(const struct run_listing *list, size_t n, const char *application, const char *version, bool *found,
			   int64_t *failed)
{
	struct buf text = BUF_INIT;
	size_t versions = 0;

	for (size_t i = 0; version && i < n; i++) {
		if (is_application_of(list[i].application, application) && strcmp(list[i].version, version) == 0)
			*failed += list[i].failed;
	}
	for (size_t i = 0; i < n; i++) {
		bool again = !is_application_of(list[i].application, application) || !list[i].runs;

		*found = *found || (!again && version && strcmp(list[i].version, version) == 0);
		for (size_t k = 0; k < i && !again; k++)
			again = list[k].runs && is_application_of(list[k].application, application) &&
				strcmp(list[k].version, list[i].version) == 0;
		if (!again && versions++ < VERSIONS_SHOWN)
			buf_format(&text, "%s%s", versions > 1 ? ", " : "", list[i].version);
	}
	if (versions > VERSIONS_SHOWN)
		buf_format(&text, " and %zu more", versions - VERSIONS_SHOWN);
	return buf_take(&text);
}

/* Fails unless `version` has results, so that a typing error cannot become a baseline. If `version` is NULL, the error asks for one. */
static enum assay_status check_measured(struct store *store, const char *application, const char *version, struct assay_error *err)
{
	struct run_listing *list;
	bool found = false;
	int64_t failed = 0;
	size_t n;
	enum assay_status st = run_list(store, &list, &n, err);
	char *versions;

	if (st)
		return st;
	versions = list_versions(list, n, application, version, &found, &failed);
	run_list_free(list, n);
	if (!found && failed)
		st = assay_fail(err, ASSAY_E_USAGE,
				"%s@%s has no usable result: all of its %lld runs failed ('assay result show %s@%s --failed --output')",
				application, version, (long long)failed, application, version);
	else if (!*versions)
		st = assay_fail(err, ASSAY_E_USAGE, "'%s' has no results ('assay result list' lists the results)", application);
	else if (!version)
		st = assay_fail(err, ASSAY_E_USAGE, "which version of '%s' is meant? Name it as %s@VERSION: there are results of %s",
				application, application, versions);
	else if (!found)
		st = assay_fail(err, ASSAY_E_USAGE, "%s@%s has no results; there are results of %s", application, version, versions);
	free(versions);
	return st;
}

/* Appends a line "KEY: TEXT" with a quoted text. A JSON string is also valid YAML. */
static void add_string(struct buf *out, const char *key, const char *text)
{
	cJSON *string = cJSON_CreateString(text);
	char *quoted = cJSON_PrintUnformatted(string);

	buf_format(out, "%s: %s\n", key, quoted);
	cJSON_free(quoted);
	cJSON_Delete(string);
}

static bool is_last(const struct baselines *all, const struct baseline *added)
{
	const struct baseline *last = all->n ? &all->items[all->n - 1] : NULL;

	return last && strcmp(last->application, added->application) == 0 && strcmp(last->version, added->version) == 0 &&
	       strcmp(last->reason, added->reason) == 0 && last->until_ms == added->until_ms;
}

/* Appends an entry with today's date to baselines.yaml and keeps the rest of the file. The caller holds the laboratory's lock. */
static enum assay_status add_entry(const char *laboratory, const struct baseline *baseline, struct assay_error *err)
{
	char *path = mem_format("%s/" BASELINES_FILE, laboratory), today[TEXT_DATE_BYTES], until[TEXT_DATE_BYTES];
	struct buf text = BUF_INIT;
	struct baselines all = { 0 };
	enum assay_status st = file_read(path, YAML_BYTES_MAX, &text, err);

	if (st == ASSAY_E_NOTFOUND) {
		buf_text(&text, "# Accepted baselines. The last entry of an application that has not expired is used.\nbaselines:\n");
		st = ASSAY_OK;
	}
	if (!st && text.size && text.bytes[text.size - 1] != '\n')
		buf_char(&text, '\n');
	add_string(&text, "  - application", baseline->application);
	add_string(&text, "    version", baseline->version);
	buf_format(&text, "    accepted: %.10s\n", text_from_ms(clock_real_ms(), today));
	if (baseline->until_ms < INT64_MAX)
		buf_format(&text, "    until: %.10s\n", text_from_ms(baseline->until_ms - BASELINES_DAY_MS, until));
	add_string(&text, "    reason", baseline->reason);
	if (!st)
		st = baselines_parse(path, text.bytes, text.size, &all, err);
	if (!st && !is_last(&all, baseline)) /* the end of the file may not allow an entry in block style */
		st = assay_fail(err, ASSAY_E_FORMAT, "%s: cannot append an entry: write the list in block style, '- application: ...'",
				path);
	if (!st)
		st = file_replace(path, text.bytes, text.size, 0644, err);
	baselines_release(&all);
	buf_release(&text);
	free(path);
	return st;
}

static enum assay_status accept_run(struct lab *lab, void *arguments, struct document *d, struct assay_error *err)
{
	const struct accept_arguments *a = arguments;
	struct baseline baseline = { .reason = (char *)(uintptr_t)a->reason, .until_ms = a->until_ms ? a->until_ms : INT64_MAX };
	enum assay_status st = run_parse_selector(a->selector, &baseline.application, &baseline.version, err);

	if (!st)
		st = check_measured(&lab->store, baseline.application, baseline.version, err);
	if (!st)
		st = add_entry(lab->directory, &baseline, err);
	if (!st) {
		char *ignored = nightly_explain_unused_baseline(lab->directory, NULL, baseline.application);

		doc_answer(d, ignored ? DOC_DOUBTFUL : DOC_GOOD, "accepted", "%s@%s is the baseline of %s%s%.10s", baseline.application,
			   baseline.version, baseline.application, a->until_ms ? " until " : "",
			   a->until_ms ? TEXT_DATE(a->until_ms - 1) : "");
		doc_set(d, "application", baseline.application);
		doc_set(d, "version", baseline.version);
		doc_set(d, "reason", a->reason);
		doc_set(d, "until", a->until_ms ? TEXT_DATE(a->until_ms) : NULL);
		doc_line(d, "It is written to " DOC_NAME "%s/" BASELINES_FILE DOC_END "; keep this file in git.", lab->directory);
		if (ignored)
			doc_line(d, "No night compares with this baseline: %s.", ignored);
		doc_set(d, "unused", ignored);
		free(ignored);
	}
	mem_free(baseline.application, baseline.version);
	return st;
}

static enum assay_status parse_reason(const char *text, void *to, struct assay_error *err)
{
	*(const char **)to = text;
	return machine_check_reason(text, err);
}

static enum assay_status parse_until(const char *text, void *to, struct assay_error *err)
{
	int64_t *until_ms = to;
	enum assay_status st = text_parse_day(text, until_ms, err);

	*until_ms += BASELINES_DAY_MS; /* the last day is valid, too */
	if (!st && *until_ms <= clock_real_ms())
		st = assay_fail(err, ASSAY_E_USAGE, "the day is in the past");
	return st;
}

static const struct cli_option accept_words[] = { CLI_ARGUMENT("APP@VERSION", struct accept_arguments, selector), CLI_END };
static const struct cli_option accept_options[] = {
	CLI_OPTION(PARSED, "reason", "TEXT", struct accept_arguments, reason, "Reason in one line (required)", .parse = parse_reason,
		   .required = true),
	CLI_PARSED("until", "DATE", struct accept_arguments, until_ms, parse_until,
		   "Last day on which the baseline is used, such as 2026-12-31 (default: no end)"),
	CLI_END,
};

const struct command baseline_accept_command = {
	.name = "baseline accept",
	.summary = "accept a version as the baseline of later ones",
	.about = "Makes APP@VERSION the baseline of later versions, for example after a release, or if a slowdown is the accepted price of "
		 "a feature. 'assay nightly run' compares with it, and each such decision names it. The entry is appended to "
		 "baselines.yaml in the laboratory, which you may edit. The last entry of an application that has not expired is used. A "
		 "night reports expired entries; if no entry is left, it makes no comparison with 'accepted'. APP is the baseline of all "
		 "inputs, APP/INPUT of one input.",
	.examples = "  assay baseline accept myapp@2.0 --reason 'release 2.0'\n"
		    "  assay baseline accept myapp@main-1a2b3c4d5e6f --reason 'checksums cost 4 %, wanted' --until 2027-01-31\n",
	.words = accept_words,
	.options = accept_options,
	CLI_RUN(struct accept_arguments, CLI_LAB_WRITE, accept_run),
};

static void list_row(const struct baselines *all, const struct baseline *b, const char *unused, int64_t now_ms, struct document *d)
{
	const char *state = now_ms >= b->until_ms			       ? "expired"
			    : baselines_find(all, b->application, now_ms) != b ? "replaced"
			    : unused					       ? "unused"
									       : "counts";
	char day[TEXT_DATE_BYTES], *accepted = b->accepted_ms ? mem_bytes(text_from_ms(b->accepted_ms, day), 10) : NULL,
				   *until = b->until_ms < INT64_MAX ? mem_bytes(text_from_ms(b->until_ms - 1, day), 10) : NULL;

	doc_row(d);
	doc_show(d, "application", "application", b->application);
	doc_show(d, "version", "version", b->version);
	doc_show(d, "state", "state", state);
	doc_show(d, "accepted", "accepted", accepted);
	doc_show(d, "until", "until", until);
	doc_show(d, "reason", "reason", b->reason);
	doc_set(d, "unused", unused);
	doc_set(d, "line", b->line);
	mem_free(accepted, until);
}

static enum assay_status list_run(struct lab *lab, void *arguments, struct document *d, struct assay_error *err)
{
	struct baselines all;
	int64_t now_ms = clock_real_ms();
	size_t count = 0;
	char **unused;
	enum assay_status st = baselines_read(lab->directory, &all, err);

	(void)arguments;
	if (st)
		return st;
	unused = mem_new(all.n, sizeof(*unused));
	for (size_t i = 0; i < all.n; i++) {
		bool found = baselines_find(&all, all.items[i].application, now_ms) == &all.items[i];

		unused[i] = found ? nightly_explain_unused_baseline(lab->directory, NULL, all.items[i].application) : NULL;
		count += found && !unused[i];
	}
	if (all.n)
		doc_line(d, "%zu baseline%s count%s, of %zu that were accepted", count, text_plural(count), count == 1 ? "s" : "", all.n);
	else
		doc_line(d, "no baselines yet ('assay baseline accept APP@VERSION --reason TEXT' adds one)");
	doc_table(d, "baselines");
	for (size_t i = 0; i < all.n; i++)
		list_row(&all, &all.items[i], unused[i], now_ms, d);
	doc_end(d);
	for (size_t i = 0; i < all.n; i++)
		if (unused[i])
			doc_line(d, "\nNo night compares %s with %s: %s.", all.items[i].application, all.items[i].version, unused[i]);
	mem_free_all(unused, all.n);
	baselines_release(&all);
	return st;
}

const struct command baseline_list_command = {
	.name = "baseline list",
	.summary = "list accepted baselines",
	.about = "Lists the entries of baselines.yaml: which one is used for each application, which were replaced by later ones, and "
		 "which have expired.",
	.examples = "  assay baseline list\n",
	.lab = CLI_LAB_READ,
	.run = list_run,
};
