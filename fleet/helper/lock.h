/* The lock of a physical host: flock(2) on the lock file and on its directory. Both are needed: users cannot replace a system directory
 * such as /dev/shm, but its files are deleted when their owner logs out (logind's RemoveIPC). The file names the holder. If the directory's
 * file system has no locks, only the file is locked. If users replace the file by something else, measurements still work.
 *
 * Before a helper takes the lock, it ends the processes that killed helpers of the same owner (HELPER_OWNER) have left. */
#ifndef FLEET_HELPER_LOCK_H
#define FLEET_HELPER_LOCK_H

#include "fleet/helper/request.h"

#include <stdint.h>

#define KILL_WAIT_MS	 10000 /* maximum wait of the helper for the end of killed processes, ms */
#define HELPER_CLOSED_MS 3000  /* time after the end of the connection at which a hanging helper is killed, ms */

enum lock_result { LOCK_HELD, LOCK_REFUSED, LOCK_HUNG_UP };

struct lock {
	int directory, file; /* descriptors; -1 if not open. Only lock_share_with_child() lets programs inherit them */
	int64_t waited_ns;
	uint64_t owner;	       /* number that identifies the owner, 48 bits */
	size_t n_ended;	       /* number of killed helpers' processes that lock_take() ended */
	char ended_names[400]; /* names of these processes, as many as fit: "NAME (PID), ..." */
};

/* Ends processes that killed helpers of request->owner left, then takes request->lock (NULL: no lock). Waits at most request->lock_wait_ms;
 * waiting helpers form a queue. During the wait, watches for the controller's end on `in` and reports the holder on `out` (HELPER_WAITING).
 * LOCK_REFUSED: the reason is in request->refusal. Call lock_release() in any case. */
enum lock_result lock_take(struct request *request, int in, struct frames_out *out, struct lock *lock);

/* Prepares a child process, before it executes a program, to share the lock until it ends or the lock is released. If `helper`, the caller
 * of guard_run(), is killed, other helpers recognize the child as left over. */
void lock_share_with_child(const struct lock *lock, pid_t helper);

/* Releases the lock, also for processes that share it. May be called repeatedly. The file keeps the holder's name and limit until the next
 * holder writes its own. If the next holder is stopped before that, waiting helpers apply the old limit. */
void lock_release(struct lock *lock);

#endif
