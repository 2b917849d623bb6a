/* System calls and the clock, for code that runs inside users' programs. libc's functions are not usable there, because the program may
 * replace them and some are cancellation points. This file contains all differences between architectures. */
#ifndef RUNS_RECORD_SYSTEM_H
#define RUNS_RECORD_SYSTEM_H

#include <stdint.h>

#if defined(__x86_64__)

/* Makes a system call. Returns its result, or -errno. */
static inline long record_system_call(long number, long a, long b, long c, long d, long e, long f)
{
	long result;
	register long r10 __asm__("r10") = d;
	register long r8 __asm__("r8") = e;
	register long r9 __asm__("r9") = f;

	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
			 : "rcx", "r11", "memory");
	return result;
}

/* Returns the time stamp counter. */
static inline uint64_t record_ticks(void)
{
	uint32_t low, high;

	__asm__ volatile("rdtsc" : "=a"(low), "=d"(high));
	return (uint64_t)high << 32 | low;
}

/* Returns the time stamp counter after all earlier instructions have completed. Otherwise a sample would include earlier work of the
 * program and miss work of the function. The earlier work may be some 200 instructions, or 50 ns, more than a short function takes. */
static inline uint64_t record_ticks_done(void)
{
	__asm__ volatile("lfence" ::: "memory");
	return record_ticks();
}

/* Tells the CPU that the thread spins in a loop and waits for another thread. */
static inline void record_pause(void)
{
	__builtin_ia32_pause();
}

#elif defined(__aarch64__)

static inline long record_system_call(long number, long a, long b, long c, long d, long e, long f)
{
	register long x8 __asm__("x8") = number;
	register long x0 __asm__("x0") = a;
	register long x1 __asm__("x1") = b;
	register long x2 __asm__("x2") = c;
	register long x3 __asm__("x3") = d;
	register long x4 __asm__("x4") = e;
	register long x5 __asm__("x5") = f;

	__asm__ volatile("svc #0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5) : "memory");
	return x0;
}

/* Returns the virtual count. Its unit is 10 to 100 ns on many machines, and 1 ns from ARMv8.6 on. */
static inline uint64_t record_ticks(void)
{
	uint64_t count;

	__asm__ volatile("mrs %0, cntvct_el0" : "=r"(count));
	return count;
}

static inline uint64_t record_ticks_done(void)
{
	__asm__ volatile("isb" ::: "memory");
	return record_ticks();
}

static inline void record_pause(void)
{
	__asm__ volatile("yield");
}

#else
#error "system calls and the clock are known for x86-64 and aarch64"
#endif

#endif
