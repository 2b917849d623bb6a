/* Who calls, as a measured function sees it: its own return address, and as the C library does: a library is found where the caller's
 * RUNPATH says, which is one that the program has and its library does not. */
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
