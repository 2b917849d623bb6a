/* Where the time of runs went, as it was sampled: of computing, in whose code and in which functions; of the kernel's work, for what. The
 * table of the kernel's classes stands in sampled.c, that of code in code.c; what is in none of them is "other", never guessed. */
#ifndef GATE_PROFILE_SAMPLED_H
#define GATE_PROFILE_SAMPLED_H

#include "base/error.h"
#include "gate/profile/code.h"

#define SAMPLED_CLASSES_MAX   64
#define SAMPLED_FUNCTIONS_MAX 1024
#define SAMPLED_NAME_BYTES    96
#define SAMPLED_OWN	      "own code of " /* starts the name of the class that is the program itself */

struct sampled_class {
	char name[SAMPLED_NAME_BYTES];
	bool kernel;
	uint64_t count;
};

struct sampled_function {
	char name[CODE_NAME_BYTES];
	char file[SAMPLED_NAME_BYTES]; /* without its directory */
	size_t class;
	bool by_callers; /* as in code.h */
	uint64_t count;
};

/* When: of each run's time from its first sample to its last, in equal parts. */
#define SAMPLED_SLICES	 32
#define SAMPLED_SLICED	 24
#define SAMPLED_PROGRAMS 24
struct sampled_sliced {
	char name[SAMPLED_NAME_BYTES]; /* of a class; user code by its file alone */
	bool kernel;
	double count[SAMPLED_SLICES];
	double in_program[SAMPLED_PROGRAMS];
};

/* Of the processes that a command is, those of one name. */
struct sampled_program {
	char name[SAMPLED_NAME_BYTES]; /* as the kernel has it; "?": none yet, or there is no room for it */
	uint64_t count;
};

/* Zeroed is empty. */
struct sampled {
	const char *own; /* what the program is called; NULL: as its file. Borrowed until the last sampled_add() */
	struct sampled_class classes[SAMPLED_CLASSES_MAX]; /* [n] */
	size_t n;
	struct sampled_function functions[SAMPLED_FUNCTIONS_MAX]; /* [n_functions] */
	size_t n_functions;
	struct sampled_sliced sliced[SAMPLED_SLICED]; /* [n_sliced] of those runs that say so; classes that are met often */
	size_t n_sliced;
	struct sampled_program programs[SAMPLED_PROGRAMS]; /* [n_programs] */
	size_t n_programs;
	double sliced_ns; /* that these runs took, together */
	uint64_t sliced_runs;
	bool slices_over; /* further runs, on other machines, are not sliced */
	uint64_t user, kernel, lost, processes, threads;
	double undivided;    /* less than a sample: what was not divided of "transfer" */
	uint64_t unnamed;    /* of user: in no function that is known, where one was looked for */
	uint64_t nameless;   /* of user: in functions that are told by their address */
	uint64_t maps_lost;  /* times that a process had more code mapped than was kept */
	int64_t period_ns;   /* of the CPU time, between samples */
	bool apart;	     /* in some runs each process had a clock of its own, which misses short ones */
	bool kernel_hidden;  /* sampling the kernel is not allowed */
	bool kernel_unnamed; /* of its functions there are no addresses */
	bool forbidden;	     /* rights would allow what is refused */
	char refused[200];   /* why there are none */
};

/* Adds the lines of fleet/helper/sampler.h; `program` is the command's first word. With `code` (NULL: without), which was made before the
 * run, files of this machine say what is at a place in them. ASSAY_E_FORMAT: they are none. */
enum assay_status sampled_add(struct sampled *sampled, const char *text, const char *program, struct code *code, struct assay_error *err);

/* The name of a class of the kernel's work, as the table has it: it lasts. What is none of them is "other work". */
const char *sampled_kernel_class(const char *name);

#endif
