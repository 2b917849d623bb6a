/* A machine of the catalog: a human-readable JSON file (docs/schema/host-show.json), kept in git by the laboratory. */
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

/* Evidence of identity; NULL or 0: unknown. Speed-like readings are conditions and do not belong here. */
struct machine_identity {
	char *machine_id, *board_name, *board_serial, *board_uuid, *cpu_vendor, *cpu_model;
	int64_t sockets, cores_per_socket, threads_per_core, memory_bytes;
};

/* Median and dispersion of a stressor over the passes of a fingerprint. */
struct machine_rate {
	char *stressor;
	int64_t n;	    /* number of passes with a rate; without any, of those with a recorded 0, or of all */
	double median, mad; /* per second of usr+sys time; NaN: not measured */
	double real_median; /* per second of real time; NaN: unknown */
	char *reason;	    /* why it was not measured; else NULL */
};

struct machine_fingerprint {
	char *id; /* id of the raw record in the store */
	int64_t taken_ms;
	char *battery, *battery_hash, *stress_ng, *architecture, *origin;
	char *profile;		    /* profile of an emulated host, or NULL */
	char *conditions;	    /* JSON text of an object in json_text()'s format, or NULL */
	char *type, *type_given_by; /* hardware type given from outside, and its source; or both NULL */
	int64_t passes;
	struct machine_rate *rates; /* [n_rates], in name order */
	size_t n_rates;
};

/* A fingerprint that was accepted as the machine's baseline. */
struct machine_acceptance {
	char *fingerprint; /* its id */
	int64_t accepted_ms;
	char *reason;
};

struct machine {
	char *id;
	char *notes; /* the laboratory's notes, unchanged; or NULL */
	struct machine_identity identity;
	struct machine_acceptance *accepted; /* [n_accepted], by time */
	size_t n_accepted;
	bool retired; /* kept, because runs refer to it, but excluded from types, drift and suggestions */
	int64_t retired_ms;
	char *retired_reason;			  /* may be NULL */
	struct machine_fingerprint *fingerprints; /* [n_fingerprints], by time, then id */
	size_t n_fingerprints;
};

/* Checks an identifier: printable UTF-8 without blanks at the ends, 1 to MACHINE_ID_BYTES_MAX bytes. */
enum assay_status machine_check_id(const char *id, struct assay_error *err);

/* Returns the file's name: the identifier, with all but letters, digits, '-', '_', '.' and '+' written as %XX, and ".json". A too long name
 * is cut and ends with "%-" and the identifier's SHA-256. free() it. */
char *machine_file_name(const char *id);

/* Parses the text of a file; overwrites *out. Errors start with `name`. */
enum assay_status machine_parse(const char *name, const char *text, size_t n, struct machine *out, struct assay_error *err);
char *machine_text(const struct machine *machine); /* free() it */

/* Returns the fingerprint with this id; NULL: there is none, or no machine. */
const struct machine_fingerprint *machine_find(const struct machine *machine, const char *id);
/* Reports whether rates may be compared: same battery, stress-ng version and architecture. */
bool machine_comparable(const struct machine_fingerprint *a, const struct machine_fingerprint *b);

/* Adds the summary of a fingerprint, or replaces the one with the same id; keeps a given type. */
void machine_put(struct machine *machine, const struct fingerprint_set *set, const struct fingerprint *f);

/* Checks a reason: UTF-8 without control characters, 1 to MACHINE_REASON_BYTES_MAX bytes. */
enum assay_status machine_check_reason(const char *reason, struct assay_error *err);

/* Makes a fingerprint the reference for drift from now on, even if a clock was ahead before. The reason must be valid. */
void machine_accept(struct machine *machine, const char *fingerprint, int64_t now_ms, const char *reason);

/* Retires a machine or, with retired == false, takes it back into use. `reason` may be NULL. */
void machine_retire(struct machine *machine, bool retired, int64_t now_ms, const char *reason);

/* Restores the state at that time: removes later fingerprints and marks. */
void machine_forget_after(struct machine *machine, int64_t until_ms);

void machine_release(struct machine *machine);

#endif
