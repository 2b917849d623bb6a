/* Atomic operations: done here as the compiler would have, and counted as one access. A change is one write, whether it reads or not. */
#include "runs/inside/emulate/emulate.h"

/* Of the C11 enumeration; stronger than asked for is always right. */
#define ORDER_RELAXED 0
#define ORDER_SEQ_CST 5

__extension__ typedef __int128 a128; /* typedefs, for the names below are pasted from them */
typedef int8_t a8;
typedef int16_t a16;
typedef int32_t a32;
typedef int64_t a64;

static inline void on_atomic(const volatile void *at, size_t bytes, enum access access)
{
	uintptr_t address = (uintptr_t)at;

	hot.atomics++;
	if (access == ACCESS_WRITE && UNLIKELY(address >> PAGE_BITS != hot.written_page))
		page_written(address >> PAGE_BITS);
	if (UNLIKELY(--hot.left < 0))
		simulate_access(address, bytes, access);
}

/* 16 bytes: by cmpxchg16b, except that a load must not write where the page cannot be written; with AVX, loads of 16 are atomic. */
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

#define WIDE_CHANGE(name, result)                                                 \
	static a128 wide_##name(volatile a128 *at, a128 value)                    \
	{                                                                         \
		a128 old = wide_load(at), seen;                                   \
                                                                                  \
		while ((seen = __sync_val_compare_and_swap(at, old, result)) != old) \
			old = seen;                                               \
		return old;                                                       \
	}
WIDE_CHANGE(add, old + value)
WIDE_CHANGE(sub, old - value)
WIDE_CHANGE(and, old & value)
WIDE_CHANGE(or, old | value)
WIDE_CHANGE(xor, old ^ value)
WIDE_CHANGE(nand, ~(old & value))

static bool wide_compare_exchange(volatile a128 *at, a128 *expected, a128 value)
{
	a128 seen = __sync_val_compare_and_swap(at, *expected, value);
	bool same = seen == *expected;

	*expected = seen;
	return same;
}

#define NARROW_STORE(bits)                                                              \
	static void do_store_##bits(volatile a##bits *at, a##bits value, int order)     \
	{                                                                               \
		if (order == ORDER_SEQ_CST)                                             \
			__atomic_store_n(at, value, __ATOMIC_SEQ_CST);                  \
		else                                                                    \
			__atomic_store_n(at, value, __ATOMIC_RELEASE);                  \
	}
NARROW_STORE(8)
NARROW_STORE(16)
NARROW_STORE(32)
NARROW_STORE(64)

static void do_store_128(volatile a128 *at, a128 value, int order)
{
	(void)order;
	wide_exchange(at, value);
}

#define DO_LOAD(bits, at)                 __atomic_load_n(at, __ATOMIC_SEQ_CST)
#define DO_EXCHANGE(bits, at, value)      __atomic_exchange_n(at, value, __ATOMIC_SEQ_CST)
#define DO_CHANGE(name, at, value)        __atomic_fetch_##name(at, value, __ATOMIC_SEQ_CST)
#define DO_COMPARE(at, expected, value)   __atomic_compare_exchange_n(at, expected, value, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)
#define WIDE_LOAD(bits, at)               wide_load(at)
#define WIDE_EXCHANGE(bits, at, value)    wide_exchange(at, value)
#define WIDE_FETCH(name, at, value)       wide_##name(at, value)
#define WIDE_COMPARE(at, expected, value) wide_compare_exchange(at, expected, value)

#define ATOMIC_CHANGE(bits, name, change)                                                       \
	EXPORT a##bits __tsan_atomic##bits##_fetch_##name(volatile a##bits *at, a##bits value, int order); \
	a##bits __tsan_atomic##bits##_fetch_##name(volatile a##bits *at, a##bits value, int order) \
	{                                                                                       \
		(void)order;                                                                    \
		on_atomic(at, sizeof(*at), ACCESS_WRITE);                                       \
		return change(name, at, value);                                                 \
	}

#define ATOMIC_COMPARE(bits, strength, compare)                                                                     \
	EXPORT int __tsan_atomic##bits##_compare_exchange_##strength(volatile a##bits *at, a##bits *expected, a##bits value, \
								     int order, int failed);                        \
	int __tsan_atomic##bits##_compare_exchange_##strength(volatile a##bits *at, a##bits *expected, a##bits value, int order, \
							      int failed)                                           \
	{                                                                                                           \
		(void)order;                                                                                        \
		(void)failed;                                                                                       \
		on_atomic(at, sizeof(*at), ACCESS_WRITE);                                                           \
		return compare(at, expected, value);                                                                \
	}

#define ATOMICS(bits, load, exchange, change, compare)                                                                       \
	EXPORT a##bits __tsan_atomic##bits##_load(const volatile a##bits *at, int order);                                    \
	EXPORT void __tsan_atomic##bits##_store(volatile a##bits *at, a##bits value, int order);                             \
	EXPORT a##bits __tsan_atomic##bits##_exchange(volatile a##bits *at, a##bits value, int order);                       \
	EXPORT a##bits __tsan_atomic##bits##_compare_exchange_val(volatile a##bits *at, a##bits expected, a##bits value, int order, \
								  int failed);                                               \
	a##bits __tsan_atomic##bits##_load(const volatile a##bits *at, int order)                                            \
	{                                                                                                                    \
		(void)order;                                                                                                 \
		on_atomic(at, sizeof(*at), ACCESS_READ);                                                                     \
		return load(bits, at);                                                                                       \
	}                                                                                                                    \
	void __tsan_atomic##bits##_store(volatile a##bits *at, a##bits value, int order)                                     \
	{                                                                                                                    \
		on_atomic(at, sizeof(*at), ACCESS_WRITE);                                                                    \
		do_store_##bits(at, value, order);                                                                       \
	}                                                                                                                    \
	a##bits __tsan_atomic##bits##_exchange(volatile a##bits *at, a##bits value, int order)                               \
	{                                                                                                                    \
		(void)order;                                                                                                 \
		on_atomic(at, sizeof(*at), ACCESS_WRITE);                                                                    \
		return exchange(bits, at, value);                                                                            \
	}                                                                                                                    \
	a##bits __tsan_atomic##bits##_compare_exchange_val(volatile a##bits *at, a##bits expected, a##bits value, int order, \
							   int failed)                                                       \
	{                                                                                                                    \
		(void)order;                                                                                                 \
		(void)failed;                                                                                                \
		on_atomic(at, sizeof(*at), ACCESS_WRITE);                                                                    \
		compare(at, &expected, value);                                                                               \
		return expected;                                                                                             \
	}                                                                                                                    \
	ATOMIC_COMPARE(bits, strong, compare)                                                                                \
	ATOMIC_COMPARE(bits, weak, compare)                                                                                  \
	ATOMIC_CHANGE(bits, add, change)                                                                                     \
	ATOMIC_CHANGE(bits, sub, change)                                                                                     \
	ATOMIC_CHANGE(bits, and, change)                                                                                     \
	ATOMIC_CHANGE(bits, or, change)                                                                                      \
	ATOMIC_CHANGE(bits, xor, change)                                                                                     \
	ATOMIC_CHANGE(bits, nand, change)

ATOMICS(8, DO_LOAD, DO_EXCHANGE, DO_CHANGE, DO_COMPARE)
ATOMICS(16, DO_LOAD, DO_EXCHANGE, DO_CHANGE, DO_COMPARE)
ATOMICS(32, DO_LOAD, DO_EXCHANGE, DO_CHANGE, DO_COMPARE)
ATOMICS(64, DO_LOAD, DO_EXCHANGE, DO_CHANGE, DO_COMPARE)
ATOMICS(128, WIDE_LOAD, WIDE_EXCHANGE, WIDE_FETCH, WIDE_COMPARE)

EXPORT void __tsan_atomic_thread_fence(int order);
void __tsan_atomic_thread_fence(int order)
{
	if (order != ORDER_RELAXED)
		__atomic_thread_fence(__ATOMIC_SEQ_CST);
}

EXPORT void __tsan_atomic_signal_fence(int order);
void __tsan_atomic_signal_fence(int order)
{
	(void)order;
	__asm__ volatile("" ::: "memory");
}
