/* assay catalog drift */
#include "base/clock.h"
#include "base/text.h"
#include "fingerprint/cmd.h"
#include "fingerprint/compare/drift.h"
#include "fingerprint/stored/conditions.h"

#include <stdlib.h>

#define ROWS_SHOWN 8 /* of one machine */

/* What else the machine did while it was measured; NULL also of an emulated one, which says what the machine that emulates it does. */
static char *busy_text(const struct machine_fingerprint *f)
{
	return strcmp(f->origin, "emulated") == 0 ? NULL : conditions_busy(f->conditions);
}

/* ---- for people ---- */

static void add_busy(const struct machine_fingerprint *f, const char *what, struct document *d)
{
	char *text = busy_text(f);

	if (text)
		doc_line(d, "    %s was taken while the machine was not idle: %s", what, text);
	free(text);
}

static void add_past(const struct drift_past *past, struct document *d)
{
	cJSON *changes = conditions_changes(past->reference->conditions, past->latest->conditions);
	char date[TEXT_DATE_BYTES], since[TEXT_DATE_BYTES];
	const cJSON *item;

	doc_line(d, "%s (%s): %s against %s%s", past->machine->id, past->latest->battery, text_from_ms(past->latest->taken_ms, date),
		 text_from_ms(past->reference->taken_ms, since), past->acceptance ? ", accepted" : "");
	compare_add_largest(&past->compare, ROWS_SHOWN, d);
	if (past->compare.differing > ROWS_SHOWN)
		doc_line(d, "    ('assay fingerprint diff %s %s' shows all)", past->reference->id, past->latest->id);
	cJSON_ArrayForEach(item, changes)
	    doc_line(d, "    %s was '%s' and is '%s'", cJSON_GetStringValue(cJSON_GetObjectItem(item, "name")),
		     conditions_shown(cJSON_GetStringValue(cJSON_GetObjectItem(item, "before"))),
		     conditions_shown(cJSON_GetStringValue(cJSON_GetObjectItem(item, "after"))));
	add_busy(past->reference, "what it is compared with", d);
	add_busy(past->latest, "the latest", d);
	cJSON_Delete(changes);
}

/* A line with the machines whose past, or whose peers, are in a state: "a, b (quick)". */
static void add_states(const struct drift *drift, enum drift_state state, bool peers, const char *before, struct document *d)
{
	struct buf text = BUF_INIT;

	for (size_t i = 0; i < drift->n; i++) {
		if ((peers ? drift->peers[i].state : drift->past[i].state) == state)
			buf_format(&text, "%s%s (%s)", text.size ? ", " : before, drift->past[i].machine->id,
				   drift->past[i].latest->battery);
	}
	if (text.size)
		doc_line(d, "%s", text.bytes);
	buf_release(&text);
}

static void add_all_past(const struct drift *drift, struct document *d)
{
	size_t compared = 0, differ = 0;

	for (size_t i = 0; i < drift->n; i++) {
		compared += drift->past[i].state == DRIFT_COMPARED;
		differ += drift->past[i].compare.differing > 0;
	}
	doc_line(d, "Against their own past, %zu of %zu that could be compared differ%s", differ, compared, differ == 1 ? "s" : "");
	for (size_t i = 0; i < drift->n; i++) {
		if (drift->past[i].compare.differing)
			add_past(&drift->past[i], d);
	}
	add_states(drift, DRIFT_ALONE, false, "  no second fingerprint to compare with: ", d);
	add_states(drift, DRIFT_REFERENCE, false, "  nothing newer than what was accepted: ", d);
	add_states(drift, DRIFT_NO_RAW, false, "  raw record missing ('assay catalog check' says more): ", d);
}

static void add_peer(const struct drift_peer *peer, const struct types *types, struct document *d)
{
	doc_line(d, "%s (%s), of type %s", peer->machine->id, peer->latest->battery, types->types[peer->type].name);
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
	add_busy(peer->latest, "it", d);
}

static void add_all_peers(const struct drift *drift, const struct types *types, struct document *d)
{
	size_t compared = 0, differ = 0;

	for (size_t i = 0; i < drift->n; i++) {
		compared += drift->peers[i].state == DRIFT_COMPARED;
		differ += drift->peers[i].n > 0;
	}
	doc_heading(d, "Against others of their hardware type, %zu of %zu that could be compared differ%s", differ, compared,
		    differ == 1 ? "s" : "");
	for (size_t i = 0; i < drift->n; i++) {
		if (drift->peers[i].n)
			add_peer(&drift->peers[i], types, d);
	}
	add_states(drift, DRIFT_ALONE, true, "  no second machine of their type: ", d);
	add_states(drift, DRIFT_NO_RAW, true, "  raw record missing ('assay catalog check' says more): ", d);
}

static void add_left_out(const struct catalog *catalog, const struct drift *drift, struct document *d)
{
	struct buf without = BUF_INIT;
	char date[TEXT_DATE_BYTES];

	for (size_t i = 0; i < catalog->n; i++) {
		if (!catalog->machines[i].n_fingerprints && !catalog->machines[i].retired)
			buf_format(&without, "%s%s", without.size ? ", " : "", catalog->machines[i].id);
	}
	if (without.size)
		doc_line(d, "\nWithout any fingerprint: %s", without.bytes);
	/* Until a newer one is there, the one before it stands for the machine. */
	for (size_t i = 0; i < drift->n_ahead; i++) {
		const struct machine_fingerprint *f = drift->ahead[i].fingerprint;

		doc_line(d, "%sleft out: fingerprint %s of %s has a time that is still to come, %s: the clock was wrong", i ? "" : "\n",
			 f->id, drift->ahead[i].machine->id, text_from_ms(f->taken_ms, date));
	}
	if (drift->retired)
		doc_line(d, "\n%zu retired machine%s left out", drift->retired, drift->retired == 1 ? " is" : "s are");
	buf_release(&without);
}

/* ---- for programs ---- */

static void set_busy(const struct machine_fingerprint *f, const char *key, struct document *d)
{
	char *text = busy_text(f);

	doc_set(d, key, text);
	free(text);
}

static void set_past(const struct drift_past *past, struct document *d)
{
	doc_object(d, "past");
	doc_set(d, "state", drift_state_code(past->state));
	doc_set(d, "reference", past->reference->id);
	doc_set(d, "reference_taken_ms", past->reference->taken_ms);
	set_busy(past->reference, "reference_busy", d);
	doc_set_bool(d, "accepted", past->acceptance != NULL);
	if (past->state == DRIFT_COMPARED) {
		doc_set(d, "compared", past->compare.compared);
		doc_set(d, "differing", past->compare.differing);
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

static void set_machine(const struct drift_past *past, const struct drift_peer *peer, const struct types *types, struct document *d)
{
	const struct machine_fingerprint *f = past->latest;

	doc_object(d, NULL);
	doc_set(d, "machine", past->machine->id);
	doc_set(d, "fingerprint", f->id);
	doc_set(d, "taken_ms", f->taken_ms);
	doc_set(d, "battery", f->battery);
	doc_set(d, "battery_hash", f->battery_hash);
	doc_set(d, "stress_ng", f->stress_ng);
	doc_set(d, "architecture", f->architecture);
	doc_set(d, "origin", f->origin);
	set_busy(f, "busy", d);
	set_past(past, d);
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

/* ---- the command ---- */

static void add_drift(const struct catalog *catalog, const struct drift *drift, const struct types *types, struct document *d)
{
	if (drift->n) {
		add_all_past(drift, d);
		add_all_peers(drift, types, d);
	}
	if (catalog->n == 0)
		doc_line(d, "The catalog is empty: 'assay fingerprint run' fills it.");
	add_left_out(catalog, drift, d);
	set_all(catalog, drift, types, d);
}

static enum assay_status catalog_drift_run(struct lab *lab, void *arguments, struct document *d, struct assay_error *err)
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
		types_of(&catalog, &lab->config, &types);
		drift_of(&catalog, &set, &types, clock_real_ms(), &drift);
		add_drift(&catalog, &drift, &types, d);
	}
	drift_release(&drift);
	types_release(&types);
	catalog_release(&catalog);
	fingerprint_set_release(&set);
	return st;
}

const struct command catalog_drift_command = {
	.name = "catalog drift",
	.summary = "find machines that changed, or differ from others of their type",
	.about =
	    "Says which machines have changed, and which differ from others of their hardware type, by which stressors. A machine's latest "
	    "fingerprint is compared with its reference: the one that was accepted last ('assay catalog accept-drift'), else its first; "
	    "and "
	    "with the latest ones of the others of its type: it differs from them when it does so from more than half. The level of 5 % "
	    "holds for all machines and stressors together.",
	.examples = "  assay catalog drift\n"
		    "  assay catalog drift --format json | jq '.machines[] | select(.past.differing > 0)'\n",
	.exit_status = "0 whatever was found.",
	.lab = CLI_LAB_READ,
	.run = catalog_drift_run,
};
