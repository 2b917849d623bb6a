/* Ways out of a function other than its return. Unwinders read return addresses, so those are put back before one starts; a catch puts
 * ours in again. Long jumps need nothing: the next hook sees which frames are dead. */
#include "runs/inside/probe/probe.h"

#include <dlfcn.h>
#include <execinfo.h>
#include <pthread.h>
#include <stdlib.h>
#include <unwind.h>

/* The next one behind us; libgcc may be in a plug-in's scope only. */
static void *next_of(const char *name)
{
	void *found = dlsym(RTLD_NEXT, name), *library;

	if (!found && (library = probe_library("libgcc_s.so.1", RTLD_LAZY | RTLD_NOLOAD)))
		found = dlsym(library, name);
	if (!found && (library = probe_library("libstdc++.so.6", RTLD_LAZY | RTLD_NOLOAD)))
		found = dlsym(library, name);
	if (!found) {
		probe_say("cannot find ", name, 0);
		abort();
	}
	return found;
}

/* While this thread's return addresses are changed, no hook of a signal handler's. Restores them or hides them again. */
static void addresses(bool restore)
{
	struct probe_thread *t = probe_self;
	uintptr_t busy;

	if (!t || !t->depth)
		return;
	busy = t->busy;
	t->busy = UINTPTR_MAX;
	/* From the outermost on: of several frames at one slot (tail calls), the innermost holds our address, the outermost the real one. */
	for (uint32_t i = 0; i < t->depth; i++) {
		struct probe_frame *frame = probe_frame_at(t, restore ? t->depth - 1 - i : i);

		if (!frame->back || frame->bare == restore || probe_overwritten(frame))
			continue;
		*frame->slot = restore ? frame->back : (uintptr_t)probe_return;
		frame->bare = restore;
	}
	t->busy = busy;
}

/* Frames below `here` are gone. */
static void prune_below(void *here)
{
	struct probe_thread *t = probe_self;

	if (!t || t->busy == UINTPTR_MAX)
		return;
	t->busy = UINTPTR_MAX;
	probe_prune(t, here, false);
	t->busy = 0;
}

PROBE_EXPORT _Unwind_Reason_Code _Unwind_RaiseException(struct _Unwind_Exception *exception)
{
	static _Unwind_Reason_Code (*real)(struct _Unwind_Exception *);

	if (!real)
		*(void **)&real = next_of("_Unwind_RaiseException");
	addresses(true);
	return real(exception);
}

PROBE_EXPORT _Unwind_Reason_Code _Unwind_Resume_or_Rethrow(struct _Unwind_Exception *exception)
{
	static _Unwind_Reason_Code (*real)(struct _Unwind_Exception *);

	if (!real)
		*(void **)&real = next_of("_Unwind_Resume_or_Rethrow");
	addresses(true);
	return real(exception);
}

PROBE_EXPORT void _Unwind_Resume(struct _Unwind_Exception *exception)
{
	static void (*real)(struct _Unwind_Exception *);

	if (!real)
		*(void **)&real = next_of("_Unwind_Resume");
	addresses(true); /* a destructor may have caught an exception of its own */
	real(exception);
	__builtin_unreachable();
}

PROBE_EXPORT _Unwind_Reason_Code _Unwind_ForcedUnwind(struct _Unwind_Exception *exception, _Unwind_Stop_Fn stop, void *argument)
{
	static _Unwind_Reason_Code (*real)(struct _Unwind_Exception *, _Unwind_Stop_Fn, void *);

	if (!real)
		*(void **)&real = next_of("_Unwind_ForcedUnwind");
	addresses(true);
	return real(exception, stop, argument);
}

/* Of the C++ runtime: an exception has arrived in the function that catches it. */
PROBE_EXPORT void *__cxa_begin_catch(void *exception);
PROBE_EXPORT void *__cxa_begin_catch(void *exception)
{
	static void *(*real)(void *);

	if (!real)
		*(void **)&real = next_of("__cxa_begin_catch");
	prune_below(__builtin_dwarf_cfa());
	addresses(false);
	return real(exception);
}

PROBE_EXPORT void pthread_exit(void *result)
{
	static void (*real)(void *);

	if (!real)
		*(void **)&real = next_of("pthread_exit");
	addresses(true);
	real(result);
	__builtin_unreachable();
}

/* Looking is allowed: the addresses are real for so long. */
PROBE_EXPORT int backtrace(void **array, int size)
{
	static int (*real)(void **, int);
	int n;

	if (!real)
		*(void **)&real = next_of("backtrace");
	addresses(true);
	n = real(array, size);
	addresses(false);
	return n;
}

PROBE_EXPORT _Unwind_Reason_Code _Unwind_Backtrace(_Unwind_Trace_Fn look, void *argument)
{
	static _Unwind_Reason_Code (*real)(_Unwind_Trace_Fn, void *);
	_Unwind_Reason_Code code;

	if (!real)
		*(void **)&real = next_of("_Unwind_Backtrace");
	addresses(true);
	code = real(look, argument);
	addresses(false);
	return code;
}
