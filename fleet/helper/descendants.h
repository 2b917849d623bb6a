/* Everything that this process has started, however far it went: a subreaper (PR_SET_CHILD_SUBREAPER, Linux 3.4) inherits each
 * orphan below it, so a process without children has no descendants. */
#ifndef FLEET_HELPER_DESCENDANTS_H
#define FLEET_HELPER_DESCENDANTS_H

#include <stddef.h>

#define DESCENDANTS_PATIENCE_MS 10000

/* Sends a signal (0: none) to every living descendant, found by their parents in /proc, and to the process groups that they have
 * made. Returns how many there were. */
size_t descendants_signal(int signal);

/* SIGKILL until none is left, and reaps them. *met is how many were alive when they were first looked at. Returns how many were not
 * gone after DESCENDANTS_PATIENCE_MS: another user's, or stuck in the kernel. */
size_t descendants_end(size_t *met);

#endif
