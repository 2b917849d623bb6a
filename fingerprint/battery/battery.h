/* Batteries: lists of stressors with arguments, seconds, passes and limits. YAML; two are built in (fingerprint/battery/),
 * others are files of the laboratory. */
#ifndef FINGERPRINT_BATTERY_BATTERY_H
#define FINGERPRINT_BATTERY_BATTERY_H

#include "base/error.h"
#include "fingerprint/stored/fingerprint.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define BATTERY_ENTRIES_MAX 500
#define BATTERY_PASSES_MAX  1000

struct battery_entry {
	char *name;	  /* name of the feature; default: the stressor's */
	char *stressor;	  /* name in stress-ng */
	char **arguments; /* [n_arguments] after `--STRESSOR 1` */
	size_t n_arguments;
	char **categories; /* [n_categories], a set in name order; default: those of the stressor */
	size_t n_categories;
	int64_t milliseconds; /* time after which it is ended */
	bool dangerous;	      /* runs only if named by the user: can fill a disk or the memory, or floods the kernel's log */
};

/* Limits of a stressor; 0: no limit. */
struct battery_limits {
	int64_t memory_bytes; /* address space of each process; and, in a cgroup, memory of all processes together */
	int64_t file_bytes;   /* size of one file */
	int64_t open_files;
	int64_t processes; /* in a cgroup; no limit elsewhere */
};

struct battery {
	char *name;
	int64_t passes;
	struct battery_limits limits;
	struct battery_entry *entries; /* [n], in name order */
	size_t n;
	char hash[FINGERPRINT_ID_BYTES]; /* hash of the measured data of entries that are not dangerous: stressors, names, arguments,
					    seconds, passes; without comments, categories, limits or the order */
};

/* Parses a battery; `file` is for messages. Overwrites *out; battery_release() it. */
enum assay_status battery_parse(const char *file, const char *text, size_t n, struct battery *out, struct assay_error *err);

/* Opens a built-in battery by name ("quick", "paper"), or a file if the name has a '/' or ends with ".yaml". */
enum assay_status battery_open(const char *name, struct battery *out, struct assay_error *err);

/* Removes the dangerous entries except named[0..n) (ASSAY_E_USAGE: one is unknown), and updates the hash: this is another battery. */
enum assay_status battery_select(struct battery *battery, const char *const *named, size_t n, struct assay_error *err);

void battery_release(struct battery *battery);

#endif
