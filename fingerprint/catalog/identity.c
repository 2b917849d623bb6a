#include "fingerprint/catalog/identity.h"

#include "base/mem.h"

#include <math.h>

/* Evidence that tells one machine from another of the same model, what it is called, whether two machines must differ in it. */
#define EVIDENCE_ROWS(X)                               \
	X(machine_id, "machine-id", true)              \
	X(board_serial, "board serial number", true)   \
	X(board_uuid, "board UUID", true)              \
	X(cpu_model, "CPU model", false)

static bool differ(const char *a, const char *b)
{
	return a && b && *a && *b && strcmp(a, b) != 0;
}

static bool same(const char *a, const char *b)
{
	return a && b && *a && strcmp(a, b) == 0;
}

static enum assay_status swapped(const char *id, const char *what, const char *before, const char *now, struct assay_error *err)
{
	return assay_fail(err, ASSAY_E_CONFLICT, "this is not the machine that the catalog knows as '%s': its %s was '%s' and is '%s'; give it "
			  "another id, or the old one another name ('assay catalog rename %s NEW', then 'assay catalog retire NEW')", id, what,
			  before, now, id);
}

static enum assay_status cloned(const char *id, const char *what, const char *value, const char *other, struct assay_error *err)
{
	return assay_fail(err, ASSAY_E_CONFLICT, "'%s' has the same %s '%s' as '%s' in the catalog: a clone, or one machine under two names; "
			  "'assay catalog rename %s %s --merge' makes them one", id, what, value, other, other, id);
}

enum assay_status identity_check(const struct catalog *catalog, const char *id, const struct facts *facts, struct assay_error *err)
{
	for (size_t i = 0; i < catalog->n; i++) {
		const struct machine *m = &catalog->machines[i];
		bool itself = strcmp(m->id, id) == 0;

#define CHECK(member, what, unique)                                                                \
	if (itself && differ(m->identity.member, facts->member))                                   \
		return swapped(id, what, m->identity.member, facts->member, err);                  \
	if (!itself && unique && same(m->identity.member, facts->member))                          \
		return cloned(id, what, facts->member, m->id, err);
		EVIDENCE_ROWS(CHECK)
#undef CHECK
	}
	return ASSAY_OK;
}

enum assay_status identity_contradict(const struct machine *a, const struct machine *b, struct assay_error *err)
{
#define CHECK(member, what, unique)                                                                                            \
	if (differ(a->identity.member, b->identity.member))                                                                    \
		return assay_fail(err, ASSAY_E_CONFLICT, "'%s' and '%s' are two machines: the %s is '%s' and '%s'", a->id, b->id, what, \
				  a->identity.member, b->identity.member);
	EVIDENCE_ROWS(CHECK)
#undef CHECK
	return ASSAY_OK;
}

static void take_text(char **out, const char *text)
{
	if (!text || !*text)
		return;
	free(*out);
	*out = mem_string(text);
}

static void take_number(int64_t *out, double value)
{
	if (isfinite(value) && value > 0)
		*out = (int64_t)value;
}

void identity_take(struct machine_identity *identity, const struct facts *facts)
{
	take_text(&identity->machine_id, facts->machine_id);
	take_text(&identity->board_name, facts->board_name);
	take_text(&identity->board_serial, facts->board_serial);
	take_text(&identity->board_uuid, facts->board_uuid);
	take_text(&identity->cpu_vendor, facts->cpu_vendor);
	take_text(&identity->cpu_model, facts->cpu_model);
	take_number(&identity->sockets, facts->sockets);
	take_number(&identity->cores_per_socket, facts->cores_per_socket);
	take_number(&identity->threads_per_core, facts->threads_per_core);
	take_number(&identity->memory_bytes, facts->memory_bytes);
}
