/* One machine of the catalog: a JSON file that people can read and compare (docs/formats.md), kept in git by the laboratory. */
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

/* Evidence of identity; NULL or 0 where it is not known. Speed-like readings are conditions and do not belong here. */
struct machine_identity {
	char *machine_id, *board_name, *board_serial, *board_uuid, *cpu_vendor, *cpu_model;
	int64_t sockets, cores_per_socket, threads_per_core, memory_bytes;
};

/* Median and dispersion of a stressor over the passes of a fingerprint. */
struct machine_rate {
	char *stressor;
	int64_t n;	    /* passes with a rate; where there is none, those with a recorded 0, or all */
	double median, mad; /* per second of usr+sys time; NaN: not measured */
	double real_median; /* per second of real time; NaN: not known */
	char *reason;	    /* why it was not measured, else NULL */
};

struct machine_fingerprint {
	char *id; /* of the raw record in the store */
	int64_t taken_ms;
	char *battery, *battery_hash, *stress_ng, *architecture, *origin;
	char *profile;		    /* of an emulated host, or NULL */
	char *conditions;	    /* JSON text of an object, as json_text() writes it, or NULL */
	char *type, *type_given_by; /* hardware type given from outside, and by what; or both NULL */
	int64_t passes;
	struct machine_rate *rates; /* [n_rates], in name order */
	size_t n_rates;
};

/* A fingerprint that was accepted as the machine's baseline. */
struct machine_acceptance {
	char *fingerprint; /* id */
	int64_t accepted_ms;
	char *reason;
};

struct machine {
	char *id;
	char *notes; /* of the laboratory, kept as they are; or NULL */
	struct machine_identity identity;
	struct machine_acceptance *accepted; /* [n_accepted], by time */
	size_t n_accepted;
	bool retired; /* kept, because runs have it, but excluded from types, drift and suggestions */
	int64_t retired_ms;
	char *retired_reason;			  /* or NULL */
	struct machine_fingerprint *fingerprints; /* [n_fingerprints], by time, then id */
	size_t n_fingerprints;
};

/* Identifiers are printable UTF-8 without blanks at the ends, 1 to MACHINE_ID_BYTES_MAX bytes. */
enum assay_status machine_check_id(const char *id, struct assay_error *err);

/* The file's name: the identifier with everything but letters, digits, '-', '_', '.' and '+' written as %XX, and ".json"; what
 * is too long for a file's name is cut and ends with "%-" and the identifier's SHA-256. free() it. */
char *machine_file_name(const char *id);

/* From and to the text of a file; *out is overwritten. Errors start with `name`. */
enum assay_status machine_parse(const char *name, const char *text, size_t n, struct machine *out, struct assay_error *err);
char *machine_text(const struct machine *machine); /* free() it */

/* The fingerprint with this id, NULL when it is not there, or there is no machine. */
const struct machine_fingerprint *machine_find(const struct machine *machine, const char *id);
/* May their rates stand in one comparison? Same battery, stress-ng version and architecture. */
bool machine_comparable(const struct machine_fingerprint *a, const struct machine_fingerprint *b);

/* Puts the summary of a fingerprint in, in place of the one with the same id; a type that was given stays. */
void machine_put(struct machine *machine, const struct fingerprint_set *set, const struct fingerprint *f);

/* Reasons are UTF-8 without control characters, 1 to MACHINE_REASON_BYTES_MAX bytes. */
enum assay_status machine_check_reason(const char *reason, struct assay_error *err);

/* Makes a fingerprint the reference for drift from now on, even if a clock was ahead before; the reason must be a valid one. */
void machine_accept(struct machine *machine, const char *fingerprint, int64_t now_ms, const char *reason);

/* No longer in use, or, with retired == false, again. `reason` may be NULL. */
void machine_retire(struct machine *machine, bool retired, int64_t now_ms, const char *reason);

/* Makes a machine what it was known as at that time: without later fingerprints and marks. */
void machine_forget_after(struct machine *machine, int64_t until_ms);

void machine_release(struct machine *machine);

#endif
