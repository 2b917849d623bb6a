/* Writes a sample file (record.h) in a user's process. After record_open(), the functions do not allocate, lock or print, nor call
 * functions that the program may have replaced: they make system calls directly, which are no cancellation points. All may be called in a
 * signal handler, and a handler may jump out of any of them. Exception: a thread must not call record_begin() between its own
 * record_begin() and record_commit(), so it needs a busy flag.
 *
 * Disk space is reserved piece by piece, so that a full disk loses samples, which are counted, but never harms the program. File systems
 * that do not write in place (btrfs, ZFS, networks) cannot reserve space, and a mapped page without space would kill the program. There the
 * file is kept in memory and written chunk by chunk. If such a program is killed, each thread's last chunk is lost. */
#ifndef RUNS_RECORD_WRITER_H
#define RUNS_RECORD_WRITER_H

#include "runs/inside/record/record.h"
#include "runs/inside/record/record_system.h"

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>

#define RECORD_PATH_BYTES	1024
#define RECORD_CHUNK_BYTES	(64u << 10)  /* default size of a chunk */
#define RECORD_FILE_BYTES	(1ull << 30) /* default maximum size of a file */
#define RECORD_FILE_BYTES_MAX	(64ull << 30)
#define RECORD_NAMES_BYTES	(1u << 20) /* default size of the names */
#define RECORD_BUILD_ID_BYTES	129	   /* text with a NUL; an id has at most 64 bytes, usually 20 */
#define RECORD_DESCRIPTOR_LEAST 700	   /* far from the descriptors that programs open, close or use by number */
#define RECORD_SKIPS_MAX	65535u

struct record_options {
	const char *directory; /* directory of the file; must exist */
	enum record_back_end back_end;
	const char *const *counters; /* [n_counters] names without line ends; copied */
	uint32_t n_counters;	     /* number of counters, at most RECORD_COUNTERS_MAX */
	uint32_t chunk_bytes;	     /* size of a chunk, a multiple of 4096; 0: default */
	uint32_t names_bytes_max;    /* maximum size of the names, a multiple of 4096; 0: default */
	uint64_t file_bytes_max;     /* maximum size of the file; 0: default */
	bool brief;		     /* writes struct record_brief: no counters, weights that are powers of 2, depths below 65536 */
	bool packed;		     /* samples are written by record_pack_begin() and record_pack_commit() */
	enum record_level level;     /* initial level, if the file is mapped */
	uint64_t ticks_per_s;	     /* rate of the caller's clock; 0: the clock is record_ticks(), whose rate the writer measures */
};

struct record_moment {
	uint64_t ticks, ns;
};

/* Writer for all threads of a process. Zeroed: closed, all samples are dropped. */
struct record_writer {
	struct record_header *header;	/* mapping of the whole file; NULL: closed */
	const volatile uint32_t *alive; /* 1, in a page that every child process finds zeroed; NULL: never opened */
	uint64_t names_in_use;		/* functions << 40 | bytes of names */
	uint64_t names_reserved;	/* bytes of names with disk space */
	uint64_t chunks_in_use, chunks_max;
	uint32_t sample_bytes; /* size of a sample; maximum size of a packed sample */
	uint32_t threads;      /* number of threads that have had a chunk */
	uint32_t full;	       /* 1: no new chunk, because the limit is reached or the disk is full */
	bool own_clock;
	bool said;		/* the reason for dropped samples was written */
	bool in_memory;		/* the file is written instead of mapped */
	int kept;		/* kept descriptor for a file that can no longer be opened; -1: none */
	uint64_t device, inode; /* identity of the file, because the program may have closed the descriptor and reused its number */
	struct record_moment first;
	struct record_options options; /* as opened, with defaults and without pointers */
	char path[RECORD_PATH_BYTES];
	char directory[RECORD_PATH_BYTES];
};

/* State of one thread, in thread-local storage, initially zeroed. */
struct record_thread {
	struct record_chunk *chunk;
	unsigned char *next, *end; /* place of the next sample; end of the reserved part of the chunk */
	uint32_t number;
	bool numbered;
	bool final;		/* set by the caller for the thread's last samples, which may exceed the file's limit a little */
	uint64_t spare, spares; /* first chunk reserved for the thread; number of such chunks */
	uint32_t skip, skips;	/* number of samples to drop before the next search for space; previous such number */
};

/* Creates DIRECTORY/PID-N.samples with the first free N. Returns 0 or an errno (E2BIG: too many counters, or too long names). *w is
 * overwritten; record_close() ends it. Takes some system calls, and 50 microseconds to measure the clock. */
int record_open(struct record_writer *w, const struct record_options *options);

/* Marks the file as finished. The file stays mapped, because threads may still write samples to their chunks; no new chunk starts. */
void record_close(struct record_writer *w);

/* Unmaps a part of the file before the program limits its address space to `address_space`, so that enough is left for the program. */
void record_limit(struct record_writer *w, uint64_t address_space);

/* Locks the program's memory like mlockall(2), except the file and mappings for which `is_ours` (NULL: none) returns true. Those are large,
 * and would become resident and count against the limit. Returns 0, or -1 with errno. */
int record_lock_all(const struct record_writer *w, int flags, bool (*is_ours)(uintptr_t start, uintptr_t end));

/* Starts a new file with the same names in a child of fork(), before any other call there. Resets `t`, which belongs to the only thread.
 * Returns 0, or an errno: then *w is closed. A child that never calls this (_Fork(), clone()) records nothing. */
int record_fork(struct record_writer *w, struct record_thread *t);

/* Adds a selected function: its address in the module's file, the module's build-id or "-", and its name. Control characters, and spaces in
 * the module, become '?'. Returns its number; UINT32_MAX: no space. Threads may call it concurrently. */
uint32_t record_function(struct record_writer *w, uint64_t address, const char *module, const char *name);

/* Writes a module's build-id from its ELF notes (notes[n], as loaded or as in the file) in hexadecimal; "": none. */
void record_build_id(const void *notes, size_t n, char out[RECORD_BUILD_ID_BYTES]);

/* Does the same for a loaded module, from its program headers parts[n] as of dl_iterate_phdr(). Skips notes outside of readable
 * segments. */
void record_module_id(uintptr_t base, const Elf64_Phdr *parts, size_t n, char out[RECORD_BUILD_ID_BYTES]);

/* Adds a fact about the process. The key has no spaces; control characters in the value become '?'. Returns false if there is no space. */
bool record_info(struct record_writer *w, const char *key, const char *value);
void record_info_number(struct record_writer *w, const char *key, uint64_t number);
void record_program(struct record_writer *w); /* writes the path as "program", the command line's arguments as "arguments" */

/* Returns the number as text, in `out`; base: 10 or 16. */
const char *record_number(uint64_t value, unsigned base, char out[24]);

/* Blocks all signals of the calling thread, for work that a handler must not leave by a jump: open files, half-made changes, locks. */
uint64_t record_signals_block(void); /* returns the previous mask */
void record_signals_restore(uint64_t before);

/* Writes the reason for dropped samples as "dropped"; only the first reason is kept. */
void record_report_reason(struct record_writer *w, const char *why);

/* Counts a dropped sample; private. */
static inline void record_drop(struct record_writer *w, struct record_thread *t)
{
	if (t->chunk)
		__atomic_store_n(&t->chunk->dropped, t->chunk->dropped + 1, __ATOMIC_RELAXED);
	else
		__atomic_fetch_add(&w->header->dropped, 1, __ATOMIC_RELAXED);
}

/* Reports whether the next sample must be dropped, because there is no space, or there was none lately and another search is expensive.
 * Counts the sample as dropped, except after the file is closed. */
static inline bool record_drops(struct record_writer *w, struct record_thread *t)
{
	if (!w->header || !*w->alive) /* in a child of fork() without its own file, w belongs to the parent */
		return true;
	if (t->final || (!t->skip && !__atomic_load_n(&w->full, __ATOMIC_RELAXED)))
		return false;
	t->skip -= t->skip > 0;
	if (!w->header->finished)
		record_drop(w, t);
	return true;
}

/* Corrects the count of samples after a record_commit() that a handler left by a jump; call it before the thread's last samples. */
void record_settle(const struct record_writer *w, struct record_thread *t);

/* Extends the thread's chunk, or starts a new one, for record_begin(). Returns false if there is no space, and counts a dropped sample. */
bool record_chunk_take(struct record_writer *w, struct record_thread *t);

/* Returns the place of the thread's next sample (with options.brief, a struct record_brief). The caller fills it and calls record_commit();
 * without that, the sample does not exist. NULL: no space; the sample is counted as dropped. */
static inline struct record_sample *record_begin(struct record_writer *w, struct record_thread *t)
{
	if (!w->header || !*w->alive)
		return NULL;
	if ((size_t)(t->end - t->next) < w->sample_bytes && !record_chunk_take(w, t))
		return NULL;
	return (struct record_sample *)(void *)t->next;
}

/* Does the same for files with options.packed. memory: [RECORD_PACK_WORDS(n_counters)], owned by the thread. */
struct record_sample *record_pack_begin(struct record_writer *w, struct record_thread *t, uint64_t *memory);
/* Writes the sample, and returns its size in the file. */
uint32_t record_pack_commit(struct record_writer *w, struct record_thread *t, uint64_t *memory);

/* Converts a sample to struct record_brief. */
static inline void record_shorten(const struct record_sample *from, struct record_brief *to)
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
