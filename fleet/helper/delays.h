/* For how long threads other than the first, and processes whose own parent waits for them, are kept waiting for a processor. When they
 * have ended the kernel tells root alone (taskstats); so they are looked at while they run: what lives shorter than a look apart is missed.
 */
#ifndef FLEET_HELPER_DELAYS_H
#define FLEET_HELPER_DELAYS_H

#include <stdint.h>
#include <sys/types.h>

#define DELAYS_THREADS 2048 /* of a command, dead ones too; more are not looked at */

struct delays {
	pid_t ids[DELAYS_THREADS]; /* hashed; 0: free */
	uint64_t seen_ns[DELAYS_THREADS];
	pid_t command;
	int64_t begun_ns, last_ns, next_ns; /* monotonic, as all times here */
	uint64_t sum_ns;
};

void delays_begin(struct delays *delays, pid_t command, int64_t begun_ns);

/* At all below this process, where it is time for that: never more than a two-hundredth of a processor. */
void delays_look(struct delays *delays, int64_t now_ns);

/* Of a command that has ended; -1: it was not looked at. Of what waited at once between two looks only the longest counts: that much was
 * lost, at most. Until its end it goes on as until the last look. */
int64_t delays_of(const struct delays *delays, int64_t ended_ns);

#endif
