/* Batteries: lists of stressors with arguments, seconds, passes and limits, in YAML format. Two batteries are built in
 * (fingerprint/battery/); other batteries are files of the laboratory. */
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
	char *name;	  /* name of the feature; default: name of the stressor */
	char *stressor;	  /* name in stress-ng */
	char **arguments; /* [n_arguments], placed after `--STRESSOR 1` on the command line */
	size_t n_arguments;
	char **categories; /* [n_categories], without duplicates, in name order; default: the stressor's categories */
	size_t n_categories;
	int64_t milliseconds; /* time limit of the stressor, ms */
	bool dangerous;	      /* can fill a disk or the memory, or flood the kernel's log; runs only if the user names this stressor */
};

/* Limits of a stressor; 0: no limit. */
struct battery_limits {
	int64_t memory_bytes; /* limit of the address space of each process; in a cgroup, also of the memory of all processes together */
	int64_t file_bytes;   /* maximum size of one file that stressors write, bytes */
	int64_t open_files;
	int64_t processes; /* limit on the number of processes in a cgroup; no limit without a cgroup */
};

struct battery {
	char *name;
	int64_t passes;
	struct battery_limits limits;
	struct battery_entry *entries; /* [n], in name order */
	size_t n;
	char hash[FINGERPRINT_ID_BYTES]; /* hash of passes and of name, stressor, arguments and seconds of each selected entry */
};

/* Parses a battery into *out. `file` is the name that messages show. The caller calls battery_release(). */
enum assay_status battery_parse(const char *file, const char *text, size_t n, struct battery *out, struct assay_error *err);

/* Opens the built-in battery `name` ("quick", "paper"), or a file if `name` contains '/' or ends with ".yaml". */
enum assay_status battery_open(const char *name, struct battery *out, struct assay_error *err);

/* Removes dangerous entries, except named[0..n), and computes the hash of the new battery. ASSAY_E_USAGE: a name is unknown, or no entry
 * remains. */
enum assay_status battery_select(struct battery *battery, const char *const *named, size_t n, struct assay_error *err);

void battery_release(struct battery *battery);

#endif
