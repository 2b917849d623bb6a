#include "fingerprint/catalog/machine.h"

#include "base/digest.h"
#include "base/mem.h"
#include "base/text.h"
#include "fingerprint/catalog/machine_marks.h"

#include <math.h>

#define FILE_STEM_BYTES_MAX 240 /* most file systems take names of 255 bytes */

enum assay_status machine_check_id(const char *id, struct assay_error *err)
{
	size_t n = strlen(id);

	if (n == 0 || n > MACHINE_ID_BYTES_MAX)
		return assay_fail(err, ASSAY_E_FORMAT, "a machine's name must have 1 to %d bytes", MACHINE_ID_BYTES_MAX);
	if (!text_is_utf8(id, n))
		return assay_fail(err, ASSAY_E_FORMAT, "a machine's name must be UTF-8");
	for (const char *c = id; *c; c++) {
		if (text_control(c))
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
		if (strchr(plain, *c) && !(c == id && *c == '.')) /* no hidden files */
			name[n++] = *c;
		else
			n += (size_t)snprintf(name + n, 4, "%%%02X", (unsigned char)*c);
	}
	if (n > FILE_STEM_BYTES_MAX) {
		/* '%' and a '-' stands in no other name. */
		digest_sha256(id, strlen(id), hex);
		n = FILE_STEM_BYTES_MAX - 2 - (DIGEST_HEX_BYTES - 1);
		n += (size_t)snprintf(name + n, 3 + DIGEST_HEX_BYTES, "%%-%s", hex);
	}
	memcpy(name + n, ".json", 6);
	return name;
}

static void rate_release(struct machine_rate *rate)
{
	free(rate->stressor);
	free(rate->reason);
}

static void fingerprint_release(struct machine_fingerprint *f)
{
	for (size_t i = 0; i < f->n_rates; i++)
		rate_release(&f->rates[i]);
	free(f->rates);
	free(f->id);
	free(f->battery);
	free(f->battery_hash);
	free(f->stress_ng);
	free(f->architecture);
	free(f->origin);
	free(f->profile);
	free(f->conditions);
	free(f->type);
	free(f->type_given_by);
	*f = (struct machine_fingerprint){ 0 };
}

void machine_release(struct machine *machine)
{
	struct machine_identity *identity = &machine->identity;

	for (size_t i = 0; i < machine->n_fingerprints; i++)
		fingerprint_release(&machine->fingerprints[i]);
	free(machine->fingerprints);
	free(identity->machine_id);
	free(identity->board_name);
	free(identity->board_serial);
	free(identity->board_uuid);
	free(identity->cpu_vendor);
	free(identity->cpu_model);
	machine_marks_release(machine);
	free(machine->notes);
	free(machine->id);
	*machine = (struct machine){ 0 };
}

static int compare_time(const void *a, const void *b)
{
	const struct machine_fingerprint *x = a, *y = b;

	if (x->taken_ms != y->taken_ms)
		return x->taken_ms < y->taken_ms ? -1 : 1;
	return strcmp(x->id, y->id);
}

/* The slot of the fingerprint with this id: emptied when it was there, new otherwise. Its given type is kept. */
static struct machine_fingerprint *slot(struct machine *machine, const char *id)
{
	struct machine_fingerprint *f = NULL;

	for (size_t i = 0; i < machine->n_fingerprints; i++) {
		char *type, *given_by;

		f = &machine->fingerprints[i];
		if (strcmp(f->id, id) != 0)
			continue;
		type = f->type;
		given_by = f->type_given_by;
		f->type = f->type_given_by = NULL;
		fingerprint_release(f);
		f->type = type;
		f->type_given_by = given_by;
		return f;
	}
	machine->fingerprints =
	    mem_resize(machine->fingerprints, machine->n_fingerprints + 1, sizeof(struct machine_fingerprint));
	f = &machine->fingerprints[machine->n_fingerprints++];
	*f = (struct machine_fingerprint){ 0 };
	return f;
}

/* A stressor that was never tried has no entry. */
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

void machine_put(struct machine *machine, const struct fingerprint_set *set, const struct fingerprint *f)
{
	struct machine_fingerprint *summary = slot(machine, f->id);

	summary->id = mem_string(f->id);
	summary->taken_ms = f->taken_ms;
	summary->battery = mem_string(f->battery);
	summary->battery_hash = mem_string(f->battery_hash);
	summary->stress_ng = mem_string(f->stress_ng);
	summary->architecture = mem_string(f->architecture);
	summary->origin = mem_string(f->origin);
	summary->profile = f->profile ? mem_string(f->profile) : NULL;
	summary->conditions = f->conditions ? mem_string(f->conditions) : NULL;
	summary->passes = (int64_t)f->n_passes;
	summary->rates = mem_new(set->n_stressors, sizeof(*summary->rates));
	for (size_t j = 0; j < set->n_stressors; j++)
		put_rate(summary, set, f, j);
	qsort(machine->fingerprints, machine->n_fingerprints, sizeof(*machine->fingerprints), compare_time);
}

static void merge_text(char **into, char **from)
{
	if (*into)
		return;
	*into = *from;
	*from = NULL;
}

static void merge_identity(struct machine_identity *into, struct machine_identity *from)
{
#define TEXT(member) merge_text(&into->member, &from->member);
	TEXT(machine_id) TEXT(board_name) TEXT(board_serial) TEXT(board_uuid) TEXT(cpu_vendor) TEXT(cpu_model)
#undef TEXT
#define NUMBER(member) into->member = into->member ? into->member : from->member;
	NUMBER(sockets) NUMBER(cores_per_socket) NUMBER(threads_per_core) NUMBER(memory_bytes)
#undef NUMBER
}

static void merge_notes(struct machine *into, struct machine *from)
{
	char *both;

	if (into->notes && from->notes && strcmp(into->notes, from->notes) != 0) {
		both = mem_format("%s\n%s", into->notes, from->notes);
		free(into->notes);
		into->notes = both;
	}
	merge_text(&into->notes, &from->notes);
}

static bool has(const struct machine *machine, const char *id)
{
	for (size_t i = 0; i < machine->n_fingerprints; i++) {
		if (strcmp(machine->fingerprints[i].id, id) == 0)
			return true;
	}
	return false;
}

void machine_merge(struct machine *into, struct machine *from)
{
	for (size_t i = 0; i < from->n_fingerprints; i++) {
		if (has(into, from->fingerprints[i].id))
			continue;
		into->fingerprints = mem_resize(into->fingerprints, into->n_fingerprints + 1, sizeof(*into->fingerprints));
		into->fingerprints[into->n_fingerprints++] = from->fingerprints[i];
		from->fingerprints[i] = (struct machine_fingerprint){ 0 };
	}
	if (into->n_fingerprints)
		qsort(into->fingerprints, into->n_fingerprints, sizeof(*into->fingerprints), compare_time);
	merge_identity(&into->identity, &from->identity);
	merge_notes(into, from);
	machine_marks_merge(into, from);
	machine_release(from);
}
