#include "gate/nightly/night_machines.h"

#include "base/json.h"
#include "base/mem.h"
#include "base/order.h"
#include "base/text.h"

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
	m->items[m->n] = (struct night_machine){ .name = name, .health = NIGHT_WELL };
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

/* ---- whether they were as usual ---- */

static void find_latest_fingerprint(struct night_machine *m, const struct night *night, const struct fingerprint_set *set)
{
	int64_t until_ms = night->finished_ms ? night->finished_ms : INT64_MAX;

	for (size_t k = 0; k < set->n; k++)
		if (strcmp(set->items[k].machine, m->name) == 0 && set->items[k].taken_ms <= until_ms &&
		    set->items[k].taken_ms > m->taken_ms)
			m->taken_ms = set->items[k].taken_ms;
}

static enum night_health health_of(const struct night_machine *m, const struct night *night, double max_age_days)
{
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
		find_latest_fingerprint(&out->items[i], night, &evidence->fingerprints);
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

static void show_machine(const struct night_machine *m, struct document *d)
{
	/* Told apart without colours, too. */
	static const char *const signs[NIGHT_HEALTHS] = {
		[NIGHT_DISTURBED] = "\u2248", [NIGHT_OLD] = "\u25f7", [NIGHT_UNKNOWN] = "?", [NIGHT_WELL] = "\u2713"
	};
	static const char *const classes[NIGHT_HEALTHS] = {
		[NIGHT_DISTURBED] = "environment", [NIGHT_OLD] = "inconclusive", [NIGHT_UNKNOWN] = "nothing_measured", [NIGHT_WELL] = "pass"
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
	free(causes);
}

void night_machines_show(const struct night_machines *machines, struct document *d)
{
	doc_section(d, "machines", "Machines", "The machines, and whether they were as usual",
		    "What each of them did this night, what disturbed its runs, and the day of its latest fingerprint.");
	doc_table(d, NULL);
	doc_style(d, "health wide sortable");
	doc_caption(d, "The machines of this night");
	for (size_t i = 0; i < machines->n; i++)
		show_machine(&machines->items[i], d);
	doc_end(d);
	if (!machines->n)
		doc_styled(d, "empty", "No machine has measured anything.");
}
