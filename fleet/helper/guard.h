/* Two processes watch over what runs, so that SIGKILL of either leaves nothing behind. */
#ifndef FLEET_HELPER_GUARD_H
#define FLEET_HELPER_GUARD_H

/* In a child, calls work(argument) and ends with what it returns; both processes are subreapers. When the child is killed, the
 * guard ends all that it had started; when the guard is killed, the child gets SIGTERM. SIGTERM, SIGHUP, SIGINT and SIGQUIT of
 * the guard reach the child as SIGTERM; these and SIGCHLD are blocked in both, for signalfd(2). Descriptors open now stay open
 * until both are gone, and with them a lock. Returns the exit status, 1 when the child was killed, -1 with errno when there is
 * no child. What is not caught: both killed by the same stroke; then the command's first process dies (PR_SET_PDEATHSIG) and
 * what it has started is on its own. */
int guard_run(int (*work)(void *argument), void *argument);

#endif
