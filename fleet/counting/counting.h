/* The protocol between the counting program (counting.c) and the controller. Both outputs are lines of ASCII text with single spaces
 * between words; the first is COUNTING_MAGIC. Only this file and pack.h are included by both.
 *
 * counting plan EVENT...                         which of these events can this host count, and in which runs?
 * counting run FILE FAMILY EVENT... -- COMMAND   runs the command and writes a report to FILE
 *
 * A plan, on standard output:
 *
 * none REASON                    no hardware counters on this host
 * absent EVENT REASON            excluded, and why
 * run N FAMILY DOMAIN EVENT...   N from 1; FAMILY hardware, software; DOMAIN user, all (the kernel's part too)
 *
 * A report:
 *
 * count EVENT NUMBER             one per event, of the command and all its descendants
 * failed REASON                  instead: nothing was counted, and the command was not run
 *
 * The exit status of `counting run` is the command's; it ends by the same signal. It passes SIGINT on to the command. If the command was
 * not run, the exit status is COUNTING_NOT_COUNTED. */
#ifndef FLEET_COUNTING_H
#define FLEET_COUNTING_H

#define COUNTING_MAGIC	      "assay counting 1"
#define COUNTING_EVENTS_MAX   64
#define COUNTING_NAME_BYTES   64 /* size of an event's name, with its NUL */
#define COUNTING_REASON_BYTES 256
#define COUNTING_NOT_COUNTED  125

#define COUNTING_HARDWARE "hardware" /* counted by PAPI */
#define COUNTING_SOFTWARE "software" /* counted by the kernel */

#define COUNTING_INSTRUCTIONS "PAPI_TOT_INS" /* added to every run with hardware events in which it fits */

#endif
