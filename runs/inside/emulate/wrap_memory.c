/* The memory and string functions, whose accesses no compiler instruments: what they read and write as ranges, what they write counted. */
#include "runs/inside/emulate/emulate.h"

#include <string.h>

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

/* Both names are written out, for some may not be written alone (base/banned.h): `before` tells what it touches, then the real one. */
#define WRAP(result, wrap, real, parameters, arguments, before) \
	result real parameters;                                 \
	EXPORT result wrap parameters;                          \
	result wrap parameters                                  \
	{                                                       \
		before;                                         \
		return real arguments;                          \
	}

WRAP(void *, __wrap_memcpy, __real_memcpy, (void *to, const void *from, size_t n), (to, from, n), copies(to, from, n))
WRAP(void *, __wrap_memmove, __real_memmove, (void *to, const void *from, size_t n), (to, from, n), copies(to, from, n))
WRAP(void *, __wrap_mempcpy, __real_mempcpy, (void *to, const void *from, size_t n), (to, from, n), copies(to, from, n))
WRAP(void *, __wrap_memset, __real_memset, (void *to, int c, size_t n), (to, c, n), writes(to, n))
WRAP(void *, __wrap___memcpy_chk, __real___memcpy_chk, (void *to, const void *from, size_t n, size_t room), (to, from, n, room), copies(to, from, n))
WRAP(void *, __wrap___memmove_chk, __real___memmove_chk, (void *to, const void *from, size_t n, size_t room), (to, from, n, room), copies(to, from, n))
WRAP(void *, __wrap___memset_chk, __real___memset_chk, (void *to, int c, size_t n, size_t room), (to, c, n, room), writes(to, n))

WRAP(char *, __wrap_strcpy, __real_strcpy, (char *to, const char *from), (to, from), copies(to, from, strlen(from) + 1))
WRAP(char *, __wrap_stpcpy, __real_stpcpy, (char *to, const char *from), (to, from), copies(to, from, strlen(from) + 1))
WRAP(char *, __wrap___strcpy_chk, __real___strcpy_chk, (char *to, const char *from, size_t room), (to, from, room), copies(to, from, strlen(from) + 1))
WRAP(char *, __wrap___stpcpy_chk, __real___stpcpy_chk, (char *to, const char *from, size_t room), (to, from, room), copies(to, from, strlen(from) + 1))
WRAP(char *, __wrap_strncpy, __real_strncpy, (char *to, const char *from, size_t n), (to, from, n), (reads(from, strnlen(from, n)), writes(to, n)))
WRAP(char *, __wrap___strncpy_chk, __real___strncpy_chk, (char *to, const char *from, size_t n, size_t room), (to, from, n, room),
     (reads(from, strnlen(from, n)), writes(to, n)))

static void appends(char *to, const char *from, size_t n)
{
	size_t there = strlen(to);

	reads(to, there + 1);
	copies(to + there, from, n);
}
WRAP(char *, __wrap_strcat, __real_strcat, (char *to, const char *from), (to, from), appends(to, from, strlen(from) + 1))
WRAP(char *, __wrap___strcat_chk, __real___strcat_chk, (char *to, const char *from, size_t room), (to, from, room), appends(to, from, strlen(from) + 1))
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

/* What they look at is known when they have found it. */
#define WRAP_SEARCH(result, wrap, real, parameters, arguments, looked_at) \
	result real parameters;                                           \
	EXPORT result wrap parameters;                                    \
	result wrap parameters                                            \
	{                                                                 \
		result found = real arguments;                            \
                                                                          \
		reads(s, looked_at);                                      \
		return found;                                             \
	}

WRAP_SEARCH(size_t, __wrap_strlen, __real_strlen, (const char *s), (s), found + 1)
WRAP_SEARCH(size_t, __wrap_strnlen, __real_strnlen, (const char *s, size_t n), (s, n), found)
WRAP_SEARCH(void *, __wrap_memchr, __real_memchr, (const void *s, int c, size_t n), (s, c, n),
	    found ? (size_t)((const char *)found - (const char *)s) + 1 : n)
WRAP_SEARCH(char *, __wrap_strchr, __real_strchr, (const char *s, int c), (s, c), found ? (size_t)(found - s) + 1 : strlen(s) + 1)
WRAP_SEARCH(char *, __wrap_strrchr, __real_strrchr, (const char *s, int c), (s, c), strlen(s) + 1)
WRAP_SEARCH(char *, __wrap_strstr, __real_strstr, (const char *s, const char *text), (s, text), found ? (size_t)(found - s) + 1 : strlen(s) + 1)

/* clang from version 15 on calls these by name. */
EXPORT void *__tsan_memcpy(void *to, const void *from, size_t n);
void *__tsan_memcpy(void *to, const void *from, size_t n)
{
	return __wrap_memcpy(to, from, n);
}

EXPORT void *__tsan_memmove(void *to, const void *from, size_t n);
void *__tsan_memmove(void *to, const void *from, size_t n)
{
	return __wrap_memmove(to, from, n);
}

EXPORT void *__tsan_memset(void *to, int c, size_t n);
void *__tsan_memset(void *to, int c, size_t n)
{
	return __wrap_memset(to, c, n);
}
