/* Shared by battery.c and battery_parse.c. */
#ifndef FINGERPRINT_BATTERY_BATTERY_INTERNAL_H
#define FINGERPRINT_BATTERY_BATTERY_INTERNAL_H

#include "fingerprint/battery/battery.h"

void battery_update_hash(struct battery *battery, bool with_dangerous);

#endif
