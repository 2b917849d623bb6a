#include "gate/nightly/night_machines.h"

#include "base/json.h"
#include "base/mem.h"
#include "base/order.h"
#include "base/stats.h"
#include "base/text.h"
#include "fingerprint/compare/compare.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define DISTURBED_SHARE .1 /* of its runs from which a machine was not itself */
#define DAY_MS		INT64_C(86400000)

static ROWS_FUNCTION(health_code, enum night_health, NIGHT_HEALTH_ROWS, ROWS_CODE) static ROWS_FUNCTION(health_text, enum night_health,
													NIGHT_HEALTH_ROWS, ROWS_TEXT)

    /* ---- what they did ---- */

    static struct night_machine *machine_of(struct night_machines *m, const char *name)
{
	for (size_t i = 0; i < m->n; i++)
		if (strcmp(m->items[i].name, name) == 0)
			return &m->items[i];
	m->items = mem_grow(m->items, m->n, &m->capacity, sizeof(*m->items));
	m->items[m->n] = (struct night_machine){ .name = name, .ratio = (double)NAN, .health = NIGHT_WELL };
	return &m->items[m->n++];
}

static void count_disturbed(struct night_machines *m, const cJSON *run)
{
	struct night_machine *machine = machine_of(m, json_get_text(run, "machine"));
	int cause = 0;

	while (cause < DISTURBED_CAUSES && strcmp(disturbed_code((enum disturbed_cause)cause), json_get_text(run, "cause")) != 0)
		cause++;
	machine->disturbed++;
	machine->left_out += cJSON_IsTrue(json_get(run, "left_out")) ? 1 : 0;
	if (cause < DISTURBED_CAUSES)
		machine->causes[cause]++;
}

static void count_decision(struct night_machines *m, const cJSON *document)
{
	const cJSON *item;

	cJSON_ArrayForEach(item, json_get(json_get(document, "runs"), "machines"))
	{
		struct night_machine *machine = machine_of(m, json_get_text(item, "machine"));

		machine->comparisons++;
		machine->runs += json_get_count(item, "baseline_runs") + json_get_count(item, "candidate_runs");
	}
	cJSON_ArrayForEach(item, json_get(document, "disturbed")) count_disturbed(m, item);
}

ORDER_BY(compare_names, struct night_machine, BY_TEXT(name))

/* ---- what their fingerprints say ---- */

static void compare_with_reference(struct night_machine *m, const struct evidence *evidence, const struct fingerprint *latest, size_t looks)
{
	const struct machine *machine = catalog_find(&evidence->catalog, m->name);
	const struct machine_fingerprint *of_catalog = machine ? machine_find(machine, latest->id) : NULL,
					 *of_reference = of_catalog ? drift_reference(machine, of_catalog, NULL) : NULL;
	const struct fingerprint *reference = of_reference ? fingerprint_find(&evidence->fingerprints, of_reference->id) : NULL;
	struct compare compare;
	double *logs;
	size_t n = 0;

	if (!reference || reference == latest || compare_fingerprints(&evidence->fingerprints, reference, latest, looks, &compare, NULL))
		return;
	logs = mem_new(compare.n + 1, sizeof(*logs));
	for (size_t i = 0; i < compare.n; i++) {
		double ratio = compare.rows[i].ratio;

		if (!isfinite(ratio) || ratio <= 0)
			continue;
		logs[n++] = log(ratio);
	}
	m->ratio = n ? exp(stats_median(logs, n)) : (double)NAN;
	m->compared = compare.compared;
	m->differing = compare.differing;
	free(logs);
	compare_release(&compare);
}

static void look_at_fingerprints(struct night_machine *m, const struct night *night, const struct evidence *evidence, size_t looks)
{
	const struct fingerprint_set *set = &evidence->fingerprints;
	const struct fingerprint *latest = NULL;
	int64_t until_ms = night->finished_ms ? night->finished_ms : INT64_MAX;

	for (size_t k = 0; k < set->n; k++)
		if (strcmp(set->items[k].machine, m->name) == 0 && set->items[k].taken_ms <= until_ms &&
		    (!latest || set->items[k].taken_ms > latest->taken_ms))
			latest = &set->items[k];
	if (!latest)
		return;
	m->taken_ms = latest->taken_ms;
	compare_with_reference(m, evidence, latest, looks);
}

static enum night_health health_of(const struct night_machine *m, const struct night *night, double max_age_days)
{
	if (m->differing)
		return m->ratio < 1 ? NIGHT_SLOWER : NIGHT_FASTER;
	if (m->disturbed && (double)m->disturbed >= DISTURBED_SHARE * (double)(m->runs + m->left_out))
		return NIGHT_DISTURBED;
	if (!m->taken_ms)
		return NIGHT_UNKNOWN;
	return (double)(night->started_ms - m->taken_ms) > max_age_days * (double)DAY_MS ? NIGHT_OLD : NIGHT_WELL;
}

void night_machines_of(const struct night *night, const struct night_answers *answers, const struct evidence *evidence, double max_age_days,
		       struct night_machines *out)
{
	*out = (struct night_machines){ .n = 0 };
	for (size_t i = 0; i < answers->n; i++)
		count_decision(out, answers->items[i].document);
	order_sort(out->items, out->n, compare_names);
	for (size_t i = 0; i < out->n; i++) {
		look_at_fingerprints(&out->items[i], night, evidence, out->n);
		out->items[i].health = health_of(&out->items[i], night, max_age_days);
	}
}

void night_machines_release(struct night_machines *machines)
{
	free(machines->items);
	*machines = (struct night_machines){ .n = 0 };
}

/* ---- for people ---- */

static char *causes_text(const struct night_machine *m)
{
	static const char *const words[DISTURBED_CAUSES] = { [DISTURBED_WAITED] = "kept waiting",
							     [DISTURBED_THROTTLED] = "throttled",
							     [DISTURBED_IO] = "input and output",
							     [DISTURBED_MEMORY] = "memory",
							     [DISTURBED_STOLEN] = "stolen time" };
	struct buf text = BUF_INIT;

	buf_text(&text, "");
	for (int k = 0; k < DISTURBED_CAUSES; k++)
		if (m->causes[k])
			buf_format(&text, "%s%zu %s", text.size ? ", " : "", m->causes[k], words[k]);
	return buf_take(&text);
}

static void show_machine(const struct night_machine *m, bool rates, struct document *d)
{
	/* Told apart without colours, too. */
	static const char *const signs[NIGHT_HEALTHS] = {
		[NIGHT_SLOWER] = "\u25bc", [NIGHT_FASTER] = "\u25b2", [NIGHT_DISTURBED] = "\u2248",
		[NIGHT_OLD] = "\u25f7",	   [NIGHT_UNKNOWN] = "?",     [NIGHT_WELL] = "\u2713"
	};
	static const char *const classes[NIGHT_HEALTHS] = {
		[NIGHT_SLOWER] = "regression", [NIGHT_FASTER] = "improved",	     [NIGHT_DISTURBED] = "environment",
		[NIGHT_OLD] = "inconclusive",  [NIGHT_UNKNOWN] = "nothing_measured", [NIGHT_WELL] = "pass"
	};
	char date[TEXT_DATE_BYTES], *causes = causes_text(m);

	doc_row(d);
	doc_data(d, "health", "%s", health_code(m->health));
	doc_show(d, NULL, "machine", m->name);
	doc_showf(d, NULL, "state", "", "\1word d-%s\2%s %s\3", classes[m->health], signs[m->health], health_text(m->health));
	doc_show(d, NULL, "comparisons", m->comparisons);
	doc_show(d, NULL, "results", m->runs);
	doc_show(d, NULL, "disturbed runs", m->disturbed);
	doc_show(d, NULL, "left out", m->left_out);
	doc_showf(d, NULL, "because", "", "%s", causes);
	doc_showf(d, NULL, "fingerprint", m->taken_ms ? doc_value_integer(m->taken_ms) : DOC_NOTHING, "%.10s",
		  text_from_ms(m->taken_ms, date));
	if (rates) {
		doc_showf(d, NULL, "rates, now / reference", m->ratio, "%s", text_fixed(m->ratio, 3).text);
		doc_showf(d, NULL, "stressors that differ", m->compared ? doc_value_size(m->differing) : DOC_NOTHING, "%zu of %zu",
			  m->differing, m->compared);
	}
	free(causes);
}

void night_machines_show(const struct night_machines *machines, struct document *d)
{
	bool rates = false;

	for (size_t i = 0; i < machines->n; i++)
		rates = rates || !isnan(machines->items[i].ratio);
	doc_section(d, "machines", "Machines", "The machines, and whether they were as usual",
		    "What each of them did this night, what disturbed its runs, and its latest fingerprint beside the one that it is "
		    "measured against: the median of its stressors' rates.");
	doc_table(d, NULL);
	doc_style(d, "health wide sortable");
	doc_caption(d, "The machines of this night");
	for (size_t i = 0; i < machines->n; i++)
		show_machine(&machines->items[i], rates, d);
	doc_end(d);
	if (!machines->n)
		doc_styled(d, "empty", "No machine has measured anything.");
}
