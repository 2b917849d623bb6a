/* The exact counters as PAPI's software-defined events, sde:::assay::accesses and so on: of the thread that reads, for programs that link
 * PAPI. Neither PAPI nor its libsde is needed: whether they are there is seen when the program starts. */
#include "runs/inside/emulate/emulate.h"

#include <dlfcn.h>

#define LIBRARY "libsde.so.1"

#pragma weak dlsym /* before glibc 2.34 in a library of its own, which nobody asks programs to link */
#pragma weak dlopen

/* What sde_lib.h declares. */
#define MODE_INSTANT   0x10 /* read only, as it is. What came since the start (0) would be since any thread's start */
#define TYPE_LONG_LONG 0

struct events {
	void *(*init)(const char *name);
	int (*add)(void *handle, const char *name, int mode, int type, long long (*callback)(void *), void *argument);
};

/* Called by PAPI in the thread that reads: nothing there is instrumented, and nothing is called back. */
static long long value_of(void *counter)
{
	struct counts now;

	if (!hot.thread)
		return 0;
	counts_now(hot.thread, &now);
	return (long long)now.exact[(uintptr_t)counter];
}

/* A program that links PAPI alone gets the library that PAPI looks for; others are left alone. */
static bool events_find(struct events *events)
{
	if (!dlsym || !dlopen)
		return false;
	*(void **)&events->init = dlsym(RTLD_DEFAULT, "papi_sde_init");
	if (!events->init && (!dlsym(RTLD_DEFAULT, "PAPI_library_init") || !dlopen(LIBRARY, RTLD_LAZY | RTLD_GLOBAL)))
		return false;
	*(void **)&events->init = dlsym(RTLD_DEFAULT, "papi_sde_init");
	*(void **)&events->add = dlsym(RTLD_DEFAULT, "papi_sde_register_counter_cb");
	return events->init && events->add;
}

#define COUNTER_NAME(symbol, name) name,
static const char *const names[] = { COUNTER_ROWS(COUNTER_NAME) };

void events_register(void)
{
	struct events events;
	void *handle;

	if (!events_find(&events))
		return;
	handle = events.init("assay");
	for (uintptr_t i = 0; handle && i < COUNT_SIMULATED; i++)
		events.add(handle, names[i] + sizeof("emulated:") - 1, MODE_INSTANT, TYPE_LONG_LONG, value_of, (void *)i); /* NOLINT: a number */
}
