/* Hardware events, counted by PAPI: presets, and native events with libpfm's names. Only user space is counted. */
#include "fleet/counting/count.h"

#include "fleet/counting/native.h"
#include "fleet/counting/refused.h"

#include <papi.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

/* Test work of several kinds. Each counter that works must increase during it. */

#define EXERCISE_ROUNDS 10 /* an event that is still 0 after this number of rounds does not work */

#define MEMORY_BYTES (8u << 20) /* larger than second-level caches */
#define PART_BYTES   (1u << 20) /* part that is used per round; larger than first-level caches */
#define CODE_BYTES   (256u << 10)
#define LINE_BYTES   64u
#define TIMES	     4000u

#ifdef __aarch64__
static const unsigned char return_code[] = { 0xc0, 0x03, 0x5f, 0xd6 };
#else
static const unsigned char return_code[] = { 0xc3 };
#endif

/* Reports whether the test work must increase this event. Returns false for events that need other CPUs, remote memory or large caches. */
static bool is_moved_by_exercise(const char *event)
{
	static const char *const begins[] = { "PAPI_TOT_",   "PAPI_REF_CYC", "PAPI_L1_",    "PAPI_L2_",	   "PAPI_BR_",
					      "PAPI_TLB_DM", "PAPI_TLB_IM",  "PAPI_LD_INS", "PAPI_SR_INS", "PAPI_LST_INS",
					      "PAPI_FP_",    "PAPI_DP_",     "PAPI_RES_STL" };

	for (size_t i = 0; i < sizeof(begins) / sizeof(begins[0]); i++) {
		if (strncmp(event, begins[i], strlen(begins[i])) == 0)
			return true;
	}
	return false;
}

static unsigned char *map_new_memory(size_t bytes)
{
	void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return memory == MAP_FAILED ? NULL : memory;
}

/* Writes to all cache lines of a part, in an order that prefetchers do not predict. */
static void walk_memory(unsigned char *part)
{
	for (uint32_t i = 0; i < PART_BYTES / LINE_BYTES; i++)
		part[i * 7919u % (PART_BYTES / LINE_BYTES) * LINE_BYTES]++;
}

/* Calls empty functions, one in each cache line of new code. Does nothing if the system refuses executable memory. */
static void exercise_instructions(void)
{
	unsigned char *code = map_new_memory(CODE_BYTES);

	for (uint32_t at = 0; code && at < CODE_BYTES; at += LINE_BYTES)
		memcpy(code + at, return_code, sizeof(return_code));
	if (code && mprotect(code, CODE_BYTES, PROT_READ | PROT_EXEC) == 0) {
		__builtin___clear_cache((char *)code, (char *)code + CODE_BYTES);
		for (uint32_t at = 0; at < CODE_BYTES; at += LINE_BYTES)
			((void (*)(void))(uintptr_t)(code + at))();
	}
	if (code)
		munmap(code, CODE_BYTES);
}

static void branch_and_calculate(void)
{
	static uint64_t state = 88172645463325252u;
	volatile double sum = 0;
	volatile uint64_t taken = 0;

	for (unsigned i = 0; i < TIMES; i++) {
		state ^= state << 13;
		state ^= state >> 7;
		state ^= state << 17;
		if (state & 256)
			taken = taken + 1;
		sum = sum * 1.5 + 1;
	}
}

static void exercise(unsigned round)
{
	static unsigned char *memory;

	if (!memory)
		memory = map_new_memory(MEMORY_BYTES);
	if (memory)
		walk_memory(memory + round % (MEMORY_BYTES / PART_BYTES) * PART_BYTES);
	branch_and_calculate();
	exercise_instructions();
}

static int events = PAPI_NULL; /* event set that counts the command */

static bool hardware_write(char *why, const char *what, int code)
{
	snprintf(why, COUNTING_REASON_BYTES, "%s: %s", what, PAPI_strerror(code));
	return false;
}

static bool hardware_init(char *why)
{
	static const char *const others[] = { "perf_event_uncore", "sde", "rocm_smi", "sysdetect" };
	const PAPI_component_info_t *component;
	int got;

	if (refusal_explain_hardware(why, COUNTING_REASON_BYTES))
		return false;
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		PAPI_disable_component_by_name(others[i]); /* ignore errors: PAPI may lack some of these components */
	got = PAPI_library_init(PAPI_VER_CURRENT);
	if (got != PAPI_VER_CURRENT)
		return hardware_write(why, "PAPI does not start", got);
	got = PAPI_get_component_index("perf_event");
	component = got >= 0 ? PAPI_get_component_info(got) : NULL;
	if (!component || component->disabled) {
		snprintf(why, COUNTING_REASON_BYTES, "PAPI does not know this CPU: %.150s",
			 component ? component->disabled_reason : "it has no component for its counters");
		return false;
	}
	return true;
}

static bool hardware_has(const char *name)
{
	return !count_software.knows(name);
}

static int hardware_new_set(int *set)
{
	int got;

	*set = PAPI_NULL;
	got = PAPI_create_eventset(set);
	if (got == PAPI_OK)
		got = PAPI_assign_eventset_component(*set, PAPI_get_component_index("perf_event"));
	return got;
}

/* Adds the events to the set. PAPI asks the kernel whether it can count them together. */
static int hardware_fill(int set, const int *handles, size_t n)
{
	int got = PAPI_OK;

	for (size_t i = 0; got == PAPI_OK && i < n; i++)
		got = PAPI_add_event(set, handles[i]);
	return got;
}

static void hardware_destroy_set(int *set)
{
	if (*set == PAPI_NULL)
		return;
	PAPI_cleanup_eventset(*set);
	PAPI_destroy_eventset(set);
}

static int hardware_try(const int *handles, size_t n)
{
	int set, got = hardware_new_set(&set);

	if (got == PAPI_OK)
		got = hardware_fill(set, handles, n);
	hardware_destroy_set(&set);
	return got;
}

/* Looks up an event and tries to open it. Returns PAPI_OK or an error of PAPI. In that case *means describes the error. */
static int hardware_read(const char *name, int *handle, const char **means)
{
	int got = PAPI_event_name_to_code(name, handle);

	*means = "PAPI does not know it on this CPU";
	if (got != PAPI_OK)
		return got;
	*means = "this CPU cannot count it";
	got = PAPI_query_event(*handle);
	if (got != PAPI_OK)
		return got;
	*means = "it cannot be counted here";
	return hardware_try(handle, 1);
}

/* Reports whether the event increases. Some events can be opened but stay 0, because virtual machines may report missing counters. */
static bool is_counter_moving(int handle)
{
	long long value = 0, last;
	int set, got = hardware_new_set(&set);
	bool started;

	if (got == PAPI_OK)
		got = hardware_fill(set, &handle, 1);
	started = got == PAPI_OK && PAPI_start(set) == PAPI_OK;
	for (unsigned round = 0; started && value == 0 && round < EXERCISE_ROUNDS; round++) {
		exercise(round);
		if (PAPI_read(set, &value) != PAPI_OK)
			break;
	}
	if (started)
		PAPI_stop(set, &last);
	hardware_destroy_set(&set);
	return value > 0;
}

static bool hardware_find(const char *name, int *handle, char *why)
{
	const char *means, *ignored, *native;
	int got = hardware_read(name, handle, &means);
	size_t at = 0;

	while (got != PAPI_OK && (native = native_event_next(name, &at))) {
		if (hardware_read(native, handle, &ignored) == PAPI_OK)
			got = PAPI_OK;
	}
	if (got != PAPI_OK)
		return hardware_write(why, means, got);
	if (!is_moved_by_exercise(name) || is_counter_moving(*handle))
		return true;
	snprintf(why, COUNTING_REASON_BYTES, "it can be opened but always stays 0");
	return false;
}

static bool hardware_fits(const int *handles, size_t n)
{
	return hardware_try(handles, n) == PAPI_OK;
}

static const char *hardware_domain(void)
{
	return "user";
}

/* Makes the set count descendants, and attaches it to the process. PAPI requires this before the first event is added. */
static int hardware_prepare(int set, pid_t process)
{
	PAPI_option_t option;
	int got;

	memset(&option, 0, sizeof(option));
	option.inherit.eventset = set;
	option.inherit.inherit = PAPI_INHERIT_ALL;
	got = PAPI_set_opt(PAPI_INHERIT, &option);
	return got == PAPI_OK ? PAPI_attach(set, (unsigned long)process) : got;
}

static bool hardware_start(const int *handles, size_t n, pid_t process, char *why)
{
	int got = hardware_new_set(&events);

	if (got == PAPI_OK)
		got = hardware_prepare(events, process);
	if (got == PAPI_OK)
		got = hardware_fill(events, handles, n);
	if (got == PAPI_OK)
		got = PAPI_start(events);
	return got == PAPI_OK || hardware_write(why, "PAPI cannot count the command", got);
}

static bool hardware_stop(long long *values, size_t n, char *why)
{
	int got = PAPI_stop(events, values);

	(void)n; /* PAPI knows the number of events */
	hardware_destroy_set(&events);
	return got == PAPI_OK || hardware_write(why, "PAPI cannot read the counters", got);
}

const struct count_backend count_hardware = { COUNTING_HARDWARE, hardware_init,	  hardware_has,	  hardware_find,
					      hardware_fits,	 hardware_domain, hardware_start, hardware_stop };
