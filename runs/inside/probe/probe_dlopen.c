/* Notices libraries that are loaded later, on architectures without patched code. On x86-64, probe_interpose.c does this. */
#include "runs/inside/probe/probe.h"

#include <dlfcn.h>
#include <string.h>

static __typeof__(dlopen) *real_dlopen(void)
{
	static void *real;

	if (!real) {
		uint64_t signals = record_signals_block(); /* a handler that left dlsym() by longjmp() would leave the loader's lock held */

		real = dlsym(RTLD_NEXT, "dlopen");
		record_signals_restore(signals);
	}
	return (__typeof__(dlopen) *)(uintptr_t)real;
}

void *probe_load_library(const char *file, int mode)
{
	return real_dlopen()(file, mode);
}

/* Loads a library and searches it for functions. If the name has no directory, the dynamic linker uses the search path of the caller, which
 * it knows by the return address. Then this function only jumps to the real one; a later call with a path searches the library. */
PROBE_EXPORT void *dlopen(const char *file, int mode)
{
	__typeof__(dlopen) *real = real_dlopen();
	void *library;

	if (file && !strchr(file, '/'))
		return real(file, mode);
	library = real(file, mode);
	if (library)
		probe_scan_loaded();
	return library;
}
