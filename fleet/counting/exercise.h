/* A little of everything that programs do, so that a counter that counts moves. */
#ifndef FLEET_COUNTING_EXERCISE_H
#define FLEET_COUNTING_EXERCISE_H

#include <stdbool.h>

#define EXERCISE_ROUNDS 10 /* after so many an event that stays 0 does not count */

/* Must it move this event? Not what takes other processors, other memory or large caches. */
bool exercise_moves(const char *event);

void exercise(unsigned round); /* half a millisecond */

#endif
