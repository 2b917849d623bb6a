/* Tells recorded processes of this machine for how long they were stopped (by a signal, from the keyboard): they cannot see it themselves,
 * and a call that was under way then looks as if it had taken so long. The state of each is looked at again and again, from outside; how
 * long it was stopped goes into its record file, where its own records take it from. With it goes what all processes of the run have used
 * of this machine's processors, whether they are recorded or not: what else was used, others did. Only for commands. */
#ifndef RUNS_INSTRUMENT_STOPS_H
#define RUNS_INSTRUMENT_STOPS_H

/* Watches processes that begin from now on, and have their record files in the directory, by a thread that takes .4 % of a processor at
 * most. stops_end() it; NULL: there is no such thread, and nobody is told anything. */
struct stops *stops_watch(const char *directory);
void stops_end(struct stops *stops); /* accepts NULL */

#endif
