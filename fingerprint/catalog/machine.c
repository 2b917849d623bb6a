#include "fingerprint/catalog/machine.h"

#include "base/digest.h"
#include "base/json_reader.h"
#include "base/mem.h"
#include "base/order.h"
#include "base/text.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>

#define FILE_STEM_BYTES_MAX 240 /* leaves room for ".json"; most file systems limit names to 255 bytes */
#define FORMAT_NAME	    "assay machine"
#define COUNT_MAX	    1000000000
#define MS_MAX		    253402300799999 /* end of the year 9999, ms since 1970 */
#define STRESSOR_BYTES_MAX  200

/* Names of text and number members, used for reading and writing. */
#define IDENTITY_TEXTS(X)    X(machine_id) X(board_name) X(board_serial) X(board_uuid) X(cpu_vendor) X(cpu_model)
#define IDENTITY_NUMBERS(X)  X(sockets) X(cores_per_socket) X(threads_per_core) X(memory_bytes)
#define FINGERPRINT_TEXTS(X) X(id) X(battery) X(battery_hash) X(stress_ng) X(architecture) X(origin)
#define NAME_STRING(member)  #member,

/* ---- a machine in memory ---- */

enum assay_status machine_check_id(const char *id, struct assay_error *err)
{
	size_t n = strlen(id);

	if (n == 0 || n > MACHINE_ID_BYTES_MAX)
		return assay_fail(err, ASSAY_E_FORMAT, "a machine's name must have 1 to %d bytes", MACHINE_ID_BYTES_MAX);
	if (!text_is_utf8(id, n))
		return assay_fail(err, ASSAY_E_FORMAT, "a machine's name must be UTF-8");
	for (const char *c = id; *c; c++) {
		if (text_control_char_bytes(c))
			return assay_fail(err, ASSAY_E_FORMAT, "a machine's name must not have control characters");
	}
	if (id[0] == ' ' || id[n - 1] == ' ')
		return assay_fail(err, ASSAY_E_FORMAT, "a machine's name must not start or end with a blank: '%s'", id);
	return ASSAY_OK;
}

char *machine_file_name(const char *id)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.+";
	char *name = mem_new(3 * strlen(id) + 6, 1);
	char hex[DIGEST_HEX_BYTES];
	size_t n = 0;

	for (const char *c = id; *c; c++) {
		if (strchr(plain, *c) && !(c == id && *c == '.')) /* also encodes a leading '.', which would hide the file */
			name[n++] = *c;
		else
			n += (size_t)snprintf(name + n, 4, "%%%02X", (unsigned char)*c);
	}
	if (n > FILE_STEM_BYTES_MAX) {
		/* No other name has "%-", because '%' is otherwise followed by two hexadecimal digits. */
		digest_sha256(id, strlen(id), hex);
		n = FILE_STEM_BYTES_MAX - 2 - (DIGEST_HEX_BYTES - 1);
		n += (size_t)snprintf(name + n, 3 + DIGEST_HEX_BYTES, "%%-%s", hex);
	}
	memcpy(name + n, ".json", 6);
	return name;
}

static void rate_release(struct machine_rate *rate)
{
	mem_free(rate->stressor, rate->reason);
}

static void fingerprint_release(struct machine_fingerprint *f)
{
	mem_release_all(f->rates, f->n_rates, rate_release);
#define FREE(member) free(f->member);
	FINGERPRINT_TEXTS(FREE)
#undef FREE
	mem_free(f->profile, f->conditions, f->type, f->type_given_by);
	*f = (struct machine_fingerprint){ 0 };
}

static void release_acceptances(struct machine *machine)
{
	for (size_t i = 0; i < machine->n_accepted; i++)
		mem_free(machine->accepted[i].fingerprint, machine->accepted[i].reason);
	mem_free(machine->accepted, machine->retired_reason);
	machine->accepted = NULL;
	machine->n_accepted = 0;
	machine->retired_reason = NULL;
}

void machine_release(struct machine *machine)
{
	mem_release_all(machine->fingerprints, machine->n_fingerprints, fingerprint_release);
#define FREE(member) free(machine->identity.member);
	IDENTITY_TEXTS(FREE)
#undef FREE
	release_acceptances(machine);
	mem_free(machine->notes, machine->id);
	*machine = (struct machine){ 0 };
}

void machine_restore(struct machine *machine, int64_t until_ms)
{
	while (machine->n_fingerprints && machine->fingerprints[machine->n_fingerprints - 1].taken_ms > until_ms)
		fingerprint_release(&machine->fingerprints[--machine->n_fingerprints]);
	for (; machine->n_accepted && machine->accepted[machine->n_accepted - 1].accepted_ms > until_ms; machine->n_accepted--)
		mem_free(machine->accepted[machine->n_accepted - 1].fingerprint, machine->accepted[machine->n_accepted - 1].reason);
	machine->retired = machine->retired && machine->retired_ms <= until_ms;
}

const struct machine_fingerprint *machine_find_fingerprint(const struct machine *machine, const char *id)
{
	for (size_t i = 0; machine && i < machine->n_fingerprints; i++) {
		if (strcmp(machine->fingerprints[i].id, id) == 0)
			return &machine->fingerprints[i];
	}
	return NULL;
}

bool machine_is_comparable(const struct machine_fingerprint *a, const struct machine_fingerprint *b)
{
	return strcmp(a->battery_hash, b->battery_hash) == 0 && strcmp(a->stress_ng, b->stress_ng) == 0 &&
	       strcmp(a->architecture, b->architecture) == 0;
}

ORDER_BY(compare_time, struct machine_fingerprint, BY_ASC(taken_ms) BY_TEXT(id))

/* Returns an empty slot for the fingerprint with this id, existing or new. Keeps only the hardware type of an existing fingerprint. */
static struct machine_fingerprint *fingerprint_slot(struct machine *machine, const char *id)
{
	const struct machine_fingerprint *found = machine_find_fingerprint(machine, id);
	struct machine_fingerprint *f, kept;

	if (found) {
		f = &machine->fingerprints[found - machine->fingerprints];
		kept = (struct machine_fingerprint){ .type = f->type, .type_given_by = f->type_given_by };
		f->type = f->type_given_by = NULL;
		fingerprint_release(f);
		*f = kept;
		return f;
	}
	machine->fingerprints = mem_resize(machine->fingerprints, machine->n_fingerprints + 1, sizeof(*f));
	f = &machine->fingerprints[machine->n_fingerprints++];
	*f = (struct machine_fingerprint){ 0 };
	return f;
}

/* Adds the stressor's rate, or the reason why there is none. Adds nothing for a stressor that was never tried. */
static void put_rate(struct machine_fingerprint *summary, const struct fingerprint_set *set, const struct fingerprint *f, size_t stressor)
{
	struct fingerprint_summary s = fingerprint_summarise(set, f, stressor);
	const char *reason = s.zero ? "recorded 0" : (f->reasons ? f->reasons[stressor] : NULL);
	struct machine_rate rate = { .median = s.median, .mad = s.mad, .real_median = s.real_median };

	if (!s.measured && !reason)
		return;
	rate.stressor = mem_string(set->stressors[stressor]);
	rate.n = (int64_t)(s.measured ? s.measured : (s.zero ? s.zero : f->n_passes));
	rate.reason = s.measured ? NULL : mem_string(reason);
	summary->rates[summary->n_rates++] = rate;
}

void machine_put_fingerprint(struct machine *machine, const struct fingerprint_set *set, const struct fingerprint *f)
{
	struct machine_fingerprint *summary = fingerprint_slot(machine, f->id);

#define COPY(member) summary->member = mem_string(f->member);
	FINGERPRINT_TEXTS(COPY)
#undef COPY
	summary->taken_ms = f->taken_ms;
	summary->profile = f->profile ? mem_string(f->profile) : NULL;
	summary->conditions = f->conditions ? mem_string(f->conditions) : NULL;
	summary->passes = (int64_t)f->n_passes;
	summary->rates = mem_new(set->n_stressors, sizeof(*summary->rates));
	for (size_t j = 0; j < set->n_stressors; j++)
		put_rate(summary, set, f, j);
	qsort(machine->fingerprints, machine->n_fingerprints, sizeof(*machine->fingerprints), compare_time);
}

/* ---- the user's decisions: accepted fingerprints, retirement ---- */

enum assay_status machine_check_reason(const char *reason, struct assay_error *err)
{
	size_t n = strlen(reason);

	if (n == 0 || n > MACHINE_REASON_BYTES_MAX)
		return assay_fail(err, ASSAY_E_FORMAT, "a reason must have 1 to %d bytes", MACHINE_REASON_BYTES_MAX);
	if (!text_is_utf8(reason, n))
		return assay_fail(err, ASSAY_E_FORMAT, "a reason must be UTF-8");
	for (const char *c = reason; *c; c++) {
		if (text_control_char_bytes(c))
			return assay_fail(err, ASSAY_E_FORMAT, "a reason must be one line without control characters");
	}
	return ASSAY_OK;
}

void machine_accept(struct machine *machine, const char *fingerprint, int64_t now_ms, const char *reason)
{
	/* The last acceptance counts. If the clock was wrong, uses the time of the previous acceptance, so that times stay in order. */
	if (machine->n_accepted && machine->accepted[machine->n_accepted - 1].accepted_ms > now_ms)
		now_ms = machine->accepted[machine->n_accepted - 1].accepted_ms;
	machine->accepted = mem_resize(machine->accepted, machine->n_accepted + 1, sizeof(*machine->accepted));
	machine->accepted[machine->n_accepted++] = (struct machine_acceptance){ mem_string(fingerprint), now_ms, mem_string(reason) };
}

void machine_retire(struct machine *machine, bool retired, int64_t now_ms, const char *reason)
{
	free(machine->retired_reason);
	machine->retired = retired;
	machine->retired_ms = retired ? now_ms : 0;
	machine->retired_reason = retired && reason ? mem_string(reason) : NULL;
}

/* ---- conversion to and from JSON ---- */

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
#define ADD(member)                                                                                                                        \
	if (identity->member)                                                                                                              \
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

	add_text(object, "id", f->id);
	add_text(object, "taken", TEXT_DATE(f->taken_ms));
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

static cJSON *mark_json(int64_t at_ms, const char *reason)
{
	cJSON *object = cJSON_CreateObject();

	cJSON_AddStringToObject(object, "at", TEXT_DATE(at_ms));
	cJSON_AddNumberToObject(object, "at_ms", (double)at_ms);
	if (reason)
		cJSON_AddStringToObject(object, "reason", reason);
	return object;
}

static void add_marks(const struct machine *machine, cJSON *root)
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

char *machine_to_json(const struct machine *machine)
{
	cJSON *root = cJSON_CreateObject();
	cJSON *list;
	char *text;

	cJSON_AddStringToObject(root, "format", FORMAT_NAME);
	cJSON_AddNumberToObject(root, "version", MACHINE_FORMAT_VERSION);
	cJSON_AddStringToObject(root, "id", machine->id);
	add_text(root, "notes", machine->notes);
	cJSON_AddItemToObject(root, "identity", identity_json(&machine->identity));
	add_marks(machine, root);
	list = cJSON_AddArrayToObject(root, "fingerprints");
	for (size_t i = 0; i < machine->n_fingerprints; i++)
		cJSON_AddItemToArray(list, fingerprint_json(&machine->fingerprints[i]));
	text = json_text(root);
	cJSON_Delete(root);
	return text;
}

static char *read_text(struct json_reader *r, const cJSON *object, const char *key)
{
	return mem_string(json_reader_text(r, object, key));
}

static char *read_optional_text(struct json_reader *r, const cJSON *object, const char *key)
{
	return json_reader_has(r, object, key) ? read_text(r, object, key) : NULL;
}

static void read_identity(struct json_reader *r, const cJSON *object, struct machine_identity *out)
{
	static const char *const keys[] = { IDENTITY_TEXTS(NAME_STRING) IDENTITY_NUMBERS(NAME_STRING) };

	json_reader_check_keys(r, object, "identity", keys, sizeof(keys) / sizeof(keys[0]));
#define TAKE(member) out->member = read_optional_text(r, object, #member);
	IDENTITY_TEXTS(TAKE)
#undef TAKE
#define TAKE(member)                                                                                                                       \
	if (json_reader_has(r, object, #member))                                                                                           \
		out->member = json_reader_integer(r, object, #member, 0, INT64_C(1) << 52);
	IDENTITY_NUMBERS(TAKE)
#undef TAKE
}

static double read_number(struct json_reader *r, const cJSON *object, const char *key, bool required)
{
	return required || json_reader_has(r, object, key) ? json_reader_number(r, object, key, -DBL_MAX, DBL_MAX) : (double)NAN;
}

static void read_rate(struct json_reader *r, const cJSON *object, struct machine_rate *out)
{
	static const char *const keys[] = { "median", "mad", "real_median", "n", "not_measured" };
	size_t n;

	json_reader_check_keys(r, object, "a rate", keys, sizeof(keys) / sizeof(keys[0]));
	out->reason = read_optional_text(r, object, "not_measured");
	out->median = read_number(r, object, "median", !out->reason);
	out->mad = read_number(r, object, "mad", !out->reason);
	out->real_median = read_number(r, object, "real_median", false);
	out->n = json_reader_integer(r, object, "n", 1, COUNT_MAX);
	n = out->reason ? strlen(out->reason) : 0;
	if (out->reason && (n == 0 || n > MACHINE_REASON_BYTES_MAX || !isnan(out->median) || !isnan(out->mad) || !isnan(out->real_median)))
		json_reader_fail(r, "both measured and not measured, or a reason of no or too many bytes");
	if (!out->reason && (!(out->median > 0 && out->mad >= 0) || out->real_median <= 0))
		json_reader_fail(r, "a median that is not above 0, or a negative dispersion");
}

static void read_rates(struct json_reader *r, const cJSON *object, struct machine_fingerprint *f)
{
	const cJSON *item;

	f->rates = mem_new(object ? (size_t)cJSON_GetArraySize(object) : 0, sizeof(*f->rates));
	for (item = object ? object->child : NULL; item && !r->st; item = item->next) {
		struct machine_rate *rate = &f->rates[f->n_rates];
		char *where;
		struct json_reader of_rate = { .err = r->err };

		if (!*item->string || strlen(item->string) > STRESSOR_BYTES_MAX) {
			json_reader_fail(r, "a stressor's name must have 1 to %d bytes", STRESSOR_BYTES_MAX);
			return;
		}
		if (f->n_rates && strcmp(rate[-1].stressor, item->string) >= 0) {
			json_reader_fail(r, "stressors are not in the order of their names at '%s'", TEXT_SANITIZED(item->string));
			return;
		}
		rate->stressor = mem_string(item->string);
		f->n_rates++;
		of_rate.name = where = mem_format("%s: rate of '%s'", r->name, TEXT_SANITIZED(item->string));
		read_rate(&of_rate, item, rate);
		r->st = of_rate.st;
		free(where);
	}
}

/* Checks that the date "taken" equals taken_ms, or "at" equals at_ms. A date that was edited by hand would mislead users. */
static void check_date(struct json_reader *r, const cJSON *object, const char *key, int64_t ms)
{
	const char *said = json_reader_has(r, object, key) ? json_reader_text(r, object, key) : NULL;
	char date[TEXT_DATE_BYTES];

	if (said && strcmp(said, text_from_ms(ms, date)) != 0)
		json_reader_fail(r, "%s is '%s', but %s_ms is %s", key, TEXT_SANITIZED(said), key, date);
}

static void read_fingerprint(struct json_reader *r, const cJSON *object, struct machine_fingerprint *f)
{
	static const char *const keys[] = {
		FINGERPRINT_TEXTS(NAME_STRING) "taken", "taken_ms", "profile", "conditions", "type", "type_given_by", "passes", "rates"
	};

	json_reader_check_keys(r, object, "a fingerprint", keys, sizeof(keys) / sizeof(keys[0]));
#define TAKE(member) f->member = read_text(r, object, #member);
	FINGERPRINT_TEXTS(TAKE)
#undef TAKE
	f->profile = read_optional_text(r, object, "profile");
	if (json_reader_has(r, object, "conditions")) {
		const cJSON *conditions = json_reader_object(r, object, "conditions");

		f->conditions = conditions ? json_text(conditions) : NULL;
	}
	f->type = read_optional_text(r, object, "type");
	f->type_given_by = read_optional_text(r, object, "type_given_by");
	if (!f->type != !f->type_given_by)
		json_reader_fail(r, "type and type_given_by go together");
	f->taken_ms = json_reader_integer(r, object, "taken_ms", 0, MS_MAX);
	check_date(r, object, "taken", f->taken_ms);
	f->passes = json_reader_integer(r, object, "passes", 1, COUNT_MAX);
	read_rates(r, json_reader_object(r, object, "rates"), f);
}

static int64_t read_mark(struct json_reader *r, const cJSON *object, bool required, const char **reason)
{
	int64_t at_ms = json_reader_integer(r, object, "at_ms", 0, MS_MAX);

	check_date(r, object, "at", at_ms);
	*reason = required || json_reader_has(r, object, "reason") ? json_reader_text(r, object, "reason") : NULL;
	if (!r->st && *reason && machine_check_reason(*reason, r->err))
		r->st = assay_add_context(r->err, "%s", r->name);
	return at_ms;
}

static void read_accepted(struct json_reader *r, const cJSON *object, struct machine *machine)
{
	static const char *const keys[] = { "fingerprint", "at", "at_ms", "reason" };
	const char *fingerprint, *reason;
	int64_t at_ms;

	if (!cJSON_IsObject(object))
		json_reader_fail(r, "an item of 'accepted' is not an object");
	json_reader_check_keys(r, object, "an accepted fingerprint", keys, sizeof(keys) / sizeof(keys[0]));
	fingerprint = json_reader_text(r, object, "fingerprint");
	at_ms = read_mark(r, object, true, &reason);
	if (machine->n_accepted && machine->accepted[machine->n_accepted - 1].accepted_ms > at_ms)
		json_reader_fail(r, "accepted fingerprints are not in the order of their time");
	if (!r->st)
		machine_accept(machine, fingerprint, at_ms, reason);
}

static void read_retired(struct json_reader *r, const cJSON *object, struct machine *machine)
{
	static const char *const keys[] = { "at", "at_ms", "reason" };
	const char *reason;
	int64_t at_ms;

	json_reader_check_keys(r, object, "retired", keys, sizeof(keys) / sizeof(keys[0]));
	at_ms = read_mark(r, object, false, &reason);
	if (!r->st)
		machine_retire(machine, true, at_ms, reason);
}

static void read_marks(struct json_reader *r, const cJSON *root, struct machine *machine)
{
	const cJSON *accepted = json_reader_has(r, root, "accepted") ? json_reader_array(r, root, "accepted", 0, SIZE_MAX) : NULL;
	const cJSON *retired = json_reader_has(r, root, "retired") ? json_reader_object(r, root, "retired") : NULL;

	if (retired)
		read_retired(r, retired, machine);
	for (const cJSON *item = accepted ? accepted->child : NULL; item && !r->st; item = item->next)
		read_accepted(r, item, machine);
}

static void check_ids(struct json_reader *r, const struct machine *machine)
{
	size_t n = machine->n_fingerprints;
	char **ids = mem_new(n, sizeof(char *)), shown[TEXT_SANITIZED_BYTES];

	for (size_t i = 0; i < n; i++)
		ids[i] = machine->fingerprints[i].id;
	qsort(ids, n, sizeof(char *), text_compare);
	for (size_t i = 1; i < n; i++) {
		if (strcmp(ids[i - 1], ids[i]) == 0)
			json_reader_fail(r, "fingerprint '%s' is listed twice", text_sanitize(ids[i], shown));
	}
	free(ids);
}

static void check_order(struct json_reader *r, const struct machine *machine)
{
	for (size_t i = 1; i < machine->n_fingerprints; i++) {
		const struct machine_fingerprint *a = &machine->fingerprints[i - 1], *b = a + 1;

		if (a->taken_ms > b->taken_ms || (a->taken_ms == b->taken_ms && strcmp(a->id, b->id) >= 0))
			json_reader_fail(r, "fingerprints are not in the order of their time (at '%s'), or one stands twice",
					 TEXT_SANITIZED(b->id));
	}
}

/* Reads the head. Reports an unknown format or a newer version before unknown keys, because a newer version may have other keys. */
static void read_head(struct json_reader *r, const cJSON *root)
{
	static const char *const keys[] = { "format", "version", "id", "notes", "identity", "accepted", "retired", "fingerprints" };
	const char *format;
	int64_t version;

	if (!cJSON_IsObject(root))
		json_reader_fail(r, "not a JSON object");
	format = json_reader_text(r, root, "format");
	if (strcmp(format, FORMAT_NAME) != 0)
		json_reader_fail(r, "format is '%s', not '" FORMAT_NAME "'", TEXT_SANITIZED(format));
	version = json_reader_integer(r, root, "version", 1, INT32_MAX);
	if (!r->st && version > MACHINE_FORMAT_VERSION)
		r->st = assay_fail(r->err, ASSAY_E_VERSION,
				   "%s: version %" PRId64 " of the format, this assay supports up to %d: use a newer assay", r->name,
				   version, MACHINE_FORMAT_VERSION);
	json_reader_check_keys(r, root, "a machine", keys, sizeof(keys) / sizeof(keys[0]));
}

static void read_root(struct json_reader *r, const cJSON *root, struct machine *machine)
{
	const cJSON *list;

	read_head(r, root);
	machine->id = read_text(r, root, "id");
	if (!r->st && machine_check_id(machine->id, r->err))
		r->st = assay_add_context(r->err, "%s", r->name);
	machine->notes = read_optional_text(r, root, "notes");
	if (json_reader_has(r, root, "identity"))
		read_identity(r, json_reader_object(r, root, "identity"), &machine->identity);
	read_marks(r, root, machine);
	list = json_reader_array(r, root, "fingerprints", 0, SIZE_MAX);
	machine->fingerprints = mem_new(list ? (size_t)cJSON_GetArraySize(list) : 0, sizeof(*machine->fingerprints));
	for (const cJSON *item = list ? list->child : NULL; item && !r->st; item = item->next)
		read_fingerprint(r, item, &machine->fingerprints[machine->n_fingerprints++]);
	if (r->st)
		return;
	check_order(r, machine);
	check_ids(r, machine);
}

enum assay_status machine_parse(const char *name, const char *text, size_t n, struct machine *out, struct assay_error *err)
{
	struct machine machine = { 0 };
	struct json_reader r = { name, err, ASSAY_OK };
	cJSON *root = NULL;

	r.st = json_parse(name, text, n, &root, err);
	if (!r.st)
		read_root(&r, root, &machine);
	cJSON_Delete(root);
	*out = machine;
	if (r.st)
		machine_release(out);
	return r.st;
}
