/* Writes a sample file (record.h) from inside a user's process. After record_open() nothing here allocates, locks, prints, or calls
 * functions that the program may have replaced: system calls are made directly, and are not cancellation points. Everything may be called
 * in a signal handler, and a handler may jump out of anything. Exception: between record_begin() and record_commit() a thread must not call
 * record_begin() again (keep a busy flag per thread).
 *
 * Disk space is reserved piece by piece. So a full disk costs samples, which are counted, and never harms the program. Some file systems
 * write to another place each time (btrfs, ZFS, networks): nothing can be reserved, and a mapped page without room kills the program. There
 * the file is kept in memory and written chunk by chunk. If such a program is killed, each thread's last chunk is lost. */
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
#define RECORD_BUILD_ID_BYTES	129	   /* text and a NUL: 64 bytes at most, usually 20 */
#define RECORD_DESCRIPTOR_LEAST 700	   /* far from the descriptors that a program opens, closes or uses by number */
#define RECORD_SKIPS_MAX	65535u

struct record_options {
	const char *directory; /* the file's directory; must exist */
	enum record_back_end back_end;
	const char *const *counters; /* [n_counters] names without line ends; copied */
	uint32_t n_counters;	     /* <= RECORD_COUNTERS_MAX */
	uint32_t chunk_bytes;	     /* multiple of 4096, 0: the default */
	uint32_t names_bytes_max;    /* multiple of 4096, 0: the default */
	uint64_t file_bytes_max;     /* 0: the default */
	bool brief;		     /* no counters, weights are powers of 2, depths below 65536: struct record_brief */
	bool packed;		     /* samples are written with record_pack_begin() and record_pack_commit() */
	enum record_level level;     /* initial level, if the file is mapped */
	uint64_t ticks_per_s;	     /* rate of the caller's clock; 0: record_ticks() is the clock, and the writer measures its rate */
};

struct record_moment {
	uint64_t ticks, ns;
};

/* One for all threads of a process. Zeroed means closed: everything is dropped. */
struct record_writer {
	struct record_header *header;	/* the whole file, mapped; NULL: closed */
	const volatile uint32_t *alive; /* 1, on a page that every child process finds zeroed. NULL: never opened */
	uint64_t names_in_use;		/* functions << 40 | bytes of names */
	uint64_t names_reserved;	/* bytes on the disk */
	uint64_t chunks_in_use, chunks_max;
	uint32_t sample_bytes; /* the largest size, of packed samples */
	uint32_t threads;      /* threads that have had a chunk */
	uint32_t full;	       /* no more chunks: limit reached, or disk full */
	bool own_clock;
	bool said;		/* the reason for dropped samples is written */
	bool in_memory;		/* the file is written instead of mapped */
	int kept;		/* the file's descriptor, for use when it cannot be opened; -1: none */
	uint64_t device, inode; /* identity of the file: the program may have closed the descriptor and reused its number */
	struct record_moment first;
	struct record_options options; /* as opened, with defaults; without pointers */
	char path[RECORD_PATH_BYTES];
	char directory[RECORD_PATH_BYTES];
};

/* One per thread, in its thread-local storage; zeroed at the start. */
struct record_thread {
	struct record_chunk *chunk;
	unsigned char *next, *end; /* place of the next sample; end of the reserved part of the chunk */
	uint32_t number;
	bool numbered;
	bool final;		/* set by the caller: following samples may exceed the file's limit a little */
	uint64_t spare, spares; /* chunks reserved for the thread: the first one, and their number */
	uint32_t skip, skips;	/* samples to drop before the next search for room; the last such number */
};

/* Creates DIRECTORY/PID-N.samples with the first free N. Returns 0 or an errno (E2BIG: too many counters, or too long names). *w is
 * overwritten; record_close() it. Costs some system calls and 50 microseconds to measure the clock. */
int record_open(struct record_writer *w, const struct record_options *options);

/* Marks the file as finished. It stays mapped, since threads may still write: samples that fit into their chunks are kept, and no chunk
 * starts. */
void record_close(struct record_writer *w);

/* Unmaps part of the file before the program limits its address space to that many bytes, so that enough is left for the program. */
void record_limit(struct record_writer *w, uint64_t address_space);

/* Locks the program's memory like mlockall(2), except the file and mappings for which `is_ours` (NULL: none) is true: they are mapped
 * large, and would become resident and count against the limit. Returns 0, or -1 with errno. */
int record_lock_all(const struct record_writer *w, int flags, bool (*is_ours)(uintptr_t start, uintptr_t end));

/* Starts a new file with the same names in a child of fork(), before any other call here. Resets `t`, the only thread's. Returns 0, or an
 * errno: then *w is closed. A child that never calls this (_Fork(), clone()) records nothing. */
int record_fork(struct record_writer *w, struct record_thread *t);

/* Adds a selected function: address in the module's file, build-id or "-", name (control characters and spaces in module and name become
 * '?'). Returns its number, UINT32_MAX if there is no room. Safe for concurrent threads. */
uint32_t record_function(struct record_writer *w, uint64_t address, const char *module, const char *name);

/* Writes a module's build-id, found among its ELF notes (notes[n], as loaded or as in the file), in hexadecimal; "" if there is none. */
void record_build_id(const void *notes, size_t n, char out[RECORD_BUILD_ID_BYTES]);

/* The same for a loaded module, from its program headers parts[n], as dl_iterate_phdr() passes them. Notes outside its readable segments
 * are not read. */
void record_module_id(uintptr_t base, const Elf64_Phdr *parts, size_t n, char out[RECORD_BUILD_ID_BYTES]);

/* Adds a fact about the process. The key has no spaces; control characters in the value become '?'. Returns false if there is no room. */
bool record_info(struct record_writer *w, const char *key, const char *value);
void record_info_number(struct record_writer *w, const char *key, uint64_t number);
void record_program(struct record_writer *w); /* writes its path as "program", and the words after its name as "arguments" */

/* Returns the number as text, somewhere in `out`; base 10 or 16. */
const char *record_number(uint64_t value, unsigned base, char out[24]);

/* Blocks all signals of the calling thread while a handler must not jump away: open files, half-made changes, a lock. */
uint64_t record_signals_block(void); /* returns the mask before */
void record_signals_restore(uint64_t before);

/* Writes the reason for dropped samples as "dropped"; only the first one is kept. */
void record_say_why(struct record_writer *w, const char *why);

/* Private: counts a dropped sample. */
static inline void record_drop(struct record_writer *w, struct record_thread *t)
{
	if (t->chunk)
		__atomic_store_n(&t->chunk->dropped, t->chunk->dropped + 1, __ATOMIC_RELAXED);
	else
		__atomic_fetch_add(&w->header->dropped, 1, __ATOMIC_RELAXED);
}

/* Reports whether the next sample must be dropped: there is no more room, or there was none lately and searching again is expensive. Counts
 * it as dropped, except after the file is closed: later samples are not missing. */
static inline bool record_drops(struct record_writer *w, struct record_thread *t)
{
	if (!w->header || !*w->alive) /* in a child of fork() without its own file, w is the parent's */
		return true;
	if (t->final || (!t->skip && !__atomic_load_n(&w->full, __ATOMIC_RELAXED)))
		return false;
	t->skip -= t->skip > 0;
	if (!w->header->finished)
		record_drop(w, t);
	return true;
}

/* Corrects the count of samples after a record_commit() that a handler's jump interrupted; before the thread's last samples. */
void record_settle(const struct record_writer *w, struct record_thread *t);

/* For record_begin(): extends the thread's chunk, or starts one. Returns false if there is no room; then counts a dropped sample. */
bool record_chunk_take(struct record_writer *w, struct record_thread *t);

/* Returns the place of the thread's next sample (with options.brief, a struct record_brief). Fill all of it, then call record_commit().
 * NULL: no room; counted. A sample that is not committed does not exist. */
static inline struct record_sample *record_begin(struct record_writer *w, struct record_thread *t)
{
	if (!w->header || !*w->alive)
		return NULL;
	if ((size_t)(t->end - t->next) < w->sample_bytes && !record_chunk_take(w, t))
		return NULL;
	return (struct record_sample *)(void *)t->next;
}

/* The same for files with options.packed. `memory` belongs to the thread: [RECORD_PACK_WORDS(n_counters)]. */
struct record_sample *record_pack_begin(struct record_writer *w, struct record_thread *t, uint64_t *memory);
/* Returns the sample's size in the file. */
uint32_t record_pack_commit(struct record_writer *w, struct record_thread *t, uint64_t *memory);

/* Converts a sample to the form that options.brief writes. */
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
