#include "base/json.h"
#include "base/table.h"
#include "base/text.h"
#include "fingerprint/cmd.h"
#include "fingerprint/cmd_catalog_edit.h"
#include "fingerprint/compare/compare_print.h"
#include "fingerprint/compare/drift.h"
#include "fingerprint/stored/conditions.h"
#include "fleet/cmd_lab.h"

static const char doc[] =
    "Says which machines are not what they were, and which differ from others of their hardware type, by which stressors. A machine's latest "
    "fingerprint is compared with its reference: the one that was accepted last ('assay catalog accept-drift'), else its first; and with the "
    "latest ones of the others of its type: it differs from them when it does so from more than half. The level of 5 % holds for all "
    "machines and stressors together."
    "\vExample:\n"
    "  assay catalog drift\n"
    "  assay catalog drift --format json | jq '.machines[] | select(.past.differing > 0)'\n"
    "\n"
    "Exit status: 0 whatever was found.";

/* ---- for people ---- */

#define ROWS_SHOWN 8 /* of one machine */

static void print_changes(const struct drift_past *past, struct buf *out)
{
	cJSON *changes = conditions_changes(past->reference->conditions, past->latest->conditions);
	const cJSON *item;

	cJSON_ArrayForEach(item, changes)
		buf_format(out, "    %s was '%s' and is '%s'\n", cJSON_GetStringValue(cJSON_GetObjectItem(item, "name")),
			   conditions_shown(cJSON_GetStringValue(cJSON_GetObjectItem(item, "before"))),
			   conditions_shown(cJSON_GetStringValue(cJSON_GetObjectItem(item, "after"))));
	cJSON_Delete(changes);
}

/* What else the machine did while it was measured; NULL also of an emulated one, which says what the machine that emulates it does. */
static char *busy(const struct machine_fingerprint *f)
{
	return strcmp(f->origin, "emulated") == 0 ? NULL : conditions_busy(f->conditions);
}

static void print_busy(const struct machine_fingerprint *f, const char *what, struct buf *out)
{
	char *text = busy(f);

	if (text)
		buf_format(out, "    %s was taken while the machine was not idle: %s\n", what, text);
	free(text);
}

static void print_past(const struct drift_past *past, struct buf *out)
{
	char date[TEXT_DATE_BYTES], since[TEXT_DATE_BYTES];

	buf_format(out, "%s (%s): %s against %s%s\n", past->machine->id, past->latest->battery, text_from_ms(past->latest->taken_ms, date),
		   text_from_ms(past->reference->taken_ms, since), past->acceptance ? ", accepted" : "");
	compare_print_table(&past->compare, ROWS_SHOWN, "    ", out);
	if (past->compare.differing > ROWS_SHOWN)
		buf_format(out, "    ('assay fingerprint diff %s %s' shows all)\n", past->reference->id, past->latest->id);
	print_changes(past, out);
	print_busy(past->reference, "what it is compared with", out);
	print_busy(past->latest, "the latest", out);
}

/* Names of the machines whose past is in a state: "a, b (quick)". */
static size_t print_states(const struct drift *drift, enum drift_state state, bool peers, const char *before, struct buf *out)
{
	size_t n = 0;

	for (size_t i = 0; i < drift->n; i++) {
		if ((peers ? drift->peers[i].state : drift->past[i].state) != state)
			continue;
		buf_format(out, "%s%s (%s)", n++ ? ", " : before, drift->past[i].machine->id, drift->past[i].latest->battery);
	}
	if (n)
		buf_char(out, '\n');
	return n;
}

static void print_all_past(const struct drift *drift, struct buf *out)
{
	size_t compared = 0, differ = 0;

	buf_text(out, "Against their own past\n");
	for (size_t i = 0; i < drift->n; i++) {
		compared += drift->past[i].state == DRIFT_COMPARED;
		if (!drift->past[i].compare.differing)
			continue;
		differ++;
		buf_text(out, "  ");
		print_past(&drift->past[i], out);
	}
	buf_format(out, "  %zu of %zu that could be compared differ%s\n", differ, compared, differ == 1 ? "s" : "");
	print_states(drift, DRIFT_ALONE, false, "  no second fingerprint to compare with: ", out);
	print_states(drift, DRIFT_REFERENCE, false, "  nothing newer than what was accepted: ", out);
	print_states(drift, DRIFT_NO_RAW, false, "  raw record missing ('assay catalog check' says more): ", out);
}

static void print_peer(const struct drift_peer *peer, const struct types *types, struct buf *out)
{
	static const char *const headings[] = { "    stressor", "ratio to the others", "differs from" };
	struct table table;

	buf_format(out, "  %s (%s), of type %s\n", peer->machine->id, peer->latest->battery, types->types[peer->type].name);
	table_init(&table, "lrr", headings);
	for (size_t i = 0; i < peer->n && i < ROWS_SHOWN; i++) {
		table_cell(&table, "    %s", peer->stressors[i].name);
		table_cell(&table, "%.3f", peer->stressors[i].ratio);
		table_cell(&table, "%zu of %zu", peer->stressors[i].differ, peer->stressors[i].others);
	}
	table_print(&table, out);
	if (peer->n > ROWS_SHOWN)
		buf_format(out, "    and %zu more (--format json has all)\n", peer->n - ROWS_SHOWN);
	table_release(&table);
	print_busy(peer->latest, "it", out);
}

static void print_all_peers(const struct drift *drift, const struct types *types, struct buf *out)
{
	size_t compared = 0, differ = 0;

	buf_text(out, "\nAgainst others of their hardware type\n");
	for (size_t i = 0; i < drift->n; i++) {
		compared += drift->peers[i].state == DRIFT_COMPARED;
		if (!drift->peers[i].n)
			continue;
		differ++;
		print_peer(&drift->peers[i], types, out);
	}
	buf_format(out, "  %zu of %zu that could be compared differ%s\n", differ, compared, differ == 1 ? "s" : "");
	print_states(drift, DRIFT_ALONE, true, "  no second machine of their type: ", out);
	print_states(drift, DRIFT_NO_RAW, true, "  raw record missing ('assay catalog check' says more): ", out);
}

/* Until a newer one is there, the one before it stands for the machine. */
static void print_ahead(const struct drift *drift, struct buf *out)
{
	char date[TEXT_DATE_BYTES];

	for (size_t i = 0; i < drift->n_ahead; i++) {
		const struct machine_fingerprint *f = drift->ahead[i].fingerprint;

		buf_format(out, "%sleft out: fingerprint %s of %s has a time that is still to come, %s: the clock was wrong\n", i ? "" : "\n", f->id,
			   drift->ahead[i].machine->id, text_from_ms(f->taken_ms, date));
	}
}

static void print_human(const struct catalog *catalog, const struct drift *drift, const struct types *types, struct buf *out)
{
	size_t without = 0;

	if (drift->n) {
		print_all_past(drift, out);
		print_all_peers(drift, types, out);
	}
	for (size_t i = 0; i < catalog->n; i++) {
		if (catalog->machines[i].n_fingerprints || catalog->machines[i].retired)
			continue;
		buf_format(out, "%s%s", without++ ? ", " : "\nWithout any fingerprint: ", catalog->machines[i].id);
	}
	if (without)
		buf_char(out, '\n');
	print_ahead(drift, out);
	if (drift->retired)
		buf_format(out, "\n%zu retired machine%s left out\n", drift->retired, drift->retired == 1 ? " is" : "s are");
	if (catalog->n == 0)
		buf_text(out, "The catalog is empty: 'assay fingerprint run' fills it.\n");
}

/* ---- for machines ---- */

static void add_busy(cJSON *object, const char *key, const struct machine_fingerprint *f)
{
	char *text = busy(f);

	if (text)
		cJSON_AddStringToObject(object, key, text);
	else
		cJSON_AddNullToObject(object, key);
	free(text);
}

static cJSON *past_json(const struct drift_past *past)
{
	cJSON *object = cJSON_CreateObject();

	cJSON_AddStringToObject(object, "state", drift_state_code(past->state));
	cJSON_AddStringToObject(object, "reference", past->reference->id);
	cJSON_AddNumberToObject(object, "reference_taken_ms", (double)past->reference->taken_ms);
	add_busy(object, "reference_busy", past->reference);
	cJSON_AddBoolToObject(object, "accepted", past->acceptance != NULL);
	if (past->state != DRIFT_COMPARED)
		return object;
	cJSON_AddNumberToObject(object, "compared", (double)past->compare.compared);
	cJSON_AddNumberToObject(object, "differing", (double)past->compare.differing);
	cJSON_AddItemToObject(object, "stressors", compare_rows_json(&past->compare));
	cJSON_AddItemToObject(object, "conditions_changed", conditions_changes(past->reference->conditions, past->latest->conditions));
	return object;
}

static cJSON *peer_json(const struct drift_peer *peer, const struct types *types)
{
	cJSON *object = cJSON_CreateObject(), *list;

	cJSON_AddStringToObject(object, "state", drift_state_code(peer->state));
	cJSON_AddStringToObject(object, "type", types->types[peer->type].name);
	cJSON_AddNumberToObject(object, "others", (double)peer->others);
	list = cJSON_AddArrayToObject(object, "stressors");
	for (size_t i = 0; i < peer->n; i++) {
		cJSON *item = cJSON_CreateObject();

		cJSON_AddItemToArray(list, item);
		cJSON_AddStringToObject(item, "stressor", peer->stressors[i].name);
		json_add_number(item, "ratio", peer->stressors[i].ratio);
		cJSON_AddNumberToObject(item, "differs_from", (double)peer->stressors[i].differ);
		cJSON_AddNumberToObject(item, "others", (double)peer->stressors[i].others);
	}
	return object;
}

static void print_json(const struct catalog *catalog, const struct drift *drift, const struct types *types, struct buf *out)
{
	cJSON *root = cJSON_CreateObject(), *list = cJSON_AddArrayToObject(root, "machines");

	for (size_t i = 0; i < drift->n; i++) {
		const struct machine_fingerprint *f = drift->past[i].latest;
		cJSON *object = cJSON_CreateObject();

		cJSON_AddItemToArray(list, object);
		cJSON_AddStringToObject(object, "machine", drift->past[i].machine->id);
		cJSON_AddStringToObject(object, "fingerprint", f->id);
		cJSON_AddNumberToObject(object, "taken_ms", (double)f->taken_ms);
		cJSON_AddStringToObject(object, "battery", f->battery);
		cJSON_AddStringToObject(object, "battery_hash", f->battery_hash);
		cJSON_AddStringToObject(object, "stress_ng", f->stress_ng);
		cJSON_AddStringToObject(object, "architecture", f->architecture);
		cJSON_AddStringToObject(object, "origin", f->origin);
		add_busy(object, "busy", f);
		cJSON_AddItemToObject(object, "past", past_json(&drift->past[i]));
		cJSON_AddItemToObject(object, "type", peer_json(&drift->peers[i], types));
	}
	list = cJSON_AddArrayToObject(root, "without_fingerprint");
	for (size_t i = 0; i < catalog->n; i++) {
		if (!catalog->machines[i].n_fingerprints && !catalog->machines[i].retired)
			cJSON_AddItemToArray(list, cJSON_CreateString(catalog->machines[i].id));
	}
	list = cJSON_AddArrayToObject(root, "in_the_future");
	for (size_t i = 0; i < drift->n_ahead; i++)
		cJSON_AddItemToArray(list, cJSON_CreateString(drift->ahead[i].fingerprint->id));
	list = cJSON_AddArrayToObject(root, "retired");
	for (size_t i = 0; i < catalog->n; i++) {
		if (catalog->machines[i].retired)
			cJSON_AddItemToArray(list, cJSON_CreateString(catalog->machines[i].id));
	}
	json_add(out, root);
}

int cmd_catalog_drift(int argc, char **argv, const char *directory)
{
	static const struct argp argp = { NULL, NULL, NULL, doc, NULL, NULL, NULL };
	struct fingerprint_set set = { 0 };
	struct catalog catalog = { 0 };
	struct types types = { 0 };
	struct drift drift = { 0 };
	struct cmd_lab cmd;
	enum assay_status st = cmd_lab_open(&cmd, &argp, argc, argv, directory, NULL, STORE_READ);

	if (!st)
		st = fingerprint_load(&cmd.lab.store, &set, &cmd.err);
	if (!st)
		st = catalog_load(cmd.lab.machines, NULL, &catalog, &cmd.err);
	if (!st) {
		types_of(&catalog, &cmd.lab.config, &types);
		drift_of(&catalog, &set, &types, cmd_catalog_now_ms(), &drift);
		(cmd.cli.format == CLI_JSON ? print_json : print_human)(&catalog, &drift, &types, &cmd.out);
	}
	drift_release(&drift);
	types_release(&types);
	catalog_release(&catalog);
	fingerprint_set_release(&set);
	return cmd_lab_end(&cmd, st, 0);
}
