/* What an access does in a simulated window: pages and their nodes, TLB, caches, the directory of the lines' owners, and which
 * thread touched which words of which line. And in what order basic blocks follow each other. */
#include "runs/inside/emulate/emulate.h"

#include <string.h>

#define LINE_BITS	 6
#define RANGE_STEP_BYTES 16u   /* an access in a range is as wide as the machine's moves */
#define L1_SETS		 64u   /* 32 KiB */
#define L2_SETS		 1024u /* 512 KiB */
#define TLB_SETS	 8u    /* 64 entries */
#define STLB_SETS	 128u  /* 1024 entries */
#define PREDICTIONS	 8192u
#define TOUCHES		 4096u /* in one window; an access makes two at most */

/* An entry of the directory: the line's tag, its owner, whether the owner has changed it, which threads have a copy. A line that
 * maps to the same entry replaces it, as in a real one. */
#define DIRECTORY_BITS 22
#define OWNER_SHIFT    37
#define OWNER_MASK     (255ull << OWNER_SHIFT)
#define CHANGED	       (1ull << 36)
#define TAG_SHIFT      45

struct prediction {
	uint32_t block, trust;
};

bool simulate_init(struct thread *t)
{
	size_t sets = L1_SETS + L2_SETS + TLB_SETS + STLB_SETS;

	if (!t->l1)
		t->l1 = pages_map(sets * sizeof(*t->l1));
	if (!t->predictions)
		t->predictions = pages_map(PREDICTIONS * sizeof(*t->predictions));
	if (!t->touches)
		t->touches = pages_map(TOUCHES * (sizeof(*t->touches) + sizeof(*t->touched)));
	if (!t->l1 || !t->predictions || !t->touches)
		return false;
	t->l2 = t->l1 + L1_SETS;
	t->tlb = t->l2 + L2_SETS;
	t->stlb = t->tlb + TLB_SETS;
	t->touched = (uint32_t *)(void *)(t->touches + TOUCHES);
	memset(t->l1, 0, sets * sizeof(*t->l1));
	memset(t->predictions, 0, PREDICTIONS * sizeof(*t->predictions));
	memset(t->touches, 0, TOUCHES * sizeof(*t->touches));
	return true;
}

_Static_assert(ADDRESS_BITS - LINE_BITS - DIRECTORY_BITS <= 64 - TAG_SHIFT, "the tag fits");

/* ---- pages ---- */

void page_written(uintptr_t page)
{
	uint8_t *owner;

	hot.written_page = page;
	if (!runtime.owners || page >> (ADDRESS_BITS - PAGE_BITS) != 0 || !hot.thread)
		return;
	owner = &runtime.owners[page];
	if (UNLIKELY(__atomic_load_n(owner, __ATOMIC_RELAXED) == 0))
		__atomic_store_n(owner, (uint8_t)(hot.thread->number % runtime.nodes + 1), __ATOMIC_RELAXED);
}

void pages_forget(uintptr_t address, size_t bytes)
{
	uintptr_t page = (address + (1u << PAGE_BITS) - 1) >> PAGE_BITS, end = (address + bytes) >> PAGE_BITS;

	if (!runtime.owners || end >> (ADDRESS_BITS - PAGE_BITS) != 0)
		return;
	for (; page < end; page++) {
		if (runtime.owners[page])
			runtime.owners[page] = 0;
	}
	hot.written_page = 0;
}

static bool is_remote(const struct thread *t, uint64_t line)
{
	uint8_t owner = __atomic_load_n(&runtime.owners[line >> (PAGE_BITS - LINE_BITS)], __ATOMIC_RELAXED);

	return owner != 0 && owner != t->number % runtime.nodes + 1;
}

/* ---- caches ---- */

/* The most recently used tag stands first. True: it is there. */
static inline bool cache_touch(uint32_t set[WAYS], uint32_t tag)
{
	uint32_t before = set[0];

	if (LIKELY(before == tag))
		return true;
	for (unsigned i = 1; i < WAYS; i++) {
		uint32_t here = set[i];

		set[i] = before;
		if (here == tag) {
			set[0] = tag;
			return true;
		}
		before = here;
	}
	set[0] = tag;
	return false;
}

static inline bool cache_has(uint32_t (*sets)[WAYS], uint32_t n_sets, uint64_t key)
{
	return cache_touch(sets[key % n_sets], (uint32_t)(key / n_sets) + 1);
}

/* `stale`: another thread has changed the line since. */
static void caches_touch(struct thread *t, uint64_t line, bool stale)
{
	uint64_t page = line >> (PAGE_BITS - LINE_BITS), weight = t->weight;
	bool in_l1 = cache_has(t->l1, L1_SETS, line), in_l2;

	if (!cache_has(t->tlb, TLB_SETS, page) && !cache_has(t->stlb, STLB_SETS, page))
		t->counts.weighed[COUNT_TLB_MISSES] += weight;
	if (in_l1 && !stale)
		return;
	t->counts.weighed[COUNT_L1_MISSES] += weight;
	in_l2 = cache_has(t->l2, L2_SETS, line);
	if (in_l2 && !stale)
		return;
	t->counts.weighed[COUNT_L2_MISSES] += weight;
	if (is_remote(t, line))
		t->counts.weighed[COUNT_REMOTE] += weight;
}

/* ---- the directory ---- */

/* The thread accesses the line: true when it had no valid copy. Of two threads at once one may lose its change: the directory
 * depends on how threads happen to run anyway, which is why potential HITM is counted as well. */
static bool directory_access(struct thread *t, uint64_t line, bool write)
{
	uint64_t *entry = &runtime.directory[line & ((1u << DIRECTORY_BITS) - 1)];
	uint64_t tag = line >> DIRECTORY_BITS << TAG_SHIFT, old = __atomic_load_n(entry, __ATOMIC_RELAXED);
	uint64_t me = 1ull << t->number % 32, owner = (uint64_t)(t->number % 256) << OWNER_SHIFT, new;
	bool had;

	if (UNLIKELY(old >> TAG_SHIFT << TAG_SHIFT != tag))
		old = tag;
	had = (old & me) != 0;
	if (had && (!write || ((old & CHANGED) && (old & OWNER_MASK) == owner)))
		return false;
	if ((old & CHANGED) && (old & OWNER_MASK) != owner)
		t->counts.weighed[COUNT_HITM_SEEN] += t->weight;
	new = write ? tag | owner | CHANGED | me : (old & ~CHANGED) | me;
	__atomic_store_n(entry, new, __ATOMIC_RELAXED);
	return !had;
}

/* ---- which thread touched what ---- */

/* The line's place in the window's table, new or not. */
static struct touch *touch_of(struct thread *t, uint64_t line)
{
	uint64_t hash = (line * 0x9e3779b97f4a7c15u) ^ ((uint64_t)t->invocation * 0xff51afd7ed558ccdu);
	uint32_t i = (uint32_t)(hash >> 52) % TOUCHES;

	if (!t->records)
		return &t->ignored;
	for (; t->touches[i].stamp == t->stamp; i = (i + 1) % TOUCHES) {
		if (t->touches[i].line == line && t->touches[i].invocation == t->invocation)
			return &t->touches[i];
	}
	if (t->n_touches >= TOUCHES - 1)
		return &t->ignored;
	t->touched[t->n_touches++] = i;
	t->touches[i] = (struct touch){ .line = line, .invocation = t->invocation, .stamp = t->stamp };
	return &t->touches[i];
}

void simulate_anew(struct thread *t)
{
	memset(t->recent, 0, sizeof(t->recent));
}

static inline uint64_t recent_key(uint64_t line, enum access access)
{
	return (line << 1 | access) + 2;
}

static inline void touch_add(struct touch *touch, uint32_t words, uint32_t n, enum access access)
{
	touch->n[access] = (uint16_t)(touch->n[access] + n);
	touch->words[access] = (uint16_t)(touch->words[access] | words);
}

static void line_access(struct thread *t, uint64_t line, uint32_t words, uint32_t n, enum access access)
{
	uint64_t key = recent_key(line, access);
	struct touch *touch = touch_of(t, line);

	caches_touch(t, line, directory_access(t, line, access == ACCESS_WRITE));
	touch_add(touch, words, n, access);
	t->recent[key % RECENT] = (struct recent){ key, touch };
}

/* Words of 4 bytes from `from` to `to` in a line, both bytes in it. */
static inline uint32_t word_mask(uint32_t from, uint32_t to)
{
	return (2u << (to >> 2)) - (1u << (from >> 2));
}

/* Begins what comes next. False: the thread is not simulated at all. */
static bool simulate_wake(void)
{
	struct thread *t = hot.thread;

	hot.left = 0;
	if (hot.busy)
		return false;
	if (UNLIKELY(!t)) {
		t = thread_attach();
		if (!t) {
			hot.left = INT64_MAX; /* no more questions */
			return false;
		}
	}
	if (!hot.simulating) {
		window_close(t);
		window_begin(t, t->window);
	}
	return hot.simulating;
}

/* `n` accesses, more than the window has left: those beyond count for this window, and advance no clock. */
static void simulate_next_window(struct thread *t, uint32_t n)
{
	uint32_t beyond = n - t->window_left;

	t->counts.exact[COUNT_ACCESSES] += beyond;
	t->counts.exact[COUNT_SIMULATED] += beyond;
	t->counts.weighed[COUNT_ACCESSES] += (uint64_t)beyond * t->weight;
	t->window_left = 0;
	BUSY_HERE();
	window_close(t);
	window_begin(t, t->window + 1);
	hot.busy--;
}

/* `n` accesses have been simulated; perhaps the window ends. */
static inline void simulate_tick(struct thread *t, uint32_t n)
{
	if (LIKELY(t->window_left > n))
		t->window_left -= n;
	else
		simulate_next_window(t, n);
}

static __attribute__((noinline)) void simulate_slowly(uintptr_t address, uint32_t to, enum access access)
{
	uint64_t line = address >> LINE_BITS;
	struct thread *t;

	if (!simulate_wake() || address >> ADDRESS_BITS != 0)
		return;
	t = hot.thread;
	BUSY_HERE();
	line_access(t, line, word_mask(address & 63, to > 63 ? 63 : to), 1, access);
	if (UNLIKELY(to > 63))
		line_access(t, line + 1, word_mask(0, to - 64), 1, access);
	hot.busy--;
	simulate_tick(t, 1);
}

void simulate_access(uintptr_t address, size_t bytes, enum access access)
{
	uint32_t from = address & 63, to = from + (uint32_t)bytes - 1;
	uint64_t key = recent_key(address >> LINE_BITS, access);

	if (LIKELY(hot.simulating && !hot.busy && to <= 63)) { /* then there is a thread */
		struct thread *t = hot.thread;
		struct recent *recent = &t->recent[key % RECENT];

		if (LIKELY(recent->key == key)) {
			hot.left = 0;
			touch_add(recent->touch, word_mask(from, to), 1, access);
			simulate_tick(t, 1);
			return;
		}
	}
	simulate_slowly(address, to, access);
}

/* Windows are being skipped: counts as many accesses as it would have been. Returns the bytes that are left to simulate. */
static size_t range_skip(size_t bytes)
{
	size_t steps = (bytes + RANGE_STEP_BYTES - 1) / RANGE_STEP_BYTES;

	if ((uint64_t)hot.left >= steps) {
		hot.left -= (int64_t)steps;
		return 0;
	}
	bytes -= (size_t)hot.left * RANGE_STEP_BYTES;
	hot.left = 0;
	return bytes;
}

/* The part of a range that lies in one line: as many accesses as the machine would need. Returns its bytes; 0: the thread is not
 * simulated. */
static size_t range_line(uintptr_t address, size_t bytes, enum access access)
{
	size_t room = 64 - (address & 63), part = bytes < room ? bytes : room;
	uint32_t n = (uint32_t)((part + RANGE_STEP_BYTES - 1) / RANGE_STEP_BYTES), from = address & 63;

	if (!simulate_wake())
		return 0;
	BUSY_HERE();
	line_access(hot.thread, address >> LINE_BITS, word_mask(from, from + (uint32_t)part - 1), n, access);
	hot.busy--;
	simulate_tick(hot.thread, n);
	return part;
}

void simulate_range(uintptr_t address, size_t bytes, enum access access)
{
	uintptr_t end = address + bytes;

	if (bytes == 0 || address >> ADDRESS_BITS != 0 || end >> ADDRESS_BITS != 0)
		return;
	for (uintptr_t page = address >> PAGE_BITS; access == ACCESS_WRITE && page <= (end - 1) >> PAGE_BITS; page++)
		page_written(page);
	while (address < end) {
		size_t part = hot.left > 0 ? 0 : range_line(address, end - address, access);

		if (part > 0)
			address += part;
		else if (hot.left > 0)
			address = end - range_skip(end - address);
		else
			return;
	}
}

/* ---- branches ---- */

extern const char __executable_start[]; /* defined by the linker: the same numbers wherever the program lies */

/* A table of what followed a basic block on this path, with some trust in it, as branch predictors have. A function's entry or a
 * first visit is never a miss. */
void simulate_block(uintptr_t pc)
{
	struct thread *t = hot.thread;
	uint32_t block = (uint32_t)(pc - (uintptr_t)__executable_start), weight;
	struct prediction *p;

	if (!t || !hot.simulating) {
		hot.blocks_left = t ? 0 : BLOCKS_GRANTED; /* not begun, or not simulated: no more questions */
		return;
	}
	hot.blocks_left = 0;
	t->counts.exact[COUNT_BLOCKS]++;
	if (hot.busy)
		return;
	weight = t->weight;
	t->counts.weighed[COUNT_BLOCKS] += weight;
	if (t->block) {
		p = &t->predictions[((t->block ^ (t->history * 0x9e3779b1u)) * 0x85ebca6bu >> 8) % PREDICTIONS];
		if (p->block == block) {
			p->trust = p->trust < 3 ? p->trust + 1 : 3;
		} else {
			if (p->block)
				t->counts.weighed[COUNT_BRANCH_MISSES] += weight;
			if (p->trust > 0)
				p->trust--;
			else
				p->block = block;
		}
		t->history = (t->history << 3 ^ block * 0x9e3779b1u >> 8) & 0xffffff;
	}
	t->block = block;
}
