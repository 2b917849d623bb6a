/* Where the time of an emulated process went, by the kernel's clock (runs/inside/emulate/emulate_functions.c): in code that counts; in the
 * C library, of which calls are counted; and in libraries that were not built for the emulation, of which nothing is. */
#ifndef RUNS_SAMPLES_CLOCK_H
#define RUNS_SAMPLES_CLOCK_H

#include "runs/inside/samples/samples.h"

#define SAMPLES_CLOCK_KEY     "clock"	/* of the lines about the process */
#define SAMPLES_CLOCK_PROGRAM "program" /* what of the program itself was not built for the emulation */

struct samples_clock {
	size_t function;     /* that was active, innermost of those that are known; SIZE_MAX: none */
	uint64_t ticks;	     /* of the clock */
	const char *library; /* the file's name; SAMPLES_CLOCK_PROGRAM; NULL: the program's own code, which counts. Borrowed */
	bool counted;	     /* NULL, or the C library, whose calls count at a fixed price */
};

/* *out [returned], to free(): in the file's order. 0: nothing is known, or nothing took long enough. Lines that cannot be read are left
 * out. */
size_t samples_clock(const struct samples *samples, struct samples_clock **out);

/* Of one process or several. Zeroed to begin with. */
struct samples_time {
	double ticks, unseen; /* all; in libraries that do not count */
	struct samples_library {
		char *name;
		double ticks;
		bool counted; /* its calls are */
	} * libraries;	      /* [n] */
	size_t n;
};
void samples_time_add(struct samples_time *time, const struct samples *samples); /* of the emulated back end */
void samples_time_release(struct samples_time *time);				 /* accepts zeroed */

#define SAMPLES_TIME_SAID .1 /* of all ticks: as many in libraries that do not count are worth a word... */
#define SAMPLES_TICKS_MIN 50 /* ...where there are so many in all */
/* For people: "38 % of the program's time is in libz.so.1, which does not count". free() it. NULL: not so much that it is to be said. */
char *samples_time_text(const struct samples_time *time);

#endif
