/* Functions of the C library that touch memory, allocate or lock, and C++'s operator new: what they do is counted or simulated,
 * then the real ones are called. System calls: wrap_calls.c. */
#include "runs/inside/emulate/emulate.h"

#include <malloc.h>
#include <string.h>

#define LARGE_BYTES (128u << 10) /* glibc's own threshold for mappings */

/* The linker calls what is here by its --wrap. */
#pragma GCC diagnostic ignored "-Wmissing-prototypes"

/* Both names are written out, for some may not be written alone (base/banned.h): `before` tells what it touches, then the real
 * one is called. */
#define WRAP(result, wrap, real, parameters, arguments, before)                                                                            \
	result real parameters;                                                                                                            \
	EXPORT result wrap parameters                                                                                                      \
	{                                                                                                                                  \
		before;                                                                                                                    \
		return real arguments;                                                                                                     \
	}

/* ---- memory and strings, whose accesses no compiler instruments: ranges; what they write is counted ---- */

static void reads(const void *at, size_t bytes)
{
	simulate_range((uintptr_t)at, bytes, ACCESS_READ);
}

static void writes(void *at, size_t bytes)
{
	hot.copied_bytes += bytes;
	simulate_range((uintptr_t)at, bytes, ACCESS_WRITE);
}

static void copies(void *to, const void *from, size_t bytes)
{
	reads(from, bytes);
	writes(to, bytes);
}

/* How much of two texts (or of n bytes) is looked at to compare them. */
static size_t common(const char *a, const char *b, size_t n, bool text)
{
	size_t i = 0;

	while (i < n && a[i] == b[i] && (!text || a[i]))
		i++;
	return i < n ? i + 1 : n;
}

WRAP(void *, __wrap_memcpy, __real_memcpy, (void *to, const void *from, size_t n), (to, from, n), copies(to, from, n))
WRAP(void *, __wrap_memmove, __real_memmove, (void *to, const void *from, size_t n), (to, from, n), copies(to, from, n))
WRAP(void *, __wrap_mempcpy, __real_mempcpy, (void *to, const void *from, size_t n), (to, from, n), copies(to, from, n))
WRAP(void *, __wrap_memset, __real_memset, (void *to, int c, size_t n), (to, c, n), writes(to, n))
WRAP(void *, __wrap___memcpy_chk, __real___memcpy_chk, (void *to, const void *from, size_t n, size_t room), (to, from, n, room),
     copies(to, from, n))
WRAP(void *, __wrap___memmove_chk, __real___memmove_chk, (void *to, const void *from, size_t n, size_t room), (to, from, n, room),
     copies(to, from, n))
WRAP(void *, __wrap___memset_chk, __real___memset_chk, (void *to, int c, size_t n, size_t room), (to, c, n, room), writes(to, n))

WRAP(char *, __wrap_strcpy, __real_strcpy, (char *to, const char *from), (to, from), copies(to, from, strlen(from) + 1))
WRAP(char *, __wrap_stpcpy, __real_stpcpy, (char *to, const char *from), (to, from), copies(to, from, strlen(from) + 1))
WRAP(char *, __wrap___strcpy_chk, __real___strcpy_chk, (char *to, const char *from, size_t room), (to, from, room),
     copies(to, from, strlen(from) + 1))
WRAP(char *, __wrap___stpcpy_chk, __real___stpcpy_chk, (char *to, const char *from, size_t room), (to, from, room),
     copies(to, from, strlen(from) + 1))
WRAP(char *, __wrap_strncpy, __real_strncpy, (char *to, const char *from, size_t n), (to, from, n),
     (reads(from, strnlen(from, n)), writes(to, n)))
WRAP(char *, __wrap___strncpy_chk, __real___strncpy_chk, (char *to, const char *from, size_t n, size_t room), (to, from, n, room),
     (reads(from, strnlen(from, n)), writes(to, n)))

static void appends(char *to, const char *from, size_t n)
{
	size_t there = strlen(to);

	reads(to, there + 1);
	copies(to + there, from, n);
}
WRAP(char *, __wrap_strcat, __real_strcat, (char *to, const char *from), (to, from), appends(to, from, strlen(from) + 1))
WRAP(char *, __wrap___strcat_chk, __real___strcat_chk, (char *to, const char *from, size_t room), (to, from, room),
     appends(to, from, strlen(from) + 1))
WRAP(char *, __wrap_strncat, __real_strncat, (char *to, const char *from, size_t n), (to, from, n), appends(to, from, strnlen(from, n) + 1))
WRAP(char *, __wrap___strncat_chk, __real___strncat_chk, (char *to, const char *from, size_t n, size_t room), (to, from, n, room),
     appends(to, from, strnlen(from, n) + 1))

static void compares(const void *a, const void *b, size_t n, bool text)
{
	size_t bytes = common(a, b, n, text);

	reads(a, bytes);
	reads(b, bytes);
}
WRAP(int, __wrap_memcmp, __real_memcmp, (const void *a, const void *b, size_t n), (a, b, n), compares(a, b, n, false))
WRAP(int, __wrap_strcmp, __real_strcmp, (const char *a, const char *b), (a, b), compares(a, b, SIZE_MAX, true))
WRAP(int, __wrap_strncmp, __real_strncmp, (const char *a, const char *b, size_t n), (a, b, n), compares(a, b, n, true))

/* What they look at is known once they have found it. */
#define WRAP_SEARCH(result, wrap, real, parameters, arguments, looked_at)                                                                  \
	result real parameters;                                                                                                            \
	EXPORT result wrap parameters                                                                                                      \
	{                                                                                                                                  \
		result found = real arguments;                                                                                             \
                                                                                                                                           \
		reads(s, looked_at);                                                                                                       \
		return found;                                                                                                              \
	}

WRAP_SEARCH(size_t, __wrap_strlen, __real_strlen, (const char *s), (s), found + 1)
WRAP_SEARCH(size_t, __wrap_strnlen, __real_strnlen, (const char *s, size_t n), (s, n), found)
WRAP_SEARCH(void *, __wrap_memchr, __real_memchr, (const void *s, int c, size_t n), (s, c, n),
	    found ? (size_t)((const char *)found - (const char *)s) + 1 : n)
WRAP_SEARCH(char *, __wrap_strchr, __real_strchr, (const char *s, int c), (s, c), found ? (size_t)(found - s) + 1 : strlen(s) + 1)
WRAP_SEARCH(char *, __wrap_strrchr, __real_strrchr, (const char *s, int c), (s, c), strlen(s) + 1)
WRAP_SEARCH(char *, __wrap_strstr, __real_strstr, (const char *s, const char *text), (s, text),
	    found ? (size_t)(found - s) + 1 : strlen(s) + 1)

/* clang from version 15 on calls these by name. */
EXPORT void *__tsan_memcpy(void *to, const void *from, size_t n)
{
	return __wrap_memcpy(to, from, n);
}

EXPORT void *__tsan_memmove(void *to, const void *from, size_t n)
{
	return __wrap_memmove(to, from, n);
}

EXPORT void *__tsan_memset(void *to, int c, size_t n)
{
	return __wrap_memset(to, c, n);
}

/* ---- allocations: counted ---- */

static void counts(size_t bytes)
{
	hot.allocations++;
	hot.allocated_bytes += bytes;
}

/* Large blocks go back to the kernel when they are freed, and the next owner of their pages may be another node. */
static void forgets(void *at)
{
	size_t bytes = at ? malloc_usable_size(at) : 0;

	if (bytes >= LARGE_BYTES)
		pages_forget((uintptr_t)at, bytes);
}

#define WRAP_HEAP(result, name, parameters, arguments, before) WRAP(result, __wrap_##name, __real_##name, parameters, arguments, before)

WRAP_HEAP(void *, malloc, (size_t n), (n), counts(n))
WRAP_HEAP(void *, calloc, (size_t n, size_t size), (n, size), counts(n *size))
WRAP_HEAP(void *, realloc, (void *old, size_t n), (old, n), (counts(n), forgets(old)))
WRAP_HEAP(void *, reallocarray, (void *old, size_t n, size_t size), (old, n, size), (counts(n * size), forgets(old)))
WRAP_HEAP(void *, memalign, (size_t alignment, size_t n), (alignment, n), counts(n))
WRAP_HEAP(int, posix_memalign, (void **out, size_t alignment, size_t n), (out, alignment, n), counts(n))
WRAP_HEAP(void *, aligned_alloc, (size_t alignment, size_t n), (alignment, n), counts(n))
WRAP_HEAP(char *, strdup, (const char *s), (s), counts(strlen(s) + 1))
WRAP_HEAP(char *, strndup, (const char *s, size_t n), (s, n), counts(strnlen(s, n) + 1))
WRAP_HEAP(int, munmap, (void *at, size_t n), (at, n), (system_calls++, pages_forget((uintptr_t)at, n)))

void __real_free(void *at);
EXPORT void __wrap_free(void *at)
{
	forgets(at);
	__real_free(at);
}

/* operator new, which only programs in C++ have. */
#define WRAP_NEW(name, parameters, arguments)                                                                                              \
	void *__real_##name parameters __attribute__((weak));                                                                              \
	EXPORT void *__wrap_##name parameters                                                                                              \
	{                                                                                                                                  \
		counts(n);                                                                                                                 \
		return __real_##name arguments;                                                                                            \
	}

WRAP_NEW(_Znwm, (size_t n), (n))
WRAP_NEW(_Znam, (size_t n), (n))
WRAP_NEW(_ZnwmRKSt9nothrow_t, (size_t n, const void *tag), (n, tag))
WRAP_NEW(_ZnamRKSt9nothrow_t, (size_t n, const void *tag), (n, tag))
WRAP_NEW(_ZnwmSt11align_val_t, (size_t n, size_t alignment), (n, alignment))
WRAP_NEW(_ZnamSt11align_val_t, (size_t n, size_t alignment), (n, alignment))

/* ---- locks: taking one and giving it back is an atomic write where it lies ---- */

static void touches(const volatile void *lock)
{
	hot.atomics++;
	simulate_range((uintptr_t)lock, sizeof(int), ACCESS_WRITE);
}

#define WRAP_LOCK(name, type) WRAP(int, __wrap_##name, __real_##name, (type * lock), (lock), touches(lock))

WRAP_LOCK(pthread_mutex_lock, pthread_mutex_t)
WRAP_LOCK(pthread_mutex_trylock, pthread_mutex_t)
WRAP_LOCK(pthread_mutex_unlock, pthread_mutex_t)
WRAP_LOCK(pthread_spin_lock, pthread_spinlock_t)
WRAP_LOCK(pthread_spin_trylock, pthread_spinlock_t)
WRAP_LOCK(pthread_spin_unlock, pthread_spinlock_t)
WRAP_LOCK(pthread_rwlock_rdlock, pthread_rwlock_t)
WRAP_LOCK(pthread_rwlock_wrlock, pthread_rwlock_t)
WRAP_LOCK(pthread_rwlock_unlock, pthread_rwlock_t)
