/* What each counter tells: in which unit people read it, how small a difference matters to nobody, about what one event costs, and for
 * which kind of trouble it speaks. One table for all back ends. */
#ifndef GATE_DETECT_COUNTERS_H
#define GATE_DETECT_COUNTERS_H

#include "gate/detect/trouble.h"
#include "runs/inside/record/record.h"

#include <stdbool.h>

#define COUNTERS_TIME "time:ns" /* duration of a call; of back ends whose durations mean something and that have little else */

enum counter_role {
	COUNTER_EVENT,  /* per unit of work, where there is one; else per call */
	COUNTER_MISS,   /* an event of what all functions of a thread have in common, caches and TLB: another function can be the cause */
	COUNTER_WORK,   /* what events are divided by; itself per call */
	COUNTER_EFFECT, /* follows from others (cycles, stalls, time): speaks for no kind of its own */
	COUNTER_BASIS,  /* says what other counters rest on, or is not the same twice: not looked at */
};

struct counter_about {
	enum counter_role role;
	enum trouble trouble; /* what it speaks for when there is more of it */
	double min_relevant_delta;      /* the smallest difference that would matter, in the column's own unit */
	double cost_ns;       /* of one event, about: orders of magnitude, to weigh counters against each other */
	double scale;         /* the column's value times this is in `unit` */
	const char *unit;     /* "per 1000 accesses and blocks" */
	const char *text;     /* "potential HITM by false sharing" */
};

/* Of a column as samples_vector() has it, or COUNTERS_TIME. Unknown names get a row for unknown ones. The texts live as long as the program. */
struct counter_about counter_about(enum record_back_end back_end, const char *name);

/* Is it a column for the detector? */
bool counter_watched(enum record_back_end back_end, const char *name);

/* Do durations mean something here, and is there too little else? Then COUNTERS_TIME is a column. */
bool counter_time_watched(enum record_back_end back_end);

#endif
