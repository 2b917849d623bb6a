/* Allocation and release with ASSAY_KNOB_MALLOC additional arithmetic steps, preloaded into all programs of an emulated host. The C
 * library's allocator does the work. glibc exports it under other names for this purpose. */
#include <stddef.h>
#include <stdlib.h>

#define EXPORT __attribute__((visibility("default")))

EXPORT void *malloc(size_t n);
EXPORT void *calloc(size_t count, size_t size);
EXPORT void *realloc(void *old, size_t n);
EXPORT void free(void *p);
void *__libc_malloc(size_t n);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *old, size_t n);
void __libc_free(void *p);

static unsigned steps;

__attribute__((constructor)) static void start(void)
{
	const char *level = getenv("ASSAY_KNOB_MALLOC");

	for (; level && *level >= '0' && *level <= '9' && steps < 1000000; level++)
		steps = steps * 10 + (unsigned)(*level - '0');
}

static void spend_steps(void)
{
	for (unsigned i = 0; i < steps; i++)
		__asm__ volatile("" ::: "memory");
}

void *malloc(size_t n)
{
	spend_steps();
	return __libc_malloc(n);
}

void *calloc(size_t count, size_t size)
{
	spend_steps();
	return __libc_calloc(count, size);
}

void *realloc(void *old, size_t n)
{
	spend_steps();
	return __libc_realloc(old, n);
}

void free(void *p)
{
	if (p)
		spend_steps();
	__libc_free(p);
}
