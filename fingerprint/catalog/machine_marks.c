#include "fingerprint/catalog/machine_marks.h"

#include "base/mem.h"
#include "base/text.h"

#define MS_MAX 253402300799999 /* the end of the year 9999 */

enum assay_status machine_check_reason(const char *reason, struct assay_error *err)
{
	size_t n = strlen(reason);

	if (n == 0 || n > MACHINE_REASON_BYTES_MAX)
		return assay_fail(err, ASSAY_E_FORMAT, "a reason must have 1 to %d bytes", MACHINE_REASON_BYTES_MAX);
	if (!text_is_utf8(reason, n))
		return assay_fail(err, ASSAY_E_FORMAT, "a reason must be UTF-8");
	for (const char *c = reason; *c; c++) {
		if (text_control(c))
			return assay_fail(err, ASSAY_E_FORMAT, "a reason must be one line without control characters");
	}
	return ASSAY_OK;
}

static void add(struct machine *machine, struct machine_acceptance acceptance)
{
	size_t i = machine->n_accepted++;

	machine->accepted = mem_resize(machine->accepted, machine->n_accepted, sizeof(*machine->accepted));
	for (; i > 0 && machine->accepted[i - 1].accepted_ms > acceptance.accepted_ms; i--)
		machine->accepted[i] = machine->accepted[i - 1];
	machine->accepted[i] = acceptance;
}

void machine_accept(struct machine *machine, const char *fingerprint, int64_t now_ms, const char *reason)
{
	/* What is accepted last counts, even if a clock was wrong at the time before. */
	if (machine->n_accepted && machine->accepted[machine->n_accepted - 1].accepted_ms > now_ms)
		now_ms = machine->accepted[machine->n_accepted - 1].accepted_ms;
	add(machine, (struct machine_acceptance){ mem_string(fingerprint), now_ms, mem_string(reason) });
}

void machine_retire(struct machine *machine, bool retired, int64_t now_ms, const char *reason)
{
	free(machine->retired_reason);
	machine->retired = retired;
	machine->retired_ms = retired ? now_ms : 0;
	machine->retired_reason = retired && reason ? mem_string(reason) : NULL;
}

static cJSON *mark_json(int64_t at_ms, const char *reason)
{
	cJSON *object = cJSON_CreateObject();
	char date[TEXT_DATE_BYTES];

	cJSON_AddStringToObject(object, "at", text_from_ms(at_ms, date));
	cJSON_AddNumberToObject(object, "at_ms", (double)at_ms);
	if (reason)
		cJSON_AddStringToObject(object, "reason", reason);
	return object;
}

void machine_marks_json(const struct machine *machine, cJSON *root)
{
	cJSON *list;

	if (machine->retired)
		cJSON_AddItemToObject(root, "retired", mark_json(machine->retired_ms, machine->retired_reason));
	if (!machine->n_accepted)
		return;
	list = cJSON_AddArrayToObject(root, "accepted");
	for (size_t i = 0; i < machine->n_accepted; i++) {
		cJSON *object = mark_json(machine->accepted[i].accepted_ms, machine->accepted[i].reason);

		cJSON_AddStringToObject(object, "fingerprint", machine->accepted[i].fingerprint);
		cJSON_AddItemToArray(list, object);
	}
}

/* "at" is at_ms for people; one that was changed by hand would mislead them. */
static enum assay_status parse_mark(const char *name, const cJSON *object, bool required, int64_t *at_ms, const char **reason,
				    struct assay_error *err)
{
	char date[TEXT_DATE_BYTES], shown[TEXT_SHOWN_BYTES];
	const char *at = NULL;
	enum assay_status st = json_integer(name, object, "at_ms", true, 0, MS_MAX, at_ms, err);

	if (!st)
		st = json_string(name, object, "at", false, &at, err);
	if (!st && at && strcmp(at, text_from_ms(*at_ms, date)) != 0)
		st = assay_fail(err, ASSAY_E_FORMAT, "%s: at is '%s', but at_ms is %s", name, text_shown(at, shown), date);
	if (!st)
		st = json_string(name, object, "reason", required, reason, err);
	if (!st && *reason && machine_check_reason(*reason, err))
		st = assay_context(err, "%s", name);
	return st;
}

static enum assay_status parse_accepted(const char *name, const cJSON *object, struct machine *machine, struct assay_error *err)
{
	static const char *const keys[] = { "fingerprint", "at", "at_ms", "reason" };
	const char *fingerprint = NULL, *reason = NULL;
	int64_t at_ms = 0;
	enum assay_status st;

	if (!cJSON_IsObject(object))
		return assay_fail(err, ASSAY_E_FORMAT, "%s: an item of 'accepted' is not an object", name);
	st = json_keys(name, object, "an accepted fingerprint", keys, sizeof(keys) / sizeof(keys[0]), err);
	if (!st)
		st = json_string(name, object, "fingerprint", true, &fingerprint, err);
	if (!st)
		st = parse_mark(name, object, true, &at_ms, &reason, err);
	if (!st && machine->n_accepted && machine->accepted[machine->n_accepted - 1].accepted_ms > at_ms)
		st = assay_fail(err, ASSAY_E_FORMAT, "%s: accepted fingerprints are not in the order of their time", name);
	if (!st)
		machine_accept(machine, fingerprint, at_ms, reason);
	return st;
}

static enum assay_status parse_retired(const char *name, const cJSON *object, struct machine *machine, struct assay_error *err)
{
	static const char *const keys[] = { "at", "at_ms", "reason" };
	const char *reason = NULL;
	int64_t at_ms = 0;
	enum assay_status st = json_keys(name, object, "retired", keys, sizeof(keys) / sizeof(keys[0]), err);

	if (!st)
		st = parse_mark(name, object, false, &at_ms, &reason, err);
	if (!st)
		machine_retire(machine, true, at_ms, reason);
	return st;
}

enum assay_status machine_marks_parse(const char *name, const cJSON *root, struct machine *machine, struct assay_error *err)
{
	const cJSON *accepted = NULL, *retired = NULL, *item;
	enum assay_status st = json_array(name, root, "accepted", false, &accepted, err);

	if (!st)
		st = json_object(name, root, "retired", false, &retired, err);
	if (!st && retired)
		st = parse_retired(name, retired, machine, err);
	if (st || !accepted)
		return st;
	cJSON_ArrayForEach(item, accepted)
	{
		st = parse_accepted(name, item, machine, err);
		if (st)
			break;
	}
	return st;
}

static bool same(const struct machine_acceptance *a, const struct machine_acceptance *b)
{
	return a->accepted_ms == b->accepted_ms && strcmp(a->fingerprint, b->fingerprint) == 0;
}

/* Whether it is in use is said by the machine that stays. */
void machine_marks_merge(struct machine *into, struct machine *from)
{
	for (size_t i = 0; i < from->n_accepted; i++) {
		bool there = false;

		for (size_t k = 0; k < into->n_accepted; k++)
			there = there || same(&into->accepted[k], &from->accepted[i]);
		if (there)
			continue;
		add(into, from->accepted[i]);
		from->accepted[i] = (struct machine_acceptance){ 0 };
	}
}

void machine_marks_release(struct machine *machine)
{
	for (size_t i = 0; i < machine->n_accepted; i++) {
		free(machine->accepted[i].fingerprint);
		free(machine->accepted[i].reason);
	}
	free(machine->accepted);
	free(machine->retired_reason);
	machine->accepted = NULL;
	machine->n_accepted = 0;
	machine->retired_reason = NULL;
}
