/* Sampled time of runs: computing by kind of code and function; the kernel's work by purpose. sampled.c has the table of the kernel's
 * classes, code.c the table of code. Samples that are in no table are "other", never guessed. */
#ifndef GATE_PROFILE_SAMPLED_H
#define GATE_PROFILE_SAMPLED_H

#include "base/error.h"
#include "gate/profile/code.h"

#define SAMPLED_CLASSES_MAX   64
#define SAMPLED_FUNCTIONS_MAX 1024
#define SAMPLED_NAME_BYTES    96
#define SAMPLED_OWN	      "own code of " /* prefix of the class of the program's own code */

struct sampled_class {
	char name[SAMPLED_NAME_BYTES];
	bool kernel;
	uint64_t count;
};

struct sampled_function {
	char name[CODE_NAME_BYTES];
	char file[SAMPLED_NAME_BYTES]; /* name without directory */
	size_t class;
	bool by_callers; /* the function has no name; its class is the class of its callers (code.h) */
	uint64_t count;
};

/* Number of equal parts of a run's time, from its first sample to its last. */
#define SAMPLED_SLICES	 32
#define SAMPLED_SLICED	 24
#define SAMPLED_PROGRAMS 24
struct sampled_sliced {
	char name[SAMPLED_NAME_BYTES]; /* name of a class; for user code, the class of its file */
	bool kernel;
	double count[SAMPLED_SLICES];
	double in_program[SAMPLED_PROGRAMS];
};

/* Processes of a command that have the same name. */
struct sampled_program {
	char name[SAMPLED_NAME_BYTES]; /* name in the kernel; "?": not known yet, or there was no room */
	uint64_t count;
};

/* Samples of several runs; zeroed: none. */
struct sampled {
	const char *own; /* name of the program; NULL: the name of the program's file. Borrowed until the last sampled_add() */
	struct sampled_class classes[SAMPLED_CLASSES_MAX]; /* [n] classes with their samples */
	size_t n;
	struct sampled_function functions[SAMPLED_FUNCTIONS_MAX]; /* [n_functions] functions with their samples */
	size_t n_functions;
	struct sampled_sliced sliced[SAMPLED_SLICED]; /* [n_sliced] frequent classes, of the runs that have slices */
	size_t n_sliced;
	struct sampled_program programs[SAMPLED_PROGRAMS]; /* [n_programs] programs with their samples */
	size_t n_programs;
	double sliced_ns; /* duration of all sliced runs together */
	uint64_t sliced_runs;
	bool slices_over; /* further runs are not sliced, because those runs are on other machines */
	uint64_t user, kernel, lost, processes, threads;
	double undivided;    /* part of a sample that remains after dividing "transfer" */
	uint64_t unnamed;    /* number of user samples without a known function, if functions were looked up */
	uint64_t nameless;   /* number of user samples in functions that are named by their address */
	uint64_t maps_lost;  /* number of times that a process mapped more code than was recorded */
	int64_t period_ns;   /* CPU time between samples, ns */
	bool apart;	     /* in some runs each process had its own clock, which misses short processes */
	bool kernel_hidden;  /* the user may not sample the kernel */
	bool kernel_unnamed; /* the kernel hides the addresses of its functions */
	bool forbidden;	     /* more rights would allow sampling */
	char refused[200];   /* reason why there are no samples */
};

/* Adds the lines of fleet/helper/sampler.h. program: first argument of the command. code: made before the run; finds the functions at
 * places in files of this machine; NULL: functions are not looked up. ASSAY_E_FORMAT: other text. */
enum assay_status sampled_add(struct sampled *sampled, const char *text, const char *program, struct code *code, struct assay_error *err);

/* Returns the static name of a class of the kernel's work; "other work" if the table lacks it. */
const char *sampled_kernel_class(const char *name);

#endif
