/* Looking at results while they are being collected, and going on only where nothing is settled: without a correction the chance of being
 * wrong is counted again with every look (.05 becomes .15 with five). Each look may spend a part of the 5 %, in proportion to what it adds
 * (linear spending: Lan and DeMets, Biometrika 70(3), 1983); by the union bound, so that it holds whatever the looks have in common. That
 * one was chosen among five by measurement (docs/evidence/nightly.md). */
#ifndef GATE_DECIDE_LOOKS_H
#define GATE_DECIDE_LOOKS_H

#include <stdbool.h>
#include <stdint.h>

#define LOOKS_MAX 5

/* Repetitions at look 1, 2, ... LOOKS_MAX: twice as many each time. */
int64_t looks_repetitions(int64_t first, int look);

/* The level of the interval at this look. `last`: there will be no other, whatever it shows (not because of what it shows: the budget is
 * at its end), and it spends all that is left. */
double looks_level(int look, bool last);

#endif
