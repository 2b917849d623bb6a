/* What the parts of the writer share: record_file.c (the file and the disk), record_names.c (names in it), record_writer.c (chunks,
 * samples, the clock, from the beginning to the end). */
#ifndef RUNS_RECORD_INTERNAL_H
#define RUNS_RECORD_INTERNAL_H

#include "runs/inside/record/record_writer.h"

#include <time.h>

#define PAGE_BYTES       4096u
#define FINAL_CHUNKS     64u       /* beyond the limit, for what threads say at their end */
#define NAMES_BYTES_BITS 40

/* The result, or -errno. libc's functions would be the program's own, or points of cancellation. */
static inline long call(long number, long a, long b, long c, long d, long e, long f)
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

static inline uint64_t clock_ns(int which)
{
	struct timespec t = { 0, 0 };

	clock_gettime(which, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static inline void grow_to(uint64_t *value, uint64_t new)
{
	uint64_t old = __atomic_load_n(value, __ATOMIC_RELAXED);

	while (old < new && !__atomic_compare_exchange_n(value, &old, new, false, __ATOMIC_RELEASE, __ATOMIC_RELAXED))
		;
}

static inline char *names_of(const struct record_header *header)
{
	return (char *)(uintptr_t)header + header->header_bytes;
}

/* record_file.c */
bool record_directory_set(struct record_writer *w, const char *directory);
uint64_t record_file_bytes(const struct record_writer *w);
int record_file_begin(struct record_writer *w); /* creates and maps it, writes its header; 0 or an errno */
void record_file_let_go(struct record_writer *w); /* closes what is kept of it */
int record_file_reserve(struct record_writer *w, uint64_t offset, uint32_t bytes); /* some of the disk and of the memory; 0 or an errno */

/* record_names.c */
bool record_counter(struct record_writer *w, const char *name);
bool record_names_whole(const struct record_header *old, uint64_t bytes); /* those that the parent has given out */

#endif
