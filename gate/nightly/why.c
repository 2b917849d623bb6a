#include "gate/nightly/why.h"

#include "base/clock.h"
#include "base/mem.h"

#include <math.h>

static bool explanation_is_needed(const struct comparison *c, bool left)
{
	enum decision decision = c->verdict.effect.decision;

	ASSAY_BUG_IF(c->last < COMPARISON_FUNCTIONS);
	return !function_evidence_is_sure(&c->functions) &&
	       (decision == DECISION_REGRESSION || (decision == DECISION_INCONCLUSIVE && left));
}

static size_t count_used_of_type(const struct pairing *pairing, size_t type)
{
	size_t n = 0;

	for (size_t i = 0; i < pairing->n; i++)
		n += pairing->machines[i].reason == PAIRING_USED && pairing->machines[i].type == type;
	return n;
}

static char *explanation_choose_hosts(const struct inventory *inventory, const struct pairing *pairing, size_t *n)
{
	struct buf names = BUF_INIT;
	size_t best = 0;

	for (size_t type = 1; type < pairing->n_types; type++) {
		size_t more = count_used_of_type(pairing, type), most = count_used_of_type(pairing, best);

		if (more > most || (more == most && strcmp(pairing->types[type], pairing->types[best]) < 0))
			best = type;
	}
	*n = 0;
	for (size_t i = 0; i < pairing->n; i++) {
		const struct pairing_machine *m = &pairing->machines[i];
		const struct host *host = m->reason == PAIRING_USED && m->type == best ? inventory_find(inventory, m->machine) : NULL;

		if (host && !host->exclusion_reason)
			buf_format(&names, "%s%s", (*n)++ ? "," : "", host->name);
	}
	return *n ? buf_take(&names) : mem_string("");
}

void explanation_plan(const struct comparison *c, bool left, const struct inventory *inventory, struct explanation *out)
{
	const struct measured *m = &c->measured;
	double least = DETECT_LARGE_SHARE * fmin(m->seconds[0], m->seconds[1]);

	*out = (struct explanation){ .is_needed = explanation_is_needed(c, left) };
	if (!out->is_needed)
		return;
	out->host_names = explanation_choose_hosts(inventory, &c->verdict.pairing, &out->hosts);
	for (int slower = 1; slower >= 0; slower--) {
		for (size_t i = 0; i < m->n; i++) {
			const struct measured_part *part = &m->parts[i];
			bool is_slower = part->certain && part->difference > 0,
			     is_large = fmax(part->seconds[0], part->seconds[1]) >= least;

			if (part->depth == PART_FUNCTION && (slower ? is_slower : is_large && !is_slower))
				manifest_arguments_add(&out->extra_functions, part->name);
		}
		out->slower = slower ? out->extra_functions.n : out->slower;
	}
}

size_t explanation_runs_needed(void)
{
	return (size_t)ceil(1 / detector_defaults.rate - 1);
}

void explanation_set_reason(struct explanation *why, const char *code, const char *text)
{
	free(why->text);
	why->code = code;
	why->text = mem_string(text);
}

/* Reports whether an error comes from the versions, not from the machine or the user. The decision then stands without functions. */
static bool explanation_is_refusal(enum assay_status st)
{
	return st == ASSAY_E_NODATA || st == ASSAY_E_USAGE || st == ASSAY_E_FORMAT || st == ASSAY_E_LIMIT || st == ASSAY_E_NOTFOUND;
}

static enum assay_status explanation_set_refusal(struct explanation *why, enum variant_reason reason, enum assay_status st,
						 const struct assay_error *err)
{
	if (!explanation_is_refusal(st))
		return st;
	explanation_set_reason(why, st == ASSAY_E_NODATA ? "nothing_changed" : variant_reason_codes[reason ? reason : VARIANT_NOT_PROBED],
			       err->text);
	return ASSAY_OK;
}

static const char *explanation_first_fault(const struct launch *launch)
{
	for (size_t i = 0; i < launch->n; i++)
		if (launch->results[i].fleet.outcome != FLEET_OK)
			return launch->results[i].fleet.message;
	return "all runs with measured functions failed";
}

static bool explanation_has_hardware(const struct launch *launch)
{
	for (size_t i = 0; i < launch->n_samples_of_plan; i++)
		if (launch->samples[i].back_end == RECORD_PAPI)
			return true;
	return false;
}

/* Returns the total duration of the runs, s. */
static double explanation_duration_s(const struct launch *launch)
{
	double ns = 0;

	for (size_t i = 0; i < launch->rows.n; i++)
		ns += fmax(0, (double)launch->rows.items[i].wall_ns);
	return ns / 1e9;
}

/* Runs both versions with emulated counters, because the CPUs have none: time shows which functions are slower, counters show the reason.
 * Makes one repetition first, and the others only if the time then suffices. If the versions prevent emulation, returns ASSAY_OK. */
static enum assay_status explanation_emulate(struct launch_options *o, size_t n, struct explanation *out, struct assay_error *err)
{
	int64_t repetitions[] = { 1, o->choice.repetitions - 1 };
	enum assay_status st = ASSAY_OK;
	bool enough = true;

	o->choice.emulated = true;
	o->resume = false;
	for (int step = 0; !st && step < 2 && enough && repetitions[step]; step++) {
		struct launch run;
		size_t ok = 0;

		o->choice.repetitions = repetitions[step];
		st = launch_run(o, &run, err);
		if (!st) {
			ok = launch_count(&run, NULL, NULL, NULL).ok;
			enough = ok == 2 * n && (double)repetitions[1] * explanation_duration_s(&run) <=
						    (double)(o->until_ns - clock_monotonic_ns()) / 1e9;
		}
		out->emulated += ok;
		launch_release(&run);
	}
	return explanation_is_refusal(st) ? ASSAY_OK : st;
}

enum assay_status explanation_measure(const struct launch_options *launch, double budget_s, struct explanation *out,
				      struct assay_error *err)
{
	struct launch_options o = *launch;
	size_t needed = explanation_runs_needed(), n = out->hosts;
	int64_t began_ns = clock_monotonic_ns();
	struct launch run;
	bool counted = true;
	enum assay_status st;

	if (!n) {
		explanation_set_reason(out, "no_hosts", "no compared machine is a host of the laboratory now");
		return ASSAY_OK;
	}
	o.hosts = (struct host_choice){ .hosts = out->host_names };
	o.choice.probe = true;
	o.choice.extra_functions = out->extra_functions;
	o.choice.slower = out->slower;
	o.choice.repetitions = (int64_t)((needed + n - 1) / n);
	o.skip_hung = true;
	o.until_ns = began_ns + (int64_t)(budget_s * 1e9);
	st = launch_run(&o, &run, err);
	if (run.nothing_to_resume) {
		launch_release(&run);
		o.resume = false;
		st = launch_run(&o, &run, err);
	}
	if (st) {
		st = explanation_set_refusal(out, run.no_variant, st, err);
	} else {
		out->runs = launch_count(&run, NULL, NULL, NULL).ok;
		snprintf(out->plan, sizeof(out->plan), "%s", run.plan.id);
		if (!out->runs)
			explanation_set_reason(out, "failed", explanation_first_fault(&run));
		counted = !out->runs || explanation_has_hardware(&run);
	}
	launch_release(&run);
	if (!st && !counted)
		st = explanation_emulate(&o, n, out, err);
	out->seconds = (double)(clock_monotonic_ns() - began_ns) / 1e9;
	return st;
}

void explanation_release(struct explanation *why)
{
	manifest_arguments_release(&why->extra_functions);
	mem_free(why->host_names, why->text);
	*why = (struct explanation){ .is_needed = false };
}

void explanation_describe(const struct explanation *why, const char *what, struct document *d)
{
	doc_object(d, "why");
	doc_hide(d);
	doc_set_empty(d, "plan", *why->plan ? why->plan : NULL);
	doc_set(d, "hosts", why->hosts);
	doc_set(d, "runs", why->runs);
	doc_set(d, "emulated", why->emulated);
	doc_set(d, "seconds", why->seconds);
	doc_set_empty(d, "code", why->code);
	doc_set_empty(d, "text", why->text);
	doc_end(d);
	if (why->text)
		doc_line(d, "%s were not measured: %s", what, why->text);
}
