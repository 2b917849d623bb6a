/* The stressors of stress-ng that assay knows: what each one stresses. Categories are stress-ng's own classes (0.15.06,
 * `stress-ng --class NAME?`); the first one of a row, its main category, is our choice and decides colours only. */
#ifndef FINGERPRINT_BATTERY_STRESSOR_H
#define FINGERPRINT_BATTERY_STRESSOR_H

#include "base/rows.h"

#include <stdbool.h>
#include <stddef.h>

/* Constant, name, terminal colour (of the 256; chosen to be told apart by colour-blind people: Okabe and Ito). */
#define CATEGORY_ROWS(X)                                                                                                                   \
	X(CATEGORY_CPU, "cpu", 32)                                                                                                         \
	X(CATEGORY_CPU_CACHE, "cpu-cache", 74)                                                                                             \
	X(CATEGORY_MEMORY, "memory", 214)                                                                                                  \
	X(CATEGORY_VM, "vm", 166)                                                                                                          \
	X(CATEGORY_OS, "os", 175)                                                                                                          \
	X(CATEGORY_DEVICE, "device", 227)                                                                                                  \
	X(CATEGORY_FILESYSTEM, "filesystem", 36)                                                                                           \
	X(CATEGORY_IO, "io", 29)                                                                                                           \
	X(CATEGORY_NETWORK, "network", 61)                                                                                                 \
	X(CATEGORY_PIPE, "pipe", 132)                                                                                                      \
	X(CATEGORY_SCHEDULER, "scheduler", 138)                                                                                            \
	X(CATEGORY_INTERRUPT, "interrupt", 102)                                                                                            \
	X(CATEGORY_SECURITY, "security", 95)                                                                                               \
	X(CATEGORY_UNKNOWN, "unknown", 245)

enum category { CATEGORY_ROWS(ROWS_ENUM) CATEGORY_COUNT };

#define STRESSOR_CATEGORIES_MAX 4

struct stressor {
	const char *name;
	enum category categories[STRESSOR_CATEGORIES_MAX]; /* the main one first */
	size_t n_categories;
	bool steady_cpu; /* bound to the CPU and repeatable: hardware types are distinguished by these */
};

const struct stressor *stressor_find(const char *name); /* NULL when unknown */
enum category stressor_category(const char *name);	/* main category; CATEGORY_UNKNOWN when unknown */

const char *category_name(enum category category);
int category_colour(enum category category);

#endif
