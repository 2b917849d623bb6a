/* How often a command does a thing, from how much more of the processor's time it takes when the thing is dearer: the slope of time over
 * dose is the number. It holds for a command that does the same work every time; one whose work depends on its time is found out by what
 * the kernel counts anyway, and gets no numbers. */
#ifndef RUNS_SHAPES_COUNTS_H
#define RUNS_SHAPES_COUNTS_H

#include "base/document.h"
#include "fleet/agent/dose.h"

#include <stdbool.h>
#include <stddef.h>

/* A run of the command. */
struct count_run {
	unsigned shape; /* SHAPES: without any dose */
	bool large;	/* its dose */
	double cpu_s, user_s, wall_s;
	double faults, transfers, bytes; /* page faults without input; calls that read or wrote, and what; NaN: not known */
};

/* Of one shape. */
struct count {
	char *refused; /* why there is none; NULL: there is one */
	size_t runs;
	bool large;	     /* its last dose */
	double n, low, high; /* 90 % interval; all NaN where the command's work depends on its time */
};

struct counts {
	unsigned asked; /* shapes that are only taken when they are asked for, and were: a bit each */
	struct count of[SHAPES];
	struct count_run *runs; /* [n] */
	size_t n, capacity;
	/* Pairs of runs that have measured the usual dose, and the large one: of whatever shape, for all of them spend their doses alike.
	 */
	struct count_dose {
		double *pairs; /* [n], ns */
		size_t n, capacity;
		struct dose is;
	} doses[SHAPE_MEANS][2];
	double less;	    /* so much less work did it do with doses; 0: not to be seen */
	bool contradiction; /* the kernel works, for nothing that was found: then there are no counts, either */
	double base_wall_s; /* without a dose */
	double wall_s;	    /* that all of it took */
};
void counts_release(struct counts *counts); /* accepts zeroed */

/* From its runs: fills in all but `refused` and wall_s. */
void counts_estimate(struct counts *counts);

/* Runs the command (words[n]) with one thing after the other dearer, those of `asked` too, in turn and at least twice each, until budget_s
 * is over; `here`: on this machine, whose files tell whether the program has rights of its own, or is linked statically. *out is
 * overwritten; counts_release() it, after a failure too. */
enum assay_status counts_measure(dose_runner *run, void *context, const char *const *words, size_t n, double budget_s, unsigned asked,
				 bool here, bool progress, struct counts *out, struct assay_error *err);

/* Members `calls`, `less_work` and `contradiction` of the open object, for programs. */
void counts_members(const struct counts *counts, struct document *d);
/* A section, for people. */
void counts_show(const struct counts *counts, struct document *d);

#endif
