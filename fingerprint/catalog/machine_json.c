/* The file of a machine, to and from JSON. */
#include "base/mem.h"
#include "base/text.h"
#include "fingerprint/catalog/machine_marks.h"

#include <inttypes.h>
#include <math.h>

#define FORMAT_NAME "assay machine"
#define REASON_BYTES_MAX 1024
#define COUNT_MAX 1000000000
#define MS_MAX 253402300799999 /* the end of the year 9999 */
#define STRESSOR_BYTES_MAX 200

/* Text members and where they belong; one table for both directions. */
#define IDENTITY_TEXTS(X) X(machine_id) X(board_name) X(board_serial) X(board_uuid) X(cpu_vendor) X(cpu_model)
#define IDENTITY_NUMBERS(X) X(sockets) X(cores_per_socket) X(threads_per_core) X(memory_bytes)
#define FINGERPRINT_TEXTS(X) X(id) X(battery) X(battery_hash) X(stress_ng) X(architecture) X(origin)
#define NAME_STRING(member) #member,

/* ---- out ---- */

static void add_text(cJSON *object, const char *key, const char *text)
{
	if (text)
		cJSON_AddStringToObject(object, key, text);
}

static cJSON *identity_json(const struct machine_identity *identity)
{
	cJSON *object = cJSON_CreateObject();

#define ADD(member) add_text(object, #member, identity->member);
	IDENTITY_TEXTS(ADD)
#undef ADD
#define ADD(member)                  \
	if (identity->member)        \
		cJSON_AddNumberToObject(object, #member, (double)identity->member);
	IDENTITY_NUMBERS(ADD)
#undef ADD
	return object;
}

static cJSON *rate_json(const struct machine_rate *rate)
{
	cJSON *object = cJSON_CreateObject();

	if (isnan(rate->median)) {
		cJSON_AddStringToObject(object, "not_measured", rate->reason);
	} else {
		cJSON_AddNumberToObject(object, "median", rate->median);
		cJSON_AddNumberToObject(object, "mad", rate->mad);
	}
	if (!isnan(rate->real_median))
		cJSON_AddNumberToObject(object, "real_median", rate->real_median);
	cJSON_AddNumberToObject(object, "n", (double)rate->n);
	return object;
}

static cJSON *fingerprint_json(const struct machine_fingerprint *f)
{
	cJSON *object = cJSON_CreateObject();
	cJSON *rates;
	char date[TEXT_DATE_BYTES];

	add_text(object, "id", f->id);
	add_text(object, "taken", text_from_ms(f->taken_ms, date));
	cJSON_AddNumberToObject(object, "taken_ms", (double)f->taken_ms);
	add_text(object, "battery", f->battery);
	add_text(object, "battery_hash", f->battery_hash);
	add_text(object, "stress_ng", f->stress_ng);
	add_text(object, "architecture", f->architecture);
	add_text(object, "origin", f->origin);
	add_text(object, "profile", f->profile);
	if (f->conditions)
		cJSON_AddItemToObject(object, "conditions", cJSON_Parse(f->conditions));
	add_text(object, "type", f->type);
	add_text(object, "type_given_by", f->type_given_by);
	cJSON_AddNumberToObject(object, "passes", (double)f->passes);
	rates = cJSON_AddObjectToObject(object, "rates");
	for (size_t i = 0; i < f->n_rates; i++)
		cJSON_AddItemToObject(rates, f->rates[i].stressor, rate_json(&f->rates[i]));
	return object;
}

char *machine_text(const struct machine *machine)
{
	cJSON *root = cJSON_CreateObject();
	cJSON *list;
	char *text;

	cJSON_AddStringToObject(root, "format", FORMAT_NAME);
	cJSON_AddNumberToObject(root, "version", MACHINE_FORMAT_VERSION);
	cJSON_AddStringToObject(root, "id", machine->id);
	add_text(root, "notes", machine->notes);
	cJSON_AddItemToObject(root, "identity", identity_json(&machine->identity));
	machine_marks_json(machine, root);
	list = cJSON_AddArrayToObject(root, "fingerprints");
	for (size_t i = 0; i < machine->n_fingerprints; i++)
		cJSON_AddItemToArray(list, fingerprint_json(&machine->fingerprints[i]));
	text = json_text(root);
	cJSON_Delete(root);
	return text;
}

/* ---- in ---- */

static enum assay_status take_text(const char *name, const cJSON *object, const char *key, bool required, char **out,
				   struct assay_error *err)
{
	const char *text = NULL;
	enum assay_status st = json_string(name, object, key, required, &text, err);

	if (!st && text)
		*out = mem_string(text);
	return st;
}

static enum assay_status parse_identity(const char *name, const cJSON *object, struct machine_identity *out, struct assay_error *err)
{
	static const char *const keys[] = { IDENTITY_TEXTS(NAME_STRING) IDENTITY_NUMBERS(NAME_STRING) };
	enum assay_status st = json_keys(name, object, "identity", keys, sizeof(keys) / sizeof(keys[0]), err);

#define TAKE(member)    \
	if (!st)        \
		st = take_text(name, object, #member, false, &out->member, err);
	IDENTITY_TEXTS(TAKE)
#undef TAKE
#define TAKE(member)    \
	if (!st)        \
		st = json_integer(name, object, #member, false, 0, INT64_C(1) << 52, &out->member, err);
	IDENTITY_NUMBERS(TAKE)
#undef TAKE
	return st;
}

static enum assay_status parse_rate(const char *name, const cJSON *object, struct machine_rate *out, struct assay_error *err)
{
	static const char *const keys[] = { "median", "mad", "real_median", "n", "not_measured" };
	const char *not_measured = NULL;
	enum assay_status st = json_keys(name, object, "a rate", keys, sizeof(keys) / sizeof(keys[0]), err);

	out->median = out->mad = out->real_median = (double)NAN;
	if (!st)
		st = json_string(name, object, "not_measured", false, &not_measured, err);
	if (!st)
		st = json_number(name, object, "median", !not_measured, &out->median, err);
	if (!st)
		st = json_number(name, object, "mad", !not_measured, &out->mad, err);
	if (!st)
		st = json_number(name, object, "real_median", false, &out->real_median, err);
	if (!st)
		st = json_integer(name, object, "n", true, 1, COUNT_MAX, &out->n, err);
	if (!st && not_measured &&
	    (!*not_measured || strlen(not_measured) > REASON_BYTES_MAX || !isnan(out->median) || !isnan(out->mad) || !isnan(out->real_median)))
		st = assay_fail(err, ASSAY_E_FORMAT, "%s: both measured and not measured, or a reason of no or too many bytes", name);
	if (!st && !not_measured && (!(out->median > 0 && out->mad >= 0) || out->real_median <= 0))
		st = assay_fail(err, ASSAY_E_FORMAT, "%s: a median that is not above 0, or a negative dispersion", name);
	if (!st && not_measured)
		out->reason = mem_string(not_measured);
	return st;
}

static enum assay_status parse_rates(const char *name, const cJSON *object, struct machine_fingerprint *f, struct assay_error *err)
{
	size_t n = (size_t)cJSON_GetArraySize(object);
	const cJSON *item;

	f->rates = mem_new(n, sizeof(*f->rates));
	cJSON_ArrayForEach(item, object)
	{
		struct machine_rate *rate = &f->rates[f->n_rates];
		char shown[TEXT_SHOWN_BYTES], *where;
		enum assay_status st;

		if (!*item->string || strlen(item->string) > STRESSOR_BYTES_MAX)
			return assay_fail(err, ASSAY_E_FORMAT, "%s: a stressor's name must have 1 to %d bytes", name, STRESSOR_BYTES_MAX);
		if (f->n_rates && strcmp(rate[-1].stressor, item->string) >= 0)
			return assay_fail(err, ASSAY_E_FORMAT, "%s: stressors are not in the order of their names at '%s'", name,
					  text_shown(item->string, shown));
		rate->stressor = mem_string(item->string);
		f->n_rates++;
		where = mem_format("%s: rate of '%s'", name, text_shown(item->string, shown));
		st = parse_rate(where, item, rate, err);
		free(where);
		if (st)
			return st;
	}
	return ASSAY_OK;
}

/* "taken" is taken_ms for people; one that was changed by hand would mislead them. */
static enum assay_status check_taken(const char *name, const cJSON *object, int64_t taken_ms, struct assay_error *err)
{
	const char *taken = NULL;
	char date[TEXT_DATE_BYTES], shown[TEXT_SHOWN_BYTES];
	enum assay_status st = json_string(name, object, "taken", false, &taken, err);

	if (!st && taken && strcmp(taken, text_from_ms(taken_ms, date)) != 0)
		st = assay_fail(err, ASSAY_E_FORMAT, "%s: taken is '%s', but taken_ms is %s", name, text_shown(taken, shown), date);
	return st;
}

static enum assay_status parse_fingerprint(const char *name, const cJSON *object, struct machine_fingerprint *f, struct assay_error *err)
{
	static const char *const keys[] = { FINGERPRINT_TEXTS(NAME_STRING) "taken", "taken_ms", "profile", "conditions", "type",
					    "type_given_by", "passes", "rates" };
	const cJSON *rates = NULL, *conditions = NULL;
	enum assay_status st;

	st = json_keys(name, object, "a fingerprint", keys, sizeof(keys) / sizeof(keys[0]), err);
#define TAKE(member)    \
	if (!st)        \
		st = take_text(name, object, #member, true, &f->member, err);
	FINGERPRINT_TEXTS(TAKE)
#undef TAKE
	if (!st)
		st = take_text(name, object, "profile", false, &f->profile, err);
	if (!st)
		st = json_object(name, object, "conditions", false, &conditions, err);
	if (!st && conditions)
		f->conditions = json_text(conditions);
	if (!st)
		st = take_text(name, object, "type", false, &f->type, err);
	if (!st)
		st = take_text(name, object, "type_given_by", false, &f->type_given_by, err);
	if (!st && !f->type != !f->type_given_by)
		st = assay_fail(err, ASSAY_E_FORMAT, "%s: type and type_given_by go together", name);
	if (!st)
		st = json_integer(name, object, "taken_ms", true, 0, MS_MAX, &f->taken_ms, err);
	if (!st)
		st = check_taken(name, object, f->taken_ms, err);
	if (!st)
		st = json_integer(name, object, "passes", true, 1, COUNT_MAX, &f->passes, err);
	if (!st)
		st = json_object(name, object, "rates", true, &rates, err);
	return st ? st : parse_rates(name, rates, f, err);
}

static int compare_ids(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static enum assay_status check_ids(const char *name, const struct machine *machine, struct assay_error *err)
{
	size_t n = machine->n_fingerprints;
	char **ids = mem_new(n, sizeof(char *)), shown[TEXT_SHOWN_BYTES];
	enum assay_status st = ASSAY_OK;

	for (size_t i = 0; i < n; i++)
		ids[i] = machine->fingerprints[i].id;
	qsort(ids, n, sizeof(char *), compare_ids);
	for (size_t i = 1; !st && i < n; i++) {
		if (strcmp(ids[i - 1], ids[i]) == 0)
			st = assay_fail(err, ASSAY_E_FORMAT, "%s: fingerprint '%s' stands twice", name, text_shown(ids[i], shown));
	}
	free(ids);
	return st;
}

static enum assay_status check_order(const char *name, const struct machine *machine, struct assay_error *err)
{
	char shown[TEXT_SHOWN_BYTES];

	for (size_t i = 1; i < machine->n_fingerprints; i++) {
		const struct machine_fingerprint *a = &machine->fingerprints[i - 1], *b = a + 1;

		if (a->taken_ms > b->taken_ms || (a->taken_ms == b->taken_ms && strcmp(a->id, b->id) >= 0))
			return assay_fail(err, ASSAY_E_FORMAT, "%s: fingerprints are not in the order of their time (at '%s'), or one stands twice",
					  name, text_shown(b->id, shown));
	}
	return check_ids(name, machine, err);
}

static enum assay_status parse_root(const char *name, const cJSON *root, struct machine *machine, struct assay_error *err)
{
	static const char *const keys[] = { "format", "version", "id", "notes", "identity", MACHINE_MARKS_KEYS, "fingerprints" };
	const cJSON *identity = NULL, *list = NULL, *item;
	const char *format = NULL;
	char shown[TEXT_SHOWN_BYTES];
	int64_t version = 0;
	enum assay_status st;

	if (!cJSON_IsObject(root))
		return assay_fail(err, ASSAY_E_FORMAT, "%s: not a JSON object", name);
	st = json_string(name, root, "format", true, &format, err);
	if (!st && strcmp(format, FORMAT_NAME) != 0)
		st = assay_fail(err, ASSAY_E_FORMAT, "%s: format is '%s', not '" FORMAT_NAME "'", name,
				text_shown(format, shown));
	if (!st)
		st = json_integer(name, root, "version", true, 1, INT32_MAX, &version, err);
	if (!st && version > MACHINE_FORMAT_VERSION)
		st = assay_fail(err, ASSAY_E_VERSION, "%s: version %" PRId64 " of the format, this assay knows up to %d: use a newer assay", name,
				version, MACHINE_FORMAT_VERSION);
	if (!st)
		st = json_keys(name, root, "a machine", keys, sizeof(keys) / sizeof(keys[0]), err);
	if (!st)
		st = take_text(name, root, "id", true, &machine->id, err);
	if (!st && machine_check_id(machine->id, err))
		st = assay_context(err, "%s", name);
	if (!st)
		st = take_text(name, root, "notes", false, &machine->notes, err);
	if (!st)
		st = json_object(name, root, "identity", false, &identity, err);
	if (!st && identity)
		st = parse_identity(name, identity, &machine->identity, err);
	if (!st)
		st = machine_marks_parse(name, root, machine, err);
	if (!st)
		st = json_array(name, root, "fingerprints", true, &list, err);
	if (st)
		return st;
	machine->fingerprints = mem_new((size_t)cJSON_GetArraySize(list), sizeof(*machine->fingerprints));
	cJSON_ArrayForEach(item, list)
	{
		st = parse_fingerprint(name, item, &machine->fingerprints[machine->n_fingerprints++], err);
		if (st)
			return st;
	}
	return check_order(name, machine, err);
}

enum assay_status machine_parse(const char *name, const char *text, size_t n, struct machine *out, struct assay_error *err)
{
	struct machine machine = { 0 };
	cJSON *root = NULL;
	enum assay_status st = json_parse(name, text, n, &root, err);

	if (!st)
		st = parse_root(name, root, &machine, err);
	cJSON_Delete(root);
	*out = machine;
	if (st)
		machine_release(out);
	return st;
}
