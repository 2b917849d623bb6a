/* Everything that this process has started, however far it went: a subreaper (PR_SET_CHILD_SUBREAPER, Linux 3.4) inherits each
 * orphan below it, so a process without children has no descendants. */
#ifndef FLEET_HELPER_DESCENDANTS_H
#define FLEET_HELPER_DESCENDANTS_H

#include <stddef.h>
#include <sys/types.h>

#define DESCENDANTS_PATIENCE_MS 10000

/* Sends a signal (0: none) to every living descendant, found by their parents in /proc, and to the process groups that they have
 * made. Returns how many there were. */
size_t descendants_signal(int signal);

/* SIGKILL until none is left, and reaps them. *met is how many were alive when they were first looked at. Returns how many were
 * not gone after DESCENDANTS_PATIENCE_MS: another user's, or stuck in the kernel. */
size_t descendants_end(size_t *met);

/* A helper that is killed with all of its processes leaves what its command has started. To be found by the next one, each command has a
 * mark that names its helper: in RLIMIT_LOCKS, which the kernel has not looked at since Linux 2.4 and every process inherits, whatever it
 * closes, forks or executes. */
void leftovers_mark(pid_t owner); /* in a child, before it becomes the command; owner: what guard_run() was called by */
/* SIGKILL to everything whose helper is dead, in this namespace of processes, until none of it is left or DESCENDANTS_PATIENCE_MS is
 * over. Returns how many there were. */
size_t leftovers_end(void);

/* Two processes watch over what runs, so that SIGKILL of either leaves nothing behind. In a child, calls work(argument) and ends
 * with what it returns; both processes are subreapers. When the child is killed, the guard ends all that it had started; when the
 * guard is killed, the child gets SIGTERM. SIGTERM, SIGHUP, SIGINT and SIGQUIT of the guard reach the child as SIGTERM; these and
 * SIGCHLD are blocked in both, for signalfd(2). Descriptors open now stay open until both are gone, and with them a lock. Returns
 * the exit status, 1 when the child was killed, -1 with errno when there is no child. Both killed at
 * once: the command's first process dies (PR_SET_PDEATHSIG), and what it has started is for leftovers_end(). */
int guard_run(int (*work)(void *argument), void *argument);

#endif
