/* Command 'assay host drift'. */
#include "base/clock.h"
#include "base/mem.h"
#include "base/text.h"
#include "fingerprint/commands/fingerprint_commands.h"
#include "fingerprint/compare/compare.h"
#include "fingerprint/stored/fingerprint.h"
#include "fleet/inventory/nodeset.h"

#include <math.h>
#include <stdlib.h>

#define ROWS_SHOWN     8  /* maximum number of stressors shown per machine */
#define CONDITIONS_MAX 64 /* maximum number of changed conditions shown per machine */

static void add_change(cJSON *list, const char *name, const char *before, const char *after)
{
	cJSON *object;

	if (before && after && strcmp(before, after) == 0)
		return;
	object = cJSON_CreateObject();
	cJSON_AddItemToArray(list, object);
	cJSON_AddStringToObject(object, "name", name);
	cJSON_AddStringToObject(object, "before", before ? before : "not known");
	cJSON_AddStringToObject(object, "after", after ? after : "not known");
}

/* Compares the texts in two JSON objects of conditions (kernel, governor, ...), but not the numbers, such as load. Returns an array of
 * {name, before, after}; empty if `before` or `after` is NULL. The caller calls cJSON_Delete(). */
static cJSON *conditions_changes(const char *before, const char *after)
{
	cJSON *list = cJSON_CreateArray(), *a = before && after ? cJSON_Parse(before) : NULL, *b = a ? cJSON_Parse(after) : NULL;
	const cJSON *item, *other;

	cJSON_ArrayForEach(item, a)
	{
		other = cJSON_GetObjectItemCaseSensitive(b, item->string);
		if (cJSON_IsString(item))
			add_change(list, item->string, item->valuestring, cJSON_GetStringValue(other));
	}
	cJSON_ArrayForEach(item, b)
	{
		if (cJSON_IsString(item) && !cJSON_GetObjectItemCaseSensitive(a, item->string))
			add_change(list, item->string, NULL, item->valuestring);
	}
	cJSON_Delete(a);
	cJSON_Delete(b);
	return list;
}

/* ---- text ---- */

static void add_comparison(const struct drift_history *past, struct document *d)
{
	doc_line(d, "%s (%s): %s against %s%s", past->machine->id, past->latest->battery, TEXT_DATE(past->latest->taken_ms),
		 TEXT_DATE(past->reference->taken_ms), past->acceptance ? ", accepted" : "");
	compare_add_largest(&past->compare, ROWS_SHOWN, d);
	if (past->compare.n_differing > ROWS_SHOWN)
		doc_line(d, "    ('assay host show %s %s' shows all)", past->reference->id, past->latest->id);
}

static void show_similar(const char *folded, const char *text, void *to)
{
	doc_line(to, "  %s: %s", folded, text);
}

/* Adds the changed conditions of machines that differ from their past. Machines with the same change share a line. */
static void add_conditions(const struct drift *drift, struct document *d)
{
	const char **names = mem_new(drift->n * CONDITIONS_MAX, sizeof(*names));
	char **texts = mem_new(drift->n * CONDITIONS_MAX, sizeof(*texts));
	size_t n = 0;

	for (size_t i = 0; i < drift->n; i++) {
		const struct drift_history *past = &drift->past[i];
		cJSON *changes = past->compare.n_differing ? conditions_changes(past->reference->conditions, past->latest->conditions)
							   : cJSON_CreateArray();
		size_t end = n + CONDITIONS_MAX;
		const cJSON *item;

		cJSON_ArrayForEach(item, changes)
		{
			if (n == end)
				break;
			names[n] = past->machine->id;
			texts[n++] = mem_format("%s was '%s' and is '%s'", cJSON_GetStringValue(cJSON_GetObjectItem(item, "name")),
						conditions_format(cJSON_GetStringValue(cJSON_GetObjectItem(item, "before"))),
						conditions_format(cJSON_GetStringValue(cJSON_GetObjectItem(item, "after"))));
		}
		cJSON_Delete(changes);
	}
	nodeset_fold_alike(names, texts, n, show_similar, d);
	mem_free_all(texts, n);
	free(names);
}

/* Adds the changes of stress-ng's version since the previous fingerprint of each machine. */
static void add_versions(const struct drift *drift, struct document *d)
{
	const char **names = mem_new(drift->n, sizeof(*names));
	char **texts = mem_new(drift->n, sizeof(*texts));

	for (size_t i = 0; i < drift->n; i++) {
		const struct machine_fingerprint *f = drift->past[i].latest;
		const char *before = drift_previous_version(drift->past[i].machine, f);

		names[i] = drift->past[i].machine->id;
		if (before)
			texts[i] = mem_format("stress-ng was %s and is %s: fingerprints (%s) before and after are not compared", before,
					      f->stress_ng, f->battery);
	}
	nodeset_fold_alike(names, texts, drift->n, show_similar, d);
	mem_free_all(texts, drift->n);
	free(names);
}

/* A line of text that lists machines. */
struct listing {
	const char *before;
	struct buf text;
};

static void list_battery(const char *folded, const char *battery, void *to)
{
	struct listing *l = to;

	buf_format(&l->text, "%s%s (%s)", l->before, folded, battery);
	l->before = ", ";
}

/* Adds a line that lists the machines in `state`, such as "a, node[1-3] (quick)". `peers`: compared with the type, not with the past. */
static void add_states(const struct drift *drift, enum drift_state state, bool peers, const char *before, struct document *d)
{
	struct listing list = { before, BUF_INIT };
	const char **names = mem_new(drift->n, sizeof(*names));
	char **batteries = mem_new(drift->n, sizeof(*batteries));

	for (size_t i = 0; i < drift->n; i++) {
		names[i] = drift->past[i].machine->id;
		if ((peers ? drift->peers[i].state : drift->past[i].state) == state)
			batteries[i] = drift->past[i].latest->battery;
	}
	nodeset_fold_alike(names, batteries, drift->n, list_battery, &list);
	if (list.text.size)
		doc_line(d, "%s", list.text.bytes);
	buf_release(&list.text);
	mem_free(batteries, names);
}

static void add_all_comparisons(const struct drift *drift, struct document *d)
{
	char shows[80] = "too few fingerprints to know their usual differences";
	const struct compare *any = NULL;
	size_t compared = 0, differ = 0;

	for (size_t i = 0; i < drift->n; i++) {
		any = drift->past[i].state == DRIFT_COMPARED ? &drift->past[i].compare : any;
		compared += drift->past[i].state == DRIFT_COMPARED;
		differ += drift->past[i].compare.n_differing > 0;
	}
	if (any && isfinite(any->rows[any->n].high))
		snprintf(shows, sizeof(shows), "a change of about %.0f %% would be detected",
			 100 * (any->rows[any->n].high / any->rows[any->n].ratio - 1));
	doc_line(d, "Compared with their own past, %zu of %zu machines differ%s%s%s", differ, compared, differ == 1 ? "s" : "",
		 any ? "; " : "", any ? shows : "");
	for (size_t i = 0; i < drift->n; i++) {
		if (drift->past[i].compare.n_differing)
			add_comparison(&drift->past[i], d);
	}
	add_conditions(drift, d);
	add_versions(drift, d);
	for (size_t i = 0; i < drift->n; i++) {
		const struct drift_history *past = &drift->past[i];

		if (drift_other_work_at(past, past->latest))
			doc_line(d, "  busy: %s (%s): its latest fingerprint is not used, it was taken with %s", past->machine->id,
				 past->latest->battery, drift_other_work_at(past, past->latest));
	}
	add_states(drift, DRIFT_NOTHING_TO_COMPARE, false, "  no second fingerprint to compare with: ", d);
	add_states(drift, DRIFT_IS_REFERENCE, false, "  nothing newer than the accepted fingerprint: ", d);
	add_states(drift, DRIFT_BUSY, false, "  busy, with no other fingerprint to compare: ", d);
	add_states(drift, DRIFT_NO_RAW_RECORD, false, "  raw record missing (see 'assay check'): ", d);
}

static void add_peer(const struct drift_history *past, const struct drift_peer *peer, const struct types *types, struct document *d)
{
	doc_line(d, "%s (%s), of type %s", past->machine->id, past->latest->battery, types->types[peer->type].name);
	doc_table(d, NULL);
	for (size_t i = 0; i < peer->n && i < ROWS_SHOWN; i++) {
		const struct drift_stressor *stressor = &peer->stressors[i];

		doc_row(d);
		doc_show(d, NULL, "stressor", stressor->name);
		doc_showf(d, NULL, "ratio to the others", stressor->ratio, "%.3f", stressor->ratio);
		doc_showf(d, NULL, "differs from", stressor->differ, "%zu of %zu", stressor->differ, stressor->others);
	}
	doc_end(d);
	if (peer->n > ROWS_SHOWN)
		doc_line(d, "    and %zu more (--format json has all)", peer->n - ROWS_SHOWN);
}

static void add_all_peers(const struct drift *drift, const struct types *types, struct document *d)
{
	size_t compared = 0, differ = 0;

	for (size_t i = 0; i < drift->n; i++) {
		compared += drift->peers[i].state == DRIFT_COMPARED;
		differ += drift->peers[i].n > 0;
	}
	doc_heading(d, "Compared with others of their hardware type, %zu of %zu machines differ%s", differ, compared,
		    differ == 1 ? "s" : "");
	for (size_t i = 0; i < drift->n; i++) {
		if (drift->peers[i].n)
			add_peer(&drift->past[i], &drift->peers[i], types, d);
	}
	add_states(drift, DRIFT_NOTHING_TO_COMPARE, true, "  no second machine of their type: ", d);
	add_states(drift, DRIFT_BUSY, true, "  busy: ", d);
	add_states(drift, DRIFT_NO_RAW_RECORD, true, "  raw record missing (see 'assay check'): ", d);
}

static void add_folded(const char *before, const char *const *names, size_t n, const char *behind, struct document *d)
{
	char *folded;

	if (!n)
		return;
	folded = nodeset_fold(names, n);
	doc_line(d, "\n%s%s%s", before, folded, behind);
	free(folded);
}

static void add_excluded(const struct catalog *catalog, const struct drift *drift, struct document *d)
{
	const char **names = mem_new(catalog->n + drift->n_ahead, sizeof(*names));
	size_t n = 0;

	for (size_t i = 0; i < catalog->n; i++) {
		if (!catalog->machines[i].n_fingerprints && !catalog->machines[i].retired)
			names[n++] = catalog->machines[i].id;
	}
	add_folded("Without any fingerprint: ", names, n, "", d);
	/* These machines are not excluded themselves: their previous fingerprints are used until there is a newer one. */
	for (n = 0; n < drift->n_ahead; n++)
		names[n] = drift->ahead[n].machine->id;
	add_folded("excluded: fingerprints with a time in the future, of ", names, n,
		   ": the clock was wrong ('assay host show MACHINE' lists them)", d);
	if (drift->retired)
		doc_line(d, "\n%zu retired machine%s excluded", drift->retired, drift->retired == 1 ? " is" : "s are");
	free(names);
}

/* ---- JSON ---- */

static void set_comparison(const struct drift_history *past, struct document *d)
{
	doc_object(d, "past");
	doc_set(d, "state", drift_state_code(past->state));
	doc_set(d, "reference", past->reference->id);
	doc_set(d, "reference_taken_ms", past->reference->taken_ms);
	doc_set(d, "reference_busy", drift_other_work_at(past, past->reference));
	doc_set_bool(d, "accepted", past->acceptance != NULL);
	if (past->state == DRIFT_COMPARED) {
		doc_set(d, "history", past->series.n);
		doc_set(d, "left_out_busy", past->n_excluded);
		doc_set(d, "compared", past->compare.compared);
		doc_set(d, "differing", past->compare.n_differing);
		compare_set_rows(&past->compare, d);
		doc_set_json(d, "conditions_changed", conditions_changes(past->reference->conditions, past->latest->conditions));
	}
	doc_end(d);
}

static void set_peer(const struct drift_peer *peer, const struct types *types, struct document *d)
{
	doc_object(d, "type");
	doc_set(d, "state", drift_state_code(peer->state));
	doc_set(d, "type", types->types[peer->type].name);
	doc_set(d, "others", peer->others);
	doc_list(d, "stressors");
	for (size_t i = 0; i < peer->n; i++) {
		doc_object(d, NULL);
		doc_set(d, "stressor", peer->stressors[i].name);
		doc_set(d, "ratio", peer->stressors[i].ratio);
		doc_set(d, "differs_from", peer->stressors[i].differ);
		doc_set(d, "others", peer->stressors[i].others);
		doc_end(d);
	}
	doc_end(d);
	doc_end(d);
}

static void set_machine(const struct drift_history *past, const struct drift_peer *peer, const struct types *types, struct document *d)
{
	const struct machine_fingerprint *f = past->latest;

	doc_object(d, NULL);
	doc_set(d, "machine", past->machine->id);
	doc_set(d, "fingerprint", f->id);
	doc_set(d, "taken_ms", f->taken_ms);
	doc_set(d, "battery", f->battery);
	doc_set(d, "battery_hash", f->battery_hash);
	doc_set(d, "stress_ng", f->stress_ng);
	doc_set(d, "stress_ng_before", drift_previous_version(past->machine, f));
	doc_set(d, "architecture", f->architecture);
	doc_set(d, "origin", f->origin);
	doc_set(d, "busy", drift_other_work_at(past, f));
	set_comparison(past, d);
	set_peer(peer, types, d);
	doc_end(d);
}

static void set_all(const struct catalog *catalog, const struct drift *drift, const struct types *types, struct document *d)
{
	doc_list(d, "machines");
	for (size_t i = 0; i < drift->n; i++)
		set_machine(&drift->past[i], &drift->peers[i], types, d);
	doc_end(d);
	doc_list(d, "without_fingerprint");
	for (size_t i = 0; i < catalog->n; i++) {
		if (!catalog->machines[i].n_fingerprints && !catalog->machines[i].retired)
			doc_set(d, NULL, catalog->machines[i].id);
	}
	doc_end(d);
	doc_list(d, "in_the_future");
	for (size_t i = 0; i < drift->n_ahead; i++)
		doc_set(d, NULL, drift->ahead[i].fingerprint->id);
	doc_end(d);
	doc_list(d, "retired");
	for (size_t i = 0; i < catalog->n; i++) {
		if (catalog->machines[i].retired)
			doc_set(d, NULL, catalog->machines[i].id);
	}
	doc_end(d);
}

/* ---- command ---- */

static void add_drift(const struct catalog *catalog, const struct drift *drift, const struct types *types, struct document *d)
{
	if (drift->n) {
		add_all_comparisons(drift, d);
		add_all_peers(drift, types, d);
	}
	if (catalog->n == 0)
		doc_line(d, "The catalog is empty: 'assay host measure' fills it.");
	add_excluded(catalog, drift, d);
	set_all(catalog, drift, types, d);
}

static enum assay_status host_drift_run(struct lab *lab, void *arguments, struct document *d, struct assay_error *err)
{
	struct fingerprint_set set = { 0 };
	struct catalog catalog = { 0 };
	struct types types = { 0 };
	struct drift drift = { 0 };
	enum assay_status st = fingerprint_load(&lab->store, &set, err);

	(void)arguments;
	if (!st)
		st = catalog_load(lab->machines, NULL, &catalog, err);
	if (!st) {
		types_compute(&catalog, &lab->config, &types);
		drift_find(&catalog, &set, &types, clock_real_ms(), &drift);
		add_drift(&catalog, &drift, &types, d);
	}
	drift_release(&drift);
	types_release(&types);
	catalog_release(&catalog);
	fingerprint_set_release(&set);
	return st;
}

const struct command host_drift_command = {
	.name = "host drift",
	.summary = "find machines that changed, or differ from others of their type",
	.about = "Lists machines that changed, and machines that differ from others of their hardware type, with the stressors that "
		 "differ. A machine's latest fingerprint is compared with its reference (the last accepted one, see 'assay host accept', "
		 "else its first), and with the latest fingerprints of the other machines of its type. It differs from its type if it "
		 "differs from more than half of them. The level of 5 % holds for all machines and stressors together.",
	.examples = "  assay host drift\n"
		    "  assay host drift --format json | jq '.machines[] | select(.past.differing > 0)'\n",
	.exit_status = "0 with or without differences.",
	.lab = CLI_LAB_READ,
	.run = host_drift_run,
};
