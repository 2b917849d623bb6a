/* The sampled time of runs: computing by kind of code and by function, and the kernel's work by purpose. The tables are in sampled.c
 * (kernel) and code.c (code). Samples that are in no table count as "other"; there is no guessing. */
#ifndef GATE_PROFILE_SAMPLED_H
#define GATE_PROFILE_SAMPLED_H

#include "base/error.h"
#include "gate/profile/code.h"

#define SAMPLED_CLASSES_MAX   64
#define SAMPLED_FUNCTIONS_MAX 1024
#define SAMPLED_NAME_BYTES    96
#define SAMPLED_OWN_PREFIX    "own code of " /* prefix for the class of the program's own code */

struct sampled_class {
	char name[SAMPLED_NAME_BYTES];
	bool kernel;
	uint64_t count;
};

struct sampled_function {
	char name[CODE_NAME_BYTES];
	char file[SAMPLED_NAME_BYTES]; /* file name without directory */
	size_t class;
	bool is_class_from_callers; /* the function has no symbol; its class is that of most of its callers (code.h) */
	uint64_t count;
};

/* Number of equal parts of a run's time, from its first to its last sample. */
#define SAMPLED_SLICES	   32
#define SAMPLED_SLICED_MAX 24
#define SAMPLED_PROGRAMS   24
struct sampled_sliced_class {
	char name[SAMPLED_NAME_BYTES]; /* name of a class; for user code, the class of the file */
	bool kernel;
	double count[SAMPLED_SLICES];
	double in_program[SAMPLED_PROGRAMS];
};

/* The processes of a command that have the same name. */
struct sampled_program {
	char name[SAMPLED_NAME_BYTES]; /* name in the kernel; "?" if it was not known yet, or if the list was full */
	uint64_t count;
};

/* The samples of several runs. A zeroed struct has no samples. */
struct sampled {
	const char *program_name; /* name of the program in the classes, borrowed until the last sampled_add(); NULL to use the name of the
				     program's file */
	struct sampled_class classes[SAMPLED_CLASSES_MAX]; /* [n] in the order of first appearance */
	size_t n;
	struct sampled_function functions[SAMPLED_FUNCTIONS_MAX]; /* [n_functions] in the order of first appearance */
	size_t n_functions;
	struct sampled_sliced_class sliced[SAMPLED_SLICED_MAX]; /* [n_sliced] frequent classes, of those runs that have slices */
	size_t n_sliced;
	struct sampled_program programs[SAMPLED_PROGRAMS]; /* [n_programs] in the order of first appearance */
	size_t n_programs;
	double sliced_ns; /* duration of all sliced runs together, ns */
	uint64_t sliced_runs;
	bool no_more_slices; /* further runs are not added to the slices, because they ran on other machines */
	uint64_t user, kernel, lost, processes, threads;
	double undivided;	     /* fraction of a sample that is left over from dividing "transfer" samples */
	uint64_t unnamed;	     /* number of user samples whose function was looked up but is not known */
	uint64_t nameless;	     /* number of user samples in functions without a symbol */
	uint64_t maps_lost;	     /* number of mappings of code that could not be recorded */
	int64_t period_ns;	     /* CPU time between two samples, ns */
	bool has_per_process_clocks; /* in some runs each process had its own sampling clock, which misses short processes */
	bool kernel_hidden;	     /* the user may not sample the kernel */
	bool kernel_names_hidden;    /* the kernel hides the addresses of its functions */
	bool needs_more_rights;	     /* more rights would allow sampling */
	char refused[200];	     /* reason why there are no samples; "" if there is none */
};

/* Adds samples in the format of fleet/helper/sampler.h. `program` is the first argument of the command. `code` was made before the run and
 * finds the functions at addresses in this machine's files; NULL to look up none. Returns ASSAY_E_FORMAT if the text is malformed. */
enum assay_status sampled_add(struct sampled *sampled, const char *text, const char *program, struct code *code, struct assay_error *err);

/* Returns the static string of a class of the kernel's work; "other work" if the table has no class with this name. */
const char *sampled_kernel_class(const char *name);

#endif
