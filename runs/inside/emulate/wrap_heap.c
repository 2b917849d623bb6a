/* Allocations: counted. Large blocks go back to the kernel when they are freed, and the next owner of their pages may be another. */
#include "runs/inside/emulate/emulate.h"

#include <malloc.h>
#include <string.h>

#define LARGE_BYTES (128u << 10) /* glibc's own threshold for mappings */

static void counts(size_t bytes)
{
	hot.allocations++;
	hot.allocated_bytes += bytes;
}

static void forgets(void *at)
{
	size_t bytes = at ? malloc_usable_size(at) : 0;

	if (bytes >= LARGE_BYTES)
		pages_forgotten((uintptr_t)at, bytes);
}

#define WRAP(result, name, parameters, arguments, before) \
	result __real_##name parameters;                  \
	EXPORT result __wrap_##name parameters;           \
	result __wrap_##name parameters                   \
	{                                                 \
		before;                                   \
		return __real_##name arguments;           \
	}

WRAP(void *, malloc, (size_t n), (n), counts(n))
WRAP(void *, calloc, (size_t n, size_t size), (n, size), counts(n * size))
WRAP(void *, realloc, (void *old, size_t n), (old, n), (counts(n), forgets(old)))
WRAP(void *, reallocarray, (void *old, size_t n, size_t size), (old, n, size), (counts(n * size), forgets(old)))
WRAP(void *, memalign, (size_t alignment, size_t n), (alignment, n), counts(n))
WRAP(int, posix_memalign, (void **out, size_t alignment, size_t n), (out, alignment, n), counts(n))
WRAP(void *, aligned_alloc, (size_t alignment, size_t n), (alignment, n), counts(n))
WRAP(char *, strdup, (const char *s), (s), counts(strlen(s) + 1))
WRAP(char *, strndup, (const char *s, size_t n), (s, n), counts(strnlen(s, n) + 1))
WRAP(int, munmap, (void *at, size_t n), (at, n), (system_calls++, pages_forgotten((uintptr_t)at, n)))

void __real_free(void *at);
EXPORT void __wrap_free(void *at);
void __wrap_free(void *at)
{
	forgets(at);
	__real_free(at);
}

/* C++'s, which are there only in programs of C++. */
#define WRAP_NEW(name, parameters, arguments)                    \
	void *__real_##name parameters __attribute__((weak));    \
	EXPORT void *__wrap_##name parameters;                   \
	void *__wrap_##name parameters                           \
	{                                                        \
		counts(n);                                       \
		return __real_##name arguments;                  \
	}

WRAP_NEW(_Znwm, (size_t n), (n))
WRAP_NEW(_Znam, (size_t n), (n))
WRAP_NEW(_ZnwmRKSt9nothrow_t, (size_t n, const void *tag), (n, tag))
WRAP_NEW(_ZnamRKSt9nothrow_t, (size_t n, const void *tag), (n, tag))
WRAP_NEW(_ZnwmSt11align_val_t, (size_t n, size_t alignment), (n, alignment))
WRAP_NEW(_ZnamSt11align_val_t, (size_t n, size_t alignment), (n, alignment))
