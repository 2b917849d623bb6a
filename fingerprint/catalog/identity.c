#include "fingerprint/catalog/identity.h"

#include "base/mem.h"
#include "base/text.h"

#include <inttypes.h>
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

char *identity_merge_command(const char *other, const char *id)
{
	return text_shell_line((const char *const[]){ "assay", "catalog", "rename", other, id, "--merge", NULL });
}

static enum assay_status swapped(const char *id, const char *what, const char *before, const char *now, struct assay_error *err)
{
	char *command = text_shell_line((const char *const[]){ "assay", "catalog", "rename", id, "NEW", NULL });

	assay_fail(err, ASSAY_E_CONFLICT, "this is not the machine that the catalog knows as '%s': its %s was '%s' and is '%s'; give it another "
		   "id, or the old one another name (%s, then assay catalog retire NEW)", id, what, before, now, command);
	free(command);
	return err->status;
}

static enum assay_status cloned(const char *id, const char *what, const char *value, const char *other, struct assay_error *err)
{
	char *command = identity_merge_command(other, id);

	assay_fail(err, ASSAY_E_CONFLICT, "'%s' has the same %s '%s' as '%s' in the catalog: a clone, or one machine under two names, which this "
		   "makes one for good: %s", id, what, value, other, command);
	free(command);
	return err->status;
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

static enum assay_status differs(const struct machine *a, const struct machine *b, const char *what, const char *x, const char *y,
				 struct assay_error *err)
{
	return assay_fail(err, ASSAY_E_CONFLICT, "'%s' and '%s' look like two machines: the %s is '%s' and '%s'; what is merged cannot be parted "
			  "again: --force, if they are one all the same", a->id, b->id, what, x, y);
}

enum assay_status identity_differ(const struct machine *a, const struct machine *b, struct assay_error *err)
{
	const struct machine_identity *x = &a->identity, *y = &b->identity;
	const struct machine_fingerprint *f, *g;

	if ((x->sockets && y->sockets && x->sockets != y->sockets) ||
	    (x->cores_per_socket && y->cores_per_socket && x->cores_per_socket != y->cores_per_socket))
		return assay_fail(err, ASSAY_E_CONFLICT, "'%s' and '%s' look like two machines: they have %" PRId64 " x %" PRId64 " and %" PRId64
				  " x %" PRId64 " cores; what is merged cannot be parted again: --force, if they are one all the same", a->id,
				  b->id, x->sockets, x->cores_per_socket, y->sockets, y->cores_per_socket);
	if (!a->n_fingerprints || !b->n_fingerprints)
		return ASSAY_OK;
	f = &a->fingerprints[a->n_fingerprints - 1];
	g = &b->fingerprints[b->n_fingerprints - 1];
	if (strcmp(f->profile ? f->profile : "", g->profile ? g->profile : "") != 0)
		return differs(a, b, "profile", f->profile ? f->profile : "none, as it is not emulated",
			       g->profile ? g->profile : "none, as it is not emulated", err);
	if (strcmp(f->architecture, g->architecture) != 0)
		return differs(a, b, "architecture", f->architecture, g->architecture, err);
	if (differ(f->type, g->type))
		return differs(a, b, "hardware type", f->type, g->type, err);
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
