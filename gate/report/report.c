/* The report put together, and what its sections share. */
#include "gate/report/report.h"

#include "base/mem.h"
#include "gate/page/page.h"
#include "gate/report/report_sections.h"

#include <math.h>

/* ---- what sections share ---- */

static struct report_names names_of(const struct run_set *baseline, const struct run_set *candidate)
{
	const struct run_set *sets[] = { baseline, candidate };
	bool same_application = strcmp(baseline->application, candidate->application) == 0;
	bool same_version = strcmp(baseline->version, candidate->version) == 0;
	struct report_names names;

	for (int i = 0; i < 2; i++) {
		if (same_application && !same_version)
			names.of[i] = mem_string(sets[i]->version);
		else if (same_version && !same_application)
			names.of[i] = mem_string(sets[i]->application);
		else
			names.of[i] = mem_format("%s@%s", sets[i]->application, sets[i]->version);
	}
	if (same_application && !same_version)
		names.sentence = mem_format("%s %s", candidate->application, candidate->version);
	else
		names.sentence = mem_string(names.of[1]);
	return names;
}

static void names_release(struct report_names *names)
{
	free(names->of[0]);
	free(names->of[1]);
	free(names->sentence);
}

size_t report_used(const struct verdict *verdict)
{
	size_t used = 0;

	for (size_t i = 0; i < verdict->pairing.n; i++)
		used += verdict->pairing.machines[i].reason == PAIRING_USED;
	return used;
}

int report_decimals(double ratio)
{
	int decimals = 3;

	while (decimals < 9 && ratio * pow(10, decimals) < 100)
		decimals++;
	return ratio >= 10 ? 2 : decimals;
}

char *report_number(double ratio, int decimals)
{
	return ratio >= 1e6 || ratio < 1e-6 ? mem_format("%.3g", ratio) : mem_format("%.*f", decimals, ratio);
}

/* ---- machines ---- */

static int compare_machines(const void *a, const void *b)
{
	const struct fingerprint *x = *(const struct fingerprint *const *)a, *y = *(const struct fingerprint *const *)b;
	int order = strcmp(x->machine, y->machine);

	if (!order)
		order = (x->taken_ms > y->taken_ms) - (x->taken_ms < y->taken_ms);
	return order ? order : strcmp(x->id, y->id);
}

/* The latest fingerprint that belongs to a run of this machine; NULL when none does. */
static const struct fingerprint *of_runs(const struct report *report, const char *machine)
{
	const struct run_set *sets[] = { report->verdict->baseline, report->verdict->candidate };
	const struct fingerprint *latest = NULL;

	for (int i = 0; i < 2; i++) {
		for (size_t k = 0; k < sets[i]->n; k++) {
			const struct fingerprint *f;

			if (strcmp(sets[i]->items[k].machine, machine) != 0)
				continue;
			f = fingerprint_find(&report->evidence->fingerprints, sets[i]->items[k].fingerprint);
			if (f && (!latest || f->taken_ms > latest->taken_ms))
				latest = f;
		}
	}
	return latest;
}

static bool is_used(const struct verdict *verdict, const struct fingerprint *f)
{
	for (size_t i = 0; i < verdict->pairing.n; i++) {
		if (verdict->pairing.machines[i].reason == PAIRING_USED && verdict->pairing.machines[i].fingerprint == f)
			return true;
	}
	return false;
}

static struct report_machines machines_of(const struct report *report)
{
	const struct pairing *p = &report->verdict->pairing;
	struct report_machines out = { mem_new(p->n, sizeof(*out.fingerprints)), mem_new(p->n, sizeof(bool)), 0, 0 };

	for (size_t i = 0; i < p->n; i++) {
		const struct fingerprint *f = p->machines[i].fingerprint;
		bool known = false;

		if (!f)
			f = of_runs(report, p->machines[i].machine);
		for (size_t k = 0; k < out.n && !known; k++)
			known = out.fingerprints[k] == f;
		if (f && !known)
			out.fingerprints[out.n++] = f;
	}
	qsort(out.fingerprints, out.n, sizeof(*out.fingerprints), compare_machines);
	for (size_t i = 0; i < out.n; i++) {
		out.used[i] = is_used(report->verdict, out.fingerprints[i]);
		out.emulated += out.fingerprints[i]->profile != NULL;
	}
	return out;
}

static void machines_release(struct report_machines *machines)
{
	free(machines->fingerprints);
	free(machines->used);
	*machines = (struct report_machines){ 0 };
}

/* ---- the page ---- */

static char *title_of(const struct report *report, const struct report_names *names)
{
	return mem_format("%s: %s against %s", decision_text(report->verdict->effect.decision), names->sentence, names->of[0]);
}

static void begin(const struct report *report, const struct report_names *names, struct buf *out)
{
	static const struct page_link all[] = { { "ratios", "Machines" },     { "moves", "What it moves with" },
						{ "time", "Time" },	      { "functions", "Functions" },
						{ "profiles", "Profiles" },   { "fingerprints", "Fingerprints" },
						{ "conditions", "Conditions" }, { "left-out", "Left out" } };
	const struct function_evidence *f = report->functions;
	struct page_link links[sizeof(all) / sizeof(all[0])];
	size_t n_links = 0;
	char *title = title_of(report, names), *class = mem_format("d-%s", decision_text(report->verdict->effect.decision));
	struct page page = { .title = title, .class = class, .kind = "report", .lab = report->config->name,
			     .skip = "Skip to the decision", .links = links };

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		if (strcmp(all[i].id, "time") == 0 && !report->contributions)
			continue;
		if (strcmp(all[i].id, "functions") == 0 && !(f && (f->there || f->missing)))
			continue;
		links[n_links++] = all[i];
	}
	page.n_links = n_links;
	page_begin(&page, out);
	free(title);
	free(class);
}

void report_page(const struct report *report, struct buf *out)
{
	struct report_names names = names_of(report->verdict->baseline, report->verdict->candidate);
	struct report_machines machines = machines_of(report);
	struct heatmap map;

	heatmap_of(&report->evidence->fingerprints, machines.fingerprints, machines.n, &map);
	begin(report, &names, out);
	report_decision(report, &names, out);
	report_ratios(report->verdict, out);
	report_resources(report->verdict, &names, out);
	if (report->contributions)
		report_contributions(report->contributions, report->verdict, out);
	if (report->functions)
		report_functions(report->functions, report->verdict->effect.decision, out);
	if (report->likeness)
		report_signatures(report->likeness, out);
	report_profiles(report->profiles, &names, out);
	report_heatmap(&map, &report->evidence->fingerprints, &machines, out);
	report_conditions(report->evidence, &machines, out);
	report_left_out(report, &map, out);
	report_method(report, out);
	page_end(out);
	heatmap_release(&map);
	machines_release(&machines);
	names_release(&names);
}
