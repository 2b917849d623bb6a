/* The protocol between the counting program (counting.c) and the controller, which both include this file. Both outputs, plan and report,
 * are lines of ASCII text, with single spaces between words. The first line is COUNTING_MAGIC.
 *
 * counting plan EVENT...                         reports which of the events this host can count, and in which runs
 * counting run FILE FAMILY EVENT... -- COMMAND   runs the command and writes a report to FILE
 *
 * Lines of a plan, which is written to standard output:
 *
 * none REASON                    the host has no hardware counters
 * absent EVENT REASON            the event cannot be counted
 * run N FAMILY DOMAIN EVENT...   N: number from 1; FAMILY: hardware, software; DOMAIN: user, or all to include the kernel
 *
 * Lines of a report:
 *
 * count EVENT NUMBER             count of the event for the command and all its descendants; one line per event
 * failed REASON                  replaces all counts: the command was not run, or its counters could not be read
 *
 * `counting run` passes SIGINT on to the command. It ends like the command: with the same exit status, or by the same signal. If the
 * command was not run, the exit status is COUNTING_NOT_COUNTED. */
#ifndef FLEET_COUNTING_H
#define FLEET_COUNTING_H

#define COUNTING_MAGIC	      "assay counting 1"
#define COUNTING_EVENTS_MAX   64
#define COUNTING_NAME_BYTES   64 /* size of an event's name with the NUL */
#define COUNTING_REASON_BYTES 256
#define COUNTING_NOT_COUNTED  125

#define COUNTING_HARDWARE "hardware" /* counted by PAPI */
#define COUNTING_SOFTWARE "software" /* counted by the kernel */

#define COUNTING_INSTRUCTIONS "PAPI_TOT_INS" /* event that each run of hardware events also counts, if possible */

#endif
