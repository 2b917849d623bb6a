/* The stressors of stress-ng that assay knows, with their categories. These are stress-ng's own classes (0.15.06, `stress-ng --class
 * NAME?`). The first category of a row is the main one, which stress-ng does not define; only colours depend on it. */
#ifndef FINGERPRINT_BATTERY_STRESSOR_H
#define FINGERPRINT_BATTERY_STRESSOR_H

#include "base/rows.h"

#include <stdbool.h>
#include <stddef.h>

/* Each row has a constant and a name. */
#define CATEGORY_ROWS(X)                                                                                                                   \
	X(CATEGORY_CPU, "cpu")                                                                                                             \
	X(CATEGORY_CPU_CACHE, "cpu-cache")                                                                                                 \
	X(CATEGORY_MEMORY, "memory")                                                                                                       \
	X(CATEGORY_VM, "vm")                                                                                                               \
	X(CATEGORY_OS, "os")                                                                                                               \
	X(CATEGORY_DEVICE, "device")                                                                                                       \
	X(CATEGORY_FILESYSTEM, "filesystem")                                                                                               \
	X(CATEGORY_IO, "io")                                                                                                               \
	X(CATEGORY_NETWORK, "network")                                                                                                     \
	X(CATEGORY_PIPE, "pipe")                                                                                                           \
	X(CATEGORY_SCHEDULER, "scheduler")                                                                                                 \
	X(CATEGORY_INTERRUPT, "interrupt")                                                                                                 \
	X(CATEGORY_SECURITY, "security")                                                                                                   \
	X(CATEGORY_UNKNOWN, "unknown")

enum category { CATEGORY_ROWS(ROWS_ENUM) CATEGORY_COUNT };

#define STRESSOR_CATEGORIES_MAX 4

struct stressor {
	const char *name;
	enum category categories[STRESSOR_CATEGORIES_MAX]; /* main category first */
	size_t n_categories;
	bool is_steady_cpu; /* CPU-bound and repeatable, so that it distinguishes hardware types */
};

const struct stressor *stressor_find(const char *name); /* Returns NULL if unknown. */
enum category stressor_category(const char *name);	/* Returns the main category; CATEGORY_UNKNOWN for an unknown stressor. */

const char *category_name(enum category category);

#endif
