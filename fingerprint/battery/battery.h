/* Batteries: lists of stressors with arguments, seconds, passes and limits, in YAML. Two batteries are built into assay
 * (fingerprint/battery/); others are files of the laboratory. */
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
	char *name;	  /* name of the feature; default: the stressor's name */
	char *stressor;	  /* stress-ng's name of the stressor */
	char **arguments; /* [n_arguments] arguments after `--STRESSOR 1` on stress-ng's command line */
	size_t n_arguments;
	char **categories; /* [n_categories] sorted, without duplicates; default: the stressor's categories */
	size_t n_categories;
	int64_t milliseconds; /* duration of one run of the stressor, ms */
	bool dangerous;	      /* could fill a disk or memory, or flood the kernel's log; runs only if the user names this stressor */
};

/* Limits of a stressor; 0 means no limit. */
struct battery_limits {
	int64_t memory_bytes; /* address space of each process; in a cgroup, also memory of all processes together */
	int64_t file_bytes;   /* size of each file that a stressor writes, bytes */
	int64_t open_files;
	int64_t processes; /* number of processes in a cgroup; not limited without a cgroup */
};

struct battery {
	char *name;
	int64_t passes;
	struct battery_limits limits;
	struct battery_entry *entries; /* [n] sorted by name */
	size_t n;
	char hash[FINGERPRINT_ID_BYTES]; /* hash of the passes, and of the name, stressor, arguments and seconds of each selected entry */
};

/* Parses a battery into *out. `file` is the name in error messages. The caller calls battery_release(). */
enum assay_status battery_parse(const char *file, const char *text, size_t n, struct battery *out, struct assay_error *err);

/* Opens a built-in battery by its name ("quick" or "paper"), or a file if `name` contains '/' or ends with ".yaml". */
enum assay_status battery_open(const char *name, struct battery *out, struct assay_error *err);

/* Removes dangerous entries that are not in named[0..n), and updates the battery's hash. ASSAY_E_USAGE: a name is unknown, or no entry
 * remains. */
enum assay_status battery_select(struct battery *battery, const char *const *named, size_t n, struct assay_error *err);

void battery_release(struct battery *battery);

#endif
