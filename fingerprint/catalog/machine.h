/* A machine of the catalog. Its JSON file (docs/schema/host-show.json) is for users to read and to keep in git. */
#ifndef FINGERPRINT_CATALOG_MACHINE_H
#define FINGERPRINT_CATALOG_MACHINE_H

#include "base/error.h"
#include "base/json.h"
#include "fingerprint/stored/fingerprint.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MACHINE_FORMAT_VERSION	 1
#define MACHINE_ID_BYTES_MAX	 200
#define MACHINE_REASON_BYTES_MAX 1024

/* Evidence of the machine's identity; NULL or 0 if unknown. Readings of speed are conditions, and do not belong here. */
struct machine_identity {
	char *machine_id, *board_name, *board_serial, *board_uuid, *cpu_vendor, *cpu_model;
	int64_t sockets, cores_per_socket, threads_per_core, memory_bytes;
};

/* Median and dispersion of a stressor's rate over the passes of a fingerprint. */
struct machine_rate {
	char *stressor;
	int64_t n;	    /* number of passes with a rate; if none, of passes with a recorded 0; if none either, of all passes */
	double median, mad; /* operations per second of user and system CPU time; NaN if not measured */
	double real_median; /* operations per second of real time; NaN if unknown */
	char *reason;	    /* reason why the stressor was not measured; NULL if it was */
};

struct machine_fingerprint {
	char *id; /* id of the full fingerprint in the store */
	int64_t taken_ms;
	char *battery, *battery_hash, *stress_ng, *architecture, *origin;
	char *profile;		    /* profile of an emulated host; NULL for other machines */
	char *conditions;	    /* JSON text of an object, as json_text() formats it; NULL if unknown */
	char *type, *type_given_by; /* hardware type from an import, and the source of this type; both NULL if no import gave a type */
	int64_t passes;
	struct machine_rate *rates; /* [n_rates] sorted by stressor */
	size_t n_rates;
};

/* A fingerprint that a user accepted as the reference for drift. */
struct machine_acceptance {
	char *fingerprint; /* fingerprint id */
	int64_t accepted_ms;
	char *reason;
};

struct machine {
	char *id;
	char *notes; /* notes of the laboratory, which assay does not change; NULL if there are none */
	struct machine_identity identity;
	struct machine_acceptance *accepted; /* [n_accepted], sorted by time */
	size_t n_accepted;
	bool retired; /* excluded from types, drift and suggestions; remains in the catalog because runs refer to it */
	int64_t retired_ms;
	char *retired_reason;			  /* NULL if none was given */
	struct machine_fingerprint *fingerprints; /* [n_fingerprints], sorted by time, then id */
	size_t n_fingerprints;
};

/* Checks a machine's id: 1 to MACHINE_ID_BYTES_MAX bytes of printable UTF-8, without a space at the start or end. */
enum assay_status machine_check_id(const char *id, struct assay_error *err);

/* Returns the file name of machine `id`. Letters, digits, '-', '_', '.' and '+' remain; other bytes become %XX; ".json" is added. A name
 * that is too long is truncated and ends with "%-" and the SHA-256 of `id`. free() it. */
char *machine_file_name(const char *id);

/* Parses the text of a machine's file into *out. Error messages start with `name`. */
enum assay_status machine_parse(const char *name, const char *text, size_t n, struct machine *out, struct assay_error *err);
char *machine_to_json(const struct machine *machine); /* Returns JSON text; free() it. */

/* Returns the fingerprint with this id; NULL if there is none, or if `machine` is NULL. */
const struct machine_fingerprint *machine_find_fingerprint(const struct machine *machine, const char *id);
/* Reports whether the rates of two fingerprints are comparable: same battery, stress-ng version and architecture. */
bool machine_is_comparable(const struct machine_fingerprint *a, const struct machine_fingerprint *b);

/* Adds the summary of fingerprint `f`. If there is a summary with the same id, replaces it, but keeps its hardware type. */
void machine_put_fingerprint(struct machine *machine, const struct fingerprint_set *set, const struct fingerprint *f);

/* Checks a reason: UTF-8 without control characters, 1 to MACHINE_REASON_BYTES_MAX bytes. */
enum assay_status machine_check_reason(const char *reason, struct assay_error *err);

/* Makes a fingerprint the reference for drift, even if an earlier acceptance has a later time. The reason is valid. */
void machine_accept(struct machine *machine, const char *fingerprint, int64_t now_ms, const char *reason);

/* Retires a machine; if `retired` is false, takes it back into use. `reason` may be NULL. */
void machine_retire(struct machine *machine, bool retired, int64_t now_ms, const char *reason);

/* Restores the state at `until_ms`: removes fingerprints, acceptances and a retirement after this time. */
void machine_restore(struct machine *machine, int64_t until_ms);

void machine_release(struct machine *machine);

#endif
