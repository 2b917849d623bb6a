/* Calls the probe's hooks from C on an array that represents the stack. In this way the code that runs inside measured programs is also
 * tested with sanitizers. Only one file of a test includes this header. cli_probe.sh tests real programs with real stacks. */
#ifndef TESTS_PROBE_STACK_H
#define TESTS_PROBE_STACK_H

#include "runs/inside/probe/probe.h"
#include "runs/inside/samples/samples.h"
#include "tests/scratch.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define SLOTS 64

struct probe probe;

/* These replace functions of probe_start.c and probe_interpose.c. */
void probe_report(const char *text, const char *more, int errnum)
{
	(void)errnum;
	fail_msg("%s%s", text, more);
}

void *probe_load_library(const char *file, int mode)
{
	return dlopen(file, mode);
}

/* Makes a new array the stack of this thread. The stack grows down from the end of the array. */
static inline uintptr_t *stack_begin(void)
{
	uintptr_t *slots = mem_new(SLOTS, sizeof(*slots));
	struct probe_thread *t;

	if (!probe_self) /* this thread was not started by the probe's pthread_create() */
		memset(probe_near, 0, sizeof(probe_near));
	t = probe_self ? probe_self : probe_thread_begin((struct probe_stack){ 0, 0 });
	assert_non_null(t);
	t->stack = (struct probe_stack){ (uintptr_t)slots, SLOTS * sizeof(*slots) };
	for (size_t i = 0; i < SLOTS; i++)
		slots[i] = 1000 + i; /* arbitrary return addresses */
	return slots;
}

/* Starts a probe that patches no code, and returns the stack of this thread. The caller calls end(). */
static inline uintptr_t *begin(uint64_t budget_ppm, uint64_t file_bytes_max)
{
	const struct record_options options = {
		.directory = ".",
		.back_end = RECORD_TIME,
		.ticks_per_s = 1000000000u,
		.brief = true,
		.chunk_bytes = 65536,
		.names_bytes_max = 8192,
		.file_bytes_max = file_bytes_max,
	};

	probe = (struct probe){
		.frame_bytes = sizeof(struct probe_frame),
		.threads = 1,
		.budget_ppm = budget_ppm,
		.cost_sampled = 300,
		.cost_counted = 2,
		.cost_inside = 40,
		.stack_limit = 8u << 20,
	};
	probe.functions =
	    mmap(NULL, RECORD_FUNCTIONS_MAX * sizeof(probe.functions[0]), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_true(probe.functions != MAP_FAILED);
	assert_int_equal(record_open(&probe.writer, &options), 0);
	for (uint32_t i = 0; i < 600; i++) {
		char name[16];

		snprintf(name, sizeof(name), "f%u", i);
		assert_int_equal(record_add_function(&probe.writer, i, "m", name), i);
		probe.functions[i].seed = (i + 1) * 0x9e3779b97f4a7c15u;
	}
	probe_saved_init();
	return stack_begin();
}

/* Enters a function as the stub and probe_trampoline.c do. */
static inline void enter(uint32_t function, uintptr_t *slot)
{
	uintptr_t back = *slot;

	if (--*(function < PROBE_TLS_FUNCTIONS ? &probe_near[function] : &probe_far[function]) >= 0)
		return;
	*slot = (uintptr_t)probe_return;
	if (!probe_enter(function, slot, back))
		probe_enter_slowly(function, slot, back);
}

/* Returns from a function to the return address in `slot`. */
static inline void leave(uintptr_t *slot)
{
	uint64_t now;

	if (*slot != (uintptr_t)probe_return)
		return;
	now = probe_leave(slot);
	if (now)
		probe_leave_slowly(slot, now);
}

static inline void end(struct samples *samples, uintptr_t *slots)
{
	struct assay_error err;

	probe_threads_end();
	record_close(&probe.writer);
	if (samples_read(probe.writer.path, samples, &err))
		fail_msg("%s", err.text);
	free(slots);
	probe_self = NULL;
	probe_threads = NULL;
	munmap(probe.functions, RECORD_FUNCTIONS_MAX * sizeof(probe.functions[0]));
	memset(&probe, 0, sizeof(probe));
}

static inline uint64_t calls_of(const struct samples *s, uint32_t function)
{
	uint64_t calls = 0;

	for (size_t i = 0; i < s->n_calls; i++)
		calls += s->calls[i].function == function ? s->calls[i].calls : 0;
	return calls;
}

#endif
