/* Profiles of emulated hosts (machines/emulated/NAME.yaml): settings that make a host differ from this machine. They cost time and change
 * no result; zero means "as the machine is". machines/emulated/base.yaml explains the keys. */
#ifndef FLEET_EMULATE_PROFILE_H
#define FLEET_EMULATE_PROFILE_H

#include "base/error.h"
#include "base/rows.h"

#include <stddef.h>
#include <stdint.h>

#define EMULATE_PROFILE_BYTES_MAX 65536
#define EMULATE_NAME_BYTES_MAX	  32

/* Classes of system calls. Constant, key of `system_calls` in a profile. */
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
#define EMULATE_CLASS_DIVISIONS_MAX 3800  /* per class: a filter has room for 4,096 instructions, including the lists of calls */
#define EMULATE_DIVISIONS_MAX	    28000 /* in all: the kernel has room for 32,768 instructions of all filters, including sshd's own */

struct emulate_profile {
	char *name;			     /* name of the file, without ".yaml" */
	char *about;			     /* one line; may be NULL */
	unsigned divisions[EMULATE_CLASSES]; /* added before every call of the class */
	unsigned strings;		     /* repetitions added to the work of string functions */
	unsigned compare;		     /* how often qsort and bsearch call their comparator */
	unsigned malloc_steps;		     /* steps of arithmetic before every allocation and release */
	int64_t mmap_threshold_bytes;	     /* malloc takes larger blocks from the kernel each time */
	unsigned interrupts;		     /* per second of CPU time */
	unsigned page_faults;		     /* events triggered by each page fault */
	unsigned page_walks;		     /* how often per second its pages are marked unused, and need page walks */
	unsigned hog_mib, hog_percent;	     /* memory that a load generator walks through, and share of the time in which it does, % */
};

/* Files that are built into the program, which so works from any directory: the profiles, and the libraries that slow programs down. */
struct emulate_data {
	const char *name;	 /* such as "vm.yaml", "knobs_string.so" */
	const char *bytes, *end; /* bytes[end - bytes], followed by a NUL */
};
extern const struct emulate_data emulate_data[];
extern const size_t emulate_data_n;

/* Parses a profile, which gets `name`. Errors start with "file:line: "; unknown keys are errors. Overwrites *out;
 * emulate_profile_release(). */
enum assay_status emulate_profile_parse(const char *file, const char *name, const char *text, size_t n, struct emulate_profile *out,
					struct assay_error *err);
/* Loads the profile of that name from `directory`, or (NULL) the built-in one. ASSAY_E_NOTFOUND lists the existing profiles. */
enum assay_status emulate_profile_load(const char *directory, const char *name, struct emulate_profile *out, struct assay_error *err);
void emulate_profile_release(struct emulate_profile *profile);

/* Lists the names of all profiles, sorted for a directory, from simple to mixed for built-in ones. names[*n]: free() each and the array. */
enum assay_status emulate_profile_names(const char *directory, char ***names, size_t *n, struct assay_error *err);

#endif
