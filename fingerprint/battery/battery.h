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
	char *name;	  /* the feature's name; the stressor's unless given */
	char *stressor;	  /* of stress-ng */
	char **arguments; /* [n_arguments] after `--STRESSOR 1` */
	size_t n_arguments;
	char **categories; /* [n_categories], a set in name order; those of the stressor unless given */
	size_t n_categories;
	int64_t milliseconds; /* after which it is ended */
	bool dangerous;	      /* runs only when asked for by name: can fill a disk or the memory, or floods the kernel's log */
};

/* What a stressor may use at most; 0: no limit. */
struct battery_limits {
	int64_t memory_bytes; /* address space of each process; and, in a cgroup, of all of it together */
	int64_t file_bytes;   /* of one file */
	int64_t open_files;
	int64_t processes; /* in a cgroup; elsewhere there is no such limit */
};

struct battery {
	char *name;
	int64_t passes;
	struct battery_limits limits;
	struct battery_entry *entries; /* [n], in name order */
	size_t n;
	char hash[FINGERPRINT_ID_BYTES]; /* of what is measured by the entries that are not dangerous: stressors, names, arguments,
					  * seconds, passes; not comments, categories, limits or the order */
};

/* From text; `file` is for messages. *out is overwritten; battery_release() it. */
enum assay_status battery_parse(const char *file, const char *text, size_t n, struct battery *out, struct assay_error *err);

/* A built-in battery by name ("quick", "paper"), or a file when the name has a '/' or ends with ".yaml". */
enum assay_status battery_open(const char *name, struct battery *out, struct assay_error *err);

/* Takes out the dangerous entries but those in named[0..n) (ASSAY_E_USAGE for one that is not there), and brings the hash up to
 * date: with other entries it is another battery. */
enum assay_status battery_select(struct battery *battery, const char *const *named, size_t n, struct assay_error *err);

void battery_release(struct battery *battery);

#endif
