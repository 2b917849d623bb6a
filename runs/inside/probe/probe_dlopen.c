/* Finds libraries that are loaded later, for architectures without patched code. probe_interpose.c does the same and more elsewhere. */
#include "runs/inside/probe/probe.h"

#include <dlfcn.h>
#include <string.h>

static __typeof__(dlopen) *real_dlopen(void)
{
	static void *real;

	if (!real) {
		uint64_t signals = record_signals_block(); /* a handler that jumps out of the lookup would leave the loader's lock held */

		real = dlsym(RTLD_NEXT, "dlopen");
		record_signals_restore(signals);
	}
	return (__typeof__(dlopen) *)(uintptr_t)real;
}

void *probe_library(const char *file, int mode)
{
	return real_dlopen()(file, mode);
}

/* Loads a library. For a name without a directory, the dynamic linker searches as the caller's module specifies, and knows the caller by
 * the return address. So it is called by a jump, and such libraries are searched when the next library is opened by its path. */
PROBE_EXPORT void *dlopen(const char *file, int mode)
{
	__typeof__(dlopen) *real = real_dlopen();
	void *library;

	if (file && !strchr(file, '/'))
		return real(file, mode);
	library = real(file, mode);
	if (library)
		probe_loaded();
	return library;
}
