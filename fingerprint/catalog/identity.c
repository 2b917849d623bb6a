#include "fingerprint/catalog/identity.h"

#include "base/mem.h"
#include "base/text.h"
#include "fingerprint/catalog/catalog.h"

#include <math.h>

/* Evidence of a machine's identity. Columns: field, name, whether each machine must have its own value. */
#define EVIDENCE_ROWS(X)                                                                                                                   \
	X(machine_id, "machine-id", true)                                                                                                  \
	X(board_serial, "board serial number", true)                                                                                       \
	X(board_uuid, "board UUID", true)                                                                                                  \
	X(cpu_model, "CPU model", false)

static bool texts_differ(const char *a, const char *b)
{
	return a && b && *a && *b && strcmp(a, b) != 0;
}

static bool texts_equal(const char *a, const char *b)
{
	return a && b && *a && strcmp(a, b) == 0;
}

char *identity_rename_command(const char *from, const char *to)
{
	return text_shell_line((const char *const[]){ "assay", "host", "rename", from, to, NULL });
}

static enum assay_status refuse_swap(const char *id, const char *what, const char *before, const char *now, struct assay_error *err)
{
	char *command = identity_rename_command(id, "NEW");

	assay_fail(err, ASSAY_E_CONFLICT,
		   "this is not the machine that the catalog has as '%s': its %s was '%s' and is '%s'; give it another id, or the old one "
		   "another name (%s, then assay host retire NEW)%s",
		   id, what, before, now, command,
		   strcmp(what, "machine-id") == 0
		       ? "; if its system was installed again on the same hardware: assay host trust --reinstalled -w HOST"
		       : "");
	free(command);
	return err->status;
}

static enum assay_status refuse_clone(const char *id, const char *what, const char *value, const char *other, struct assay_error *err)
{
	char *command = identity_rename_command(other, id);

	assay_fail(err, ASSAY_E_CONFLICT,
		   "'%s' has the same %s '%s' as '%s' in the catalog: a clone, or one machine under two names; to rename it: %s", id, what,
		   value, other, command);
	free(command);
	return err->status;
}

enum assay_status identity_check(const struct catalog *catalog, const char *id, const struct facts *facts, struct assay_error *err)
{
	for (size_t i = 0; i < catalog->n; i++) {
		const struct machine *m = &catalog->machines[i];
		bool itself = strcmp(m->id, id) == 0;

#define CHECK(member, what, unique)                                                                                                        \
	if (itself && texts_differ(m->identity.member, facts->member))                                                                     \
		return refuse_swap(id, what, m->identity.member, facts->member, err);                                                      \
	if (!itself && unique && m->n_fingerprints && texts_equal(m->identity.member, facts->member))                                      \
		return refuse_clone(id, what, facts->member, m->id, err);
		EVIDENCE_ROWS(CHECK)
#undef CHECK
	}
	return ASSAY_OK;
}

static void add_evidence(struct buf *evidence, const char *what, const char *before, const char *now)
{
	buf_text(evidence, evidence->size ? "; " : "");
	if (texts_equal(before, now))
		buf_format(evidence, "%s '%s' as before", what, now);
	else if (texts_differ(before, now))
		buf_format(evidence, "%s was '%s', is '%s'", what, before, now);
	else
		buf_format(evidence, "%s not known", what);
}

enum assay_status identity_record_reinstall(struct catalog *catalog, const char *id, const struct facts *facts, struct buf *evidence,
					    struct assay_error *err)
{
	struct machine *m = catalog_find(catalog, id) ? catalog_ensure_machine(catalog, id) : NULL;
	enum assay_status st;
	char *before;

	if (!m) {
		buf_text(evidence, "the catalog has no machine of this name");
		return ASSAY_OK;
	}
#define ADD(member, what, unique) add_evidence(evidence, what, m->identity.member, facts->member);
	EVIDENCE_ROWS(ADD)
#undef ADD
	if (!texts_equal(m->identity.board_serial, facts->board_serial) && !texts_equal(m->identity.board_uuid, facts->board_uuid))
		buf_text(evidence, "; neither board serial nor UUID matches: only --reinstalled accepts it as the same machine");
	before = m->identity.machine_id;
	m->identity.machine_id = NULL;
	st = identity_check(catalog, id, facts, err);
	m->identity.machine_id = before;
	if (!st)
		identity_update(&m->identity, facts);
	return st;
}

static void keep_text(char **out, const char *text)
{
	if (!text || !*text)
		return;
	free(*out);
	*out = mem_string(text);
}

static void keep_number(int64_t *out, double value)
{
	if (isfinite(value) && value > 0)
		*out = (int64_t)value;
}

void identity_update(struct machine_identity *identity, const struct facts *facts)
{
	keep_text(&identity->machine_id, facts->machine_id);
	keep_text(&identity->board_name, facts->board_name);
	keep_text(&identity->board_serial, facts->board_serial);
	keep_text(&identity->board_uuid, facts->board_uuid);
	keep_text(&identity->cpu_vendor, facts->cpu_vendor);
	keep_text(&identity->cpu_model, facts->cpu_model);
	keep_number(&identity->sockets, facts->sockets);
	keep_number(&identity->cores_per_socket, facts->cores_per_socket);
	keep_number(&identity->threads_per_core, facts->threads_per_core);
	keep_number(&identity->memory_bytes, facts->memory_bytes);
}
