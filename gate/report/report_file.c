#include "gate/report/report_file.h"

#include "base/file.h"
#include "base/mem.h"
#include "base/text.h"
#include "gate/published/walk.h"
#include "gate/report/report.h"
#include "runs/running/execution.h"

/* Is what failed on the machine in this plan among `failed`? */
static bool run_set_counts(const struct run_set *set, const char *machine, const char *plan)
{
	for (size_t i = 0; i < set->n_on; i++) {
		if (strcmp(set->on[i].machine, machine) == 0)
			return strcmp(set->on[i].plan, plan) == 0;
	}
	return false;
}

/* Runs that failed of the build that counts: those that the decision is about. */
static enum assay_status omit_failures(struct store *store, const struct run_set *runs, struct omissions *list, struct assay_error *err)
{
	struct execution_rows rows = { 0 };
	enum assay_status st = execution_failures(store, runs->application, runs->version, false, &rows, err);
	char *rest = mem_format(" of %s@%s", runs->application, runs->version);

	for (int outcome = 0; !st && outcome < EXECUTION_OUTCOMES; outcome++) {
		for (size_t i = 0; i < rows.n; i++) {
			const struct execution_row *row = &rows.items[i];

			if (row->outcome == (enum execution_outcome)outcome && run_set_counts(runs, row->machine, row->plan))
				omissions_one(list, execution_outcome_text(row->outcome), "run", rest, "%s, repetition %lld%s%s",
					      row->machine, (long long)row->repetition, *row->detail ? ": " : "", row->detail);
		}
	}
	free(rest);
	execution_rows_release(&rows);
	return st;
}

/* Results that do not count for this reason, by machine. */
static void omit_results(const struct run_set *runs, bool disturbed, const char *why, struct omissions *list)
{
	struct omission *omission;
	const char *last = "";
	size_t n = 0;

	for (size_t i = 0; i < runs->n_others; i++)
		n += runs->others[i].disturbed == disturbed;
	if (!n)
		return;
	omission = omissions_add(list, why, "%zu result%s of %s@%s", n, text_plural(n), runs->application, runs->version);
	for (size_t i = 0; i < runs->n_others; i++) {
		const struct run *run = &runs->others[i];

		if (run->disturbed == disturbed && strcmp(run->machine, last) != 0)
			omission_name(omission, "%s", last = run->machine);
	}
}

/* Executions that have samples, of a build whose results do not count. */
static void omit_samples(const struct function_evidence *functions, struct omissions *list)
{
	for (int i = 0; i < 2; i++)
		if (functions->there && functions->sides[i].others)
			omissions_add(list, "of another build than that of its results", "Samples of %zu run%s of %s",
				      functions->sides[i].others, text_plural(functions->sides[i].others), functions->sides[i].what);
}

/* ---- the page ---- */

static void found_of(const struct function_evidence *e, struct report_found *out)
{
	*out = (struct report_found){ .n = 0 };
	if (!e->there)
		return;
	out->changed = e->detected.n_worse + e->detected.n_improved;
	for (; out->n < out->changed && out->n < REPORT_FUNCTIONS; out->n++)
		out->functions[out->n] = mem_string(e->detected.functions[out->n].name);
}

void report_found_release(struct report_found *found)
{
	for (size_t i = 0; i < found->n; i++)
		free(found->functions[i]);
	*found = (struct report_found){ .n = 0 };
}

enum assay_status report_file(struct lab *lab, const struct evidence *evidence, const struct report_file *file, const char *path,
			      struct report_found *found, struct assay_error *err)
{
	const struct verdict *v = &file->comparison->verdict;
	const struct run_set *const sides[] = { v->baseline, v->candidate };
	struct omissions omissions = { 0 };
	struct page_profile profiles[2];
	struct buf page = BUF_INIT;
	struct report report = { .evidence = evidence,
				 .config = &lab->config,
				 .comparison = file->comparison,
				 .omissions = &omissions,
				 .profiles = profiles,
				 .above = file->above,
				 .note = file->note };
	enum assay_status st = ASSAY_OK;

	if (found)
		found_of(&file->comparison->functions, found);
	for (int i = 0; i < 2; i++) {
		if (file->published)
			paper_bars_of(evidence, sides[i], &profiles[i], &omissions);
		else
			page_profile_of(evidence, sides[i], &profiles[i], &omissions);
	}
	for (int i = 0; i < 2; i++) {
		omit_results(sides[i], false, "of another build than that of its latest runs", &omissions);
		omit_results(sides[i], true, "disturbed by what else the machine did", &omissions);
	}
	omit_samples(&file->comparison->functions, &omissions);
	for (int i = 0; !st && i < 2; i++)
		st = omit_failures(&lab->store, sides[i], &omissions, err);
	if (!st) {
		report_page(&report, &page);
		st = (file->unsynced ? file_replace_unsynced : file_replace)(path, page.bytes, page.size, 0644, err);
	}
	for (int i = 0; i < 2; i++)
		page_profile_release(&profiles[i]);
	omissions_release(&omissions);
	buf_release(&page);
	return st;
}
