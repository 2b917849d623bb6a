/* Replaces probe_trampoline.c where code is not patched. Functions call the hooks as they call other functions (-finstrument-functions). So
 * no return address changes, registers need no special care, and unwinders find ordinary frames. */
#include "runs/inside/probe/probe.h"

#if defined(__x86_64__)
#error "x86-64 has probe_trampoline.c, probe_hook.c and probe_interpose.c"
#endif

#define HIDDEN __attribute__((visibility("hidden")))

/* Addresses that only probe_work_begin() stores on a stack. */
HIDDEN const char probe_in_enter[1] = { 1 }, probe_in_enter_slowly[1] = { 2 }, probe_in_leave[1] = { 3 }, probe_in_leave_slowly[1] = { 4 };

HIDDEN void probe_return(void)
{
}

void probe_saved_init(void)
{
}

uint64_t probe_saved(uint64_t (*function)(void *, void *), void *a, void *b)
{
	return function(a, b);
}
