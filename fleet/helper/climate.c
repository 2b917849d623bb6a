#include "fleet/helper/climate.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PROCESSORS_MAX	8
#define ZONES_MAX	32 /* numbers looked at; some may be missing */
#define CHIPS_MAX	32
#define SENSORS_MAX	16	/* of a chip */
#define TEMPERATURE_MIN -273000 /* others are faults of the sensor */
#define TEMPERATURE_MAX 1000000

static bool read_word(const char *path, char word[32])
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, word, 31);

	word[n > 0 ? n : 0] = '\0';
	word[strcspn(word, "\n")] = '\0';
	if (fd >= 0)
		close(fd);
	return *word != '\0';
}

int64_t climate_frequency_khz(const char *root)
{
	int64_t sum = 0, n = 0;

	for (int i = 0; i < PROCESSORS_MAX; i++) {
		char path[256], word[32];
		long long khz;

		snprintf(path, sizeof(path), "%s/sys/devices/system/cpu/cpu%d/cpufreq/scaling_cur_freq", root, i);
		khz = read_word(path, word) ? strtoll(word, NULL, 10) : 0;
		if (khz <= 0)
			break;
		sum += khz;
		n++;
	}
	return n ? sum / n : CLIMATE_UNKNOWN;
}

static int64_t warmer_of(int64_t a, const char *path)
{
	char word[32], *end = word;
	long long b = read_word(path, word) ? strtoll(word, &end, 10) : 0;

	return end != word && b > TEMPERATURE_MIN && b < TEMPERATURE_MAX && b > a ? b : a;
}

/* Other chips tell how warm disks and boards are. */
static bool is_processors(const char *name)
{
	static const char *const names[] = { "coretemp", "k10temp", "zenpower", "cpu_thermal" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strcmp(names[i], name) == 0)
			return true;
	return false;
}

int64_t climate_temperature_mc(const char *root)
{
	int64_t warmest = CLIMATE_UNKNOWN;
	char path[256], name[32];

	for (int i = 0; i < ZONES_MAX; i++) {
		snprintf(path, sizeof(path), "%s/sys/class/thermal/thermal_zone%d/temp", root, i);
		warmest = warmer_of(warmest, path);
	}
	for (int i = 0; i < CHIPS_MAX && warmest == CLIMATE_UNKNOWN; i++) {
		snprintf(path, sizeof(path), "%s/sys/class/hwmon/hwmon%d/name", root, i);
		if (!read_word(path, name) || !is_processors(name))
			continue;
		for (int k = 1; k <= SENSORS_MAX; k++) {
			snprintf(path, sizeof(path), "%s/sys/class/hwmon/hwmon%d/temp%d_input", root, i, k);
			warmest = warmer_of(warmest, path);
		}
	}
	return warmest;
}
