/* The lock of a box: flock(2) on the directory of the lock's file, and on the file. A directory such as /dev/shm is the system's: nobody
 * can put another one in its place, while a file there goes when its owner logs out (logind's RemoveIPC). The file says who has the
 * lock, and is the lock where the directory's file system has none. What others put there instead of it keeps nobody from measuring.
 *
 * Who takes it first ends what killed helpers have left on the machine. */
#ifndef FLEET_HELPER_LOCK_H
#define FLEET_HELPER_LOCK_H

#include "fleet/helper/request.h"

#include <stdint.h>

#define PATIENCE_MS	 10000 /* for processes to be gone after SIGKILL */
#define HELPER_CLOSED_MS 3000  /* from the end of the connection until a helper that hangs is ended */

enum lock_got { LOCK_HELD, LOCK_REFUSED, LOCK_HUNG_UP };

struct lock {
	int directory, file; /* -1: none; not inherited by programs, see lock_hand_on() */
	int64_t waited_ns;
	size_t ended; /* processes of dead sessions that were found and ended */
};

/* Ends what killed helpers have left, then takes request->lock (NULL: none), waiting in turn with others for request->lock_wait_ms at most
 * and watching the controller on `in` meanwhile, which is told on `out` that we wait, and for whom (HELPER_WAITING). LOCK_REFUSED:
 * request->refusal says why. Whatever comes of it, lock_release() it. */
enum lock_got lock_take(struct request *request, int in, struct frames_out *out, struct lock *lock);

/* Prepares a child before it becomes a program: it has the lock, too, until it has ended or the lock is given back, and it is found as left
 * over when `owner`, which guard_run() was called by, is dead. */
void lock_hand_on(const struct lock *lock, pid_t owner);

/* Gives it back, also for whoever shares it. May be called again. The file tells of us until the next one has said who it is: should
 * that be stopped before, who waits for it has our limit to go by. */
void lock_release(struct lock *lock);

#endif
