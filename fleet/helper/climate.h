/* How fast and how warm the processors of this host are just now, as far as the kernel says. Virtual machines mostly say neither. */
#ifndef FLEET_HELPER_CLIMATE_H
#define FLEET_HELPER_CLIMATE_H

#include <stdint.h>

#define CLIMATE_UNKNOWN INT64_MIN

/* root: before the paths of /sys; "" but for tests. */

/* Of the first eight processors, on the average. */
int64_t climate_frequency_khz(const char *root);

/* Thousandths of a degree Celsius: of the warmest thermal zone; where there is none, of the warmest of the processors' own sensors. */
int64_t climate_temperature_mc(const char *root);

#endif
