/* Simulates the pipeline counters of a CPU. perf_event_open() returns fake descriptors, and reading them returns counts of a made run's
 * pipeline (made_run.h), for the event codes of one architecture. The analysis of such runs must find the cause that was injected. */
#include "tests/gate/made_run.h"
#include "tests/scratch.h"

#include "gate/variance/stored_runs.h"

#include <linux/perf_event.h>
#include <stdarg.h>
#include <sys/syscall.h>

#define FIRST_FILE 1000
#define FREQUENCY  3e9
#define WIDTH	   5								 /* slots per cycle */
#define LOST_S	   (2 * MADE_STEP_S / 2 / (1.5 * MADE_STEP_S + 2 * MADE_CALL_S)) /* time lost in the two seconds of the disturbance, s */

static struct {
	uint32_t codes[64]; /* event codes of the descriptors from FIRST_FILE on */
	size_t n;
	uint32_t without[3]; /* codes of events that cannot be opened */
	const double *parts;
	double running; /* share of the time in which an event had a counter */
} played;

static double count_of(uint32_t code, const double *parts);

static long played_open(const struct perf_event_attr *event)
{
	assert_true(event->inherit && event->exclude_kernel);
	for (size_t i = 0; i < COUNT(played.without); i++)
		if (played.without[i] == event->config) {
			errno = ENOENT;
			return -1;
		}
	played.codes[played.n] = (uint32_t)event->config;
	return FIRST_FILE + (long)played.n++;
}

static long played_read(uint32_t code, uint64_t out[3])
{
	out[0] = (uint64_t)(played.running * count_of(code, played.parts));
	out[1] = 1000000;
	out[2] = (uint64_t)(1000000 * played.running);
	return 3 * sizeof(*out);
}

static long played_call(long number, ...)
{
	uint64_t a[3];
	va_list list;

	va_start(list, number);
	for (int i = 0; i < 3; i++)
		a[i] = va_arg(list, uint64_t);
	va_end(list);
	switch (number) {
	case SYS_perf_event_open:
		return played_open((const struct perf_event_attr *)a[0]);
	case SYS_read:
		return played_read(played.codes[a[0] - FIRST_FILE], (uint64_t *)a[1]);
	case SYS_ioctl:
		*(uint64_t *)a[2] = a[0];
		return 0;
	case SYS_fcntl:
		return (long)a[0]; /* a duplicate of the descriptor */
	default:
		return 0; /* the kernel knows the slots event; close() succeeds */
	}
}

#define syscall played_call
#include "runs/inside/interpose/interpose_topdown.c"
#undef syscall

static void topdown(const double part_s[], uint64_t out[INTERPOSE_TOPDOWN])
{
	played.parts = part_s;
	interpose_topdown_read(out);
}

/* Checks that `cause` is found if, from 1 to 3 s, one part of the pipeline slows down so that work takes 1.5 times as long. */
static void found(int part, const char *cause)
{
	static int runs;
	const struct made_disturbance d = { 0, 1, 3, 1.5, MADE_SLOW };
	const struct made_options o = { .ranks = 1,
					.seconds = 5,
					.noise = .01,
					.seed = 3,
					.counted = true,
					.disturbances = &d,
					.n = 1,
					.topdown = topdown,
					.slow_part = part };
	const struct variance_options options = { .threshold = VARIANCE_THRESHOLD, .least_s = (double)NAN };
	char *directory = mem_format("run%d", runs++);
	const char *name = directory;
	const struct breakdown_part *first;
	struct assay_error err;
	struct fragments f;
	struct variance v;

	assert_int_equal(mkdir(name, 0755), 0);
	played.n = 0;
	assert_true(interpose_topdown_begin());
	assert_int_equal(made_run(name, &o), 0);
	interpose_topdown_end();
	check(record_files_read(&name, 1, &f, &err), &err);
	check(variance_analyse(&f, &options, &v, &err), &err);
	assert_int_equal(v.n_regions, 1);
	first = &v.regions[0].breakdown.parts[0];
	if (strcmp(loss_cause_name(first->cause), cause) != 0)
		fail_msg("%s, not %s: %.3f of %.3f s", loss_cause_name(first->cause), cause, first->impact_s,
			 v.regions[0].breakdown.loss_s);
	if (fabs(first->impact_s / LOST_S - 1) > .1 || fabs(first->duration_s / 2 - 1) > .1)
		fail_msg("%s: %.3f s, for %.3f s", cause, first->impact_s, first->duration_s);
	variance_release(&v);
	free(directory);
}

/* Checks each part of the lowest level. Then checks the parts of higher levels, on CPUs that lack counters for the lower ones. */
static void levels_found(const uint32_t *lowest, const uint32_t *lower)
{
	static const char *const causes[MADE_PARTS] = { "front_end", "bad_speculation", "retiring", "core", "l1", "l2", "l3", "dram" };

	played.running = 1;
	for (int part = 0; part < MADE_PARTS; part++)
		found(part, causes[part]);
	played.running = .25; /* other programs use the counters, too */
	found(MADE_L2, "l2");
	memcpy(played.without, lowest, sizeof(played.without));
	found(MADE_DRAM, "data");
	found(MADE_CORE, "core");
	memcpy(played.without, lower, sizeof(played.without));
	found(MADE_DRAM, "back_end");
	found(MADE_CORE, "back_end");
	found(MADE_FRONT_END, "front_end");
}

/* Checks that no event is opened if the first one is refused. */
static void nothing_counted(uint32_t first)
{
	played.without[0] = first;
	played.n = 0;
	assert_false(interpose_topdown_begin());
	assert_int_equal(played.n, 0);
}
