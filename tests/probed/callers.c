/* Checks that a measured function sees its real caller: in its return address, and in the C library. The C library searches the RUNPATH of
 * the caller. Only the program's RUNPATH contains the library, not that of its own library. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

__attribute__((noinline)) int asks(void)
{
	Dl_info info;

	return dladdr(__builtin_return_address(0), &info) && strstr(info.dli_fname, "callers") != NULL;
}

__attribute__((noinline)) void *opens(const char *name)
{
	return dlopen(name, RTLD_NOW);
}

int main(void)
{
	printf("%d", asks());
	printf(" %d\n", opens("libswitches.so") != NULL);
	return 0;
}
