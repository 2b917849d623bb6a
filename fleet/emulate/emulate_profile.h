/* Profiles of emulated hosts (machines/emulated/NAME.yaml): settings that make a host slower than this machine, but do not change results
 * of programs. The setting 0 changes nothing. machines/emulated/base.yaml explains the keys. */
#ifndef FLEET_EMULATE_PROFILE_H
#define FLEET_EMULATE_PROFILE_H

#include "base/error.h"
#include "base/rows.h"

#include <stddef.h>
#include <stdint.h>

#define EMULATE_PROFILE_BYTES_MAX 65536
#define EMULATE_NAME_BYTES_MAX	  32

/* Classes of system calls. Each row is X(constant, key of `system_calls` in a profile). */
#define EMULATE_CLASS_ROWS(X)                                                                                                              \
	X(EMULATE_CALLS_DATA, "data")                                                                                                      \
	X(EMULATE_CALLS_METADATA, "metadata")                                                                                              \
	X(EMULATE_CALLS_MAPPING, "mapping")                                                                                                \
	X(EMULATE_CALLS_PROCESSES, "processes")                                                                                            \
	X(EMULATE_CALLS_SYNCHRONISATION, "synchronisation")                                                                                \
	X(EMULATE_CALLS_NETWORK, "network")                                                                                                \
	X(EMULATE_CALLS_EVENTS, "events")                                                                                                  \
	X(EMULATE_CALLS_TIME, "time")                                                                                                      \
	X(EMULATE_CALLS_OTHER, "other")

enum emulate_class { EMULATE_CLASS_ROWS(ROWS_ENUM) EMULATE_CLASSES };
#define EMULATE_CLASS_DIVISIONS_MAX 3800  /* limit per class: a filter has room for 4,096 instructions, including the list of calls */
#define EMULATE_DIVISIONS_MAX	    28000 /* limit of all classes: the kernel has room for 32,768 instructions in all filters */

struct emulate_profile {
	char *name;			     /* name of the file without ".yaml" */
	char *about;			     /* one-line description; may be NULL */
	unsigned divisions[EMULATE_CLASSES]; /* number of divisions before each call of the class */
	unsigned strings;		     /* number of times that string functions repeat their work */
	unsigned compare;		     /* number of times that qsort and bsearch call the comparator; 0 for once */
	unsigned malloc_steps;		     /* number of arithmetic steps before each allocation and release */
	int64_t mmap_threshold_bytes;	     /* malloc requests larger blocks from the kernel each time; 0 for the default size */
	unsigned interrupts;		     /* interrupts per second of CPU time */
	unsigned page_faults;		     /* number of events that each page fault triggers */
	unsigned page_walks;		     /* how often per second the pages are marked as unused, which causes page walks */
	unsigned hog_mib, hog_percent;	     /* memory that a load generator walks through, MiB; its share of the time, % */
};

/* Files that this program contains: profiles, and the libraries that slow down programs. */
struct emulate_data {
	const char *name;	 /* name of the file, such as "vm.yaml" or "knobs_string.so" */
	const char *bytes, *end; /* start and end of the content, which is followed by a NUL */
};
extern const struct emulate_data emulate_data[];
extern const size_t emulate_data_n;

/* Parses a profile and sets its name to `name`. Errors, such as unknown keys, start with "file:line: ". Overwrites *out; call
 * emulate_profile_release(). */
enum assay_status emulate_profile_parse(const char *file, const char *name, const char *text, size_t n, struct emulate_profile *out,
					struct assay_error *err);
/* Loads a profile by its name from `directory` (NULL: the built-in ones). ASSAY_E_NOTFOUND: the message lists the existing profiles. */
enum assay_status emulate_profile_load(const char *directory, const char *name, struct emulate_profile *out, struct assay_error *err);
void emulate_profile_release(struct emulate_profile *profile);

/* Lists the profiles in `directory` (NULL: the built-in ones), sorted. The caller frees each of names[*n], and the array. */
enum assay_status emulate_profile_names(const char *directory, char ***names, size_t *n, struct assay_error *err);

#endif
