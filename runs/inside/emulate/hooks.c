/* Hooks for atomic operations (-fsanitize=thread). Each hook counts the access and executes the operation. The last part has functions that
 * programs may call themselves. The other hooks are in simulate.c and frames.c. */
#include "runs/inside/emulate/emulation.h"

/* The compiler itself declares these functions, with some parameters that are unused here. */
#pragma GCC diagnostic ignored "-Wmissing-prototypes"
#pragma GCC diagnostic ignored "-Wunused-parameter"

__thread struct hot hot;

/* ---- atomic operations ---- */

/* Memory orders, numbered as in C11. A stronger order than the requested one is always correct. */
#define ORDER_RELAXED 0
#define ORDER_SEQ_CST 5

__extension__ typedef __int128 a128; /* these are typedefs because macros below paste their names */
typedef int8_t a8;
typedef int16_t a16;
typedef int32_t a32;
typedef int64_t a64;

/* Counts one atomic access. A read-modify-write operation counts as one write. */
static inline void on_atomic(const volatile void *at, size_t bytes, enum access access)
{
	uintptr_t address = (uintptr_t)at;

	hot.atomics++; /* a single instruction, so that no signal handler can run in between */
	if (access == ACCESS_WRITE && UNLIKELY(address >> PAGE_BITS != hot.written_page))
		simulate_atomic(address, bytes, access, true);
	else if (UNLIKELY(count_down(&hot.left)))
		simulate_atomic(address, bytes, access, false);
}

/* Passes the value that an atomic operation found to waiting.c, because the thread may be waiting for this value to change. */
static inline void on_look(const volatile void *at, size_t bytes, uint64_t found, uintptr_t site)
{
	if (bytes <= sizeof(found) && runtime.is_multithreaded)
		waiting_add_poll(site, (uintptr_t)at, found);
}
#define RECORD_ATOMIC_READ(at, found) on_look(at, sizeof(*(at)), (uint64_t)(found), (uintptr_t)__builtin_return_address(0))

/* Loads 16 bytes atomically. An AVX load also works on read-only pages. Without AVX, uses cmpxchg16b, which writes to the page. */
static a128 wide_load(const volatile a128 *at)
{
	a128 value;

	if (__builtin_cpu_supports("avx")) {
		__asm__ volatile("vmovdqa %1, %%xmm0\n\tvmovdqu %%xmm0, %0" : "=m"(value) : "m"(*at) : "xmm0", "memory");
		return value;
	}
	return __sync_val_compare_and_swap((volatile a128 *)(uintptr_t)at, 0, 0);
}

static a128 wide_exchange(volatile a128 *at, a128 value)
{
	a128 old = wide_load(at), seen;

	while ((seen = __sync_val_compare_and_swap(at, old, value)) != old)
		old = seen;
	return old;
}

#define WIDE_CHANGE(name, result)                                                                                                          \
	static a128 wide_##name(volatile a128 *at, a128 value)                                                                             \
	{                                                                                                                                  \
		a128 old = wide_load(at), seen;                                                                                            \
                                                                                                                                           \
		while ((seen = __sync_val_compare_and_swap(at, old, result)) != old)                                                       \
			old = seen;                                                                                                        \
		return old;                                                                                                                \
	}
WIDE_CHANGE(add, old + value)
WIDE_CHANGE(sub, old - value)
WIDE_CHANGE(and, (old & value))
WIDE_CHANGE(or, old | value)
WIDE_CHANGE(xor, old ^ value)
WIDE_CHANGE(nand, ~old | ~value)

static bool wide_compare_exchange(volatile a128 *at, a128 *expected, a128 value)
{
	a128 seen = __sync_val_compare_and_swap(at, *expected, value);
	bool same = seen == *expected;

	*expected = seen;
	return same;
}

#define NARROW_STORE(bits)                                                                                                                 \
	static void do_store_##bits(volatile a##bits *at, a##bits value, int order)                                                        \
	{                                                                                                                                  \
		if (order == ORDER_SEQ_CST)                                                                                                \
			__atomic_store_n(at, value, __ATOMIC_SEQ_CST);                                                                     \
		else                                                                                                                       \
			__atomic_store_n(at, value, __ATOMIC_RELEASE);                                                                     \
	}
NARROW_STORE(8)
NARROW_STORE(16)
NARROW_STORE(32)
NARROW_STORE(64)

static void do_store_128(volatile a128 *at, a128 value, int order)
{
	wide_exchange(at, value);
}

#define DO_LOAD(bits, at)		  __atomic_load_n(at, __ATOMIC_SEQ_CST)
#define DO_EXCHANGE(bits, at, value)	  __atomic_exchange_n(at, value, __ATOMIC_SEQ_CST)
#define DO_CHANGE(name, at, value)	  __atomic_fetch_##name(at, value, __ATOMIC_SEQ_CST)
#define DO_COMPARE(at, expected, value)	  __atomic_compare_exchange_n(at, expected, value, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)
#define WIDE_LOAD(bits, at)		  wide_load(at)
#define WIDE_EXCHANGE(bits, at, value)	  wide_exchange(at, value)
#define WIDE_FETCH(name, at, value)	  wide_##name(at, value)
#define WIDE_COMPARE(at, expected, value) wide_compare_exchange(at, expected, value)

#define ATOMIC_CHANGE(bits, name, change)                                                                                                  \
	EXPORT a##bits __tsan_atomic##bits##_fetch_##name(volatile a##bits *at, a##bits value, int order)                                  \
	{                                                                                                                                  \
		on_atomic(at, sizeof(*at), ACCESS_WRITE);                                                                                  \
		hot.changes++;                                                                                                             \
		return change(name, at, value);                                                                                            \
	}

#define ATOMIC_COMPARE(bits, strength, compare)                                                                                            \
	EXPORT int __tsan_atomic##bits##_compare_exchange_##strength(volatile a##bits *at, a##bits *expected, a##bits value, int order,    \
								     int failed)                                                           \
	{                                                                                                                                  \
		a##bits wanted = *expected;                                                                                                \
		bool same;                                                                                                                 \
                                                                                                                                           \
		on_atomic(at, sizeof(*at), ACCESS_WRITE);                                                                                  \
		same = compare(at, expected, value);                                                                                       \
		RECORD_ATOMIC_READ(at, same ? wanted : *expected);                                                                         \
		hot.changes += same;                                                                                                       \
		return same;                                                                                                               \
	}

#define ATOMICS(bits, load, exchange, change, compare)                                                                                     \
	EXPORT a##bits __tsan_atomic##bits##_load(const volatile a##bits *at, int order)                                                   \
	{                                                                                                                                  \
		a##bits found;                                                                                                             \
                                                                                                                                           \
		on_atomic(at, sizeof(*at), ACCESS_READ);                                                                                   \
		found = load(bits, at);                                                                                                    \
		RECORD_ATOMIC_READ(at, found);                                                                                             \
		return found;                                                                                                              \
	}                                                                                                                                  \
	EXPORT void __tsan_atomic##bits##_store(volatile a##bits *at, a##bits value, int order)                                            \
	{                                                                                                                                  \
		on_atomic(at, sizeof(*at), ACCESS_WRITE);                                                                                  \
		hot.changes++;                                                                                                             \
		do_store_##bits(at, value, order);                                                                                         \
	}                                                                                                                                  \
	EXPORT a##bits __tsan_atomic##bits##_exchange(volatile a##bits *at, a##bits value, int order)                                      \
	{                                                                                                                                  \
		a##bits found;                                                                                                             \
                                                                                                                                           \
		on_atomic(at, sizeof(*at), ACCESS_WRITE);                                                                                  \
		found = exchange(bits, at, value);                                                                                         \
		RECORD_ATOMIC_READ(at, found);                                                                                             \
		hot.changes += found != value;                                                                                             \
		return found;                                                                                                              \
	}                                                                                                                                  \
	EXPORT a##bits __tsan_atomic##bits##_compare_exchange_val(volatile a##bits *at, a##bits expected, a##bits value, int order,        \
								  int failed)                                                              \
	{                                                                                                                                  \
		on_atomic(at, sizeof(*at), ACCESS_WRITE);                                                                                  \
		hot.changes += compare(at, &expected, value);                                                                              \
		RECORD_ATOMIC_READ(at, expected);                                                                                          \
		return expected;                                                                                                           \
	}                                                                                                                                  \
	ATOMIC_COMPARE(bits, strong, compare)                                                                                              \
	ATOMIC_COMPARE(bits, weak, compare)                                                                                                \
	ATOMIC_CHANGE(bits, add, change)                                                                                                   \
	ATOMIC_CHANGE(bits, sub, change)                                                                                                   \
	ATOMIC_CHANGE(bits, and, change)                                                                                                   \
	ATOMIC_CHANGE(bits, or, change)                                                                                                    \
	ATOMIC_CHANGE(bits, xor, change)                                                                                                   \
	ATOMIC_CHANGE(bits, nand, change)

ATOMICS(8, DO_LOAD, DO_EXCHANGE, DO_CHANGE, DO_COMPARE)
ATOMICS(16, DO_LOAD, DO_EXCHANGE, DO_CHANGE, DO_COMPARE)
ATOMICS(32, DO_LOAD, DO_EXCHANGE, DO_CHANGE, DO_COMPARE)
ATOMICS(64, DO_LOAD, DO_EXCHANGE, DO_CHANGE, DO_COMPARE)
ATOMICS(128, WIDE_LOAD, WIDE_EXCHANGE, WIDE_FETCH, WIDE_COMPARE)

EXPORT void __tsan_atomic_thread_fence(int order)
{
	if (order != ORDER_RELAXED)
		__atomic_thread_fence(__ATOMIC_SEQ_CST);
}

EXPORT void __tsan_atomic_signal_fence(int order)
{
	__asm__ volatile("" ::: "memory");
}

/* ---- functions that programs built with -fsanitize=thread may call themselves (sanitizer/tsan_interface.h) ---- */

/* Functions by which a program informs a race detector about the order of its threads. The emulation ignores them. */
#define IGNORED_HOOK(name, ...)                                                                                                            \
	EXPORT void name(__VA_ARGS__)                                                                                                      \
	{                                                                                                                                  \
	}

IGNORED_HOOK(__tsan_acquire, void *at)
IGNORED_HOOK(__tsan_release, void *at)
IGNORED_HOOK(__tsan_ignore_thread_begin, void)
IGNORED_HOOK(__tsan_ignore_thread_end, void)
IGNORED_HOOK(__tsan_flush_memory, void)
IGNORED_HOOK(__tsan_mutex_create, void *at, unsigned flags)
IGNORED_HOOK(__tsan_mutex_destroy, void *at, unsigned flags)
IGNORED_HOOK(__tsan_mutex_pre_lock, void *at, unsigned flags)
IGNORED_HOOK(__tsan_mutex_post_lock, void *at, unsigned flags, int recursion)
IGNORED_HOOK(__tsan_mutex_post_unlock, void *at, unsigned flags)
IGNORED_HOOK(__tsan_mutex_pre_signal, void *at, unsigned flags)
IGNORED_HOOK(__tsan_mutex_post_signal, void *at, unsigned flags)
IGNORED_HOOK(__tsan_mutex_pre_divert, void *at, unsigned flags)
IGNORED_HOOK(__tsan_mutex_post_divert, void *at, unsigned flags)
IGNORED_HOOK(__tsan_destroy_fiber, void *fiber)
IGNORED_HOOK(__tsan_switch_to_fiber, void *fiber, unsigned flags)
IGNORED_HOOK(__tsan_set_fiber_name, void *fiber, const char *name)
IGNORED_HOOK(__tsan_external_register_header, void *tag, const char *header)
IGNORED_HOOK(__tsan_external_assign_tag, void *at, void *tag)
IGNORED_HOOK(__tsan_external_read, void *at, void *pc, void *tag)
IGNORED_HOOK(__tsan_external_write, void *at, void *pc, void *tag)

EXPORT int __tsan_mutex_pre_unlock(void *at, unsigned flags)
{
	return 0;
}

/* Programs compare these results and pass them back, so they must not be NULL. */
EXPORT void *__tsan_create_fiber(unsigned flags)
{
	return &runtime;
}

EXPORT void *__tsan_get_current_fiber(void)
{
	return &runtime;
}

EXPORT void *__tsan_external_register_tag(const char *name)
{
	return &runtime;
}
