/* The lock of a physical host: flock(2) on the directory of the lock's file, and on the file. A system directory such as /dev/shm cannot be
 * replaced by users. A file there disappears when its owner logs out (logind's RemoveIPC). The file names the holder of the lock, and is
 * the lock itself if the directory's file system supports no locks. Other files that users put in its place prevent no measurement.
 *
 * Before a helper takes the lock, it ends processes left over by helpers of the same owner (HELPER_OWNER) that were killed. */
#ifndef FLEET_HELPER_LOCK_H
#define FLEET_HELPER_LOCK_H

#include "fleet/helper/request.h"

#include <stdint.h>

#define PATIENCE_MS	 10000 /* for processes to be gone after SIGKILL */
#define HELPER_CLOSED_MS 3000  /* from the end of the connection until a hanging helper is killed */

enum lock_got { LOCK_HELD, LOCK_REFUSED, LOCK_HUNG_UP };

struct lock {
	int directory, file; /* -1: none; programs do not inherit it, see lock_hand_on() */
	int64_t waited_ns;
	uint64_t owner;	       /* key of the owner: 48 bits */
	size_t ended;	       /* number of processes of dead sessions that were ended */
	char ended_names[400]; /* "NAME (PID), ...", of as many as fit */
};

/* Ends processes left by killed helpers of request->owner, then takes request->lock (NULL: none). It waits in turn with others for
 * request->lock_wait_ms at most. Meanwhile it watches the controller on `in`, and reports on `out` that it waits, and who holds the lock
 * (HELPER_WAITING). LOCK_REFUSED: request->refusal has the reason. In any case, lock_release() it. */
enum lock_got lock_take(struct request *request, int in, struct frames_out *out, struct lock *lock);

/* Prepares a child before it executes a program. The child shares the lock until it has ended or the lock is released. It is recognized as
 * left over when `helper`, the caller of guard_run(), is dead. */
void lock_hand_on(const struct lock *lock, pid_t helper);

/* Releases the lock, also for processes that share it. May be called again. The file names this holder until the next one writes its name.
 * If the next holder is stopped before that, waiters use this holder's limit. */
void lock_release(struct lock *lock);

#endif
