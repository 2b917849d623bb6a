/* Writes a sample file (record.h) inside the measured program. After record_open(), the functions neither allocate, lock nor print. They
 * call no function that the program may have replaced. They make system calls directly, which are no cancellation points. Signal handlers
 * may call them and may leave them by longjmp(). One exception: a thread must not call record_begin() between its own record_begin() and
 * record_commit(). Callers prevent this by a busy flag.
 *
 * The writer reserves disk space in pieces before it writes. If the disk is full, samples are lost and counted, but the program is not
 * harmed. Some file systems do not write in place (btrfs, ZFS, network file systems), so they cannot reserve space. A write to a mapped
 * page without space would kill the program. There, the writer keeps the file in memory and writes it chunk by chunk. If such a program is
 * killed, the last chunk of each thread is lost. */
#ifndef RUNS_RECORD_WRITER_H
#define RUNS_RECORD_WRITER_H

#include "runs/inside/record/record.h"
#include "runs/inside/record/record_system.h"

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>

#define RECORD_PATH_BYTES     1024
#define RECORD_CHUNK_BYTES    (64u << 10)  /* default size of a chunk, bytes */
#define RECORD_FILE_BYTES     (1ull << 30) /* default maximum size of a file, bytes */
#define RECORD_FILE_BYTES_MAX (64ull << 30)
#define RECORD_NAMES_BYTES    (1u << 20) /* default maximum size of the names, bytes */
#define RECORD_BUILD_ID_BYTES 129	 /* size of a build-id as text, with the NUL; an id has at most 64 bytes, usually 20 */
#define RECORD_DESCRIPTOR_MIN 700	 /* lowest descriptor of the writer; programs rarely use such high numbers */
#define RECORD_SKIPS_MAX      65535u

struct record_options {
	const char *directory; /* existing directory of the file */
	enum record_back_end back_end;
	const char *const *counters; /* [n_counters] names without line ends; record_open() copies them */
	uint32_t n_counters;	     /* number of counters, at most RECORD_COUNTERS_MAX */
	uint32_t chunk_bytes;	     /* size of a chunk, bytes, a multiple of 4096; 0 for the default */
	uint32_t names_bytes_max;    /* maximum size of the names, bytes, a multiple of 4096; 0 for the default */
	uint64_t file_bytes_max;     /* maximum size of the file, bytes; 0 for the default */
	bool brief;		     /* write struct record_brief: no counters, weights are powers of 2, depths are below 65536 */
	bool packed;		     /* write packed samples: use record_pack_begin() and record_pack_commit() */
	enum record_level level;     /* initial level; a file that is kept in memory has RECORD_LEVEL_ALL */
	uint64_t ticks_per_s;	     /* rate of the caller's clock; 0 if the clock is record_ticks(), whose rate the writer measures */
};

struct record_clock_reading {
	uint64_t ticks, ns;
};

/* Writer of a process, for all its threads. A zeroed writer is closed and drops all samples. */
struct record_writer {
	struct record_header *header;	/* mapping of the whole file; NULL if closed */
	const volatile uint32_t *alive; /* 1; child processes read 0, because the kernel clears the page at fork(); NULL if never opened */
	uint64_t names_in_use;		/* number of functions << 40 | size of the names, bytes */
	uint64_t names_reserved;	/* size of the names for which disk space is reserved, bytes */
	uint64_t chunks_in_use, chunks_max;
	uint32_t sample_bytes; /* size of a sample, or maximum size of a packed sample, bytes */
	uint32_t threads;      /* number of threads that have taken a chunk */
	uint32_t full;	       /* 1 if no more chunks are given out, because the file has its maximum size or the disk is full */
	bool own_clock;
	bool reason_reported;	/* the reason for dropped samples is in the file */
	bool in_memory;		/* the file is kept in memory and written, because it cannot be mapped */
	int kept_fd;		/* open descriptor, for a file that can no longer be opened by its name; -1 if none */
	uint64_t device, inode; /* identity of the file, to detect that the program closed `kept_fd` and reused its number */
	struct record_clock_reading first;
	struct record_options options; /* options of record_open() with the defaults filled in, without pointers */
	char path[RECORD_PATH_BYTES];
	char directory[RECORD_PATH_BYTES];
};

/* State of one thread, in thread-local storage, initially zeroed. */
struct record_thread {
	struct record_chunk *chunk;
	unsigned char *next, *end; /* place of the next sample; end of the part of the chunk that has disk space */
	uint32_t number;
	bool has_number;
	bool final; /* set by the caller before the thread's last samples, which may exceed the maximum size of the file */
	uint64_t spare, n_spare_chunks; /* spare: index of the first chunk reserved for this thread; spares: number of such chunks */
	uint32_t skip, last_skip; /* number of samples to drop before the next search for space; its value after the last failed search */
};

/* Creates DIRECTORY/PID-N.samples with the lowest free N and overwrites *w. Call record_close() at the end. Returns 0 or an errno; E2BIG if
 * there are too many counters or their names are too long. Cost: some system calls, and 50 microseconds to measure the clock. */
int record_open(struct record_writer *w, const struct record_options *options);

/* Marks the file as finished and gives out no more chunks. The file stays mapped, because other threads may still write to their chunks. */
void record_close(struct record_writer *w);

/* Unmaps a part of the file, so that the program has enough addresses left after it limits its address space to `address_space` bytes. */
void record_prepare_limit(struct record_writer *w, uint64_t address_space);

/* Locks the program's memory as mlockall(2) does, except the sample file and mappings for which `is_ours` returns true. These are large,
 * and locking would make them resident and count them against the limit. `is_ours` may be NULL. Returns 0, or -1 and sets errno. */
int record_lock_all(const struct record_writer *w, int flags, bool (*is_ours)(uintptr_t start, uintptr_t end));

/* Starts a new file with the same names in a child of fork(), before the child calls any other function of the writer. Resets `t`, the
 * state of the only thread. Returns 0, or an errno and closes *w. A child that does not call this (_Fork(), clone()) records nothing. */
int record_reopen_in_child(struct record_writer *w, struct record_thread *t);

/* Appends a selected function: its address in the module's file, the module's build-id or "-", and its name. Writes '?' for control
 * characters, and for spaces in `module`. Returns the function's number; UINT32_MAX if there is no space. Safe for concurrent threads. */
uint32_t record_add_function(struct record_writer *w, uint64_t address, const char *module, const char *name);

/* Finds a module's build-id in ELF notes (notes[n], from memory or from the file). Stores it in hexadecimal, or "" if there is none. */
void record_build_id(const void *notes, size_t n, char out[RECORD_BUILD_ID_BYTES]);

/* Finds the build-id of a loaded module from its program headers, parts[n], of dl_iterate_phdr(). Skips notes outside readable segments. */
void record_module_id(uintptr_t base, const Elf64_Phdr *parts, size_t n, char out[RECORD_BUILD_ID_BYTES]);

/* Appends a fact about the process. `key` has no spaces; control characters in `value` become '?'. Returns false if there is no space. */
bool record_add_info(struct record_writer *w, const char *key, const char *value);
void record_add_info_number(struct record_writer *w, const char *key, uint64_t number);
void record_add_program(struct record_writer *w); /* appends the program's path as "program", and its arguments as "arguments" */

/* Returns `value` as text, which is stored in `out`. `base` is 10 or 16. */
const char *record_format_number(uint64_t value, unsigned base, char out[24]);

/* Blocks all signals of the calling thread. Use it for work that a handler must not leave by longjmp(): it holds files or locks, or has
 * half-made changes. */
uint64_t record_signals_block(void); /* returns the previous signal mask */
void record_signals_restore(uint64_t before);

/* Appends the reason for dropped samples as "dropped". Only the first reason is kept. */
void record_report_reason(struct record_writer *w, const char *why);

/* Counts a dropped sample. Private to the writer. */
static inline void record_drop(struct record_writer *w, struct record_thread *t)
{
	if (t->chunk)
		__atomic_store_n(&t->chunk->dropped, t->chunk->dropped + 1, __ATOMIC_RELAXED);
	else
		__atomic_fetch_add(&w->header->dropped, 1, __ATOMIC_RELAXED);
}

/* Reports whether the next sample must be dropped. This is so if there is no space, or if a search for space failed a short time ago,
 * because another search is expensive. Counts the sample as dropped, unless the file is closed. */
static inline bool record_must_drop(struct record_writer *w, struct record_thread *t)
{
	if (!w->header || !*w->alive) /* the writer belongs to the parent process, because this child of fork() has no file yet */
		return true;
	if (t->final || (!t->skip && !__atomic_load_n(&w->full, __ATOMIC_RELAXED)))
		return false;
	t->skip -= t->skip > 0;
	if (!w->header->finished)
		record_drop(w, t);
	return true;
}

/* Corrects the number of samples if a signal handler left record_commit() by longjmp(). Call it before the thread's last samples. */
void record_repair_count(const struct record_writer *w, struct record_thread *t);

/* Extends the thread's chunk or takes a new one, for record_begin(). If there is no space, counts a dropped sample and returns false. */
bool record_extend_chunk(struct record_writer *w, struct record_thread *t);

/* Returns the place of the thread's next sample, which is a struct record_brief with options.brief. The caller fills the sample and calls
 * record_commit(), which adds it to the file. Returns NULL if there is no space or no open file; without space, counts a dropped sample. */
static inline struct record_sample *record_begin(struct record_writer *w, struct record_thread *t)
{
	if (!w->header || !*w->alive)
		return NULL;
	if ((size_t)(t->end - t->next) < w->sample_bytes && !record_extend_chunk(w, t))
		return NULL;
	return (struct record_sample *)(void *)t->next;
}

/* Does the same as record_begin() for packed files. `memory` has RECORD_PACK_WORDS(n_counters) elements and belongs to the thread. */
struct record_sample *record_pack_begin(struct record_writer *w, struct record_thread *t, uint64_t *memory);
/* Adds the sample in `memory` to the file. Returns its packed size, bytes. */
uint32_t record_pack_commit(struct record_writer *w, struct record_thread *t, uint64_t *memory);

/* Converts a sample to struct record_brief. */
static inline void record_to_brief(const struct record_sample *from, struct record_brief *to)
{
	*to = (struct record_brief){
		.function = (uint16_t)from->function,
		.weight_log2 = (uint8_t)(from->weight ? __builtin_ctz(from->weight) : 0),
		.flags = (uint8_t)from->flags,
		.depth = (uint16_t)from->depth,
		.threads = (uint16_t)(from->threads < UINT16_MAX ? from->threads : UINT16_MAX),
		.ordinal = from->ordinal,
		.start = from->start,
		.duration = from->duration,
	};
}

static inline void record_commit(struct record_writer *w, struct record_thread *t)
{
	t->next += w->sample_bytes;
	__atomic_store_n(&t->chunk->samples, t->chunk->samples + 1, __ATOMIC_RELEASE);
}

#endif
