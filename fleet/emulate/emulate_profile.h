/* Profiles of emulated hosts (machines/emulated/NAME.yaml): what makes a host of this machine differ from the machine. Knobs cost
 * time and change no result; zero is "as the machine is". machines/emulated/base.yaml explains the keys. */
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
#define EMULATE_CLASS_DIVISIONS_MAX 3800  /* of one class: a filter has room for 4,096 instructions, the lists of calls among them */
#define EMULATE_DIVISIONS_MAX	    28000 /* in all: the kernel has room for 32,768 instructions of all filters, sshd's own among them */

struct emulate_profile {
	char *name;			     /* of the file, without ".yaml" */
	char *about;			     /* one line; may be NULL */
	unsigned divisions[EMULATE_CLASSES]; /* that every call of the class makes first */
	unsigned strings;		     /* string functions do their work so many times more */
	unsigned compare;		     /* qsort and bsearch call their comparator so many times */
	unsigned malloc_steps;		     /* steps of arithmetic before every allocation and release */
	int64_t mmap_threshold_bytes;	     /* malloc takes larger blocks from the kernel each time */
	unsigned interrupts;		     /* a second of its CPU time */
	unsigned page_faults;		     /* events that each page fault sets off */
	unsigned page_walks;		     /* times a second that its pages are marked as not used, and have to be walked to */
	unsigned hog_mib, hog_percent;	     /* memory that a second process walks through, and how much of the time */
};

/* Files that are built into the program, so that it works wherever it lies: the profiles, and the libraries that slow programs down. */
struct emulate_data {
	const char *name;	 /* "vm.yaml", "knobs_string.so" */
	const char *bytes, *end; /* bytes[end - bytes], and a NUL after them */
};
extern const struct emulate_data emulate_data[];
extern const size_t emulate_data_n;

/* From text; the profile gets `name`, errors start with "file:line: ". Unknown keys are errors. *out is overwritten;
 * emulate_profile_release() it. */
enum assay_status emulate_profile_parse(const char *file, const char *name, const char *text, size_t n, struct emulate_profile *out,
					struct assay_error *err);
/* The profile of that name out of `directory`, or (NULL) of those built into the program. ASSAY_E_NOTFOUND names those that are there. */
enum assay_status emulate_profile_load(const char *directory, const char *name, struct emulate_profile *out, struct assay_error *err);
void emulate_profile_release(struct emulate_profile *profile);

/* The names of all profiles, sorted for a directory and from simple to mixed for the built-in ones: names[*n], free() each and all. */
enum assay_status emulate_profile_names(const char *directory, char ***names, size_t *n, struct assay_error *err);

#endif
