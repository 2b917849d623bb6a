/* Replacements of dlopen() and related functions for the static counting program, which cannot load libraries. PAPI tries to load some that
 * assay does not need (for GPUs etc.). The linker redirects PAPI's calls to these functions (--wrap in CMakeLists.txt). */
#include <stddef.h>

void *__wrap_dlopen(const char *file, int mode);
void *__wrap_dlsym(void *handle, const char *name);
int __wrap_dlclose(void *handle);
char *__wrap_dlerror(void);

void *__wrap_dlopen(const char *file, int mode)
{
	(void)file, (void)mode;
	return NULL;
}

void *__wrap_dlsym(void *handle, const char *name)
{
	(void)handle, (void)name;
	return NULL;
}

int __wrap_dlclose(void *handle)
{
	(void)handle;
	return -1;
}

char *__wrap_dlerror(void)
{
	static char text[] = "a static program loads no libraries";

	return text;
}
