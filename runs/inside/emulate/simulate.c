/* Simulates accesses in simulated windows: TLB, caches and a directory of line owners. Records which thread touched which words of which
 * line, and how close together. Also predicts basic blocks. At the end are the hooks that the compiler calls at each access and basic block
 * (-fsanitize=thread -fsanitize-coverage=trace-pc). In a skipped window, an access only costs a decrement and a comparison of its page. */
#include "runs/inside/emulate/emulation.h"

#include <string.h>
#include <sys/mman.h>

#define RANGE_STEP_BYTES 16u /* size of one access in a range, bytes: the width of the machine's move instructions */
#define LINE_BYTES	 (1u << LINE_BITS)
#define L1_SETS		 64u   /* 32 KiB of lines */
#define L2_SETS		 1024u /* 512 KiB of lines */
#define TLB_SETS	 8u    /* 64 entries */
#define STLB_SETS	 128u  /* 1024 entries */
#define SETS		 (L1_SETS + L2_SETS + TLB_SETS + STLB_SETS)
#define PREDICTIONS	 8192u
#define PATH_FACTOR	 0x9e3779b1u
#define PATH_4		 (PATH_FACTOR * PATH_FACTOR * PATH_FACTOR * PATH_FACTOR)
#define PREDICTION_WAYS	 4u
#define TOUCHES		 4096u /* maximum number of touches in a window; an access makes at most two */
#define BLOCK_BITS	 18
#define BLOCKS		 (1u << BLOCK_BITS) /* three quarters are used; further blocks get numbers that depend on their addresses */
#define CODE_CACHE_MAX                                                                                                                     \
	(1u << 16)	  /* maximum number of functions kept, sorted by address; further ones are looked up again for each block          \
			   */
#define CHUNK_BITS     21 /* memory whose lives are allocated together: 2 MiB */
#define CHUNK_PAGES    (1u << (CHUNK_BITS - PAGE_BITS))
#define CHUNK_LINES    (1u << (CHUNK_BITS - LINE_BITS))
#define GRANULE_BITS   4
#define EACH_GRANULE   0x0001000100010001u /* factor that copies a value to each granule of a line */
#define PAGE_LINES     (1u << (PAGE_BITS - LINE_BITS))
#define RECENT_FORGETS 8u /* maximum number of recent lines that are forgotten one by one; above it, all are forgotten */

/* An entry of the directory has the line's tag, its owner, the granules that the owner has changed, and the threads that have a copy. A
 * line that maps to an entry in use replaces the entry's line, as in a real directory. */
#define DIRECTORY_BITS 22
#define OWNER_SHIFT    37
#define OWNER_MASK     (255ull << OWNER_SHIFT)
#define CHANGED_SHIFT  32
#define CHANGED	       (15ull << CHANGED_SHIFT)
#define TAG_SHIFT      45

/* Kinds of gaps since the thread's previous access to the line, in accesses. windows.c has a representative length for each kind. */
#define GAP_FIRST (WINDOW_ACCESSES + 1) /* gap of the first access to a line in a window */
#define GAP_VISIT 3u			/* first kind of gap that starts a new visit */
static const uint16_t gap_ends[GAP_KINDS] = { 1, 2, 4, 16, 128, WINDOW_ACCESSES, GAP_FIRST };
static uint8_t gap_kinds[2 * WINDOW_ACCESSES]; /* [gap] its kind; twice a window's length: a handler may have ended the window meanwhile */

/* The basic block that last followed a path of blocks. */
struct prediction {
	uint32_t path;	   /* hash of the path; 0 if the entry is free */
	uint32_t followed; /* number of that block without its top bits, above two bits of trust */
};
#define TRUSTED_REPEATS_MIN 3u

/* ---- numbers of basic blocks: made from the function's name and the offset in it, so independent of the link ---- */

struct block {
	uintptr_t pc; /* 0 if the entry is free */
	uint32_t number;
};

static struct block *blocks; /* [BLOCKS] hash table by address */
static struct code *codes;
static uint32_t n_blocks, n_codes;

/* Returns the code of the function that contains `pc`. The caller holds threads_lock(). */
static struct code code_find_place(uintptr_t pc)
{
	uint32_t from = 0, to = n_codes;
	struct code code;

	while (from < to) {
		uint32_t middle = (from + to) / 2;

		if (codes[middle].end <= pc)
			from = middle + 1;
		else
			to = middle;
	}
	if (from < n_codes && codes[from].start <= pc)
		return codes[from];
	code = function_find_code(pc);
	if (n_codes < CODE_CACHE_MAX && code.end > code.start) {
		memmove(&codes[from + 1], &codes[from], (n_codes++ - from) * sizeof(*codes));
		codes[from] = code;
	}
	return code;
}

static uint32_t find_block_number(uintptr_t pc)
{
	struct code code = code_find_place(pc);
	uint64_t x = (pc - code.start) * 0x9e3779b97f4a7c15u ^ code.name;

	x = (x ^ (x >> 29)) * 0xbf58476d1ce4e5b9u;
	return (uint32_t)(x >> 32) | 1;
}

static __attribute__((noinline)) uint32_t block_new(uintptr_t pc, uint32_t i)
{
	uint32_t number = (uint32_t)pc | 1;

	BUSY_BEGIN();
	threads_lock();
	if (!blocks)
		codes = pages_map(CODE_CACHE_MAX * sizeof(*codes));
	if (codes && !blocks)
		__atomic_store_n(&blocks, pages_map(BLOCKS * sizeof(*blocks)), __ATOMIC_RELEASE);
	while (blocks && blocks[i].pc != 0 && blocks[i].pc != pc)
		i = (i + 1) % BLOCKS;
	if (blocks && n_blocks < BLOCKS / 4 * 3 && blocks[i].pc == 0) {
		blocks[i].number = find_block_number(pc);
		__atomic_store_n(&blocks[i].pc, pc, __ATOMIC_RELEASE);
		n_blocks++;
	}
	if (blocks && blocks[i].pc == pc)
		number = blocks[i].number;
	threads_unlock();
	busy_end();
	return number;
}

/* Returns a block's number, which is never 0. It does not depend on the address that the linker gave the function. */
static uint32_t block_number(uintptr_t pc)
{
	uint32_t i = (uint32_t)(pc * 0x9e3779b97f4a7c15u >> (64 - BLOCK_BITS));
	const struct block *table = __atomic_load_n(&blocks, __ATOMIC_ACQUIRE);

	if (LIKELY(table != NULL)) {
		uintptr_t there;

		while ((there = __atomic_load_n(&table[i].pc, __ATOMIC_ACQUIRE)) != pc && there != 0)
			i = (i + 1) % BLOCKS;
		if (LIKELY(there == pc))
			return table[i].number;
	}
	return block_new(pc, i);
}

/* ---- memory and its lives ---- */

/* Ownership of memory: the thread that first wrote each page, and the start and end of memory blocks. Accesses before a block was freed are
 * unrelated to later ones. So each granule of 16 bytes, the smallest block of malloc(), has a life. A life is a number that changes
 * whenever a memory block starts or ends there. Two threads share a line only where their accesses have equal lives (windows.c). The
 * directory forgets changes of ended lives. */

struct chunk {
	uint16_t pages[CHUNK_PAGES]; /* lives of pages, changed where a memory block covers a whole page */
	union {
		uint16_t
		    granules[CHUNK_LINES * GRANULES_PER_LINE]; /* lives of granules, changed where a memory block covers part of a page */
		uint64_t lines[CHUNK_LINES];
	};
};

static struct chunk **chunks; /* indexed by address / chunk size; NULL while no life has changed there */
static __thread uint64_t n_lives;

/* Returns the lives of a line's granules, 16 bits each. The values are only meant to be compared for equality. */
static uint64_t get_line_lives(uint64_t line)
{
	const struct chunk *chunk = chunks ? __atomic_load_n(&chunks[line / CHUNK_LINES], __ATOMIC_ACQUIRE) : NULL;

	return chunk ? chunk->lines[line % CHUNK_LINES] ^ chunk->pages[line / PAGE_LINES % CHUNK_PAGES] * EACH_GRANULE : 0;
}

/* ---- tables of a thread ---- */

bool simulate_init(struct thread *t)
{
	if (!runtime.owners)
		runtime.owners = pages_map((size_t)1 << (ADDRESS_BITS - PAGE_BITS));
	if (!chunks)
		chunks = pages_map(sizeof(*chunks) << (ADDRESS_BITS - CHUNK_BITS));
	if (!t->sets)
		t->sets = pages_map(SETS * (sizeof(*t->sets) + sizeof(*t->used_entries)));
	if (!t->predictions)
		t->predictions = pages_map(PREDICTIONS * sizeof(*t->predictions));
	if (!t->touches)
		t->touches = pages_map(TOUCHES * (sizeof(*t->touches) + sizeof(*t->latest_touch) + sizeof(*t->touch_indexes)));
	if (!t->sets || !t->predictions || !t->touches)
		return false;
	t->used_entries = (uint8_t *)(t->sets + SETS);
	t->latest_touch = (struct latest_touch *)(void *)(t->touches + TOUCHES);
	t->touch_indexes = (struct touch_index *)(void *)(t->latest_touch + TOUCHES);
	memset(t->sets, 0, SETS * (sizeof(*t->sets) + sizeof(*t->used_entries)));
	memset(t->predictions, 0, PREDICTIONS * sizeof(*t->predictions));
	memset(t->touch_indexes, 0, TOUCHES * sizeof(*t->touch_indexes));
	memset(t->latest_touch, 0, TOUCHES * sizeof(*t->latest_touch));
	for (uint32_t gap = 0, kind = 0; gap < 2 * WINDOW_ACCESSES; gap_kinds[gap++] = (uint8_t)kind)
		kind += kind < GAP_KINDS - 1 && gap > gap_ends[kind];
	return true;
}

_Static_assert(ADDRESS_BITS - LINE_BITS - DIRECTORY_BITS <= 64 - TAG_SHIFT, "the tag fits into an entry");

/* ---- caches ---- */

static bool is_remote(const struct thread *t, uint64_t line)
{
	uint8_t owner = runtime.owners ? __atomic_load_n(&runtime.owners[line >> (PAGE_BITS - LINE_BITS)], __ATOMIC_RELAXED) : 0;

	return owner != 0 && owner != t->number % runtime.nodes + 1;
}

/* Accesses a set of a cache. The most recently used tag is first. The first *used_entries tags were used since the burst started. Returns
 * true for a hit. Sets *unknown if the result depends on accesses in skipped windows. */
static inline bool cache_touch(uint32_t set[CACHE_WAYS], uint8_t *used_entries, uint32_t tag, bool *unknown)
{
	uint32_t before = set[0];
	unsigned i;

	*unknown = false;
	if (LIKELY(before == tag && *used_entries))
		return true;
	for (i = 1; before != tag && i < CACHE_WAYS; i++) {
		uint32_t here = set[i];

		set[i] = before;
		before = here;
	}
	set[0] = tag;
	*unknown = before == tag ? i > *used_entries : *used_entries < CACHE_WAYS;
	*used_entries = (uint8_t)(*used_entries + *unknown);
	return before == tag;
}

struct level {
	uint32_t first, n_sets; /* index of the level's first set in the thread's sets; number of sets */
	enum uncertain_slot unknown;
};
static const struct level level_l1 = { 0, L1_SETS, UNKNOWN_L1 };
static const struct level level_l2 = { L1_SETS, L2_SETS, UNKNOWN_L2 };
static const struct level level_tlb = { L1_SETS + L2_SETS, TLB_SETS, UNKNOWN_TLB };
static const struct level level_stlb = { L1_SETS + L2_SETS + TLB_SETS, STLB_SETS, UNKNOWN_STLB };

static inline bool cache_has(struct thread *t, const struct level *level, uint64_t key)
{
	uint32_t set = level->first + (uint32_t)(key % level->n_sets);
	bool unknown, hit = cache_touch(t->sets[set], &t->used_entries[set], (uint32_t)(key / level->n_sets) + 1, &unknown);

	if (UNLIKELY(unknown)) {
		t->counts.weighed[level->unknown + !hit] += t->burst ? t->weight : 0;
		t->events++;
	}
	return hit;
}

/* Accesses a line in TLBs and caches. `stale` means that another thread has changed the line since this thread's last access. */
static void caches_touch(struct thread *t, uint64_t line, bool stale)
{
	uint64_t page = line >> (PAGE_BITS - LINE_BITS), weight = t->weight;
	bool in_l1 = cache_has(t, &level_l1, line), in_l2;

	if (!cache_has(t, &level_tlb, page) && !cache_has(t, &level_stlb, page)) {
		t->counts.weighed[COUNT_TLB_MISSES] += weight;
		t->events++;
	}
	if (in_l1 && !stale)
		return;
	t->counts.weighed[COUNT_L1_MISSES] += weight;
	t->events++;
	in_l2 = cache_has(t, &level_l2, line);
	if (in_l2 && !stale)
		return;
	t->counts.weighed[COUNT_L2_MISSES] += weight;
	if (is_remote(t, line))
		t->counts.weighed[COUNT_REMOTE] += weight;
}

/* ---- the directory ---- */

/* Records an access to the line. Returns true if the thread had no valid copy. Concurrent accesses may lose a change. The directory depends
 * on the actual order of threads anyway, which is why potential HITM is counted as well. */
static bool directory_access(struct thread *t, uint64_t line, uint32_t words, bool write)
{
	uint64_t *entry = &runtime.directory[line & ((1u << DIRECTORY_BITS) - 1)];
	uint64_t tag = line >> DIRECTORY_BITS << TAG_SHIFT, old = __atomic_load_n(entry, __ATOMIC_RELAXED);
	uint64_t me = 1ull << t->number % 32, owner = (uint64_t)(t->number % 256) << OWNER_SHIFT, changed = 0, new;
	bool had, mine;

	if (UNLIKELY(old >> TAG_SHIFT << TAG_SHIFT != tag))
		old = tag;
	had = (old & me) != 0;
	mine = (old & OWNER_MASK) == owner;
	if (write)
		changed = (uint64_t)granules_touched(words) << CHANGED_SHIFT;
	if (had && (!write || (mine && (old & changed) == changed)))
		return false;
	if ((old & CHANGED) && !mine) {
		t->counts.weighed[COUNT_HITM_SEEN] += t->weight;
		t->events++;
	}
	new = write ? tag | owner | (mine ? old & CHANGED : 0) | changed | me : (old & ~CHANGED) | me;
	__atomic_store_n(entry, new, __ATOMIC_RELAXED);
	return !had;
}

static void directory_forget(uint64_t line, uint32_t granules)
{
	uint64_t *entry = &runtime.directory[line & ((1u << DIRECTORY_BITS) - 1)], old = __atomic_load_n(entry, __ATOMIC_RELAXED);

	if (old >> TAG_SHIFT == line >> DIRECTORY_BITS && (old & (uint64_t)granules << CHANGED_SHIFT))
		__atomic_store_n(entry, old & ~((uint64_t)granules << CHANGED_SHIFT), __ATOMIC_RELAXED);
}

/* ---- touches: accesses by line, invocation and owner ---- */

/* Returns the touch of this line by the current invocation and owner. Adds it if missing. Returns &t->ignored if the table is full. */
static struct touch *touch_find(struct thread *t, uint64_t line, uint64_t lives)
{
	uint32_t i = line_hash(line, (uint64_t)t->owner << 32 | t->invocation) % TOUCHES;
	struct touch *touch;

	for (; t->touch_indexes[i].stamp == t->stamp; i = (i + 1) % TOUCHES) {
		touch = &t->touches[t->touch_indexes[i].touch];
		if (touch->line == line && touch->invocation == t->invocation && touch->owner == t->owner && touch->lives == lives)
			return touch;
	}
	if (t->n_touches >= TOUCHES - 1)
		return &t->ignored;
	touch = &t->touches[t->n_touches];
	*touch = (struct touch){ .line = line,
				 .invocation = t->invocation,
				 .owner = t->owner,
				 .stamp = t->stamp,
				 .lives = lives,
				 .first = (uint16_t)t->window_left };
	t->touch_indexes[i] = (struct touch_index){ t->stamp, t->n_touches++ };
	return touch;
}

/* Makes `latest_touch` refer to the touch by the current invocation and owner, in the line's current lives. */
static __attribute__((noinline)) void latest_update(struct thread *t, struct latest_touch *latest_touch, uint64_t line)
{
	uint32_t last = latest_touch->stamp == t->stamp ? latest_touch->last : (uint32_t)t->window_left + GAP_FIRST;
	struct touch *touch = touch_find(t, line, get_line_lives(line));

	latest_touch->touch = touch;
	__asm__ volatile("" ::: "memory"); /* the touch is complete before `latest_touch` becomes valid, because a handler may jump away */
	*latest_touch = (struct latest_touch){ line, t->stamp, t->n_block_changes, touch, last };
}

static inline struct latest_touch *touch_begin(struct thread *t, uint64_t line)
{
	uint32_t i = line_hash(line, 0) % TOUCHES;
	struct latest_touch *latest_touch = &t->latest_touch[i];

	if (!t->records) {
		t->ignored_index.touch = &t->ignored;
		return &t->ignored_index;
	}
	while (latest_touch->stamp == t->stamp && latest_touch->line != line)
		latest_touch = &t->latest_touch[++i % TOUCHES];
	if (UNLIKELY(latest_touch->stamp != t->stamp || latest_touch->n_block_changes != t->n_block_changes ||
		     latest_touch->touch->invocation != t->invocation || latest_touch->touch->owner != t->owner))
		latest_update(t, latest_touch, line);
	return latest_touch;
}

void touch_end_visit(struct touch *touch)
{
	uint32_t reads = touch->now[ACCESS_READ], writes = touch->now[ACCESS_WRITE], both = reads | writes;

	touch->spread[0] = (uint16_t)(touch->spread[0] + words_count(both));
	touch->spread[1] = (uint16_t)(touch->spread[1] + words_count(writes));
	touch->words[ACCESS_READ] = (uint16_t)(touch->words[ACCESS_READ] | reads);
	touch->words[ACCESS_WRITE] = (uint16_t)(touch->words[ACCESS_WRITE] | writes);
	touch->now[ACCESS_READ] = touch->now[ACCESS_WRITE] = 0;
}

static void touch_visit(struct touch *touch)
{
	touch->visits++;
	if (touch->visits > 1)
		touch_end_visit(touch);
}

/* Clears only the keys of recent lines. A handler may add lines meanwhile; each is either complete or has no key. */
void simulate_clear_recent(struct thread *t)
{
	for (size_t i = 0; i < RECENT_ENTRIES; i++)
		__atomic_store_n(&t->recent[i].key, 0, __ATOMIC_RELAXED);
	if (t->used_burst != t->burst)
		memset(t->used_entries, 0, SETS); /* windows have been skipped since the last call */
	t->used_burst = t->burst;
}

/* Returns the key of a recent line. It includes the owner if touches are recorded. */
static inline uint64_t recent_key(const struct thread *t, uint64_t line, enum access access)
{
	return ((line << 1 | access) + 2) | ((uint64_t)t->owner * t->records) << 44;
}

static void recent_forget_line(struct thread *t, uint64_t line)
{
	for (enum access access = ACCESS_READ; access <= ACCESS_WRITE; access++)
		t->recent[recent_key(t, line, access) % RECENT_ENTRIES].key = 0;
}

static inline uint32_t gap_kind(const struct thread *t, const struct latest_touch *latest_touch)
{
	return gap_kinds[(latest_touch->last - (uint32_t)t->window_left) % (2 * WINDOW_ACCESSES)];
}

static inline void touch_add(const struct thread *t, struct touch *touch, struct latest_touch *latest_touch, uint32_t words, uint32_t n,
			     enum access access)
{
	touch->gaps[gap_kind(t, latest_touch)]++;
	latest_touch->last = (uint32_t)t->window_left;
	touch->last = (uint16_t)t->window_left;
	touch->n[access] = (uint16_t)(touch->n[access] + n);
	touch->now[access] = (uint16_t)(touch->now[access] | words);
}

/* Simulates `n` consecutive accesses to one line. */
static void line_access(struct thread *t, uint64_t line, uint32_t words, uint32_t n, enum access access)
{
	uint64_t key = recent_key(t, line, access);
	struct latest_touch *latest_touch = touch_begin(t, line);
	struct touch *touch = latest_touch->touch;
	struct recent_access *recent;

	caches_touch(t, line, directory_access(t, line, words, access == ACCESS_WRITE));
	if (gap_kind(t, latest_touch) >= GAP_VISIT)
		touch_visit(touch);
	touch_add(t, touch, latest_touch, words, n, access);
	if (n > 1) {
		touch->gaps[0] = (uint16_t)(touch->gaps[0] + n - 1);
		latest_touch->last = (int32_t)n - 1 < t->window_left ? (uint32_t)t->window_left - (n - 1) : 0;
	}
	recent = &t->recent[key % RECENT_ENTRIES];
	recent->touch = touch;
	recent->latest_touch = latest_touch;
	__asm__ volatile(
	    "" ::
		: "memory"); /* complete before the key makes the entry valid, because a handler's accesses may come in between */
	recent->key = key;
}

/* Returns the bit mask of a line's 4-byte words from byte `from` to byte `to`, inclusive. */
static inline uint32_t word_mask(uint32_t from, uint32_t to)
{
	return (2u << (to >> 2)) - (1u << (from >> 2));
}

/* Undoes a decrement of hot.left, because the access counts elsewhere. One instruction: a handler may have started to skip windows. */
static inline void restore_window_count(void)
{
	__asm__ volatile("incq %0" : "+m"(hot.left) : : "cc");
}

/* Starts work on an access, which busy_end() ends, and starts a new window if one is due. Returns false if the thread is not simulated now,
 * perhaps because of a handler. `counted` means that hot.left counts the access already. */
static inline bool simulate_begin(uintptr_t at, bool counted)
{
	struct thread *t = hot.thread;

	if (UNLIKELY(!t) && !hot.busy) {
		hot.left = 0;
		t = thread_attach();
		if (!t) {
			hot.left = INT64_MAX; /* no more checks in this thread */
			return false;
		}
		counted = false;
	}
	if (hot.busy) {
		if (counted)
			restore_window_count();
		return false;
	}
	busy_begin(at);
	if (hot.simulating || hot.left <= 0) {
		if (counted)
			restore_window_count();
		if (!hot.simulating) {
			window_close(t);
			window_begin(t, t->window);
		}
	}
	if (!hot.simulating)
		busy_end();
	return hot.simulating;
}

/* Ends a window in which no accesses are left. Accesses beyond its end count in that window but do not advance the clock. */
static void simulate_next_window(struct thread *t)
{
	uint32_t beyond;

	BUSY_BEGIN();
	if (hot.simulating && t->window_left <= 0) { /* otherwise a handler has ended the window */
		beyond = (uint32_t)-t->window_left;
		t->counts.exact[COUNT_ACCESSES] += beyond;
		t->counts.exact[COUNT_SIMULATED] += t->weight ? beyond : 0;
		t->counts.weighed[COUNT_ACCESSES] += (uint64_t)beyond * t->weight;
		t->window_left = 0;
		window_close(t);
		window_begin(t, t->window + 1);
	}
	busy_end();
}

/* Counts `n` simulated accesses and ends the window if none are left. A single instruction, because a handler may end the window, too. */
static inline void simulate_tick(struct thread *t, uint32_t n)
{
	bool over;

	__asm__ volatile("subl %2, %1" : "=@ccle"(over), "+m"(t->window_left) : "er"(n) : "memory");
	if (UNLIKELY(over))
		simulate_next_window(t);
}

/* Counts an access to a recent line that starts a new visit. */
static __attribute__((noinline)) void simulate_visit(struct thread *t, struct touch *touch, struct latest_touch *latest_touch,
						     uint32_t words, enum access access)
{
	touch_visit(touch);
	touch_add(t, touch, latest_touch, words, 1, access);
	simulate_tick(t, 1);
}

static __attribute__((noinline)) void simulate_slowly(uintptr_t address, uint32_t to, enum access access)
{
	uint64_t line = address >> LINE_BITS;
	struct thread *t;

	if (UNLIKELY(hot.waits)) {
		if (waiting_continues_in_access(address, to - (address & 63) + 1, access) || !count_down(&hot.left))
			return;
	}
	if (address >> ADDRESS_BITS != 0) {
		restore_window_count();
		return;
	}
	if (!simulate_begin((uintptr_t)__builtin_frame_address(0), true))
		return;
	t = hot.thread;
	line_access(t, line, word_mask(address & 63, to > 63 ? 63 : to), 1, access);
	if (UNLIKELY(to > 63))
		line_access(t, line + 1, word_mask(0, to - 64), 1, access);
	simulate_tick(t, 1);
	busy_end();
}

/* Simulates an access, fast if the line is recent. Rarer cases are separate functions, so that this one needs no stack frame. */
static inline __attribute__((always_inline)) void simulate_access(uintptr_t address, size_t bytes, enum access access)
{
	uint32_t from = address & 63, to = from + (uint32_t)bytes - 1;

	if (LIKELY(hot.simulating && !(hot.busy | hot.waits) && to <= 63)) { /* hot.simulating implies t != NULL */
		struct thread *t = hot.thread;
		uint64_t key = recent_key(t, address >> LINE_BITS, access);
		const struct recent_access *recent = &t->recent[key % RECENT_ENTRIES];
		struct touch *touch = recent->touch;
		struct latest_touch *latest_touch = recent->latest_touch;

		__asm__ volatile("" ::: "memory"); /* if a handler starts another window here, it sets the key to 0 */
		if (LIKELY(recent->key == key)) {
			if (UNLIKELY(gap_kind(t, latest_touch) >= GAP_VISIT)) {
				simulate_visit(t, touch, latest_touch, word_mask(from, to), access);
				return;
			}
			touch_add(t, touch, latest_touch, word_mask(from, to), 1, access);
			simulate_tick(t, 1);
			return;
		}
	}
	simulate_slowly(address, to, access);
}

static __attribute__((noinline)) void simulate_read(uintptr_t address, size_t bytes)
{
	simulate_access(address, bytes, ACCESS_READ);
}

static __attribute__((noinline)) void simulate_write(uintptr_t address, size_t bytes)
{
	simulate_access(address, bytes, ACCESS_WRITE);
}

static __attribute__((noinline)) void record_page_write(uintptr_t page)
{
	uint8_t *owner;

	hot.written_page = page;
	if (!runtime.owners || page >> (ADDRESS_BITS - PAGE_BITS) != 0 || !hot.thread)
		return;
	owner = &runtime.owners[page];
	if (UNLIKELY(__atomic_load_n(owner, __ATOMIC_RELAXED) == 0))
		__atomic_store_n(owner, (uint8_t)(hot.thread->number % runtime.nodes + 1), __ATOMIC_RELAXED);
}

void simulate_atomic(uintptr_t address, size_t bytes, enum access access, bool elsewhere)
{
	if (elsewhere) {
		record_page_write(address >> PAGE_BITS);
		if (!count_down(&hot.left))
			return;
	}
	if (access == ACCESS_WRITE)
		simulate_write(address, bytes);
	else
		simulate_read(address, bytes);
}

/* Returns the number of accesses that the machine needs for `bytes` of a line. */
static uint32_t line_steps(size_t bytes)
{
	return (uint32_t)((bytes + RANGE_STEP_BYTES - 1) / RANGE_STEP_BYTES);
}

/* Counts the accesses of a range in skipped windows, line by line, until simulation starts. Returns the number of bytes to simulate. */
static size_t range_skip(uintptr_t address, size_t bytes)
{
	size_t room = LINE_BYTES - address % LINE_BYTES, lines;

	for (size_t part = bytes < room ? bytes : room; part; part = bytes < LINE_BYTES ? bytes : LINE_BYTES) {
		if (hot.left < line_steps(part)) {
			hot.thread->granted -= (uint64_t)hot.left; /* the next window starts earlier by these accesses */
			hot.left = 0;
			break;
		}
		lines = part < LINE_BYTES ? 1 : (uint64_t)hot.left / line_steps(part);
		lines = lines < bytes / part ? lines : bytes / part;
		hot.left -= (int64_t)(lines * line_steps(part));
		bytes -= lines * part;
	}
	return bytes;
}

/* Simulates the part of a range in its first line, with as many accesses as the machine needs. Returns its size; 0 if not simulating. */
static size_t range_line(uintptr_t address, size_t bytes, enum access access)
{
	size_t room = 64 - (address & 63), part = bytes < room ? bytes : room;
	uint32_t n = line_steps(part), from = address & 63;

	if (!simulate_begin((uintptr_t)__builtin_frame_address(0), false))
		return 0;
	line_access(hot.thread, address >> LINE_BITS, word_mask(from, from + (uint32_t)part - 1), n, access);
	simulate_tick(hot.thread, n);
	busy_end();
	return part;
}

void simulate_range(uintptr_t address, size_t bytes, enum access access)
{
	uintptr_t end = address + bytes;

	if (bytes == 0 || address >> ADDRESS_BITS != 0 || end >> ADDRESS_BITS != 0 ||
	    (UNLIKELY(hot.waits) && waiting_continues_in_access(address, bytes, access)))
		return;
	for (uintptr_t page = address >> PAGE_BITS; access == ACCESS_WRITE && page <= (end - 1) >> PAGE_BITS; page++)
		record_page_write(page);
	while (address < end) {
		size_t part = hot.left > 0 ? 0 : range_line(address, end - address, access);

		if (part > 0)
			address += part;
		else if (hot.left > 0)
			address = end - range_skip(address, end - address);
		else
			return;
	}
}

/* ---- branches ---- */

_Static_assert(PATH_BLOCKS == 8, "path_add() subtracts the block after 8 multiplications");

/* Returns the prediction of a path and moves it to the front of its set. If there is none, returns a free entry or the least recently used
 * one. Compares whole paths, because a change of a function's code changes which paths share a set. */
static struct prediction *prediction_compute(struct thread *t, uint32_t path)
{
	struct prediction *set = &t->predictions[(path >> 8) % (PREDICTIONS / PREDICTION_WAYS) * PREDICTION_WAYS], found;
	uint32_t way = 0;

	if (LIKELY(set[0].path == path))
		return set;
	while (way < PREDICTION_WAYS - 1 && set[way].path != path && set[way].path != 0)
		way++;
	found = set[way];
	for (; way > 0; way--)
		set[way] = set[way - 1];
	set[0] = found;
	return set;
}

/* Reports whether the CPU would have predicted this block, and trains the table. As in branch predictors, an entry keeps the path's last
 * follower with some trust. The first visit of a path is never a miss. A path that other paths have displaced is a miss. */
static bool prediction_is_right(struct thread *t, struct prediction *p, uint32_t path, uint32_t block)
{
	bool first = p->path == 0, right = p->path == path && (p->followed & ~TRUSTED_REPEATS_MIN) == block << 2;

	t->block_repetitions =
	    right && (p->followed & TRUSTED_REPEATS_MIN) == TRUSTED_REPEATS_MIN && block == t->block ? t->block_repetitions + 1 : 0;
	/* Writes fields whole, and only if they change, because the next block on this path reads them at once. */
	if (right)
		p->followed += (p->followed & TRUSTED_REPEATS_MIN) < TRUSTED_REPEATS_MIN;
	else if (p->path == path && (p->followed & TRUSTED_REPEATS_MIN) > 0)
		p->followed--;
	else
		*p = (struct prediction){ .path = path, .followed = block << 2 };
	return right || first;
}

/* Adds a block to the hash of the path. The hash is a polynomial, so that the block that leaves the ring can be subtracted. */
static void path_add(struct thread *t, uint32_t block)
{
	uint32_t *oldest = &t->blocks[t->n_blocks++ % PATH_BLOCKS];

	t->path = t->path * PATH_FACTOR + block - *oldest * (PATH_4 * PATH_4);
	*oldest = block;
}

static __attribute__((noinline)) void simulate_block_slowly(uintptr_t pc)
{
	struct thread *t = hot.thread;
	uint32_t block, path;

	if (UNLIKELY(hot.waits) && (waiting_continues_in_block() || !count_down(&hot.blocks_left)))
		return;
	if (!t) {
		hot.blocks_left = BLOCKS_GRANTED; /* the thread has not started or is not simulated: no more checks */
		return;
	}
	if (hot.busy)
		__asm__ volatile("incq %0" : "+m"(hot.blocks_left) : : "cc"); /* blocks in the emulation's own work do not count */
	if (hot.busy || !hot.simulating)
		return;
	t->ring_block = 0;
	block = block_number(pc);
	if (t->block) {
		path = (t->block ^ t->path * PATH_FACTOR) * 0x85ebca6bu | 1;
		if (!prediction_is_right(t, prediction_compute(t, path), path, block)) {
			t->counts.weighed[COUNT_BRANCH_MISSES] += t->weight;
			t->events++;
		}
		path_add(t, block);
		if (t->block_repetitions > PATH_BLOCKS) {
			t->turn_block = block;
			t->ring_block = pc;
		}
	} else {
		t->block_repetitions = 0;
	}
	t->block = block;
}

/* Skips the prediction while a loop of one block repeats, because another repetition changes nothing. */
static __attribute__((noinline)) void simulate_block(uintptr_t pc)
{
	const struct thread *t = hot.thread;

	if (!hot.simulating || (hot.busy | hot.waits) || pc != t->ring_block || t->block != t->turn_block)
		simulate_block_slowly(pc);
}

/* ---- start and end of memory blocks ---- */

/* Returns the chunk of an address. Allocates it if necessary; returns NULL if memory is exhausted. */
static struct chunk *chunk_find(uintptr_t address)
{
	struct chunk **at = &chunks[address >> CHUNK_BITS], *there = __atomic_load_n(at, __ATOMIC_ACQUIRE), *made;

	if (there)
		return there;
	made = pages_map(sizeof(*made));
	if (made && !__atomic_compare_exchange_n(at, &there, made, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
		munmap(made, sizeof(*made));
		return there;
	}
	return made;
}

/* Returns a number that is almost unique among the lives of all threads. */
static uint16_t create_life_number(void)
{
	static uint64_t n_threads;
	uint64_t x;

	if (n_lives == 0)
		n_lives = __atomic_add_fetch(&n_threads, 1, __ATOMIC_RELAXED) << 32;
	x = ++n_lives;
	x = (x ^ (x >> 29)) * 0xbf58476d1ce4e5b9u;
	return (uint16_t)((x ^ (x >> 32)) * 0x94d049bb133111ebu >> 48);
}

/* Starts a new life of the bytes [from, to), which lie in one page. */
static void start_part_life(struct chunk *chunk, uintptr_t from, uintptr_t to, uint16_t life)
{
	uintptr_t last = (to - 1) >> GRANULE_BITS;

	for (uintptr_t g = from >> GRANULE_BITS; g <= last;) {
		uint64_t line = g / GRANULES_PER_LINE;
		uint32_t granules = 0;

		for (; g <= last && g / GRANULES_PER_LINE == line; g++) {
			chunk->granules[g % (CHUNK_LINES * GRANULES_PER_LINE)] = life;
			granules |= 1u << g % GRANULES_PER_LINE;
		}
		directory_forget(line, granules);
	}
}

static void page_start(struct chunk *chunk, uintptr_t page, uint16_t life)
{
	chunk->pages[page % CHUNK_PAGES] = life;
	runtime.owners[page] = 0;
	for (uint64_t line = 0; line < PAGE_LINES; line++)
		directory_forget(page * PAGE_LINES + line, (1u << GRANULES_PER_LINE) - 1);
}

/* Forgets recent lines in [from, to), because their touches belong to the previous life. */
static void recent_forget(struct thread *t, uintptr_t from, uintptr_t to)
{
	uint64_t first = from >> LINE_BITS, last = (to - 1) >> LINE_BITS;

	t->n_block_changes++;
	if (last - first >= RECENT_FORGETS)
		simulate_clear_recent(t);
	for (uint64_t line = first; line <= last && last - first < RECENT_FORGETS; line++)
		recent_forget_line(t, line);
}

void memory_record_boundary(uintptr_t address, size_t bytes)
{
	const uintptr_t page_bytes = (uintptr_t)1 << PAGE_BITS;
	uintptr_t end = address + bytes;
	uint16_t life;

	if (!runtime.is_multithreaded || !runtime.owners || !chunks || bytes == 0 || end < address || end >> ADDRESS_BITS != 0)
		return;
	life = create_life_number();
	for (uintptr_t at = address, next; at < end; at = next) {
		struct chunk *chunk;

		next = (at | (page_bytes - 1)) + 1 < end ? (at | (page_bytes - 1)) + 1 : end;
		if (__atomic_load_n(&runtime.owners[at >> PAGE_BITS], __ATOMIC_RELAXED) == 0)
			continue; /* the page was never written, so there are no changes to forget */
		chunk = chunk_find(at);
		if (chunk && next - at == page_bytes)
			page_start(chunk, at >> PAGE_BITS, life);
		else if (chunk)
			start_part_life(chunk, at, next, life);
	}
	if (bytes >= page_bytes)
		hot.written_page = 0;
	if (hot.simulating)
		recent_forget(hot.thread, address, end);
}

/* ---- hooks that the compiler calls ---- */

/* The compiler itself declares these functions, with some parameters that are unused here. */
#pragma GCC diagnostic ignored "-Wmissing-prototypes"
#pragma GCC diagnostic ignored "-Wunused-parameter"

static inline void on_read(const void *at, size_t bytes)
{
	if (UNLIKELY(count_down(&hot.left)))
		simulate_read((uintptr_t)at, bytes);
}

/* Handles a write to another page than the last one. This is a separate function so that the fast path needs no stack frame. */
static __attribute__((noinline)) void on_write_elsewhere(uintptr_t at, size_t bytes)
{
	record_page_write(at >> PAGE_BITS);
	if (UNLIKELY(count_down(&hot.left)))
		simulate_write(at, bytes);
}

static inline void on_write(const void *at, size_t bytes)
{
	if (UNLIKELY((uintptr_t)at >> PAGE_BITS != hot.written_page))
		on_write_elsewhere((uintptr_t)at, bytes);
	else if (UNLIKELY(count_down(&hot.left)))
		simulate_write((uintptr_t)at, bytes);
}

#define HOOK(name, bytes, on)                                                                                                              \
	EXPORT void name(void *at)                                                                                                         \
	{                                                                                                                                  \
		on(at, bytes);                                                                                                             \
	}
#define HOOK_PC(name, bytes, on)                                                                                                           \
	EXPORT void name(void *at, void *pc)                                                                                               \
	{                                                                                                                                  \
		on(at, bytes);                                                                                                             \
	}
#define HOOKS(bytes)                                                                                                                       \
	HOOK(__tsan_read##bytes, bytes, on_read)                                                                                           \
	HOOK(__tsan_write##bytes, bytes, on_write)                                                                                         \
	HOOK(__tsan_volatile_read##bytes, bytes, on_read)                                                                                  \
	HOOK(__tsan_volatile_write##bytes, bytes, on_write)                                                                                \
	HOOK(__tsan_read_write##bytes, bytes, on_write)                                                                                    \
	HOOK_PC(__tsan_read##bytes##_pc, bytes, on_read)                                                                                   \
	HOOK_PC(__tsan_write##bytes##_pc, bytes, on_write)
#define HOOKS_UNALIGNED(bytes)                                                                                                             \
	HOOK(__tsan_unaligned_read##bytes, bytes, on_read)                                                                                 \
	HOOK(__tsan_unaligned_write##bytes, bytes, on_write)                                                                               \
	HOOK(__tsan_unaligned_volatile_read##bytes, bytes, on_read)                                                                        \
	HOOK(__tsan_unaligned_volatile_write##bytes, bytes, on_write)                                                                      \
	HOOK(__tsan_unaligned_read_write##bytes, bytes, on_write)

HOOKS(1)
HOOKS(2)
HOOKS(4)
HOOKS(8)
HOOKS(16)
HOOKS_UNALIGNED(1)
HOOKS_UNALIGNED(2)
HOOKS_UNALIGNED(4)
HOOKS_UNALIGNED(8)
HOOKS_UNALIGNED(16)
HOOK(__tsan_vptr_read, sizeof(void *), on_read)

EXPORT void __tsan_vptr_update(void **at, void *value)
{
	on_write(at, sizeof(*at));
}

EXPORT void __tsan_read_range(void *at, size_t bytes)
{
	simulate_range((uintptr_t)at, bytes, ACCESS_READ);
}

EXPORT void __tsan_write_range(void *at, size_t bytes)
{
	simulate_range((uintptr_t)at, bytes, ACCESS_WRITE);
}

EXPORT void __tsan_read_range_pc(void *at, size_t bytes, void *pc)
{
	simulate_range((uintptr_t)at, bytes, ACCESS_READ);
}

EXPORT void __tsan_write_range_pc(void *at, size_t bytes, void *pc)
{
	simulate_range((uintptr_t)at, bytes, ACCESS_WRITE);
}

EXPORT void __sanitizer_cov_trace_pc(void)
{
	if (UNLIKELY(count_down(&hot.blocks_left)))
		simulate_block((uintptr_t)__builtin_return_address(0));
}
