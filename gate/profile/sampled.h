/* The second level of a profile, where the kernel lets time be sampled: of computing, in whose code; of the kernel's work, for what. The
 * tables of classes stand in sampled.c; what is in none of them is "other", never guessed. */
#ifndef GATE_PROFILE_SAMPLED_H
#define GATE_PROFILE_SAMPLED_H

#include "base/error.h"
#include "gate/profile/levels.h"

#define SAMPLED_CLASSES_MAX 64

struct sampled_class {
	char name[96];
	bool kernel;
	uint64_t count;
};

/* Zeroed is empty. */
struct sampled {
	struct sampled_class classes[SAMPLED_CLASSES_MAX]; /* [n] */
	size_t n;
	uint64_t user, kernel, lost, processes;
	int64_t period_ns;   /* of the processor's time, between samples */
	bool kernel_hidden;  /* sampling the kernel is not allowed */
	bool kernel_unnamed; /* of its functions there are no addresses */
	bool forbidden;	     /* rights would allow what is refused */
	char refused[200];   /* why there are none */
};

/* Adds the lines of fleet/helper/sampler.h; `program` is the command's first word. ASSAY_E_FORMAT: they are none. */
enum assay_status sampled_add(struct sampled *sampled, const char *text, const char *program, struct assay_error *err);

/* Divides the processor's time of one run between the program and the kernel as its samples do, which run on each thread's own time: who
 * sleeps and wakes at ticks of the kernel's clock is missed by those. user, kernel: counts before the run. False, and nothing is changed:
 * too little of it was sampled. */
bool sampled_divide(const struct sampled *sampled, uint64_t user, uint64_t kernel, double *user_s, double *sys_s);

/* The classes by their share of the time, of `levels`, which they divide: members `samples`, `categories`, `not_sampled`; then what is not
 * known, and what would tell. cpu_s: of all runs together. */
void sampled_answer(struct sampled *sampled, const struct levels *levels, double cpu_s, struct document *d);

#endif
