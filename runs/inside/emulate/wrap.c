/* Wrappers of C library functions that access memory, allocate or lock, and of C++'s operators new and delete. Each wrapper counts or
 * simulates the work and calls the real function. wrap_calls.c has the wrappers of system calls. */
#include "runs/inside/emulate/emulation.h"

#include <dlfcn.h>
#include <malloc.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/shm.h>

/* The linker's option --wrap redirects calls to these functions. */
#pragma GCC diagnostic ignored "-Wmissing-prototypes"

/* Defines a wrapper that runs `before`, which accounts for the work, and then calls the real function. Callers spell out both names,
 * because base/banned.h bans some of the plain names. */
#define WRAP(result, wrap, real, parameters, arguments, before)                                                                            \
	result real parameters;                                                                                                            \
	EXPORT result wrap parameters                                                                                                      \
	{                                                                                                                                  \
		before;                                                                                                                    \
		return real arguments;                                                                                                     \
	}

/* ---- memory and strings: simulated as ranges, because no compiler instruments them; written bytes are counted ---- */

static void read_range(const void *at, size_t bytes)
{
	simulate_range((uintptr_t)at, bytes, ACCESS_READ);
}

static void write_range(void *at, size_t bytes)
{
	hot.copied_bytes += bytes;
	simulate_range((uintptr_t)at, bytes, ACCESS_WRITE);
}

static void copy_range(void *to, const void *from, size_t bytes)
{
	read_range(from, bytes);
	write_range(to, bytes);
}

/* Returns the number of bytes that a comparison reads from each of `a` and `b`: at most n, and for text only up to the terminating NUL. */
static size_t compared_bytes(const char *a, const char *b, size_t n, bool text)
{
	size_t i = 0;

	while (i < n && a[i] == b[i] && (!text || a[i]))
		i++;
	return i < n ? i + 1 : n;
}

WRAP(void *, __wrap_memcpy, __real_memcpy, (void *to, const void *from, size_t n), (to, from, n), copy_range(to, from, n))
WRAP(void *, __wrap_memmove, __real_memmove, (void *to, const void *from, size_t n), (to, from, n), copy_range(to, from, n))
WRAP(void *, __wrap_mempcpy, __real_mempcpy, (void *to, const void *from, size_t n), (to, from, n), copy_range(to, from, n))
WRAP(void *, __wrap_memset, __real_memset, (void *to, int c, size_t n), (to, c, n), write_range(to, n))
WRAP(void *, __wrap___memcpy_chk, __real___memcpy_chk, (void *to, const void *from, size_t n, size_t room), (to, from, n, room),
     copy_range(to, from, n))
WRAP(void *, __wrap___memmove_chk, __real___memmove_chk, (void *to, const void *from, size_t n, size_t room), (to, from, n, room),
     copy_range(to, from, n))
WRAP(void *, __wrap___memset_chk, __real___memset_chk, (void *to, int c, size_t n, size_t room), (to, c, n, room), write_range(to, n))

WRAP(char *, __wrap_strcpy, __real_strcpy, (char *to, const char *from), (to, from), copy_range(to, from, strlen(from) + 1))
WRAP(char *, __wrap_stpcpy, __real_stpcpy, (char *to, const char *from), (to, from), copy_range(to, from, strlen(from) + 1))
WRAP(char *, __wrap___strcpy_chk, __real___strcpy_chk, (char *to, const char *from, size_t room), (to, from, room),
     copy_range(to, from, strlen(from) + 1))
WRAP(char *, __wrap___stpcpy_chk, __real___stpcpy_chk, (char *to, const char *from, size_t room), (to, from, room),
     copy_range(to, from, strlen(from) + 1))
WRAP(char *, __wrap_strncpy, __real_strncpy, (char *to, const char *from, size_t n), (to, from, n),
     (read_range(from, strnlen(from, n)), write_range(to, n)))
WRAP(char *, __wrap___strncpy_chk, __real___strncpy_chk, (char *to, const char *from, size_t n, size_t room), (to, from, n, room),
     (read_range(from, strnlen(from, n)), write_range(to, n)))

static void append(char *to, const char *from, size_t n)
{
	size_t there = strlen(to);

	read_range(to, there + 1);
	copy_range(to + there, from, n);
}
WRAP(char *, __wrap_strcat, __real_strcat, (char *to, const char *from), (to, from), append(to, from, strlen(from) + 1))
WRAP(char *, __wrap___strcat_chk, __real___strcat_chk, (char *to, const char *from, size_t room), (to, from, room),
     append(to, from, strlen(from) + 1))
WRAP(char *, __wrap_strncat, __real_strncat, (char *to, const char *from, size_t n), (to, from, n), append(to, from, strnlen(from, n) + 1))
WRAP(char *, __wrap___strncat_chk, __real___strncat_chk, (char *to, const char *from, size_t n, size_t room), (to, from, n, room),
     append(to, from, strnlen(from, n) + 1))

static void compare_ranges(const void *a, const void *b, size_t n, bool text)
{
	size_t bytes = compared_bytes(a, b, n, text);

	read_range(a, bytes);
	read_range(b, bytes);
}
WRAP(int, __wrap_memcmp, __real_memcmp, (const void *a, const void *b, size_t n), (a, b, n), compare_ranges(a, b, n, false))
WRAP(int, __wrap_bcmp, __real_bcmp, (const void *a, const void *b, size_t n), (a, b, n), compare_ranges(a, b, n, false))
WRAP(int, __wrap_strcmp, __real_strcmp, (const char *a, const char *b), (a, b), compare_ranges(a, b, SIZE_MAX, true))
WRAP(int, __wrap_strncmp, __real_strncmp, (const char *a, const char *b, size_t n), (a, b, n), compare_ranges(a, b, n, true))

/* Defines a wrapper of a search function. The result of the search determines how many bytes were read. */
#define WRAP_SEARCH(result, wrap, real, parameters, arguments, mean_repetitions)                                                           \
	result real parameters;                                                                                                            \
	EXPORT result wrap parameters                                                                                                      \
	{                                                                                                                                  \
		result found = real arguments;                                                                                             \
                                                                                                                                           \
		read_range(s, mean_repetitions);                                                                                           \
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

/* clang 15 and later insert calls of __tsan_memcpy(), __tsan_memmove() and __tsan_memset() instead of memcpy(), memmove() and memset(). */
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

/* ---- sorting: about two basic blocks per comparison, besides those of the program's compare function ---- */

static void count_sort(size_t n)
{
	hot.library += n > 1 ? 2 * n * (63 - (size_t)__builtin_clzl(n)) : 0;
}

void __real_qsort(void *at, size_t n, size_t size, int (*compare)(const void *, const void *));
EXPORT void __wrap_qsort(void *at, size_t n, size_t size, int (*compare)(const void *, const void *))
{
	count_sort(n);
	__real_qsort(at, n, size, compare);
}

void __real_qsort_r(void *at, size_t n, size_t size, int (*compare)(const void *, const void *, void *), void *argument);
EXPORT void __wrap_qsort_r(void *at, size_t n, size_t size, int (*compare)(const void *, const void *, void *), void *argument)
{
	count_sort(n);
	__real_qsort_r(at, n, size, compare, argument);
}

/* ---- allocations: counted, and recorded as start and end of memory blocks ---- */

static void count_allocation(size_t bytes)
{
	waiting_stop();
	hot.allocations++;
	hot.allocated_bytes += bytes;
}

static void *start_block(void *at, size_t bytes)
{
	if (at)
		memory_record_boundary((uintptr_t)at, bytes);
	return at;
}

static void end_block(void *at)
{
	waiting_stop();
	if (at && runtime.is_multithreaded)
		memory_record_boundary((uintptr_t)at, malloc_usable_size(at));
}

#define WRAP_HEAP(result, name, parameters, arguments, bytes)                                                                              \
	result __real_##name parameters;                                                                                                   \
	EXPORT result __wrap_##name parameters                                                                                             \
	{                                                                                                                                  \
		count_allocation(bytes);                                                                                                   \
		return start_block(__real_##name arguments, bytes);                                                                        \
	}

WRAP_HEAP(void *, malloc, (size_t n), (n), n)
WRAP_HEAP(void *, calloc, (size_t n, size_t size), (n, size), n *size)
WRAP_HEAP(void *, memalign, (size_t alignment, size_t n), (alignment, n), n)
WRAP_HEAP(void *, aligned_alloc, (size_t alignment, size_t n), (alignment, n), n)
WRAP_HEAP(char *, strdup, (const char *s), (s), strlen(s) + 1)
WRAP_HEAP(char *, strndup, (const char *s, size_t n), (s, n), strnlen(s, n) + 1)

int __real_posix_memalign(void **out, size_t alignment, size_t n);
EXPORT int __wrap_posix_memalign(void **out, size_t alignment, size_t n)
{
	int failed = __real_posix_memalign(out, alignment, n);

	count_allocation(n);
	if (!failed)
		start_block(*out, n);
	return failed;
}

/* Returns `new`. Starts a new life for the whole block if it has moved, otherwise only for the part beyond its old size. */
static void *move_block(uintptr_t old, size_t before, void *new, size_t bytes)
{
	if ((uintptr_t) new != old)
		return start_block(new, bytes);
	if (bytes > before)
		start_block((char *)new + before, bytes - before);
	return new;
}

void *__real_realloc(void *old, size_t n);
EXPORT void *__wrap_realloc(void *old, size_t n)
{
	size_t before = old ? malloc_usable_size(old) : 0;
	uintptr_t was = (uintptr_t)old;

	count_allocation(n);
	return move_block(was, before, __real_realloc(old, n), n);
}

void *__real_reallocarray(void *old, size_t n, size_t size);
EXPORT void *__wrap_reallocarray(void *old, size_t n, size_t size)
{
	size_t before = old ? malloc_usable_size(old) : 0;
	uintptr_t was = (uintptr_t)old;

	count_allocation(n * size);
	return move_block(was, before, __real_reallocarray(old, n, size), n * size);
}

void __real_free(void *at);
EXPORT void __wrap_free(void *at)
{
	end_block(at);
	__real_free(at);
}

/* ---- mappings ---- */

/* Counts bytes that other processes may also map. Accesses by those processes are not simulated. */
static void count_shared(size_t bytes)
{
	__atomic_fetch_add(&runtime.shared_bytes, bytes, __ATOMIC_RELAXED);
}

void *__real_shmat(int segment, const void *at, int flags);
EXPORT void *__wrap_shmat(int segment, const void *at, int flags)
{
	void *there = __real_shmat(segment, at, flags);
	struct shmid_ds status;

	system_calls++;
	if ((intptr_t)there != -1 && shmctl(segment, IPC_STAT, &status) == 0)
		count_shared(status.shm_segsz);
	return there;
}

#define WRAP_MAP(name)                                                                                                                     \
	void *__real_##name(void *at, size_t n, int protection, int flags, int file, off_t from);                                          \
	EXPORT void *__wrap_##name(void *at, size_t n, int protection, int flags, int file, off_t from)                                    \
	{                                                                                                                                  \
		void *there = __real_##name(at, n, protection, flags, file, from);                                                         \
                                                                                                                                           \
		system_calls++;                                                                                                            \
		if (there != MAP_FAILED)                                                                                                   \
			start_block(there, n);                                                                                             \
		if (there != MAP_FAILED && (flags & MAP_SHARED) && (protection & PROT_WRITE))                                              \
			count_shared(n);                                                                                                   \
		return there;                                                                                                              \
	}
WRAP_MAP(mmap)
WRAP_MAP(mmap64)
WRAP(int, __wrap_munmap, __real_munmap, (void *at, size_t n), (at, n), (waiting_stop(), system_calls++, start_block(at, n)))

/* Operator new, and operator delete with a size. Only C++ programs have these operators, and may define their own. If the linker takes no
 * operator from a static libstdc++, malloc() and free() replace it. */
#define WRAP_NEW(name, parameters, arguments, otherwise)                                                                                   \
	void *__real_##name parameters __attribute__((weak));                                                                              \
	EXPORT void *__wrap_##name parameters                                                                                              \
	{                                                                                                                                  \
		count_allocation(n);                                                                                                       \
		return start_block(__real_##name ? __real_##name arguments : otherwise, n);                                                \
	}
#define WRAP_DELETE(name, parameters, arguments)                                                                                           \
	void __real_##name parameters __attribute__((weak));                                                                               \
	EXPORT void __wrap_##name parameters                                                                                               \
	{                                                                                                                                  \
		start_block(at, n);                                                                                                        \
		if (__real_##name)                                                                                                         \
			__real_##name arguments;                                                                                           \
		else                                                                                                                       \
			__real_free(at);                                                                                                   \
	}

/* Counts allocations inside libraries such as libstdc++, which belong to the library's caller. CMakeLists.txt renames this function to
 * _Znwm when it links the emulation's objects into one. The function is weak, because a program may define its own. */
void *_Znwm(size_t n);
REAL(_Znwm)
EXPORT __attribute__((weak)) void *assay_operator_new(size_t n)
{
	void *(*real)(size_t) = real__Znwm();

	count_allocation(n);
	return start_block(real ? real(n) : __real_malloc(n), n);
}

void *__real__Znwm(size_t n) __attribute__((weak));
EXPORT void *__wrap__Znwm(size_t n)
{
	uint64_t before = hot.allocations;
	void *at = __real__Znwm(n);

	if (hot.allocations == before) { /* the program's own operator new, which does not call malloc() */
		count_allocation(n);
		start_block(at, n);
	}
	return at;
}

WRAP_NEW(_Znam, (size_t n), (n), __real_malloc(n))
WRAP_NEW(_ZnwmRKSt9nothrow_t, (size_t n, const void *tag), (n, tag), __real_malloc(n))
WRAP_NEW(_ZnamRKSt9nothrow_t, (size_t n, const void *tag), (n, tag), __real_malloc(n))
WRAP_NEW(_ZnwmSt11align_val_t, (size_t n, size_t alignment), (n, alignment), __real_memalign(alignment, n))
WRAP_NEW(_ZnamSt11align_val_t, (size_t n, size_t alignment), (n, alignment), __real_memalign(alignment, n))

WRAP_DELETE(_ZdlPvm, (void *at, size_t n), (at, n))
WRAP_DELETE(_ZdaPvm, (void *at, size_t n), (at, n))
WRAP_DELETE(_ZdlPvmSt11align_val_t, (void *at, size_t n, size_t alignment), (at, n, alignment))
WRAP_DELETE(_ZdaPvmSt11align_val_t, (void *at, size_t n, size_t alignment), (at, n, alignment))

/* ---- locks: taking or releasing a lock is an atomic write to its address ---- */

static void record_lock_write(const volatile void *lock)
{
	hot.atomics++;
	if (UNLIKELY(hot.waits) &&
	    waiting_continues_in_access((uintptr_t)lock, sizeof(int), ACCESS_READ)) /* a read: waiting loops also release the lock */
		return;
	simulate_range((uintptr_t)lock, sizeof(int), ACCESS_WRITE);
}

#define WRAP_LOCK(name, type) WRAP(int, __wrap_##name, __real_##name, (type * lock), (lock), record_lock_write(lock))

WRAP_LOCK(pthread_mutex_lock, pthread_mutex_t)
WRAP_LOCK(pthread_mutex_trylock, pthread_mutex_t)
WRAP_LOCK(pthread_mutex_unlock, pthread_mutex_t)
WRAP_LOCK(pthread_spin_lock, pthread_spinlock_t)
WRAP_LOCK(pthread_spin_trylock, pthread_spinlock_t)
WRAP_LOCK(pthread_spin_unlock, pthread_spinlock_t)
WRAP_LOCK(pthread_rwlock_rdlock, pthread_rwlock_t)
WRAP_LOCK(pthread_rwlock_wrlock, pthread_rwlock_t)
WRAP_LOCK(pthread_rwlock_unlock, pthread_rwlock_t)
