#include "fleet/shape/shape.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define SHAPE_ROW(constant, name, means, thing) { name, means, thing },
const struct shape shapes[SHAPES] = { SHAPE_ROWS(SHAPE_ROW) };

#define MEANS_ROW(constant, code, usual, root, needs, touches) { code, usual, root, needs, touches },
static const struct {
	const char *code;
	unsigned usual;
	bool root;
	const char *needs, *touches;
} all_means[] = { SHAPE_MEANS_ROWS(MEANS_ROW) };

/* Of a name with so many bytes; SHAPES: there is none. */
static unsigned shape_find(const char *name, size_t n)
{
	unsigned i = 0;

	while (i < SHAPES && (strlen(shapes[i].name) != n || memcmp(shapes[i].name, name, n) != 0))
		i++;
	return i;
}

bool shape_read(const char *text, struct shaped *out)
{
	const char *at = strchr(text, '=');
	unsigned level = 0, i = at ? shape_find(text, (size_t)(at - text)) : SHAPES;

	if (i == SHAPES || !at[1])
		return false;
	for (at++; *at; at++) {
		if (*at < '0' || *at > '9' || level > SHAPE_LEVEL_MAX)
			return false;
		level = 10 * level + (unsigned)(*at - '0');
	}
	*out = (struct shaped){ i, level };
	return level <= SHAPE_LEVEL_MAX;
}

void shape_write(const struct shaped *shaped, char out[SHAPE_NAME_BYTES])
{
	snprintf(out, SHAPE_NAME_BYTES, "%s=%u", shapes[shaped->shape].name, shaped->level);
}

unsigned shape_usual(unsigned shape)
{
	return all_means[shapes[shape].means].usual;
}

const char *shape_variable(unsigned shape, bool exercise)
{
	if (shape == SHAPE_ALLOCATIONS)
		return exercise ? "ASSAY_KNOB_MALLOC_EXERCISE" : "ASSAY_KNOB_MALLOC";
	return exercise ? "ASSAY_KNOB_COMPARE_EXERCISE" : "ASSAY_KNOB_COMPARE_STEPS";
}

const char *shape_means_code(enum shape_means means)
{
	return all_means[means].code;
}

const char *shape_needs(const struct shape *shape)
{
	return all_means[shape->means].needs;
}

const char *shape_touches(const struct shape *shape)
{
	return all_means[shape->means].touches;
}

bool shape_needs_root(const struct shape *shape)
{
	return all_means[shape->means].root;
}

bool shape_is_slowdown(unsigned shape)
{
	return shape < SHAPES && shapes[shape].means >= SHAPE_INTERRUPTS;
}

bool shape_is_asked(unsigned shape)
{
	return shape < SHAPES && shapes[shape].means >= SHAPE_AFFINITY;
}

bool shapes_named(const char *names, unsigned *set)
{
	for (;; names++) {
		size_t n = strcspn(names, ",");
		unsigned shape = shape_find(names, n);

		if (n == 3 && memcmp(names, "all", n) == 0) {
			for (unsigned i = 0; i < SHAPES; i++)
				*set |= shape_is_asked(i) ? 1u << i : 0;
		} else if (!shape_is_asked(shape)) {
			return false;
		} else {
			*set |= 1u << shape;
		}
		names += n;
		if (!*names)
			return true;
	}
}

#define DESCRIPTORS 700 /* programs count on low numbers */

static int event_open(uint64_t config, uint64_t period)
{
	struct perf_event_attr event = {
		.size = sizeof(event),
		.type = PERF_TYPE_SOFTWARE,
		.config = config,
		.sample_period = period,
		.sample_type = PERF_SAMPLE_IP | (config == PERF_COUNT_SW_PAGE_FAULTS ? PERF_SAMPLE_CALLCHAIN : 0),
		.inherit = 1,
		.exclude_hv = 1,
	};
	long fd = syscall(SYS_perf_event_open, &event, 0, -1, -1, 0UL);

	if (fd < 0 && errno == EACCES) {
		event.exclude_kernel = 1;
		fd = syscall(SYS_perf_event_open, &event, 0, -1, -1, 0UL);
	}
	return (int)fd;
}

/* The descriptor stays open: closed with the last process that has it, the event ends. */
static int event_keep(uint64_t config, uint64_t period)
{
	int low = event_open(config, period), fd = low < 0 ? -1 : fcntl(low, F_DUPFD, DESCRIPTORS), errnum = errno;

	if (low < 0)
		return errnum;
	if (fd >= 0)
		close(low);
	return 0;
}

int events_refused(void)
{
	int fd = event_open(PERF_COUNT_SW_PAGE_FAULTS, 1), errnum = fd < 0 ? errno : 0;

	if (fd >= 0)
		close(fd);
	return errnum;
}

int events_start(unsigned interrupts_a_second, unsigned a_page_fault)
{
	int failed = interrupts_a_second ? event_keep(PERF_COUNT_SW_CPU_CLOCK, 1000000000u / interrupts_a_second) : 0;

	for (unsigned i = 0; !failed && i < a_page_fault; i++)
		failed = event_keep(PERF_COUNT_SW_PAGE_FAULTS, 1);
	return failed;
}
