/* The processor and page faults made dearer: software events of perf_event_open(2) that nobody reads. The processor's clock, so many times
 * a second, and each page fault set off so many of them, and each costs what a sample costs. They go with this process to all that it
 * starts, and end with the last that has their descriptors. Plain C with the C library only. */
#ifndef FLEET_SHAPE_EVENTS_H
#define FLEET_SHAPE_EVENTS_H

/* For this process and all that it starts; 0: none. Where the kernel lets only root look at itself, what it does for the program stays as
 * it is. 0, or an error number. */
int events_start(unsigned interrupts_a_second, unsigned a_page_fault);

/* An error number where there can be none. */
int events_refused(void);

#endif
