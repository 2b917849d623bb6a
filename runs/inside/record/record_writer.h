/* Writes a sample file (record.h) from inside another program's process. After record_open() nothing here allocates, locks, prints or
 * calls what that program may have replaced: system calls are made directly, and are not cancellation points. Everything may be called in a
 * signal handler, and such a handler may jump out of anything, except that a thread between record_begin() and record_commit() must not
 * call record_begin() again (keep a busy flag for each thread).
 *
 * Space on the disk is reserved piece by piece, so that a full disk costs samples, which are counted, and never harms the program. Where
 * the file system writes to another place each time (btrfs, ZFS, networks), nothing can be reserved, and a mapped page that finds no room
 * kills the program: there the file is kept in memory, and written chunk by chunk. A program that is killed loses each thread's last one.
 */
#ifndef RUNS_RECORD_WRITER_H
#define RUNS_RECORD_WRITER_H

#include "runs/inside/record/record.h"
#include "runs/inside/record/record_system.h"

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>

#define RECORD_PATH_BYTES	1024
#define RECORD_CHUNK_BYTES	(64u << 10)  /* the default */
#define RECORD_FILE_BYTES	(1ull << 30) /* the default */
#define RECORD_FILE_BYTES_MAX	(64ull << 30)
#define RECORD_NAMES_BYTES	(1u << 20) /* the default */
#define RECORD_BUILD_ID_BYTES	129	   /* its text and a NUL: 64 bytes at most, usually 20 */
#define RECORD_DESCRIPTOR_LEAST 700	   /* far from those that a program opens, closes or uses by number */
#define RECORD_SKIPS_MAX	65535u

struct record_options {
	const char *directory; /* where the file goes; must exist */
	enum record_back_end back_end;
	const char *const *counters; /* [n_counters] names without line ends; copied */
	uint32_t n_counters;	     /* <= RECORD_COUNTERS_MAX */
	uint32_t chunk_bytes;	     /* multiple of 4096, 0: the default */
	uint32_t names_bytes_max;    /* multiple of 4096, 0: the default */
	uint64_t file_bytes_max;     /* 0: the default */
	bool brief;		     /* no counters, weights that are powers of 2, depths below 65536: struct record_brief */
	bool packed;		     /* samples are written by record_pack_begin() and record_pack_commit() */
	enum record_level level;     /* to start with, where the file is mapped */
	uint64_t ticks_per_s;	     /* of the caller's clock; 0: record_ticks() is the clock, and the writer measures it */
};

struct record_moment {
	uint64_t ticks, ns;
};

/* One for all threads of a process. Zeroed is closed: everything is dropped then. */
struct record_writer {
	struct record_header *header;	/* the whole file, mapped; NULL: closed */
	const volatile uint32_t *alive; /* 1; on a page that every child process finds empty. NULL: never opened */
	uint64_t names_in_use;		/* functions << 40 | bytes of names */
	uint64_t names_reserved;	/* bytes of the disk */
	uint64_t chunks_in_use, chunks_max;
	uint32_t sample_bytes; /* of packed ones, the most */
	uint32_t threads;      /* that have had a chunk */
	uint32_t full;	       /* no more chunks: the limit, or the disk */
	bool own_clock;
	bool said;		/* why samples were dropped */
	bool in_memory;		/* the file is not mapped, but written */
	int kept;		/* the file's descriptor, for when it cannot be opened; -1: none */
	uint64_t device, inode; /* which file that is: the program may have closed it, and opened another one at that number */
	struct record_moment first;
	struct record_options options; /* as opened, with the defaults; without pointers */
	char path[RECORD_PATH_BYTES];
	char directory[RECORD_PATH_BYTES];
};

/* One for each thread, in its thread-local storage; zeroed to start with. */
struct record_thread {
	struct record_chunk *chunk;
	unsigned char *next, *end; /* where the next sample goes; end of what is reserved of the chunk so far */
	uint32_t number;
	bool numbered;
	bool final;		/* set by the caller: what comes now may exceed the file's limit a little */
	uint64_t spare, spares; /* places for chunks that are reserved for it: the first one, and how many */
	uint32_t skip, skips;	/* samples to drop before looking for room again; how many they were the last time */
};

/* Creates DIRECTORY/PID-N.samples with the first N that is free. 0, or an errno (E2BIG: too many counters, or too long names). *w is
 * overwritten; record_close() it. Costs some system calls and, to measure the clock, 50 microseconds. */
int record_open(struct record_writer *w, const struct record_options *options);

/* Marks the file as finished. It stays mapped, for threads may still write: what fits into their chunks is kept, no new chunks start. */
void record_close(struct record_writer *w);

/* The program is about to limit its address space to so many bytes: of the file only as much stays mapped as leaves it its part. */
void record_limit(struct record_writer *w, uint64_t address_space);

/* Locks the program's memory as mlockall(2) does, but neither the file nor a mapping of which `is_ours` (NULL: there is none) is true: they
 * are mapped large, would take as much memory, and count. 0, or -1 with errno. */
int record_lock_all(const struct record_writer *w, int flags, bool (*is_ours)(uintptr_t start, uintptr_t end));

/* In a child of fork(), before anything else here: starts a file of its own with the same names. `t`, the only thread's, is reset. 0, or an
 * errno: *w is closed then. A child that never calls this (_Fork(), clone()) records nothing. */
int record_fork(struct record_writer *w, struct record_thread *t);

/* A selected function: address in the module's file, build-id or "-", name (control characters and blanks in module and name become
 * '?'). Returns its number; UINT32_MAX: there is no room. Any number of threads at once. */
uint32_t record_function(struct record_writer *w, uint64_t address, const char *module, const char *name);

/* A module's build-id among its ELF notes (notes[n], as loaded or as in the file) in hexadecimal; "": there is none. */
void record_build_id(const void *notes, size_t n, char out[RECORD_BUILD_ID_BYTES]);

/* The same for a loaded module, from its program headers parts[n], as dl_iterate_phdr() gives them: notes outside its readable segments are
 * not read. */
void record_module_id(uintptr_t base, const Elf64_Phdr *parts, size_t n, char out[RECORD_BUILD_ID_BYTES]);

/* Something about the process. The key has no blanks; control characters in the value become '?'. False: there is no room. */
bool record_info(struct record_writer *w, const char *key, const char *value);
void record_info_number(struct record_writer *w, const char *key, uint64_t number);
void record_program(struct record_writer *w); /* its path, as "program", and the words after its name, as "arguments" */

/* The number as text, somewhere in `out`; base 10 or 16. */
const char *record_number(uint64_t value, unsigned base, char out[24]);

/* All signals of the calling thread, while it does what a handler must not jump out of: opened files, half of a change, a lock. */
uint64_t record_signals_block(void); /* returns those that were blocked before */
void record_signals_restore(uint64_t before);

/* Why samples are dropped, as "dropped" about the process; the first reason is kept. */
void record_say_why(struct record_writer *w, const char *why);

/* Private: counts a dropped sample. */
static inline void record_drop(struct record_writer *w, struct record_thread *t)
{
	if (t->chunk)
		__atomic_store_n(&t->chunk->dropped, t->chunk->dropped + 1, __ATOMIC_RELAXED);
	else
		__atomic_fetch_add(&w->header->dropped, 1, __ATOMIC_RELAXED);
}

/* True: there is no room for good, or there was none lately and looking again takes long; the sample is dropped, and counted unless the
 * file has been closed: what comes after that is not missing. */
static inline bool record_drops(struct record_writer *w, struct record_thread *t)
{
	if (!w->header || !*w->alive) /* in a child of fork() without a file of its own, w is the parent's */
		return true;
	if (t->final || (!t->skip && !__atomic_load_n(&w->full, __ATOMIC_RELAXED)))
		return false;
	t->skip -= t->skip > 0;
	if (!w->header->finished)
		record_drop(w, t);
	return true;
}

/* Counts a sample of which record_commit() was left by a jump; before the thread's last ones. */
void record_settle(const struct record_writer *w, struct record_thread *t);

/* For record_begin(): more of the thread's chunk, or a new one; false: none, counted as a dropped sample. */
bool record_chunk_take(struct record_writer *w, struct record_thread *t);

/* Where the thread's next sample goes: fill it, flags and counters too (or, with options.brief, a struct record_brief), then
 * record_commit(). NULL: no room, counted. A sample that is not committed does not exist. */
static inline struct record_sample *record_begin(struct record_writer *w, struct record_thread *t)
{
	if (!w->header || !*w->alive)
		return NULL;
	if ((size_t)(t->end - t->next) < w->sample_bytes && !record_chunk_take(w, t))
		return NULL;
	return (struct record_sample *)(void *)t->next;
}

/* The same for files with options.packed. `memory`: the thread's own, [RECORD_PACK_WORDS(n_counters)]. */
struct record_sample *record_pack_begin(struct record_writer *w, struct record_thread *t, uint64_t *memory);
/* Returns its size in the file. */
uint32_t record_pack_commit(struct record_writer *w, struct record_thread *t, uint64_t *memory);

/* A sample as it is written with options.brief. */
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
