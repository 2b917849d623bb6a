/* The protocol between the counting program (counting.c) and the controller. Both outputs are lines of ASCII text, with single spaces
 * between words; the first line is COUNTING_MAGIC. Both programs include only this file and pack.h.
 *
 * counting plan EVENT...                         which of these events can this host count, in which runs?
 * counting run FILE FAMILY EVENT... -- COMMAND   runs the command and writes a report to FILE
 *
 * A plan, on standard output:
 *
 * none REASON                    the host has no hardware counters
 * absent EVENT REASON            the event cannot be counted
 * run N FAMILY DOMAIN EVENT...   N from 1; FAMILY hardware, software; DOMAIN user, all (including the kernel)
 *
 * A report:
 *
 * count EVENT NUMBER             one line per event, for the command and all its descendants
 * failed REASON                  instead of all counts: nothing was counted, and the command was not run
 *
 * `counting run` ends like the command: with the command's exit status, or by the same signal. `counting run` forwards SIGINT to the
 * command. If the command was not run, the exit status is COUNTING_NOT_COUNTED. */
#ifndef FLEET_COUNTING_H
#define FLEET_COUNTING_H

#define COUNTING_MAGIC	      "assay counting 1"
#define COUNTING_EVENTS_MAX   64
#define COUNTING_NAME_BYTES   64 /* size of an event's name, including the NUL */
#define COUNTING_REASON_BYTES 256
#define COUNTING_NOT_COUNTED  125

#define COUNTING_HARDWARE "hardware" /* counted by PAPI */
#define COUNTING_SOFTWARE "software" /* counted by the kernel */

#define COUNTING_INSTRUCTIONS "PAPI_TOT_INS" /* event that is added to each run of hardware events if the event fits */

#endif
