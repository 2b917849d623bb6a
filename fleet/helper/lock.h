/* The lock of a physical host: flock(2) on the directory of the lock file and on the file. Users cannot replace a system directory such
 * as /dev/shm, but a file in it disappears when its owner logs out (logind's RemoveIPC). The file names the holder. If its directory's
 * file system has no locks, the file alone is the lock. Other files that users put in its place prevent no measurement.
 *
 * Before a helper takes the lock, it ends processes that killed helpers of the same owner (HELPER_OWNER) have left. */
#ifndef FLEET_HELPER_LOCK_H
#define FLEET_HELPER_LOCK_H

#include "fleet/helper/request.h"

#include <stdint.h>

#define PATIENCE_MS	 10000 /* maximum time for which the helper waits until killed processes have ended, ms */
#define HELPER_CLOSED_MS 3000  /* time from the end of the connection until a hanging helper is killed */

enum lock_got { LOCK_HELD, LOCK_REFUSED, LOCK_HUNG_UP };

struct lock {
	int directory, file; /* descriptors; -1: none. Programs inherit them only by lock_hand_on() */
	int64_t waited_ns;
	uint64_t owner;	       /* key of the owner, 48 bits */
	size_t ended;	       /* number of processes of killed helpers that were ended */
	char ended_names[400]; /* names of these processes: "NAME (PID), ...", as many as fit */
};

/* Ends processes left by killed helpers of request->owner, then takes request->lock (NULL: no lock). Waits at most request->lock_wait_ms;
 * waiting helpers queue up. While waiting, watches the controller on `in`, and reports the holder on `out` (HELPER_WAITING). LOCK_REFUSED:
 * request->refusal has the reason. Call lock_release() in any case. */
enum lock_got lock_take(struct request *request, int in, struct frames_out *out, struct lock *lock);

/* Prepares a child before it executes a program. The child shares the lock until it ends or the lock is released. Other helpers
 * recognize the child as left over if `helper`, the caller of guard_run(), has been killed. */
void lock_hand_on(const struct lock *lock, pid_t helper);

/* Releases the lock, also for processes that share it. May be called again. The file keeps the holder's name and limit until the next
 * holder writes its own; a holder stopped before that is judged by the old limit. */
void lock_release(struct lock *lock);

#endif
